"""Two candidates for the default that are not taken: ``python -m benchmarks.what_to_use_tried --data FOLDER``.

Both change ``gp`` on the data sets and by the protocol of ``docs/what_to_use.md``: a portfolio, which ranks candidates
by the mean of their ranks by ``gp``, ``neighbours`` and a ridge regression, and a linear mean, whose residuals the
Gaussian process models. Neither takes places of a batch for known. Runs are appended to a CSV file, and what is there
already is not run again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from benchmarks.what_to_use import found_by
from benchmarks.what_to_use_cases import POOLS, SCREENS, append, case_of, runs_left
from benchmarks.what_to_use_comparison import CASES, ranked, read, summary
from bestarm.interface import FloatArray, IntArray
from bestarm.models.smooth_gp import UNIFORM, best_of
from bestarm.policies.model_batches import ModelState
from bestarm.search.any_size import PoolGaussian, PoolNeighbours

FILE = Path(__file__).with_suffix(".csv")


def ridge(x: FloatArray, known: IntArray, y: FloatArray) -> FloatArray:
    """Return predictions everywhere by weights of variance 1/d and noise of variance a half, in scaled units."""
    own, penalty = x[known], 0.5 * x.shape[1]
    if len(known) < x.shape[1]:
        return np.asarray(x @ own.T @ np.linalg.solve(own @ own.T + penalty * np.eye(len(known)), y))
    return np.asarray(x @ np.linalg.solve(own.T @ own + penalty * np.eye(x.shape[1]), own.T @ y))


@dataclass(frozen=True)
class Portfolio(PoolGaussian):
    """Batches by the mean rank of the bound of a Gaussian process, neighbours, and a ridge regression."""

    def choose(self, state: ModelState, r: int, size: int) -> IntArray:
        """Return the batch of one replication."""
        arms, y, _, _ = self.known(state, r)
        mean, deviation = self.posterior(state, r).everywhere(UNIFORM * state.features)
        near, _ = PoolNeighbours("neighbours", self.batch, self.rounds).outputs(state, r)
        scores = (mean + self.beta * deviation, near, ridge(state.features, arms, y))
        return best_of(sum(map(rankdata, scores)), np.flatnonzero(state.available[r]), size)


@dataclass(frozen=True)
class LinearMean(PoolGaussian):
    """Upper bounds of a ridge regression with a Gaussian process of its residuals."""

    def choose(self, state: ModelState, r: int, size: int) -> IntArray:
        """Return the batch of one replication."""
        arms, y, _, _ = self.known(state, r)
        line, x = ridge(state.features, arms, y), UNIFORM * state.features
        rest = y - line[arms]
        spread = max(float(rest.std()), 1e-9)
        mean, deviation = self.model.fitted(x[arms], (rest - rest.mean()) / spread).everywhere(x)
        return best_of(line + spread * (mean + self.beta * deviation), np.flatnonzero(state.available[r]), size)


@dataclass(frozen=True)
class Tried:
    """A policy in place of a `Choice`."""

    made: type[PoolGaussian]

    def search(self, batch: int, rounds: int) -> PoolGaussian:
        """Return the policy for so many batches."""
        return self.made("GP", batch, rounds, beta=0.5)


TRIED = {"portfolio": Tried(Portfolio), "linear mean": Tried(LinearMean)}


def scores(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the rule for these and for this project's policies, in the runs that all of them have."""
    measured = read()
    same = (
        pd.concat([measured.runs, runs]).groupby(["data", "run"]).filter(lambda part: set(TRIED) <= set(part["policy"]))
    )
    table = ranked(summary(same, measured.data), CASES)
    return table[table["data sets"] == len(CASES)]


def main() -> None:
    """Run what is missing, and print what the rule takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    cases = [case_of(given.data, name) for name in (*POOLS, *SCREENS)]
    for policy, choice in TRIED.items():
        for case in cases:
            for run in runs_left(FILE, case, policy, given.runs):
                began = time.process_time()
                found = found_by(choice, case, [run])  # type: ignore[arg-type]
                append(FILE, case, policy, [run], found, time.process_time() - began)
    print(scores(pd.read_csv(FILE)).round(3).to_string())


if __name__ == "__main__":
    main()
