"""The computations behind the checks of the DPP-BBO paper's analysis; `experiments` has them with all others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from bestarm.policies.batch_gp import b_est, gp_bucb
from bestarm.policies.batch_rules import GreedyMap, KDpp, UpperBound
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.scale import Profile
from bestarm_studies.dpp_bbo.batch_rows import coverage_rows, entropy_rows, maximum_rows
from bestarm_studies.dpp_bbo.batch_times import batch_times
from bestarm_studies.dpp_bbo.determinant_rows import chain_rule_rows, exploration_rows
from bestarm_studies.dpp_bbo.event_rows import lemma_rows
from bestarm_studies.dpp_bbo.gp_draws import gp_draw_instance
from bestarm_studies.dpp_bbo.series import DRAW_ROUNDS, DRAWN, KNOWN, on_draws, sequential
from bestarm_studies.dpp_bbo.synthetic import synthetic_instance
from bestarm_studies.dpp_bbo.theory_rows import chain_rows, sampling_times, set_rows
from bestarm_studies.dpp_bbo.two_stage import two_stage_rows

EVALUATIONS = 5 * DRAW_ROUNDS
FUNCTIONS = partial(gp_draw_instance, n_arms=400, lengthscale=DRAWN["lengthscale"], sigma=DRAWN["sigma"])
EXPLORES = replace(on_draws()["UCB-DPP-MAX"], rule=KDpp(UpperBound(), GreedyMap(repeats=True)))
SEQUENTIAL = sequential(EVALUATIONS, KNOWN)

# What grows in the times of a batch: candidates, B and rewards (of T - 1 batches and the first arm).
GROWTH = {
    "candidates": {n: (n, 5, 76) for n in (512, 1024, 2048, 4096, 8192)},
    "B": {b: (2048, b, 76) for b in (2, 5, 10, 20)},
    "T": {t: (2048, 5, 5 * t - 4) for t in (5, 10, 20, 40)},
}


def computed(title: str, runs: int, rows: Any, *, smoke: dict[str, Any] | None = None, **settings: Any) -> Computation:
    """Return a computation of so many runs, at most two of them at the smoke scale."""
    profiles: dict[Profile, dict[str, Any]] = {
        "smoke": {"replications": min(runs, 2)} | (smoke or {}),
        "laptop": {"replications": runs},
    }
    return Computation(title, partial(rows, **settings), profiles)


THEORY: dict[str, Computation] = {
    "theory_lemmas": computed(
        "The statements of the proofs in every run",
        500,
        lemma_rows,
        searches=on_draws()
        | {"UCB-DPP-MAX | repeats allowed": EXPLORES}
        | {policy.label: policy for policy in SEQUENTIAL},
        problem=FUNCTIONS,
    ),
    "theory_coverage": computed(
        "Intervals of GP-BUCB by position in the batch",
        250,
        coverage_rows,
        problem=FUNCTIONS,
        searches={size: gp_bucb(size, EVALUATIONS // size, model=KNOWN) for size in (5, 10, 20)},
    ),
    "theory_entropy": computed(
        "The terms of Theorem 3.4",
        50,
        entropy_rows,
        policy=on_draws()["UCB-DPP-SAMPLE"],
        problem=FUNCTIONS,
        smoke={"problem": partial(FUNCTIONS, n_arms=60)},
    ),
    "theory_maximum": computed(
        "Estimates of the maximum",
        100,
        maximum_rows,
        policy=on_draws()["EST-DPP-SAMPLE | ESTn"],
        problem=FUNCTIONS,
        batches=(1, 2, 3, 5, 10, 20),
        n_draws=200,
        smoke={"n_draws": 20},
    ),
    "theory_two_stage": computed(
        "Theorem 3.2 after the first stage that it needs",
        100,
        two_stage_rows,
        searches=[make(5, DRAW_ROUNDS, model=KNOWN) for make in (gp_bucb, partial(b_est, estimate="ESTa"))],
        problem=FUNCTIONS,
        level=0.5,
        smoke={"problem": partial(FUNCTIONS, n_arms=60), "level": 2.0},
    ),
    "theory_sets": computed(
        "k-DPPs by enumeration",
        300,
        set_rows,
        sizes=((9, 2), (9, 4), (12, 4)),
        noises=(1.0, 0.1, 0.01),
    ),
    "theory_exploration": computed(
        "Gains of pure exploration, batch by batch", 10, exploration_rows, policy=EXPLORES, problem=FUNCTIONS
    ),
    "theory_chain_rule": computed(
        "Log determinants of batches and of runs",
        10,
        chain_rule_rows,
        policy=on_draws()["UCB-DPP-SAMPLE"],
        problem=FUNCTIONS,
    ),
    "theory_chains": computed(
        "Chains and their k-DPP, step by step",
        12,
        chain_rows,
        n=9,
        ks=(2, 3, 4),
        noise=DRAWN["sigma"] ** 2,
        n_steps=60,
    ),
    "sampling_times": Computation(
        "Seconds of one sample of a k-DPP",
        partial(sampling_times, sizes=(250, 500, 1000, 2000, 4000), ks=(4, 9), noise=DRAWN["sigma"] ** 2),
        profiles={"smoke": {"replications": 2, "sizes": (30,)}, "laptop": {"replications": 3}},
        measured=True,
    ),
    "batch_times": Computation(
        "Seconds of one batch",
        partial(batch_times, problem=partial(synthetic_instance, name="Branin-Hoo"), cells=GROWTH),
        profiles={
            "smoke": {"replications": 1, "cells": {"candidates": {64: (64, 3, 7)}}},
            "laptop": {"replications": 3},
        },
        measured=True,
    ),
}
