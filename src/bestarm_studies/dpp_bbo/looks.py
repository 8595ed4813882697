"""Looks of batch searches with a Gaussian process."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Okabe and Ito's hues, darkened until a line has a contrast of 3 on white. Members of a family share a hue; in grey
# the marker and the line style tell them apart.
LOOKS = {
    "GP-BUCB": Look("#C17C00", "o", "--"),
    "B-EST": Look("#9A5B00", "s", DOTS),
    "UCB-DPP-MAX": Look("#0072B2", "^", "-."),
    "EST-DPP-MAX": Look("#4A90D9", "v", DOTS_AND_DASHES),
    "UCB-DPP-SAMPLE": Look("#00664A", "D"),
    "EST-DPP-SAMPLE": Look("#009E73", "P", "--"),
    "LP-UCB": Look("#D55E00", "X"),
    "UCB-UNIFORM": Look("#882255", "<", "-."),
    "EST-UNIFORM": Look("#C0609A", ">", DOTS),
    "Thompson": Look("#463B8A", "*", "--"),
    "random": Look("0.55", "x", DOTS),
    "sequential UCB": Look("#000000", "h"),
    "sequential EST": Look("0.35", "p", "--"),
    "qLogNEI": Look("#7F7F00", "8", "-."),
}
