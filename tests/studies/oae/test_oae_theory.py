"""The theory of OAE: exact linear searches against enumeration and dense algebra, learners against exact laws."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from hills import searched
from refusals import refuses
from scipy.stats import beta

from bestarm.policies.batch_search import RandomBatch
from bestarm.policies.linear import linear_oae
from bestarm.policies.linear.linear_batches import log_det_batches, optimistic_batches, sequential_batches
from bestarm.policies.linear.linear_oae import EllipsoidOae, LinearDiverse, LinearLogDet, LinearOae, LinearSeq
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_studies.oae.theory import eluder_dimension as eluder
from bestarm_studies.oae.theory import query_bounds as queries
from bestarm_studies.oae.theory.batch_regret import burn_in_rows, misspecified_rows, slopes, wide_counts
from bestarm_studies.oae.theory.checks import CHECKS
from bestarm_studies.oae.theory.linear_runs import CloneArms, SphereArms, largest_promise, observed_run, unit_vectors
from bestarm_studies.oae.theory.optimism import bonuses, optimism_rows

ROWS = np.arange(6)
SEARCHES = (LinearOae, EllipsoidOae, linear_oae.LinearGreedy, LinearSeq, LinearDiverse, LinearLogDet)


def at_round(policy, law, rounds, replications=ROWS):
    problem, streams = law.take(replications), Streams(0, law.label, replications)
    return searched(policy, problem, streams, rounds)[0], problem, streams


def test_laws_name_their_arms_by_replication():
    """A subset has the same arms; arms are unit vectors or copies; responses are linear up to omega."""
    for law in (SphereArms(30, 4, seed=1), CloneArms(3, 8, seed=1)):
        problem = law.take(ROWS)
        np.testing.assert_array_equal(law.take(ROWS[3:4]).features[0], problem.features[3])
        expected = np.einsum("rad,rd->ra", problem.features, law.parameters(ROWS))
        np.testing.assert_allclose(problem.means, expected, atol=1e-12)
    wavy, plain = SphereArms(30, 4, 0.1, 1).take(ROWS), SphereArms(30, 4, seed=1).take(ROWS)
    np.testing.assert_array_equal(wavy.features, plain.features)
    np.testing.assert_allclose(np.abs(wavy.means - plain.means), 0.1)
    np.testing.assert_allclose(np.linalg.norm(plain.features, axis=2), 1.0)
    assert np.abs(CloneArms(3, 8).take(ROWS).features - np.repeat(np.eye(3), 8, axis=0)).max() < 1e-5
    refuses(lambda: SphereArms(30, 4, -1.0), "omega at least 0")
    refuses(lambda: CloneArms(1, 1), "at least two arms")


def test_what_is_known_is_the_projection_of_the_parameter():
    """Against a dense projector; plausible parameters agree with every reward and have norm 1 at the edge."""
    law, policy = SphereArms(40, 6), LinearOae("OAE", 2, 5)
    state, problem, _ = at_round(policy, law, 2)
    theta = law.parameters(ROWS)
    centre, widths = policy.plausible(state)
    for r in ROWS:
        x = problem.features[r, state.arms[r, :4]]
        projector = np.linalg.pinv(x) @ x
        np.testing.assert_allclose(centre[r], projector @ theta[r], atol=1e-10)
        radius = np.sqrt(1.0 - centre[r] @ centre[r])
        np.testing.assert_allclose(widths[r], radius * (np.eye(6) - projector), atol=1e-10)
    np.testing.assert_array_equal(state.rank, 4)


def test_the_width_is_that_of_the_plausible_parameters():
    """Against the dense formula, and attained by two plausible parameters that agree on all rewards."""
    law, policy = SphereArms(40, 6), LinearOae("OAE", 2, 5)
    state, problem, _ = at_round(policy, law, 2)
    theta, arms = law.parameters(ROWS), np.tile(np.arange(40), (len(ROWS), 1))
    found = policy.width(state, arms)
    np.testing.assert_allclose(np.take_along_axis(found, state.arms[:, :4], axis=1), 0.0, atol=1e-7)
    for r in ROWS:
        x = problem.features[r, state.arms[r, :4]]
        rest = problem.features[r] @ (np.eye(6) - np.linalg.pinv(x) @ x)
        guess = np.linalg.pinv(x) @ state.rewards[r, :4]
        radius, arm = np.sqrt(1.0 - guess @ guess), int(found[r].argmax())
        np.testing.assert_allclose(found[r], 2.0 * radius * np.linalg.norm(rest, axis=1), atol=1e-7)
        step = radius * rest[arm] / np.linalg.norm(rest[arm])
        for other in (guess + step, guess - step):
            assert np.linalg.norm(other) == pytest.approx(1.0)
            np.testing.assert_allclose(x @ other, x @ theta[r])
        assert 2.0 * step @ problem.features[r, arm] == pytest.approx(found[r, arm])


def naive_widths(x, epsilon):
    """Return a function of earlier arms: by how much functions may differ at all arms of the plane, by many angles."""
    angle = np.linspace(0.0, np.pi, 40000, endpoint=False)
    along = np.abs(np.column_stack([np.cos(angle), np.sin(angle)]) @ x.T)

    def widths(before):
        data = np.sqrt((along[:, sorted(before)] ** 2).sum(axis=1))
        return (along * np.minimum(2.0, epsilon / np.maximum(data, 1e-300))[:, None]).max(axis=0)

    return widths


def naive_dimension(x, epsilon):
    """Return the length of the longest independent sequence for this epsilon, of all sequences."""
    width = naive_widths(x, epsilon)

    @cache
    def longest(before):
        return max((1 + longest(before | {a}) for a in np.flatnonzero(width(before) > epsilon * (1 + 1e-6))), default=0)

    return longest(frozenset())


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_the_least_independent_arm_is_that_of_all_angles(epsilon):
    """Its width too; arms that depend on those before are struck."""
    x = np.random.default_rng(2).uniform(-1.0, 1.0, (12, 2))
    for before in ([], [0], [0, 3], [0, 3, 5]):
        expected = naive_widths(x, epsilon)(before)
        eigenvalues, vectors = np.linalg.eigh(x[before].T @ x[before])
        live = np.ones(12, dtype=bool)
        chosen, width = eluder.least_independent((x @ vectors) ** 2, np.maximum(eigenvalues, 0.0), epsilon, live)
        np.testing.assert_array_equal(live, expected > epsilon * (1.0 + 1e-6))
        assert not live[before].any()
        assert chosen == np.where(live, expected, np.inf).argmin()
        assert width == pytest.approx(expected[chosen], rel=1e-4)


def test_the_eluder_dimension_lies_between_its_bounds():
    """Of six arms in the plane, against all sequences of them; the greedy one is often the longest."""
    rng, epsilons, equal = np.random.default_rng(4), [0.1, 0.3, 1.0], []
    for _ in range(12):
        x = rng.uniform(-0.7, 0.7, (6, 2))
        lower, upper = eluder.eluder_bounds(x, epsilons)
        longest = [naive_dimension(x, epsilon) for epsilon in epsilons]
        exact = [max(longest[i:]) for i in range(3)]
        assert (lower <= exact).all()
        assert (exact <= upper).all()
        equal.append(lower == exact)
    assert np.mean(equal) > 0.5


def test_eluder_dimensions_by_hand():
    """Orthonormal arms, doubled ones, halves of halves, and arms too short for the class to differ."""
    np.testing.assert_array_equal(eluder.eluder_bounds(np.eye(5), [0.01, 1.9, 2.0]), [[5, 5, 0]] * 2)
    np.testing.assert_array_equal(eluder.eluder_bounds(np.repeat(np.eye(3), 2, axis=0), [0.5])[0], [3])
    halves = 0.5 ** np.arange(6)[:, None]  # an arm is independent if its square exceeds the sum of those before
    np.testing.assert_array_equal(eluder.independent_sequence(halves, 0.1), [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(eluder.eluder_bounds(halves, [0.1, 0.3]), [[5, 3]] * 2)
    assert eluder.longest_possible(np.ones((500, 1)), 0.1) < 30  # 500 arms, but the determinant does not allow it
    refuses(lambda: eluder.eluder_bounds(np.eye(2), [0.0]), "positive")


@pytest.mark.parametrize("search", SEARCHES)
def test_wide_arms_are_those_that_another_function_could_explain(search):
    """Counted a round; without misspecification a batch that has some reveals a direction, whatever chose it."""
    law, epsilons = SphereArms(60, 4), (0.05, 0.5)
    monitor, _ = observed_run(search("search", 3, 6), law, ROWS, 0, epsilons=epsilons)
    wide = monitor.table("wide")
    assert wide.shape == (6, len(ROWS), 2)
    np.testing.assert_array_equal(wide[0], 3)  # nothing is known of unit arms
    assert (np.diff(wide, axis=2) <= 0).all()
    assert ((wide > 0).sum(axis=0) <= 4).all()
    assert (wide[4:] == 0).all()
    random, _ = observed_run(RandomBatch("Random", 3, 6), law, ROWS, 0, epsilons=epsilons)
    assert np.isnan(random.table("wide")).all()
    assert observed_run(search("search", 3, 2), law, ROWS, 0)[0].table("wide").shape == (2, len(ROWS), 0)


def test_almost_equal_arms_reveal_one_direction():
    """Clones differ by 10^-6; the resolution decides whether that counts."""
    law = CloneArms(4, 16)
    for resolution, rank in ((1e-4, 1), (1e-9, 4)):
        state, _, _ = at_round(LinearOae("OAE", 4, 2, first="chosen", resolution=resolution), law, 1)
        np.testing.assert_array_equal(state.rank, rank)


def test_one_arm_is_chosen_by_its_index_exactly():
    """For b = 1 the alternation is the maximum of the index; the promise is the index."""
    policy = LinearOae("OAE", 1, 9)
    state, _, _ = at_round(policy, SphereArms(40, 6), 3)
    index = np.where(state.available, policy.index(state), -np.inf)
    np.testing.assert_array_equal(policy.ask(state).arms[:, 0], index.argmax(axis=1))
    np.testing.assert_allclose(state.hope, index.max(axis=1))


@pytest.mark.parametrize("size", [2, 3])
def test_the_alternation_finds_what_enumeration_finds(size):
    """On twelve arms almost always, and it never promises more; the promise is the model's sum over the batch."""
    law, policy = SphereArms(12, 4), LinearOae("OAE", size, 3)
    state, _, _ = at_round(policy, law, 1, np.arange(50))
    most = largest_promise(*policy.plausible(state), state, size)
    asked = policy.ask(state)
    assert (state.hope <= most + 1e-9).all()
    assert (state.hope >= most - 1e-9).mean() >= 0.9
    np.testing.assert_allclose(np.take_along_axis(state.scores, asked.arms, axis=1).sum(axis=1), state.hope)
    # by hand for one of them
    centre, widths = policy.plausible(state)
    total = state.features[0, asked.arms[0]].sum(axis=0)
    assert state.hope[0] == pytest.approx(centre[0] @ total + np.linalg.norm(widths[0] @ total))


def test_the_ellipsoid_without_misspecification_is_the_ball():
    """Centre, widths and batches of both agree for a small ridge."""
    law = SphereArms(60, 5)
    ball, ellipsoid = LinearOae("OAE", 2, 4), EllipsoidOae("OAE", 2, 4, ridge=1e-8)
    state, _, _ = at_round(ball, law, 2)
    (centre, widths), (other, others) = ball.plausible(state), ellipsoid.plausible(state)
    np.testing.assert_allclose(other, centre, atol=1e-6)
    np.testing.assert_allclose(others.swapaxes(1, 2) @ others, widths.swapaxes(1, 2) @ widths, atol=1e-5)
    np.testing.assert_array_equal(np.sort(ball.ask(state).arms), np.sort(ellipsoid.ask(state).arms))


def test_the_ellipsoid_contains_the_best_function():
    """The parameter of the response without its wave is plausible in every round, as gamma allows."""
    law, policy = SphereArms(60, 4, 0.05), EllipsoidOae("OAE", 3, 9, omega=0.05)
    theta = law.parameters(ROWS)
    for rounds in (1, 3, 6):
        state, _, _ = at_round(policy, law, rounds)
        centre, widths = policy.plausible(state)
        needed = np.linalg.solve(widths.swapaxes(1, 2), (theta - centre)[:, :, None])[:, :, 0]
        assert (np.linalg.norm(needed, axis=1) <= 1.0 + 1e-6).all()


def test_a_sequential_batch_never_asks_a_direction_twice():
    """Clones: every arm of a batch is a copy of another unit vector; vanilla takes one vector only."""
    law = CloneArms(8, 16)
    kinds = ((LinearSeq, "Seq", 4), (LinearLogDet, "LogDet", 4), (LinearDiverse, "DvD", 4), (LinearOae, "OAE", 1))
    for kind, label, directions in kinds:
        policy = kind(label, 4, 2, first="chosen")
        state, _, _ = at_round(policy, law, 0)
        assert [len(set(row)) for row in policy.ask(state).arms // 16] == [directions] * len(ROWS), label


def test_a_sequential_batch_is_vanilla_with_virtual_labels():
    """Against Algorithm 3 done literally: fake the middle label, and choose one arm from the plausible set."""
    law, size = SphereArms(30, 5), 3
    policy = LinearSeq("Seq", size, 4)
    state, problem, _ = at_round(policy, law, 1, ROWS[:3])
    given = (state.features, state.feature_set, *policy.plausible(state), np.full(3, 1e-9), state.available)
    found = sequential_batches(*given, np.zeros((3, 30)), size)
    for r in range(3):
        left, known = state.available[r].copy(), list(state.arms[r, :size])
        labels = list(state.rewards[r, :size])
        for place in range(size):
            x = problem.features[r, known]
            guess = np.linalg.pinv(x) @ np.array(labels)
            rest = np.eye(5) - np.linalg.pinv(x) @ x
            radius = np.sqrt(max(1.0 - guess @ guess, 0.0))
            middle = problem.features[r] @ guess
            index = np.where(left, middle + radius * np.linalg.norm(problem.features[r] @ rest, axis=1), -np.inf)
            arm = int(index.argmax())
            assert found[r, place] == arm
            known.append(arm)
            labels.append(middle[arm])
            left[arm] = False


def test_log_determinants_are_taken_greedily():
    rng = np.random.default_rng(0)
    x, centre, widths = rng.standard_normal((1, 15, 4)), rng.standard_normal((1, 4)), rng.standard_normal((1, 4, 4))
    free, noise = np.ones((1, 15), dtype=bool), 0.3
    found = log_det_batches(x, np.zeros(1, dtype=np.int64), centre, widths, free, np.zeros((1, 15)), 4, 0.7, noise)[0]
    wide = x[0] @ widths[0].T / noise
    index = x[0] @ centre[0] + noise * np.linalg.norm(wide, axis=1)
    batch: list[int] = []
    for _ in range(4):
        values = np.full(15, -np.inf)
        for a in set(range(15)) - set(batch):
            b = wide[[*batch, a]]
            values[a] = index[[*batch, a]].sum() + 0.7 * np.linalg.slogdet(np.eye(len(b)) + b @ b.T)[1]
        batch.append(int(values.argmax()))
    np.testing.assert_array_equal(found, batch)


def test_ties_are_broken_by_the_draws():
    """Equal arms are chosen in the order of the draws; arms already pulled are not."""
    x, nothing = np.ones((1, 6, 2)), np.zeros((1, 2, 2))
    order = np.array([[0.1, 0.6, 0.3, 0.9, 0.2, 0.5]])
    free = np.array([[True, True, True, False, True, True]])
    chosen, values, _ = optimistic_batches(x, np.zeros(1, dtype=np.int64), np.ones((1, 2)), nothing, free, order, 3, 5)
    np.testing.assert_array_equal(chosen, [[1, 5, 2]])
    assert values[0] == pytest.approx(6.0)


def test_settings_out_of_range_are_refused():
    wrong = ((LinearOae, "first", "best"), (LinearOae, "resolution", 0.0), (LinearOae, "starts", 0))
    wrong += ((EllipsoidOae, "ridge", 0.0), (LinearDiverse, "diversity", 0.0), (LinearLogDet, "noise", -1.0))
    for make, name, value in wrong:
        refuses(lambda make=make, name=name, value=value: make("x", 1, 1, **{name: value}), name)


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_finds_the_best_batch_once_all_directions_are_known(search):
    """Not so with a kernel over all directions, which pays for diversity forever; no arm is pulled twice."""
    law = SphereArms(60, 3)
    monitor, problem = observed_run(search("search", 2, 6), law, ROWS, 0)
    regret = monitor.table("regret")
    assert (regret >= -1e-12).all()
    assert (regret[3:].sum() < 1e-4) == (search is not LinearDiverse)
    again, _ = observed_run(search("search", 2, 6), law, ROWS[2:4], 0)
    np.testing.assert_allclose(again.table("regret"), regret[:, 2:4])
    assert problem.means.shape == (6, 60)


def test_regret_of_random_batches_by_hand():
    """The comparator is the best batch of what is left, so that of the last arms has regret 0."""
    monitor, problem = observed_run(RandomBatch("Random", 4, 3), SphereArms(12, 2), ROWS, 0)
    regret = monitor.table("regret")
    np.testing.assert_allclose(regret[-1], 0.0, atol=1e-12)
    state, _, _ = at_round(RandomBatch("Random", 4, 3), SphereArms(12, 2), 1)
    first = np.sort(problem.means, axis=1)[:, -4:].sum(axis=1) - state.rewards[:, :4].sum(axis=1)
    np.testing.assert_allclose(regret[0], first)


def test_queries_of_the_learners_by_hand():
    """Unit vectors of four coordinates; the goal of 0.5 needs a squared norm of 0.25."""
    coordinates = np.sqrt(np.array([[0.3, 0.3, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]]))
    found = queries.linear_queries(coordinates, 0.5)
    np.testing.assert_array_equal(found[queries.COMMIT], [2, 4])  # one direction, guess (one more, guess)
    np.testing.assert_array_equal(found[queries.TRACE], [2, 3])
    np.testing.assert_array_equal(found[queries.MIXING], [1, 2])
    np.testing.assert_array_equal(queries.linear_queries(-coordinates, 0.5)[queries.MIXING], [2, 3])


@pytest.mark.parametrize("learner", [queries.TRACE, queries.MIXING])
def test_the_learners_by_their_queries(learner):
    """Queries are unit vectors, and the first guess worth 1 - epsilon has the number that the formula gives."""
    z, epsilon = unit_vectors(Streams.first(200).key("z"), np.arange(200), 1, 6)[:, 0], 0.3
    k, expected = 1.0 - epsilon, queries.linear_queries(z, epsilon)[learner]
    for theta, number in zip(z, expected, strict=True):
        for m in range(7):
            s = np.linalg.norm(theta[:m])
            share = min(s / k, 1.0) if learner == queries.MIXING else float(m > 0) * np.sqrt(1.0 - 1e-14)
            query = np.zeros(7)
            query[:m] = share * theta[:m] / max(s, 1e-300)
            query[m] = np.sqrt(1.0 - share**2)
            assert np.linalg.norm(query) == pytest.approx(1.0)
            if query[:6] @ theta >= k - 1e-12 and (m > 0 or learner == queries.MIXING):
                assert m + 1 == number
                break
        else:
            pytest.fail("never found")


def test_a_shorter_parameter_is_found_no_later():
    """The mean for unit vectors is that of the worst case: the guess needs a smaller share of the squared norm."""
    coordinates, epsilon = unit_vectors(Streams.first(100).key("z"), np.arange(100), 1, 8)[:, 0], 0.2
    for norm in (0.3, 0.6, 0.9):
        easier = queries.linear_queries(coordinates, epsilon / norm)
        assert (easier[queries.TRACE] <= queries.linear_queries(coordinates, epsilon)[queries.TRACE]).all()


@pytest.mark.parametrize(("d", "epsilon"), [(4, 0.2), (50, 0.25)])
def test_queries_have_their_exact_mean(d, epsilon):
    """One or a half plus the sum over m of the chance that m coordinates do not suffice, of a beta law."""
    m = np.arange(1, d)
    directions = 1.0 + beta.cdf((1.0 - epsilon) ** 2, m / 2, (d - m) / 2).sum()
    rows = queries.query_rows([(d, epsilon)], {}, 4000, 0)
    for learner, exact in ((queries.TRACE, directions + 1.0), (queries.MIXING, directions + 0.5)):
        found = rows.loc[rows["series"] == learner, "queries"]
        assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(len(found))
        assert exact < queries.query_bounds(np.array([d]), np.array([epsilon]), "printed")[0]  # which refutes the lemma


def test_bounds_on_queries_by_hand():
    """Both sides of 1/d, and the squared one."""
    d, epsilon = np.array([4.0, 20.0, 50.0]), np.array([0.2, 0.5, 0.25])
    np.testing.assert_array_equal(queries.query_bounds(d, epsilon, "printed"), [4, 10, 38])
    np.testing.assert_allclose(queries.query_bounds(d, epsilon, "squared"), [2.56, 5.0, 28.125])
    refuses(lambda: queries.query_bounds(d, epsilon, "cubed"), "kind")


@pytest.mark.parametrize(("d", "epsilon"), [(1, 0.1), (2, 0.2), (2, 0.1)])
def test_the_packing_is_one_and_the_cover_finds_every_bump(d, epsilon):
    """Distances of at least 2 epsilon in the ball; on a line each query tests two points."""
    points = queries.bump_packing(d, epsilon)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2) + 9.0 * np.eye(len(points))
    assert distance.min() >= 2.0 * epsilon - 1e-9
    assert np.linalg.norm(points, axis=1).max() <= 1.0 + 1e-7
    met, solved = queries.cover_order(points, epsilon)
    assert (met >= 1).all()
    assert (solved >= met).all()
    if d == 1:
        assert len(points) == 11
        np.testing.assert_array_equal(np.bincount(met)[1:], [2] * 5 + [1])
        np.testing.assert_array_equal(solved, met)
    refuses(lambda: queries.bump_packing(3, 0.1), "d = 1 and 2")


def test_the_bonus_is_that_of_the_regularised_minimiser():
    """Against the normal equations of the regularised problem with an intercept."""
    rng = np.random.default_rng(1)
    x, queried, optimism = rng.standard_normal((2, 20, 3)), np.array([[0, 3, 5, 7, 9, 11], [1, 2, 3, 4, 5, 6]]), 0.3
    found = bonuses(x, queried, optimism)
    for r in range(2):
        ones = np.column_stack([x[r], np.ones(20)])
        seen, others = ones[queried[r]], np.delete(ones, queried[r], axis=0)
        y = rng.standard_normal(6)
        least = np.linalg.lstsq(seen, y, rcond=None)[0]
        # the gradient of mean((Zw - y)^2) - lambda * mean(Uw) is zero at w
        w = np.linalg.solve(2.0 / 6 * seen.T @ seen, 2.0 / 6 * seen.T @ y + optimism * others.mean(axis=0))
        np.testing.assert_allclose(found[r], ones @ (w - least))
        assert found[r][queried[r]].mean() == pytest.approx(0.5 * optimism)


@pytest.mark.parametrize("make", SEARCHES)
def test_a_row_that_knows_nothing_promises_nothing(make):
    """All evaluations of one replication fail: its second batch is random, the others' batches are their own."""
    law, policy = SphereArms(40, 4), make("OAE", 2, 3)
    found = []
    for fails in (False, True):
        state, problem, _ = at_round(policy, law, 0)
        asked = policy.ask(state)
        totals = np.take_along_axis(problem.means, asked.arms, axis=1)
        totals[1] = np.nan if fails else totals[1]
        policy.tell(state, asked, totals)
        found.append((policy.ask(state).arms, state))
    (expected, clean), (arms, state) = found
    others = [0, 2, 3, 4, 5]
    np.testing.assert_array_equal(arms[others], expected[others])
    np.testing.assert_array_equal(state.hope[others], clean.hope[others])
    assert np.isnan(state.hope[1])
    assert np.isnan(state.scores[1]).all()
    assert state.available[1, arms[1]].all()


SERIES = {
    "Vanilla": partial(LinearOae, first="chosen"),
    "Seq": partial(LinearSeq, first="chosen"),
    "Random": RandomBatch,
}
SMALL = {
    "burn": (burn_in_rows, (SERIES, 12, 3), {
        "instances": {
            "sphere": {"dimensions": [2, 4], "batches": [1, 2]}, "clones": {"dimensions": [4], "batches": [1, 2, 4]}
        }, "n_arms": 60, "epsilons": [0.1, 1.0],
    }),
    "wrong": (misspecified_rows, ([0.0, 0.03, 0.1], 6, 3), {
        "dimensions": [3], "batches": [1, 2], "rounds": [6, 12], "n_arms": 100, "starts": 10
    }),
    "queries": (queries.query_rows, ([(20, 0.5), (4, 0.2)], {"dimensions": [1, 2], "epsilons": [0.2]}, 200, 3), {}),
    "hope": (optimism_rows, (
        {"n_arms": 60, "dimensions": [4], "batches": [2], "rounds": 5},
        {"n_arms": 9, "dimensions": [3], "batches": [2], "rounds": 4},
        {"n_arms": 80, "dimensions": [3], "per_feature": [3], "optimism": [0.01], "batch": 3}, 12, 3,
    ), {"omegas": [0.0, 0.05]}),
}  # fmt: skip


@pytest.fixture(scope="module")
def small_rows():
    return {name: make(*settings, **named) for name, (make, settings, named) in SMALL.items()}


def test_rows_are_tidy_and_do_not_depend_on_the_workers(small_rows):
    """Every row has a convention, a series and a replication; two workers, or fewer replications, change nothing."""
    for rows in small_rows.values():
        assert {"convention", "series", "replication"} <= set(rows)
        assert not rows[["convention", "series", "replication"]].isna().any().any()
    make, settings, named = SMALL["burn"]
    pd.testing.assert_frame_equal(make(*settings, **named, workers=2), small_rows["burn"])
    fewer = make(settings[0], 5, settings[2], **named)
    more = small_rows["burn"]
    pd.testing.assert_frame_equal(fewer, more[more["replication"] < 5].reset_index(drop=True))
    refuses(lambda: make(*settings, instances={"cube": {}}), "sphere or clones")
    refuses(lambda: optimism_rows({}, {"n_arms": 15, "batches": [2]}, {}, 2, 0), "at most 14")


def test_rows_count_wide_arms_against_the_eluder_dimension(small_rows):
    """The dimension is that of the arms, the same for every search; policies without a basis have no counts."""
    found = wide_counts(small_rows["burn"])
    assert set(found["series"]) == {"Vanilla", "Seq"}
    assert (found["wide"] <= found["batch"] * found["n_features"]).all()
    mine = found[(found["instance"] == "sphere") & (found["n_features"] == 4) & (found["replication"] == 2)]
    lower, upper = eluder.eluder_bounds(SphereArms(60, 4, seed=3).take(np.array([2])).features[0], [0.1, 1.0])
    for i, epsilon in enumerate((0.1, 1.0)):
        assert set(mine.loc[mine["epsilon"] == epsilon, "low"]) == {lower[i]}
        assert set(mine.loc[mine["epsilon"] == epsilon, "high"]) == {upper[i]}
    with pytest.raises(DataUnavailable, match="no counts of wide arms"):
        wide_counts(small_rows["burn"].filter(regex="^(?!wide)"))


def test_slopes_of_a_power_law():
    """Exponents are found exactly where there is no noise; a factor with one value has none."""
    cells = [(d, b, r) for d in (2, 4, 8) for b in (1, 3) for r in range(5)]
    rows = pd.DataFrame(cells, columns=["n_features", "batch", "replication"])
    rows["regret"] = 0.3 * rows["n_features"] ** 0.5 * rows["batch"]
    found = slopes(rows, ["n_features", "batch"])
    np.testing.assert_allclose(found["slope"], [0.5, 1.0])
    np.testing.assert_allclose(found["high"] - found["low"], 0.0, atol=1e-9)
    assert list(slopes(rows[rows["batch"] == 1], ["n_features", "batch"]).index) == ["n_features"]


def test_verdicts_on_the_small_rows(small_rows):

    def decide(kind, **test):
        return CHECKS[kind](test, small_rows)

    burn = {"experiment": "burn", "slack": 0.15, "late": 0.01}
    assert decide("linear_burn_in", series="Vanilla", instance="sphere", **burn)[0]
    holds, text, *_ = decide("linear_burn_in", series="Random", instance="sphere", **burn)
    assert not holds
    assert "in d" in text
    assert not decide("linear_burn_in", series="Vanilla", instance="sphere", attained=True, **burn)[0]
    attained = {"experiment": "burn", "slack": 0.3, "late": 0.1, "attained": True}
    assert decide("linear_burn_in", series="Vanilla", instance="clones", **attained)[0]
    assert not decide("linear_burn_in", series="Seq", instance="clones", **attained)[0]
    assert decide("wide_arms", experiments=["burn"], constant=12)[0]
    holds, text, *_ = decide("wide_arms", experiments=["burn"], constant=0.1)
    assert not holds
    assert "b dim" in text
    clones = {"experiment": "burn", "instance": "clones", "vanilla": "Vanilla", "slack": 0.3, "most": 0.3}
    assert decide("batch_factor", spread=["Seq"], **clones)[0]
    assert not decide("batch_factor", spread=["Random"], **clones)[0]
    assert decide("misspecification", experiment="wrong", ratio=2.0)[0]
    assert not decide("misspecification", experiment="wrong", ratio=1e-3)[0]
    assert "exponent of ω" in decide("misspecification", experiment="wrong", proportional=True, slack=0.15)[1]
    assert not decide("query_bound", experiment="queries", bound="printed")[0]
    assert not decide("query_bound", experiment="queries", bound="printed", part="small", series=[queries.MIXING])[0]
    assert decide("query_bound", experiment="queries", bound="printed", part="small", series=[queries.COMMIT])[0]
    assert decide("query_bound", experiment="queries", bound="squared")[0]
    assert decide("lipschitz_bound", experiment="queries", bound="printed")[0]
    assert not decide("lipschitz_bound", experiment="queries", bound="quarter")[0]
    assert decide("linear_optimism", experiments=["hope"])[0]
    assert not decide("linear_optimism", experiment="hope", model="regularised")[0]
