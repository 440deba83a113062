# SPDX-License-Identifier: Apache-2.0
"""A search by Optuna, for those who have it, compared to likewise.tune(): the same parameters of ALS, the same
validation part, as many trials. Optuna's pruner ends trials that fall behind, by the callback of fit().

    pip install optuna
    optuna_search.py FOLDER [TRIALS]        a folder with ratings.csv.gz, as ml-latest-small
"""
import sys

import optuna

import likewise


def main(folder, trials=20):
    ratings = likewise.Interactions(f"{folder}/ratings.csv.gz")
    rest, test = likewise.split(ratings, "last")
    train, validation = likewise.split(rest, test=0.1, seed=42)

    def objective(trial):
        def report(iteration, seconds, objective_value, value):
            trial.report(value, iteration)
            if trial.should_prune():
                raise optuna.TrialPruned

        model = likewise.Als(
            factors=trial.suggest_int("factors", 16, 256, log=True),
            regularization=trial.suggest_float("regularization", 3e-4, 0.1, log=True),
            unobserved_weight=trial.suggest_float("unobserved_weight", 0.003, 3.0, log=True),
            regularization_exponent=1.0, iterations=63, patience=7,
        ).fit(train, validation=validation, callback=report).model_
        trial.set_user_attr("iterations", model.best_iteration)
        return model.validation

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1),
                                pruner=optuna.pruners.HyperbandPruner(min_resource=7, max_resource=63))
    study.optimize(objective, n_trials=trials)
    best = study.best_trial
    model = likewise.Als(**best.params, regularization_exponent=1.0,
                         iterations=best.user_attrs["iterations"]).fit(rest).model_
    print(f"optuna  validation {best.value:.4f}  test {model.evaluate(test)['ndcg@10']:.4f}")

    search = likewise.tune(rest, algorithms="als", budget=trials, seed=42)
    test_value = search.model.evaluate(test)["ndcg@10"]
    print(f"tune    validation {search.best['value']:.4f}  test {test_value:.4f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
