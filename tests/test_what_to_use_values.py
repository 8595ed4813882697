"""The comparison of policies: the rule by hand, pairs of runs, bounds by partial conjunction, chance."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks import what_to_use_comparison as compared
from bestarm_lab.claims.statistics import mean_of


def made(means: dict[str, float], n: int = 12, seed: int = 0) -> compared.Measured:
    """Return six data sets on which each policy finds so many hits on average; runs share their luck."""
    random = np.random.default_rng(seed)
    data = pd.DataFrame(
        {"candidates": 1000, "features": 3, "hits": 100, "measurements": 50, "rounds": 49, "chance": 5.0, "most": 50.0},
        index=pd.Index(compared.CASES, name="data"),
    )
    lines = []
    for case in compared.CASES:
        luck = random.normal(0.0, 3.0, n)
        for policy, mean in means.items():
            found = mean + luck + random.normal(0.0, 0.5, n)
            lines += [(case, policy, run, *np.linspace(0.2, 1.0, 5) * found[run], 0.1 * mean) for run in range(n)]
    runs = pd.DataFrame(lines, columns=["data", "policy", "run", *compared.FIFTHS, "seconds"])
    return compared.Measured(data, runs, runs[runs["policy"] == "none"])


def test_the_score_is_the_share_of_what_chance_leaves():
    measured = made({"a": 20.0, "b": 10.0})
    table = compared.summary(measured.runs, measured.data)
    found = measured.runs.query("policy == 'a'").groupby("data")[compared.LAST]
    score = ((found.mean() - 5.0) / 45.0).mean()
    error = np.sqrt(((found.std(ddof=1) / np.sqrt(12) / 45.0) ** 2).sum()) / 6
    line = compared.ranked(table).loc["a"]
    assert (line["score"], line["error"]) == (pytest.approx(score), pytest.approx(error))
    assert list(compared.ranked(table).index) == ["a", "b"]


def test_the_rule_takes_the_cheapest_of_equals_and_nothing_below_chance():
    measured = made({"good": 20.0, "as good": 20.0, "bad": 1.0})
    table = compared.summary(measured.runs, measured.data)
    table.loc[table["policy"] == "good", ["found", "error", "seconds"]] = 20.1, 1.0, 9.0
    table.loc[table["policy"] == "as good", ["found", "error", "seconds"]] = 20.0, 1.0, 2.0
    assert compared.ranked(table).loc["bad", "below chance"] == 6
    assert compared.chosen(table, ["good", "as good", "bad"]) == "as good"
    assert compared.chosen(table, ["good", "bad"]) == "good"
    table.loc[(table["policy"] == "as good") & (table["data"] == "AgNP"), "found"] = 1.0  # 4 below 5, error 1
    assert compared.chosen(table, ["good", "as good", "bad"]) == "good"
    missing = table[~((table["policy"] == "good") & (table["data"] == "AgNP"))]
    missing = missing[missing["policy"] != "as good"]
    whole = pd.concat([missing, table[table["policy"] == "as good"].assign(found=10.0)])
    assert compared.chosen(whole, ["good", "as good"]) == "as good"


def test_a_difference_is_of_the_runs_that_both_have():
    measured = made({"a": 20.0, "b": 19.0}, n=20)
    runs = measured.runs[~((measured.runs["policy"] == "a") & (measured.runs["run"] >= 8))]
    wide = runs[runs["data"] == "IL2"].pivot(index="run", columns="policy", values=compared.LAST)
    change = (wide["a"] - wide["b"]).dropna()
    found = compared.difference(runs, "a", "b", "IL2")
    assert found.n == len(change) == 8
    assert found.effect == pytest.approx(change.mean())
    plain = stats.ttest_1samp(change, 0.0, alternative="greater").pvalue
    assert found.p == mean_of(change, shares=False).tails(0.0)[1]
    assert found.p > plain  # corrected for skewness, towards caution
    assert found.error < 0.5 * np.hypot(*(wide[name].sem() for name in "ab"))  # luck that both share is taken out


def test_equal_in_every_run_is_not_better():
    measured = made({"a": 20.0})
    found = compared.difference(pd.concat([measured.runs, measured.runs.assign(policy="b")]), "a", "b", "IFNg")
    assert (found.p, found.p_opposite) == (1.0, 0.0)


def naive_bound(ps: list[float], level: float) -> int:
    """Return the largest k of which "at least k hold" is not rejected: all sets of 6 - k + 1 have a small Simes p."""
    found = 0
    for need in range(1, len(ps) + 1):
        size = len(ps) - need + 1
        simes = [min(size / (j + 1) * p for j, p in enumerate(sorted(some))) for some in combinations(ps, size)]
        if max(simes) <= level:
            found = need
    return found


def test_bounds_on_how_often_a_policy_is_ahead():
    measured = made({"than": 15.0, "better": 16.0, "equal": 15.0, "worse": 13.0})
    mine = (measured.runs["policy"] == "better") & ~measured.runs["data"].isin(compared.CASES[:3])
    measured.runs.loc[mine, compared.LAST] -= 4.0  # better on three, worse on three
    rivals = ["better", "equal", "worse"]
    found = compared.ahead(measured, "than", rivals)
    for policy in rivals:
        cells = [compared.difference(measured.runs, policy, "than", case) for case in compared.CASES]
        assert found.loc[policy, "low"] == naive_bound([c.p for c in cells], 0.025)
        assert found.loc[policy, "high"] == 6 - naive_bound([c.p_opposite for c in cells], 0.025)
        assert found.loc[policy, "most"] == 6 - naive_bound([c.p_opposite for c in cells], 0.025 / 3)
    assert found.loc["better", ["estimate", "low", "high"]].tolist() == [3, 3, 3]
    assert found.loc["worse", ["estimate", "low", "high"]].tolist() == [0, 0, 0]
    assert (found["most"] >= found["high"]).all()


def test_chance_is_the_hypergeometric_law():
    drawn = [sum(c < 4 for c in chosen_ones) for chosen_ones in combinations(range(12), 5)]
    mean, low, high = compared.chance_law(pd.Series({"candidates": 12, "hits": 4, "measurements": 5}))
    assert mean == pytest.approx(np.mean(drawn))
    assert low == np.quantile(drawn, 0.025, method="inverted_cdf")
    assert high == np.quantile(drawn, 0.975, method="inverted_cdf")


def test_values_and_tables():
    measured = made({"a": 20.0, "b": 19.0})
    values = compared.difference_values(measured, "b")
    assert set(values["series"]) == {"a"}
    assert (values["low"] < values["value"]).all()
    assert sorted(set(compared.course(measured, "AgNP")["x"])) == [10, 20, 30, 40, 50]
    assert compared.cost_table(measured).iloc[0].tolist()[1:] == ["0.041"] * 2  # two seconds in 49 rounds
    fewer = measured.runs[(measured.runs["data"] != "IFNg") | (measured.runs["run"] < 7)]
    page = compared.page_table(compared.Measured(measured.data, fewer, measured.peers))
    assert page["runs"].tolist() == ["7-12/12"] * 2 + [""]
    found = measured.table().set_index(["policy", "data"])["found"]["a"]
    wanted = [f"{found[case]:.1f}, {'met' if goal < 20 else 'missed'}" for case, goal in compared.GOALS.items()]
    assert compared.goals_table(measured, ["a"])["a"].tolist()[:3] == wanted
