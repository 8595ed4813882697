r"""The hyper-parameters of FastXML as an objective: a table of precisions, computed once, and searches of it.

The trees depend on two of the five hyper-parameters only, the bias and the cost of the logistic loss. The number of
trees is a prefix of a forest, the size of a leaf cuts every path at the first node small enough, and the labels of a
leaf are a prefix of its list. So one forest gives all rows of the other three, exactly.

References
----------
.. [1] Kathuria, Deshpande, Kohli. "Batched Gaussian Process Bandit Optimization via Determinantal Point Processes".
   NIPS 2016. Section 4.
.. [2] Prabhu, Varma. "FastXML: A Fast, Accurate and Stable Tree-classifier for eXtreme Multi-label Learning". KDD 2014.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import joblib
import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.datasets.registry import available, fetch
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, stored_table
from bestarm_studies.dpp_bbo.extreme_files import LabelledPoints, Split, power_law_points, read_points
from bestarm_studies.dpp_bbo.fastxml import FastXML, precision_sums, sparse_rows
from bestarm_studies.dpp_bbo.label_tree import add_shares, leaves

DATA_FILES = ("bibtex-train", "bibtex-test", "delicious-train", "delicious-test")
DATASETS = {"Bibtex": DATA_FILES[:2], "Delicious": DATA_FILES[2:]}
TABLES = {"Bibtex": "fastxml_bibtex", "Delicious": "fastxml_delicious"}

HYPER_PARAMETERS = ("trees", "bias", "cost", "leaf", "labels")
TREES = (1, 2, 5, 10, 15, 20, 30, 40, 50)
BIASES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
LEAVES = (2, 5, 10, 20, 50, 100)
LABELS = (2, 5, 10, 30, 100)
PRECISIONS = (1, 3, 5)

Dataset = Literal["Bibtex", "Delicious"]


def read_split(dataset: Dataset) -> Split:
    """Return a data set as the repository splits it into training and test points.

    Raises
    ------
    ValueError
        For an unknown data set.
    DataUnavailable
        If a file cannot be found.
    """
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}.")
    train, test = DATASETS[dataset]
    return Split(read_points(fetch(train)), read_points(fetch(test)))


def stand_in_split() -> Split:
    """Return 400 training and 200 test points with 40 labels of power-law frequencies."""
    return Split(power_law_points(400, 200, 40, seed=1), power_law_points(200, 200, 40, seed=2))


def forest_rows(
    train: LabelledPoints,
    test: LabelledPoints,
    *,
    bias: float,
    cost: float,
    trees: Sequence[int] = TREES,
    leaf_sizes: Sequence[int] = LEAVES,
    label_counts: Sequence[int] = LABELS,
    forest: int = 0,
) -> pd.DataFrame:
    """Return the precisions on the test points of all sizes of one forest.

    Parameters
    ----------
    train, test : LabelledPoints
        Points.
    bias, cost : float
        As of `FastXML`, ``cost`` being its ``log_loss``.
    trees, leaf_sizes, label_counts : sequence of int
        Ascending.
    forest : int
        Seed of the forest.

    Returns
    -------
    DataFrame
        The five hyper-parameters, ``p1``, ``p3`` and ``p5``.
    """
    grown = FastXML(
        n_trees=trees[-1],
        bias=bias,
        log_loss=cost,
        max_leaf=leaf_sizes[0],
        labels_per_leaf=label_counts[-1],
        seed=forest,
    ).fit(train.features, train.labels, described=leaf_sizes[-1])
    points, wanted = sparse_rows(test.features), sparse_rows(test.labels)
    cuts = np.array(leaf_sizes, dtype=np.int64)
    ends = [leaves(tree, points, grown.n_features_in_, bias, cuts) for tree in grown.trees_]
    rows = []
    for (place, leaf), labels in itertools.product(enumerate(leaf_sizes), label_counts):
        scores = np.zeros((len(points.starts) - 1, grown.n_labels_))
        for number, (tree, nodes) in enumerate(zip(grown.trees_, ends, strict=True), start=1):
            add_shares(scores, nodes[place], tree.label_starts, tree.labels, tree.shares, labels)
            if number in trees:
                found = precision_sums(scores, wanted.starts, wanted.columns, PRECISIONS[-1])
                rows.append((number, bias, cost, leaf, labels, *(found[k - 1] for k in PRECISIONS)))
    return pd.DataFrame(rows, columns=[*HYPER_PARAMETERS, *(f"p{k}" for k in PRECISIONS)])


def fastxml_rows(
    dataset: Dataset,
    replications: int,
    trees: Sequence[int] = TREES,
    biases: Sequence[float] = BIASES,
    costs: Sequence[float] = COSTS,
    leaf_sizes: Sequence[int] = LEAVES,
    label_counts: Sequence[int] = LABELS,
    *,
    seed: int = 0,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the precisions of FastXML on a grid of its hyper-parameters: rows of a Computation.

    Parameters
    ----------
    dataset : {"Bibtex", "Delicious"}
        Data; without them a small stand-in.
    replications : int
        Forests for each bias and cost. Between them only the random sides at the nodes differ.
    trees, biases, costs, leaf_sizes, label_counts : sequence
        Grid, ascending.
    seed, workers : int
        Of the project; processes.

    Returns
    -------
    DataFrame
        ``replication``, the five hyper-parameters, ``p1``, ``p3``, ``p5`` on the test points, ``data``.
    """
    real = available(*DATASETS[dataset])
    train, test = read_split(dataset) if real else stand_in_split()
    jobs = list(itertools.product(range(replications), biases, costs))
    frames = joblib.Parallel(n_jobs=workers)(
        joblib.delayed(forest_rows)(
            train,
            test,
            bias=bias,
            cost=cost,
            trees=trees,
            leaf_sizes=leaf_sizes,
            label_counts=label_counts,
            forest=1_000_003 * seed + replication,
        )
        for replication, bias, cost in jobs
    )
    found = [frame.assign(replication=job[0]) for frame, job in zip(frames, jobs, strict=True)]
    rows = pd.concat(found, ignore_index=True).assign(data="real" if real else "stand-in")
    return rows[["replication", *[c for c in rows if c != "replication"]]]


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

    The value of a setting is the mean over the forests of the table. The noise is that of one forest: the standard
    deviation between forests, pooled over the settings, or 0 in a table of one forest each. Features are the ranks of
    the levels, in [0, 1].

    Parameters
    ----------
    dataset : {"Bibtex", "Delicious"}
        Data.
    n_arms : int, optional
        A random part of the settings that keeps the best; None takes all.
    seed : int
        Of the part.
    table : str, optional
        Computation of this study with the table, by default that of ``TABLES``.
    file : Path, optional
        Its rows, by default those committed.

    Raises
    ------
    ValueError
        For an unknown data set, or more arms than settings.
    DataUnavailable
        If the table has not been computed; `stand_in_fastxml_instance` needs none.
    """
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
