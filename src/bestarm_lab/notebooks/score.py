"""The score: every headline claim of the papers with all its comparisons, and how all claims of a paper fare."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy import special

from bestarm_lab.claims.verdicts import CONVENTIONS
from bestarm_lab.figures.styles import use_style

SAID = {"for": "confirmed", "open": "open", "against": "refuted or mixed"}
REACH = 1.6  # standard deviations of a run that are drawn; farther is at the edge
COLOURS = {"for": "#0072B2", "open": "#CCCCCC", "against": "#D55E00"}
STATES = {"confirmed": "for", "refuted": "against", "mixed": "against"}  # other words are open
HATCHES = {"against": "///"}


def score_values(
    verdicts: Mapping[str, pd.DataFrame], comparisons: Mapping[str, pd.DataFrame], shorts: Mapping[str, str]
) -> pd.DataFrame:
    """Return the headline claims that statistics decide, one line for each and its convention.

    Tables are by study; ``shorts`` has headline claims in a few words. The columns are ``study, id, short, convention,
    verdict, for, open, against, value, low, high``: the mean over comparisons of their distance from the margin, in
    standard deviations of a run, positive for the claim, with its 95% interval by the t-distribution; of one comparison
    that of its runs.
    """
    lines = []
    for study, table in verdicts.items():
        mine = table[(table["level"] == "headline") & table["comparisons"].notna()]
        for _, line in mine.iterrows():
            there = comparisons[study]
            found = there[(there["id"] == line["id"]) & (there["convention"] == line["convention"])]
            strengths = found["strength"].to_numpy(dtype=np.float64)
            m = len(strengths)
            error = strengths.std(ddof=1) / np.sqrt(m) if m > 1 else 1.0 / np.sqrt(float(found["n"].iloc[0]))
            reach = -float(special.stdtrit(m - 1 if m > 1 else int(found["n"].iloc[0]) - 1, 0.025)) * error
            mean = float(strengths.mean())
            about = {key: line[key] for key in ("id", "convention", "verdict", "for", "open", "against")}
            numbers = {"value": mean, "low": mean - reach, "high": mean + reach}
            lines.append({"study": study, "short": shorts[str(line["id"])]} | about | numbers)
    return pd.DataFrame(lines)


def shares(verdicts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how the claims of a paper fare that statistics decide, by the count of comparisons and on average.

    Columns are ``study, convention, by, claims`` and the shares of these claims that are ``for`` (confirmed),
    ``against`` (refuted or mixed) and ``open``. On average a claim with one comparison, or one that speaks of all or of
    some, has its word.
    """
    lines = []
    for study, table in verdicts.items():
        theirs = table[(table["ours"].fillna("") == "") & table["comparisons"].notna()]
        for convention in CONVENTIONS:
            mine = theirs[theirs["convention"] == convention]
            if len(mine):
                for by, words in (("count", mine["verdict"]), ("average", by_average(mine))):
                    part = words.map(STATES).fillna("open").value_counts(normalize=True)
                    about = {"study": study, "convention": convention, "by": by, "claims": len(mine)}
                    lines.append(about | {state: float(part.get(state, 0.0)) for state in COLOURS})
    return pd.DataFrame(lines)


def by_average(verdicts: pd.DataFrame) -> pd.Series:
    """Return the words of verdicts with those on the mean over comparisons in place of their count."""
    return verdicts["on_average"].fillna(verdicts["verdict"])


def disagreements(verdicts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return in how many of a paper's claims with both conventions text and code differ: ``study, claims, differ``."""
    lines = []
    for study, table in verdicts.items():
        theirs = table[(table["ours"].fillna("") == "") & (table["verdict"] != "not run")]
        both = theirs.pivot(index="id", columns="convention", values="verdict").reindex(columns=list(CONVENTIONS))
        both = both.dropna()
        if len(both):
            differ = int((both["as_written"] != both["as_coded"]).sum())
            lines.append({"study": study, "claims": len(both), "differ": differ})
    return pd.DataFrame(lines, columns=["study", "claims", "differ"])


def score_figure(
    values: pd.DataFrame, comparisons: Mapping[str, pd.DataFrame], overview: pd.DataFrame, names: Mapping[str, str]
) -> Figure:
    """Return the score: headline claims with all their comparisons on the left, all claims of a paper on the right.

    ``values`` and ``overview`` are of `score_values` and `shares`, ``names`` has the short names of the papers in the
    order that is drawn.
    """
    use_style()
    heads = values.drop_duplicates("id")
    n = [max((table["study"] == study).sum() for table in (heads, overview)) for study in names]  # bars stand beside
    figure, axes = plt.subplots(
        *(len(names), 2),
        figsize=(8.0, 0.9 + 0.15 * sum(n) + 0.25 * len(n)),
        layout="constrained",
        sharex="col",
        squeeze=False,
        gridspec_kw={"height_ratios": [k + 1 for k in n], "width_ratios": [2.3, 1]},
    )
    for (study, name), rows, (left, right) in zip(names.items(), n, axes, strict=True):
        _claims(left, values[values["study"] == study], comparisons[study])
        left.set_title(name, loc="left", fontsize=9, fontweight="bold", x=0.0)
        _bars(right, overview[overview["study"] == study])
        for axis in (left, right):
            axis.set_ylim(rows - 0.4, -0.6)
            axis.tick_params(axis="y", length=0)
            axis.grid(visible=False, axis="y")
    axes[-1, 0].set_xlim(-REACH * 1.04, REACH * 1.04)
    axes[-1, 0].set_xlabel("distance from the margin, standard deviations of a run\n← against the claim     for it →")
    axes[-1, 1].set_xlim(0.0, 1.0)
    axes[-1, 1].set_xlabel("all claims, by count\nand on average")
    axes[-1, 1].xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    mean: dict[str, Any] = {"mec": "black", "marker": "o", "ms": 4.5, "color": "black", "lw": 1.2}
    handles = [
        Line2D([], [], color="0.6", marker="|", ls="", ms=7, label="one comparison (* objectives of ours)"),
        Line2D([], [], mfc="black", label="mean, paper's text", **mean),
        Line2D([], [], mfc="white", label="mean, authors' code", **mean),
        *(Patch(fc=c, hatch=HATCHES.get(s), ec="white", label=SAID[s]) for s, c in COLOURS.items()),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, handlelength=1.4)
    return figure


def _claims(axis: Axes, values: pd.DataFrame, comparisons: pd.DataFrame) -> None:
    """Draw the headline claims of one paper, a line each."""
    order = list(dict.fromkeys(values["id"]))
    there = comparisons[comparisons["id"].isin(order)]
    coded = set(values.loc[values["convention"] == "as_coded", "id"])
    for _, line in there.iterrows():
        y = order.index(line["id"]) + _shift(line, coded)
        axis.plot(np.clip(line["strength"], -REACH, REACH), y, marker="|", ms=6, color="0.6", mew=0.8, zorder=1)
    for _, line in values.iterrows():
        y = order.index(line["id"]) + _shift(line, coded)
        x = line[["value", "low", "high"]].astype(np.float64).clip(-REACH, REACH)
        axis.plot([x["low"], x["high"]], [y, y], color="black", lw=1.2, zorder=2)
        fill = "black" if line["convention"] == "as_written" else "white"
        axis.plot(x["value"], y, marker="o", ms=4.5, mfc=fill, mec="black", ls="", zorder=3)
    axis.axvline(0.0, color="0.3", lw=0.9, ls="--", zorder=0)
    shorts = values.drop_duplicates("id")["short"]
    axis.set_yticks(range(len(order)), shorts, fontsize=8)


def _shift(line: pd.Series, coded: set[str]) -> float:
    """Return how far below its line a convention is drawn, where a claim has both."""
    if line["id"] not in coded:
        return 0.0
    return -0.2 if line["convention"] == "as_written" else 0.2


def _bars(axis: Axes, overview: pd.DataFrame) -> None:
    """Draw the shares of all claims of one paper by their words, two bars for each convention."""
    labels = [
        f"{CONVENTIONS[c].split()[-1]}, {f'{n} claims' if by == 'count' else 'on average'}"
        for c, by, n in overview[["convention", "by", "claims"]].itertuples(index=False)
    ]
    left = np.zeros(len(overview))
    for state, colour in COLOURS.items():
        widths = overview[state].to_numpy(dtype=np.float64)
        axis.barh(
            labels, widths, left=left, height=0.6, color=colour, hatch=HATCHES.get(state), edgecolor="white", lw=0.4
        )
        left = left + widths
    axis.tick_params(axis="y", labelsize=8)
