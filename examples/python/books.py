# SPDX-License-Identifier: Apache-2.0
"""Books like this one, from a pandas frame to a frame and a model file.

    python books.py FOLDER         with ratings.csv and books.csv (or .gz), as goodbooks-10k has them
"""
import pathlib
import sys
import tempfile

import pandas as pd

import likewise


def read(folder: str, name: str) -> pd.DataFrame:
    path = pathlib.Path(folder, name)
    return pd.read_csv(path if path.exists() else path.with_name(name + ".gz"))


def main(folder: str) -> None:
    ratings = read(folder, "ratings.csv")
    books = read(folder, "books.csv").set_index("book_id")
    liked = ratings[ratings["rating"] >= 4]
    data = likewise.Interactions(liked, user="user_id", item="book_id", value=None, min_item_count=5)
    model = likewise.ItemKnn(similarity="bm25", neighbours=20).fit(data).model_
    model.set_titles(books["title"].to_dict())

    neighbours = model.similar_items(n=3).to_pandas()
    neighbours["book"] = neighbours["item"].map(books["title"])
    print(neighbours[["book", "title", "score"]].head(12).to_string(index=False))

    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "books.safetensors"
        model.save(path)  # `likewise similar books.safetensors --item 1` answers from it, too
        again = likewise.load_model(path)
        print(f"{path.stat().st_size / 1e6:.1f} MB, the same lists:",
              again.similar_items(1, n=3)[0] == model.similar_items(1, n=3)[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
