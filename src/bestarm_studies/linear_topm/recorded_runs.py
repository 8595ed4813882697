"""Pulls and errors of the authors' own runs, beside which those of this study stand."""

from typing import Any

# mean and standard deviation of the pulls, and errors, of the authors' n = 500 runs, as their code stores them;
# those of audit_lucb are not in their figure
_RUNS = {
    "fig1a": {
        "m-LinGapE (greedy)": (2942, 820, 0),
        "m-LinGapE (optimized)": (3014, 847, 0),
        "LinGIFA (largest var.)": (4087, 1087, 0),
        "LinGIFA (τ^LUCB, largest var.)": (4235, 1073, 0),
        "LinGIFA (greedy)": (3020, 830, 0),
        "LinGIFA (τ^LUCB, greedy)": (2948, 797, 0),
        "LinGIFA (individual indices)": (8916, 1561, 0),
        "LUCB (largest var.)": (10444, 2506, 0),
        "UGapE": (14003, 1894, 0),
    },
    "fig1b": {"m-LinGapE (greedy)": (3263, 2119, 22), "LinGIFA (greedy)": (3848, 1357, 0), "LinGame": (7138, 2460, 0)},
    "fig1c": {
        "m-LinGapE (greedy)": (7582, 208, 0),
        "m-LinGapE (optimized)": (7587, 206, 0),
        "LinGIFA (largest var.)": (7617, 208, 0),
        "LinGIFA (greedy)": (7624, 210, 0),
        "LUCB (sampling both arms)": (14817, 272, 0),
        "LUCB (largest var.)": (15006, 305, 0),
    },
    "fig2a": {
        "m-LinGapE (greedy)": (198, 61, 0),
        "m-LinGapE (optimized)": (210, 56, 0),
        "LinGIFA (largest var.)": (258, 73, 0),
        "LinGIFA (τ^LUCB, largest var.)": (246, 70, 0),
        "LinGIFA (greedy)": (213, 63, 0),
        "LinGIFA (τ^LUCB, greedy)": (205, 59, 0),
        "LinGIFA (individual indices)": (535, 99, 0),
        "LUCB (largest var.)": (737, 140, 0),
        "UGapE": (762, 135, 0),
    },
    "fig3a": {"LinGIFA (largest var.)": (1100, 773, 3), "m-LinGapE (optimized)": (1018, 545, 1)},
    "fig3b": {"LinGIFA (largest var.)": (14141, 8085, 3), "m-LinGapE (optimized)": (11095, 6742, 7)},
    "audit_lucb": {"LUCB (sampling both arms)": (245384, 200424, 10), "LUCB (largest var.)": (235471, 185874, 9)},
}
RECORDED: dict[str, dict[str, Any]] = {name: {"n": 500, **runs} for name, runs in _RUNS.items()}
