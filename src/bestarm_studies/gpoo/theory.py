r"""The analysis of GPOO as numbers: where its assumption holds, its regret bound, and what is measured beside it.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 4, Appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.figures.values import COLUMNS, QUANTILES, as_values
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.theory_rows import largest_slopes, near_optimality


def assumption_table(problems: Mapping[str, CellBandit], scale: float, sizes: Sequence[int]) -> pd.DataFrame:
    r"""Return where Assumption 3 holds for :math:`\delta(h)=c2^{-h}`: the largest slope of f, and the slope it allows.

    A cell of width w has a point at distance :math:`w(1-1/2S)` from a representative, so :math:`L\leq c/(1-1/2S)`.
    """
    lines = []
    for name, problem in problems.items():
        slope = float(largest_slopes(problem)[0])
        line = {"function": name, "largest slope": f"{slope:.1f}"}
        for size in sizes:
            allowed = scale / (1.0 - 0.5 / size)
            line[f"S = {size}: at most"] = f"{allowed:.1f} ({'holds' if slope <= allowed else 'fails'})"
        lines.append(line)
    return pd.DataFrame(lines)


def theorem_bound(policy: Gpoo, budgets: Sequence[int], dimension: float, constant: float) -> FloatArray:
    r"""Return :math:`3\delta(h_N)` of Theorem 1 for each budget; infinite where no depth satisfies its condition."""
    found = []
    for budget in budgets:
        target = budget / float(policy.beta_of(np.array(budget), 2))
        total, bound = 0.0, np.inf
        for depth in range(200):
            delta = float(policy.delta(np.array(depth)))
            total += 2.0 * constant * (3.0 * delta) ** -dimension * policy.noise_variance / delta**2
            if total >= target:
                bound = 3.0 * delta
                break
        found.append(bound)
    return np.array(found)


def corollary_bounds(
    policy: Gpoo, budgets: Sequence[int], dimension: float, constant: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return Corollary 1's bound as printed, and as it follows from Theorem 1.

    The sum of Theorem 1 is at most :math:`A'\delta(h)^{-(d+2)}` with
    :math:`A'=3^{-d}KC\sigma^2/(1-\rho^{d+2})`. The printed constant has :math:`\rho^{-(d+2)}-1` in the denominator,
    which makes it smaller by the factor :math:`\rho^{d+2}`, and lacks the factor 3 and the root.
    """
    power = 1.0 / (dimension + 2.0)
    rates = np.array([float(policy.beta_of(np.array(n), 2)) / n for n in budgets])
    head = 3.0**-dimension * 2.0 * constant * policy.noise_variance
    ratio = policy.delta_ratio ** (dimension + 2.0)
    printed = head / (1.0 / ratio - 1.0) * rates**power
    return printed, 3.0 * (head / (1.0 - ratio) * rates) ** power


def rate_bounds(
    policy: Gpoo, problem: CellBandit, panel: str, budgets: Sequence[int], profile: str
) -> tuple[float, pd.DataFrame]:
    r"""Return the near-optimality dimension of one function and its bounds on the regret, as plotted values.

    The dimension is counted with :math:`\eta=\nu/3` and the largest :math:`\nu=1/(2Sc)` that midpoints allow, S = 1.
    """
    dimension, constant = near_optimality(problem, 1.0 / (2.0 * policy.delta_scale) / 3.0)
    printed, mended = corollary_bounds(policy, budgets, dimension, constant)
    lines = {"Theorem 1": theorem_bound(policy, budgets, dimension, constant)}
    lines |= {"Corollary 1, printed": printed, "Corollary 1, mended": mended}
    found = [pd.DataFrame({"statistic": name, "x": budgets, "value": line}) for name, line in lines.items()]
    return dimension, as_values(pd.concat(found), panel=panel, series="bound", profile=profile)


LEMMAS = {
    "optimality_share": "Lemma 3",
    "draws_share": "Lemma 4 as printed",
    "draws_share_mended": "Lemma 4, one draw more",
    "regret_share": "regret over 3δ",
}


def lemma_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the largest part of each lemma's bound that is used by any run in which the event held."""
    held = rows[rows["event_share"] <= 1.0].groupby("series", sort=False)[list(LEMMAS)].max().rename(columns=LEMMAS)
    tidy = held.rename_axis("series").reset_index().melt("series", var_name="x", value_name="value")
    n = rows["replication"].nunique()
    return as_values(tidy, panel="lemmas", statistic="largest", n=n, profile=profile)


def share_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the distribution of the largest error in units of its width, and how often it stays below 1."""
    table = []
    for series, group in rows.groupby("series", sort=False):
        base = {"panel": "event", "series": series, "x": "", "convention": "as_written", "profile": profile}
        base |= {"n": len(group), "data": "synthetic"}
        values = group["event_share"]
        table += [base | {"statistic": name, "value": values.quantile(q)} for name, q in QUANTILES.items()]
        table.append(base | {"statistic": "largest", "value": values.max()})
        table.append(base | {"statistic": "share of runs in the event", "value": float((values <= 1.0).mean())})
    return pd.DataFrame(table).reindex(columns=COLUMNS)


def average_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return AVE-StoOO's regret and the bound of Theorem 3 against the budget, as plotted values.

    ``rows`` are those of `bestarm_studies.gpoo.average_theory.average_bound_rows`. Statistics: "largest regret" over
    runs, "bound", and "binds", 1 where the bound is less than f varies.
    """
    groups = rows.groupby(["series", "budget"], sort=False)
    kinds = {"regret": "max", "bound": "first", "regret_binds": "first", "replication": "nunique"}
    names = {"regret": "largest regret", "regret_binds": "binds", "replication": "n", "budget": "x"}
    found = groups.agg(kinds).reset_index().rename(columns=names)
    tidy = found.assign(binds=found["binds"].astype(float)).melt(
        ["series", "x", "n"], ["largest regret", "bound", "binds"], var_name="statistic", value_name="value"
    )
    return as_values(tidy, panel="Theorem 3", profile=profile)


def average_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `average_values` as text, a line for each series and budget."""
    table = average_values(rows, "").pivot(index=["series", "x"], columns="statistic", values="value")
    numbers = {name: [f"{v:.3f}" for v in table[name]] for name in ("largest regret", "bound")}
    says = np.where(table["binds"] > 0, "yes", "no")
    lines = table.reset_index()
    budgets = [f"{int(n):,}" for n in lines["x"]]
    return pd.DataFrame({"series": lines["series"], "N": budgets, **numbers, "bound is below the range of f": says})
