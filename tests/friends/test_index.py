# SPDX-License-Identifier: Apache-2.0
"""faiss, hnswlib and usearch find what the model answers, in whatever space their index is."""
import numpy as np
import pytest

import likewise
from conftest import needed

faiss, hnswlib, usearch = (needed(name) for name in ("faiss", "hnswlib", "usearch.index"))
K = 10


def by_faiss(made):
    index = (faiss.IndexFlatIP if made.space == "ip" else faiss.IndexFlatL2)(made.vectors.shape[1])
    index.add(made.vectors)
    measured, rows = index.search(made.queries, K + 1)
    return rows, measured


def by_hnswlib(made):
    index = hnswlib.Index(space=made.space, dim=made.vectors.shape[1])
    index.init_index(max_elements=len(made.vectors), ef_construction=200, M=32)
    index.add_items(made.vectors, np.arange(len(made.vectors)))
    index.set_ef(len(made.vectors))
    rows, measured = index.knn_query(made.queries, k=K + 1)
    return rows.astype(np.int64), 1 - measured if made.space == "ip" else measured


def by_usearch(made):
    index = usearch.Index(ndim=made.vectors.shape[1], metric={"ip": "ip", "l2": "l2sq"}[made.space], dtype="f32")
    index.add(np.arange(len(made.vectors)), made.vectors)
    found = index.search(made.queries, K + 1, exact=True)
    return found.keys.astype(np.int64), 1 - found.distances if made.space == "ip" else found.distances


@pytest.fixture(scope="module", params=["implicit", "biases", "bpr"])
def model(request, parts):
    kinds = {"implicit": likewise.Als(factors=8), "biases": likewise.Als(feedback="explicit", factors=8),
             "bpr": likewise.Bpr(factors=8, iterations=5)}
    return kinds[request.param].fit(parts[0]).model_


@pytest.mark.parametrize("search", [by_faiss, by_hnswlib, by_usearch])
@pytest.mark.parametrize("space", ["ip", "l2"])
@pytest.mark.parametrize("metric", ["recommend", "dot", "cosine", "euclidean"])
def test_an_index_finds_what_the_model_answers(model, metric, space, search):
    made = likewise.index_vectors(model, metric, space)
    rows, measured = search(made)
    if metric == "recommend":
        lists = model.recommend(n=K, include_seen=True)
        found, scores = made.ids[rows[:, :K]], made.scores(measured)[:, :K]
    else:
        lists = model.similar_items(n=K, metric=metric)
        others = [[place for place, row in enumerate(rows[query]) if row != query][:K] for query in range(len(rows))]
        found = np.array([made.ids[rows[query, places]] for query, places in enumerate(others)])
        scores = np.take_along_axis(made.scores(measured), np.array(others), axis=1)
    assert np.allclose(scores, lists.scores, rtol=1e-3, atol=2e-3)
    # Float32 sums of another order part some that are all but equal.
    if search is not by_hnswlib or (metric, space) != ("dot", "ip"):
        assert (found == lists.ids).mean() > 0.99


def test_rows_that_were_asked_have_their_scores(model):
    made = likewise.index_vectors(model, "recommend", "l2")
    some = np.array([5, 3])
    index = faiss.IndexFlatL2(made.vectors.shape[1])
    index.add(made.vectors)
    measured, rows = index.search(made.queries[some], 4)
    lists = model.recommend(made.query_ids[some], n=4, include_seen=True)
    assert np.allclose(made.scores(measured, some), lists.scores, rtol=1e-3, atol=2e-3)


def test_what_no_index_finds_is_refused(parts, model):
    for options, words in (({"metric": "hellinger"}, "metric must be"), ({"space": "cosine"}, "space must be"),
                           ({"side": "rows"}, "side must be"), ({"side": "users"}, "recommend is of items")):
        with pytest.raises(ValueError, match=words):
            likewise.index_vectors(model, **options)
    with pytest.raises(ValueError, match="factors"):
        likewise.index_vectors(likewise.ItemKnn().fit(parts[0]).model_)
    assert len(likewise.index_vectors(model, "dot", side="users").ids) == len(model.users)
