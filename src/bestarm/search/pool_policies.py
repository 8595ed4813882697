r"""Policies in a search of a pool, whose measurements may come from anywhere and at any time.

They are policies of the one interface that do three things more (`PoolPolicy`), so that the same code suggests a
laboratory's next batch and runs a finished screen many times over. Those of `bestarm.policies.model_batches` follow the
protocol themselves; here are the other batch policies of the library.

References
----------
.. [1] Wilson et al. "Efficiently Sampling Functions from Gaussian Process Posteriors". ICML 2020. Equation 12
   (Matheron's rule), by which Thompson's draws are made here.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, Philox

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, Policy, take_rows
from bestarm.models.smooth_gp import UNIFORM, SmoothGP
from bestarm.policies.batch_search import BatchSearch, BatchState, RandomBatch, random_order, top_batch
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.batch_rules import Draws, UpperBound
from bestarm.policies.gaussian.gp_acquisition import ucb_width
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm.policies.linear.linear_search import LinearSearch, LinearState
from bestarm.search.any_size import MOST_KNOWN, learned_from, spread_or_unit
from bestarm.streams import Streams

MEMBERS = 5  # networks whose mean and spread explain a batch
_SHORTLIST = 2000  # genes of which a batch is chosen, unless it is larger
_FEATURES = 1000  # of draws of all arms together
_FAR_BELOW = -1e6  # posterior mean, in scaled units, of what may not be chosen


class PoolPolicy(Policy[Any], Protocol):
    """A batch policy that can be told any measurements, in any order, while others are pending.

    Its state has ``available`` (R, n_arms), ``n_observed`` (R,) and ``round``.
    """

    def set_aside(self, state: Any, places: IntArray) -> None:
        """Keep some arms from being chosen."""
        state.available[:, places] = False

    def believe(self, state: Any, places: IntArray) -> None:
        """Take arms for being measured: they are not chosen, and a Gaussian process is surer around them."""
        self.set_aside(state, places)

    def predicted(self, state: Any) -> tuple[FloatArray, FloatArray]:
        """Return predicted reward and deviation of every arm, of the first replication, shape (n_arms,) each."""
        ...


def random_batch(streams: Streams, turn: int, available: BoolArray, size: int) -> IntArray:
    """Return random arms, shape (R, size): the first batch of every policy, the same at one seed."""
    order = random_order(streams.key("first batch"), streams.replications, turn, available.shape[1])
    return top_batch(order, available, order, size)


def spread_of(rewards: FloatArray, n_observed: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation of the rewards told so far, the first ``n_observed`` of each row, shape (R, 1) each."""
    rewards = rewards[:, : max(1, int(n_observed.max(initial=0)))]  # a sum depends on the room behind them
    known = np.arange(rewards.shape[1]) < n_observed[:, None]
    count = np.maximum(n_observed, 1)[:, None]
    mean = np.where(known, rewards, 0.0).sum(axis=1, keepdims=True) / count
    sd = np.sqrt(np.where(known, (rewards - mean) ** 2, 0.0).sum(axis=1, keepdims=True) / count)
    return mean, spread_or_unit(sd, mean)


@dataclass(frozen=True)
class ScaledSearch(PoolPolicy):
    """A search with networks, linear functions or nothing, whose rewards are in units of their spread.

    Rewards told so far have mean 0 and deviation 1 before each choice, since an optimism of 0.01 means something else
    for phenotypes in thousands; without ``scaled`` every batch is that of the policy itself. Linear functions see
    features divided by the root of their number, unless they are to see them ``plain``.
    """

    policy: BatchSearch
    scaled: bool = True
    plain: bool = False

    @property
    def label(self) -> str:
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        if isinstance(self.policy, LinearSearch) and not self.plain:
            arms = Arms(arms.features / np.sqrt(arms.n_features))
        return self.policy.start(arms, streams)

    def scaled_state(self, state: BatchState) -> tuple[BatchState, FloatArray, FloatArray]:
        """Return a copy of a state with scaled rewards, by which the policy chooses, and their mean and deviation."""
        if not self.scaled:
            return replace(state), np.zeros((1, 1)), np.ones((1, 1))
        mean, sd = spread_of(state.rewards, state.n_observed)
        return replace(state, rewards=(state.rewards - mean) / sd), mean, sd

    def ask(self, state: BatchState) -> Ask:
        return self.policy.ask(self.scaled_state(state)[0])

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        self.policy.tell(state, asked, totals)

    def finished(self, state: BatchState) -> BoolArray:
        return self.policy.finished(state)

    def recommend(self, state: BatchState) -> IntArray:
        return self.policy.recommend(state)

    def predicted(self, state: BatchState) -> tuple[FloatArray, FloatArray]:
        """Return predicted reward and deviation of every arm, shape (n_arms,) each.

        Linear functions have their own: centre and half-width of what is plausible. Networks are explained by an
        ensemble of plain networks, its mean and spread; random batches by a Gaussian process, which needs no Torch.
        """
        copy, mean, sd = self.scaled_state(state)
        inner = self.policy
        if isinstance(inner, LinearSearch):
            assert isinstance(copy, LinearState)
            centre, _ = inner.plausible(copy)
            everything = np.arange(copy.available.shape[1])[None]
            found, spread = inner.outputs(copy, centre)[0], inner.width(copy, everything)[0] / 2.0
        elif isinstance(inner, RandomBatch):
            (mean, sd), x, n = spread_of(state.rewards, state.n_observed), state.features[0], state.n_observed[0]
            spread = x.std(axis=0)
            x = UNIFORM * (x - x.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
            arms, y = state.arms[0, :n], ((state.rewards - mean) / sd)[0, :n]
            kept = learned_from(x[arms], y)
            found, spread = SmoothGP().fitted(x[arms[kept]], y[kept]).everywhere(x)
        else:
            outputs = explaining_ensemble(inner).ensemble(copy, copy.arms, copy.rewards, copy.n_observed)[0]
            found, spread = outputs.mean(axis=0), outputs.std(axis=0, ddof=1)
        return found * sd[0, 0] + mean[0, 0], spread * sd[0, 0]


def explaining_ensemble(policy: Any) -> Any:
    """Return plain networks, trained as the policy's own where it has any, whose mean and spread explain a batch."""
    from bestarm.models.mlp_fit import Training
    from bestarm.policies.networks.oae import NetworkSearch
    from bestarm.policies.networks.oae_ensemble import EnsembleSearch

    training = policy.training() if isinstance(policy, NetworkSearch) else Training(steps=1000)
    own = {name: getattr(training, name) for name in ("hidden", "steps", "learning_rate", "minibatch")}
    return EnsembleSearch("explanation", policy.batch, policy.rounds, members=MEMBERS, **own)


@dataclass
class PoolGPState:
    """What is known of R replications: the Gaussian process, and which arms may still be asked for."""

    gp: BatchGPState
    streams: Streams
    available: BoolArray
    n_observed: IntArray
    round: int = 0
    unit: float = 0.0  # by which rewards are multiplied, a power of two; 1 for ordinary ones, 0 while not known


@dataclass(frozen=True)
class PoolGP(PoolPolicy):
    r"""A batch policy with a Gaussian process that asks for no arm twice, while those of the library may.

    Features are divided by the root of their number, so that two genes are about :math:`\sqrt2` apart. What may not be
    chosen has a mean far below all others in a copy of the posterior, so that no bound, region or estimate of the
    maximum counts it. Thompson's draws are made on all genes, and each takes the best gene that is left. Where a
    choice names a gene twice, the largest upper confidence bounds fill the batch. Of more than 2000 genes, those with
    the largest bounds are looked at, beside those measured.
    """

    policy: BatchGP

    @property
    def label(self) -> str:
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> PoolGPState:
        room = self.policy.batch * self.policy.rounds
        if min(room, arms.n_arms) > MOST_KNOWN:
            what = f"{self.label} can learn {MOST_KNOWN} rewards, {min(room, arms.n_arms)} are to be learned"
            remedy = "go on with another policy, such as gp: search.with_policy('gp'), or --policy gp"
            raise ValueError(f"{what}; {remedy}.")
        return self._started(Arms(arms.features / np.sqrt(arms.n_features)), streams)

    def _started(self, arms: Arms, streams: Streams) -> PoolGPState:
        n = len(streams.replications)
        free = np.ones((n, arms.n_arms), np.bool_)
        return PoolGPState(self.policy.start(arms, streams), streams, free, np.zeros(n, np.int64))

    def ask(self, state: PoolGPState) -> Ask:
        n, left = len(state.n_observed), int(state.available.sum(axis=1).max())
        if state.round == self.policy.rounds or left == 0:
            return Ask(np.zeros((n, 1), np.int64), np.zeros((n, 1), np.int64))
        size = min(self.policy.batch, left)
        chosen = random_batch(state.streams, state.round, state.available, size)
        for r in np.flatnonzero(state.n_observed > 0):
            chosen[r] = self._choose(state, int(r), size)
        return Ask(chosen, np.ones_like(chosen))

    def _choose(self, state: PoolGPState, r: int, size: int) -> IntArray:
        gp, free, rule, own = state.gp, state.available[r], self.policy.rule, self.policy.acquisition
        bound = own if isinstance(own, UpperBound) else UpperBound()  # which ranks genes beside the policy's choice
        width = ucb_width(len(free), max(state.round, 1), bound.delta, bound.beta_scale)
        upper = gp.means[r] + width * np.sqrt(gp.variances[r])
        wanted: IntArray = np.zeros(0, np.int64)
        if free.sum() > size and isinstance(rule, Draws):
            wanted = self._thompson(state, r, size, rule.n_features)
        elif free.sum() > size:
            left = np.flatnonzero(free)
            left = left[np.argsort(-upper[left], kind="stable")[: max(_SHORTLIST, self.policy.batch)]]
            wanted = self._chosen_among(left, gp, r, free)
        one = state.streams.replications[r : r + 1]
        order = random_order(state.streams.key(f"{self.label} ties"), one, state.round, len(free))
        rest = top_batch(upper[None], free[None], order, size)[0]
        kept = [a for a in dict.fromkeys([*wanted.tolist(), *rest.tolist()]) if free[a]]
        return np.array(kept[:size], dtype=np.int64)

    def _chosen_among(self, left: IntArray, gp: BatchGPState, r: int, free: BoolArray) -> IntArray:
        """Return what the policy asks of some free genes, by a copy of the posterior on them and on those measured."""
        columns = np.union1d(left, gp.conditioned[r, : gp.n_known[r]])
        one: BatchGPState = take_rows(replace(gp, rows=gp.rows[:, :0]), np.array([r]))  # without rows, which are large
        known, shut = int(gp.n_known[r]), ~free[columns]
        one.conditioned[0, :known] = np.searchsorted(columns, one.conditioned[0, :known])
        one.conditioned[0, known:] = 0
        for name in ("variances", "reward_means", "one_means"):
            setattr(one, name, getattr(one, name)[:, columns])
        one.one_means[0, shut], one.reward_means[0, shut] = 0.0, _FAR_BELOW * gp.scale[r]
        kept = np.empty((1, gp.rows.shape[1], len(columns)))
        kept[0, :known] = gp.rows[r, :known][:, columns]
        points = np.ascontiguousarray(gp.points[one.point_set][:, :, columns])
        one = replace(one, points=points, point_set=np.zeros(1, np.int64), rows=kept, n_rows=one.n_known.copy())
        return columns[self.policy.ask(one).arms[0]]

    def _thompson(self, state: PoolGPState, r: int, size: int, m: int) -> IntArray:
        """Return the best free gene of each of so many draws from the posterior, of m random features ([1]_)."""
        gp, free = state.gp, state.available[r].copy()
        counter = [0, 0, int(gp.replications[r]), state.round]
        values = _functions(gp, r, size, m, Generator(Philox(key=int(gp.batch_key), counter=counter)))
        chosen = np.empty(size, dtype=np.int64)
        for b in range(size):
            chosen[b] = np.where(free, values[b], -np.inf).argmax()
            free[chosen[b]] = False
        return chosen

    def tell(self, state: PoolGPState, asked: Ask, totals: FloatArray) -> None:
        """Learn rewards, of what was asked or of anything else; a gene that failed is used up."""
        if not state.unit and np.nan_to_num(totals).any():  # while all are 0, any unit will do
            size = float(np.nanmax(np.abs(totals)))  # ordinary rewards stay as they are, others become about 1
            state.unit = 1.0 if 1e-6 < size < 1e12 else 2.0 ** -np.floor(np.log2(size))
        self.policy.tell(state.gp, asked, totals * (state.unit or 1.0))
        rows, places = np.nonzero(asked.counts)
        state.available[rows, asked.arms[rows, places]] = False
        state.n_observed = state.gp.n_known.copy()
        state.round += 1

    def finished(self, state: PoolGPState) -> BoolArray:
        return np.full(len(state.n_observed), state.round == self.policy.rounds or not state.available.any())

    def recommend(self, state: PoolGPState) -> IntArray:
        return self.policy.recommend(state.gp)

    def believe(self, state: PoolGPState, places: IntArray) -> None:
        """Take arms that are being measured for known, each at its predicted mean: no mean moves, variances shrink."""
        self.set_aside(state, places)
        if len(places) == 0 or state.gp.n_known[0] == 0:
            return
        frozen = replace(self.policy, model=replace(self.policy.model, fit="frozen", standardise=False))
        turn, arms = state.gp.round, np.ascontiguousarray(places[None], dtype=np.int64)
        frozen.tell(state.gp, Ask(arms, np.ones_like(arms)), np.ascontiguousarray(state.gp.predict()[0][:, places]))
        state.gp.round = turn

    def joint_draws(self, state: PoolGPState, places: IntArray, n: int, rng: Generator) -> FloatArray:
        """Return draws of what measurements of some arms would give, together, shape (n, len(places))."""
        gp = self._centred_on_few(state.gp)
        values = _functions(gp, 0, n, _FEATURES, rng)[:, places]
        values += np.sqrt(gp.noise[0]) * rng.standard_normal(values.shape)
        return np.asarray((gp.offset[0] + gp.scale[0] * values) / (state.unit or 1.0))

    def _centred_on_few(self, gp: BatchGPState) -> BatchGPState:
        """Return the posterior of one replication in units of few rewards, which the policy's own does not scale."""
        known = gp.rewards[0, : gp.n_known[0]]
        if not self.policy.model.standardise or not 0 < len(known) < 5:
            return gp
        mean = float(known.mean())
        return replace(gp, offset=np.array([mean]), scale=np.array([float(spread_or_unit(known.std(), mean))]))

    def predicted(self, state: PoolGPState) -> tuple[FloatArray, FloatArray]:
        means, variances = self._centred_on_few(state.gp).predict()
        unit, deviation = state.unit or 1.0, np.sqrt(np.maximum(variances[0], 0.0))
        known = state.gp.rewards[0, : state.gp.n_known[0]]
        if len(known) and known.min() == known.max() and self.policy.model.standardise:  # whose scale nobody knows
            return np.full(len(deviation), known[0] / unit), deviation * float(spread_or_unit(0.0, known[0] / unit))
        return means[0] / unit, deviation / unit


def _functions(gp: BatchGPState, r: int, size: int, m: int, draw: Generator) -> FloatArray:
    """Return draws from the posterior of all arms together, by m random features ([1]_), in units of the model."""
    points, known = gp.points[gp.point_set[r]], int(gp.n_known[r])
    frequencies = draw.standard_normal((m, len(points))) / gp.lengthscales[r]
    waves = np.cos(frequencies @ points + 2.0 * np.pi * draw.random((m, 1)))
    values = draw.standard_normal((size, m)) @ waves * np.sqrt(2.0 * gp.signal[r] / m)
    values += np.sqrt(gp.constant) * draw.standard_normal((size, 1))
    scaled = (gp.rewards[r, :known] - gp.offset[r]) / gp.scale[r]
    noise = np.sqrt(gp.noise[r]) * draw.standard_normal((known, size))
    for t in range(known):
        gain = (scaled[t] - noise[t] - values[:, gp.conditioned[r, t]]) / gp.pivots[r, t]
        values += gain[:, None] * gp.rows[r, t]
    return values


@dataclass(frozen=True)
class CustomGP(PoolGP):
    """A batch policy with a Gaussian process as it is: arms may repeat, and the first ones are the policy's own."""

    def start(self, arms: Arms, streams: Streams) -> PoolGPState:
        return self._started(arms, streams)

    def ask(self, state: PoolGPState) -> Ask:
        """Return the next batch; arms that were set aside are taken out of the choice, as `PoolGP` does."""
        free = state.available[0]
        if free.all():
            return self.policy.ask(state.gp)
        size = self.policy.batch if state.round or not self.policy.first else self.policy.first
        if state.n_observed[0] == 0:
            chosen = random_batch(state.streams, state.round, state.available, min(size, int(free.sum())))
            return Ask(chosen, np.ones_like(chosen))
        asked = self._chosen_among(np.flatnonzero(free), state.gp, 0, free)
        wanted = [int(a) for a in asked if free[a]]
        if len(wanted) < size:  # a rule that looks at deviations alone may name what was set aside
            upper = np.where(free, state.gp.means[0] + np.sqrt(state.gp.variances[0]), -np.inf)
            wanted += [int(a) for a in np.argsort(-upper, kind="stable") if free[a] and a not in wanted]
        arms = np.array([wanted[:size]], dtype=np.int64)
        return Ask(arms, np.ones_like(arms))

    def tell(self, state: PoolGPState, asked: Ask, totals: FloatArray) -> None:
        self.policy.tell(state.gp, asked, totals)
        state.n_observed = state.gp.n_known.copy()
        state.round += 1
