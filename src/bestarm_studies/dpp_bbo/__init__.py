"""Batched Gaussian process bandit optimization via determinantal point processes (Kathuria, Deshpande, Kohli).

Each notebook has a section folder with what is run, drawn and claimed there:

* ``gp_bandits``: bounds of UCB and EST on a line, relevance regions, batches of GP-BUCB and LP-UCB; Lemma 3.1.
* ``batches``: k-DPPs and batches in the plane; pure exploration is greedy maximisation.
* ``synthetic``: searches of Branin-Hoo, Hartmann-6 and cosines (Figures 1 and 3), and what the paper leaves open.
* ``walker``: two walkers, their tables, searches of both (Figure 2, right), slopes of the objectives.
* ``abalone``: searches for the oldest snail (Figure 4).
* ``fastxml``: tables of precisions, and searches of them (Figures 2, left, and 5).
* ``theory``: Theorems 2.1 to 6.8 and the lemmas, each with its rows, values, figure and check.
* ``verdicts``: the lead of SAMPLE in fourteen panels.

The root has what they share: candidates, the synthetic functions and those drawn from the model, the series and their
models, the observer of batches, posteriors within a batch, regrets, and readings of what the paper leaves open.
"""

NOTEBOOKS = (
    "01_gp_bandits",
    "02_batches",
    "03_synthetic",
    "04_walker",
    "05_abalone",
    "06_fastxml",
    "07_theory",
    "08_verdicts",
)
