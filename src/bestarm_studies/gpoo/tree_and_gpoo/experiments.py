"""Experiments on trees of single runs (Figures 1 and 2) and on their growth."""

from functools import partial

from bestarm.policies.cells.gpoo import Gpoo
from bestarm_studies.gpoo.experiments import BOTH, F1, F2, RUNS, computed, two_feedbacks
from bestarm_studies.gpoo.functions import Maker
from bestarm_studies.gpoo.trees import Searches, growth_rows, tree_rows


def two_representatives(problem: Maker, budget: int, delta_scale: float) -> Searches:
    """Return the search that the paper's drawings of trees show."""
    return {"GPOO (S = 2)": (Gpoo("GPOO", budget, delta_scale=delta_scale), partial(problem, n_representatives=2))}


EXPERIMENTS = {
    "fig1": computed("Figure 1", 1, tree_rows, searches=two_representatives(F1, 24, 2.0), rounds=(24,)),
    "fig2": computed(
        "Figure 2",
        1,
        tree_rows,
        searches=two_representatives(F2, 10, 1.0),
        conventions=("as_coded",),
        first=2,  # the first run whose rounds 9 and 10 are those that the paper describes
        rounds=(1, 3, 5, 7, 9, 10, 11),
    ),
    "tree_growth": computed("Growth of trees", RUNS, growth_rows, searches=two_feedbacks(F1), conventions=BOTH),
}
