"""Sentences and titles of GSE's notebooks that take more than their `quoted.yaml` can say."""

import pandas as pd
from prose import prose
from titles import titled

from bestarm_lab.claims.robustness import KINDS, summary
from bestarm_lab.results import read_robustness

FORMS = ["GSE-Lin", "GSE-Lin-FWG", "GSE-Lin-Greedy", "GSE-Lin-Wynn"]
ONE_MODEL = ["LinUCB", "LinGapE", "LinGapE-Greedy", "BayesGap-Lin"]  # rivals with one linear model of all rewards


def test_what_claims_become_under_open_choices():
    text, found = prose("gse", "12_verdicts"), read_robustness("gse").query("kind == 'choice'")
    table = summary(found).set_index("claim")
    for claim, said in (("GSE-C1", "under all {} of its choices (GSE-C1)"), ("GSE-C36a", "under all {} (GSE-C36a)")):
        assert table.loc[claim, "refuted"] == table.loc[claim, "choices"]
        assert said.format(table.loc[claim, "choices"]) in text
    assert table.loc["GSE-C1", "most"] <= 39 / 3  # the third of its cells or fewer
    none, changed = (table["confirmed"] == 0).sum(), (table["differs"] != "").sum()
    said = f"Of {len(table)} claims {none} are confirmed under none of their choices, and {changed} change under"
    assert said in text
    kinds = found[["word_then", "word"]].apply(lambda words: words.map(KINDS).fillna("open"))
    assert found.loc[kinds["word_then"] != kinds["word"], "claim"].is_unique  # "under one"
    (newly,) = found[(kinds["word_then"] == "confirmed") & (kinds["word"] == "open")].to_dict("records")
    assert (newly["claim"], newly["choice"]) == ("GSE-C12d", "α of LinUCB by its theory")


def cells(values: pd.DataFrame, statistic: str, convention: str = "as_written", column: str = "value") -> pd.DataFrame:
    """Return one statistic with a line for each panel and x, and a column for each series."""
    mine = values[(values["statistic"] == statistic) & (values["convention"] == convention)]
    return mine.pivot(index=["panel", "x"], columns="series", values=column)


def at(table: pd.DataFrame, *xs: float) -> pd.DataFrame:
    return table[table.index.get_level_values("x").isin(xs)]


@titled(
    "gse/01_problem/tuning",
    "The risk of LinGapE hardly matters, LinUCB gains by much exploration, and BayesGap-M depends on its kernel",
)
def test_what_settings_do(values: pd.DataFrame) -> bool:
    span = values.groupby(["panel", "series"])["value"].agg(lambda v: v.max() - v.min()).unstack()
    of_ucb = values[values["panel"] == "LinUCB"]
    first = of_ucb.loc[of_ucb.groupby("series")["x"].idxmin()].set_index("series")["value"]
    best = of_ucb.loc[of_ucb.groupby("series")["value"].idxmax()].set_index("series")
    return bool(
        (span.loc["LinGapE-Greedy"].dropna() < 0.04).all()
        and (best["value"] - first > 0.1).all()
        and (best["x"] > 2).all()
        and (span.loc["BayesGap-M"] > 0.05).sum() >= 4
    )


@titled(
    "gse/05_randomised/fig03",
    "As written, from K = 16 to 128 rivals that keep all rewards in one linear model gain far more than GSE",
)
def test_rivals_with_one_model_gain_most(values: pd.DataFrame) -> bool:
    written = cells(values, "accuracy")
    gain = at(written, 128).droplevel("x") - at(written, 16).droplevel("x")
    return bool((gain[ONE_MODEL].min(axis=1) > 2 * gain[FORMS].max(axis=1)).all())


@titled("gse/09_theory/theory_bounds", "The printed bounds fall below 1 only where errors have become rare")
def test_printed_bounds(values: pd.DataFrame) -> bool:
    """Where a printed bound first falls below 1, fewer than one run in a hundred goes wrong."""
    error = values[values["statistic"] == "error"].set_index(["panel", "series", "x"])["value"]
    printed = values[values["statistic"].str.fullmatch(r"Equation \d") & (values["value"] < 1)]
    first = printed.groupby(["statistic", "panel", "series"])["x"].min().reset_index()
    met = error.reindex(pd.MultiIndex.from_frame(first[["panel", "series", "x"]]))
    return bool(len(first) == 8 and (met < 0.01).all())
