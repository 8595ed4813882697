"""Values of the GPOO paper's figures: reward functions, regret over budgets, over K and S, and over settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bestarm_lab.experiments.series import setting_of_each
from bestarm_lab.figures.values import as_values, mean_interval, paired_effects, summarise, text_table
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.functions import DesignedBandit
from bestarm_studies.gpoo.series import CHILDREN_AND_REPRESENTATIVES

BUDGETS = (10, 80)  # regrets are averaged between these where one number stands for a curve
RIVALS = {"S = 1": ("StoOO", "GPTree"), "S = 10": ("AVE-StoOO", "GPTree")}  # of GPOO, for each S


def regret_of(metric: str) -> dict[str, tuple[str, str | float]]:
    """Return the statistics of a column of regrets: its mean and its standard deviation over runs."""
    return {"mean": (metric, "mean"), "standard deviation": (metric, "standard deviation")}


REGRET = regret_of("aggregated_regret")


def function_values(problem: CellBandit, panel: str, convention: str, profile: str) -> pd.DataFrame:
    """Return a reward function on 401 points of its interval, and its best point, as plotted values."""
    x = np.linspace(problem.partition.lower[0], problem.partition.upper[0], 401)
    where, best = problem.best
    curve = pd.DataFrame({"x": x, "value": problem.evaluate(x[:, None]), "statistic": "f"})
    top = pd.DataFrame({"x": where[:, 0], "value": best, "statistic": "optimum"})
    found = pd.concat([curve, top], ignore_index=True)
    return as_values(found, panel=panel, series="f", convention=convention, profile=profile)


def both_functions(problem: DesignedBandit, panel: str, profile: str) -> pd.DataFrame:
    """Return a reward function as the paper writes it and as the authors' code makes it, as plotted values."""
    conventions = {"as_written": problem, "as_coded": problem.as_coded()}
    return pd.concat([function_values(one, panel, convention, profile) for convention, one in conventions.items()])


def regret_values(
    rows: Mapping[str, pd.DataFrame], profile: str, metrics: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return mean and standard deviation of a regret over budgets, one panel for each frame of rows.

    ``metrics`` maps panels to columns; by default every panel shows the aggregated regret.
    """
    found = [
        summarise(
            frame, regret_of((metrics or {}).get(panel, "aggregated_regret")), x="budget", panel=panel, profile=profile
        )
        for panel, frame in rows.items()
    ]
    return pd.concat(found, ignore_index=True)


def regret_table(values: pd.DataFrame, budgets: Sequence[int]) -> pd.DataFrame:
    """Return mean regrets at some budgets as text, with 95% intervals."""
    entry, index = "{value:.3f} [{low:.3f}, {high:.3f}]", ("panel", "convention", "series")
    return text_table(values[values["x"].isin(budgets)], "mean", entry, index=index, columns="N = {x:g}")


def log_regret_grid(rows: pd.DataFrame, budgets: Sequence[int], profile: str) -> pd.DataFrame:
    """Return the natural logarithm of the mean regret for each K and S, with the interval's ends on the same scale.

    The rows are those of `CHILDREN_AND_REPRESENTATIVES`; the panel is the budget, the series K, x is S.
    """
    mine = rows[rows["budget"].isin(budgets)]
    found = summarise(mine, {"log mean": ("aggregated_regret", "mean")}, panel="N = {budget}", profile=profile)
    logs = {name: np.log(found[name].clip(lower=1e-12)) for name in ("value", "low", "high")}
    arity, size = (
        found["series"].map(setting_of_each(CHILDREN_AND_REPRESENTATIVES, setting))
        for setting in ("arity", "n_representatives")
    )
    return found.assign(series="K = " + arity.astype(str), x=size, **logs)


def audit_effects(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return what each change of an audit adds to the regret at 30, 50 and 80 evaluations, and over `BUDGETS`."""
    measures = {f"N = {n}": (n, n) for n in (30, 50, 80)} | {"mean over N = {}-{}".format(*BUDGETS): BUDGETS}
    return pd.concat(
        [
            paired_effects(
                rows[rows["budget"].between(*ends)], "aggregated_regret", statistic=name, panel=panel, profile=profile
            )
            for name, ends in measures.items()
        ],
        ignore_index=True,
    )


def slope_values(
    growth: pd.DataFrame, slopes: Mapping[str, pd.DataFrame], controls: Mapping[str, pd.DataFrame], profile: str
) -> pd.DataFrame:
    """Return what the slope of GPTree's modulus does, as plotted values; x is the slope.

    Parameters
    ----------
    growth : DataFrame
        Rows of `bestarm_studies.gpoo.trees.growth_rows`, with series "GPTree, slope s".
    slopes : mapping of str to DataFrame
        Function to rows of regret of the same series.
    controls : mapping of str to DataFrame
        Function to rows that have the series "GP-UCB on 64 cells".
    profile : str
        Scale.

    Returns
    -------
    DataFrame
        Panel "leaves": how many there are before the first reward. One panel for each function: the mean regret over
        `BUDGETS`, of GP-UCB the same at every slope, and ``off peak``, the share of runs that end off the highest peak.
    """

    def by_slope(rows: pd.DataFrame) -> pd.DataFrame:
        slope = rows["series"].str.extract(r"slope ([\d.]+)")[0].astype(float)
        return rows.assign(x=slope, series="GPTree")

    first = growth[growth["round"] == 1]
    found = [summarise(by_slope(first), {"leaves": ("n_leaves", "mean")}, x="x", panel="leaves", profile=profile)]
    for name, rows in slopes.items():
        mine = by_slope(rows[rows["budget"].between(*BUDGETS)])
        control = controls[name][controls[name]["series"] == "GP-UCB on 64 cells"]
        control = control[control["budget"].isin(mine["budget"])]
        places = pd.DataFrame({"x": mine["x"].unique()})
        runs = pd.concat([mine, control.drop(columns="x", errors="ignore").merge(places, how="cross")])
        keys = ["convention", "series", "x", "replication", "data"]
        means = runs.groupby(keys, sort=False)["aggregated_regret"].mean().reset_index()
        last = runs[runs["budget"] == BUDGETS[1]]
        found.append(summarise(means, {"mean": ("aggregated_regret", "mean")}, x="x", panel=name, profile=profile))
        found.append(summarise(last, {"off peak": ("off_peak", "share")}, x="x", panel=name, profile=profile))
    return pd.concat(found, ignore_index=True)


def effects_table(values: pd.DataFrame, statistics: Sequence[str], change: str) -> pd.DataFrame:
    """Return as text each algorithm's regret as written and what a change adds, with 95% intervals."""
    lines = []
    for (panel, series), group in values.groupby(["panel", "series"], sort=False):
        for statistic in statistics:
            mine = group[group["statistic"] == statistic].set_index("x")
            if change not in mine.index:
                continue
            added = mine.loc[change]
            lines.append(
                {
                    "function": panel,
                    "algorithm": series,
                    "measure": statistic,
                    "as written": f"{float(mine['value'].loc['']):.3f}",
                    change: f"{added['value']:+.3f} [{added['low']:+.3f}, {added['high']:+.3f}]",
                }
            )
    return pd.DataFrame(lines)


def setting_values(
    rows: pd.DataFrame, panel: str, profile: str, budgets: Sequence[int], metric: str = "aggregated_regret"
) -> pd.DataFrame:
    """Return mean regret with 95% intervals at some budgets; series are "S = s, setting", split into series and x.

    The statistic is "N = budget".
    """
    mine = rows[rows["budget"].isin(budgets)]
    found = summarise(mine, {"mean": (metric, "mean")}, panel="N = {budget}", profile=profile)
    parts = found["series"].str.split(", ", n=1, expand=True)
    return found.assign(statistic=found["panel"], panel=panel, series=parts[0], x=parts[1])


def setting_effects(
    found: Mapping[str, pd.DataFrame], references: Mapping[str, str], budget: int, panel: str, profile: str
) -> pd.DataFrame:
    """Return what each setting adds to GPOO's regret at one budget: paired differences with 95% intervals.

    Parameters
    ----------
    found : mapping of str to DataFrame
        What is varied to rows whose series are "S = s, setting".
    references : mapping of str to str
        What is varied to the setting that the others are compared with.
    budget : int
        Number of evaluations.
    panel, profile : str
        Function; scale.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV: the series is "GPOO (S = s)", x the setting, and empty for the reference itself.
    """
    table = []
    for varied, rows in found.items():
        mine = rows[rows["budget"] == budget]
        lines: dict[str, dict[str, tuple[str, str]]] = {}
        for label in mine["series"].unique():
            size, _, setting = label.partition(", ")
            reference = f"{size}, {references[varied]}"
            name = "" if label == reference else setting
            lines.setdefault(f"GPOO ({size})", {})[name] = (label, reference)
        statistic = f"N = {budget}"
        table.append(
            paired_effects(mine, "aggregated_regret", statistic=statistic, panel=panel, profile=profile, lines=lines)
        )
    effects = pd.concat(table, ignore_index=True)
    return effects[~effects.duplicated(["series", "x", "convention"])]


def difference_values(
    rows: Mapping[str, pd.DataFrame],
    lines: Mapping[str, tuple[str, str]],
    profile: str,
    metrics: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return paired differences of mean regret at every budget, with 95% intervals, one panel for each frame of rows.

    Parameters
    ----------
    rows : mapping of str to DataFrame
        Panel to rows.
    lines : mapping
        Series to (left, right): what is subtracted is on the right. Where a convention lacks one of the two, it has no
        such line.
    profile : str
        Scale.
    metrics : mapping of str to str, optional
        Panel to column; by default every panel compares the aggregated regret.
    """
    table = []
    for panel, frame in rows.items():
        metric = (metrics or {}).get(panel, "aggregated_regret")
        for convention, mine in frame.groupby("convention", sort=False):
            wide = mine.pivot_table(index=["budget", "replication"], columns="series", values=metric)
            for series, (left, right) in lines.items():
                if not {left, right} <= set(wide):
                    continue
                for budget, runs in (wide[left] - wide[right]).dropna().groupby(level="budget"):
                    value, low, high = mean_interval(runs)
                    line = {"panel": panel, "series": series, "x": budget, "value": value, "low": low, "high": high}
                    table.append(line | {"n": len(runs), "convention": convention, "data": mine["data"].iloc[0]})
    return as_values(pd.DataFrame(table), statistic="difference", profile=profile)


def ranking_values(
    settings: pd.DataFrame, others: pd.DataFrame, rivals: Mapping[str, Sequence[str]], panel: str, profile: str
) -> pd.DataFrame:
    """Return how GPOO under each setting stands against other algorithms: paired differences of mean regret.

    Parameters
    ----------
    settings : DataFrame
        Rows whose series are "S = s, setting".
    others : DataFrame
        Rows of the other algorithms on the same function, hence on the same noise.
    rivals : mapping
        For each "S = s" the series of ``others`` that it is compared with.
    panel, profile : str
        Function; scale.

    Returns
    -------
    DataFrame
        Columns of a figure's CSV: x is the setting, the series "S = s against rival", the statistic the measure; a
        value below 0 is in GPOO's favour.
    """
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


def rankings(
    settings: Mapping[str, Mapping[str, pd.DataFrame]], others: Mapping[str, pd.DataFrame], profile: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `ranking_values` against `RIVALS` on every function, and `ranking_table` for each thing that is varied.

    Parameters
    ----------
    settings : mapping
        What is varied to function to rows.
    others : mapping of str to DataFrame
        Function to rows of the rivals.
    profile : str
        Scale.
    """
    values, tables = [], []
    for varied, rows in settings.items():
        mine = pd.concat([ranking_values(rows[f], others[f], RIVALS, f, profile) for f in rows], ignore_index=True)
        values.append(mine)
        tables.append(ranking_table(mine).assign(varied=varied))
    columns = ["varied", "convention", "setting", "better", "worse", "undecided"]
    return pd.concat(values, ignore_index=True), pd.concat(tables)[columns]
