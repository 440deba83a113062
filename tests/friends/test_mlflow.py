# SPDX-License-Identifier: Apache-2.0
"""Models in MLflow's runs and folders, and served by its pyfunc."""
import pandas as pd
import pytest

import likewise
from conftest import needed

mlflow = needed("mlflow")
import likewise.mlflow  # noqa: E402


@pytest.fixture(scope="module")
def fitted(parts):
    return likewise.Als(factors=6, iterations=3).fit(parts[0])


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())


def test_a_folder_holds_the_model(fitted, tmp_path):
    likewise.mlflow.save_model(fitted, tmp_path / "model")
    model = likewise.mlflow.load_model(str(tmp_path / "model"))
    assert model.to_bytes() == fitted.to_bytes()
    assert f"likewise=={likewise.__version__}" in (tmp_path / "model/requirements.txt").read_text()
    with pytest.raises(FileExistsError, match="not empty"):
        likewise.mlflow.save_model(fitted, tmp_path / "model")
    with pytest.raises(TypeError, match="a model or a fitted estimator of likewise, not 'films'"):
        likewise.mlflow.save_model("films", tmp_path / "other")


def test_a_run_holds_model_parameters_and_metrics(fitted, parts, store):
    with mlflow.start_run() as run:
        likewise.mlflow.log_params(fitted)
        likewise.mlflow.log_evaluation(fitted.evaluate(parts[1]))
        logged = likewise.mlflow.log_model(fitted, name="films")
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.params["factors"] == "6"
    assert kept.metrics["ndcg_at_10"] == pytest.approx(fitted.evaluate(parts[1])["ndcg@10"])
    users = fitted.users[:3]
    again = likewise.mlflow.load_model(logged.model_uri).recommend(users, n=4)
    assert again.to_pandas().equals(fitted.recommend(users, n=4).to_pandas())


def test_pyfunc_serves_lists_pairs_and_similar_items(fitted, tmp_path):
    likewise.mlflow.save_model(fitted, tmp_path / "model")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    users, items = fitted.users[:2].tolist(), fitted.items[:2].tolist()
    lists = served.predict(pd.DataFrame({"user": [*users, 999_999]}), params={"n": 3})
    assert lists.equals(fitted.recommend(users, n=3).to_pandas())
    assert served.predict(pd.DataFrame({"user": users, "item": items})).tolist() == fitted.predict(users, items).tolist()
    assert served.predict(pd.DataFrame({"item": items})).equals(fitted.similar_items(items).to_pandas())
    with pytest.raises(ValueError, match="a column \"user\", \"item\" or both"):
        served.predict(pd.DataFrame({"who": users}))
