"""Numbers that the DPP-BBO notebooks quote are those of the published tables, rows and verdicts."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from prose import prose, quote

from bestarm_lab.results import committed_rows, read_verdicts
from bestarm_studies.dpp_bbo.theory_values import two_stage_bounds
from bestarm_studies.dpp_bbo.values import RIVALS, differences, variance_shares, with_batches

STUDY, SAMPLE = "dpp_bbo", "UCB-DPP-SAMPLE"
quoted = partial(quote, STUDY)


def end(series: str, panel: str, x: int) -> dict[str, object]:
    return {"series": series, "panel": panel, "x": x, "statistic": "median"}


QUOTED = [
    quoted(
        "03_synthetic", "stays where it is, with a median of {:.2f}", "fig01", end("LP-UCB", "Hartmann-6, B = 5", 30)
    ),
    quoted(
        "05_abalone",
        "a regret of {:.2f} is that of the snails with 27 rings",
        "fig04",
        end("GP-BUCB", "Abalone, B = 5", 30),
    ),
    quoted("05_abalone", "All seven end at {:.2f}", "fig04", end("UCB-DPP-SAMPLE", "Abalone, B = 10", 20)),
]


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()


def rows(name: str) -> pd.DataFrame:
    found = committed_rows(STUDY, name, "laptop")
    assert found is not None
    return found


def test_the_counts_of_the_comparisons_on_synthetic_functions():
    panels = {
        name: with_batches(rows(name))
        for name in (f"{figure}_b{b}" for figure in ("fig1_branin", "fig1_hartmann", "fig3_cosines") for b in (5, 10))
    }
    lines = {s: {r: (s, r) for r in RIVALS} for s in ("UCB-DPP-SAMPLE", "EST-DPP-SAMPLE")}
    found = differences(panels, lines, "log_regret", "laptop")
    better = (found["high"] < 0).groupby(found["x"]).sum()
    assert better.to_dict() == {"B-EST": 0, "EST-DPP-MAX": 1, "GP-BUCB": 0, "LP-UCB": 0, "UCB-DPP-MAX": 6}
    said = "in six with UCB-DPP-MAX and in one with EST-DPP-MAX, and in none with GP-BUCB, B-EST or LP-UCB"
    assert said in prose(STUDY, "03_synthetic")


def test_the_walks():
    speeds = rows("walker_table")["speed"]
    text = prose(STUDY, "04_walker")
    assert f"It starts at {(speeds == 0).mean():.1%}" in text
    assert f"faster than {speeds.median():.2f} m/s" in text
    first = rows("walker_table")[["a01", "speed"]].corr("spearman").iloc[0, 1]
    assert f"rank correlation of {first:.2f}" in text


def test_the_slopes_of_the_robot():
    slopes = rows("slopes").query("series == 'robot'")["slope"]
    said = f"largest slope of {slopes.max():.1f} and a median slope of {slopes.median():.2f}"
    assert said in prose(STUDY, "04_walker")


def test_the_grid_of_fastxml():
    tables = [rows(f"fastxml_{name}") for name in ("bibtex", "delicious")]
    text = prose(STUDY, "06_fastxml")
    ranges = [f"{t['p1'].max() - t['p1'].min():.2f}" for t in tables]
    assert f"by {ranges[0]} and {ranges[1]} over the grid" in text
    shares = [f"{variance_shares(t)['trees']:.0%}" for t in tables]
    assert f"explains {shares[0]} and {shares[1]} of its variance" in text


def test_how_often_sampling_ends_near_the_best_of_the_grid():
    shares = []
    for name in ("fig2_bibtex_b5", "fig5_delicious_b5"):
        mine = with_batches(rows(name)).query("batch == 30 and series == 'UCB-DPP-SAMPLE'")
        shares.append(f"{(mine['candidate_regret'] <= 0.002).mean():.0%}")
    assert f"UCB-DPP-SAMPLE in {shares[0]} and {shares[1]}" in prose(STUDY, "06_fastxml")


def test_the_share_of_runs_that_open_the_oldest_snail():
    found = []
    for batch in (5, 10):
        mine = with_batches(rows(f"fig4_abalone_b{batch}"))
        last = mine[mine["batch"] == mine["batch"].max()]
        found.append((last["best_regret"] < 1e-3).groupby(last["series"]).mean())
    shares = pd.concat(found)
    assert f"between {shares.min():.0f} and {shares.max():.2f}" in prose(STUDY, "05_abalone")
    assert np.allclose(shares["random"], 0.04)


def test_the_score():
    table = read_verdicts(STUDY)
    assert isinstance(table, pd.DataFrame)
    counts = table.loc[table["ours"].isna(), "verdict"].value_counts()
    text = prose(STUDY, "08_verdicts")
    said = (
        f"Of the paper's {counts.sum()} claims {counts['confirmed']} are confirmed and {counts['refuted']} are refuted"
    )
    assert f"{said}; {counts['undecided']} are undecided" in text


def test_the_lemmas():
    mine = rows("theory_lemmas").query("series == 'UCB-DPP-SAMPLE'")
    text = prose(STUDY, "07_theory")
    assert f"violates it for {mine['lemma_6_4'].mean():.2f} of the pairs" in text
    assert f"the left side of the second is {mine['lemma_6_7'].mean():.2f} times the right one" in text
    failed = [(mine[lemma] > 1.0).mean() for lemma in ("lemma_6_5", "lemma_6_7")]
    assert "Lemmas 6.5 and 6.7 fall with it, in {:.0%} and {:.0%} of the runs".format(*failed) in text


def test_the_first_stage():
    """Regret before and after it, beside that of the searches without one, and what the bound says."""
    found, text = rows("theory_two_stage"), prose(STUDY, "07_theory")
    first, after = found["first_regret"].mean(), found["regret"] - found["first_regret"]
    assert f"there are {found['first_stage'].max()} evaluations, which cost a regret of {first:.0f}" in text
    means = after.groupby(found["series"]).mean()
    assert f"the 100 after them {means['GP-BUCB']:.1f} with GP-BUCB and {means['B-EST']:.1f} with B-EST" in text
    without = rows("theory_lemmas").groupby("series")["regret"].mean()
    assert f"100 evaluations cost {without['GP-BUCB']:.1f} and {without['B-EST']:.0f} in all" in text
    bounds = two_stage_bounds(found)
    assert (bounds["regret"] <= bounds["bound"]).all()
    assert f"at least {(bounds['bound'] / bounds['trivial']).min():.2f} times the regret of the worst arms" in text
    assert round(found["regret"].mean() / without["GP-BUCB"]) == 14


def test_the_time_of_a_batch():
    times, text = rows("batch_times"), prose(STUDY, "07_theory")
    seconds = (times["fit"] + times["choice"]).groupby([times["grows"], times["x"], times["series"]]).median()

    def ratio(grows: str, low: int, high: int, series: str) -> str:
        return f"{seconds[grows, high, series] / seconds[grows, low, series]:.1f}"

    ours, peer = (seconds["candidates", 2048, series] for series in (SAMPLE, "qLogNEI"))
    assert f"takes {1e3 * ours:.1f} ms, and qLogNEI {peer:.2f} s, {peer / ours:.0f} times as long" in text
    grown = [ratio("candidates", 512, 8192, series) for series in (SAMPLE, "qLogNEI")]
    assert f"by a factor of {grown[0]}, the other of {grown[1]}" in text
    grown = [ratio("B", 2, 20, series) for series in (SAMPLE, "qLogNEI")]
    assert f"to twenty by {grown[0]} and {grown[1]}" in text
    first, last = (1e3 * seconds["T", t, SAMPLE] for t in (5, 40))
    assert f"from {first:.1f} to {last:.1f} ms" in text
    assert f"from {seconds['T', 5, 'qLogNEI']:.2f} to {seconds['T', 40, 'qLogNEI']:.2f} s" in text
