"""Gaussian process bandits with aggregated feedback (Zhang, Tsuchida, Ong, AAAI 2022).

``aggregated_feedback``: points, averages and integrals as feedback. ``tree_and_gpoo``: Algorithm 1 and its trees,
Figures 1 to 3. ``regret``: Figure 4. ``aggregation``: average feedback, Figures 5 and 6. ``paper_against_code``: one
deviation of the authors' code at a time. ``what_changes_when``: settings that the paper leaves open. ``theory``: a
module a statement. ``verdicts``: the table of all claims.

The root has what sections share: reward functions, the bandit over cells, series, trees of finished searches, Gaussian
processes of averages, values of regret. What a docstring names (figures, equations, sections) is the paper's.
"""

NOTEBOOKS = (
    "01_aggregated_feedback",
    "02_tree_and_gpoo",
    "03_regret",
    "04_aggregation",
    "05_paper_against_code",
    "06_what_changes_when",
    "07_theory",
    "08_verdicts",
)
