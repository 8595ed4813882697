"""Acquisitions: batches of genes, chosen from the predictions of a Bayesian network.

Scores are maximised. Sampling and greedy choices work on one run at a time. Sources: GeneDisco (Mehrjou and others,
ICLR 2022) and its public code; BADGE (Ash and others, ICLR 2020); core-sets (Sener and Savarese, ICLR 2018). Of the
paper: Section 5.0.1.
"""

import numpy as np
from numpy.typing import NDArray

from bestarm.interface import FloatArray, IntArray
from bestarm_studies.oae.genedisco.dropout_network import Passes, SingleArray

TEMPERATURE = 0.9
_FLOOR = 1e-7
K_MEANS_ROUNDS = 20
BIM_CANDIDATES, BIM_STEP, BIM_REACH, BIM_STEPS, BIM_PASSES = 100, 0.05, 0.35, 1000, 100


def scores_of(acquisition: str, passes: Passes) -> SingleArray | None:
    r"""Return what is maximised, shape (R, n_genes), or None for choices that no score of a gene makes.
    With mean :math:`\mu` and standard deviation :math:`\sigma` of the passes: ``top_uncertain`` :math:`\sigma`,
    ``optimistic`` :math:`\mu+\sigma` (OAE as written), ``optimistic_absolute`` :math:`|\mu|+\sigma`, ``mean``
    :math:`\mu`, ``margin`` the range of the passes."""
    mean, deviation, margin = passes
    with np.errstate(invalid="ignore"):
        made = {
            "top_uncertain": deviation,
            "optimistic": mean + deviation,
            "optimistic_absolute": np.abs(mean) + deviation,
            "mean": mean,
            "margin": margin,
        }
    return made.get(acquisition)


def soft_weights(deviation: FloatArray) -> FloatArray:
    r"""Return the weights of SoftUncertain: a softmax of :math:`(10^{-7}+\sigma^2)^{1/T}`, T = 0.9.
    The authors' code takes the exponential twice: of the logarithm over the temperature, and in the softmax."""
    powers = (_FLOOR + deviation.astype(np.float64) ** 2) ** (1.0 / TEMPERATURE)
    weights = np.exp(powers - powers.max())
    return np.asarray(weights / weights.sum())


def sampled(weights: FloatArray, draws: FloatArray) -> IntArray:
    """Return places drawn one after another without replacement, each with probability proportional to its weight.
    More than ``len(draws)`` weights are positive; ``draws`` are uniform numbers."""
    left = weights.astype(np.float64).copy()
    found = np.empty(len(draws), dtype=np.int64)
    for place, draw in enumerate(draws):
        total = np.cumsum(left)
        found[place] = min(int(np.searchsorted(total, draw * total[-1], side="right")), len(left) - 1)
        left[found[place]] = 0.0
    return found


def far_from(points: SingleArray, known: SingleArray, size: int) -> IntArray:
    """Return places chosen one after another, each farthest from ``known`` and those before (core-set)."""
    nearest = np.full(len(points), np.inf)
    for point in known:
        nearest = np.minimum(nearest, ((points - point) ** 2).sum(axis=1))
    found = np.empty(size, dtype=np.int64)
    for place in range(size):
        found[place] = int(np.argmax(nearest))
        nearest = np.minimum(nearest, ((points - points[found[place]]) ** 2).sum(axis=1))
        nearest[found[: place + 1]] = -1.0
    return found


def spread_seeds(points: SingleArray, draws: FloatArray) -> IntArray:
    """Return places by k-means++ seeding, the first with the largest norm (BADGE, as GeneDisco codes it)."""
    found = np.empty(len(draws), dtype=np.int64)
    found[0] = int(np.argmax((points**2).sum(axis=1)))
    nearest = ((points - points[found[0]]) ** 2).sum(axis=1).astype(np.float64)
    for place in range(1, len(draws)):
        nearest[found[:place]] = 0.0
        total = np.cumsum(nearest)
        found[place] = min(int(np.searchsorted(total, draws[place] * total[-1], side="right")), len(points) - 1)
        nearest = np.minimum(nearest, ((points - points[found[place]]) ** 2).sum(axis=1))
    return found


def cluster_members(points: SingleArray, draws: FloatArray) -> IntArray:
    """Return the places nearest to the centres of as many clusters as draws (k-means), each place once.
    One start by k-means++ seeding, of the ten that GeneDisco asks for, and at most 20 rounds of Lloyd's."""
    size = len(draws)
    seeds = spread_seeds(points, draws)
    centres, weights = points[seeds].copy(), (points**2).sum(axis=1)
    before = np.full(len(points), -1)
    for _ in range(K_MEANS_ROUNDS):
        member = np.argmin((centres**2).sum(axis=1) - 2.0 * (points @ centres.T), axis=1)
        if (member == before).all():
            break
        before = member
        order = np.argsort(member, kind="stable")
        places, starts = np.unique(member[order], return_index=True)
        counts = np.diff(np.append(starts, len(points)))
        centres[places] = np.add.reduceat(points[order], starts, axis=0) / counts[:, None]
    found: list[int] = []
    for centre in centres:
        nearest = np.argpartition(weights - 2.0 * (points @ centre), size)[: size + 1]
        nearest = nearest[np.argsort((weights - 2.0 * (points @ centre))[nearest], kind="stable")]
        found.append(next(int(place) for place in nearest if int(place) not in found))
    return np.array(found, dtype=np.int64)


def adversarial_distances(
    inputs: SingleArray, first: SingleArray, bias: SingleArray, last: SingleArray, generator: np.random.Generator
) -> SingleArray:
    """Return how far inputs (n, d) are moved by sign-gradient steps that raise the variance, until it is 35% of their
    norm. Parameters of one network have shapes (d, hidden), (hidden,) and (hidden,); ``generator`` draws the dropout's
    bits anew in each step for each input and pass. Distances are squared, shape (n,)."""
    moved, still = inputs.copy(), np.ones(len(inputs), dtype=np.bool_)
    reach = BIM_REACH * np.sqrt((inputs**2).sum(axis=1))
    for _ in range(BIM_STEPS):
        outputs = moved[still] @ first + bias
        active = outputs > 0
        bits = generator.integers(0, 2, (len(outputs), BIM_PASSES, len(last)), dtype=np.int8).astype(np.float32)
        parts = 2.0 * np.where(active, outputs, np.float32(0.0)) * last
        values = np.einsum("npj,nj->np", bits, parts)
        centred = values - values.mean(axis=1, keepdims=True)
        slopes = (2.0 / (BIM_PASSES - 1)) * np.einsum("np,npj->nj", centred, bits) * 2.0 * active * last
        moved[still] += np.float32(BIM_STEP) * np.sign(slopes @ first.T).astype(np.float32)
        still = np.sqrt(((moved - inputs) ** 2).sum(axis=1)) < reach
        if not still.any():
            break
    return np.asarray(((moved - inputs) ** 2).sum(axis=1))


def nearest_to_boundary(distances: NDArray[np.float32], size: int) -> IntArray:
    """Return the places with the smallest displacements."""
    return np.argsort(distances, kind="stable")[:size].astype(np.int64)
