"""Predicates: what must be true of the rows for a conclusion to stand in the text as it is worded."""

from __future__ import annotations

import re
from collections.abc import Callable

from bestarm_paper.measures import calibration, closed, n_moved, scatter, switches, turned_pairs
from bestarm_paper.rows import RUNS, Rows

Predicate = Callable[[Rows], bool]
PREDICATES: dict[str, Predicate] = {}

LINGAME = "figures/linear_topm/06_paper_against_code/fig_audit_deviations"
GPTREE = "figures/gpoo/05_paper_against_code/fig_audit"
SLOPES = "figures/gpoo/05_paper_against_code/gptree_slopes"
GSE = "figures/gse/10_paper_against_code/tab_audit"


def predicate(function: Predicate) -> Predicate:
    """Make a predicate known by its name, with hyphens."""
    PREDICATES[function.__name__.replace("_", "-")] = function
    return function


def ends(rows: Rows, table: str, **line: str) -> tuple[float, float]:
    """Return the interval of one line."""
    found = rows.line(table, line)
    return float(found["low"]), float(found["high"])


@predicate
def most_differences_are_harmless(rows: Rows) -> bool:
    """More than half of the single differences change little, and some change much."""
    fold = switches(rows)["fold"]
    return bool((fold <= 1.05).mean() > 0.5 and (fold >= 2).sum() >= 5)


@predicate
def text_and_code_often_part(rows: Rows) -> bool:
    """More than a third of the claims run as both have different verdicts, and of one paper more than half."""
    both, gse = rows.both(), rows.both("gse")
    shares = [(table["as_written"] != table["as_coded"]).mean() for table in (both, gse)]
    return bool(shares[0] > 1 / 3 and shares[1] > 1 / 2)


@predicate
def the_code_is_kinder(rows: Rows) -> bool:
    """Of the claims that turn round, more are confirmed by the code than by the text."""
    found = turned_pairs(rows.both())
    return bool((found[RUNS["code"]] == "confirmed").sum() > (found[RUNS["text"]] == "confirmed").sum())


@predicate
def margins_weigh_more_than_multiplicity(rows: Rows) -> bool:
    """Halving or doubling margins changes more verdicts than Holm's rule, of fewer."""
    return n_moved(rows, "either") > n_moved(rows, "holm")


@predicate
def no_test_errs_beyond_chance(rows: Rows) -> bool:
    """No simulated test errs more often than chance explains."""
    return bool((calibration(rows)[["confirmed", "refuted"]] <= scatter()).all(axis=None))


@predicate
def lingame_without_noise(rows: Rows) -> bool:
    """The claim on LinGame holds for the code, fails for the text, and holds with one threshold for all."""
    words = [rows.word("TOPM-C8", run) for run in RUNS]
    controls = rows.words("TOPM-C8.a", "TOPM-C8.b", "TOPM-C8.d")
    low, _ = ends(rows, LINGAME, series="LinGame", x="without 1/σ²", statistic="ratio of means")
    return words == ["refuted", "confirmed"] and controls == {"confirmed"} and low > 1


@predicate
def lingame_threshold(rows: Rows) -> bool:
    """The threshold of the others costs LinGame pulls, by less than the missing noise scale."""
    there = [
        rows.number(LINGAME, {"series": "LinGame", "x": x, "statistic": "ratio of means"})
        for x in ("Eq. 2", "without 1/σ²")
    ]
    return 1 < there[0] < there[1]


@predicate
def topm_headlines_hold(rows: Rows) -> bool:
    """The tested headline claims of the top-m paper are confirmed, as text and as code; an exact one fails."""
    claims = ("TOPM-C32a", "TOPM-C32b", "TOPM-C33")
    both = rows.words(*claims) == {"confirmed"} == rows.words(*claims, run="code")
    return both and rows.word("TOPM-C31", "text") == "confirmed" and rows.word("TOPM-C24", "text") == "refuted"


@predicate
def stale_pair_stops_early(rows: Rows) -> bool:
    """The stopping test on an old pair saves pulls and gives wrong answers."""
    return rows.words("TOPM-C2.a", "TOPM-C2.b") == {"confirmed"}


@predicate
def pairing_not_features(rows: Rows) -> bool:
    """On the drugs paired widths halve the pulls, and features with the same widths change none."""
    table = "figures/linear_topm/06_paper_against_code/fig_audit_gain"
    widths, features = (
        rows.number(table, {"panel": "1(c)", "x": x}) for x in ("paired widths", "× features, largest variance")
    )
    return rows.words("TOPM-C9.a", "TOPM-C9.c") == {"confirmed"} and widths < 0.55 and abs(features - 1) < 0.01


@predicate
def gptree_is_stuck_in_the_code(rows: Rows) -> bool:
    """GPTree is not stuck as written nor with the code's other constants; the code's β alone raises its regret."""
    low, _ = ends(rows, GPTREE, panel="f1", series="GPTree", x="β of the code", statistic="mean over N = 10-80")
    stuck = float(rows.verdict("GPOO-C4", "code")["effect"])
    return rows.words("GPOO-C4", "GPOO-C4.b") == {"refuted"} and low > 0 and stuck > 0


@predicate
def gptree_is_a_grid(rows: Rows) -> bool:
    """With the slope of the kernel GPTree has all cells before its first reward; a smaller one few, and more regret."""
    leaves = [rows.number(SLOPES, {"panel": "leaves", "x": x}) for x in ("0.3", "6.32")]
    regret = [
        rows.number(SLOPES, {"panel": "f1", "series": "GPTree", "x": x, "statistic": "mean"}) for x in ("0.3", "6.32")
    ]
    return rows.word("GPOO-C1.b", "text") == "confirmed" and leaves[0] < leaves[1] == 64 and regret[0] > regret[1]


@predicate
def constant_beta_is_harmless(rows: Rows) -> bool:
    """A constant β changes GPOO's regret by less than a tenth of what the code's β does to GPTree's."""
    table = "figures/gpoo/05_paper_against_code/fig_causes"
    line = {"panel": "f1", "series": "GPOO (S = 1)", "x": "constant β", "statistic": "mean over N = 10-80"}
    constant = rows.number(table, line | {"convention": "as_written"})
    small = rows.number(
        GPTREE, {"panel": "f1", "series": "GPTree", "x": "β of the code", "statistic": line["statistic"]}
    )
    return small > 0 and abs(constant) < small / 10


@predicate
def gse_is_behind(rows: Rows) -> bool:
    """GSE's first claim is refuted as text and as code, in fewer cells of the text."""
    (held, of), (held_code, of_code) = rows.cells("GSE-C1", "text"), rows.cells("GSE-C1", "code")
    return rows.words("GSE-C1") == {"refuted"} == rows.words("GSE-C1", run="code") and held / of < held_code / of_code


@predicate
def keeping_rewards_helps_most(rows: Rows) -> bool:
    """Rewards of all stages close over half of GSE's gap, no way to spread pulls a tenth of it, and some is left."""
    ways = ("uniform", "G-optimal", "greedy", "Wynn's")
    return 0.5 < closed(rows, "rewards kept") < 1 and all(closed(rows, f"{w} pulls alone") < 0.1 for w in ways)


@predicate
def hindsight_matters_little(rows: Rows) -> bool:
    """The distance of BayesGap alone from the best rival is a small part of GSE's gap."""
    return 0.8 < closed(rows, "BayesGap in its place") < 1


@predicate
def the_adaptive_ranking_is_of_the_code(rows: Rows) -> bool:
    """On the adaptive instance the claims on GSE fail as text and hold as code."""
    claims = ("GSE-C2a", "GSE-C2b", "GSE-C4")
    return rows.words(*claims) == {"refuted"} and rows.words(*claims, run="code") == {"confirmed"}


@predicate
def columns_need_ties(rows: Rows) -> bool:
    """Few columns alone change nothing clear; with ties by the stage before they add accuracy."""
    line = {"panel": "adaptive, K = 16", "series": "GSE-Lin-FWG", "statistic": "accuracy"}
    alone = ends(rows, GSE, x="three columns", **line)
    both = ends(rows, GSE, x="three columns, ties by the stage before", **line)
    return alone[0] <= 0 <= alone[1] and both[0] > 0


@predicate
def overwritten_dimension_costs(rows: Rows) -> bool:
    """The overwritten dimension lowers GSE's accuracy for each number of arms."""
    panels = ("sphere, K = 8", "sphere, K = 16", "sphere, K = 32")
    line = {"series": "GSE-Lin-FWG", "x": "dimension 4", "statistic": "accuracy"}
    return all(ends(rows, GSE, panel=panel, **line)[1] < 0 for panel in panels)


@predicate
def rounding_up_pays(rows: Rows) -> bool:
    """Pulls beyond the budget add accuracy where arms are many, and less where they are few."""
    line = {"series": "GSE-Lin-FWG", "x": "rounded up", "statistic": "accuracy"}
    few, many = (rows.number(GSE, {"panel": f"small budget, K = {k}", **line}) for k in (8, 64))
    return few < many and ends(rows, GSE, panel="small budget, K = 64", **line)[0] > 0


@predicate
def sampling_is_not_superior(rows: Rows) -> bool:
    """SAMPLE loses more comparisons than it wins; the claims that it leads are refuted."""
    line = rows.verdict("DPP-C1", "text")
    return rows.words("DPP-C1", "DPP-C22", "DPP-C22b", "DPP-C22c") == {"refuted"} and line["against"] > line["for"]


@predicate
def a_lemma_fails_for_samples(rows: Rows) -> bool:
    """Lemma 6.4 fails for samples, by exact counterexamples, and holds of greedy batches with one width of two."""
    greedy = [rows.word("DPP-C27d", "text"), rows.word("DPP-C27i", "text")]
    exact = rows.words("DPP-C27e.a", "DPP-C27j.a") == {"confirmed"}
    return rows.word("DPP-C27e", "text") == "refuted" and exact and greedy == ["confirmed", "refuted"]


@predicate
def bounds_that_a_factor_mends(rows: Rows) -> bool:
    """Statements that fail as printed hold after a small correction."""
    printed, mended = ("GPOO-T3", "GSE-T5", "OAE-C68a"), ("GPOO-T3b", "GSE-T5b", "OAE-C68c")
    return rows.words(*printed) == {"refuted"} and rows.words(*mended) == {"confirmed"}


@predicate
def a_bound_that_nothing_mends(rows: Rows) -> bool:
    """The top-m paper's Lemma 2 fails as printed, in more than nine of ten rounds."""
    found = re.search(r"false in (\d+) of (\d+) rounds", str(rows.verdict("TOPM-C27", "text")["decided_by"]))
    return rows.word("TOPM-C27", "text") == "refuted" and found is not None and int(found[1]) > 0.9 * int(found[2])


@predicate
def the_code_mostly_does(rows: Rows) -> bool:
    """Of the claims that were run as both more than half are confirmed as code, fewer than half as text."""
    text, code = ((rows.both()[run] == "confirmed").mean() for run in RUNS.values())
    return bool(text < 0.5 < code)
