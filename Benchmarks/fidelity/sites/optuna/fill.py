"""Makes a study with fixed numbers."""

import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
for name in "oven temperature", "dough time":
    study = optuna.create_study(
        storage=sys.argv[1], study_name=name, sampler=optuna.samplers.RandomSampler(seed=1)
    )
    study.optimize(
        lambda t: (t.suggest_float("heat", 0, 10) - 3) ** 2 + t.suggest_int("minutes", 1, 5), n_trials=12
    )
