"""Designs of arms in the plane, how fast solvers reach them, and how they are rounded."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.rounding import RoundingMethod, round_design, uniform_counts
from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_lab.figures.figures import headed, line_panels, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values

SOLVER_STYLES = {
    "Algorithm 2, line search": Style("#7A3500", "P"),
    "authors' line search": Style("#C78615", "X", "--"),
    "determinant, away steps": Style("#0072B2", "s", "-."),
    "Wynn's steps": Style("#009E73", "^", DOTS),
}
SOLVERS: dict[str, DesignRule] = {
    "Algorithm 2, line search": DesignRule("frank-wolfe"),
    "authors' line search": DesignRule("grid"),
    "determinant, away steps": DesignRule("d-optimal", tolerance=1e-6),
    "Wynn's steps": DesignRule("wynn", tolerance=1e-6),
}
_ROUNDINGS = ("apportionment", "allen-zhu", "multinomial", "ceiling", "uniform")


def allocation_values(x: FloatArray, designs: Mapping[str, FloatArray], profile: str) -> pd.DataFrame:
    """Return the weights of designs over arms in the plane; the series is the arm, x its first coordinate."""
    frames = []
    for name, weights in designs.items():
        leverage = np.einsum("ki,ij,kj->k", x, np.linalg.inv((x.T * weights) @ x), x)
        arms = {"series": [f"arm {i}" for i in range(len(x))], "x": x[:, 0]}
        table = pd.DataFrame(arms | {"weight": weights, "second coordinate": x[:, 1], "leverage": leverage})
        frames.append(table.melt([*arms], var_name="statistic").assign(panel=name))
    return as_values(pd.concat(frames, ignore_index=True), profile=profile)


def allocation_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the arms in the plane, a panel for each design; a disc's area is the weight of its arm."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 3.0), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        mine = values[values["panel"] == panel].pivot(index=["series", "x"], columns="statistic", values="value")
        mine = mine.reset_index()
        x, y = mine["x"], mine["second coordinate"]
        axis.scatter(x, y, s=8, color="0.5", zorder=2)
        axis.scatter(x, y, s=1400 * mine["weight"], color="#0072B2", alpha=0.45, ec="black", lw=0.6, zorder=3)
        axis.set(title=f"{panel}\nlargest leverage {mine['leverage'].max():.2f}", xlabel="first feature")
        axis.margins(0.15)
        axis.set_aspect("equal", adjustable="datalim")
        axis.axhline(0.0, color="0.85", lw=0.8, zorder=0)
        axis.axvline(0.0, color="0.85", lw=0.8, zorder=0)
    axes[0, 0].set_ylabel("second feature")
    return headed(figure, title, setting)


def convergence_values(
    n_arms: int, n_features: int, n_sets: int, steps: Sequence[int], profile: str, seed: int
) -> pd.DataFrame:
    """Return the largest leverage over the rank after some steps of each solver, mean and range over random sets."""
    x = np.random.default_rng([seed, n_arms, n_features]).standard_normal((n_sets, n_arms, n_features))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    table = []
    for name, rule in SOLVERS.items():
        for n_steps in steps:
            found = optimal_design(
                x, np.ones(x.shape[:2], dtype=np.bool_), DesignRule(rule.steps, rule.start, rule.tolerance, n_steps)
            )
            ratio = found.leverage / found.rank
            line = {"panel": f"K = {n_arms}, d = {n_features}", "series": name, "x": n_steps, "n": n_sets}
            line |= {"value": ratio.mean(), "low": ratio.min(), "high": ratio.max()}
            table.append(line | {"statistic": "largest leverage over rank"})
    return as_values(pd.DataFrame(table), profile=profile)


def convergence_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the excess of the largest leverage against the steps, a panel for each size of problem."""
    shown = values.assign(**{name: values[name] - 1.0 for name in ("value", "low", "high")})
    return line_panels(
        shown,
        list(SOLVER_STYLES),
        title=title,
        setting=setting,
        statistic="largest leverage over rank",
        x="steps",
        y="largest leverage / rank - 1",
        marks="band",
        spread="range over sets of arms",
        log="xy",
        styles=SOLVER_STYLES,
    )


def rounding_values(x: np.ndarray, pulls: Sequence[int], profile: str) -> pd.DataFrame:
    """Return the pulls that roundings of the G-optimal design spend, and their n × largest leverage / d.
    n are the ``pulls``; the median over the sets of arms, shape (R, K, d), is taken."""
    n_sets, n_arms, d = x.shape
    live, streams, lines = np.ones((n_sets, n_arms), dtype=np.bool_), Streams.first(n_sets), []
    weights, key, rows = optimal_design(x, live, DesignRule()).weights, streams.key("rounding"), streams.replications
    for n in pulls:
        budget = np.full(n_sets, n)
        for name in _ROUNDINGS:
            if name == "uniform":
                counts = uniform_counts(live, budget, key, rows, n)
            else:
                counts = round_design(weights, budget, cast(RoundingMethod, name), key, rows, n, x)
            information = np.einsum("rk,rki,rkj->rij", counts, x, x)
            leverage = np.einsum("rki,rij,rkj->rk", x, np.linalg.pinv(information), x).max(axis=1)
            for statistic, value in (("leverage", np.median(leverage * n / d)), ("spent", counts.sum(axis=1).mean())):
                lines.append({"series": name, "x": n, "statistic": statistic, "value": value})
    return as_values(pd.DataFrame(lines), panel=f"K = {n_arms}, d = {d}", n=n_sets, profile=profile)


def rounding_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `rounding_values` as a table."""
    table = values.pivot(index=["x", "series"], columns="statistic", values="value")
    order = pd.MultiIndex.from_frame(values[["x", "series"]].drop_duplicates())
    table = table.reindex(order).round(2).reset_index()[["x", "series", "spent", "leverage"]]
    return table.rename(columns={"x": "pulls asked", "series": "rounding", "leverage": "n × largest leverage / d"})
