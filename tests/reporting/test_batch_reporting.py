"""Summaries, claims and figures of batch searches, on rows whose answers are known."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bestarm.experiments.definitions import ledger
from scipy import stats

from bestarm.policies.oae import Oae
from bestarm.reporting import oae_claims
from bestarm.reporting.batch_claims import BATCH_TESTS, best_of_others, describe_batches, divergence, measured
from bestarm.reporting.batch_figures import fits_figure, look, panels
from bestarm.reporting.batch_summaries import (
    RANDOM_LAW,
    first_hits,
    hits_table,
    marked_runs,
    n_good,
    random_mean,
    random_survival,
    summarise_fits,
    summarise_found,
    summarise_hits,
    summarise_rewards,
    without_broken,
)
from bestarm_studies.oae.checks import variant_map, variant_verdicts
from bestarm_studies.oae.evolution import evolution_rows
from bestarm_studies.oae.evolution_figure import evolution_figure, evolution_values
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.network_fits import chosen_rates, fit_rows


def made_rows(first: dict[str, list[int]], rounds: int = 10, name: str = "set") -> pd.DataFrame:
    """Return rows in which each run of a series finds rank 1 in a given round, and never if that is beyond the last."""
    frames = []
    for series, found in first.items():
        for replication, when in enumerate(found):
            number = np.arange(rounds + 1)
            frame = pd.DataFrame({"series": series, "replication": replication, "round": number, "name": name})
            frame["rank"] = np.where((number >= when) & (number > 0), 1.0, 500.0)
            frames.append(frame.assign(arm_count=1000.0, relative_regret=np.where(frame["rank"] == 1, 0.0, 0.5)))
    rows = pd.concat(frames, ignore_index=True)
    rows = rows.assign(convention="as_written", data="synthetic", reward=0.25, distance=1.0, seconds=1.0)
    return rows.assign(diverged=0.0, optimistic=1.0)


def test_good_arms_are_a_ceiling_and_at_least_one():
    """Top 1% of 1000 are 10, of 658 are 7; never none."""
    assert [n_good(0.01, 1000), n_good(0.01, 658), n_good(0.1, 1000), n_good(1e-6, 1000)] == [10, 7, 100, 1]


def test_first_hits_count_the_random_batch_and_censored_runs():
    """Round 1 is the random batch; a run that never hits counts as one more than there are rounds."""
    hits = first_hits(made_rows({"A": [1, 4, 11]}))
    assert hits["first"].tolist() == [1, 4, 11]
    assert hits["censored"].tolist() == [False, False, True]


def test_the_law_of_random_batches():
    """Hypergeometric; without an end the mean number of pulls until the first of k among n is (n + 1)/(k + 1)."""
    law = random_survival(1000, 0.01, 3, 50)
    expected = [stats.hypergeom(1000, 10, min(3 * t, 1000)).pmf(0) for t in range(51)]
    np.testing.assert_allclose(law, expected, rtol=1e-9)
    assert random_mean(1000, 0.01, 1, 1000) == pytest.approx(1001 / 11)
    assert random_survival(10, 0.5, 4, 3).tolist()[-1] == 0.0


def test_diverged_runs_are_marked_and_broken_ones_enter_no_mean():
    """All rows of a broken run go, of that series alone; outputs beyond 10^4 are counted and averaged."""
    rows = made_rows({"A": [1, 9], "B": [2, 2]})
    where = (rows["replication"] == 1) & (rows["round"] == 3)
    rows.loc[where, "diverged"] = 1.0
    rows.loc[where & (rows["series"] == "A"), "optimistic"] = np.nan
    assert marked_runs(rows).loc["B"].to_numpy().tolist() == [[False, False], [True, False]]
    kept = without_broken(rows)
    assert kept.groupby("series")["replication"].nunique().to_dict() == {"A": 1, "B": 2}
    values = summarise_hits(rows, "set", "laptop", batch=3)
    counts = values[values["statistic"].str.endswith("runs") | values["statistic"].str.startswith("runs")]
    assert counts[["series", "statistic", "value"]].to_numpy().tolist() == [
        ["A", "runs beyond 10^4", 1], ["B", "runs beyond 10^4", 1], ["A", "broken runs", 1],
    ]  # fmt: skip
    means = values[(values["statistic"] == "batches") & (values["x"] == 0.01)].set_index("series")["value"]
    assert means["A"] == 1.0
    assert means[RANDOM_LAW] == pytest.approx(random_mean(1000, 0.01, 3, 10))


def test_rewards_shares_and_tables():
    """One row a batch; the share found rises to that of the runs that found; censored runs stand in the table."""
    rows = made_rows({"A": [1, 4, 11]})
    rewards = summarise_rewards(rows, "set", "laptop")
    assert rewards.loc[rewards["statistic"] == "reward", "value"].tolist() == [0.25] * 10
    found = summarise_found(rows, "set", "laptop")
    assert found["value"].iloc[[0, 3, 9]].tolist() == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    table = hits_table(summarise_hits(rows, "set", "laptop", batch=3))
    assert "(1 of 3 never)" in table.loc[table["series"] == "A", "set"].item()


def test_the_best_of_several_is_chosen_by_the_other_runs():
    """Every run's own value has no vote: with two runs each takes the series that was best in the other."""
    table = pd.DataFrame({"M 1": [1.0, 9.0], "M 2": [5.0, 2.0]})
    assert best_of_others(table, ["M 1", "M 2"]).tolist() == [5.0, 9.0]
    assert best_of_others(table, "M 1").tolist() == [1.0, 9.0]


rng = np.random.default_rng(3)
FAST, SLOW = rng.integers(1, 5, 25).tolist(), rng.integers(5, 10, 25).tolist()


@pytest.mark.parametrize(
    ("extra", "holds", "opposite"),
    [
        ({"left": "A", "right": "B", "below": 0.9}, True, False),
        ({"left": "B", "right": "A", "below": 0.9}, False, True),
        ({"left": "B", "right": "A", "above": 1.1111}, True, False),
        ({"left": "A", "right": "A", "similar": [0.8, 1.25]}, True, False),
        ({"left": "A", "right": "B", "similar": [0.8, 1.25]}, False, True),
        ({"left": ["A", "B"], "right": "B", "below": 0.9}, True, False),
        ({"left": "A", "right": "B", "below": 1.0, "metric": "area"}, True, False),
        ({"left": "A", "right": "A", "below": 1.0, "right_where": {"name": "other"}}, False, True),
    ],
)
def test_ratios_of_means(extra, holds, opposite):
    """Clear differences are found, each in its direction."""
    rows = pd.concat([made_rows({"A": FAST, "B": SLOW}), made_rows({"A": [1] * 24 + [2]}, name="other")])
    test = {"kind": "ratio_of_means", "cells": [{"experiment": "e", "name": "set"}]} | extra
    (found,) = BATCH_TESTS["ratio_of_means"](test, {"e": rows})
    assert (found.p < 0.05) == holds
    assert (found.p_opposite < 0.05) == opposite
    assert found.low <= found.effect <= found.high
    assert describe_batches(test)


def test_above_is_below_turned_round():
    """The ratio left / right above x has the p-values of right / left below 1/x, and the ratio itself as effect."""
    rows = {"e": made_rows({"A": FAST, "B": SLOW})}
    cell = {"cells": [{"experiment": "e", "name": "set"}], "kind": "ratio_of_means"}
    (above,) = BATCH_TESTS["ratio_of_means"](cell | {"left": "B", "right": "A", "above": 1.25}, rows)
    (below,) = BATCH_TESTS["ratio_of_means"](cell | {"left": "A", "right": "B", "below": 0.8}, rows)
    assert above.p == pytest.approx(below.p)
    assert above.effect == pytest.approx(np.mean(SLOW) / np.mean(FAST))


def test_most_comparisons():
    """Two of three matched comparisons hold: reproduced for a share of 0.5, contradicted for one of 0.9."""
    rows = {"e": made_rows({"A": FAST, "B": SLOW})}
    test = {"kind": "mostly", "cells": [{"experiment": "e", "name": "set"}], "below": 0.9, "matched": True}
    test |= {"lefts": ["A", "A", "B"], "rights": ["B", "B", "A"]}
    (found,) = BATCH_TESTS["mostly"](test | {"share": 0.5}, rows)
    assert found.effect == pytest.approx(2 / 3)
    assert found.p < 0.05
    (found,) = BATCH_TESTS["mostly"](test | {"share": 0.9}, rows)
    assert found.p_opposite < 0.05


def test_gains_and_misfits():
    """1 - mean(A)/mean(B) is compared between two sets; a training error with a bound."""
    rows = pd.concat([made_rows({"A": FAST, "B": SLOW}), made_rows({"A": SLOW, "B": SLOW}, name="other")])
    pair = [{"experiments": ["e"], "name": n, "left": "A", "right": "B"} for n in ("set", "other")]
    (found,) = BATCH_TESTS["gain_difference"]({"contrasts": [pair], "above": 0.0}, {"e": rows})
    assert found.effect == pytest.approx(1 - np.mean(FAST) / np.mean(SLOW))
    assert found.p < 0.05
    (found,) = BATCH_TESTS["gain_difference"]({"contrasts": [pair], "within": 0.2}, {"e": rows})
    assert found.p_opposite < 0.05
    fits = pd.DataFrame({"x": 5, "series": "linear", "panel": "set", "learning_rate": 0.01, "replication": range(12)})
    fits["mse"], fits["var"] = np.linspace(0.4, 0.6, 12), 1.0
    test = {"experiment": "f", "series": "linear", "learning_rate": 0.01, "panels": ["set"]}
    (found,) = BATCH_TESTS["misfit"](test | {"above": 0.1}, {"f": fits})
    assert found.p < 0.05 < found.p_opposite


def test_a_cell_without_rows_is_an_error():
    """It would otherwise be left out in silence."""
    test = {"cells": [{"experiment": "e", "name": "nowhere"}], "left": "A", "right": "B", "below": 1.0}
    with pytest.raises(ValueError, match="no rows in the cell e, nowhere"):
        BATCH_TESTS["ratio_of_means"](test, {"e": made_rows({"A": FAST, "B": SLOW})})


def test_distances_leave_out_the_random_batch():
    """The first batch is the same for all."""
    rows = made_rows({"A": FAST})
    rows.loc[rows["round"] == 1, "distance"] = 99.0
    assert (measured(rows, "distance", 0.01)["A"] == 1.0).all()


def test_methods_with_fewer_batches_are_not_counted_as_faster():
    """Both sides are cut to the batches that both have: one that never finds counts one more than those."""
    late = {"A": [7, 9, 9, 8], "C": [2, 3, 3, 2]}
    short, long = made_rows(late, rounds=5), made_rows({"B": [7, 8, 9, 9]}, rounds=10)
    test = {"kind": "ratio_of_means", "left": "A", "right": "B", "right_in": "long", "similar": [0.8, 1.25]}
    (found,) = BATCH_TESTS["ratio_of_means"](test | {"cells": [{"experiment": "e"}]}, {"e": short, "long": long})
    assert found.effect == pytest.approx(1.0)
    values = summarise_hits(pd.concat([short, long]), "set", "laptop", batch=3, taus=[0.01]).set_index("series")
    batches = values[values["statistic"] == "batches"]["value"]
    assert batches["A"] == batches["B"] == 6
    gain = {"kind": "gain_difference", "within": 0.2, "contrasts": [
        [{"experiments": ["e"], "left": "A", "right": "C"}, {"experiments": ["e", "long"], "left": "B", "right": "C"}]
    ]}  # fmt: skip
    (found,) = BATCH_TESTS["gain_difference"](gain, {"e": short, "long": long})
    assert found.effect == pytest.approx(0.0)


def test_a_verdict_says_how_many_fits_passed_the_limit():
    """Of the series that are compared, those marked; nothing where there are none."""
    rows = made_rows({"A": FAST, "B": SLOW, "C": SLOW})
    test = {"left": "A", "rights": ["B"], "cells": [{"experiment": "e", "name": "set"}]}
    assert divergence(test, {"e": rows}) == ""
    rows.loc[(rows["replication"] < 2) & (rows["round"] == 3) & (rows["series"] != "A"), "diverged"] = 1.0
    assert divergence(test, {"e": rows}) == f"; fits passed 10⁴ in 2 of {len(FAST) + len(SLOW)} runs"


def test_figures_draw_every_series_in_its_own_look():
    """One line and its errors for each series of each panel; looks differ within the paper's figures."""
    rows = made_rows({"RandomBatch": SLOW, "Greedy": FAST, "MeanOpt 0.1": FAST})
    values = pd.concat([summarise_hits(rows, "set", "laptop", batch=3), summarise_rewards(rows, "set", "laptop")])
    order = ["RandomBatch", "Greedy", "MeanOpt 0.1"]
    figure = panels(values, {"": order, "rewards": order}, statistics=("batches", "reward"))
    assert len(figure.axes) == 2
    assert len(figure.axes[0].get_legend_handles_labels()[1]) == 4
    plt.close(figure)
    for experiment in ("synthetic_10_5", "objectives_10_5", "diverse_10_5", "sequential_10_5"):
        looks = [look(label) for label in ledger("oae")["experiments"][experiment]["series"]]
        assert len(set(looks)) == len(looks)
        assert ("0.2", "d") not in looks


def test_fits_and_the_rule_for_the_step_size():
    """A line has no curve to fit with: NN 10-5 fits one hill better than the linear class; one step size is chosen."""
    problems = {"OneHillValleyOneDim": partial(landscape, "OneHillValleyOneDim", n_arms=60)}
    rows = fit_rows(problems, [[], [10, 5]], [0.001, 0.01], [1, 100, 300], 300, 3, 7)
    assert rows.groupby(["series", "learning_rate", "replication"]).size().unique().tolist() == [3]
    chosen = chosen_rates(rows)
    assert chosen.groupby("series")["chosen"].sum().tolist() == [1, 1]
    rates = chosen[chosen["chosen"]].set_index("series")["learning_rate"].to_dict()
    values = summarise_fits(rows, "laptop", rates)
    last = values[values["x"] == 300].set_index("series")["value"]
    assert last["NN 10-5"] < 0.5 * last["linear"]
    assert (values["low"] <= values["value"]).all()
    figure = fits_figure(values, "")
    assert "OneHillValleyOneDim" in (figure.axes[0].get_title(loc="left"), figure.axes[0].get_title())
    plt.close(figure)


def test_step_sizes_of_the_ledger_follow_the_rule():
    """What the profiles use is what the stored fits choose, after 200 steps (laptop) and after 5000 (paper)."""
    from bestarm.experiments.store import read_rows
    from bestarm.paths import RESULTS

    stored = [read_rows(RESULTS / "oae" / f"{name}.parquet") for name in ("fits_synthetic", "fits_uci")]
    rows = pd.concat(stored)
    entries = ledger("oae")["experiments"]
    names = {e: entry["settings"]["hidden"] for e, entry in entries.items() if "hidden" in entry.get("settings", {})}
    names = {e: "NN " + "-".join(map(str, hidden)) if hidden else "linear" for e, hidden in names.items()}
    names = {e: network for e, network in names.items() if not e.startswith("open_")}  # there it is what is varied
    assert len(names) >= 18
    for profile, last in (("laptop", 200), ("paper", 5000)):
        chosen = chosen_rates(rows[rows["x"] <= last])
        rates = chosen[chosen["chosen"]].set_index("series")["learning_rate"]
        for experiment, network in names.items():
            settings = entries[experiment]["profiles"][profile].get("settings", {})
            assert settings.get("learning_rate", 0.01) == rates[network], (profile, experiment)


def test_the_cost_of_a_sequence_is_that_of_a_batch(monkeypatch):
    """Five batches in 10 s against ten in 5 s are four times the time of a batch, whatever their numbers."""
    slow = made_rows({"SeqB": FAST}, rounds=5).assign(seconds=10.0)
    stored = {"s": slow, "p": made_rows({"MeanOpt": FAST}, rounds=10).assign(seconds=5.0)}
    monkeypatch.setattr(oae_claims, "stored_rows", lambda *_: stored)
    test = {"sequential": "s", "plain": "p", "ratios": {"SeqB": ["MeanOpt", 5]}}
    holds, text = oae_claims.cost_of_sequence("oae", test | {"at_least": 2})
    assert holds
    assert "4.0 times the time of MeanOpt a batch for 5 times the networks" in text
    assert not oae_claims.cost_of_sequence("oae", test | {"at_least": 5})[0]


def test_evolution_counts_hills_and_sketches_the_first_run():
    """Hills never fall; the first run's arms are those pulled so far, the model has a value for every arm."""
    problem = partial(landscape, "MultiValleyOneDimHole", n_arms=80)
    policy = Oae("MeanOpt", 3, 4, optimism=0.001, hidden=(4,), standardise=True)
    rows = evolution_rows(problem, policy, [2, 4], 3, 5, steps=5)
    hills = rows[rows["statistic"] == "hills"].pivot(index="replication", columns="round", values="value")
    assert (hills[4] >= hills[2]).all()
    assert hills.max().max() <= 4
    assert (rows[rows["statistic"] == "pulled"].groupby("round").size() == pd.Series({2: 6, 4: 12})).all()
    assert (rows[rows["statistic"] == "model"].groupby("round").size() == 80).all()
    assert set(evolution_values(rows, "smoke")["statistic"]) == {"response", "model", "pulled"}


def test_figure_7_has_four_sets_and_four_rounds():
    """Above the sets, below the rounds."""
    problem = partial(landscape, "MultiValleyOneDimHole", n_arms=60)
    policy = Oae("MeanOpt", 3, 4, hidden=(4,), standardise=True)
    rows = evolution_rows(problem, policy, [1, 2, 3, 4], 1, 5, steps=2)
    figure = evolution_figure(evolution_values(rows, "smoke"), "smoke")
    titles = [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes]
    assert [title.partition(":")[0] for title in titles[4:]] == [f"round {k}" for k in (1, 2, 3, 4)]
    assert all(title.endswith(" of 4 hills") for title in titles[4:])
    plt.close(figure)


def test_variants_are_judged_by_the_same_tests():
    """A claim about two sets is decided on those that a variant has; others are left out."""
    claims = {"X": {"test": {"kind": "ratio_of_means", "left": "A", "right": "B", "below": 0.9}}}
    claims["X"]["test"]["cells"] = [
        {"experiment": "base", "name": ["set", "other"]},
        {"experiment": "else", "name": "set"},
    ]
    fast, slow = made_rows({"A": FAST, "B": SLOW}), made_rows({"A": SLOW, "B": FAST})
    found = variant_verdicts(claims, "base", {"one": fast, "two": slow, "three": fast.assign(name="far")}, ["X"])
    assert found[["variant", "verdict", "comparisons"]].to_numpy().tolist() == [
        ["one", "reproduced", 1], ["two", "contradicted", 1],
    ]  # fmt: skip
    figure = variant_map(found, "")
    assert len(figure.axes[0].patches) == 2
    plt.close(figure)
