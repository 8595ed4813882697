r"""The lack-of-fit test of a linear model, and a warning of guarded policies that take a wrong one.

References
----------
.. [1] Draper, Smith. "Applied Regression Analysis", third edition, 1998. Section 2.1, lack of fit and pure error.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from bestarm.interface import Arms, FloatArray, IntArray

LEVEL = 0.001  # of p values below which it is said, see `LinearMisfit`
# classes of policies with linear means
_LINEAR = {"Gifa", "Budgeted", "LinGame", "LinUcb", "Gse", "OdLinBai", "Peace", "PeaceAllArms", "P1Rage", "_Static"}


class LinearMisfit(UserWarning):
    """The rewards that a policy of linear means was told contradict a linear model of its features.

    It is said at a p value below 0.001. That level was chosen after the rates of false alarms were seen: in 3.7 to 5.4%
    of searches at 0.05, 0.6 to 1.3% at 0.01 and up to 0.2% at 0.001, for policies choose counts by what they see.
    """


class Misfit(NamedTuple):
    """The result of `linear_misfit`.

    Attributes
    ----------
    statistic : float
        F: mean square of lack of fit over that of pure error; NaN where there is no replicate to judge by.
    p_value : float
        Probability of such an F if means are linear, of fixed counts; 1 where nothing can be judged.
    degrees : tuple of int
        Degrees of freedom of lack of fit and of pure error.
    residuals : ndarray, shape (n_arms,)
        Mean reward minus linear fit, in units of reward; NaN for arms without measurement.
    arm : int
        The arm whose residual is largest in standard errors, the first to look at.
    """

    statistic: float
    p_value: float
    degrees: tuple[int, int]
    residuals: FloatArray
    arm: int


def linear_misfit(features: ArrayLike, arms: ArrayLike, totals: ArrayLike, counts: ArrayLike | None = None) -> Misfit:
    r"""Test whether mean rewards are a linear function of the features, against any other means ([1]_).

    Least squares on the features leaves the residuals of the arms' means (lack of fit); what rewards of one arm differ
    by is pure error. Under a linear model with Gaussian noise and counts fixed beforehand, their ratio has an F
    distribution. A policy chooses counts by what it saw: the p value is then approximate. Raises ValueError if shapes
    differ or an arm is unknown.

    Parameters
    ----------
    features : array-like, shape (n_arms, n_features)
        Features as the policy was given them; an intercept is a column of ones.
    arms, totals : array-like, shape (n,)
        Which arm each measurement is of, and its reward; NaN (a failed evaluation) is left out.
    counts : array-like of int, shape (n,), optional
        How many pulls each total is the sum of; by default 1.
    """
    x, chosen, sums = np.asarray(features, np.float64), np.asarray(arms), np.asarray(totals, np.float64)
    pulls = np.ones_like(sums) if counts is None else np.asarray(counts, np.float64)
    if x.ndim != 2 or not chosen.shape == sums.shape == pulls.shape or chosen.ndim != 1:
        raise ValueError(
            f"features must have shape (n_arms, n_features), and arms, totals and counts one length, got {x.shape}, "
            f"{chosen.shape}, {sums.shape} and {pulls.shape}; give one row for each measurement."
        )
    if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(x):
        raise ValueError(f"arms must be rows of features, 0 to {len(x) - 1}, got {chosen.min()} to {chosen.max()}.")
    tally = np.zeros((1, len(x), 4))
    note_rewards(tally, chosen[None].astype(np.int64), pulls[None].astype(np.int64), sums[None])
    return tallied_misfit(x, tally[0])


def tallied_misfit(features: FloatArray, tally: FloatArray) -> Misfit:
    """Return the test from each arm's pulls, sum of totals, sum of squared totals over pulls, and number of totals.

    ``tally`` has shape (n_arms, 4); a total of n pulls has variance n times that of one.
    """
    pulled = tally[:, 0] > 0
    pulls, sums, squares, n_totals = tally[pulled].T
    residuals = np.full(len(features), np.nan)
    if not pulled.any():
        return Misfit(np.nan, 1.0, (0, 0), residuals, -1)
    root, means = np.sqrt(pulls), sums / pulls
    fit, _, rank, _ = np.linalg.lstsq(features[pulled] * root[:, None], means * root, rcond=None)
    residuals[pulled] = means - features[pulled] @ fit
    scaled = np.abs(residuals[pulled]) * root
    degrees = len(pulls) - int(rank), int(n_totals.sum()) - len(pulls)
    arm = int(np.flatnonzero(pulled)[scaled.argmax()])
    error = float((squares - sums**2 / pulls).sum())
    if min(degrees) < 1 or error <= 1e-12 * squares.sum():  # no replicates, or rewards without noise
        return Misfit(np.nan, 1.0, degrees, residuals, arm)
    statistic = float((scaled**2).sum()) / degrees[0] / (error / degrees[1])
    return Misfit(statistic, float(fdtrc(*degrees, statistic)), degrees, residuals, arm)


def new_tally(policy: Any, arms: Any, n_replications: int) -> FloatArray | None:
    """Return the tally of `tallied_misfit` before the first pull, or None for a policy without a linear model."""
    policy = getattr(policy, "policy", policy)  # of a wrapper such as `Fc2fb`
    linear = any(base.__name__ in _LINEAR for base in type(policy).__mro__) and (
        getattr(policy, "model", "linear") == "linear" and getattr(policy, "uses_features", True)
    )
    if not linear or not isinstance(arms, Arms) or arms.n_arms <= arms.n_features:
        return None
    return np.zeros((n_replications, arms.n_arms, 4))


def note_rewards(tally: FloatArray | None, arms: IntArray, counts: IntArray, totals: FloatArray) -> None:
    """Add what was told to the tally."""
    if tally is None:
        return
    rows, places = np.nonzero((counts > 0) & np.isfinite(totals))
    pulls, sums = counts[rows, places], totals[rows, places]
    values = np.stack([pulls, sums, sums**2 / pulls, np.ones_like(sums)], axis=1)
    np.add.at(tally, (rows, arms[rows, places]), values)


def warn_of_misfit(label: str, tally: FloatArray | None, arms: Any) -> None:
    """Warn once for the replication whose rewards contradict a linear model most, by Bonferroni over replications."""
    if tally is None:
        return
    features = np.broadcast_to(arms.features, (len(tally), arms.n_arms, arms.n_features))
    found = [tallied_misfit(x, told) for x, told in zip(features, tally, strict=True)]
    worst = min(found, key=lambda misfit: misfit.p_value)
    if worst.p_value * len(found) < LEVEL:
        warnings.warn(
            f"{label} takes means as linear in the features, but the rewards contradict that (p = {worst.p_value:.1g}):"
            f" arm {worst.arm} is {worst.residuals[worst.arm]:+.2g} off the fit; take mislid or lucb, or other "
            "features.",
            LinearMisfit,
            stacklevel=3,
        )
