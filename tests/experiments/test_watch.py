"""Experiments under observation, settings of a profile, and rows at the paper's own scale."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bestarm.experiments.definitions import load_experiment
from bestarm.experiments.run import cell_key, run_experiment
from bestarm.experiments.store import write_parquet
from bestarm.reporting import section as section_module
from bestarm.reporting.claims import evaluate
from bestarm.reporting.section import PAPER_SCALE, Section
from bestarm_studies.oae.batch_observer import FINDINGS


@pytest.fixture
def small():
    """Return random and greedy batches on a landscape, two runs of four rounds."""
    whole = load_experiment("oae", "synthetic_10_5", "smoke")
    return replace(whole, series=tuple(s for s in whole.series if s.label in ("RandomBatch", "Greedy")))


def test_findings_are_columns_of_every_round_after_the_first_pull(small, tmp_path):
    """Row t has what the t-th batch was worth; before the first pull there is nothing."""
    rows = run_experiment(small, seed=1, store=tmp_path)
    assert set(FINDINGS) <= set(rows.columns)
    assert rows.loc[rows["round"] == 0, "reward"].isna().all()
    assert rows.loc[rows["round"] > 0, "reward"].notna().all()
    assert rows.loc[rows["series"] == "RandomBatch", "optimistic"].isna().all()
    assert rows.loc[(rows["series"] == "Greedy") & (rows["round"] > 1), "optimistic"].notna().all()


def test_an_observer_changes_no_choice_and_is_part_of_the_key(small, tmp_path):
    """The same ranks with and without; other keys."""
    watched = run_experiment(small, seed=1, store=tmp_path / "a")
    alone = replace(small, watch=None)
    plain = run_experiment(alone, seed=1, store=tmp_path / "b")
    pd.testing.assert_series_equal(watched["rank"], plain["rank"])
    assert cell_key(small, small.series[0], 1) != cell_key(alone, small.series[0], 1)


def test_committed_rows_are_reused_with_their_findings(small, tmp_path, monkeypatch):
    """Nothing is computed again; rows without a finding are of no use."""
    rows = run_experiment(small, seed=1, store=tmp_path / "a")
    monkeypatch.setattr("bestarm.experiments.run._simulate_block", lambda *_: pytest.fail("computed again"))
    again = run_experiment(small, seed=1, store=tmp_path / "b", committed=rows)
    pd.testing.assert_frame_equal(again, rows)
    with pytest.raises(BaseException, match="computed again"):
        run_experiment(small, seed=1, store=tmp_path / "c", committed=rows.drop(columns="reward"))


def test_settings_reach_the_policies_that_have_them():
    """Rounds cut all, steps those with networks, members ensembles; the paper's own profile cuts nothing."""
    laptop = {s.label: s.policy for s in load_experiment("oae", "synthetic_10_5", "laptop").series}
    paper = {s.label: s.policy for s in load_experiment("oae", "synthetic_10_5", "paper").series}
    assert {p.rounds for p in laptop.values()} == {50}
    assert laptop["Greedy"].steps < paper["Greedy"].steps == 5000
    assert not hasattr(laptop["RandomBatch"], "steps")
    assert (laptop["Ensemble"].members, paper["Ensemble"].members) == (5, 10)
    assert {p.hidden for label, p in paper.items() if label != "RandomBatch"} == {(10, 5)}


def test_rows_at_the_papers_scale_decide(tmp_path, monkeypatch):
    """Where all of a claim's are stored, verdicts take them and not those of the laptop, and say so."""
    monkeypatch.setattr(section_module, "RESULTS", tmp_path)
    section = Section("oae", "laptop")
    section.rows["fits_synthetic"] = fits(0.01)
    assert section.verdicts("OAE-C30")["verdict"].item() == "contradicted"
    write_parquet(fits(0.5), tmp_path / "oae" / PAPER_SCALE / "fits_synthetic.parquet")
    found = section.verdicts("OAE-C30")
    assert found["verdict"].item() == "reproduced"
    assert found["decided_by"].item().endswith("at the paper's own scale")


def test_two_scales_are_not_compared():
    """A claim about two experiments of which one is stored at the paper's scale is decided at the laptop's."""
    rows = {"a": fits(0.5), "b": fits(0.5)}
    test = {"kind": "misfit", "series": "NN 10-5", "learning_rate": 0.01, "above": 0.1, "panels": ["MultiValleyOneDim"]}
    claims = {name: {"claim": "", "where": "", "test": test | {"experiment": "a"}} for name in ("one", "two")}
    claims["two"]["test"] |= {"pairs": [["a"], ["b"]]}
    profiles = dict.fromkeys(rows, "laptop")
    found = evaluate("oae", claims, rows, profiles, {"a": fits(0.01)}).set_index("id")["verdict"]
    assert found.to_dict() == {"one": "contradicted", "two": "reproduced"}


def fits(error: float) -> pd.DataFrame:
    """Return final training errors of NN 10-5 about a value."""
    n = 12
    return pd.DataFrame(
        {
            "convention": "as_written", "series": "NN 10-5", "panel": "MultiValleyOneDim", "learning_rate": 0.01,
            "x": 5000, "replication": range(n), "mse": error * np.linspace(0.9, 1.1, n), "var": 1.0,
            "data": "synthetic",
        }
    )  # fmt: skip
