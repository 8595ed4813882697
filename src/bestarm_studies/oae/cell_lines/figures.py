"""Figures and tables of the cell lines; each says that it is not on the paper's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from bestarm_lab.experiments.experiment import Experiment, settings_of
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.figures import line_panels, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values, paired_effects, summarise
from bestarm_studies.oae.cell_lines.claim_values import CLASSES, chosen_hits
from bestarm_studies.oae.cell_lines.contexts import GROUPS, GroupEffects
from bestarm_studies.oae.cell_lines.simulator import LINES
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.values import RANDOM_LAW, batches_until_top, bootstrap_interval

BATCH = 50
STAND_IN = "DepMap 26Q1, not CMAP"
LAW_STYLES = {RANDOM_LAW: Style("0.35", "", DOTS)}
WIDE_STYLES = {"NN 1500-300, other arms": Style("#310A4C", "D")}
# from the group that the others tell least of to that of which they tell most: ever darker
GROUP_STYLES = tuple(
    Style(colour, marker)
    for colour, marker in zip(
        ("#B8A100", "#E07B39", "#C8447E", "#7B3FA0", "#2F5DA8", "#0B2A4A"), ("o", "s", "^", "D", "v", "P"), strict=True
    )
)
R_SQUARED = "R² of ridge from the other groups"
_PAPER = {"steps": 5000, "rounds": 20, "members": 10}


def scale_words(experiment: Experiment, profile: Profile, series: Sequence[str]) -> str:
    """Return in words at what scale some series were searched, and what the paper's is."""
    known = {k for s in series if s in experiment.series for k in settings_of(_policy(experiment.series[s]))}
    settings = _PAPER | dict(experiment.scale(profile).settings)
    words = [f"batches of {BATCH}"]
    for name, text in (("steps", "{} training steps"), ("rounds", "{} batches"), ("members", "ensembles of {}")):
        if name in known:
            cut = settings[name]
            words.append(text.format(cut) + (f" (paper: {_PAPER[name]})" if cut < _PAPER[name] else ""))
    return ", ".join(words)


def _policy(series: Any) -> Any:
    return getattr(series, "policy", series)


def group_table(effects: GroupEffects, likeness: pd.DataFrame) -> pd.DataFrame:
    """Return for each group its lines, how well the others tell of it, and the genes it needs most beyond others."""
    known = likeness.set_index("panel")
    lines = []
    for name in GROUPS:
        own = effects.own[:, effects.groups.index(name)]
        best = np.argsort(-own, kind="stable")[:3]
        lines.append(
            {
                "group": name,
                "lines": f"{float(known['x'][name]):.0f}",
                "R²": f"{float(known['value'][name]):.2f}",
                "largest own part": ", ".join(f"{effects.genes[i]} {own[i]:.2f}" for i in best),
            }
        )
    return pd.DataFrame(lines)


def likeness_values_of_groups(likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return R2 of every group, x is its number of lines."""
    columns = likeness[["panel", "series", "x", "value"]]
    return as_values(columns, statistic="R2", profile=profile, n=1).assign(data=likeness["data"].iloc[0])


def held_out_values(rows: pd.DataFrame, likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the median error on arms that were not seen, over the variance, with quartiles; x is random batches.

    A series is a group, named with its R2. ``rows`` are of `bestarm_studies.oae.cell_lines.batch_fits.batch_fit_rows`.
    """
    at = likeness.set_index("panel")["value"]
    groups = {name: f"{name} (R² {float(at[name]):.2f})" for name in rows["panel"].unique()}
    named = rows.assign(series=rows["panel"].map(groups))
    return summarise(named, {"error": ("test", "median")}, x="x", panel="NN 1500-300", profile=profile)


def group_values(searches: Mapping[str, Sequence[pd.DataFrame]], likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the mean batches until a top-0.2% arm against a group's R2, x.

    Parameters
    ----------
    searches : mapping of str to sequence of DataFrame
        Panel to the rows of its experiments.
    likeness : DataFrame
        Of `bestarm_studies.oae.cell_lines.contexts.likeness_rows`.
    profile : str
        Scale.

    Returns
    -------
    DataFrame
        Of `bestarm_studies.oae.values.batches_until_top`, with the column ``group``.
    """
    at = likeness.set_index("panel")["value"]
    frames = []
    for panel, tables in searches.items():
        seen: set[tuple[str, str]] = set()
        for rows in tables:
            for name, mine in rows.groupby("name", sort=False):
                values = batches_until_top(mine, panel, profile, batch=BATCH, taus=(SMALLEST_TAU,))
                values = values[[(name, s) not in seen for s in values["series"]]]
                seen |= {(str(name), str(s)) for s in values["series"]}
                values = values[values["statistic"].isin(["batches", "censored"])]
                frames.append(values.assign(x=round(float(at[name]), 3), group=name))
    return pd.concat(frames, ignore_index=True)


def group_figure(
    values: pd.DataFrame, order: Any, *, title: str, setting: str, statistic: str = "batches", **style: Any
) -> Figure:
    """Return batches until a top arm against how well other groups tell of a group, a panel for each class."""
    given: dict[str, Any] = {
        "y": "batches until a top-0.2% arm\n(mean)",
        "spread": "95% bootstrap intervals",
        "possible": (0.0, None),
        "styles": LAW_STYLES,
    }
    every = [s for one in order.values() for s in one] if isinstance(order, Mapping) else list(order)
    return line_panels(
        values,
        order,
        title=title,
        setting=f"{STAND_IN}; six groups of lines, 17,786 genes; {setting}",
        statistic=statistic,
        x=R_SQUARED,
        highlight=list(dict.fromkeys(every)),
        **(given | style),
    )


def gain_values(searches: Mapping[str, pd.DataFrame], likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the share of batches that MeanOpt saves on random batches and on Greedy; a class is a series.

    x is the group's R2. MeanOpt takes in each half of the runs the strength that is best in the other half; 95%
    bootstrap intervals over runs, that choice held.
    """
    at = likeness.set_index("panel")["value"]
    lines = []
    for name, rows in searches.items():
        for group, mine in rows.groupby("name", sort=False):
            hits = chosen_hits(mine)
            for over, panel in (("RandomBatch", "on random batches"), ("Greedy", "on Greedy")):
                ratio = hits["MeanOpt"].mean() / hits[over].mean()
                linear = 1.0 - ratio - (hits["MeanOpt"] - ratio * hits[over]) / hits[over].mean()
                low, high = bootstrap_interval(linear.to_numpy(dtype=np.float64))
                line = {"panel": panel, "series": name, "x": round(float(at[group]), 3), "group": group}
                lines.append(line | {"value": 1.0 - ratio, "low": low, "high": high, "n": len(hits)})
    data = next(iter(searches.values()))["data"].iloc[0]
    return as_values(pd.DataFrame(lines), statistic="gain", profile=profile).assign(
        group=[str(line["group"]) for line in lines], data=data
    )


def earned_values(searches: Mapping[str, pd.DataFrame], likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what a batch earns after the first, which is random, in the mean over whole runs; a class is a panel.

    x is the group's R2, with the column ``group``. Statistics are ``reward``, the mean reward of a gene that is chosen,
    and ``gain in reward``, the paired difference to Greedy; 95% t-intervals over runs.
    """
    at = likeness.set_index("panel")["value"]
    frames = []
    for panel, rows in searches.items():
        later = rows[rows["round"] > 1]
        for name, mine in later.groupby("name", sort=False):
            series = [str(s) for s in mine["series"].unique()]
            kinds = {"reward": {s: (s, s) for s in series}, "gain in reward": {s: (s, "Greedy") for s in series}}
            for statistic, lines in kinds.items():
                found = paired_effects(
                    mine, "reward", statistic=statistic, profile=profile, panel=panel,
                    lines={s: {"": pair} for s, pair in lines.items() if statistic == "reward" or s != "Greedy"},
                )  # fmt: skip
                frames.append(found.assign(x=round(float(at[name]), 3), group=name))
    return pd.concat(frames, ignore_index=True)


def earned_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rewards of `earned_values` as text, a row for each class and group."""
    lines = []
    for (panel, group), mine in values.groupby(["panel", "group"], sort=False):
        line = {"class": panel, "group": group, "R²": f"{mine['x'].iloc[0]:.2f}"}
        levels = mine[mine["statistic"] == "reward"]
        shown = levels[["series", "value", "low", "high"]].itertuples(index=False)
        lines.append(line | {str(name): _with_interval(*numbers) for name, *numbers in shown})
    return pd.DataFrame(lines).fillna("")


def _with_interval(value: float, low: float, high: float) -> str:
    value, low, high = (round(number, 2) + 0.0 for number in (value, low, high))  # no -0.00
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def simulator_values(calibration: pd.DataFrame, searches: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what the simulator was calibrated to, and how many batches searches of it need; x counts the lines."""
    lines = []
    for (name, series), mine in calibration.groupby(["panel", "series"], sort=False):
        seen = series in CLASSES
        line = {"panel": "errors of plain fits", "series": series if seen else f"{series}, other arms"}
        lines.append(line | {"x": LINES.index(name), "value": mine["train" if seen else "test"].median()})
    found = [as_values(pd.DataFrame(lines), statistic="error", n=3, profile=profile)]
    for name, mine in searches.groupby("name", sort=False):
        values = batches_until_top(mine, "searches, NN 100-10", profile, batch=BATCH, taus=(SMALLEST_TAU,))
        found.append(values[values["statistic"] == "batches"].assign(x=LINES.index(name)))
    return pd.concat(found, ignore_index=True).assign(data="simulated")


def simulator_figure(values: pd.DataFrame, order: Sequence[str], *, title: str, setting: str) -> Figure:
    """Return the errors that the simulator was calibrated to beside the searches, the four lines along x."""
    errors, searches = dict.fromkeys(values["panel"])
    series = {errors: [*WIDE_STYLES, *CLASSES], searches: [*order, RANDOM_LAW]}
    figure = line_panels(
        values,
        series,
        title=title,
        setting=setting,
        statistic={errors: "error", searches: "batches"},
        x="simulated line",
        y={errors: "MSE / variance", searches: "batches until a top-0.2% arm\n(mean)"},
        spread="95% bootstrap intervals",
        log={errors: "y", searches: ""},
        possible={errors: None, searches: (0.0, None)},
        styles={**LAW_STYLES, **WIDE_STYLES},
        highlight=[s for one in series.values() for s in one],
        height=3.0,
    )
    for axis in figure.axes[:2]:
        axis.set_xticks(range(len(LINES)), LINES)
    return figure


def schematic() -> Figure:
    """Return Figure 6 redrawn: from signatures of one line to a search in another."""
    figure, axis = plt.subplots(figsize=wide(1, 3.6))
    axis.set_xlim(0, 10)
    axis.set_ylim(0, 4.4)
    axis.set_axis_off()
    _box(axis, 0.1, 2.7, 1.9, 1.3, "VCAP signatures\n978 genes for each\nperturbation", "#DCE9F3")
    _box(axis, 2.7, 2.7, 2.0, 1.3, "encoder\n978, 1500, 300, 100", "#DCE9F3")
    _box(axis, 5.3, 2.7, 1.5, 1.3, "code\n100 numbers", "#CFE8DF")
    _box(axis, 7.5, 2.7, 2.3, 1.3, "decoder, for training\n100, 300, 1500, 978", "#EEEEEE")
    _box(axis, 0.1, 0.4, 1.9, 1.3, "target line\nHA1E, MCF7, A375\nor VCAP itself", "#F6E3D2")
    _box(axis, 2.7, 0.4, 2.0, 1.3, "reward\nmean of 23 genes of\nproliferation", "#F6E3D2")
    _box(axis, 5.3, 0.4, 1.5, 1.3, "arms\ncode, reward\nhidden", "#CFE8DF")
    _box(axis, 7.5, 0.4, 2.3, 1.3, "search: 20 batches\nof 50, a fresh network\nfor each", "#CFE8DF")
    for start, end in (
        ((2.0, 3.35), (2.7, 3.35)),
        ((4.7, 3.35), (5.3, 3.35)),
        ((6.8, 3.35), (7.5, 3.35)),
        ((2.0, 1.05), (2.7, 1.05)),
        ((4.7, 1.05), (5.3, 1.05)),
        ((6.05, 2.7), (6.05, 1.7)),
    ):
        axis.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.25", "lw": 1.3})
    axis.annotate("", (7.5, 1.3), (6.8, 1.3), arrowprops={"arrowstyle": "-|>", "color": "0.25", "lw": 1.3})
    axis.annotate("", (6.8, 0.75), (7.5, 0.75), arrowprops={"arrowstyle": "-|>", "color": "0.25", "lw": 1.3})
    axis.text(7.15, 1.42, "rewards", ha="center", size=8, color="0.25")
    axis.text(7.15, 0.5, "batch", ha="center", size=8, color="0.25")
    axis.text(6.2, 2.15, "the same perturbations", size=8, color="0.25", va="center")
    return figure


def _box(axis: Axes, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    box = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.02,rounding_size=0.08", fc=colour, ec="0.3", lw=1)
    axis.add_patch(box)
    axis.text(x + width / 2, y + height / 2, text, ha="center", va="center", size=8.5)
