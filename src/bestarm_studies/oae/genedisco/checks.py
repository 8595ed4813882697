"""The values that claims on GeneDisco compare, after the last batch of a search."""

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Test, Value
from bestarm_lab.study import load_printed
from bestarm_studies.oae.genedisco.gene_screen import chance_law, hit_count

RANDOM = "Random"
SUITE_MEAN = "mean of the suite"
SUITE = ("Random", "TopUncertain", "SoftUncertain", "Margin", "CoreSet", "BADGE", "KMeans", "AdversarialBIM")
# genes with an effect and a descriptor, which a test checks against the data
GENES = {"IFNg": 17479, "IL2": 17479, "NK": 17558, "SARS-CoV-2": 16806}
GENES_CODED = {"IFNg": 16673, "IL2": 16673, "NK": 16675, "SARS-CoV-2": 16402}
OF_PAPER = load_printed("oae")["12_genedisco/fig05"]  # the paper's table
PRINTED = {
    str(series): dict(zip(mine["panel"], mine["value"], strict=True))
    for series, mine in OF_PAPER.groupby("series", sort=False)
}


def last_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows after the last batch of every run."""
    return rows[rows["round"] == rows["round"].max()]


def n_genes(name: str, convention: str) -> int:
    """Return the number of genes of a screen on the group effects."""
    return (GENES_CODED if convention == "as_coded" else GENES)[name]


def chance(name: str, convention: str, acquired: float) -> tuple[float, float, float]:
    """Return mean and 2.5% and 97.5% quantiles of the hit ratio of so many random genes, by the exact law."""
    genes = n_genes(name, convention)
    if acquired == 0:
        return 0.0, 0.0, 0.0
    law, hits = chance_law(genes, int(acquired), splits=2 if convention == "as_coded" else 1), hit_count(genes)
    low, high = law.ppf([0.025, 0.975])
    return float(law.mean() / hits), float(low / hits), float(high / hits)


def final_hit_ratio(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the hit ratio after the last batch, runs by series; random genes by their law, and the suite's mean."""
    last = last_rows(rows)
    table = last.pivot(index="replication", columns="series", values="hit_ratio").astype(np.float64)
    if RANDOM in table and (rows["data"] == "real").all():
        first = last.iloc[0]
        table[RANDOM] = chance(str(first["name"]), str(first["convention"]), float(first["pulls"]))[0]
    if set(SUITE) <= set(table):
        table[SUITE_MEAN] = table[list(SUITE)].mean(axis=1)
    return table


def from_printed(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return the hit ratio after the last batch minus the one that the paper prints for the screen and search."""
    table, name = final_hit_ratio(rows, test), str(rows["name"].iloc[0])
    return pd.DataFrame({series: table[series] - printed[name] for series, printed in PRINTED.items()})


VALUES: dict[str, Value] = {
    "final_hit_ratio": Value("hit ratio after the last batch", final_hit_ratio, adds=(SUITE_MEAN,)),
    "from_printed": Value("hit ratio minus the printed one", from_printed),
}
