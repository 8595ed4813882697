"""Looks of the algorithms for Top-m identification."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Okabe and Ito's hues, darkened until a line has a contrast of 3 on white. Members of a family share a hue; in grey
# the marker and the line style tell them apart.
LOOKS = {
    "m-LinGapE (greedy)": Look("#0072B2", "o"),
    "m-LinGapE (greedy, no initialisation)": Look("#4A90D9", "8", DOTS),
    "m-LinGapE (optimized)": Look("#4A90D9", "s", "--"),
    "m-LinGapE (largest var.)": Look("#004C78", "p", "-."),
    "LinGIFA (largest var.)": Look("#009E73", "^"),
    "LinGIFA (τ^LUCB, largest var.)": Look("#5B9A48", "<", "--"),
    "LinGIFA (greedy)": Look("#00664A", "v", "-."),
    "LinGIFA (τ^LUCB, greedy)": Look("#7F7F00", ">", DOTS),
    "LinGIFA (individual indices)": Look("#9C8F00", "D", DOTS_AND_DASHES),
    "LUCB (largest var.)": Look("#D55E00", "P"),
    "LUCB (sampling both arms)": Look("#A34800", "h", "--"),
    "UGapE": Look("#C17C00", "X", "-."),
    "LinGame": Look("#C0609A", "*"),
}
