"""Pictures of the walker: one step as stick figures, and how fast many controllers walk."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from bestarm.interface import FloatArray
from bestarm_lab.figures.figures import headed, wide
from bestarm_studies.dpp_bbo.walker_mechanics import LEG, TORSO, impact, motion
from bestarm_studies.dpp_bbo.walking import walk


def one_step(controller: FloatArray, n_instants: int = 7) -> FloatArray:
    """Return the angles of the stance leg, the swing leg and the torso during the last step of a walk.

    Parameters
    ----------
    controller : ndarray, shape (8,)
        Coefficients of a controller that does not fall.
    n_instants : int
        At equal distances in time, shape (n_instants, 3) in all.

    Raises
    ------
    ValueError
        If the walker falls.
    """
    walked = walk(controller)
    if not np.isfinite(walked.step_seconds).all():
        raise ValueError(f"controller {controller} falls after {walked.seconds:.2f} s; there is no whole step to show.")
    start, _ = impact(walked.ends[-2])
    times = np.linspace(0.0, walked.step_seconds[-1], n_instants)
    found = solve_ivp(lambda _, s: motion(s, controller), (0.0, times[-1]), start, t_eval=times, rtol=1e-7, atol=1e-8)
    return np.asarray(found.y[:3].T)


def gait_figure(controller: FloatArray) -> Figure:
    """Return the stick figures of one step side by side, the stance leg black, the swing leg blue."""
    angles = one_step(controller)
    figure, axis = plt.subplots(figsize=wide(1, 2.2))
    for place, (stance, swing, torso) in enumerate(angles):
        foot = np.array([0.95 * place, 0.0])
        hip = foot + LEG * np.array([np.sin(stance), np.cos(stance)])
        lines = {
            "stance leg": (foot, hip, "black", "-"),
            "swing leg": (hip, hip - LEG * np.array([np.sin(swing), np.cos(swing)]), "#0072B2", "--"),
            "torso": (hip, hip + TORSO * np.array([np.sin(torso), np.cos(torso)]), "#D55E00", "-"),
        }
        for label, (start, end, colour, style) in lines.items():
            name = label if place == 0 else None
            axis.plot(*zip(start, end, strict=True), color=colour, ls=style, lw=2.2, label=name)
        axis.plot(*hip, "o", color="black", ms=4)
    axis.axhline(0.0, color="0.6", lw=0.8)
    axis.set(aspect="equal", xticks=[], ylabel="metres")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3)
    title = "One step of the fastest walk that was found"
    return headed(figure, title, "instants at equal distances in time, drawn apart")


def speeds_figure(values: pd.DataFrame, best: float, *, title: str) -> Figure:
    """Return the distribution of the speeds, ``x`` against the share of walks ``value``, and the best speed known."""
    figure, axis = plt.subplots(figsize=wide(1, 2.4))
    axis.plot(values["x"].astype(float), values["value"], color="#0072B2", label="walks")
    axis.axvline(best, color="0.3", ls="--", lw=1.0, label="best controller found")
    axis.set(xlabel="speed (m/s)", ylabel="share of walks that are slower", ylim=(-0.02, 1.02))
    axis.legend(loc="upper left")
    return headed(figure, title, f"n = {int(values['n'].iloc[0])} walks")
