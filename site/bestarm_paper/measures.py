"""Measures: what the paper counts over many rows, for its facts, its predicates and its figures."""

from __future__ import annotations

import pandas as pd
from scipy import stats

from bestarm_lab.claims.robustness import HOLM, MARGINS, summary
from bestarm_lab.claims.robustness import VERDICTS as READ
from bestarm_lab.claims.verdicts import LEVEL, VERDICTS
from bestarm_lab.yaml_keys import nearest
from bestarm_paper.rows import RUNS, STUDIES, Rows

SIMULATED = 400  # claims behind each line of the table of calibration
SMALL_CHANGE = 1.05  # a factor up to which a difference between text and code is called small
NOT_OF_THE_CODE = {  # changes in the audits that are several at once, or ours and no difference between text and code
    *("all", "all of these", "all but exact comparisons", "as coded"),
    *("identity features", "individual widths", "initial pulls", "no initial pulls", "paired widths", "λ as printed"),
    *("paired widths without features", "Eq. 2"),
    *("exact budgets", "α of the paper", "solved to the optimum"),
}


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


def tested(rows: Rows, run: str) -> pd.DataFrame:
    """Return the verdicts by tests on the papers' claims in one run."""
    table = rows.theirs[(rows.theirs["kind"] == "test") & (rows.theirs["convention"] == RUNS[run])]
    return table[table["verdict"] != "not run"]


def turned_pairs(both: pd.DataFrame) -> pd.DataFrame:
    """Return the claims that are confirmed as one of text and code and refuted or mixed as the other."""
    against = ("refuted", "mixed")
    ways = [("as_written", "as_coded"), ("as_coded", "as_written")]
    found = [(both[a] == "confirmed") & both[b].isin(against) for a, b in ways]
    return both[found[0] | found[1]]


def n_moved(rows: Rows, change: str) -> int:
    """Return how many verdicts on tested claims another margin or Holm's rule changes."""
    changes = {"halved": ["margin halved"], "doubled": ["margin doubled"], "either": [*MARGINS], "holm": [HOLM]}
    if change not in changes:
        raise ValueError(f"there is no change {change!r}; {nearest(change, list(changes))}.")
    table = rows.moved[rows.moved["choice"].isin(changes[change])]
    return len(table[table["word"] != table["word_then"]].drop_duplicates(["claim", "convention"]))


def with_margin(rows: Rows) -> pd.DataFrame:
    """Return the verdicts whose margin can be halved: that of "ahead" is zero."""
    return rows.moved[rows.moved["choice"] == "margin halved"]


def calibration(rows: Rows) -> pd.DataFrame:
    """Return the simulated error rates as shares: ``test, confirmed, refuted``."""
    table = rows.read("docs/verdicts.md")
    rates = [table[f"falsely {word}"].str.rstrip("%").astype(float) / 100 for word in ("confirmed", "refuted")]
    return pd.DataFrame({"test": table["test"], "confirmed": rates[0], "refuted": rates[1]})


def scatter() -> float:
    """Return the rate that 97.5% of simulated tables do not exceed if the true rate is that of one side."""
    return float(stats.binom.ppf(1 - LEVEL / 2, SIMULATED, LEVEL / 2)) / SIMULATED


def switches(rows: Rows) -> pd.DataFrame:
    """Return what each single difference between text and code changes, as a factor of at least 1.

    Returns
    -------
    DataFrame
        ``study, series, panel, x, fold``: one line for each difference, algorithm and instance.
    """
    tables = [
        ("gse", "figures/gse/10_paper_against_code/tab_audit", "accuracy"),
        ("gpoo", "figures/gpoo/05_paper_against_code/fig_audit", "mean over N = 10-80"),
        ("linear_topm", "figures/linear_topm/06_paper_against_code/fig_audit_deviations", "ratio of means"),
    ]
    found = []
    for study, name, statistic in tables:
        table = rows.read(name)
        table = table[table["statistic"] == statistic].assign(study=study)
        single = table[table["x"].notna() & ~table["x"].isin(NOT_OF_THE_CODE)]
        single = single[~single["x"].str.contains(", ")]  # several at once
        keys = ["panel", "series"]
        written = table[table["x"].isna()].set_index(keys)["value"]
        if study != "linear_topm":
            base = written.reindex(pd.MultiIndex.from_frame(single[keys])).to_numpy(dtype=float)
            single = single.assign(value=1.0 + single["value"].to_numpy() / base)
        found.append(single.assign(fold=single["value"].clip(lower=1e-3).map(lambda r: max(r, 1.0 / r))))
    return pd.concat(found, ignore_index=True)[["study", "series", "panel", "x", "fold"]]


def reading_shares(rows: Rows) -> pd.DataFrame:
    """Return in which share of the drawn readings of one paper each claim is confirmed, refuted and open."""
    table = summary(drawn(rows)).set_index("claim")
    return table[[*READ]].div(table["choices"], axis="index")


def drawn(rows: Rows) -> pd.DataFrame:
    """Return the claims of one paper in every draw of what it leaves open."""
    return rows.robustness[(rows.robustness["study"] == "oae") & (rows.robustness["kind"] == "draw")]


def closed(rows: Rows, change: str) -> float:
    """Return the share of the gap between GSE and its best rival, over all cells, that a change closes."""
    table, cells = "figures/gse/12_verdicts/tab_gap", {"panel": "every cell (39)"}
    gap = rows.number(table, {**cells, "series": "best GSE", "statistic": "gap"})
    return rows.number(table, {**cells, "series": change, "statistic": "closed"}) / gap
