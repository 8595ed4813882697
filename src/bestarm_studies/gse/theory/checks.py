"""Statements of the analysis that a computation decides."""

from bestarm_lab.claims.records import Check
from bestarm_studies.gse.theory.error_bounds import error_below_bound, lemma_1, lemma_2, norms
from bestarm_studies.gse.theory.frank_wolfe_steps import corollary_2
from bestarm_studies.gse.theory.other_bounds import (
    against_bayes_gap,
    against_od,
    against_od_few_arms,
    against_peace,
    against_peace_g_optimal,
    near_optimal,
    od_corner_cases,
)
from bestarm_studies.gse.theory.overtaking import glm_lemma_1

CHECKS: dict[str, Check] = {
    "error_below_bound": Check(
        error_below_bound, {"experiments": "experiments", "equation": "number", "constant": "number"}
    ),
    "lemma_1": Check(lemma_1, {"draws": "number"}),
    "lemma_2": Check(lemma_2, {"experiments": "experiments"}),
    "norms": Check(norms, {"factor": "number"}),
    "glm_lemma_1": Check(glm_lemma_1, {"experiments": "experiments"}),
    "corollary_2": Check(corollary_2, {"experiments": "experiments"}),
    "against_bayes_gap": Check(against_bayes_gap, {"arms": "numbers", "dimensions": "numbers"}),
    "against_peace": Check(against_peace, {"dimensions": "numbers", "exponents": "numbers", "constant": "number"}),
    "against_peace_g_optimal": Check(
        against_peace_g_optimal, {"dimensions": "numbers", "exponents": "numbers", "constant": "number"}
    ),
    "against_od": Check(against_od, {"exponents": "numbers", "dimensions": "numbers"}),
    "against_od_few_arms": Check(against_od_few_arms, {"dimensions": "numbers"}),
    "od_corner_cases": Check(od_corner_cases),
    "near_optimal": Check(near_optimal, {"arms": "numbers", "constant": "number"}),
}
