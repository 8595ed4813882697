"""Tables of the papers, made from the project's own objects and rows, formatted for reading."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from bestarm.designs.l1_design import l1_designs
from bestarm.experiments.experiment import Experiment
from bestarm.policies.gifa import Gifa
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.problems.recorded_rewards import RecordedRewards
from bestarm.reporting.figures import effect_text
from bestarm.reporting.summaries import COLUMNS
from bestarm_studies.linear_topm.complexity import (
    lucb_complexity,
    m_lingape_complexity,
    m_lingape_optimised_complexity,
    ugape_complexity,
)


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


def text_values(table: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return a table of words as the rows of a figure's CSV: one for each entry, its column as the statistic."""
    tidy = table.melt(key, var_name="statistic").rename(columns={key: "series"})
    return tidy.assign(convention="as_written").reindex(columns=COLUMNS)


def error_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return error frequencies: one line for each algorithm, one column for each instance and convention."""
    columns = {}
    for instance, frame in rows.items():
        rates = (1.0 - frame["correct"]).groupby([frame["convention"], frame["series"]], sort=False).mean()
        for convention in rates.index.unique(0):
            columns[f"{instance} {convention.replace('_', ' ')}"] = rates[convention].map("{:.3f}".format)
    order = list(dict.fromkeys(s for frame in rows.values() for s in frame["series"]))
    return pd.DataFrame(columns).reindex(order).fillna("–").rename_axis("algorithm").reset_index()


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


def verdict_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts for reading: one line for each claim and convention."""
    return pd.DataFrame(
        {
            "claim": verdicts["id"],
            "in our words": verdicts["claim"],
            "where": verdicts["where"],
            "convention": verdicts["convention"].str.replace("_", " "),
            "verdict": "**" + verdicts["verdict"] + "**",
            "effect [95% interval]": [effect_text(line) for _, line in verdicts.iterrows()],
            "decided by": verdicts["decided_by"],
            "test": verdicts["test"],
            "caveat": verdicts["caveat"],
        }
    )


FORMULAS = {
    "LUCB": "2 Σ max(ε/2, Δ)⁻²",
    "UGapE": "2 Σ max(ε, (ε+Δ)/2)⁻²",
    "m-LinGapE (1), largest variance": "4σ² Σ max(ε, (ε+Δ)/3)⁻²",
    "m-LinGapE (2), optimised": "σ² Σ_a max_{i,j} |w*_a(i,j)| max(ε, (ε+Δ_i)/3, (ε+Δ_j)/3)⁻²",
}


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


def fraction_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return the frequencies of Table 4 with their 95% Wilson intervals, in the columns of a figure's CSV."""
    lines = []
    for (convention, series), group in rows.groupby(["convention", "series"], sort=False):
        k, n = int(group["holds"].sum()), len(group)
        low, high = proportion_confint(k, n, method="wilson")
        line = {"panel": panel, "series": series, "statistic": "frequency", "value": k / n, "low": low, "high": high}
        lines.append(line | {"n": n, "convention": convention, "profile": profile, "data": "synthetic"})
    return pd.DataFrame(lines).reindex(columns=COLUMNS)


def constant_values(readings: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return Table 5 under each convention, in the columns of a figure's CSV."""
    frames = [
        table.melt(["m"], ["m_lingape", "ugape", "gap"], var_name="series").assign(
            convention=convention, statistic="constant", profile=profile, data="synthetic"
        )
        for convention, table in readings.items()
    ]
    return pd.concat(frames).rename(columns={"m": "x"}).reindex(columns=COLUMNS)


def tidy_values(table: pd.DataFrame, profile: str, *, series: str, statistic: str, value: str) -> pd.DataFrame:
    """Return a table of effects with intervals in the columns of a figure's CSV, from columns of those names."""
    names = {series: "series", statistic: "statistic", value: "value"}
    tidy = table.rename(columns=names).assign(profile=profile)
    return tidy.assign(convention=tidy.get("convention", "as_written")).reindex(columns=COLUMNS)
