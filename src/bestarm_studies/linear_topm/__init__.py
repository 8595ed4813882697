"""Top-m identification for linear bandits (Réda, Kaufmann, Delahaye-Duriez, AISTATS 2021).

``main_results``, ``classic_instances``, ``random_instances``: sample complexities, Figures 1 to 3.
``complexity_constants``: Tables 2, 4 and 5. ``drug_simulator``: Figures 4 and 5, Table 6. ``paper_against_code``: each
difference of the authors' code alone and all together. ``theory``: the lemmas and theorems, on observed runs.
``beyond``: growth, misspecified and real problems, other ε and m. ``verdicts``: the table of all claims.

The root has what sections share: instances, settings, complexity constants, the authors' recorded runs, values, tables
and figures of sample complexities. The simulator itself, which knows no bandits, is `bestarm_objectives.drug`. Figures,
equations and sections that a docstring names are the paper's.
"""

NOTEBOOKS = (
    "01_main_results",
    "02_classic_instances",
    "03_random_instances",
    "04_complexity_constants",
    "05_drug_simulator",
    "06_paper_against_code",
    "07_theory",
    "08_beyond",
    "09_verdicts",
)
