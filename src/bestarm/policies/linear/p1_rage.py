r"""P1-RAGE: randomised pulls that are half G-optimal and half of the designs of virtual phases, for a fixed budget.

References
----------
.. [1] Xiong, Camilleri, Fazel, Jain, Jamieson. "A/B Testing and Best-arm Identification for Linear Bandits with
   Robustness to Non-stationarity". AISTATS 2024, arXiv 2307.15154. P1-RAGE, in the batched form of its experiments.
"""

from dataclasses import dataclass, field

import numpy as np

from bestarm.designs.allocation import AllocationRule
from bestarm.designs.direction_design import live_designs, span_coordinates
from bestarm.designs.rounding import round_design
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.policies.linear.elimination import ask_for, best_live, by_arm
from bestarm.policies.linear.fixed_budget import check_budget
from bestarm.settings import check_settings
from bestarm.streams import Streams

_PHASES = 15


@dataclass
class P1RageState:
    """The state of the policy for R replications."""

    weights: FloatArray  # probabilities of the arms in the present epoch, (R, K)
    means: FloatArray  # estimates, (R, K)
    sums: FloatArray  # estimates times ``n_pulls``, (R, K)
    n_pulls: IntArray  # successful pulls, (R,)
    n_epochs: IntArray  # in all, (R,)
    feature_set: IntArray
    replications: IntArray
    g_optimal: FloatArray = shared()  # design of each set of features, (n_sets, K)
    coordinates: list[FloatArray] = shared()  # each set of features in its span, (K, rank)
    key: np.uint64 = shared()
    epoch: int = field(default=0)


@dataclass(frozen=True)
class P1Rage:
    r"""P1-RAGE ([1]_): the best of both worlds, robust where means drift and fast where they do not.

    The budget is divided into :math:`\lceil\log_2\rho\rceil` epochs of equal length, :math:`\rho` being the largest
    variance of the XY-optimal design of all pairs. Before each, virtual phases :math:`i=1,2,\dots` start from all
    arms, :math:`S_1`, and keep :math:`S_{i+1}=\{x\in S_i:\max_{x'}x'^\top\hat\theta-x^\top\hat\theta\leq2^{-i}\}` until
    one arm is left, at most 15 phases. In the epoch arms are drawn independently from
    :math:`\lambda=\frac12\lambda^G+\frac12\operatorname{mean}_i\lambda^{XY}(S_i)`, with :math:`\lambda^G` the G-optimal
    design and :math:`\lambda^{XY}` that of all arms for the pairs of a phase. The estimate weighs each pull by the
    design it was drawn from, :math:`\hat\theta=\frac1t\sum_sA(\lambda_s)^{-1}x_sy_s`, and is unbiased whatever the
    means do. Recommended is the arm with the largest :math:`x^\top\hat\theta`.

    *Deviations*: the authors' script makes its first design after one pull, here :math:`\hat\theta=0` makes it, which
    eliminates nothing; what the division leaves of the budget goes to the last epoch. The pulls of an epoch come as
    counts: who expects drift makes them in random order. An epoch costs a design for each different set of arms in a
    phase: :math:`O(n^2d+Kd^2+d^3)` a step for n arms, at most 300 steps; a pull costs :math:`O(\log K)`. Raises
    ValueError for a budget below the number of epochs, or arms that are all the same.

    Parameters
    ----------
    budget : int
        B, at least the number of epochs.
    label : str
        Name in the paper; keys the random choices.
    """

    budget: int
    label: str = "P1-RAGE"

    def __post_init__(self) -> None:
        check_settings(self)
        check_budget(self.label, self.budget)

    def start(self, arms: Arms, streams: Streams) -> P1RageState:
        """Return the state before the first epoch."""
        n, key = len(streams.replications), streams.key(f"ties of {self.label}")
        features, feature_set = arms.feature_sets(n)
        coordinates, sets = span_coordinates(features, self.label), np.arange(len(features))
        everything = np.ones((len(features), arms.n_arms), dtype=np.bool_)
        pairwise, rho = live_designs(coordinates, sets, everything)
        g_optimal = AllocationRule("g-optimal").weights(features, sets, everything, key, sets)
        n_epochs = np.ceil(np.log2(np.maximum(rho, 2.0))).astype(np.int64)
        check_budget(self.label, self.budget, int(n_epochs.max()), f"one pull in each of {n_epochs.max()} epochs")
        return P1RageState(
            weights=(0.5 * (g_optimal + pairwise))[feature_set],
            means=np.zeros((n, arms.n_arms)),
            sums=np.zeros((n, arms.n_arms)),
            n_pulls=np.zeros(n, dtype=np.int64),
            n_epochs=n_epochs[feature_set],
            feature_set=feature_set,
            replications=streams.replications,
            g_optimal=g_optimal,
            coordinates=coordinates,
            key=key,
        )

    def ask(self, state: P1RageState) -> Ask:
        """Draw the pulls of the next epoch."""
        counts = np.zeros(state.means.shape, dtype=np.int64)
        going = np.flatnonzero(~self.finished(state))
        if len(going) > 0:
            n_epochs = state.n_epochs[going]
            budgets = self.budget // n_epochs + (self.budget % n_epochs) * (state.epoch == n_epochs - 1)
            weights, rows = state.weights[going], state.replications[going]
            counts[going] = round_design(weights, budgets, "multinomial", state.key, rows, state.epoch)
        return ask_for(counts)

    def tell(self, state: P1RageState, asked: Ask, totals: FloatArray) -> None:
        """Update the estimates and the design; totals that are NaN (failed) teach nothing and cost their pulls."""
        counts, sums = by_arm(asked, totals, state.means.shape[1])
        known = (counts > 0) & ~np.isnan(sums)
        state.n_pulls += np.where(known, counts, 0).sum(axis=1)
        sums = np.where(known, sums, 0.0)
        for s, z in enumerate(state.coordinates):
            rows = np.flatnonzero(state.feature_set == s)
            inverses = np.linalg.inv(np.einsum("rk,ki,kj->rij", state.weights[rows], z, z, optimize=True))
            state.sums[rows] += np.einsum("rij,rj->ri", inverses, sums[rows] @ z) @ z.T
        state.means[:] = state.sums / np.maximum(state.n_pulls, 1)[:, None]
        state.epoch += 1
        self._redesign(state, np.flatnonzero(~self.finished(state)))

    def _redesign(self, state: P1RageState, rows: IntArray) -> None:
        """Mix the G-optimal design with those of the virtual phases, for some rows."""
        gaps = state.means[rows].max(axis=1, keepdims=True) - state.means[rows]
        total, design, n_phases = np.zeros(gaps.shape), np.zeros(gaps.shape), np.zeros(len(rows))
        live, changed = np.ones(gaps.shape, dtype=np.bool_), np.ones(len(rows), dtype=np.bool_)
        for phase in range(1, _PHASES + 1):
            going = live.sum(axis=1) > 1
            new = np.flatnonzero(going & changed)
            if len(new) > 0:
                design[new] = live_designs(state.coordinates, state.feature_set[rows[new]], live[new])[0]
            total[going] += design[going]
            n_phases += going
            left = live & (gaps <= 2.0**-phase)
            live, changed = left, (left != live).any(axis=1)
        state.weights[rows] = 0.5 * state.g_optimal[state.feature_set[rows]] + 0.5 * total / n_phases[:, None]

    def finished(self, state: P1RageState) -> BoolArray:
        """Return which replications have run all their epochs."""
        return np.asarray(state.epoch >= state.n_epochs)

    def recommend(self, state: P1RageState) -> IntArray:
        """Return the arm with the largest estimate, shape (R, 1); a random one before the first epoch."""
        everything = np.ones(state.means.shape, dtype=np.bool_)
        return best_live(everything, state.means, state.key, state.replications, state.epoch)
