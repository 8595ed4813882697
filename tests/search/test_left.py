"""What a search has probably not found yet: against the law of the posterior, known cases, and words."""

import math

import numpy as np
import pandas as pd
import pytest
from refusals import refuses, refusing
from small_screen import knowing

import bestarm
from bestarm import Search
from bestarm.models.smooth_gp import SmoothGP
from bestarm.search import any_size
from bestarm.search.choices import NAMES


def begun(policy="gp", n=80, told=20, **settings) -> tuple[Search, np.ndarray]:
    x = np.random.default_rng(2).uniform(size=(n, 2))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    search = Search(pd.DataFrame(x, index=[f"c{i}" for i in range(n)], columns=["a", "b"]), policy, **settings)
    return knowing(search, {"name": [f"c{i}" for i in range(told)], "reward": y[:told]}), y


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("family", ["matern52", "rbf"])
def test_draws_have_the_law_of_the_posterior(family, exact, monkeypatch):
    """Means and covariances of 4,000 draws, by a factor and by random features, are those of the formulas."""
    monkeypatch.setattr(any_size, "_EXACT", 2000 if exact else 0)
    monkeypatch.setattr(any_size, "_BLOCKS", 100)
    rng = np.random.default_rng(0)
    x, new = rng.uniform(size=(12, 2)), rng.uniform(size=(9, 2))
    y = np.sin(5 * x[:, 0])
    posterior = SmoothGP(family=family).fitted(x, (y - y.mean()) / y.std())
    found = any_size.drawn_jointly(posterior, new, 4000, rng)
    mean, _, rows = posterior.at(new)
    z = new / posterior.scales
    squares = ((z[:, None] - z) ** 2).sum(axis=2)
    wanted = posterior.signal * posterior.model.kernel(squares) - rows.T @ rows + posterior.noise * np.eye(9)
    spread = np.sqrt(np.diag(wanted))
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=0.1 * spread.max())
    np.testing.assert_allclose(np.cov(found.T), wanted, atol=0.12 * spread.max() ** 2)


def test_what_others_predict_is_that_of_fits_without_the_measurement():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(size=(10, 2)), rng.normal(size=10)
    p = SmoothGP().fitted(x, y)
    predicted, errors = any_size.left_out(p)
    k = p.signal * p.model.kernel(((p.known[:, None] - p.known) ** 2).sum(axis=2)) + 1e-8 * p.signal * np.eye(10)
    for i in range(10):
        others = np.delete(np.arange(10), i)
        gain = np.linalg.solve(k[np.ix_(others, others)] + p.noise * np.eye(9), k[others, i])
        assert predicted[i] == pytest.approx(gain @ y[others])
        assert errors[i] == pytest.approx((y[i] - predicted[i]) / np.sqrt(k[i, i] + p.noise - gain @ k[others, i]))


@pytest.mark.parametrize("law", ["normal", "heavy tails"])
def test_draws_have_the_errors_of_the_measurements(law, monkeypatch):
    """Of rewards without a signal: with normal errors nothing changes, with others the tails are theirs."""
    monkeypatch.setattr(any_size, "_ALIKE", 1000)
    rng = np.random.default_rng(0)
    x, new = rng.uniform(size=(300, 2)), rng.uniform(size=(200, 2))
    y = rng.normal(size=300) if law == "normal" else rng.standard_t(2.5, size=300)
    y = (y - y.mean()) / y.std()
    p = SmoothGP().fitted(x, y)
    before = any_size.drawn_jointly(p, new, 500, rng)
    mean, deviation = p.everywhere(new)
    after = any_size.calibrated(before, mean, np.sqrt(deviation**2 + p.noise), *any_size.left_out(p), rng)
    levels = [0.005, 0.05, 0.5, 0.95, 0.995]
    np.testing.assert_allclose(np.quantile(after, levels), np.quantile(y, levels), atol=0.35)
    assert (np.abs(np.quantile(before, levels) - np.quantile(y, levels)).max() > 0.5) == (law == "heavy tails")


def test_the_tail_of_few_errors_is_uncertain_in_each_draw(monkeypatch):
    """Of many candidates alike, how many are large varies as a bootstrap of the errors does, not as a binomial."""
    monkeypatch.setattr(any_size, "_ALIKE", 1000)
    rng = np.random.default_rng(0)
    errors, zero = np.sort(rng.normal(size=100)), np.zeros(5000)
    found = any_size.calibrated(rng.normal(size=(400, 5000)), zero, zero + 1.0, np.zeros(100), errors, rng)
    counts = (found >= errors[-5]).sum(axis=1)  # of 100 errors 5
    assert counts.mean() / 5000 == pytest.approx(0.05, abs=0.01)
    assert counts.std() / 5000 == pytest.approx((0.05 * 0.95 / 100) ** 0.5, rel=0.15)


def test_errors_of_a_random_first_batch_alone_count(monkeypatch):
    """Not those of a later batch."""
    marked, choose = [], any_size.PoolGaussian.measured_at_random
    monkeypatch.setattr(any_size.PoolGaussian, "measured_at_random", lambda *a: marked.append(choose(*a)) or marked[-1])
    search = Search(np.random.default_rng(3).uniform(size=(2000, 3)), "gp", seed=3)
    search.exclude(search.candidates.names[:40])
    for number, size in enumerate((70, 30)):
        search.tell(search.ask(size).assign(reward=lambda table: table["x0"]))
        search.left()
        assert marked[number].tolist() == [True] * 70 + [False] * 30 * number


def test_among_noise_nobody_knows_whether_the_best_was_measured():
    rng = np.random.default_rng(3)
    search = Search(rng.uniform(size=(200, 3)), "gp")
    search.tell(pd.DataFrame({"name": search.candidates.names[:60], "reward": rng.standard_t(3.0, size=60)}))
    left = search.left()
    assert math.isnan(left.best)
    assert left.low <= left.hits <= left.high
    assert "whether the best has been measured is not known, since rewards are mostly noise to the policy" in str(left)


@pytest.mark.parametrize("aim", ["max", "min"])
def test_rewards_larger_than_any_seen_are_not_known_until_nothing_is_left(aim):
    search, y = begun(aim=aim)
    edge, by = (y[:20].max(), 0.001) if aim == "max" else (y[:20].min(), -0.001)
    assert search.left(edge).found == 1.0
    assert str(search.left(edge + by)).startswith(f"not known: no result reaches {edge + by:g} yet; left('5%') tells")
    search.exclude([f"c{i}" for i in range(20, 80)])
    assert (search.left(edge + by).hits, search.left(edge + by).best) == (0.0, 1.0)
    assert "the best has been measured with a probability of over 0.99; " in str(search.left(edge + by))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_known_by_policies_with_a_posterior_alone(name):
    """Others say who has one; nothing is ever a number that nobody computed."""
    search, _ = begun(name)
    left = search.left()
    if name in ("gp", "hits", "gp_bucb", "thompson", "dpp_sample"):
        assert 0.0 <= left.low <= left.hits <= left.high <= 4.0
        assert left.hits + left.found == pytest.approx(4.0)
        assert 0.0 <= left.best <= 1.0
        assert "hits are left (90%: " in str(left)
        assert "one of the best 4 of 80" in str(left)
    else:
        assert math.isnan(left.hits)
        assert str(left) == f"not known: {name} has no posterior; search.with_policy('gp').left() has one"
    assert str(left) in search._repr_html_().replace("&#x27;", "'")


@pytest.mark.parametrize("name", ["gp", "thompson"])
def test_a_smooth_function_is_known_after_some_measurements(name):
    """What is left is near the truth, for every aim, and for hits by a reward, by a share and by names."""
    for aim, good in (("max", lambda y: y), ("min", lambda y: -y), ("both", np.abs), (1.0, lambda y: -np.abs(y - 1.0))):
        search, y = begun(name, told=40, aim=aim)
        value = good(y)
        cut = np.sort(value)[-8]
        at = {"max": cut, "min": -cut, "both": cut, 1.0: 1.0 + cut}[aim]
        truth = (value[40:] >= cut).sum()
        for hits in (float(at), "10%", [f"c{i}" for i in range(8)]):
            left = search.left(hits)
            assert left.hits == pytest.approx(truth, abs=1.5), (aim, hits)
            assert left.low - 1 <= truth <= left.high + 1


def test_the_same_seed_gives_the_same_answer_and_the_best_at_the_end_is_certain():
    """Also after saving; what failed or was excluded is no candidate."""
    (search, y), (again, _) = begun(), begun()
    assert search.left() == again.left() == search.left()
    search.exclude([f"c{i}" for i in range(30, 80)])
    search.tell(pd.DataFrame({"name": [f"c{i}" for i in range(20, 29)], "reward": y[20:29]}))
    search.tell(pd.DataFrame({"name": ["c29"], "reward": ["failed"]}))
    left = search.left("10%")
    assert (left.hits, left.low, left.high, left.found, left.best) == (0.0, 0.0, 0.0, 3.0, 1.0)
    search.tell(pd.DataFrame({"name": [f"c{i}" for i in range(29)], "reward": y.max()}), replace=True)
    assert "0 of 29 hits are left (90%: 0 to 0), a hit being as good as the best 3 of 29; " in str(search.left("10%"))


@pytest.mark.parametrize("name", ["gp", "thompson"])
def test_nothing_is_nearer_than_0_to_a_target_and_no_size_is_negative(name):
    left = begun(name, aim=float(begun()[1][3]))[0].left()
    assert (left.best, left.hits + left.found) == (1.0, pytest.approx(4.0))
    assert begun(name, aim="both")[0].left(0.0).hits == 60.0


def test_of_many_candidates_it_takes_random_features(monkeypatch):
    search, _ = begun(n=2600, told=60)
    many = search.left("2%")
    monkeypatch.setattr(any_size, "_EXACT", 5000)
    monkeypatch.setattr(search, "_left_before", None)
    exact = search.left("2%")
    assert (many.hits, many.best) == (pytest.approx(exact.hits, rel=0.05), pytest.approx(exact.best, abs=0.1))


@refusing(
    ({"hits": "x%"}, r"hits must be a reward, a share such as '5%', or a list of names; got 'x%'"),
    ({"hits": math.inf}, "hits must be finite, got inf"),
    ({"draws": 5}, "draws must be .* 100, got 5"),
)
def test_bad_input_is_refused_in_one_line(given):
    search, _ = begun()
    search.left(**given)


def test_nothing_told_and_sequential_searches():
    assert str(Search(np.eye(4), "gp").left()) == "not known: no result was told yet"
    refuses(lambda: Search(np.eye(4), bestarm.m_lingape(n_best=1)).left(), "has no such posterior")
    custom = Search(np.random.default_rng(0).uniform(size=(30, 2)), bestarm.gp_bucb(batch=3, rounds=5))
    custom.tell(custom.ask().assign(reward=lambda t: np.arange(len(t)) * 0.5))
    assert custom.left().hits <= 2.0
