"""Experiments on differences between text and code, on the causes that the paper names, and on GPTree's slope."""

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_studies.gpoo import experiments as gpoo
from bestarm_studies.gpoo.paper_against_code.audit import audited
from bestarm_studies.gpoo.paper_against_code.causes import ABLATIONS, GPTREE_SLOPES, precision_rows
from bestarm_studies.gpoo.trees import growth_rows

EXPERIMENTS: dict[str, Experiment | Computation] = {
    **{  # what each difference between the paper's text and the authors' code is worth
        f"audit_{name}": gpoo.search(
            f"Paper against code, {name}", problem, audited(name), gpoo.EFFECT, gpoo.WRITTEN, every=5
        )
        for name, problem in {"f1": gpoo.F1, "f2": gpoo.F2, "f3": gpoo.F3}.items()
    },
    **gpoo.of_each("ablation", "One cause at a time", [gpoo.F1, gpoo.F2], ABLATIONS, gpoo.EFFECT, gpoo.BOTH),
    **gpoo.of_each(
        "gptree_slope", "Slope of GPTree's modulus", [gpoo.F1, gpoo.F2], GPTREE_SLOPES, gpoo.EFFECT, gpoo.WRITTEN
    ),
    **{
        f"precision_{problem.keywords['name']}": gpoo.computed(
            f"Predictions of divided nodes and of leaves, {problem.keywords['name']}",
            gpoo.RUNS,
            precision_rows,
            searches=gpoo.two_feedbacks(problem),
            conventions=gpoo.BOTH,
            budgets=(25, 50, 80),
        )
        for problem in (gpoo.F1, gpoo.F2, gpoo.F3)
    },
    "gptree_growth": gpoo.computed(
        "Growth of GPTree's trees",
        100,
        growth_rows,
        searches={name: (policy(label="GPTree"), gpoo.F1) for name, policy in GPTREE_SLOPES.items()},
    ),
}
