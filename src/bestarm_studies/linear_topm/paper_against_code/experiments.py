"""Experiments that compare the paper's text with the authors' code: each difference alone and all together."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bestarm.policies.linear.lingame import LinGame
from bestarm_lab.experiments.experiment import Experiment, with_settings
from bestarm_lab.experiments.series import Series, name_of_change
from bestarm_studies.linear_topm import settings as topm

LAMBDA = topm.SIGMA / 20
RHO = 0.000625  # λ²
DATA_SIGMA = 0.055  # noise scale of the drugs' recorded rewards

# Names of algorithms, as in the figures of the paper
LINGAPE, LARGEST, LINGIFA = "m-LinGapE (greedy)", "m-LinGapE (largest var.)", "LinGIFA (largest var.)"
LINGIFA_GREEDY, LINGIFA_LUCB, LUCB = "LinGIFA (greedy)", "LinGIFA (τ^LUCB, greedy)", "LUCB (largest var.)"

# Single changes
Changes = dict[str, dict[str, Any]]
STALE: Changes = {"stale pair": {"stale_pair": True}}
LATE: Changes = {"stop one pull late": {"stale_pair": True}}
AHEAD: Changes = {"index time + 1": {"index_time_ahead": True}}
UNIT_RHO: Changes = {"ρ = 1 in V": {"regulariser": 1.0, "threshold_regulariser": RHO}}
# λ in V, λ² in the logarithm of Eq. 2 and √λ in its bias; the code's bias is S √ρ/σ, so S carries √λ/λ here
PRINTED_LAMBDA: Changes = {
    "λ as printed": {"regulariser": LAMBDA, "threshold_regulariser": RHO, "norm_bound": (1.0 / LAMBDA) ** 0.5}
}
NOT_INITIAL: Changes = {"no initial pulls": {"initialise": False}}
INITIAL: Changes = {"initial pulls": {"initialise": True}}
INDIVIDUAL: Changes = {"individual widths": {"index": "individual"}}
PAIRED: Changes = {"paired widths": {"index": "classical_paired"}}
NO_FEATURES: Changes = {"paired widths without features": {"index": "classical_paired"}}
NO_FEATURES_INITIAL: Changes = {"paired widths without features": {"index": "classical_paired", "initialise": True}}
HEURISTIC_RHO: Changes = {"ρ = 1 in V": {"regulariser": 1.0}, "λ as printed": {"regulariser": LAMBDA}}
NOISE_OF_DATA: Changes = {f"σ = {DATA_SIGMA}, as in the data": {"sigma": DATA_SIGMA}}


def _changed(algorithms: Mapping[str, Any], changes: dict[str, Changes], coded: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return every algorithm that is named with its changes, and some also as the authors coded them."""
    found: dict[str, Any] = {}
    for name, mine in changes.items():
        found |= topm.with_changes(name, algorithms[name], mine, coded=name in coded)
    return found


def _audit(title: str, problem: partial[Any], series: Mapping[str, Any], **settings: Any) -> Experiment:
    return topm.experiment(title, problem, series, **({"profiles": topm.scales(2, 500)} | settings))


_LINGAPE_CHANGES = STALE | UNIT_RHO | PRINTED_LAMBDA | NOT_INITIAL
_LINGIFA_CHANGES = LATE | AHEAD | UNIT_RHO | PRINTED_LAMBDA | INITIAL
_TITLE_A, _TITLE_B = "Figure 1(a): K = 4, m = 2, ω = π/6", "Figure 1(b): K = 3, m = 1, ω = 0.1"
_TAKEN_APART = partial(topm.named_algorithms, LINGAPE, LARGEST, LINGIFA, LINGIFA_GREEDY, LINGIFA_LUCB, LUCB, "UGapE")
_TWO, _ONE, _DRUG = _TAKEN_APART(n_best=2), _TAKEN_APART(n_best=1), _TAKEN_APART(n_best=5, **topm.HEURISTIC)
_SERIES_A = _changed(
    _TWO,
    {
        LINGAPE: _LINGAPE_CHANGES | INDIVIDUAL,
        LARGEST: INDIVIDUAL | NO_FEATURES,
        LINGIFA: INDIVIDUAL | NO_FEATURES_INITIAL,
        LINGIFA_GREEDY: _LINGIFA_CHANGES,
        LINGIFA_LUCB: STALE,
        LUCB: STALE | PAIRED,
        "UGapE": LATE,
    },
    coded=(LINGAPE, LINGIFA_GREEDY, LINGIFA_LUCB),
)
_SERIES_B = _changed(
    _ONE, {LINGAPE: _LINGAPE_CHANGES, LINGIFA_GREEDY: _LINGIFA_CHANGES}, coded=(LINGAPE, LINGIFA_GREEDY)
)
_SERIES_C = _changed(
    _DRUG,
    {
        LINGAPE: STALE | HEURISTIC_RHO | NOT_INITIAL | INDIVIDUAL | NOISE_OF_DATA,
        LARGEST: {},
        LINGIFA: INDIVIDUAL | NO_FEATURES_INITIAL | INITIAL | NOISE_OF_DATA,
        LUCB: STALE | PAIRED | NOISE_OF_DATA,
    },
    coded=(LINGAPE, LINGIFA),
)
_SERIES_INITIAL = _changed(_TWO, {LINGAPE: NOT_INITIAL, LINGIFA: INITIAL, LINGIFA_GREEDY: INITIAL})

# What the gain over LUCB is made of: four steps from LUCB to m-LinGapE, each with three thresholds
_THRESHOLDS = {"threshold of LUCB1": "lucb1", "Eq. 2": "eq2", "heuristic": "heuristic"}
_STEPS = {
    "LUCB": (LUCB, _TWO[LUCB]),
    "LUCB with paired widths": (LUCB, replace(_TWO[LUCB], index="classical_paired")),
    LARGEST: (LARGEST, _TWO[LARGEST]),
    LINGAPE: (LINGAPE, _TWO[LINGAPE]),
}
_SERIES_GAIN = {
    f"{step}, {words}": Series(replace(policy, threshold=threshold), label=label)  # type: ignore[arg-type]
    for step, (label, policy) in _STEPS.items()
    for words, threshold in _THRESHOLDS.items()
}

# Against LinGame, each with its own threshold and with that of the others
_LINGAME = LinGame(delta=topm.PAPER["delta"], sigma=topm.SIGMA, norm_bound=topm.PAPER["norm_bound"])
_LINGAME_CHANGES: Changes = {
    "D-tracking": {"tracking": "D"},
    "response to the counts": {"best_response": "counts"},
    "norm not squared": {"squared_norm": False},
    "ρ = λ² in V": {"regulariser": RHO},
    "without 1/σ²": {"noise_in_statistic": False},
    "without 1/σ², D-tracking": {"noise_in_statistic": False, "tracking": "D"},
    "Eq. 2": {"threshold": "eq2"},
    "Eq. 2, D-tracking": {"threshold": "eq2", "tracking": "D"},
}
_SERIES_LINGAME = {
    f"{name}, {words}": Series(replace(_ONE[name], threshold=threshold), label=name)  # type: ignore[arg-type]
    for name in (LINGAPE, LINGIFA_GREEDY)
    for words, threshold in {"heuristic": "heuristic", "Eq. 2": "eq2"}.items()
} | topm.with_changes("LinGame", _LINGAME, _LINGAME_CHANGES)
_LARGE = topm.scales(2, 100, 500)  # up to 10^5.5 pulls a run at π/12, up to 10^6.3 of LUCB on the hard instance
_LARGE["smoke"] = replace(_LARGE["smoke"], max_pulls=4000)
_both = partial(_audit, conventions=topm.BOTH)
_HEURISTIC_CLASSIC = topm.classic_series(**topm.HEURISTIC)
EXPERIMENTS = {
    "audit_fig1a": _audit(_TITLE_A, topm.PI_6, _SERIES_A),
    "audit_fig1b": _audit(_TITLE_B, topm.HARD, _SERIES_B),
    "audit_fig1c": _audit(
        "Figure 1(c): drugs, K = 10, m = 5",
        topm.DRUGS,
        _SERIES_C,
        stand_in=topm.STAND_IN_DRUGS,
        profiles=topm.scales(4, 500),
    ),
    "audit_identity": _audit(
        "Figure 1(c): drugs, each with a feature of its own",
        with_settings(topm.DRUGS, {"identity_features": True}),
        {name_of_change(name, "identity features"): _DRUG[name] for name in (LINGAPE, LINGIFA)} | {LUCB: _DRUG[LUCB]},
        stand_in=with_settings(topm.STAND_IN_DRUGS, {"identity_features": True}),
        profiles=topm.scales(4, 500),
    ),
    "audit_gain": _audit(_TITLE_A, topm.PI_6, _SERIES_GAIN),
    "audit_lingame": _audit(_TITLE_B, topm.HARD, _SERIES_LINGAME),
    "audit_initial": _both(_TITLE_A, topm.PI_6, _SERIES_INITIAL),
    "audit_heuristic_a": _both("Figure 1(a) with the heuristic threshold", topm.PI_6, _HEURISTIC_CLASSIC),
    "audit_heuristic_b": _both(
        "Figure 1(b) with the heuristic threshold",
        topm.HARD,
        {name: replace(_ONE[name], threshold="heuristic") for name in (LINGAPE, LINGIFA_GREEDY)},
    ),
    "audit_heuristic_2a": _both("Figure 2(a) with the heuristic threshold", topm.PI_3, _HEURISTIC_CLASSIC),
    "audit_fig2a": _audit(
        "Figure 2(a): K = 4, m = 2, ω = π/3", topm.PI_3, {name: _TWO[name] for name in (LINGAPE, LARGEST)}
    ),
    "audit_omega4": _audit("classic instance, K = 4, m = 2, ω = π/4", topm.PI_4, topm.classic_series()),
    "audit_omega12": _audit(
        "classic instance, K = 4, m = 2, ω = π/12", topm.PI_12, topm.classic_series(), profiles=_LARGE
    ),
    "audit_lucb": _audit(
        _TITLE_B,
        topm.HARD,
        topm.named_algorithms("LUCB (sampling both arms)", LUCB, n_best=1),
        conventions=("as_coded",),
        profiles=_LARGE,
    ),
}


# Ratios in the figures of the audit: experiment → group → line → (numerator, denominator)


def _gain(words: str) -> dict[str, tuple[str, str]]:
    """Return the steps from LUCB to m-LinGapE with one threshold for all."""
    steps = [f"{step}, {words}" for step in _STEPS]
    lines = ("paired widths", "× features, largest variance", "× greedy rule")
    found = {line: (after, before) for line, before, after in zip(lines, steps, steps[1:], strict=False)}
    return found | {"= all together": (steps[-1], steps[0])}


_TO_LUCB1 = "LUCB, threshold of LUCB1"
_AS_IN_FIGURE = {f"× {line.removeprefix('× ')}": pair for line, pair in _gain("Eq. 2").items() if line[0] != "="}
_AGAINST_LINGAME = {  # its threshold : LinGame's
    "Eq. 2 : LinGame as coded": ("Eq. 2", "LinGame | as coded"),
    "Eq. 2 : heuristic, without 1/σ²": ("Eq. 2", "LinGame | without 1/σ²"),
    "Eq. 2 : heuristic, without 1/σ², D-tracking": ("Eq. 2", "LinGame | without 1/σ², D-tracking"),
    "Eq. 2 : heuristic": ("Eq. 2", "LinGame"),
    "Eq. 2 : heuristic, D-tracking": ("Eq. 2", "LinGame | D-tracking"),
    "heuristic : heuristic": ("heuristic", "LinGame"),
    "heuristic : heuristic, D-tracking": ("heuristic", "LinGame | D-tracking"),
    "Eq. 2 : Eq. 2": ("Eq. 2", "LinGame | Eq. 2"),
    "Eq. 2 : Eq. 2, D-tracking": ("Eq. 2", "LinGame | Eq. 2, D-tracking"),
}
COMPARISONS: dict[str, dict[str, dict[str, tuple[str, str]]]] = {
    "audit_fig1c": {  # with the rows of audit_identity
        "LUCB to m-LinGapE (greedy), as in Figure 1(c)": {
            "paired widths": (name_of_change(LUCB, "paired widths"), LUCB),
            "× features, largest variance": (LARGEST, name_of_change(LUCB, "paired widths")),
            "× greedy rule": (LINGAPE, LARGEST),
            "= all together": (LINGAPE, LUCB),
        },
        "The features alone": {
            "individual widths: with features / without": (name_of_change(LINGIFA, "individual widths"), LUCB),
            "m-LinGapE: identity features / features": (name_of_change(LINGAPE, "identity features"), LINGAPE),
        },
    },
    "audit_gain": {
        "LUCB to m-LinGapE (greedy), as in Figure 1(a)": {
            "Eq. 2 for the threshold of LUCB1": ("LUCB, Eq. 2", _TO_LUCB1),
            **_AS_IN_FIGURE,
            "= all together": (f"{LINGAPE}, Eq. 2", _TO_LUCB1),
        },
        "with the threshold of LUCB1 for all": _gain("threshold of LUCB1"),
        "with the heuristic threshold for all": _gain("heuristic"),
    },
    "audit_lingame": {
        name: {line: (f"{name}, {ours}", theirs) for line, (ours, theirs) in _AGAINST_LINGAME.items()}
        for name in (LINGAPE, LINGIFA_GREEDY)
    },
}
