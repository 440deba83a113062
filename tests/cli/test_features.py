# SPDX-License-Identifier: Apache-2.0
"""Features of items and users, and items that nobody has touched."""
import csv
import io
import json

import pytest


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def tastes(program):
    """Users of two tastes; items 0-9 are crime, 10-19 love; 3 and 13 are hidden whole."""
    likes = [(user, item) for user in range(30) for item in range(20)
             if (user < 15) == (item < 10) and (user * 7 + item * 5) % 10 < 7]
    (program.folder / "likes.csv").write_text(
        "user,item\n" + "".join(f"{u},{i}\n" for u, i in likes if i not in (3, 13)))
    (program.folder / "hidden.csv").write_text(
        "user,item\n" + "".join(f"{u},{i}\n" for u, i in likes if i in (3, 13)))
    (program.folder / "tags.csv").write_text(
        "item,genres\n" + "".join(f"{i},{'Crime' if i < 10 else 'Love'}|All\n" for i in range(20)))
    return program


def train(program, *more, model="m"):
    return program("train", "likes.csv", "-o", model, "--factors", 4, "--iterations", 5, *more)


def test_cold_items_are_recommended_found_and_measured(tastes):
    done = train(tastes, "--item-features", "tags.csv")
    assert "tags.csv: 20 items with 3 tags (csv, header item,genres; id item, tags genres)" in done.stderr
    assert "features: 3 tags learned" in done.stderr
    assert "2 items without interactions are recommended by tags" in done.stderr
    rows = rows_of(tastes("recommend", "m", "--user", 2, "--user", 20, "-n", 1, "--new-items").stdout)
    assert [(row["user"], row["item"]) for row in rows] == [("2", "3"), ("20", "13")]
    plain = rows_of(tastes("recommend", "m", "--user", 2, "-n", 20).stdout)
    assert {"3", "13"} <= {row["item"] for row in plain}
    nearest = rows_of(tastes("similar", "m", "--item", 3, "-n", 8).stdout)
    assert all(int(row["similar_item"]) < 10 for row in nearest)
    found = json.loads(tastes("evaluate", "m", "hidden.csv", "--new-items", "-k", 1, "--metrics",
                              "ndcg,recall", "--json").stdout)
    assert found["ndcg@1"] == 1.0 and found["unknown_items"] == 0
    told = json.loads(tastes("info", "m", "--json").stdout)
    assert told["items_with_features"] == 20 and told["items_without_interactions"] == 2
    assert told["tags_of_items"] == 3


def test_without_features_nothing_changes(tastes):
    train(tastes, model="plain")
    train(tastes, "--item-features", "tags.csv", model="with")
    some = ("recommend", "--user", 2, "-n", 5, "--allow", "known.txt")
    (tastes.folder / "known.txt").write_text("".join(f"{i}\n" for i in range(20) if i not in (3, 13)))
    assert tastes(some[0], "plain", *some[1:]).stdout == tastes(some[0], "with", *some[1:]).stdout
    assert "item_tag" not in (tastes.folder / "plain").read_bytes()[:4000].decode("latin-1")


def test_titles_of_cold_items_are_kept(tastes):
    (tastes.folder / "titles.csv").write_text("id,title\n3,Three\n4,Four\n")
    train(tastes, "--item-features", "tags.csv", "--titles", "titles.csv")
    rows = rows_of(tastes("recommend", "m", "--user", 2, "-n", 1, "--new-items").stdout)
    assert rows[0]["title"] == "Three"


def test_users_join_by_their_features(tastes):
    (tastes.folder / "people.csv").write_text(
        "userId,taste\n" + "".join(f"{u},{'dark' if u < 15 else 'light'}\n" for u in range(30)) + "99,light\n")
    done = train(tastes, "--user-features", "people.csv", "--feature-regularization", "0.1")
    assert "regularization 0.1; 1 user without interactions by tags" in done.stderr
    rows = rows_of(tastes("recommend", "m", "--user", 99, "-n", 5).stdout)
    assert all(int(row["item"]) >= 10 for row in rows)


def test_updates_take_new_items_and_keep_features(tastes):
    train(tastes, "--item-features", "tags.csv")
    (tastes.folder / "more.csv").write_text("user,item\n" + "".join(f"{u},3\n" for u in range(8)))
    (tastes.folder / "new.csv").write_text("item,tag\n77,Love\n")
    tastes("update", "m", "more.csv", "-o", "grown")
    told = json.loads(tastes("info", "grown", "--json").stdout)
    assert told["items_without_interactions"] == 1, "item 3 has some now"
    done = tastes("update", "m", "more.csv", "-o", "grown", "--item-features", "new.csv")
    assert "new: 0 users, 1 item" in done.stderr
    rows = rows_of(tastes("recommend", "grown", "--user", 20, "-n", 3, "--new-items").stdout)
    assert {row["item"] for row in rows} == {"13", "77"}


@pytest.mark.parametrize("arguments, message", [
    (["--item-features", "tags.csv", "--algorithm", "item-knn"], "item-knn has none"),
    (["--item-features", "tags.csv", "--algorithm", "popular"], "popular has none"),
    (["--item-features", "tags.csv", "--algorithm", "auto"], "auto may choose one without"),
    (["--item-features-columns", "1,2"], "--item-features"),
    (["--user-features-columns", "1,2"], "--user-features"),
    (["--feature-regularization", "1"], "--item-features or --user-features"),
    (["--item-features", "tags.csv", "--feature-regularization", "0"], "must be in [1e-06"),
    (["--item-features", "tags.csv", "--item-features-columns", "item,colour"], "colour"),
    (["--item-features", "other.csv"], "none of the 2 ids, such as 'x'"),
    (["--item-features", "bad.csv"], "bad.csv:3: '2,b,c' has 3 columns"),
])
def test_what_cannot_be_is_refused(tastes, arguments, message):
    (tastes.folder / "other.csv").write_text("item,tag\nx,a\ny,a\n")
    (tastes.folder / "bad.csv").write_text("item,tag\n1,a\n2,b,c\n")
    sizes = [] if "--algorithm" in arguments else ["--factors", 4, "--iterations", 2]
    failures = [code for code in (1, 2) if refused(tastes, arguments, sizes, message, code)]
    assert failures
    assert not (tastes.folder / "m").exists()


def refused(program, arguments, sizes, message, code):
    try:
        done = program("train", "likes.csv", "-o", "m", *sizes, *arguments, exit_code=code)
    except AssertionError as fault:
        if f"exit {3 - code}" in str(fault):
            return False
        raise
    return message in done.stderr


def test_new_items_need_some(tastes):
    train(tastes)
    for verb in (("recommend", "m", "--all"), ("evaluate", "m", "hidden.csv")):
        assert "nobody has touched" in tastes(*verb, "--new-items", exit_code=2).stderr


def test_split_hides_whole_items(tastes):
    tastes("split", "likes.csv", "-o", "parts", "--method", "cold-items", "--test", "0.25", "--seed", 5)
    items = [{row["item"] for row in rows_of((tastes.folder / "parts" / name).read_text())}
             for name in ("train.csv", "test.csv")]
    assert not items[0] & items[1]
    assert (len(items[0]), len(items[1])) == (13, 5)
    assert "cold-items" in tastes("split", "likes.csv", "-o", "p", "--method", "last", "--test", "0.25",
                                  exit_code=2).stderr


def test_tune_trains_its_winner_with_features(tastes):
    tune = ("tune", "likes.csv", "-o", "m", "--budget", 3, "--item-features", "tags.csv", "--feature-regularization", "0.5")
    done = tastes(*tune)
    assert done.stderr.count("not searched: ") == 1
    assert "not searched: item-knn, user-knn, ease: without factors" in done.stderr
    assert "features: 3 tags learned, regularization 0.5; 2 items without interactions" in done.stderr
    assert "--item-features tags.csv --feature-regularization 0.5" in done.stdout, "the command to train again"
    rows = rows_of(tastes("recommend", "m", "--user", 2, "-n", 1, "--new-items").stdout)
    assert rows[0]["item"] == "3"
    refused = tastes(*tune, "--algorithm", "als,item-knn", exit_code=2).stderr
    assert "item-knn has none" in refused
    assert "would do nothing" in tastes("tune", "likes.csv", "-o", "m", "--feature-regularization", 1, exit_code=2).stderr


def test_tune_resumes_with_the_same_features_alone(tastes):
    tune = ("tune", "likes.csv", "-o", "m", "--budget", 2, "--algorithm", "als", "--resume")
    tastes(*tune[:-1], "--item-features", "tags.csv")
    tastes(*tune, "--item-features", "tags.csv")
    assert "its features is" in tastes(*tune, exit_code=2).stderr


def test_titles_of_a_search_are_those_of_its_model(tastes):
    """Items join by features and by the validation part."""
    (tastes.folder / "titles.csv").write_text("id,title\n3,Three\n4,Four\n13,Thirteen\n")
    (tastes.folder / "tags.csv").write_text("item,tag\n3,a\n4,a\n5,a\n")
    (tastes.folder / "both.csv").write_text("user,item\n20,13\n21,13\n22,1\n")
    tastes("tune", "likes.csv", "-o", "m", "--budget", 1, "--algorithm", "als", "--validation", "both.csv",
           "--titles", "titles.csv", "--item-features", "tags.csv")
    rows = rows_of(tastes("recommend", "m", "--user", 20, "-n", 20, "--include-seen").stdout)
    titles = {row["item"]: row["title"] for row in rows}
    assert (titles["3"], titles["4"], titles["13"]) == ("Three", "Four", "Thirteen")


def test_cross_validation_learns_features(tastes):
    (tastes.folder / "rare.csv").write_text("user,item\n" + "".join(
        f"{u},{i}\n" for u in range(30) for i in range(20) if (u < 15) == (i < 10) and (u + 7 * i) % 8 == 0))
    ask = ("cross-validate", "rare.csv", "--folds", 3, "--factors", 4, "--json")
    plain, found = (json.loads(tastes(*ask, *more).stdout) for more in ([], ["--item-features", "tags.csv"]))
    assert plain["metrics"] != found["metrics"]
    assert "item-knn has none" in tastes(*ask[:4], "--algorithm", "item-knn", "--item-features", "tags.csv",
                                         exit_code=2).stderr
    assert "auto may choose" in tastes(*ask[:4], "--algorithm", "auto", "--item-features", "tags.csv", exit_code=2).stderr
    assert "would do nothing" in tastes(*ask, "--item-features-columns", "1,2", exit_code=2).stderr


@pytest.fixture
def people(tastes):
    (tastes.folder / "people.csv").write_text(
        "userId,taste,age\n" + "".join(f"{u},{'dark' if u < 15 else 'light'},{20 + u}\n" for u in range(30)))
    train(tastes, "--user-features", "people.csv")
    return tastes


def test_visitors_are_answered_by_their_features(people):
    (people.folder / "new.csv").write_text("id,age,taste\nanna,48,light\nbob,21,dark\ncy,,green\n")
    done = people("recommend", "m", "--user-features", "new.csv", "-n", 3, "--explain")
    rows = rows_of(done.stdout)
    assert "new.csv: 1 user without a tag that the model has learned, left out" in done.stderr
    assert [row["user"] for row in rows] == ["anna"] * 3 + ["bob"] * 3
    assert all((int(row["item"]) >= 10) == (row["user"] == "anna") for row in rows)
    assert "taste=light" in rows[0]["because"]
    named = people("recommend", "m", "--user-features", "new.csv", "--user-features-columns", "id,taste", "-n", 3)
    assert rows_of(named.stdout)[0]["user"] == "anna"


@pytest.mark.parametrize("arguments, message, code", [
    (["--user-features", "strangers.csv"], "user '1': the model has learned none of the features", 1),
    (["--user-features", "columns.csv"], "has learned no feature 'x'; its features are age, taste. Leave out", 1),
    (["--user-features", "people.csv", "--user", "3"], "only one of", 2),
    (["--user", "3", "--user-features-columns", "1,2"], "would do nothing", 2),
    (["--user-features", "people.csv", "--include-seen"], "nobody has one", 2),
])
def test_visitors_that_cannot_be_answered(people, arguments, message, code):
    (people.folder / "strangers.csv").write_text("id,taste\n1,green\n2,red\n")
    (people.folder / "columns.csv").write_text("id,taste,x\n1,light,y\n2,dark,y\n")
    assert message in people("recommend", "m", *arguments, exit_code=code).stderr


def test_visitors_need_a_model_of_features(tastes):
    train(tastes)
    (tastes.folder / "new.csv").write_text("id,taste\n1,green\n")
    assert "has learned no features of users" in tastes("recommend", "m", "--user-features", "new.csv", exit_code=2).stderr


def test_numbers_of_updates_are_in_the_parts_of_training(people):
    (people.folder / "more.csv").write_text("user,item\n1,2\n")
    (people.folder / "new.csv").write_text("userId,taste,age\n50,light,49\n")
    people("update", "m", "more.csv", "-o", "grown", "--user-features", "new.csv")
    before, after = (json.loads(people("info", name, "--json").stdout)["tags_of_users"] for name in ("m", "grown"))
    assert before == after, "no tag of its own"
