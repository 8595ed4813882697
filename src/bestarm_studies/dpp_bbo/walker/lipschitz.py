"""Slopes of the objectives at random points, beside which LP-UCB's estimates of the Lipschitz constant are judged."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_objectives.walker.walking import COEFFICIENTS, walking_speeds
from bestarm_studies.dpp_bbo.synthetic_functions import OBJECTIVES
from bestarm_studies.dpp_bbo.values import batch_of


def gradient_norms(value: Callable[[FloatArray], FloatArray], points: FloatArray, step: float) -> FloatArray:
    """Return the norm of the central differences of a function at points of the unit cube, shape (n,)."""
    n, d = points.shape
    inside = np.clip(points, step, 1.0 - step)
    moved = inside[:, None, None] + step * np.stack([np.eye(d), -np.eye(d)])
    values = value(moved.reshape(-1, d)).reshape(n, 2, d)
    return np.asarray(np.linalg.norm((values[:, 0] - values[:, 1]) / (2 * step), axis=1))


def slope_rows(replications: int, step: float = 0.005, *, seed: int = 0, workers: int = 1) -> pd.DataFrame:
    """Return the gradient norms (``slope``) of the synthetic objectives and of the robot at random points."""
    values: dict[str, tuple[int, Callable[[FloatArray], FloatArray]]] = {
        name: (objective.dimension, objective.at) for name, objective in OBJECTIVES.items()
    }
    values["robot"] = (len(COEFFICIENTS), walking_speeds)
    frames = []
    for name, (dimension, value) in values.items():
        points = np.random.default_rng([seed, dimension]).random((replications, dimension))
        slopes = gradient_norms(value, points, step)
        frames.append(pd.DataFrame({"replication": np.arange(replications), "series": name, "slope": slopes}))
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def lipschitz_ratios(rows: pd.DataFrame, slopes: pd.Series) -> pd.Series:
    """Return LP-UCB's estimates of the Lipschitz constant over the largest slope, in the second half of the batches."""
    mine = rows[(rows["series"] == "LP-UCB") & rows["lipschitz"].notna()]
    late = mine[batch_of(mine) > batch_of(mine).max() / 2]
    return late["lipschitz"] * late["scale"] / slopes.max()


def lipschitz_errors(test: Test, rows: Rows) -> Decision:
    """Compare LP-UCB's estimates of the Lipschitz constant with the largest slope, on the robot and elsewhere."""
    slopes, errors = rows["slopes"].groupby("series")["slope"], {}
    for objective, experiment in test["of"].items():
        ratios = lipschitz_ratios(rows[experiment], slopes.get_group(objective))
        errors[objective] = float(np.abs(np.log(ratios)).median())
    robot = errors["robot"]
    others = [error for objective, error in errors.items() if objective != "robot"]
    text = ", ".join(f"{name}: a factor of {np.exp(error):.2f}" for name, error in errors.items())
    return Decision(robot < min(others), f"median error in the second half of the batches, {text}")
