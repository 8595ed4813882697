"""Theorems 4.1 and 5.1 beside errors: a stage, a run, the step from one bound to the next (Section 4, Appendix A)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.figures.figures import draw_lines, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import DOTS, style_of
from bestarm_lab.figures.values import as_values
from bestarm_lab.study import project_seed
from bestarm_studies.gse.theory.bounds import gaps, high_without_error, printed_bound, variance
from bestarm_studies.gse.theory.experiments import THEORY
from bestarm_studies.gse.theory.stage_observer import N_STAGES


def bound_values(experiment: str, rows: pd.DataFrame, equation: int, constant: float) -> pd.DataFrame:
    """Return the error of every series and budget with Wilson's 95% interval beside a printed bound, at most 1.
    Equations 2 and 5 take the largest uncertainty of any run, and 5 the smallest slope of the run. Equations 3 and 6
    take d log2(K) / B. ``experiment`` names the instance and its rows."""
    problem = THEORY[experiment].problem()
    n_arms, n_features = problem.features.shape
    gap = float(np.sort(gaps(problem))[1])
    table = []
    for (series, budget), mine in rows.groupby(["series", "budget"], sort=False):
        k, n = int((mine["correct"] < 1).sum()), len(mine)
        low, high = proportion_confint(k, n, method="wilson")
        slope = mine["slope"].to_numpy()
        if equation in (3, 6):
            uncertainty: Any = n_features * np.log2(n_arms) / mine["budget"].iloc[0]
            scale: Any = slope.min()
        else:
            uncertainty = mine["difference" if equation == 2 else "norm"].to_numpy()
            scale = slope
        value = float(np.max(printed_bound(gap * scale, variance(problem), uncertainty, n_arms, constant)))
        table.append(
            {"series": series, "budget": budget, "error": k / n, "low": low, "high": high, "n": n, "bound": value}
        )
    return pd.DataFrame(table)


def error_below_bound(test: Test, rows: Rows) -> Decision:
    """Decide that no error frequency lies significantly above a printed bound.
    A bound of 1 says nothing, and one below what the runs exclude without an error cannot be tested by them."""
    (name,) = test["experiments"]
    values = bound_values(name, rows[name], test["equation"], test["constant"])
    beyond = int(((values["error"] > 0.0) & (values["low"] > values["bound"])).sum())
    below_one = values["bound"] < 1.0
    telling = values[below_one & (high_without_error(values["n"].to_numpy()) < values["bound"])]
    text = f"error above the bound in {beyond} of {len(values)} cells; the bound is below 1 in {below_one.sum()}"
    if len(telling):
        text += f", {len(telling)} of which the runs can test: there the error is at most "
        text += f"{(telling['high'] / telling['bound']).max():.2g} times the bound"
    return Decision(beyond == 0, text, bool(len(telling)), f"{telling['n'].sum():,} runs")


def lemma_1(test: Test) -> Decision:
    """Decide Lemma 1 with the exact law of the estimates, on random instances and allocations."""
    rng, worst, checked = np.random.default_rng(project_seed()), 0.0, 0
    for _ in range(int(test["draws"])):
        n_arms, d = int(rng.integers(3, 12)), int(rng.integers(2, 6))
        x, counts = rng.standard_normal((n_arms, d)), rng.integers(1, 6, n_arms)
        means = x @ rng.standard_normal(d)
        best = int(means.argmax())
        inverse = np.linalg.pinv((x.T * counts) @ x)
        for i in set(range(n_arms)) - {best}:
            spread = float(np.sqrt((x[i] - x[best]) @ inverse @ (x[i] - x[best])))
            gap = means[best] - means[i]
            worst = max(worst, float(stats.norm.cdf(-gap / spread) / (2.0 * np.exp(-(gap**2) / (2.0 * spread**2)))))
            checked += 1
    return Decision(worst <= 1.0, f"probability at most {worst:.2f} times the bound over {checked} pairs of arms")


def lemma_2(test: Test, rows: Rows) -> Decision:
    """Decide that the frequency of losing the best arm in a stage is not significantly above the mean bound."""
    beyond, cells, telling, ratio = 0, 0, 0, 0.0
    (name,) = test["experiments"]
    for _, mine in rows[name].groupby(["series", "budget"], sort=False):
        for t in range(N_STAGES):
            alive = mine[mine[f"alive_{t}"]]
            k, n, bound = int(alive[f"lost_{t}"].sum()), len(alive), float(alive[f"lemma2_{t}"].mean())
            low, high = proportion_confint(k, n, method="wilson")
            beyond, cells = beyond + int(k > 0 and low > bound), cells + 1
            if high_without_error(n) < bound < 1.0:
                telling, ratio = telling + 1, max(ratio, high / bound)
    text = f"beyond in {beyond} of {cells} stages; in {telling} the bound is below 1 and can be tested, there the "
    text += f"probability is at most {ratio:.2f} times it"
    return Decision(beyond == 0, text, telling > 0, f"{cells} stages")


def norms(test: Test) -> Decision:
    """Decide that max |x_i - x_1|^2 is at most a factor times max |x_i|^2; opposite arms are the worst case."""
    rng, worst = np.random.default_rng(project_seed()), 0.0
    for seed in range(1000):
        x = rng.standard_normal((4, 2))
        if seed % 2:
            x[1] = -x[0]
        inverse = np.linalg.inv(x.T @ x)
        square = np.einsum("ki,ij,kj->k", x, inverse, x)
        difference = np.einsum("ki,ij,kj->k", x - x[0], inverse, x - x[0])
        worst = max(worst, float(difference.max() / square.max()))
    return Decision(worst <= test["factor"] + 1e-9, f"up to {worst:.2f} times, over 1000 sets of four arms")


def bound_plot_values(bounds: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return errors and bounds as plotted values; the keys of ``bounds`` are "panel: name of the bound"."""
    frames = []
    for key, table in bounds.items():
        panel, _, name = key.partition(": ")
        base = table.assign(x=table["budget"], panel=panel, profile=profile, convention="as_written", data="synthetic")
        frames.append(base.assign(statistic="error", value=base["error"]))
        frames.append(base.assign(statistic=name, value=base["bound"], low=np.nan, high=np.nan))
    return as_values(pd.concat(frames, ignore_index=True)).drop_duplicates()


def bound_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return error frequencies with intervals, and each algorithm's own bounds in its colour, on logarithmic axes."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 3.3), squeeze=False, sharey=True)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[values["panel"] == panel]
        error = mine[mine["statistic"] == "error"]
        order = list(dict.fromkeys(mine["series"]))
        draw_lines(axis, error, order, log="xy")
        names = [name for name in dict.fromkeys(mine["statistic"]) if name != "error"]
        for name, style in zip(names, ("--", DOTS, "-."), strict=False):
            for series in order:
                line = mine[(mine["statistic"] == name) & (mine["series"] == series)].sort_values("x")
                axis.plot(line["x"], line["value"], color=style_of(series).colour, ls=style, lw=1.2, zorder=1)
            axis.plot([], [], color="0.3", ls=style, lw=1.2, label=name)
        axis.set(xscale="log", xlabel="budget B (pulls)", title=panel, ylim=(5e-5, 2.0))
    axes[0, 0].set_ylabel("probability of an error")
    legend_below(figure, list(dict.fromkeys(values["series"])))
    errors = values[values["statistic"] == "error"]
    reading = "bounds in their algorithm's colour; bars: 95% intervals; open markers: no error in any run, upper limit"
    return headed(figure, title, runs_text(errors["n"]), reading, setting)
