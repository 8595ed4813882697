"""Paper's text against authors' code, one difference at a time: the series "A | B" is A with the one change B."""

from functools import partial
from typing import Any

from bestarm.policies.linear.bayes_gap import BayesGap
from bestarm.policies.linear.budgeted import lingape, lingape_greedy
from bestarm.policies.linear.peace import Peace
from bestarm_lab.experiments.scale import PerArm, Scale
from bestarm_lab.experiments.series import Series, Settings, name_of_change, one_change
from bestarm_studies.gse import algorithms as gse
from bestarm_studies.gse.instances import adaptive_instance, corner_instance, sphere_instance, static_instance
from bestarm_studies.gse.tabular import automobile_instance, stand_in_automobile_instance
from bestarm_studies.gse.tabular import correct as correct_row

_COLUMNS: Settings = {"projection": "as_coded"}
_REMAINDER: Settings = {"spends_remainder": True}
_DOWN: Settings = {"rounds_down": True}
_IN_ORDER: Settings = {"ties_in_order": True}
_BY_RANK: Settings = {"ties_by_rank": True}
_BLANK: Settings = {"blank_keeps_order": True}
_ZERO_ARMS: Settings = {"zero_arms_keep_weight": True}
_UP: Settings = {"rounding": "ceiling"}
_LINE_SEARCH: Settings = {"allocation": "coded-grid"}
_INTERCEPT: Settings = {"allocation": "coded-greedy"}
_SCHEDULE: Settings = {"coded_schedule": True}
_LEAKED: Settings = {"schedule_dimension": 4}
_ELLIPSOID: Settings = {"allocation": "coded-ellipsoid"}
_EXACT: Settings = {"exact": True}
_ONE_BEST: dict[str, Settings] = {"duplicates of the best are errors": {"only_first_best": True}}  # of the problem
_FOUR: dict[str, Settings] = {"dimension 4": {"n_features": 4}}  # of the problem
_ELIMINATION: dict[str, Settings] = {
    "three columns": _COLUMNS,
    "remainder to the last stages": _REMAINDER,
    "ties by the stage before": _BY_RANK,
    "three columns, ties by the stage before": {**_COLUMNS, **_BY_RANK},
}
_ALL: Settings = {**_COLUMNS, **_REMAINDER, **_DOWN, **_BY_RANK, **_BLANK}
_ALL_FWG: Settings = {**_ALL, **_LINE_SEARCH, **_UP, **_ZERO_ARMS}


def _eliminations(in_four: bool, leaked: bool = False) -> dict[str, Any]:
    """Return GSE and OD-LinBAI with their changes.
    Four features are among them if instances have so few as coded; all changes of OD-LinBAI include the schedule of
    dimension 4 if it is ``leaked`` into the experiment."""
    four = _FOUR if in_four else {}
    lin = one_change("GSE-Lin", gse.UNIFORM, {**_ELIMINATION, "all": _ALL}, four)
    fwg = one_change(
        "GSE-Lin-FWG",
        gse.FWG,
        {
            "rounded up": _UP,
            "published line search": _LINE_SEARCH,
            **_ELIMINATION,
            "three columns, published line search": {**_COLUMNS, **_LINE_SEARCH},
            "three columns, line search, zero arms keep weight": {**_COLUMNS, **_LINE_SEARCH, **_ZERO_ARMS},
            "all": _ALL_FWG,
        },
        four,
    )
    greedy = one_change(
        "GSE-Lin-Greedy",
        gse.GREEDY,
        {
            "intercept in the design": _INTERCEPT,
            "three columns, ties by the stage before": {**_COLUMNS, **_BY_RANK},
            "blank stages keep the order": _BLANK,
            "three columns, intercept": {**_COLUMNS, **_INTERCEPT},
            "three columns, intercept, blank stages": {**_COLUMNS, **_INTERCEPT, **_BLANK},
            "all": {**_ALL, **_INTERCEPT},
        },
    )
    wynn = one_change(
        "GSE-Lin-Wynn",
        gse.WYNN,
        {"Fedorov's step": {"allocation": "fedorov"}, "multinomial": {"rounding": "multinomial"}},
    )
    od = one_change(
        "OD-LinBAI",
        gse.OD_LINBAI,
        {
            "three columns": _COLUMNS,
            "three columns, ties by the stage before": {**_COLUMNS, **_BY_RANK},
            "published schedule": _SCHEDULE,
            "schedule of dimension 4": _LEAKED,
            "exact budgets": _EXACT,
            "all": {**_COLUMNS, **_SCHEDULE, **_BY_RANK, **_BLANK, **_ELLIPSOID, **(_LEAKED if leaked else {})},
        },
        four,
    )
    return lin | fwg | greedy | wynn | od


def _baselines() -> dict[str, Any]:
    ucb = one_change(
        "LinUCB",
        gse.lin_ucb(6.32),
        {
            "no features shared": {"disjoint": True},
            "first of equals": _IN_ORDER,
            "published α": {"alpha": 0.513},
            "α of the paper": {"alpha": None},
        },
    )
    gaps = one_change(
        "LinGapE-Greedy",
        partial(lingape_greedy, sigma=gse.SIGMA, delta=0.9),
        {
            "published radius": {
                "radius": "explicit",
                "coded_radius": True,
                "regulariser": 1e-8,
                "threshold_regulariser": 1e-8,
                "norm_bound": 2.0,
            },
            "no stop of its own": {"stops_early": False},
        },
    )
    slip = one_change(
        "LinGapE",
        partial(lingape, sigma=gse.SIGMA, delta=0.4),
        {"weights of at least 0": {"nonnegative_weights": True}},
    )
    bayes = one_change(
        "BayesGap-Lin",
        partial(BayesGap, sigma=gse.SIGMA, kernel="linear"),
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
        **gaps,
        **gse.at_most(500, slip),
        **bayes,
        "Peace": partial(Peace),
        name_of_change("Peace", "solved to the optimum"): Series(partial(Peace, solver="optimised"), replications=500),
        name_of_change("Peace", "inflated average"): partial(Peace, inflated_average=True),
    }


_ON_TABLES: dict[str, Any] = {
    **gse.unprojected({"GSE-Lin-FWG": gse.FWG}),
    "LinUCB": gse.lin_ucb(2.53),
    "BayesGap-Lin": partial(BayesGap, sigma=gse.TABLE_SIGMA, kernel="linear"),
}
_SMALL: dict[str, Any] = {"vary": {"n_arms": [8, 16, 32]}, "budgets": PerArm((20,)), "paper": Scale(2000)}
_FEWER = {"laptop": Scale(250), "paper": Scale(1000)}
EXPERIMENTS = {
    "audit_adaptive": gse.search(
        "Audit: adaptive instance", partial(adaptive_instance), _eliminations(in_four=False, leaked=True), **_SMALL
    ),
    "audit_static": gse.search(
        "Audit: static instance, gap 1", partial(static_instance, gap=1.0), _eliminations(in_four=False), **_SMALL
    ),
    "audit_sphere": gse.search(
        "Audit: random instances", partial(sphere_instance), _eliminations(in_four=True), **_SMALL
    ),
    "audit_small_budget": gse.search(
        "Audit: Figure 6 at B = 100",
        partial(sphere_instance, variance=1.0),
        {
            **one_change("GSE-Lin-FWG", gse.FWG, {"rounded up": _UP}, _FOUR),
            **one_change("OD-LinBAI", gse.OD_LINBAI, {"exact budgets": _EXACT, "published schedule": _SCHEDULE}, _FOUR),
        },
        vary={"n_arms": [8, 16, 32, 64]},
        budgets=[100],
        smoke=Scale(2, vary={"n_arms": [8]}),
        paper=Scale(2000),
    ),
    "audit_corner": gse.search(
        "Audit: Figure 7",
        partial(corner_instance),
        one_change(
            "GSE-Lin-FWG",
            gse.FWG,
            {"rounded up": _UP, "arms rounded down": _DOWN, "ties by the stage before": _BY_RANK, "all": _ALL_FWG},
        ),
        vary={"n_arms": [3, 6, 12, 24]},
        budgets=[25],
        smoke=Scale(2, vary={"n_arms": [6]}),
        paper=Scale(2000),
    ),
    "audit_cars": gse.search(
        "Audit: cars, which rows count as the best",
        partial(automobile_instance),
        {
            name: series
            for algorithm, policy in _ON_TABLES.items()
            for name, series in one_change(algorithm, policy, problem=_ONE_BEST).items()
        },
        stand_in=partial(stand_in_automobile_instance),
        accuracy=correct_row,
        vary={"n_arms": [8, 16]},
        budgets=PerArm((20,)),
        paper=Scale(2000),
    ),
    **{
        name: gse.search(f"Audit: baselines, {words}", partial(make), _baselines(), **_SMALL | _FEWER)
        for name, words, make in (
            ("audit_baselines", "random instances", sphere_instance),
            ("audit_baselines_adaptive", "adaptive instance", adaptive_instance),
        )
    },
}
