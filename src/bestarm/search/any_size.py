"""Models of a pool whose rewards may be of any size and number: floors are relative, and of many some are learned."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from bestarm.interface import FloatArray, IntArray
from bestarm.models.smooth_gp import UNIFORM, Posterior
from bestarm.policies import model_batches
from bestarm.policies.model_batches import MOST_KNOWN, ModelBatches, ModelState
from bestarm.search.weighed_gp import drawn_jointly, weighed

_LEARN_FROM_SOME = ("gp", "hits")  # policies that learn from some of very many measurements


def spread_or_unit(spread: Any, centre: Any) -> Any:
    """Return the deviation of rewards, and where they are all equal a thousandth of their size, or 1 if they are 0."""
    size = np.abs(centre)
    return np.where(spread > 1e-12 * size, spread, np.where(size > 0.0, 1e-3 * size, 1.0))


def learns_from(policy: str, n: int, what: str) -> str:
    """Return a sentence if a policy learns from some of n measurements alone, see `learned_from`; else nothing."""
    if n <= MOST_KNOWN or policy not in _LEARN_FROM_SOME:
        return ""
    rule = "half of them the best results, the others spread evenly over the rest"
    return f"{policy} learns from {MOST_KNOWN:,} of {what}: {rule}."


def learned_from(features: FloatArray, rewards: FloatArray, most: int = MOST_KNOWN) -> IntArray:
    """Return the measurements that a Gaussian process learns from, in order: all of them, or so many that matter most.

    Half of these are the largest rewards, of equal ones the first told. The others are spread over what else was
    measured: it is halved again and again at the middle of the feature with the largest range there, and each of the
    parts, of equal size up to one, gives the one in its middle. Features have the shape (n, d), rewards (n,).
    """
    if len(rewards) <= most:
        return np.arange(len(rewards))
    order = np.argsort(-rewards, kind="stable")
    best, parts = order[: most // 2], [(np.sort(order[most // 2 :]), most - most // 2)]
    spread = []
    while parts:
        places, n = parts.pop()
        if n == 1:
            spread.append(places[len(places) // 2])
            continue
        column = features[places, np.ptp(features[places], axis=0).argmax()]
        places = places[np.argsort(column, kind="stable")]
        cut = len(places) * (n // 2) // n
        parts += [(places[:cut], n // 2), (places[cut:], n - n // 2)]
    return np.sort(np.concatenate([best, spread]))


class _AnySize(ModelBatches):
    """A model that sees rewards in units of their deviation, however small or large that is."""

    def known(self, state: ModelState, r: int) -> tuple[IntArray, FloatArray, float, float]:
        """Return arms, rewards with mean 0 and deviation 1, and both of them."""
        n = int(state.n_observed[r])
        arms, rewards = state.arms[r, :n], state.rewards[r, :n]
        mean = float(rewards.mean())
        spread = float(spread_or_unit(rewards.std(), mean))
        return arms, (rewards - mean) / spread, mean, spread


@dataclass(frozen=True)
class PoolGaussian(_AnySize, model_batches.GaussianBatches):
    """`GaussianBatches` for rewards of any size, any number (`learned_from` chooses), and with errors of their own."""

    def weigh(self, state: ModelState, errors: FloatArray | None) -> None:
        """Take the error of each arm's mean reward and the number of its measurements, shape (n_arms, 2), or none."""
        vars(state)["errors"] = errors

    def known(self, state: ModelState, r: int) -> tuple[IntArray, FloatArray, float, float]:
        """Return arms and rewards in units of all, and mean and deviation of all, in which errors weigh."""
        arms, rewards, mean, spread = super().known(state, r)
        if (errors := vars(state).get("errors")) is not None and np.nanmax(errors[arms, 0], initial=0.0) > 0.0:
            variances = errors[arms, 0] ** 2
            weights, own = 1.0 / (variances + np.mean(variances[variances > 0.0])), mean + spread * rewards
            mean = float(np.average(own, weights=weights))
            spread = float(spread_or_unit(np.sqrt(np.average((own - mean) ** 2, weights=weights)), mean))
            rewards = (own - mean) / spread
        if len(arms) > MOST_KNOWN:
            kept = learned_from(state.features[arms], rewards)
            arms, rewards = arms[kept], rewards[kept]
        return arms, rewards, mean, spread

    def posterior(self, state: ModelState, r: int) -> Posterior:
        """Return what is known of one replication, that of before if nothing was told since."""
        arms, rewards, _, spread = self.known(state, r)
        told = vars(state).get("errors")
        errors: Any = None if told is None else told[arms]
        marks = (arms.tobytes(), rewards.tobytes(), None if errors is None else errors.tobytes())
        key, before = (self.model, *marks), vars(state).setdefault("fitted", [None])
        if before[0] != key and errors is None:
            before[:] = key, super().posterior(state, r)
        elif before[0] != key:
            variances, some = (errors[:, 0] / spread) ** 2, np.isnan(errors[:, 0])
            shares = np.where(some, 1.0 / errors[:, 1], 1.0)
            x = UNIFORM * state.features[arms]
            before[:] = key, weighed(self.model, x, rewards, np.where(some, 0.0, variances), shares)
        return before[1]

    def outputs(self, state: ModelState, r: int) -> tuple[FloatArray, FloatArray]:
        """Return posterior mean and deviation of every arm, those of before if nothing was told since."""
        posterior, before = self.posterior(state, r), vars(state)["fitted"]
        if len(before) == 2:
            before.append(posterior.everywhere(UNIFORM * state.features))
        return before[2]

    def joint_draws(self, state: ModelState, places: IntArray, n: int, rng: Generator) -> FloatArray:
        """Return draws of what measurements of some arms would give, together, shape (n, len(places))."""
        _, _, centre, spread = self.known(state, 0)
        x = UNIFORM * state.features[places]
        return centre + spread * drawn_jointly(self.posterior(state, 0), x, n, rng)


@dataclass(frozen=True)
class PoolForest(_AnySize, model_batches.ForestBatches):
    """`ForestBatches` for rewards of any size."""


@dataclass(frozen=True)
class PoolNeighbours(_AnySize, model_batches.NeighbourBatches):
    """`NeighbourBatches` for rewards of any size."""
