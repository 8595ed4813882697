"""Looks of the algorithms for Top-m identification."""

from bestarm_lab.figures.styles import DOTS, DOTS_AND_DASHES, Style

# near Okabe and Ito's hues, with a contrast of 3 on white; how far styles differ: tests/lab/figures/test_colours.py
STYLES = {
    "m-LinGapE (greedy)": Style("#0072B2", "o"),
    "m-LinGapE (greedy, no initialisation)": Style("#4B97E2", "8", DOTS),
    "m-LinGapE (optimized)": Style("#4B97E2", "s", "--"),
    "m-LinGapE (largest var.)": Style("#004C78", "p", "-."),
    "LinGIFA (largest var.)": Style("#53A09E", "^"),
    "LinGIFA (τ^LUCB, largest var.)": Style("#4F8770", "<", "--"),
    "LinGIFA (greedy)": Style("#145F54", "v", "-."),
    "LinGIFA (τ^LUCB, greedy)": Style("#606D43", ">", DOTS),
    "LinGIFA (individual indices)": Style("#989568", "D", DOTS_AND_DASHES),
    "LUCB (largest var.)": Style("#D27224", "P"),
    "LUCB (sampling both arms)": Style("#A34800", "h", "--"),
    "UGapE": Style("#A34800", "X", "-."),
    "LinGame": Style("#DB7295", "*"),
}
