"""Experiments on f3: Figures 5 and 6, the rivals, and the overall pattern."""

from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.series import Series
from bestarm_studies.gpoo.aggregation.children_and_representatives import CHILDREN_AND_REPRESENTATIVES
from bestarm_studies.gpoo.aggregation.pattern import pattern_rows
from bestarm_studies.gpoo.experiments import BOTH, CURVE, F3, RUNS, computed, search, two_feedbacks
from bestarm_studies.gpoo.series import (
    AVE_STOOO,
    BUDGET,
    GPTREE,
    STOOO,
    TENS,
    gptree_average,
    single_and_average,
    stooo,
)
from bestarm_studies.gpoo.trees import tree_rows

RIVALS_ON_F3 = {
    "StoOO": Series(STOOO, budgets=TENS),
    "AVE-StoOO": stooo(TENS, 10, AVE_STOOO),
    "GPTree": GPTREE,
    "GPTree (S = 10)": gptree_average(),
}

EXPERIMENTS: dict[str, Experiment | Computation] = {
    "fig5": search("Figure 5", F3, single_and_average(), CURVE, BOTH, every=1),
    "rivals_f3": search("The other searches on f3", F3, RIVALS_ON_F3, CURVE, BOTH, every=1),
    "fig6": search("Figure 6", F3, CHILDREN_AND_REPRESENTATIVES, CURVE, BOTH, every=25, paper=15_000),
    "fig5_trees": computed(
        "Figure 5", 1, tree_rows, searches=two_feedbacks(F3), conventions=BOTH, rounds=(BUDGET + 1,), posterior=True
    ),
    "pattern": computed(
        "The model's mean against f and against f smoothed",
        RUNS,
        pattern_rows,
        searches=two_feedbacks(F3),
        conventions=BOTH,
        budgets=(10, 25, 80),
        width=1 / 32,
    ),
}
