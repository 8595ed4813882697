r"""Claims of the GPOO paper that a computation decides: single feedback as a special case, the envelope, the cost.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.interface import FloatArray
from bestarm_lab.claims.cells import Value
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.series import setting_of_each
from bestarm_studies.gpoo.series import CHILDREN_AND_REPRESENTATIVES

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]


def single_feedback(test: Test, rows: Rows) -> Decision:
    """Check that with S = 1 the posterior is that of ordinary Gaussian process regression at the centres of cells."""
    (name,) = test["experiments"]
    largest = float(rows[name]["difference"].max())
    return Decision(largest < 1e-8, f"means differ by at most {largest:.1e} over {len(rows[name])} rounds")


def envelope(test: Test, rows: Rows) -> Decision:
    """Check that b-values lie above the Lipschitz envelope of every leaf whose average is in its interval."""
    (name,) = test["experiments"]
    runs, (beyond, leaves) = len(rows[name]), rows[name][["beyond", "leaves"]].sum()
    text = f"{beyond} of {leaves} leaves of {runs} runs have an envelope above b"
    return Decision(bool(beyond == 0), text, informative=bool(leaves > 0), checked=f"{leaves:,} leaves of {runs} runs")


def cost(test: Test, rows: Rows) -> Decision:
    """Check that multiplications grow at most like N to the printed power: counted, not timed."""
    (name,) = test["experiments"]
    budgets, counts = (rows[name][column].to_numpy() for column in ("budget", "multiplications"))
    slope = float(np.polyfit(np.log(budgets), np.log(counts), 1)[0])
    text = f"multiplications grow like N^{slope:.2f} for N = {budgets[0]} to {budgets[-1]}"
    return Decision(slope <= test["power"], text)


def always(test: Test, rows: Rows) -> Decision:
    """Check that a share of a bound never exceeds 1 in the runs in which the event held."""
    frame = pd.concat([rows[name] for name in test["experiments"]], ignore_index=True)
    mine = frame[frame["series"].isin(test["series"])]
    if "event_share" in mine:
        mine = mine[mine["event_share"] <= 1.0]
    if "budget" in test:
        mine = mine[mine["budget"] == test["budget"]]
    if "binds" not in test:
        shares, where = mine[test["metric"]].to_numpy(dtype=np.float64), ""
    else:  # a bound above the range of f holds of any search
        binds = mine[test["binds"]].to_numpy(dtype=np.bool_)
        shares = mine.loc[binds, test["metric"]].to_numpy(dtype=np.float64)
        where = f"; the bound is below the range of f in {len(shares)} of {len(binds)} runs"
    if not len(shares) or not (shares > 0.0).any():
        return Decision(True, f"the bound never binds{where}", informative=False)
    beyond = int((shares > 1.0).sum())
    text = f"{beyond} of {len(shares)} runs beyond the bound; at most {shares.max():.3g} times the bound{where}"
    return Decision(beyond == 0, text, checked=f"{len(shares)} runs")


def azuma(test: Test) -> Decision:
    """Check the two-sided bound for martingales exactly, on sums of fair signs, whose steps have the range 2."""
    largest, checked = 0.0, 0
    for n in range(1, int(test["longest"]) + 1):
        sums = 2 * np.arange(n + 1) - n
        law = stats.binom.pmf(np.arange(n + 1), n, 0.5)
        for reach in range(1, n + 1):
            bound = 2.0 * np.exp(-2.0 * reach**2 / (n * test["range"] ** 2))
            if bound < 1.0:
                largest = max(largest, float(law[np.abs(sums) >= reach].sum() / bound))
                checked += 1
    text = f"the tail is at most {largest:.2f} times the bound in {checked} cases in which the bound is below 1"
    return Decision(largest <= 1.0, text)


def _curve(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return a column of the rows by run, series and budget, at the budgets that the test names or at all."""
    inside = rows["budget"].isin(test["budgets"]) if "budgets" in test else rows["budget"] > 0
    return rows[inside].pivot(index="replication", columns=["series", "budget"], values=test["of"]).astype(np.float64)


def first_budget(means: FloatArray, budgets: FloatArray, test: Test) -> FloatArray:
    """Return the first budget from which on the mean stays at or below ``level``.

    Where there is none, it is the first budget that was not run, the least that it can be. A ratio to it is then an
    upper bound.
    """
    stays = np.logical_and.accumulate((means <= test["level"])[..., ::-1], axis=-1)[..., ::-1]
    return np.where(stays[..., -1], budgets[stays.argmax(axis=-1)], budgets[-1] + 1.0)


def rate(means: FloatArray, budgets: FloatArray, test: Test) -> FloatArray:
    """Return the slope of the logarithm of a mean in log(N / log N)."""
    x = np.log(budgets / np.log(budgets))
    x = x - x.mean()
    return np.asarray(np.log(np.maximum(means, 1e-9)) @ x / (x @ x))


def gap_closed(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``slow`` to ``fast`` that ``changed`` closes."""
    means = rows.groupby(["replication", "series"], sort=False)[test["of"]].mean().unstack("series")
    gap, gain = means[test["slow"]] - means[test["fast"]], means[test["slow"]] - means[test["changed"]]
    closed = gain.mean() / gap.mean()
    found: pd.Series = closed + (gain - closed * gap) / gap.mean()
    return found.to_frame(test["changed"])


def gap_opened(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``fast`` to ``slow`` that ``changed`` opens."""
    return 1.0 - gap_closed(rows, test)


def _setting(setting: str) -> Callable[[pd.DataFrame, Test], pd.Series]:
    """Return what finds a setting of the series of Figure 6."""
    return lambda rows, test: rows["series"].map(setting_of_each(CHILDREN_AND_REPRESENTATIVES, setting))


CHECKS: dict[str, Check] = {
    "always": Check(
        always,
        {"experiments": "experiments", "metric": "column", "series": "series"},
        may={"budget": "number", "binds": "column"},
    ),
    "azuma": Check(azuma, {"longest": "number", "range": "number"}),
    "cost": Check(cost, {"experiments": "experiments", "power": "number"}),
    "envelope": Check(envelope, {"experiments": "experiments"}),
    "single_feedback": Check(single_feedback, {"experiments": "experiments"}),
}
_GAP = {"of": "column", "slow": "series", "changed": "series", "fast": "series"}
VALUES: dict[str, Value] = {
    "arity": Value("K, the arity of the tree", _setting("arity")),
    "size": Value("S, representatives of a cell", _setting("n_representatives")),
    "off_peak": Value("an off-peak indicator"),
    "event_share": Value("largest error in units of its interval"),
    "smoothed_error": Value("error of the model against f smoothed over a box"),
    "first_budget": Value(
        "budget from which on mean regret stays low, or the first that was not run",
        _curve,
        statistic=first_budget,
        needs={"of": "column", "level": "number"},
        may={"budgets": "numbers"},
    ),
    "rate": Value(
        "log mean regret against log(N / log N)",
        _curve,
        statistic=rate,
        needs={"of": "column"},
        may={"budgets": "numbers"},
    ),
    "gap_closed": Value("part of the gap that is closed", gap_closed, needs=_GAP),
    "gap_opened": Value("part of the gap that is opened", gap_opened, needs=_GAP),
}
