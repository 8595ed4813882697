"""Models of a pool whose rewards may be of any size and number, and have errors of their own; joint draws of many arms.

Floors are relative to the size of the rewards, and of very many measurements some are learned.

References
----------
.. [1] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Equations 5.10 to 5.12.
.. [2] Wilson et al. "Efficiently Sampling Functions from Gaussian Process Posteriors". ICML 2020. Equation 12.
.. [3] Rubin. "The Bayesian Bootstrap". Annals of Statistics 1981.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import ndtri

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.models.smooth_gp import UNIFORM, Posterior, _squares
from bestarm.policies import model_batches
from bestarm.policies.model_batches import MOST_KNOWN, ModelBatches, ModelState
from bestarm.streams import uniform

_EQUAL = 4e-15  # relative deviation that is rounding alone
_LEARN_FROM_SOME = ("gp", "hits")  # policies that learn from some of very many measurements
_EXACT = 2000  # points whose covariance is factored; of more, functions are drawn by random Fourier features
_ALIKE = 64  # measurements with similar predictions, by whose errors draws are calibrated
_FEATURES, _BLOCKS = 1000, 2  # of these, and how often they are drawn anew


def spread_or_unit(spread: Any, centre: Any) -> Any:
    """Return the deviation of rewards, and where they are all equal a thousandth of their size, or 1 if they are 0."""
    size = np.abs(centre)
    least = np.finfo(np.float64).tiny  # one over less than that is infinite
    return np.where(spread > np.maximum(_EQUAL * size, least), spread, np.where(1e-3 * size > least, 1e-3 * size, 1.0))


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
        places = places[np.argsort(features[places, np.ptp(features[places], axis=0).argmax()], kind="stable")]
        cut = len(places) * (n // 2) // n
        parts += [(places[:cut], n // 2), (places[cut:], n - n // 2)]
    return np.sort(np.concatenate([best, spread]))


def _in_units(errors: FloatArray, spread: float) -> FloatArray:
    """Return standard errors in units of a deviation, those above 0 within limits, whose squares are numbers."""
    return np.where(errors > 0.0, np.clip(errors / spread, 1e-9, 1e75), errors)


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
        vars(state).setdefault("fitted", [None])  # the last posterior, shared by copies of the state

    def known(self, state: ModelState, r: int) -> tuple[IntArray, FloatArray, float, float]:
        """Return arms and rewards in units of all, and mean and deviation of all, in which errors weigh."""
        arms, rewards, mean, spread = super().known(state, r)
        if (errors := vars(state).get("errors")) is not None and np.nanmax(errors[arms, 0], initial=0.0) > 0.0:
            variances = _in_units(errors[arms, 0], spread) ** 2
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
            variances, some = _in_units(errors[:, 0], spread) ** 2, np.isnan(errors[:, 0])
            shares = np.where(some, 1.0 / errors[:, 1], 1.0)
            x = UNIFORM * state.features[arms]
            before[:] = key, self.model.fitted(x, rewards, np.where(some, 0.0, variances), shares)
        return before[1]

    def outputs(self, state: ModelState, r: int, rough: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return posterior mean and deviation of every arm, which the posterior keeps."""
        kept = vars(posterior := self.posterior(state, r))
        rough = rough and posterior.knows_much()
        if f"outputs {rough}" not in kept:
            kept[f"outputs {rough}"] = posterior.everywhere(UNIFORM * state.features, rough)
        return kept[f"outputs {rough}"]

    def predicted_at(self, state: ModelState, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what `predicted` does; where much is known, deviations of some arms alone, of others NaN."""
        (mean, deviation), (_, _, centre, spread) = self.outputs(state, 0, rough=True), self.known(state, 0)
        if (posterior := self.posterior(state, 0)).knows_much():
            deviation = np.full(len(mean), np.nan)
            deviation[places] = posterior.everywhere(UNIFORM * state.features[places])[1]
        return centre + spread * mean, spread * deviation

    def joint_draws(self, state: ModelState, places: IntArray, n: int, rng: Generator) -> FloatArray:
        """Return calibrated draws of what measurements of some arms would give, together, shape (n, len(places))."""
        _, _, centre, spread = self.known(state, 0)
        posterior, (mean, deviation) = self.posterior(state, 0), self.outputs(state, 0)
        draws = drawn_jointly(posterior, UNIFORM * state.features[places], n, rng)
        whole, first = np.sqrt(deviation[places] ** 2 + posterior.noise), self.measured_at_random(state, places)
        predicted, errors = (of[first] if first.sum() >= _ALIKE else of for of in left_out(posterior))
        return centre + spread * calibrated(draws, mean[places], whole, predicted, errors, rng)

    def measured_at_random(self, state: ModelState, left: IntArray) -> BoolArray:
        """Return which measurements are of the random first batch: in its order, those before all arms that are left.

        What was chosen for its prediction scatters more about what others predict of it than what is left will."""
        key, number = state.streams.key("first batch"), int(state.replications[0])
        draws = np.array([uniform(key, number, arm, 0) for arm in range(len(state.features))])
        return draws[self.known(state, 0)[0]] > draws[left].max(initial=0.0)

    def explained(self, state: ModelState) -> float:
        """Return the share of the variance of rewards that predictions of each by all others explain."""
        _, rewards, _, _ = self.known(state, 0)
        off = ((rewards - left_out(self.posterior(state, 0))[0]) ** 2).sum()
        return 1.0 - float(off / max(((rewards - rewards.mean()) ** 2).sum(), 1e-300))


@dataclass(frozen=True)
class PoolForest(_AnySize, model_batches.ForestBatches):
    """`ForestBatches` for rewards of any size."""

    def outputs(self, state: ModelState, r: int) -> tuple[FloatArray, FloatArray]:
        """Return the same from a thread, in which Ctrl-C cannot end compiled code in the middle of its return."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(super().outputs, state, r).result()


@dataclass(frozen=True)
class PoolNeighbours(_AnySize, model_batches.NeighbourBatches):
    """`NeighbourBatches` for rewards of any size."""


def left_out(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return what others predict of each measurement, and its error in deviations ([1]_, Equations 5.10 to 5.12)."""
    kept = vars(posterior)
    if "left out" not in kept:
        inverse = solve_triangular(posterior.lower, np.eye(len(posterior.whitened)), lower=True)
        gain, precision = posterior.whitened @ inverse, np.einsum("ij,ij->j", inverse, inverse)
        kept["left out"] = posterior.lower @ posterior.whitened - gain / precision, gain / np.sqrt(precision)
    return kept["left out"]


def calibrated(
    draws: FloatArray, mean: FloatArray, sd: FloatArray, predicted: FloatArray, errors: FloatArray, rng: Generator
) -> FloatArray:
    """Return draws, shape (n, N), that are off their means as measurements are off what others predict of them.

    The distance of a draw from its mean, in deviations, becomes the quantile of the errors of those measurements that
    were predicted alike (`left_out`) at the same probability: what holds of candidates together stays. Each draw weighs
    these errors anew (the Bayesian bootstrap [3]_), since so few say little about the tail of many candidates.
    """
    parts = np.array_split(np.argsort(predicted, kind="stable"), max(1, len(predicted) // _ALIKE))
    groups = np.searchsorted([predicted[part[0]] for part in parts[1:]], mean, side="right")
    found = np.empty_like(draws)
    for group, part in enumerate(parts):
        mine, own = np.flatnonzero(groups == group), np.sort(errors[part])
        weights = rng.standard_exponential((len(draws), len(part)))
        places = ndtri((weights.cumsum(axis=1) - weights / 2.0) / weights.sum(axis=1, keepdims=True))
        z = (draws[:, mine] - mean[mine]) / sd[mine]
        inside = np.clip(z, places[:, :1], places[:, -1:])
        off = np.array([np.interp(row, place, own) for row, place in zip(inside, places, strict=True)])
        found[:, mine] = mean[mine] + sd[mine] * (off + z - inside)
    return found


def drawn_jointly(posterior: Posterior, x: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Return draws of what measurements at some points would give, all together, shape (n, N), of many by ([2]_)."""
    p, z = posterior, x / posterior.scales
    if len(x) <= _EXACT:
        mean, _, rows = p.at(x)
        covariance = p.signal * p.model.kernel(_squares(z, z)) - rows.T @ rows
        covariance[np.diag_indices(len(x))] += p.noise + 1e-6 * p.signal
        found: FloatArray = rng.standard_normal((n, len(x))) @ cholesky(covariance, lower=True).T
        return found + mean
    y, k, d = p.lower @ p.whitened, *p.known.shape
    waves, blocks = [], np.array_split(np.arange(n), _BLOCKS)
    for block in blocks:
        frequency = rng.standard_normal((d, _FEATURES))
        if p.model.family == "matern52":  # whose spectral density is a Student's t with 5 degrees of freedom
            frequency /= np.sqrt(rng.chisquare(5.0, _FEATURES) / 5.0)
        phase = 2.0 * np.pi * rng.random(_FEATURES)
        weight = rng.standard_normal((_FEATURES, len(block))) * np.sqrt(2.0 * p.signal / _FEATURES)
        error = np.sqrt(p.own_noise)[:, None] * rng.standard_normal((k, len(block)))
        prior = np.cos(p.known @ frequency + phase) @ weight
        waves.append((frequency, phase, weight, cho_solve((p.lower, True), y[:, None] - prior - error)))
    found = np.sqrt(p.noise) * rng.standard_normal((n, len(x)))
    for start in range(0, len(x), 4096):
        part = slice(start, start + 4096)
        across = p.signal * p.model.kernel(_squares(z[part], p.known))
        for block, (frequency, phase, weight, gain) in zip(blocks, waves, strict=True):
            found[block, part] += (np.cos(z[part] @ frequency + phase) @ weight + across @ gain).T
    return found
