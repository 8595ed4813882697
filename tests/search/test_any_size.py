"""Rewards of any size: predictions commute with x -> a x + b, and equal rewards are predicted as themselves."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from small_screen import NETWORKS

from bestarm.search.choices import NAMES
from bestarm.search.search import Search

RNG = np.random.default_rng(4)
TABLE = pd.DataFrame(RNG.uniform(-1, 1, (24, 2)), index=[f"c{i}" for i in range(24)], columns=["x", "y"])
REWARDS = TABLE["x"] - TABLE["y"] ** 2 + 0.1 * RNG.normal(size=24)
SETTINGS = {name: {"steps": 60} for name in NETWORKS}


def predicted(name, rewards):
    search = Search(TABLE, name, seed=3, **SETTINGS.get(name, {}))
    search.tell(pd.DataFrame({"name": TABLE.index[: len(rewards)], "reward": np.asarray(rewards)}))
    found = search.predict()
    return found["mean"].to_numpy(), found["deviation"].to_numpy(), search


@cache
def plain(name):
    return predicted(name, REWARDS[:12])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("a", "b"), [(1e-30, 0.0), (1e-13, -3e-13), (250.0, 1e4), (1e13, 0.0), (1e30, 1e30)])
def test_predictions_commute_with_scaling(name, a, b):
    mean, deviation, search = plain(name)
    other, wider, scaled = predicted(name, a * REWARDS[:12] + b)
    reach = np.abs(mean).max() + deviation.max()
    np.testing.assert_allclose((other - b) / a, mean, atol=2e-3 * reach)
    np.testing.assert_allclose(wider / a, deviation, rtol=1e-2, atol=2e-3 * reach)
    assert set(scaled.ask(3)["name"]) == set(search.ask(3)["name"])


@pytest.mark.parametrize("name", ["gp", "hits", "neighbours", "forest", "linear"])
def test_rewards_far_from_0_differ_as_far_as_doubles_tell(name):
    mean, deviation, _ = plain(name)
    other, wider, _ = predicted(name, 0.3 * REWARDS[:12] + 1e12)
    np.testing.assert_allclose([(other - 1e12) / 0.3, wider / 0.3], [mean, deviation], atol=0.02)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [500.0, -3e-13, 0.0, 1e20])
@pytest.mark.parametrize("n", [1, 4])
def test_equal_rewards_are_predicted_as_themselves(name, value, n):
    """From the first measurement on, and nobody is sure to the last digit."""
    mean, deviation, _ = predicted(name, [value] * n)
    np.testing.assert_allclose(mean, value, rtol=2e-3, atol=0.0 if value else 1.0)
    assert (deviation >= 0).all()
    assert np.isfinite(deviation).all()
