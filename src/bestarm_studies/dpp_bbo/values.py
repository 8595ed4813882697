"""Values of the DPP-BBO paper's figures: regrets batch by batch, differences of searches, and tables of both."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Test
from bestarm_lab.figures.values import Lines, paired_effects, summarise, text_table
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms

SMALLEST = 1e-6  # added to a regret before its logarithm is taken
SEARCHES = ("GP-BUCB", "B-EST", "UCB-DPP-MAX", "EST-DPP-MAX", "UCB-DPP-SAMPLE", "EST-DPP-SAMPLE", "LP-UCB")
RIVALS = tuple(name for name in SEARCHES if "SAMPLE" not in name)
EVERYBODY = (*SEARCHES, "UCB-UNIFORM", "EST-UNIFORM", "Thompson", "random")
ROUNDING = 1e-8


def rivals_of_sampling() -> dict[str, dict[str, tuple[str, str]]]:
    """Return the comparisons of each search that samples with its rivals of the same acquisition and with others."""
    kinds = {"UCB": ("GP-BUCB", "UCB-DPP-MAX", "UCB-UNIFORM"), "EST": ("B-EST", "EST-DPP-MAX", "EST-UNIFORM")}
    return {
        f"{kind}-DPP-SAMPLE": {rival: (f"{kind}-DPP-SAMPLE", rival) for rival in (*own, "LP-UCB", "random")}
        for kind, own in kinds.items()
    }


def batch_of(rows: pd.DataFrame, test: Test | None = None) -> pd.Series:
    """Return the number of batches behind each row; the first round is the random arm before them."""
    return rows["round"] - 1


def with_batches(rows: pd.DataFrame, problem: CandidateArms | None = None) -> pd.DataFrame:
    """Return the rows after each batch with the columns ``batch``, ``immediate_regret`` and ``log_regret``, its log10.
    The immediate regret is counted from the maximum over the whole domain: to the regret among the candidates it adds
    how far the best candidate of the run is below that maximum. No problem is needed where all arms are candidates."""
    rows = rows.assign(batch=batch_of(rows))
    rows = rows[rows["batch"] >= 1]
    floor = 0.0 if problem is None else floors(problem)[rows["replication"] % len(problem.means)]
    regret = rows["candidate_regret"].astype(np.float64) + floor
    return rows.assign(immediate_regret=regret, log_regret=np.log10(regret + SMALLEST))


def floors(problem: CandidateArms) -> np.ndarray:
    """Return how far the best candidate of each run is below the maximum over the domain."""
    return np.asarray(problem.optimum - problem.means.max(axis=1))


def curves(panels: Mapping[str, pd.DataFrame], column: str, profile: str, kind: str = "median") -> pd.DataFrame:
    """Return the median of a column with the quartiles, or its mean with a 95% interval, batch by batch.
    ``panels`` maps headings to rows of `with_batches`."""
    found = [
        summarise(rows, {kind: (column, kind)}, x="batch", panel=name, profile=profile) for name, rows in panels.items()
    ]
    return pd.concat(found, ignore_index=True)


def differences(panels: Mapping[str, pd.DataFrame], lines: Lines, column: str, profile: str) -> pd.DataFrame:
    """Return paired differences of two searches, of the mean over batches, with 95% intervals."""
    found = [
        paired_effects(rows, column, statistic="difference", profile=profile, panel=name, lines=lines)
        for name, rows in panels.items()
    ]
    return pd.concat(found, ignore_index=True)


def end_table(panels: Mapping[str, pd.DataFrame], order: Sequence[str], column: str) -> pd.DataFrame:
    """Return the median of a column after the last batch as text, a line for each search."""
    found: dict[str, list[str]] = {"search": list(order)}
    for name, rows in panels.items():
        ends = rows[rows["batch"] == rows["batch"].max()].groupby("series")[column].median()
        found[name] = [f"{ends[series]:.3g}" if series in ends else "" for series in order]
    return pd.DataFrame(found)


def of_statistic(values: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Return the plotted values of one statistic."""
    return values[values["statistic"] == statistic]


def wide_table(values: pd.DataFrame, entry: str = "{value:.3f}", *, index: Sequence[str] = ("series",)) -> pd.DataFrame:
    """Return plotted values as a table of texts, with a column for each statistic."""
    shown = values.dropna(subset="value")
    shown = shown.assign(name=shown["statistic"], statistic="any")
    return text_table(shown, "any", entry, index=index, columns="{name}").fillna("")
