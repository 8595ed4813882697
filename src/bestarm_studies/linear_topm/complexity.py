r"""The complexity constants of the Top-m paper, and how they compare on random instances.

A constant H bounds the sample complexity through :math:`\tau \leq \inf\{u : u > 1 + H C_u^2 + K\}`. The paper compares
the constant of m-LinGapE with that of UGapE, which ignores the features, on random linear instances.

The constant of m-LinGapE with the optimised rule needs the designs of Eq. 1. They depend on the features only, so
functions here take them as an argument: ``bestarm.designs.l1_design.l1_designs(features).weights``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import joblib
import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.problems.linear_bandit import LinearBandit

Normalisation = Literal["spectral", "columns"]
SolveDesigns = Callable[[FloatArray], tuple[FloatArray, int]]
_INSTANCES_PER_CALL = 25


def gaps(means: FloatArray, n_best: int) -> FloatArray:
    r"""Return how far each arm is from changing sides (Section 4.2).

    .. math:: \Delta_k = \mu_k - \mu_{m+1} \text{ for the m best arms, } \mu_m - \mu_k \text{ for the others.}

    ``means`` has shape (n_arms,), in any order, which the gaps follow; they are at least 0 and in units of reward. A
    ValueError says that a mean is not finite or that ``n_best``, the paper's m, is not between 1 and K - 1."""
    means = np.asarray(means, dtype=np.float64)
    if means.ndim != 1:
        raise ValueError(f"means must have shape (n_arms,), got {means.shape}.")
    if not np.isfinite(means).all():
        arm = int(np.flatnonzero(~np.isfinite(means))[0])
        raise ValueError(f"means must be finite, got {means[arm]} for arm {arm}. Drop this arm or impute the value.")
    if not 1 <= n_best < len(means):
        raise ValueError(
            f"n_best must be between 1 and n_arms - 1 = {len(means) - 1}, got {n_best}. "
            "To return every arm needs no query."
        )
    descending = np.sort(means)[::-1]
    last_in, first_out = descending[n_best - 1], descending[n_best]
    return np.where(means >= last_in, means - first_out, last_in - means)


def _checked_gaps(means: FloatArray, n_best: int, epsilon: float, sigma: float = 1.0) -> FloatArray:
    """Return the gaps, after refusing parameters for which no constant is defined."""
    if not 0 <= epsilon < np.inf:
        raise ValueError(f"epsilon must be at least 0 and finite, got {epsilon}. Use 0 to ask for exactly the m best.")
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma must be positive and finite, got {sigma}. Give the scale of the noise.")
    delta = gaps(means, n_best)
    if epsilon == 0 and delta.min() == 0:
        raise ValueError(
            f"the m best arms must be unique when epsilon is 0, got equal means at ranks {n_best} and {n_best + 1}: "
            "every constant is infinite. Raise epsilon or change n_best."
        )
    return delta


def lucb_complexity(means: FloatArray, n_best: int, *, epsilon: float = 0.0) -> float:
    r"""Return :math:`H(\text{LUCB}) = 2\sum_a \max(\epsilon/2, \Delta_a)^{-2}` (Table 2).
    In reward to the power -2. Raises ValueError if a parameter is out of range, or the m best tie at ``epsilon=0``."""
    delta = _checked_gaps(means, n_best, epsilon)
    return float(2.0 * (np.maximum(epsilon / 2.0, delta) ** -2.0).sum())


def ugape_complexity(means: FloatArray, n_best: int, *, epsilon: float = 0.0) -> float:
    r"""Return :math:`H(\text{UGapE}) = 2\sum_a \max(\epsilon, (\epsilon + \Delta_a)/2)^{-2}` (Table 2).
    Parameters, unit and errors are those of `lucb_complexity`."""
    delta = _checked_gaps(means, n_best, epsilon)
    return float(2.0 * (np.maximum(epsilon, (epsilon + delta) / 2.0) ** -2.0).sum())


def m_lingape_complexity(means: FloatArray, n_best: int, *, sigma: float, epsilon: float = 0.0) -> float:
    r"""Return the constant of m-LinGapE that pulls the arm of largest variance (Table 2, m-LinGapE (1)).
    It is :math:`4\sigma^2 \sum_a \max(\epsilon, (\epsilon + \Delta_a)/3)^{-2}`, with :math:`\sigma` the sub-Gaussian
    scale of the noise in units of reward; it has no unit. (Those of LUCB and UGapE lack the factor :math:`\sigma^2`.)
    The other parameters and the errors are those of `lucb_complexity`; ``sigma`` must be positive."""
    delta = _checked_gaps(means, n_best, epsilon, sigma)
    return float(4.0 * sigma**2 * (np.maximum(epsilon, (epsilon + delta) / 3.0) ** -2.0).sum())


def m_lingape_optimised_complexity(
    means: FloatArray, n_best: int, designs: FloatArray, *, sigma: float, epsilon: float = 0.0
) -> float:
    r"""Return the constant of m-LinGapE with the optimised rule (Table 2, m-LinGapE (2)).
    It is :math:`\sigma^2 \sum_a \max_{i, j} |w^*_a(i, j)| / \max(\epsilon, (\epsilon + \Delta_i)/3, (\epsilon +
    \Delta_j)/3)^2`, without unit, where ``designs[i, j]`` is :math:`w^*(i, j)` of Eq. 1, of shape (n_arms, n_arms,
    n_arms). The other parameters and the errors are those of `m_lingape_complexity`."""
    delta = _checked_gaps(means, n_best, epsilon, sigma)
    if designs.shape != 3 * delta.shape:
        raise ValueError(
            f"designs must have shape (n_arms, n_arms, n_arms) for the {len(delta)} means, got {designs.shape}. "
            "Pass l1_designs(features).weights."
        )
    distances = np.maximum(epsilon, (epsilon + delta) / 3.0)
    per_pair = np.abs(designs) / np.maximum.outer(distances, distances)[:, :, None] ** 2
    return float(sigma**2 * per_pair.max(axis=(0, 1)).sum())


def sample_complexity_bound(
    constant: float, threshold: Callable[[FloatArray], FloatArray], n_initial: int = 0
) -> float:
    r"""Return the bound on the sample complexity (Theorem 2 and Table 2).
    It is :math:`\inf\{u \geq 1 : u > 1 + H C_u^2 + K\}`, in pulls, by iteration from u = 1. ``constant``: H;
    ``threshold``: :math:`t \mapsto C_t`, non-decreasing; ``n_initial``: K if every arm is pulled once first, else 0.
    Raises ValueError if ``constant`` is not positive, ``n_initial`` negative, or :math:`C_t^2` grows as fast as t."""
    if not 0 < constant < np.inf or n_initial < 0:
        raise ValueError(
            f"constant must be positive and finite and n_initial at least 0, got {constant} and {n_initial}."
        )
    pulls = 1.0
    for _ in range(10_000):
        before, pulls = pulls, 1.0 + n_initial + constant * float(threshold(np.array(pulls))) ** 2
        if abs(pulls - before) <= 1e-12 * pulls:
            return pulls
        if not pulls < 1e18:
            break
    raise ValueError(
        f"threshold must grow more slowly than the square root of t, but the bound has passed {pulls:.3g} pulls "
        "without settling. Give another threshold."
    )


class Cell(NamedTuple):
    """One column of Table 4: K, m and N."""

    n_arms: int
    n_best: int
    n_features: int


def random_linear_instance(
    rng: np.random.Generator,
    n_arms: int,
    n_features: int,
    normalisation: Normalisation = "spectral",
    *,
    sigma: float = 0.5,
    deviation: float = 0.5,
) -> LinearBandit:
    r"""Draw a linear instance with Gaussian features and :math:`\theta = e_1` (Section 4.4, Appendix A.2).
    ``normalisation``: the N x K matrix of features is divided by its "spectral" norm, as the authors' code does, or its
    "columns" by theirs, as the paper prints; ``deviation``, the paper's D, is that of an entry before. A ValueError
    names the size, scale or normalisation that is out of range."""
    if n_arms < 2 or n_features < 1 or not deviation > 0:
        raise ValueError(
            "n_arms must be at least 2, n_features at least 1 and deviation positive, "
            f"got {n_arms}, {n_features} and {deviation}."
        )
    entries = deviation * rng.standard_normal((n_arms, n_features))
    match normalisation:
        case "spectral":
            features = entries / np.linalg.norm(entries, ord=2)
        case "columns":
            features = entries / np.linalg.norm(entries, axis=1, keepdims=True)
        case _:
            raise ValueError(f"normalisation must be one of {', '.join(get_args(Normalisation))}, got {normalisation}.")
    return LinearBandit(f"random K={n_arms} N={n_features} {normalisation}", features, np.eye(n_features)[0], sigma)


def _ratios_of_some(
    cell: Cell, normalisation: Normalisation, instances: range, seed: int, solve_designs: SolveDesigns
) -> list[tuple[int | float | str, ...]]:
    rows: list[tuple[int | float | str, ...]] = []
    for instance in instances:
        rng = np.random.default_rng(np.random.SeedSequence([seed, *cell, instance]))
        bandit = random_linear_instance(rng, cell.n_arms, cell.n_features, normalisation)
        designs, n_fallbacks = solve_designs(bandit.features)
        linear = m_lingape_optimised_complexity(bandit.means[0], cell.n_best, designs, sigma=1.0)
        ratio = linear / ugape_complexity(bandit.means[0], cell.n_best)
        rows.append((*cell, normalisation, instance, ratio, n_fallbacks))
    return rows


def complexity_ratios(
    cells: Iterable[Cell],
    solve_designs: SolveDesigns,
    *,
    n_instances: int,
    seed: int,
    normalisations: Sequence[Normalisation] = ("spectral", "columns"),
    n_workers: int = 1,
) -> pd.DataFrame:
    """Compare the constants of m-LinGapE (2) and UGapE on random linear instances (Table 4), at epsilon = 0.
    ``cells``: columns of the table; ``solve_designs``: as `bestarm.designs.l1_design.l1_designs`; ``normalisations``:
    of `random_linear_instance`, on the same draws. An instance depends on the seed, its cell and its number only. One
    row an instance; ``ratio`` is that of sigma = 1, and grows as sigma squared."""
    calls = [
        (cell, normalisation, range(start, min(start + _INSTANCES_PER_CALL, n_instances)))
        for cell in cells
        for normalisation in normalisations
        for start in range(0, n_instances, _INSTANCES_PER_CALL)
    ]
    found = joblib.Parallel(n_jobs=n_workers)(
        joblib.delayed(_ratios_of_some)(*call, seed, solve_designs) for call in calls
    )
    rows = [row for some in found for row in some]
    return pd.DataFrame(rows, columns=[*Cell._fields, "normalisation", "instance", "ratio", "n_fallbacks"])
