"""Searches of a screen in batches: with a Bayesian network, with a ridge regression, or without learning anything.

Batches of a network are chosen from its predictions by acquisitions, whose scores are maximised; sampling and greedy
choices work on one run at a time. Sources: GeneDisco (Mehrjou and others, ICLR 2022) and its public code; BADGE (Ash
and others, ICLR 2020); core-sets (Sener and Savarese, ICLR 2018). Of the paper: Section 5.0.1.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.policies.batch_search import BatchSearch, BatchState, random_order, top_batch
from bestarm.streams import Streams, standard_normal, uniform
from bestarm_studies.oae.genedisco.dropout_network import (
    DropoutTraining,
    Networks,
    Passes,
    SingleArray,
    fit_dropout_networks,
    hidden_outputs,
    predict_dropout,
)
from bestarm_studies.oae.genedisco.gene_screen import PoolArms

TEMPERATURE = 0.9
_FLOOR = 1e-7
K_MEANS_ROUNDS = 20
BIM_CANDIDATES, BIM_STEP, BIM_REACH, BIM_STEPS, BIM_PASSES = 100, 0.05, 0.35, 1000, 100
ACQUISITIONS = (
    "top_uncertain",
    "soft_uncertain",
    "optimistic",
    "optimistic_absolute",
    "mean",
    "margin",
    "core_set",
    "badge",
    "k_means",
    "adversarial",
)
FOLD = 5  # one of so many observations is held out of the training
PENALTIES = np.logspace(-2, 4, 25)
UNITS_OF_APPLICATION = 16  # its class has 32 by default, and its application asks for these


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


@dataclass(frozen=True)
class PoolSearch(BatchSearch):
    """A batch search that may choose only genes of each run's pool; what it recommends is all that it has chosen."""

    batch: int = 16
    rounds: int = 50

    def as_coded(self) -> Self:
        """Return the search of the authors' code: this one, which has no fault to switch on."""
        return self

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        """Return the state before the first gene."""
        state = super().start(arms, streams)
        if isinstance(arms, PoolArms):
            state.available = arms.pool.copy()
        return state

    def recommend(self, state: BatchState) -> IntArray:
        """Return all genes chosen so far, shape (R, n)."""
        return state.arms[:, : int(state.n_observed.min())]


@dataclass(frozen=True)
class RandomGenes(PoolSearch):
    """Uniformly random genes of the pool."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return random genes not yet chosen."""
        order = self._draws(state, "batch")
        return top_batch(order, state.available, order, size)


@dataclass(frozen=True)
class LargestNorms(PoolSearch):
    """A control that learns nothing: after the first batch, the genes whose descriptors have the largest norm."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the largest norms not yet chosen."""
        norms = np.sqrt((state.features[0] ** 2).sum(axis=1))
        return top_batch(np.broadcast_to(norms, state.available.shape), state.available, self._draws(state, "t"), size)


@dataclass(frozen=True)
class RidgeSearch(PoolSearch):
    """A linear control: the genes with the largest prediction of a ridge regression.
    Descriptors are standardised over all genes; the penalty is that of the smallest generalised cross-validation error,
    chosen anew for every batch. ``absolute``: it is fitted to the absolute effects, of which the largest are hits."""

    absolute: bool = False

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        """Return the state before the first gene; features are standardised over the genes."""
        state = super().start(arms, streams)
        spread = state.features.std(axis=1, keepdims=True)
        spread[spread == 0] = 1.0
        state.features = (state.features - state.features.mean(axis=1, keepdims=True)) / spread
        return state

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the genes with the largest predictions."""
        features = state.features[0]
        scores = np.empty(state.available.shape)
        for r, n in enumerate(state.n_observed):
            y = state.rewards[r, :n]
            scores[r] = features @ ridge(features[state.arms[r, :n]], np.abs(y) if self.absolute else y)
        state.scores = scores
        return top_batch(scores, state.available, self._draws(state, "ties"), size)


def ridge(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the slopes of a ridge regression with intercept; the penalty minimises generalised cross-validation."""
    centred, goal = x - x.mean(axis=0), y - y.mean()
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    along = u.T @ goal
    shrink = s**2 / (s**2 + PENALTIES[:, None])
    rest = float(goal @ goal - along @ along)
    errors = (((1.0 - shrink) * along) ** 2).sum(axis=1) + rest
    free = 1.0 - (1.0 + shrink.sum(axis=1)) / len(y)
    kept = np.where(free > 1e-9, errors / np.maximum(free, 1e-9) ** 2, np.inf)
    best = int(np.argmin(kept))
    return np.asarray(vt.T @ (s / (s**2 + PENALTIES[best]) * along))


@dataclass(frozen=True)
class GeneSearch(PoolSearch):
    """Batches chosen from what a Bayesian network says, which is trained anew for each.
    ``acquisition`` is one of ``ACQUISITIONS``; ``hidden``, ``epochs``, ``passes`` and ``broadcast_loss`` are those of
    `DropoutTraining`. ``reset``: every batch draws the same random numbers, as in the authors' code, which sets all
    seeds anew in each cycle: initial weights, order of the data, dropout, samples."""

    acquisition: str = "optimistic"
    hidden: int = 32
    epochs: int = 100
    passes: int = 100
    broadcast_loss: bool = False
    reset: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.acquisition not in ACQUISITIONS:
            raise ValueError(f"acquisition must be one of {', '.join(ACQUISITIONS)}, got {self.acquisition!r}.")
        self._training()

    def _training(self) -> DropoutTraining:
        return DropoutTraining(self.hidden, self.epochs, passes=self.passes, broadcast_loss=self.broadcast_loss)

    def as_coded(self) -> Self:
        """Return the search of the authors' code, with the units of the benchmark's application."""
        return replace(self, hidden=UNITS_OF_APPLICATION, broadcast_loss=True, reset=True)

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the next genes."""
        training, number = self._training(), 0 if self.reset else state.round
        features: SingleArray = state.inputs[0].numpy()
        key = state.streams.key("Bayesian network")
        names = np.stack([state.replications, np.full(len(state.replications), number)], axis=1)
        arms, targets, n = training_part(state, number)
        networks, _ = fit_dropout_networks(training, features, arms, n, targets, key, names)
        outputs = hidden_outputs(networks, features)
        if self.acquisition in ("core_set", "badge", "k_means", "adversarial"):
            return self._by_geometry(state, size, number, networks, outputs, features)
        passes = predict_dropout(training, networks, outputs, state.available, key, names)
        scores = scores_of(self.acquisition, passes)
        if scores is not None:
            state.scores = scores.astype(np.float64)
            return top_batch(state.scores, state.available, self._draws(state, "ties"), size)
        draws = state.streams.key(f"{self.label} sample")
        chosen = np.empty((len(arms), size), dtype=np.int64)
        for r, replication in enumerate(state.replications):
            pool = self._listed(state, r)
            uniforms = np.array([uniform(draws, int(replication), i, number) for i in range(size)])
            chosen[r] = pool[sampled(soft_weights(passes.deviation[r, pool]), uniforms)]
        return chosen

    def _by_geometry(
        self, state: BatchState, size: int, number: int, networks: Networks, outputs: SingleArray, features: SingleArray
    ) -> IntArray:
        key = state.streams.key(f"{self.label} sample")
        chosen = np.empty((len(state.replications), size), dtype=np.int64)
        for r, replication in enumerate(state.replications):
            pool, rep = self._listed(state, r), int(replication)
            points = outputs[r][pool]
            if self.acquisition == "core_set":  # distances to the last batch only, as in the authors' code
                last = state.arms[r, state.n_observed[r] - self.batch : state.n_observed[r]]
                places = far_from(points, outputs[r][last], size)
            elif self.acquisition == "badge":
                factors = np.array([standard_normal(key, rep, int(a), 2 * number) for a in pool], dtype=np.float32)
                uniforms = np.array([uniform(key, rep, i, 2 * number + 1) for i in range(size)])
                places = spread_seeds(points * factors[:, None], uniforms)
            elif self.acquisition == "k_means":
                uniforms = np.array([uniform(key, rep, i, number) for i in range(size)])
                places = cluster_members(points, uniforms)
            else:
                first = pool[:BIM_CANDIDATES]
                generator = np.random.default_rng([int(key), rep, number])
                distances = adversarial_distances(
                    features[first], networks.first[r], networks.bias[r], networks.last[r], generator
                )
                places = nearest_to_boundary(distances, size)
            chosen[r] = pool[places]
        return chosen

    def _listed(self, state: BatchState, r: int) -> IntArray:
        """Return the genes that are left in the order of a run's list, which is random and stays the same."""
        order = random_order(
            state.streams.key("list of genes"), state.replications[r : r + 1], 0, len(state.features[0])
        )
        listed = np.argsort(order[0], kind="stable")
        return np.asarray(listed[state.available[r, listed]])


def training_part(state: BatchState, number: int) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the observations that train: four of every five in the order of their effects, one at random held out.
    Arms and targets have shape (R, n); of each row the first ``n_kept`` count."""
    key = state.streams.key("validation part")
    arms, targets = np.zeros_like(state.arms), np.zeros_like(state.rewards)
    kept = np.zeros(len(arms), dtype=np.int64)
    for r, n in enumerate(state.n_observed):
        order = np.argsort(state.rewards[r, :n], kind="stable")
        train = np.ones(n, dtype=np.bool_)
        for fold in range(n // FOLD):
            place = fold * FOLD + int(FOLD * uniform(key, int(state.replications[r]), fold, number))
            train[order[place]] = False
        kept[r] = train.sum()
        arms[r, : kept[r]] = state.arms[r, :n][train]
        targets[r, : kept[r]] = state.rewards[r, :n][train]
    return arms, targets, kept
