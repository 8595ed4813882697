"""Facts: numbers and words that are counted over many rows, by the names that the text calls them by."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from scipy import stats

from bestarm_lab.claims.verdicts import LEVEL, VERDICTS
from bestarm_lab.given import nearest
from bestarm_paper.rows import RUNS, STUDIES, Rows, abbreviation, in_words

Fact = Callable[..., str]
FACTS: dict[str, Fact] = {}
SIMULATED = 400  # claims behind each line of the table of calibration
SMALL_CHANGE = 1.05  # a factor up to which a difference between text and code is called small


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


def counted(rows: Rows, words: str) -> int:
    """Return how many of the papers' claims have some properties in at least one line of the verdicts.

    Parameters
    ----------
    words : str
        Any of: a study, ``text`` or ``code``, ``test`` or ``exact``, verdicts (with hyphens; several mean either), a
        level, a quantifier, ``sentences`` to count sentences and not claims.

    Raises
    ------
    ValueError
        For a word that means nothing, with the nearest one.
    """
    table = rows.theirs
    verdicts = {word.replace(" ", "-"): word for word in VERDICTS}
    known: dict[str, tuple[str, str]] = {study: ("study", study) for study in STUDIES}
    known |= {run: ("convention", convention) for run, convention in RUNS.items()}
    known |= {kind: ("kind", kind) for kind in ("test", "exact")}
    known |= {word: ("verdict", verdict) for word, verdict in verdicts.items()}
    known |= {level: ("level", level) for level in ("headline", "section", "detail", "theorem")}
    known |= {f"of-{word}": ("quantifier", word) for word in ("all", "most", "typical", "exists")}
    wanted: dict[str, set[str]] = {}
    for word in words.split():
        if word not in known and word != "sentences":
            raise ValueError(f"there is no property {word!r} of claims; {nearest(word, [*known, 'sentences'])}.")
        if word in known:
            column, value = known[word]
            wanted.setdefault(column, set()).add(value)
    for column, values in wanted.items():
        table = table[table[column].isin(values)]
    return int(table["sentence" if "sentences" in words.split() else "id"].nunique())


@fact
def papers(rows: Rows) -> str:
    """How many papers."""
    return in_words(rows.theirs["study"].nunique())


@fact
def papers_with_code(rows: Rows) -> str:
    """How many papers have claims that were run as the authors' code."""
    return in_words(rows.theirs[rows.theirs["convention"] == RUNS["code"]]["study"].nunique())


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
    table = _tested(rows, run)
    return f"{table['verdict'].isin(['confirmed', 'refuted', 'mixed']).mean():.0%}"


@fact
def share_with_word(rows: Rows, argument: str) -> str:
    """Return the share of tested claims with a verdict, such as ``text refuted``."""
    run, _, word = argument.partition(" ")
    return f"{(_tested(rows, run)['verdict'] == word).mean():.0%}"


def _tested(rows: Rows, run: str) -> pd.DataFrame:
    table = rows.theirs[(rows.theirs["kind"] == "test") & (rows.theirs["convention"] == RUNS[run])]
    return table[table["verdict"] != "not run"]


@fact
def run_as_both(rows: Rows, study: str = "") -> str:
    """How many claims were run as text and as code."""
    return str(len(rows.both(study or None)))


@fact
def differ(rows: Rows, study: str = "") -> str:
    """How many claims have different verdicts as text and as code."""
    both = rows.both(study or None)
    return str(int((both["as_written"] != both["as_coded"]).sum()))


@fact
def turned(rows: Rows, study: str = "") -> str:
    """How many claims are confirmed as one and refuted or mixed as the other."""
    return str(len(turned_pairs(rows.both(study or None))))


def turned_pairs(both: pd.DataFrame) -> pd.DataFrame:
    """Return the claims that are confirmed as one of text and code and refuted or mixed as the other."""
    against = ("refuted", "mixed")
    ways = [("as_written", "as_coded"), ("as_coded", "as_written")]
    found = [(both[a] == "confirmed") & both[b].isin(against) for a, b in ways]
    return both[found[0] | found[1]]


@fact
def kinder(rows: Rows, run: str) -> str:
    """How many of the claims that turn are confirmed in this run."""
    return str(int((turned_pairs(rows.both())[RUNS[run]] == "confirmed").sum()))


@fact
def moved_by(rows: Rows, change: str) -> str:
    """How many verdicts a change moves: ``halved``, ``doubled``, ``either`` or ``holm``."""
    return str(n_moved(rows, change))


def n_moved(rows: Rows, change: str) -> int:
    """Return how many verdicts on tested claims another margin or Holm's rule changes."""
    table = rows.moved if change == "holm" else with_margin(rows)
    changes = ["halved", "doubled"] if change == "either" else [change]
    if not set(changes) <= set(table):
        raise ValueError(f"there is no change {change!r}; {nearest(change, ['halved', 'doubled', 'either', 'holm'])}.")
    return int(table[changes].ne(table["verdict"], axis=0).any(axis=1).sum())


def with_margin(rows: Rows) -> pd.DataFrame:
    """Return the verdicts whose margin can be halved: that of "ahead" is zero."""
    return rows.moved[rows.moved["halved"] != ""]


@fact
def verdicts_with_margin(rows: Rows) -> str:
    """How many verdicts have a margin that can be halved."""
    return str(len(with_margin(rows)))


@fact
def verdicts_by_test(rows: Rows) -> str:
    """How many verdicts on the papers' claims are by tests."""
    return str(len(rows.moved))


@fact
def adjusted_level(rows: Rows) -> str:
    """At what level the false discovery rate is held."""
    return f"{LEVEL:.0%}"


@fact
def level_of_a_side(rows: Rows) -> str:
    """How often each direction may be found falsely."""
    return f"{LEVEL / 2:.1%}"


def calibration(rows: Rows) -> pd.DataFrame:
    """Return the simulated error rates as shares: ``test, confirmed, refuted``."""
    table = rows.read("docs/verdicts.md")
    rates = [table[f"falsely {word}"].str.rstrip("%").astype(float) / 100 for word in ("confirmed", "refuted")]
    return pd.DataFrame({"test": table["test"], "confirmed": rates[0], "refuted": rates[1]})


def scatter() -> float:
    """Return the rate that 97.5% of simulated tables do not exceed if the true rate is that of one side."""
    return float(stats.binom.ppf(1 - LEVEL / 2, SIMULATED, LEVEL / 2)) / SIMULATED


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
def beyond_scatter(rows: Rows) -> str:
    """How many of the simulated tests err more often than chance explains."""
    table = calibration(rows)
    return in_words(int((table[["confirmed", "refuted"]].max(axis=1) > scatter()).sum()))


@fact
def worst_error(rows: Rows, argument: str) -> str:
    """Return the largest error of tests whose name has a word, such as ``exponential refuted``."""
    word, _, side = argument.rpartition(" ")
    table = calibration(rows)
    return f"{table[table['test'].str.contains(word)][side].max():.1%}"


@fact
def causes_measured(rows: Rows) -> str:
    """How many causes are in the table."""
    return str(len(rows.causes))


@fact
def largest_factor(rows: Rows, kind: str) -> str:
    """Return the largest factor of a kind of cause, from 1 upwards."""
    table = rows.causes[rows.causes["kind"] == kind]
    if table.empty:
        raise ValueError(f"there is no kind of cause {kind!r}; {nearest(kind, rows.causes['kind'].unique())}.")
    return f"{table['fold'].max():.1f}"


def switches(rows: Rows) -> pd.DataFrame:
    """Return what each single difference between text and code changes, as a factor of at least 1.

    Returns
    -------
    DataFrame
        ``study, series, panel, x, fold``: one line for each difference, algorithm and instance.
    """
    audits = ("adaptive", "baselines", "baselines_adaptive", "cars", "corner", "small", "sphere", "static")
    tables = [("gse", f"figures/gse/10_paper_against_code/audit_{name}", "accuracy") for name in audits]
    tables += [("gpoo", "figures/gpoo/05_paper_against_code/fig_audit", "mean over N = 10-80")]
    ratios = ("fig_audit_deviations", "fig_audit_lingame_alone")
    tables += [("linear_topm", f"figures/linear_topm/06_paper_against_code/{name}", "ratio of means") for name in ratios]
    found = []
    for study, name, statistic in tables:
        table = rows.read(name)
        table = table[table["statistic"] == statistic].assign(study=study)
        single = table[table["x"].notna() & ~table["x"].isin(["all", "all of these", "as coded"])]
        keys = ["panel", "series"]
        written = table[table["x"].isna()].set_index(keys)["value"]
        if study != "linear_topm":
            base = single.set_index(keys).index.map(written)
            single = single.assign(value=1.0 + single["value"].to_numpy() / base.to_numpy(dtype=float))
        found.append(single.assign(fold=single["value"].clip(lower=1e-3).map(lambda r: max(r, 1.0 / r))))
    return pd.concat(found, ignore_index=True)[["study", "series", "panel", "x", "fold"]]


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


def stands(rows: Rows) -> pd.DataFrame:
    """Return the readings of what one paper leaves open, with the shares of each verdict."""
    table = rows.read("results/oae/stands")
    total = table[["confirmed", "refuted", "open"]].sum(axis=1)
    return table.assign(**{word: table[word] / total for word in ("confirmed", "refuted", "open")})


@fact
def claims_read_again(rows: Rows) -> str:
    """How many claims were decided in drawn readings."""
    return in_words(len(stands(rows)))


@fact
def mostly_confirmed(rows: Rows) -> str:
    """How many claims are confirmed in most readings."""
    return in_words(int((stands(rows)["confirmed"] > 0.5).sum()))


@fact
def mostly_refuted(rows: Rows) -> str:
    """How many claims are refuted in most readings."""
    return in_words(int((stands(rows)["refuted"] > 0.5).sum()))


@fact
def reading(rows: Rows, argument: str) -> str:
    """Return in which share of its readings a claim has a verdict, such as ``OAE-C2a confirmed``."""
    identity, _, word = argument.partition(" ")
    table = stands(rows).set_index("claim")
    if identity not in table.index or word not in table:
        raise ValueError(f"there is no reading {argument!r}; {nearest(identity, table.index)}.")
    return f"{table.loc[identity, word]:.0%}"


@fact
def draws(rows: Rows) -> str:
    """How many draws of the open choices there are."""
    return str(int(stands(rows)["draws"].max()))


@fact
def deciding_choices(rows: Rows) -> str:
    """Return which choices matter most, for how many claims, the most frequent first."""
    counts = stands(rows)["factor_1"].dropna().value_counts()
    return ", ".join(f"{name.replace('_', ' ')} ({n})" for name, n in counts.items())


@fact
def share_closed(rows: Rows, change: str) -> str:
    """Which share of the gap between GSE and its best rival a change closes."""
    return f"{closed(rows, change):.0%}"


def closed(rows: Rows, change: str) -> float:
    """Return the share of the gap between GSE and its best rival, over all cells, that a change closes."""
    table, cells = "figures/gse/12_verdicts/tab_gap", {"panel": "every cell (39)"}
    gap = rows.number(table, {**cells, "series": "best GSE", "statistic": "gap"})
    return rows.number(table, {**cells, "series": change, "statistic": "closed"}) / gap


@fact
def with_caveat(rows: Rows) -> str:
    """How many of the papers' claims carry a caveat."""
    return str(rows.theirs[rows.theirs["caveat"].fillna("") != ""]["id"].nunique())


@fact
def abbreviations(rows: Rows) -> str:
    """Return the short names of the papers in the order of the text."""
    return ", ".join(abbreviation(study) for study in STUDIES)
