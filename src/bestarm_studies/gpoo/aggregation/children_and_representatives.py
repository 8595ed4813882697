"""Figure 6: regret over K, the children of a cell, and S, its representatives."""

from collections.abc import Sequence
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.experiments.series import setting_of_each
from bestarm_lab.figures.figures import headed, runs_text, wide
from bestarm_lab.figures.styles import CONVENTIONS
from bestarm_lab.figures.values import summarise
from bestarm_studies.gpoo.series import gpoo

CHILDREN_AND_REPRESENTATIVES = {
    f"K = {arity}, S = {size}": gpoo(size, partial(Gpoo, budget=50), arity=arity)
    for arity in (2, 3, 4, 5)
    for size in (1, 10, 20, 30, 40, 50)
}


def in_grid(rows: pd.DataFrame, setting: str) -> pd.Series:
    """Return a setting of each row's series in Figure 6."""
    return rows["series"].map(setting_of_each(CHILDREN_AND_REPRESENTATIVES, setting))


def log_regret_grid(rows: pd.DataFrame, budgets: Sequence[int], profile: str) -> pd.DataFrame:
    """Return the natural logarithm of the mean regret for each K and S, with the interval's ends on the same scale.
    The rows are those of `CHILDREN_AND_REPRESENTATIVES`; the panel is the budget, the series K, x is S."""
    mine = rows[rows["budget"].isin(budgets)]
    found = summarise(mine, {"log mean": ("aggregated_regret", "mean")}, panel="N = {budget}", profile=profile)
    logs = {name: np.log(found[name].clip(lower=1e-12)) for name in ("value", "low", "high")}
    arity, size = in_grid(found, "arity").astype(str), in_grid(found, "n_representatives")
    return found.assign(series="K = " + arity, x=size, **logs)


def grid_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return heat maps of the log mean regret over K and S: one column for each budget, one row for each convention.
    All panels have one range of colours; a frame marks the best K for each S."""
    import seaborn as sns  # a fifth of a second, for this figure alone

    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    size = wide(len(conventions), 3.0)
    figure, axes = plt.subplots(len(conventions), len(panels), figsize=size, squeeze=False, sharex=True, sharey=True)
    low, high = values["value"].min(), values["value"].max()
    numbers = {"annot": True, "fmt": ".2f", "annot_kws": {"size": 8}}
    for row, convention in enumerate(conventions):
        for column, panel in enumerate(panels):
            mine = values[(values["panel"] == panel) & (values["convention"] == convention)]
            table = mine.pivot_table(index="x", columns="series", values="value").sort_index(ascending=False)
            table.columns = [c.removeprefix("K = ") for c in table.columns]
            axis = axes[row, column]
            sns.heatmap(table, vmin=low, vmax=high, cmap="viridis", cbar=False, ax=axis, **numbers)
            for place, best in enumerate(np.argmin(table.to_numpy(), axis=1)):
                axis.add_patch(plt.Rectangle((best + 0.04, place + 0.05), 0.92, 0.9, fill=False, ec="#D55E00", lw=2))
            axis.set(xlabel="K (children)" if row == len(conventions) - 1 else "", title=panel)
            axis.set_ylabel(f"{CONVENTIONS[convention]}\nS (representatives)" if column == 0 else "")
            axis.tick_params(axis="y", rotation=0)
    figure.colorbar(axes[0, 0].collections[0], ax=axes, shrink=0.7, label="natural logarithm of the mean regret")
    return headed(figure, title, runs_text(values["n"]), "smaller is better; orange: the best K for each S", setting)
