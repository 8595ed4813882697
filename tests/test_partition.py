"""Cells of a divided box: heap numbers, geometry against a naive recursion, representatives, limits, tallies."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused, refuses

from bestarm.partition import Partition
from bestarm_plain.cells import Tree

sides = st.lists(
    st.tuples(st.floats(-5.0, 5.0), st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.0, 2.0, 7.0])), min_size=1, max_size=3
)

ONE = st.just(1)


@st.composite
def partitions(draw, s=ONE):
    found = draw(sides)
    lower = tuple(low for low, _ in found)
    return Partition(draw(st.integers(2, 5)), draw(s), lower, tuple(low + width for low, width in found))


def cells_of(partition, depth):
    return np.arange(partition.arity**depth) + partition.cell(depth, 0)


def pieces(points):
    """Return into how many parts each side is cut, by the points of a grid."""
    return [len(np.unique(np.round(x, 9))) for x in points.T]


@settings(max_examples=60)
@given(partition=partitions(s=st.integers(1, 40)), depth=st.integers(0, 4))
def test_cells_are_those_of_the_pages(partition, depth):
    """Boxes divided again and again along their longest side, the first of those that are equal up to rounding."""
    cells = cells_of(partition, depth)
    tree = Tree(partition.arity, partition.n_representatives, partition.lower, partition.upper)
    # so are cells into the parts of their representatives, by the prime factors of S, the largest first
    assert pieces(partition.representatives(cells[-1:])[0]) == pieces(tree.points(int(cells[-1])))
    cells = cells[:: 1 + len(cells) // 40]
    for ours, theirs in zip(partition.bounds(cells), zip(*[tree.box(int(c)) for c in cells], strict=True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@settings(max_examples=60)
@given(partition=partitions(), depth=st.integers(0, 5), seed=st.integers(0, 2**31))
def test_the_cells_of_a_depth_partition_the_box(partition, depth, seed):
    """Equal volumes that add up, no two cells in one place, and every point in exactly one cell."""
    cells = cells_of(partition, depth)
    lower, upper = partition.bounds(cells)
    volume = np.prod(np.subtract(partition.upper, partition.lower))
    np.testing.assert_allclose(np.prod(upper - lower, axis=1), volume / len(cells), rtol=1e-9)
    assert len({tuple(row) for row in partition.coordinates(cells)}) == len(cells)
    span = np.subtract(partition.upper, partition.lower)
    x = partition.lower + span * np.random.default_rng(seed).random((20, partition.n_dimensions))
    np.testing.assert_array_equal(((lower <= x[:, None]) & (x[:, None] < upper)).all(axis=2).sum(axis=1), 1)


@settings(max_examples=60)
@given(partition=partitions(), depth=st.integers(0, 12), place=st.floats(0, 0.999999))
def test_heap_numbers_name_parents_and_children(partition, depth, place):
    """Children Kc + 1, ..., Kc + K; (h, i) to number and back; children fill the parent from its lower corner on."""
    index = int(place * partition.arity**depth)
    cell = partition.cell(depth, index)
    assert cell == sum(partition.arity**h for h in range(depth)) + index
    assert (int(partition.depth(np.array(cell))), int(partition.index(np.array(cell)))) == (depth, index)
    children = partition.children(np.array(cell))
    np.testing.assert_array_equal(children, partition.arity * cell + 1 + np.arange(partition.arity))
    np.testing.assert_array_equal(partition.depth(children), depth + 1)
    np.testing.assert_array_equal(partition.index(children), partition.arity * index + np.arange(partition.arity))
    np.testing.assert_array_equal(partition.parent(children), cell)
    lower, upper = partition.bounds(children)
    whole = partition.bounds(np.array(cell))
    tolerance = {"rtol": 0, "atol": 1e-14 * (np.abs(partition.lower).max() + np.abs(partition.upper).max())}
    np.testing.assert_allclose(lower[0], whole[0], **tolerance)
    np.testing.assert_allclose(upper[-1], whole[1], **tolerance)
    cut = np.flatnonzero(partition.n_cuts[depth + 1] != partition.n_cuts[depth])
    assert len(cut) == 1
    np.testing.assert_allclose(lower[1:, cut], upper[:-1, cut], **tolerance)
    np.testing.assert_allclose(partition.centres(children), (lower + upper) / 2, **tolerance)
    np.testing.assert_allclose(partition.widths(np.array(depth + 1)), upper[0] - lower[0], **tolerance)


def test_the_root_has_no_parent_and_methods_keep_the_shape_of_what_they_are_given():
    partition = Partition(3, 2, (-1.0, 2.0), (1.0, 5.0))
    assert (partition.cell(0, 0), int(partition.parent(np.array(0)))) == (0, -1)
    np.testing.assert_array_equal(partition.bounds(np.array(0)), (partition.lower, partition.upper))
    np.testing.assert_array_equal(partition.parent(np.arange(7)), [-1, 0, 0, 0, 1, 1, 1])
    partition = Partition(2, 3, (0.0, 0.0), (1.0, 2.0))
    for shape in ((), (4,), (2, 3), (0,)):
        cells = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
        assert partition.coordinates(cells).shape == (*shape, 2)
        assert (partition.centres(cells).shape, partition.children(cells).shape) == ((*shape, 2), (*shape, 2))
        assert partition.representatives(cells).shape == (*shape, 3, 2)
        assert partition.parent(cells).shape == shape


@settings(max_examples=80)
@given(partition=partitions(s=st.integers(1, 40)), depth=st.integers(0, 6), place=st.floats(0, 0.999))
def test_representatives_are_the_centres_of_a_grid_of_equal_parts(partition, depth, place):
    """A full grid with equal steps, half a step from each face: so the parts have equal volume and fill the cell."""
    cell = np.array(partition.cell(depth, int(place * partition.arity**depth)))
    lower, upper = partition.bounds(cell)
    points = partition.representatives(cell)
    numbers = pieces(np.round((points - lower) / (upper - lower), 6))
    assert np.prod(numbers) == partition.n_representatives
    grid = np.meshgrid(*((np.arange(n) + 0.5) / n for n in numbers), indexing="ij")
    # on an interval: a + (i - 1/2)(b - a)/S
    expected = lower + np.stack([g.ravel() for g in grid], axis=1) * (upper - lower)
    np.testing.assert_allclose(points, expected, rtol=0, atol=1e-13)
    single = replace(partition, n_representatives=1)  # the centre
    np.testing.assert_allclose(single.representatives(cell), [partition.centres(cell)], rtol=0, atol=1e-14 * 20)


@settings(max_examples=40)
@given(partition=partitions(s=st.sampled_from([1, 2, 7, 10])), seed=st.integers(0, 2**31))
def test_floating_point_tells_the_deepest_cells_apart(partition, seed):
    """Of the first, the last and pairs of neighbours of the greatest depth no two centres or points are equal."""
    h = partition.deepest
    last = partition.arity**h - 1
    some = np.random.default_rng(seed).integers(0, last, 20)
    places = np.unique(np.concatenate([[0, last], some, some + 1]))
    cells = np.array([partition.cell(h, int(i)) for i in places])
    np.testing.assert_array_equal(partition.index(cells), places)
    lower, upper = partition.bounds(cells)
    centres = partition.centres(cells)
    assert ((lower < centres) & (centres < upper)).all()
    assert len(np.unique(centres, axis=0)) == len(cells)
    points = partition.representatives(cells)
    assert ((lower[:, None] <= points) & (points <= upper[:, None])).all()
    flat = points.reshape(-1, partition.n_dimensions)
    assert len(np.unique(flat, axis=0)) == len(flat)


def test_the_greatest_depth_ends_where_numbers_or_cells_do():
    """On [0, 1] with K = 2 the spacing of doubles at 1 ends it; far from 0 sooner; in three dimensions int64 does."""
    assert 45 <= Partition(2).deepest <= 52
    assert Partition(2, 10).deepest < Partition(2).deepest
    assert Partition(2, 1, (1e6,), (1e6 + 1.0,)).deepest < Partition(2).deepest - 15
    deep = Partition(2, 1, (0.0,) * 3, (1.0,) * 3)
    assert deep.deepest == 60
    assert deep.cell(60, 2**60 - 1) < 2**62


test_degenerate_boxes_are_refused = refused(
    lambda settings_: Partition(**settings_),
    ({"arity": 1}, "arity must be at least 2, got 1"),
    ({"n_representatives": 0}, "n_representatives must be at least 1, got 0"),
    ({"feedback": "median"}, "feedback must be one of representatives, average, integral, got 'median'"),
    ({"lower": (0.0,), "upper": (1.0, 1.0)}, "one entry for each dimension"),
    ({"lower": (), "upper": ()}, "one entry for each dimension"),
    ({"lower": (1.0,), "upper": (1.0,)}, r"smaller to a larger number, got \[1.0, 1.0\]"),
    ({"lower": (0.0, 2.0), "upper": (1.0, 1.0)}, r"smaller to a larger number, got \[2.0, 1.0\]"),
    ({"upper": (np.inf,)}, "smaller to a larger number"),
    ({"lower": (np.nan,)}, "smaller to a larger number"),
)


@pytest.mark.parametrize(("depth", "index"), [(-1, 0), (2, 4), (2, -1), (60, 0)])
def test_cells_that_do_not_exist_are_refused(depth, index):
    refuses(lambda: Partition(2).cell(depth, index), rf"there is no cell \({depth}, {index}\) with K = 2")


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 12), st.integers(1, 9), st.sampled_from([3, 40, 2**62]))
def test_tallies_are_those_of_a_dictionary(seed, n_replications, n_rounds, width, n_cells):
    """The same cell again in a round and in later rounds, padding with count 0, more cells than there is room for."""
    rng = np.random.default_rng(seed)
    tally = Partition(2).no_pulls(n_replications)
    judge = [Counter() for _ in range(n_replications)]
    for _ in range(n_rounds):
        cells = rng.integers(0, n_cells, (n_replications, width))
        counts = rng.integers(0, 4, (n_replications, width))
        before = tally.add(cells, counts)
        for r in range(n_replications):
            for j in range(width):
                if counts[r, j]:  # of padding nothing is promised
                    assert before[r, j] == judge[r][cells[r, j]]
                    judge[r][cells[r, j]] += counts[r, j]
    for r, expected in enumerate(judge):
        n = tally.n_cells[r]
        assert n == len(expected)
        kept = dict(zip(tally.cells[r, :n].tolist(), tally.counts[r, :n].tolist(), strict=True))
        assert kept == dict(expected)
        assert list(kept) == list(expected)  # in the order of the first pull


def test_a_tally_grows_beyond_its_first_room():
    tally = Partition(2).no_pulls(2)
    room = tally.cells.shape[1]
    cells = np.arange(2 * 3 * room).reshape(2, 3 * room)
    tally.add(cells[:, :room], np.ones((2, room), dtype=np.int64))
    tally.add(cells, np.full((2, 3 * room), 2))
    np.testing.assert_array_equal(tally.n_cells, 3 * room)
    np.testing.assert_array_equal(tally.cells[:, : 3 * room], cells)
    np.testing.assert_array_equal(tally.counts[0, [0, room - 1, room, 3 * room - 1]], [3, 3, 2, 2])
