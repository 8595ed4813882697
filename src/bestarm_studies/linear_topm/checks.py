"""Whether the theory of the Top-m paper holds on what was observed: one function for each kind of statement.

Each takes the rows of its experiments and the claim's test, and returns whether the statement holds and what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bestarm_studies.linear_topm.theory import frequency_interval, on_event, parts_of, theorem_2

Rows = Mapping[str, pd.DataFrame]
Decision = tuple[bool, str]


def _chosen(rows: Rows, test: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows as written of the experiments, and of the series if the test names some."""
    frame = pd.concat([rows[name].assign(experiment=name) for name in test["experiments"]], ignore_index=True)
    series = test.get("series", frame["series"].unique())
    return frame[(frame["convention"] == "as_written") & frame["series"].isin(series)]


def _count(rows: pd.DataFrame, finding: str) -> Decision:
    failed, rounds = int(rows[finding].sum()), int(rows["rounds"].sum())
    return failed == 0, f"false in {failed} of {rounds} rounds of {len(rows)} runs"


def lemma_1(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide Lemma 1 and what follows: on one trajectory UGapE's rule never holds later than that of LUCB."""
    mine = _chosen(rows, test)
    holds, text = _count(mine, "lemma_1")
    ended = mine[mine["stopped"]]
    saved = ended["pulls"] - ended["ugape_pulls"]
    later = int((~(saved >= 0)).sum())
    text += f"; UGapE's rule later in {later} runs, earlier in {int((saved > 0).sum())}, by at most {saved.max():.0f}"
    return holds and later == 0, text + " pulls"


def index_order(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide that paired widths are at most individual ones, and these at most those without features."""
    return _count(_chosen(rows, test), "index_order")


def lemma_2(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide Lemma 2 as printed, for every arm and every difference of two arms."""
    return _count(_chosen(rows, test), "lemma_2")


def lemma_4(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide Lemma 4 on the runs in which the event held."""
    return _count(on_event(_chosen(rows, test)), "lemma_4")


def lemma_5(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide Lemma 5 on the runs in which the event held."""
    mine = on_event(_chosen(rows, test))
    holds, text = _count(mine, "lemma_5")
    return holds, f"{text}; at most {100 * mine['lemma_5_share'].max():.0f}% of what is allowed"


def theorem_1(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide that the answer is right wherever the gap indices were good."""
    mine = _chosen(rows, test)
    good = mine[mine["good_share"] <= 1.0]
    wrong = int((good["within_epsilon"] == 0.0).sum())
    outside = int((mine["within_epsilon"] == 0.0).sum()) - wrong
    text = f"wrong in {wrong} of the {len(good)} runs on the event; in {outside} of the {len(mine) - len(good)} others"
    return wrong == 0, text


def event_frequency(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide that the gap indices are good with the promised probability, and that answers are as often right."""
    holds, failures, n = True, [], 0
    for _, mine in _chosen(rows, test).groupby(["experiment", "series"], sort=False):
        bad = max(int((mine["good_share"] > 1.0).sum()), int((mine["within_epsilon"] != 1.0).sum()))
        holds &= bad <= test["delta"] * len(mine)
        failures.append(bad)
        n = len(mine)
    upper = frequency_interval(max(failures), n)[1]
    text = f"at most {max(failures)} of {n} runs bad or wrong for any of {len(failures)} series"
    return holds, f"{text} (95% upper limit {upper:.3f})"


def always(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide that a share of a bound never exceeds 1, in the runs in which the event held (elsewhere it is 0)."""
    mine = on_event(_chosen(rows, test))
    shares = mine[test["metric"]]
    beyond = int((shares > 1.0).sum())
    return beyond == 0, f"{beyond} of {len(shares)} runs beyond the bound; at most {shares.max():.3g} times the bound"


def bound(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Decide Theorem 2: no run on the event exceeds the bound."""
    worst, where, n, beyond = 0.0, "", 0, 0
    for name in test["experiments"]:
        problem, algorithms = parts_of(name, stand_in=bool((rows[name]["data"] == "stand-in").any()))
        for series in test["series"]:
            mine = _chosen({name: rows[name]}, {"experiments": [name], "series": [series]})
            mine = on_event(mine) if "event_share" in mine else mine
            share = mine["pulls"].to_numpy(dtype=np.float64) / theorem_2(problem, algorithms[series])[1]
            n, beyond = n + len(share), beyond + int((share > 1.0).sum())
            if share.max() > worst:
                worst, where = float(share.max()), f"{name}, {series}"
    return beyond == 0, f"{beyond} of {n} runs beyond; at most {100 * worst:.0f}% of the bound ({where})"


DECISIONS: dict[str, Callable[[Rows, Mapping[str, Any]], Decision]] = {
    "lemma_1": lemma_1,
    "index_order": index_order,
    "lemma_2": lemma_2,
    "lemma_4": lemma_4,
    "lemma_5": lemma_5,
    "theorem_1": theorem_1,
    "event_frequency": event_frequency,
    "always": always,
    "theorem_2": bound,
}


def decide(rows: Rows, test: Mapping[str, Any]) -> Decision:
    """Return whether a statement holds on these rows, and what was found."""
    return DECISIONS[test["kind"]](rows, test)


# what each kind of test does, for `bestarm.reporting.claim_tests.describe`
DESCRIPTIONS = {
    "lemma_1": "checked at every round of every run, and the two rules compared on each trajectory",
    "index_order": "checked at every round of every run",
    "lemma_2": "checked at every round of every run, for every arm and every difference of two arms",
    "lemma_4": "checked at every round of the runs in which the event held",
    "lemma_5": "checked at every round of the runs in which the event held",
    "theorem_1": "checked on every run in which the gap indices were good",
    "event_frequency": "frequency of runs with a bad index or a wrong answer, at most δ",
    "theorem_2": "every run compared with its bound",
    "always": "checked on every run in which the event held",
}
