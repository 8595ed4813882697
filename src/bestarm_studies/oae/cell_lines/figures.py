"""Figures and tables of the cell lines, which say in every panel that they are on stand-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bestarm_lab.experiments.experiment import Experiment, settings_of
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.appearance import Look
from bestarm_lab.figures.figures import headed, line_panels, wide
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.oae.cell_lines.calibration import calibrated, calibration_table
from bestarm_studies.oae.cell_lines.claim_values import misfit_and_gain
from bestarm_studies.oae.figures import hits_figure
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.values import batches_until_top, search_values

BATCH = 50
LINES = ("VCAP", "HA1E", "MCF7", "A375")
LINE_LOOKS = {
    "VCAP": Look("#0072B2", "o"),
    "HA1E": Look("#009E73", "s", "--"),
    "MCF7": Look("#C17C00", "^", "-."),
    "A375": Look("#A34800", "D"),
}
CLASS_FILLS = {"linear": ("#A34800", "none"), "NN 10-5": ("#C17C00", "left"), "NN 100-10": ("#0072B2", "full")}
CODING_LOOKS = {"training error": Look("#0072B2", "o"), "validation error": Look("#A34800", "s", "--")}
_PAPER = {"steps": 5000, "rounds": 20, "members": 10}


def scale_words(experiment: Experiment, profile: Profile, series: Sequence[str]) -> str:
    """Return in words at what scale some series were searched, and what the paper's is."""
    known = {k for s in series if s in experiment.series for k in settings_of(_policy(experiment.series[s]))}
    settings = _PAPER | dict(experiment.scale(profile).settings)
    words = []
    for name, text in (("steps", "{} training steps"), ("rounds", "{} batches"), ("members", "ensembles of {}")):
        if name in known:
            cut = settings[name]
            words.append(text.format(cut) + (f" (paper: {_PAPER[name]})" if cut < _PAPER[name] else ""))
    divided = experiment.scale(profile).vary.get("scale", [1])[0]
    return f"batches of {BATCH}; " + ", ".join(words) + (f"; 1/{divided} of the paper's arms" if divided > 1 else "")


def _policy(series: Any) -> Any:
    return getattr(series, "policy", series)


def line_sets(*tables: pd.DataFrame, series: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """Return the rows of each line under a name that says what it is; a series comes from the first table with it."""
    found: dict[str, list[pd.DataFrame]] = {}
    for rows in tables:
        mine = rows[rows["series"].isin(series)] if series else rows
        for name, part in _panels(mine):
            there = {s for other in found.get(name, []) for s in other["series"].unique()}
            found.setdefault(name, []).append(part[~part["series"].isin(there)])
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def _panels(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    if "name" not in rows:
        return [("drug signatures", rows)]
    said = {"simulated": ", simulated", "real": "", "stand-in": ""}
    return [(f"{name}{said[str(part['data'].iloc[0])]}", part) for name, part in rows.groupby("name", sort=False)]


def line_values(
    *tables: pd.DataFrame, profile: str, series: Sequence[str] = (), taus: Sequence[float] = ()
) -> pd.DataFrame:
    """Return `bestarm_studies.oae.values.search_values` of every line, batches of 50."""
    sets = line_sets(*tables, series=series)
    return search_values(sets, profile, batch=BATCH, **({"taus": taus} if taus else {}))


def line_search_figure(
    values: pd.DataFrame, columns: Mapping[str, Sequence[str]], *, title: str, setting: str
) -> Figure:
    """Return the paper's plot over quantiles, see `hits_figure`, with one range of batches for all lines."""
    figure = hits_figure(values, columns, title=title, setting=setting, parts=["batches"])
    panels = figure.axes[: values["panel"].nunique() * len(columns)]
    lowest, highest = zip(*(axis.get_ylim() for axis in panels), strict=True)
    for axis in panels:
        axis.set_ylim(min(lowest), max(highest))
    return figure


def batch_fit_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the errors of NN 1500-300 after random batches, x, mean with 95% t-intervals; a line is a series."""
    said = ", simulated" if (rows["data"] == "simulated").all() else ""
    table = pd.concat(
        rows.assign(panel=f"{words}{said}", error=rows[column], series=rows["panel"])
        for column, words in (("train", "arms that it was fitted to"), ("test", "all other arms"))
    )
    return summarise(table, {"MSE / variance": ("error", "mean")}, x="x", panel="{panel}", profile=profile)


def batch_fit_figure(values: pd.DataFrame, *, title: str, setting: str) -> Figure:
    """Return Figure 1: error against the number of random batches, a line for each cell line."""
    return line_panels(
        values,
        LINES,
        title=title,
        setting=setting,
        statistic="MSE / variance",
        x="random batches of 50",
        y="MSE / variance of the reward",
        looks=LINE_LOOKS,
        highlight=LINES,
        possible=(0.0, None),
    )


def coding_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the course of the autoencoders' training: a series for each error, x is the epoch."""
    table = rows[rows["x"].notna()].assign(series=lambda r: r["statistic"])
    said = {"simulated": ", simulated", "real": ", real", "stand-in": ""}
    table = table.assign(panel=[f"{p}{said[d]}" for p, d in zip(table["panel"], table["data"], strict=True)])
    columns = ["panel", "series", "x", "value", "data"]
    return as_values(table[columns].assign(n=1), statistic="error", profile=profile).assign(
        data=table["data"].to_numpy()
    )


def coding_figure(values: pd.DataFrame, *, title: str, setting: str) -> Figure:
    """Return the autoencoders' errors, epoch by epoch."""
    return line_panels(
        values,
        list(CODING_LOOKS),
        title=title,
        setting=setting,
        statistic="error",
        x="epoch",
        y="mean squared error\n(1: each gene's mean)",
        marks="none",
        looks=CODING_LOOKS,
        highlight=list(CODING_LOOKS),
        possible=(0.0, None),
    )


def coding_ends(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return what the autoencoders ended with: signatures, the epoch kept, and what a linear fit to codes leaves."""
    last = rows[rows["x"].isna() & (rows["statistic"] != "components")]
    columns = ["panel", "series", "statistic", "value"]
    return as_values(last[columns].assign(n=1), profile=profile).assign(data=last["data"].to_numpy())


def coding_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `coding_ends` as text."""
    wide_table = values.pivot(index="panel", columns="statistic", values="value")
    said = values.drop_duplicates("panel").set_index("panel")["data"]
    return pd.DataFrame(
        {
            "signatures of": [str(panel) for panel in wide_table.index],
            "data": [str(said[panel]) for panel in wide_table.index],
            "signatures": [f"{n:.0f}" for n in wide_table["arms"]],
            "epoch kept": [f"{n:.0f}" for n in wide_table["epoch kept"]],
            "reward's variance that a linear fit leaves": [f"{n:.3f}" for n in wide_table["linear misfit"]],
        }
    )


def likeness_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the calibration as text: every candidate, what the rule looks at, and which one is taken."""
    chosen = calibrated(rows)
    table = calibration_table(rows)
    lines = []
    for line in table.to_dict("records"):
        mine = chosen[str(line["line"])]
        taken = bool(np.isclose(line["rho"], mine.rho) and np.isclose(line["eta"], mine.eta))
        lines.append(
            {
                "line": str(line["line"]),
                "factor": f"{line['factor']:g}",
                "ρ": f"{line['rho']:g}",
                "η": f"{line['eta']:.3g}",
                "held-out error over VCAP's": f"{line['held_out']:.2f}",
                **{name: f"{line[name]:.3f}" for name in ("linear", "NN 10-5", "NN 100-10")},
                "passes": "yes" if line["passes"] else "no",
                "taken": "**yes**" if taken else "",
            }
        )
    return pd.DataFrame(lines)


def likeness_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the numbers of `likeness_table`; x is the factor, a class is a series."""
    table = calibration_table(rows).rename(columns={"line": "panel", "factor": "x"})
    kinds = ["held_out", "linear", "NN 10-5", "NN 100-10", "rho", "eta"]
    long = table.melt(["panel", "x"], kinds, var_name="series")
    return as_values(long, statistic="calibration", n=rows["replication"].nunique(), profile=profile).assign(
        data="simulated"
    )


def similarity_values(rows: pd.DataFrame, setting: str, panel: str, profile: str) -> pd.DataFrame:
    """Return the mean batches until a top-0.2% arm against a setting of the simulator, x, and random batches' law."""
    frames = []
    for at, mine in rows.groupby(setting, sort=True):
        values = batches_until_top(mine, panel, profile, batch=BATCH, taus=(SMALLEST_TAU,))
        frames.append(values[values["statistic"].isin(["batches", "censored"])].assign(x=at))
    return pd.concat(frames, ignore_index=True)


def similarity_figure(
    values: pd.DataFrame, order: Sequence[str], x: Mapping[str, str], *, title: str, setting: str
) -> Figure:
    """Return batches until a top arm against settings of the simulator; ``x`` names the axis of each panel."""
    shown = values[values["statistic"] == "batches"]
    looks = {"RandomBatch, exact law": Look("0.35", "", (0, (1, 1.2)))}
    return line_panels(
        shown,
        [*order, *looks],
        title=title,
        setting=setting,
        statistic="batches",
        x=x,
        y="batches until a top-0.2% arm\n(mean)",
        spread="95% bootstrap intervals",
        possible=(0.0, None),
        highlight=[*order, *looks],
        looks=looks,
    )


def explained_values(fits: pd.DataFrame, searches: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return misfit (x) and gain (value) of every line (panel) and class (series)."""
    found = misfit_and_gain(fits, searches).rename(columns={"line": "panel", "misfit": "x", "gain": "value"})
    return as_values(found, statistic="gain", profile=profile).assign(data=fits["data"].iloc[0])


def explained_figure(values: pd.DataFrame, *, title: str, setting: str) -> Figure:
    """Return MeanOpt's gain on random batches against the misfit of a plain fit, a marker for each line and class."""
    figure, axis = plt.subplots(figsize=wide(1, 3.4))
    shape: dict[str, Any] = {"mew": 1.2, "ms": 9, "mfcalt": "white", "ls": ""}
    for panel, series, x, y in values[["panel", "series", "x", "value"]].itertuples(index=False):
        colour, fill = CLASS_FILLS[str(series)]  # the fill tells classes apart in grey
        axis.plot(x, y, LINE_LOOKS[str(panel)].marker, color=colour, fillstyle=fill, **shape)
    rows = [
        [axis.plot([], [], "o", color=c, fillstyle=f, label=s, **shape)[0] for s, (c, f) in CLASS_FILLS.items()],
        [axis.plot([], [], k.marker, color="0.35", label=f"{p}, simulated", **shape)[0] for p, k in LINE_LOOKS.items()],
    ]
    rows[0] += [axis.plot([], [], ls="", label=" ")[0]] * (len(rows[1]) - len(rows[0]))
    axis.axhline(0.0, color="0.3", ls="--", lw=1)
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel("training MSE / variance of a plain fit to all arms")
    axis.set_ylabel("gain on random batches\n(share of batches saved)")
    figure.legend(handles=[h for pair in zip(*rows, strict=True) for h in pair], loc="outside lower center", ncols=4)
    axis.set_ylim(min(-0.05, float(values["value"].min()) - 0.05), 1.0)
    return headed(figure, title, setting)


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
    return headed(figure, "Figure 6, redrawn: codes come from VCAP alone, rewards from the line that is searched")


def _box(axis: Axes, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    box = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.02,rounding_size=0.08", fc=colour, ec="0.3", lw=1)
    axis.add_patch(box)
    axis.text(x + width / 2, y + height / 2, text, ha="center", va="center", size=8.5)
