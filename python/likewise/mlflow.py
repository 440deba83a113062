# SPDX-License-Identifier: Apache-2.0
"""A flavour of MLflow: models in its runs, registry and servers. Needs mlflow or mlflow-skinny.

    import likewise.mlflow
    with mlflow.start_run():
        likewise.mlflow.log_model(model, name="films")
    model = likewise.mlflow.load_model("runs:/.../films")
"""
from __future__ import annotations

import pathlib
from typing import Any

import mlflow as _mlflow  # type: ignore[import-not-found,import-untyped,unused-ignore]
from mlflow import pyfunc  # type: ignore[import-not-found,import-untyped,unused-ignore]
from mlflow.models import Model as _Description  # type: ignore[import-not-found,import-untyped,unused-ignore]
from mlflow.models.model import MLMODEL_FILE_NAME  # type: ignore[import-not-found,import-untyped,unused-ignore]
from mlflow.tracking.artifact_utils import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    _download_artifact_from_uri)
from mlflow.utils.environment import _mlflow_conda_env  # type: ignore[import-not-found,import-untyped,unused-ignore]

import likewise
from likewise.arguments import shown
from likewise.estimator import Estimator
from likewise.model import Model, load_model as _load

FLAVOR_NAME = "likewise"
_FILE = "model.safetensors"


def get_default_pip_requirements() -> list[str]:
    """What a server of a model has to install."""
    return [f"likewise=={likewise.__version__}", "pandas"]


def save_model(model: Model | Estimator, path: str, *, mlflow_model: Any = None, pip_requirements: list[str] | None = None,
               signature: Any = None, input_example: Any = None, metadata: dict[str, Any] | None = None) -> None:
    """A folder of MLflow with a model, or that of a fitted estimator: its file, and what serves it."""
    if isinstance(model, Estimator):
        model = model.model_
    if not isinstance(model, Model):
        raise TypeError(f"model must be a model or a fitted estimator of likewise, not {shown(model)}")
    folder = pathlib.Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{path} is there already, and not empty: give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / _FILE)
    requirements = pip_requirements or get_default_pip_requirements()
    described = _Description() if mlflow_model is None else mlflow_model
    described.signature = signature or described.signature or _signature()
    described.metadata = metadata or described.metadata
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n", encoding="utf-8")
    environment = {"conda": "conda.yaml", "virtualenv": "python_env.yaml"}
    _mlflow_conda_env(path=folder / "conda.yaml", additional_pip_deps=requirements)
    (folder / "python_env.yaml").write_text("dependencies:\n- -r requirements.txt\n", encoding="utf-8")
    if input_example is not None:
        from mlflow.models.utils import _save_example  # type: ignore[import-not-found,import-untyped,unused-ignore]
        _save_example(described, input_example, str(folder))
    pyfunc.add_to_model(described, loader_module="likewise.mlflow", data=_FILE, env=environment)
    described.add_flavor(FLAVOR_NAME, data=_FILE, algorithm=model.algorithm, likewise_version=likewise.__version__)
    described.save(str(folder / MLMODEL_FILE_NAME))


def log_model(model: Model | Estimator, name: str | None = None, **options: Any) -> Any:
    """The same within the run that is active; options: those of save_model(), and registered_model_name."""
    return _Description.log(artifact_path=None, name=name, flavor=likewise.mlflow, model=model, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> Model:
    """The model of a run ("runs:/..."), of the registry ("models:/...") or of a folder."""
    folder = pathlib.Path(_download_artifact_from_uri(artifact_uri=model_uri, output_path=dst_path))
    data = _Description.load(str(folder / MLMODEL_FILE_NAME)).flavors[FLAVOR_NAME]["data"]
    return _load(folder / data)


def log_evaluation(evaluation: dict[str, float], prefix: str = "") -> None:
    """Metrics of an evaluation in the run that is active; "@", which MLflow refuses, becomes "_at_"."""
    _mlflow.log_metrics({prefix + name.replace("@", "_at_"): value for name, value in evaluation.items()})


def log_params(estimator: Model | Estimator) -> None:
    """Parameters in the run that is active: of an estimator as they were given, of a model as they were used."""
    given = estimator.get_params() if isinstance(estimator, Estimator) else estimator.params
    _mlflow.log_params({name: value for name, value in given.items() if value is not None})


def _signature() -> Any:
    """What predict() of a served model takes beside its frame."""
    from mlflow.models.signature import ModelSignature  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from mlflow.types import ParamSchema, ParamSpec  # type: ignore[import-not-found,import-untyped,unused-ignore]
    return ModelSignature(params=ParamSchema([ParamSpec("n", "long", 10), ParamSpec("include_seen", "boolean", False)]))


def _load_pyfunc(path: str) -> _Served:
    return _Served(_load(path))


class _Served:
    """What MLflow serves: predict() of a frame with a column "user" gives the lists of these users, with "user" and
    "item" the scores of the pairs; of a column "item" alone what is similar. Ids that are not known are left out."""

    def __init__(self, model: Model):
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        columns = [str(name) for name in getattr(model_input, "columns", ())]
        if not {"user", "item"} & set(columns):
            raise ValueError(f"a frame with a column \"user\", \"item\" or both is needed, not {columns or shown(model_input)}")
        options = {"n": 10, **(params or {})}
        ids = {name: model_input[name].to_list() for name in ("user", "item") if name in columns}
        if len(ids) == 2:
            return self.model.predict(ids["user"], ids["item"])
        if "user" in ids:
            return self.model.recommend(ids["user"], unknown="skip", **options).to_pandas()
        return self.model.similar_items(ids["item"], options["n"], unknown="skip").to_pandas()
