"""Facts: numbers and words that are counted over many rows, by the names that the text calls them by."""

from __future__ import annotations

from collections.abc import Callable

from bestarm_lab.claims.robustness import HOLM, deciding, effects
from bestarm_lab.claims.verdicts import LEVEL
from bestarm_lab.study import open_choices
from bestarm_lab.yaml_keys import nearest
from bestarm_paper.measures import (
    SIMULATED,
    SMALL_CHANGE,
    calibration,
    closed,
    drawn,
    n_moved,
    reading_shares,
    scatter,
    switches,
    tested,
    turned_pairs,
    with_margin,
)
from bestarm_paper.rows import RUNS, Rows, in_words

Fact = Callable[..., str]
FACTS: dict[str, Fact] = {}


def fact(function: Fact) -> Fact:
    """Make a function known by its name, with spaces."""
    FACTS[function.__name__.replace("_", " ")] = function
    return function


def said(rows: Rows, name: str, argument: str = "") -> str:
    """Return what a fact says.

    Raises
    ------
    ValueError
        For a fact that there is not, with the nearest one.
    """
    if name not in FACTS:
        raise ValueError(f"there is no fact {name!r}; {nearest(name, FACTS)}.")
    return FACTS[name](rows, argument) if argument else FACTS[name](rows)


@fact
def papers(rows: Rows) -> str:
    """How many papers."""
    return in_words(rows.theirs["study"].nunique())


@fact
def papers_with_both(rows: Rows) -> str:
    """How many papers have claims that were run as both."""
    return in_words(len(set(rows.both().index.get_level_values("study"))))


@fact
def claims_that_were_run(rows: Rows) -> str:
    """How many claims have a verdict other than not run."""
    return str(rows.theirs[rows.theirs["verdict"] != "not run"]["id"].nunique())


@fact
def claims_without_data(rows: Rows) -> str:
    """How many claims have no line that was run."""
    return str(int((rows.theirs.groupby("id")["verdict"].agg(set) == {"not run"}).sum()))


@fact
def own_statements(rows: Rows) -> str:
    """How many statements of the project's own there are."""
    return str(rows.verdicts[rows.verdicts["ours"].fillna("") != ""]["id"].nunique())


@fact
def comparisons_made(rows: Rows) -> str:
    """How many comparisons stand behind the papers' claims."""
    return str(int(rows.theirs["comparisons"].fillna(0).sum()))


@fact
def share_decided(rows: Rows, run: str = "text") -> str:
    """Return the share of claims decided by tests that are confirmed, refuted or mixed."""
    table = tested(rows, run)
    return f"{table['verdict'].isin(['confirmed', 'refuted', 'mixed']).mean():.0%}"


@fact
def share_with_word(rows: Rows, argument: str) -> str:
    """Return the share of tested claims with a verdict, such as ``text refuted``."""
    run, _, word = argument.partition(" ")
    return f"{(tested(rows, run)['verdict'] == word).mean():.0%}"


@fact
def run_as_both(rows: Rows, study: str = "") -> str:
    """How many claims were run as text and as code."""
    return str(len(rows.both(study or None)))


@fact
def confirmed_of_both(rows: Rows, run: str) -> str:
    """Return which share of the claims that were run as both is confirmed in one run."""
    return f"{(rows.both()[RUNS[run]] == 'confirmed').mean():.0%}"


@fact
def differ(rows: Rows, study: str = "") -> str:
    """How many claims have different verdicts as text and as code."""
    both = rows.both(study or None)
    return str(int((both["as_written"] != both["as_coded"]).sum()))


@fact
def turned(rows: Rows, study: str = "") -> str:
    """How many claims are confirmed as one and refuted or mixed as the other."""
    return str(len(turned_pairs(rows.both(study or None))))


@fact
def kinder(rows: Rows, run: str) -> str:
    """How many of the claims that turn are confirmed in this run."""
    return str(int((turned_pairs(rows.both())[RUNS[run]] == "confirmed").sum()))


@fact
def moved_by(rows: Rows, change: str) -> str:
    """How many verdicts a change moves: ``halved``, ``doubled``, ``either`` or ``holm``."""
    return str(n_moved(rows, change))


@fact
def verdicts_with_margin(rows: Rows) -> str:
    """How many verdicts have a margin that can be halved."""
    return str(len(with_margin(rows)))


@fact
def verdicts_by_test(rows: Rows) -> str:
    """How many verdicts on the papers' claims are by tests."""
    return str(len(rows.moved[rows.moved["choice"] == HOLM]))


@fact
def adjusted_level(rows: Rows) -> str:
    """At what level the false discovery rate is held."""
    return f"{LEVEL:.0%}"


@fact
def level_of_a_side(rows: Rows) -> str:
    """How often each direction may be found falsely."""
    return f"{LEVEL / 2:.1%}"


@fact
def simulated_tests(rows: Rows) -> str:
    """How many kinds of test and law were simulated."""
    return str(len(calibration(rows)))


@fact
def simulated_claims(rows: Rows) -> str:
    """How many claims were simulated of each."""
    return str(SIMULATED)


@fact
def upper_scatter(rows: Rows) -> str:
    """Up to which rate chance alone explains an error."""
    return f"{scatter():.1%}"


@fact
def worst_error(rows: Rows, argument: str) -> str:
    """Return the largest error of tests whose name has a word, such as ``exponential refuted``."""
    word, _, side = argument.rpartition(" ")
    table = calibration(rows)
    return f"{table[table['test'].str.contains(word)][side].max():.1%}"


@fact
def largest_factor(rows: Rows, kind: str) -> str:
    """Return the largest factor of a kind of cause, from 1 upwards."""
    table = rows.causes[rows.causes["kind"] == kind]
    if table.empty:
        raise ValueError(f"there is no kind of cause {kind!r}; {nearest(kind, rows.causes['kind'].unique())}.")
    return f"{table['fold'].max():.1f}"


@fact
def single_switches(rows: Rows) -> str:
    """How many single differences were measured."""
    return str(len(switches(rows)))


@fact
def small_switches(rows: Rows) -> str:
    """Which share of the single differences changes little."""
    return f"{(switches(rows)['fold'] <= SMALL_CHANGE).mean():.0%}"


@fact
def small_change(rows: Rows) -> str:
    """What little is."""
    return f"{SMALL_CHANGE - 1:.0%}"


@fact
def doubling_switches(rows: Rows) -> str:
    """How many single differences double or halve what they are measured by."""
    return str(int((switches(rows)["fold"] >= 2).sum()))


@fact
def claims_read_again(rows: Rows) -> str:
    """How many claims were decided in drawn readings."""
    return in_words(len(reading_shares(rows)))


@fact
def mostly_confirmed(rows: Rows) -> str:
    """How many claims are confirmed in most readings."""
    return str(int((reading_shares(rows)["confirmed"] > 0.5).sum()))


@fact
def mostly_refuted(rows: Rows) -> str:
    """How many claims are refuted in most readings."""
    return str(int((reading_shares(rows)["refuted"] > 0.5).sum()))


@fact
def reading(rows: Rows, argument: str) -> str:
    """Return in which share of its readings a claim has a verdict, such as ``OAE-C2a confirmed``."""
    identity, _, word = argument.partition(" ")
    table = reading_shares(rows)
    if identity not in table.index or word not in table:
        raise ValueError(f"there is no reading {argument!r}; {nearest(identity, table.index)}.")
    return f"{float(table[word][identity]):.0%}"


@fact
def draws(rows: Rows) -> str:
    """How many draws of the open choices there are."""
    return str(len({choice.draw for choice in open_choices("oae")} - {None}))


@fact
def deciding_choices(rows: Rows) -> str:
    """Return which choices matter most, for how many claims, the most frequent first."""
    first = deciding(effects(drawn(rows), open_choices("oae"))).groupby("claim")["choice"].first()
    return ", ".join(f"{name} ({n})" for name, n in first.value_counts().items())


@fact
def share_closed(rows: Rows, change: str) -> str:
    """Which share of the gap between GSE and its best rival a change closes."""
    return f"{closed(rows, change):.0%}"


@fact
def with_caveat(rows: Rows) -> str:
    """How many of the papers' claims carry a caveat."""
    return str(rows.theirs[rows.theirs["caveat"].fillna("") != ""]["id"].nunique())
