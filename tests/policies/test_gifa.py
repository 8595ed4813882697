"""GIFA: against its page, the lemmas of the paper, limits, refusals, behaviour; and the thresholds that it stops by."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges import drive, rows, same_runs
from refusals import refused, refuses
from scipy import stats

from bestarm.designs.l1_design import l1_design
from bestarm.interface import Arms, Ask
from bestarm.policies.linear import gifa_round
from bestarm.policies.linear.gifa import Gifa, LinGifa, Lucb, MLinGape, Ugape
from bestarm.policies.linear.thresholds import heuristic_threshold, linear_threshold, lucb1_threshold, make_threshold
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_lab.metrics import correct
from bestarm_plain.gifa import gifa
from bestarm_plain.shared import pair_design
from bestarm_studies.linear_topm.instances import classic_instance, published_random_instance

SEED = 20261120
SIGMA = 0.5
PAPER_REGULARISER = (SIGMA / 20) ** 2
FEATURE_INDICES, CLASSICAL_INDICES = ("paired", "individual"), ("classical", "classical_paired")
state_of_knowledge = st.tuples(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(1, 6), st.booleans())


def random_instance(seed: int, n_arms: int, n_features: int, gap: float = 0.0, n_best: int = 1) -> LinearBandit:
    """Return arms in general position, so that only the start can tie; a ``gap`` lifts the m best arms by it."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_arms, n_features))
    theta = rng.standard_normal(n_features) / np.sqrt(n_features)
    if gap:
        features[np.argsort(-features @ theta)[:n_best]] += gap * theta / (theta @ theta)
    return LinearBandit(f"random {seed} {n_arms} {n_features} {gap}", features, theta, SIGMA)


EASY = random_instance(11, 5, 3, gap=1.0, n_best=2)


def assert_judged(policy: Gifa, problem: LinearBandit, n_replications: int, cap: int) -> int:
    """Compare the policy with its page, pull by pull; return how many stopped."""
    streams, last = Streams.first(n_replications, seed=SEED, instance=problem.label), problem.features.shape[-2] + 2
    numbers = [*range(policy.n_best + 2), last]  # of the draws: for J, b, c, and the arm to pull
    return same_runs(gifa, policy, problem, streams, max_pulls=cap, choice=numbers.__getitem__, design=l1_design)


def every_mixture(index: str) -> list[Gifa]:
    """Return all algorithms of one index: every J, b, selection, stopping rule, initialisation and deviation."""
    linear = index in FEATURE_INDICES
    selections = ("largest_variance", "both", "greedy", "optimised") if linear else ("largest_variance", "both")
    thresholds = ("heuristic", "eq2", "lucb1")
    either, starts = (False, True), (True, False) if linear else (True,)
    mixtures = product(either, either, selections, ("lucb", "ugape"), starts, either)
    names = ("by_gap_index", "challenged_by_mth", "selection", "stop", "initialise", "stale_pair")
    found = []
    for n, parts in enumerate(mixtures):
        own = dict(zip(names, parts, strict=True)) | {"threshold": thresholds[n % 3], "index_time_ahead": n % 5 < 2}
        found.append(Gifa(f"mixture {n}", 2, index=index, sigma=SIGMA, **own))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("index", FEATURE_INDICES + CLASSICAL_INDICES)
def test_every_mixture_pulls_the_same_arms_as_the_naive_algorithm(index):
    """All 320 combinations of the parts on five arms; some stop, some are cut. More replications are below."""
    mixtures = every_mixture(index)
    cap = {"paired": 50, "individual": 90, "classical": 140, "classical_paired": 70}[index]
    assert 0 < sum(assert_judged(policy, EASY, 1, cap) for policy in mixtures) < len(mixtures)


PRESETS = {
    "LUCB": Lucb(2),
    "LUCB both": Lucb(2, selection="both"),
    "UGapE": Ugape(2),
    "m-LinGapE largest variance": MLinGape(2, selection="largest_variance"),
    "m-LinGapE greedy": MLinGape(2),
    "m-LinGapE optimised": MLinGape(2, selection="optimised"),
    "LinGIFA": LinGifa(2),
    "LinGIFA greedy": LinGifa(2, selection="greedy"),
    "LinGIFA tau^LUCB": LinGifa(2, stop="lucb"),
    "LinGIFA individual": LinGifa(2, index="individual"),
}


@pytest.mark.parametrize("convention", ["as_written", "as_coded"])
@pytest.mark.parametrize("name", PRESETS)
def test_presets_agree_with_the_naive_algorithm_to_the_end(name, convention):
    """The presets in both conventions, three replications until they stop by themselves, on the easy instance."""
    policy = PRESETS[name] if convention == "as_written" else PRESETS[name].as_coded()
    assert assert_judged(policy, EASY, 3, 5000) == 3


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (MLinGape(3, threshold="heuristic", selection="optimised"), published_random_instance()),
        (LinGifa(3, threshold="heuristic").as_coded(), published_random_instance()),
        (MLinGape(8, threshold="heuristic"), published_random_instance()),
        (LinGifa(1, selection="greedy"), random_instance(4, 4, 2)),
        (MLinGape(1).as_coded(), classic_instance(3, 1, np.pi / 6)),
        (MLinGape(5, threshold="heuristic", selection="optimised"), random_instance(5, 10, 71)),
        (LinGifa(2, threshold="heuristic", epsilon=0.3), random_instance(6, 6, 4)),
        (MLinGape(2, delta=0.3, sigma=0.8, norm_bound=3.0, regulariser=0.1), random_instance(7, 6, 4)),
    ],
    ids=["random m=3", "random published", "random m=8", "m=1", "classic", "more features", "epsilon", "settings"],
)
def test_other_instances_agree_with_the_naive_algorithm(policy, problem):
    """More arms, more features than arms, all but two arms wanted, slack, other settings; up to 600 pulls."""
    assert_judged(policy, problem, 2, 600)


def test_features_of_each_replication_agree_with_the_naive_algorithm():
    """Four replications, each with its own arms, optimised designs included."""
    rng = np.random.default_rng(8)
    problem = LinearBandit("own arms", rng.standard_normal((4, 5, 3)), rng.standard_normal((4, 3)), SIGMA)
    for policy in (MLinGape(2, selection="optimised", threshold="heuristic"), LinGifa(2, threshold="heuristic")):
        assert_judged(policy, problem, 4, 300)


def test_canonical_features_without_regularisation_give_lucb():
    """Orthogonal arms, rho towards 0, individual indices: the trajectory of LUCB, ties included."""
    problem = LinearBandit("canonical", np.eye(5), np.array([1.0, 0.8, 0.3, 0.0, -0.2]), SIGMA)
    streams = Streams.first(6, seed=SEED, instance=problem.label)
    parts = {"index": "individual", "selection": "largest_variance", "threshold": "lucb1", "regulariser": 1e-8}
    classical = drive(Lucb(2, label="same"), problem, streams, 1500)
    linear = drive(MLinGape(2, label="same", **parts), problem, streams, 1500)
    assert classical.stopped.any()
    assert classical.pulls == linear.pulls
    np.testing.assert_array_equal(classical.recommended, linear.recommended)


def learned(features: np.ndarray, rho: float, arms, totals, counts=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Gram matrix, means and counts after single updates, by the compiled kernel."""
    gram = (features @ features.T / rho)[None].copy()
    means, pulls = np.zeros((1, len(features))), np.zeros((1, len(features)), dtype=np.int64)
    counts = np.ones(len(arms), dtype=np.int64) if counts is None else counts
    for a, n, y in zip((np.array([[v]]) for v in arms), counts, totals, strict=True):
        gifa_round.learn(gram, means, pulls, a, np.array([[n]]), np.array([[y]]), True)
    return gram[0], means[0], pulls[0]


def direct(features: np.ndarray, rho: float, pulls: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Gram matrix and means by solving the normal equations, in the smaller of the two spaces."""
    if len(features) <= features.shape[1]:  # independent arms: (G_0^-1 + diag(N))^-1, far better conditioned
        gram = np.linalg.inv(rho * np.linalg.inv(features @ features.T) + np.diag(pulls))
        return gram, gram @ sums
    inverse = np.linalg.inv(rho * np.eye(features.shape[1]) + (features.T * pulls) @ features)
    return features @ inverse @ features.T, features @ (inverse @ (features.T @ sums))


CLASSIC = classic_instance(4, 2, np.pi / 6), classic_instance(3, 1, 0.1)
PROBLEMS = (*CLASSIC, published_random_instance(), random_instance(3, 10, 71))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.label)
@pytest.mark.parametrize("rho", [1.0, PAPER_REGULARISER])
def test_recursion_in_arm_space_stays_with_the_direct_solution(problem, rho):
    """After 10^4 pulls: Gram matrix and means to 1e-9; variances of differences to 1e-6 of themselves.

    The error of the recursion stays at the rounding of the first Gram matrix, about 1e-16 / rho, while its entries
    shrink with time, so relative errors grow with time; at 10^5 pulls they are ten times larger.
    """
    rng = np.random.default_rng(5)
    n_arms = len(problem.features)
    arms = rng.integers(n_arms, size=10_000)
    rewards = problem.means[0, arms] + SIGMA * rng.standard_normal(10_000)
    gram, means, pulls = learned(problem.features, rho, arms, rewards)
    expected_gram, expected_means = direct(problem.features, rho, pulls, np.bincount(arms, rewards, n_arms))
    np.testing.assert_array_equal(pulls, np.bincount(arms, minlength=n_arms))
    np.testing.assert_allclose(gram, expected_gram, rtol=0, atol=1e-9)
    np.testing.assert_allclose(means, expected_means, rtol=0, atol=1e-9)
    off_diagonal = ~np.eye(n_arms, dtype=bool)
    variance, expected = ((np.diag(g)[:, None] + np.diag(g) - 2 * g)[off_diagonal] for g in (gram, expected_gram))
    np.testing.assert_allclose(variance, expected, rtol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 50), uses_features=st.booleans())
def test_one_request_for_n_pulls_teaches_as_much_as_n_requests(seed, n, uses_features):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((4, 3))
    start = features @ features.T / 0.1 if uses_features else np.diag(np.full(4, np.inf))
    single, batch = ([start[None].copy(), np.zeros((1, 4)), np.zeros((1, 4), dtype=np.int64)] for _ in range(2))
    for a in range(4):
        rewards = rng.standard_normal(n)
        for y in rewards:
            gifa_round.learn(*single, np.array([[a]]), np.array([[1]]), np.array([[y]]), uses_features)
        gifa_round.learn(*batch, np.array([[a]]), np.array([[n]]), np.array([[rewards.sum()]]), uses_features)
    for one, other in zip(single, batch, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_padding_and_failed_evaluations_teach_nothing():
    """A count of 0 or a total of NaN leaves the state as it was; its neighbours in the round still count."""
    policy, arms = MLinGape(1), Arms(np.random.default_rng(0).standard_normal((4, 2)))
    with_failures, without = (policy.start(arms, Streams.first(2, seed=1)) for _ in range(2))
    asked = Ask(np.array([[0, 1, 2], [1, 2, 3]]), np.array([[1, 0, 2], [1, 1, 1]]))
    policy.tell(with_failures, asked, np.array([[np.nan, 7.0, 1.0], [0.5, np.nan, np.nan]]))
    policy.tell(without, Ask(np.array([[2], [1]]), np.array([[2], [1]])), np.array([[1.0], [0.5]]))
    for name in ("gram", "means", "pulls"):
        np.testing.assert_array_equal(getattr(with_failures, name), getattr(without, name))


@pytest.mark.parametrize("policy", [MLinGape(2), LinGifa(2, threshold="heuristic"), Lucb(2), Ugape(2)])
def test_search_goes_on_when_evaluations_fail(policy):
    """With every third evaluation lost, the first ones included, the right arms are found all the same."""

    class Unreliable(LinearBandit):
        def rewards(self, asked, pulled, streams):
            totals = super().rewards(asked, pulled, streams)
            totals[pulled.sum(axis=1) % 3 == 1] = np.nan
            return totals

    problem = Unreliable("unreliable", EASY.features, EASY.theta, SIGMA)
    run = drive(policy, problem, Streams.first(3, seed=SEED, instance=problem.label), 20_000)
    assert run.stopped.all()
    assert correct(problem, run.recommended).all()
    assert (run.state.pulls.sum(axis=1) < [len(p) for p in run.pulls]).all()


def some_state(drawn) -> tuple[np.ndarray, np.ndarray, float, bool, np.ndarray, int]:
    """Return gram, means, scale, paired, features and m: an arbitrary moment of an arbitrary search."""
    seed, n_arms, n_features, paired = drawn
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_arms, n_features))
    arms = rng.integers(n_arms, size=int(rng.integers(0, 40)))
    gram, means, _ = learned(x, 10 ** rng.uniform(-3, 1), arms, rng.standard_normal(len(arms)))
    return gram, means, float(rng.uniform(0, 3)), paired, x, int(rng.integers(1, n_arms))


@given(state_of_knowledge)
def test_lemma_1_the_ugape_rule_is_never_the_later_one(drawn):
    """The m-th largest index over the others is at most the largest index over arms outside J, for every J."""
    gram, means, scale, paired, _, m = some_state(drawn)
    arms = list(range(len(means)))
    B = [[gifa_round.gap_index(gram, means, scale, paired, i, j) for j in arms] for i in arms]
    J = np.random.default_rng(drawn[0]).permutation(arms)[:m]
    for j in J:
        mth = gifa_round.mth_largest_gap(gram, means, scale, paired, j, np.empty(m))
        assert mth == np.sort([B[i][j] for i in arms if i != j])[-m]
        assert mth <= max(B[i][j] for i in arms if i not in J)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 6), st.floats(0.01, 10))
def test_lemma_11_other_pulls_only_help(seed, n_arms, n_features, rho):
    """The norm of every x is at most what it would be had only the pulls of one arm been made."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_arms, n_features))
    arms = rng.integers(n_arms, size=int(rng.integers(1, 60)))
    gram, _, pulls = learned(x, rho, arms, np.zeros(len(arms)))
    for a in range(n_arms):
        alone, _ = direct(x, rho, np.where(np.arange(n_arms) == a, pulls, 0), np.zeros(n_arms))
        assert (np.diag(gram) <= np.diag(alone) * (1 + 1e-9)).all()
        # of x_a itself that is |x_a| / sqrt(N_a |x_a|^2 + rho): the only use of Lemma 2
        assert gram[a, a] <= x[a] @ x[a] / (pulls[a] * x[a] @ x[a] + rho) * (1 + 1e-9)


@given(state_of_knowledge)
def test_lemma_9_bounds_the_mth_largest_index_of_an_arm_that_is_not_among_the_best(drawn):
    """If every index bounds its gap, the m-th largest over j != i is at least mu_m - mu_i, for i outside the best."""
    gram, estimated, _, paired, x, m = some_state(drawn)
    mu = x @ np.random.default_rng(drawn[0] + 1).standard_normal(x.shape[1])
    pairs = [(j, i) for j, i in product(range(len(mu)), repeat=2) if i != j]
    width = {p: gifa_round.gap_index(gram, np.zeros(len(mu)), 1.0, paired, *p) for p in pairs}
    scale = max(max((mu[j] - mu[i] - estimated[j] + estimated[i]) / width[j, i] for j, i in pairs), 0.0) + 1e-9
    for i in np.argsort(-mu)[m:]:
        mth = gifa_round.mth_largest_gap(gram, estimated, scale, paired, i, np.empty(m))
        assert mth >= np.sort(mu)[-m] - mu[i] - 1e-9


def test_confidence_event_and_lemmas_4_and_5_on_whole_runs():
    """With Eq. 2 every index bounds its gap at every round; then Lemma 4 holds, and Lemma 5 for largest variance."""
    problem = classic_instance(4, 2, np.pi / 3)
    policy = MLinGape(2, selection="largest_variance")
    mu = problem.means[0]
    gap = np.where(mu >= np.sort(mu)[-2], mu - np.sort(mu)[-3], np.sort(mu)[-2] - mu)
    n_rounds = 0

    def check(state) -> None:
        nonlocal n_rounds
        if not state.initialised:
            return
        n_rounds += 1
        c = state.threshold(state.pulls.sum(axis=1).astype(float))
        for r, (b, k) in enumerate(state.pair):
            width = np.sqrt(np.diag(state.gram[r])[:, None] + np.diag(state.gram[r])[None, :] - 2 * state.gram[r])
            indices = state.means[r][:, None] - state.means[r][None, :] + c[r] * SIGMA * width
            assert (mu[:, None] - mu[None, :] <= indices + 1e-12).all()
            w = c[r] * SIGMA * width[b, k]
            if not state.stopped[r]:
                assert indices[k, b] <= min(-max(gap[b], gap[k]) + 2 * w, 0) + w + 1e-9
            assert (state.pulls[r] - 1 <= 4 * SIGMA**2 * c[r] ** 2 * (gap / 3) ** -2.0).all()

    streams = Streams.first(20, seed=SEED, instance=problem.label)
    state, pulled = policy.start(problem.arms, streams), problem.arms.no_pulls(20)
    while not (over := policy.finished(state)).all():
        asked = policy.ask(state)
        check(state)
        asked = Ask(asked.arms, np.where(over[:, None], 0, asked.counts))
        policy.tell(state, asked, problem.rewards(asked, pulled, streams))
    assert n_rounds > 100
    assert correct(problem, policy.recommend(state)).all()


@pytest.mark.parametrize("problem", [EASY, published_random_instance(), random_instance(6, 6, 8)])
def test_the_page_solves_for_the_same_designs(problem):
    """Weights that are equal in theory differ in their last digit, so whole runs are compared with one solver."""
    for b, c in permutations(range(5), 2):
        np.testing.assert_allclose(pair_design(problem.features, b, c), l1_design(problem.features, b, c), atol=1e-9)


def test_ties_are_broken_uniformly():
    """Equal arms before the first pull: all six pairs of candidates, b, c and the pulled arm are equally frequent."""
    n = 6000
    policy = LinGifa(2, threshold="heuristic")
    state = policy.start(Arms.unstructured(4), Streams.first(n, seed=SEED, instance="ties"))
    asked = policy.ask(state)
    sets = np.sort(state.candidates, axis=1) @ [4, 1]
    assert stats.chisquare(np.unique(sets, return_counts=True)[1]).pvalue > 1e-3
    assert len(np.unique(sets)) == 6
    for chosen in (state.pair[:, 0], state.pair[:, 1], asked.arms[:, 0]):
        assert stats.chisquare(np.bincount(chosen, minlength=4)).pvalue > 1e-3
    assert stats.binomtest(int((asked.arms[:, 0] == state.pair[:, 0]).sum()), n).pvalue > 1e-3


def test_presets_are_the_rows_of_table_1():
    """Index, J, b, selection, stop and initialisation of each algorithm."""

    def parts(policy: Gifa) -> tuple:
        return (policy.index, policy.by_gap_index, policy.challenged_by_mth, policy.stop, policy.initialise)

    assert parts(Lucb(2)) == ("classical", False, False, "lucb", True)
    assert parts(Ugape(2)) == ("classical", True, False, "ugape", True)
    assert parts(MLinGape(2)) == ("paired", False, False, "lucb", True)
    assert parts(LinGifa(2)) == ("paired", True, True, "ugape", False)
    changed = LinGifa(2, label="x", stop="lucb")
    assert (changed.label, changed.stop) == ("x", "lucb")
    assert [p(2).threshold for p in (Lucb, Ugape, MLinGape, LinGifa)] == ["lucb1", "lucb1", "eq2", "eq2"]


def test_as_coded_is_a_set_of_named_deviations():
    """Stale pair for all; regulariser 1 in V alone for the initialised linear one; time ahead without a first phase."""
    for policy in (Lucb(2), Ugape(2), MLinGape(2), LinGifa(2)):
        assert policy.as_coded().stale_pair
        assert not policy.stale_pair
    for policy, expected, ahead in ((MLinGape(2), (1.0, PAPER_REGULARISER), False), (LinGifa(2), (None, None), True)):
        as_coded = policy.as_coded()
        assert (as_coded.regulariser, as_coded.threshold_regulariser) == expected
        assert as_coded.index_time_ahead is ahead
    assert replace(Lucb(2).as_coded(), stale_pair=False) == Lucb(2)
    for policy in (Lucb(2), MLinGape(2), MLinGape(2, threshold_regulariser=0.1), LinGifa(2)):
        assert policy.as_coded().as_coded() == policy.as_coded()


def test_authors_ugape_rule_costs_one_pull_more():
    """tau^UGapE is tested on the indices of before the pull: same answer, one pull later."""
    streams = Streams.first(10, seed=SEED, instance=EASY.label)
    written = drive(Ugape(2), EASY, streams)
    as_coded = drive(Ugape(2).as_coded(), EASY, streams)
    for r in range(10):
        assert as_coded.pulls[r][:-1] == written.pulls[r]
    np.testing.assert_array_equal(np.sort(as_coded.recommended), np.sort(written.recommended))


test_impossible_settings_are_refused = refused(
    lambda settings: Gifa(**({"label": "x", "n_best": 2} | settings)),
    ({"delta": 0.0}, r"delta must lie in \(0, 1\), got 0.0"),
    ({"delta": 1.0}, r"delta must lie in \(0, 1\), got 1.0"),
    ({"epsilon": -0.1}, "epsilon must be at least 0, got -0.1"),
    ({"sigma": 0.0}, "sigma must be positive, got 0.0"),
    ({"regulariser": 0.0}, "regulariser must be at least 1e-12, got 0.0"),
    ({"threshold_regulariser": 0.0}, "threshold_regulariser must be at least 1e-12, got 0.0"),
    ({"n_best": 0}, "n_best must be at least 1, got 0"),
    ({"index": "pair"}, "index must be one of paired, individual, classical, classical_paired, got 'pair'"),
    ({"selection": "random"}, "selection must be one of largest_variance, both, greedy, optimised, got 'random'"),
    ({"stop": "late"}, "stop must be one of lucb, ugape, got 'late'"),
    ({"threshold": "eq3"}, "threshold must be one of heuristic, eq2, lucb1, got 'eq3'"),
    ({"index": "classical", "selection": "greedy"}, "selection 'greedy' needs features"),
    ({"index": "classical_paired", "selection": "optimised"}, "selection 'optimised' needs features"),
    ({"index": "classical", "initialise": False}, "an arm without pulls has no mean"),
)

THREE_SETS = Arms(np.random.default_rng(0).standard_normal((3, 4, 2)))
test_arms_that_do_not_fit_are_refused = refused(
    lambda n_best, arms, n: MLinGape(n_best).start(arms, Streams.first(n)),
    (4, Arms.unstructured(4), 1, "n_best must be smaller than the number of arms 4, got 4"),
    (1, THREE_SETS, 2, "3 .*2"),
    (1, THREE_SETS, 4, "3 .*4"),
)

CLOSE = LinearBandit("close", np.array([[1.0], [0.9], [0.6]]), np.array([1.0]), SIGMA)
RISKS = {name: (policy, EASY, 60) for name, policy in PRESETS.items()} | {
    f"close arms, {delta}": (MLinGape(1, delta=delta), CLOSE, 400) for delta in (0.05, 0.3)
}


@pytest.mark.parametrize(("policy", "problem", "n"), RISKS.values(), ids=RISKS)
def test_errors_are_as_rare_as_delta_says(policy, problem, n):
    """Of presets on an easy instance, and by the threshold of Theorem 1 on close arms; every replication stops."""
    frame = rows(policy, problem, Streams.first(n, seed=SEED, instance=problem.label))
    assert frame["stopped"].all()
    assert stats.binomtest(int((frame["correct"] == 0).sum()), n, policy.delta, alternative="greater").pvalue > 1e-3


def test_features_help_when_arms_share_them():
    """Ten arms in two dimensions: m-LinGapE needs fewer pulls than LUCB with the same threshold."""
    problem = random_instance(21, 10, 2, gap=0.5)
    streams = Streams.first(40, seed=SEED, instance=problem.label)
    policies = (MLinGape(1, threshold="heuristic"), Lucb(1, threshold="heuristic"))
    linear, classical = (np.log(rows(policy, problem, streams)["pulls"]) for policy in policies)
    assert stats.ttest_rel(linear, classical, alternative="less").pvalue < 1e-3


def squared(threshold, t: float) -> float:
    return float(threshold(np.array([t]))[0] ** 2)


def eq2(n_arms: int, n_best: int):
    """Return the threshold of Equation 2 with S = 1, sigma = 1/2 and delta = 0.05; L^2 is 2 unless one arm is best."""
    return linear_threshold(classic_instance(n_arms, n_best, 0.5).arms, 0.05, 0.5, PAPER_REGULARISER, 1.0)


def test_thresholds_have_the_quoted_size():
    """C^2; with sqrt(lambda) S / sigma, lambda = sigma / 20, as printed, 51.6 becomes 55.5 (N = 3, t = 3000)."""
    for n_arms, n_best, t, expected in ((4, 2, 3000, 51.6), (4, 2, 10_000, 55.3), (3, 1, 4000, 36.6)):
        assert squared(eq2(n_arms, n_best), t) == pytest.approx(expected, abs=0.05)
    printed = np.sqrt(squared(eq2(4, 2), 3000)) - np.sqrt(PAPER_REGULARISER) / 0.5 + np.sqrt(0.5 / 20) / 0.5
    assert printed**2 == pytest.approx(55.5, abs=0.05)
    assert squared(lucb1_threshold(4, 0.05), 10_000) == pytest.approx(82.9, abs=0.05)
    assert squared(heuristic_threshold(0.05), 10_000) == pytest.approx(10.5, abs=0.15)


@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_thresholds_follow_their_formulas(delta):
    """Each formula of the paper's Section 5 and Eq. 2, written out, from t = 1 on."""
    arms, sigma, rho, bound = Arms(np.array([[3.0, 4.0], [0.0, 1.0], [1.0, 1.0]])), 0.3, 0.2, 2.0
    t = np.array([1.0, 77.0, 1e5])
    written = np.sqrt(2 * np.log(1 / delta) + 2 * np.log(1 + (t + 1) * 25 / (rho * 2))) + np.sqrt(rho) / sigma * bound
    heuristic, lucb1 = np.sqrt(2 * np.log((np.log(t) + 1) / delta)), np.sqrt(2 * np.log(5 * 3 * t**4 / (4 * delta)))
    settings = {"delta": delta, "sigma": sigma, "regulariser": rho, "norm_bound": bound}
    for name, value in (("heuristic", heuristic), ("eq2", written), ("lucb1", lucb1)):
        np.testing.assert_allclose(make_threshold(name, arms, **settings)(t), value, rtol=1e-12)
    refuses(lambda: make_threshold("eq3", arms, **settings), "must be one of heuristic, eq2, lucb1, got 'eq3'")
