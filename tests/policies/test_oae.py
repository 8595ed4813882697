"""Batch searches among noiseless arms: what a batch may hold, exact laws, limits in which two policies are one."""

import logging
from dataclasses import replace
from math import comb

import numpy as np
import pandas as pd
import pytest
import torch
from hills import run, searched
from refusals import refused, refuses
from scipy import stats

from bestarm.interface import Arms, Ask
from bestarm.models import fused_fit, mlp_fit
from bestarm.policies.batch_search import RandomBatch, random_order, top_batch
from bestarm.policies.linear.linear_oae import LinearGreedy, LinearOae
from bestarm.policies.networks import oae
from bestarm.policies.networks.oae import Oae
from bestarm.policies.networks.oae_ensemble import EnsembleSearch, label_noise
from bestarm.policies.networks.oae_sequential import EnsembleSeqB, SeqB, sequential_batch
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import arm_count, rank
from bestarm_studies.oae.batch_observer import BatchObserver
from bestarm_studies.oae.landscapes import landscape
from bestarm_studies.oae.open_choices.experiments import noisy_landscape

SMALL = {"batch": 3, "rounds": 4, "hidden": (6,), "steps": 25, "standardise": True}
LINE_OF_SIX = NoiselessArms("six", np.arange(6.0)[:, None], np.arange(6.0)[None])
QUANTILE = 0.05  # two arms of 40


def policies(**settings):
    s = SMALL | settings
    return [
        RandomBatch("RandomBatch", **{k: s[k] for k in ("batch", "rounds", "device") if k in s}),
        Oae("Greedy", **s),
        Oae("MeanOpt", **s, optimism=0.1),
        Oae("HingePNorm", **s, optimism=0.1, objective="hinge"),
        Oae("MaxOpt", **s, optimism=0.1, objective="softmax"),
        Oae("DetD", **s, optimism=0.1, diversity=1.0),
        EnsembleSearch("Ensemble", **s, members=3),
        EnsembleSearch("EnsembleNoiseY", **s, members=3, label_noise=1.0),
        SeqB("SeqB", **s, optimism=0.1),
        EnsembleSeqB("EnsembleSeqB", **s, members=3),
    ]


def line(n_arms: int = 20, n: int = 3) -> NoiselessArms:
    return landscape("OneHillValleyOneDim", n_arms).take(np.arange(n))


def batches(policy, problem, n: int = 3, instance: str = "line") -> np.ndarray:
    """Return the arms that each replication pulled, in order, shape (n, pulls)."""
    return np.concatenate(run(policy, problem, Streams.first(n, instance=instance))[1], axis=1)


def started(policy, problem, n: int = 3, instance: str = "line"):
    return policy.start(problem.arms, Streams.first(n, instance=instance))


def after_one_batch(policy, problem, n: int = 3):
    return searched(policy, problem, Streams.first(n, instance="line"), 1)[0]


@pytest.mark.parametrize("policy", policies(rounds=9), ids=lambda p: p.label)
def test_no_arm_twice_and_the_last_batch_is_what_is_left(policy):
    """20 arms in batches of 3: six full batches, then two arms; the policies stop by themselves."""
    arms = batches(policy, line())
    assert arms.shape == (3, 20)
    assert (np.sort(arms, axis=1) == np.arange(20)).all()


def test_the_first_batch_is_that_of_the_seed():
    """Round 1 is the same for every policy, differs by replication and by instance; later rounds differ by policy."""
    found = {p.label: batches(p, line()) for p in policies(rounds=3)}
    for arms in found.values():
        np.testing.assert_array_equal(arms[:, :3], found["RandomBatch"][:, :3])
    assert len({arms.tobytes() for arms in found.values()}) >= 8
    first = found["RandomBatch"][:, :3]
    assert len(np.unique(first, axis=0)) == 3
    assert (batches(policies()[0], line(), instance="other")[:, :3] != first).any()


def test_random_batch_has_its_exact_law():
    """P(T > t) = C(n - k, tb) / C(n, tb) for the first of k good arms; 4.5 standard errors, 4000 runs."""
    n_arms, k, b, n = 30, 3, 4, 4000
    problem = NoiselessArms("law", np.arange(n_arms, dtype=float)[:, None], np.arange(n_arms, dtype=float)[None])
    arms = batches(RandomBatch("RandomBatch", b, 7), problem, n)
    good = (arms >= n_arms - k).reshape(n, 7, b).any(axis=2)
    for t in range(1, 7):
        expected = comb(n_arms - k, t * b) / comb(n_arms, t * b)
        assert abs((~good[:, :t]).all(axis=1).mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n)
    for place in (0, 5):
        assert stats.chisquare(np.bincount(arms[:, place], minlength=n_arms)).pvalue > 1e-4


def test_label_noise_is_normal_and_fresh():
    """Mean 0, standard deviation 1, all of it uncorrelated: labels, members, rounds, replications; 4.5 errors."""
    key = Streams.first(1, instance="noise").key("x")
    draws = np.array([label_noise(key, np.arange(5), item, 10, 12) for item in range(40)])
    flat = draws.ravel()
    assert stats.kstest(flat, "norm").pvalue > 1e-4
    assert abs(flat.mean()) < 4.5 / np.sqrt(flat.size)
    assert abs(flat.std() - 1) < 4.5 / np.sqrt(2 * flat.size)
    assert len(np.unique(flat)) == flat.size
    for axis in range(4):
        a, b = (np.take(draws, i, axis=axis).ravel() for i in (0, 1))
        assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(a.size)


def test_seqb_of_single_arms_is_meanopt():
    settings = SMALL | {"batch": 1, "rounds": 8, "label": "one", "optimism": 0.1}
    np.testing.assert_array_equal(batches(SeqB(**settings), line()), batches(Oae(**settings), line()))


def test_a_broken_fit_within_a_sequential_batch_is_noticed():
    """Outputs that are no numbers at any place leave no scores, by which such runs are told."""
    state = after_one_batch(SeqB("SeqB", **SMALL, optimism=0.1), line())
    hope = np.random.default_rng(0).standard_normal((3, 20))

    def predict(virtual, place, labelled):
        fear = np.full((3, 20), -2.0)
        fear[1] = np.nan if place == 1 else -2.0
        return hope + place, fear

    chosen = sequential_batch(state, 3, predict, 0.5, np.zeros((3, 20)))
    assert np.isnan(state.scores).all(axis=1).tolist() == [False, True, False]
    rows = np.array([[0], [2]])
    np.testing.assert_array_equal(state.scores[rows, chosen[[0, 2]]], hope[rows, chosen[[0, 2]]] + np.arange(3))


@pytest.fixture
def fits(monkeypatch):
    """Return a list to which every fit adds its data and the names of its networks."""
    found, fit = [], oae.fit_networks

    def spy(training, data, optimism, key, networks):
        found.append((data, networks))
        return fit(training, data, optimism, key, networks)

    monkeypatch.setattr(oae, "fit_networks", spy)
    return found


def test_networks_of_a_batch(fits):
    """2b - 1 for SeqB, M b for its ensemble, M for an ensemble, one for MeanOpt; no name is used twice."""
    for policy, expected in zip(policies(rounds=3)[6:], (3, 3, 2 * 3 - 1, 3 * 3), strict=True):
        fits.clear()
        batches(policy, line())
        found = np.concatenate([networks[data.row == 0] for data, networks in fits])
        assert (len(found), len(np.unique(found, axis=0))) == (2 * expected, len(found))


def test_a_processor_without_the_kernel_searches_by_torch(monkeypatch, caplog):
    """The same batches as with Torch's own fits, and a line of the log for each of the two kernels."""
    policy, problem = Oae("MeanOpt", **SMALL, optimism=0.1), line()
    with monkeypatch.context() as patched:
        patched.setattr(oae, "fit_networks", mlp_fit.fit_networks)
        patched.setattr(oae, "predict", mlp_fit.predict)
        expected = batches(policy, problem)
    monkeypatch.setattr(fused_fit, "missing_instruction", lambda: "the processor (8086) has no multiply-add")
    fused_fit.said_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        found = batches(policy, problem)
    np.testing.assert_array_equal(found, expected)
    assert ["8086" in record.getMessage() for record in caplog.records] == [True, True]


def test_optimism_0_is_greedy():
    """Bit for bit, under one label and whatever the objective; SeqB too for its first arm."""
    greedy = batches(Oae("one", **SMALL), line())
    for objective in ("sum", "hinge", "softmax"):
        np.testing.assert_array_equal(batches(Oae("one", **SMALL, objective=objective), line()), greedy)
    np.testing.assert_array_equal(batches(SeqB("one", **SMALL), line())[:, 3], greedy[:, 3])


def test_failed_evaluations_use_the_arm_up_and_teach_nothing():
    """A round of failures is followed by another random batch; one failure leaves the others."""
    for policy in policies(rounds=4):
        state = started(policy, line())
        asked = policy.ask(state)
        policy.tell(state, asked, np.full(asked.arms.shape, np.nan))
        assert (state.n_observed == 0).all()
        again = policy.ask(state)
        assert (np.diff(np.sort(np.concatenate([asked.arms, again.arms], axis=1), axis=1)) > 0).all()
        totals = line().rewards(again, line().arms.no_pulls(3), Streams.first(3))
        totals[:, 1] = np.nan
        policy.tell(state, again, totals)
        assert (state.n_observed == 2).all()
        np.testing.assert_array_equal(state.arms[:, :2], again.arms[:, [0, 2]])
        assert (state.available.sum(axis=1) == 14).all()
        third = policy.ask(state)
        for r in range(3):
            assert state.available[r, third.arms[r]].all()
        best = np.argmax(totals[:, [0, 2]], axis=1)
        np.testing.assert_array_equal(policy.recommend(state)[:, 0], again.arms[:, [0, 2]][np.arange(3), best])


@pytest.mark.parametrize("policy", policies(rounds=4), ids=lambda p: p.label)
def test_a_row_that_knows_nothing_gets_a_random_batch_alone(policy):
    """All evaluations of one replication fail: the others do what they do without it, and have scores of their own."""
    problem, state, clean = line(), started(policy, line()), started(policy, line())
    for s, fails in ((state, True), (clean, False)):
        asked = policy.ask(s)
        totals = problem.rewards(asked, problem.arms.no_pulls(3), Streams.first(3))
        if fails:
            totals[1] = np.nan
        policy.tell(s, asked, totals)
    found, expected = policy.ask(state).arms, policy.ask(clean).arms
    np.testing.assert_array_equal(found[[0, 2]], expected[[0, 2]])
    np.testing.assert_array_equal(state.scores[[0, 2]], clean.scores[[0, 2]])
    assert state.n_observed.tolist() == [3, 0, 3]
    assert np.isnan(state.scores[1]).all()
    order = random_order(state.streams.key("first batch"), state.replications, 1, 20)
    assert found[1].tolist() == top_batch(order, state.available, order, 3)[1].tolist()


def test_a_device_that_is_not_there(monkeypatch):
    """Refused by every search, whether it trains networks or not."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for make in (RandomBatch, Oae, SeqB, LinearOae, LinearGreedy):
        refuses(lambda make=make: make("far", 3, 2, device="cuda"), "Torch finds no GPU here; set device to 'cpu'")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="Torch finds no GPU here to search on")
@pytest.mark.parametrize("place", range(len(policies())), ids=[policy.label for policy in policies()])
def test_every_search_runs_on_a_gpu(place):
    """All 20 arms, each once; the model's outputs after the first batch are those of the processor, to rounding."""
    on_gpu, here = policies(rounds=9, device="cuda")[place], policies(rounds=9)[place]
    assert (np.sort(batches(on_gpu, line()), axis=1) == np.arange(20)).all()
    states = [after_one_batch(policy, line()) for policy in (on_gpu, here)]
    for policy, state in zip((on_gpu, here), states, strict=True):
        policy.ask(state)
    np.testing.assert_allclose(states[0].scores, states[1].scores, rtol=0, atol=1e-3)


def test_ties_are_broken_at_random():
    """Constant scores: every arm equally often (4.5 standard errors); by the replication's own draws."""
    n = 3000
    order = np.random.default_rng(0).random((n, 10))
    available = np.ones((n, 10), dtype=bool)
    available[:, 3] = False
    counts = np.bincount(top_batch(np.zeros((n, 10)), available, order, 2).ravel(), minlength=10)
    assert counts[3] == 0
    assert np.abs(np.delete(counts, 3) / n - 2 / 9).max() < 4.5 * np.sqrt(2 / 9 * 7 / 9 / n)
    x = np.zeros((20, 1))
    x[0] = 1.0
    dead = NoiselessArms("dead", x, np.zeros((1, 20)))  # equal arms have equal outputs
    assert len(np.unique(batches(Oae("Greedy", batch=3, rounds=2, hidden=(4,), steps=3), dead, 40)[:, 3:])) > 15


def test_top_batch_puts_nan_last_but_before_what_is_gone():
    """Larger first; infinite scores keep their places; arms not available never."""
    scores = np.array([[1.0, np.nan, 3.0, np.inf, -np.inf, np.nan, 2.0]])
    available = np.array([[True, True, True, True, True, True, False]])
    order = np.linspace(0, 1, 7)[None]
    assert top_batch(scores, available, order, 6).tolist() == [[3, 2, 0, 4, 5, 1]]
    assert top_batch(np.full((1, 7), np.nan), available, order, 2).tolist() == [[5, 4]]


def test_divergence_is_told_and_chooses_all_the_same():
    """A step size beyond reason: the flag is up, the arms are valid; the next batch starts with the flag down."""
    policy = Oae("wild", **(SMALL | {"steps": 300}), optimism=100.0, objective="hinge", learning_rate=10.0)
    state = after_one_batch(policy, line())
    asked = policy.ask(state)
    assert state.diverged.any()
    assert all(len(set(row)) == 3 for row in asked.arms)
    assert np.take_along_axis(state.available, asked.arms, axis=1).all()
    Oae("calm", **SMALL).ask(state)
    assert not state.diverged.any()


def test_standardised_features():
    """Mean 0 and standard deviation 1 in each set; raw by default; a constant feature is named."""
    problem = line()
    inputs = started(Oae("a", **SMALL), problem).inputs.numpy()
    np.testing.assert_allclose(inputs.mean(axis=1), 0.0, atol=1e-6)
    np.testing.assert_allclose(inputs.std(axis=1), 1.0, atol=1e-6)
    raw = started(Oae("a", batch=3, rounds=4), problem).inputs.numpy()
    np.testing.assert_allclose(raw, problem.features, rtol=1e-6)
    flat = np.column_stack([np.arange(10.0), np.full(10, 0.1)])
    refuses(lambda: Oae("a", **SMALL).start(Arms(flat), Streams.first(1)), "feature 1 is the same for all arms")
    Oae("a", **(SMALL | {"standardise": False})).start(Arms(flat), Streams.first(1))


def test_one_hill_is_climbed():
    """Ten batches of three among 300 arms: the top 2% in most of 12 runs, where random batches need luck."""
    settings = {"batch": 3, "rounds": 10, "hidden": (10, 5), "steps": 600, "standardise": True}
    problem = landscape("OneHillValleyOneDim", 300).take(np.arange(12))
    good = np.sort(problem.means, axis=1)[:, -6][:, None]
    ensemble = EnsembleSearch("Ensemble", **settings, members=4)
    for policy in (Oae("Greedy", **settings), Oae("MeanOpt", **settings, optimism=0.01), ensemble):
        reached = (np.take_along_axis(problem.means, batches(policy, problem, 12), axis=1) >= good).any(axis=1)
        assert reached.mean() >= 0.75  # a random search: 1 - C(294, 30) / C(300, 30) = 0.47


class Rigged(RandomBatch):
    """A search whose model is known beforehand, and diverges in round 1 alone."""

    def choose(self, state, size):
        state.scores = np.tile(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 * (state.round == 2), (2, 1))
        state.diverged |= state.round == 1
        return top_batch(state.scores, state.available, state.scores, size)


def test_observer_findings_by_hand():
    """Rewards, distances and optimism of batches of two among six arms; the choices are those of the policy."""
    x = np.array([0.0, 1.0, 3.0, 4.0, 8.0, 8.0])[:, None]
    problem = NoiselessArms("six", x, np.arange(6.0)[None])
    policy = Rigged("rigged", 2, 3)
    observer = BatchObserver(policy, problem)
    streams = Streams.first(2, instance="six")
    watched = simulate(observer, problem, streams, metrics={"arm": lambda _, a: a[:, 0]})
    alone = simulate(policy, problem, streams, metrics={"arm": lambda _, a: a[:, 0]})
    np.testing.assert_array_equal(watched["arm"], alone["arm"])
    found = observer.findings(streams.replications)
    assert set(found.columns) == {"replication", "round", *BatchObserver.columns}
    assert found["round"].tolist() == [1, 1, 2, 2, 3, 3]
    arms = batches(policy, problem, 2, instance="six").reshape(2, 3, 2)
    for (r, t), rows in found.groupby(["replication", "round"]):
        pair = arms[r, t - 1]
        assert rows["reward"].item() == pytest.approx(problem.means[0, pair].mean())
        assert rows["distance"].item() == pytest.approx(abs(x[pair[0], 0] - x[pair[1], 0]))
    assert found.loc[found["round"] == 1, "optimistic"].isna().all()
    assert (found.loc[found["round"] == 2, "optimistic"] == 1.0).all()
    assert found["diverged"].tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]


class Modest(Rigged):
    def choose(self, state, size):
        chosen = super().choose(state, size)
        state.scores = state.scores - 1e-3
        return chosen


def test_observer_is_not_optimistic_when_the_model_promises_too_little_or_was_not_asked():
    """The model's outputs over the batch against the best batch still to be had; NaN distance of single arms."""
    found = []
    for policy in (Modest("modest", 1, 3), Rigged("rigged", 2, 3)):
        observer = BatchObserver(policy, LINE_OF_SIX)
        simulate(observer, LINE_OF_SIX, Streams.first(2, instance="six"), metrics={})
        found.append(observer.findings(np.arange(2)))
    assert (found[0].loc[found[0]["round"] == 2, "optimistic"] == 0.0).all()
    assert found[0]["distance"].isna().all()
    last = found[1][found[1]["round"] == 3]  # takes all arms; no fit of an earlier round speaks for it
    assert last["optimistic"].isna().all()


@pytest.mark.parametrize("policy", policies(rounds=14), ids=lambda p: p.label)
def test_a_run_that_ends_once_it_has_found_is_the_same_run(policy):
    """Rows until the end are those of the run that goes on; the closing row has its last batch and what was found."""
    problem, n = landscape("OneHillValleyOneDim", 40).take(np.arange(5)), 5
    whole, early = (watched_rows(BatchObserver(policy, problem, until=until), problem, n) for until in (None, QUANTILE))
    ends = whole[(whole["rank"] <= 2) & (whole["round"] > 0)].groupby("replication")["round"].min()
    assert len(ends) == n, "40 arms in 14 batches: every run finds"
    assert (ends < 14).any()
    for replication, end in ends.items():
        mine, theirs = (rows[rows["replication"] == replication].set_index("round") for rows in (early, whole))
        assert mine.index.tolist() == [*range(end + 1), *([14] if end < 14 else [])]
        pd.testing.assert_frame_equal(mine.loc[:end], theirs.loc[:end].assign(stopped=theirs.index[: end + 1] == end))
        if end < 14:
            assert mine.loc[14, "rank"] == mine.loc[end, "rank"]
            assert mine.loc[14, ["pulls", "stopped"]].tolist() == [40, True]
            assert mine.loc[14, list(BatchObserver.columns)].isna().all()


def watched_rows(observer, problem, n):
    streams = Streams.first(n, instance="line")
    rows = simulate(observer, problem, streams, metrics={"rank": rank, "arm_count": arm_count}, every=1)
    found = observer.findings(streams.replications)
    return observer.closed(rows.merge(found, "left", ["replication", "round"], validate="one_to_one"))


def test_runs_go_on_for_some_batches_and_where_rewards_are_drawn():
    """No end before the least number of batches; the first 25 runs of a policy in ``whole`` have all of theirs."""
    n = 28
    problem, policy = landscape("OneHillValleyOneDim", 40).take(np.arange(n)), RandomBatch("RandomBatch", 3, 10)
    rows = watched_rows(BatchObserver(policy, problem, until=0.5, least=4), problem, n)
    searched = rows[rows["reward"].notna()].groupby("replication")["round"].max()
    assert searched.min() == 4
    rows = watched_rows(BatchObserver(policy, problem, until=0.5, whole=("RandomBatch",)), problem, n)
    searched = rows[rows["reward"].notna()].groupby("replication")["round"].max()
    assert (searched[:25] == 10).all()
    assert (searched[25:] < 10).all()


def test_networks_are_fitted_for_the_runs_that_go_on(fits):
    problem = landscape("OneHillValleyOneDim", 40).take(np.arange(5))
    rows = watched_rows(BatchObserver(Oae("Greedy", **SMALL | {"rounds": 14}), problem, until=QUANTILE), problem, 5)
    searched = rows[rows["reward"].notna()].groupby("replication")["round"].max()
    without_a_model = 2 if (searched == 14).any() else 1  # the first batch, and the one arm that is left
    fitted = sum(len(networks) for _, networks in fits)
    assert fitted == (searched - 1).sum() - (without_a_model - 1) * (searched == 14).sum()


test_an_impossible_end_of_a_run_is_refused = refused(
    lambda settings: BatchObserver(RandomBatch("RandomBatch", 3, 4), line(), **settings),
    ({"until": 0.0}, "until must be a quantile between 0 and 1, or None for whole runs; got 0.0"),
    ({"until": 1.0}, "until must be a quantile"),
    ({"until": np.nan}, "until must be a quantile"),
    ({"least": -1}, "least must be at least 0"),
)

test_bad_settings = refused(
    lambda make, settings: make(**({"label": "bad", "batch": 2, "rounds": 2} | settings)),
    (RandomBatch, {"batch": 0}, "batch must be at least 1"),
    (RandomBatch, {"rounds": 0}, "rounds must be at least 1"),
    (Oae, {"optimism": -0.1}, "optimism must be at least 0"),
    (Oae, {"diversity": 0.0}, "diversity must be positive"),
    (Oae, {"steps": 0}, "steps must be at least 1, got 0"),
    (EnsembleSearch, {"members": 0}, "members must be at least 1"),
    (EnsembleSearch, {"label_noise": -1.0}, "label_noise must be at least 0"),
    (EnsembleSearch, {"members": 257}, "members"),
    (EnsembleSeqB, {"batch": 257}, "batch"),
    (SeqB, {"batch": 257, "optimism": 0.1}, "batch"),
    (Oae, {"kernel": "linear", "diversity": 1.0}, "kernel must be one of"),
    (SeqB, {"optimism_weight": 1.5}, "optimism_weight must be between 0 and 1"),
)


def test_noisy_evaluations_average():
    """r evaluations with noise sigma: standard deviation sigma / sqrt(r) within 4.5 errors; none without noise."""
    problem = NoiselessArms("noisy", np.eye(2), np.array([[1.0, 2.0]]), sigma=3.0, evaluations=9)
    n = 4000
    asked = Ask(np.tile([0, 1], (n, 1)), np.ones((n, 2), dtype=np.int64))
    seen = problem.rewards(asked, problem.arms.no_pulls(n), Streams.first(n))
    np.testing.assert_allclose(seen.mean(axis=0), [1.0, 2.0], atol=4.5 / np.sqrt(n))
    np.testing.assert_allclose(seen.std(axis=0), 1.0, atol=4.5 / np.sqrt(2 * n))
    assert (replace(problem, sigma=0.0).rewards(asked, problem.arms.no_pulls(n), Streams.first(n)) == [1.0, 2.0]).all()


def test_noisy_landscapes_have_the_arms_of_the_noiseless_ones():
    """Algorithm 4 searches what Algorithm 1 does, and is judged by the responses without noise."""
    runs = np.arange(3)
    noisy = noisy_landscape("OneHillValleyOneDim", sigma=0.3, evaluations=4, n_arms=50).take(runs)
    exact = landscape("OneHillValleyOneDim", n_arms=50).take(runs)
    assert (noisy.features == exact.features).all()
    assert (noisy.means == exact.means).all()
    assert (noisy.sigma, noisy.evaluations) == (0.3, 4)
    with pytest.raises(ValueError, match="sigma must be at least 0 and evaluations at least 1, got -1 and 1"):
        noisy_landscape("OneHillValleyOneDim", sigma=-1)
