"""Titles of figures stand in the notebooks that draw them, and are true of the figures' CSV files."""

from collections.abc import Callable

import pandas as pd
import pytest
from titles import code_cells

from bestarm_lab.paths import FIGURES

TOPM = FIGURES / "linear_topm"
ONE, TWO, THREE, FOUR = "01_main_results", "02_classic_instances", "03_random_instances", "04_complexity_constants"
FIVE, SIX, SEVEN, EIGHT = "05_drug_simulator", "06_paper_against_code", "07_theory", "08_beyond"
LUCB, LINGAPE, LINGIFA = "LUCB (largest var.)", "m-LinGapE (optimized)", "LinGIFA (largest var.)"
WRITTEN, CODED, RATIO = "as_written", "as_coded", "ratio of means"


def drawn(notebook: str, name: str, statistic: str = "") -> pd.DataFrame:
    """Return the plotted values of a figure, or of one of its statistics."""
    table = pd.read_csv(TOPM / notebook / f"{name}.csv")
    return table[table["statistic"] == statistic] if statistic else table


def means(notebook: str, name: str) -> pd.Series:
    """Return mean pulls by convention, panel and series."""
    return drawn(notebook, name, "mean").set_index(["convention", "panel", "series"]).sort_index()["value"]


def order_of_figure_1() -> bool:
    found = means(ONE, "fig01")[WRITTEN]
    a, b, c = (found[panel] for panel in "abc")
    classical = a.index.str.startswith(("LUCB", "UGapE")), c.index.str.startswith("LUCB")
    return bool(
        a[~classical[0]].max() < a[classical[0]].min()
        and c[~classical[1]].max() < c[classical[1]].min()
        and b.drop("LinGame").min() > b["LinGame"]
    )


def ten_times_the_pulls() -> bool:
    found = means(TWO, "fig02").unstack("panel")
    return len(found) == 18 and bool((found["b"] > 10 * found["a"]).all())


def fewer_except_one() -> bool:
    found = means(THREE, "fig03").unstack("series")
    ratio = found[LINGAPE] / found[LINGIFA]
    alike = ratio.pop((WRITTEN, "m = 3"))
    return 0.97 < alike < 1.03 and len(ratio) == 3 and bool((ratio < 0.94).all())


def condition_of_table_4() -> bool:
    largest = drawn(FOUR, "ratios", "largest").set_index(["convention", "series"])["value"]
    lowest = drawn(FOUR, "ratios", "q1").set_index(["convention", "series"])["value"]
    return bool((largest[WRITTEN] < 1).all() and (lowest[CODED].drop("K=10, m=4, N=5") > 1).all())


def parts_of_the_network() -> bool:
    """Follow the interactions: every gene is reached from another of its part, and there are several parts."""
    pairs = [arrow.split(" → ") for arrow in drawn(FIVE, "fig04", "sign")["series"]]
    part = {gene: gene for pair in pairs for gene in pair}

    def root(gene: str) -> str:
        return gene if part[gene] == gene else root(part[gene])

    for source, target in pairs:
        part[root(source)] = root(target)
    return len({root(gene) for gene in part}) > 5


def separation_of_drugs() -> bool:
    table = drawn(FIVE, "fig05").query("panel == 'separation' and series == 'the ten drugs of the paper'")
    value = table.set_index(["convention", "statistic"])["value"]
    return bool(value[CODED, "mean"] > 3 * value[WRITTEN, "maximum"] and value[WRITTEN, "mean"] < 0.01)


def alike_on_the_drugs() -> bool:
    found = means(FIVE, "fig06")
    return all(part.max() / part.min() < 1.01 for _, part in found.groupby("convention"))


def stale_pair_and_lingame() -> bool:
    table = drawn(SIX, "fig_audit_deviations", RATIO)
    lingame = table["series"] == "LinGame"
    own = ["stale pair", "stop one pull late", "ρ = 1 in V", "index time + 1"]
    of_code = table[~lingame & table["x"].isin(own)]
    moved = set(of_code.loc[(of_code["value"] - 1).abs() > 0.02, "x"])
    return moved == {"stale pair"} and table[lingame].set_index("x")["value"]["without 1/σ²"] > 4


def like_for_like() -> bool:
    table = drawn(SIX, "fig_audit_lingame", RATIO)
    equal = table[table["x"].str.startswith(("heuristic : heuristic", "Eq. 2 : Eq. 2"))]
    return len(equal) == 8 and bool((equal["high"] < 1).all())


def steps_to_lingape() -> bool:
    table = drawn(SIX, "fig_audit_gain", RATIO)
    pairing = table[table["x"].str.removeprefix("× ") == "paired widths"]
    drugs = table[(table["panel"] == "1(c)") & ~table["x"].isin(["paired widths", "= all together"])]
    return (
        len(pairing) == 4
        and bool(pairing["value"].between(0.45, 0.51).all())
        and bool((drugs["value"].dropna() - 1).abs().max() < 0.001)
    )


def lost_events() -> bool:
    lost = drawn(SEVEN, "theory_event", "event failed").set_index("panel")["value"]
    proved, guess = (lost[lost.index.str.endswith(end)] for end in ("Eq. 2", "heuristic"))
    return bool((proved == 0).all()) and (round(guess.min(), 2), round(guess.max(), 2)) == (0.12, 0.48)


def slack_of_theorem_2() -> bool:
    slack = drawn(SEVEN, "theory_bound", "mean slack")["value"]
    return len(slack) == 16 and 4.5 < slack.min() < 6 and 45 < slack.max() < 55


def wrong_in_every_run() -> bool:
    errors = drawn(EIGHT, "beyond_misspecification", "error rate").query("x > 0.35")
    linear = errors[errors["series"] != LUCB]["value"]
    return len(linear) == 4 and bool((linear == 1.0).all())


def growth_of_pulls() -> bool:
    found = drawn(EIGHT, "beyond_growth", "mean").pivot(index=["panel", "x"], columns="series", values="value")
    arms, features = found.loc["b"], found.loc["c"]
    linear = [name for name in found if name != LUCB]
    return bool(
        arms[LUCB].loc[30:300].is_monotonic_increasing
        and (features[linear].loc[40] > 3 * features[linear].loc[5]).all()
        and (arms[linear].loc[300] < 1.6 * arms[linear].loc[30]).all()
        and features[LUCB].loc[40] < 1.6 * features[LUCB].loc[5]
    )


def artists() -> bool:
    table = drawn(EIGHT, "beyond_real")
    true = table[table["x"].str.contains("artists") & table["x"].str.endswith("true")]
    loss, pulls = (
        true[true["statistic"] == name].pivot(index="x", columns="series", values="value")
        for name in ("mean loss", "mean")
    )
    linear = [name for name in loss if name != LUCB]
    return all(bool((loss[name] > 10 * loss[LUCB]).all() and (pulls[name] < pulls[LUCB]).all()) for name in linear)


def tolerance_and_gap() -> bool:
    table = drawn(EIGHT, "beyond_settings")
    pulls = table[table["panel"] == "a"].pivot(index="x", columns="series", values="value")
    each = table[table["panel"] == "c"].pivot(index="x", columns="series", values="value")
    ranks = each.corr(method="spearman")["H(UGapE)"].drop("H(UGapE)")
    return bool((pulls.loc[0.2] < 0.2 * pulls.loc[0.0]).all() and (ranks > 0.9).all())


TITLES: list[tuple[str, str, Callable[[], bool]]] = [
    (
        ONE,
        "As written, m-LinGapE and LinGIFA need fewer pulls than LUCB and UGapE on (a) and (c), and more than LinGame "
        "on (b)",
        order_of_figure_1,
    ),
    (TWO, "Halving the angle multiplies the pulls of every algorithm by more than ten", ten_times_the_pulls),
    (
        THREE,
        "m-LinGapE needs fewer pulls than LinGIFA, except for m = 3 as written, where both need as many",
        fewer_except_one,
    ),
    (FOUR, "The condition always holds at the σ of the experiments, and seldom at σ = 1", condition_of_table_4),
    (FIVE, "The gene network falls into parts that do not touch each other", parts_of_the_network),
    (
        FIVE,
        "The recorded rewards separate the two kinds of drugs; random runs of the same network hardly do",
        separation_of_drugs,
    ),
    (FIVE, "The four linear algorithms need nearly the same number of pulls on the drugs", alike_on_the_drugs),
    (
        SIX,
        "Of the code's differences, only the stale pair and those of LinGame move the pulls by more than 2%",
        stale_pair_and_lingame,
    ),
    (
        SIX,
        "With equal thresholds and the right noise, m-LinGapE and LinGIFA need fewer pulls than LinGame",
        like_for_like,
    ),
    (
        SIX,
        "Pairing the widths halves LUCB's pulls without features; on the drugs nothing else saves any",
        steps_to_lingape,
    ),
    (
        SEVEN,
        "With Equation 2 no run loses the event; with the heuristic threshold 12 to 48% of the runs do",
        lost_events,
    ),
    (SEVEN, "On average the bound of Theorem 2 is five to fifty times the number of pulls", slack_of_theorem_2),
    (EIGHT, "Where the linear part has other best arms, linear algorithms are wrong in every run", wrong_in_every_run),
    (EIGHT, "The pulls of linear algorithms grow with the features; those of LUCB, with the arms", growth_of_pulls),
    (EIGHT, "With the true means of artists, linear algorithms stop early and lose more than LUCB", artists),
    (
        EIGHT,
        "A tolerance saves most pulls; for ε near 0 the gap after the m-th arm sets their number",
        tolerance_and_gap,
    ),
]


@pytest.mark.parametrize(("notebook", "title", "holds"), TITLES, ids=[title[:40] for _, title, _ in TITLES])
def test_titles_say_what_their_tables_say(notebook, title, holds):
    assert f'"{title}"' in " ".join(code_cells("linear_topm", notebook))
    assert holds()


def test_every_figure_with_numbers_has_a_title_that_is_tested():
    made = [file for folder in TOPM.iterdir() for file in folder.glob("*.png") if file.with_suffix(".csv").exists()]
    assert len(TITLES) == len(made)
