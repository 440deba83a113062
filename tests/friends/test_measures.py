# SPDX-License-Identifier: Apache-2.0
"""ranx and ir_measures measure what evaluate() measures; Optuna's parameters go to an estimator and back."""
import subprocess
import sys

import numpy as np
import pytest

import likewise
from conftest import ROOT, needed


@pytest.fixture(scope="module")
def lists(parts):
    model = likewise.Als(factors=8, iterations=4).fit(parts[0]).model_
    return model, model.recommend(parts[1].users, n=10), parts[1]


@pytest.mark.parametrize("least", [0.0, 4.0])
def test_ranx(lists, least):
    ranx = needed("ranx")
    model, found, test = lists
    qrels, run = ranx.Qrels(test.to_qrels(least)), ranx.Run(found.to_run())
    got = ranx.evaluate(qrels, run, ["ndcg@10", "recall@10"], make_comparable=True)
    expected = model.evaluate(test, min_relevant_value=least)
    for name in ("ndcg@10", "recall@10"):  # ranx compiles each that it measures, for seconds
        assert got[name] == pytest.approx(expected[name], abs=1e-6), name


def test_ir_measures(lists):
    ir_measures = needed("ir_measures")
    from ir_measures import P, RR, R, nDCG
    model, found, test = lists
    expected = model.evaluate(test)
    for qrels, run in ((test.to_qrels(), found.to_run()), (
            test.to_pandas().rename(columns={"user": "query_id", "item": "doc_id", "value": "relevance"}).assign(relevance=1).astype(
                {"query_id": str, "doc_id": str}),
            found.to_pandas().rename(columns={"user": "query_id", "item": "doc_id"}).astype({"query_id": str, "doc_id": str}))):
        got = ir_measures.calc_aggregate([nDCG@10, R@10, P@10, RR@10], qrels, run)
        for measure, name in ((nDCG@10, "ndcg@10"), (R@10, "recall@10"), (P@10, "precision@10"), (RR@10, "mrr@10")):
            assert got[measure] == pytest.approx(expected[name], abs=1e-6), name


def test_a_frame_of_ir_measures_is_read_back(lists):
    needed("ir_measures")
    _, _, test = lists
    frame = test.to_pandas().rename(columns={"user": "query_id", "item": "doc_id", "value": "relevance"})
    back = likewise.Interactions(frame, user="query_id", item="doc_id", value="relevance", time="time")
    assert len(back) == len(test) and np.array_equal(np.asarray(back.users), np.unique(test.columns()["user"]))
    assert back.to_qrels() == test.to_qrels()


def test_distances_are_turned_for_who_ranks_the_largest_first(lists):
    model, _, _ = lists
    near = model.similar_items(n=3, metric="euclidean")
    (item, others), *_ = near.to_run().items()
    assert list(others) == [str(one) for one, _ in near[0]] and list(others.values()) == sorted(others.values(), reverse=True)
    assert item == str(near.queries[0]) and max(others.values()) < 0


def test_optuna_there_and_back(parts):
    optuna = needed("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    train, validation = likewise.split(parts[0], "per-user")

    def objective(trial):
        found = likewise.Als(factors=trial.suggest_int("factors", 2, 8), iterations=3,
                             regularization=trial.suggest_float("regularization", 1e-3, 1.0, log=True))
        return found.fit(train, validation=validation).model_.validation

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=4)
    best = likewise.Als(**study.best_params, iterations=3).fit(train, validation=validation)
    assert best.model_.validation == study.best_value
    # Trials of tune() are known to a study, which goes on from them.
    search = likewise.tune(parts[0], algorithms="item-knn", budget=3)
    kept = optuna.create_study(direction="maximize")
    for trial in search.trials:
        number = trial["params"]["neighbours"]
        kept.add_trial(optuna.trial.create_trial(params={"neighbours": number}, value=trial["value"],
                                                 distributions={"neighbours": optuna.distributions.IntDistribution(1, 10_000)}))
    assert kept.best_value == max(trial["value"] for trial in search.trials)


def test_the_example_of_optuna_runs(real_data):
    needed("optuna")
    done = subprocess.run([sys.executable, ROOT / "examples/python/optuna_search.py", real_data / "ml-latest-small", "3"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "optuna  validation" in done.stdout, done.stderr
