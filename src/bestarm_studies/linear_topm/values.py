"""Values and tables of the Top-m paper: sample complexities, the authors' own runs, growth, complexity constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bestarm.designs.l1_design import l1_designs
from bestarm.experiments.experiment import Experiment
from bestarm.policies.gifa import Gifa
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.problems.recorded_rewards import RecordedRewards
from bestarm.reporting.section import Section
from bestarm.reporting.values import QUANTILES, as_values, summarise
from bestarm_studies.linear_topm.complexity import (
    lucb_complexity,
    m_lingape_complexity,
    m_lingape_optimised_complexity,
    ugape_complexity,
)
from bestarm_studies.linear_topm.misspecified import MisspecifiedBandit

FORMULAS = {
    "LUCB": "2 Σ max(ε/2, Δ)⁻²",
    "UGapE": "2 Σ max(ε, (ε+Δ)/2)⁻²",
    "m-LinGapE (1), largest variance": "4σ² Σ max(ε, (ε+Δ)/3)⁻²",
    "m-LinGapE (2), optimised": "σ² Σ_a max_{i,j} |w*_a(i,j)| max(ε, (ε+Δ_i)/3, (ε+Δ_j)/3)⁻²",
}


def error_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return the error frequency of each series "A | change" with Wilson's interval; the series is A, x the change."""
    found = summarise(rows.assign(wrong=1.0 - rows["correct"]), {"error rate": ("wrong", "share")}, profile=profile)
    parts = found["series"].str.partition(" | ")
    return as_values(found, panel=panel, series=parts[0], x=parts[2])


def sample_complexity_values(
    rows: pd.DataFrame, panel: str, profile: str, recorded: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return the values of one panel of sample complexities, in the columns of a figure's CSV.

    Parameters
    ----------
    rows : DataFrame
        Final rows of an experiment: ``convention, series, replication, pulls, correct, stopped, data``.
    panel, profile : str
        The panel's letter in the paper; the scale of the run.
    recorded : mapping, optional
        ``n`` and, for each series, [mean, standard deviation, errors] of the authors' own runs.

    Returns
    -------
    DataFrame
        Mean with its 95% t-interval and quantiles of the pulls, error frequency with its 95% Wilson interval, number of
        runs that did not stop, and the authors' means with their 95% normal interval.
    """
    outcomes = rows.assign(pulls=rows["pulls"].astype(float), wrong=1.0 - rows["correct"], open=~rows["stopped"])
    kinds: dict[str, tuple[str, str | float]] = {"mean": ("pulls", "mean")}
    kinds |= {"standard deviation": ("pulls", "standard deviation")}
    kinds |= {name: ("pulls", q) for name, q in QUANTILES.items()}
    kinds |= {"error rate": ("wrong", "share"), "not stopped": ("open", "count")}
    found = summarise(outcomes, kinds, panel=panel, profile=profile)
    coded = found[(found["convention"] == "as_coded") & (found["statistic"] == "mean")]
    theirs = []
    for _, line in coded[coded["series"].isin(list(recorded or {}))].iterrows():
        mean, spread, _ = (recorded or {})[line["series"]]
        reach = 1.96 * spread / np.sqrt((recorded or {})["n"])
        authors = {"statistic": "authors' mean", "value": mean, "low": mean - reach, "high": mean + reach}
        theirs.append({**line, **authors, "n": (recorded or {})["n"]})
    return pd.concat([found, pd.DataFrame(theirs)], ignore_index=True) if theirs else found


def agreement_with_recorded(rows: pd.DataFrame, recorded: Mapping[str, Any]) -> pd.DataFrame:
    """Compare our means as coded with the authors' recorded ones: one z-test a series.

    Returns
    -------
    DataFrame
        ``series, ours, authors, ratio, z, p`` (two-sided, not yet adjusted for the number of tests).
    """
    table = []
    for series, group in rows[rows["convention"] == "as_coded"].groupby("series", sort=False):
        if series not in recorded:
            continue
        theirs, spread, _ = recorded[str(series)]
        pulls = group["pulls"].astype(np.float64)
        z = (pulls.mean() - theirs) / np.sqrt(pulls.var(ddof=1) / len(pulls) + spread**2 / recorded["n"])
        p = 2.0 * stats.norm.sf(abs(z))
        line = {
            "series": series,
            "ours": pulls.mean(),
            "authors": theirs,
            "ratio": pulls.mean() / theirs,
            "z": z,
            "p": p,
        }
        table.append(line)
    return pd.DataFrame(table)


def agreement_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison with the authors' recorded means, formatted, with Holm-adjusted p-values."""
    adjusted = multipletests(agreement["p"], method="holm")[1]
    return pd.DataFrame(
        {
            "instance": agreement["instance"].to_numpy(),
            "series": agreement["series"].to_numpy(),
            "ours": agreement["ours"].map("{:.0f}".format).to_numpy(),
            "authors": agreement["authors"].map("{:.0f}".format).to_numpy(),
            "ratio": agreement["ratio"].map("{:.3f}".format).to_numpy(),
            "z": agreement["z"].map("{:+.2f}".format).to_numpy(),
            "p (Holm)": [f"{p:.3f}" for p in adjusted],
        }
    )


def growth_exponents(rows: Mapping[float, pd.DataFrame]) -> pd.DataFrame:
    """Return by which power of the gap each series' mean sample complexity grows.

    Parameters
    ----------
    rows : mapping of float to DataFrame
        Final rows for each gap, one convention; different gaps are different instances with independent noise. A gap at
        which a run was cut is left out.

    Returns
    -------
    DataFrame
        ``series, slope, low, high, chi2, p, n``: weighted least squares of the log mean on the log gap, the weights
        from the means' standard errors; its 95% interval; a test of the straight line itself; the smallest n.
    """
    rows = {gap: frame for gap, frame in rows.items() if frame["stopped"].all()}
    log_gap = np.log(list(rows))
    table = []
    for series in next(iter(rows.values()))["series"].unique():
        pulls = [_pulls_of(frame, series) for frame in rows.values()]
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


def _pulls_of(rows: pd.DataFrame, series: str) -> pd.Series:
    return rows.loc[rows["series"] == series].set_index("replication")["pulls"].astype(np.float64)


def at_points(rows: Mapping[float | str, pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several experiments as one frame with the point of each as x."""
    return pd.concat([frame.assign(x=x) for x, frame in rows.items()], ignore_index=True)


def run_family(section: Section, points: Mapping[str, float | str]) -> pd.DataFrame:
    """Return the rows of several experiments as one frame with the point of each as x."""
    return at_points({x: section.rows(name) for name, x in points.items()})


def split_series(rows: pd.DataFrame, symbol: str) -> pd.DataFrame:
    """Return rows whose series read ``name, symbol = number`` with the name as series and the number as x.

    Raises
    ------
    ValueError
        If a series does not read so.
    """
    parts = rows["series"].str.extract(rf"^(?P<series>.+), {symbol} = (?P<x>[\d.]+)$")
    if parts.isna().any(axis=None):
        wrong = rows.loc[parts["x"].isna(), "series"].iloc[0]
        raise ValueError(f"expected series such as 'name, {symbol} = 3', got {wrong!r}.")
    return rows.assign(series=parts["series"], x=parts["x"].astype(float))


def prediction_values(problem: MisspecifiedBandit, panel: str, profile: str) -> pd.DataFrame:
    """Return the true mean of each arm, with its linear prediction as x."""
    values = pd.DataFrame({"x": problem.features @ problem.theta, "value": problem.means[0]})
    values["series"] = [f"arm {a}" for a in range(len(values))]
    return as_values(values, panel=panel, statistic="true mean", profile=profile, data=problem.data)


def gifa_parts(experiment: Experiment) -> pd.DataFrame:
    """Return the parts of each gap-index focused algorithm as written: Table 1 of the Top-m paper, in words."""
    lines = {}
    for cell in experiment.cells("laptop"):
        policy = cell.policy
        if not isinstance(policy, Gifa) or cell.convention != "as_written":
            continue
        lines[policy.label] = {
            "algorithm": policy.label,
            "gap index": policy.index,
            "J(t)": "m smallest m-th largest gap indices" if policy.by_gap_index else "m largest means",
            "b(t)": "largest m-th largest gap index" if policy.challenged_by_mth else "largest gap index outside J",
            "selection": policy.selection.replace("_", " "),
            "stops when": "m-th largest gap index ≤ ε on J" if policy.stop == "ugape" else "gap index of (c, b) ≤ ε",
            "initialisation": "one pull each" if policy.initialise else "none",
        }
    return pd.DataFrame(lines.values())


def error_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return error frequencies: one line for each algorithm, one column for each instance and convention."""
    columns = {}
    for instance, frame in rows.items():
        rates = (1.0 - frame["correct"]).groupby([frame["convention"], frame["series"]], sort=False).mean()
        for convention in rates.index.unique(0):
            columns[f"{instance} {convention.replace('_', ' ')}"] = rates[convention].map("{:.3f}".format)
    order = list(dict.fromkeys(s for frame in rows.values() for s in frame["series"]))
    return pd.DataFrame(columns).reindex(order).fillna("–").rename_axis("algorithm").reset_index()


def complexity_table(instances: Mapping[str, tuple[LinearBandit | RecordedRewards, int]], sigma: float) -> pd.DataFrame:
    """Return Table 2 of the Top-m paper: the complexity constants, evaluated at epsilon = 0 on some instances."""
    columns: dict[str, list[str]] = {"algorithm": list(FORMULAS), "complexity constant": list(FORMULAS.values())}
    for name, (bandit, m) in instances.items():
        means, designs = bandit.means[0], l1_designs(bandit.features).weights
        values = (
            lucb_complexity(means, m),
            ugape_complexity(means, m),
            m_lingape_complexity(means, m, sigma=sigma),
            m_lingape_optimised_complexity(means, m, designs, sigma=sigma),
        )
        columns[name] = [f"{value:.5g}" for value in values]
    return pd.DataFrame(columns)


def fraction_table(rows: pd.DataFrame, printed: Mapping[str, tuple[float, int]]) -> pd.DataFrame:
    """Return Table 4 of the Top-m paper in per cent: printed, and under each reading of how it was made."""
    percent = 100.0 * rows.groupby(["series", "convention"], sort=False)["holds"].mean().unstack(sort=False)
    table = percent.map("{:.1f}".format).rename(columns=lambda name: name.replace("_", " ")).reset_index()
    table.insert(1, "printed", [f"{100 * printed[s][0]:.1f}" for s in table["series"]])
    return table.rename_axis(columns=None)


def constant_values(readings: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return Table 5 under each convention, in the columns of a figure's CSV."""
    names = ["m_lingape", "ugape", "gap"]
    frames = [table.melt(["m"], names, var_name="series").assign(convention=c) for c, table in readings.items()]
    return as_values(pd.concat(frames).rename(columns={"m": "x"}), statistic="constant", n=np.nan, profile=profile)
