# SPDX-License-Identifier: Apache-2.0
"""What else to watch: from MovieLens' rating files to titled lists.

    python movies.py FOLDER        with ratings.csv and movies.csv (or .gz), as ml-latest-small has them
"""
import pathlib
import sys

import likewise


def find(folder: pathlib.Path, name: str) -> pathlib.Path:
    return next(path for path in (folder / name, folder / f"{name}.gz") if path.exists())


def main(folder: str) -> None:
    ratings = likewise.Interactions(find(pathlib.Path(folder), "ratings.csv"))
    print(ratings)

    # The newest rating of every user shows how good the lists are.
    train, test = likewise.split(ratings, "last", last=1)
    movies = likewise.Als(factors=32).fit(train)
    popular = likewise.Popular().fit(train)
    for name, model in (("ALS", movies), ("popularity", popular)):
        found = model.evaluate(test, k=10, metrics=["ndcg", "hit_rate"])
        print(f"{name:12} NDCG@10 {found['ndcg@10']:.3f}  hit rate {found['hit_rate@10']:.3f}")

    model = movies.fit(ratings).model_
    model.read_titles(find(pathlib.Path(folder), "movies.csv"))
    print(model.recommend(1, n=5).to_pandas()[["title", "score"]])
    print(model.similar_items(1, n=5).to_pandas()[["title", "score"]])

    # Somebody new, who liked three films.
    print(model.recommend_new([[1, 260, 1196]], n=5).to_pandas()[["title", "score"]])


if __name__ == "__main__":
    main(*sys.argv[1:])
