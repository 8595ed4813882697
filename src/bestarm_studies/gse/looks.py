"""Looks of the algorithms for a fixed budget."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Near Okabe and Ito's hues, with a contrast of 3 on white. Algorithms of one panel differ by 15 in CIE76, however a
# reader sees colours, and by 15 in CIEDE2000 or else in both marker and line, which grey print shows.
LOOKS = {
    "GSE-Lin": Look("#4B97E2", "o", "--"),
    "GSE-Lin-FWG": Look("#0072B2", "s"),
    "GSE-Lin-Greedy": Look("#004C78", "p", "-."),
    "GSE-Lin-Wynn": Look("#111756", "d", DOTS),
    "GSE-Log": Look("#669F87", "^", "--"),
    "GSE-Log-FWG": Look("#224A2E", "v"),
    "LinUCB": Look("#C78615", "X", "-."),
    "UCB-GLM": Look("#C17C00", "X", "-."),
    "LinGapE": Look("#6B3200", "P"),
    "LinGapE-Greedy": Look("#A34800", "h", "--"),
    "BayesGap-Lin": Look("#DB7295", "<"),
    "BayesGap-exp": Look("#7D1944", "*", "--"),
    "BayesGap-M": Look("#91585E", ">", "-."),
    "Peace": Look("#825C7D", "D", DOTS),
    "Sequential halving": Look("#1D7741", "v", "-."),
    "OD-LinBAI": Look("#8B996D", "^", DOTS_AND_DASHES),
}
