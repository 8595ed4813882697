"""Other objectives over MeanOpt, and the share of rounds in which a model was optimistic."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm_lab.claims.cells import Rows
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import paired_effects, summarise
from bestarm_studies.oae.figures import _log_ticks, two_lines
from bestarm_studies.oae.first_hits import first_hits, shared_rounds, until_found, without_broken

OBJECTIVES = {"MaxOpt": Style("#B7340A", "o", "-."), "HingePNorm": Style("#6057B2", "s", DOTS)}
SIMILAR = (0.8, 1.25)  # ratios that a claim of similarity allows


def objective_ratios(sets: Rows, objectives: Sequence[str], strengths: Sequence[float], profile: str) -> pd.DataFrame:
    """Return the batches until a top-1% arm with an objective over those of MeanOpt with the same strength.
    Ratios of means over the runs that both have, with 95% intervals by the delta method; x is the strength."""
    frames = []
    for panel, rows in sets.items():
        (rows,) = shared_rounds(rows)
        hits = first_hits(without_broken(until_found(rows)))["first"].reset_index().assign(data=rows["data"].iloc[0])
        for strength in strengths:
            lines = {name: {"": (f"{name} {strength:g}", f"MeanOpt {strength:g}")} for name in objectives}
            found = paired_effects(
                hits, "first", statistic="ratio of batches", profile=profile, panel=panel, log=True, lines=lines
            )
            frames.append(found.assign(x=strength))
    return pd.concat(frames, ignore_index=True)


def optimistic_shares(sets: Rows, profile: str) -> pd.DataFrame:
    """Return in which share of the rounds the model promised for its batch at least what the best batch was worth."""
    frames = []
    for name, rows in sets.items():
        known = until_found(rows).dropna(subset="optimistic").assign(optimistic=lambda r: r["optimistic"].astype(float))
        frames.append(summarise(known, {"optimistic": ("optimistic", "mean")}, panel=name, profile=profile))
    return pd.concat(frames, ignore_index=True).assign(low=np.nan, high=np.nan)


def objectives_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return `objective_ratios` against the strength; shaded is what counts as similar."""
    figure = line_panels(
        values,
        list(OBJECTIVES),
        titles=two_lines(values),
        title=title,
        setting=setting,
        statistic="ratio of batches",
        x="strength of optimism λ",
        y="batches over MeanOpt's",
        places="even",
        log="y",
        reference=1.0,
        reference_label="MeanOpt with the same λ",
        styles=OBJECTIVES,
        wrap=4,
        height=1.9,
    )
    for axis in figure.axes:
        axis.axhspan(*SIMILAR, color="0.9", lw=0, zorder=0)
        _log_ticks(axis, (0.5, 1, 2, 5, 10))
    return figure
