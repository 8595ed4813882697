"""Tables of the GSE notebooks: gaps, settings, linearity, rounded designs, effects of changes, pulls really spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.designs.rounding import RoundingMethod, round_design, uniform_counts
from bestarm.streams import Streams
from bestarm_lab.figures.values import as_values, interval_text, paired_effects
from bestarm_studies.gse.bound_rows import example_leverages
from bestarm_studies.gse.values import best_settings

_N_INSTANCES = 200  # random instances behind a gap
_BINARY_SIGMA = 0.5  # the largest standard deviation of a reward of 0 or 1
_ROUNDINGS = ("apportionment", "allen-zhu", "multinomial", "ceiling", "uniform")
_ALLOCATIONS = ("uniform", "clusters", "G-optimal")


def instance_gaps(experiments: Mapping[str, Any], profile: str) -> pd.DataFrame:
    """Return the gap between the best two means in standard deviations of one reward, a series for each experiment.

    Instances are drawn anew for each run: in each cell of the experiment the median and the largest of 200 of them are
    taken. Statistics are the smallest and the largest median over the cells, and the largest gap of all.
    """
    lines = []
    for name, experiment in experiments.items():
        cells = {tuple(cell.where.items()): cell for cell in experiment.cells("laptop")}
        for cell in cells.values():
            problem = cell.build().take(np.arange(_N_INSTANCES))
            means = np.sort(problem.means, axis=1)[:, ::-1]
            ratio = (means[:, 0] - means[:, 1]) / getattr(problem, "sigma", _BINARY_SIGMA)
            lines.append({"series": name, "median": np.median(ratio), "largest": ratio.max()})
    grouped = pd.DataFrame(lines).groupby("series", sort=False)
    found = grouped.agg(low=("median", "min"), high=("median", "max"), largest=("largest", "max")).reset_index()
    names = {"low": "smallest median", "high": "largest median", "largest": "largest of all"}
    return as_values(found.rename(columns=names).melt("series", var_name="statistic"), n=_N_INSTANCES, profile=profile)


def setting_values(rows: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return the accuracy of each setting of each rival, averaged over the cells of each tuning experiment.

    The panel is the instance, x the setting, and ``chosen`` marks the best.
    """
    frames = []
    for name, frame in rows.items():
        cells = [c for c in ("gap", "n_arms", "n_features", "budget") if c in frame]
        frames.append(best_settings(frame, cells).assign(panel=name.removeprefix("tune_")))
    found = pd.concat(frames, ignore_index=True).rename(columns={"setting": "x", "accuracy": "value"})
    return as_values(found, statistic="accuracy", profile=profile).assign(chosen=found["chosen"])


def setting_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `setting_values` as texts, the best setting of each rival in bold."""
    shown = [f"**{v:.3f}**" if best else f"{v:.3f}" for v, best in zip(values["value"], values["chosen"], strict=True)]
    table = values.rename(columns={"panel": "instance"}).assign(entry=values["x"] + ": " + pd.Series(shown))
    return table.groupby(["instance", "series"], sort=False)["entry"].agg(" · ".join).reset_index(name="accuracy")


def setting_curves(values: pd.DataFrame) -> pd.DataFrame:
    """Return `setting_values` as curves: a panel for each rival with a numeric setting, a line for each instance."""
    numeric = values[values["x"].str.contains(r"= [\d.]+$")]
    setting = numeric["x"].str.split(" = ").str[1].astype(np.float64)
    return numeric.assign(panel=numeric["series"], series=numeric["panel"], x=setting)


def linearity_table(problems: Mapping[str, Any]) -> pd.DataFrame:
    """Return how linear the targets of tables are: the share of variance that least squares explains."""
    lines = []
    for name, problem in problems.items():
        theta = np.linalg.lstsq(problem.features, problem.target, rcond=None)[0]
        left = problem.target - problem.features @ theta
        line = {"table": name, "rows": len(problem.target), "features": problem.features.shape[1]}
        line |= {"R²": f"{1 - left.var() / problem.target.var():.3f}", "largest miss": f"{np.abs(left).max():.3f}"}
        lines.append(line)
    return pd.DataFrame(lines)


def rounding_values(x: np.ndarray, pulls: Sequence[int], profile: str) -> pd.DataFrame:
    """Return the pulls that roundings of the G-optimal design spend, and their n × largest leverage / d.

    Parameters
    ----------
    x : ndarray, shape (R, K, d)
        Sets of arms; the median over the sets is taken.
    pulls : sequence of int
        n.
    profile : str
        Scale of the run.
    """
    n_sets, n_arms, d = x.shape
    live, streams, lines = np.ones((n_sets, n_arms), dtype=np.bool_), Streams.first(n_sets), []
    weights, key, rows = optimal_design(x, live, DesignRule()).weights, streams.key("rounding"), streams.replications
    for n in pulls:
        budget = np.full(n_sets, n)
        for name in _ROUNDINGS:
            if name == "uniform":
                counts = uniform_counts(live, budget, key, rows, n)
            else:
                counts = round_design(weights, budget, cast(RoundingMethod, name), key, rows, n, x)
            information = np.einsum("rk,rki,rkj->rij", counts, x, x)
            leverage = np.einsum("rki,rij,rkj->rk", x, np.linalg.pinv(information), x).max(axis=1)
            for statistic, value in (
                ("leverage", np.median(leverage * n / d)),
                ("spent", counts.sum(axis=1).mean()),
            ):
                lines.append({"series": name, "x": n, "statistic": statistic, "value": value})
    return as_values(pd.DataFrame(lines), panel=f"K = {n_arms}, d = {d}", n=n_sets, profile=profile)


def rounding_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `rounding_values` as a table."""
    table = values.pivot(index=["x", "series"], columns="statistic", values="value")
    order = pd.MultiIndex.from_frame(values[["x", "series"]].drop_duplicates())
    table = table.reindex(order).round(2).reset_index()[["x", "series", "spent", "leverage"]]
    names = {"x": "pulls asked", "series": "rounding", "leverage": "n × largest leverage / d"}
    return table.rename(columns=names)


def accuracy_effects(
    rows: pd.DataFrame, sizes: Sequence[int], *, name: str, profile: str, per_arm: int = 20, budget: int = 0
) -> pd.DataFrame:
    """Return what each change adds to the accuracy, a panel for each K.

    Parameters
    ----------
    rows : DataFrame
        Series "A" and "A | change".
    sizes : sequence of int
        K; those without rows are left out.
    name : str
        Start of the panels' names.
    profile : str
        Scale of the run.
    per_arm, budget : int
        The budget, or over K; where rows lack it (at the smoke profile), their largest.
    """
    frames = []
    for k in sizes:
        mine = rows[rows["n_arms"] == k]
        if mine.empty:
            continue
        wanted = budget or per_arm * k
        cell = mine[mine["budget"] == (wanted if (mine["budget"] == wanted).any() else mine["budget"].max())]
        panel = f"{name}, K = {k}"
        frames.append(paired_effects(cell, "correct", statistic="accuracy", panel=panel, profile=profile))
    found = pd.concat(frames, ignore_index=True)
    return found.assign(x=found["x"].str.replace("published ", "authors' "))


def effects_by_arms(values: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Return `accuracy_effects` of one algorithm as curves: a series for each change, x the number of arms K."""
    changes = values[values["x"] != ""]
    arms = changes["panel"].str.rpartition("K = ")[2].astype(np.int64)
    return changes.assign(panel=panel, series=changes["x"], x=arms)


def largest_effects(values: pd.DataFrame, n: int = 25) -> pd.DataFrame:
    """Return the largest of some effects as a table of texts."""
    changes = values[values["x"] != ""].reset_index(drop=True)
    largest = changes.loc[changes["value"].abs().sort_values(ascending=False, kind="stable").index[:n]]
    texts = [interval_text(*line) for line in largest[["value", "low", "high"]].itertuples(index=False)]
    table = largest[["panel", "series", "x"]].assign(change=texts, n=largest["n"])
    return table.rename(columns={"panel": "where", "series": "algorithm", "x": "difference", "change": "accuracy"})


def pulls_spent(audits: Mapping[str, pd.DataFrame], tolerance: float = 0.06) -> pd.DataFrame:
    """Return the share of the budget that was spent, where it is off by more than the tolerance."""
    frames = []
    for name, rows in audits.items():
        share = (rows["pulls"] / rows["budget"]).groupby([rows["series"], rows["n_arms"]], sort=False).mean()
        frames.append(share.rename("share").reset_index().assign(audit=name))
    found = pd.concat(frames)
    found = found[found["share"].sub(1).abs() > tolerance]
    found = found.assign(series=found["series"].str.replace("published ", "authors' "))
    table = found.pivot_table(index=["audit", "series"], columns="n_arms", values="share", sort=False)
    table = table[sorted(table.columns)]
    table.columns = [f"K = {k}" for k in table.columns]
    return table.map(lambda share: "" if pd.isna(share) else f"{share:.2f}").reset_index()


def cluster_values(sizes: Sequence[int], seed: int, profile: str) -> pd.DataFrame:
    """Return the pulls of the lone arm and the largest leverage in the example of Appendix H, by allocation and K."""
    lines = []
    for k in sizes:
        pulls, leverages = example_leverages(k, seed)
        for name, n, leverage in zip(_ALLOCATIONS, pulls, leverages, strict=True):
            lines.append({"series": name, "x": k, "statistic": "pulls of the lone arm", "value": n})
            lines.append({"series": name, "x": k, "statistic": "leverage", "value": leverage})
    return as_values(pd.DataFrame(lines), panel="example", profile=profile)


def cluster_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `cluster_values` as a table of texts, a line for each K."""
    form = {"pulls of the lone arm": "{:.0f}", "leverage": "{:.4f}"}
    texts = [form[s].format(v) for s, v in zip(values["statistic"], values["value"], strict=True)]
    heads = values["series"] + ": " + values["statistic"]
    table = values.assign(text=texts, head=heads).pivot(index="x", columns="head", values="text")
    order = [f"{name}: {statistic}" for statistic in form for name in _ALLOCATIONS]
    return table[order].rename_axis(columns=None).reset_index().rename(columns={"x": "K"})
