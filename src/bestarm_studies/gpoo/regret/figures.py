"""Figure 4: reward functions over regret."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import WIDTH, headed, line_panels, runs_text
from bestarm_studies.gpoo.functions import DesignedBandit
from bestarm_studies.gpoo.values import function_values


def both_functions(problem: DesignedBandit, panel: str, profile: str) -> pd.DataFrame:
    """Return a reward function as the paper writes it and as the authors' code makes it, as plotted values."""
    conventions = {"as_written": problem, "as_coded": problem.as_coded()}
    return pd.concat([function_values(one, panel, convention, profile) for convention, one in conventions.items()])


def draw_function(axis: Axes, values: pd.DataFrame) -> Axes:
    """Draw a reward function, ``statistic`` "f", with its optimum in red; as coded it is dashed."""
    for convention, mine in values.groupby("convention", sort=False):
        curve, best = (mine[mine["statistic"] == name] for name in ("f", "optimum"))
        colour, line = ("black", "-") if convention == "as_written" else ("0.45", "--")
        label = str(convention).replace("_", " ")
        axis.plot(curve["x"].astype(float), curve["value"], color=colour, ls=line, label=label)
        axis.plot(best["x"].astype(float), best["value"], "o", color="#C00000", mec="black", ms=6, zorder=4)
    axis.set(xlim=(0, 1), xlabel="x", ylabel="f(x)")
    if values["convention"].nunique() > 1:
        axis.set_ylim(top=1.35)
        axis.legend(loc="upper center", ncols=2)
    return axis


def regret_figure(
    functions: Mapping[str, pd.DataFrame],
    values: pd.DataFrame,
    order: Sequence[str],
    *,
    title: str,
    titles: Mapping[str, str],
    setting: str = "",
    marks: str = "band",
) -> Figure:
    """Return the reward functions (row 1) over the regret of each convention (rows below), one column for each panel.
    ``functions`` and ``titles``: panel to `bestarm_studies.gpoo.values.function_values` and to heading; ``order``:
    series; ``marks``: the band is the 95% interval of the mean, or one standard deviation over runs."""
    words: dict[str, Any] = {"titles": titles, "title": title, "x": "budget N (evaluations)", "y": "mean regret"}
    given = words | {"statistic": "mean", "marks": marks, "possible": (0.0, 1.0), "wrap": len(titles)}
    n_rows = values["convention"].nunique()
    figure = plt.figure(figsize=(WIDTH, 1.7 + 2.6 * n_rows))
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.7, 2.6 * n_rows])
    above, below = parts
    for axis, (panel, heading) in zip(above.subplots(1, len(titles), squeeze=False)[0], titles.items(), strict=True):
        draw_function(axis, functions[panel]).set_title(heading)
    line_panels(values, order, figure=below, **given)
    band = "one standard deviation over runs" if marks == "standard deviation" else "95% intervals"
    return headed(figure, title, runs_text(values["n"]), f"bands: {band}", setting)
