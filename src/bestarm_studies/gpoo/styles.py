"""Looks of searches of trees over a continuous space."""

from bestarm_lab.figures.styles import DOTS, DOTS_AND_DASHES, Style

# near Okabe and Ito's hues, with a contrast of 3 on white; how far styles differ: tests/lab/figures/test_colours.py
STYLES = {
    "GPOO (S = 1)": Style("#0072B2", "s"),
    "GPOO (S = 4)": Style("#004C78", "p", "-."),
    "GPOO (S = 10)": Style("#4B97E2", "o", "--"),
    "StoOO": Style("#995826", "^"),
    "AVE-StoOO": Style("#C17C00", "v", "--"),
    "GPTree": Style("#4F8770", "D", "-."),
    "GP-UCB on 64 cells": Style("#D374A9", "P", "-."),
    "Uniform search with the GP": Style("#555555", "X", DOTS),
    "Random search": Style("#A39267", "h", DOTS_AND_DASHES),
}
