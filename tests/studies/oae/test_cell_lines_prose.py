"""Numbers that the notebooks on cell lines quote are those of the CSV files beside them."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from prose import prose, quote

from bestarm_lab.datasets.registry import available
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.paths import FIGURES, RESULTS
from bestarm_lab.results import committed_rows
from bestarm_studies.oae.cell_lines.contexts import DATA_FILES, GROUPS, arms_of_group, read_group_effects

EMBEDDING, TRANSFER = "13_embedding", "14_transfer"
LAW = "RandomBatch, exact law"
WORST, BEST = "alk", "mtap_cdkn2a_codeletion"
VERDICTS = RESULTS / "oae" / "verdicts.csv"
CLASSES = ("linear", "10_5", "100_10")


def misfit(group: str, series: str) -> dict[str, Any]:
    return {"panel": group, "series": series, "x": 5000}


def after(series: str) -> dict[str, Any]:
    """Return the error of the larger network after twenty random batches."""
    return {"series": series, "x": 20}


def batches(group: str, series: str) -> dict[str, Any]:
    return {"panel": "NN 100-10", "series": series, "group": group, "statistic": "batches"}


def reward(group: str, panel: str = "NN 100-10") -> dict[str, Any]:
    return {"panel": panel, "series": "Greedy", "group": group, "statistic": "reward"}


quoted = partial(quote, "oae")
ALIKE = "Greedy with NN 100-10 needs {:.1f} batches, as many as on MTAP and CDKN2A; chance needs {:.1f}."
QUOTED = [
    quoted(EMBEDDING, "NN 100-10 leaves {:.2f} of the variance on ALK, the group that the others tell least of, and "
           "{:.2f} on MTAP", "fig04", misfit(WORST, "NN 100-10"), misfit(BEST, "NN 100-10")),
    quoted(EMBEDDING, "a linear fit leaves {:.2f} and {:.2f}.", "fig04",
           misfit(WORST, "linear"), misfit(BEST, "linear")),
    quoted(EMBEDDING, "leaves {:.2f} of the variance of other genes", "fig01", after(f"{BEST} (R² 0.95)")),
    quoted(EMBEDDING, "and {:.2f} on ALK.", "fig01", after(f"{WORST} (R² 0.26)")),
    quoted(EMBEDDING, "the next leaves {:.2f}.", "fig01", after("emt_high (R² 0.79)")),
    quoted(TRANSFER, ALIKE, "transfer", batches(WORST, "Greedy"), batches(WORST, LAW)),
    quoted(TRANSFER, ALIKE, "transfer", batches(BEST, "Greedy"), batches(BEST, LAW)),
    quoted(TRANSFER, "on KMT2B, needs {:.1f} batches.", "forms", {
        "panel": "NN 100-10, sequential batches", "series": "SeqB 0.01", "group": "kmt2b", "statistic": "batches"}),
    quoted(TRANSFER, "significant in {:.0f} of 45 comparisons", VERDICTS, {"id": "OAE-C62b.g"}, column="for"),
    quoted(TRANSFER, "in 19 of {:.0f} comparisons, where", VERDICTS, {"id": "OAE-C62b.g"}, column="comparisons"),
    quoted(TRANSFER, "comparisons, where {:.0f} are needed", VERDICTS, {"id": "OAE-C62b.g"}, column="needed"),
    quoted(TRANSFER, "NN 100-10 earns {:.2f} on ALK and {:.2f} on MTAP and CDKN2A.", "whole",
           reward(WORST), reward(BEST)),
    quoted(TRANSFER, "on ALK {:.2f}, although NN 100-10", "whole", reward(WORST, "linear")),
    quoted(TRANSFER, "less than Greedy on {:.0f} of 6 groups", VERDICTS, {"id": "OAE-C4d.g"}, column="against"),
    quoted(TRANSFER, "and on {} significantly more (OAE-C4d.g", VERDICTS, {"id": "OAE-C4d.g"}, column="for",
           form=lambda number: ["none"][int(number)]),
]  # fmt: skip


@pytest.mark.parametrize("quoted_number", QUOTED)
def test_quoted_numbers_are_those_of_the_figures(quoted_number):
    quoted_number.check()


def test_other_forms_that_are_quoted():
    """The slowest search, and what sequential batches change."""
    found = pd.read_csv(FIGURES / "oae" / TRANSFER / "forms.csv").query("statistic == 'batches'")
    searches = found[~found["series"].str.startswith("RandomBatch")].sort_values("value")
    assert searches.iloc[-1][["series", "group"]].to_list() == ["SeqB 0.01", "kmt2b"]
    ratios = pd.read_csv(RESULTS / "oae" / "comparisons.csv").query("id == 'OAE-C62b.g'")["effect"]
    said = f"need {ratios.min():.2f} to {ratios.max():.2f} times the batches of their plain forms."
    assert said in prose("oae", TRANSFER)


def losses(panel: str, series: str) -> pd.Series:
    """Return by how much less than Greedy a series earns over whole runs, one number for each group."""
    table = pd.read_csv(FIGURES / "oae" / TRANSFER / "whole.csv").query("statistic == 'gain in reward'")
    mine = table[(table["panel"] == panel) & (table["series"] == series)]
    assert set(mine["group"]) == set(GROUPS)
    return -mine.set_index("group")["value"]


def test_losses_that_are_quoted():
    text = prose("oae", TRANSFER)
    strong, weak = (losses("NN 100-10", f"MeanOpt {strength}") for strength in ("0.1", "0.001"))
    said = "λ = 0.1 loses between {:.2f} and {:.2f}, and λ = 0.001 at most {:.2f}."
    assert said.format(strong.min(), strong.max(), weak.max()) in text
    noisy = losses("NN 10-5", "EnsembleNoiseY")
    assert f"on every group, EnsembleNoiseY by {noisy.min():.2f} to {noisy.max():.2f}." in text
    assert losses("NN 10-5", "Ensemble").min() > 0
    plain = max(losses("linear", f"MeanOpt {strength}").abs().max() for strength in ("0.001", "0.01", "0.1"))
    assert plain < 0.02
    assert "no strength of MeanOpt is further than 0.02 from Greedy" in text


def later(network: str, profile: Profile) -> pd.DataFrame:
    """Return the whole runs of a class on groups without their first batches, which are random."""
    rows = committed_rows("oae", f"contexts_whole_{network}", profile)
    assert rows is not None
    return rows[rows["round"] > 1]


def on_greedy(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the batches of MeanOpt 0.1, with what each earns beyond Greedy's of the same run and round."""
    of = {s: rows[rows["series"] == s].set_index(["name", "replication", "round"]) for s in ("MeanOpt 0.1", "Greedy")}
    return of["MeanOpt 0.1"].assign(gain=of["MeanOpt 0.1"]["reward"] - of["Greedy"]["reward"]).reset_index()


def test_what_batches_of_networks_that_run_away_lose():
    text = prose("oae", TRANSFER)
    found = on_greedy(later("100_10", "paper"))
    away = found[found["diverged"] > 0]
    assert set(away["round"]) == {2, 3}
    assert len(away.groupby(["name", "replication"])) == 6 * 25
    share = away.groupby("name")["gain"].sum() / found.groupby("name")["gain"].sum()
    assert f"Between {share.min():.0%} and {share.max():.0%} of the loss on Greedy falls in these batches." in text
    lost = -on_greedy(later("100_10", "laptop")).groupby("name")["gain"].mean()
    assert f"that strength loses {lost.max():.2f} at most." in text


def test_the_class_that_earns_most():
    """At 5000 steps the linear class on every group, at 1000 on one."""
    ahead = {}
    profiles: tuple[Profile, ...] = ("paper", "laptop")
    for profile in profiles:
        rows = {c: later(c, profile) for c in CLASSES}
        means = pd.DataFrame({c: r[r["series"] == "Greedy"].groupby("name")["reward"].mean() for c, r in rows.items()})
        ahead[profile] = (means.idxmax(axis=1) == "linear").sum()
    assert ahead == {"paper": 6, "laptop": 1}
    assert "after a fifth of the steps a network is ahead on five of six groups." in prose("oae", TRANSFER)


@pytest.mark.skipif(not available(*DATA_FILES), reason="nobody here has the group effects")
def test_tails_of_groups_are_alike():
    effects = read_group_effects()
    best = [np.sort(arms_of_group(effects, group)[1])[-950:].mean() for group in GROUPS]
    said = f"the mean of a group's 950 best genes is {min(best):.1f} at least and {max(best):.1f} at most."
    assert said in prose("oae", TRANSFER)
