"""Findings of the observer as tables and plotted values, beside what the Top-m paper proves (Sections 3 and 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from statsmodels.stats.proportion import proportion_confint

from bestarm.designs.l1_design import l1_designs
from bestarm.interface import FiniteProblem
from bestarm.policies.linear.gifa import Gifa
from bestarm.streams import Streams
from bestarm_lab.figures.figures import draw_quantiles, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import display_label, style_of
from bestarm_lab.figures.values import QUANTILES, as_values, mean_interval, summarise
from bestarm_studies.linear_topm import complexity
from bestarm_studies.linear_topm.settings import algorithms_of, search_of
from bestarm_studies.linear_topm.values import split_series


def on_event(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the runs in which the event of Section 4.2 held at every round."""
    return rows[rows["event_share"] <= 1.0]


def frequency_interval(count: int, n: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95% interval of a frequency."""
    low, high = proportion_confint(count, n, method="beta")
    return float(low), float(high)


def check_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how often each statement held: one line for each experiment and algorithm as written.
    Lemmas 4 and 5 and Theorem 1 are counted on the runs in which their event held, as they are stated."""
    lines = []
    for name, frame in rows.items():
        for series, mine in frame[frame["convention"] == "as_written"].groupby("series", sort=False):
            kept, wrong = on_event(mine), mine["within_epsilon"] == 0.0
            failed = {"E": mine["event_share"] > 1.0, "E^GIFA": mine["good_share"] > 1.0, "Lemma 1": mine["lemma_1"]}
            failed |= {"index order": mine["index_order"], "Lemma 2": mine["lemma_2"], "Lemma 4": kept["lemma_4"]}
            failed |= {"Lemma 5": kept["lemma_5"], "Theorem 1": wrong[mine["good_share"] <= 1.0]}
            line = {"instance": name, "algorithm": series, "runs": len(mine), "rounds": int(mine["rounds"].sum())}
            line |= {f"{statement} failed": int(found.sum()) for statement, found in failed.items()}
            lines.append(line | {"wrong answers": int(wrong.sum())})
    return pd.DataFrame(lines)


def check_values(table: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return `check_table` in the columns of a figure's CSV."""
    tidy = table.melt(["instance", "algorithm", "runs"], var_name="statistic")
    return as_values(tidy.rename(columns={"instance": "panel", "algorithm": "series", "runs": "n"}), profile=profile)


def event_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return the distribution of the largest error in units of the confidence width, and how often it passed 1."""
    table: list[dict[str, Any]] = []
    for (convention, series), mine in rows.groupby(["convention", "series"], sort=False):
        base = {"series": series, "n": len(mine), "convention": convention, "data": mine["data"].iloc[0]}
        share = mine["event_share"]
        quantiles = {name: float(share.quantile(q)) for name, q in QUANTILES.items()} | {"largest": float(share.max())}
        table += [base | {"statistic": name, "value": value} for name, value in quantiles.items()]
        for name, column in (("event failed", "event_share"), ("good indices failed", "good_share")):
            failed = int((mine[column] > 1.0).sum())
            low, high = frequency_interval(failed, len(mine))
            table.append(base | {"statistic": name, "value": failed / len(mine), "low": low, "high": high})
    return as_values(pd.DataFrame(table), panel=panel, profile=profile)


def stopping_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what UGapE's rule saves against LUCB's on one trajectory: mean pulls (``a``), share of runs (``b``)."""
    saved = split_series(rows, "ε").assign(saved=lambda f: f["pulls"] - f["ugape_pulls"])
    saved["earlier"] = (saved["saved"] > 0).astype(float)
    pulls = summarise(saved, {"mean pulls saved": ("saved", "mean")}, x="x", panel="a", profile=profile)
    earlier = {"share of runs with a saving": ("earlier", "share")}
    return pd.concat([pulls, summarise(saved, earlier, x="x", panel="b", profile=profile)])


def n_rules_differed(rows: Sequence[pd.DataFrame]) -> int:
    """Return in how many runs as written the two stopping rules held at different times."""
    written = [frame[frame["convention"] == "as_written"] for frame in rows]
    return sum(int((frame["pulls"] != frame["ugape_pulls"]).sum()) for frame in written)


def theorem_2(problem: FiniteProblem, policy: Any) -> tuple[float, float]:
    """Return the complexity constant of m-LinGapE and the bound on its sample complexity (Theorem 2).
    Raises ValueError if the policy is not m-LinGapE with the largest-variance or the optimised rule."""
    if not isinstance(policy, Gifa) or policy.selection not in ("largest_variance", "both", "optimised"):
        raise ValueError(f"Theorem 2 says nothing of {policy.label!r}.")
    means, settings = problem.means[0], {"sigma": policy.sigma, "epsilon": policy.epsilon}
    if policy.selection == "optimised":
        weights = l1_designs(problem.arms.features).weights
        constant = complexity.m_lingape_optimised_complexity(means, policy.n_best, weights, **settings)
    else:
        constant = complexity.m_lingape_complexity(means, policy.n_best, **settings)
    threshold = policy.start(problem.arms, Streams.first(1)).threshold
    n_initial = problem.arms.n_arms if policy.initialise else 0
    return constant, complexity.sample_complexity_bound(constant, threshold, n_initial)


def bound_values(
    rows: Mapping[str, pd.DataFrame], problems: Mapping[str, FiniteProblem], labels: Sequence[str], profile: str
) -> pd.DataFrame:
    """Return, for each experiment and m-LinGapE rule, constant, bound, mean sample complexity and slack.
    The slack is the bound divided by the sample complexity of a run. ``panel`` is the experiment and x the constant H.
    An experiment is left out where its rows are of real data and its problem is the stand-in."""
    table: list[dict[str, Any]] = []
    for name, problem in problems.items():
        frame = rows[name][rows[name]["convention"] == "as_written"]
        data = str(frame["data"].iloc[0])
        if data != getattr(problem, "data", "synthetic"):
            continue
        algorithms = algorithms_of(search_of(name))
        for series in labels:
            pulls = frame.loc[frame["series"] == series, "pulls"].astype(np.float64)
            constant, bound = theorem_2(problem, algorithms[series])
            base = {"panel": name, "series": series, "x": constant, "n": len(pulls), "data": data}
            mean, low, high = mean_interval(pulls)
            slack, slack_low, slack_high = mean_interval(bound / pulls)
            table.append(base | {"statistic": "mean", "value": mean, "low": low, "high": high})
            table.append(base | {"statistic": "bound", "value": bound})
            table.append(base | {"statistic": "mean slack", "value": slack, "low": slack_low, "high": slack_high})
            table.append(base | {"statistic": "smallest slack", "value": bound / pulls.max()})
    return as_values(pd.DataFrame(table), profile=profile)


def event_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the distributions of the largest error of a gap in units of its width, one panel for each instance."""
    panels = list(dict.fromkeys(values["panel"]))
    pairs = zip(panels[::2], panels[1::2], strict=True)
    heights = [values[values["panel"].isin(pair)]["series"].nunique() for pair in pairs]
    size = wide(1, 0.24 * sum(heights) + 0.75 * len(heights))
    figure, axes = plt.subplots(len(heights), 2, figsize=size, squeeze=False, sharex=True, height_ratios=heights)
    for axis, panel in zip(axes.flat, panels, strict=True):
        mine = values[values["panel"] == panel]
        draw_quantiles(axis, mine, list(dict.fromkeys(mine["series"])))
        axis.axvline(1.0, color="0.3", ls="--", lw=1.0)
        axis.set(title=f"{panel} (n = {mine['n'].iloc[0]})", xlim=(0.0, 1.1 * values["value"].max()))
    for axis in axes[-1]:
        axis.set_xlabel("largest error of a gap / its width")
    handles = [
        Line2D([], [], color="0.4", lw=1.2, label="5% to 95% of runs"),
        Line2D([], [], color="0.4", lw=4.5, label="quartiles"),
        Line2D([], [], color="0.4", marker="o", mec="black", ls="", label="median"),
        Line2D([], [], color="black", marker="|", ls="", ms=8, label="largest of all runs"),
        Line2D([], [], color="0.3", ls="--", lw=1.0, label="the event is lost"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return headed(figure, title, setting)


def _draw_pulls_and_bounds(axis: Axes, values: pd.DataFrame, rules: Sequence[str]) -> None:
    """Draw the mean sample complexity against the constant, each joined to its bound."""
    for rule in rules:
        colour, marker, _ = style_of(rule)
        mine = values[values["series"] == rule].pivot(index="x", columns="statistic", values="value")
        axis.vlines(mine.index, mine["mean"], mine["bound"], color=colour, lw=0.8, alpha=0.7, zorder=2)
        axis.plot(mine.index, mine["bound"], "_", color=colour, ms=9, mew=1.8, zorder=3)
        axis.plot(mine.index, mine["mean"], marker, color=colour, mec="black", mew=0.5, ls="", zorder=3)
        axis.plot([], [], marker, color=colour, mec="black", mew=0.5, ls="", label=display_label(rule))
    axis.plot([], [], "_", color="0.3", ms=9, mew=1.8, label="bound of Theorem 2")
    axis.set(xscale="log", yscale="log", xlabel="complexity constant H", ylabel="mean pulls")


def bound_figure(
    values: pd.DataFrame, rules: Sequence[str], headings: Mapping[str, str], *, title: str, setting: str = ""
) -> Figure:
    """Return the mean sample complexity below its bound, and how many times the bound exceeds a run."""
    figure, (left, right) = plt.subplots(1, 2, figsize=wide(1, 3.0))
    _draw_pulls_and_bounds(left, values, rules)
    left.set_title("pulls, and the bound above them")
    slack = values[values["statistic"] == "mean slack"].set_index(["series", "panel"])
    for rule, shift in zip(rules, (-0.14, 0.14), strict=True):
        colour, marker, _ = style_of(rule)
        mine = slack.loc[rule].reindex(list(headings))
        places = np.arange(len(headings)) + shift
        right.hlines(places, mine["low"], mine["high"], color=colour, lw=1.2, zorder=2)
        right.plot(mine["value"], places, marker, color=colour, mec="black", mew=0.5, ls="", zorder=3)
    right.set_yticks(range(len(headings)), list(headings.values()))
    right.set(ylim=(len(headings) - 0.5, -0.5), xlim=(0.0, None), xlabel="bound / pulls of a run")
    right.grid(axis="y", visible=False)
    right.grid(axis="x", visible=True)
    right.set_title("how many times the bound exceeds a run")
    legend_below(figure)
    return headed(figure, title, runs_text(values["n"]), "bars: 95% intervals of the mean", setting)
