"""Looks of batch searches with neural networks."""

from typing import Any

from bestarm_lab.figures.styles import DOTS, DOTS_AND_DASHES, Style

# near Okabe and Ito's hues, with a contrast of 3 on white; how far styles differ: tests/lab/figures/test_colours.py
STYLES = {
    "RandomBatch": Style("0.55", "x"),
    "RandomBatch, exact law": Style("0.35", "", DOTS),
    "Greedy": Style("#000000", "o"),
    "Ensemble": Style("#2B539B", "s"),
    "EnsembleNoiseY": Style("#310A4C", "X"),
    "EnsembleNoiseY 0.1": Style("#AB63A3", "h", DOTS_AND_DASHES),
    "Ensemble-SeqB": Style("#4A90D9", "P", DOTS),
    "Ensemble-SeqB-NoiseY": Style("#C15E58", "<", DOTS_AND_DASHES),
    "DetD 0": Style("#224A2E", "*", DOTS_AND_DASHES),
    "linear": Style("0.45", "x", "--"),
    "NN 10-5": Style("#C17C00", "o", "-."),
    "NN 100-10": Style("#0072B2", "s"),
    "NN 300-100": Style("#761E55", "^"),
    "Vanilla": Style("#AB9141", "o", "-."),
    "Seq": Style("#7F9B73", "s", "--"),
    "DvD": Style("#1B733E", "^", "-."),
    "LogDet": Style("#0072B2", "P"),
    "Explore then commit": Style("#D55E00", "D"),
    "Guess with a trace": Style("#4A90D9", "s", DOTS),
    "Mixing, norm known": Style("#882255", "^"),
    # genes by a Bayesian network, and controls
    "OAE": Style("#D55E00", "D"),
    "OAE absolute": Style("#6B3200", "h", "--"),
    "TopUncertain": Style("#0072B2", "^"),
    "SoftUncertain": Style("#4888FA", "v", "--"),
    "Largest norms": Style("#000000", "s", "-."),
    "Ridge": Style("#415C38", "X", DOTS_AND_DASHES),
    "Ridge absolute": Style("#009E73", "P"),
    "Random, exact law": Style("0.35", "", DOTS),
}
_STRENGTHS = {"0.001": "v", "0.01": "^", "0.1": "D"}
_FAMILIES: dict[str, tuple[Any, tuple[str, str, str]]] = {  # algorithms with a strength of optimism or of diversity
    "MeanOpt": ("-", ("#C68301", "#895900", "#3F2700")),
    "SeqB": ("--", ("#0A9EB9", "#0B6F83", "#023640")),
    "MaxOpt": ("-.", ("#F06538", "#B7340A", "#561600")),
    "HingePNorm": (DOTS, ("#9184E5", "#6057B2", "#192172")),
    "DetD": (DOTS_AND_DASHES, ("#139EBC", "#096C82", "#00313D")),
}
for _name, (_line, _shades) in _FAMILIES.items():
    for (_strength, _marker), _shade in zip(_STRENGTHS.items(), _shades, strict=True):
        STYLES[f"{_name} {_strength}"] = Style(_shade, _marker, _line)
