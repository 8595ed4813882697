"""Pictures of the walker: one step as stick figures, and how fast many controllers walk."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from bestarm.interface import FloatArray
from bestarm_lab.figures.figures import headed, wide
from bestarm_objectives.walker.mechanics import LEG, TORSO, impact, motion
from bestarm_objectives.walker.walking import walk


def one_step(controller: FloatArray, n_instants: int = 7) -> FloatArray:
    """Return the angles of the stance leg, the swing leg and the torso during the last step of a walk."""
    walked = walk(controller)
    if not np.isfinite(walked.step_seconds).all():
        raise ValueError(f"controller {controller} falls after {walked.seconds:.2f} s; there is no whole step to show.")
    start, _ = impact(walked.ends[-2])
    times = np.linspace(0.0, walked.step_seconds[-1], n_instants)
    found = solve_ivp(lambda _, s: motion(s, controller), (0.0, times[-1]), start, t_eval=times, rtol=1e-7, atol=1e-8)
    return np.asarray(found.y[:3].T)


def draw_gait(axis: Axes, controller: FloatArray) -> None:
    """Draw the stick figures of one step side by side, the stance leg black, the swing leg blue."""
    for place, (stance, swing, torso) in enumerate(one_step(controller)):
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
    axis.set(aspect="equal", xticks=[], ylabel="metres", title="one step of the fastest walk that was found")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3)


def walks_figure(controller: FloatArray, values: pd.DataFrame, best: float, *, title: str) -> Figure:
    """Return one step of a controller and, below, the speeds of many."""
    figure, (above, below) = plt.subplots(2, 1, figsize=wide(2, 2.2), height_ratios=[1.0, 1.2])
    draw_gait(above, controller)
    below.plot(values["x"].astype(float), values["value"], color="#0072B2", label="walks")
    below.axvline(best, color="0.3", ls="--", lw=1.0, label="best controller found")
    below.set(xlabel="speed (m/s)", ylabel="share of walks that are slower", ylim=(-0.02, 1.02))
    below.set_title("speeds of many controllers")
    below.legend(loc="upper left")
    return headed(figure, title, f"n = {int(values['n'].iloc[0])} walks; above: instants at equal distances in time")
