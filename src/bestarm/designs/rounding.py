r"""Whole numbers of pulls from the weights of a design, or from a set of arms.

A design gives each arm a share :math:`\pi_i` of the budget n; an allocation gives it a number :math:`N_i` of pulls. The
ways to get from one to the other differ in what they spend and in what they promise:

- *apportionment* [2]_ spends n exactly and is the efficient one: :math:`N_i / (n \pi_i) \geq 1 - (|S| - 1) / n` for
  every arm of the support S, so no leverage exceeds :math:`n / (n - |S| + 1)` times that of the design;
- *ceiling* is :math:`\lceil n \pi_i \rceil`, the rounding of the authors' code of [1]_; it overspends by up to
  :math:`|S| - 1` pulls;
- *multinomial* makes n independent draws from the design, the rounding of Wynn's variant in the authors' code;
- *allen-zhu* [3]_, which [1]_ names in Algorithm 2, starts from the apportionment and swaps single pulls until
  :math:`\lambda_{\min}(\sum_i N_i \tilde x_i \tilde x_i^\top) \geq 1 - 3 \varepsilon`, with :math:`\tilde x_i` the
  features in which the design itself has the identity; this is guaranteed for :math:`n \geq 5 d / \varepsilon^2` and
  spends n exactly.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 6.
.. [2] Pukelsheim, Rieder. "Efficient Rounding of Approximate Designs". Biometrika 79(4), 1992.
.. [3] Allen-Zhu, Li, Singh, Wang. "Near-Optimal Discrete Optimization for Experimental Design: A Regret Minimization
   Approach". Mathematical Programming 186, 2021.
"""

from typing import Any, Literal, get_args

import numpy as np
from numba import njit

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.streams import uniform

RoundingMethod = Literal["apportionment", "ceiling", "multinomial", "allen-zhu"]

_EQUAL = 1e-10  # values that agree to so many parts differ by rounding only
_SUM = 1e-6  # the solvers of designs keep the sum of the weights to better than this
_COLLINEAR = 1e-9  # directions that carry less than this share of the weighted features are rounding
_BISECTIONS = 60


def round_design(
    weights: FloatArray,
    budget: IntArray,
    method: RoundingMethod,
    key: np.uint64,
    replications: IntArray,
    time: int,
    features: FloatArray | None = None,
    epsilon: float = 1.0 / 3.0,
) -> IntArray:
    r"""Return how often to pull each arm, for the weights of a design and a budget, row by row.

    * ``weights``, (R, K): :math:`\pi_i`, the share of each arm; every row sums to 1. The support S of a row is where it
      is positive; other arms are never pulled
    * ``budget`` of int64, (R,): n, the number of pulls
    * ``method``, see above: all but ``"ceiling"`` spend the budget exactly. ``"apportionment"`` pulls every arm of the
      support at least once if :math:`n \geq |S|`; otherwise it keeps the n arms with the largest weights and pulls each
      once, which is what rounding their renormalised weights comes to. These need not span what the support spans
    * ``key``: Philox key of the random choices
    * ``replications`` of int64, (R,): identity of each row's replication
    * ``time``: names the occasion (such as the stage), so that each has its own draws
    * ``features``, (R, K, d): :math:`x_i`; needed by ``"allen-zhu"`` only. They may be collinear: d above is the rank
      of the support
    * ``epsilon``: :math:`\varepsilon` of ``"allen-zhu"``, in (0, 1/3]. At 1/3 the promise is only that the allocation
      spans what the support spans, so an apportionment that does so is left as it is

    Returns :math:`N_i` of int64, (R, K). Ties (weights or scores equal to ten digits) are broken at random. Raises
    ValueError if a weight is negative or not finite, a row does not sum to 1, a budget is no positive whole number, the
    method is unknown, the features it needs are missing, or shapes do not fit.
    """
    shares = _checked_weights(weights)
    pulls = checked_budget(budget, len(shares))
    rows = checked_replications(replications, len(shares))
    if method not in get_args(RoundingMethod):
        raise ValueError(f"method must be one of {', '.join(get_args(RoundingMethod))}, got {method!r}; choose one.")
    if method == "allen-zhu" and features is None:
        raise ValueError("method 'allen-zhu' compares directions, but features is None; pass features (R, K, d).")
    if not 0.0 < epsilon <= 1.0 / 3.0:
        raise ValueError(f"epsilon must lie in (0, 1/3], got {epsilon}; lower values ask for more of the rounding.")
    if method == "apportionment":
        return _apportion_rows(shares, pulls, key, rows, time)
    if method == "ceiling":
        return _ceiling_rows(shares, pulls)
    if method == "multinomial":
        return _multinomial_rows(shares, pulls, key, rows, time)
    x = checked_features(features, *shares.shape)
    return _swap_rows(x, shares, pulls, epsilon, key, rows, time)


def uniform_counts(live: BoolArray, budget: IntArray, key: np.uint64, replications: IntArray, time: int) -> IntArray:
    r"""Return the uniform allocation: :math:`\lfloor n / |A| \rfloor` pulls of each live arm, the rest at random.

    ``live`` (ndarray of bool, shape (R, K)): the arms A of each row; ``budget`` (ndarray of int64, shape (R,)): n, the
    number of pulls, spent exactly; ``key``, ``replications``, ``time``: as in `round_design`. Returns ndarray of int64,
    shape (R, K): pulls. The remainder goes to a random subset of the live arms, without replacement. Raises ValueError
    if a row has no live arm, a budget is no positive whole number, or shapes do not fit."""
    arms = checked_live(live)
    pulls = checked_budget(budget, len(arms))
    return _uniform_rows(arms, pulls, key, checked_replications(replications, len(arms)), time)


# ----------------------------------------------------------------------------------------------------------------------
# Compiled: one row each, then all rows


@njit(cache=True)
def random_order(key: np.uint64, replication: int, time: int, first: int, n: int) -> IntArray:
    """Return a random permutation of 0, ..., n - 1, from the draws number ``first``, ..., ``first + n - 1``."""
    draws = np.empty(n)
    for i in range(n):
        draws[i] = uniform(key, replication, time, first + i)
    return np.argsort(draws)


@njit(cache=True)
def spread(budget: int, order: IntArray) -> IntArray:
    """Return a budget spread as evenly as whole numbers allow; the first of ``order`` get the remainder."""
    n = len(order)
    counts = np.full(n, budget // n)
    for i in range(budget % n):
        counts[order[i]] += 1
    return counts


@njit(cache=True)
def _smallest(values: FloatArray, order: IntArray) -> int:
    """Return the position of the smallest value; of those equal to ten digits, the first of ``order``."""
    least = values.min()
    for i in order:
        if values[i] <= least + _EQUAL * abs(least):
            return i
    return -1


@njit(cache=True)
def _round_up(quota: float) -> int:
    """Return the next whole number, at least 1; what exceeds a whole number by rounding only is that number."""
    return max(1, int(np.ceil(quota * (1.0 - _EQUAL))))


@njit(cache=True)
def apportion(shares: FloatArray, budget: int, order: IntArray) -> IntArray:
    """Return the efficient apportionment of a budget to positive shares ([2]_), ties to the first of ``order``."""
    n = len(shares)
    counts = np.zeros(n, dtype=np.int64)
    if budget <= n:  # no more pulls than arms with weight: one each for the largest shares
        kept_last = -shares
        for _ in range(budget):
            i = _smallest(kept_last, order)
            counts[i], kept_last[i] = 1, np.inf
        return counts
    spent = 0
    for i in range(n):  # [2]_: first ceil((n - |S| / 2) pi_i) for the arms of the support S
        counts[i] = _round_up((budget - 0.5 * n) * shares[i])
        spent += counts[i]
    while spent > budget:  # then one less where (N_i - 1) / pi_i is largest
        i = _smallest((1 - counts) / shares, order)
        counts[i] -= 1
        spent -= 1
    while spent < budget:  # or one more where N_i / pi_i is least
        i = _smallest(counts / shares, order)
        counts[i] += 1
        spent += 1
    return counts


@njit(cache=True)
def _apportion_rows(
    weights: FloatArray, budget: IntArray, key: np.uint64, replications: IntArray, time: int
) -> IntArray:
    n_rows, n_arms = weights.shape
    counts = np.zeros((n_rows, n_arms), dtype=np.int64)
    for r in range(n_rows):
        support = np.flatnonzero(weights[r] > 0.0)
        order = _order_within(support, random_order(key, replications[r], time, 0, n_arms))
        counts[r][support] = apportion(weights[r][support], budget[r], order)
    return counts


@njit(cache=True)
def _order_within(support: IntArray, order: IntArray) -> IntArray:
    """Return the order of the arms of the support alone, by their places in it."""
    places = np.full(len(order), -1)
    places[support] = np.arange(len(support))
    places = places[order]
    return places[places >= 0]


@njit(cache=True)
def _ceiling_rows(weights: FloatArray, budget: IntArray) -> IntArray:
    counts = np.zeros(weights.shape, dtype=np.int64)
    for r in range(len(weights)):
        for i in range(weights.shape[1]):
            if weights[r, i] > 0.0:
                counts[r, i] = _round_up(budget[r] * weights[r, i])
    return counts


@njit(cache=True)
def _multinomial_rows(
    weights: FloatArray, budget: IntArray, key: np.uint64, replications: IntArray, time: int
) -> IntArray:
    n_rows = len(weights)
    counts = np.zeros(weights.shape, dtype=np.int64)
    for r in range(n_rows):
        support = np.flatnonzero(weights[r] > 0.0)
        cumulated = np.cumsum(weights[r][support])
        for draw in range(budget[r]):
            u = uniform(key, replications[r], time, draw) * cumulated[-1]
            place = np.searchsorted(cumulated, u, side="right")
            counts[r, support[place if place < len(support) else len(support) - 1]] += 1
    return counts


@njit(cache=True)
def _uniform_rows(live: BoolArray, budget: IntArray, key: np.uint64, replications: IntArray, time: int) -> IntArray:
    n_rows, n_arms = live.shape
    counts = np.zeros((n_rows, n_arms), dtype=np.int64)
    for r in range(n_rows):
        order = random_order(key, replications[r], time, 0, n_arms)
        arms = order[live[r][order]]
        counts[r][arms] = spread(budget[r], np.arange(len(arms)))
    return counts


@njit(cache=True)
def whiten(x: FloatArray, shares: FloatArray, budget: int) -> FloatArray:
    r"""Return :math:`\tilde x_i`, in which :math:`\sum_i n \pi_i \tilde x_i \tilde x_i^\top = I`, shape (n, rank).

    The left singular vectors of the rows :math:`\sqrt{n \pi_i} x_i` have the identity as their Gram matrix, and one row
    for each arm; the projection to the span of the arms comes with them.
    """
    roots = np.sqrt(budget * shares)
    left, singular, _ = np.linalg.svd(np.ascontiguousarray(x * roots[:, np.newaxis]), full_matrices=False)
    rank = np.sum(singular > _COLLINEAR * singular[0])
    return left[:, :rank] / roots[:, np.newaxis]


@njit(cache=True)
def _normaliser(eigenvalues: FloatArray, alpha: float) -> float:
    """Return c with sum_k (c + alpha lambda_k)^-2 = 1, between -alpha lambda_min and sqrt(d)."""
    low, high = -alpha * eigenvalues.min(), np.sqrt(len(eigenvalues))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if np.sum((middle + alpha * eigenvalues) ** -2.0) > 1.0:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True)
def swap(whitened: FloatArray, counts: IntArray, epsilon: float, order: IntArray) -> IntArray:
    """Return the allocation after the swaps of [3]_: one pull of one arm for one pull of another, until it is balanced.

    With the matrix A = (c I + alpha Z)^-2 of trace 1, Z the sum over the pulls, a pull is worth
    x'Ax / (1 -+ 2 alpha x' A^{1/2} x) when it goes (-) or comes (+). The swaps also end where none gains, and after
    n / epsilon of them.
    """
    n_arms, d = whitened.shape
    counts, alpha = counts.copy(), np.sqrt(d) / epsilon
    leaves, comes = np.empty(n_arms), np.empty(n_arms)
    for _ in range(int(np.ceil(counts.sum() / epsilon))):
        z = whitened.T @ (whitened * counts.astype(np.float64)[:, np.newaxis])  # Z, the sum of x x' over the pulls
        eigenvalues, vectors = np.linalg.eigh(z)
        if eigenvalues[0] >= max(1.0 - 3.0 * epsilon, _COLLINEAR):  # balanced: lambda_min(Z) is at least 1 - 3 epsilon
            break
        # eigenvalues of A^{1/2} = (c I + alpha Z)^-1
        roots = 1.0 / (_normaliser(eigenvalues, alpha) + alpha * eigenvalues)
        squares = (whitened @ vectors) ** 2
        for i in range(n_arms):  # what the pulls are worth, from x'Ax and 2 alpha x'A^{1/2}x
            value, weight = np.sum(squares[i] * roots**2), 2.0 * alpha * np.sum(squares[i] * roots)
            leaves[i] = value / (1.0 - weight) if counts[i] > 0 and weight < 1.0 else np.inf
            comes[i] = value / (1.0 + weight)
        i, j = _smallest(leaves, order), _smallest(-comes, order)
        if not comes[j] > leaves[i] * (1.0 + _EQUAL):
            break
        counts[i] -= 1
        counts[j] += 1
    return counts


@njit(cache=True)
def _swap_rows(
    features: FloatArray,
    weights: FloatArray,
    budget: IntArray,
    epsilon: float,
    key: np.uint64,
    replications: IntArray,
    time: int,
) -> IntArray:
    """Return the pulls of every row: the apportionment of [2]_, then the swaps of [3]_."""
    n_rows, n_arms = weights.shape
    counts = np.zeros((n_rows, n_arms), dtype=np.int64)
    for r in range(n_rows):
        support = np.flatnonzero(weights[r] > 0.0)
        order = _order_within(support, random_order(key, replications[r], time, 0, n_arms))
        first = apportion(weights[r][support], budget[r], order)
        whitened = whiten(features[r][support], weights[r][support], budget[r])
        counts[r][support] = swap(whitened, first, epsilon, order) if whitened.shape[1] > 0 else first
    return counts


# ----------------------------------------------------------------------------------------------------------------------
# What every allocation refuses


def _checked_weights(weights: FloatArray) -> FloatArray:
    shares = np.ascontiguousarray(weights, dtype=np.float64)
    if shares.ndim != 2 or shares.shape[1] == 0:
        raise ValueError(f"weights must have shape (R, K) with at least one arm, got {shares.shape}; add the axis R.")
    if not np.isfinite(shares).all() or (shares < 0.0).any():
        r, i = np.argwhere(~(np.isfinite(shares) & (shares >= 0.0)))[0]
        raise ValueError(f"weights must be finite and not negative, got {shares[r, i]} in row {r}, arm {i}; clip it.")
    totals = shares.sum(axis=1)
    if (np.abs(totals - 1.0) > _SUM).any():
        r = int(np.argmax(np.abs(totals - 1.0)))
        raise ValueError(f"weights must sum to 1 in every row, got {totals[r]} in row {r}; divide the row by its sum.")
    return shares / totals[:, None]


def checked_budget(budget: IntArray, n_rows: int) -> IntArray:
    """Return one budget a row as int64, or raise a ValueError that names the first that will not do."""
    pulls = np.asarray(budget)
    if pulls.shape != (n_rows,):
        raise ValueError(f"budget must have shape ({n_rows},), one a row, got {pulls.shape}; use np.full(R, n).")
    if not (np.isfinite(pulls) & (pulls >= 1) & (pulls == np.floor(pulls))).all():
        r = int(np.argmin(np.isfinite(pulls) & (pulls >= 1) & (pulls == np.floor(pulls))))
        raise ValueError(f"budget must be a whole number of at least 1, got {pulls[r]} in row {r}; raise it.")
    return pulls.astype(np.int64)


def checked_replications(replications: IntArray, n_rows: int) -> IntArray:
    """Return the identities of the rows as int64, or raise a ValueError if their number does not fit."""
    rows = np.ascontiguousarray(replications, dtype=np.int64)
    if rows.shape != (n_rows,):
        raise ValueError(f"replications must have shape ({n_rows},), one identity a row, got {rows.shape}; take rows.")
    return rows


def checked_live(live: BoolArray) -> BoolArray:
    """Return the live arms, shape (R, K), or raise a ValueError that names the first row without any."""
    arms = np.ascontiguousarray(live)
    if arms.ndim != 2 or arms.dtype != np.bool_:
        raise ValueError(f"live must be a bool array of shape (R, K), got {arms.dtype} {arms.shape}; pass a mask.")
    if not arms.any(axis=1).all():
        raise ValueError(
            f"live must mark at least one arm in every row, row {int(np.argmin(arms.any(axis=1)))} has none."
        )
    return arms


def checked_features(features: Any, n_rows: int, n_arms: int) -> FloatArray:
    """Return features of shape (R, K, d), or raise a ValueError if they do not fit or are not finite."""
    x = np.ascontiguousarray(features, dtype=np.float64)
    if x.ndim != 3 or x.shape[:2] != (n_rows, n_arms) or x.shape[2] == 0:
        raise ValueError(f"features must have shape ({n_rows}, {n_arms}, d), got {x.shape}; broadcast them over rows.")
    if not np.isfinite(x).all():
        r, i, k = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(f"features must be finite, got {x[r, i, k]} in row {r}, arm {i}; drop the arm or impute it.")
    return x
