"""Accuracies, their differences, and what changes add to them, as figures and tables of several sections show them."""

from collections.abc import Sequence

import pandas as pd

from bestarm_lab.figures.values import paired_effects, summarise

ACCURACY = {"accuracy": ("correct", "share"), "simple regret": ("simple_regret", "mean"), "pulls": ("pulls", "mean")}


def per_arm(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the budget over the number of arms as a column."""
    return rows.assign(per_arm=(rows["budget"] / rows["n_arms"]).round(2))


def accuracy_differences(
    rows: pd.DataFrame, left: str, right: str, *, x: str, panel: str, profile: str
) -> pd.DataFrame:
    """Return the accuracy of one algorithm minus another's on the same noise, with 95% t-intervals."""
    outcomes = {"series", "correct", "simple_regret", "pulls", "round", "stopped", "data", "key"}
    keys = [name for name in rows if name not in outcomes]
    ours, theirs = (rows[rows["series"] == name] for name in (left, right))
    both = ours.merge(theirs[[*keys, "correct"]], on=keys, suffixes=("", "_of_right"))
    both = both.assign(series=f"{left} minus {right}", difference=both["correct"] - both["correct_of_right"])
    return summarise(both, {"difference": ("difference", "mean")}, x=x, panel=panel, profile=profile)


def differences_from(rows: pd.DataFrame, base: str, others: Sequence[str], **layout: str) -> pd.DataFrame:
    """Return the accuracies of some algorithms minus that of one, on the same noise; the series is the algorithm."""
    parts = [accuracy_differences(rows, name, base, **layout).assign(series=name) for name in others]
    return pd.concat(parts, ignore_index=True)


def accuracy_effects(
    rows: pd.DataFrame, sizes: Sequence[int], *, name: str, profile: str, per_arm: int = 20, budget: int = 0
) -> pd.DataFrame:
    """Return what each change adds to the accuracy (series "A" and "A | change"), a panel for each K that has rows.
    Panels' names begin with ``name``. The budget is ``budget``, or ``per_arm`` times K, or the largest of the rows."""
    frames = []
    for k in [k for k in sizes if (rows["n_arms"] == k).any()]:
        mine, wanted = rows[rows["n_arms"] == k], budget or per_arm * k
        cell = mine[mine["budget"] == (wanted if (mine["budget"] == wanted).any() else mine["budget"].max())]
        frames.append(paired_effects(cell, "correct", statistic="accuracy", panel=f"{name}, K = {k}", profile=profile))
    found = pd.concat(frames, ignore_index=True)
    return found.assign(x=found["x"].str.replace("published ", "authors' "))
