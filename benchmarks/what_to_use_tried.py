"""Candidates for the default that are not taken: ``python -m benchmarks.what_to_use_tried --data FOLDER``.

All but the first change ``gp`` as it was before, on the data sets and by the protocol of ``docs/what_to_use.md``:

* more noise: what ``gp`` was, half a deviation in its bound and a prior of the noise around exp(-4), of deviation 1;
* portfolio, two ranks: candidates by the mean of their ranks by ``gp`` and ``neighbours``, of a portfolio also by a
  ridge regression;
* linear mean: a ridge regression, whose residuals the Gaussian process models;
* linear kernel: a linear kernel beside the stationary one, both with learned variances;
* averaged: the mean of seven Gaussian processes, the one of largest posterior density and those with the signal, all
  length-scales or the noise a factor of two larger or smaller, weighted by their densities;
* isotropic: one length-scale for all features.

Only the last one takes places of a batch for known. Even runs choose; odd runs, of those that lead, tell. Runs are
appended to a CSV file, and what is there already is not run again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import rankdata

from benchmarks.what_to_use import found_by
from benchmarks.what_to_use_cases import POOLS, SCREENS, append, case_of, runs_left
from benchmarks.what_to_use_comparison import CASES, ranked, read, summary
from bestarm.interface import FloatArray, IntArray
from bestarm.models.smooth_gp import _JITTER, UNIFORM, Posterior, SmoothGP, _squares, best_of
from bestarm.policies.model_batches import ModelState
from bestarm.search.any_size import PoolGaussian, PoolNeighbours

FILE = Path(__file__).with_suffix(".csv")
RUNS = 20
LEADING = ("more noise", "linear mean", "portfolio")  # led in even runs once: odd ones, too


def fitted_on(model: SmoothGP, n: int) -> IntArray:
    """Return which of n measurements parameters are fitted to, as `SmoothGP` chooses them."""
    return np.arange(n) if n <= model.most_fitted else np.linspace(0, n - 1, model.most_fitted).astype(np.int64)


def priors(model: SmoothGP, d: int) -> FloatArray:
    """Return centres and deviations of the logarithms of signal, length-scales and noise, shape (2, 2 + d)."""
    scales = [(2.0**0.5 + 0.5 * np.log(d), model.lengthscale_spread)] * d
    return np.array([model.signal_prior, *scales, model.noise_prior], dtype=np.float64).T


def covariance(model: SmoothGP, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the covariance of rewards, squared scaled distances, and correlations, each of shape (n, n)."""
    z = x / np.exp(theta[1:-1])
    squares = _squares(z, z)
    correlation = model.kernel(squares)
    found = np.exp(theta[0]) * correlation
    found[np.diag_indices(len(z))] += np.exp(theta[-1]) + _JITTER * np.exp(theta[0])
    return found, squares, correlation


def likelihood(covariance: FloatArray, y: FloatArray) -> tuple[float, FloatArray] | None:
    """Return the negative log likelihood, and the matrix whose product with a derivative of the covariance has minus
    twice its derivative as trace; None where the covariance is not positive definite."""
    try:
        lower = cholesky(covariance, lower=True)
    except np.linalg.LinAlgError:
        return None
    gain = cho_solve((lower, True), y)
    value = 0.5 * float(y @ gain) + float(np.log(np.diag(lower)).sum())
    return value, np.outer(gain, gain) - cho_solve((lower, True), np.eye(len(y)))


def ridge(x: FloatArray, known: IntArray, y: FloatArray) -> FloatArray:
    """Return predictions everywhere by weights of variance 1/d and noise of variance a half, in scaled units."""
    own, penalty = x[known], 0.5 * x.shape[1]
    if len(known) < x.shape[1]:
        return np.asarray(x @ own.T @ np.linalg.solve(own @ own.T + penalty * np.eye(len(known)), y))
    return np.asarray(x @ np.linalg.solve(own.T @ own + penalty * np.eye(x.shape[1]), own.T @ y))


@dataclass(frozen=True)
class Ranked(PoolGaussian):
    """Batches by scores of all candidates; places of a batch are not taken for known."""

    def choose(self, state: ModelState, r: int, size: int) -> IntArray:
        """Return the batch of one replication."""
        return best_of(self.ranking(state, r), np.flatnonzero(state.available[r]), size)

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return what is maximised, shape (n_arms,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class TwoRanks(Ranked):
    """Batches by the mean rank of the bound of a Gaussian process and of neighbours."""

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return the sum of the ranks."""
        mean, deviation = self.posterior(state, r).everywhere(UNIFORM * state.features)
        near, _ = PoolNeighbours("neighbours", self.batch, self.rounds).outputs(state, r)
        return np.asarray(rankdata(mean + self.beta * deviation) + rankdata(near))


@dataclass(frozen=True)
class Portfolio(TwoRanks):
    """Batches by the mean rank of the bound of a Gaussian process, neighbours, and a ridge regression."""

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return the sum of the ranks."""
        arms, y, _, _ = self.known(state, r)
        return super().ranking(state, r) + rankdata(ridge(state.features, arms, y))


@dataclass(frozen=True)
class LinearMean(Ranked):
    """Upper bounds of a ridge regression with a Gaussian process of its residuals."""

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return the bounds."""
        arms, y, _, _ = self.known(state, r)
        line, x = ridge(state.features, arms, y), UNIFORM * state.features
        rest = y - line[arms]
        spread = max(float(rest.std()), 1e-9)
        mean, deviation = self.model.fitted(x[arms], (rest - rest.mean()) / spread).everywhere(x)
        return np.asarray(line + spread * (mean + self.beta * deviation))


@dataclass(frozen=True)
class Averaged(Ranked):
    """Upper bounds of the mixture of seven Gaussian processes, weighted by the densities of their parameters."""

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return the bounds: mean and deviation of the mixture."""
        arms, y, _, _ = self.known(state, r)
        x, best = UNIFORM * state.features, self.posterior(state, r)
        theta = np.log([best.signal, *best.scales, best.noise])
        some, (centre, spread) = fitted_on(self.model, len(arms)), priors(self.model, x.shape[1])
        densities, means, variances = [], [], []
        for part in (slice(0, 0), slice(0, 1), slice(1, -1), slice(-1, None)):
            for step in (0.0,) if part == slice(0, 0) else (-np.log(2.0), np.log(2.0)):
                one = theta.copy()
                one[part] += step
                found = likelihood(covariance(self.model, one, x[arms][some])[0], y[some])
                value = 1e10 if found is None else found[0]
                densities.append(-value - 0.5 * float((((one - centre) / spread) ** 2).sum()))
                signal, scales, noise = float(np.exp(one[0])), np.exp(one[1:-1]), float(np.exp(one[-1]))
                lower = cholesky(covariance(self.model, one, x[arms])[0], lower=True)
                whitened = solve_triangular(lower, y, lower=True)
                own = np.full(len(arms), noise)
                after = Posterior(self.model, scales, signal, noise, own, x[arms] / scales, lower, whitened)
                mean, deviation = after.everywhere(x)
                means.append(mean)
                variances.append(deviation**2)
        weights = softmax(densities)
        mean = weights @ np.array(means)
        variance = weights @ (np.array(variances) + (np.array(means) - mean) ** 2)
        return np.asarray(mean + self.beta * np.sqrt(variance))


@dataclass(frozen=True)
class LinearKernel(Ranked):
    """Upper bounds of a Gaussian process with a stationary and a linear kernel, whose variances are learned."""

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return the bounds."""
        arms, y, _, _ = self.known(state, r)
        x, lines = UNIFORM * state.features, state.features / np.sqrt(state.features.shape[1])
        some, (centre, spread) = fitted_on(self.model, len(arms)), priors(self.model, x.shape[1])
        centre, spread = np.append(centre, -2.0), np.append(spread, 2.0)  # of the logarithm of the linear variance

        def with_lines(theta: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            found, squares, correlation = covariance(self.model, theta[:-1], x[rows])
            return found + np.exp(theta[-1]) * lines[rows] @ lines[rows].T, squares, correlation

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            whole, squares, correlation = with_lines(theta, arms[some])
            off = (theta - centre) / spread
            if (fit := likelihood(whole, y[some])) is None:
                return 1e10, np.zeros_like(theta)
            value, inner = fit
            signal, z, root = np.exp(theta[0]), x[arms[some]] / np.exp(theta[1:-2]), np.sqrt(5.0 * squares)
            pull = inner * signal * (5.0 / 3.0) * (1.0 + root) * np.exp(-root)
            slope = np.empty_like(theta)
            slope[0] = -0.5 * signal * float((inner * correlation).sum())
            slope[1:-2] = -((z**2).T @ pull.sum(axis=1) - np.einsum("ij,ij->j", z, pull @ z))
            slope[-2] = -0.5 * np.exp(theta[-2]) * float(np.trace(inner))
            own = lines[arms[some]]
            slope[-1] = -0.5 * np.exp(theta[-1]) * float(np.einsum("ij,ij->", inner @ own, own))
            return value + 0.5 * float(off @ off), slope + off / spread

        bounds = [(c - 6.0 * s, c + 6.0 * s) for c, s in zip(centre, spread, strict=True)]
        bounds[-2] = (max(bounds[-2][0], np.log(1e-6)), bounds[-2][1])
        found = minimize(
            loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": self.model.steps}
        )
        theta = found.x
        lower = cholesky(with_lines(theta, arms)[0], lower=True)
        whitened = solve_triangular(lower, y, lower=True)
        z, upper = x / np.exp(theta[1:-2]), np.empty(len(x))
        signal, weight = np.exp(theta[0]), np.exp(theta[-1])
        for start in range(0, len(x), 4096):
            part = slice(start, start + 4096)
            across = signal * self.model.kernel(_squares(z[arms], z[part])) + weight * lines[arms] @ lines[part].T
            rows = solve_triangular(lower, across, lower=True)
            variance = signal + weight * (lines[part] ** 2).sum(axis=1) - (rows**2).sum(axis=0)
            upper[part] = whitened @ rows + self.beta * np.sqrt(np.maximum(variance, 1e-12))
        return upper


@dataclass(frozen=True)
class Tried:
    """A policy in place of a `Choice`."""

    made: type[PoolGaussian]
    model: SmoothGP = SmoothGP()

    def search(self, batch: int, rounds: int) -> PoolGaussian:
        """Return the policy for so many batches."""
        return self.made("GP", batch, rounds, beta=0.5, model=self.model)


TRIED = {
    "more noise": Tried(PoolGaussian),
    "portfolio": Tried(Portfolio),
    "linear mean": Tried(LinearMean),
    "two ranks": Tried(TwoRanks),
    "linear kernel": Tried(LinearKernel),
    "averaged": Tried(Averaged),
    "isotropic": Tried(PoolGaussian, SmoothGP(ard=False)),
}


def scores(runs: pd.DataFrame, half: int) -> pd.DataFrame:
    """Return the scores of the rule for these and for this project's policies in even runs (0), or in odd ones (1)."""
    measured = read()
    both = pd.concat([measured.runs, runs])
    table = ranked(summary(both[(both["run"] < RUNS) & (both["run"] % 2 == half)], measured.data), CASES)
    return table[table["data sets"] == len(CASES)]


def main() -> None:
    """Run what is missing, and print what the rule takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    cases = [case_of(given.data, name) for name in (*POOLS, *SCREENS)]
    for policy, choice in TRIED.items():
        for case in cases:
            for run in runs_left(FILE, case, policy, RUNS):
                if run % 2 and policy not in LEADING:
                    continue
                began = time.process_time()
                found = found_by(choice, case, [run])  # type: ignore[arg-type]
                append(FILE, case, policy, [run], found, time.process_time() - began)
    for half in (0, 1):
        print(scores(pd.read_csv(FILE), half).round(3).to_string())


if __name__ == "__main__":
    main()
