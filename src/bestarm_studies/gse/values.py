"""Values of the GSE paper's figures: accuracies, their differences, designs, and errors beside the printed bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.interface import FloatArray
from bestarm_lab.experiments.one_change import algorithm_and_change
from bestarm_lab.figures.values import as_values, summarise

ACCURACY = {
    "accuracy": ("correct", "share"),
    "simple regret": ("simple_regret", "mean"),
    "pulls": ("pulls", "mean"),
}
SOLVERS: dict[str, DesignRule] = {
    "Algorithm 2, line search": DesignRule("frank-wolfe"),
    "authors' line search": DesignRule("grid"),
    "determinant, away steps": DesignRule("d-optimal", tolerance=1e-6),
    "Wynn's steps": DesignRule("wynn", tolerance=1e-6),
}


def per_arm(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the budget over the number of arms as a column."""
    return rows.assign(per_arm=(rows["budget"] / rows["n_arms"]).round(2))


def accuracy_differences(
    rows: pd.DataFrame, left: str, right: str, *, x: str, panel: str, profile: str
) -> pd.DataFrame:
    """Return the accuracy of one algorithm minus another's on the same noise, with 95% t-intervals.

    ``x`` names a column and ``panel`` is a text with columns in braces, as in `bestarm_lab.figures.values.summarise`.
    """
    outcomes = {"series", "correct", "simple_regret", "pulls", "round", "stopped", "data", "key"}
    keys = [name for name in rows if name not in outcomes]
    ours, theirs = (rows[rows["series"] == name] for name in (left, right))
    both = ours.merge(theirs[[*keys, "correct"]], on=keys, suffixes=("", "_of_right"))
    both = both.assign(series=f"{left} minus {right}", difference=both["correct"] - both["correct_of_right"])
    return summarise(both, {"difference": ("difference", "mean")}, x=x, panel=panel, profile=profile)


def differences_from(rows: pd.DataFrame, base: str, others: Sequence[str], **layout: str) -> pd.DataFrame:
    """Return the accuracies of some algorithms minus that of one, on the same noise; the series is the algorithm.

    ``layout`` has ``x, panel`` and ``profile``, as `accuracy_differences` takes them.
    """
    parts = [accuracy_differences(rows, name, base, **layout).assign(series=name) for name in others]
    return pd.concat(parts, ignore_index=True)


def best_settings(rows: pd.DataFrame, cells: Sequence[str]) -> pd.DataFrame:
    """Return, for each algorithm, which of its settings has the highest accuracy on the average over the cells.

    Series are called "A | setting"; the columns are ``series, setting, accuracy, chosen``.
    """
    means = rows.groupby(["series", *cells], sort=False)["correct"].mean().groupby("series", sort=False).mean()
    found = means.rename("accuracy").reset_index()
    found[["series", "setting"]] = [algorithm_and_change(name) for name in found["series"]]
    found["chosen"] = found["accuracy"] == found.groupby("series")["accuracy"].transform("max")
    return found[["series", "setting", "accuracy", "chosen"]]


def allocation_values(x: FloatArray, designs: Mapping[str, FloatArray], profile: str) -> pd.DataFrame:
    """Return the weights of designs over arms in the plane; the series is the arm, x its first coordinate."""
    frames = []
    for name, weights in designs.items():
        inverse = np.linalg.inv((x.T * weights) @ x)
        leverage = np.einsum("ki,ij,kj->k", x, inverse, x)
        labels = [f"arm {i}" for i in range(len(x))]
        for statistic, values in (("weight", weights), ("second coordinate", x[:, 1]), ("leverage", leverage)):
            frames.append(
                pd.DataFrame({"panel": name, "series": labels, "x": x[:, 0], "statistic": statistic, "value": values})
            )
    found = pd.concat(frames, ignore_index=True)
    return as_values(found, profile=profile)


def convergence_values(
    n_arms: int, n_features: int, n_sets: int, steps: Sequence[int], profile: str, seed: int
) -> pd.DataFrame:
    """Return the largest leverage over the rank after some steps of each solver, mean and range over random sets."""
    rng = np.random.default_rng([seed, n_arms, n_features])
    x = rng.standard_normal((n_sets, n_arms, n_features))
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


def bound_plot_values(bounds: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return errors and bounds as plotted values; the keys of ``bounds`` are "panel: name of the bound"."""
    frames = []
    for key, table in bounds.items():
        panel, _, name = key.partition(": ")
        base = table.assign(x=table["budget"], panel=panel, profile=profile, convention="as_written", data="synthetic")
        frames.append(base.assign(statistic="error", value=base["error"]))
        frames.append(base.assign(statistic=name, value=base["bound"], low=np.nan, high=np.nan))
    return as_values(pd.concat(frames, ignore_index=True)).drop_duplicates()
