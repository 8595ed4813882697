"""The observer: it changes nothing, and finds what a naive evaluation of every inequality finds."""

import numpy as np
import pytest

from bestarm.experiments.simulate import simulate
from bestarm.policies import gifa_checks
from bestarm.policies.gifa import lingifa, lucb, m_lingape
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_studies.linear_topm.checks import decide
from bestarm_studies.linear_topm.complexity import gaps, m_lingape_complexity
from bestarm_studies.linear_topm.instances import classic_instance, published_random_instance
from bestarm_studies.linear_topm.monitored import METRICS, observe, parts
from bestarm_studies.linear_topm.observer import FINDINGS, GifaMonitor, no_findings
from bestarm_studies.linear_topm.theory import theorem_2

SEED = 20261120
RANDOM = published_random_instance()


def streams(problem, n_replications):
    return Streams.first(n_replications, seed=SEED, instance=problem.label)


def naive_round(policy, problem, rewards, arms, threshold):
    """Return what one round must find, from the pulls and rewards so far and nothing else."""
    x, truth, m = problem.features, problem.means[0], policy.n_best
    n = np.bincount(arms, minlength=len(x))
    v = policy.design_regulariser * np.eye(x.shape[1]) + sum(np.outer(x[a], x[a]) for a in arms)
    inverse = np.linalg.inv(v)
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
    }  # fmt: skip


@pytest.mark.parametrize(
    "policy",
    [
        m_lingape(3, selection="largest_variance", threshold="heuristic"),
        lingifa(3, epsilon=0.1, threshold="heuristic"),
        lingifa(2, index="individual", stop="lucb"),
        m_lingape(3, selection="both", delta=0.9, threshold="heuristic"),
    ],
    ids=lambda p: f"{p.label}-{p.index}-{p.selection}-{p.stop}",
)
def test_findings_are_those_of_a_naive_evaluation(policy):
    """Eighty pulls of three replications, every inequality evaluated anew from pulls and rewards."""
    problem, n_replications = RANDOM, 3
    findings = no_findings(n_replications)
    monitor = GifaMonitor(policy, problem.means, findings)
    state = monitor.start(problem.arms, streams(problem, n_replications))
    pulled = np.zeros((n_replications, 10), dtype=np.int64)
    history = [([], []) for _ in range(n_replications)]
    expected = [dict(FINDINGS) for _ in range(n_replications)]
    gap = gaps(problem.means[0], policy.n_best)
    while pulled.sum(axis=1).max() < 80 and not state.stopped.all():
        searching, asks = ~state.stopped, state.initialised
        asked = monitor.ask(state)
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
        monitor.tell(state, asked, totals)
    names = [name for name in FINDINGS if name != "within_epsilon"]
    table = np.array([[one[name] for name in names] for one in expected], dtype=float)
    np.testing.assert_allclose(findings[:, : len(names)], table, rtol=1e-6, err_msg=str(names))
    assert findings[:, 0].min() > 20


@pytest.mark.parametrize(
    "policy",
    [m_lingape(2), lingifa(2), lucb(2, threshold="heuristic"), m_lingape(2).as_coded(), lingifa(2).as_coded()],
    ids=lambda p: f"{p.label}{'-published' * p.stale_pair}",
)
def test_an_observed_algorithm_does_what_it_does_alone(policy):
    """Rows are equal bit by bit, also where replications leave the arrays, and every answer is judged."""
    problem = classic_instance(4, 2, np.pi / 3)
    alone = simulate(policy, problem, streams(problem, 30), metrics=METRICS)
    observed = observe(policy, problem, streams(problem, 30))
    assert alone.equals(observed[alone.columns])
    np.testing.assert_array_equal(observed["within_epsilon"], alone["correct"])


def test_lemma_2_as_printed_is_false_and_true_along_the_arm():
    """After n pulls of e_1 nothing is known of e_2: the norm stays 1 / sqrt(lambda), not 1 / sqrt(n + lambda)."""
    features, pulls, regulariser = np.array([[1.0, 0], [0, 1], [3, 0]]), np.array([50, 0, 0]), 0.01
    gram = features @ np.diag([1 / 50.01, 1 / 0.01]) @ features.T
    lengths = np.linalg.norm(features, axis=1)
    differences = np.linalg.norm(features[:, None] - features[None], axis=2)
    assert gifa_checks.lemma_2_fails(gram, pulls, lengths, differences, regulariser)
    along = np.ix_([0, 2], [0, 2])
    assert not gifa_checks.lemma_2_fails(gram[along], pulls[[0, 2]], lengths[[0, 2]], differences[along], regulariser)
    assert not gifa_checks.index_order_fails(gram, pulls)


def stopping_rules(rng, epsilon):
    """Return whether UGapE's and LUCB's rules hold for random paired indices and a random set J of three arms."""
    x, means = rng.standard_normal((7, 3)), rng.normal(0, 3, 7)
    width = np.linalg.norm(x[:, None] - x[None], axis=2) * rng.uniform(0.1, 1.5)
    index, chosen = means[:, None] - means[None] + width, rng.permutation(7)[:3]
    room, inside = np.empty(3), np.empty(7, dtype=bool)
    value, fails = gifa_checks.stopping_values(index, chosen, inside, room)
    outside = np.delete(np.arange(7), chosen)
    return fails, value <= epsilon, index[np.ix_(outside, chosen)].max() <= epsilon


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
    spec = {
        "problem": {"make": "linear_bandit.classic_instance", "n_arms": 4, "n_best": 2, "omega": np.pi / 3},
        "series": {"lv": {"make": "gifa.m_lingape", "selection": "largest_variance"}},
        "every_series": {"n_best": 2},
    }
    problem, (series,) = parts(**spec)
    rows = {"e": observe(series.policy, problem, streams(problem, 30)).assign(convention="as_written", series="lv")}
    constant, bound = theorem_2(problem, series)
    assert constant == m_lingape_complexity(problem.means[0], 2, sigma=0.5)
    assert rows["e"]["pulls"].max() < bound
    test = {"experiments": ["e"], "delta": 0.05}
    for kind in ("lemma_1", "index_order", "lemma_4", "lemma_5", "theorem_1", "event_frequency"):
        assert decide("", rows, test | {"kind": kind})[0], kind
    assert not decide("", rows, test | {"kind": "lemma_2"})[0]
    rows["e"].loc[3, ["lemma_4", "lemma_5"]] = 1  # one bad round is enough, unless the event was lost
    assert not decide("", rows, test | {"kind": "lemma_4"})[0]
    rows["e"].loc[3, "event_share"] = 1.01
    assert decide("", rows, test | {"kind": "lemma_4"})[0]
    with pytest.raises(ValueError, match="Theorem 2 says nothing of 'greedy'"):
        theorem_2(problem, type(series)("greedy", "as_written", m_lingape(2)))


def test_several_instances_at_once_are_refused():
    features = np.random.default_rng(0).standard_normal((3, 4, 2))
    problem = LinearBandit("three", features, np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"means must have shape \(1, n_arms\), got \(3, 4\)"):
        GifaMonitor(m_lingape(1), problem.means, no_findings(3))
    with pytest.raises(ValueError, match="one set of features, got 3"):
        GifaMonitor(m_lingape(1), problem.means[:1], no_findings(3)).start(problem.arms, streams(problem, 3))
