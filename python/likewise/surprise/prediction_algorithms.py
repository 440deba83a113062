# SPDX-License-Identifier: Apache-2.0
"""Algorithms of Surprise, trained and asked by likewise."""
from __future__ import annotations

import heapq
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from likewise.estimator import Estimator
from likewise.estimators import Als, Bias, ItemKnn, Sgd, UserKnn
from likewise.model import Model
from likewise.surprise.data import Trainset
from likewise.utils import check_random_state

Table = npt.NDArray[np.float64]


class PredictionImpossible(Exception):
    """What estimate() raises: the prediction is then default_prediction(), and details say so."""


class Prediction(NamedTuple):
    uid: Any
    iid: Any
    r_ui: float | None
    est: float
    details: dict[str, Any]

    def __str__(self) -> str:
        rating = "None" if self.r_ui is None else f"{self.r_ui:1.2f}"
        return f"user: {self.uid:<10} item: {self.iid:<10} r_ui = {rating}   est = {self.est:1.2f}   {self.details}"


class AlgoBase:
    """What all algorithms have in common. One of your own has an estimate(u, i) of inner ids; those that are not in
    the trainset are texts."""

    verbose: bool = False
    trainset: Trainset

    def __init__(self, **kwargs: Any):
        self.bsl_options: dict[str, Any] = kwargs.get("bsl_options", {})
        self.sim_options: dict[str, Any] = {"user_based": True, **kwargs.get("sim_options", {})}

    def fit(self, trainset: Trainset) -> Any:
        self.trainset = trainset
        self._baselines: tuple[Table, Table] | None = None
        vars(self).pop("_sim", None)
        self._mean = trainset.global_mean
        return self

    def estimate(self, u: Any, i: Any) -> Any:
        """An estimate of inner ids, or a pair of it and a dict of details; or PredictionImpossible."""
        raise NotImplementedError(f"{type(self).__name__} has no estimate(u, i)")

    def default_prediction(self) -> float:
        return self._mean

    def predict(self, uid: Any, iid: Any, r_ui: float | None = None, clip: bool = True, verbose: bool = False) -> Prediction:
        """The prediction of a pair of raw ids, within the rating scale unless clip=False. Its details say whether it
        was_impossible, and why."""
        return self._predicted(uid, iid, r_ui, self._estimated(*self._inner(uid, iid)), clip, verbose)

    def test(self, testset: Any, verbose: bool = False) -> list[Prediction]:
        """Predictions of (user, item, rating)s."""
        return [self.predict(uid, iid, r_ui, verbose=verbose) for uid, iid, r_ui in testset]

    def compute_baselines(self) -> tuple[Table, Table]:
        """Biases of users and of items, by inner id."""
        if self._baselines is None:
            if self.verbose:
                print("Estimating biases using", self.bsl_options.get("method", "als") + "...")
            model = Bias(**_baseline(self.bsl_options)).fit(self.trainset.interactions()).model_
            self._baselines = self._by_inner_id(model)
        return self._baselines

    def compute_similarities(self) -> Table:
        """Similarities of all users, or items, by inner id."""
        if self.verbose:
            print(f"Computing the {self._similarity_name()} similarity matrix...")
        users = self.sim_options["user_based"]
        n = self.trainset.n_users if users else self.trainset.n_items
        signs: dict[str, Any] = {} if self._similarity_name() == "msd" else {"keep_negative": True}  # msd has none
        model = _neighbours(self, max(n - 1, 1), **signs).fit(self.trainset.interactions()).model_
        lists = (model.similar_users if users else model.similar_items)(range(n), n=max(n - 1, 1))
        found = np.eye(n)
        there = lists.indices >= 0
        found[np.nonzero(there)[0], lists.ids[there]] = lists.scores[there]
        if self.verbose:
            print("Done computing similarity matrix.")
        return found

    def get_neighbors(self, iid: int, k: int) -> list[int]:
        """Inner ids of the k users, or items, most similar to one."""
        others = [(one, self.sim[iid, one]) for one in range(len(self.sim)) if one != iid]
        return [one for one, _ in heapq.nlargest(k, others, key=lambda pair: pair[1])]

    @property
    def sim(self) -> Table:
        """Similarities by inner id; computed when they are first asked for."""
        if "_sim" not in vars(self):
            told, self.verbose = self.verbose, False
            self._sim = self.compute_similarities()
            self.verbose = told
        return self._sim

    @sim.setter
    def sim(self, table: Table) -> None:
        self._sim = table

    def _similarity_name(self) -> str:
        name = str(self.sim_options.get("name", "msd")).lower()
        if name not in _SIMILARITIES:
            raise NameError(f"there is no similarity {name!r}; there are {', '.join(_SIMILARITIES)}")
        return name

    def _inner(self, uid: Any, iid: Any) -> tuple[Any, Any]:
        return self.trainset._users.get(uid, f"UKN__{uid}"), self.trainset._items.get(iid, f"UKN__{iid}")

    def _estimated(self, u: Any, i: Any) -> tuple[float, dict[str, Any]]:
        try:
            found = self.estimate(u, i)
        except PredictionImpossible as error:
            return self.default_prediction(), {"was_impossible": True, "reason": str(error)}
        estimate, details = found if isinstance(found, tuple) else (found, {})
        return estimate, {**details, "was_impossible": False}

    def _predicted(self, uid: Any, iid: Any, r_ui: float | None, estimated: tuple[float, dict[str, Any]], clip: bool,
                   verbose: bool) -> Prediction:
        estimate, details = estimated
        if clip:
            low, high = self.trainset.rating_scale
            estimate = max(low, min(high, estimate))
        made = Prediction(uid, iid, r_ui, estimate, details)
        if verbose:
            print(made)
        return made

    def _by_inner_id(self, model: Model) -> tuple[Table, Table]:
        biases = [np.zeros(self.trainset.n_users), np.zeros(self.trainset.n_items)]
        for place, (ids, learned) in enumerate(((model.users, model.user_bias), (model.items, model.item_bias))):
            if learned is not None:
                biases[place][np.asarray(ids)] = learned
        return biases[0], biases[1]


class _Trained(AlgoBase):
    """An algorithm that is an estimator of likewise."""

    def _estimator(self) -> Estimator:
        raise NotImplementedError

    def _refusals(self, users: Table, items: Table) -> list[str | dict[str, Any]]:
        """Of pairs of inner ids, -1 where one is unknown: why there is no estimate, or the details of one."""
        return [{} for _ in users]

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        self.model_: Model = self._estimator().fit(trainset.interactions()).model_
        return self

    def _factors(self, model: Model) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Factors of users and of items, by inner id."""
        users = model.user_factors[model.users.find(np.arange(self.trainset.n_users))]
        return users, model.item_factors[model.items.find(np.arange(self.trainset.n_items))]

    def _scores(self, users: Table, items: Table) -> npt.NDArray[np.float32]:
        """Of pairs of inner ids, of which any may be unknown: that is no surprise here."""
        return self.model_._answers(False).predict(self.model_.users.find(users), self.model_.items.find(items))

    def estimate(self, u: Any, i: Any) -> Any:
        pair = [np.array([one if isinstance(one, (int, np.integer)) else -1]) for one in (u, i)]
        (told,) = self._refusals(*pair)
        if isinstance(told, str):
            raise PredictionImpossible(told)
        return float(self._scores(*pair)[0]), told

    def test(self, testset: Any, verbose: bool = False) -> list[Prediction]:
        kind = type(self)
        if (kind.estimate, kind.predict) != (_Trained.estimate, AlgoBase.predict) or not len(testset):
            return super().test(testset, verbose)
        users = np.array([self.trainset._users.get(uid, -1) for uid, _, _ in testset])
        items = np.array([self.trainset._items.get(iid, -1) for _, iid, _ in testset])
        scores = self._scores(users, items).tolist()
        default = self.default_prediction()
        return [self._predicted(uid, iid, r_ui, (default, {"was_impossible": True, "reason": told}) if isinstance(told, str)
                                else (score, {**told, "was_impossible": False}), True, verbose)
                for (uid, iid, r_ui), told, score in zip(testset, self._refusals(users, items), scores)]


#: Surprise's names of similarities in our words.
_SIMILARITIES = {"cosine": "cosine", "msd": "msd", "pearson": "pearson", "pearson_baseline": "pearson-baseline"}


def _baseline(options: dict[str, Any]) -> dict[str, Any]:
    """bsl_options in our words."""
    names = {"als": {"n_epochs": "baseline_epochs", "reg_u": "baseline_user_regularization",
                     "reg_i": "baseline_item_regularization"},
             "sgd": {"n_epochs": "baseline_epochs", "reg": "baseline_regularization", "learning_rate": "baseline_learning_rate"}}
    method = options.get("method", "als")
    if method not in names:
        raise ValueError(f"bsl_options: there is no method {method!r}; there are als and sgd")
    unknown = sorted({*options} - {*names["als"], *names["sgd"], "method"})
    if unknown:
        raise ValueError(f"bsl_options has {unknown[0]!r}; it may have method, {', '.join(names[method])}")
    kept = {name: options[option] for option, name in names[method].items() if option in options}
    return {"baseline_method": method, **{name: int(value) if name == "baseline_epochs" else float(value)
                                          for name, value in kept.items()}}


def _neighbours(algo: AlgoBase, k: int, *, prediction: str = "mean", **more: Any) -> Estimator:
    options = algo.sim_options
    unknown = sorted({*options} - {"name", "user_based", "min_support", "shrinkage"})
    if unknown:
        raise ValueError(f"sim_options has {unknown[0]!r}; it may have name, user_based, min_support and shrinkage")
    similarity = _SIMILARITIES[algo._similarity_name()]
    shrinkage = float(options.get("shrinkage", 100)) if similarity == "pearson-baseline" else 0.0
    if prediction == "baseline" or similarity == "pearson-baseline":
        more |= _baseline(algo.bsl_options)
    kind: type[Estimator] = UserKnn if options["user_based"] else ItemKnn
    return kind(feedback="explicit", neighbours=k, similarity=similarity, shrinkage=shrinkage, prediction=prediction,
                min_support=int(options.get("min_support", 1)), **more)


def _seed(random_state: Any) -> int:
    """Of a training; without a state one that NumPy draws, as Surprise does."""
    if isinstance(random_state, int):
        return random_state
    if random_state is None:
        return int(np.random.randint(2**31 - 1))
    return int(check_random_state(random_state).integers(2**31 - 1))


class _Neighbourhood(_Trained):
    prediction: ClassVar[str]

    def __init__(self, k: int = 40, min_k: int = 1, sim_options: dict[str, Any] = {}, verbose: bool = True, **kwargs: Any):
        super().__init__(sim_options=sim_options, **kwargs)
        self.verbose = verbose
        self.k = k
        self.min_k = min_k

    def _estimator(self) -> Estimator:
        if self.verbose:
            print(f"Computing the {self._similarity_name()} similarity matrix...\nDone computing similarity matrix.")
        return _neighbours(self, self.k, prediction=self.prediction, min_neighbours=self.min_k)

    def _refusals(self, users: Any, items: Any) -> list[str | dict[str, Any]]:
        ub = self.sim_options["user_based"]
        rated = self.trainset.ir if ub else self.trainset.ur
        raters = {y: np.array([x for x, _ in rated[y]]) for y in set((items if ub else users).tolist()) if y >= 0}
        similar = self.sim > 0
        np.fill_diagonal(similar, False)  # nobody is its own neighbour
        found: list[str | dict[str, Any]] = []
        for x, y in zip(*((users, items) if ub else (items, users))):
            if x < 0 or y < 0:
                found.append({} if self.prediction == "baseline" else "User and/or item is unknown.")
                continue
            actual = min(self.k, int(similar[x, raters[int(y)]].sum()))
            enough = actual >= self.min_k or self.prediction != "mean"
            found.append({"actual_k": actual} if enough else "Not enough neighbors.")
        return found


class KNNBasic(_Neighbourhood):
    """The mean of the k nearest ratings, weighted by similarity."""

    prediction = "mean"


class KNNWithMeans(_Neighbourhood):
    """The same about the means of users, or items."""

    prediction = "centred"


class KNNWithZScore(_Neighbourhood):
    """The same of z-scores of users, or items."""

    prediction = "z-score"


class KNNBaseline(_Neighbourhood):
    """The same about baselines."""

    prediction = "baseline"

    def __init__(self, k: int = 40, min_k: int = 1, sim_options: dict[str, Any] = {}, bsl_options: dict[str, Any] = {},
                 verbose: bool = True, **kwargs: Any):
        super().__init__(k, min_k, sim_options, verbose, bsl_options=bsl_options, **kwargs)


class BaselineOnly(_Trained):
    """The mean and the biases of user and item."""

    def __init__(self, bsl_options: dict[str, Any] = {}, verbose: bool = True):
        super().__init__(bsl_options=bsl_options)
        self.verbose = verbose

    def _estimator(self) -> Estimator:
        if self.verbose:
            print("Estimating biases using", self.bsl_options.get("method", "als") + "...")
        return Bias(**_baseline(self.bsl_options))

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        self.bu, self.bi = self._baselines = self._by_inner_id(self.model_)
        return self


class SVD(_Trained):
    """Factors and biases by stochastic gradient descent, as Surprise's: the same objective, steps and spread of the
    first factors; likewise goes through the ratings in another order, the same for any number of threads."""

    def __init__(self, n_factors: int = 100, n_epochs: int = 20, biased: bool = True, init_mean: float = 0,
                 init_std_dev: float = 0.1, lr_all: float = 0.005, reg_all: float = 0.02, lr_bu: float | None = None,
                 lr_bi: float | None = None, lr_pu: float | None = None, lr_qi: float | None = None,
                 reg_bu: float | None = None, reg_bi: float | None = None, reg_pu: float | None = None,
                 reg_qi: float | None = None, random_state: Any = None, verbose: bool = False):
        super().__init__()
        self.n_factors, self.n_epochs = n_factors, n_epochs
        self.init_std_dev, self.random_state, self.verbose = init_std_dev, random_state, verbose
        if not biased:
            raise ValueError("biased=False: factors of likewise are learned about the mean and biases; leave it out")
        if init_mean != 0:
            raise ValueError(f"init_mean is {init_mean}: the first factors of likewise have the mean 0")
        rates = {name: lr_all if rate is None else rate
                 for name, rate in (("lr_bu", lr_bu), ("lr_bi", lr_bi), ("lr_pu", lr_pu), ("lr_qi", lr_qi))}
        if len(set(rates.values())) > 1:
            raise ValueError(f"learning rates differ, {rates}: likewise has one, lr_all")
        self.lr_all = rates["lr_pu"]
        weights = [[reg_all if one is None else one for one in pair] for pair in ((reg_bu, reg_bi), (reg_pu, reg_qi))]
        for names, pair in zip(("reg_bu and reg_bi", "reg_pu and reg_qi"), weights):
            if pair[0] != pair[1]:
                raise ValueError(f"{names} differ, {pair[0]} and {pair[1]}: likewise has one for both")
        self.reg_biases, self.reg_factors = weights[0][0], weights[1][0]

    def _estimator(self) -> Estimator:
        # Our rate and first spread are relative to the spread of the ratings: math.md.
        spread = float(np.std([rating for _, _, rating in self.trainset.all_ratings()])) or 1.0
        return Sgd(factors=self.n_factors, iterations=self.n_epochs, schedule="constant",
                   learning_rate=self.lr_all * spread, regularization=float(self.reg_factors), regularization_exponent=1.0,
                   init_stddev=self.init_std_dev * float(np.sqrt(self.n_factors / spread)), seed=_seed(self.random_state),
                   bias_regularization=float(self.reg_biases))

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        self.bu, self.bi = self._by_inner_id(self.model_)
        self.pu, self.qi = self._factors(self.model_)
        return self


class NMF(_Trained):
    """Factors of 0 and more that minimise what Surprise's do, a rating's squared error and reg_pu and reg_qi for each
    rating, by nonnegative alternating least squares: it takes fewer epochs to get there, and goes on where Surprise's
    steps have not arrived."""

    def __init__(self, n_factors: int = 15, n_epochs: int = 50, biased: bool = False, reg_pu: float = 0.06,
                 reg_qi: float = 0.06, reg_bu: float = 0.02, reg_bi: float = 0.02, lr_bu: float = 0.005,
                 lr_bi: float = 0.005, init_low: float = 0, init_high: float = 1, random_state: Any = None,
                 verbose: bool = False):
        super().__init__()
        self.n_factors, self.n_epochs, self.biased = n_factors, n_epochs, biased
        self.random_state, self.verbose = random_state, verbose
        if (init_low, init_high) != (0, 1):
            raise ValueError(f"init_low and init_high are {init_low} and {init_high}: the first factors of likewise are "
                             "sizes of normal numbers; leave them out")
        if (lr_bu, lr_bi) != (0.005, 0.005):
            raise ValueError(f"lr_bu and lr_bi are {lr_bu} and {lr_bi}: least squares has no learning rates; leave them out")
        weights = {"reg_pu": reg_pu, "reg_qi": reg_qi, **({"reg_bu": reg_bu, "reg_bi": reg_bi} if biased else {})}
        if len(set(weights.values())) > 1:
            raise ValueError(f"weights differ, {weights}: likewise has one for all of them")
        self.reg = float(reg_pu)

    def _estimator(self) -> Estimator:
        return Als(feedback="explicit", factors=self.n_factors, iterations=self.n_epochs, biases=self.biased,
                   regularization=self.reg, regularization_exponent=1.0, nonnegative=True, init_stddev=1.0,
                   seed=_seed(self.random_state))

    def _refusals(self, users: Any, items: Any) -> list[str | dict[str, Any]]:
        unknown = (np.asarray(users) < 0) | (np.asarray(items) < 0)
        return ["User and item are unknown." if one and not self.biased else {} for one in unknown]

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        self.bu, self.bi = self._by_inner_id(self.model_)
        self.pu, self.qi = self._factors(self.model_)
        return self


class SlopeOne(AlgoBase):
    """The user's mean and the mean of dev(i, j) over all j that the user has rated, where dev(i, j) is the mean difference
    of the ratings of i and j by those who have rated both (Lemire and Maclachlan 2005). Keeps n_items^2 numbers."""

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        users, items, ratings = (np.array(column) for column in zip(*trainset.all_ratings()))
        shape = trainset.n_users, trainset.n_items
        table = sparse.csr_matrix((ratings, (users, items)), shape, dtype=np.float64)
        there = sparse.csr_matrix((np.ones(len(users)), (users, items)), shape)
        self.freq = np.asarray((there.T @ there).todense(), dtype=np.int64)
        differences = np.asarray((table.T @ there).todense(), dtype=np.float64)
        self.dev = np.divide(differences - differences.T, self.freq, out=np.zeros_like(differences), where=self.freq > 0)
        self.user_mean = [float(np.mean([rating for _, rating in trainset.ur[u]])) for u in trainset.all_users()]
        return self

    def estimate(self, u: Any, i: Any) -> float:
        if not (self.trainset.knows_user(u) and self.trainset.knows_item(i)):
            raise PredictionImpossible("User and/or item is unknown.")
        rated = [j for j, _ in self.trainset.ur[u] if self.freq[i, j] > 0]
        return float(self.user_mean[u] + (np.mean(self.dev[i, rated]) if rated else 0.0))


class NormalPredictor(AlgoBase):
    """A random rating, of the normal distribution with mean and deviation of the ratings."""

    def fit(self, trainset: Trainset) -> Any:
        super().fit(trainset)
        self.sigma = float(np.std([rating for _, _, rating in trainset.all_ratings()]))
        return self

    def estimate(self, u: Any, i: Any) -> float:
        return float(np.random.normal(self._mean, self.sigma))


class _Absent(AlgoBase):
    instead: ClassVar[str]

    def __init__(self, *args: Any, **kwargs: Any):
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotImplementedError(f"likewise.surprise has no {type(self).__name__}: {self.instead}")


class SVDpp(_Absent):
    instead = "SVD learns factors and biases; likewise.Als(feedback=\"explicit\") does by least squares"


class CoClustering(_Absent):
    instead = "BaselineOnly predicts by means, KNNBaseline by what is similar"
