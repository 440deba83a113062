# SPDX-License-Identifier: Apache-2.0
"""Lines of a user that type checkers refuse, where "wrong" stands behind them, and the same lines put right."""
import likewise

als = likewise.Als(factors=8)
als.recommend([1], n=3, unknown="skip")
als.recomend([1])  # wrong
likewise.Model.from_factors("ratings.csv", [[1.0]], [[1.0]]).recommend()
likewise.Als.from_factors("ratings.csv", [[1.0]], [[1.0]])  # wrong
likewise.Als.from_bytes(b"")  # wrong
als.fit("ratings.csv", validation="test.csv").similar_items(1)[0:3].to_pandas()
als.fit("ratings.csv", validaton="test.csv")  # wrong
als.model_.evaluate("test.csv", k=5)
als.model_.evalute("test.csv")  # wrong
als.recommend(n="ten")  # wrong
als.recommend(unknown="ignore")  # wrong
likewise.Als(factrs=8)  # wrong
likewise.ItemKnn(similarity="cosine")
likewise.ItemKnn(similarity="cos")  # wrong
train, test = likewise.split("ratings.csv", "last", last=2)
train.shape[0] + len(test.users) + len(train[:10])
train.shpe  # wrong
for part, held_out in likewise.split(train, "kfold", folds=3):
    part.to_csr()
likewise.split(train, "k-fold")  # wrong
for part, held_out in likewise.split(train, "time", rolling=3):
    part.to_csr()
likewise.split(train, "kfold", rolling=3)  # wrong
for row in train:
    print(row[0])
for answers in als.recommend_new([{1, 2}, {3: 1.0}, [4]]):
    print(answers[0][1])
for answers in als.recommend_new(train.to_csr()):
    print(answers.score)  # wrong
als.recommend_new(5)  # wrong
als.recommend_new(train)  # wrong
likewise.tune(train, budget=3).best_estimator.recommend(1)
likewise.tune(train, budgett=3)  # wrong
likewise.Splitter("per-user", test=0.1).split(train)
likewise.Splitter("per-user", tests=0.1)  # wrong
