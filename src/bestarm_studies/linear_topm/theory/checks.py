"""Checks of the lemmas and theorems on what was observed."""

import numpy as np
import pandas as pd

from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.linear_topm.settings import parts_of
from bestarm_studies.linear_topm.theory.findings import frequency_interval, on_event, theorem_2


def _chosen(test: Test, rows: Rows) -> pd.DataFrame:
    """Return the rows as written of the experiments, and of the series if the test names some."""
    frame = pd.concat([rows[name].assign(experiment=name) for name in test["experiments"]], ignore_index=True)
    series = test.get("series", frame["series"].unique())
    return frame[(frame["convention"] == "as_written") & frame["series"].isin(series)]


def _count(rows: pd.DataFrame, finding: str) -> Decision:
    failed, rounds = int(rows[finding].sum()), int(rows["rounds"].sum())
    text = f"false in {failed} of {rounds} rounds of {len(rows)} runs"
    return Decision(failed == 0, text, informative=rounds > 0, checked=f"{rounds:,} rounds of {len(rows):,} runs")


def lemma_1(test: Test, rows: Rows) -> Decision:
    """Check Lemma 1 and what follows: on one trajectory UGapE's rule never holds later than that of LUCB."""
    mine = _chosen(test, rows)
    found = _count(mine, "lemma_1")
    ended = mine[mine["stopped"]]
    saved = ended["pulls"] - ended["ugape_pulls"]
    later = int((~(saved >= 0)).sum())
    text = f"{found.text}; UGapE's rule later in {later} runs, earlier in {int((saved > 0).sum())}"
    return found._replace(holds=found.holds and later == 0, text=f"{text}, by at most {saved.max():.0f} pulls")


def index_order(test: Test, rows: Rows) -> Decision:
    """Check that paired widths are at most individual ones, and these at most those without features."""
    return _count(_chosen(test, rows), "index_order")


def lemma_2(test: Test, rows: Rows) -> Decision:
    """Check Lemma 2 as printed, for every arm and every difference of two arms."""
    return _count(_chosen(test, rows), "lemma_2")


def lemma_4(test: Test, rows: Rows) -> Decision:
    """Check Lemma 4 on the runs in which the event held."""
    return _count(on_event(_chosen(test, rows)), "lemma_4")


def lemma_5(test: Test, rows: Rows) -> Decision:
    """Check Lemma 5 on the runs in which the event held."""
    mine = on_event(_chosen(test, rows))
    found = _count(mine, "lemma_5")
    return found._replace(text=f"{found.text}; at most {100 * mine['lemma_5_share'].max():.0f}% of what is allowed")


def theorem_1(test: Test, rows: Rows) -> Decision:
    """Check that the answer is right wherever the gap indices were good."""
    mine = _chosen(test, rows)
    good = mine[mine["good_share"] <= 1.0]
    wrong = int((good["within_epsilon"] == 0.0).sum())
    outside = int((mine["within_epsilon"] == 0.0).sum()) - wrong
    text = f"wrong in {wrong} of the {len(good)} runs on the event; in {outside} of the {len(mine) - len(good)} others"
    return Decision(wrong == 0, text, informative=len(good) > 0, checked=f"{len(good):,} runs")


def event_frequency(test: Test, rows: Rows) -> Decision:
    """Check that the gap indices are good with the promised probability, and that answers are as often right."""
    holds, failures, n = True, [], 0
    for _, mine in _chosen(test, rows).groupby(["experiment", "series"], sort=False):
        bad = max(int((mine["good_share"] > 1.0).sum()), int((mine["within_epsilon"] != 1.0).sum()))
        holds &= bad <= test["delta"] * len(mine)
        failures.append(bad)
        n = len(mine)
    upper = frequency_interval(max(failures), n)[1]
    text = f"at most {max(failures)} of {n} runs bad or wrong for any of {len(failures)} series"
    return Decision(holds, f"{text} (95% upper limit {upper:.3f})")


def theorem_2_bound(test: Test, rows: Rows) -> Decision:
    """Check Theorem 2: no run on the event exceeds the bound."""
    worst, where, n, beyond = 0.0, "", 0, 0
    for name in test["experiments"]:
        problem, algorithms = parts_of(name, stand_in=bool((rows[name]["data"] == "stand-in").any()))
        for series in test["series"]:
            mine = _chosen({"experiments": [name], "series": [series]}, {name: rows[name]})
            mine = on_event(mine) if "event_share" in mine else mine
            share = mine["pulls"].to_numpy(dtype=np.float64) / theorem_2(problem, algorithms[series])[1]
            n, beyond = n + len(share), beyond + int((share > 1.0).sum())
            if share.max() > worst:
                worst, where = float(share.max()), f"{name}, {series}"
    text = f"{beyond} of {n} runs beyond; at most {100 * worst:.0f}% of the bound ({where})"
    return Decision(beyond == 0, text, informative=n > 0, checked=f"{n:,} runs")


CHECKS: dict[str, Check] = {
    **{
        f.__name__: Check(f, may={"series": "series"})
        for f in (lemma_1, index_order, lemma_2, lemma_4, lemma_5, theorem_1)
    },
    "event_frequency": Check(event_frequency, {"delta": "number"}, may={"series": "series"}),
    "theorem_2": Check(theorem_2_bound, {"series": "series"}),
}
