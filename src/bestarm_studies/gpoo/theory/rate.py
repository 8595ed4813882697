"""The rate of the regret (Section 4, Appendix A): near-optimality dimension, Theorem 1 and Corollary 1."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.interface import FloatArray
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.claims.cells import Test
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values
from bestarm_studies.gpoo.cell_bandit import CellBandit

BOUND_STYLES = {
    "Theorem 1": Style("0.0", "", "--"),
    "Corollary 1, mended": Style("0.3", "", DOTS),
    "Corollary 1, printed": Style("0.55", "", "-."),
}


def near_optimality(problem: CellBandit, radius_factor: float) -> tuple[float, float]:
    r"""Return (d, C): the near-optimality dimension of f on an interval, counted on a grid (Definition 4).
    The largest number of disjoint balls of radius :math:`\eta\epsilon` with centres in :math:`\{f\geq f^*-\epsilon\}`
    is counted greedily for :math:`\epsilon\in[10^{-3}, 1]`; d is the slope of its logarithm against
    :math:`\log1/\epsilon`, at least 0, and C the smallest constant that then bounds every count. ``problem``: one
    function on an interval; ``radius_factor``: :math:`\eta`."""
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], 200_001)
    values = problem.evaluate(x[:, None])
    epsilons = np.geomspace(1e-3, 1.0, 25)
    counts = []
    for epsilon in epsilons:
        inside = x[values >= values.max() - epsilon]
        n, last = 0, -np.inf
        while True:
            place = int(np.searchsorted(inside, last + 2.0 * radius_factor * epsilon)) if n else 0
            if place >= len(inside):
                break
            n, last = n + 1, float(inside[place])
        counts.append(n)
    slope = float(np.polyfit(np.log(1.0 / epsilons), np.log(counts), 1)[0])
    dimension = max(slope, 0.0)
    return dimension, float(np.max(np.array(counts) * epsilons**dimension))


def theorem_bound(policy: Gpoo, budgets: Sequence[int], dimension: float, constant: float) -> FloatArray:
    r"""Return :math:`3\delta(h_N)` of Theorem 1 for each budget; infinite where no depth satisfies its condition."""
    delta = policy.delta(np.arange(200))
    totals = np.cumsum(2.0 * constant * (3.0 * delta) ** -dimension * policy.noise_variance / delta**2)
    enough = [totals >= budget / policy.beta_of(np.array(budget), 2) for budget in budgets]
    return np.array([3.0 * delta[depths.argmax()] if depths.any() else np.inf for depths in enough])


def corollary_bounds(
    policy: Gpoo, budgets: Sequence[int], dimension: float, constant: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return Corollary 1's bound as printed, and as it follows from Theorem 1.
    The sum of Theorem 1 is at most :math:`A'\delta(h)^{-(d+2)}` with
    :math:`A'=3^{-d}KC\sigma^2/(1-\rho^{d+2})`. The printed constant has :math:`\rho^{-(d+2)}-1` in the denominator,
    which makes it smaller by the factor :math:`\rho^{d+2}`, and lacks the factor 3 and the root."""
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
    The dimension is counted with :math:`\eta=\nu/3` and the largest :math:`\nu=1/(2Sc)` that midpoints allow, S = 1."""
    dimension, constant = near_optimality(problem, 1.0 / (2.0 * policy.delta_scale) / 3.0)
    printed, mended = corollary_bounds(policy, budgets, dimension, constant)
    lines = {"Theorem 1": theorem_bound(policy, budgets, dimension, constant)}
    lines |= {"Corollary 1, printed": printed, "Corollary 1, mended": mended}
    found = [pd.DataFrame({"statistic": name, "x": budgets, "value": line}) for name, line in lines.items()]
    return dimension, as_values(pd.concat(found), panel=panel, series="bound", profile=profile)


def rate(means: FloatArray, budgets: FloatArray, test: Test) -> FloatArray:
    """Return the slope of the logarithm of a mean in log(N / log N)."""
    x = np.log(budgets / np.log(budgets))
    x = x - x.mean()
    return np.asarray(np.log(np.maximum(means, 1e-9)) @ x / (x @ x))


def rate_figure(
    values: pd.DataFrame, bounds: pd.DataFrame, *, titles: Mapping[str, str], title: str, setting: str = ""
) -> Figure:
    """Return mean regret against the budget with its interval below the bounds, one column for each function."""
    every = pd.concat([values[values["statistic"] == "mean"], bounds.assign(series=bounds["statistic"])])
    return line_panels(
        every.assign(statistic="regret"),
        [*dict.fromkeys(values["series"]), *BOUND_STYLES],
        statistic="regret",
        titles=titles,
        log="xy",
        styles=BOUND_STYLES,
        x="budget N (evaluations)",
        y="aggregated regret",
        title=title,
        setting=setting,
        height=3.0,
    )
