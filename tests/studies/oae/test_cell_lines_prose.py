"""Sentences of the notebooks on cell lines that take more than their `quoted.yaml` can say."""

import numpy as np
import pandas as pd
import pytest
from prose import prose

from bestarm_lab.datasets.registry import available
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.results import committed_rows
from bestarm_studies.oae.cell_lines.contexts import DATA_FILES, GROUPS, arms_of_group, read_group_effects
from bestarm_studies.oae.first_hits import with_top_share

EMBEDDING, TRANSFER = "13_embedding", "14_transfer"
CLASSES = ("linear", "10_5", "100_10")


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
    assert (set(away["round"]), len(away.groupby(["name", "replication"]))) == ({2, 3}, 6 * 25)
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


def test_how_far_diverse_batches_are_from_plain_ones_and_how_often_strong_hinges_run_away():
    furthest, away = 0.0, 1.0
    for network in CLASSES[1:]:
        plain, diverse, other = (later(f"{form}{network}", "paper") for form in ("", "diverse_", "objectives_"))
        shares = {}
        for name, rows in ((name, r[r["name"] == name]) for r in (plain, diverse) for name in diverse["name"].unique()):
            mean = with_top_share(rows).groupby(["series", "round"])["found"].mean()
            shares |= {(name, series): mean[series] for series in rows["series"].unique()}
        for (name, series), share in shares.items():
            if series.startswith("DetD"):
                of = "Greedy" if series == "DetD 0" else series.replace("DetD", "MeanOpt")
                furthest = max(furthest, (share - shares[name, of]).abs().max())
        hinge = other[(other["series"] == "HingePNorm 0.1") & (other["name"] == "mtap_cdkn2a_codeletion")]
        away = min(away, (hinge["diverged"] > 0).mean())
    text = prose("oae", TRANSFER)
    assert f"is the share that DetD has found further than {furthest:.2f} from that of MeanOpt" in text
    assert f"in at least {away:.0%} of the batches after the first." in text


@pytest.mark.skipif(not available(*DATA_FILES), reason="nobody here has the group effects")
def test_tails_of_groups_are_alike():
    effects = read_group_effects()
    best = [np.sort(arms_of_group(effects, group)[1])[-950:].mean() for group in GROUPS]
    said = f"the mean of a group's 950 best genes is {min(best):.1f} at least and {max(best):.1f} at most."
    assert said in prose("oae", TRANSFER)
