"""Values of the Top-m paper: sample complexities, the authors' own runs, growth, families of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.problems.linear_bandit import LinearBandit
from bestarm_lab.experiments.series import algorithm_and_change
from bestarm_lab.figures.values import QUANTILES, as_values, summarise
from bestarm_studies.linear_topm.instances import MisspecifiedBandit
from bestarm_studies.linear_topm.recorded_runs import RECORDED

if TYPE_CHECKING:
    from bestarm_lab.notebooks.section import Section


class Panel(NamedTuple):
    """One panel of sample complexities: its letter, its experiment and that one's title, rows and statistics."""

    letter: str
    name: str
    heading: str
    rows: pd.DataFrame
    values: pd.DataFrame


def sample_complexity_panels(
    section: Section, names: Mapping[str, str], series: Sequence[str] | None = None
) -> list[Panel]:
    """Return the panels of some experiments, letter to name, with the authors' own runs; of all series or of some."""
    panels = []
    for letter, name in names.items():
        rows = section.rows(name)
        rows = rows if series is None else rows[rows["series"].isin(series)]
        values = sample_complexity_values(rows, letter, section.profile, RECORDED.get(name))
        panels.append(Panel(letter, name, section.experiment(name).title, rows, values))
    return panels


def error_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return the error frequency of each series "A | change" with Wilson's interval; the series is A, x the change."""
    found = summarise(rows.assign(wrong=1.0 - rows["correct"]), {"error rate": ("wrong", "share")}, profile=profile)
    parts = pd.DataFrame(map(algorithm_and_change, found["series"]), columns=["series", "x"], index=found.index)
    return as_values(found, panel=panel, **parts)


def sample_complexity_values(
    rows: pd.DataFrame, panel: str, profile: str, recorded: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return the values of one panel of sample complexities, in the columns of a figure's CSV.
    ``recorded``: ``n`` and, for each series, [mean, standard deviation, errors] of the authors' own runs. Means have
    95% t-intervals, error frequencies Wilson's, the authors' means normal ones."""
    outcomes = rows.assign(pulls=rows["pulls"].astype(float), wrong=1.0 - rows["correct"], open=~rows["stopped"])
    kinds: dict[str, tuple[str, str | float]] = {"mean": ("pulls", "mean")}
    kinds |= {"standard deviation": ("pulls", "standard deviation")}
    kinds |= {name: ("pulls", q) for name, q in QUANTILES.items()}
    kinds |= {"error rate": ("wrong", "share"), "not stopped": ("open", "count")}
    found = summarise(outcomes, kinds, panel=panel, profile=profile)
    coded = found[(found["convention"] == "as_coded") & (found["statistic"] == "mean")]
    theirs = []
    recorded = recorded or {}
    for _, line in coded[coded["series"].isin(list(recorded))].iterrows():
        (mean, spread, _), n = recorded[line["series"]], recorded["n"]
        reach = 1.96 * spread / np.sqrt(n)
        authors = {"statistic": "authors' mean", "value": mean, "low": mean - reach, "high": mean + reach}
        theirs.append({**line, **authors, "n": n})
    return pd.concat([found, pd.DataFrame(theirs)], ignore_index=True) if theirs else found


def agreement_with_recorded(rows: pd.DataFrame, recorded: Mapping[str, Any]) -> pd.DataFrame:
    """Compare our means as coded with the authors' recorded ones: one z-test a series.
    Returns ``series, ours, authors, ratio, z, p`` (two-sided, not yet adjusted for the number of tests)."""
    coded = rows[(rows["convention"] == "as_coded") & rows["series"].isin(list(recorded))]
    ours = coded.astype({"pulls": np.float64}).groupby("series", sort=False)["pulls"].agg(["mean", "var", "size"])
    theirs = pd.DataFrame([recorded[s] for s in ours.index], ours.index, ["mean", "spread", "errors"])
    z = (ours["mean"] - theirs["mean"]) / np.sqrt(ours["var"] / ours["size"] + theirs["spread"] ** 2 / recorded["n"])
    found = {"ours": ours["mean"], "authors": theirs["mean"], "ratio": ours["mean"] / theirs["mean"]}
    return pd.DataFrame(found | {"z": z, "p": 2.0 * stats.norm.sf(z.abs())}).reset_index()


def growth_exponents(rows: Mapping[float, pd.DataFrame]) -> pd.DataFrame:
    """Return by which power of the gap each series' mean sample complexity grows.
    ``rows``: final rows by gap, of one convention; a gap at which a run was cut is left out. ``slope``: weighted least
    squares of the log mean on the log gap, by the means' errors; ``chi2, p``: a test of the straight line."""
    rows = {gap: frame for gap, frame in rows.items() if frame["stopped"].all()}
    log_gap = np.log(list(rows))
    table = []
    for series in next(iter(rows.values()))["series"].unique():
        pulls = [frame.loc[frame["series"] == series, "pulls"].astype(np.float64) for frame in rows.values()]
        log_mean = np.log([p.mean() for p in pulls])
        errors = np.array([p.std(ddof=1) / p.mean() / np.sqrt(len(p)) for p in pulls])
        design = np.stack([np.ones_like(log_gap), log_gap], axis=1) / errors[:, None]
        covariance = np.linalg.inv(design.T @ design)
        intercept, slope = covariance @ design.T @ (log_mean / errors)
        reach = stats.norm.ppf(0.975) * np.sqrt(covariance[1, 1])
        misfit = float((((log_mean - intercept - slope * log_gap) / errors) ** 2).sum())
        line = {"series": series, "slope": slope, "low": slope - reach, "high": slope + reach}
        test = {"chi2": misfit, "p": stats.chi2.sf(misfit, len(log_gap) - 2)}
        table.append(line | test | {"n": min(len(p) for p in pulls)})
    return pd.DataFrame(table)


def ratio_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return quantiles of the ratio H(m-LinGapE (2)) / H(UGapE) over random instances, as written and as coded."""
    kinds = {name: ("ratio", q) for name, q in (QUANTILES | {"largest": 1.0}).items()}
    return summarise(rows[rows["convention"].isin(["as_written", "as_coded"])], kinds, profile=profile)


def run_family(section: Section, points: Mapping[str, float | str]) -> pd.DataFrame:
    """Return the rows of several experiments as one frame with the point of each as x."""
    return pd.concat([section.rows(name).assign(x=x) for name, x in points.items()], ignore_index=True)


def split_series(rows: pd.DataFrame, symbol: str) -> pd.DataFrame:
    """Return rows whose series read ``name, symbol = number`` with the name as series and the number as x.
    Raises ValueError if a series does not read so."""
    parts = rows["series"].str.extract(rf"^(?P<series>.+), {symbol} = (?P<x>[\d.]+)$")
    if parts.isna().any(axis=None):
        wrong = rows.loc[parts["x"].isna(), "series"].iloc[0]
        raise ValueError(f"expected series such as 'name, {symbol} = 3', got {wrong!r}.")
    return rows.assign(series=parts["series"], x=parts["x"].astype(float))


def plane_values(bandit: LinearBandit, profile: str) -> pd.DataFrame:
    """Return the two features and the mean of each arm; the series is its number, from 1."""
    table = pd.DataFrame(bandit.features, columns=["feature 1", "feature 2"]).assign(mean=bandit.means[0])
    table["series"] = table.index + 1
    return as_values(table.melt("series", var_name="statistic"), profile=profile)


def prediction_values(problem: MisspecifiedBandit, panel: str, profile: str) -> pd.DataFrame:
    """Return the true mean of each arm, with its linear prediction as x."""
    values = pd.DataFrame({"x": problem.features @ problem.theta, "value": problem.means[0]})
    values["series"] = [f"arm {a}" for a in range(len(values))]
    return as_values(values, panel=panel, statistic="true mean", profile=profile, data=problem.data)
