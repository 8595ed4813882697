r"""The hyper-parameters of FastXML as an objective: searches of a table of precisions that was computed once."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_objectives.fastxml import points
from bestarm_objectives.fastxml.grid import HYPER_PARAMETERS, LEAVES, TREES, forest_rows
from bestarm_objectives.fastxml.points import DATASETS, Dataset, stand_in_split
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, stored_table

DATA_FILES = points.DATA_FILES  # in the keys of the searches
TABLES = {"Bibtex": "fastxml_bibtex", "Delicious": "fastxml_delicious"}


def level_places(rows: pd.DataFrame) -> FloatArray:
    """Return the rank of each hyper-parameter's level among its levels, in [0, 1]; a single level is 0."""
    columns = []
    for name in HYPER_PARAMETERS:
        levels = np.unique(rows[name].to_numpy())
        columns.append(np.searchsorted(levels, rows[name].to_numpy()) / max(len(levels) - 1, 1))
    return np.column_stack(columns)


def table_arms(label: str, rows: pd.DataFrame, n_arms: int | None, seed: int, data: str) -> CandidateArms:
    """Return a table of precisions as candidates, as `fastxml_instance` does from a committed one."""
    by_setting = rows.groupby(list(HYPER_PARAMETERS), sort=True, observed=True)["p1"]
    table = by_setting.agg(["mean", "var"]).reset_index()
    several = rows["replication"].nunique() > 1
    sigma = float(np.sqrt(table["var"].mean())) if several else 0.0
    if n_arms is not None and not 2 <= n_arms <= len(table):
        raise ValueError(f"n_arms must be between 2 and the {len(table)} settings of the table, got {n_arms}.")
    features, means = level_places(table), table["mean"].to_numpy()
    if n_arms is not None:
        best = int(means.argmax())
        others = np.random.default_rng(seed).permutation(np.delete(np.arange(len(means)), best))[: n_arms - 1]
        kept = np.sort(np.append(others, best))
        features, means = features[kept], means[kept]
    return CandidateArms(label, features, means[None], sigma, data=data)


def fastxml_instance(
    dataset: Dataset, n_arms: int | None = 2048, seed: int = 0, table: str | None = None, file: Path | None = None
) -> CandidateArms:
    """Return the search for the hyper-parameters of FastXML with the largest precision at 1 on the test points.
    The value of a setting is the mean over the forests of the table, the noise the pooled standard deviation between
    them, 0 with one each. Features are the ranks of the levels, in [0, 1]."""
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}.")
    rows, digest = stored_table(table or TABLES[dataset], file)
    label = f"FastXML {dataset} {digest}{f' |X|={n_arms}' * (n_arms is not None)}"
    return table_arms(label, rows, n_arms, seed, "real")


def stand_in_fastxml_instance(
    dataset: Dataset, n_arms: int | None = 2048, seed: int = 0, table: str | None = None, file: Path | None = None
) -> CandidateArms:
    """Return a search of the same form, of FastXML on generated points, computed on the spot."""
    train, test = stand_in_split()
    frames = [
        forest_rows(train, test, bias=bias, cost=cost, trees=TREES[:4], leaf_sizes=LEAVES[:4]).assign(replication=0)
        for bias, cost in itertools.product((0.0, 1.0), (1.0, 10.0))
    ]
    rows = pd.concat(frames, ignore_index=True)
    n = None if n_arms is None or n_arms >= len(rows) else n_arms
    return table_arms(f"FastXML {dataset} stand-in", rows, n, seed, "stand-in")


def variance_shares(table: pd.DataFrame, column: str = "p1") -> pd.Series:
    """Return the share of the variance over a full grid that each hyper-parameter explains alone."""
    total = table[column].var(ddof=0)
    return pd.Series({h: table.groupby(h)[column].mean().var(ddof=0) / total for h in HYPER_PARAMETERS})


def precision_range(test: Test, rows: Rows) -> Decision:
    """Take the range of the precision at 1 over the grid, and the share of its variance that each setting explains."""
    ranges, texts = [], []
    for name in test["experiments"]:
        ranges.append(float(rows[name]["p1"].max() - rows[name]["p1"].min()))
        shares = variance_shares(rows[name])
        first = max(HYPER_PARAMETERS, key=lambda h: shares[h])
        texts.append(f"{name}: {ranges[-1]:.3f}, of which {first} alone explains {shares[first]:.0%} of the variance")
    return Decision(min(ranges) > test["above"], "; ".join(texts))
