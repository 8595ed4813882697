"""Screens, descriptors, splits, acquisitions and searches of genes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hills import searched
from refusals import refuses

from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.datasets import registry
from bestarm_lab.datasets.registry import DataDamaged, DataUnavailable, available, fetch
from bestarm_studies.oae.genedisco import gene_screen as screens
from bestarm_studies.oae.genedisco import gene_searches, gene_tables
from bestarm_studies.oae.genedisco import todays_screen as today
from bestarm_studies.oae.genedisco.checks import GENES, GENES_CODED, chance
from bestarm_studies.oae.genedisco.dropout_network import Passes
from bestarm_studies.oae.genedisco.gene_searches import ACQUISITIONS, GeneSearch, LargestNorms, RandomGenes, RidgeSearch

RUNS = np.arange(3)
real = pytest.mark.skipif(not available(*screens.DATA_FILES), reason="the screens or the group effects are not here")
today_here = pytest.mark.skipif(not available(*today.DATA_FILES), reason="the files can be had nowhere here")


def small_screen(n_genes=400, seed=0):
    """A screen with a linear signal and one gene of a very large norm."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_genes, 6))
    features[7] *= 20.0
    effects = features @ np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0]) + 0.1 * rng.standard_normal(n_genes)
    return screens.GeneScreen("small", features, effects)


def rows_of(policy, screen=None, n_rounds=4):
    problem = (screen or small_screen()).take(RUNS)
    policy = replace(policy, batch=8, rounds=n_rounds)
    metrics = {m.__name__: m for m in screens.METRICS}
    return simulate(policy, problem, Streams.first(len(RUNS), instance="genes"), metrics=metrics, every=1)


@real
def test_the_ifng_target_is_the_one_thwaitingmark_stored():
    """All genes whose symbol both renamings keep alone have the value that the benchmark's own code made."""
    stored = pd.read_csv(fetch("genedisco-ifng-target"), sep="\t", keep_default_na=False).set_index("gene")
    mine = gene_tables.screen_target("IFNg").reindex(stored.index)
    equal = np.isclose(mine, stored["log_fold_change"], rtol=0, atol=2e-6)
    assert (len(stored), len(gene_tables.screen_target("IFNg")), equal.sum()) == (18416, 18881, 17764)
    assert mine.isna().sum() + (~equal & mine.notna()).sum() == 652, "the others are renamed or merged differently"


@real
def test_targets_are_the_formulas_of_the_benchmark():
    """Mean of donors, sum of replicates, minus the logarithm of the score; moments as the files have them."""
    donors = [_table(f"genedisco-il2-donor-{d}", "id").loc["VAV1", "pos|lfc"] for d in (1, 2)]
    assert gene_tables.screen_target("IL2").loc["VAV1"] == pytest.approx(np.mean(donors))
    replicates = _table("genedisco-nk", "Gene").loc["SCAMP2", ["Rep1|z", "Rep2|z"]]
    assert gene_tables.screen_target("NK").loc["SCAMP2"] == pytest.approx(replicates.sum())
    virus = gene_tables.screen_target("SARS-CoV-2")
    assert (virus.idxmax(), virus.max()) == ("ACE2", pytest.approx(-np.log(1.4e-13)))
    assert virus.min() >= 0.0
    assert gene_tables.screen_target("NK").std() == pytest.approx(1.56, abs=0.01)
    assert gene_tables.screen_target("IFNg").std() == pytest.approx(0.22, abs=0.01)


def _table(name, index):
    return pd.read_csv(fetch(name), sep="\t", keep_default_na=False, na_values=[""]).set_index(index)


@real
@pytest.mark.parametrize("name", gene_tables.SCREENS)
def test_misaligned_targets_are_the_same_values_on_other_genes(name):
    """Sorted symbols with values in file order: for the virus the strongest value is the first gene's."""
    right, wrong = gene_tables.screen_target(name), gene_tables.screen_target(name, misaligned=True)
    assert (list(wrong.index), set(right.index)) == (sorted(wrong.index), set(wrong.index))
    assert (right == wrong.reindex(right.index)).mean() < 0.05
    if name == "SARS-CoV-2":
        assert np.allclose(np.sort(right), np.sort(wrong))
        assert wrong.index[int(np.argmax(wrong))] == sorted(right.index)[0]


def test_an_unknown_screen_is_refused():
    refuses(lambda: gene_tables.screen_target("tau"), "name must be one of IFNg, IL2, NK, SARS-CoV-2, got 'tau'")


def write_achilles(folder, n_lines=4):
    """Write a small file in the form of the official one, with a missing value and an outdated symbol."""
    path = folder / gene_tables.ACHILLES_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = ["A1BG (1)", "MARCH1 (55016)", "ZZZ3 (26009)"]
    values = np.arange(3.0 * n_lines).reshape(n_lines, 3)
    table = pd.DataFrame(values, index=[f"ACH-{i:06d}" for i in range(n_lines)], columns=columns)
    table.index.name = "DepMap_ID"
    table.iloc[1, 2] = np.nan
    table.to_csv(path)
    return path, values


def test_the_official_file_is_read_where_the_user_has_it(tmp_path, monkeypatch):
    """Transposed, symbols before the blank, a missing value replaced by the mean of its cell line."""
    monkeypatch.setattr(registry, "RAW_DATA", tmp_path)
    monkeypatch.setenv("BESTARM_DATA", str(tmp_path / "nowhere"))
    refuses(lambda: gene_tables.achilles_file(), r"Download Achilles_gene_effect\.csv of DepMap 20Q4", DataUnavailable)
    path, values = write_achilles(tmp_path)
    assert gene_tables.achilles_file() == path
    table = gene_tables.read_achilles(path, size=(4, 3))
    assert list(table.index) == ["A1BG", "MARCH1", "ZZZ3"]
    assert table.loc["ZZZ3"].tolist() == [values[0, 2], values[1, :2].mean(), values[2, 2], values[3, 2]]
    refuses(lambda: gene_tables.read_achilles(path), r"has 4 cell lines and 3 genes; .* has 808 and 18119", DataDamaged)


def test_a_table_with_words_is_no_gene_effect(tmp_path):
    path, _ = write_achilles(tmp_path)
    path.write_text(path.read_text().replace("0.0,1.0", "high,1.0"))
    refuses(lambda: gene_tables.read_achilles(path, size=None), "column 'A1BG \\(1\\)' is not numeric", DataDamaged)


@real
def test_symbols_of_descriptors_are_renamed_and_merged():
    found = gene_tables.current(pd.DataFrame({"line": [1.0, 3.0, 5.0]}, index=["MARCH1", "MARCHF1", "A1BG"]))
    assert (list(found.index), found.loc["MARCHF1", "line"]) == (["A1BG", "MARCHF1"], 2.0)


def test_rows_shift_where_a_new_symbol_has_another_place():
    """MARCH1 becomes ZARCH1: its row stays between A and N, where another symbol now stands."""
    given = gene_tables.shifted_rows(["A", "MARCH1", "N"], ["A", "ZARCH1", "N"])
    assert given == {"A": "A", "N": "ZARCH1", "ZARCH1": "N"}
    assert gene_tables.shifted_rows(["A", "B"], ["A", "B"]) == {"A": "A", "B": "B"}


@real
def test_group_effects_and_their_misalignment():
    right, wrong = gene_tables.descriptors("DepMap groups"), gene_tables.descriptors("DepMap groups", misaligned=True)
    assert right.shape == (17787, 142)
    assert np.isfinite(right.to_numpy()).all()
    same = np.isclose(right.loc[wrong.index], wrong).all(axis=1).mean()
    assert same == pytest.approx(0.067, abs=0.001), "nearly all genes have the row of another"
    refuses(lambda: gene_tables.descriptors("STRING"), "source must be")
    assert gene_tables.ACHILLES_SIZE == (808, 18119)


@real
def test_sizes_of_the_screens_are_those_of_the_data():
    for genes, fault in ((GENES, "none"), (GENES_CODED, "both")):
        assert {name: len(screens.joined(name, "DepMap groups", fault)[1]) for name in gene_tables.SCREENS} == genes


def test_pools_and_hits():
    """A fifth is set aside, in every run another; hits are the largest absolute effects of the pool."""
    screen = small_screen()
    runs = screen.take(np.arange(5))
    assert (runs.pool.sum(axis=1) == 320).all()
    assert (runs.hits.sum(axis=1) == 16).all()
    assert len({row.tobytes() for row in runs.pool}) == 5
    for r in range(5):
        threshold = np.abs(screen.effects[runs.hits[r]]).min()
        assert (np.abs(screen.effects[runs.pool[r] & ~runs.hits[r]]) <= threshold).all()
        assert not (runs.hits[r] & ~runs.pool[r]).any()
        assert screen.effects[runs.rising[r]].min() >= screen.effects[runs.pool[r] & ~runs.rising[r]].max()
    assert np.array_equal(screen.take(np.array([3])).pool[0], runs.pool[3]), "a run is the same in any block"
    assert np.array_equal(runs.take(np.array([3])).hits[0], runs.hits[3])


def test_a_fifth_of_the_hits_of_the_second_split_cannot_be_reached():
    runs = small_screen(4000).take(np.arange(200))
    outside = (runs.second_hits & ~runs.pool).sum(axis=1) / runs.second_hits.sum(axis=1)
    assert outside.mean() == pytest.approx(0.2, abs=4 * outside.std() / np.sqrt(200))
    assert not (runs.hits & ~runs.pool).any()


@pytest.mark.parametrize("splits", [1, 2])
def test_random_genes_follow_the_exact_law(splits):
    """Mean and variance of the hits among random genes, over many runs."""
    screen, n = small_screen(1000), 600
    runs = screen.take(np.arange(n))
    chosen = np.argsort(np.where(runs.pool, np.random.default_rng(5).random(runs.pool.shape), 2.0), axis=1)[:, :120]
    hits = runs.hits if splits == 1 else runs.second_hits
    found = np.take_along_axis(hits, chosen, axis=1).sum(axis=1)
    law = screens.chance_law(1000, 120, splits=splits)
    assert found.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(n))
    assert (found.var(), screens.hit_count(1000)) == (pytest.approx(law.var(), rel=0.3), hits[0].sum())


def test_chance_at_the_papers_scale():
    """After 800 genes: 0.057 of the hits with one split, 0.046 with two."""
    assert chance("IFNg", "as_written", 800)[0] == pytest.approx(800 / 13984, rel=1e-9)
    assert screens.chance_law(17479, 800, splits=2).mean() / 699 == pytest.approx(800 / 17479, rel=1e-9)
    refuses(lambda: screens.chance_law(100, 10, splits=3), "splits must be 1 or 2")
    refuses(lambda: screens.chance_law(100, 81, splits=1), "between 0 and the 80 genes of the pool, got 81")


def test_scores():
    mean, deviation, margin = (np.array([[v]], dtype=np.float32) for v in (-2.0, 0.5, 3.0))
    passes = Passes(mean, deviation, margin)
    expected = {"top_uncertain": 0.5, "optimistic": -1.5, "optimistic_absolute": 2.5, "mean": -2.0, "margin": 3.0}
    assert {name: float(gene_searches.scores_of(name, passes)[0, 0]) for name in expected} == expected
    assert gene_searches.scores_of("badge", passes) is None


def test_soft_weights_are_nearly_uniform_for_small_deviations():
    """The exponential is taken twice; 0.1 and 0.3 differ by 6% where a softmax of logarithms would say ninefold."""
    weights = gene_searches.soft_weights(np.array([0.1, 0.3]))
    powers = (1e-7 + np.array([0.01, 0.09])) ** (1 / 0.9)
    np.testing.assert_allclose(weights, np.exp(powers) / np.exp(powers).sum())
    assert weights[1] / weights[0] == pytest.approx(1.065, abs=0.01)
    assert gene_searches.soft_weights(np.array([50.0, 60.0]))[0] == pytest.approx(0.0, abs=1e-12), "no overflow"


def test_sampling_without_replacement_has_the_law_of_weights():
    weights, rng = np.array([0.5, 0.3, 0.2, 0.0]), np.random.default_rng(0)
    found = np.array([gene_searches.sampled(weights, rng.random(2)) for _ in range(4000)])
    np.testing.assert_allclose(np.bincount(found[:, 0], minlength=4) / 4000, weights, atol=4 * 0.5 / np.sqrt(4000))
    assert (found[:, 0] != found[:, 1]).all()
    assert ((found == [0, 1]).all(axis=1)).mean() == pytest.approx(0.5 * 0.3 / 0.5, abs=4 * 0.46 / np.sqrt(4000))


def test_far_points_are_farthest_one_after_another():
    points = np.array([[0.0], [1.0], [4.0], [10.0]], dtype=np.float32)
    assert gene_searches.far_from(points, points[:1], 3).tolist() == [3, 2, 1]


def test_seeds_start_with_the_largest_norm_and_repeat_nothing():
    points = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    found = gene_searches.spread_seeds(points, np.random.default_rng(1).random(12))
    assert (found[0], len(set(found))) == (np.argmax((points**2).sum(axis=1)), 12)


def test_cluster_members_come_from_every_cluster():
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    points = (centres[np.arange(90) % 3] + np.random.default_rng(0).standard_normal((90, 2))).astype(np.float32)
    assert sorted(gene_searches.cluster_members(points, np.array([0.1, 0.5, 0.9])) % 3) == [0, 1, 2]
    copies = gene_searches.cluster_members(np.zeros((9, 2), dtype=np.float32), np.array([0.1, 0.5, 0.9]))
    assert len(set(copies)) == 3, "each gene once, even among copies"


def test_adversarial_steps_end_beyond_a_share_of_the_norm():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((20, 6)).astype(np.float32)
    parameters = [rng.standard_normal(shape).astype(np.float32) for shape in ((6, 8), 8, 8)]
    moved = gene_searches.adversarial_distances(inputs, *parameters, np.random.default_rng(2))
    norms = np.sqrt((inputs**2).sum(axis=1))
    assert (np.sqrt(moved) >= 0.35 * norms - 1e-5).mean() > 0.8, "but for inputs at which no unit is on"
    assert (np.sqrt(moved) <= 0.35 * norms + 0.05 * np.sqrt(6) + 1e-5).all()


SEARCHES = [RandomGenes("Random"), LargestNorms("Norms"), RidgeSearch("Ridge"), RidgeSearch("R", absolute=True)] + [
    GeneSearch(f"Bayesian {name}", acquisition=name, epochs=3, passes=8) for name in ACQUISITIONS
]


@pytest.mark.parametrize("policy", SEARCHES, ids=lambda p: p.label)
def test_searches_choose_each_gene_of_the_pool_once(policy):
    """Every batch is new, of the pool, and the same whatever runs beside it; as coded too."""
    for search in (policy, policy.as_coded()):
        search = replace(search, batch=8, rounds=3)
        problem, streams = small_screen().take(RUNS), Streams.first(3, instance="genes")
        chosen = search.recommend(searched(search, problem, streams)[0])
        assert chosen.shape == (3, 24)
        assert all(len(set(row)) == 24 for row in chosen)
        assert np.take_along_axis(problem.pool, chosen, axis=1).all()
        alone = small_screen().take(RUNS[2:])
        rows = simulate(search, alone, streams.take(RUNS[2:]), metrics={"found": lambda _, genes: genes.sum(axis=1)})
        assert rows["found"].iloc[-1] == chosen[2].sum()


def test_the_first_batch_is_the_same_for_all():
    problem, streams = small_screen().take(RUNS), Streams.first(3, instance="genes")
    first = [p.ask(p.start(problem.arms, streams)).arms for p in SEARCHES]
    assert all(np.array_equal(first[0], batch) for batch in first)


def test_norms_are_largest_and_ridge_finds_a_linear_signal():
    screen = small_screen()
    norms = rows_of(LargestNorms("Norms"), screen)
    found = rows_of(RidgeSearch("Ridge absolute", absolute=False), screen, n_rounds=8)
    assert found[found["round"] == 8]["recall_rising"].mean() > 0.8
    assert norms["pulls"].max() == 32


def test_metrics_are_shares():
    rows = rows_of(RandomGenes("Random"))
    last = rows[rows["round"] == 4]
    np.testing.assert_allclose(last["precision"] * 32, last["recall_one_split"] * 16)
    assert (rows[rows["round"] == 0][["hit_ratio", "precision"]] == 0).all(axis=None)
    coded = rows_of(RandomGenes("Random"), replace(small_screen(), second_split=True))
    np.testing.assert_array_equal(coded["hit_ratio"], coded["recall_two_splits"])
    np.testing.assert_array_equal(rows["hit_ratio"], rows["recall_one_split"])


def test_reset_draws_the_same_numbers_in_every_batch():
    """SoftUncertain as coded draws at the same places of its list; without the reset it does not."""
    screen = screens.GeneScreen("flat", np.ones((200, 3)), np.arange(200.0))
    for reset in (True, False):
        policy = GeneSearch("Soft", 8, 3, acquisition="soft_uncertain", epochs=2, passes=4, reset=reset)
        problem, streams = screen.take(RUNS[:1]), Streams.first(1, instance="flat")
        state = policy.start(problem.arms, streams)
        places = []
        for _ in range(3):
            listed = policy._listed(state, 0)
            asked = policy.ask(state)
            places.append([list(listed).index(a) for a in asked.arms[0]])
            policy.tell(state, asked, problem.rewards(asked, problem.arms.no_pulls(1), streams))
        assert (np.abs(np.array(places[1]) - np.array(places[2])).max() <= 16) == reset


def test_ridge_is_the_regression_of_least_generalised_error():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 5))
    y = x @ rng.standard_normal(5) + rng.standard_normal(40)
    centred, goal, best = x - x.mean(axis=0), y - y.mean(), (np.inf, None)
    for penalty in gene_searches.PENALTIES:
        hat = centred @ np.linalg.solve(centred.T @ centred + penalty * np.eye(5), centred.T)
        error = ((goal - hat @ goal) ** 2).sum() / (1.0 - (1.0 + np.trace(hat)) / 40) ** 2
        if error < best[0]:
            best = (error, np.linalg.solve(centred.T @ centred + penalty * np.eye(5), centred.T @ goal))
    np.testing.assert_allclose(gene_searches.ridge(x, y), best[1], rtol=1e-8)


def test_training_leaves_one_of_five_out():
    """In the order of effects one of every five is held out; what is left over trains."""
    problem, streams = small_screen().take(RUNS), Streams.first(3, instance="genes")
    state, _ = searched(RandomGenes("Random", 16, 2), problem, streams, 1)
    arms, targets, kept = gene_searches.training_part(state, 1)
    assert (kept == 13).all()
    for r in range(3):
        assert set(arms[r, :13]) < set(state.arms[r, :16])
        np.testing.assert_array_equal(targets[r, :13], problem.means[0][arms[r, :13]])
        ranks = np.searchsorted(np.sort(state.rewards[r, :16]), targets[r, :13])
        assert [sum(ranks // 5 == fold) for fold in range(4)] == [4, 4, 4, 1]


def test_settings_are_refused():
    refuses(lambda: GeneSearch("G", acquisition="best"), r"acquisition must be one of top_uncertain, .* got 'best'")
    with pytest.raises(ValueError, match=r"fault must be one of none, descriptors, targets, both, got 'rows'"):
        screens.gene_screen("IFNg", fault="rows")
    refuses(lambda: small_screen().arms, r"call problem\.take")


@real
def test_as_coded_has_all_faults():
    screen = screens.gene_screen("NK").as_coded()
    assert screen.second_split
    assert len(screen.effects) == GENES_CODED["NK"]
    policy = GeneSearch("OAE").as_coded()
    assert (policy.broadcast_loss, policy.reset, policy.hidden) == (True, True, 16)
    assert screen.label == screens.gene_screen("NK").label, "the draws of a run do not depend on the faults"


@today_here
@pytest.mark.parametrize("name", ["IFNg", "NK"])
def test_rows_are_aligned(name):
    screen, table = today.todays_screen(name), today.group_means()
    effects = today.screen_target(name)
    genes = sorted(set(table.index) & set(effects.index))
    assert screen.features.shape == (len(genes), 71)
    for place in (0, 1234, -1):
        assert np.array_equal(screen.features[place], table.loc[genes[place]])
        assert screen.effects[place] == effects[genes[place]]


@today_here
def test_what_random_genes_find():
    """800 of all genes: as the notebook says, between 0.046 and 0.048 on each screen."""
    chance = [800 / len(today.todays_screen(name).effects) for name in gene_tables.SCREENS]
    assert (round(min(chance), 3), round(max(chance), 3)) == (0.046, 0.048)
