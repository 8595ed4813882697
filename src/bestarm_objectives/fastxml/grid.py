r"""The precision of FastXML on a grid of its hyper-parameters.

The trees depend on two of the five hyper-parameters only, the bias and the cost of the logistic loss. The number of
trees is a prefix of a forest, the size of a leaf cuts every path at the first node small enough, and the labels of a
leaf are a prefix of its list. So one forest gives all rows of the other three, exactly.
"""

import itertools
from collections.abc import Sequence

import joblib
import numpy as np
import pandas as pd

from bestarm_lab.datasets.registry import available
from bestarm_objectives.fastxml.forest import FastXML, precision_sums, sparse_rows
from bestarm_objectives.fastxml.label_tree import add_shares, leaves
from bestarm_objectives.fastxml.points import DATASETS, Dataset, LabelledPoints, read_split, stand_in_split

HYPER_PARAMETERS = ("trees", "bias", "cost", "leaf", "labels")
TREES = (1, 2, 5, 10, 15, 20, 30, 40, 50)
BIASES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
LEAVES = (2, 5, 10, 20, 50, 100)
LABELS = (2, 5, 10, 30, 100)
PRECISIONS = (1, 3, 5)


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
    """Return the five hyper-parameters, ``p1``, ``p3`` and ``p5`` on the test points, of all sizes of one forest."""
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
            add_shares(scores, nodes[place], tree, labels)
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
    The columns are ``replication``, the five hyper-parameters, ``p1``, ``p3``, ``p5`` on the test points, ``data``."""
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
