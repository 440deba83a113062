# SPDX-License-Identifier: Apache-2.0
"""`tune()`: the search for good parameters."""
from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Callable, Literal

import numpy as np

from likewise import _core
from likewise.arguments import by_name, call, check_callback, names_of
from likewise.display import grid, table
from likewise.features import Features
from likewise.interactions import Path, as_interactions, duration
from likewise.model import Model
from likewise.progress import Progress, is_watched, logger

if TYPE_CHECKING:
    from likewise.estimator import Estimator


@dataclasses.dataclass(frozen=True)
class Search:
    """What tune() found.

    model           of the winner, trained on everything; None of a search that was stopped
    best            the winner, with the parameters of the model: weights of implicit ALS are as far from what
                    suits everything as the trial's are from what suits the part that it was trained on;
                    baseline: what it was compared with (popular, or bias for ratings). A
                    trial is a dict: trial (its number), algorithm, origin, value (None where the
                    algorithm refused the data, training failed or the time was over), final_value (None but for trials of the final round;
                    the winner's is the best, or it has the defaults of what auto chooses and the best is less than 0.5 % better), failure, iterations (done), best_iteration, seconds, finished
                    (seconds of the search) and params, which an estimator of the algorithm takes:
                    Als(**search.best["params"])
    final_parts     validation parts that final values are means over; 0 without a final round, as where
                    validation was given
    trials          all of them, in order
    failures        why trials have no value
    users_not_ranked  of the validation_users, those with something held out: by metrics of lists those without
                    a history in the training part, on whom no trial is measured
    measured_users  on whom trials were measured: the others, or fewer where a budget of time is short of
                    lists for all
    left_out        algorithms that were not searched, and why; notes: what is searched in place of what
                    was asked for, and which algorithms a half-life does nothing for
    warning         what is wrong with the winner, as that nothing beats the baseline; else empty
    importance      (algorithm, parameter, share): how much of what trials differ in the parameter
                    explains, from 0 to 1, the largest first; of algorithms with 8 trials or more
    """

    model: Model
    metric: str
    higher_is_better: bool
    beats_baseline: bool
    best: dict[str, Any]
    baseline: dict[str, Any]
    trials: list[dict[str, Any]]
    importance: list[tuple[str, str, float]]
    final_parts: int
    seconds: float
    failures: list[str]
    validation_users: int
    users_not_ranked: int
    measured_users: int
    left_out: list[str]
    notes: list[str]
    warning: str

    @property
    def best_estimator(self) -> Estimator:
        """An estimator with the winner's parameters, fitted: its model_ is `model`. Of a search that was
        stopped it is not fitted."""
        from likewise.estimator import estimator_of
        made = estimator_of(self.best["algorithm"])(**self.best["params"])
        if self.model is not None:
            made.model_ = self.model
        return made

    def _repr_html_(self) -> str:
        rows = {"winner": f"trial {self.best['trial']}, {self.best['algorithm']}, {self._told()}",
                "trials": f"{len(self.trials)} in {self.seconds:.0f} s"}
        if self.baseline["value"] is not None:
            value = self.baseline["value" if self.best["final_value"] is None else "final_value"]
            rows["compared with"] = f"{self.baseline['algorithm']}, {value:.4f}"
        if self.users_not_ranked:
            rows["users"] = _not_ranked(self.users_not_ranked, self.validation_users)
        used = {name: str(value) for name, value in self.best["params"].items() if value is not None}
        good = sorted((trial for trial in self.trials if trial["value"] is not None), key=self._place)[:5]
        final = [f"mean of {self.final_parts} parts"] if self.final_parts else []
        return table("Search", rows) + grid(
            ["trial", "algorithm", *final, self.metric, "iterations", "seconds"],
            [[str(trial["trial"]), trial["algorithm"], *(_four_digits(trial["final_value"]) for _ in final),
              _four_digits(trial["value"]), str(trial["iterations"]), f"{trial['seconds']:.1f}"] for trial in good]
        ) + table("Parameters of the winner", used, folded=True)

    def _place(self, trial: dict[str, Any]) -> tuple[bool, bool, float]:
        """The winner first, then the trials of the final round, then the others; the best of them first."""
        final = trial["final_value"]
        value = trial["value"] if final is None else final
        return trial["trial"] != self.best["trial"], final is None, -value if self.higher_is_better else value

    def to_pandas(self) -> Any:
        """A row for each trial, with a column for each parameter. `iterations` are those that were done, and
        the parameter of that name is `param_iterations`."""
        import pandas
        rows = []
        for trial in self.trials:
            row = {name: value for name, value in trial.items() if name != "params"}
            row.update({f"param_{name}" if name in row else name: value for name, value in trial["params"].items()
                        if name != "algorithm"})
            rows.append(row)
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        return f"<likewise.Search: {len(self.trials)} trials, best {self._told()} by {self.best['algorithm']}>"

    def _told(self) -> str:
        """How good the winner is: over all parts, where there was a final round."""
        final = self.best["final_value"]
        return (f"{self.metric} {self.best['value']:.4f}" if final is None
                else f"{self.metric} {final:.4f} (mean of {self.final_parts} parts)")


def _not_ranked(users: int, of: int) -> str:
    return f"{users:,} of {of:,} users have no history: not ranked"


def _four_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


@by_name
def tune(interactions: Any, *, algorithms: str | Collection[str] | None = None,
         feedback: Literal["implicit", "explicit"] = "implicit", metric: str | None = None,
         budget: str | int | datetime.timedelta = "10m", seed: int = 42, validation: Any = None,
         validation_method: Literal["random", "per-user", "last", "time"] | None = None,
         validation_share: float | None = None, journal: Path | None = None,
         resume: bool = False, item_features: Any = None, user_features: Any = None,
         feature_regularization: float | None = None, device: Any = "auto", threads: int = 0, progress: bool | None = None,
         callback: Callable[[dict[str, Any]], object] | None = None) -> Search:
    """Searches for good parameters on a part of the interactions, measures them on the rest, and trains
    the best on all of them. They and `validation` are Interactions, or what Interactions() takes.

    algorithms         one, several, or None (or "all") for all that learn from this feedback and that the device
                       trains by their defaults
    metric             what the best are best by: "ndcg@10" (as it is for implicit feedback), "rmse" ...
    budget             how long to search: "30s", "10m" (the default), "1h", a timedelta, or a number of trials, which gives
                       the same result again. In a time is the training of the winner, too, as long as its
                       trial says that it will take
    seed               of the search and of the validation parts
    validation         held-out interactions to measure on; the winner is trained on them too. Without
                       them the best trials are in the end measured on further parts
    validation_method  without them: which part to hold out, as split() takes it [per-user]
    validation_share   its share of the rows [0.2]
    journal            a file that notes each training as it ends; one search at a time writes it
    resume             goes on with the journal of a search that was ended
    item_features      what the model of the winner learns, as of fit(); user_features: the same of users. Only
                       algorithms with factors are searched then. Trials are without
    feature_regularization  as of fit(); the search does not try others
    progress           shows a bar; None: in a notebook and on a terminal
    callback           called after each training with its trial

    Keep test data out of `interactions`: what the search has seen cannot say how good a model is.
    Ctrl-C, and an exception of the callback, end the search without a model. Where a trial has a value by
    then, the exception has what was found so far, as its attribute `search`; with a journal the search can
    be resumed. ValueError names what is wrong with an option or the data; also NumericalError, DeviceError,
    OSError.
    """
    data = as_interactions(interactions, "interactions")
    held_out = None if validation is None else as_interactions(validation, "validation")
    check_callback(callback)
    budget = duration(budget)
    if isinstance(budget, np.integer):
        budget = int(budget)
    if isinstance(budget, bool) or not isinstance(budget, (str, int)):
        raise TypeError(f"budget must be a time, as \"10m\" or a timedelta, or a number of trials, not {budget!r}")
    if validation is not None and not (validation_method is None and validation_share is None):
        raise ValueError("validation_method and validation_share would do nothing here: they cut a "
                         "part from the interactions; leave validation out")
    if validation_method == "last" and validation_share is not None:
        raise ValueError("validation_share would do nothing here: it needs validation_method random, "
                         "per-user or time")
    if feedback == "explicit" and not data.has_values:
        raise ValueError("feedback=\"explicit\" needs values: these interactions have none")
    names = [] if algorithms is None else names_of(algorithms, "algorithms")
    if algorithms is not None and not names:
        raise ValueError("algorithms is empty: name some, or None for all")
    if "all" in names and len(names) > 1:
        raise ValueError("algorithms: \"all\" stands alone; or name those to search")
    if names == ["all"]:
        names = []

    def on_trial(trial: dict[str, Any]) -> None:
        logger.debug("trial %d: %s after %d iterations, %s", trial["trial"], trial["value"],
                     trial["iterations"], trial["params"])
        if callback is not None:
            callback(trial)

    features = Features(item_features, user_features, feature_regularization)
    with Progress(is_watched() if progress is None else progress) as listener:
        model, found, interruption = call(
            _core.tune, data._core, names, feedback, "" if metric is None else metric, str(budget), seed,
            None if held_out is None else held_out._core, "" if held_out is None else held_out.name,
            "per-user" if validation_method is None else validation_method,
            0.2 if validation_share is None else validation_share,
            journal, resume, device, threads, data.name, features.tables, listener, on_trial)
    for line in found.pop("broken_lines"):
        logger.warning("%s: line %d was broken; what it noted was trained again", journal, line)
    for why in found["left_out"]:
        logger.info("not searched: %s", why)
    for note in found["notes"]:
        logger.info("%s", note)
    if found["users_not_ranked"]:
        logger.info("%s", _not_ranked(found["users_not_ranked"], found["validation_users"]))
    features.log(found.pop("features"))
    if found["warning"]:
        logger.warning("%s", found["warning"])
    trained: Any = None if model is None else Model(model, threads=threads)
    search = Search(model=trained, **found)
    if interruption is not None:
        interruption.search = search
        raise interruption
    return search
