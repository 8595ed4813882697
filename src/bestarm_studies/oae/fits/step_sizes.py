"""Step sizes of Adam for each class of networks; the paper gives none."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from bestarm_studies.oae.landscapes import LANDSCAPES

LINES = tuple(LANDSCAPES)
TABLES = ("BikeSharingDay", "BikeSharingHour", "BlogFeedback")
SEARCHED_ON = {
    "linear": TABLES,
    "NN 10-5": (*LINES, "BikeSharingDay"),
    "NN 100-10": (*LINES, *TABLES),
    "NN 300-100": LINES,
}


def chosen_rates(rows: pd.DataFrame, *, on_lines: bool = False) -> pd.DataFrame:
    """Return ``mean_rank, n_sets, chosen`` of each class and step size: how it fits the sets on which the class is
    searched. On each set (``on_lines``: on the landscapes alone) the step sizes are ranked by the median over fits of
    the last MSE over the variance; the lowest mean rank is taken, before any search is run. Ranks, since the errors of
    the sets differ by a factor of a thousand. Of two step sizes whose mean ranks are equal the larger is taken."""
    last = rows[rows["x"] == rows["x"].max()]
    if on_lines:
        last = last[last["panel"].isin(LINES)]
    else:
        last = last[[panel in SEARCHED_ON[name] for name, panel in zip(last["series"], last["panel"], strict=True)]]
    misfit = (last["mse"] / last["var"]).fillna(np.inf)  # a fit that broke down is no reason to choose its step size
    medians = misfit.groupby([last["series"], last["panel"], last["learning_rate"]], sort=False).median()
    ranks = medians.groupby(["series", "panel"]).rank()
    mean = ranks.groupby(["series", "learning_rate"]).agg(["mean", "size"])
    found = mean.set_axis(["mean_rank", "n_sets"], axis=1).reset_index()
    best = found[found["mean_rank"] == found.groupby("series")["mean_rank"].transform("min")]
    found["chosen"] = found["learning_rate"] == found["series"].map(best.groupby("series")["learning_rate"].max())
    return found


def capacity_errors(starts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return ``panel, x, series, value``: the median training error over the variance on both sets with four hills, by
    step size ``x``, for each network and way to start (the keys), as ``network from start``."""
    found = []
    for start, rows in starts.items():
        last = rows[(rows["x"] == rows["x"].max()) & (rows["series"] != "linear")]
        last = last[last["panel"].str.startswith("MultiValley")].assign(value=lambda r: r["mse"] / r["var"])
        medians = last.groupby(["panel", "learning_rate", "series"], sort=False)["value"].median().reset_index()
        found.append(medians.assign(series=medians["series"] + f" from {start}"))
    return pd.concat(found, ignore_index=True).rename(columns={"learning_rate": "x"})


def capacity_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return `capacity_errors` as text, and whether they fall from each network to the next larger (Appendix E.1.1)."""
    lines = []
    names = errors["series"].str.partition(" from ")
    for (biases, panel, rate), found in errors.groupby([names[2], "panel", "x"], sort=False):
        networks = dict(zip(names[0][found.index], found["value"], strict=True))
        falls = all(b < a for a, b in pairwise(networks.values()))
        texts = {name: f"{value:.3f}" for name, value in networks.items()}
        lines.append({"biases": biases, "set": panel, "step size": f"{rate:g}", **texts, "falls": ["no", "yes"][falls]})
    return pd.DataFrame(lines)


def rates_after(rows: pd.DataFrame, steps: Sequence[int], *, on_lines: bool = False) -> pd.DataFrame:
    """Return `chosen_rates` after each number of steps that the rows have, with the column ``steps``."""
    asked = [last for last in steps if (rows["x"] == last).any()] or [rows["x"].max()]
    return pd.concat(chosen_rates(rows[rows["x"] <= last], on_lines=on_lines).assign(steps=last) for last in asked)


def rate_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank of each step size for each class and number of steps, as text; the one taken is bold."""
    table: dict[str, dict[str, str]] = {}
    for line in rates.itertuples(index=False):
        column = f"{line.steps} steps of {line.learning_rate:g}"
        text = f"{line.mean_rank:.2f}"
        table.setdefault(str(line.series), {})[column] = f"**{text}**" if line.chosen else text
    return pd.DataFrame(table).T.rename_axis("class").reset_index().fillna("")
