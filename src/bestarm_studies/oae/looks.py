"""Looks of batch searches with neural networks."""

from __future__ import annotations

from typing import Any

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Near Okabe and Ito's hues, with a contrast of 3 on white. Algorithms of one panel differ by 15 in CIE76, however a
# reader sees colours, and by 15 in CIEDE2000 or else in both marker and line, which grey print shows.
LOOKS = {
    "RandomBatch": Look("0.55", "x"),
    "RandomBatch, exact law": Look("0.35", "", DOTS),
    "Greedy": Look("#000000", "o"),
    "Ensemble": Look("#2B539B", "s"),
    "EnsembleNoiseY": Look("#310A4C", "X"),
    "EnsembleNoiseY 0.1": Look("#AB63A3", "h", DOTS_AND_DASHES),
    "Ensemble-SeqB": Look("#4A90D9", "P", DOTS),
    "Ensemble-SeqB-NoiseY": Look("#C15E58", "<", DOTS_AND_DASHES),
    "DetD 0": Look("#224A2E", "*", DOTS_AND_DASHES),
    "linear": Look("0.45", "x", "--"),
    "NN 10-5": Look("#C17C00", "o", "-."),
    "NN 100-10": Look("#0072B2", "s"),
    "NN 300-100": Look("#761E55", "^"),
    "Vanilla": Look("#AB9141", "o", "-."),
    "Seq": Look("#7F9B73", "s", "--"),
    "DvD": Look("#1B733E", "^", "-."),
    "LogDet": Look("#0072B2", "P"),
    "Explore then commit": Look("#D55E00", "D"),
    "Guess with a trace": Look("#4A90D9", "s", DOTS),
    "Mixing, norm known": Look("#882255", "^"),
    # genes by a Bayesian network, and controls
    "OAE": Look("#D55E00", "D"),
    "OAE absolute": Look("#6B3200", "h", "--"),
    "TopUncertain": Look("#0072B2", "^"),
    "SoftUncertain": Look("#4888FA", "v", "--"),
    "Largest norms": Look("#000000", "s", "-."),
    "Ridge": Look("#415C38", "X", DOTS_AND_DASHES),
    "Ridge absolute": Look("#009E73", "P"),
    "Random, exact law": Look("0.35", "", DOTS),
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
        LOOKS[f"{_name} {_strength}"] = Look(_shade, _marker, _line)
