"""Deviations of the authors' code from the text, each alone and all together."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bestarm_lab.experiments.series import Series, changed, name_of_change, one_change
from bestarm_lab.figures.values import paired_effects
from bestarm_studies.gpoo.series import AVE_STOOO, CODE_NOISE_VARIANCE, GPTREE, TENS, gpoo, stooo
from bestarm_studies.gpoo.values import BUDGETS

GPOO_DEVIATIONS: dict[str, dict[str, Any]] = {
    "β of the code": {"beta": "as_coded"},
    "noise of the model": {"model_noise_variance": CODE_NOISE_VARIANCE},
    "noise in the width": {"noise_in_width": True},
    "root divided first": {"root_divided_first": True},
    "late children": {"late_children": True},
    "late β": {"late_beta": True},
    "recommend at division": {"recommendation": "at_expansion"},
}
GPTREE_DEVIATIONS: dict[str, dict[str, Any]] = {
    "constants of the code": {"holder": 0.5, "slope": 0.1, "cell_ratio": 0.5, "cell_radius": 1.0},
    "β of the code": {"beta": "as_coded"},
    "noise of the model": {"model_noise_variance": CODE_NOISE_VARIANCE},
    "noise in the width": {"noise_in_width": True},
    "root evaluated first": {"root_evaluated_first": True},
    "first divided": {"first_divided": True},
    "exact comparisons": {"exact_ties": True},
}
STOOO_DEVIATIONS: dict[str, dict[str, Any]] = {
    "rule of the code": {"rule": "as_coded"},
    "first divided": {"recommendation": "first_divided"},
    "one evaluation less": {"one_evaluation_less": True},
}
FUNCTION_DEVIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "f1": ("length-scale of f", {"lengthscale": 0.1}),
    "f2": ("regions of f", {"n_regions": 9}),
    "f3": ("regions of f", {"n_regions": 9}),
}


def deviations(
    name: str, series: Series, changes: Mapping[str, dict[str, Any]], theirs: tuple[str, dict[str, Any]]
) -> dict[str, Series]:
    """Return an algorithm as written, with each deviation of the authors' code, on their function, and with it all."""
    cause, function = theirs
    together = {setting: value for change in changes.values() for setting, value in change.items()}
    alone = one_change(name, series, changes, {cause: function})
    return alone | {name_of_change(name, "all of these"): changed(series, together, function)}


def audited(function: str) -> dict[str, Series]:
    """Return every algorithm with each deviation of the authors' code, on one function."""
    theirs = FUNCTION_DEVIATIONS[function]
    gptree = deviations("GPTree", Series(GPTREE), GPTREE_DEVIATIONS, theirs)
    inexact = changed(gptree[name_of_change("GPTree", "all of these")], {"exact_ties": False})
    return {
        **deviations("GPOO (S = 1)", gpoo(1), GPOO_DEVIATIONS, theirs),
        **deviations("GPOO (S = 10)", gpoo(10), GPOO_DEVIATIONS, theirs),
        **gptree,
        name_of_change("GPTree", "all but exact comparisons"): inexact,
        **deviations("StoOO", stooo(TENS), STOOO_DEVIATIONS, theirs),
        **deviations("AVE-StoOO", stooo(TENS, 10, AVE_STOOO), STOOO_DEVIATIONS, theirs),
    }


def audit_effects(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return what each change of an audit adds to the regret at 30, 50 and 80 evaluations, and over `BUDGETS`."""
    measures = {f"N = {n}": (n, n) for n in (30, 50, 80)} | {"mean over N = {}-{}".format(*BUDGETS): BUDGETS}
    found = []
    for name, ends in measures.items():
        mine = rows[rows["budget"].between(*ends)]
        found.append(paired_effects(mine, "aggregated_regret", statistic=name, panel=panel, profile=profile))
    return pd.concat(found, ignore_index=True)


def effects_table(values: pd.DataFrame, statistics: Sequence[str], change: str) -> pd.DataFrame:
    """Return as text each algorithm's regret as written and what a change adds, with 95% intervals."""
    lines = []
    for (panel, series), group in values.groupby(["panel", "series"], sort=False):
        for statistic in statistics:
            mine = group[group["statistic"] == statistic].set_index("x")
            if change not in mine.index:
                continue
            added = mine.loc[change]
            line = {"function": panel, "algorithm": series, "measure": statistic}
            line["as written"] = f"{float(mine['value'].loc['']):.3f}"
            lines.append(line | {change: f"{added['value']:+.3f} [{added['low']:+.3f}, {added['high']:+.3f}]"})
    return pd.DataFrame(lines)
