# SPDX-License-Identifier: Apache-2.0
"""What the estimators have in common, and how they get the parameters of their algorithms."""
from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

import numpy as np

from likewise import _core
from likewise.arguments import (
    LISTS, RANKING, by_names, call, check_callback, count_of, lengths_of, names_of, no_parameter, refuse_idle, shown)
from likewise.cross_validation import CrossValidation, made
from likewise.display import table
from likewise.features import Features
from likewise.interactions import Interactions, Moment, Path, as_interactions, as_interactions_or_none, written
from likewise.metrics import higher_is_better
from likewise.model import Answers, Evaluation, Model, no_attribute
from likewise.plan import TrainingPlan
from likewise.progress import Progress, logger

Callback = Callable[[int, float, float, "float | None"], None]
_Own = TypeVar("_Own", bound="Estimator")

# What a model answers its estimator answers too: type checkers see the methods, and so do help() and
# the completion of names, by _own_answers().
if TYPE_CHECKING:
    _Answering = Answers
else:
    _Answering = object


@by_names
class Estimator(_Answering):
    """What all algorithms have in common. `model_` is the Model, after fit(), and what it answers
    (recommend, similar_items, predict, evaluate, save ...) the estimator answers too.

    Parameters are checked by fit(); one that is None has its default for the kind of feedback, or is
    chosen by the data: `model_.params` has the values.
    """

    algorithm: ClassVar[str]
    _names: ClassVar[tuple[str, ...]]
    model_: Model
    device: str | Sequence[int]
    threads: int

    def __init__(self, *values: Any, **params: Any):
        if values:
            known = self._signature()
            name = next((one for one in ("factors", "neighbours") if one in known), next(iter(known)))
            raise TypeError(f"{type(self).__name__} takes parameters by their names, as {type(self).__name__}({name}={shown(values[0])})")
        known = {name: default.default for name, default in self._signature().items()}
        if params.pop("algorithm", self.algorithm) != self.algorithm:
            raise TypeError(f"{type(self).__name__} trains {self.algorithm}; these parameters are of another algorithm, "
                            "which its own class trains")
        for name in params:
            if name not in known:
                raise TypeError(no_parameter(type(self).__name__, name, list(known)))
        for name, default in known.items():
            setattr(self, name, params.get(name, default))

    def fit(self: _Own, interactions: Any, y: None = None, *,
            validation: Any = None, metric: str | None = None,
            candidates: Any = None, negatives: int | None = None,
            target: float | None = None, checkpoint: Path | None = None, checkpoint_every: int | None = None,
            resume: Model | Estimator | None = None, item_features: Any = None,
            user_features: Any = None, feature_regularization: float | None = None,
            progress: bool = False, callback: Callback | None = None) -> _Own:
        """Trains on the interactions, and returns self. They, `validation` and `candidates` are
        Interactions, or what Interactions() takes.

        validation        measured after every iteration, and the best iteration is kept; or, by an
                          algorithm without iterations, once: model_.validation
        metric            of the validation: "ndcg@10" (as it is for implicit feedback), "rmse" ...
        candidates        validation ranks only these items of each user (Model.evaluate)
        negatives         validation ranks each held-out item among so many random others
        target            a value of `metric`, which is named with it: training ends after the first iteration that
                          is as good
        checkpoint        a file to go on from, written every `checkpoint_every` iterations (1); ValueError for a
                          file that holds something other than a model
        resume            a model, fitted estimator, or checkpoint loaded by load_model(), to go on from
        item_features     tags of items: a file's path, a dict of tags by item id, or a frame of ids and
                          categories, numbers or lists of tags. Items without interactions join by them.
                          For algorithms with factors: Als, Bpr, Sgd, Spectral
        user_features     the same of users
        feature_regularization  of the regression of factors on tags; without: what predicts a hidden
                          fifth best
        progress          shows a bar
        callback          called after each iteration: (iteration, seconds, objective, validation)

        Ctrl-C, and an exception of the callback, end training within about a second, or after the
        iteration where factors are gigabytes; `model_` is then the best model so far where one
        iteration was done. ValueError names what is wrong with
        parameters or data; also NumericalError, DeviceError, MemoryError.
        """
        _refuse_second_data(y)
        data = as_interactions(interactions, "interactions")
        check_callback(callback)
        if target is not None and (isinstance(target, bool) or not isinstance(target, Real)):
            raise TypeError(f"target must be a number, a value of the metric, not {target!r}")
        params = self._params()
        if params["feedback"] == "explicit" and not data.has_values:
            raise ValueError("feedback=\"explicit\" needs values: these interactions have none")
        features = Features(item_features, user_features, feature_regularization)
        features.check(params, data)
        refuse_idle(checkpoint_every=(checkpoint_every, checkpoint is not None, "checkpoint"))
        with Progress(progress) as listener:
            def on_iteration(iteration: int, seconds: float, objective: float,
                             value: float | None) -> None:
                listener("train", iteration, params.get("iterations") or 0, "iterations")
                logger.debug("iteration %d: %.3g s, objective %.6g%s", iteration, seconds, objective,
                             "" if value is None else f", validation {value:.6g}")
                if callback is not None:
                    callback(iteration, seconds, objective, value)

            model, interruption, notes = call(
                _core.train, data._core, params, device=self.device, threads=self.threads,
                validation=as_interactions_or_none(validation, "validation"),
                metric="" if metric is None else metric,
                candidates=as_interactions_or_none(candidates, "candidates"),
                negatives=0 if negatives is None else count_of(negatives, "negatives"),
                target=None if target is None else float(target),
                checkpoint=checkpoint, checkpoint_every=1 if checkpoint_every is None else checkpoint_every, resume=_core_of(resume),
                source=data.name, progress=listener, on_iteration=on_iteration)
            features.add_to(model, self.threads)
        self.model_ = Model(model, threads=self.threads)
        for note in notes:
            logger.warning("%s", note)
        if interruption is not None:
            raise interruption
        return self

    def plan(self, interactions: Any, *, validates: bool = False, metric: str | None = None,
             resume: Model | Estimator | None = None) -> TrainingPlan:
        """What fit() would do with these interactions: algorithm, device, every parameter and where it
        is from, memory. Nothing is trained. `validates`: with validation data, measured by `metric`."""
        data = as_interactions(interactions, "interactions")
        return TrainingPlan(**call(_core.plan, data._core, self._params(), device=self.device, validates=validates,
                                   metric="" if metric is None else metric, resume=_core_of(resume)))

    def cross_validate(self, interactions: Any, *, folds: int | None = None, rolling: int | None = None,
                       test: float | None = None, at: Moment | None = None, seed: int | None = None,
                       k: int | Sequence[int] | None = None, metrics: str | Sequence[str] = (),
                       min_relevant_value: float | None = None, clip: bool | None = None, item_features: Any = None,
                       user_features: Any = None, feature_regularization: float | None = None,
                       progress: bool = False) -> CrossValidation:
        """Trains and evaluates once for each fold: the mean and the deviation of each metric. The estimator
        itself stays as it is. Lists are those of users with a history in the training part: a fold says how many
        have none (users_not_ranked).

        folds     how many (5): every interaction is in the test part of one; seed (42): same seed, same folds
        rolling   in place of folds so many tests one after the other in time, each with all that is older
                  to train on; of them `test` is the share of all rows (0.2), `at` where the first one begins
        k, metrics, min_relevant_value, clip  as of evaluate()
        item_features, user_features, feature_regularization  as of fit(): the model of each fold learns them
        """
        data = as_interactions(interactions, "interactions")
        params = self._params()
        if params["feedback"] == "explicit" and not data.has_values:
            raise ValueError("feedback=\"explicit\" needs values: these interactions have none")
        features = Features(item_features, user_features, feature_regularization)
        features.check(params, data)
        by_time = rolling is not None
        for name, value, used in (("folds", folds, not by_time), ("seed", seed, not by_time),
                                  ("at", at, by_time), ("test", test, by_time and at is None)):
            if value is not None and not used:
                raise ValueError(f"{name}={shown(value)} would do nothing {'with' if by_time else 'without'} "
                                 + ("at" if name == "test" and by_time else "rolling"))
        measured = names_of(metrics, "metrics")
        if self.algorithm != "auto":
            lists, ranks, rates = call(_core.metric_needs_of, params, measured)
            refuse_idle(k=(k, lists, LISTS), min_relevant_value=(min_relevant_value, ranks, RANKING),
                        clip=(clip, rates, 'metrics with "rmse" or "mae"'))
        with Progress(progress) as listener:
            return made(*call(
                _core.cross_validate, data._core, params, device=self.device, threads=self.threads,
                folds=5 if folds is None else count_of(folds, "folds"),
                rolling=0 if rolling is None else count_of(rolling, "rolling"), test=0.2 if test is None else test,
                at=None if at is None else written(at, "at"), seed=42 if seed is None else seed, k=lengths_of(k),
                metrics=measured, min_relevant_value=min_relevant_value or 0.0, clip=clip,
                features=features.tables, progress=listener))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as they were given."""
        return {name: getattr(self, name) for name in self._signature()}

    def set_params(self: _Own, **params: Any) -> _Own:
        """Sets parameters by name; ValueError for a name that there is none of."""
        known = self._signature()
        for name, value in params.items():
            if name not in known:
                raise ValueError(no_parameter(type(self).__name__, name, list(known)))
            setattr(self, name, value)
        return self

    def score(self, interactions: Any, y: None = None, *, metric: str | None = None) -> float:
        """A metric of evaluate() on held-out interactions, of which larger is better: of errors the negative.
        Without a name ndcg@10, and rmse where ratings are predicted. Of interactions that are all in the
        training, as scikit-learn scores them too, lists do not leave out what was seen."""
        data = as_interactions(interactions, "interactions")
        if metric is None:
            found = self._scored(data)
            metric = self.model_.validation_metric or ("rmse" if "rmse" in found else "ndcg@10")
            if metric in found:
                return found[metric] if higher_is_better(metric) else -found[metric]
        name, _, length = metric.partition("@")
        found = self._scored(data, metrics=name, k=int(length) if length.isdigit() else None)
        value = found[metric if length else next(key for key in found if key.partition("@")[0] == name)]
        return value if higher_is_better(name) else -value

    def _scored(self, data: Interactions, **options: Any) -> Evaluation:
        try:
            return self.model_.evaluate(data, **options)
        except ValueError:
            if not self.model_._learned_from(data):
                raise
            return self.model_.evaluate(data, seen=data[:0], **options)

    # What scikit-learn asks of an estimator. It is not needed for anything else.

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags  # type: ignore[import-not-found,import-untyped,unused-ignore]
        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            if name == "model_" or (not name.startswith("_") and hasattr(type(self), name)):
                raise AttributeError("there is no model yet: call fit() first")
            if not name.startswith("_") and hasattr(Answers, name):
                return getattr(self.model_, name)
            raise no_attribute(self, name)

    def __repr__(self) -> str:
        changed = [f"{name}={getattr(self, name)!r}" for name, known in self._signature().items()
                   if getattr(self, name) not in (None, known.default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        if self.__sklearn_is_fitted__():
            return self.model_._repr_html_()
        return table(repr(self), {"model": "not trained: call fit()"})

    @classmethod
    def _signature(cls) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(cls).parameters)

    def _params(self) -> dict[str, Any]:
        given = {name: value for name, value in self.get_params().items()
                 if name not in ("device", "threads")}
        return {"algorithm": self.algorithm, **given}


def _asked(name: str, answer: Any) -> Any:
    """A method or property of Model as that of an estimator."""
    if isinstance(answer, property):
        return property(lambda self: getattr(self.model_, name), doc=answer.__doc__)

    @functools.wraps(answer)
    def ask(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.model_, name)(*args, **kwargs)

    return ask


def _own_answers() -> dict[str, Any]:
    """Those of a model, but for what an estimator is asked itself, or has as a parameter."""
    own = {"algorithm", *vars(Estimator)}
    for algorithm in ("auto", *_core.algorithms()):
        own |= {parameter["name"] for parameter in _core.parameters(algorithm)}
    return {name: _asked(name, answer) for name, answer in vars(Answers).items()
            if not name.startswith("_") and name not in own and (inspect.isfunction(answer) or isinstance(answer, property))}


for _name, _answer in _own_answers().items():
    setattr(Estimator, _name, _answer)


def estimator_of(algorithm: str) -> type[Estimator]:
    """The class of an algorithm: "als" is Als. ValueError names those there are."""
    from likewise import estimators
    kinds = {kind.algorithm: kind for kind in vars(estimators).values()
             if isinstance(kind, type) and issubclass(kind, Estimator) and kind is not Estimator}
    if algorithm not in kinds:
        raise ValueError(f"algorithm {algorithm!r} is none of {', '.join(kinds)}")
    return kinds[algorithm]


def _refuse_second_data(y: Any) -> None:
    """Labels are scikit-learn's, and nothing to learn from here; what holds interactions was meant for something."""
    labels = y is None or isinstance(y, (list, np.ndarray)) or getattr(y, "ndim", 0) == 1
    if not labels:
        raise TypeError(f"fit() learns from its first argument alone, and the second, of type {type(y).__name__}, would do "
                        "nothing: fit(train, validation=test) measures after each iteration, evaluate(test) afterwards")
    if y is not None:
        logger.warning("fit() learns from its first argument alone: the second, of type %s, is left out; values are a column "
                       "of the first", type(y).__name__)


def _core_of(resume: Any) -> _core.Model | None:
    if resume is None:
        return None
    model = resume.model_ if isinstance(resume, Estimator) else resume
    if not isinstance(model, Model):
        raise TypeError(f"resume must be a model or a fitted estimator, not {shown(resume)}: load_model() loads one")
    return model._core


def described(cls: type[Estimator]) -> type[Estimator]:
    """Gives an estimator the parameters of its algorithm: signature, defaults and documentation."""
    parameters = _core.parameters(cls.algorithm)
    keywords, lines = [], []
    for parameter in parameters:
        default = parameter["default"]
        if parameter["name"] != "feedback" and default != parameter["explicit_default"]:
            default = None  # depends on the feedback
        keywords.append(inspect.Parameter(parameter["name"], inspect.Parameter.KEYWORD_ONLY,
                                          default=default))
        choices = "" if parameter["kind"] != "choice" else f" {'|'.join(parameter['choices'])}"
        usual = str(default) if isinstance(default, bool) else parameter["usual"]
        shown_default = f" [{usual}]" if usual else ""
        lines.append(f"{parameter['name']}:{choices}\n    {parameter['help']}{shown_default}")
    for name, default, meaning in (("device", "auto", "auto, cpu, cuda, cuda:N, cuda:all or reference; [0, 1] or cuda:0,1 for several GPUs"),
                                   ("threads", 0, "0 takes all cores")):
        keywords.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
        lines.append(f"{name}:\n    {meaning} [{default}]")
    cls.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nParameters, all by keyword:\n\n" + \
        textwrap.indent("\n".join(lines), "    ")
    return cls
