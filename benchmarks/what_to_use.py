"""Policies by their names on public screens and pools: ``python -m benchmarks.what_to_use --data FOLDER``.

The protocol and the rule stand in ``docs/what_to_use.md``, what FOLDER holds in ``benchmarks/what_to_use_cases.py``.
Runs are appended to a CSV file, and what is there already is not run again.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.what_to_use_cases import POOLS, SCREENS, Case, append, case_of, described, runs_left
from bestarm.interface import Ask, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.search.choices import Choice
from bestarm.search.replay import HitCounter
from bestarm.simulate import simulate
from bestarm.streams import Streams

POLICIES = {
    "gp, 0.5 deviations": Choice("gp", {"beta": 0.5}),
    "gp, 1 deviation": Choice("gp", {"beta": 1.0}),
    "gp, 2 deviations": Choice("gp", {"beta": 2.0}),
    "hits": Choice("hits"),
    "forest": Choice("forest"),
    "neighbours": Choice("neighbours"),
    "gp_bucb": Choice("gp_bucb"),
    "thompson": Choice("thompson"),
    "linear": Choice("linear"),
    "mean_opt": Choice("mean_opt"),
    "greedy": Choice("greedy"),
    "ensemble": Choice("ensemble"),
}


def found_by(choice: Choice, case: Case, runs: Sequence[int]) -> IntArray:
    """Return the hits that each run has found after each fifth of the measurements, shape (runs, 5)."""
    streams = Streams(0, "", np.array(runs, dtype=np.int64))
    if len(set(case.batches)) == 1:
        observed = HitCounter(choice.search(case.batches[0], len(case.batches)), case.hits)
        problem = NoiselessArms("finished screen", case.scores, case.rewards[None], data="real")
        simulate(observed, problem, streams, metrics={})
        return case.fifths(np.stack(observed.found, axis=1))
    first = choice.search(case.batches[0], 1 + sum(case.batches))
    single = choice.search(1, 1 + sum(case.batches))
    problem = NoiselessArms("pool", case.scores, case.rewards[None], data="real")
    state = single.start(problem.arms, streams)
    found = []
    for size in case.batches:
        asked: Ask = (first if size > 1 else single).ask(state)
        single.tell(state, asked, case.rewards[asked.arms])
        found.append(case.hits[asked.arms].sum(axis=1))
    return case.fifths(np.stack(found, axis=1))


def measure(cases: Sequence[Case], names: Sequence[str], runs: int, out: Path) -> None:
    """Run what the file does not have yet; big lists in blocks of a few runs."""
    for case in cases:
        for name in names:
            together = 50 if len(case.scores) < 5000 else 1 if name in ("gp_bucb", "thompson") else 5
            left = runs_left(out, case, name, runs)
            if left:  # what is compiled at first use is compiled before the clock starts
                found_by(POLICIES[name], case.small(), [0])
            for i in range(0, len(left), together):
                block, began = left[i : i + together], time.process_time()
                found = found_by(POLICIES[name], case, block)
                append(out, case, name, block, found, (time.process_time() - began) / len(block))


def main() -> None:
    """Measure, and print what the page says of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/what_to_use.csv"))
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", nargs="*", default=[*POOLS, *SCREENS])
    parser.add_argument("--policies", nargs="*", default=list(POLICIES))
    parser.add_argument("--describe", type=Path, help="write sizes of the data sets to this file, and measure nothing")
    given = parser.parse_args()
    cases = [case_of(given.data, name) for name in given.only]
    if given.describe:
        described(cases).to_csv(given.describe, index=False)
        return
    measure(cases, given.policies, given.runs, given.out)


if __name__ == "__main__":
    main()
