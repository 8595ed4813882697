"""Looks of batch searches with a Gaussian process."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Near Okabe and Ito's hues, with a contrast of 3 on white. Algorithms of one panel differ by 15 in CIE76, however a
# reader sees colours, and by 15 in CIEDE2000 or else in both marker and line, which grey print shows.
LOOKS = {
    "GP-BUCB": Look("#945600", "o", "--"),
    "B-EST": Look("#6A502E", "s", DOTS),
    "UCB-DPP-MAX": Look("#0072B2", "^", "-."),
    "EST-DPP-MAX": Look("#4888FA", "v", DOTS_AND_DASHES),
    "UCB-DPP-SAMPLE": Look("#3B725D", "D"),
    "EST-DPP-SAMPLE": Look("#4FA46A", "P", "--"),
    "LP-UCB": Look("#DC7A2C", "X"),
    "UCB-UNIFORM": Look("#6B2665", "<", "-."),
    "EST-UNIFORM": Look("#825C7D", ">", DOTS),
    "Thompson": Look("#4946B0", "*", "--"),
    "random": Look("0.55", "x", DOTS),
    "sequential UCB": Look("#000000", "h"),
    "sequential EST": Look("#424242", "p", "--"),
    "qLogNEI": Look("#807E52", "8", "-."),
}
