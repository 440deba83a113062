# SPDX-License-Identifier: Apache-2.0
"""An option that would do nothing is refused with what it needs, before anything is read."""
import pytest
from safetensors.numpy import load_file

ALS = []
KNN = ["--algorithm", "item-knn"]
USER_KNN = ["--algorithm", "user-knn"]
POPULAR = ["--algorithm", "popular"]
SGD = ["--algorithm", "sgd"]
BPR = ["--algorithm", "bpr"]
BIAS = ["--algorithm", "bias"]
EXPLICIT = ["--feedback", "explicit"]

# Every parameter of every algorithm: a value, and settings beside which it has an effect. An
# option that is not here is found by the test of completeness below.
OF_ALS = {
    "--factors": ("5", ALS), "--iterations": ("3", ALS), "--regularization": ("0.5", ALS),
    "--regularization-exponent": ("0.5", ALS), "--alpha": ("2", ALS),
    "--regularization-count": ("likes", ALS),
    "--confidence": ("log", ALS), "--epsilon": ("2", ["--confidence", "log"]),
    "--unobserved-weight": ("0.1", ALS), "--biases": ("off", EXPLICIT),
    "--nonnegative": ("on", ALS), "--init-stddev": ("0.2", ALS), "--solver": ("cholesky", ALS),
    "--cg-steps": ("2", ["--solver", "cg"]), "--cg-tolerance": ("0.1", ["--solver", "cg"]),
    "--cg-preconditioner": ("none", ["--solver", "cg"]),
    "--precision": ("fp32", ALS), "--tolerance": ("0.1", ALS),
    "--patience": ("2", ["--validation", "parts/test.csv"]), "--seed": ("7", ALS),
}
OF_SGD = {
    "--loss": ("logistic", []), "--bias-regularization": ("0.1", []), "--order": ("serial", []),
    "--schedule": ("constant", []), "--learning-rate": ("0.1", []),
    "--decay": ("1", ["--schedule", "inverse"]),
}
OF_BPR = {"--negatives": ("popular", []), "--liked-draws": ("skip", []), "--order": ("racing", []), "--learning-rate": ("0.1", [])}
OF_NEIGHBOURS = {
    "--neighbours": ("5", []), "--similarity": ("jaccard", []), "--min-support": ("2", []),
    "--shrinkage": ("3", []), "--amplification": ("2", []), "--negative": ("keep", []),
    "--centring": ("item", ["--similarity", "adjusted-cosine"]),
    "--prediction": ("mean", []), "--predict-from": ("kept", ["--prediction", "mean"]),
    "--sum-lists": ("both", []), "--sum-scale": ("mean", []),
    "--min-neighbours": ("2", ["--prediction", "mean"]),
    "--clip": ("off", ["--prediction", "mean"]), "--baseline-method": ("sgd", EXPLICIT),
    "--baseline-epochs": ("3", EXPLICIT), "--baseline-user-regularization": ("1", EXPLICIT),
    "--baseline-item-regularization": ("1", EXPLICIT),
    "--baseline-regularization": ("0.1", [*EXPLICIT, "--baseline-method", "sgd"]),
    "--baseline-learning-rate": ("0.1", [*EXPLICIT, "--baseline-method", "sgd"]),
    "--bm25-k1": ("2", ["--similarity", "bm25"]), "--bm25-b": ("0.5", ["--similarity", "bm25"]),
    "--popularity-damping": ("0.3", ["--similarity", "conditional"]),
    "--user-exponent": ("0.7", ["--similarity", "rp3"]), "--item-exponent": ("0.3", ["--similarity", "rp3"]),
}

OF_EASE = {
    "--user-exponent": ("0.7", []), "--scale-items": ("off", []), "--item-exponent": ("0.3", []),
    "--regularization": ("2", []), "--dropout": ("0.2", []), "--form": ("local", []),
    "--candidates": ("9", ["--form", "local"]),
}
OF_SPECTRAL = {
    "--factors": ("5", []), "--item-exponent": ("0.3", []), "--spectrum-exponent": ("0.3", []), "--seed": ("7", []),
}

OF_BIAS = {
    "--baseline": ("user-mean", []), "--clip": ("off", []),
    "--baseline-method": ("sgd", []), "--baseline-epochs": ("3", []),
    "--baseline-user-regularization": ("1", []), "--baseline-item-regularization": ("1", []),
    "--baseline-regularization": ("0.1", ["--baseline-method", "sgd"]),
    "--baseline-learning-rate": ("0.1", ["--baseline-method", "sgd"]),
}


def refused(program, *arguments):
    """The reason; the file that does not exist shows that nothing was read before."""
    stderr = program(*arguments, exit_code=2).stderr
    assert "absent" not in stderr
    return stderr


def test_every_training_option_is_in_the_tables(program):
    text = program("train", "--help").stdout
    named = {word for line in text.splitlines() if line.startswith("  --")
             for word in [line.split()[0]]}
    others = {"--output", "--algorithm", "--feedback", "--device", "--threads", "--device-memory",
              "--validation", "--validation-metric", "--validation-candidates",
              "--validation-negatives", "--target", "--format", "--checkpoint", "--checkpoint-every",
              "--resume", "--report", "--titles", "--titles-columns", "--item-features", "--item-features-columns",
              "--user-features", "--user-features-columns", "--feature-regularization", "--plan", "--json", "--fast",
              "--columns", "--delimiter", "--header", "--decimal", "--time-format", "--values",
              "--since", "--until", "--half-life", "--now",
              "--duplicates", "--min-value", "--min-user-count", "--min-item-count",
              "--on-bad-row"}
    assert named - others == set(OF_ALS) | set(OF_NEIGHBOURS) | set(OF_SGD) | set(OF_BPR) | set(OF_BIAS) | \
        set(OF_EASE) | set(OF_SPECTRAL)


@pytest.mark.parametrize("option", OF_ALS)
def test_parameters_of_als_need_als(program, option):
    value, beside = OF_ALS[option]
    for algorithm in (KNN, USER_KNN, POPULAR, BIAS):
        why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
        assert option in why and algorithm[1] in why
    if beside:
        why = refused(program, "train", "absent.csv", "-o", "m", option, value)
        assert option in why and beside[0] in why
    # And where it has an effect it is read, and the data asked for.
    program("train", "absent.csv", "-o", "m", *beside, option, value, exit_code=1)


@pytest.mark.parametrize("beside, has_effect", [
    (["--confidence", "log"], False), (["--alpha", "2"], False), (["--regularization-exponent", "0"], False),
    (["--alpha", "2", "--regularization-exponent", "0.5"], True), ([], True), (EXPLICIT, False)])
def test_counts_of_regularization_need_an_exponent(program, cinema, beside, has_effect):
    """Which the data's defaults decide: 1 in the iALS form, 0 in Hu's."""
    stderr = program("train", cinema / "ratings.csv", "-o", "m", *beside, "--regularization-count", "likes", "--iterations", "1",
                     exit_code=0 if has_effect else 2).stderr
    if not has_effect:
        assert ("--regularization-count would do nothing here: it needs --feedback implicit and "
                "--regularization-exponent above 0") in stderr


def test_fast_is_told_by_its_name(program):
    why = refused(program, "train", "absent.csv", "-o", "m", "--algorithm", "ease", "--fast")
    assert "--fast is --factors 64, which is for --algorithm als or sgd or bpr or spectral, not ease" in why
    program("train", "absent.csv", "-o", "m", "--algorithm", "spectral", "--fast", exit_code=1)


@pytest.mark.parametrize("similarity, has_effect", [
    ("jaccard", False), ("conditional", False), ("rp3", False), ("msd", False), ("log-likelihood", True), ("cosine", True)])
def test_negative_similarities_need_some_that_can_be(program, similarity, has_effect):
    words = ("train", "absent.csv", "-o", "m", *KNN, "--similarity", similarity, "--negative", "keep")
    if has_effect:
        program(*words, exit_code=1)
    else:
        assert "--negative would do nothing here: it needs a --similarity other than jaccard, msd, " in refused(program, *words)


@pytest.mark.parametrize("algorithm, options", [("ease", OF_EASE), ("spectral", OF_SPECTRAL)])
def test_parameters_of_closed_forms_need_them(program, algorithm, options):
    for option, (value, beside) in options.items():
        why = refused(program, "train", "absent.csv", "-o", "m", *POPULAR, option, value)
        assert option in why and algorithm in why
        if beside:
            why = refused(program, "train", "absent.csv", "-o", "m", "--algorithm", algorithm, option, value)
            assert option in why and beside[0] in why
        program("train", "absent.csv", "-o", "m", "--algorithm", algorithm, *beside, option, value, exit_code=1)


@pytest.mark.parametrize("option", OF_SGD)
def test_parameters_of_sgd_need_sgd(program, option):
    value, beside = OF_SGD[option]
    for algorithm in (ALS, KNN, POPULAR):
        why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
        assert option in why and "sgd" in why
    if beside:
        why = refused(program, "train", "absent.csv", "-o", "m", *SGD, option, value)
        assert option in why and beside[0] in why
    program("train", "absent.csv", "-o", "m", *SGD, *beside, option, value, exit_code=1)


@pytest.mark.parametrize("option", OF_BPR)
def test_parameters_of_bpr_need_bpr(program, option):
    value, beside = OF_BPR[option]
    for algorithm in (ALS, KNN, POPULAR, BIAS):
        why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
        assert option in why and "bpr" in why
    program("train", "absent.csv", "-o", "m", *BPR, *beside, option, value, exit_code=1)
    for order in ("alternating", "serial"):
        assert "blocked|racing" in refused(program, "train", "absent.csv", "-o", "m", *BPR, "--order", order)


@pytest.mark.parametrize("option", OF_NEIGHBOURS)
def test_parameters_of_neighbourhoods_need_neighbours(program, option):
    value, beside = OF_NEIGHBOURS[option]
    for algorithm in (ALS, POPULAR, *([] if option in OF_BIAS else [BIAS])):
        why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
        assert option in why and "item-knn" in why
    for algorithm in (KNN, USER_KNN):
        if beside:
            why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
            assert option in why
        if (option, algorithm) == ("--sum-scale", USER_KNN):
            why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
            assert "--algorithm item-knn" in why
            continue
        program("train", "absent.csv", "-o", "m", *algorithm, *beside, option, value, exit_code=1)


@pytest.mark.parametrize("option", OF_BIAS)
def test_parameters_of_baselines_need_what_learns_them(program, option):
    value, beside = OF_BIAS[option]
    for algorithm in (ALS, POPULAR, *([] if option in OF_NEIGHBOURS else [KNN, USER_KNN])):
        why = refused(program, "train", "absent.csv", "-o", "m", *algorithm, option, value)
        assert option in why and "bias" in why
    if option != "--baseline":
        for without in ([["--baseline", "user-mean"]] + ([[]] if beside else [])):
            why = refused(program, "train", "absent.csv", "-o", "m", *BIAS, *without, option, value)
            assert option in why and "--baseline biases" in why
    for feedback in ([], EXPLICIT):
        program("train", "absent.csv", "-o", "m", *BIAS, *feedback, *beside, option, value,
                exit_code=1)


@pytest.mark.parametrize("beside", [
    ["--alpha", "2", *EXPLICIT],
    ["--alpha", "2", "--unobserved-weight", "0.1"],
    ["--confidence", "log", "--unobserved-weight", "0.1"],
    ["--unobserved-weight", "0.1", *EXPLICIT],
    ["--sum-lists", "both", *KNN, "--prediction", "mean"],
    ["--sum-scale", "mean", *KNN, *EXPLICIT],
    ["--validation-metric", "ndcg@5"],
    ["--target", "ndcg@5=0.3"],
    ["--validation-candidates", "absent.csv"],
    ["--validation-negatives", "9"],
    ["--validation-negatives", "9", "--validation-candidates", "absent.csv", "--validation", "absent.csv"],
    ["--checkpoint-every", "2"],
    ["--titles-columns", "1,2"],
    *[[*algorithm, *option] for algorithm in (KNN, POPULAR, BIAS)
      for option in (["--target", "ndcg@5=0.3", "--validation", "absent.csv"], ["--checkpoint", "absent"])],
])
def test_options_that_exclude_each_other(program, beside):
    stderr = program("train", "absent.csv", "-o", "m", *beside, exit_code=2).stderr
    assert any(word.lstrip("-") .replace("-", "_") in stderr.replace("-", "_")
               for word in beside if word.startswith("--"))


def test_what_a_resumed_training_was_begun_with_cannot_change(program, cinema):
    model = cinema / "model.safetensors"
    for change in (["--feedback", "explicit"], ["--factors", "9"], ["--seed", "7"],
                   ["--init-stddev", "1"], ["--algorithm", "item-knn"], ["--iterations", "2"]):
        why = refused(program, "train", "absent.csv", "-o", "m", "--resume", model, *change)
        assert change[0].lstrip("-").replace("-", "_") in why.replace("-", "_")
    program("train", "absent.csv", "-o", "m", "--resume", model, "--seed", "42", exit_code=1)
    program("train", cinema / "parts/train.csv", "-o", "k", "--algorithm", "popular")
    assert "popular" in refused(program, "train", "absent.csv", "-o", "m", "--resume", "k")


# Kinds of models, and the options of an update that have an effect on them.
UPDATES = {
    "als": ([], {"--iterations": "3"}),
    "als, explicit": (EXPLICIT, {"--iterations": "3", "--by": "sgd"}),
    "sgd": (SGD, {"--iterations": "2", "--learning-rate": "0.1"}),
    "bpr": (BPR, {"--iterations": "2", "--learning-rate": "0.1"}),
    "item-knn": (KNN, {}), "popular": (POPULAR, {}), "bias": (BIAS, {}),
}


@pytest.mark.parametrize("kind", UPDATES)
def test_options_of_an_update_need_their_kind_of_model(program, tmp_path, kind):
    how, possible = UPDATES[kind]
    (tmp_path / "old.csv").write_text("user,item,value\na,x,1\na,y,4\nb,x,2\nb,z,5\n")
    (tmp_path / "new.csv").write_text("user,item,value\nb,y,3\nc,x,4\n")
    short = ["--factors", "2", "--iterations", "2"] if "--iterations" in possible else []
    program("train", "old.csv", "-o", "m", *how, *short)
    program("update", "m", "new.csv", "-o", "usual")
    for option, value in {"--iterations": "3", "--by": "sgd", "--learning-rate": "0.1"}.items():
        if option not in possible:
            why = refused(program, "update", "m", "absent.csv", "-o", "n", option, value)
            assert option.strip("-") in why
            continue
        program("update", "m", "new.csv", "-o", "n", option, possible[option])
        assert factors(tmp_path / "n") != factors(tmp_path / "usual"), option
    if "--by" in possible:
        program("update", "m", "new.csv", "-o", "usual", "--by", "sgd")
        program("update", "m", "new.csv", "-o", "n", "--by", "sgd", "--learning-rate", "0.01")
        assert factors(tmp_path / "n") != factors(tmp_path / "usual")
        why = refused(program, "update", "m", "absent.csv", "-o", "n", "--by", "als",
                      "--learning-rate", "0.2")
        assert "--learning-rate" in why
    assert "--titles-columns" in refused(program, "update", "absent", "new.csv", "-o", "n",
                                         "--titles-columns", "1,2")


def factors(path):
    return load_file(path)["user_factors"].tolist()


@pytest.mark.parametrize("option, beside, needs", [
    ("--validation-share 0.2", "--validation absent.csv", "leave --validation out"),
    ("--validation-method time", "--validation absent.csv", "leave --validation out"),
    ("--validation-share 0.2", "--validation-method last", "--validation-method random"),
    ("--titles-columns 1,2", "", "--titles"), ("--item-features-columns 1,2", "", "--item-features"),
    ("--feature-regularization 1", "", "--item-features or --user-features")])
def test_options_of_a_search_that_would_do_nothing(program, option, beside, needs):
    why = refused(program, "tune", "absent.csv", "-o", "m", *option.split(), *beside.split())
    assert option.split()[0] in why and needs in why


@pytest.mark.parametrize("method, option, value", [
    ("kfold", "--test", "0.3"), ("last", "--test", "0.3"), ("random", "--last", "2"),
    ("random", "--rows", "2"), ("kfold", "--rows", "2"), ("last", "--rows", "2"),
    ("time", "--rows", "2"), ("per-user", "--rows", "0"), ("per-user", "--last", "2"),
    ("per-user", "--folds", "3"),
    ("random", "--last", "-1"), ("time", "--folds", "3")])
def test_options_of_another_split(program, method, option, value):
    why = refused(program, "split", "absent.csv", "-o", "d", "--method", method, option, value)
    assert option in why


@pytest.mark.parametrize("option", [("--at", "100"), ("--rolling", "2")])
def test_a_split_that_draws_nothing_has_no_seed(program, option):
    why = refused(program, "split", "absent.csv", "-o", "d", "--method", "time", *option, "--seed", "7")
    assert "--seed" in why and "--at" in why and "--rolling" in why


@pytest.mark.parametrize("method", ["last", "time"])
def test_the_seed_draws_among_rows_of_the_same_time(program, tmp_path, method):
    (tmp_path / "r.csv").write_text("user,item,time\n" + "".join(
        f"{user},{item},5\n" for user in range(30) for item in range(8)))
    parts = []
    for seed in ("1", "1", "2"):
        program("split", "r.csv", "-o", "p", "--method", method, "--seed", seed)
        parts.append((tmp_path / "p/test.csv").read_text())
    assert parts[0] == parts[1] != parts[2]


def test_a_share_and_a_number_of_rows_exclude_each_other(program):
    why = refused(program, "split", "absent.csv", "-o", "d", "--method", "per-user", "--rows", "2",
                  "--test", "0.3")
    assert "--test" in why and "--rows" in why


def test_verbs_that_ask_a_model(program, cinema):
    program("train", cinema / "parts/train.csv", "-o", "knn", *KNN)
    explicit = cinema / "explicit.safetensors"
    for option in (["-k", "5"], ["--train", "absent.csv"], ["--min-relevant-value", "4"],
                   ["--per-user", "u.csv"], ["--candidates", "absent.csv"], ["--negatives", "3"]):
        assert option[0] in refused(program, "evaluate", explicit, "absent.csv", *option)
    assert "-k" in refused(program, "evaluate", "knn", "absent.csv", "-k", "5", "--metrics", "auc")
    for verb in (["recommend", "absent", "--user", "1"], ["similar", "absent", "--item", "1"],
                 ["report", "absent", "-o", "page"]):
        assert "--titles-columns" in refused(program, *verb, "--titles-columns", "1,2")
    for who in (["--user", "1"], ["--all-users"], ["--new", "absent.csv"]):
        assert "--titles" in refused(program, "similar", "absent", *who, "--titles", "t.csv")
    for metric in ("cosine", "dot", "euclidean", "hellinger"):
        why = refused(program, "similar", "knn", "--all-items", "--metric", metric)
        assert "--metric" in why and "its own similarity" in why
    assert "--seed" in refused(program, "evaluate", "knn", "absent.csv", "--seed", "3")
    for option in (["--columns", "1,2"], ["--header", "no"], ["--on-bad-row", "skip"],
                   ["--format", "adjacency"]):
        assert option[0] in refused(program, "predict", "knn", "--all-missing", *option)
        assert option[0] in refused(program, "info", explicit, *option)
        assert option[0] in refused(program, "info", *option)
    assert "--duplicates" in program("predict", "knn", "absent.csv", "--duplicates", "max",
                                     exit_code=2).stderr
