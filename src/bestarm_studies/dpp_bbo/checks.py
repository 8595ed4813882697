"""Values that claims compare: regrets from the maximum of the domain, as the paper counts them, or from candidates."""

from collections.abc import Callable
from functools import cache, partial
from operator import itemgetter

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.claims.cells import Test, Value
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.study import load_study
from bestarm_studies.dpp_bbo.candidate_arms import STUDY
from bestarm_studies.dpp_bbo.gp_draws import gp_draw_instance
from bestarm_studies.dpp_bbo.values import SMALLEST, batch_of, floors


@cache
def floors_of(experiment: str) -> FloatArray:
    """Return how far the best candidate of each run of an experiment is below f(x*), shape (R,), or one 0.
    It is 0 where the candidates are all that there is: of drawn functions, and of data, which nobody needs for that."""
    found = load_study(STUDY).experiments.get(experiment)
    if not isinstance(found, Experiment) or found.problem.func is gp_draw_instance or not found.has_data():
        return np.zeros(1)
    return floors(found.problem())


def immediate_regrets(cell: pd.DataFrame) -> pd.Series:
    """Return f(x*) minus f at the recommended arm: to the regret among the candidates it adds the run's floor."""
    found = cell["candidate_regret"].astype(np.float64)
    for experiment, runs in cell.groupby("experiment")["replication"]:
        floor = floors_of(str(experiment))
        found[runs.index] += floor[runs % len(floor)]
    return found


def mean_log(cell: pd.DataFrame, test: Test, regrets: Callable[[pd.DataFrame], pd.Series]) -> pd.DataFrame:
    """Return the mean of log10(regret + 10^-6) over the rows of each run (rows) and series (columns)."""
    logs = pd.Series(np.log10(regrets(cell).astype(np.float64) + SMALLEST), index=cell.index)
    return logs.groupby([cell["replication"], cell["series"]], sort=False).mean().unstack("series")


def distance_to(cell: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return how far the regret of each run (rows) and series (columns) is from that of the same run of another."""
    table = cell.groupby(["replication", "series"], sort=False)["candidate_regret"].mean().unstack("series")
    return table.sub(table[test["to"]], axis=0).abs()


log_regret = partial(mean_log, regrets=immediate_regrets)  # from f(x*)
log_candidate_regret = partial(mean_log, regrets=itemgetter("candidate_regret"))  # from the best candidate
log_observed_regret = partial(mean_log, regrets=itemgetter("by_observed_mean"))  # of the best observed arm
VALUES: dict[str, Value] = {
    "batch": Value("batch", of=batch_of),
    "distance_to": Value("distance from the regret of another search", of=distance_to, needs={"to": "text"}),
    "log_regret": Value("log10 of the regret from f(x*), mean over batches", of=log_regret),
    "log_candidate_regret": Value(
        "log10 of the regret among the candidates, mean over batches", of=log_candidate_regret
    ),
    "log_observed_regret": Value(
        "log10 of the regret of the best observed arm, mean over batches", of=log_observed_regret
    ),
}
