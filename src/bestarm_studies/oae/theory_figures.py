"""Figures of the theory of OAE: regret of exact linear searches, and queries against lower bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import draw_lines, headed, legend_below, line_panels, runs_text, wide
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.oae.theory_checks import misspecification_rates, query_bounds, slopes, wide_counts

ORDER = ["Vanilla", "Seq", "DvD", "LogDet", "Greedy", "RandomBatch"]
ORDER += ["Explore then commit", "Guess with a trace", "Mixing, norm known"]


def regret_values(rows: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return the mean regret of exact linear searches, with 95% t-intervals, for each instance, d and b (x)."""
    panel, kinds = "{instance}, d = {n_features}", {"regret": ("regret", "mean")}
    return pd.concat(
        [summarise(frame, kinds, x="batch", panel=panel, profile=profile) for frame in rows.values()], ignore_index=True
    )


def largest_panels(values: pd.DataFrame) -> list[str]:
    """Return the panel of the largest d of each instance, from `regret_values`."""
    found = values["panel"].drop_duplicates().str.extract(r"(?P<panel>(?P<instance>.*), d = (?P<d>\d+))")
    last = found.assign(d=found["d"].astype(int)).groupby("instance", sort=False)["d"].idxmax()
    return list(found.loc[last, "panel"])


def slope_values(rows: Mapping[str, pd.DataFrame], series: Sequence[str], profile: str) -> pd.DataFrame:
    """Return the exponents of d and b (x) in the mean regret of some searches, with 95% bootstrap intervals."""
    frames = []
    for frame in rows.values():
        for name in series:
            mine = frame[frame["series"] == name]
            found = slopes(mine, ["n_features", "batch"]).rename(columns={"slope": "value"})
            found = found.assign(x=found.index.map({"n_features": "d", "batch": "b"}), series=name)
            frames.append(found.assign(panel=mine["instance"].iloc[0], n=mine["replication"].nunique()))
    return as_values(pd.concat(frames, ignore_index=True), statistic="exponent", profile=profile)


def wide_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return, for each instance, d and epsilon, the most pulls of wide arms over b and both bounds on the dimension."""
    counts = wide_counts(pd.concat(rows.values(), ignore_index=True))
    counts = counts.assign(over=counts["wide"] / counts["batch"])
    cells = counts.groupby(["instance", "n_features", "epsilon"], sort=False)
    table = cells.agg(wide=("over", "max"), low=("low", "min"), high=("high", "max"), ratio=("ratio", "max"))
    table = table.reset_index()
    cell = [
        f"{i}, d = {d}, ε = {e:g}" for i, d, e in table[["instance", "n_features", "epsilon"]].itertuples(index=False)
    ]
    names = {
        "wide": "most wide pulls / b",
        "low": "dimension, at least",
        "high": "dimension, at most",
        "ratio": "ratio",
    }
    return (
        table[list(names)]
        .rename(columns=names)
        .astype(float)
        .round(2)
        .assign(cell=cell)
        .set_index("cell")
        .reset_index()
    )


def rate_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the growth of the regret by misspecification over ``omega b sqrt(d)``; x is omega."""
    found = misspecification_rates(rows)
    table = found.drop(columns="high").rename(columns={"omega": "x", "ratio": "value", "ratio_high": "high"})
    unit = found["ratio"] / found["rate"]
    cell = [f"d = {d}, b = {b}" for d, b in found[["n_features", "batch"]].itertuples(index=False)]
    table = table.assign(panel=cell, low=found["low"] * unit, series="exact linear OAE")
    return as_values(table, statistic="rate over ωb√d", n=rows["replication"].nunique(), profile=profile)


def bonus_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the share of arms whose bonus is negative, of all and of the best tenth, after two kinds of queries.

    The share does not depend on the strength of optimism, which scales the bonus.
    """
    mine = rows[(rows["check"] == "bonus") & (rows["optimism"] == rows["optimism"].max())]
    kinds = {"all arms": ("negative", "mean"), "best tenth": ("negative_top", "mean")}
    return summarise(mine, kinds, profile=profile).assign(low=np.nan, high=np.nan)


def regret_figure(values: pd.DataFrame, panels: list[str], *, title: str, setting: str = "") -> Figure:
    """Return regret against the size of a batch, both logarithmic, a panel for each instance and dimension."""
    return line_panels(
        values,
        ORDER,
        title=title,
        setting=setting,
        statistic="regret",
        x="batch size b",
        y="regret (mean)",
        log="xy",
        titles={panel: panel for panel in panels},
        height=3.0,
    )


def query_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return mean queries over d until an arm is epsilon-optimal in a linear class, and both bounds; x is epsilon."""
    linear = rows[rows["item"] == "linear"]
    kinds = {"queries": ("queries", "mean")}
    found = summarise(linear, kinds, x="epsilon", panel="d = {n_features}", profile=profile)
    table = []
    for d, epsilon in linear[["n_features", "epsilon"]].drop_duplicates().itertuples(index=False):
        for kind in ("printed", "squared"):
            bound = float(query_bounds(np.array([d]), np.array([epsilon]), kind)[0])
            table.append({"panel": f"d = {d}", "series": kind, "x": epsilon, "value": bound})
    bounds = as_values(pd.DataFrame(table), statistic="bound", n=0, profile=profile)
    return pd.concat([found, bounds], ignore_index=True)


def query_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return queries over the printed bound, for each d and epsilon, with the bound that its proof supports."""
    keyed = values.assign(d=values["panel"].str.removeprefix("d = ").astype(float)).sort_values(["d", "x"])
    keyed = keyed.assign(cell=[f"{d:g}\n{epsilon:g}" for d, epsilon in keyed[["d", "x"]].itertuples(index=False)])
    bounds = keyed[keyed["statistic"] == "bound"].pivot(index="cell", columns="series", values="value")
    queries = keyed[keyed["statistic"] == "queries"]
    over = bounds["printed"].loc[queries["cell"]].to_numpy()
    shown = queries.assign(x=queries["cell"], **{name: queries[name] / over for name in ("value", "low", "high")})
    cells = list(dict.fromkeys(shown["x"]))
    figure, axis = plt.subplots(figsize=wide(1, 3.2))
    axis.axhline(1.0, color="black", ls="--", lw=1.2, label="printed bound")
    squared = (bounds["squared"] / bounds["printed"]).loc[cells]
    places = np.arange(len(cells))
    axis.hlines(
        squared, places - 0.4, places + 0.4, color="0.35", ls=":", lw=1.8, label="bound that the proof supports"
    )
    draw_lines(axis, shown, ORDER, joined=False)
    axis.set_xticks(places, cells)
    axis.set_xlabel("dimension d, and below it ε")
    axis.set_ylabel("queries / printed bound (mean)")
    legend_below(figure, ORDER)
    words = [runs_text(queries["n"]), "bars: 95% intervals; linear class on the unit ball", setting]
    return headed(figure, title, "; ".join(filter(None, words)))
