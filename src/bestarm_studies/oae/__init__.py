"""Neural design for genetic perturbation experiments (Pacchiano, Wulsin, Barton, Voloch, ICLR 2023).

``problem``: landscapes; a search round by round. ``fits``: step sizes, sizes of the sets. ``vanilla``: Greedy,
MeanOpt and searches without networks. ``ensembles``: ensembles, other objectives. ``uci``: tables with their own
responses. ``realizable``: fitted responses. ``diversity``: DetD. ``sequential``: batches chosen arm by arm.
``open_choices``: what the paper leaves open. ``theory``: a module a theorem. ``screen_to_bandit``: groups of cell lines
as arms. ``genedisco``: four screens. ``embedding``: how well groups tell of a group. ``transfer``: searches of groups
and of the official lines. ``verdicts``: all of them.

The root has what sections share: landscapes, UCI sets and fitted responses; groups of algorithms and their searches,
observers, values, figures, alternative readings (``robustness``). ``cell_lines`` has what the sections on them share.

Everywhere ``replications`` are runs, ``seed`` is the project's and ``workers`` are processes, on which no row depends;
``profile`` is the scale of rows, ``title`` says what a figure finds and ``setting`` where and how.
"""

NOTEBOOKS = (
    "01_problem",
    "02_fits",
    "03_vanilla",
    "04_ensembles",
    "05_uci",
    "06_realizable",
    "07_diversity",
    "08_sequential",
    "09_open_choices",
    "10_theory",
    "11_screen_to_bandit",
    "12_genedisco",
    "13_embedding",
    "14_transfer",
    "15_verdicts",
)
