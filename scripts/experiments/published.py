# SPDX-License-Identifier: Apache-2.0
"""Ratings over five folds with defaults, next to what scikit-surprise publishes of the same data.

    scripts/experiment published [--only TEXT]

RMSE and MAE are means over five random folds, of all ratings of a set. The published columns are those of the benchmarks in
Surprise's README (version 1.1.4, its defaults, folds of its own): the algorithm there that is most like ours. They were
noted earlier and not looked up again.
"""
from .study import FILES, Failed, Study, parser, require_data, row, table

# Algorithm here: (name there, RMSE and MAE published for ml-100k, for ml-1m).
PUBLISHED = {
    "bias": ("Baseline", (0.944, 0.748), (0.909, 0.719)),
    "item-knn": ("k-NN Baseline", (0.931, 0.733), (0.895, 0.706)),
    "user-knn": ("Centered k-NN", (0.951, 0.749), (0.929, 0.738)),
    "sgd": ("SVD", (0.934, 0.737), (0.873, 0.686)),
    "als": ("SVD++", (0.919, 0.721), (0.862, 0.672)),
}
SETS = ("ml-100k", "ml-1m")


class Folds(Study):
    def means(self, name, algorithm):
        told = self.run("cross-validate", FILES[name], "--feedback", "explicit", "--algorithm", algorithm, "--folds", 5,
                        "--json").told
        return [told["metrics"][metric]["mean"] for metric in ("rmse", "mae")]


def main(words, prog):
    given = parser(__doc__, prog)
    given.add_argument("--only", default="", help="sets whose names have this in them")
    args = given.parse_args(words)
    require_data()
    if not any(args.only in name for name in SETS):
        raise Failed(f"no set has {args.only!r} in its name: {', '.join(SETS)}")
    table(["data", "algorithm", "RMSE", "MAE", "Surprise", "RMSE, published", "MAE, published"], {2, 3, 5, 6})
    for place, name in enumerate(SETS):
        if args.only not in name:
            continue
        for algorithm, (there, *published) in PUBLISHED.items():
            ours = Folds(".", args.threads).means(name, algorithm)
            row([name, f"`{algorithm}`", *(f"{one:.4f}" for one in ours), there,
                 *(f"{one:.3f}" for one in published[place])])
    return 0
