r"""The calibration of the simulator: how like VCAP each line is, from Figures 1 and 4 alone, before any search.

Each line starts with a guess of (rho, eta). Its difference from VCAP is shrunk by a factor f, as
:math:`\sqrt{1-\rho^2}\to f\sqrt{1-\rho^2}` and :math:`\eta\to f^2\eta`, and the largest f of a fixed list is taken with
which plain fits look as the two figures say. Bandits are not looked at, so that no statement about them is built in.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Figures 1, 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import joblib
import numpy as np
import pandas as pd

from bestarm_studies.oae.cell_lines.batch_fits import fit_errors, random_orders
from bestarm_studies.oae.cell_lines.simulated_arms import VCAP, simulated_arms
from bestarm_studies.oae.cell_lines.simulator import Likeness
from bestarm_studies.oae.network_fits import class_name

START = {"HA1E": Likeness(0.7, 0.15), "MCF7": Likeness(0.7, 0.20), "A375": Likeness(0.2, 0.60)}
FACTORS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625)
NEAR, FAR = 1.5, 2.0  # held-out error over VCAP's: at most, of the lines alike; at least, of A375
ABOVE, NOTHING = 1.2, 0.1  # linear over NN 100-10, training error; what a linear fit leaves of VCAP's variance at most
WIDE = "NN 1500-300"
CLASSES = ("linear", "NN 10-5", "NN 100-10")


def shrunk(start: Likeness, factor: float) -> Likeness:
    """Return a likeness whose difference from VCAP's is that of ``start`` times a factor."""
    difference = factor * np.sqrt(1.0 - start.rho**2)
    return Likeness(round(float(np.sqrt(1.0 - difference**2)), 4), round(start.eta * factor**2, 5))


def _cell(
    line: str,
    factor: float,
    likeness: Likeness,
    classes: Mapping[str, tuple[Sequence[int], float, int]],
    n_known: int,
    scale: int,
    n: int,
    seed: int,
) -> pd.DataFrame:
    problem = simulated_arms(line, likeness, scale).take(np.arange(1, dtype=np.int64))
    orders = random_orders(problem.label, n, problem.means.shape[1], seed)
    found = []
    for name, (hidden, rate, steps) in classes.items():
        known = orders[:, : min(n_known, orders.shape[1] - 1)] if name == WIDE else orders
        found.append(fit_errors(problem, hidden, rate, steps, known, seed))
    return pd.concat(found).assign(panel=line, x=factor, rho=likeness.rho, eta=likeness.eta)


def calibration_rows(
    classes: Sequence[tuple[Sequence[int], float, int]],
    n_known: int,
    factors: Sequence[float],
    scale: int,
    replications: int,
    seed: int,
    *,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the errors of plain fits to VCAP and to every candidate of the other lines.

    Parameters
    ----------
    classes : sequence of (hidden, learning_rate, steps)
        NN 1500-300, which sees ``n_known`` random arms, and three classes, which see all.
    n_known : int
        Arms that NN 1500-300 is fitted to.
    factors : sequence of float
        What differences from VCAP are shrunk by; 0 is VCAP itself.
    scale : int
        Divides the numbers of arms.
    replications, seed : int
        Fits of each; seed of the project.
    workers : int, default=1
        Processes; the rows do not depend on it.

    Returns
    -------
    DataFrame
        ``replication, series`` (the class), ``train, test, panel`` (the line), ``x`` (the factor), ``rho, eta``.
    """
    named = {class_name(hidden): (hidden, rate, steps) for hidden, rate, steps in classes}
    cells = [("VCAP", 0.0, VCAP)]
    cells += [(line, factor, shrunk(start, factor)) for line, start in START.items() for factor in factors]
    frames = joblib.Parallel(n_jobs=max(1, min(workers, len(cells))))(
        joblib.delayed(_cell)(*cell, named, n_known, scale, replications, seed) for cell in cells
    )
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="simulated")


def calibration_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each line and factor what the rule looks at, and whether the candidate passes.

    Returns
    -------
    DataFrame
        ``line, factor, rho, eta``; ``held_out``, the median error of NN 1500-300 over VCAP's; the median training
        errors of the three classes; ``passes``.
    """
    medians = rows.groupby(["panel", "x", "rho", "eta", "series"], sort=False)[["train", "test"]].median()
    train, test = medians["train"].unstack("series")[list(CLASSES)], medians["test"].unstack("series")[WIDE]
    table = train.assign(held_out=test / float(test.xs("VCAP").iloc[0])).reset_index()
    near = np.where(table["panel"] == "A375", table["held_out"] >= FAR, table["held_out"] <= NEAR)
    curved = (table["linear"] >= ABOVE * table["NN 100-10"]) & (table["NN 10-5"] > table["NN 100-10"])
    vcap = table["panel"] == "VCAP"
    passes = np.where(vcap, (table["linear"] <= NOTHING) & (table["NN 10-5"] > table["NN 100-10"]), near & curved)
    return table.rename(columns={"panel": "line", "x": "factor"}).assign(passes=passes)


def calibrated(rows: pd.DataFrame) -> dict[str, Likeness]:
    """Return the likeness of each line: of the largest factor that passes, or of the smallest if none does."""
    found = {"VCAP": VCAP}
    table = calibration_table(rows)
    for line in START:
        mine = table[table["line"] == line].sort_values("factor", ascending=False)
        chosen = mine[mine["passes"]].iloc[0] if mine["passes"].any() else mine.iloc[-1]
        found[line] = Likeness(float(chosen["rho"]), float(chosen["eta"]))
    return found
