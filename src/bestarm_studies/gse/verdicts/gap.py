"""The gap between GSE and its best rival: how much of it each change closes, on the same noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy import stats

from bestarm_lab.claims.cells import Rows, side_values
from bestarm_lab.claims.kinds import ClaimTest
from bestarm_lab.claims.layout import Best, Side
from bestarm_lab.figures.figures import headed, legend_below, wide
from bestarm_lab.figures.values import as_values, interval_text

GROUPS = {"fig1": "static", "fig2": "adaptive", "fig3": "random", "fig5a": "cars", "fig5b_pm": "motor"}
ALLOCATIONS = {
    "uniform pulls alone": "GSE-Lin",
    "G-optimal pulls alone": "GSE-Lin-FWG",
    "greedy pulls alone": "GSE-Lin-Greedy",
    "Wynn's pulls alone": "GSE-Lin-Wynn",
}
BEST_GSE = {"best GSE": Best("highest_by_halves", tuple(ALLOCATIONS.values()))}
CHANGES: dict[str, Side] = {
    "rewards kept": Best("highest_by_halves", ("GSE-Lin | rewards kept", "GSE-Lin-FWG | rewards kept")),
    **ALLOCATIONS,
    "LinUCB in its place": "LinUCB",
    "LinGapE in its place": "LinGapE",
    "BayesGap in its place": Best("highest_by_halves", ("BayesGap-Lin", "BayesGap-exp", "BayesGap-M")),
}
FWG = {"GSE-Lin-FWG": "GSE-Lin-FWG"}
STAGES: dict[str, Side] = {
    "rewards kept": "GSE-Lin-FWG | rewards kept",
    "η = 3": "GSE-Lin-FWG | η = 3",
    "η = 4": "GSE-Lin-FWG | η = 4",
    "one stage": "GSE-Lin-FWG | η = K",
    "all of the budget": "GSE-Lin-FWG | remainder to the last stages",
}


@dataclass(frozen=True)
class Cell:
    """One cell of a claim: what the best rival (``rival``) and every series (columns of ``table``) got in each run.
    ``group`` is the kind of instances, ``data`` what they are made of, as in the rows."""

    group: str
    data: str
    rival: pd.Series
    table: pd.DataFrame

    def ran(self, side: Side) -> bool:
        """Return whether a series, or one of some, was run here."""
        names = side.names if isinstance(side, Best) else (side,)
        return any(name in self.table for name in names)

    def of(self, side: Side) -> pd.Series:
        """Return what a series, or the best of some, got in the runs that the best rival has, too."""
        found: pd.Series = side_values(self.table, side).iloc[:, 0]
        return found.reindex(self.rival.index).dropna()


def gap_cells(test: ClaimTest, rows: Rows, more: Rows | None = None) -> list[Cell]:
    """Return the cells of a claim that tell anything, as it counts them; cells without rows as written are left out.
    The right side is the best rival; ``more`` are other series by experiment, on the same instances and noise."""
    found = []
    for part in test.parts:
        for experiment, where in part.each_cell():
            mine = rows[experiment][rows[experiment]["convention"] == "as_written"]
            here = test.quantity.select(mine, where)
            if here.empty:
                continue
            (sides,) = test.quantity.sides_in(part, experiment, where, {experiment: mine})
            rival = sides.values[1]
            if rival is None or sides.guesses():
                continue
            table = test.quantity.measured(here, where)
            if more is not None and experiment in more:
                others = more[experiment][~more[experiment]["series"].isin(table.columns)]
                there = test.quantity.select(others, where).drop_duplicates(["series", "replication"])
                table = table.join(test.quantity.measured(there, where))
            found.append(Cell(GROUPS[experiment], str(here["data"].iloc[0]), rival, table))
    return found


def mean_over_cells(differences: Sequence[pd.Series]) -> tuple[float, float, float]:
    """Return the mean over cells of the mean over runs, indexed by replication, with its 95% interval.
    Replications of one number share instances and noise over budgets, so that all cells of a replication count as one
    draw: the error is that of the sums over cells."""
    means = [float(d.mean()) for d in differences]
    parts = [(d - mean) / (len(differences) * len(d)) for d, mean in zip(differences, means, strict=True)]
    error = float(np.sqrt((pd.concat(parts).groupby(level=0).sum() ** 2).sum()))
    mean, reach = float(np.mean(means)), float(stats.norm.ppf(0.975)) * error
    return mean, mean - reach, mean + reach


def gap_values(
    groups: Mapping[str, Sequence[Cell]], base: Mapping[str, Side], changes: Mapping[str, Side], profile: str
) -> pd.DataFrame:
    """Return the gap of an algorithm (``base``, alone) to the best rival, and what changes close of it.
    Groups without cells are left out, and so are changes that a cell has not run. The panel is the group with its
    number of cells. ``gap`` is the accuracy of the best rival minus that of the series, ``closed`` the accuracy of the
    series minus that of the base; n is the smallest number of runs in a cell."""
    lines = []
    ((name, side),) = base.items()
    for group, cells in ((group, cells) for group, cells in groups.items() if cells):
        constant = {"panel": f"{group} ({len(cells)})", "data": " and ".join(sorted({c.data for c in cells}))}
        own = [cell.of(side) for cell in cells if cell.ran(side)]
        for series, changed in {name: side, **changes}.items():
            if not all(cell.ran(changed) for cell in cells):
                continue
            mine = own if series == name else [cell.of(changed) for cell in cells]
            found = {"gap": [(cell.rival - got).dropna() for cell, got in zip(cells, mine, strict=True)]}
            if series != name:
                found["closed"] = [(got - before).dropna() for got, before in zip(mine, own, strict=True)]
            for statistic, differences in found.items():
                value, low, high = mean_over_cells(differences)
                line = {"series": series, "statistic": statistic, "value": value, "low": low, "high": high}
                lines.append(constant | line | {"n": min(map(len, differences))})
    return as_values(pd.DataFrame(lines), profile=profile)


def gap_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `gap_values` as texts: a line for the gap, and one for what each change closes, with its share."""
    gaps = values[values["statistic"] == "gap"].groupby("panel", sort=False).first()
    (base,) = gaps["series"].unique()
    shown = values[(values["statistic"] == "closed") | (values["series"] == base)]
    texts = []
    for line in shown.to_dict("records"):
        text = interval_text(line["value"], line["low"], line["high"])
        gap = gaps.loc[line["panel"], "value"]
        texts.append(f"{text}, {line['value'] / gap:.0%}" if line["statistic"] == "closed" and gap > 0 else text)
    names = shown["series"].where(shown["statistic"] == "closed", f"gap of {base}")
    table = shown.assign(text=texts, closes=names).pivot(index="closes", columns="panel", values="text")
    table = table.reindex(names.unique(), columns=shown["panel"].unique()).fillna("not run")
    return table.rename_axis(index="closed by", columns=None).reset_index()


def closing_figure(
    values: pd.DataFrame, titles: Mapping[str, str], *, names: Mapping[str, str], title: str, setting: str = ""
) -> Figure:
    """Return what changes close of a gap, from `gap_values`: a column a panel, a line a change, a band for the gap."""
    figure, axes = plt.subplots(1, len(titles), figsize=wide(1, 0.3 * len(names) + 1.2), sharex=True, sharey=True)
    for axis, (panel, heading) in zip(np.atleast_1d(axes), titles.items(), strict=True):
        mine = values[values["panel"] == panel]
        gaps, closed = (
            mine[mine["statistic"] == name].set_index("series")[["value", "low", "high"]] for name in ("gap", "closed")
        )
        gap, low, high = gaps[~gaps.index.isin(closed.index)].iloc[0]
        axis.axvspan(low, high, color="#D55E00", alpha=0.25, lw=0)
        axis.axvline(gap, color="#D55E00", lw=1.4, label="the gap to the best rival")
        axis.axvline(0.0, color="0.3", ls="--", lw=1.0, label="nothing closed")
        closed = closed.reindex(list(names))
        places = range(len(names))
        axis.hlines(places, closed["low"], closed["high"], color="0.25", lw=1.3, zorder=3)
        axis.plot(closed["value"], places, "o", color="#0072B2", ms=3.5, label="closed by the change", zorder=4)
        axis.set(title=f"{heading}\ngap {gap:.3f}", xlabel="accuracy")
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", visible=False)
        axis.grid(axis="x", visible=True)
    axis.set_yticks(places, list(names.values()))
    axis.set_ylim(len(names) - 0.4, -0.6)
    legend_below(figure)
    return headed(figure, title, setting, "bars and bands: 95% intervals")
