"""Settings of GPOO and other readings of the text, each with single and with average feedback."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.kernels import Stationary
from bestarm.policies.cells.gpoo import Gpoo
from bestarm_lab.claims.cells import Rows
from bestarm_lab.experiments.series import Series
from bestarm_lab.figures.figures import draw_lines, headed, legend_below, runs_text, wide
from bestarm_lab.figures.styles import CONVENTIONS, Style
from bestarm_lab.figures.values import as_values, mean_interval, paired_effects, summarise
from bestarm_studies.gpoo.series import FEEDBACKS, GPOO, KERNEL_VARIANCE, gpoo
from bestarm_studies.gpoo.values import BUDGETS

SIZE_STYLES = {"S = 1": Style("#0072B2", "s"), "S = 10": Style("#4B97E2", "o", "--")}
RIVALS = {"S = 1": ("StoOO", "GPTree"), "S = 10": ("AVE-StoOO", "GPTree")}  # of GPOO, for each S


def of_policy(readings: Mapping[str, partial[Gpoo]]) -> dict[str, Series]:
    """Return each policy with single and with average feedback."""
    return {f"S = {size}, {name}": gpoo(size, policy) for name, policy in readings.items() for size in FEEDBACKS}


def of_problem(readings: Mapping[str, Mapping[str, Any]]) -> dict[str, Series]:
    """Return GPOO on each problem, given by its settings, with single and with average feedback."""
    return {f"S = {size}, {name}": gpoo(size, **problem) for name, problem in readings.items() for size in FEEDBACKS}


DELTA_SCALES = of_policy({f"c = {c}": partial(GPOO, delta_scale=float(c)) for c in (1, 2, 4, 8, 14, 28)})
BETAS = of_policy(
    {
        **{f"θ = {theta}": partial(GPOO, theta=theta) for theta in (0.01, 0.1, 0.5)},
        "β of the code": partial(GPOO, beta="as_coded"),
    }
)
LENGTHSCALES = of_policy(
    {
        f"ℓ = {lengthscale}": partial(GPOO, kernel=Stationary("rbf", KERNEL_VARIANCE, lengthscale))
        for lengthscale in (0.01, 0.02, 0.05, 0.1)  # 0.01 is what makes f3
    }
)
ORDERS = of_policy(
    {
        "as read here": GPOO,
        "width before": partial(GPOO, width_before=True),
        "ties at random": partial(GPOO, random_ties=True),
    }
)
FUNCTION_READINGS = of_problem(
    {
        "variance 0.005": {},
        "standard deviation 0.005": {"conditioning_variance": 0.000025},
        "nine regions": {"n_regions": 9},
    }
)
FEEDBACK_READINGS = of_problem(
    {"representatives": {}, "whole cell": {"feedback": "average"}, "integral": {"feedback": "integral"}}
)


def setting_values(rows: pd.DataFrame, panel: str, profile: str, budgets: Sequence[int]) -> pd.DataFrame:
    """Return mean regret with 95% intervals at some budgets; series are "S = s, setting", split into series and x."""
    mine = rows[rows["budget"].isin(budgets)]
    found = summarise(mine, {"mean": ("aggregated_regret", "mean")}, panel="N = {budget}", profile=profile)
    parts = found["series"].str.split(", ", n=1, expand=True)
    return found.assign(statistic=found["panel"], panel=panel, series=parts[0], x=parts[1])


def setting_effects(found: Rows, references: Mapping[str, str], budget: int, panel: str, profile: str) -> pd.DataFrame:
    """Return what each setting adds to GPOO's regret at one budget: paired differences with 95% intervals.
    ``found``: what is varied to rows whose series are "S = s, setting"; ``references``: what is varied to the setting
    that the others are compared with. The series is "GPOO (S = s)", x the setting, empty for the reference."""
    table = []
    for varied, rows in found.items():
        mine = rows[rows["budget"] == budget]
        lines: dict[str, dict[str, tuple[str, str]]] = {}
        for label in mine["series"].unique():
            size, _, setting = label.partition(", ")
            reference = f"{size}, {references[varied]}"
            lines.setdefault(f"GPOO ({size})", {})["" if label == reference else setting] = (label, reference)
        given: dict[str, Any] = {"statistic": f"N = {budget}", "panel": panel, "profile": profile}
        table.append(paired_effects(mine, "aggregated_regret", lines=lines, **given))
    effects = pd.concat(table, ignore_index=True)
    return effects[~effects.duplicated(["series", "x", "convention"])]


def settings_figure(values: pd.DataFrame, *, title: str, x: str = "") -> Figure:
    """Return regret against a setting: a column for each function, a row for each convention."""
    conventions = [c for c in CONVENTIONS if c in set(values["convention"])]
    panels = list(dict.fromkeys(values["panel"]))
    budgets = sorted(values["statistic"].unique(), key=lambda text: int(text.split()[-1]))
    numbers = pd.to_numeric(values["x"].astype(str).str.extract(r"^\D*?([\d.]+)$")[0])
    shown = values.assign(x=numbers, series=values["series"] + ", " + values["statistic"])
    styles = {
        f"{size}, {budget}": Style(colour, marker, "-" if budget == budgets[-1] else "--")
        for size, (colour, marker, _) in SIZE_STYLES.items()
        for budget in budgets
    }
    size = wide(len(conventions), 2.5)
    figure, axes = plt.subplots(len(conventions), len(panels), figsize=size, squeeze=False, sharey="row")
    for row, convention in enumerate(conventions):
        for axis, panel in zip(axes[row], panels, strict=True):
            mine = shown[(shown["panel"] == panel) & (shown["convention"] == convention)]
            draw_lines(axis, mine, list(styles), styles=styles, log="x", possible=(0.0, None))
            for line in axis.lines:
                if str(line.get_label()).endswith(budgets[0]) and len(budgets) > 1:
                    line.set(markerfacecolor="white", markeredgecolor=line.get_color(), markeredgewidth=1.2)
            axis.set(title=panel, xlabel=x if row == len(conventions) - 1 else "")
        axes[row, 0].set_ylabel(f"{CONVENTIONS[convention]}\nmean regret")
    legend_below(figure, list(styles))
    return headed(figure, title, runs_text(values["n"]), "bars: 95% intervals")


def ranking_values(
    settings: pd.DataFrame, others: pd.DataFrame, rivals: Mapping[str, Sequence[str]], panel: str, profile: str
) -> pd.DataFrame:
    """Return how GPOO under each setting stands against other algorithms: paired differences of mean regret.
    Series of ``settings`` are "S = s, setting"; ``others`` are on the same noise; ``rivals``: for each "S = s" series
    of ``others``. x is the setting, the series "S = s against rival"; a value below 0 is in GPOO's favour."""
    budgets = sorted(set(settings["budget"]) & set(range(BUDGETS[0], BUDGETS[1] + 1)))
    both = pd.concat([settings, others])
    both = both[both["budget"].isin(budgets) & both["budget"].between(*BUDGETS)]
    means = both.groupby(["convention", "series", "replication"], sort=True)["aggregated_regret"].mean()
    table = []
    for convention, series in settings[["convention", "series"]].drop_duplicates().itertuples(index=False):
        size, _, setting = series.partition(", ")
        for rival in rivals[size]:
            difference = (means[convention, series] - means[convention, rival]).dropna()
            mean, low, high = mean_interval(difference)
            line = {"series": f"{size} against {rival}", "x": setting, "value": mean, "low": low, "high": high}
            table.append(line | {"n": len(difference), "convention": convention})
    name = "mean over N = {}-{}".format(*BUDGETS)
    return as_values(pd.DataFrame(table), panel=panel, statistic=name, profile=profile)


def ranking_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return for each setting in how many comparisons GPOO is better, worse, or neither (95% interval)."""
    verdict = np.select([values["high"] < 0, values["low"] > 0], ["better", "worse"], "undecided")
    counts = pd.crosstab([values["convention"], values["x"]], verdict).reindex(columns=["better", "worse", "undecided"])
    order = values[["convention", "x"]].drop_duplicates()
    counts = counts.fillna(0).astype(int).reindex(pd.MultiIndex.from_frame(order))
    table = counts.reset_index().rename(columns={"x": "setting"})
    return table.assign(convention=table["convention"].str.replace("_", " "))


def rankings(settings: Mapping[str, Rows], others: Rows, profile: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `ranking_values` against `RIVALS` on every function, and `ranking_table` for each thing that is varied.
    ``settings``: what is varied to function to rows; ``others``: function to rows of the rivals."""
    values, tables = [], []
    for varied, rows in settings.items():
        mine = pd.concat([ranking_values(rows[f], others[f], RIVALS, f, profile) for f in rows], ignore_index=True)
        values.append(mine)
        tables.append(ranking_table(mine).assign(varied=varied))
    columns = ["varied", "convention", "setting", "better", "worse", "undecided"]
    return pd.concat(values, ignore_index=True), pd.concat(tables)[columns]
