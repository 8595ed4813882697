"""Looks of the algorithms for a fixed budget."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Okabe and Ito's hues, darkened until a line has a contrast of 3 on white. Members of a family share a hue; in grey
# the marker and the line style tell them apart.
LOOKS = {
    "GSE-Lin": Look("#4A90D9", "o", "--"),
    "GSE-Lin-FWG": Look("#0072B2", "s"),
    "GSE-Lin-Greedy": Look("#004C78", "p", "-."),
    "GSE-Lin-Wynn": Look("#463B8A", "d", DOTS),
    "GSE-Log": Look("#009E73", "^", "--"),
    "GSE-Log-FWG": Look("#00664A", "v"),
    "LinUCB": Look("#C17C00", "X", "-."),
    "UCB-GLM": Look("#C17C00", "X", "-."),
    "LinGapE": Look("#D55E00", "P"),
    "LinGapE-Greedy": Look("#A34800", "h", "--"),
    "BayesGap-Lin": Look("#C0609A", "<"),
    "BayesGap-exp": Look("#882255", "*", "--"),
    "BayesGap-M": Look("#8A4A70", ">", "-."),
    "Peace": Look("0.35", "D", DOTS),
    "Sequential halving": Look("#3C7A2B", "v", "-."),
    "OD-LinBAI": Look("#7F7F00", "^", DOTS_AND_DASHES),
}
