r"""The cluster heuristic: equal budgets for groups of similar arms, equal pulls within a group.

Arms that lie close together tell the same; a uniform allocation spends on each of them and starves a direction in which
there are few. Appendix H of [1]_ clusters the arms with k-means, divides the budget equally between the clusters, and
explores uniformly within each, for models where no optimal design is at hand.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Appendix H.
.. [2] Arthur, Vassilvitskii. "k-means++: The Advantages of Careful Seeding". SODA 2007.
"""

import numpy as np
from numba import njit

from bestarm.designs.rounding import (
    checked_budget,
    checked_features,
    checked_live,
    checked_replications,
    random_order,
    spread,
)
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.streams import uniform

_STARTS = 10
_MOST_STEPS = 100
_COLLINEAR = 1e-9
_EQUAL = 1e-12  # squared distances below this share of the arms' squared length are rounding


def cluster_counts(
    features: FloatArray,
    live: BoolArray,
    budget: IntArray,
    n_clusters: int | None = None,
    *,
    key: np.uint64,
    replications: IntArray,
    time: int,
) -> IntArray:
    r"""Return how often to pull each arm by the cluster heuristic ([1]_), row by row.

    ``features``, ``live``, ``budget``: as in `bestarm.designs.greedy_design.greedy_counts`; ``n_clusters``: m, which
    [1]_ leaves open. None is the rank of the live arms. A row with fewer distinct arms has fewer clusters; ``key``,
    ``replications``, ``time``: as in `bestarm.designs.rounding.round_design`. Returns ndarray of int64, shape (S, K):
    pulls. The budgets of two clusters, and the pulls of two arms of one cluster, differ by at most 1; which get one
    more is random. The clusters are the best of ten runs of k-means, each from a start of k-means++ [2]_. Raises
    ValueError if a row has no live arm, a budget or ``n_clusters`` is no positive whole number, a feature is not
    finite, or shapes do not fit."""
    arms = checked_live(live)
    x = checked_features(features, *arms.shape)
    pulls = checked_budget(budget, len(arms))
    rows = checked_replications(replications, len(arms))
    if n_clusters is not None and (n_clusters != int(n_clusters) or n_clusters < 1):
        raise ValueError(f"n_clusters must be a whole number of at least 1, got {n_clusters}; None is the rank.")
    return _cluster_rows(x, arms, pulls, 0 if n_clusters is None else int(n_clusters), key, rows, time)


@njit(cache=True)
def _squared_distances(x: FloatArray, centre: FloatArray) -> FloatArray:
    distances = np.zeros(len(x))
    for i in range(len(x)):
        for k in range(x.shape[1]):
            distances[i] += (x[i, k] - centre[k]) ** 2
    return distances


@njit(cache=True)
def _first_centres(
    x: FloatArray, n_clusters: int, key: np.uint64, replication: int, time: int, first: int
) -> FloatArray:
    """Return centres by k-means++: each the next arm with probability proportional to its squared distance ([2]_)."""
    n_arms = len(x)
    rounding = _EQUAL * np.sum(x**2, axis=1).max()
    centres = np.empty((n_clusters, x.shape[1]))
    nearest = np.full(n_arms, 1.0)  # the first centre is any arm
    for c in range(n_clusters):
        cumulated = np.cumsum(nearest)
        if cumulated[-1] <= 0.0:  # no arm is left that is not a centre
            return centres[:c]
        u = uniform(key, replication, time, first + c) * cumulated[-1]
        chosen = min(np.searchsorted(cumulated, u, side="right"), n_arms - 1)
        centres[c] = x[chosen]
        distances = _squared_distances(x, centres[c])
        for i in range(n_arms):
            distances[i] = distances[i] if distances[i] > rounding else 0.0
            nearest[i] = distances[i] if c == 0 else min(nearest[i], distances[i])
    return centres


@njit(cache=True)
def _assign(x: FloatArray, centres: FloatArray, labels: IntArray, distances: FloatArray) -> bool:
    """Write the nearest centre of each arm and its squared distance; return whether any arm moved."""
    moved = False
    for i in range(len(x)):
        best, label = np.inf, 0
        for c in range(len(centres)):
            squared = 0.0
            for k in range(x.shape[1]):
                squared += (x[i, k] - centres[c, k]) ** 2
            if squared < best:
                best, label = squared, c
        moved = moved or label != labels[i]
        labels[i], distances[i] = label, best
    return moved


@njit(cache=True)
def k_means(x: FloatArray, centres: FloatArray, labels: IntArray) -> float:
    """Run Lloyd's algorithm from the centres, in place; write the clusters and return the sum of squared distances."""
    distances = np.empty(len(x))
    labels[:] = -1
    for _ in range(_MOST_STEPS):
        if not _assign(x, centres, labels, distances):  # assignment step: every arm to its nearest centre
            break
        sizes = np.zeros(len(centres), dtype=np.int64)
        for label in labels:
            sizes[label] += 1
        for c in range(len(centres)):  # an empty cluster takes the farthest arm
            if sizes[c] == 0:
                farthest = np.argmax(distances)
                sizes[labels[farthest]] -= 1
                labels[farthest], sizes[c], distances[farthest] = c, 1, 0.0
        # update step: every centre to the mean of its arms
        centres[:] = 0.0
        for i in range(len(x)):
            centres[labels[i]] += x[i] / sizes[labels[i]]
    return distances.sum()


@njit(cache=True)
def clusters(x: FloatArray, n_clusters: int, key: np.uint64, replication: int, time: int, first: int) -> IntArray:
    """Return the cluster of each arm, numbered from 0, by the best of ten runs of k-means."""
    labels, best = np.empty(len(x), dtype=np.int64), np.zeros(len(x), dtype=np.int64)
    least = np.inf
    for start in range(_STARTS):
        centres = _first_centres(x, n_clusters, key, replication, time, first + start * n_clusters)
        inertia = k_means(x, centres, labels)
        if inertia < least:
            least, best = inertia, labels.copy()
    return best


@njit(cache=True)
def _cluster_rows(
    features: FloatArray,
    live: BoolArray,
    budget: IntArray,
    n_clusters: int,
    key: np.uint64,
    replications: IntArray,
    time: int,
) -> IntArray:
    """Return the pulls of every row: equal budgets for its clusters, equal pulls within each ([1]_, Appendix H)."""
    n_rows, n_arms = live.shape
    counts = np.zeros((n_rows, n_arms), dtype=np.int64)
    for s in range(n_rows):
        order = random_order(key, replications[s], time, 0, n_arms)
        arms = np.flatnonzero(live[s])
        x = features[s][arms]
        # m, which Appendix H leaves open: as asked, or the rank of the live arms
        wanted = n_clusters
        if wanted == 0:
            singular = np.linalg.svd(x, full_matrices=False)[1]
            wanted = max(1, np.sum(singular > _COLLINEAR * singular[0]))
        labels = np.full(n_arms, -1)
        labels[arms] = clusters(x, min(wanted, len(arms)), key, replications[s], time, 2 * n_arms)
        n_found = labels.max() + 1
        # n / m pulls for each cluster; which clusters get one more is random
        share = spread(budget[s], random_order(key, replications[s], time, n_arms, n_found))
        for c in range(n_found):
            members = order[labels[order] == c]  # in random order: who comes first gets what is left over
            counts[s][members] = spread(share[c], np.arange(len(members)))
    return counts
