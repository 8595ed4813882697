"""Looks of batch searches with a Gaussian process."""

from bestarm_lab.figures.styles import DOTS, DOTS_AND_DASHES, Style

# near Okabe and Ito's hues, with a contrast of 3 on white; how far styles differ: tests/lab/figures/test_colours.py
STYLES = {
    "GP-BUCB": Style("#945600", "o", "--"),
    "B-EST": Style("#6A502E", "s", DOTS),
    "UCB-DPP-MAX": Style("#0072B2", "^", "-."),
    "EST-DPP-MAX": Style("#4888FA", "v", DOTS_AND_DASHES),
    "UCB-DPP-SAMPLE": Style("#3B725D", "D"),
    "EST-DPP-SAMPLE": Style("#4FA46A", "P", "--"),
    "LP-UCB": Style("#DC7A2C", "X"),
    "UCB-UNIFORM": Style("#6B2665", "<", "-."),
    "EST-UNIFORM": Style("#825C7D", ">", DOTS),
    "Thompson": Style("#4946B0", "*", "--"),
    "random": Style("0.55", "x", DOTS),
    "sequential UCB": Style("#000000", "h"),
    "sequential EST": Style("#424242", "p", "--"),
}
