r"""A batch that is good and spread out: greedy maximisation of a sum of scores plus a log determinant.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 2.
"""

from typing import Literal, get_args

import numpy as np

from bestarm.interface import BoolArray, FloatArray, IntArray

Kernel = Literal["direction", "affine", "rbf"]
JITTER = 1e-6


def kernel_inputs(features: FloatArray, kernel: Kernel) -> FloatArray:
    """Return what the kernel exp(-|u - v|^2) compares, shape (..., n_arms, p).

    ``features`` (ndarray, shape (..., n_arms, n_features)): arms; ``kernel`` ({"direction", "affine", "rbf"}): arms
    over their norms, as printed: in one dimension that is the sign alone; arms with a one appended, over their norms;
    arms with mean 0 and standard deviation 1. Raises ValueError for an unknown kernel."""
    if kernel not in get_args(Kernel):
        raise ValueError(f"kernel must be one of {', '.join(get_args(Kernel))}, got {kernel!r}.")
    if kernel == "rbf":
        spread = features.std(axis=-2, keepdims=True)
        return np.asarray((features - features.mean(axis=-2, keepdims=True)) / np.where(spread > 0, spread, 1.0))
    if kernel == "affine":
        features = np.concatenate([features, np.ones((*features.shape[:-1], 1))], axis=-1)
    return np.asarray(features / np.maximum(np.linalg.norm(features, axis=-1, keepdims=True), 1e-12))


def diverse_batch(
    features: FloatArray,
    feature_set: IntArray,
    scores: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
    diversity: float,
    kernel: Kernel = "direction",
) -> IntArray:
    r"""Return batches chosen one arm after the other, each with the largest score plus gain in log determinant.

    The determinant is that of the kernel matrix plus 10^-6 I: without it, three arms on a line, of which two have the
    same sign, have determinant 0. Time is O(size^2 n_arms) a replication, by an incremental Cholesky factor.
    * ``features``, (n_sets, n_arms, n_features), ``feature_set``, (R,): arms, and which set each replication has
    * ``scores``, ``order``, (R, n_arms): predicted rewards (NaN last), and random draws that break ties
    * ``available`` of bool, (R, n_arms): arms not yet pulled
    * ``size``: arms of the batch
    * ``diversity``: :math:`\lambda_{div}`, the weight of the log determinant
    * ``kernel``: see `kernel_inputs`

    Returns arms of int64, (R, size), in the order in which they were chosen; the first has the largest score.
    """
    points = kernel_inputs(features, kernel)
    squares = (points**2).sum(axis=-1)
    chosen = np.empty((len(scores), size), dtype=np.int64)
    for r, s in enumerate(feature_set):
        x, square = points[s], squares[s]
        left = np.flatnonzero(available[r])
        value = np.nan_to_num(scores[r, left], nan=-1.1e300, neginf=-1e300)
        variance = np.full(len(left), 1.0 + JITTER)
        factor = np.zeros((len(left), size))
        for place in range(size):
            gain = value if place == 0 else value + diversity * np.log(np.maximum(variance, JITTER))
            ties = np.flatnonzero(gain == gain.max())
            best = ties[np.argmax(order[r, left[ties]])]
            chosen[r, place] = left[best]
            distance = np.maximum(square[left] + square[left[best]] - 2.0 * (x[left] @ x[left[best]]), 0.0)
            column = np.exp(-distance)
            column[best] += JITTER
            factor[:, place] = (column - factor @ factor[best]) / np.sqrt(max(variance[best], JITTER))
            variance -= factor[:, place] ** 2
            value[best] = -np.inf
    return chosen
