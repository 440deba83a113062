# SPDX-License-Identifier: Apache-2.0
"""`Model`: what training learned, and all that it answers."""
from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from likewise import _core
from likewise.answers import Lists
from likewise.arguments import (
    LISTS, RANKING, by_name, by_names, call, count_of, lengths_of, names_of, refuse_idle, shown, whole)
from likewise.columns import number_column
from likewise.display import grid, table
from likewise.features import Features, visitors
from likewise.frames import Framed
from likewise.histories import Histories, History, Matrix, refuse_tables, rows_of_matrix, unambiguous
from likewise.ids import IdArray, Ids, IndexArray, Unknown, is_one
from likewise.interactions import Interactions, Path, as_interactions, as_interactions_or_none
from likewise.progress import Progress, logger
from likewise.sparse import is_sparse
from likewise.tensors import table_of

#: What computes: a name, or the numbers of several GPUs.
Device = str | Sequence[int]
#: How rows of factors are compared.
Metric = Literal["cosine", "dot", "euclidean", "hellinger"]
#: Control characters, and halves of characters.
_NOT_IN_TITLES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Evaluation(dict[str, float]):
    """Metrics by name ("ndcg@10", "rmse"), and what they were measured on.

    users_evaluated, users_without_history, relevant_items, relevant_seen,
    users_without_candidates, relevant_no_candidates, pairs_evaluated, unknown_users and
    unknown_items are counts of the test data. `per_user` holds, where it was
    asked for, the ids of the users and float32 arrays beside them by metric.
    """

    users_evaluated: int
    users_without_history: int
    relevant_items: int
    relevant_seen: int
    users_without_candidates: int
    relevant_no_candidates: int
    pairs_evaluated: int
    unknown_users: int
    unknown_items: int
    per_user: dict[str, npt.NDArray[Any]]

    def __missing__(self, name: str) -> float:
        raise KeyError(f"no {name!r} was measured; there are {', '.join(self)}")

    def _repr_html_(self) -> str:
        counts = {name.replace("_", " "): f"{count:,}" for name, count in vars(self).items()
                  if isinstance(count, int) and count}
        return table("Evaluation", {name: f"{value:.4f}" for name, value in self.items()} | counts)


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation(Framed):
    """Why an item scores what it does for a user (Hu, Koren and Volinsky 2008, section 5).

    score = baseline + the sum of the shares of `contributions`: (item, the user's value for it,
    share), the largest share first. `titles` are those of the contributions; None without titles.
    """

    score: float
    baseline: float
    contributions: list[tuple[Any, float, float]]
    titles: list[str] | None = None

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """A row for each contribution: item, value and share, and title where there are any."""
        items, values, shares = zip(*self.contributions) if self.contributions else ((), (), ())
        kind: Any = object if any(isinstance(one, str) for one in items) else np.int64
        result = {"item": np.array(items, dtype=kind), "value": np.array(values, dtype=np.float32),
                  "share": np.array(shares, dtype=np.float64)}
        return result if self.titles is None else result | {"title": np.array(self.titles, dtype=object)}

    def __repr__(self) -> str:
        names = [str(item) for item, _, _ in self.contributions]
        if self.titles is not None:
            names = [f"{name} {title}".rstrip() for name, title in zip(names, self.titles)]
        lines = [f"  {share:+.4g} by {name}, value {value:g}"
                 for name, (_, value, share) in zip(names[:10], self.contributions)]
        if len(names) > 10:
            lines.append(f"  and {len(names) - 10} more")
        baseline = f"{self.baseline:.4g} + " if self.baseline else ""
        return "\n".join([f"<score {self.score:.4g} = {baseline}{len(names)} shares>", *lines])

    def _repr_html_(self) -> str:
        rows = {"score": f"{self.score:.4g}", "baseline": f"{self.baseline:.4g}"}
        columns = {name: column[:10] for name, column in self.columns().items()}
        return table("Explanation", rows) + grid(
            list(columns), [[f"{cell:.4g}" if isinstance(cell, np.floating) else str(cell) for cell in row]
                            for row in zip(*columns.values())])


def no_attribute(of: object, name: str) -> AttributeError:
    """What is raised for a name that an object has not, with the nearest that it has."""
    hint = "" if name.startswith("_") else _core.suggestion(name, [one for one in dir(of) if not one.startswith("_")])
    return AttributeError(f"{type(of).__name__} has no attribute {name!r}{hint}")


@by_names
class Answers:
    """All that a model answers, and a fitted estimator by its model."""

    def __init__(self, core: _core.Model, device: Device = "auto", threads: int = 0):
        self._core = core
        self._advised = False
        self._device = device
        self._threads = whole(threads, "threads")
        self._recommenders: dict[bool | None, _core.Recommender] = {}  # by `clip`

    # What it is.

    @property
    def algorithm(self) -> str:
        """As the command line names it: "als", "item-knn" ..."""
        return self._core.algorithm

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter that it was trained with; None for those that have no effect beside the others. An
        estimator of the algorithm takes them: Als(**model.params)."""
        return self._core.params

    @property
    def users(self) -> Ids:
        """The users' ids, in the order of user_factors."""
        return Ids(self._core.users, "user")

    @property
    def items(self) -> Ids:
        """The items' ids, in the order of item_factors, with their titles where there are any."""
        return Ids(self._core.items, "item", self._core.titles_at if self._core.has_titles else None)

    @property
    def user_factors(self) -> npt.NDArray[np.float32]:
        """(users, factors), read-only, the model's own memory. ValueError without factors."""
        return self._core.user_factors

    @property
    def item_factors(self) -> npt.NDArray[np.float32]:
        """(items, factors), read-only, the model's own memory."""
        return self._core.item_factors

    @property
    def user_bias(self) -> npt.NDArray[np.float32] | None:
        """(users,), read-only: how much each user rates above the mean; None where no biases are learned."""
        return _maybe_array(self._core.user_bias)

    @property
    def item_bias(self) -> npt.NDArray[np.float32] | None:
        """(items,), read-only: how much each item is rated above the mean, or by bpr preferred; None as user_bias."""
        return _maybe_array(self._core.item_bias)

    @property
    def global_mean(self) -> float:
        """The mean of the ratings; 0 where no biases are learned. ValueError without factors or biases."""
        return self._core.global_mean

    @property
    def iterations(self) -> list[dict[str, Any]]:
        """One dict each: iteration, objective, seconds, elapsed (the seconds up to its end),
        validation. Seconds are those of training alone, without validation and checkpoints."""
        return self._core.iterations

    @property
    def validation_metric(self) -> str:
        """Of the iterations' `validation`, and of `validation`; "" where there was none."""
        return self._core.validation_metric

    @property
    def validation_among(self) -> str:
        """What validation ranked: "candidates", "100 negatives"; "" for all items."""
        return self._core.validation_among

    @property
    def validation(self) -> float | None:
        """What validation measured of this model; None where there was none."""
        return self._core.validation

    @property
    def best_iteration(self) -> int:
        """The iteration that this model is of, from 1: by validation the best, else the last; 0 where training does not iterate."""
        return self._core.best_iteration

    @property
    def stop_reason(self) -> str:
        """"target", "iterations", "tolerance", "patience", "stopped"; "" where training does not iterate."""
        return self._core.stop_reason

    @property
    def provenance(self) -> dict[str, Any]:
        """likewise_version, created, source and device of the training, and `updates`: a dict for
        each update() since, the latest last. Of a model that likewise.tune() made also `search`: what
        it was found by; of one that likewise.Auto() made `choice`: why its algorithm was chosen."""
        return self._core.provenance

    # Answers.

    def recommend(self, users: Any = None, n: int = 10, *, items: Any = None, exclude: Any = None,
                  include_seen: bool = False, new_items: bool = False, unknown: Unknown = "raise", progress: bool = False) -> Lists:
        """The n best items of each user that it has not seen.

        users         one id, a sequence of ids such as a column, or None for all; TypeError for a frame
        items         only these; exclude: never these
        include_seen  also items of the user's history
        new_items     only items that nobody has touched, which the model knows by their features
        unknown       ids that the model does not know: KeyError, or "skip" leaves them out; lists.unknown
                      counts the users
        """
        if _switch(new_items, "new_items"):
            if items is not None:
                raise ValueError("items and new_items exclude each other: both say what may be recommended")
            if include_seen:
                raise ValueError("include_seen=True would do nothing: nobody has seen new items")
            items = self._some_new_items()
        indices, skipped = self._indices(users, self.users, unknown)
        with Progress(progress) as listener:
            found = call(
                self._answers().recommend, indices, count_of(n), include_seen=include_seen, allow=self._maybe_items(items, "items", unknown),
                deny=self._maybe_items(exclude, "exclude", unknown), progress=listener)
        self._advise()
        return self._lists("user", self.users.take(indices), "item", found, unknown=skipped)

    def recommend_new(self, histories: Histories | None = None, n: int = 10, *, features: Any = None,
                      items: Any = None, exclude: Any = None, include_seen: bool = False,
                      unknown: Unknown = "raise") -> Lists:
        """The n best items for users who were not trained, each given by what it likes: a sequence
        of item ids, or a dict of values by id. Of a model that was fitted on a matrix, `histories` may be a SciPy
        matrix, users x items, too. Ids alone count as 1 each, and as the highest rating
        where the model learned from ratings. The queries of the lists are their places. Of somebody who likes
        nothing the list is empty, unless the model has an order of items for everybody. With
        unknown="skip" items that the model does not know are left out; lists.unknown counts them.

        features  in place of histories, by a model that was fitted with user_features: what fit() takes,
                  whose ids are the queries; or a sequence of dicts of columns, as [{"age": 31, "country":
                  "PT"}], or a frame without a column named as users are, whose places are. Of somebody
                  none of whose features the model has learned nothing is known: ValueError, or left out and counted with unknown="skip"
        """
        if (histories is None) == (features is None):
            raise ValueError("recommend_new takes histories or features of users, one of both")
        if features is None:
            *rows, skipped = self._rows(histories, unknown)  # type: ignore[arg-type]
            queries: Any = np.arange(len(rows[0]) - 1)
        else:
            table = visitors(features, self._core)
            places, skipped, rows = call(_core.visitors_of, self._core, table, unknown == "skip")
            queries = Ids(table.ids, "user").take(places)
        found = call(
            self._answers().recommend_new, tuple(rows), count_of(n), include_seen=include_seen,
            allow=self._maybe_items(items, "items", unknown), deny=self._maybe_items(exclude, "exclude", unknown),
            of_tags=features is not None)
        self._advise()
        return self._lists("user", queries, "item", found, unknown=skipped)

    @property
    def new_items(self) -> npt.NDArray[Any]:
        """Ids of items that nobody has touched, which the model knows by their features."""
        return self.items.take(_core.rows_by_features(self._core, "items"))

    def _some_new_items(self) -> npt.NDArray[Any]:
        found = self.new_items
        if not len(found):
            raise ValueError("new_items would leave nothing: the model has no items that nobody has touched; fit it "
                             "with item_features that name some")
        return found

    def _advise(self) -> None:
        """Says once where lists of this model are known to be poor."""
        advice = "" if self._advised else _core.advice_on_lists(self._core)
        self._advised = True
        if advice:
            logger.warning("%s", advice)

    def similar_items(self, items: Any = None, n: int = 10, *, metric: Metric | None = None,
                      unknown: Unknown = "raise", progress: bool = False) -> Lists:
        """The n items most similar to each of `items` (one id, several, None: all), without itself,
        best first. A neighbourhood model answers by its own similarity.

        metric  "cosine" (which it is without), "dot", "euclidean": sqrt(sum (x - y)^2), or "hellinger":
                sum (sqrt x - sqrt y)^2 of factors without negative numbers. The scores of the last
                two are distances: the smallest are the best.
        unknown as of recommend()
        """
        return self._similar("items", self.items, items, n, metric, unknown, progress)

    def similar_users(self, users: Any = None, n: int = 10, *, metric: Metric | None = None,
                      unknown: Unknown = "raise", progress: bool = False) -> Lists:
        """The n users most similar to each of `users`, without itself; `metric` and `unknown`
        as for items."""
        return self._similar("users", self.users, users, n, metric, unknown, progress)

    def similar_users_new(self, histories: Histories, n: int = 10, *,
                          unknown: Unknown = "raise") -> Lists:
        """The n trained users most similar to users who were not trained, by a user-knn model; `unknown`
        as of recommend_new()."""
        *rows, skipped = self._rows(histories, unknown)
        found = call(self._answers().similar_new, tuple(rows), count_of(n))
        return self._lists("user", np.arange(len(rows[0]) - 1), "similar_user", found, self.users, False, skipped)

    def predict(self, users: Any, items: Any, *, clip: bool | None = None,
                unknown: Literal["mean", "raise"] = "mean") -> npt.NDArray[np.float32]:
        """float32, (pairs,): the score of each pair of users[p] and items[p]. Ids that the model
        does not know fall back on means and on the other side's bias, with a warning of the log where none of
        a side is known; with unknown="raise" they are a KeyError. Predicted ratings stay within
        the scale of the training values, from the smallest to the largest, unless the model was
        trained with clip=False; clip=False gives them as they come, clip=True within the scale."""
        for ids in (users, items):
            if isinstance(ids, (set, frozenset)):
                raise TypeError(f"a set has no order: predict needs pairs, not {shown(ids)}")
        pairs = [np.atleast_1d(np.asarray(ids)) if not isinstance(ids, np.ndarray) else ids
                 for ids in (users, items)]
        if pairs[0].shape != pairs[1].shape or pairs[0].ndim != 1:
            raise ValueError(f"predict needs pairs: users have the shape {pairs[0].shape}, items "
                             f"{pairs[1].shape}")
        if unknown not in ("mean", "raise"):
            raise ValueError(f"unknown must be \"mean\" or \"raise\", not {shown(unknown)}")
        found = []
        for ids, given in zip((self.users, self.items), pairs):
            found.append(indices := ids.require(given) if unknown == "raise" else ids.find(given))
            if len(indices) and indices.max() < 0:
                logger.warning("none of these %ss is in the model, as %s: the scores are of what is left, means and biases",
                               ids.what, shown(given[0].item() if hasattr(given[0], "item") else given[0]))
        return self._answers(clip).predict(*found)

    def predict_new(self, histories: Histories, items: Any, *, clip: bool | None = None,
                    unknown: Unknown = "raise") -> npt.NDArray[np.float32]:
        """float32, (histories, items): scores of users who were not trained; `clip` as of predict().
        With unknown="skip" items of histories that the model does not know are left out."""
        indices, _ = self._indices(items, self.items)
        rows = self._rows(histories, unknown)[:3]
        return self._answers(clip).predict_new(rows, indices).reshape(len(rows[0]) - 1, len(indices))

    def fold_in(self, histories: Histories, *, unknown: Unknown = "raise") -> npt.NDArray[np.float32]:
        """float32, (histories, factors): factors of users who were not trained, solved exactly; `unknown`
        as of predict_new()."""
        return self._answers().fold_in("users", self._rows(histories, unknown)[:3])[0]  # type: ignore[no-any-return]

    def explain(self, user: Any, item: Any) -> Explanation:
        """Which of a user's past items speak for `item`. Both are one id; a dict of values by item id is
        taken for the history of somebody who was not trained, as explain_new() takes it.

        With factors the score is that of the user's history solved again with the items as they are. It is a
        little off that of recommend(), whose user factors were learned before the last step of the items. Predicted
        ratings are explained as they come, as predict(clip=False) gives them.
        """
        if isinstance(user, Mapping):
            return self.explain_new(user, item)
        if not is_one(user):
            raise TypeError(f"{shown(user)} may mean several users, or what one likes: explain(user, {shown(item)}) is "
                            f"about one user, explain_new({shown(user)}, {shown(item)}) about somebody who likes these items")
        index = self.users.require([user])[0]
        indptr, indices, values = self._core.history()
        row = slice(*indptr[index:index + 2])
        if row.start == row.stop and index in _core.rows_by_features(self._core, "users"):
            raise ValueError(f"user {shown(user)} has done nothing: its scores are by its features, and there are no past "
                             "items to explain them by; `likewise recommend --explain` names the features")
        return self._explained((np.array([0, row.stop - row.start]), indices[row].copy(), values[row].copy()), item)

    def explain_new(self, history: History | Matrix, item: Any) -> Explanation:
        """The same for somebody who was not trained, by what it likes: as one of the histories of
        recommend_new()."""
        rows = self._rows(history if is_sparse(history) else [history])[:3]  # type: ignore[arg-type,list-item]
        if len(rows[0]) != 2:
            raise ValueError(f"explain_new() is about one history, not a matrix of {len(rows[0]) - 1} rows: give one row")
        return self._explained(rows, item)

    def evaluate(self, test: Any, *, k: int | Sequence[int] | None = None,
                 metrics: str | Sequence[str] = (), min_relevant_value: float | None = None,
                 seen: Any = None, candidates: Any = None,
                 negatives: int | None = None, seed: int | None = None, per_user: bool = False,
                 clip: bool | None = None, new_items: bool = False, progress: bool = False) -> Evaluation:
        """Metrics on held-out interactions; metrics.md has their formulas. `test`, `seen` and
        `candidates` are Interactions, or what Interactions() takes. ValueError for what would do nothing.

        k                   list lengths (10)
        metrics             names as in likewise.metrics.names(); without: those of the model's kind
        min_relevant_value  test values below it (0) are not relevant (ratings: e.g. 4)
        seen                what lists leave out; without: the model's history
        candidates          lists hold only these items of each user, less those seen
        negatives           every relevant item is ranked among so many random items that the user
                            has neither in `seen` nor in `test` (He et al. 2017)
        seed                of the negatives (42)
        clip                whether predicted ratings stay within the scale of the training values, as
                            of predict()
        new_items           ranks, and asks for, only items that nobody has touched, which the model knows
                            by their features
        """
        if _switch(new_items, "new_items"):
            self._some_new_items()
        lengths = lengths_of(k)
        names = names_of(metrics, "metrics")
        lists, ranks, rates = call(_core.metric_needs, self._core, names)
        refuse_idle(k=(k, lists, LISTS), min_relevant_value=(min_relevant_value, ranks, RANKING), seen=(seen, ranks, RANKING),
                    seed=(seed, negatives is not None, "negatives"), per_user=(per_user or None, ranks, RANKING),
                    clip=(clip, rates, 'metrics with "rmse" or "mae"'))
        held_out = as_interactions(test, "test")
        with Progress(progress) as listener:
            found = call(
                _core.evaluate, self._core, held_out._core, device=self._device, k=lengths, metrics=names,
                min_relevant_value=min_relevant_value or 0.0, per_user=per_user,
                seen=as_interactions_or_none(seen, "seen"),
                candidates=as_interactions_or_none(candidates, "candidates"),
                negatives=0 if negatives is None else count_of(negatives, "negatives"),
                seed=42 if seed is None else seed,
                clip=_switch(clip, "clip"), new_items=new_items,
                threads=self._threads, progress=listener)
        result = Evaluation(found.pop("metrics"))
        users = found.pop("users")
        each = found.pop("per_user")
        advice = found.pop("advice")
        result.per_user = {"user": self.users.take(users), **each} if per_user else {}
        for name, count in found.items():
            setattr(result, name, count)
        if result.users_evaluated:
            self._advise()
        if advice:
            logger.warning("%s", advice)
        return result

    def update(self, interactions: Any, *, by: Literal["als", "sgd"] | None = None,
               iterations: int | None = None, learning_rate: float | None = None,
               item_features: Any = None, user_features: Any = None, progress: bool = False) -> Model:
        """A new model, grown by more Interactions, or what Interactions() takes; this one stays as it is.

        New users and items join, rows with a new interaction are refined, all others keep their
        numbers. Neighbourhoods, popular, bias, ease and spectral come out as if trained on all, the new rows
        after the old ones, whose times a model does not keep.

        by                of als: "als" (least squares over whole rows, as it is without), or "sgd"
                          (explicit feedback: steps over the new ratings)
        iterations        rounds of als (2), epochs of SGD (3) and BPR (10)
        learning_rate     of steps of SGD and BPR; without: that of training, a quarter of it for bpr,
                          and 0.05 for als
        item_features     of items, as of fit(): they join those that the model has, and new items join by
                          them; user_features: the same of users
        progress          shows a bar

        What a pair of both becomes, the interactions' `duplicates` say. Ctrl-C ends it within about a
        second, without a model.
        """
        more = as_interactions(interactions, "interactions")
        if self.params["feedback"] == "explicit" and not more.has_values:
            raise ValueError("a model of explicit feedback needs values: these interactions have none")
        features = Features(item_features, user_features, None, self._core)
        if features:
            call(_core.require_features, self.params)
        with Progress(progress) as listener:
            grown = call(
                _core.update, self._core, more._core, by=by,
                iterations=None if iterations is None else whole(iterations, "iterations"),
                learning_rate=learning_rate, source=more.name, device=self._device, threads=self._threads,
                progress=listener)
            features.add_to(grown, self._threads)
        model = Model(grown, self._device, self._threads)
        for before, after in ((self.users, model.users), (self.items, model.items)):
            if before.is_integer and not after.is_integer:
                logger.warning("ids of %ss were whole numbers and are text from now on, since a new one is; whole "
                               "numbers find them still", before.what)
        return model

    # Titles.

    def set_titles(self, titles: Mapping[Any, str]) -> None:
        """What items are called, by their ids; kept in the model file, and in the lists' frames. Items that are not
        named keep their titles; "" takes one away. Titles of ids that the model does not have are left out. ValueError for control characters, TypeError for other than text."""
        if not isinstance(titles, Mapping):
            hint = ": give its .to_dict()" if hasattr(titles, "to_dict") and getattr(titles, "ndim", 0) == 1 else ""
            raise TypeError(f"titles must be a dict of titles by item id, not of type {type(titles).__name__}{hint}")
        for item, title in titles.items():
            if not isinstance(title, str):
                raise TypeError(f"the title of item {shown(item)} must be text (str), not {shown(title)}")
            if _NOT_IN_TITLES.search(title):
                raise ValueError(f"the title of item {shown(item)} must be without control characters, not {shown(title)}")
        by_item = self._core.titles_at(np.arange(len(self.items), dtype=np.int32))
        for index, title in zip(self.items.find(list(titles)), titles.values()):
            if index >= 0:
                by_item[index] = title
        call(self._core.set_titles, by_item)

    def read_titles(self, path: Path, *,
                    columns: Sequence[str | int] = ()) -> dict[str, Any]:
        """Titles from a file of ids and titles (columns by name or 1-based number)."""
        return call(self._core.read_titles, path, [str(column) for column in names_of(columns, "columns")])

    # Files.

    def save(self, path: Path) -> None:
        """A safetensors file (model-format.md), whole or not at all."""
        call(self._core.save, path)

    def to_bytes(self) -> bytes:
        """The bytes of the model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.safetensors"
            self.save(path)
            return path.read_bytes()

    def report(self) -> Report:
        """A page about the model: shown in a notebook, saved by .save(path)."""
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model.safetensors"
            page = pathlib.Path(folder) / "report.html"
            self.save(model)
            from likewise.program import path as program
            done = subprocess.run([program(), "report", str(model), "-o", str(page), "--quiet"],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip())
            return Report(page.read_text(encoding="utf-8"))

    def __reduce__(self) -> Any:
        return (_from_bytes, (self.to_bytes(), self._device, self._threads))

    def __repr__(self) -> str:
        return (f"<likewise.Model: {self.algorithm}, {len(self.users):,} users, "
                f"{len(self.items):,} items>")

    def _repr_html_(self) -> str:
        rows = {"users": f"{len(self.users):,}", "items": f"{len(self.items):,}"}
        if self.iterations:
            rows["iterations"] = f"{len(self.iterations)}, the best is {self.best_iteration}"
        if self.validation is not None:
            rows["validation"] = f"{self.validation_metric} {self.validation:.4f}"
        rows |= {"data": self.provenance["source"] or "in memory", "trained": self.provenance["created"]}
        used = {name: str(value) for name, value in self.params.items() if value is not None and name != "algorithm"}
        return table(f"Model: {self.algorithm}", rows) + table("Parameters", used, folded=True)

    # Parts of the above.

    def _answers(self, clip: bool | None = None) -> _core.Recommender:
        clip = _switch(clip, "clip")
        if clip not in self._recommenders:
            self._recommenders[clip] = call(_core.Recommender, self._core, device=self._device,
                                            threads=self._threads, clip=clip)
        return self._recommenders[clip]

    def _indices(self, ids: Any, known: Ids, unknown: Unknown = "raise") -> tuple[IndexArray, int]:
        """The rows of ids, and how many ids were skipped."""
        if ids is None:
            return np.arange(len(known), dtype=np.int32), 0
        if isinstance(ids, Ids):
            ids = np.asarray(ids)
        return known.known([ids] if is_one(ids) else ids, unknown)

    def _explained(self, history: tuple[Any, Any, Any], item: Any) -> Explanation:
        if not is_one(item):
            raise TypeError(f"explain() is about one item, not {shown(item)}: ask for each by itself")
        score, baseline, parts = self._answers().explain(history, int(self.items.require([item])[0]))
        indices = np.array([part[0] for part in parts], dtype=np.int32)
        contributions = [(one, value, share) for one, (_, value, share) in zip(self.items.take(indices).tolist(), parts)]
        return Explanation(score, baseline, contributions,
                           self._core.titles_at(indices) if self._core.has_titles else None)

    def _maybe_items(self, ids: Any, what: str, unknown: Unknown) -> IndexArray | None:
        if ids is None:
            return None
        if is_one(ids):
            raise TypeError(f"{what} must be a sequence of ids, not {shown(ids)}")
        indices, _ = self.items.known(ids, unknown)
        if what == "items" and len(indices) == 0:
            raise ValueError("items is empty: nothing could be recommended")
        return indices

    def _rows(self, histories: Histories, unknown: Unknown = "raise") -> tuple[Any, Any, Any, int]:
        """Histories as sparse rows, and how many of their items were skipped."""
        if is_sparse(histories):
            return *rows_of_matrix(histories, self.items), 0
        refuse_tables(histories)
        offsets, columns, values, skipped = [0], [], [], 0
        for history in map(unambiguous, histories):  # type: ignore[arg-type]
            if unknown == "skip":
                history, left_out = self._those_known(history)
                skipped += left_out
            indices, _ = self.items.known(list(history) if isinstance(history, Mapping) else history, unknown)
            given = number_column(np.asarray(list(history.values()) if isinstance(history, Mapping)
                                             else np.full(len(indices), self._core.value_of_a_like)))
            with np.errstate(over="ignore"):  # what is beyond float32 is told below
                weights = given.astype(np.float32)
            indices, weights = self._once(indices, weights, len(offsets) - 1)
            columns.append(indices)
            values.append(weights)
            offsets.append(offsets[-1] + len(indices))
        none_i, none_v = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
        return (np.array(offsets, dtype=np.int64), np.concatenate([none_i, *columns]),
                np.concatenate([none_v, *values]), skipped)

    def _once(self, indices: IndexArray, weights: npt.NDArray[np.float32],
              place: int) -> tuple[IndexArray, npt.NDArray[np.float32]]:
        """A history in which no item is twice: what is there again with the same value counts once."""
        _, first, of = np.unique(indices, return_index=True, return_inverse=True)
        if len(first) == len(indices):
            return indices, weights
        other = weights != weights[first][of]
        if other.any():
            again = int(np.argmax(other))
            raise ValueError(f"histories: number {place} has item {shown(self.items.take(indices[again:again + 1]).tolist()[0])} twice, "
                             f"with the values {weights[first[of[again]]]:g} and {weights[again]:g}")
        kept = np.sort(first)
        return indices[kept], weights[kept]

    def _those_known(self, history: History) -> tuple[History, int]:
        """A history without the items that the model does not know, and how many they were."""
        there = self.items.find(list(history) if isinstance(history, Mapping) else history) >= 0
        ids = list(history)
        kept = [one for one, is_there in zip(ids, there) if is_there]
        left_out = len(ids) - len(kept)
        return {one: history[one] for one in kept} if isinstance(history, Mapping) else kept, left_out

    def _similar(self, side: str, known: Ids, ids: Any, n: int, metric: Metric | None,
                 unknown: Unknown, progress: bool) -> Lists:
        indices, skipped = self._indices(ids, known, unknown)
        with Progress(progress) as listener:
            found = call(self._answers().similar, side, indices, count_of(n), metric=metric,
                         progress=listener)
        what = side[:-1]
        return self._lists(what, known.take(indices), f"similar_{what}", found, known,
                           side == "items", skipped)

    def _learned_from(self, data: Interactions) -> bool:
        """Whether all these pairs are in the training."""
        indptr, items, _ = self._core.history()
        known = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * len(self.items) + items
        places = [mine.find(np.asarray(theirs)) for mine, theirs in ((self.users, data.users), (self.items, data.items))]
        entries = data.to_csr(copy=False).tocoo()
        rows, cols = places[0][entries.row], places[1][entries.col]
        return bool((rows >= 0).all() and np.isin(rows.astype(np.int64) * len(self.items) + cols, known).all())

    def _lists(self, query: str, queries: IdArray, answer: str, found: Any,
               ids: Ids | None = None, titled: bool = True, unknown: int = 0) -> Lists:
        titles = self._core.titles_at if titled and self._core.has_titles else None
        return Lists(query, queries, answer, self.items if ids is None else ids, found, titles, unknown)


@by_names
class Model(Answers):
    """A trained model: lists, similar rows, predictions, reasons, evaluation.

    Made by the estimators' fit() and by load_model(). Users and items are named by their own ids;
    KeyError where the model does not know one. All methods may be called from several threads.
    """

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    @classmethod
    def from_factors(cls, interactions: Any, user_factors: Any, item_factors: Any, *,
                     params: Mapping[str, Any] | None = None, device: Device = "auto",
                     threads: int = 0) -> Model:
        """A model of factors that were learned elsewhere: the score of a pair is their dot product.

        interactions    Interactions, or what Interactions() takes: its ids name the rows, in the order of
                        its users and items; its history is what lists leave out
        user_factors    (users, factors), item_factors (items, factors): arrays, or tensors of another
                        library (by DLPack, from a GPU too); copied, as float32
        params          parameters of Als, by which new users are solved; what it leaves out is Hu's form
                        with alpha 1 and regularization 0.01
        """
        users = _finite(table_of(user_factors, "user_factors", np.float32), "user_factors")
        items = _finite(table_of(item_factors, "item_factors", np.float32), "item_factors")
        if not isinstance(params, (Mapping, type(None))) or not all(isinstance(name, str) for name in params or ()):
            raise TypeError(f"params must be a dict of parameters by name, not {shown(params)}")
        given = {"algorithm": "als", **(params or {})}
        if not isinstance(given["algorithm"], str):
            raise TypeError(f"algorithm must be text (str), not {shown(given['algorithm'])}")
        if given.setdefault("factors", users.shape[1]) != users.shape[1]:
            raise ValueError(f"params name {given['factors']} factors, user_factors have "
                             f"{users.shape[1]}")
        known = as_interactions(interactions, "interactions")
        return cls(call(_core.Model.from_factors, users, items, given, known._core), device, threads)

    @classmethod
    def from_bytes(cls, data: bytes, *, device: Device = "auto", threads: int = 0) -> Model:
        """The model whose file has these bytes, as to_bytes() gives them."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.safetensors"
            try:
                path.write_bytes(data)
            except TypeError:
                raise TypeError(f"data must be bytes, as to_bytes() gives them, not {shown(data)}") from None
            return load_model(path, device=device, threads=threads)  # mapped: the file may go


class Report:
    """A page of HTML."""

    def __init__(self, html: str):
        self.html = html

    def __repr__(self) -> str:
        return f"<likewise.Report: {len(self.html):,} characters of HTML>"

    def save(self, path: Path) -> None:
        pathlib.Path(_core.checked_path(path)).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        import html
        return (f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="600" '
                'style="border: 0"></iframe>')


@by_name
def load_model(path: Path, *, device: Device = "auto", threads: int = 0) -> Model:
    """Loads a model file, checked and mapped: processes share its pages. FileNotFoundError, OSError,
    or ValueError naming file, field and what is wrong."""
    return Model(call(_core.Model.load, path), device, threads)


def _from_bytes(data: bytes, device: Device, threads: int) -> Model:
    return Model.from_bytes(data, device=device, threads=threads)


def _finite(table: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    rows = np.isfinite(table).all(axis=1)
    if not rows.all():
        raise ValueError(f"{what}: row {int(np.argmin(rows))} has a number that is not finite")
    return table


def _maybe_array(array: Any) -> npt.NDArray[np.float32] | None:
    return array  # type: ignore[no-any-return]


def _switch(value: Any, what: str) -> bool | None:
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    raise TypeError(f"{what} must be True, False or None, not {shown(value)}")
