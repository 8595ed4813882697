"""When batch searches find a top arm: values, ratios, tables and figures on rows whose answer is known."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bestarm_lab.figures.values import share_interval
from bestarm_lab.paths import FIGURES, RESULTS
from bestarm_lab.study import load_study
from bestarm_studies.oae import first_hits as searches
from bestarm_studies.oae import values as library
from bestarm_studies.oae.batch_observer import n_good
from bestarm_studies.oae.checks import batch_limit, first_hit, first_tried
from bestarm_studies.oae.ensembles.figures import objective_ratios, objectives_figure, optimistic_shares
from bestarm_studies.oae.figures import _apart, hits_figure, networks_figure, scale_words, two_lines
from bestarm_studies.oae.fits.step_sizes import chosen_rates, rate_table, rates_after
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.network_fits import class_name, fit_rows, fit_values, fits_figure
from bestarm_studies.oae.problem.evolution import evolution_figure
from bestarm_studies.oae.series import DEFAULT_STEP_SIZES, STEP_SIZES
from bestarm_studies.oae.vanilla.figures import divergence_table, divergence_values
from bestarm_studies.oae.verdicts.figures import ratios_of_claims, verdict_counts


def made_rows(first: dict[str, list[int]], rounds: int = 10, name: str = "set") -> pd.DataFrame:
    """Return rows in which each run of a series finds rank 1 in a given round, and never if that is beyond the last."""
    frames = []
    for series, found in first.items():
        for replication, when in enumerate(found):
            number = np.arange(rounds + 1)
            frame = pd.DataFrame({"series": series, "replication": replication, "round": number, "pulls": 3 * number})
            frame["name"] = name
            frame["rank"] = np.where((number >= when) & (number > 0), 1.0, 500.0)
            frames.append(frame.assign(arm_count=1000.0, relative_regret=np.where(frame["rank"] == 1, 0.0, 0.5)))
    rows = pd.concat(frames, ignore_index=True)
    rows = rows.assign(convention="as_written", data="synthetic", reward=0.25, distance=1.0)
    return rows.assign(diverged=0.0, optimistic=1.0)


def test_good_arms_are_a_ceiling_and_at_least_one():
    """Top 1% of 1000 are 10, of 658 are 7; never none."""
    assert [n_good(0.01, 1000), n_good(0.01, 658), n_good(0.1, 1000), n_good(1e-6, 1000)] == [10, 7, 100, 1]


def test_first_hits_count_the_random_batch_and_censored_runs():
    """Round 1 is the random batch; a run that never hits counts as one more than there are rounds."""
    hits = searches.first_hits(made_rows({"A": [1, 4, 11]}))
    assert (hits["first"].tolist(), hits["censored"].tolist()) == ([1, 4, 11], [False, False, True])


def test_the_law_of_random_batches():
    """Hypergeometric; without an end the mean number of pulls until the first of k among n is (n + 1)/(k + 1)."""
    law = searches.random_survival(1000, 0.01, 3, 50)
    expected = [stats.hypergeom(1000, 10, min(3 * t, 1000)).pmf(0) for t in range(51)]
    np.testing.assert_allclose(law, expected, rtol=1e-9)
    assert searches.random_mean(1000, 0.01, 1, 1000) == pytest.approx(1001 / 11)
    assert searches.random_survival(10, 0.5, 4, 3).tolist()[-1] == 0.0


def test_diverged_runs_are_marked_and_broken_ones_enter_no_mean():
    """All rows of a broken run go, of that series alone; outputs beyond 10^4 are counted and averaged."""
    rows = made_rows({"A": [1, 9], "B": [2, 4]})
    where = (rows["replication"] == 1) & (rows["round"] == 3)
    rows.loc[where, "diverged"] = 1.0
    rows.loc[where & (rows["series"] == "A"), "optimistic"] = np.nan
    assert searches.marked_runs(rows).loc["B"].to_numpy().tolist() == [[False, False], [True, False]]
    assert searches.without_broken(rows).groupby("series")["replication"].nunique().to_dict() == {"A": 1, "B": 2}
    values = library.batches_until_top(rows, "set", "laptop", batch=3)
    counts = values[values["statistic"].str.endswith("runs") | values["statistic"].str.startswith("runs")]
    assert counts[["series", "statistic", "value"]].to_numpy().tolist() == [
        ["A", "runs beyond 10^4", 1],
        ["B", "runs beyond 10^4", 1],
        ["A", "broken runs", 1],
    ]
    means = values[(values["statistic"] == "batches") & (values["x"] == 0.01)].set_index("series")["value"]
    assert (means["A"], means[library.RANDOM_LAW]) == (1.0, pytest.approx(searches.random_mean(1000, 0.01, 3, 10)))


def test_counts_are_those_of_runs_without_early_end():
    """Every count and curve over quantiles is the same if runs end once an arm of the top 0.2% is seen."""
    rng = np.random.default_rng(3)
    frames = []
    for series, replication in itertools.product("AB", range(12)):
        ranks = np.minimum.accumulate(np.concatenate([[900], rng.integers(1, 150, 30)]))
        frame = pd.DataFrame({"series": series, "replication": replication, "round": range(31), "rank": ranks * 1.0})
        diverged, optimistic = rng.random(31) < 0.01, np.where(rng.random(31) < 0.01, np.nan, 1)
        frames.append(frame.assign(diverged=diverged, optimistic=optimistic))
    whole = pd.concat(frames, ignore_index=True).assign(name="set", arm_count=1000.0, relative_regret=0.5, reward=0.25)
    whole = whole.assign(convention="as_written", data="synthetic", distance=1.0)
    end = whole["round"].where((whole["rank"] <= 2) & (whole["round"] > 0))
    end = end.groupby([whole["series"], whole["replication"]]).transform("min")
    closing = whole[(whole["round"] == 30) & (end < 30)].assign(reward=np.nan, distance=np.nan, diverged=np.nan)
    kept = whole[~(whole["round"] > end)]
    early = pd.concat([kept, closing.assign(optimistic=np.nan)], ignore_index=True)
    assert len(early) < 0.95 * len(whole)
    for found in (
        lambda rows: library.batches_until_top(rows, "set", "laptop", batch=3),
        lambda rows: library.share_found(rows, "set", "laptop", batch=3),
        lambda rows: optimistic_shares({"set": rows}, "laptop"),
        lambda rows: first_hit(rows, {}),
    ):
        pd.testing.assert_frame_equal(found(early), found(whole))
    assert len(searches.whole_runs(whole)) == len(whole)
    assert len(searches.whole_runs(early)) == len(searches.whole_runs(kept)) == 0
    with pytest.raises(ValueError, match=r"tau must be between 0\.002, at which a search may end, and 1; got 0\.001"):
        searches.first_hits(early, 0.001)


def test_whole_runs_are_those_searched_on_by_design():
    """Of a series whose later runs may end, the first 25 count, not those of the others that never found."""
    rows = made_rows({"A": [11] * 40, "B": [11] * 40, "C": [11] * 40})
    late, found = rows["round"] > 4, {"B": range(30, 40), "C": range(20, 30)}
    ended = [late & (rows["series"] == s) & rows["replication"].isin(runs) for s, runs in found.items()]
    rows.loc[np.logical_or(*ended), "reward"] = np.nan
    counts = searches.whole_runs(rows).groupby("series")["replication"].agg(["nunique", "max"])
    assert counts.to_numpy().tolist() == [[40, 39], [25, 24]]


def test_intervals_of_batches_stay_among_the_numbers_of_batches():
    """Where most runs never find an arm a t-interval would pass the cap; the bootstrap's does not."""
    rows = made_rows({"A": [11] * 11 + [10], "B": [1] * 11 + [2]})
    mine = library.batches_until_top(rows, "set", "laptop", batch=3, taus=[0.01]).query("statistic == 'batches'")
    assert mine["high"].max() <= 11
    assert mine["low"].min() >= 1
    assert (mine["low"].dropna() <= mine.loc[mine["low"].notna(), "value"]).all()


def test_the_bootstrap_interval_covers_a_mean_and_repeats_itself():
    """Coverage over 300 samples of 25 from a geometric law: at least 90%; equal values give an equal interval."""
    samples = np.random.default_rng(2).geometric(0.2, (300, 25)).astype(float)
    covered = [low <= 5.0 <= high for low, high in map(library.bootstrap_interval, samples)]
    assert np.mean(covered) > 0.90 - 3 * np.sqrt(0.09 / 300)
    assert library.bootstrap_interval(samples[0]) == library.bootstrap_interval(samples[0].copy())


def test_the_share_of_runs_that_have_found_a_top_arm():
    """It rises to that of the runs that found one, with Wilson's interval; random batches by their law."""
    found = library.share_found(made_rows({"A": [1, 4, 11]}), "set", "laptop", batch=3)
    mine = found[found["series"] == "A"].set_index("x")
    assert mine.loc[[0, 1, 4, 10], "value"].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert mine.loc[4, ["low", "high"]].tolist() == pytest.approx(share_interval(2, 3))
    law = found[found["series"] == library.RANDOM_LAW]["value"].to_numpy()
    np.testing.assert_allclose(law, 1.0 - searches.random_survival(1000, 0.01, 3, 10))


def test_censored_runs_stand_in_the_table():
    table = library.hits_table(library.batches_until_top(made_rows({"A": [1, 4, 11]}), "set", "laptop", batch=3))
    assert "(1 of 3 never)" in table.loc[table["series"] == "A", "set"].item()


def test_methods_with_fewer_batches_are_not_counted_as_faster():
    """All are cut to the batches that all have: one that never finds counts one more than those."""
    short, long = made_rows({"A": [7, 9, 9, 8]}, rounds=5), made_rows({"B": [7, 8, 9, 9]}, rounds=10)
    values = library.batches_until_top(pd.concat([short, long]), "set", "laptop", batch=3, taus=[0.01])
    batches = values[values["statistic"] == "batches"].set_index("series")["value"]
    assert batches["A"] == batches["B"] == 6


def test_the_figure_shows_shares_law_and_who_never_found():
    """Two columns for each group; the law dotted in both; open markers where runs are censored."""
    rows = made_rows({"RandomBatch": [9, 11, 11], "Greedy": [1, 2, 3]})
    parts = [find(rows, "set", "laptop", batch=3) for find in (library.batches_until_top, library.share_found)]
    figure = hits_figure(pd.concat(parts), {"": ["RandomBatch", "Greedy"]}, title="Greedy is faster")
    share, batches = figure.axes
    assert [text.get_text() for text in share.texts] == ["2 never"]
    assert library.RANDOM_LAW in [line.get_label() for line in batches.lines]
    assert any(line.get_markerfacecolor() == "white" for line in batches.lines)
    assert "n = 3 runs" in figure.texts[1].get_text()
    assert figure.get_size_inches()[0] <= 8
    heights = _apart(np.array([0.0, 0.0, 0.5, 1.0, 1.0]), 0.1)
    assert (np.diff(heights) >= 0.1 - 1e-12).all()
    assert heights.max() <= 1.0


def test_networks_stand_in_rows_and_sets_of_arms_in_columns():
    rows = made_rows({"Greedy": [1, 2, 3], "MeanOpt": [4, 11, 9]})
    values = library.search_values({f"{network}: {name}": rows for network in "AB" for name in "xyz"}, "laptop")
    for part, label in (("batches", "top τ in %"), ("share", "batch")):
        figure = networks_figure(values, ["Greedy", "MeanOpt"], title="Greedy is faster", part=part)
        assert [axis.get_title(loc="left") for axis in figure.axes] == ["x", "y", "z", "", "", ""]
        assert [axis.get_xlabel() for axis in figure.axes] == [""] * 3 + [label] * 3
        assert figure.axes[3].get_ylabel().startswith("B\n")
    assert two_lines(values)["B: z"] == "B\nz"


def test_gains_in_reward_are_paired_and_stand_at_the_end_of_their_block():
    """Batches 2 and 3 are a block, 4 to 10 the next; the first batch is random and left out."""
    rows = made_rows({"Greedy": [11, 11, 11], "MeanOpt": [11, 11, 11]})
    noise = rows["replication"] * 1.0  # of both: it cancels
    block = rows["round"].map(lambda k: 100.0 if k <= 1 else 0.5 if k <= 3 else -0.25)
    rows = rows.assign(reward=noise + np.where(rows["series"] == "MeanOpt", block, 0.0))
    both = library.block_rewards(rows, "set", "laptop", ends=(3, 10))
    rewards = both[both["statistic"] == "reward"].set_index(["series", "x"])["value"]
    assert rewards["MeanOpt"].tolist() == pytest.approx([1.5, 0.75])
    assert rewards["Greedy"].tolist() == pytest.approx([1.0, 1.0])
    found = both[both["statistic"] == "gain in reward"]
    assert (found["series"].tolist(), found["x"].tolist()) == (["MeanOpt"] * 2, [3, 10])
    assert found[["value", "low", "high"]].to_numpy() == pytest.approx(np.array([[0.5] * 3, [-0.25] * 3]))


def test_objectives_are_compared_with_mean_opt_of_the_same_strength():
    """A ratio of means over the runs that both have."""
    first = {"MeanOpt 0.1": [2, 4, 6], "MaxOpt 0.1": [1, 2, 3], "HingePNorm 0.1": [4, 8]}
    values = objective_ratios({"A: x": made_rows(first)}, ["MaxOpt", "HingePNorm"], [0.1], "laptop")
    table = values.set_index("series")
    assert (table["value"].tolist(), table["n"].tolist()) == (pytest.approx([0.5, 2.0]), [3, 2])
    assert table["low"].tolist() == pytest.approx([0.5, 2.0])
    assert objectives_figure(values, title="MaxOpt is faster").axes[0].get_title(loc="left") == "A\nx"


def _fit(series, panel, errors):
    """Return rows of fits whose last error over the variance is ``errors``, one for each step size."""
    lines = [(rate, error, n) for rate, error in zip((0.001, 0.003, 0.01), errors, strict=True) for n in range(3)]
    rows = pd.DataFrame(lines, columns=["learning_rate", "mse", "replication"])
    return rows.assign(series=series, panel=panel, x=200, var=1.0)


def test_the_step_size_is_that_of_the_lowest_mean_rank_over_the_sets_that_a_class_searches():
    errors = ([9, 1, 2], [3, 1, 2], [2, 1, 3], [1, 2, 3])
    hills = [_fit("NN 300-100", name, found) for name, found in zip(LANDSCAPES, errors, strict=True)]
    other = _fit("NN 300-100", "BikeSharingDay", [0.1, 9.0, 0.01])  # the class is not searched there
    chosen = chosen_rates(pd.concat([*hills, other]))
    assert chosen["mean_rank"].tolist() == [2.25, 1.25, 2.5]
    assert chosen["chosen"].tolist() == [False, True, False]
    broken = _fit("linear", "BlogFeedback", [np.nan, 5.0, 5.0])  # a tie goes to the larger step
    assert chosen_rates(broken)["chosen"].tolist() == [False, False, True]
    table = rate_table(rates_after(pd.concat(hills), (200, 5000)))
    assert table.loc[0, "200 steps of 0.003"] == "**1.25**"
    assert "5000 steps of 0.003" not in table


@pytest.mark.parametrize(
    ("files", "used"), [(["fits_synthetic", "fits_uci"], STEP_SIZES), (["random_fits_synthetic"], DEFAULT_STEP_SIZES)]
)
def test_the_step_sizes_of_the_searches_are_those_of_the_rule(files, used):
    """With random biases only landscapes are searched, and by networks alone."""
    rows = pd.concat(pd.read_parquet(RESULTS / "oae" / f"{name}.parquet") for name in files)
    if used is DEFAULT_STEP_SIZES:
        rows = rows[rows["series"] != "linear"]
    for steps, sizes in ((5000, used.long), (200, used.short)):
        rates = rates_after(rows, (steps,), on_lines=used is DEFAULT_STEP_SIZES)
        found = rates[rates["chosen"]].set_index("series")["learning_rate"].to_dict()
        assert found == {class_name(hidden): rate for hidden, rate in sizes.items()}


def test_fits_of_a_line_and_of_a_network():
    """A line has no curve to fit with: NN 10-5 fits one hill better than the linear class."""
    problems = {"OneHillValleyOneDim": partial(landscape, "OneHillValleyOneDim", n_arms=60)}
    rows = fit_rows(problems, [[], [10, 5]], [0.001, 0.01], [1, 100, 300], 300, 3, 7)
    assert rows.groupby(["series", "learning_rate", "replication"]).size().unique().tolist() == [3]
    values = fit_values(rows, "laptop", {"linear": 0.01, "NN 10-5": 0.01})
    last = values[values["x"] == 300].set_index("series")["value"]
    assert last["NN 10-5"] < 0.5 * last["linear"]
    assert (values["low"] <= values["value"]).all()
    assert fits_figure(values, title="Networks fit").axes[0].get_title(loc="left") == "OneHillValleyOneDim"


def test_the_picture_of_an_evolution_has_a_panel_for_each_landscape_and_round():
    panels = [(name, "response") for name in LANDSCAPES]
    panels += [(f"round {k}: {k} of 4 hills", s) for k in range(1, 5) for s in ("model", "pulled")]
    values = pd.DataFrame([{"panel": p, "statistic": s, "x": x, "value": 0.1 * x} for p, s in panels for x in range(3)])
    figure = evolution_figure(values, title="Hills are found one after the other")
    assert len(figure.axes) == 8
    assert all(axis.get_title(loc="left") for axis in figure.axes)


def test_divergence_is_the_share_of_fits_and_the_last_round():
    rows = made_rows({"Greedy": [11, 11], "RandomBatch": [11, 11]})
    diverged = (rows["series"] == "Greedy") & rows["round"].between(2, 4) & (rows["replication"] == 0)
    rows["diverged"] = diverged.astype(float)
    values = divergence_values({"hill": rows}, "smoke")
    share = values[values["statistic"] == "share of fits"].iloc[0]
    n = int(((rows["round"] > 1) & (rows["series"] == "Greedy")).sum())
    assert (share["value"], share["n"]) == (pytest.approx(3 / n), n)
    said = f"{300 / n:.2g}% in 1 run, last after 3"
    assert divergence_table(values).to_dict("list") == {"series": ["Greedy"], "hill": [said]}


def test_random_batches_are_compared_by_their_exact_mean():
    rows = made_rows({"RandomBatch": [1, 11, 11], "Greedy": [1, 2, 3]})
    found = first_hit(rows, {})
    arms, last = int(rows["arm_count"].iloc[0]), int(rows["round"].max())
    assert found["RandomBatch"].tolist() == pytest.approx([searches.random_mean(arms, 0.01, 3, last)] * 3)
    assert (found["Greedy"].tolist(), batch_limit(rows)) == ([1.0, 2.0, 3.0], last + 1)


def test_arms_that_were_tried_count_though_others_look_better():
    rows = made_rows({"Greedy": [11]}).assign(tried=lambda r: np.where(r["round"] == 4, 1, 900))
    assert first_tried(rows, {})["Greedy"].tolist() == [4.0]
    assert first_hit(rows, {})["Greedy"].tolist() == [11.0]


def test_rows_of_a_set_take_a_series_from_the_first_table_that_has_it():
    first = pd.DataFrame({"name": ["hill", "hill"], "series": ["random", "plain"], "value": [1, 2]})
    second = pd.DataFrame({"name": ["hill", "hills"], "series": ["random", "random"], "value": [3, 4]})
    found = library.by_set(first, second, pd.DataFrame({"series": ["plain"], "value": [5]}))
    expected = {"hill": [1, 2], "hills": [4], "BlogFeedback": [5]}
    assert {name: rows["value"].tolist() for name, rows in found.items()} == expected
    assert library.by_set(first, series=["plain"])["hill"]["value"].tolist() == [2]


def test_the_scale_names_only_what_the_series_have_and_every_cut():
    large, small = load_study("oae").experiments["synthetic_100_10"], load_study("oae").experiments["sequential_100_10"]
    assert scale_words([(large, "paper")], ["Greedy"]) == "the paper's own scale: 5000 training steps, 150 batches"
    cut = "200 training steps (paper: 5000), 20 batches (paper: 150)"
    assert scale_words([(large, "laptop"), (small, "laptop")], ["MeanOpt 0.1", "SeqB 0.1"]) == cut
    assert scale_words([(large, "laptop")], ["Ensemble"]).endswith("ensembles of 5 (paper: 10)")


def test_verdicts_for_the_score():
    verdicts = pd.DataFrame({"verdict": ["mixed", "undecided", "confirmed"], "kind": ["test", "test", "exact"]})
    verdicts = verdicts.assign(scale=["paper", "laptop", np.nan], ours=[np.nan, np.nan, "control"])
    score = verdict_counts(verdicts).set_index("decided")
    assert score.to_numpy().sum() == 2, "the project's own statements do not count"
    assert score.loc["at the paper's own scale", "mixed"] == 1
    line = {"ours": "", "kind": "test", "verdict": "not run", "scale": "laptop"}  # decided at no scale
    assert verdict_counts(pd.DataFrame([line])).to_dict("records") == [{"decided": "not at all", "not run": 1}]


def test_a_ratio_is_that_of_means_over_the_runs_that_both_have():
    rows = made_rows({"A": [2, 4, 6], "B": [4, 8, 10, 1]})
    found = library.batch_ratios({"hill": rows}, {"A": ("A", "B"), "C": ("C", "B")}, "paper", panel="NN")
    (line,) = found.to_dict("records")
    assert line["value"] == pytest.approx(12 / 22)
    assert line["low"] < line["value"] < line["high"]
    assert (line["panel"], line["series"], line["x"], line["n"], line["data"]) == ("NN", "A", "hill", 3, "synthetic")


def test_ratios_of_claims_are_sorted_by_class_and_named_by_set():
    where = ["bikes_linear: name = Day", "synthetic_10_5: name = Hill", "blogs_100_10", "fitted_10_5: name = Day"]
    table = pd.DataFrame({"comparison": [f"{cell}, best of M 1, M 2 against RandomBatch" for cell in where]})
    table = table.assign(id=["C1", "C1", "C1", "C2"], convention="as_written", effect=0.5, low=0.4, high=0.6, n=25)
    found = ratios_of_claims(table, {"C1": "", "C2": ", fitted"}, "paper")
    assert found[["series", "x", "data"]].to_numpy().tolist() == [
        ["NN 10-5", "Hill", "synthetic"],
        ["NN 10-5", "Day, fitted", "fitted"],
        ["NN 100-10", "BlogFeedback", "real"],
        ["linear", "Day", "real"],
    ]
    assert set(found["panel"]) == {"random batches"}


@pytest.mark.parametrize(
    ("file", "panel", "claims"),
    [
        ("07_diversity/gains", "NN 10-5", ["OAE-C54a"]),
        ("08_sequential/gains", "NN 10-5", ["OAE-C60a"]),
        ("08_sequential/gains", "NN 100-10", ["OAE-C60b"]),
        ("08_sequential/gains_tables", "NN 100-10", ["OAE-C61", "OAE-C62"]),
    ],
)
def test_ratios_that_are_drawn_are_those_behind_the_verdicts(file, panel, claims):
    drawn = pd.read_csv(FIGURES / "oae" / f"{file}.csv").query("panel == @panel")
    decided = pd.read_csv(RESULTS / "oae" / "comparisons.csv").query("id in @claims and convention == 'as_written'")
    ours, theirs = drawn[["value", "low", "high"]], decided[["effect", "low", "high"]]
    np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0), rtol=1e-4)
