"""The next batch of a screen: equal to an uninterrupted search, logged, repeatable, explained; between two rounds."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import NETWORKS, Lab, features, genes, phenotypes

import bestarm
from bestarm.interface import Arms
from bestarm.search.campaign import Campaign, next_round
from bestarm.search.candidates import read_features
from bestarm.search.choices import NAMES, Choice
from bestarm.search.explanations import expected_hits, nearest_measured
from bestarm.search.next_batch import Plan, recomputed_batches, replayed_state
from bestarm.search.rounds import Chunk
from bestarm.streams import Streams


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


@pytest.fixture
def table(lab):
    return read_features(lab.features, [])


def choice(name: str, **settings) -> Choice:
    return Choice(name, ({"hidden": (8, 4), "steps": 60} if name in NETWORKS else {}) | settings)


def uninterrupted(policy, scores, rewards, rounds, failed=()):
    """Return the batches of a search that is asked and told without a file in between."""
    state, batches = policy.start(Arms(scores), Streams.first(1, seed=3)), []
    for _ in range(rounds):
        asked = policy.ask(state)
        policy.tell(state, asked, np.array([[math.nan if a in failed else rewards[a] for a in asked.arms[0]]]))
        batches.append(asked.arms[0].tolist())
    return batches


@pytest.mark.parametrize("name", NAMES)
def test_batches_are_those_of_an_uninterrupted_search(name, table):
    """To the last gene, for every policy, with a failed well among them; and the log leads to the same batches."""
    scores, rewards = table.scores(), phenotypes().to_numpy()
    first = uninterrupted(choice(name).search(4, 9), scores, rewards, 1)[0]
    wanted = uninterrupted(choice(name).search(4, 9), scores, rewards, 4, failed={first[1]})
    plan, rounds, known = Plan(choice(name), 4, seed=3), [], {}
    for number in range(4):
        rounds.append(next_round(plan, table, known, rounds))
        assert rounds[-1].names == [table.names[a] for a in wanted[number]]
        known |= {g: math.nan if g == table.names[first[1]] else rewards[genes().index(g)] for g in rounds[-1].names}
    assert len({g for each in rounds for g in each.names}) == 16, "no gene is suggested twice"
    assert recomputed_batches(rounds, table) == [each.names for each in rounds]


@pytest.mark.parametrize("name", ["greedy", "mean_opt", "ensemble", "seq_b"])
def test_without_scaling_batches_are_those_of_a_search_by_the_library(name, table):
    """`bestarm.Search` on standardised features, with the same phenotypes."""
    rewards = phenotypes().to_numpy() / 100.0
    plain = Choice(name, choice(name).settings, scaled=False)
    frame = pd.DataFrame(table.scores(), index=genes(), columns=["a", "b", "c"])
    search = bestarm.Search(frame, plain.search(4, 3).policy, seed=3)
    rounds, known = [], {}
    for _ in range(3):
        batch = search.ask()
        rounds.append(next_round(Plan(plain, 4, seed=3), table, known, rounds))
        assert rounds[-1].names == batch["name"].tolist()
        batch["reward"] = [rewards[genes().index(g)] for g in batch["name"]]
        known |= dict(zip(batch["name"], batch["reward"], strict=True))
        search.tell(batch)


def test_scaling_makes_the_unit_of_the_phenotype_irrelevant(table):
    """Batches are the same for phenotypes in hundreds and in thousandths, and with another zero."""
    found = []
    for factor, shift in ((1.0, 0.0), (2.0**-17, 0.0), (1.0, 1024.0)):
        rounds, known = [], {}
        for _ in range(3):
            rounds.append(next_round(Plan(choice("mean_opt"), 4), table, known, rounds))
            known |= {g: factor * phenotypes()[g] + shift for g in rounds[-1].names}
        found.append([each.names for each in rounds])
    assert found[0] == found[1] == found[2]


def test_what_is_known_beforehand_is_learned_from(table):
    """The first batch of a search that knows ten genes is not the random one, and has none of the ten."""
    known = dict(phenotypes()[:10])
    blind, first = (next_round(Plan(choice("greedy"), 4), table, told, []) for told in ({}, known))
    assert first.names != blind.names
    assert not set(first.names) & set(known)
    assert [gene for gene, _ in first.told] == list(known)
    assert all(math.isnan(s.predicted) and s.rank == 0 for s in blind.suggested)
    assert not any(math.isnan(s.predicted) for s in first.suggested)


@pytest.mark.parametrize("name", ["mean_opt", "gp_bucb", "linear", "random"])
def test_predictions_follow_the_phenotype_and_know_what_was_measured(name, table):
    """Correlated with the truth over all genes; a deviation of at least 0, smaller at measured genes than elsewhere."""
    truth = features()["a"].to_numpy() * 50.0
    arms = np.arange(0, 40, 2)
    settings = {} if name in ("gp_bucb", "linear", "random") else {"steps": 400}
    policy, state = replayed_state(Plan(choice(name, **settings), 4), table.scores(), [Chunk(arms, truth[arms])])
    policy.ask(state)
    predicted, spread = policy.predicted(state)
    assert np.corrcoef(predicted, truth)[0, 1] > 0.8
    assert (spread >= 0).all()
    assert spread[arms].mean() < np.delete(spread, arms).mean()


def test_novelty_is_the_distance_to_the_nearest_measured_gene():
    scores = np.random.default_rng(0).standard_normal((700, 4))
    genes_, measured = np.arange(0, 50), np.arange(100, 700)
    novelty, nearest = nearest_measured(scores, genes_, measured)
    distances = np.sqrt(((scores[genes_][:, None] - scores[measured]) ** 2).mean(axis=2))
    np.testing.assert_allclose(novelty, distances.min(axis=1), atol=1e-6)
    assert (nearest == measured[distances.argmin(axis=1)]).all()


def test_expected_hits_are_sums_of_normal_tails(table):
    """Half a hit for a prediction at the threshold; none and one far away from it."""
    known = dict(phenotypes()[:20])
    batch = next_round(Plan(choice("greedy"), 3), table, known, []).suggested
    sd = float(np.std(list(known.values())))
    values = {gene: (value,) for gene, value in known.items()}
    for predicted, wanted in ((7.0, 1.5), (7.0 + 40 * sd, 3.0), (7.0 - 40 * sd, 0.0)):
        moved = [type(s)(s.name, predicted, 1.0, 1.0, "", 1, "") for s in batch]
        assert expected_hits(Plan(choice("greedy"), 3), moved, [], values, 7.0) == pytest.approx(wanted)
    error = float(np.sqrt(np.mean(np.square(np.arange(20.0)))))  # of 20 predictions that were 0, 1, ..., 19 too low
    past = [type(batch[0])(g, v - e, 1.0, 1.0, "", 1, "") for e, (g, v) in enumerate(known.items())]
    before = next_round(Plan(choice("greedy"), 3), table, {}, [])
    rounds = [type(before)(1, before.settings, "", (), {}, tuple(past), 0.0, 0.0, {}, "")]
    one = [type(batch[0])("GENE30", 7.0 - error, 1.0, 1.0, "", 1, "")]
    assert expected_hits(Plan(choice("greedy"), 1), one, rounds, values, 7.0) == pytest.approx(0.158655, abs=1e-5)


def test_what_was_learned_is_told_by_the_next_round(lab, capsys):
    """Measured, failed, hits from the logged threshold, and Spearman's correlation of the logged predictions."""
    lab.round(1, "--hit", "50", failed=1)
    out = lab.says(capsys, "--hit", "50")
    lab.measure(lab.batch(2))
    out += lab.says(capsys, "--hit", "50")
    plate, values = lab.plate(2), phenotypes()
    measured = values[list(plate["gene"])].to_numpy()
    correlation = pd.Series(plate["predicted"].astype(float)).corr(pd.Series(measured), method="spearman")
    assert "round 1: 3 measured, 1 failed; " in out
    assert f"round 2: 4 measured, 0 failed; rank correlation of prediction and measurement {correlation:.2f}; " in out
    assert f"{(measured >= 50).sum()} hits" in out
    learned = json.loads((lab.rounds / "round_003.json").read_text())["learned"]
    assert learned["rank_correlation"] == pytest.approx(correlation)
    assert learned["hits"] == (measured >= 50).sum()


def test_the_same_call_twice_gives_the_same_batch_and_changes_no_file(lab, capsys):
    """A plate map into which results were written is not touched."""
    assert lab.suggest() == 0
    plate = lab.rounds / "round_001_plate.csv"
    plate.write_text(plate.read_text().replace(",,,", ",1.5,,", 1))
    before = lab.files()
    assert "round 1 waits for its results: the same batch" in lab.says(capsys)
    assert (lab.files(), len(before)) == (before, 2)


def test_a_hit_is_that_of_the_batch_which_waits_and_is_told_with_all_of_it(lab, capsys):
    lab.measure(genes()[:12])
    lab.suggest("--hit", "20", policy="gp")
    shown = lab.says(capsys, "--hit", "30", status=2, policy="gp")
    assert "round 1 waits for its results, with hits from 20 on" in shown
    (lab.rounds / "candidates.zip").unlink()
    assert "expected hits: " in lab.says(capsys, "--hit", "20", policy="gp")
    assert (lab.rounds / "candidates.zip").exists()
    assert "round 1: 0 measured" not in lab.says(capsys, "--pending", policy="gp")
    lab.measure(lab.batch(1)[:1])
    assert "were expected" not in lab.says(capsys, "--withdraw", "--hit", "20", policy="gp")
    lab.measure([*lab.batch(1)[1:], *lab.batch(2)])
    out = lab.says(capsys, policy="gp")
    assert "were expected" in out
    assert "that no batch had suggested" not in out
    low = ("--aim", "low", "--set", "threshold=-2")
    assert "not --aim low; give --hit in its place" in lab.says(capsys, *low, status=2, policy="hits")


def test_the_same_files_elsewhere_give_the_same_rounds(tmp_path):
    """Two labs with the same tables and seed write the same log; another seed is another first batch."""
    found = []
    for name, seed in (("one", "0"), ("two", "0"), ("three", "1")):
        lab = Lab(tmp_path / name)
        for number in (1, 2):
            lab.round(number, "--seed", seed)
        found.append(lab.files())
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_the_log_holds_seed_version_and_settings(lab):
    lab.suggest("--seed", "7", "--aim", "low", "--components", "2")
    meta = json.loads((lab.rounds / "round_001.json").read_text())
    assert meta["version"] == bestarm.__version__
    policy = {"policy": "mean_opt", "settings": {"hidden": [8, 4], "steps": 60}, "scaled": True}
    assert meta["settings"] == policy | {"seed": 7, "batch": 4, "aim": "min", "components": 2}
    assert [s["name"] for s in meta["suggested"]] == lab.batch(1)


@pytest.mark.parametrize("policy", ["mean_opt", "dpp_sample"])
def test_the_history_is_replayed_from_the_files(policy, lab, capsys):
    for number in (1, 2, 3):
        lab.suggest(policy=policy)
        lab.measure(lab.batch(number), failed=lab.batch(number)[2:3])
    before, out, kept = lab.files(), lab.says(capsys, "--check", policy=policy), lab.phenotypes.read_text()
    lab.phenotypes.write_text(kept.replace(",failed", ",99", 1))
    out += lab.says(capsys, "--check", policy=policy, status=1)
    lab.phenotypes.write_text(kept)
    assert "failed in the log, 99 in the file\n3 rounds, 8 phenotypes: 1 differences" in out
    assert "round 3: the same batch" in out
    assert "3 rounds, 8 phenotypes: all as logged" in out
    assert lab.files() == before
    path = lab.rounds / "round_002.json"
    text = path.read_text()
    path.write_text(text.replace(lab.batch(2)[0], next(g for g in genes() if g not in text)))
    assert "round 2: ANOTHER BATCH" in lab.says(capsys, "--check", policy=policy, status=1)


def test_policy_batch_and_seed_may_change_between_rounds(lab):
    for number, (policy, batch) in enumerate((("random", 6), ("thompson", 4), ("linear", 5), ("ensemble", 3)), start=1):
        lab.round(number, "--seed", str(number), policy=policy, batch=batch)
        assert len(lab.batch(number)) == batch
    assert lab.suggest("--check") == 0


def test_a_revised_phenotype_counts_from_then_on(lab, capsys):
    """A repeated well changes a mean: rounds before stay as they were, and the change is logged."""
    lab.round(1, failed=1)
    lab.round(2)
    first, _, third, _ = lab.batch(1)
    lab.measure(lab.batch(1)[:2])  # the failed gene again, and a replicate of another with the same value
    lab.add(f"{third},0")
    before = lab.files()
    assert "; 2 revised" in lab.says(capsys)
    meta = json.loads((lab.rounds / "round_003.json").read_text())
    assert meta["revised"] == {first: phenotypes()[first], third: phenotypes()[third] / 2}
    assert {name: text for name, text in lab.files().items() if "003" not in name} == before
    assert lab.suggest("--check") == 0


def test_a_plate_has_its_wells_in_order_without_those_kept_free(lab):
    """A01, A02, ...; the next plate where one is full."""
    assert lab.suggest("--keep-free", "a1,A03", policy="random") == 0
    assert list(lab.plate(1)["well"]) == ["A02", "A04", "A05", "A06"]
    assert " ".join(lab.plate(1).columns) == "plate well gene phenotype predicted uncertainty novelty nearest why"
    assert (lab.plate(1)["phenotype"] == "").all()
    assert lab.suggest("--keep-free", "A02", policy="random") == 2, "the file has other wells"
    assert lab.suggest("--keep-free", "A01,A03", policy="random") == 0


def test_components_take_the_place_of_features(table):
    """Uncorrelated, in order of their variance, mean square 1; all of them keep every distance."""
    found = table.scores(3)
    covariance = found.T @ found
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0.0, atol=1e-10)
    assert (np.diff(np.diag(covariance)) < 0).all()
    assert (found**2).mean() == pytest.approx(1.0)
    scores = table.scores()
    np.testing.assert_allclose(scores @ scores.T, found @ found.T, atol=1e-10)
    refuses(lambda: table.scores(4), "components must be between 1 and 3, or 0 for all features; got 4")


def test_a_screen_ends_with_the_genes_that_are_left(lab, capsys):
    """A batch larger than what is left is what is left, and after it there is nothing to suggest."""
    lab.measure(genes()[:37])
    assert "note: only 3 genes are left, fewer than a batch of 4." in lab.says(capsys, policy="greedy")
    assert sorted(lab.batch(1)) == genes()[37:]
    lab.measure(genes()[37:])
    assert "all 40 genes have been measured; there is nothing left to suggest." in lab.says(capsys, policy="greedy")
    assert len(Campaign(lab.rounds).rounds()) == 1


def test_a_waiting_batch_can_be_withdrawn_and_is_kept(lab, capsys):
    """Another policy takes its place; its file stays under another name."""
    lab.suggest(policy="random")
    first = lab.files()
    shown = lab.says(capsys, policy="greedy", status=2)
    assert "round 1 waits for its results, with another policy, settings; measure it, or add --withdraw" in shown
    assert (lab.files(), lab.suggest("--withdraw", policy="greedy")) == (first, 0)
    found = lab.files()
    assert found["round_001.withdrawn1.json"] == first["round_001.json"]
    assert found["round_001_plate.withdrawn1.csv"] == first["round_001_plate.csv"]
    assert json.loads(found["round_001.json"])["settings"]["policy"] == "greedy"
    lab.measure(lab.batch(1))
    assert "no batch waits that could be withdrawn" in lab.says(capsys, "--withdraw", policy="greedy", status=2)


# a laboratory between two rounds: half of a plate, tables that change, files of another spreadsheet


@pytest.fixture
def begun(lab):
    assert lab.suggest(policy="random", batch=6) == 0
    return lab


def test_half_a_round_is_no_dead_end(begun, capsys):
    """The rest is not done, and can be suggested again; or it is being measured, and a batch beside it is suggested."""
    lab, batch = begun, begun.batch(1)
    lab.measure(batch[:4])
    shown = lab.says(capsys, policy="random", batch=6, status=2)
    assert "round 1 waits for 2 of 6 genes" in shown
    assert "--withdraw if they will not be done, or --pending if they are being measured" in shown
    assert "; 2 being measured" in lab.says(capsys, "--pending", policy="random", batch=30)
    assert not set(lab.batch(2)) & set(batch)
    assert "round 2 withdrawn, kept as" in lab.says(capsys, "--withdraw", policy="random", batch=40)
    assert set(lab.batch(2)) == set(genes()) - set(batch), "what is measured beside it goes on"
    lab.measure([*batch[4:], *lab.batch(2)[:3]])
    shown = lab.says(capsys, "--withdraw", policy="random", batch=4)
    assert "genes not done, back among those to choose from" in shown
    assert lab.suggest("--check", policy="random") == 0
    lab.phenotypes.write_text("gene,phenotype\n")  # while a batch waits
    assert "earlier rounds used have no row now" in lab.says(capsys, policy="random", batch=4, status=2)


def test_a_well_that_was_not_done_is_as_if_it_had_no_row(begun):
    begun.measure(begun.batch(1)[:4])
    begun.add(*(f"{gene},not done" for gene in begun.batch(1)[4:]))
    assert begun.suggest("--withdraw", policy="random", batch=40) == 0
    assert set(begun.batch(1)[4:]) <= set(begun.batch(2))


def test_a_table_that_is_sorted_anew_or_longer_does_not_end_a_campaign(begun, capsys):
    """Rows and columns in another order are the same table; new genes are said and suggested, those gone are not."""
    lab = begun
    lab.measure(lab.batch(1))
    table = features().iloc[::-1, ::-1]
    table.to_csv(lab.features)
    lab.round(2, policy="greedy")
    before = lab.files()
    out = next(name for name in table.index if name not in lab.batch(1) + lab.batch(2))
    new = pd.DataFrame([[0.1, 0.2, 0.3], [0.2, 0.1, 0.4]], index=["NEW1", "NEW2"], columns=["a", "b", "c"])
    pd.concat([new, features().drop(index=out)]).rename_axis("gene").to_csv(lab.features)
    shown = lab.says(capsys, policy="random", batch=40)
    assert "note: features.csv: 2 genes are new (NEW1, NEW2)." in shown
    assert f"note: features.csv: 1 genes are gone, and will not be suggested ({out})." in shown
    assert {"NEW1", "NEW2"} <= set(lab.batch(3))
    assert out not in lab.batch(3)
    assert {name: text for name, text in lab.files().items() if "003" not in name} == before
    assert "3 rounds" in lab.says(capsys, "--check", policy="random")


def test_a_folder_and_a_hit_that_is_no_number(lab, capsys):
    assert "--hit must be a finite number, got nan" in lab.says(capsys, "--hit", "nan", policy="random", status=2)
    lab.features.unlink()
    lab.features.mkdir()
    assert "is a folder, no file; name the table in it" in lab.says(capsys, policy="random", status=2)


@pytest.mark.parametrize(("policy", "plate"), [("mean_opt", 384), ("gp_bucb", 96), ("thompson", 96), ("gp", 384)])
def test_a_whole_plate(policy, plate, lab):
    """Every well has a gene, in the first round and in the next one; networks choose 256 at a time."""
    table = pd.DataFrame({"gene": [f"G{i}" for i in range(900)], "a": range(900), "b": [i**2 % 31 for i in range(900)]})
    table.to_csv(lab.features, index=False)
    for number in (1, 2):
        assert lab.suggest("--plate", str(plate), policy=policy, batch=plate) == 0
        found = lab.plate(number)
        assert found["gene"].nunique() == plate
        assert found["plate"].eq(1).all()
        lab.add(*(f"{gene},{(int(gene[1:]) - 300) ** 2}" for gene in found["gene"]))
    assert lab.suggest("--check") == 0
