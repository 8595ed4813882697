"""Metrics of a recommendation, one value for each replication.

Stored rows are keyed by the source of each metric alone: it calls nothing of this module, so a new one changes no rows.
"""

from typing import Any

import numpy as np

from bestarm.interface import FloatArray, IntArray


def correct(problem: Any, recommended: IntArray, epsilon: float = 0.0) -> FloatArray:
    """Return 1 where every recommended arm is within ``epsilon`` of the m-th largest mean, else 0.

    ``means`` of the problem are the expected rewards, shape (1 or R, n_arms), ``recommended`` has shape (R, m), and
    ``epsilon`` is the slack of the (epsilon, m, delta)-PAC criterion, in units of reward.
    """
    means, n_best = problem.means, recommended.shape[1]
    threshold = np.sort(means, axis=1)[:, -n_best] - epsilon
    found = np.take_along_axis(np.broadcast_to(means, (len(recommended), means.shape[1])), recommended, axis=1)
    return np.asarray((found >= threshold[:, None]).all(axis=1), dtype=np.float64)


def simple_regret(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the sum of the m largest means minus the sum of the recommended arms' means, in units of reward."""
    means, n_best = problem.means, recommended.shape[1]
    best = np.sort(means, axis=1)[:, -n_best:].sum(axis=1)
    found = np.take_along_axis(np.broadcast_to(means, (len(recommended), means.shape[1])), recommended, axis=1)
    return np.asarray(best - found.sum(axis=1))


def rank(problem: Any, recommended: IntArray) -> FloatArray:
    """Return one more than the number of arms with a larger mean than the recommended one."""
    means = problem.means
    found = np.take_along_axis(np.broadcast_to(means, (len(recommended), means.shape[1])), recommended[:, :1], axis=1)
    return np.asarray(1.0 + (means > found).sum(axis=1))


def arm_count(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the number of arms."""
    return np.full(len(recommended), float(problem.means.shape[1]))


def relative_regret(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the simple regret of the recommended arm over the range of the means."""
    means = problem.means
    found = np.take_along_axis(np.broadcast_to(means, (len(recommended), means.shape[1])), recommended[:, :1], axis=1)
    best = means.max(axis=1)
    return np.asarray((best - found[:, 0]) / (best - means.min(axis=1)))


def aggregated_regret(problem: Any, recommended: IntArray) -> FloatArray:
    """Return f(x*) minus the average of f that a reward of the recommended cell is about (GPOO, Definition 2)."""
    return np.asarray(problem.best[1] - problem.cell_values(recommended)[:, 0])


def centre_regret(problem: Any, recommended: IntArray) -> FloatArray:
    """Return f(x*) minus f at the centre of the recommended cell."""
    centres = problem.partition.centres(recommended)
    return np.asarray(problem.best[1] - problem.evaluate(centres)[:, 0])


def cell_regret(problem: Any, recommended: IntArray) -> FloatArray:
    """Return f(x*) minus the average of f over the whole recommended cell."""
    return np.asarray(problem.best[1] - problem.cell_averages(recommended)[:, 0])


def depth(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the depth of the recommended cell."""
    return np.asarray(problem.partition.depth(recommended)[:, 0], dtype=np.float64)


def distance_to_optimum(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the distance from x* to the recommended cell, 0 inside, in the largest coordinate."""
    lower, upper = problem.partition.bounds(recommended)
    where = problem.best[0][:, None, :]
    return np.asarray(np.maximum(np.maximum(lower - where, where - upper), 0.0).max(axis=-1)[:, 0])


def off_peak(problem: Any, recommended: IntArray) -> FloatArray:
    """Return 1 where the recommended cell does not meet the interval around x* in which f >= f(x*) - 0.05, else 0."""
    lower, upper = problem.partition.bounds(recommended)
    low, high = problem.peak[:, 0], problem.peak[:, 1]
    return np.asarray((upper[:, 0, 0] < low) | (lower[:, 0, 0] > high), dtype=np.float64)
