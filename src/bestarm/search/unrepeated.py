r"""Gaussian process policies in a search among candidates that need not be asked for twice.

The policies of `bestarm.policies.batch_gp` may ask for an arm again, since evaluations are noisy. In a screen each gene
is measured once (its replicates are averaged), so that genes asked for before are taken out of the choice; which
also makes room for 20,000 genes, of which the most promising are looked at.

References
----------
.. [1] Wilson et al. "Efficiently Sampling Functions from Gaussian Process Posteriors". ICML 2020. Equation 12
   (Matheron's rule), by which Thompson's draws are made here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator, Philox

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.batch_rules import Draws, UpperBound
from bestarm.policies.batch_search import random_order, top_batch
from bestarm.policies.gp_acquisition import ucb_width
from bestarm.policies.gp_state import BatchGPState
from bestarm.search.scaled import random_batch
from bestarm.streams import Streams

_FAR_BELOW = -1e6  # posterior mean, in scaled units, of what may not be chosen
MOST_KNOWN = 4000  # the posterior takes n^2 K operations and n K numbers


@dataclass
class GpScreenState:
    """What is known of R replications: the Gaussian process, and which genes may still be asked for.

    Attributes
    ----------
    gp : BatchGPState
        The posterior.
    available : ndarray of bool, shape (R, n_arms)
        Genes not yet measured.
    scores : ndarray, shape (R, n_arms)
        Upper confidence bound of each gene at the last choice; NaN where there was none.
    n_observed : ndarray of int64, shape (R,)
        Rewards known.
    round : int
        Batches told.
    """

    gp: BatchGPState
    streams: Streams
    available: BoolArray
    scores: FloatArray
    n_observed: IntArray
    round: int = 0


class _OfPosterior:
    """What a search does with a Gaussian process, whichever policy chooses."""

    policy: BatchGP

    def set_aside(self, state: GpScreenState, places: IntArray) -> None:
        """Keep some arms from being chosen."""
        state.available[:, places] = False

    def believe(self, state: GpScreenState, places: IntArray) -> None:
        """Take arms that are being measured for known, each at its predicted mean: no mean moves, variances shrink."""
        self.set_aside(state, places)
        hallucinate(self.policy, state.gp, places)

    def predicted(self, state: GpScreenState) -> tuple[FloatArray, FloatArray]:
        """Return posterior mean and deviation of every arm, shape (n_arms,) each."""
        means, variances = state.gp.predict()
        return means[0], np.sqrt(np.maximum(variances[0], 0.0))


@dataclass(frozen=True)
class GpScreen(_OfPosterior):
    r"""A batch policy with a Gaussian process that asks for no gene twice; the first batch is random.

    Features are divided by the root of their number, so that two genes are about :math:`\sqrt2` apart. What may not be
    chosen has a mean far below all others in a copy of the posterior, so that no bound, region or estimate of the
    maximum counts it. Thompson's draws are made on all genes, and each takes the best gene that is left. Where a
    choice names a gene twice, the largest upper confidence bounds fill the batch.

    Parameters
    ----------
    policy : BatchGP
        What chooses.
    shortlist : int
        Of more genes than this, those with the largest upper confidence bounds are looked at, beside those measured.

    Raises
    ------
    ValueError
        If the shortlist is shorter than a batch.
    """

    policy: BatchGP
    shortlist: int = 2000

    def __post_init__(self) -> None:
        if self.shortlist < self.policy.batch:
            raise ValueError(
                f"shortlist must be at least a batch, {self.policy.batch}, got {self.shortlist}; raise it."
            )

    @property
    def label(self) -> str:
        """Name of the policy."""
        return self.policy.label

    @property
    def _bound(self) -> UpperBound:
        """The upper confidence bound that ranks genes beside the policy's choice: its own, where it has one."""
        own = self.policy.acquisition
        return own if isinstance(own, UpperBound) else UpperBound()

    def start(self, arms: Arms, streams: Streams) -> GpScreenState:
        """Return the state before the first batch."""
        room = self.policy.batch * self.policy.rounds
        if min(room, arms.n_arms) > MOST_KNOWN:
            raise ValueError(
                f"{self.label} can learn {MOST_KNOWN} phenotypes, {min(room, arms.n_arms)} are to be learned; take a "
                "policy with networks, such as mean_opt."
            )
        gp = self.policy.start(Arms(arms.features / np.sqrt(arms.n_features)), streams)
        n = len(streams.replications)
        return GpScreenState(
            gp, streams, np.ones((n, arms.n_arms), np.bool_), np.full((n, arms.n_arms), np.nan), np.zeros(n, np.int64)
        )

    def ask(self, state: GpScreenState) -> Ask:
        """Return the next batch."""
        n, left = len(state.n_observed), int(state.available.sum(axis=1).max())
        if state.round == self.policy.rounds or left == 0:
            return Ask(np.zeros((n, 1), np.int64), np.zeros((n, 1), np.int64))
        size = min(self.policy.batch, left)
        state.scores = np.full(state.available.shape, np.nan)
        chosen = random_batch(state.streams, state.round, state.available, size)
        for r in np.flatnonzero(state.n_observed > 0):
            chosen[r] = self._choose(state, int(r), size)
        return Ask(chosen, np.ones_like(chosen))

    def _choose(self, state: GpScreenState, r: int, size: int) -> IntArray:
        """Return the batch of one replication."""
        gp, free = state.gp, state.available[r]
        n_arms = len(free)
        rule = self.policy.rule
        width = ucb_width(n_arms, max(state.round, 1), self._bound.delta, self._bound.beta_scale)
        upper = gp.means[r] + width * np.sqrt(gp.variances[r])
        state.scores[r] = upper
        if free.sum() <= size:
            wanted: list[int] = []
        elif isinstance(rule, Draws):
            wanted = list(self._thompson(state, r, size, rule.n_features))
        else:
            looked_at = np.flatnonzero(free)
            if len(looked_at) > self.shortlist:
                looked_at = np.sort(looked_at[np.argsort(-upper[looked_at], kind="stable")[: self.shortlist]])
            own = np.unique(gp.conditioned[r, : gp.n_known[r]])
            columns = np.union1d(looked_at, own)
            part = self._part(gp, r, columns, free)
            asked = self.policy.ask(part)
            wanted = [int(a) for a in columns[asked.arms[0]]]
        order = random_order(
            state.streams.key(f"{self.label} ties"), state.streams.replications[r : r + 1], state.round, n_arms
        )
        rest = top_batch(upper[None], free[None], order, size)[0]
        kept = [a for a in dict.fromkeys([*wanted, *(int(a) for a in rest)]) if free[a]]
        return np.array(kept[:size], dtype=np.int64)

    def _part(self, gp: BatchGPState, r: int, columns: IntArray, free: BoolArray) -> BatchGPState:
        """Return a copy of one replication's posterior on some genes, of which the measured ones are out of reach."""
        known, rows = int(gp.n_known[r]), slice(r, r + 1)
        conditioned = np.zeros_like(gp.conditioned[rows])
        conditioned[0, :known] = np.searchsorted(columns, gp.conditioned[r, :known])
        shut = ~free[columns]
        reward_means, one_means = gp.reward_means[rows, columns].copy(), gp.one_means[rows, columns].copy()
        one_means[0, shut] = 0.0
        reward_means[0, shut] = _FAR_BELOW * gp.scale[r]
        kept = np.empty((1, gp.rows.shape[1], len(columns)))
        kept[0, :known] = gp.rows[r, :known][:, columns]
        return replace(
            gp, points=np.ascontiguousarray(gp.points[gp.point_set[rows]][:, :, columns]),
            point_set=np.zeros(1, np.int64), lengthscales=gp.lengthscales[rows], signal=gp.signal[rows],
            noise=gp.noise[rows], offset=gp.offset[rows], scale=gp.scale[rows], conditioned=conditioned,
            rewards=gp.rewards[rows], n_rows=gp.n_known[rows].copy(), n_known=gp.n_known[rows], rows=kept,
            pivots=gp.pivots[rows].copy(), variances=gp.variances[rows, columns].copy(), reward_means=reward_means,
            one_means=one_means, log_parameters=gp.log_parameters[rows], fitted=gp.fitted[rows],
            first_stage=gp.first_stage[rows].copy(), log=gp.log[rows].copy(), n_failed=gp.n_failed[rows],
            replications=gp.replications[rows],
        )  # fmt: skip

    def _thompson(self, state: GpScreenState, r: int, size: int, m: int) -> IntArray:
        """Return the best free gene of each of so many draws from the posterior, of m random features ([1]_)."""
        gp, free = state.gp, state.available[r].copy()
        counter = [0, 0, int(gp.replications[r]), state.round]
        draw = Generator(Philox(key=int(gp.batch_key), counter=counter))
        points = gp.points[gp.point_set[r]]
        known = int(gp.n_known[r])
        frequencies = draw.standard_normal((m, len(points))) / gp.lengthscales[r]
        waves = np.cos(frequencies @ points + 2.0 * np.pi * draw.random((m, 1)))
        values = draw.standard_normal((size, m)) @ waves * np.sqrt(2.0 * gp.signal[r] / m)
        values += np.sqrt(gp.constant) * draw.standard_normal((size, 1))
        scaled = (gp.rewards[r, :known] - gp.offset[r]) / gp.scale[r]
        noise = np.sqrt(gp.noise[r]) * draw.standard_normal((known, size))
        for t in range(known):
            gain = (scaled[t] - noise[t] - values[:, gp.conditioned[r, t]]) / gp.pivots[r, t]
            values += gain[:, None] * gp.rows[r, t]
        chosen = np.empty(size, dtype=np.int64)
        for b in range(size):
            chosen[b] = np.where(free, values[b], -np.inf).argmax()
            free[chosen[b]] = False
        return chosen

    def tell(self, state: GpScreenState, asked: Ask, totals: FloatArray) -> None:
        """Learn rewards, of what was asked or of anything else; a gene that failed is used up."""
        self.policy.tell(state.gp, asked, totals)
        rows = np.arange(len(state.n_observed))
        for place in range(asked.arms.shape[1]):
            pulled = asked.counts[:, place] > 0
            state.available[rows[pulled], asked.arms[pulled, place]] = False
        state.n_observed = state.gp.n_known.copy()
        state.round += 1

    def finished(self, state: GpScreenState) -> BoolArray:
        """Return which replications have spent their rounds or their genes."""
        over = state.round == self.policy.rounds or not state.available.any()
        return np.full(len(state.n_observed), over)

    def recommend(self, state: GpScreenState) -> IntArray:
        """Return the recommended gene, shape (R, 1)."""
        return self.policy.recommend(state.gp)


def hallucinate(policy: BatchGP, gp: BatchGPState, places: IntArray) -> None:
    """Tell a posterior of one replication some arms at their predicted means, with all else as it is."""
    if len(places) == 0 or gp.n_known[0] == 0:
        return
    frozen = replace(policy, model=replace(policy.model, fit="frozen", standardise=False))
    turn = gp.round
    arms = np.ascontiguousarray(places[None], dtype=np.int64)
    frozen.tell(gp, Ask(arms, np.ones_like(arms)), np.ascontiguousarray(gp.predict()[0][:, places]))
    gp.round = turn


@dataclass(frozen=True)
class OwnGp(_OfPosterior):
    """A batch policy with a Gaussian process as it is: arms may repeat, and the first ones are the policy's own.

    Parameters
    ----------
    policy : BatchGP
        What chooses.
    """

    policy: BatchGP

    @property
    def label(self) -> str:
        """Name of the policy."""
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> GpScreenState:
        """Return the state before the first batch."""
        n, free = len(streams.replications), np.ones((len(streams.replications), arms.n_arms), np.bool_)
        gp = self.policy.start(arms, streams)
        return GpScreenState(gp, streams, free, np.full(free.shape, np.nan), np.zeros(n, np.int64))

    def ask(self, state: GpScreenState) -> Ask:
        """Return the next batch; arms that were set aside are taken out of the choice, as `GpScreen` does."""
        free = state.available[0]
        if free.all():
            return self.policy.ask(state.gp)
        size = self.policy.batch if state.round or not self.policy.first else self.policy.first
        if state.n_observed[0] == 0:
            chosen = random_batch(state.streams, state.round, state.available, min(size, int(free.sum())))
            return Ask(chosen, np.ones_like(chosen))
        columns = np.union1d(np.flatnonzero(free), state.gp.conditioned[0, : state.gp.n_known[0]])
        asked = self.policy.ask(GpScreen(self.policy, max(2000, size))._part(state.gp, 0, columns, free))
        wanted = [int(a) for a in columns[asked.arms[0]] if free[a]]
        if len(wanted) < size:  # a rule that looks at deviations alone may name what was set aside
            upper = np.where(free, state.gp.means[0] + np.sqrt(state.gp.variances[0]), -np.inf)
            wanted += [int(a) for a in np.argsort(-upper, kind="stable") if free[a] and a not in wanted]
        arms = np.array([wanted[:size]], dtype=np.int64)
        return Ask(arms, np.ones_like(arms))

    def tell(self, state: GpScreenState, asked: Ask, totals: FloatArray) -> None:
        """Learn rewards, of what was asked or of anything else."""
        self.policy.tell(state.gp, asked, totals)
        state.n_observed = state.gp.n_known.copy()
        state.round += 1

    def finished(self, state: GpScreenState) -> BoolArray:
        """Return which replications have had all batches."""
        return self.policy.finished(state.gp)

    def recommend(self, state: GpScreenState) -> IntArray:
        """Return the recommended arm, shape (R, 1)."""
        return self.policy.recommend(state.gp)
