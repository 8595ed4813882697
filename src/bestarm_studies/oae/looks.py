"""Looks of batch searches with neural networks."""

from __future__ import annotations

from typing import Any

from bestarm_lab.figures.looks import DOTS, DOTS_AND_DASHES, Look

# Okabe and Ito's hues, darkened until a line has a contrast of 3 on white. Members of a family share a hue; in grey
# the marker and the line style tell them apart.
LOOKS = {
    "RandomBatch": Look("0.55", "x"),
    "RandomBatch, exact law": Look("0.35", "", DOTS),
    "Greedy": Look("#000000", "o"),
    "Ensemble": Look("#0072B2", "s"),
    "EnsembleNoiseY": Look("#882255", "X"),
    "EnsembleNoiseY 0.1": Look("#B8608A", "h", DOTS_AND_DASHES),
    "Ensemble-SeqB": Look("#4A90D9", "P", "--"),
    "Ensemble-SeqB-NoiseY": Look("#C0609A", "<", "--"),
    "DetD 0": Look("#000000", "*", DOTS_AND_DASHES),
    "linear": Look("0.45", "x", "--"),
    "NN 10-5": Look("#C17C00", "o", "-."),
    "NN 100-10": Look("#0072B2", "s"),
    "NN 300-100": Look("#882255", "^"),
    "Vanilla": Look("#C17C00", "o", "-."),
    "Seq": Look("#009E73", "s", "--"),
    "DvD": Look("#5B9A48", "^", "-."),
    "LogDet": Look("#0072B2", "P"),
    "Explore then commit": Look("#D55E00", "D"),
    "Guess with a trace": Look("#4A90D9", "s", DOTS),
    "Mixing, norm known": Look("#882255", "^"),
    # genes by a Bayesian network, and controls
    "OAE": Look("#D55E00", "D"),
    "OAE absolute": Look("#A34800", "h", "--"),
    "TopUncertain": Look("#0072B2", "^"),
    "SoftUncertain": Look("#4A90D9", "v", "--"),
    "Largest norms": Look("#000000", "s", "-."),
    "Ridge": Look("#00664A", "X", DOTS_AND_DASHES),
    "Ridge absolute": Look("#009E73", "P"),
    "Random, exact law": Look("0.35", "", DOTS),
}
_STRENGTHS = {"0.001": "v", "0.01": "^", "0.1": "D"}
_FAMILIES: dict[str, tuple[Any, tuple[str, str, str]]] = {  # algorithms with a strength of optimism or of diversity
    "MeanOpt": ("-", ("#C17C00", "#9A5B00", "#6B3F00")),
    "SeqB": ("--", ("#009E73", "#007A59", "#00563F")),
    "MaxOpt": ("-.", ("#E0703A", "#B84E00", "#7A3500")),
    "HingePNorm": (DOTS, ("#8F84D0", "#6A5CB8", "#463B8A")),
    "DetD": (DOTS_AND_DASHES, ("#5B9A48", "#3C7A2B", "#1F4D14")),
}
for _name, (_line, _shades) in _FAMILIES.items():
    for (_strength, _marker), _shade in zip(_STRENGTHS.items(), _shades, strict=True):
        LOOKS[f"{_name} {_strength}"] = Look(_shade, _marker, _line)
