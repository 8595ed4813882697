"""The computations behind the checks of the analysis, and searches of functions drawn from the model."""

from functools import partial

from bestarm.policies.gaussian.batch_gp import b_est, gp_bucb
from bestarm_lab.experiments.computation import Computation, computed
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.scale import Scale
from bestarm_studies.dpp_bbo.experiments import search
from bestarm_studies.dpp_bbo.gp_draws import DRAWN, FUNCTIONS
from bestarm_studies.dpp_bbo.series import DRAW_ROUNDS, EXPLORES, KNOWN, on_draws, sequential
from bestarm_studies.dpp_bbo.theory.confidence import coverage_rows, maximum_rows
from bestarm_studies.dpp_bbo.theory.entropy import entropy_rows, set_rows
from bestarm_studies.dpp_bbo.theory.information import chain_rule_rows
from bestarm_studies.dpp_bbo.theory.lemmas import lemma_rows
from bestarm_studies.dpp_bbo.theory.regret import two_stage_rows
from bestarm_studies.dpp_bbo.theory.sampling import sampling_times

EVALUATIONS = 5 * DRAW_ROUNDS
DRAWS = on_draws()
SAMPLE = DRAWS["UCB-DPP-SAMPLE"]
_SMALL = partial(FUNCTIONS, n_arms=60)
EXPERIMENTS: dict[str, Experiment | Computation] = {
    "gp_draws": search(
        "Functions drawn from the model",
        DRAWS,
        FUNCTIONS,
        profiles={"smoke": Scale(3, settings={"rounds": 3}), "laptop": Scale(500)},
        every=5,
        block=125,
    ),
    "theory_lemmas": computed(
        "The statements of the proofs in every run",
        500,
        lemma_rows,
        searches=DRAWS | {"UCB-DPP-MAX | repeats allowed": EXPLORES} | sequential(EVALUATIONS, KNOWN),
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
        "The terms of Theorem 3.4", 50, entropy_rows, smoke={"problem": _SMALL}, policy=SAMPLE, problem=FUNCTIONS
    ),
    "theory_maximum": computed(
        "Estimates of the maximum",
        100,
        maximum_rows,
        policy=DRAWS["EST-DPP-SAMPLE | ESTn"],
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
        smoke={"problem": _SMALL, "level": 2.0},
    ),
    "theory_sets": computed(
        "k-DPPs by enumeration", 300, set_rows, sizes=((9, 2), (9, 4), (12, 4)), noises=(1.0, 0.1, 0.01)
    ),
    "theory_chain_rule": computed(
        "Log determinants of batches and of runs", 10, chain_rule_rows, policy=SAMPLE, problem=FUNCTIONS
    ),
    "sampling_times": Computation(
        "Seconds of one sample of a k-DPP",
        partial(sampling_times, sizes=(250, 500, 1000, 2000, 4000), ks=(4, 9), noise=DRAWN["sigma"] ** 2),
        profiles={"smoke": {"replications": 2, "sizes": (30,)}, "laptop": {"replications": 3}},
        measured=True,
    ),
}
