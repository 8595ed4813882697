"""Looks of the algorithms for a fixed budget."""

from bestarm_lab.figures.styles import DOTS, DOTS_AND_DASHES, Style

# near Okabe and Ito's hues, with a contrast of 3 on white; how far styles differ: tests/lab/figures/test_colours.py
STYLES = {
    "GSE-Lin": Style("#4B97E2", "o", "--"),
    "GSE-Lin-FWG": Style("#0072B2", "s"),
    "GSE-Lin-Greedy": Style("#004C78", "p", "-."),
    "GSE-Lin-Wynn": Style("#111756", "d", DOTS),
    "GSE-Log": Style("#669F87", "^", "--"),
    "GSE-Log-FWG": Style("#224A2E", "v"),
    "LinUCB": Style("#C78615", "X", "-."),
    "UCB-GLM": Style("#C17C00", "X", "-."),
    "LinGapE": Style("#6B3200", "P"),
    "LinGapE-Greedy": Style("#A34800", "h", "--"),
    "BayesGap-Lin": Style("#DB7295", "<"),
    "BayesGap-exp": Style("#7D1944", "*", "--"),
    "BayesGap-M": Style("#91585E", ">", "-."),
    "Peace": Style("#825C7D", "D", DOTS),
    "Sequential halving": Style("#1D7741", "v", "-."),
    "OD-LinBAI": Style("#8B996D", "^", DOTS_AND_DASHES),
}
