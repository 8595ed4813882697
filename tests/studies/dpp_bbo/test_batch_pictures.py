"""Values of the pictures of batches against naive calculations, and what the pictures draw."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bestarm.designs.k_dpp import greedy_map
from bestarm.policies.gaussian import batch_gp
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.streams import Streams
from bestarm_lab.figures.values import COLUMNS
from bestarm_plain.gaussian import condition, posterior
from bestarm_studies.dpp_bbo.batches.laws import chain_values, mixture_values, volume_values
from bestarm_studies.dpp_bbo.batches.plane import places_of, plane_figure, plane_values, surface_of
from bestarm_studies.dpp_bbo.gp_bandits.bounds import bounds_figure, bounds_values
from bestarm_studies.dpp_bbo.gp_draws import gp_draw_instance, kernel_matrix
from bestarm_studies.dpp_bbo.moments import CODE, TEXT, moment, moment_rows, regions, search_rows
from bestarm_studies.dpp_bbo.synthetic_functions import synthetic_instance

LENGTHSCALE, NOISE = 0.15, 0.01
MODEL = GPModel.frozen(LENGTHSCALE, 1.0, NOISE)
LINE = gp_draw_instance(60, 1, replications=3)
PLANE = gp_draw_instance(40, 2, replications=3)
STREAMS = Streams.first(3, seed=5, instance="pictures")
GIVEN = {"model": MODEL, "first": 4}


def naive_posterior(x, seen, rewards, extra=()):
    """Mean given the rewards, covariance given the rewards and arms without rewards, as the pages have them."""
    mean, cov = posterior(kernel_matrix(x, LENGTHSCALE), NOISE, list(seen), list(rewards))
    for arm in extra:
        cov = condition(cov, arm, NOISE)
    return mean, cov


def known(now, r):
    n = now.state.n_known[r]
    return now.state.conditioned[r, :n], now.state.rewards[r, :n]


def one(problem, make, *args, replication=0, **settings):
    """A search of one replication, and its problem and streams."""
    which = np.array([replication])
    alone, streams = problem.take(which), STREAMS.take(which)
    return moment(make(*args, **GIVEN | settings), alone, streams), alone, streams


@pytest.mark.parametrize("make", [batch_gp.gp_bucb, batch_gp.b_est])
def test_a_moment_is_the_dense_posterior_with_hallucinated_arms(make):
    now = moment(make(3, 2, **GIVEN), PLANE, STREAMS)
    for r in range(3):
        seen, rewards = known(now, r)
        for b in range(4):
            mean, cov = naive_posterior(PLANE.features, seen, rewards, now.batch[r, :b])
            found = now.posterior(b, r)
            np.testing.assert_allclose(found[0], mean, atol=1e-8)
            np.testing.assert_allclose(found[1] ** 2, np.diag(cov), atol=1e-8)
            region = np.array([3, 1, 20, 7])
            expected = np.eye(4) + cov[np.ix_(region, region)] / NOISE
            np.testing.assert_allclose(now.kernel(region, b, r), expected, atol=1e-6)
            if b < 3:  # the width is the one by which the next arm was chosen
                bound = mean + now.width(b, r) * np.sqrt(np.diag(cov))
                assert bound[now.batch[r, b]] == pytest.approx(bound.max(), abs=1e-8)


def test_widths_are_the_formulas():
    ucb = moment(batch_gp.gp_bucb(3, 2, inflation=1.5, **GIVEN), PLANE, STREAMS)
    est = moment(batch_gp.b_est(3, 2, estimate="ESTn", **GIVEN), PLANE, STREAMS)
    for b in range(3):
        assert ucb.width(b) == pytest.approx(1.5 * np.sqrt(2 * np.log(40 * (b + 1) ** 2 * np.pi**2 / (6 * 0.05))))
        mean, deviations = est.posterior(b, 1)
        assert est.width(b, 1) == pytest.approx(((est.state.log[1, 1] - mean) / deviations).min())
    first = moment(batch_gp.gp_bucb(3, 2, model=MODEL, first=0), PLANE, STREAMS)
    assert first.state.n_known.tolist() == [0, 0, 0]
    assert first.width(1) == pytest.approx(np.sqrt(2 * np.log(40 * 4 * np.pi**2 / 0.3)))


def test_policies_share_their_first_arms_and_rewards():
    left, right = (moment(m(3, 1, **GIVEN), PLANE, STREAMS) for m in (batch_gp.ucb_dpp_max, batch_gp.ucb_dpp_sample))
    for r in range(3):
        np.testing.assert_array_equal(known(left, r), known(right, r))
    np.testing.assert_array_equal(left.batch[:, 0], right.batch[:, 0])


@pytest.mark.parametrize("make", [batch_gp.ucb_dpp_max, batch_gp.est_dpp_max])
def test_regions_by_a_loop_over_the_arms(make):
    policy = make(3, 1, **GIVEN | ({} if make is batch_gp.ucb_dpp_max else {"estimate": "ESTn"}))
    now = moment(policy, PLANE, STREAMS)
    for r in range(3):
        mean, deviations = now.posterior(0, r)
        width = now.state.log[r, 0]
        after = np.sqrt(2 * np.log(40 * 4 * np.pi**2 / 0.3)) if make is batch_gp.ucb_dpp_max else width
        lowest = max(m - width * d for m, d in zip(mean, deviations, strict=True))
        found = regions(now, r)
        for name, reach in ((TEXT, 2 * after), (CODE, width)):
            assert found[name].tolist() == [i for i in range(40) if mean[i] + reach * deviations[i] >= lowest]
        assert len(found[TEXT]) == now.state.log[r, 2]  # the policy's own region


def test_bounds_are_those_that_choose_the_next_arm():
    now, problem, _ = one(LINE, batch_gp.b_est, 3, 1, estimate="ESTn")
    seen, rewards = known(now, 0)
    x = problem.features[:, 0]
    values = bounds_values(now, problem, "p", "smoke")
    assert list(values.columns) == COLUMNS
    mean, cov = naive_posterior(problem.features, seen, rewards)
    order = np.argsort(x)
    line = values[values["statistic"] == "mean"]
    np.testing.assert_allclose(line["x"], x[order])
    np.testing.assert_allclose(line["value"], mean[order], atol=1e-8)
    reach = now.width() * np.sqrt(np.diag(cov))[order]
    np.testing.assert_allclose(line["high"] - line["value"], reach, atol=1e-6)
    np.testing.assert_allclose(line["value"] - line["low"], reach, atol=1e-6)
    table = dict(list(values.groupby("statistic")))
    assert table["next arm"]["value"].item() == pytest.approx(line["high"].max())
    # Lemma 3.1: the largest bound of EST is its estimate of the maximum
    np.testing.assert_allclose(table["estimated maximum"]["value"], line["high"].max(), atol=1e-8)
    np.testing.assert_allclose(np.sort(table["observation"]["value"]), np.sort(rewards))
    np.testing.assert_allclose(table["f"]["value"], problem.means[0, order])
    np.testing.assert_allclose(table[CODE]["value"], line["low"].max())
    np.testing.assert_allclose(np.sort(table[CODE]["x"]), np.sort(line.loc[line["high"] >= line["low"].max(), "x"]))


def test_planes_hold_coordinates_deviations_and_places():
    grid = synthetic_instance("Cosines", 36, replications=1, design="grid")
    now = moment(batch_gp.ucb_dpp_max(4, 1, **GIVEN), grid, STREAMS.take(np.array([0])))
    values = plane_values(now, "p", "smoke", first=True)
    table = surface_of(values, places_of(values))
    for arm, (across, up) in enumerate(grid.features):
        assert table.loc[up, across] == pytest.approx(now.posterior()[1][arm])
    places = values[values["statistic"] == "place"]
    assert (places["x"].tolist(), places["value"].tolist()) == (now.batch[0].tolist(), [1, 2, 3, 4])
    seen = values[values["statistic"] == "observed"]
    counts = np.bincount(known(now, 0)[0], minlength=36)
    np.testing.assert_array_equal(seen["x"], np.flatnonzero(counts))
    np.testing.assert_array_equal(seen["value"], counts[counts > 0])
    assert set(plane_values(now, "q", "smoke")["statistic"]) == {"observed", "place"}


def test_rows_of_searches_and_of_batches():
    searches = {"EST": batch_gp.est_dpp_sample(3, 4, estimate="ESTn", **GIVEN), "UCB": batch_gp.gp_bucb(3, 4, **GIVEN)}
    rows = search_rows(searches, PLANE, STREAMS)
    assert rows.groupby("series")["batch"].unique().map(list).tolist() == [[1, 2, 3, 4]] * 2
    est = rows[rows["series"] == "EST"]
    best = PLANE.means.max(axis=1)[est["replication"]]
    np.testing.assert_allclose(est["excess"], est["maximum"] - best, atol=1e-6)
    assert (est["not_below"] == (est["maximum"] >= best)).all()
    assert rows.loc[rows["series"] == "UCB", "not_below"].isna().all()
    logs = moment_rows({name: moment(policy, PLANE, STREAMS) for name, policy in searches.items()})
    first = est[est["batch"] == 1].set_index("replication")
    mine = logs[logs["series"] == "EST"].set_index("replication")
    np.testing.assert_allclose(mine["width"], first["width"], rtol=1e-3)  # findings keep four digits


def small_kernel():
    return moment(batch_gp.ucb_dpp_max(3, 1, **GIVEN), PLANE, STREAMS).kernel(np.arange(0, 40, 5))


def enumerated(kernel, k):
    sets = list(combinations(range(len(kernel)), k))
    return sets, np.array([np.linalg.det(kernel[np.ix_(s, s)]) for s in sets])


def test_volumes_have_the_means_of_enumeration():
    kernel, n_draws = small_kernel(), 4000
    sets, dets = enumerated(kernel, 3)
    values = volume_values(kernel, 3, Streams.first(n_draws, seed=2), "p", "smoke")
    means = values[values["statistic"] == "mean"].set_index("series")["value"]
    logs = np.log(dets)
    for label, law in (("UCB-DPP-SAMPLE", dets / dets.sum()), ("UCB-UNIFORM", np.full(len(sets), 1 / len(sets)))):
        exact = law @ logs
        assert abs(means[label] - exact) < 4 * np.sqrt(law @ (logs - exact) ** 2 / n_draws)
    assert means["UCB-DPP-MAX"] == pytest.approx(logs[sets.index(tuple(np.sort(greedy_map(kernel, 3)[0]).tolist()))])


def test_the_law_of_j_by_enumeration():
    r"""P(j) is proportional to the sum over S of the sum over T in S, |T| = j, of det M_T."""
    kernel, k = small_kernel(), 3
    m = kernel - np.eye(8)
    weights = np.zeros(k + 1)
    for s in combinations(range(8), k):
        for j in range(k + 1):
            weights[j] += sum(np.linalg.det(m[np.ix_(t, t)]) if t else 1.0 for t in combinations(s, j))
    assert weights.sum() == pytest.approx(enumerated(kernel, k)[1].sum())
    values = mixture_values(kernel, k, "p", "s", "smoke")
    law = values[values["statistic"] == "probability"]
    np.testing.assert_allclose(law["value"], weights / weights.sum(), rtol=1e-6)
    mean = values.loc[values["statistic"] == "mean", "value"].item()
    assert mean == pytest.approx((weights * np.arange(k + 1)).sum() / weights.sum())


def test_chains_by_powers_of_a_matrix_made_by_hand():
    kernel, k = small_kernel()[:6, :6], 2
    sets, dets = enumerated(kernel, k)
    law, n = dets / dets.sum(), len(sets)
    moves = {"down-up": np.zeros((n, n)), "exchange": np.zeros((n, n))}
    for a, s in enumerate(sets):
        for b, t in enumerate(sets):
            if len(set(s) & set(t)) == k - 1:  # neighbours
                kept = (set(s) & set(t)).pop()
                moves["down-up"][a, b] = law[b] / k / sum(law[c] for c in range(n) if kept in sets[c])
                moves["exchange"][a, b] = 0.5 * min(1.0, law[b] / law[a]) / (k * (6 - k))
    greedy = sets.index(tuple(np.sort(greedy_map(kernel, k)[0]).tolist()))
    values = chain_values(kernel, k, {"down-up": 4, "exchange": 7}, "smoke")
    for chain, most in (("down-up", 4), ("exchange", 7)):
        move = moves[chain] + np.diag(1 - moves[chain].sum(axis=1))
        np.testing.assert_allclose(law @ move, law, atol=1e-12)
        for name, start in (("greedy start", greedy), ("worst start", int(law.argmin()))):
            found = values[values["series"] == f"{chain}, {name}"]["value"].to_numpy()
            powers = [np.linalg.matrix_power(move, t)[start] for t in range(most + 1)]
            np.testing.assert_allclose(found, [0.5 * np.abs(p - law).sum() for p in powers], atol=1e-10)


def drawn(figure):
    figure.canvas.draw()
    assert figure.get_size_inches()[0] <= 8
    return figure


def test_pictures_of_bounds_draw_every_arm_of_the_regions():
    now, problem, _ = one(LINE, batch_gp.gp_bucb, 3, 2)
    values = bounds_values(now, problem, "one", "smoke")
    sizes = [len(arms) for arms in regions(now).values()]
    (axis,) = (axis for axis in drawn(bounds_figure(values, title="T")).axes if axis.lines)
    ticks = [line for line in axis.lines if line.get_marker() == "|"]
    assert [len(line.get_xdata()) for line in ticks] == sizes
    top, foot = (set(line.get_ydata()) for line in ticks)
    assert max(foot) < min(top) < values["low"].min()
    crosses = [line for line in axis.lines if line.get_marker() == "x"]
    assert len(crosses[0].get_xdata()) == 4  # the first arms


def test_pictures_of_planes_number_the_arms_of_a_batch():
    grid = synthetic_instance("Branin-Hoo", 36, replications=1, design="grid")
    now = moment(batch_gp.ucb_dpp_max(4, 1, **GIVEN), grid, STREAMS.take(np.array([0])))
    values = pd.concat([plane_values(now, "whole", "smoke", first=True), plane_values(now, "on the first", "smoke")])
    figure = drawn(plane_figure(values, {"": {"whole": "A", "on the first": "B"}}, title="T"))
    places = pd.DataFrame(grid.features).sort_values([1, 0]).index
    for axis in figure.axes[:2]:
        assert [text.get_text() for text in axis.texts] == ["1", "2", "3", "4"]
        for text, arm in zip(axis.texts, now.batch[0], strict=True):
            np.testing.assert_allclose(text.get_position(), grid.features[arm])
        np.testing.assert_allclose(axis.collections[0].get_array().ravel(), now.posterior()[1][places])
