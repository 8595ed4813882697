"""GPOO, StoOO and GPTree against their pages, which build the model anew in every round."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from judges import Bench, ConstantKernel, settings_of
from refusals import each_refused, refused
from scipy.linalg import cho_solve, cholesky, solve_triangular

from bestarm.interface import Arms, Ask
from bestarm.partition import Partition
from bestarm.policies.cells.gp_tree import GpTree
from bestarm.policies.cells.gpoo import Gpoo
from bestarm.policies.cells.grid_search import GridSearch
from bestarm.policies.cells.stooo import Stooo
from bestarm.streams import Streams
from bestarm.testing import check_policy
from bestarm_plain.cells import Tree, posterior
from bestarm_plain.gp_tree import gp_tree
from bestarm_plain.gpoo import gpoo, gpoo_as_coded
from bestarm_plain.stooo import optimistic_tree
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.functions import reward_function

KeptTree = type("KeptTree", (Tree,), {"points": cache(Tree.points)})  # computed once for each cell


def tree_of(partition) -> Tree:
    return KeptTree(partition.arity, partition.n_representatives, partition.lower, partition.upper)


def bench_of(bandit, replication):
    return Bench(bandit, Streams(7, bandit.label, np.array([replication])))


def authors_gp_tree(bandit, replication, n_evaluations):
    """The authors' GPTree for n = 80 with their arithmetic: squared distances of GPy, Cholesky, one leaf at a time."""
    bench, n, noise, rewards = bench_of(bandit, replication), 80, 0.005, []
    beta, log_terms = 0.25 * np.sqrt(np.log(n) + 2.0), 4.0 + 1.0 + 2 * np.log(n**2 * np.pi**2 / 6)
    spread = [0.1 * 0.5**h for h in range(30)]
    variation = [4 * g * (np.sqrt(log_terms + h * np.log(2) + 4 * np.log(1 / g)) + 1.0) for h, g in enumerate(spread)]
    nodes = {0: (0.0, 1.0, 0)}  # by heap number: interval and depth
    indices, model = {0: 0.0}, None  # in the order in which nodes were made; the first largest one is taken

    def kernel(x, y):
        return 0.1 * np.exp(-0.5 * (np.sqrt(np.maximum(-2 * np.outer(x, y) + (x**2)[:, None] + y**2, 0)) / 0.05) ** 2)

    def upper(cell):
        x, factor, weights = model
        cross = kernel(x, np.array([sum(nodes[cell][:2]) / 2]))
        whitened = solve_triangular(factor, cross, lower=True)
        return float((cross.T @ weights)[0, 0]), beta * np.sqrt(0.1 - float((whitened**2).sum()) + noise)

    def index(cell):
        depth, value = nodes[cell][2], sum(upper(cell))
        if depth:
            value = min(value, sum(upper((cell - 1) // 2)) + variation[depth - 1])
        return value + variation[depth]

    def evaluate(cell):
        nonlocal model
        rewards.append(bench.pull(cell))
        x = np.array([sum(nodes[c][:2]) / 2 for c in bench.history])
        factor = cholesky(kernel(x, x) + (noise + 1e-8) * np.eye(len(x)), lower=True)
        model = x, factor, cho_solve((factor, True), np.array(rewards)[:, None])
        indices.update({leaf: index(leaf) for leaf in indices})

    evaluate(0)
    while len(rewards) < n_evaluations:
        cell = max(indices, key=indices.get)
        low, high, depth = nodes[cell]
        if upper(cell)[1] > variation[depth]:
            evaluate(cell)
            continue
        del indices[cell]
        middle = (low + high) / 2
        for child, ends in ((2 * cell + 1, (low, middle)), (2 * cell + 2, (middle, high))):
            nodes[child] = (*ends, depth + 1)
            indices[child] = index(child)
    return bench.history


def test_exact_comparisons_give_the_runs_of_the_authors_gp_tree():
    """On f2 far leaves differ in their indices by less than 1e-9: compared exactly, the runs are the authors'."""
    bandit, policy = reward_function("f2").as_coded(), GpTree("GPTree", 80).as_coded()
    exact, _, _ = trace(policy, bandit, n=20)
    within, _, _ = trace(replace(policy, exact_ties=False), bandit, n=20)
    theirs = np.array([authors_gp_tree(bandit, r, 16) for r in range(20)])
    assert (exact[:, :16] == theirs).all(axis=1).sum() >= 19  # a tie to the last bit may be rounded the other way
    assert (within[:, :16] == theirs).all(axis=1).sum() <= 16


def trace(policy, bandit, n=3):
    """Return evaluated cells, shape (n, budget), and recommended ones, shape (n, budget + 1), of our policies."""
    streams = Streams(7, bandit.label, np.arange(n))
    state, tally = policy.start(bandit.partition, streams), bandit.partition.no_pulls(n)
    cells, recommended = [], []
    while True:
        asked = policy.ask(state)
        recommended.append(policy.recommend(state)[:, 0])
        if policy.finished(state).all():
            return np.array(cells).reshape(-1, n).T, np.array(recommended).T, state
        cells.append(asked.arms[:, 0].copy())
        policy.tell(state, asked, bandit.rewards(asked, tally, streams))


@pytest.mark.parametrize(("name", "size", "arity"), [("f1", 1, 2), ("f2", 10, 2), ("f3", 2, 3), ("f1", 3, 3)])
@pytest.mark.parametrize("as_coded", [False, True])
def test_gpoo_is_its_page(name, size, arity, as_coded):
    """In the first rounds the code reports the child that it has just evaluated, and later the incumbent."""
    bandit, policy = reward_function(name, n_representatives=size, arity=arity), Gpoo("GPOO", 36)
    if as_coded:
        bandit, policy = bandit.as_coded(), policy.as_coded()
    cells, recommended, _ = trace(policy, bandit)
    for r in range(3):
        bench = bench_of(bandit, r)
        expected = (gpoo_as_coded if as_coded else gpoo)(tree_of(bandit.partition), bench.pull, 36, policy.kernel.K)
        assert (cells[r].tolist(), recommended[r].tolist()) == (bench.history, expected)


@pytest.mark.parametrize(
    ("rule", "size", "as_coded"),
    [("munos", 1, False), ("average", 10, False), ("munos", 1, True), ("average", 10, True)],
)
@pytest.mark.parametrize("scale", [14.0, 0.7])
def test_stooo_is_its_page(rule, size, as_coded, scale):
    bandit = reward_function("f1", n_representatives=size)
    for budget in (1, 2, 17, 50):
        policy = Stooo("StoOO", budget, rule=rule, delta_scale=scale)
        policy = policy.as_coded() if as_coded else policy
        cells, recommended, _ = trace(policy, bandit)
        for r in range(3):
            bench, given = bench_of(bandit, r), settings_of(policy, optimistic_tree)
            given["budget"] = policy.n_evaluations
            assert recommended[r, -1] == optimistic_tree(tree_of(bandit.partition), bench.pull, **given)
            assert cells[r].tolist() == bench.history


CODED_TREE = {
    "slope": 0.1, "rho": 0.5, "v1": 1.0, "alpha": 0.5, "beta_n": 0.25 * np.sqrt(np.log(14) + 2.0), "noise": 0.005,
    "noise_in_width": True, "root_evaluated_first": True, "exact_ties": True,
}  # fmt: skip


@pytest.mark.parametrize("as_coded", [False, True])
def test_gp_tree_is_its_page(as_coded):
    """Cells, divisions, and the answer: of the code the first node divided at the greatest depth."""
    bandit, policy = reward_function("f1"), GpTree("GPTree", 14)
    policy, given = (policy.as_coded(), CODED_TREE) if as_coded else (policy, {"slope": np.sqrt(0.1) / 0.05})
    cells, recommended, state = trace(policy, bandit, n=2)
    for r in range(2):
        bench, tree = bench_of(bandit, r), tree_of(bandit.partition)
        answer, divided = gp_tree(tree, bench.pull, 14, policy.kernel.K, **given)
        assert cells[r].tolist() == bench.history
        assert sorted(state.cells[r][state.status[r] == 2].tolist())[: len(divided)] == sorted(divided)
        first = next(c for c in divided if tree.depth(c) == max(map(tree.depth, divided)))
        assert recommended[r, -1] == (first if as_coded else answer)


GRIDS = [
    GridSearch("UCB", 40, order="upper_bound"),
    GridSearch("random", 40, order="random", by_posterior=False),
    GridSearch("uniform", 40),
]
POLICIES = [Gpoo("GPOO", 40), Gpoo("GPOO", 40).as_coded(), Stooo("StoOO", 40), GpTree("GPTree", 40).as_coded(), *GRIDS]


@pytest.mark.parametrize("policy", GRIDS, ids=lambda p: p.label)
def test_grids_keep_the_contract_of_a_policy(policy):
    check_policy(policy)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.label)
def test_failed_evaluations_cost_budget_and_teach_nothing(policy):
    state, n = policy.start(reward_function("f1").partition, Streams.first(2)), 0
    while True:
        asked = policy.ask(state)
        if policy.finished(state).all():
            break
        n += 1
        policy.tell(state, asked, np.full((2, 1), np.nan))
    assert (n, state.draws.sum()) == (40, 0)
    assert (policy.recommend(state) >= 0).all()


def test_trees_keep_their_laws():
    """Leaves tile the interval, there are 1 + (K - 1) x divisions of them, and draws add up."""
    for arity in (2, 3):
        bandit = reward_function("f1", arity=arity)
        _, _, state = trace(Gpoo("GPOO", 70), bandit, n=5)
        for r in range(5):
            leaves = state.cells[r][state.status[r] == 1]
            assert len(leaves) == 1 + (arity - 1) * (state.status[r] == 2).sum()
            low, high = bandit.partition.bounds(np.sort(leaves))
            order = np.argsort(low[:, 0])
            np.testing.assert_allclose(high[order[:-1], 0], low[order[1:], 0], atol=1e-12)
            np.testing.assert_allclose([low.min(), high.max()], [0.0, 1.0], atol=1e-12)
            assert state.draws[r].sum() == 70


def test_units_do_not_matter():
    """f, noise, kernel and delta in other units: the same tree."""
    bandit = reward_function("f1")
    small, _, _ = trace(Gpoo("GPOO", 50), bandit)
    scaled = replace(bandit, function=replace(bandit.function, weights=5.0 * bandit.function.weights), sigma=0.5)
    kernel = {"family": "rbf", "variance": 2.5, "lengthscale": 0.05}
    large, _, _ = trace(Gpoo("GPOO", 50, kernel=kernel, sigma=0.5, delta_scale=70.0), scaled)
    np.testing.assert_array_equal(small, large)


def test_integrals_are_averages_with_the_noise_of_their_volume():
    """Rewards divided by the volume and the noise of the model agree with a dense posterior."""
    bandit = reward_function("f1", feedback="integral")
    policy = Gpoo("GPOO", 12, delta_scale=3.0)
    cells, _, state = trace(policy, bandit, n=1)
    partition = bandit.partition
    from bestarm_studies.gpoo.aggregated_gp import AggregatedGP, observed_averages

    streams = Streams(7, bandit.label, np.arange(1))
    tally, once = partition.no_pulls(1), np.ones((1, 1), dtype=np.int64)
    rewards = [bandit.rewards(Ask(np.array([[cell]]), once), tally, streams)[0, 0] for cell in cells[0]]
    points, averaging = observed_averages(partition, cells[0], 0.05)
    found = AggregatedGP(policy.kernel, 0.01).fit(points, np.array(rewards), averaging)
    live = np.flatnonzero(state.live[0])
    target, weights = observed_averages(partition, state.cells[0, live], 0.05)
    volumes = partition.widths(state.depths[0, live]).prod(axis=-1)
    np.testing.assert_allclose(found.predict(target, weights)[0][0] / volumes, state.means[0, live], atol=1e-8)
    np.testing.assert_allclose(found.predict(target, weights)[1][0] / volumes**2, state.variances[0, live], atol=1e-8)


def test_a_gpy_kernel_takes_the_place_of_ours():
    """A stationary one gives the same run; one that is not stationary runs through the memory of pairs."""
    from GPy import kern

    bandit = reward_function("f1", n_representatives=3)
    ours, _, _ = trace(Gpoo("GPOO", 25), bandit, n=2)
    theirs, _, _ = trace(Gpoo("GPOO", 25, kernel=kern.RBF(1, 0.1, 0.05)), bandit, n=2)
    np.testing.assert_array_equal(ours, theirs)
    mixed = kern.RBF(1, 0.1, 0.05) + kern.Bias(1, 0.2)
    cells, _, state = trace(Gpoo("GPOO", 25, kernel=mixed), bandit, n=1)
    bench, live = bench_of(bandit, 0), np.flatnonzero(state.live[0])
    seen, known = cells[0].tolist(), state.cells[0, live].tolist()
    means, _ = posterior(tree_of(bandit.partition), mixed.K, 0.01, seen, [bench.pull(c) for c in seen], known)
    np.testing.assert_allclose(means, state.means[0, live], atol=1e-8)


test_bad_settings_are_one_clear_error = each_refused(
    (lambda: Gpoo("G", 0), "budget must be at least 1, got 0"),
    (lambda: Gpoo("G", 5, sigma=0.0), "sigma must be positive, got 0.0"),
    (lambda: Gpoo("G", 5, delta_scale=-1), "delta_scale must be positive, got -1"),
    (lambda: Gpoo("G", 5, delta_ratio=1.0), r"delta_ratio must lie in \(0, 1\), got 1.0"),
    (lambda: Gpoo("G", 5, theta=2.0), r"theta must lie in \(0, 1\), got 2.0"),
    (lambda: Gpoo("G", 5, beta="lemma2"), "beta must be one of lemma1, as_coded, got 'lemma2'"),
    (lambda: Gpoo("G", 5, max_depth=-1), "max_depth must be at least 0, got -1"),
    (lambda: Stooo("S", 0), "budget must be at least 1"),
    (lambda: Stooo("S", 5, risk=0.0), r"risk must lie in \(0, 1\), got 0.0"),
    (lambda: Stooo("S", 5, rule="other"), "rule must be one of munos, average, as_coded, got 'other'"),
    (lambda: GpTree("T", 0), "budget must be at least 1"),
    (lambda: GpTree("T", 5, cell_ratio=1.5), r"cell_ratio must lie in \(0, 1\), got 1.5"),
    (lambda: GridSearch("U", 5, depth=0), "depth must be at least 1, got 0"),
    (lambda: GridSearch("U", 5, depth=40).start(reward_function("f1").arms, Streams.first(1)), "take a smaller depth"),
    (lambda: reward_function("f1", arity=1), "arity must be at least 2, got 1"),
    (lambda: reward_function("f1", n_representatives=0), "n_representatives must be at least 1, got 0"),
    (lambda: reward_function("f4"), "name must be one of f1, f2, f3, got 'f4'"),
    (lambda: reward_function("f1", sigma=-0.1), "sigma must be positive, got -0.1"),
    (
        lambda: Gpoo("GPOO", 5).start(Arms(np.eye(3)), Streams.first(1)),
        r"GPOO searches the cells of a bestarm.partition.Partition, got Arms",
    ),
)

TINY = CellBandit("tiny", lambda x: np.zeros(len(x)), Partition(2, 1, (1.0,), (1.0 + 1e-13,)), 0.1)
WIDE = {"kernel": {"variance": 1.0, "lengthscale": 1.0}, "delta_scale": 1e9, "delta_ratio": 0.9}


def users(function):
    return CellBandit("user's", function, Partition(2, 4))


NO_COVARIANCE = "not positive definite on the observed cells: the variance of cell 0"
TOO_SMALL = "is too small to be divided: floating point can tell cells apart down to depth"
SHAPES = r"must return one value for each point, shape \(.*,\) for points of shape .*, got shape"
test_searches_that_cannot_go_on_are_refused = refused(
    lambda policy, bandit: trace(policy, bandit, n=1),
    (Gpoo("GPOO", 5, kernel=ConstantKernel(-1.0)), reward_function("f1"), NO_COVARIANCE),
    (Gpoo("GPOO", 400, max_depth=60, **WIDE), TINY, TOO_SMALL),
    (Gpoo("GPOO", 10), users(lambda x: np.where(x[:, 0] > 0.7, np.nan, x[:, 0])), r"returns nan at \[0\.8"),
    (Gpoo("GPOO", 10), users(lambda x: x), SHAPES),
    (Gpoo("GPOO", 10), users(lambda x: 1.0), "must return one value for each point"),
)
