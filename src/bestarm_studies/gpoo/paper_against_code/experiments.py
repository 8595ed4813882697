"""Experiments on differences between text and code, on the causes that the paper names, and on GPTree's slope."""

from functools import partial

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.gpoo.experiments import (
    BOTH,
    EFFECT,
    F1,
    F2,
    F3,
    RUNS,
    WRITTEN,
    computed,
    of_each,
    search,
    two_feedbacks,
)
from bestarm_studies.gpoo.functions import DesignedBandit
from bestarm_studies.gpoo.paper_against_code.audit import audited
from bestarm_studies.gpoo.paper_against_code.causes import ABLATIONS, GPTREE_SLOPES, precision_rows
from bestarm_studies.gpoo.trees import growth_rows


def audit(problem: partial[DesignedBandit]) -> dict[str, Experiment]:
    """Return what each difference between the paper's text and the authors' code is worth on one function."""
    name = problem.keywords["name"]
    return {f"audit_{name}": search(f"Paper against code, {name}", problem, audited(name), EFFECT, WRITTEN, every=5)}


EXPERIMENTS: dict[str, Experiment | Computation] = {
    **audit(F1),
    **audit(F2),
    **audit(F3),
    **of_each("ablation", "One cause at a time", [F1, F2], ABLATIONS, EFFECT, BOTH),
    **of_each("gptree_slope", "Slope of GPTree's modulus", [F1, F2], GPTREE_SLOPES, EFFECT, WRITTEN),
    **{
        f"precision_{problem.keywords['name']}": computed(
            f"Predictions of divided nodes and of leaves, {problem.keywords['name']}",
            RUNS,
            precision_rows,
            searches=two_feedbacks(problem),
            conventions=BOTH,
            budgets=(25, 50, 80),
        )
        for problem in (F1, F2, F3)
    },
    "gptree_growth": computed(
        "Growth of GPTree's trees",
        100,
        growth_rows,
        searches={name: (policy(label="GPTree"), F1) for name, policy in GPTREE_SLOPES.items()},
    ),
}
