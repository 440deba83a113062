# SPDX-License-Identifier: Apache-2.0
"""likewise.tune(): the winner, the table of trials, journals, interruptions and wrong options."""
import datetime
import logging
import random

import numpy as np
import pytest

import likewise

FEW = {"algorithms": ["als", "item-knn"], "budget": 8, "seed": 5}
ESTIMATORS = {"als": likewise.Als, "item-knn": likewise.ItemKnn, "sgd": likewise.Sgd, "user-knn": likewise.UserKnn}


def values(search):
    return [(trial["origin"], trial["value"], trial["params"]) for trial in search.trials]


def test_the_winner_and_the_table_of_trials(ratings):
    pytest.importorskip("pandas")
    search = likewise.tune(ratings, **FEW)
    assert search.metric == "ndcg@10" and search.higher_is_better
    assert len(search.trials) == 8 and search.baseline["algorithm"] == "popular"
    finals = [trial["final_value"] for trial in search.trials if trial["final_value"] is not None]
    assert search.final_parts == 3 and search.best["final_value"] >= max(finals) / 1.005
    table = search.to_pandas()
    assert len(table) == 8 and table["final_value"].max() == max(finals)
    assert {"factors", "neighbours", "seconds"} <= set(table.columns)
    assert table["iterations"].tolist() == [trial["iterations"] for trial in search.trials]
    asked = [trial["params"].get("iterations") for trial in search.trials]
    assert [None if np.isnan(one) else one for one in table["param_iterations"]] == asked
    kept = search.model.provenance["search"]
    assert kept["value"] == search.best["final_value"] and kept["trials"] == 8 and kept["budget"] == "8"
    assert kept["baseline_value"] == search.baseline["final_value"]
    assert f"8 trials, best ndcg@10 {search.best['final_value']:.4f} (mean of 3 parts) by" in repr(search)
    assert search.beats_baseline == (search.best["final_value"] > search.baseline["final_value"])
    assert search.left_out == search.notes == [] and search.warning == "" and search.users_not_ranked == 0
    page = search._repr_html_()
    rows = [[cell.split("</td>")[0] for cell in row.split("<td>")[1:]] for row in page.split("<tr>") if row.count("<td>") == 6]
    assert "mean of 3 parts" in page and rows[0][0] == str(search.best["trial"])
    assert [row[2] for row in rows[1:]] == sorted((row[2] for row in rows[1:]), reverse=True)
    others = [trial["value"] for trial in search.trials if trial["final_value"] is None and trial["value"] is not None]
    assert [row[3] for row in rows if not row[2]] == [f"{value:.4f}" for value in sorted(others)[::-1][:max(0, 5 - len(finals))]]


def test_its_parameters_train_the_same_model(ratings):
    assert likewise.tune(ratings, algorithms="item-knn", budget=datetime.timedelta(seconds=1)).trials
    search = likewise.tune(ratings, algorithms="als", budget=5)
    params = {name: value for name, value in search.best["params"].items() if name != "algorithm"}
    again = likewise.Als(**params).fit(ratings).model_
    assert np.array_equal(again.user_factors, search.model.user_factors)
    assert len(search.model.iterations) == params["iterations"]


def test_a_user_without_a_history_is_not_ranked(ratings):
    count = 900
    data = {"user": np.arange(count) // 12, "item": np.arange(count) * 7 % 31, "time": np.arange(count) * 37 % 200 + np.arange(count)}
    search = likewise.tune(data, algorithms="item-knn", budget=2, validation_method="time")
    assert search.users_not_ranked > 3
    assert search.measured_users == search.validation_users - search.users_not_ranked
    line = f"{search.users_not_ranked} of {search.validation_users} users have no history: not ranked"
    assert line in search._repr_html_() and line in search.model.provenance["search"]["validation"]


def test_all_algorithms_and_a_number_of_numpy(ratings):
    assert len({trial["algorithm"] for trial in likewise.tune(ratings, algorithms="all", budget=np.int64(6)).trials}) == 6


def test_the_same_seed_the_same_search(ratings):
    first = likewise.tune(ratings, **FEW)
    assert values(likewise.tune(ratings, **FEW, threads=1)) == values(first)
    assert values(likewise.tune(ratings, **{**FEW, "seed": 6})) != values(first)


def test_ratings_and_own_validation_data(ratings):
    train, held_out = likewise.split(ratings, test=0.2)
    search = likewise.tune(train, algorithms=["item-knn"], feedback="explicit", budget=4, validation=held_out)
    assert search.metric == "rmse" and not search.higher_is_better and search.baseline["algorithm"] == "bias"
    params = {name: value for name, value in search.best["params"].items() if name != "algorithm"}
    alone = likewise.ItemKnn(**params).fit(train, validation=held_out)
    assert alone.validation == search.best["value"]
    users, items = np.asarray(ratings.users)[:50], np.asarray(ratings.items)[:50]
    whole = likewise.ItemKnn(**params).fit(ratings).model_
    assert np.array_equal(search.model.predict(users, items), whole.predict(users, items))


def test_what_refuses_the_data_has_no_value(triples):
    users, items, values = triples
    large = likewise.Interactions((users, items, np.asarray(values) * 1e9))
    search = likewise.tune(large, algorithms=["sgd", "item-knn"], feedback="explicit", budget=4)
    assert search.best["algorithm"] == "item-knn" and len(search.failures) == 1
    assert search.failures[0].startswith("sgd: the value") and "at most 1e+09" in search.failures[0]
    assert search.measured_users == search.validation_users > 0
    with pytest.raises(likewise.NumericalError, match="no algorithm has a value: sgd: the value"):
        likewise.tune(large, algorithms="sgd", feedback="explicit", budget=4)


def test_one_search_at_a_time_writes_a_journal(ratings, tmp_path):
    journal = tmp_path / "journal"

    def other(_trial):
        with pytest.raises(OSError, match="another search is writing this journal"):
            likewise.tune(ratings, **FEW, journal=journal, resume=True)

    likewise.tune(ratings, **FEW, journal=journal, callback=other)


def test_a_callback_hears_every_training_and_can_end_the_search(ratings, tmp_path):
    heard = []
    whole = likewise.tune(ratings, **FEW, callback=heard.append)
    assert len(heard) > 8 and {trial["trial"] for trial in heard} == set(range(1, 9))

    class Enough(Exception):
        pass

    def stop(trial):
        if trial["trial"] == 3:
            raise Enough

    journal = tmp_path / "journal"
    with pytest.raises(Enough) as stopped:
        likewise.tune(ratings, **FEW, journal=journal, callback=stop)
    so_far = stopped.value.search
    assert so_far.model is None and 3 <= len(so_far.trials) < 8
    assert so_far.best["value"] >= max(trial["value"] or 0 for trial in so_far.trials) / 1.005
    fitted = so_far.best_estimator.fit(ratings)
    assert fitted.model_.algorithm == so_far.best["algorithm"]
    with pytest.raises(ValueError, match="not over; resume it"):
        likewise.tune(ratings, **FEW, journal=journal)
    resumed = likewise.tune(ratings, **FEW, journal=journal, resume=True)
    assert values(resumed) == values(whole)


def test_nothing_better_than_the_baseline_is_a_warning(caplog):
    draw = random.Random(1)
    pairs = [(user, item) for user in range(60) for item in range(40) if draw.random() < 0.9 * 0.93 ** item]
    users, items = np.array(pairs).T  # popularity is all that there is
    with caplog.at_level(logging.WARNING, logger="likewise"):
        search = likewise.tune(likewise.Interactions((users, items)), algorithms="user-knn", budget=1)
    assert not search.beats_baseline and "nothing beats the baseline" in caplog.text


@pytest.mark.parametrize("options, error, why", [
    ({"algorithms": "magic"}, ValueError, "no algorithm 'magic'"),
    ({"algorithms": []}, ValueError, "empty"),
    ({"algorithms": ["all", "als"]}, ValueError, "stands alone"),
    ({"algorithms": "popular"}, ValueError, "nothing to search"),
    ({"algorithms": "sgd"}, ValueError, "explicit feedback only"),
    ({"metric": "rmse"}, ValueError, "needs feedback explicit"),
    ({"metric": "magic"}, ValueError, "unknown metric"),
    ({"feedback": "some"}, ValueError, "feedback"),
    ({"budget": 0}, ValueError, "nothing can be searched"),
    ({"budget": "0m"}, ValueError, "nothing can be searched"),
    ({"budget": 1.5}, TypeError, "budget"),
    ({"budget": 2}, ValueError, "less than one for each"),
    ({"validation_method": "kfold"}, ValueError, "not by folds"),
    ({"validation_method": "last", "validation_share": 0.2}, ValueError, "validation_share would do nothing"),
    ({"validation_share": 2.0}, ValueError, "the validation part"),
    ({"resume": True}, ValueError, "needs its journal"),
    ({"device": 3}, TypeError, "device"),
])
def test_wrong_options(ratings, options, error, why):
    with pytest.raises(error, match=why):
        likewise.tune(ratings, **{"budget": 8, **options})


def test_options_beside_validation_data(ratings):
    for options in ({"validation_method": "random"}, {"validation_share": 0.1}):
        with pytest.raises(ValueError, match="would do nothing"):
            likewise.tune(ratings, validation=ratings, budget=8, **options)
    with pytest.raises(TypeError, match="Interactions"):
        likewise.tune([(1, 2)])
