"""How algorithms look, the same in every figure: one colour, one marker and one line style for each."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt


class Look(NamedTuple):
    """Colour, marker and line style."""

    colour: str
    marker: str
    line: Any = "-"


CONVENTIONS = {"as_written": "as written (paper's text)", "as_coded": "as coded (authors' code)"}
DOTS, DOTS_AND_DASHES = (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2, 1, 1.2))

# Okabe and Ito's hues, darkened until a line has a contrast of 3 on white. Members of a family share a hue; in grey
# the marker and the line style tell them apart.
LOOKS = {
    # top-m identification
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
    # trees over a continuous space
    "GPOO (S = 1)": Look("#0072B2", "s"),
    "GPOO (S = 4)": Look("#004C78", "p", "-."),
    "GPOO (S = 10)": Look("#4A90D9", "o", "--"),
    "StoOO": Look("#D55E00", "^"),
    "AVE-StoOO": Look("#C17C00", "v", "--"),
    "GPTree": Look("#009E73", "D", "-."),
    "GP-UCB on 64 cells": Look("#C0609A", "P", "-."),
    "Uniform search with the GP": Look("0.35", "X", DOTS),
    "Random search": Look("0.55", "h", DOTS_AND_DASHES),
    # a fixed budget
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
    # batches and neural networks
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
    # batches by a Gaussian process
    "GP-BUCB": Look("#C17C00", "o", "--"),
    "B-EST": Look("#9A5B00", "s", DOTS),
    "UCB-DPP-MAX": Look("#0072B2", "^", "-."),
    "EST-DPP-MAX": Look("#4A90D9", "v", DOTS_AND_DASHES),
    "UCB-DPP-SAMPLE": Look("#00664A", "D"),
    "EST-DPP-SAMPLE": Look("#009E73", "P", "--"),
    "LP-UCB": Look("#D55E00", "X"),
    "UCB-UNIFORM": Look("#882255", "<", "-."),
    "EST-UNIFORM": Look("#C0609A", ">", DOTS),
    "Thompson": Look("#463B8A", "*", "--"),
    "random": Look("0.55", "x", DOTS),
    "sequential UCB": Look("#000000", "h"),
    "sequential EST": Look("0.35", "p", "--"),
    "qLogNEI": Look("#7F7F00", "8", "-."),
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
OTHER = Look("0.45", "d")
GREYS = (Look("0.0", "o"), Look("0.3", "s", "--"), Look("0.45", "^", "-."), Look("0.55", "D", DOTS))


def look(label: str) -> Look:
    """Return how an algorithm looks, whatever follows in its label after a bar."""
    return LOOKS.get(label.split(" | ", maxsplit=1)[0], OTHER)


def display_label(label: str, width: int = 60) -> str:
    """Return an algorithm's label for a figure: wrapped, with the stopping rule as a formula."""
    text = textwrap.fill(label, width).replace("τ^LUCB", r"$\tau^{LUCB}$")
    return text.replace("τ^UGapE", r"$\tau^{UGapE}$").replace("10^4", "$10^4$")


def use_style() -> None:
    """Apply the project's Matplotlib style, found by absolute path."""
    plt.style.use(Path(__file__).with_name("bestarm.mplstyle"))
