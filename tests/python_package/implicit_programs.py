# SPDX-License-Identifier: Apache-2.0
"""Small programs written from the documentation of `implicit` 0.7, for it or for what replaces it.

A program is a function of a Package and of Data; it returns what is to be compared, or raises.
"""
import dataclasses
import importlib
import inspect
import io
import pickle

import numpy as np
import scipy.sparse

USERS, ITEMS, FACTORS = 60, 40, 8


class Package:
    """The modules of a package by their names: package.als is `implicit.als`, or `likewise.als`."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, module):
        return importlib.import_module(f"{self.name}.{module.replace('__', '.')}")


@dataclasses.dataclass
class Data:
    liked: scipy.sparse.csr_matrix  # (users, items), values 1 to 5
    user_factors: np.ndarray
    item_factors: np.ndarray


def make_data():
    random = np.random.default_rng(20240611)
    values = random.integers(1, 6, (USERS, ITEMS)) * (random.random((USERS, ITEMS)) < 0.2)
    values[3] = 0  # nobody's
    values[:, 5] = 0
    return Data(scipy.sparse.csr_matrix(values.astype(np.float64)),
                random.normal(size=(USERS, FACTORS)).astype(np.float32),
                random.normal(size=(ITEMS, FACTORS)).astype(np.float32))


#: Classes with the names of their methods' arguments, and functions; `dtype` is written by its name.
CLASSES = {"cpu__als": ["AlternatingLeastSquares"], "cpu__bpr": ["BayesianPersonalizedRanking"],
           "nearest_neighbours": ["ItemItemRecommender", "CosineRecommender", "TFIDFRecommender", "BM25Recommender"]}
FUNCTIONS = {"nearest_neighbours": ["all_pairs_knn", "bm25_weight", "tfidf_weight", "normalize"],
             "evaluation": ["train_test_split", "leave_k_out_split", "ranking_metrics_at_k", "precision_at_k",
                            "mean_average_precision_at_k", "ndcg_at_k", "AUC_at_k"],
             "utils": ["check_csr", "check_random_state", "nonzeros", "augment_inner_product_matrix"]}


def signatures(p):
    """{function or method: its arguments with their defaults}, without constructors: those here take `use_gpu` more."""
    methods = {f"{name}.{method}": function for module, names in CLASSES.items() for name in names
               for method, function in inspect.getmembers(getattr(getattr(p, module), name), callable)
               if not method.startswith("_")}
    functions = {f"{module}.{name}": getattr(getattr(p, module), name) for module, names in FUNCTIONS.items() for name in names}
    return {name: [one.name if one.default is one.empty else f"{one.name}={one.default!r}"
                   for one in inspect.signature(function).parameters.values()]
            for name, function in sorted({**methods, **functions}.items())}


def als(p, d, **arguments):
    """A model of given factors: what it answers depends on nothing else."""
    model = p.als.AlternatingLeastSquares(**{"factors": FACTORS, "regularization": 0.1, "alpha": 2.0,
                                             "num_threads": 1, "use_gpu": False, **arguments})
    model.user_factors, model.item_factors = d.user_factors.copy(), d.item_factors.copy()
    return model


def fit_als(p, d, matrix=None, **arguments):
    model = p.als.AlternatingLeastSquares(**{"factors": FACTORS, "num_threads": 1, "random_state": 5,
                                             "use_gpu": False, "iterations": 3, **arguments})
    model.fit(d.liked if matrix is None else matrix, show_progress=False)
    return model


def bpr(p, d, **arguments):
    """A model of given factors and biases: what it answers depends on nothing else."""
    model = p.bpr.BayesianPersonalizedRanking(**{"factors": FACTORS - 1, "num_threads": 1, "use_gpu": False, **arguments})
    model.item_factors = d.item_factors.copy()
    model.user_factors = np.column_stack([d.user_factors[:, 1:], np.ones(USERS, dtype=np.float32)])
    return model


def fit_bpr(p, d, matrix=None, **arguments):
    model = p.bpr.BayesianPersonalizedRanking(**{"factors": FACTORS, "num_threads": 1, "random_state": 5,
                                                 "use_gpu": False, "iterations": 3, **arguments})
    model.fit(d.liked if matrix is None else matrix, show_progress=False)
    return model


def stepped(p, factors, learning_rate, regularization, epochs=1):
    """(user_factors, item_factors) before and after epochs of users who like nothing but item 0 or 1: whatever
    is drawn, a step is one of two. Learning rates this small make their order unimportant."""
    matrix = scipy.sparse.csr_matrix(np.tile(np.eye(2), (500, 1)))
    random = np.random.default_rng(8)
    model = p.bpr.BayesianPersonalizedRanking(factors=factors, learning_rate=learning_rate, num_threads=1,
                                              regularization=regularization, iterations=epochs,
                                              use_gpu=False, random_state=3, dtype=np.float64)
    users = np.column_stack([np.tile(random.normal(size=(2, factors)), (500, 1)), np.ones(1000)])
    items = random.normal(size=(2, factors + 1))
    model.user_factors, model.item_factors = users.copy(), items.copy()
    model.fit(matrix, show_progress=False)
    return model.user_factors - users, model.item_factors - items


def knn(p, d, name="CosineRecommender", matrix=None, **arguments):
    model = getattr(p.nearest_neighbours, name)(**{"K": 6, "num_threads": 1, **arguments})
    model.fit(d.liked if matrix is None else matrix, show_progress=False)
    return model


def reloaded(model):
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return type(model).load(file)


def partly(model, method, *arguments):
    getattr(model, method)(*arguments)
    return model.user_factors, model.item_factors


def some(d, *users):
    return d.liked[list(users)]


def columns(d, *items):
    return d.liked.T.tocsr()[list(items)]


def empty(d, rows=1):
    return scipy.sparse.csr_matrix((rows, d.liked.shape[1]))


def arguments_of(model):
    names = ("factors", "regularization", "alpha", "dtype", "use_native", "use_cg", "iterations",
             "calculate_training_loss", "num_threads", "random_state")
    return {name: getattr(model, name) for name in names}


def arguments_of_bpr(model):
    names = ("factors", "learning_rate", "regularization", "dtype", "iterations", "num_threads",
             "verify_negative_samples", "random_state")
    return {name: getattr(model, name) for name in names}


def bpr_called_back(p, d, **arguments):
    """What a callback of fit() sees: epochs, types, and that no more is correct or skipped than there are likes."""
    seen = []
    model = p.bpr.BayesianPersonalizedRanking(factors=4, iterations=3, random_state=1, num_threads=1, use_gpu=False,
                                              **arguments)
    model.fit(d.liked, show_progress=False, callback=lambda *given: seen.append(given))
    return [(epoch, isinstance(seconds, float), type(correct), type(skipped), 0 < correct <= d.liked.nnz - skipped)
            for epoch, seconds, correct, skipped in seen]


def called_back(p, d, **arguments):
    """The epochs and losses that a callback of fit() sees, and how many seconds are floats."""
    seen = []
    model = p.als.AlternatingLeastSquares(factors=4, iterations=3, random_state=1, num_threads=1,
                                          use_cg=False, use_gpu=False, **arguments)
    model.fit(d.liked, show_progress=False, callback=lambda *given: seen.append(given))
    return [(epoch, isinstance(seconds, float), loss) for epoch, seconds, loss in seen]


def seen_by_callback(p, d):
    """What a model answers in a callback of fit(), and after an exception of it."""
    seen = []
    model = p.als.AlternatingLeastSquares(factors=4, iterations=3, random_state=1, num_threads=1, use_cg=False, use_gpu=False)

    def callback(epoch, *_):
        seen.append(model.recommend(1, d.liked[1], N=3))
        if epoch == 1:
            raise LookupError

    try:
        model.fit(d.liked, show_progress=False, callback=callback)
    except LookupError:
        seen.append(model.recommend(1, d.liked[1], N=3))
    return seen


ALS = {
    "arguments": lambda p, d: arguments_of(p.als.AlternatingLeastSquares(use_gpu=False)),
    "arguments in order": lambda p, d: arguments_of(
        p.als.AlternatingLeastSquares(7, 0.5, 2.0, np.float64, True, False, False, 9, True, 2, 3)),
    "recommend one": lambda p, d: als(p, d).recommend(1, d.liked[1]),
    "recommend one, NumPy id": lambda p, d: als(p, d).recommend(np.int64(1), d.liked[1], N=3),
    "recommend, in order": lambda p, d: als(p, d).recommend([1, 2], some(d, 1, 2), 4, False, [6, 7]),
    "recommend many": lambda p, d: als(p, d).recommend(np.arange(USERS), d.liked, N=7),
    "recommend a list": lambda p, d: als(p, d).recommend([4], some(d, 4), N=3),
    "recommend a range": lambda p, d: als(p, d).recommend(range(3), d.liked[:3], N=3),
    "recommend nobody": lambda p, d: als(p, d).recommend([], d.liked[:0], N=3),
    "recommend who likes nothing": lambda p, d: als(p, d).recommend(3, d.liked[3], N=3),
    "recommend float64": lambda p, d: als(p, d, dtype=np.float64).recommend([1], some(d, 1), N=3)[0],
    "recommend liked ones too": lambda p, d: als(p, d).recommend(
        [1, 2], some(d, 1, 2), N=ITEMS, filter_already_liked_items=False),
    "recommend without a matrix": lambda p, d: als(p, d).recommend(
        [1], None, N=3, filter_already_liked_items=False),
    "recommend to the last": lambda p, d: als(p, d).recommend([1, 3], some(d, 1, 3), N=ITEMS),
    "recommend one to the last": lambda p, d: als(p, d).recommend(1, d.liked[1], N=ITEMS),
    "recommend filtered": lambda p, d: als(p, d).recommend([1, 2], some(d, 1, 2), filter_items=[0, 7, 9]),
    "recommend filtered twice": lambda p, d: als(p, d).recommend(1, d.liked[1], filter_items=[7, 7, 9]),
    "recommend filtered to the last": lambda p, d: als(p, d).recommend(
        [1, 2], some(d, 1, 2), N=ITEMS, filter_items=[0, 7, 9]),
    "recommend filtered by nothing": lambda p, d: als(p, d).recommend(1, d.liked[1], filter_items=[]),
    "recommend some items": lambda p, d: als(p, d).recommend(1, d.liked[1], N=2, items=[9, 3, 2, 30]),
    "recommend few items": lambda p, d: als(p, d).recommend([1, 2], some(d, 1, 2), N=20, items=[9, 3, 2]),
    "recommend items of int32": lambda p, d: als(p, d).recommend(
        1, d.liked[1], N=3, items=np.array([9, 3, 2, 30], dtype=np.int32)),
    "recommend items, liked too": lambda p, d: als(p, d).recommend(
        [1], some(d, 1), N=9, items=np.arange(9), filter_already_liked_items=False),
    "recommend recalculated": lambda p, d: als(p, d).recommend(1, d.liked[1], recalculate_user=True),
    "recommend recalculated many": lambda p, d: als(p, d).recommend(
        [1, 200], some(d, 1, 2), recalculate_user=True),
    "recommend recalculated from nothing": lambda p, d: als(p, d).recommend(
        [1], empty(d), N=3, recalculate_user=True)[1],
    "rank_items": lambda p, d: als(p, d).rank_items(1, d.liked[1], [4, 2, 9]),
    "rank_items many": lambda p, d: als(p, d).rank_items([1, 2], some(d, 1, 2), [4, 2, 9]),
    "recommend_all": lambda p, d: als(p, d).recommend_all(d.liked, N=3),
    "similar_items one": lambda p, d: als(p, d).similar_items(2),
    "similar_items many": lambda p, d: als(p, d).similar_items([2, 3, 4], N=5),
    "similar_items all": lambda p, d: als(p, d).similar_items(2, N=ITEMS),
    "similar_items filtered": lambda p, d: als(p, d).similar_items([2, 3], N=5, filter_items=[2, 8]),
    "similar_items of some": lambda p, d: als(p, d).similar_items(2, N=3, items=[8, 2, 5, 4]),
    "similar_items recalculated": lambda p, d: als(p, d).similar_items(
        [2, 3], 5, True, columns(d, 2, 3)),
    "similar_users one": lambda p, d: als(p, d).similar_users(2),
    "similar_users many": lambda p, d: als(p, d).similar_users([2, 3, 4], N=5),
    "similar_users filtered": lambda p, d: als(p, d).similar_users([2, 3], N=5, filter_users=[2, 8]),
    "similar_users of some": lambda p, d: als(p, d).similar_users(2, N=3, users=[8, 2, 5, 4]),
    "explain": lambda p, d: als(p, d).explain(1, d.liked, 7)[:2],
    "explain briefly": lambda p, d: als(p, d).explain(1, d.liked, 7, N=2)[:2],
    "explain again": lambda p, d: als(p, d).explain(
        1, d.liked, 8, user_weights=als(p, d).explain(1, d.liked, 7)[2])[:2],
    "explain dislikes": lambda p, d: als(p, d).explain(1, d.liked - 3 * (d.liked > 0), 7)[:2],
    "recalculate_user one": lambda p, d: als(p, d).recalculate_user(1, d.liked[1]),
    "recalculate_user many": lambda p, d: als(p, d).recalculate_user([1, 2], some(d, 1, 2)),
    "recalculate_user unknown": lambda p, d: als(p, d).recalculate_user(1000, d.liked[1]),
    "recalculate_user small values": lambda p, d: als(p, d).recalculate_user([1, 2], some(d, 1, 2) * 0.01),
    "recalculate_user dislikes": lambda p, d: als(p, d).recalculate_user(
        [1, 2], some(d, 1, 2) - 3 * (some(d, 1, 2) > 0)),
    "recalculate_user whole numbers": lambda p, d: als(p, d).recalculate_user(1, d.liked[1].astype(int)),
    "recalculate_user COO": lambda p, d: als(p, d).recalculate_user(1, d.liked[1].tocoo()),
    "recalculate_item one": lambda p, d: als(p, d).recalculate_item(1, columns(d, 1)),
    "recalculate_item many": lambda p, d: als(p, d).recalculate_item([1, 2], columns(d, 1, 2)),
    "partial_fit_users": lambda p, d: partly(als(p, d), "partial_fit_users", [1, 2], some(d, 5, 6)),
    "partial_fit_users new": lambda p, d: partly(als(p, d), "partial_fit_users", [USERS + 2], some(d, 5)),
    "partial_fit_items": lambda p, d: partly(als(p, d), "partial_fit_items", [1, 2], columns(d, 3, 4)),
    "partial_fit_items new": lambda p, d: partly(
        als(p, d), "partial_fit_items", [ITEMS + 1], columns(d, 3)),
    "fit, conjugate gradients": lambda p, d: fit_als(p, d, use_cg=True, iterations=1).user_factors,
    "fit, conjugate gradients, alpha": lambda p, d: fit_als(p, d, use_cg=True, iterations=1, alpha=10.0).item_factors,
    "fit, exact": lambda p, d: fit_als(p, d, use_cg=False).user_factors,
    "fit, exact, items": lambda p, d: fit_als(p, d, use_cg=False).item_factors,
    "fit, exact, alpha": lambda p, d: fit_als(p, d, use_cg=False, alpha=3.0).item_factors,
    "fit, exact, small alpha": lambda p, d: fit_als(p, d, use_cg=False, alpha=0.05).item_factors,
    "fit on dislikes": lambda p, d: fit_als(p, d, d.liked - 3 * (d.liked > 0), use_cg=False).item_factors,
    "fit float64": lambda p, d: fit_als(p, d, dtype=np.float64, use_cg=False).item_factors,
    "fit COO": lambda p, d: fit_als(p, d, d.liked.tocoo(), use_cg=False).item_factors,
    "fit CSC": lambda p, d: fit_als(p, d, d.liked.tocsc(), use_cg=False).item_factors,
    "fit whole numbers": lambda p, d: fit_als(p, d, d.liked.astype(int), use_cg=False).item_factors,
    "fit without iterations": lambda p, d: fit_als(p, d, iterations=0).user_factors,
    "fit without iterations, items": lambda p, d: fit_als(p, d, iterations=0).item_factors,
    "fit, first factors float64": lambda p, d: fit_als(p, d, iterations=0, dtype=np.float64).item_factors,
    "fit, a generator": lambda p, d: fit_als(
        p, d, iterations=0, random_state=np.random.default_rng(3)).item_factors,
    "fit on nothing": lambda p, d: fit_als(p, d, empty(d, 4)).item_factors,
    "fit on NaN": lambda p, d: fit_als(p, d, d.liked * np.nan),
    "callback": lambda p, d: called_back(p, d),
    "fit, what a callback sees": seen_by_callback,
    "callback with loss": lambda p, d: called_back(p, d, calculate_training_loss=True),
    "callback with loss, alpha": lambda p, d: called_back(
        p, d, calculate_training_loss=True, alpha=0.3, regularization=2.0),
    "save and load": lambda p, d: reloaded(als(p, d)).recommend([1], some(d, 1)),
    "save and load arguments": lambda p, d: arguments_of(
        reloaded(als(p, d, iterations=4, use_cg=False, random_state=8, dtype=np.float64))),
    "save and load nothing": lambda p, d: reloaded(p.cpu__als.AlternatingLeastSquares()).item_factors,
    "load what is not there": lambda p, d: p.cpu__als.AlternatingLeastSquares.load("/no/such/file.npz"),
    "pickle": lambda p, d: pickle.loads(pickle.dumps(als(p, d))).recommend([1], some(d, 1)),
    "norms": lambda p, d: (als(p, d).user_norms, als(p, d).item_norms),
    "Gram matrices": lambda p, d: (als(p, d).XtX, als(p, d).YtY),
    "assign factors": lambda p, d: partly(als(p, d), "__setattr__", "item_factors", d.item_factors * 2),
}

BPR = {
    "arguments": lambda p, d: arguments_of_bpr(p.bpr.BayesianPersonalizedRanking(use_gpu=False)),
    "arguments in order": lambda p, d: arguments_of_bpr(
        p.bpr.BayesianPersonalizedRanking(7, 0.5, 2.0, np.float64, 9, False, 2, False, 3)),
    "recommend one": lambda p, d: bpr(p, d).recommend(1, d.liked[1]),
    "recommend, in order": lambda p, d: bpr(p, d).recommend([1, 2], some(d, 1, 2), 4, False, [6, 7]),
    "recommend many": lambda p, d: bpr(p, d).recommend(np.arange(USERS), d.liked, N=7),
    "recommend nobody": lambda p, d: bpr(p, d).recommend([], d.liked[:0], N=3),
    "recommend who likes nothing": lambda p, d: bpr(p, d).recommend(3, d.liked[3], N=3),
    "recommend liked ones too": lambda p, d: bpr(p, d).recommend(
        [1, 2], some(d, 1, 2), N=ITEMS, filter_already_liked_items=False),
    "recommend to the last": lambda p, d: bpr(p, d).recommend([1, 3], some(d, 1, 3), N=ITEMS),
    "recommend filtered": lambda p, d: bpr(p, d).recommend([1, 2], some(d, 1, 2), filter_items=[0, 7, 9]),
    "recommend some items": lambda p, d: bpr(p, d).recommend(1, d.liked[1], N=2, items=[9, 3, 2, 30]),
    "recommend recalculated": lambda p, d: bpr(p, d).recommend(1, d.liked[1], recalculate_user=True),
    "rank_items": lambda p, d: bpr(p, d).rank_items(1, d.liked[1], [4, 2, 9]),
    "recommend_all": lambda p, d: bpr(p, d).recommend_all(d.liked, N=3),
    "similar_items one": lambda p, d: bpr(p, d).similar_items(2),
    "similar_items many": lambda p, d: bpr(p, d).similar_items([2, 3, 4], N=5),
    "similar_items filtered": lambda p, d: bpr(p, d).similar_items([2, 3], N=5, filter_items=[2, 8]),
    "similar_items of some": lambda p, d: bpr(p, d).similar_items(2, N=3, items=[8, 2, 5, 4]),
    "similar_items recalculated": lambda p, d: bpr(p, d).similar_items([2, 3], 5, True, columns(d, 2, 3)),
    "similar_users one": lambda p, d: bpr(p, d).similar_users(2),
    "similar_users many": lambda p, d: bpr(p, d).similar_users([2, 3, 4], N=5),
    "similar_users filtered": lambda p, d: bpr(p, d).similar_users([2, 3], N=5, filter_users=[2, 8]),
    "similar_users of some": lambda p, d: bpr(p, d).similar_users(2, N=3, users=[8, 2, 5, 4]),
    "recalculate_user": lambda p, d: bpr(p, d).recalculate_user(1, d.liked[1]),
    "recalculate_item": lambda p, d: bpr(p, d).recalculate_item(1, columns(d, 1)),
    "norms": lambda p, d: (bpr(p, d).user_norms, bpr(p, d).item_norms),
    "fit, types and shapes": lambda p, d: [(table.dtype, table.shape) for table in (
        fit_bpr(p, d).user_factors, fit_bpr(p, d).item_factors, fit_bpr(p, d, dtype=np.float64).item_factors)],
    "fit, the column of ones": lambda p, d: fit_bpr(p, d).user_factors[:, -1],
    "fit, nobody's and nothing's": lambda p, d: (fit_bpr(p, d).user_factors[3], fit_bpr(p, d).item_factors[5]),
    "fit without iterations": lambda p, d: fit_bpr(p, d, iterations=0).user_factors,
    "fit without iterations, items": lambda p, d: fit_bpr(p, d, iterations=0).item_factors,
    "fit, first factors float64": lambda p, d: fit_bpr(p, d, iterations=0, dtype=np.float64).item_factors,
    "fit, a generator": lambda p, d: fit_bpr(
        p, d, iterations=0, random_state=np.random.default_rng(3)).user_factors,
    "fit COO": lambda p, d: fit_bpr(p, d, d.liked.tocoo(), iterations=0).item_factors,
    "fit CSC": lambda p, d: fit_bpr(p, d, d.liked.tocsc(), iterations=0).item_factors,
    "fit, diverged": lambda p, d: fit_bpr(p, d, learning_rate=1e12, iterations=20),
    "fit, values do not matter": lambda p, d: (fit_bpr(p, d).item_factors == fit_bpr(
        p, d, d.liked * -2).item_factors).all(),
    "fit, a seed decides": lambda p, d: (fit_bpr(p, d).item_factors == fit_bpr(p, d).item_factors).all(),
    "callback": lambda p, d: bpr_called_back(p, d),
    "save and load": lambda p, d: reloaded(bpr_of_file(p, d)).recommend([1], some(d, 1)),
    "save and load arguments": lambda p, d: arguments_of_bpr(reloaded(bpr_of_file(
        p, d, iterations=4, learning_rate=0.2, verify_negative_samples=False, random_state=8))),
    "load what is not there": lambda p, d: p.cpu__bpr.BayesianPersonalizedRanking.load("/no/such/file.npz"),
    "pickle": lambda p, d: pickle.loads(pickle.dumps(bpr(p, d))).recommend([1], some(d, 1)),
}


def bpr_of_file(p, d, **arguments):
    """Of the class that has load() in both."""
    model = p.cpu__bpr.BayesianPersonalizedRanking(**{"factors": FACTORS - 1, "num_threads": 1, **arguments})
    given = bpr(p, d)
    model.user_factors, model.item_factors = given.user_factors, given.item_factors
    return model


NEIGHBOURS = {
    **{f"{name}, similarity": lambda p, d, name=name: knn(p, d, name, K=ITEMS).similarity
       for name in ("ItemItemRecommender", "CosineRecommender", "TFIDFRecommender", "BM25Recommender")},
    "BM25Recommender, arguments": lambda p, d: knn(p, d, "BM25Recommender", K1=3.0, B=0.2,
                                                  K=ITEMS).similarity,
    "arguments": lambda p, d: [vars(getattr(p.nearest_neighbours, name)())[argument] for name, argument in (
        ("ItemItemRecommender", "K"), ("CosineRecommender", "K"), ("BM25Recommender", "K"),
        ("BM25Recommender", "K1"), ("BM25Recommender", "B"), ("TFIDFRecommender", "num_threads"))],
    "neighbours": lambda p, d: knn(p, d, K=5).similarity.getnnz(axis=1)[np.arange(ITEMS) != 5],
    "recommend one": lambda p, d: knn(p, d).recommend(1, d.liked[1], N=5),
    "recommend many": lambda p, d: knn(p, d).recommend(np.arange(3), d.liked[:3], N=5),
    "recommend by BM25": lambda p, d: knn(p, d, "BM25Recommender").recommend([1, 2], some(d, 1, 2), N=5),
    "recommend liked ones too": lambda p, d: knn(p, d).recommend(
        [1, 2], some(d, 1, 2), N=5, filter_already_liked_items=False),
    "recommend all there are": lambda p, d: knn(p, d, K=2).recommend(
        [1, 3], some(d, 1, 3), N=ITEMS, filter_already_liked_items=False),
    "recommend one all there are": lambda p, d: knn(p, d, K=2).recommend(
        1, d.liked[1], N=ITEMS, filter_already_liked_items=False),
    "recommend who likes nothing": lambda p, d: knn(p, d).recommend(3, d.liked[3]),
    "recommend nobody": lambda p, d: knn(p, d).recommend([], d.liked[:0], N=2),
    "recommend filtered": lambda p, d: knn(p, d).recommend([1, 2], some(d, 1, 2), N=5, filter_items=[7, 9]),
    "recommend some items": lambda p, d: knn(p, d).recommend(
        1, d.liked[1], N=5, items=[9, 3, 2, 5, 7], filter_already_liked_items=False),
    "recommend some items to many": lambda p, d: knn(p, d).recommend(
        [1, 2], some(d, 1, 2), N=4, items=[9, 3, 2, 5, 7], filter_already_liked_items=False),
    "recommend recalculated": lambda p, d: knn(p, d).recommend(1, d.liked[1], N=3, recalculate_user=True),
    "recommend float32": lambda p, d: knn(p, d).recommend([1], some(d, 1).astype(np.float32), N=3),
    "rank_items": lambda p, d: knn(p, d).rank_items(1, d.liked[1], [9, 3, 2, 5, 7]),
    "similar_items one": lambda p, d: knn(p, d).similar_items(2, N=3),
    "similar_items many": lambda p, d: knn(p, d).similar_items([2, 3], N=3),
    "similar_items all there are": lambda p, d: knn(p, d).similar_items(2, N=20),
    "similar_items all there are, many": lambda p, d: knn(p, d).similar_items([2, 3], N=20),
    "similar_items filtered": lambda p, d: knn(p, d).similar_items([2, 3], N=3, filter_items=[2]),
    "save and load": lambda p, d: reloaded(knn(p, d)).recommend([1], some(d, 1), N=4),
    "pickle": lambda p, d: pickle.loads(pickle.dumps(knn(p, d))).recommend([1], some(d, 1), N=4),
    "fit CSC": lambda p, d: knn(p, d, "ItemItemRecommender", d.liked.tocsc(), K=ITEMS).similarity,
    "fit negative values": lambda p, d: knn(p, d, "ItemItemRecommender", d.liked - 3 * (d.liked > 0),
                                            K=3).recommend([1], some(d, 1), N=1),
    "negative similarities": lambda p, d: knn(
        p, d, "ItemItemRecommender", scipy.sparse.csr_matrix([[1.0, -1], [1, 1], [1, -1]]), K=2).similarity,
    "all_pairs_knn": lambda p, d: p.nearest_neighbours.all_pairs_knn(
        p.nearest_neighbours.bm25_weight(d.liked).tocsr(), K=4, num_threads=1, show_progress=False).tocsr(),
    "all_pairs_knn of COO": lambda p, d: p.nearest_neighbours.all_pairs_knn(
        d.liked.tocoo(), K=ITEMS, show_progress=False).tocsr(),
    "bm25_weight": lambda p, d: p.nearest_neighbours.bm25_weight(d.liked),
    "bm25_weight, arguments": lambda p, d: p.nearest_neighbours.bm25_weight(d.liked.tocoo(), 2, 0.3),
    "tfidf_weight": lambda p, d: p.nearest_neighbours.tfidf_weight(d.liked.astype(int)),
    "normalize": lambda p, d: p.nearest_neighbours.normalize(d.liked),
}


def split(d):
    mask = np.random.default_rng(1).random(d.liked.nnz) < 0.6
    entries = d.liked.tocoo()
    return [scipy.sparse.csr_matrix((entries.data[part], (entries.row[part], entries.col[part])),
                                    shape=entries.shape) for part in (mask, ~mask)]


def metric(name, **arguments):
    return lambda p, d: getattr(p.evaluation, name)(als(p, d), *split(d), show_progress=False, **arguments)


EVALUATION = {
    **{name: metric(name, K=4) for name in ("precision_at_k", "mean_average_precision_at_k", "ndcg_at_k",
                                            "AUC_at_k")},
    **{f"ranking_metrics_at_k, K={K}": metric("ranking_metrics_at_k", K=K) for K in (1, 10, ITEMS)},
    "ranking_metrics_at_k, threads": metric("ranking_metrics_at_k", num_threads=2),
    "ranking_metrics_at_k of neighbours": lambda p, d: p.evaluation.ranking_metrics_at_k(
        knn(p, d, "BM25Recommender", split(d)[0], K=ITEMS), *split(d), K=3, show_progress=False),
    "ranking_metrics_at_k of COO": lambda p, d: p.evaluation.ranking_metrics_at_k(
        als(p, d), *(part.tocoo() for part in split(d)), show_progress=False),
    "ranking_metrics_at_k without tests": lambda p, d: p.evaluation.ranking_metrics_at_k(
        als(p, d), d.liked, empty(d, USERS), show_progress=False),
    "train_test_split": lambda p, d: p.evaluation.train_test_split(d.liked, random_state=3),
    "train_test_split, share": lambda p, d: p.evaluation.train_test_split(d.liked.tocoo(), 0.3, 4),
    "train_test_split, a generator": lambda p, d: p.evaluation.train_test_split(
        d.liked.astype(int), random_state=np.random.default_rng(3)),
    "leave_k_out_split": lambda p, d: _left_out(p, d),
    "leave_k_out_split, K": lambda p, d: _left_out(p, d, K=3),
    "leave_k_out_split, K of 0": lambda p, d: _left_out(p, d, K=0),
    "leave_k_out_split, all train": lambda p, d: _left_out(p, d, train_only_size=1.0),
    "check_csr": lambda p, d: p.utils.check_csr(d.liked.tocoo()),
    "check_random_state": lambda p, d: p.utils.check_random_state(7).random(3),
    "nonzeros": lambda p, d: list(p.utils.nonzeros(d.liked, 1)),
    "augment_inner_product_matrix": lambda p, d: p.utils.augment_inner_product_matrix(d.item_factors),
}


def _left_out(p, d, **arguments):
    """What does not depend on the draws: entries per user, types, and that nothing is lost."""
    train, test = p.evaluation.leave_k_out_split(d.liked, random_state=3, **arguments)
    return (train.format, train.dtype, train.shape, test.shape, train.getnnz(axis=1), test.getnnz(axis=1),
            abs((train != 0).astype(int) + (test != 0).astype(int) - (d.liked != 0).astype(int)).sum())


#: Wrong calls, and a word that the message has to have.
ERRORS = {
    "user unknown": (lambda p, d: als(p, d).recommend(USERS, d.liked[1]), str(USERS)),
    "users unknown": (lambda p, d: als(p, d).recommend([1, USERS], d.liked[:2]), str(USERS)),
    "id of a user is text": (lambda p, d: als(p, d).recommend("ann", d.liked[1]), "integers"),
    "id of a user is a float": (lambda p, d: als(p, d).recommend(1.0, d.liked[1]), "integers"),
    "all rows for one user": (lambda p, d: als(p, d).recommend(1, d.liked), "1 row"),
    "all rows for two users": (lambda p, d: als(p, d).recommend([1, 2], d.liked), "1 row"),
    "rows for a recalculation": (lambda p, d: als(p, d).recommend([1, 2], d.liked, recalculate_user=True),
                                 "1 row"),
    "no matrix": (lambda p, d: als(p, d).recommend(1, None), "CSR"),
    "a COO matrix": (lambda p, d: als(p, d).recommend(1, d.liked[1].tocoo()), "CSR"),
    "a dense matrix": (lambda p, d: als(p, d).recommend(1, d.liked[1].toarray()), "CSR"),
    "a row of another catalogue": (lambda p, d: als(p, d).recommend(
        1, scipy.sparse.csr_matrix(np.ones((1, ITEMS + 9)))), "column"),
    "filter of an unknown item": (lambda p, d: als(p, d).recommend(1, d.liked[1], filter_items=[ITEMS]),
                                  str(ITEMS)),
    "unknown items": (lambda p, d: als(p, d).recommend(1, d.liked[1], items=[1, ITEMS]), str(ITEMS)),
    "negative items": (lambda p, d: als(p, d).recommend(1, d.liked[1], items=[1, -1]), "-1"),
    "items and a filter": (lambda p, d: als(p, d).recommend(1, d.liked[1], items=[1], filter_items=[2]),
                           "filter_items"),
    "negative N": (lambda p, d: als(p, d).recommend(1, d.liked[1], N=-1), "N"),
    "similar to an unknown item": (lambda p, d: als(p, d).similar_items(ITEMS), str(ITEMS)),
    "similar to an unknown user": (lambda p, d: als(p, d).similar_users(USERS), str(USERS)),
    "similar items, both filters": (lambda p, d: als(p, d).similar_items(1, items=[1], filter_items=[2]),
                                    "filter_items"),
    "similar users, both filters": (lambda p, d: als(p, d).similar_users(1, users=[1], filter_users=[2]),
                                    "filter_users"),
    "recalculate_user, rows": (lambda p, d: als(p, d).recalculate_user([1, 2], d.liked), "row"),
    "partial_fit_users, rows": (lambda p, d: als(p, d).partial_fit_users([1, 2], d.liked[:1]), "1 row"),
    "explain an unknown user": (lambda p, d: als(p, d).explain(USERS, d.liked, 1), str(USERS)),
    "explain an unknown item": (lambda p, d: als(p, d).explain(1, d.liked, ITEMS), str(ITEMS)),
    "bpr: user unknown": (lambda p, d: bpr(p, d).recommend(USERS, d.liked[1]), str(USERS)),
    "bpr: all rows for one user": (lambda p, d: bpr(p, d).recommend(1, d.liked), "1 row"),
    "bpr: items and a filter": (lambda p, d: bpr(p, d).recommend(1, d.liked[1], items=[1], filter_items=[2]),
                                "filter_items"),
    "bpr: similar to an unknown item": (lambda p, d: bpr(p, d).similar_items(ITEMS), str(ITEMS)),
    "bpr: recalculate_user": (lambda p, d: bpr(p, d).recalculate_user(1, d.liked[1]), "recalculate_user"),
    "bpr: recommend recalculated": (lambda p, d: bpr(p, d).recommend(1, d.liked[1], recalculate_user=True),
                                    "recalculate_user"),
    "neighbours: all rows for two users": (lambda p, d: knn(p, d).recommend([1, 2], d.liked), "1 row"),
    "neighbours: no matrix": (lambda p, d: knn(p, d).recommend(1, None), "CSR"),
    "neighbours: unknown items": (lambda p, d: knn(p, d).recommend(1, d.liked[1], items=[ITEMS]), str(ITEMS)),
    "neighbours: items and a filter": (lambda p, d: knn(p, d).recommend(
        1, d.liked[1], items=[1], filter_items=[2]), "filter_items"),
    "neighbours: recalculate_item": (lambda p, d: knn(p, d).similar_items(
        1, recalculate_item=True, item_users=columns(d, 1)), "recalculate_item"),
    "neighbours: similar_users": (lambda p, d: knn(p, d).similar_users(1), "users"),
    "neighbours: callback": (lambda p, d: p.nearest_neighbours.CosineRecommender().fit(
        d.liked, callback=print), "callback"),
}
