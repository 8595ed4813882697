"""BayBE and BoTorch on the same pools: ``python -m benchmarks.what_to_use_peers --data FOLDER``.

Both are no dependency of this project and need an environment of their own::

    python -m venv peers
    peers/bin/pip install torch==2.13.0 baybe==0.15.0 botorch==0.18.1 .

The first two candidates of a run are the random ones that this project's policies have in the same run. After them each
library chooses with its defaults: BayBE by ``Campaign.recommend``, which may not name a candidate again, BoTorch by a
``SingleTaskGP``, fitted anew before each measurement, and ``qLogExpectedImprovement`` over the candidates that are
left. Results are appended to a CSV file, and what is there already is not run again. On screens, batches of 128 genes
were not run for what they cost; ``--cost`` measures batches of few.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.what_to_use_cases import POOLS, Case, append, case_of, runs_left
from bestarm.interface import FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.search.choices import Choice
from bestarm.streams import Streams

QLOGEI, BAYBE = "BoTorch, qLogEI", "BayBE"


def first_batch(case: Case, run: int) -> IntArray:
    """Return the random batch with which the policies of this project begin a run."""
    policy = Choice("random").search(case.batches[0], 1)
    arms = NoiselessArms("first", case.scores, case.rewards[None], data="real").arms
    chosen: IntArray = policy.ask(policy.start(arms, Streams(0, "", np.array([run], dtype=np.int64)))).arms[0]
    return chosen


def scaled(features: FloatArray) -> FloatArray:
    """Return features in [0, 1]."""
    low, high = features.min(axis=0), features.max(axis=0)
    return (features - low) / np.where(high > low, high - low, 1.0)


class Botorch:
    """BoTorch's Gaussian process with its defaults, and expected improvement over the candidates that are left."""

    def __init__(self, case: Case) -> None:
        """Take a data set."""
        import torch

        self.points = torch.from_numpy(scaled(case.scores))

    def choose(self, known: IntArray, rewards: FloatArray, size: int) -> IntArray:
        """Return the next batch, given what was measured."""
        import torch
        from botorch import fit_gpytorch_mll
        from botorch.acquisition.logei import qLogExpectedImprovement
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf_discrete
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(self.points[known], torch.from_numpy(rewards)[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        left = np.setdiff1d(np.arange(len(self.points)), known)
        choices = self.points[left]
        acquisition = qLogExpectedImprovement(model, best_f=float(rewards.max()))
        chosen, _ = optimize_acqf_discrete(acquisition, size, choices, return_acq_values=False)
        free, found = np.ones(len(left), dtype=bool), []
        for point in chosen:  # candidates may have the same features
            place = int(np.flatnonzero((choices == point).all(dim=1).numpy() & free)[0])
            free[place] = False
            found.append(left[place])
        return np.array(found, dtype=np.int64)


class Baybe:
    """A campaign of BayBE with its defaults."""

    def __init__(self, case: Case) -> None:
        """Take a data set."""
        from baybe import Campaign
        from baybe.searchspace import SearchSpace, SubspaceDiscrete
        from baybe.targets import NumericalTarget

        columns = [f"x{j}" for j in range(case.scores.shape[1])]
        self.table = pd.DataFrame(case.scores, columns=columns)
        space = SearchSpace(discrete=SubspaceDiscrete.from_dataframe(self.table))
        objective = NumericalTarget("reward").to_objective()
        self.campaign = Campaign(space, objective, allow_recommending_already_measured=False)
        self.told = 0

    def choose(self, known: IntArray, rewards: FloatArray, size: int) -> IntArray:
        """Return the next batch, given what was measured."""
        new = self.table.loc[known[self.told :]].assign(reward=rewards[self.told :])
        self.campaign.add_measurements(new)
        self.told = len(known)
        return self.campaign.recommend(size).index.to_numpy(dtype=np.int64)


PEERS: dict[str, Callable[[Case], Any]] = {BAYBE: Baybe, QLOGEI: Botorch}


def one_run(name: str, case: Case, run: int) -> IntArray:
    """Return the hits found after each fifth of the measurements, shape (1, 5)."""
    import torch

    torch.manual_seed(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on scaling and jitter
        peer, known = PEERS[name](case), first_batch(case, run)
        for size in case.batches[1:]:
            batch = peer.choose(known, case.rewards[known], size)
            if len(np.unique(batch)) < size or np.isin(batch, known).any():
                raise RuntimeError(f"{name} chose a candidate twice in run {run} on {case.name}.")
            known = np.concatenate([known, batch])
    sizes = np.cumsum(case.batches)[:-1]
    return case.fifths(np.array([[part.sum() for part in np.split(case.hits[known], sizes)]]))


def cost(case: Case, sizes: Sequence[int], out: Path) -> None:
    """Add to a file the processor seconds of a batch of few genes, after 128 random ones."""
    known = first_batch(case, 0)
    for size in sizes:
        for name in (QLOGEI, BAYBE):
            began = time.process_time()
            peer = PEERS[name](case)
            begun = time.process_time()
            peer.choose(known, case.rewards[known], size)
            seconds = (round(begun - began, 1), round(time.process_time() - begun, 1))
            line = {"data": case.name, "policy": name, "genes": size, "start": seconds[0], "batch": seconds[1]}
            print(line, flush=True)
            pd.DataFrame([line]).to_csv(out, mode="a", header=not out.exists(), index=False)


def main() -> None:
    """Run what the file does not have yet, one run of each after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/what_to_use_peers.csv"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=list(POOLS))
    parser.add_argument("--cost", nargs="*", type=int, help="measure batches of so many genes instead, into --out")
    given = parser.parse_args()
    if given.cost:
        for name in given.only:
            cost(case_of(given.data, name), given.cost, given.out)
        return
    cases = [case_of(given.data, name) for name in given.only]
    for run in range(given.runs):
        for case in cases:
            for name in PEERS:
                if run in runs_left(given.out, case, name, run + 1):
                    began = time.process_time()
                    found = one_run(name, case, run)
                    append(given.out, case, name, [run], found, time.process_time() - began)


if __name__ == "__main__":
    main()
