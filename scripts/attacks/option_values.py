# SPDX-License-Identifier: Apache-2.0
"""What the attacks on options know of them: values that matter, commands, and who may be idle."""
from __future__ import annotations

# Options that may leave results as they are, and why.
HARMLESS = {
    "--threads": "answers do not depend on threads",
    "--quiet": "messages only", "--verbose": "messages only",
    "--device": "the same answers", "--device-memory": "how, not what",
    "--precision": "a CPU trains in fp32 whatever it is called",
    "--checkpoint-every": "seen while training",
    "--negative": "similarities may all be positive",
    "--predict-from": "the 40 nearest may be all rows",
    "--sum-lists": "the same: then all have each other",
    "--on-bad-row": "all rows can be read",
    "tune --resume": "a search that goes on has the same winner as one without a break",
    "--resume": "a training that goes on is the same as one without a break",
    "--fast": "small data have 64 factors without it",
    "cross-validate --clip": "predictions may all be on the scale", "cross-validate --duplicates": "a like is a like",
    "cross-validate --half-life": "the same, however old", "cross-validate --now": "the same",
    "cross-validate --solver": "the lists may be the same",
    **{f"cross-validate --{name}": "every item and user may have interactions in each fold" for name in (
        "item-features", "item-features-columns", "user-features", "user-features-columns", "feature-regularization")},
    "predict --clip": "predictions may all be on the scale", "evaluate --clip": "the same",
    "predict --duplicates": "a pair is predicted once", "evaluate --duplicates": "a like is a like",
    "recommend --duplicates": "the same, of new users",
}
# Of these pairs the second may leave the first nothing to do.
IDLE_BESIDE = {
    ("--feedback", "--prediction"), ("--feedback", "--similarity"),  # all that it chooses there
    ("--min-support", "--min-item-count"), ("--min-support", "--min-user-count"),  # rare rows gone
    ("--neighbours", "--min-support"), ("--neighbours", "--min-item-count"), ("--amplification", "--min-support"),  # few are left
    ("--new", "--columns"),  # other users
    ("--clip", "--duplicates"),  # sums stretch the scale
    ("--clip", "--min-item-count"), ("--clip", "--min-user-count"),  # averages of a few: in range
    ("--clip", "--min-neighbours"),  # means where these are too few
    ("--clip", "--baseline-user-regularization"), ("--clip", "--baseline-item-regularization"),  # other biases: in range
    ("--tolerance", "--iterations"), ("--patience", "--iterations"),
    ("--iterations", "--tolerance"), ("--iterations", "--patience"),
    ("--iterations", "--target"), ("--tolerance", "--target"), ("--patience", "--target"),  # reached
    ("--checkpoint", "--tolerance"),  # what is resumed is over
    ("--cg-steps", "--cg-tolerance"),  # one step was enough
    ("--candidates", "--min-user-count"), ("--negatives", "--min-user-count"),  # nothing is left to tell apart
    # A plan may be the same for other data, and holds no titles and no report.
    *((flag, "--plan") for flag in ("--titles", "--report", "--item-features", "--user-features", "--duplicates", "--min-value",
                                    "--min-user-count", "--min-item-count", "--since", "--until", "--half-life")),
    ("--columns", "--plan"),  # as many rows and users, in another order
    ("--method", "--at"), ("--method", "--rolling"),  # time is what they mean
    ("--half-life", "--until"),  # of those left the newest may have the largest value and the smallest
    ("--validation-share", "--min-item-count"),  # of two ratings one is hidden either way
}
# Beside it every option may be idle: a single metric of few lists takes few values.
COARSE = "--metrics"
# Verbs and options that run until a signal: tests/cli/test_serve.py and tests/page have them.
ENDLESS = {"serve", "mcp", "demo --serve"}
ODD = ["-1", "18446744073709551616", "nan", "inf", "-inf", "", " 1", "1x", "1e999", "1 ", "0x1p3"]
NEVER = {"nan", "inf", "-inf", "", "1x", "1e999"}  # of no number option; below: of no whole one
NEVER_WHOLE = NEVER | {"-1", "18446744073709551616", "0x1p3"}

# A value that is not the default and matters for the data of these cases; of one verb where two have
# different options of that name.
VALUES = {
    "--factors": "3", "--iterations": "25", "--regularization": "0.5",
    "--baseline": "user-mean", "--regularization-exponent": "0.7", "--regularization-count": "likes", "--alpha": "7", "--confidence": "log",
    "--epsilon": "0.3",
    "--unobserved-weight": "0.2", "--biases": "off", "--nonnegative": "on", "--init-stddev": "0.7", "--solver": "cg",
    "--cg-steps": "1", "--cg-tolerance": "0.3", "--cg-preconditioner": "none", "--precision": "fp32",
    "--tolerance": "0.1", "--loss": "logistic", "--bias-regularization": "3", "--order": "serial",
    "--negatives": "popular", "evaluate --negatives": "4", "--liked-draws": "skip",
    "--schedule": "bold", "--learning-rate": "0.3", "--decay": "0.7",
    "--patience": "1", "--seed": "7", "--device": "cpu", "--threads": "2", "--device-memory": "1GB",
    "--neighbours": "2", "--similarity": "jaccard", "--min-support": "9", "--shrinkage": "3",
    "--amplification": "2", "--negative": "keep", "--centring": "item", "--prediction": "centred",
    "--predict-from": "kept", "--sum-lists": "reverse", "--sum-scale": "mean",
    "--min-neighbours": "9", "--clip": "off", "--baseline-method": "sgd", "--baseline-epochs": "3",
    "--baseline-user-regularization": "1", "--baseline-item-regularization": "1",
    "--baseline-regularization": "0.5", "--baseline-learning-rate": "0.05", "--bm25-k1": "9",
    "--bm25-b": "0.1", "--popularity-damping": "0.9", "--user-exponent": "0.6", "--item-exponent": "0.3",
    "--scale-items": "off", "--dropout": "0.3", "--form": "local", "train --candidates": "7",
    "--spectrum-exponent": "0.3", "--validation": "test.csv",
    "--validation-metric": "auc", "--target": "ndcg@10=0.05", "--checkpoint": "state", "--checkpoint-every": "2",
    "--resume": "short.model", "--by": "sgd", "--report": "report.html",
    "--columns": "2,1,3", "--delimiter": ";", "--header": "no", "--duplicates": "sum",
    "--values": "1=5,2=4,3=3,4=2,5=1", "--since": "20", "--until": "30", "--half-life": "1h", "--now": "2030-01-01",
    "--decimal": ",", "--time-format": "%Y", "--at": "700", "--rolling": "2", "--min-value": "3", "--min-user-count": "7", "--min-item-count": "12", "--on-bad-row": "skip",
    "--output": "out.csv", "--per-user": "each.csv", "--train": "other.csv", "-k": "3", "-n": "17",
    "--candidates": "other.csv", "--validation-candidates": "other.csv",
    "--validation-negatives": "5", "--rows": "2", "--format": "adjacency",
    "--metrics": "recall", "--min-relevant-value": "4", "--new": "new.csv", "--user": "3",
    "--users": "ids.txt", "--likes": "3,5", "--allow": "ids.txt", "--deny": "ids.txt",
    "--item": "4", "--metric": "euclidean", "--method": "time", "--test": "0.4", "--last": "3",
    "--folds": "3", "--fold-seed": "7", "cross-validate --at": "30", "--shape": "20x10x50", "--plot": "plot.svg", "--feedback": "explicit",
    "--budget": "7", "tune --metric": "recall@5", "--validation-method": "random",
    "--validation-share": "0.3", "--journal": "notes",
    "--algorithm": "user-knn", "--listen": "127.0.0.1:0", "--titles": "titles.csv", "--titles-columns": "1,2",
    "--item-features": "items.csv", "--item-features-columns": "item,kind", "--user-features": "people.csv",
    "--user-features-columns": "user,kind", "--feature-regularization": "7",
}
KNN = ["--algorithm", "item-knn"]
SGD = ["--algorithm", "sgd", "--feedback", "explicit"]  # it has no other
BPR = ["--algorithm", "bpr", "--feedback", "implicit"]
BIAS = ["--algorithm", "bias", "--feedback", "explicit"]  # it has no other
EASE = ["--algorithm", "ease", "--feedback", "implicit"]  # they have no other
SPECTRAL = ["--algorithm", "spectral", "--feedback", "implicit"]
BASES: dict[str, list[list[str]]] = {
    "demo": [[]],
    "generate": [["20x10x90", "-o", "made.csv"]],
    "split": [["data.csv", "-o", "parts", *how] for how in (
        [], ["--method", "per-user"], ["--method", "last"], ["--method", "time"], ["--method", "kfold"],
        ["--method", "cold-items"])],
    "train": [["data.csv", "-o", "model", *how] for how in (
        [], ["--feedback", "explicit"], ["--solver", "cg"], ["--confidence", "log"],
        ["--unobserved-weight", "0.3"], ["--validation", "test.csv", "--iterations", "12"],
        ["--checkpoint", "state"], ["--resume", "short.model", "--iterations", "12"],
        ["--resume", "stars.model", "--iterations", "12"], ["--algorithm", "popular"], KNN,
        BPR, EASE, [*EASE, "--form", "local"], SPECTRAL, SGD, [*SGD, "--schedule", "inverse"], [*SGD, "--schedule", "constant", "--biases", "off"],
        [*KNN, "--feedback", "explicit"],
        [*KNN, "--feedback", "explicit", "--baseline-method", "sgd"],
        [*KNN, "--feedback", "explicit", "--prediction", "z-score", "--similarity", "pearson"],
        [*KNN, "--similarity", "bm25"], [*KNN, "--similarity", "conditional"],
        [*KNN, "--similarity", "rp3"],
        [*KNN, "--similarity", "adjusted-cosine"], ["--algorithm", "user-knn"],
        ["--algorithm", "user-knn", "--feedback", "explicit"],
        # Biases so large that some predictions are off the scale.
        [*BIAS, "--baseline-user-regularization", "0.1"],
        [*BIAS, "--baseline-method", "sgd", "--baseline-epochs", "100"], ["--algorithm", "auto"])],
    "tune": [["data.csv", "-o", "model", "--json", "--budget", "9", *how] for how in (
        [], ["--feedback", "explicit"], ["--validation", "test.csv"], ["--validation-method", "time"])],
    "update": [[model, "other.csv", "-o", "model", *how] for model, how in (
        ("als.model", []), ("explicit.model", []), ("explicit.model", ["--by", "sgd"]),
        ("sgd.model", []), ("bpr.model", []), ("item-knn.model", []), ("user-knn.model", []),
        ("popular.model", []), ("bias.model", []))],
    "evaluate": [[model, "test.csv"] for model in ("als.model", "explicit.model", "knn5.model")] +
                [["als.model", "test.csv", "--json"]],
    "cross-validate": [["data.csv", "--json", *how] for how in (
        ["--factors", "4"], ["--factors", "4", "--feedback", "explicit", "--regularization", "0.01"],
        ["--algorithm", "popular", "--rolling", "3"],
        KNN, [*SGD, "--iterations", "5"], BIAS)],
    "predict": [[model, "test.csv"]
                for model in ("als.model", "explicit.model", "knn5.model", "bias.model")] +
               [["explicit.model", "--all-missing"]],
    "recommend": [[model, who, "-n", "20"]
                  for model in ("als.model", "item-knn.model", "popular.model", "bias.model")
                  for who in ("--all", "--user=5", "--likes=3,4,6", "--new=new.csv")] +
                 [["featured.model", "--user-features=people.csv", "-n", "5"]],
    "similar": [["als.model", "--all-items", "-n", "4"], ["als.model", "--all-items"],
                ["als.model", "--item=5"], ["als.model", "--user=5"],
                ["als.model", "--all-users", "-n", "4"],
                ["item-knn.model", "--all-items"], ["user-knn.model", "--new=new.csv"]],
    "report": [["als.model", "-o", "page"], ["popular.model", "-o", "page"]],
    "compare": [["run.json"], ["run.json", "wide=wide.model", "--json"]],
    "autotune": [[]],
    "completion": [["bash"], ["zsh"], ["fish"]],
    "info": [["data.csv"], ["data.csv", "--json"], ["als.model"], []],
}
INPUTS = ["data.csv", "test.csv", "other.csv", "new.csv", "ids.txt", "titles.csv", "items.csv", "people.csv", "als.model",
          "explicit.model", "short.model", "stars.model", "item-knn.model", "user-knn.model", "knn5.model",
          "popular.model", "bias.model", "sgd.model", "bpr.model", "featured.model", "run.json", "wide.model"]
