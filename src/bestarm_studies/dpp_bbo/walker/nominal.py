"""A second reading of the objective `robot`: coefficients around a gait that is known to walk.

The paper gives the domain :math:`[0,1]^8` and not the map from there to a controller. `robot` takes the coefficients as
they are. Here :math:`a=a^0+w(2x-1)`, with the gait of Westervelt and others (2007) in the middle and widths under which
about a quarter of the walkers fall. It is a sensitivity of what is concluded on the other reading and decides no claim
of the paper.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_objectives.walker.walking import NOMINAL
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, stored_table
from bestarm_studies.dpp_bbo.walker.robot import SIGMA, walks, walks_as_arms

# Of the coefficients in the order of `walker.COEFFICIENTS`: 0.35 times (0.2, 0.5, 0.5, 0.5, 1, 1, 2, 2), the factor at
# which a quarter of 1024 walkers fall.
WIDTHS = (0.07, 0.175, 0.175, 0.175, 0.35, 0.35, 0.7, 0.7)
NOMINAL_TABLE = "walker_nominal_table"
INPUTS = tuple(f"x{i}" for i in range(1, len(NOMINAL) + 1))


def around_nominal(points: FloatArray) -> FloatArray:
    """Return the controllers of points of [0, 1]^8, both of shape (n, 8)."""
    return np.asarray(np.array(NOMINAL) + np.array(WIDTHS) * (2.0 * points - 1.0))


def nominal_rows(replications: int, n_points: int = 16384, *, seed: int = 0, workers: int = 1) -> pd.DataFrame:
    """Return ``speed`` in metres a second, 0 after a fall, around the nominal gait, at points of a scrambled Sobol
    sequence."""
    return walks(replications, n_points, INPUTS, around_nominal, ("speed",), seed)


def nominal_instance(
    n_arms: int = 2048, replications: int = 50, sigma: float = SIGMA, seed: int = 0, file: Path | None = None
) -> CandidateArms:
    """Return this walker on a random part of the table of walks for each replication."""
    rows, digest = stored_table(NOMINAL_TABLE, file)
    rows = rows[rows["replication"] == 0]
    label = f"walker around a gait {digest} |X|={n_arms} sigma={sigma:g}"
    return walks_as_arms(label, rows, INPUTS, "speed", n_arms, replications, sigma, seed)


def stand_in_nominal_instance(
    n_arms: int = 2048, replications: int = 50, sigma: float = SIGMA, seed: int = 0
) -> CandidateArms:
    """Return this walker on at most 256 candidates, walked on the spot."""
    n = min(n_arms, 256)
    rows = nominal_rows(1, n, seed=seed)
    label = "walker around a gait stand-in"
    return walks_as_arms(label, rows, INPUTS, "speed", n, replications, sigma, seed, data="stand-in")
