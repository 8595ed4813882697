"""Constants on random instances: Table 4."""

from collections.abc import Sequence

import pandas as pd

from bestarm.designs.l1_design import l1_designs
from bestarm_lab.experiments.computation import computed
from bestarm_studies.linear_topm.complexity import Cell, complexity_ratios

# what the paper prints, what its code does, and the two mixtures that tell which of the differences matters
VARIANTS = {
    "as_written": ("columns", 0.5),
    "as_coded": ("spectral", 1.0),
    "columns, sigma = 1": ("columns", 1.0),
    "spectral, sigma = 1/2": ("spectral", 0.5),
}


def complexity_rows(cells: Sequence[Sequence[int]], replications: int, seed: int, workers: int) -> pd.DataFrame:
    """Return whether H(m-LinGapE (2)) <= H(UGapE) on each random instance, for four readings of the table.
    The ratio of the constants includes sigma squared; rows do not depend on ``workers``."""
    ratios = complexity_ratios(
        [Cell(*cell) for cell in cells], l1_designs, n_instances=replications, seed=seed, n_workers=workers
    )
    label = "K=" + ratios["n_arms"].astype(str) + ", m=" + ratios["n_best"].astype(str)
    base = ratios.assign(series=label + ", N=" + ratios["n_features"].astype(str), replication=ratios["instance"])
    frames = []
    for convention, (normalisation, sigma) in VARIANTS.items():
        rows = base.loc[base["normalisation"] == normalisation, ["series", "replication", "normalisation", "ratio"]]
        rows = rows.assign(convention=convention, sigma=sigma, ratio=sigma**2 * rows["ratio"])
        frames.append(rows.assign(holds=(rows["ratio"] <= 1.0).astype(float)))
    columns = ["convention", "series", "replication", "normalisation", "sigma", "ratio", "holds"]
    return pd.concat(frames, ignore_index=True)[columns]


# K, m, N; one D, which cancels; the paper printed two columns of 1000 instances for most of these
SIZES = ((10, 4, 5), (10, 4, 10), (10, 4, 20), (20, 7, 10), (20, 7, 20), (20, 7, 40), (30, 11, 15), (30, 11, 30))
EXPERIMENTS = {
    "tab04": computed(
        "random linear instances, H(m-LinGapE (2)) against H(UGapE)", 2000, complexity_rows, few=10, cells=SIZES
    )
}
