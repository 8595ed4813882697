r"""The posterior of the mean rewards of the cells of growing trees, updated by one observation at a time.

With :math:`Q=\bar K+\mathrm{diag}(\sigma^2_i)=LL^\top` over the observed cells ([1]_, Equation 4), every live node v
keeps :math:`L^{-1}\bar k_v` and every replication :math:`z=L^{-1}Y`, so that :math:`\mu_v=(L^{-1}\bar k_v)^\top z` and
:math:`\sigma_v^2=\bar k(v,v)-\|L^{-1}\bar k_v\|^2`. An observation appends one entry to each of them: the row that
Appendix B of [1]_ appends to L is what the observed node has kept. A round costs O(live nodes x t), a new node O(t^2).

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022.
"""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import solve_triangular

from bestarm.designs.partition_tree import NODES, PartitionTree, new_tree
from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.cell_kernel import CellKernel


@dataclass
class CellPosterior(PartitionTree):
    """Trees whose nodes have a Gaussian process posterior."""

    means: FloatArray = field(metadata=NODES)  # posterior, of the mean reward of each live node, (R, capacity)
    variances: FloatArray = field(metadata=NODES)
    whitened: FloatArray = field(metadata=NODES)  # L^-1 k_v, the first ``n_observed`` entries, (R, capacity, budget)
    live: BoolArray = field(metadata=NODES)  # which nodes are kept up to date, (R, capacity)
    factor: FloatArray  # L, (R, budget, budget)
    residuals: FloatArray  # z, (R, budget)
    observed: IntArray  # heap numbers of the observed cells, in order, (R, budget)
    n_observed: IntArray  # observations that did not fail, (R,)
    covariance: CellKernel = field(metadata={"shared": True})
    key: np.uint64 = field(metadata={"shared": True})


class _Arrays(NamedTuple):
    """The arrays of a `CellPosterior` that an observation changes, in place."""

    whitened: FloatArray  # (R, capacity, budget)
    means: FloatArray  # (R, capacity)
    variances: FloatArray  # (R, capacity)
    factor: FloatArray  # (R, budget, budget)
    residuals: FloatArray  # (R, budget)
    n_observed: IntArray  # (R,)


_arrays = attrgetter(*_Arrays._fields)


def new_posterior(
    replications: IntArray, budget: int, covariance: CellKernel, key: np.uint64, capacity: int = 64
) -> dict[str, Any]:
    """Return the fields of trees that hold only their root, with room for ``budget`` observations."""
    n, root = len(replications), np.zeros(len(replications), dtype=np.int64)
    fields = new_tree(replications, capacity)
    variances, live = np.zeros((n, capacity)), np.zeros((n, capacity), dtype=np.bool_)
    variances[:, 0], live[:, 0] = covariance(root, root), True
    return fields | {
        "means": np.zeros((n, capacity)),
        "variances": variances,
        "whitened": np.zeros((n, capacity, budget)),
        "live": live,
        "factor": np.zeros((n, budget, budget)),
        "residuals": np.zeros((n, budget)),
        "observed": np.zeros((n, budget), dtype=np.int64),
        "n_observed": np.zeros(n, dtype=np.int64),
        "covariance": covariance,
        "key": key,
    }


def observe(posterior: CellPosterior, slots: IntArray, rewards: FloatArray, noise: FloatArray) -> None:
    """Learn one mean reward a replication, shape (R,), with these noise variances; NaN teaches nothing.

    Raises ValueError if the covariance matrix of the observed cells is not positive definite."""
    taught = np.isfinite(rewards)
    rows, nodes = np.nonzero(posterior.live & taught[:, None])
    asked = posterior.cells[np.arange(len(slots)), slots]
    cross = posterior.covariance(asked[rows], posterior.cells[rows, nodes])
    starts = np.searchsorted(rows, np.arange(len(taught) + 1))
    failed = _observe(
        _Arrays._make(_arrays(posterior)), slots, np.where(taught, rewards, 0.0), noise, taught, nodes, cross, starts
    )
    if failed >= 0:
        raise ValueError(
            f"the kernel is not positive definite on the observed cells: the variance of cell {asked[failed]} given "
            f"{posterior.n_observed[failed]} observations is {posterior.variances[failed, slots[failed]]:.3g}, "
            f"with noise {noise[failed]:.3g}. Check the kernel, or raise the noise variance of the model."
        )
    last = posterior.n_observed[taught] - 1
    posterior.observed[taught, last] = asked[taught]


@njit(cache=True)
def _observe(
    arrays: _Arrays,
    slots: IntArray,
    rewards: FloatArray,
    noise: FloatArray,
    taught: BoolArray,
    nodes: IntArray,
    cross: FloatArray,
    starts: IntArray,
) -> int:
    """Append one observation to L, z and the live nodes; return the first replication with no positive pivot, or -1."""
    whitened, means, variances, factor, residuals, n_observed = arrays
    for r in range(len(slots)):
        if not taught[r]:
            continue
        t, u = n_observed[r], slots[r]
        pivot = variances[r, u] + noise[r]
        if not pivot > 1e-12 * noise[r]:
            return r
        row = whitened[r, u, :t].copy()  # Appendix B: the new row of L solves L l = q
        diagonal = np.sqrt(pivot)  # l_22 = sqrt(q_22 - |l_21|^2), which is the variance that is left, plus noise
        factor[r, t, :t] = row
        factor[r, t, t] = diagonal
        # z_t = (y - l_21 z) / l_22, and l_21 z is the mean of the observed node
        z = (rewards[r] - means[r, u]) / diagonal
        residuals[r, t] = z
        # the next entry of L^-1 k_v of every live node, its mean and its variance
        for i in range(starts[r], starts[r + 1]):
            v = nodes[i]
            total = cross[i]
            for j in range(t):
                total -= whitened[r, v, j] * row[j]
            total /= diagonal
            whitened[r, v, t] = total
            means[r, v] += total * z
            variances[r, v] -= total * total
        n_observed[r] += 1
    return -1


def introduce(posterior: CellPosterior, rows: IntArray, slots: IntArray) -> None:
    """Compute the posterior of new nodes, both of shape (n,), from all observations so far, and keep it from now on."""
    cells = posterior.cells[rows, slots]
    n_observed = posterior.n_observed[rows]
    pairs = np.repeat(np.arange(len(rows)), n_observed)
    places = np.arange(len(pairs)) - np.repeat(np.cumsum(n_observed) - n_observed, n_observed)
    cross = posterior.covariance(cells[pairs], posterior.observed[rows[pairs], places])
    posterior.live[rows, slots] = True
    _introduce(_Arrays._make(_arrays(posterior)), rows, slots, posterior.covariance(cells, cells), cross)


@njit(cache=True)
def _introduce(arrays: _Arrays, rows: IntArray, slots: IntArray, prior: FloatArray, cross: FloatArray) -> None:
    """Write L^-1 k_v, mean and variance of new nodes; ``cross`` has their covariances with the observed cells."""
    whitened, means, variances, factor, residuals, n_observed = arrays
    begin = 0
    for i in range(len(rows)):
        r, v = rows[i], slots[i]
        mean, variance = 0.0, prior[i]
        for j in range(n_observed[r]):  # forward substitution
            total = cross[begin + j]
            for k in range(j):
                total -= factor[r, j, k] * whitened[r, v, k]
            total /= factor[r, j, j]
            whitened[r, v, j] = total
            mean += total * residuals[r, j]
            variance -= total * total
        means[r, v], variances[r, v] = mean, variance
        begin += n_observed[r]


def predict_points(posterior: CellPosterior, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of f at points, (n, d), each (R, n), for representatives; O(R n t (S + t))."""
    kernel, partition = posterior.covariance.kernel, posterior.covariance.partition
    means, variances = np.zeros((len(posterior.cells), len(x))), np.zeros((len(posterior.cells), len(x)))
    prior = np.array([kernel.K(point[None])[0, 0] for point in x])
    for r, t in enumerate(posterior.n_observed):
        known, places = np.unique(posterior.observed[r, :t], return_inverse=True)
        points = partition.representatives(known)
        cross = kernel.K(points.reshape(-1, x.shape[1]), x).reshape(len(known), -1, len(x)).mean(axis=1)[places]
        whitened = solve_triangular(posterior.factor[r, :t, :t], cross, lower=True)
        means[r] = posterior.residuals[r, :t] @ whitened
        variances[r] = prior - (whitened**2).sum(axis=0)
    return means, variances
