r"""Optimistic arm elimination for linear functions, where the optimistic model has a closed form.

A batch with the sum of features s promises at most :math:`\hat\theta^\top s+\|Ms\|`, where the plausible parameters are
:math:`\hat\theta+M^\top u` with :math:`\|u\|\leq1`: a ball of what is not yet known (no misspecification), or an
ellipsoid.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Equation 1
   with :math:`\mathbb{A}_{\max,b}`, Theorem 4.1, Algorithms 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numba import njit

from bestarm.designs.diverse_batch import Kernel, diverse_batch
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.policies.batch_search import BatchSearch, BatchState
from bestarm.streams import Streams

First = Literal["random", "chosen"]
NEGLIGIBLE = 1e-9


@njit(cache=True)
def _largest(scores: FloatArray, order: FloatArray, arms: IntArray, size: int, found: IntArray) -> None:
    """Write the positions with the largest scores to ``found``; ``order`` of the arms breaks ties."""
    n = 0
    for i in range(len(scores)):
        if n == size:
            last = found[n - 1]
            better = scores[i] > scores[last] or (
                scores[i] == scores[last] and order[arms[i]] > order[arms[last]]
            )  # fmt: skip
            if not better:
                continue
        else:
            n += 1
        place = n - 1
        while place > 0:
            other = found[place - 1]
            if scores[i] < scores[other] or (scores[i] == scores[other] and order[arms[i]] < order[arms[other]]):
                break
            found[place] = other
            place -= 1
        found[place] = i


@njit(cache=True)
def optimistic_batches(
    features: FloatArray,
    feature_set: IntArray,
    estimate: FloatArray,
    widths: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
    n_starts: int,
) -> tuple[IntArray, FloatArray, FloatArray]:
    r"""Return batches that maximise :math:`\hat\theta^\top s+\|Ms\|`, s the sum of the batch, by alternation.

    Given u, the best batch has the largest :math:`\hat\theta^\top a+u^\top Ma`; given the batch, the best u is
    :math:`Ms/\|Ms\|`. The value never falls. The starts are the directions of the arms with the largest index
    :math:`\hat\theta^\top a+\|Ma\|`; the largest value is kept. For one arm it is the exact maximum, for more a local
    one.

    Parameters
    ----------
    features : ndarray, shape (n_sets, n_arms, d)
        Arms.
    feature_set : ndarray of int64, shape (R,)
        Which set each replication has.
    estimate : ndarray, shape (R, d)
        Centre of the plausible parameters.
    widths : ndarray, shape (R, d, d)
        M.
    available, order : ndarray, shape (R, n_arms)
        Arms not yet pulled, at least ``size`` in each row; random draws that break ties.
    size, n_starts : int
        Arms of a batch; starts of the alternation.

    Returns
    -------
    chosen : ndarray of int64, shape (R, size)
        Batches.
    values : ndarray, shape (R,)
        What they promise.
    models : ndarray, shape (R, d)
        The optimistic parameters, with which the promise is that sum over the batch.
    """
    n_rows, n_features = estimate.shape
    chosen = np.empty((n_rows, size), dtype=np.int64)
    values, models = np.empty(n_rows), estimate.copy()
    for r in range(n_rows):
        arms = np.flatnonzero(available[r])
        x = features[feature_set[r]][arms]
        base = x @ estimate[r]
        wide = x @ np.ascontiguousarray(widths[r].T)
        norms = np.sqrt((wide**2).sum(axis=1))
        index = base + norms
        batch = np.empty(size, dtype=np.int64)
        if size == 1 or norms.max() <= NEGLIGIBLE:  # nothing to alternate
            _largest(index, order[r], arms, size, batch)
            total = np.zeros(n_features)
            value = 0.0
            for i in batch:
                value += base[i]
                total += wide[i]
            norm = np.sqrt((total**2).sum())
            chosen[r], values[r] = arms[batch], value + norm
            if norm > NEGLIGIBLE:
                models[r] += np.ascontiguousarray(widths[r].T) @ total / norm
            continue
        starts = np.empty(min(n_starts, len(arms)), dtype=np.int64)
        _largest(index, order[r], arms, len(starts), starts)
        directions = np.empty((len(starts), n_features))
        n = 0
        for i in starts:  # copies of an arm are one start
            if norms[i] > NEGLIGIBLE:
                directions[n] = wide[i] / norms[i]
                if n == 0 or (directions[:n] @ directions[n]).max() < 1.0 - NEGLIGIBLE:
                    n += 1
        if n == 0:  # the arms with the largest index are known, but others are not
            directions[0], n = wide[np.argmax(norms)] / norms.max(), 1
        reached = np.full(n, -np.inf)
        values[r] = -np.inf
        while n > 0:
            scores = directions[:n] @ wide.T
            kept = 0
            for k in range(n):
                _largest(base + scores[k], order[r], arms, size, batch)
                total = np.zeros(n_features)
                value = 0.0
                for i in batch:
                    value += base[i]
                    total += wide[i]
                norm = np.sqrt((total**2).sum())
                value += norm
                if value > values[r]:
                    values[r], chosen[r] = value, arms[batch]
                    models[r] = estimate[r]
                    if norm > NEGLIGIBLE:
                        models[r] += np.ascontiguousarray(widths[r].T) @ total / norm
                if value > reached[k] + NEGLIGIBLE and norm > NEGLIGIBLE:
                    reached[kept], directions[kept] = value, total / norm
                    kept += 1
            n = kept
    return chosen, values, models


@njit(cache=True)
def sequential_batches(
    features: FloatArray,
    feature_set: IntArray,
    estimate: FloatArray,
    widths: FloatArray,
    least: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
) -> IntArray:
    r"""Return batches chosen arm after arm, each followed by the label in the middle of what is plausible, (R, size).

    That label changes neither the centre nor the radius and makes the arm's direction known, so it is projected out of
    all widths. Parameters are those of `optimistic_batches`; a direction counts as known already if the arm's width is
    at most ``least``, shape (R,).
    """
    n_rows = len(estimate)
    chosen = np.empty((n_rows, size), dtype=np.int64)
    best = np.empty(1, dtype=np.int64)
    for r in range(n_rows):
        arms = np.flatnonzero(available[r])
        x = features[feature_set[r]][arms]
        base = x @ estimate[r]
        if np.abs(widths[r]).max() <= NEGLIGIBLE:
            top = np.empty(size, dtype=np.int64)
            _largest(base, order[r], arms, size, top)
            chosen[r] = arms[top]
            continue
        wide = x @ np.ascontiguousarray(widths[r].T)
        squares = (wide**2).sum(axis=1)
        for place in range(size):
            _largest(base + np.sqrt(np.maximum(squares, 0.0)), order[r], arms, 1, best)
            i = best[0]
            chosen[r, place] = arms[i]
            base[i] = -np.inf
            norm = np.sqrt(max(squares[i], 0.0))
            if norm > least[r] and place + 1 < size:
                direction = wide[i] / norm
                along = wide @ direction
                wide -= np.outer(along, direction)
                squares = (wide**2).sum(axis=1)
    return chosen


@njit(cache=True)
def log_det_batches(
    features: FloatArray,
    feature_set: IntArray,
    estimate: FloatArray,
    widths: FloatArray,
    available: BoolArray,
    order: FloatArray,
    size: int,
    diversity: float,
    noise: float,
) -> IntArray:
    r"""Return batches that greedily maximise the indices plus :math:`\lambda_{div}\log\det(I+s^{-2}MB^\top BM^\top)`.

    B has an arm of the batch in each row. Parameters are those of `optimistic_batches`; ``diversity`` is
    :math:`\lambda_{div}` and ``noise`` is s: widths far below it add nothing to the determinant, so what is known is
    not spread out.
    """
    n_rows = len(estimate)
    chosen = np.empty((n_rows, size), dtype=np.int64)
    best = np.empty(1, dtype=np.int64)
    for r in range(n_rows):
        arms = np.flatnonzero(available[r])
        x = features[feature_set[r]][arms]
        if np.abs(widths[r]).max() <= NEGLIGIBLE:
            top = np.empty(size, dtype=np.int64)
            _largest(x @ estimate[r], order[r], arms, size, top)
            chosen[r] = arms[top]
            continue
        wide = x @ np.ascontiguousarray(widths[r].T) / noise
        gains = (wide**2).sum(axis=1)  # |Ma|^2 / s^2, given the arms chosen
        index = x @ estimate[r] + noise * np.sqrt(gains)
        for place in range(size):
            _largest(index + diversity * np.log1p(np.maximum(gains, 0.0)), order[r], arms, 1, best)
            i = best[0]
            chosen[r, place] = arms[i]
            root = np.sqrt(1.0 + gains[i])  # the widths times the inverse root of I + ww', w that of the arm
            direction = wide[i].copy()
            wide -= np.outer(wide @ direction, direction) / (root * (root + 1.0))
            gains = (wide**2).sum(axis=1)
            index[i] = -np.inf
    return chosen


@njit(cache=True)
def learn_directions(
    x: FloatArray, rewards: FloatArray, resolution: float, basis: FloatArray, rank: IntArray, estimate: FloatArray
) -> None:
    """Add new directions and what is known of the parameter along them, by Gram and Schmidt, twice for accuracy.

    Parameters
    ----------
    x : ndarray, shape (R, b, d)
        Arms of a batch.
    rewards : ndarray, shape (R, b)
        Their rewards; NaN teaches nothing.
    resolution : float
        An arm so close to the span of the basis adds nothing.
    basis, rank, estimate : ndarray, shapes (R, d, d), (R,), (R, d)
        Orthonormal rows, how many there are, and the parameter's projection; changed in place.
    """
    for r in range(len(x)):
        for i in range(x.shape[1]):
            if rank[r] == x.shape[2] or np.isnan(rewards[r, i]):
                continue
            rest = x[r, i].copy()
            for _ in range(2):
                for q in range(rank[r]):
                    rest -= (basis[r, q] * rest).sum() * basis[r, q]
            norm = np.sqrt((rest**2).sum())
            if norm > resolution:
                basis[r, rank[r]] = rest / norm
                missing = rewards[r, i] - (estimate[r] * x[r, i]).sum()
                estimate[r] += missing / norm * basis[r, rank[r]]
                rank[r] += 1


@dataclass(kw_only=True)
class LinearState(BatchState):
    r"""What a linear search knows.

    Attributes
    ----------
    basis : ndarray, shape (R, d, d)
        Orthonormal rows that span what was pulled, the first ``rank`` of each replication.
    rank : ndarray of int64, shape (R,)
        Directions known.
    estimate : ndarray, shape (R, d)
        The parameter's projection on them, :math:`\theta^0_t`.
    hope : ndarray, shape (R,)
        What the last chosen batch promised.
    """

    basis: FloatArray
    rank: IntArray
    estimate: FloatArray
    hope: FloatArray


@dataclass(frozen=True)
class LinearSearch(BatchSearch):
    r"""What searches with linear functions :math:`|\theta|\leq1` have in common.

    Parameters
    ----------
    label, batch, rounds, standardise, device
        As of `BatchSearch`.
    first : {"random", "chosen"}
        The first batch: random, as in Algorithm 1, or by Equation 1 without data, as the theorem allows.
    resolution : float
        An arm at most so far from the span of those pulled teaches no direction. At 0, a batch of almost equal arms
        would reveal the parameter by their tiny differences.

    Raises
    ------
    ValueError
        For an unknown first batch or a resolution that is not positive.
    """

    first: First = "random"
    resolution: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first not in get_args(First):
            raise ValueError(f"first must be 'random' or 'chosen', got {self.first!r}.")
        if not 0.0 < self.resolution < 1.0:
            raise ValueError(f"resolution must be in (0, 1), got {self.resolution}.")

    def start(self, arms: Arms, streams: Streams) -> LinearState:
        """Return the state before the first pull."""
        n, d = len(streams.replications), arms.n_features
        return LinearState(
            **vars(super().start(arms, streams)),
            basis=np.zeros((n, d, d)),
            rank=np.zeros(n, dtype=np.int64),
            estimate=np.zeros((n, d)),
            hope=np.full(n, np.nan),
        )

    def ask(self, state: BatchState) -> Ask:
        """Return the next batch."""
        assert isinstance(state, LinearState)
        state.hope = np.full(len(state.best), np.nan)
        if state.round == 0 and self.first == "chosen" and state.available.shape[1] > self.batch:
            chosen = self.choose(state, self.batch)
            return Ask(chosen, np.ones_like(chosen))
        return super().ask(state)

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Learn the rewards and the directions of the arms."""
        assert isinstance(state, LinearState)
        super().tell(state, asked, totals)
        if (state.rank < state.estimate.shape[1]).any():
            x = state.features[state.feature_set[:, None], asked.arms]
            rewards = np.where(asked.counts > 0, totals / np.maximum(asked.counts, 1), np.nan)
            learn_directions(x, rewards, self.resolution, state.basis, state.rank, state.estimate)

    def plausible(self, state: LinearState) -> tuple[FloatArray, FloatArray]:
        r"""Return centre and M, shapes (R, d) and (R, d, d), of the plausible parameters: :math:`M=\rho_t(I-P_t)`."""
        radius = np.sqrt(np.maximum(1.0 - (state.estimate**2).sum(axis=1), 0.0))
        projector = np.eye(state.estimate.shape[1]) - np.einsum("rki,rkj->rij", state.basis, state.basis)
        known = state.rank == state.estimate.shape[1]
        return state.estimate, np.where(known, 0.0, radius)[:, None, None] * projector

    def outputs(self, state: LinearState, models: FloatArray) -> FloatArray:
        """Return the values of linear functions, shape (R, d), at all arms, shape (R, n_arms)."""
        if len(state.features) == 1:
            return np.asarray(models @ state.features[0].T)
        return np.einsum("rad,rd->ra", state.features, models)

    def index(self, state: LinearState) -> FloatArray:
        """Return the most that each arm may be worth, shape (R, n_arms)."""
        centre, widths = self.plausible(state)
        found = self.outputs(state, centre)
        if widths.any():
            wide = state.features[state.feature_set] @ widths.swapaxes(1, 2)
            found += np.sqrt(np.einsum("rad,rad->ra", wide, wide))
        return found


@dataclass(frozen=True)
class LinearOae(LinearSearch):
    r"""Vanilla OAE: the batch of which a plausible function promises most ([1]_, Equation 1, :math:`\gamma_t=0`).

    Parameters
    ----------
    starts : int
        Starts of the alternation, see `optimistic_batches`.

    Raises
    ------
    ValueError
        For a setting out of its range.
    """

    starts: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.starts < 1:
            raise ValueError(f"starts must be at least 1, got {self.starts}.")

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the most promising batch; the scores are the outputs of the function that promises it."""
        assert isinstance(state, LinearState)
        centre, widths = self.plausible(state)
        ties = self._draws(state, "ties")
        chosen, state.hope, models = optimistic_batches(
            state.features, state.feature_set, centre, widths, state.available, ties, size, self.starts
        )
        state.scores = self.outputs(state, models)
        return chosen


@dataclass(frozen=True)
class EllipsoidOae(LinearOae):
    r"""Vanilla OAE under misspecification: parameters with squared errors of at most :math:`\gamma_t=(t-1)b\omega^2`.

    The set :math:`\|X\theta-y\|^2+\lambda|\theta|^2\leq\gamma_t+\lambda` contains all those with :math:`|\theta|\leq1`,
    and for :math:`\gamma_t=0`, :math:`\lambda\to0` it is the ball of `LinearOae`.

    Parameters
    ----------
    omega : float
        :math:`\omega`, the largest error of the best function.
    ridge : float
        :math:`\lambda`.

    Raises
    ------
    ValueError
        For a negative error or a ridge that is not positive.
    """

    omega: float = 0.0
    ridge: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.omega < np.inf or not self.ridge > 0.0:
            raise ValueError(f"omega must be at least 0 and ridge positive, got {self.omega} and {self.ridge}.")

    def plausible(self, state: LinearState) -> tuple[FloatArray, FloatArray]:
        r"""Return centre and :math:`M=cL^{-1}`, where :math:`LL^\top=X^\top X+\lambda I` and c is the slack's root."""
        d, room = state.estimate.shape[1], int(state.n_observed.max())
        known = np.arange(room) < state.n_observed[:, None]
        x = state.features[state.feature_set[:, None], state.arms[:, :room]] * known[:, :, None]
        y = np.where(known, state.rewards[:, :room], 0.0)
        gram = x.swapaxes(1, 2) @ x + self.ridge * np.eye(d)
        centre = np.linalg.solve(gram, x.swapaxes(1, 2) @ y[:, :, None])[:, :, 0]
        errors = ((x @ centre[:, :, None])[:, :, 0] - y) ** 2
        least = errors.sum(axis=1) + self.ridge * (centre**2).sum(axis=1)
        slack = np.maximum(state.n_observed * self.omega**2 + self.ridge - least, 0.0)
        return np.asarray(centre), np.sqrt(slack)[:, None, None] * np.linalg.inv(np.linalg.cholesky(gram))


@dataclass(frozen=True)
class LinearGreedy(LinearSearch):
    """The arms with the largest estimates: what is not known counts as 0."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the arms with the largest estimates."""
        assert isinstance(state, LinearState)
        state.scores = self.outputs(state, state.estimate)
        nothing, ties = np.zeros_like(state.basis), self._draws(state, "ties")
        chosen, _, _ = optimistic_batches(
            state.features, state.feature_set, state.estimate, nothing, state.available, ties, size, 1
        )
        return chosen


@dataclass(frozen=True)
class LinearSeq(LinearSearch):
    """Algorithm 3 with the middle of what is plausible as virtual label: no direction is promised twice in a batch."""

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch; the scores are the most that each arm may be worth."""
        assert isinstance(state, LinearState)
        centre, widths = self.plausible(state)
        state.scores = self.index(state)
        least = self.resolution * np.linalg.norm(widths, ord=2, axis=(1, 2))
        ties = self._draws(state, "ties")
        return sequential_batches(
            state.features, state.feature_set, centre, widths, least, state.available, ties, size
        )  # fmt: skip


@dataclass(frozen=True)
class LinearDiverse(LinearSearch):
    r"""Algorithm 2: the most that each arm may be worth, plus the log determinant of a kernel over the batch.

    Parameters
    ----------
    diversity : float
        :math:`\lambda_{div}`.
    kernel : {"direction", "affine", "rbf"}
        See `bestarm.designs.diverse_batch`.

    Raises
    ------
    ValueError
        If the weight is not positive.
    """

    diversity: float = 1.0
    kernel: Kernel = "direction"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.diversity < np.inf:
            raise ValueError(f"diversity must be positive and finite, got {self.diversity}.")

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch; the scores are the most that each arm may be worth."""
        assert isinstance(state, LinearState)
        state.scores = self.index(state)
        ties = self._draws(state, "ties")
        return diverse_batch(
            state.features, state.feature_set, state.scores, state.available, ties, size, self.diversity, self.kernel
        )


@dataclass(frozen=True)
class LinearLogDet(LinearSearch):
    r"""As `LinearDiverse`, with the log determinant of what is not yet known about the arms of the batch.

    Parameters
    ----------
    diversity : float
        :math:`\lambda_{div}`.
    noise : float
        s, the scale of :math:`\log\det(I+s^{-2}MB^\top BM^\top)`.

    Raises
    ------
    ValueError
        If one of them is not positive.
    """

    diversity: float = 1.0
    noise: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.diversity < np.inf or not 0.0 < self.noise < np.inf:
            raise ValueError(f"diversity and noise must be positive, got {self.diversity} and {self.noise}.")

    def choose(self, state: BatchState, size: int) -> IntArray:
        """Return the batch; the scores are the most that each arm may be worth."""
        assert isinstance(state, LinearState)
        centre, widths = self.plausible(state)
        state.scores = self.index(state)
        ties = self._draws(state, "ties")
        return log_det_batches(
            state.features, state.feature_set, centre, widths, state.available, ties, size, self.diversity, self.noise
        )
