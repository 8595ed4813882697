"""Tables of the Top-m paper, and those that stand beside its figures, as texts for reading."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from bestarm.designs.l1_design import l1_designs
from bestarm.policies.linear.gifa import Gifa
from bestarm.problems.linear_bandit import LinearBandit
from bestarm_lab.claims.kinds import Share
from bestarm_lab.claims.verdicts import VERDICTS
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.figures.styles import CONVENTIONS
from bestarm_lab.figures.values import as_values, interval_text
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm import complexity
from bestarm_studies.linear_topm.drug_instance import RecordedRewards
from bestarm_studies.linear_topm.recorded_runs import RECORDED
from bestarm_studies.linear_topm.values import Panel, agreement_with_recorded

FORMULAS = {
    "LUCB": "2 Σ max(ε/2, Δ)⁻²",
    "UGapE": "2 Σ max(ε, (ε+Δ)/2)⁻²",
    "m-LinGapE (1), largest variance": "4σ² Σ max(ε, (ε+Δ)/3)⁻²",
    "m-LinGapE (2), optimised": "σ² Σ_a max_{i,j} |w*_a(i,j)| max(ε, (ε+Δ_i)/3, (ε+Δ_j)/3)⁻²",
}


def runs_table(panels: Sequence[Panel]) -> pd.DataFrame:
    """Return what was run: algorithms, runs of each, and whether all of them stopped."""
    lines = []
    for panel in panels:
        runs = panel.rows.groupby(["convention", "series"], sort=False).size()
        stopped = "yes" if panel.rows["stopped"].all() else "no"
        line = {"panel": panel.letter, "instance": panel.heading, "algorithms": panel.rows["series"].nunique()}
        lines.append(line | {"runs of each": runs.min(), "all stopped": stopped})
    return pd.DataFrame(lines)


def recorded_agreement(panels: Sequence[Panel]) -> pd.DataFrame:
    """Return our means as coded beside the authors' recorded ones, for reading; one z-test a series, Holm-adjusted."""
    found = [agreement_with_recorded(p.rows, RECORDED[p.name]).assign(instance=f"({p.letter})") for p in panels]
    return agreement_table(pd.concat(found))


def agreement_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison with the authors' recorded means, formatted, with Holm-adjusted p-values."""
    formats = {"ours": "{:.0f}", "authors": "{:.0f}", "ratio": "{:.3f}", "z": "{:+.2f}"}
    texts: dict[str, Any] = {name: agreement[name].map(form.format) for name, form in formats.items()}
    texts["p (Holm)"] = [f"{p:.3f}" for p in multipletests(agreement["p"], method="holm")[1]]
    return agreement[["instance", "series"]].assign(**texts).reset_index(drop=True)


def growth_table(before: Panel, after: Panel) -> pd.DataFrame:
    """Return by how much the mean sample complexity of each algorithm grows from one panel to another."""
    means = [p.values[p.values["statistic"] == "mean"].set_index(["series", "convention"]) for p in (before, after)]
    ratio = (means[1]["value"] / means[0]["value"]).unstack(sort=False)
    ratio.columns = [name.replace("_", " ") for name in ratio.columns]
    return ratio.map("{:.1f}".format).rename_axis("algorithm").reset_index()


def exponent_table(slopes: pd.DataFrame) -> pd.DataFrame:
    """Return growth exponents, as `bestarm_studies.linear_topm.values.growth_exponents` finds them, for reading."""
    exponents = [interval_text(*line) for line in slopes[["slope", "low", "high"]].itertuples(index=False)]
    columns = {"algorithm": slopes["series"], "exponent [95% interval]": exponents}
    return pd.DataFrame(columns | {"straight line, p": slopes["p"].map("{:.3f}".format), "smallest n": slopes["n"]})


def gifa_parts(*experiments: Experiment) -> pd.DataFrame:
    """Return the parts of each gap-index focused algorithm as written: Table 1 of the Top-m paper, in words."""
    lines = {}
    for cell in (cell for experiment in experiments for cell in experiment.cells("laptop")):
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
            complexity.lucb_complexity(means, m),
            complexity.ugape_complexity(means, m),
            complexity.m_lingape_complexity(means, m, sigma=sigma),
            complexity.m_lingape_optimised_complexity(means, m, designs, sigma=sigma),
        )
        columns[name] = [f"{value:.5g}" for value in values]
    return pd.DataFrame(columns)


def fraction_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Table 4 of the Top-m paper in per cent: printed, and under each reading of how it was made."""
    test = load_study("linear_topm").claims["TOPM-C11b"].test
    assert isinstance(test, Share)
    printed = test.printed["tab04"]
    percent = 100.0 * rows.groupby(["series", "convention"], sort=False)["holds"].mean().unstack(sort=False)
    table = percent.map("{:.1f}".format).rename(columns=lambda name: name.replace("_", " ")).reset_index()
    table.insert(1, "printed", [f"{100 * printed[s][0]:.1f}" for s in table["series"]])
    return table.rename_axis(columns=None)


def largest_ratio_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the largest ratio H(m-LinGapE (2)) / H(UGapE) at sigma = 1, by size and normalisation."""
    ratios = rows[rows["sigma"] == 1.0].groupby(["series", "normalisation"], sort=False)["ratio"].max()
    table = ratios.unstack(sort=False).map("{:.3f}".format).rename_axis(columns=None)
    return table.rename(columns={"columns": "columns normalised", "spectral": "spectral norm"}).reset_index()


def constant_values(readings: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return Table 5 under each convention, in the columns of a figure's CSV."""
    names = ["m_lingape", "ugape", "gap"]
    frames = [table.melt(["m"], names, var_name="series").assign(convention=c) for c, table in readings.items()]
    return as_values(pd.concat(frames).rename(columns={"m": "x"}), statistic="constant", n=np.nan, profile=profile)


def verdict_counts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return how many claims have each verdict under each convention."""
    words = [word for word in VERDICTS if word in set(verdicts["verdict"])]
    counts = verdicts.groupby(["convention", "verdict"]).size().unstack(fill_value=0)
    counts = counts.reindex(index=list(CONVENTIONS), columns=words, fill_value=0)
    return counts.rename(index=CONVENTIONS).rename_axis(index="run as", columns=None).reset_index()
