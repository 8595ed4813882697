"""Errors on arms that were not seen, by group, and what a calibrated simulator shows."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.styles import Style
from bestarm_lab.figures.values import as_values, summarise
from bestarm_studies.oae.cell_lines.misfit import CLASSES
from bestarm_studies.oae.cell_lines.official import LINES
from bestarm_studies.oae.cell_lines.searches import BATCH
from bestarm_studies.oae.first_hits import SMALLEST_TAU
from bestarm_studies.oae.values import RANDOM_LAW, batches_until_top

WIDE_STYLES = {"NN 1500-300, other arms": Style("#310A4C", "D")}
# from the group that the others tell least of to that of which they tell most: ever darker
GROUP_STYLES = tuple(
    Style(colour, marker)
    for colour, marker in zip(
        ("#B8A100", "#E07B39", "#C8447E", "#7B3FA0", "#2F5DA8", "#0B2A4A"), ("o", "s", "^", "D", "v", "P"), strict=True
    )
)


def held_out_values(rows: pd.DataFrame, likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the median error on arms that were not seen, over the variance, with quartiles; x is random batches.
    A series is a group, named with its R2. ``rows`` are of `bestarm_studies.oae.embedding.batch_fits.batch_fit_rows`.
    """
    at = likeness.set_index("panel")["value"]
    groups = {name: f"{name} (R² {float(at[name]):.2f})" for name in rows["panel"].unique()}
    named = rows.assign(series=rows["panel"].map(groups))
    return summarise(named, {"error": ("test", "median")}, x="x", panel="NN 1500-300", profile=profile)


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
        styles=WIDE_STYLES,
        highlight=[s for one in series.values() for s in one],
        height=3.0,
    )
    for axis in figure.axes[:2]:
        axis.set_xticks(range(len(LINES)), LINES)
    return figure
