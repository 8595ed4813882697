"""Looks of the algorithms for Top-m identification."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Near Okabe and Ito's hues, with a contrast of 3 on white. Algorithms of one panel differ by 15 in CIE76, however a
# reader sees colours, and by 15 in CIEDE2000 or else in both marker and line, which grey print shows.
LOOKS = {
    "m-LinGapE (greedy)": Look("#0072B2", "o"),
    "m-LinGapE (greedy, no initialisation)": Look("#4B97E2", "8", DOTS),
    "m-LinGapE (optimized)": Look("#4B97E2", "s", "--"),
    "m-LinGapE (largest var.)": Look("#004C78", "p", "-."),
    "LinGIFA (largest var.)": Look("#53A09E", "^"),
    "LinGIFA (τ^LUCB, largest var.)": Look("#4F8770", "<", "--"),
    "LinGIFA (greedy)": Look("#145F54", "v", "-."),
    "LinGIFA (τ^LUCB, greedy)": Look("#606D43", ">", DOTS),
    "LinGIFA (individual indices)": Look("#989568", "D", DOTS_AND_DASHES),
    "LUCB (largest var.)": Look("#D27224", "P"),
    "LUCB (sampling both arms)": Look("#A34800", "h", "--"),
    "UGapE": Look("#A34800", "X", "-."),
    "LinGame": Look("#DB7295", "*"),
}
