"""Covariance functions and their averages over boxes: closed forms against quadrature, limits, algebraic laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.special import gamma, kv

from bestarm.kernels import Stationary, box_average, box_point_average, lengthscale_of, quadrature
from bestarm.partition import Partition

SMOOTHNESS = {"exponential": 0.5, "matern32": 1.5, "matern52": 2.5}
EPSILON = np.finfo(float).eps
widths = st.floats(-9.0, 1.0).map(lambda power: 10.0**power)  # of a box, in length-scales
corners = st.floats(-3.0, 3.0)


class Judge:
    """A kernel that is not known to have closed forms, so that its averages are quadratures."""

    def __init__(self, kernel: Stationary) -> None:
        self.K, self.lengthscale = kernel.K, kernel.lengthscale


def fine_rule(lower, upper, n_panels=40):
    """Return nodes and weights that average over an interval: 20 Gauss nodes on each of many panels."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(lower, upper, n_panels + 1)
    grid = (edges[:-1, None] + edges[1:, None]) / 2 + np.diff(edges)[:, None] / 2 * nodes
    return grid.ravel(), np.tile(weights / 2 / n_panels, n_panels)


def naive_average(kernel, *boxes):
    """Return the average of the covariance over one or two intervals, against a point in place of the second."""
    (x, u), (y, w) = [fine_rule(*box) if isinstance(box, tuple) else (np.array([box]), np.ones(1)) for box in boxes]
    return u @ kernel.K(x[:, None], y[:, None]) @ w


def as_box(lower, width):
    return (lower, lower + width), (np.array([lower]), np.array([lower + width]))


@pytest.mark.parametrize("family", SMOOTHNESS)
def test_matern_kernels_are_the_bessel_function_of_their_smoothness(family):
    r"""Judge: 2^(1-nu)/Gamma(nu) (sqrt(2 nu) r)^nu K_nu(sqrt(2 nu) r), Rasmussen and Williams, Equation 4.14."""
    nu, r = SMOOTHNESS[family], np.linspace(0.01, 5.0, 40)
    scaled = np.sqrt(2 * nu) * r
    expected = 2 ** (1 - nu) / gamma(nu) * scaled**nu * kv(nu, scaled)
    np.testing.assert_allclose(Stationary(family, 1.7, 0.4).K_of_r(r), 1.7 * expected, rtol=1e-12)


@pytest.mark.parametrize("family", ["rbf", *SMOOTHNESS])
def test_covariances_of_stacks_are_those_of_each_pair_of_sets(family):
    kernel, rng = Stationary(family, 0.3, 0.2), np.random.default_rng(0)
    x, y = rng.random((3, 5, 2)), rng.random((3, 4, 2))
    found = kernel.K(x, y)
    assert found.shape == (3, 5, 4)
    for r in range(3):
        np.testing.assert_array_equal(found[r], kernel.K(x[r], y[r]))
        for i in range(5):
            distance = np.linalg.norm(x[r, i] - y[r], axis=1)
            np.testing.assert_allclose(found[r, i], kernel.K_of_r(distance / 0.2), rtol=1e-13)
    np.testing.assert_array_equal(kernel.K(x), kernel.K(x, x))
    assert (np.diagonal(kernel.K(x), axis1=1, axis2=2) == 0.3).all()


test_kernels_without_meaning_are_refused = refused(
    lambda settings_: Stationary(**settings_),
    ({"family": "cosine"}, "family must be one of rbf, .*, got 'cosine'"),
    ({"variance": 0.0}, "variance must be positive, got 0.0"),
)


def test_rbf_is_its_formula_and_the_integral_over_two_known_boxes():
    """v = 1, l = 0.05, [0.1, 0.2] x [0.15, 0.4]: 0.0062665259, the integral and not the average."""
    x = np.array([[0.0, 0.0], [0.3, 0.4], [3.0, 4.0]])
    expected = 0.1 * np.exp(-np.array([0.0, 0.25, 25.0]) / (2 * 0.2**2))
    np.testing.assert_allclose(Stationary("rbf", 0.1, 0.2).K(x)[0], expected, rtol=1e-13)
    (_, first), (_, second) = as_box(0.1, 0.1), as_box(0.15, 0.25)
    average = box_average(Stationary("rbf", 1.0, 0.05), *first, *second)
    assert average * 0.1 * 0.25 == pytest.approx(0.0062665259, abs=5e-11)


@settings(max_examples=100)
@given(lower=corners, width=widths, x=corners)
def test_average_against_a_point_is_that_of_quadrature(lower, width, x):
    """Boxes from a billionth of a length-scale to ten of them, so on both sides of the switch to Gauss's rule."""
    kernel = Stationary("rbf", 0.7, 1.0)
    interval, box = as_box(lower, width)
    expected = naive_average(kernel, interval, x)
    assert box_point_average(kernel, *box, np.array([x])) == pytest.approx(expected, rel=1e-11, abs=1e-14)


@settings(max_examples=100)
@given(lower=corners, width=widths, other=corners, other_width=widths)
def test_average_over_two_boxes_is_that_of_quadrature(lower, width, other, other_width):
    """The closed form cancels as 1 / (product of the widths), at most 400 times a distance of 13 length-scales here."""
    kernel = Stationary("rbf", 0.7, 1.0)
    (interval, box), (second, second_box) = as_box(lower, width), as_box(other, other_width)
    expected = naive_average(kernel, interval, second)
    assert box_average(kernel, *box, *second_box) == pytest.approx(expected, abs=400 * 13 * 4 * EPSILON)


@settings(max_examples=60)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(2, 4), st.floats(0, 0.999), st.floats(0, 0.999))
def test_the_average_over_a_cell_is_the_mean_of_those_over_its_children(depth, other_depth, arity, place, other_place):
    """The law of total expectation; cells and children fall on both sides of the switch to Gauss's rule."""
    kernel, partition = Stationary("rbf", 0.1, 0.05), Partition(arity, 1, (0.0, 0.0), (1.0, 0.5))
    u = partition.cell(depth, int(place * arity**depth))
    v = partition.cell(other_depth, int(other_place * arity**other_depth))
    box, other = partition.bounds(np.array(u)), partition.bounds(np.array(v))
    children = partition.bounds(partition.children(np.array(u)))
    whole, parts = box_average(kernel, *box, *other), box_average(kernel, *children, *other)
    assert whole == pytest.approx(parts.mean(), rel=1e-9, abs=1e-12)
    x = np.array([0.3, 0.2])
    whole, parts = box_point_average(kernel, *box, x), box_point_average(kernel, *children, x)
    assert whole == pytest.approx(parts.mean(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("family", ["rbf", *SMOOTHNESS])
def test_boxes_without_width_are_points(family):
    kernel, rng = Stationary(family, 0.3, 0.2), np.random.default_rng(1)
    x, y = rng.random((4, 2)), rng.random((4, 2))
    expected = np.diag(kernel.K(x, y))
    np.testing.assert_allclose(box_point_average(kernel, x, x, y), expected, rtol=1e-12)
    np.testing.assert_allclose(box_average(kernel, x, x, y, y), expected, rtol=1e-12)


def test_averages_of_wide_boxes_are_those_of_white_noise():
    r"""Far wider than a length-scale, the integral over a box and itself is v l sqrt(2 pi) times its width."""
    kernel = Stationary("rbf", 2.0, 1e-6)
    lower, upper = np.array([0.2]), np.array([0.7])
    assert box_average(kernel, lower, upper, lower, upper) == pytest.approx(2e-6 * np.sqrt(2 * np.pi) / 0.5, rel=1e-5)
    assert box_average(kernel, lower, upper, upper + 0.1, upper + 0.3) == pytest.approx(0.0, abs=1e-15)


def test_an_average_over_a_rectangle_is_the_product_of_its_sides():
    """And the product is the average: judged by a tensor grid that knows nothing of products."""
    kernel = Stationary("rbf", 0.7, 0.3)
    boxes = np.array([[0.1, 0.2], [0.6, 0.25], [0.5, 0.0], [0.9, 1.0]])
    factors = [box_average(kernel, *(corner[[j]] for corner in boxes)) / 0.7 for j in range(2)]
    found = box_average(kernel, *boxes)
    assert found == pytest.approx(0.7 * factors[0] * factors[1], rel=1e-12)
    grids = []
    for lower, upper in (boxes[:2], boxes[2:]):
        (x, u), (y, w) = (fine_rule(lower[j], upper[j], 2) for j in range(2))
        grids.append((np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2), np.outer(u, w).ravel()))
    (points, u), (others, w) = grids
    assert found == pytest.approx(u @ kernel.K(points, others) @ w, rel=1e-11)
    at = box_point_average(kernel, boxes[0], boxes[1], boxes[3])
    assert at == pytest.approx(u @ kernel.K(points, boxes[3:])[:, 0], rel=1e-11)


@pytest.mark.parametrize(
    ("family", "error"), [("rbf", 1e-12), ("matern52", 1e-7), ("matern32", 1e-5), ("exponential", 1e-3)]
)
def test_quadrature_of_a_kernel_without_closed_form(family, error):
    """Separate boxes to rounding; where x = y occurs the kink of a Matern kernel costs this much of its variance."""
    kernel = Stationary(family, 1.0, 0.3)
    judge = Judge(kernel)
    u, w = fine_rule(0.0, 1.0, 400)  # with density 2 (1 - u) of the distance u of two points of the unit interval
    (_, unit), (_, far) = as_box(0.0, 1.0), as_box(1.5, 0.7)
    assert box_average(judge, *unit, *unit) == pytest.approx(2 * w @ ((1 - u) * kernel.K_of_r(u / 0.3)), abs=error)
    left, right = fine_rule(0.0, 0.4), fine_rule(0.4, 1.0)
    parts = [weights @ kernel.K_of_r(np.abs(nodes - 0.4) / 0.3) for nodes, weights in (left, right)]
    at = 0.4 * parts[0] + 0.6 * parts[1]  # split at the kink, so exact
    assert box_point_average(judge, *unit, np.array([0.4])) == pytest.approx(at, abs=error)
    assert box_average(judge, *unit, *far) == pytest.approx(naive_average(kernel, (0.0, 1.0), (1.5, 2.2)), rel=1e-10)


def test_averages_broadcast_boxes_against_boxes_and_points():
    """Closed form and quadrature agree on every entry, for GPy's kernel too."""
    lower, upper = Partition(2, 1, (0.0, 0.0), (1.0, 1.0)).bounds(np.arange(5))
    x = np.random.default_rng(2).random((3, 2))
    kernel = Stationary("rbf", 0.4, 0.3)
    pairs = box_average(kernel, lower[:, None], upper[:, None], lower, upper)
    points = box_point_average(kernel, lower[:, None], upper[:, None], x)
    assert (pairs.shape, points.shape) == ((5, 5), (5, 3))
    for judge in (Judge(kernel), kernel.to_gpy(2)):
        np.testing.assert_allclose(box_average(judge, lower[:, None], upper[:, None], lower, upper), pairs, rtol=1e-10)
        np.testing.assert_allclose(box_point_average(judge, lower[:, None], upper[:, None], x), points, rtol=1e-10)


@settings(max_examples=30)
@given(st.lists(corners, min_size=1, max_size=3), st.floats(0.01, 3.0), st.floats(0.02, 1.0), st.integers(0, 30))
def test_quadrature_averages_polynomials_exactly(lower, width, lengthscale, power):
    """The mean of x^power over a side, which Gauss's rule with 16 nodes has exactly up to the power 31."""
    lower = np.array(lower)
    nodes, weights = quadrature(lower, lower + width, lengthscale)
    assert nodes.shape == (len(weights), len(lower))
    assert len(weights) <= 4096
    assert ((nodes > lower) & (nodes < lower + width)).all()
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(weights @ ((nodes - lower) / width) ** power, 1 / (power + 1), rtol=1e-11)


def test_a_narrow_kernel_gets_more_panels_and_its_length_scale_is_the_shortest():
    """Two length-scales a panel: 0.02 on the unit interval is 25 panels of 16 nodes."""
    from GPy import kern

    for lengthscale, panels in ((0.02, 25), (10.0, 1)):
        assert len(quadrature(np.zeros(1), np.ones(1), lengthscale)[1]) == 16 * panels
    assert lengthscale_of(Stationary("rbf", 1.0, 0.3)) == 0.3
    assert lengthscale_of(kern.RBF(2, 1.0, [0.8, 0.3], ARD=True)) == 0.3
    assert lengthscale_of(kern.Linear(2)) == 1.0


@pytest.mark.parametrize("family", ["rbf", "matern52"])
def test_midpoints_converge_to_the_average_over_a_rectangle(family):
    """The midpoint rule on n x n representatives: error O(n^-2) = O(1/S) in two dimensions."""
    kernel = Stationary(family, 1.0, 0.4)
    boxes = [Partition(2, 1, (0.0, 0.0), (1.0, 1.0)).bounds(np.array(c)) for c in (3, 6)]
    exact = box_average(kernel, *boxes[0], *boxes[1])
    errors = []
    for n in (4, 8, 16):
        x, y = Partition(2, n * n, (0.0, 0.0), (1.0, 1.0)).representatives(np.array([3, 6]))
        errors.append(abs(kernel.K(x, y).mean() - exact))
    np.testing.assert_allclose(np.diff(np.log(errors)) / np.log(2), -2.0, atol=0.1)


@pytest.mark.parametrize("family", ["rbf", *SMOOTHNESS])
@pytest.mark.parametrize(("s", "d"), [(1, 1), (10, 1), (4, 2)])
def test_the_covariance_of_cells_is_positive_semidefinite(family, s, d):
    """All cells of a tree of depth 5 at once, parents among their descendants."""
    points = Partition(2, s, (0.0,) * d, (1.0,) * d).representatives(np.arange(63)).reshape(-1, d)
    gram = Stationary(family, 0.1, 0.2).K(points).reshape(63, s, 63, s).mean(axis=(1, 3))
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
    assert np.linalg.eigvalsh(gram)[0] > -63 * 0.1 * 4 * EPSILON


def test_the_covariance_of_cells_of_any_size_is_positive_semidefinite():
    """Closed form: a chain of cells down to depth 40, with the siblings, in one and in two dimensions."""
    for d in (1, 2):
        partition, kernel = Partition(2, 1, (0.0,) * d, (1.0,) * d), Stationary("rbf", 0.1, 0.05)
        chain = [0]
        for depth in range(40):
            chain += list(partition.children(np.array(chain[-1 - depth % 2])))
        lower, upper = partition.bounds(np.array(chain))
        gram = box_average(kernel, lower[:, None], upper[:, None], lower, upper)
        np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-12)
        assert np.linalg.eigvalsh(gram)[0] > -1e-11
