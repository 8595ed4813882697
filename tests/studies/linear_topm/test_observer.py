"""The observer: it changes nothing, and finds what a naive evaluation of every inequality finds."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from bestarm.policies.linear.gifa import LinGifa, Lucb, MLinGape
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.metrics import correct, simple_regret
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm.complexity import gaps, m_lingape_complexity
from bestarm_studies.linear_topm.instances import classic_instance, published_random_instance
from bestarm_studies.linear_topm.settings import parts_of
from bestarm_studies.linear_topm.theory import observer as round_checks
from bestarm_studies.linear_topm.theory.checks import CHECKS
from bestarm_studies.linear_topm.theory.findings import theorem_2
from bestarm_studies.linear_topm.theory.observer import FINDINGS, GifaObserver

EXPERIMENTS = load_study("linear_topm").experiments

SEED = 20261120
METRICS = {"correct": correct, "simple_regret": simple_regret}


def streams(problem, n_replications):
    return Streams.first(n_replications, seed=SEED, instance=problem.label)


def observe(policy, problem, n_replications):
    observer = GifaObserver(policy, problem)
    rows = simulate(observer, problem, streams(problem, n_replications), metrics=METRICS)
    return rows.merge(observer.findings(np.arange(n_replications)), validate="one_to_one")


def naive_round(policy, problem, rewards, arms, threshold):
    """Return what one round must find, from the pulls and rewards so far and nothing else."""
    x, truth, m = problem.features, problem.means[0], policy.n_best
    n = np.bincount(arms, minlength=len(x))
    inverse = np.linalg.inv(policy.design_regulariser * np.eye(x.shape[1]) + sum(np.outer(x[a], x[a]) for a in arms))
    means = x @ inverse @ (x[arms].T @ np.array(rewards))
    scale = policy.sigma * float(threshold(np.array(max(len(arms), 1.0))))

    def norm(y):
        return np.sqrt(y @ inverse @ y)

    def width(i, j):
        return scale * (norm(x[i] - x[j]) if policy.index == "paired" else norm(x[i]) + norm(x[j]))

    k = range(len(x))
    b = np.array([[means[i] - means[j] + width(i, j) for j in k] for i in k])
    mth = [sorted((b[i, j] for i in k if i != j), reverse=True)[m - 1] for j in k]
    chosen = set(sorted(k, key=lambda j: mth[j])[:m] if policy.by_gap_index else sorted(k, key=lambda j: -means[j])[:m])
    best = {a for a in k if truth[a] >= sorted(truth)[-m]}
    shares = {(i, j): (truth[i] - truth[j] - means[i] + means[j]) / width(i, j) for i in k for j in k if i != j}
    return {
        "event_share": max(shares.values()),
        "good_share": max(shares[i, j] for i in best for j in k if truth[j] < sorted(truth)[-m] - policy.epsilon),
        "lemma_1": any(mth[j] > max(b[i, j] for i in k if i not in chosen) + 1e-9 for j in chosen),
        "ugape_holds": max(mth[j] for j in chosen) <= policy.epsilon,
        "index_order": any(norm(x[a]) > n[a] ** -0.5 + 1e-9 for a in k if n[a]),
        "lemma_2": any(
            norm(y) > np.linalg.norm(y) / np.sqrt(n[a] * x[a] @ x[a] + policy.design_regulariser) + 1e-9
            for a in k
            for y in (x[i] - x[j] for i in k for j in k)
        ),
        "indices": b,
        "width": width,
        "scale": scale,
        "pulls": n,
    }


@pytest.mark.parametrize(
    "policy",
    [
        MLinGape(3, selection="largest_variance", threshold="heuristic"),
        LinGifa(3, epsilon=0.1, threshold="heuristic"),
        LinGifa(2, index="individual", stop="lucb"),
        MLinGape(3, selection="both", delta=0.9, threshold="heuristic"),
    ],
    ids=lambda p: f"{p.label}-{p.index}-{p.selection}-{p.stop}",
)
def test_findings_are_those_of_a_naive_evaluation(policy):
    """Eighty pulls of three replications, every inequality evaluated anew from pulls and rewards."""
    problem, n_replications = published_random_instance(), 3
    observer = GifaObserver(policy, problem)
    state = observer.start(problem.arms, streams(problem, n_replications))
    pulled = np.zeros((n_replications, 10), dtype=np.int64)
    history = [([], []) for _ in range(n_replications)]
    expected = [dict(FINDINGS) for _ in range(n_replications)]
    gap = gaps(problem.means[0], policy.n_best)
    while pulled.sum(axis=1).max() < 80 and not state.stopped.all():
        searching, asks = ~state.stopped, state.initialised
        asked = observer.ask(state)
        for r in np.flatnonzero(searching & asks):
            found, one = naive_round(policy, problem, *history[r][::-1], state.threshold), expected[r]
            one["rounds"] += 1
            for name in ("event_share", "good_share"):
                one[name] = max(one[name], found[name])
            for name in ("lemma_1", "index_order", "lemma_2"):
                one[name] += found[name]
            if found["ugape_holds"] and np.isnan(one["ugape_pulls"]):
                one["ugape_pulls"] = len(history[r][0])
            b, c = state.pair[r]
            w = found["width"](b, c)
            one["lemma_4"] += found["indices"][c, b] > min(-max(gap[b], gap[c]) + 2 * w, 0) + w + 1e-9
            for a in asked.arms[r][asked.counts[r] > 0]:
                allowed = 4 * found["scale"] ** 2 / max(policy.epsilon, (policy.epsilon + gap[a]) / 3) ** 2
                one["lemma_5"] += found["pulls"][a] > allowed
                one["lemma_5_share"] = max(one["lemma_5_share"], found["pulls"][a] / allowed)
        totals = problem.rewards(asked, pulled, streams(problem, n_replications))
        for r in range(n_replications):
            for a, count, total in zip(asked.arms[r], asked.counts[r], totals[r], strict=True):
                if count:
                    history[r][0].append(int(a))
                    history[r][1].append(total)
        observer.tell(state, asked, totals)
    names = [name for name in FINDINGS if name != "within_epsilon"]
    table = np.array([[one[name] for name in names] for one in expected], dtype=float)
    findings = observer.findings(np.arange(n_replications))[list(FINDINGS)].to_numpy()
    np.testing.assert_allclose(findings[:, : len(names)], table, rtol=1e-6, err_msg=str(names))
    assert findings[:, 0].min() > 20


@pytest.mark.parametrize(
    "policy",
    [MLinGape(2), LinGifa(2), Lucb(2, threshold="heuristic"), MLinGape(2).as_coded(), LinGifa(2).as_coded()],
    ids=lambda p: f"{p.label}{'-coded' * p.stale_pair}",
)
def test_an_observed_algorithm_does_what_it_does_alone(policy):
    """Rows are equal bit by bit, also where replications leave the arrays, and every answer is judged."""
    problem = classic_instance(4, 2, np.pi / 3)
    alone = simulate(policy, problem, streams(problem, 30), metrics=METRICS)
    observed = observe(policy, problem, 30)
    assert alone.equals(observed[alone.columns])
    np.testing.assert_array_equal(observed["within_epsilon"], alone["correct"])


def test_lemma_2_as_printed_is_false_and_true_along_the_arm():
    """After n pulls of e_1 nothing is known of e_2: the norm stays 1 / sqrt(lambda), not 1 / sqrt(n + lambda)."""
    features, pulls, regulariser = np.array([[1.0, 0], [0, 1], [3, 0]]), np.array([50, 0, 0]), 0.01
    gram = features @ np.diag([1 / 50.01, 1 / 0.01]) @ features.T
    lengths = np.linalg.norm(features, axis=1)
    differences = np.linalg.norm(features[:, None] - features[None], axis=2)
    assert round_checks.lemma_2_fails(gram, pulls, lengths, differences, regulariser)
    along = np.ix_([0, 2], [0, 2])
    assert not round_checks.lemma_2_fails(gram[along], pulls[[0, 2]], lengths[[0, 2]], differences[along], regulariser)
    assert not round_checks.index_order_fails(gram, pulls)


def stopping_rules(rng, epsilon):
    """Return whether UGapE's and LUCB's rules hold for random paired indices and a random set J of three arms."""
    x, means = rng.standard_normal((7, 3)), rng.normal(0, 3, 7)
    width = np.linalg.norm(x[:, None] - x[None], axis=2) * rng.uniform(0.1, 1.5)
    index, chosen = means[:, None] - means[None] + width, rng.permutation(7)[:3]
    room, inside = np.empty(3), np.empty(7, dtype=bool)
    value, fails = round_checks.stopping_values(index, chosen, inside, room)
    return fails, value <= epsilon, index[np.ix_(np.delete(np.arange(7), chosen), chosen)].max() <= epsilon


@pytest.mark.parametrize("epsilon", [0.0, 2.0])
def test_the_two_stopping_rules_are_one_at_epsilon_zero(epsilon):
    """By the triangle inequality; with a tolerance UGapE's may hold first, and LUCB's never does (Lemma 1)."""
    rng = np.random.default_rng(SEED)
    found = np.array([stopping_rules(rng, epsilon) for _ in range(20_000)])
    assert not found[:, 0].any()
    assert found[:, 2].sum() > 50
    assert not (found[:, 2] & ~found[:, 1]).any()
    assert (found[:, 1] & ~found[:, 2]).any() == (epsilon > 0)


def test_theory_holds_on_a_classic_instance():
    """Event, lemmas, bound and decision functions on thirty runs with Equation 2."""
    problem, policy = classic_instance(4, 2, np.pi / 3), MLinGape(2, selection="largest_variance")
    rows = {"e": observe(policy, problem, 30).assign(convention="as_written", series="lv")}
    constant, bound = theorem_2(problem, policy)
    assert constant == m_lingape_complexity(problem.means[0], 2, sigma=0.5)
    assert rows["e"]["pulls"].max() < bound
    test = {"experiments": ["e"], "delta": 0.05}
    for kind in ("lemma_1", "index_order", "lemma_4", "lemma_5", "theorem_1", "event_frequency"):
        assert CHECKS[kind](test, rows).holds, kind
    assert not CHECKS["lemma_2"](test, rows).holds
    rows["e"].loc[3, ["lemma_4", "lemma_5"]] = 1  # one bad round is enough, unless the event was lost
    assert not CHECKS["lemma_4"](test, rows).holds
    rows["e"].loc[3, "event_share"] = 1.01
    assert CHECKS["lemma_4"](test, rows).holds
    refuses(lambda: theorem_2(problem, MLinGape(2, label="greedy")), "Theorem 2 says nothing of 'greedy'")


def test_several_instances_at_once_are_refused():
    problem = LinearBandit("three", np.random.default_rng(0).standard_normal((3, 4, 2)), np.ones((3, 2)))
    refuses(lambda: GifaObserver(MLinGape(1), problem), r"means must have shape \(1, n_arms\), got \(3, 4\)")
    observer = GifaObserver(MLinGape(1), problem.take(np.array([0])))
    refuses(lambda: observer.start(problem.arms, streams(problem, 3)), "one set of features, got 3")


def test_rows_of_an_observed_experiment_have_the_findings_of_every_block(tmp_path):
    """Blocks of three runs find what one block finds; each run has been judged."""
    whole = EXPERIMENTS["theory_heuristic"]
    blocks = (replace(whole, block=block) for block in (3, 100))
    frames = [make_rows(part, "smoke", seed=SEED, store=tmp_path).drop(columns="key") for part in blocks]
    assert list(frames[0].columns[7:-1]) == ["simple_regret", *FINDINGS]
    assert frames[0].equals(frames[1])
    assert (frames[0]["within_epsilon"] == frames[0]["correct"]).all()


def test_theorem_2_is_decided_on_the_rows_handed_over(tmp_path):
    """A run beyond the bound refutes; a run off the event does not count; greedy rules have no bound."""
    name, series = "theory_heuristic", ["m-LinGapE (largest var.)", "m-LinGapE (optimized)"]
    rows = {name: make_rows(EXPERIMENTS[name], "smoke", seed=SEED, store=tmp_path)}
    test = {"experiments": [name], "series": series}
    assert CHECKS["theorem_2"](test, rows).holds
    rows[name].loc[0, ["pulls", "event_share"]] = 10**9, 0.5
    assert not CHECKS["theorem_2"](test, rows).holds
    rows[name].loc[0, "event_share"] = 1.01
    assert CHECKS["theorem_2"](test, rows).holds
    refuses(lambda: parts_of("tab04"), "is a computation")
