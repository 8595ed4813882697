"""Fixed-budget best-arm identification in structured bandits (Azizi, Kveton, Ghavamzadeh, IJCAI 2022).

``problem``: how hard the instances are; the grids that settle the rivals' settings. ``gse_and_designs``: solvers and
roundings of designs. ``adaptive``, ``static``, ``randomised``, ``logistic``, ``real_data``: Figures 2, 1, 3, 4 and 5.
``od_linbai``: Figures 6 and 7. ``theory``: a module a statement. ``paper_against_code``: one difference at a time.
``beyond``: other designs and η, times, clusters. ``verdicts``: claims on several figures; the gap to the best rival.

The root has what sections share: instances, algorithms and values; readings of what the paper leaves open
(``robustness``). Sections and appendices that a docstring names are the paper's.
"""

NOTEBOOKS = (
    "01_problem",
    "02_gse_and_designs",
    "03_adaptive",
    "04_static",
    "05_randomised",
    "06_logistic",
    "07_real_data",
    "08_od_linbai",
    "09_theory",
    "10_paper_against_code",
    "11_beyond",
    "12_verdicts",
)
