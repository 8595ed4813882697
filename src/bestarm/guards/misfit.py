"""A tally of the rewards of a guarded search, and a warning where they contradict the policy's linear model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bestarm.interface import Arms, FloatArray, IntArray
from bestarm.linear_misfit import tallied_misfit

LEVEL = 0.001  # of p values below which it is said, for policies choose counts by what they see
_LINEAR = {"Gifa", "Budgeted", "LinGame", "LinUcb", "Gse", "OdLinBai", "Peace"}  # classes of policies with linear means


class LinearMisfit(UserWarning):
    """The rewards that a policy of linear means was told contradict a linear model of its features."""


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
