"""Budgets from which on the mean regret stays low."""

import numpy as np

from bestarm.interface import FloatArray
from bestarm_lab.claims.cells import Test, Value
from bestarm_studies.gpoo.checks import curve


def first_budget(means: FloatArray, budgets: FloatArray, test: Test) -> FloatArray:
    """Return the first budget from which on the mean stays at or below ``level``.
    Where there is none, it is the first budget that was not run: a ratio to it is an upper bound."""
    stays = np.logical_and.accumulate((means <= test["level"])[..., ::-1], axis=-1)[..., ::-1]
    return np.where(stays[..., -1], budgets[stays.argmax(axis=-1)], budgets[-1] + 1.0)


VALUES: dict[str, Value] = {
    "first_budget": Value(
        "budget from which on mean regret stays low, or the first that was not run",
        curve,
        statistic=first_budget,
        needs={"of": "column", "level": "number"},
        may={"budgets": "numbers"},
    )
}
