"""Random numbers: the published vectors of Philox, the laws of the draws, and what a draw may depend on."""

import numpy as np
import pytest
from scipy import stats

from bestarm.interface import Ask
from bestarm.streams import Streams, philox, standard_normal, uniform
from bestarm_studies.linear_topm.instances import classic_instance

N_DRAWS = 20_000


def words(counter: str, key: str) -> str:
    """Return the four output words of Philox4x32-10, written as Random123's kat_vectors file writes them."""
    c0, c1, c2, c3 = (int(word, 16) for word in counter.split())
    k0, k1 = (int(word, 16) for word in key.split())
    low, high = philox(np.uint64(k1 << 32 | k0), c0, c1, c2, c3)
    return " ".join(f"{int(half) >> shift & 0xFFFFFFFF:08x}" for half in (low, high) for shift in (0, 32))


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter, key, expected):
    """The three vectors that the authors of Philox publish with their code."""
    assert words(counter, key) == expected


def draws(draw, streams: Streams, purpose: str, vary: str = "number") -> np.ndarray:
    key, fixed = streams.key(purpose), {"replication": 5, "item": 7, "number": 11}
    return np.array([draw(key, **(fixed | {vary: i})) for i in range(N_DRAWS)])


@pytest.mark.parametrize("vary", ["replication", "item", "number"])
def test_uniform_draws_are_uniform_along_every_counter(vary):
    """Kolmogorov-Smirnov on the values, chi-square on 16 x 16 cells of successive values."""
    u = draws(uniform, Streams.first(1, seed=3, instance="law"), "test", vary)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    cells = np.bincount((16 * (16 * u[::2]).astype(int) + (16 * u[1::2]).astype(int)), minlength=256)
    assert stats.chisquare(cells).pvalue > 1e-3


@pytest.mark.parametrize("vary", ["replication", "item", "number"])
def test_normal_draws_are_standard_normal_along_every_counter(vary):
    """Kolmogorov-Smirnov, and the first four moments within four standard errors."""
    z = draws(standard_normal, Streams.first(1, seed=3, instance="law"), "test", vary)
    assert stats.kstest(z, "norm").pvalue > 1e-3
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 4 * np.sqrt(variance / N_DRAWS)
    assert abs((z[1:] * z[:-1]).mean()) < 4 / np.sqrt(N_DRAWS)


@pytest.mark.parametrize(
    ("seed", "instance", "purpose"), [(1, "a", "noise"), (0, "b", "noise"), (0, "a", "LUCB"), (0, "", "a")]
)
def test_seed_instance_and_purpose_each_give_other_numbers(seed, instance, purpose):
    """No value is shared and the correlation is that of independent draws."""
    first = draws(standard_normal, Streams.first(1, seed=0, instance="a"), "noise")
    second = draws(standard_normal, Streams.first(1, seed=seed, instance=instance), purpose)
    assert not (first == second).any()
    assert abs(np.mean(first * second)) < 4 / np.sqrt(N_DRAWS)


def test_names_that_concatenate_to_the_same_text_have_other_keys():
    """A key separates its parts: instance "ab" with purpose "c" is not "a" with "bc"."""
    keys = {
        int(Streams.first(1, seed=seed, instance=instance).key(purpose))
        for seed, instance, purpose in ((1, "ab", "c"), (1, "a", "bc"), (1, "", "abc"), (11, "b", "c"), (1, "1b", "c"))
    }
    assert len(keys) == 5


def test_replication_item_and_number_name_different_draws():
    """A grid of counters, items beyond 32 bits included, holds no value twice."""
    key = Streams.first(1).key("test")
    items = [0, 1, 2, 2**32, 2**32 + 1, 2**40]
    grid = [uniform(key, r, item, n) for r in range(20) for item in items for n in range(20)]
    assert len(set(grid)) == len(grid)


def test_streams_do_not_depend_on_the_number_of_replications():
    """Replication 2 gets the same rewards among 3, among 50, and alone."""
    problem = classic_instance(4, 2, 0.5)

    def rewards(streams: Streams) -> np.ndarray:
        n = len(streams.replications)
        asked = Ask(np.tile(np.arange(4), (n, 1)), np.ones((n, 4), dtype=np.int64))
        return problem.rewards(asked, np.zeros((n, 4), dtype=np.int64), streams)

    many = rewards(Streams.first(50, seed=9, instance="x"))
    assert len(np.unique(many)) == many.size
    np.testing.assert_array_equal(rewards(Streams.first(3, seed=9, instance="x")), many[:3])
    np.testing.assert_array_equal(rewards(Streams.first(50, seed=9, instance="x").take(np.array([2, 7]))), many[[2, 7]])
    np.testing.assert_array_equal(rewards(Streams(9, "x", np.array([2]))), many[[2]])
