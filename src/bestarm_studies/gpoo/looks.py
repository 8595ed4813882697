"""Looks of searches of trees over a continuous space."""

from __future__ import annotations

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Okabe and Ito's hues, darkened until a line has a contrast of 3 on white. Members of a family share a hue; in grey
# the marker and the line style tell them apart.
LOOKS = {
    "GPOO (S = 1)": Look("#0072B2", "s"),
    "GPOO (S = 4)": Look("#004C78", "p", "-."),
    "GPOO (S = 10)": Look("#4A90D9", "o", "--"),
    "StoOO": Look("#D55E00", "^"),
    "AVE-StoOO": Look("#C17C00", "v", "--"),
    "GPTree": Look("#009E73", "D", "-."),
    "GP-UCB on 64 cells": Look("#C0609A", "P", "-."),
    "Uniform search with the GP": Look("0.35", "X", DOTS),
    "Random search": Look("0.55", "h", DOTS_AND_DASHES),
}
