"""Candidates for the default that are not taken: ``python -m benchmarks.what_to_use_tried --data FOLDER``.

By the protocol of ``docs/what_to_use.md``. These, but for the first, change ``gp`` as it was before:

* more noise: what ``gp`` was, half a deviation in its bound and a prior of the noise around exp(-4), of deviation 1;
* portfolio, two ranks: candidates by the mean of their ranks by ``gp`` and ``neighbours``, of a portfolio also by a
  ridge regression;
* linear mean: a ridge regression, whose residuals the Gaussian process models;
* linear kernel: a linear kernel beside the stationary one, both with learned variances;
* averaged: the mean of seven Gaussian processes, the one of largest posterior density and those with the signal, all
  length-scales or the noise a factor of two larger or smaller, weighted by their densities;
* isotropic: one length-scale for all features.

Only the last one takes places of a batch for known. These change ``gp``, or ``hits``, as they are; the last two lines
take no place for known, either:

* normal scores, Yeo-Johnson: rewards by their ranks, or transformed with a power of largest likelihood, as HEBO does;
* feature ranks: features by their ranks;
* RBF: a smoother kernel;
* Matérn 3/2, a rougher kernel;
* network, network + Matérn: infinitely wide networks of two layers, alone and beside the kernel of the default.

**Cut** for time: of the second group, Yeo-Johnson with ``gp`` and feature ranks with both have screens, chosen after
even runs on pools were seen; with ``hits`` Yeo-Johnson has these, normal scores some of them, the others none.

Even runs choose; odd runs, of those that lead, tell. Runs are appended to a CSV file, and what is there already is not
run again. Screens had another reader of tables when the first group ran: a run of ``gp`` made again finds 158, not
152, on IL2.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import ndtri, softmax
from scipy.stats import rankdata, yeojohnson, yeojohnson_llf

from benchmarks.what_to_use import found_by
from benchmarks.what_to_use_cases import POOLS, SCREENS, append, case_of, runs_left
from benchmarks.what_to_use_comparison import CASES, ranked, read, summary
from benchmarks.what_to_use_kernels import KernelGP, Linear, Matern, Network, Sum
from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.models.smooth_gp import UNIFORM, SmoothGP, best_of
from bestarm.policies.model_batches import ModelState
from bestarm.search.any_size import PoolGaussian, PoolNeighbours
from bestarm.streams import Streams

FILE = Path(__file__).with_suffix(".csv")
RUNS = 20
LEADING = ("gp, 1 deviation", "hits", "more noise", "linear mean", "portfolio", "gp, Yeo-Johnson")  # odd runs, too


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
        theta, model = np.log([best.signal, *best.scales, best.noise]), KernelGP()
        some, losses, found = model.measured(len(arms)), [], []
        for part in (slice(0, 0), slice(0, 1), slice(1, -1), slice(-1, None)):
            for step in (0.0,) if part == slice(0, 0) else (-np.log(2.0), np.log(2.0)):
                one = theta.copy()
                one[part] += step
                losses.append(model.loss(one, x[arms][some], y[some])[0])
                found.append(model.at(one, x[arms], y).everywhere(x))
        weights, (means, deviations) = softmax(np.negative(losses)), np.swapaxes(found, 0, 1)
        mean = weights @ means
        variance = weights @ (deviations**2 + (means - mean) ** 2)
        return np.asarray(mean + self.beta * np.sqrt(variance))


@dataclass(frozen=True)
class Bound(Ranked):
    """Upper bounds of all candidates."""

    def ranking(self, state: ModelState, r: int) -> FloatArray:
        """Return the bounds."""
        mean, deviation = self.outputs(state, r)
        return mean + self.beta * deviation


def scaled(values: FloatArray) -> FloatArray:
    """Return values with mean 0 and deviation 1, or zeros where all are equal."""
    off = values - values.mean(axis=0)
    return np.asarray(off / np.where((spread := off.std(axis=0)) > 1e-9, spread, 1.0))


def normal_scores(values: FloatArray) -> FloatArray:
    """Return normal quantiles of the ranks in each column."""
    return scaled(ndtri((rankdata(values, axis=0) - 0.5) / len(values)))


def yeo_johnson(values: FloatArray) -> FloatArray:
    """Return values transformed to be most like normal ones."""
    found = minimize_scalar(lambda power: -yeojohnson_llf(power, values), bounds=(-2.0, 4.0), method="bounded")
    return scaled(np.asarray(yeojohnson(values, found.x)))


@dataclass(frozen=True)
class Transformed(PoolGaussian):
    """Batches by transformed rewards."""

    transform: Callable[[FloatArray], FloatArray] = normal_scores

    def known(self, state: ModelState, r: int) -> tuple[IntArray, FloatArray, float, float]:
        """Return arms and transformed rewards."""
        arms, rewards, mean, spread = super().known(state, r)
        return arms, self.transform(rewards), mean, spread


YeoJohnson = partial(Transformed, transform=yeo_johnson)


@dataclass(frozen=True)
class FeatureRanks(PoolGaussian):
    """Batches by ranks of features."""

    def start(self, arms: Arms, streams: Streams) -> ModelState:
        """Return the state before the first pull."""
        return super().start(Arms(normal_scores(arms.features)), streams)


@dataclass(frozen=True)
class Tried:
    """A policy in place of a `Choice`."""

    made: Callable[..., PoolGaussian] = PoolGaussian
    model: SmoothGP = SmoothGP()
    settings: Mapping[str, Any] = field(default_factory=lambda: {"beta": 0.5})

    def search(self, batch: int, rounds: int) -> PoolGaussian:
        """Return the policy for so many batches."""
        return self.made("GP", batch, rounds, model=self.model, **self.settings)


NOW = SmoothGP(noise_prior=(-8.0, 2.0))  # of `gp` and `hits`
CHANGES = {
    "normal scores": (Transformed, NOW),
    "Yeo-Johnson": (YeoJohnson, NOW),
    "feature ranks": (FeatureRanks, NOW),
    "Matérn 3/2": (Bound, KernelGP(noise_prior=NOW.noise_prior, kernels=Matern(3))),
    "RBF": (PoolGaussian, replace(NOW, family="rbf")),
    "network": (Bound, KernelGP(noise_prior=NOW.noise_prior, kernels=Network())),
    "network + Matérn": (Bound, KernelGP(noise_prior=NOW.noise_prior, kernels=Sum(Matern(), Network()))),
}
TRIED = {
    "more noise": Tried(),
    "portfolio": Tried(Portfolio),
    "linear mean": Tried(LinearMean),
    "two ranks": Tried(TwoRanks),
    "linear kernel": Tried(Bound, KernelGP(kernels=Sum(Matern(), Linear()))),
    "averaged": Tried(Averaged),
    "isotropic": Tried(model=SmoothGP(ard=False)),
    **{f"gp, {name}": Tried(*change, {"beta": 1.0}) for name, change in CHANGES.items()},
    **{f"hits, {name}": Tried(*CHANGES[name], {"score_by": "hits"}) for name in list(CHANGES)[:3]},
}


def scores(runs: pd.DataFrame, half: int) -> pd.DataFrame:
    """Return the scores of the rule for these and for this project's policies in even runs (0), or in odd ones (1)."""
    measured = read()
    both = pd.concat([measured.runs, runs])
    table = ranked(summary(both[(both["run"] < RUNS) & (both["run"] % 2 == half)], measured.data), CASES)
    return table[table["data sets"] == len(CASES)]


def tried_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the defaults and of what was run on all data sets, those that lead in even runs first."""
    halves, names = [scores(runs, half)["score"] for half in (0, 1)], ["gp, 1 deviation", "hits", *TRIED]
    even, odd = [half[half.index.isin(names)] for half in halves]
    odd = odd[odd.index.isin(LEADING)]
    both = pd.DataFrame({"even runs": even, "odd runs": odd}).sort_values("even runs", ascending=False)
    table = both.map(lambda s: "" if np.isnan(s) else f"{s:.3f}")
    return table.rename_axis("policy").reset_index()


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
