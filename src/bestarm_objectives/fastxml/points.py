"""Multi-label data sets in the text format of the Extreme Classification repository, and a stand-in for them.

Bibtex: Katakis, Tsoumakas, Vlahavas, "Multilabel Text Classification for Automated Tag Suggestion", 2008. Delicious:
by the same, "Effective and Efficient Multilabel Classification in Domains with Large Number of Labels", 2008.
"""

import gzip
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sparse

from bestarm.guards.files import says_which_file
from bestarm_lab.datasets.registry import fetch


class LabelledPoints(NamedTuple):
    """Sparse features and the labels of the same points, 0 or 1."""

    features: sparse.csr_matrix
    labels: sparse.csr_matrix


class Split(NamedTuple):
    """A data set in two parts."""

    train: LabelledPoints
    test: LabelledPoints


@says_which_file
def read_points(path: Path) -> LabelledPoints:
    """Read one file: a line ``points features labels``, then a line ``label,label feature:value ...`` for each point.
    Indices count from 0. A line that starts with a space is a point without labels. Raises ValueError if the file is
    damaged; the message names the line."""
    raw = path.read_bytes()
    lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("ascii").splitlines()
    try:
        n, n_features, n_labels = (int(size) for size in lines[0].split())
    except (IndexError, ValueError) as error:
        raise ValueError(f"{path}: the first line must be 'points features labels', got {lines[:1]}.") from error
    if len(lines) != n + 1:
        raise ValueError(f"{path}: the first line promises {n} points, found {len(lines) - 1}; is the file whole?")
    columns: tuple[list[int], list[int]] = ([], [])
    starts: tuple[list[int], list[int]] = ([0], [0])
    values: list[float] = []
    for number, line in enumerate(lines[1:], start=2):
        first, _, rest = line.partition(" ")
        try:
            columns[0].extend(int(label) for label in first.split(",") if label)
            for pair in rest.split():
                feature, _, value = pair.partition(":")
                columns[1].append(int(feature))
                values.append(float(value))
        except ValueError as error:
            raise ValueError(f"{path}: line {number} is no 'labels feature:value ...' ({error}).") from error
        for kind in range(2):
            starts[kind].append(len(columns[kind]))
    for found, limit, name in ((columns[0], n_labels, "label"), (columns[1], n_features, "feature")):
        if found and not 0 <= min(found) <= max(found) < limit:
            raise ValueError(f"{path}: a {name} is outside 0, ..., {limit - 1}; is the first line right?")
    return LabelledPoints(
        sparse.csr_matrix((values, columns[1], starts[1]), shape=(n, n_features)),
        sparse.csr_matrix((np.ones(len(columns[0])), columns[0], starts[0]), shape=(n, n_labels)),
    )


def power_law_points(n: int, n_features: int, n_labels: int, seed: int = 0) -> LabelledPoints:
    """Return points with power-law labels, each of which prefers features of its own: a stand-in of any shape.
    The features that labels prefer do not depend on the seed, so that two draws are one problem."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(n_features + n_labels)
    frequency = 1.0 / np.arange(1, n_labels + 1)
    preferred = fixed.integers(n_features, size=(n_labels, 8))
    labels, features = np.zeros((n, n_labels)), np.zeros((n, n_features))
    for i in range(n):
        own = rng.choice(
            n_labels, size=min(n_labels, 1 + rng.poisson(1.0)), replace=False, p=frequency / frequency.sum()
        )
        labels[i, own] = 1.0
        features[i, rng.choice(preferred[own].ravel(), size=8)] = 1.0
        features[i, rng.integers(n_features, size=8)] = 1.0
    return LabelledPoints(sparse.csr_matrix(features), sparse.csr_matrix(labels))


DATA_FILES = ("bibtex-train", "bibtex-test", "delicious-train", "delicious-test")
DATASETS = {"Bibtex": DATA_FILES[:2], "Delicious": DATA_FILES[2:]}
Dataset = Literal["Bibtex", "Delicious"]


def read_split(dataset: Dataset) -> Split:
    """Return a data set as the repository splits it into training and test points, or DataUnavailable."""
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}.")
    train, test = DATASETS[dataset]
    return Split(read_points(fetch(train)), read_points(fetch(test)))


def stand_in_split() -> Split:
    """Return 400 training and 200 test points with 40 labels of power-law frequencies."""
    return Split(power_law_points(400, 200, 40, seed=1), power_law_points(200, 200, 40, seed=2))
