"""Paper's text against authors' code, one difference at a time: the series "A | B" is A with the one change B."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from bestarm.experiments.experiment import Series
from bestarm.experiments.scale import PerArm, Scale
from bestarm.policies.bayes_gap import BayesGap
from bestarm.policies.budgeted import lingape, lingape_greedy
from bestarm.policies.lin_ucb import LinUcb
from bestarm.policies.peace import Peace
from bestarm.policies.peace_width import PeaceWidth
from bestarm_studies.gse.algorithms import (
    FWG,
    GREEDY,
    OD_LINBAI,
    SIGMA,
    TABLE_SIGMA,
    UNIFORM,
    WYNN,
    at_most,
    lin_ucb,
    search,
    unprojected,
)
from bestarm_studies.gse.instances import adaptive_instance, corner_instance, sphere_instance, static_instance
from bestarm_studies.gse.tabular import automobile_instance, stand_in_automobile_instance
from bestarm_studies.gse.tabular import correct as correct_row

Settings = Mapping[str, Any]

_COLUMNS: Settings = {"projection": "published"}
_REMAINDER: Settings = {"spends_remainder": True}
_DOWN: Settings = {"rounds_down": True}
_IN_ORDER: Settings = {"ties_in_order": True}
_BY_RANK: Settings = {"ties_by_rank": True}
_BLANK: Settings = {"blank_keeps_order": True}
_ZERO_ARMS: Settings = {"zero_arms_keep_weight": True}
_UP: Settings = {"rounding": "ceiling"}
_LINE_SEARCH: Settings = {"allocation": "published-grid"}
_INTERCEPT: Settings = {"allocation": "published-greedy"}
_SCHEDULE: Settings = {"published_schedule": True}
_LEAKED: Settings = {"schedule_dimension": 4}
_ELLIPSOID: Settings = {"allocation": "published-ellipsoid"}
_EXACT: Settings = {"exact": True}

_ELIMINATION: dict[str, Settings] = {
    "three columns": _COLUMNS,
    "remainder to the last stages": _REMAINDER,
    "ties by the stage before": _BY_RANK,
    "three columns, ties by the stage before": {**_COLUMNS, **_BY_RANK},
}
_ALL: Settings = {**_COLUMNS, **_REMAINDER, **_DOWN, **_BY_RANK, **_BLANK}
_ALL_FWG: Settings = {**_ALL, **_LINE_SEARCH, **_UP, **_ZERO_ARMS}


def changes(name: str, policy: partial[Any], settings: Mapping[str, Settings]) -> dict[str, Any]:
    """Return a policy and each of its changes alone."""
    return {name: policy} | {f"{name} | {change}": partial(policy, **to) for change, to in settings.items()}


def _in_four_dimensions(name: str, policy: partial[Any]) -> dict[str, Any]:
    return {f"{name} | dimension 4": Series(policy, problem={"n_features": 4})}


def _eliminations(in_four: bool, leaked: bool = False) -> dict[str, Any]:
    """Return GSE and OD-LinBAI with their changes.

    Four features are among them if instances have so few as coded; all changes of OD-LinBAI include the schedule of
    dimension 4 if it is ``leaked`` into the experiment.
    """
    lin = changes("GSE-Lin", UNIFORM, {**_ELIMINATION, "all": _ALL})
    fwg = changes(
        "GSE-Lin-FWG",
        FWG,
        {
            "rounded up": _UP,
            "published line search": _LINE_SEARCH,
            **_ELIMINATION,
            "three columns, published line search": {**_COLUMNS, **_LINE_SEARCH},
            "three columns, line search, zero arms keep weight": {**_COLUMNS, **_LINE_SEARCH, **_ZERO_ARMS},
            "all": _ALL_FWG,
        },
    )
    greedy = changes(
        "GSE-Lin-Greedy",
        GREEDY,
        {
            "intercept in the design": _INTERCEPT,
            "three columns, ties by the stage before": {**_COLUMNS, **_BY_RANK},
            "blank stages keep the order": _BLANK,
            "three columns, intercept": {**_COLUMNS, **_INTERCEPT},
            "three columns, intercept, blank stages": {**_COLUMNS, **_INTERCEPT, **_BLANK},
            "all": {**_ALL, **_INTERCEPT},
        },
    )
    wynn = changes(
        "GSE-Lin-Wynn",
        WYNN,
        {"Fedorov's step": {"allocation": "fedorov"}, "multinomial": {"rounding": "multinomial"}},
    )
    od = changes(
        "OD-LinBAI",
        OD_LINBAI,
        {
            "three columns": _COLUMNS,
            "three columns, ties by the stage before": {**_COLUMNS, **_BY_RANK},
            "published schedule": _SCHEDULE,
            "schedule of dimension 4": _LEAKED,
            "exact budgets": _EXACT,
            "all": {**_COLUMNS, **_SCHEDULE, **_BY_RANK, **_BLANK, **_ELLIPSOID, **(_LEAKED if leaked else {})},
        },
    )
    if in_four:
        lin |= _in_four_dimensions("GSE-Lin", UNIFORM)
        fwg |= _in_four_dimensions("GSE-Lin-FWG", FWG)
        od |= _in_four_dimensions("OD-LinBAI", OD_LINBAI)
    return lin | fwg | greedy | wynn | od


def _baselines() -> dict[str, Any]:
    ucb = changes("LinUCB", lin_ucb(6.32), {"no features shared": {"disjoint": True}, "first of equals": _IN_ORDER})
    gaps = changes(
        "LinGapE-Greedy",
        partial(lingape_greedy, sigma=SIGMA, delta=0.9),
        {
            "published radius": {
                "radius": "explicit",
                "published_radius": True,
                "regulariser": 1e-8,
                "threshold_regulariser": 1e-8,
                "norm_bound": 2.0,
            },
            "no stop of its own": {"stops_early": False},
        },
    )
    slip = changes(
        "LinGapE", partial(lingape, sigma=SIGMA, delta=0.4), {"weights of at least 0": {"nonnegative_weights": True}}
    )
    bayes = changes(
        "BayesGap-Lin",
        partial(BayesGap, sigma=SIGMA, kernel="linear"),
        {
            "every arm once first": {"initialise": True},
            "H without its power": {"inverse_square": False},
            "β without root": {"root": False},
            "variances for deviations": {"variance_as_width": True},
            "prior scale 50": {"prior_scale": 50.0},
            "first of equals": _IN_ORDER,
        },
    )
    return {
        **ucb,
        "LinUCB | published α": lin_ucb(0.513),
        "LinUCB | α of the paper": partial(LinUcb),
        **gaps,
        **at_most(500, slip),
        **bayes,
        "Peace": partial(Peace),
        "Peace | solved to the optimum": Series(partial(Peace, solver="optimised"), replications=500),
        "Peace | rounds by the width": Series(partial(PeaceWidth), within={"n_arms": 16}, replications=200),
        "Peace | inflated average": partial(Peace, inflated_average=True),
    }


_ON_TABLES: dict[str, Any] = {
    **unprojected({"GSE-Lin-FWG": FWG}),
    "LinUCB": lin_ucb(2.53),
    "BayesGap-Lin": partial(BayesGap, sigma=TABLE_SIGMA, kernel="linear"),
}
_SMALL: dict[str, Any] = {"vary": {"n_arms": [8, 16, 32]}, "budgets": PerArm((20,)), "paper": Scale(4000)}

AUDIT = {
    "audit_adaptive": search(
        "Audit: adaptive instance",
        partial(adaptive_instance),
        _eliminations(in_four=False, leaked=True),
        laptop=Scale(2000),
        **_SMALL,
    ),
    "audit_static": search(
        "Audit: static instance, gap 1",
        partial(static_instance, gap=1.0),
        _eliminations(in_four=False),
        laptop=Scale(2000),
        **_SMALL,
    ),
    "audit_sphere": search(
        "Audit: random instances",
        partial(sphere_instance),
        _eliminations(in_four=True),
        laptop=Scale(2000),
        **_SMALL,
    ),
    "audit_small_budget": search(
        "Audit: Figure 6 at B = 100",
        partial(sphere_instance, variance=1.0),
        {
            **changes("GSE-Lin-FWG", FWG, {"rounded up": _UP}),
            **_in_four_dimensions("GSE-Lin-FWG", FWG),
            **changes("OD-LinBAI", OD_LINBAI, {"exact budgets": _EXACT, "published schedule": _SCHEDULE}),
            **_in_four_dimensions("OD-LinBAI", OD_LINBAI),
        },
        vary={"n_arms": [8, 16, 32, 64]},
        budgets=[100],
        smoke=Scale(2, vary={"n_arms": [8]}),
        laptop=Scale(2000),
        paper=Scale(4000),
    ),
    "audit_corner": search(
        "Audit: Figure 7",
        partial(corner_instance),
        changes(
            "GSE-Lin-FWG",
            FWG,
            {"rounded up": _UP, "arms rounded down": _DOWN, "ties by the stage before": _BY_RANK, "all": _ALL_FWG},
        ),
        vary={"n_arms": [3, 6, 12, 24]},
        budgets=[25],
        smoke=Scale(2, vary={"n_arms": [6]}),
        laptop=Scale(2000),
        paper=Scale(4000),
    ),
    "audit_cars": search(
        "Audit: cars, which rows count as the best",
        partial(automobile_instance),
        {
            name: series
            for algorithm, policy in _ON_TABLES.items()
            for name, series in (
                (algorithm, Series(policy)),
                (f"{algorithm} | duplicates of the best are errors", Series(policy, problem={"only_first_best": True})),
            )
        },
        stand_in=partial(stand_in_automobile_instance),
        accuracy=correct_row,
        vary={"n_arms": [8, 16]},
        budgets=PerArm((20,)),
        laptop=Scale(2000),
        paper=Scale(4000),
    ),
    "audit_baselines": search(
        "Audit: baselines, random instances",
        partial(sphere_instance),
        _baselines(),
        laptop=Scale(1000),
        **_SMALL,
    ),
    "audit_baselines_adaptive": search(
        "Audit: baselines, adaptive instance",
        partial(adaptive_instance),
        _baselines(),
        laptop=Scale(1000),
        **_SMALL,
    ),
}
