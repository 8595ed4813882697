"""Looks of searches of trees over a continuous space."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Near Okabe and Ito's hues, with a contrast of 3 on white. Algorithms of one panel differ by 15 in CIE76, however a
# reader sees colours, and by 15 in CIEDE2000 or else in both marker and line, which grey print shows.
LOOKS = {
    "GPOO (S = 1)": Look("#0072B2", "s"),
    "GPOO (S = 4)": Look("#004C78", "p", "-."),
    "GPOO (S = 10)": Look("#4B97E2", "o", "--"),
    "StoOO": Look("#995826", "^"),
    "AVE-StoOO": Look("#C17C00", "v", "--"),
    "GPTree": Look("#4F8770", "D", "-."),
    "GP-UCB on 64 cells": Look("#D374A9", "P", "-."),
    "Uniform search with the GP": Look("#555555", "X", DOTS),
    "Random search": Look("#A39267", "h", DOTS_AND_DASHES),
}
