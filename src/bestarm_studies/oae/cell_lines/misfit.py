"""The values that claims on cell lines compare, and how the misfit of a class goes with MeanOpt's gain."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from bestarm_lab.claims.cells import Rows, Test, best_by_halves
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.oae.checks import RANDOM, first_hit, misfit
from bestarm_studies.oae.first_hits import SMALLEST_TAU, comparable_runs
from bestarm_studies.oae.network_fits import class_name
from bestarm_studies.oae.series import LEARNING_RATE, OPTIMISM

MEAN_OPT = [f"MeanOpt {strength:g}" for strength in OPTIMISM]
RATES = {class_name(hidden): rate for hidden, rate in LEARNING_RATE.items()}
CLASSES = ("NN 100-10", "NN 10-5", "linear")
_PERMUTATIONS = 20_000


def own_misfit(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the training error after the last step over the variance, each class with its own step size."""
    return misfit(rows[rows["learning_rate"] == rows["series"].map(RATES)], test)


def held_out(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the error on other arms after the largest number of batches that was looked at, over the variance."""
    return rows[rows["x"] == rows["x"].max()].pivot(index="replication", columns="series", values="test").astype(float)


def chosen_hits(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the batches of each run until an arm of the top 0.2%, random batches by their exact law.
    Column ``MeanOpt`` has, for each half of the runs, the strength that is best in the other half."""
    hits = first_hit(comparable_runs(rows), {}, SMALLEST_TAU)
    return hits.assign(MeanOpt=-best_by_halves(-hits[MEAN_OPT]))


def misfit_and_gain(fits: pd.DataFrame, searches: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return for every line and class (``line, series``) the misfit of a plain fit and MeanOpt's gain on random ones.
    ``misfit`` is the median training error over the variance, ``gain`` 1 minus the mean of MeanOpt's `chosen_hits` over
    that of random batches."""
    errors = {name: own_misfit(mine, {}).median() for name, mine in fits.groupby("panel", sort=False)}
    found = []
    for name in CLASSES:
        for line, mine in searches[name].groupby("name", sort=False):
            hits = chosen_hits(mine)
            gain = 1.0 - hits["MeanOpt"].mean() / hits[RANDOM].mean()
            found.append({"line": line, "series": name, "misfit": float(errors[str(line)][name]), "gain": float(gain)})
    return pd.DataFrame(found)


def permuted_correlation(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Return Spearman's correlation, and the share of permutations with one at least as low."""
    found, rng = float(spearmanr(x, y).statistic), np.random.default_rng(0)
    ranks = x.rank().to_numpy(), y.rank().to_numpy()
    drawn = rng.permuted(np.tile(ranks[1], (_PERMUTATIONS, 1)), axis=1)
    centred = ranks[0] - ranks[0].mean(), drawn - ranks[1].mean()
    others = centred[1] @ centred[0] / np.sqrt((centred[0] ** 2).sum() * (centred[1][0] ** 2).sum())
    return found, float((1 + (others <= found + 1e-12).sum()) / (1 + _PERMUTATIONS))


def misfit_explains_gain(test: Test, tables: Rows) -> Decision:
    """Check that Spearman's correlation of misfit and gain over lines and classes is below zero (permutations, 5%)."""
    fits, *searches = test["experiments"]
    cells = misfit_and_gain(tables[fits], {c: tables[name] for c, name in zip(CLASSES, searches, strict=True)})
    correlation, p = permuted_correlation(cells["misfit"], cells["gain"])
    return Decision(p < 0.05, f"Spearman's correlation {correlation:.2f} over {len(cells)} cells, p = {p:.2g}")
