"""Models of a pool whose rewards may be of any size and number, and have errors of their own; joint draws of many arms.

Floors are relative to the size of the rewards, and of very many measurements some are learned.

References
----------
.. [1] Rasmussen, Williams. "Gaussian Processes for Machine Learning". MIT Press 2006. Equations 2.22 and 5.9.
.. [2] Wilson et al. "Efficiently Sampling Functions from Gaussian Process Posteriors". ICML 2020. Equation 12.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import ndtri

from bestarm.interface import FloatArray, IntArray
from bestarm.models.smooth_gp import _JITTER, UNIFORM, Posterior, SmoothGP, _squares, best_of
from bestarm.policies import model_batches
from bestarm.policies.model_batches import MOST_KNOWN, ModelBatches, ModelState

_LEARN_FROM_SOME = ("gp", "hits")  # policies that learn from some of very many measurements
_EXACT = 2000  # points whose covariance is factored; of more, functions are drawn by random Fourier features
_ALIKE = 64  # measurements with similar predictions, by whose errors draws are calibrated
_FEATURES, _BLOCKS = 1000, 2  # of these, and how often they are drawn anew


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
        """Return posterior mean and deviation of every arm, which the posterior keeps."""
        kept = vars(posterior := self.posterior(state, r))
        if "outputs" not in kept:
            kept["outputs"] = posterior.everywhere(UNIFORM * state.features)
        return kept["outputs"]

    def choose(self, state: ModelState, r: int, size: int) -> IntArray:
        """Return the batch of one replication; the probability of a hit is that of what the posterior keeps."""
        if self.score_by != "hits":
            return super().choose(state, r, size)
        mean, deviation = self.outputs(state, r)
        scores = (mean - self.scaled_threshold(state, r, mean, deviation)) / deviation
        return best_of(scores, np.flatnonzero(state.available[r]), size)

    def joint_draws(self, state: ModelState, places: IntArray, n: int, rng: Generator) -> FloatArray:
        """Return calibrated draws of what measurements of some arms would give, together, shape (n, len(places))."""
        _, _, centre, spread = self.known(state, 0)
        posterior, (mean, deviation) = self.posterior(state, 0), self.outputs(state, 0)
        draws = drawn_jointly(posterior, UNIFORM * state.features[places], n, rng)
        whole = np.sqrt(deviation[places] ** 2 + posterior.noise)
        return centre + spread * calibrated(draws, mean[places], whole, *left_out(posterior))

    def explained(self, state: ModelState) -> float:
        """Return the share of the variance of rewards that predictions of each by all others explain."""
        _, rewards, _, _ = self.known(state, 0)
        off = ((rewards - left_out(self.posterior(state, 0))[0]) ** 2).sum()
        return 1.0 - float(off / max(((rewards - rewards.mean()) ** 2).sum(), 1e-300))


@dataclass(frozen=True)
class PoolForest(_AnySize, model_batches.ForestBatches):
    """`ForestBatches` for rewards of any size."""


@dataclass(frozen=True)
class PoolNeighbours(_AnySize, model_batches.NeighbourBatches):
    """`NeighbourBatches` for rewards of any size."""


@dataclass(frozen=True)
class WeighedPosterior(Posterior):
    """A posterior whose rewards had variances of their own, shape (n,); ``noise`` is that of a usual measurement."""

    own_noise: FloatArray


def weighed(model: SmoothGP, x: FloatArray, y: FloatArray, variances: FloatArray, shares: FloatArray) -> Posterior:
    """Return the posterior after rewards y, shape (n,), at features x, shape (n, d), as `SmoothGP.fitted` takes them.

    The noise of reward i is ``variances[i] + shares[i] * noise``, in squared units of y, with a learned noise.
    """
    n, d = x.shape
    some, (centre, spread) = fitted_on(model, n), priors(model, d)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        off = (theta - centre) / spread
        whole, squares, correlation = covariance(model, theta, x[some], variances[some], shares[some])
        if (found := likelihood(whole, y[some])) is None:
            return 1e10, np.zeros_like(theta)
        value, inner = found
        signal, z = np.exp(theta[0]), x[some] / np.exp(theta[1:-1])
        root = np.sqrt(5.0 * squares)
        steep = correlation if model.family == "rbf" else (5.0 / 3.0) * (1.0 + root) * np.exp(-root)
        pull = inner * steep * signal
        slope = np.empty_like(theta)  # of the negative log likelihood ([1]_, Equation 5.9)
        slope[0] = -0.5 * signal * float((inner * correlation).sum())
        by_feature = (z**2).T @ pull.sum(axis=1) - np.einsum("ij,ij->j", z, pull @ z)
        slope[1:-1] = -by_feature if model.ard else -by_feature.sum()
        slope[-1] = -0.5 * np.exp(theta[-1]) * float(shares[some] @ np.diag(inner))
        return value + 0.5 * float(off @ off), slope + off / spread

    bounds = [(c - 6.0 * s, c + 6.0 * s) for c, s in zip(centre, spread, strict=True)]
    bounds[-1] = (max(bounds[-1][0], np.log(1e-6)), bounds[-1][1])
    theta = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": model.steps}).x
    scales, noise = np.broadcast_to(np.exp(theta[1:-1]), d).copy(), float(np.exp(theta[-1]))
    lower = cholesky(covariance(model, theta, x, variances, shares)[0], lower=True, overwrite_a=True)
    whitened = solve_triangular(lower, y, lower=True)
    usual, own = noise + float(np.median(variances)), variances + shares * noise
    return WeighedPosterior(model, scales, float(np.exp(theta[0])), usual, x / scales, lower, whitened, own)


def fitted_on(model: SmoothGP, n: int) -> IntArray:
    """Return which of n measurements parameters are fitted to: all, or ``most_fitted``, evenly spread."""
    return np.arange(n) if n <= model.most_fitted else np.linspace(0, n - 1, model.most_fitted).astype(np.int64)


def priors(model: SmoothGP, d: int) -> FloatArray:
    """Return centres and deviations of the logarithms of signal, length-scales and noise, shape (2, 2 + d or 3)."""
    scales = [(2.0**0.5 + 0.5 * np.log(d), model.lengthscale_spread)] * (d if model.ard else 1)
    return np.array([model.signal_prior, *scales, model.noise_prior], dtype=np.float64).T


def covariance(
    model: SmoothGP,
    theta: FloatArray,
    x: FloatArray,
    variances: FloatArray | float = 0.0,
    shares: FloatArray | float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the covariance of rewards, squared scaled distances, and correlations, each of shape (n, n).

    ``theta`` are the logarithms of signal, length-scales and noise."""
    z = x / np.exp(theta[1:-1])
    squares = _squares(z, z)
    correlation = model.kernel(squares)
    found = np.exp(theta[0]) * correlation
    found[np.diag_indices(len(z))] += variances + np.exp(theta[-1]) * shares + _JITTER * np.exp(theta[0])
    return found, squares, correlation


def likelihood(covariance: FloatArray, y: FloatArray) -> tuple[float, FloatArray] | None:
    """Return the negative log likelihood, and the matrix whose product with a derivative of the covariance has minus
    twice its derivative as trace ([1]_, Equation 5.9); None where the covariance is not positive definite."""
    try:
        lower = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        return None
    gain = cho_solve((lower, True), y)
    value = 0.5 * float(y @ gain) + float(np.log(np.diag(lower)).sum())
    return value, np.outer(gain, gain) - cho_solve((lower, True), np.eye(len(y)))


def left_out(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return what others predict of each measurement, and its error in deviations ([1]_, Equations 5.10 to 5.12)."""
    kept = vars(posterior)
    if "left out" not in kept:
        inverse = solve_triangular(posterior.lower, np.eye(len(posterior.whitened)), lower=True)
        gain, precision = posterior.whitened @ inverse, np.einsum("ij,ij->j", inverse, inverse)
        kept["left out"] = posterior.lower @ posterior.whitened - gain / precision, gain / np.sqrt(precision)
    return kept["left out"]


def calibrated(
    draws: FloatArray, mean: FloatArray, deviation: FloatArray, predicted: FloatArray, errors: FloatArray
) -> FloatArray:
    """Return draws, shape (n, N), that are off their means as measurements are off what others predict of them.

    The distance of a draw from its mean, in deviations, becomes the quantile of the errors of those measurements that
    were predicted alike (`left_out`) at the same probability: what holds of candidates together stays.
    """
    parts = np.array_split(np.argsort(predicted, kind="stable"), max(1, len(predicted) // _ALIKE))
    groups = np.searchsorted([predicted[part[0]] for part in parts[1:]], mean, side="right")
    found = np.empty_like(draws)
    for group, part in enumerate(parts):
        mine, normal = np.flatnonzero(groups == group), ndtri((np.arange(len(part)) + 0.5) / len(part))
        z = (draws[:, mine] - mean[mine]) / deviation[mine]
        inside = np.clip(z, normal[0], normal[-1])
        found[:, mine] = mean[mine] + deviation[mine] * (np.interp(inside, normal, np.sort(errors[part])) + z - inside)
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
        own = p.own_noise[:, None] if isinstance(p, WeighedPosterior) else p.noise
        error = np.sqrt(own) * rng.standard_normal((k, len(block)))
        prior = np.cos(p.known @ frequency + phase) @ weight
        waves.append((frequency, phase, weight, cho_solve((p.lower, True), y[:, None] - prior - error)))
    found = np.sqrt(p.noise) * rng.standard_normal((n, len(x)))
    for start in range(0, len(x), 4096):
        part = slice(start, start + 4096)
        across = p.signal * p.model.kernel(_squares(z[part], p.known))
        for block, (frequency, phase, weight, gain) in zip(blocks, waves, strict=True):
            found[block, part] += (np.cos(z[part] @ frequency + phase) @ weight + across @ gain).T
    return found
