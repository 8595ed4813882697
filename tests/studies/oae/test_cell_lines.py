"""Cell lines: official files are read in parts; groups of DepMap as arms."""

import re
from functools import partial
from itertools import product

import h5py
import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from bestarm.models.mlp_batch import Mlp
from bestarm.policies.batch_search import RandomBatch
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import DataUnavailable, available
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.results import committed_rows, read_verdicts
from bestarm_lab.study import load_study
from bestarm_objectives.autoencoder.training import Coding, scaled
from bestarm_studies.oae.cell_lines import contexts, gctx, official
from bestarm_studies.oae.cell_lines.misfit import held_out, misfit_and_gain, own_misfit, permuted_correlation
from bestarm_studies.oae.cell_lines.official import GENES, embedding, kept, proliferation
from bestarm_studies.oae.checks import top_found
from bestarm_studies.oae.embedding.batch_fits import batch_fit_rows, fit_errors, random_orders
from bestarm_studies.oae.series import FEW_RUNS
from bestarm_studies.oae.transfer.experiments import TopObserver
from bestarm_studies.oae.transfer.figures import earned_table, earned_values, found_values, gain_values, group_values

SMALL = Coding((12, 8, 4), learning_rate=0.01, minibatch=16, epochs=40, patience=40)
CELL_LINES = {n: e for n, e in load_study("oae").experiments.items() if re.match("cmap|contexts", n)}
SEARCHES = {name: e for name, e in CELL_LINES.items() if isinstance(e, Experiment)}


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setenv("BESTARM_STORE", str(tmp_path / "store"))
    return tmp_path / "store" / "arrays"


def write_gctx(path, values, signatures, genes):
    """Write a matrix of shape (signatures, genes) as the Connectivity Map does."""
    with h5py.File(path, "w") as file:
        file["/0/DATA/0/matrix"] = values.astype(np.float32)
        file["/0/META/COL/id"] = np.array(signatures, dtype="S")
        file["/0/META/ROW/id"] = np.array(genes, dtype="S")


@pytest.mark.parametrize("rows_at_once", [1, 3, 256])
def test_some_signatures_and_genes_are_read_in_the_order_asked_for(tmp_path, monkeypatch, rows_at_once):
    monkeypatch.setattr(gctx, "ROWS_AT_ONCE", rows_at_once)
    values = np.random.default_rng(0).standard_normal((7, 5)).astype(np.float32)
    write_gctx(tmp_path / "a.gctx", values, list("ABCDEFG"), ["10", "20", "30", "40", "50"])
    found = gctx.read_gctx(tmp_path / "a.gctx", list("FBBGA"), ["50", "10"])
    np.testing.assert_array_equal(found, values[[5, 1, 1, 6, 0]][:, [4, 0]])


def test_a_file_that_is_no_gctx_file_is_refused(tmp_path):
    (tmp_path / "text").write_text("x")
    refuses(lambda: gctx.read_gctx(tmp_path / "text", ["A"], ["1"]), "no HDF5 file")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.zeros(2)
    refuses(lambda: gctx.read_gctx(tmp_path / "other.h5", ["A"], ["1"]), r"no GCTX file: it has no /0/DATA/0/matrix")
    write_gctx(tmp_path / "a.gctx", np.zeros((1, 1)), ["A"], ["1"])
    refuses(lambda: gctx.read_gctx(tmp_path / "a.gctx", ["A", "B"], ["1"]), "lacks 1 of 2 signatures, the first is 'B'")


@pytest.fixture
def official_files(monkeypatch, tmp_path, store):
    """Write small files with the names and columns of the official ones; return their signatures."""
    monkeypatch.setenv("BESTARM_DATA", str(tmp_path))
    monkeypatch.setattr(official, "RAW_DATA", tmp_path / "nothing")
    official._kept_hairpins.cache_clear()
    folder = tmp_path / "l1000"
    folder.mkdir()
    genes = pd.DataFrame({"pr_gene_id": np.arange(30).astype(str), "pr_gene_symbol": [*GENES, *"abcdefg"]})
    genes = genes.assign(pr_is_lm=["1"] * 28 + ["0"] * 2).sample(frac=1.0, random_state=0)
    lines = ["VCAP"] * 9 + ["HA1E"] * 6 + ["A375"]
    hairpins = [*(f"T{i % 7}" for i in range(9)), "T6", "T2", "T2", "T9", "T0", "T1", "T4"]
    kinds = ["trt_sh"] * 14 + ["trt_sh.cgs", "trt_sh"]  # a consensus signature is no hairpin's
    about = pd.DataFrame({"sig_id": [f"S{i}" for i in range(16)], "pert_id": hairpins, "pert_type": kinds})
    values = np.random.default_rng(1).standard_normal((16, 30)).astype(np.float32)
    write_gctx(folder / official.MATRIX, values, about["sig_id"], np.arange(30).astype(str))
    about.assign(cell_id=lines).to_csv(folder / f"{official.SIGNATURE_TABLE}.gz", sep="\t", index=False)
    genes.to_csv(folder / official.GENE_TABLE, sep="\t", index=False)
    return values


def test_hairpins_are_averaged_and_matched(official_files):
    """Of HA1E's hairpins T0, T2 (twice), T6 and T9, VCAP lacks T9; rewards are means of the 23 genes."""
    values = official_files
    line = official.official_line("HA1E")
    features, rewards = line.make()
    assert features.shape == (3, 100)
    genes = list(range(23))
    expected = [values[13, genes].mean(), values[[10, 11]][:, genes].mean(), values[9, genes].mean()]
    np.testing.assert_allclose(rewards, expected, rtol=1e-5)
    problem = line.take(np.arange(2))
    assert problem.data == "real"
    np.testing.assert_allclose([problem.means.mean(), problem.means.std()], [0.0, 1.0], atol=1e-6)
    vcap = official.read_hairpins(official.find_files(), "VCAP")
    assert vcap.names == [f"T{i}" for i in range(7)]
    measured = [int(i) for i in official.landmark_genes(official.find_files())["pr_gene_id"]]
    np.testing.assert_allclose(vcap.values[1], values[[1, 8]][:, measured].mean(axis=0), rtol=1e-5)


def test_too_few_hairpins_in_common_and_unknown_lines_are_refused(official_files):
    refuses(lambda: official.official_line("A375").make(), "1 hairpins in common")
    refuses(lambda: official.official_line("MCF7").make(), "no signature of type trt_sh in the line MCF7")
    refuses(lambda: official.official_line("HeLa"), "name must be one of VCAP")


def test_without_the_official_files_one_line_says_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setenv("BESTARM_DATA", str(tmp_path))
    monkeypatch.setattr(official, "RAW_DATA", tmp_path / "raw")
    words = r"can be had from https://ftp\.ncbi\.nlm\.nih\.gov/geo/.*GSE92742"
    refuses(lambda: official.official_line("VCAP"), words, DataUnavailable)
    assert not [name for name, e in CELL_LINES.items() if name.startswith("cmap_") and e.has_data()]


def test_claims_about_the_lines_are_not_run_where_nobody_has_the_files():
    """Groups of DepMap decide controls of ours alone."""
    claims = load_study("oae").claims
    rests_on = {i: " ".join(n for test in c.tests.values() for n in test.experiments()) for i, c in claims.items()}
    theirs = [i for i, claim in claims.items() if not claim.ours and "cmap_" in rests_on[i]]
    assert len(theirs) >= 25
    verdicts = read_verdicts("oae")
    assert verdicts is not None
    verdicts = verdicts.set_index("id")
    for identity in theirs:
        assert verdicts.loc[identity, "verdict"] == "not run"
        assert "data not public here (cmap_" in verdicts.loc[identity, "decided_by"]
        assert "contexts_" not in rests_on[identity]
    for identity, claim in claims.items():
        if "contexts_" in rests_on[identity]:
            assert claim.ours == "control"
            assert "of DepMap" in claim.text, identity
            assert "not CMAP" in claim.caveat, identity


def small_effects():
    """Four genes in three groups; the third gene lacks a value in the last group."""
    own = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [0.0, 0.0, np.nan], [5.0, 8.0, 2.0]])
    return contexts.without_missing(own, list("ABCD"), ["x", "y", "z"], [20, 30, 40])


def test_a_gene_without_a_value_in_some_group_is_left_out():
    effects = small_effects()
    assert (effects.genes, effects.own.shape) == (["A", "B", "D"], (3, 3))


def test_rewards_are_a_groups_own_part_and_features_those_of_the_others():
    """By hand for y: own parts 2, 2 and 8 have mean 4 and standard deviation sqrt(8)."""
    features, rewards = contexts.arms_of_group(small_effects(), "y")
    np.testing.assert_allclose(rewards, [-2 / 8**0.5, -2 / 8**0.5, 4 / 8**0.5])
    np.testing.assert_allclose(features[:, 0], np.array([-2.0, 0.0, 2.0]) / (8 / 3) ** 0.5)
    np.testing.assert_allclose(features[:, 1], np.array([1.0, -1.0, 0.0]) / (2 / 3) ** 0.5)


def test_an_unknown_group_is_refused_in_one_line():
    refuses(lambda: contexts.arms_of_group(small_effects(), "w"), "name must be one of x, y, z, got 'w'")


@pytest.mark.skipif(not available(*contexts.DATA_FILES), reason="nobody here has the group effects")
def test_a_positive_reward_is_a_gene_that_the_group_needs_more():
    """Effects are negative where cells need a gene; lines without MTAP need PRMT5, and lines rich in MYC need MYC."""
    effects = contexts.read_group_effects()
    assert (len(effects.genes), len(effects.groups)) == (17786, 71)
    for group, gene in (("mtap_cdkn2a_codeletion", "PRMT5"), ("myc_amp", "MYC")):
        _, rewards = contexts.arms_of_group(effects, group)
        assert rewards[effects.genes.index(gene)] > 5
    refuses(lambda: contexts.group_arms("HeLa"), "got 'HeLa'")


def test_r_squared_is_of_genes_not_fitted_to():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((400, 5))
    assert contexts.r_squared(features, features @ np.arange(1.0, 6.0)) > 0.999
    assert contexts.r_squared(features, rng.standard_normal(400)) < 0.02


def test_groups_are_those_nearest_to_six_values():
    """The committed rows name the groups that are searched, of those with 20 lines or more."""
    rows = committed_rows("oae", "contexts_likeness", "laptop")
    large = rows[rows["x"] >= contexts.LEAST_LINES].set_index("panel")["value"]
    assert tuple((large - value).abs().idxmin() for value in contexts.R_SQUARED) == contexts.GROUPS


def test_embeddings_are_kept(store):
    signatures = np.random.default_rng(0).standard_normal((30, 30))
    first = embedding(signatures, SMALL)
    (file,) = store.iterdir()
    stamp = file.stat().st_mtime_ns
    np.testing.assert_array_equal(embedding(signatures, SMALL).codes, first.codes)
    assert file.stat().st_mtime_ns == stamp
    file.write_bytes(b"half")
    np.testing.assert_array_equal(embedding(signatures, SMALL).codes, first.codes)
    assert embedding(signatures + 1e-3 * signatures**2, SMALL).best >= 0
    assert len(list(store.iterdir())) == 2


def test_arrays_are_kept_by_their_inputs(store):
    made = []

    def compute(value):
        made.append(value)
        return {"x": np.array([value])}

    assert [int(kept("a", key, (__name__,), partial(compute, i))["x"][0]) for i, key in enumerate("kkl")] == [0, 0, 2]
    assert made == [0, 2]


def test_reward_needs_its_23_genes():
    signatures = np.arange(48.0).reshape(2, 24)
    np.testing.assert_allclose(proliferation(signatures, ["other", *GENES[::-1]]), signatures[:, 1:].mean(axis=1))
    refuses(lambda: proliferation(signatures[:, :23], (*GENES[:-1], "other")), "there is no USP1")
    assert (scaled(np.ones((3, 2))) == 0.0).all()


def test_errors_of_a_fit_are_those_of_its_outputs():
    """A linear class on a linear reward fits it; what was not seen is counted apart."""
    features = np.random.default_rng(0).standard_normal((60, 3))
    problem = NoiselessArms("t", features, scaled(features @ [1.0, -2.0, 0.5])[None])
    known = random_orders("t", 2, 60, seed=1)[:, :40]
    assert (fit_errors(problem, (), 0.01, 3000, known, seed=1)[["train", "test"]] < 1e-3).all(axis=None)
    assert (fit_errors(problem, (), 1e-6, 1, known, seed=1)["train"] > 0.3).all()
    assert fit_errors(problem, (), 0.01, 10, random_orders("t", 2, 60, seed=1), seed=1)["test"].isna().all()
    assert Mlp(3, ()).n_parameters == 4
    rows = batch_fit_rows({"t": lambda: problem}, (), 0.01, 20, (1, 2, 3), 5, 2, seed=1)
    assert sorted(rows["x"].unique()) == [1, 2]  # three batches would be all arms


@pytest.mark.parametrize("name", SEARCHES)
def test_the_papers_scale(name):
    """20 batches of 50 arms, 5000 steps, 10 members; 25 runs, ours; sequential batches of whole runs are cut."""
    runs, steps, members = (12, 200, 5) if name.startswith("contexts_whole_sequential") else (25, 5000, 10)
    for cell in SEARCHES[name].cells("paper"):
        assert (cell.replications, cell.policy.batch, cell.policy.rounds) == (runs, 50, 20)
        assert getattr(cell.policy, "steps", steps) == steps
        assert getattr(cell.policy, "members", members) == members
    for cell in SEARCHES[name].cells("laptop"):
        assert (cell.replications, cell.policy.batch) == (FEW_RUNS, 50)


def runs_of(column, found, batch=50, **others):
    """Return rows of runs in batches from a column's values by series, run and batch."""
    lines = [
        (series, run, number, batch * number, value)
        for series, runs in found.items()
        for run, values in enumerate(runs)
        for number, value in enumerate(values, start=1)
    ]
    common = {"arm_count": 1000, "diverged": 0.0, "optimistic": 1.0, "data": "real", "convention": "as_written"}
    return pd.DataFrame(lines, columns=["series", "replication", "round", "pulls", column]).assign(**common | others)


def twice(ranks):
    return {series: [found, found] for series, found in ranks.items()}


def test_misfit_and_gain_of_lines():
    errors = {"linear": 3.0, "NN 10-5": 2.0, "NN 100-10": 1.0}
    lines = [(c, r, i, x, x * m) for (c, m), r, i, x in product(errors.items(), (0.001, 0.003, 0.01), (0, 1), (1, 2))]
    columns = ["series", "learning_rate", "replication", "x", "mse"]
    fits = pd.DataFrame(lines, columns=columns).assign(panel="A", var=2.0)
    assert own_misfit(fits, {})[["linear", "NN 10-5", "NN 100-10"]].to_numpy().tolist() == [[3.0, 2.0, 1.0]] * 2
    ranks = {"RandomBatch": [9, 9], "MeanOpt 0.001": [9, 1], "MeanOpt 0.01": [9, 9], "MeanOpt 0.1": [1, 1]}
    searches = runs_of("rank", twice(ranks), 5, name="A", arm_count=500, data="simulated")
    table = misfit_and_gain(fits, dict.fromkeys(("NN 100-10", "NN 10-5", "linear"), searches)).set_index("series")
    assert table.loc["linear", "misfit"] == 3.0
    assert table["gain"].to_list() == pytest.approx([1.0 - 1.0 / (1.0 + (495 / 500) + (490 / 500))] * 3, abs=1e-9)


def test_a_correlation_and_its_permutations():
    x, falling = pd.Series(range(12)), pd.Series(range(12, 0, -1))
    correlation, p = permuted_correlation(x, falling)
    assert correlation == pytest.approx(-1.0)
    assert p < 0.001
    assert permuted_correlation(x, x)[1] == pytest.approx(1.0)


def test_small_values():
    rows = pd.DataFrame({"x": [1, 2], "replication": 0, "series": "NN 1500-300", "test": [0.5, 0.25]})
    assert held_out(rows, {}).to_numpy().tolist() == [[0.25]]


def test_batches_and_gains_stand_at_a_groups_r_squared():
    """Of 1000 genes two count; MeanOpt finds one in the first batch, Greedy in the second."""
    ranks = {"RandomBatch": [9, 9], "Greedy": [9, 1], **{f"MeanOpt {s}": [1, 1] for s in ("0.001", "0.01", "0.1")}}
    rows = pd.concat([runs_of("rank", twice(ranks), name=group) for group in "ab"], ignore_index=True)
    likeness = pd.DataFrame({"panel": ["a", "b"], "value": [0.3, 0.8]})
    found = group_values({"NN": [rows]}, likeness, "laptop")
    at = found[found["statistic"] == "batches"].pivot_table(index="x", columns="series", values="value")
    assert (at.index.to_list(), at["Greedy"].to_list()) == ([0.3, 0.8], [2.0, 2.0])
    assert at["MeanOpt 0.1"].to_list() == [1.0, 1.0]
    gains = gain_values({"NN": rows}, likeness, "laptop").set_index(["panel", "group"])["value"]
    assert gains["on Greedy", "a"] == pytest.approx(0.5)
    chance = 1.0 + (950 * 949) / (1000 * 999) + (900 * 899) / (1000 * 999)
    assert gains["on random batches", "b"] == pytest.approx(1.0 - 1.0 / chance, abs=1e-9)


def test_what_a_batch_earns_leaves_out_the_first_and_is_paired_by_run():
    """Two runs of three batches; the first batch, random in all searches, has another reward."""
    rows = runs_of("reward", {"Greedy": [[9, 1, 3], [9, 2, 4]], "MeanOpt 0.1": [[9, 0, 3], [9, 1, 1]]}, name="alk")
    likeness = pd.DataFrame({"panel": ["alk"], "value": [0.23]})
    found = earned_values({"linear": rows}, likeness, "laptop").set_index(["statistic", "series"])
    rewards = {("reward", "Greedy"): 2.5, ("reward", "MeanOpt 0.1"): 1.25}
    assert found["value"].to_dict() == rewards | {("gain in reward", "MeanOpt 0.1"): -1.25}
    gain = found.loc[("gain in reward", "MeanOpt 0.1")]
    assert gain["high"] - gain["value"] == pytest.approx(12.706 * 0.75, rel=1e-3), "differences -0.5 and -2"
    assert (gain["x"], gain["group"], gain["n"], gain["panel"]) == (0.23, "alk", 2, "linear")
    table = earned_table(found.reset_index())
    assert table.to_dict("records")[0]["Greedy"].startswith("2.50 [")
    assert list(table.columns) == ["class", "group", "R²", "Greedy", "MeanOpt 0.1"]


def test_the_best_arms_of_a_batch_are_counted():
    """Of 1000 arms two are in the top 0.2%; ten batches of 100 hold both."""
    responses = np.random.default_rng(0).permutation(1000).astype(np.float64)
    problem = NoiselessArms("any", np.arange(1000.0)[:, None], responses[None])
    observer = TopObserver(RandomBatch("random", 100, 10), problem)
    rows = simulate(observer, problem, Streams.first(4, instance="any"), metrics={"arm": lambda _, a: a[:, 0]}, every=1)
    found = observer.findings(np.arange(4)).merge(rows, on=["replication", "round"])
    assert (found.groupby("replication")["top"].sum() == 2.0).all()
    assert found["top"].isin([0.0, 1.0, 2.0]).all()
    for _, run in found.groupby("replication"):
        first = run.loc[run["top"] > 0, "round"].min()
        seen = responses[run["arm"].astype(int)] >= 998.0
        assert (seen == (run["round"] >= first)).all(), "the best arm so far is a top arm from that batch on"


def test_the_share_found_and_its_difference_from_greedy():
    """Of 1000 genes two count; whole runs of three batches of 50, of which the first is random."""
    tops = {"RandomBatch": [[0, 0, 1]] * 2, "Greedy": [[0, 1, 0], [0, 0, 0]], "DetD 0": [[0, 1, 1], [1, 0, 0]]}
    rows = runs_of("top", tops, name="alk", relative_regret=0.5)
    rows["reward"] = rows["round"] + 2.0 * rows["top"]
    share = top_found(rows, {})
    assert (share["DetD 0"].to_list(), share["Greedy"].to_list()) == ([(0.5 + 1.0) / 2, 0.5], [0.5, 0.0])
    assert share["RandomBatch"].to_list() == pytest.approx([0.125] * 2), "the mean of 100 and 150 of 1000 genes"
    by = found_values(rows, ["alk"], "laptop").pivot_table(index=["statistic", "series"], columns="x", values="value")
    assert by.loc[("found", "DetD 0")].to_list() == [0.25, 0.5, 0.75]
    assert by.loc[("found beyond Greedy", "DetD 0")].to_list() == [0.25, 0.25, 0.5]
    assert by.loc[("reward beyond Greedy", "DetD 0")].to_list() == [1.0, 0.0, 1.0]
    assert by.loc[("found", "RandomBatch, exact law")].to_list() == pytest.approx([0.05, 0.1, 0.15])
    assert by.loc[("reward", "RandomBatch, exact law")].to_list() == [0.0] * 3
