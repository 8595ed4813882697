"""Alternative readings of what the GSE paper leaves open, and the rows for each.

What the text says otherwise is none: η other than 2, budgets that are overspent, θ with a standard deviation of 3/d,
the motor's speed. These are controls, or the authors' code.
"""

from collections.abc import Collection, Mapping

import pandas as pd

from bestarm_lab.claims.robustness import OpenChoice, Substitution
from bestarm_lab.experiments.series import name_of_change

GSE = ("GSE-Lin", "GSE-Lin-FWG", "GSE-Lin-Greedy", "GSE-Lin-Wynn")
RIVALS = ("LinUCB", "LinGapE", "LinGapE-Greedy", "BayesGap-Lin", "BayesGap-exp", "BayesGap-M", "Peace", "OD-LinBAI")
EVERYBODY = (*GSE, *RIVALS)
FWG, NO_ELIMINATION = "GSE-Lin-FWG", RIVALS[:6]
LINE_SEARCHES = {"fig2": "line_search_adaptive", "fig3": "designs"}
BASELINES = {"fig2": "audit_baselines_adaptive", "fig3": "audit_baselines"}


def _but(*names: str) -> list[str]:
    return [name for name in EVERYBODY if name not in names]


def _per_arm(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(budget=rows["budget"] // rows["n_arms"])


def _sixteen(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a static instance with a gap of 1 that has the number of arms of Figure 1."""
    return rows[rows["n_arms"] == 16].drop(columns="n_arms").assign(gap=1.0)


def _changed(words: str, change: str, series: str, others: Mapping[str, str], beside: Collection[str]) -> OpenChoice:
    """Return a choice of one algorithm, and the algorithms that do not depend on it."""
    names = {series: name_of_change(series, change)}
    return OpenChoice(words, {old: Substitution(new, names, beside, same="budget") for old, new in others.items()})


def _ties() -> OpenChoice:
    change = "ties by the stage before"
    names = {name: name_of_change(name, change) for name in ("GSE-Lin", FWG)}
    audits = {"fig2": "audit_adaptive", "fig3": "audit_sphere"}
    rows = {old: Substitution(new, names, NO_ELIMINATION, same="budget") for old, new in audits.items()}
    rows["fig1"] = Substitution("audit_static", names, NO_ELIMINATION, change=_sixteen)
    # OD-LinBAI has one stage in two dimensions, and no stage before
    rows["fig7"] = Substitution("audit_corner", {FWG: names[FWG]}, ["OD-LinBAI"])
    return OpenChoice(change, rows)


CHOICES = (
    OpenChoice("variance 1 in Figure 1", {"fig1": Substitution("fig1_unit")}),
    OpenChoice(
        "budgets of Figures 6 and 7 per arm",
        {name: Substitution(f"{name}_per_arm", change=_per_arm) for name in ("fig6", "fig7")},
    ),
    _changed("line search as printed", "line search of Algorithm 2", FWG, LINE_SEARCHES, _but(FWG)),
    _changed("rounding of Allen-Zhu", "Allen-Zhu's rounding", FWG, {"fig3": "designs"}, _but(FWG)),
    _ties(),
    _changed("α of LinUCB by its theory", "α of the paper", "LinUCB", BASELINES, _but("LinUCB")),
    *(
        _changed(words, change, "BayesGap-Lin", BASELINES, _but("BayesGap-Lin", "BayesGap-exp", "BayesGap-M"))
        for words, change in (
            ("BayesGap begins with every arm", "every arm once first"),
            ("prior scale 50 of BayesGap", "prior scale 50"),
        )
    ),
    _changed("Peace solved to the optimum", "solved to the optimum", "Peace", BASELINES, _but("Peace")),
)
