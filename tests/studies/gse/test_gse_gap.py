"""How much of a gap changes close: on rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bestarm_lab.study import load_study
from bestarm_studies.gse.verdicts.gap import GROUPS, Cell, gap_cells, gap_table, gap_values, mean_over_cells


def cell(shares: dict[str, float], n: int = 100) -> Cell:
    """Return a cell in which series succeed in the first runs, and the series "rival" is the best rival."""
    runs = {name: pd.Series((np.arange(n) < share * n).astype(float)) for name, share in shares.items()}
    return Cell("adaptive", "synthetic", runs.pop("rival"), pd.DataFrame(runs))


def test_gap_and_what_closes_it_are_means_over_cells():
    """A gap of 0.4 and of 0.2; the change closes 0.2 of the one and opens the other by 0.1."""
    cells = [
        cell({"rival": 0.8, "A": 0.4, "A | better": 0.6, "A | there": 0.4}),
        cell({"rival": 0.7, "A": 0.5, "A | better": 0.4}),
    ]
    changes = {"better": "A | better", "not everywhere": "A | there"}
    values = gap_values({"both": cells, "none": []}, {"A": "A"}, changes, "smoke")
    found = values.set_index(["panel", "series", "statistic"])["value"]
    assert found.to_dict() == pytest.approx(
        {("both (2)", "A", "gap"): 0.3, ("both (2)", "better", "gap"): 0.25, ("both (2)", "better", "closed"): 0.05}
    )
    table = gap_table(values).set_index("closed by")["both (2)"]
    assert table["gap of A"].startswith("0.300 [")
    assert table["better"].startswith("0.050 [")
    assert table["better"].endswith(", 17%")


def test_only_runs_count_that_the_rival_has():
    """The change is worth 1 in the runs that the rival lacks, and nothing in the others."""
    runs = np.arange(40)
    table = pd.DataFrame({"A": 0.0, "A | late": (runs >= 20).astype(float)}, index=runs)
    one = Cell("adaptive", "synthetic", pd.Series(1.0, index=runs[:20]), table)
    values = gap_values({"one": [one]}, {"A": "A"}, {"late": "A | late"}, "smoke").set_index(["series", "statistic"])
    assert (values.loc[("late", "closed"), "value"], values.loc[("late", "gap"), "value"]) == (0.0, 1.0)
    assert (values["n"] == 20).all()


def test_cells_that_share_their_noise_are_not_independent():
    """The same draws twice say no more than once; other draws narrow the interval by the root of two."""
    rng = np.random.default_rng(0)
    one, other = (pd.Series(rng.standard_normal(2000)) for _ in range(2))
    mean, low, high = mean_over_cells([one])
    assert mean == pytest.approx(one.mean())
    assert high - mean == pytest.approx(stats.norm.ppf(0.975) * one.std() / np.sqrt(2000), rel=1e-3)
    assert mean_over_cells([one, one]) == pytest.approx((mean, low, high))
    _, low_apart, high_apart = mean_over_cells([one, other.set_axis(np.arange(2000, 4000))])
    assert (high_apart - low_apart) / (high - low) == pytest.approx(1 / np.sqrt(2), rel=0.05)


def test_intervals_cover_as_often_as_they_say():
    """Two cells with other numbers of runs that share half of their noise: 95% within three standard errors."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(1000):
        shared = rng.standard_normal(60)
        first = pd.Series(shared + rng.standard_normal(60))
        _, low, high = mean_over_cells([first, pd.Series((shared + rng.standard_normal(60))[:30])])
        covered += low < 0 < high
    assert abs(covered / 1000 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 1000) + 0.01  # normal quantiles at n = 30


def test_cells_are_those_that_the_claim_counts():
    """Of rows that have one cell of Figure 2, all other cells are left out; so is one in which both sides guess."""
    test = load_study("gse").claims["GSE-C1"].test
    n = np.arange(100)
    names = ["GSE-Lin", "LinUCB", "GSE-Lin | rewards kept"]
    rows = {name: pd.DataFrame({"convention": [], "gap": [], "n_arms": [], "budget": []}) for name in GROUPS}
    for shares, counted in (((0.3, 0.6, 0.5), 1), ((0.12, 0.13, 0.5), 0)):
        frames = [
            pd.DataFrame({"replication": n, "correct": (n < 100 * share).astype(float), "series": name})
            for name, share in zip(names, shares, strict=True)
        ]
        here = pd.concat(frames).assign(convention="as_written", n_arms=8, budget=80, data="synthetic")
        other = here[here["series"] == "GSE-Lin"].assign(series="GSE-Lin-FWG | η = K")
        found = gap_cells(test, rows | {"fig2": here}, {"fig2": pd.concat([other, here])})
        assert len(found) == counted
        if counted:
            assert found[0].rival.mean() == pytest.approx(0.6)
            assert set(found[0].table) == {*names, "GSE-Lin-FWG | η = K"}
