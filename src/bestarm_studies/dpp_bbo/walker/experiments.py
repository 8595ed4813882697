"""Walks of two walkers, searches of both in batches of five and ten, and slopes of the objectives.

The objective `robot` is the walking speed as a function of the eight coefficients of a walker's controller. The paper
gives the domain :math:`[0,1]^8` and not the map from there to a controller; `walker_instance` takes the coefficients as
they are. A second reading is :math:`a=a^0+w(2x-1)`, with the gait of Westervelt and others ("Feedback Control of
Dynamic Bipedal Robot Locomotion", 2007) in the middle and widths under which about a quarter of the walkers fall: a
sensitivity of what is concluded on the other reading, which decides no claim of the paper.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.problems.box import unit_points
from bestarm_lab.experiments.computation import Computation, computed
from bestarm_lab.experiments.experiment import Experiment
from bestarm_objectives.walker.walking import BEST_SPEED, COEFFICIENTS, NOMINAL, walking_speeds
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, stored_table
from bestarm_studies.dpp_bbo.experiments import panels, search, with_candidates, with_known, with_zero_mean
from bestarm_studies.dpp_bbo.series import learned, published
from bestarm_studies.dpp_bbo.walker.lipschitz import slope_rows

SIGMA = 0.1
TABLE = "walker_table"
# Integration differs between processors by up to 2e-12. The digest of a table decides what noise its searches get, and
# rounded tables are the same on all of them.
DECIMALS = 7
# Of the coefficients in the order of `walker.COEFFICIENTS`: 0.35 times (0.2, 0.5, 0.5, 0.5, 1, 1, 2, 2), the factor at
# which a quarter of 1024 walkers fall.
WIDTHS = (0.07, 0.175, 0.175, 0.175, 0.35, 0.35, 0.7, 0.7)
NOMINAL_TABLE = "walker_nominal_table"
INPUTS = tuple(f"x{i}" for i in range(1, len(NOMINAL) + 1))


def walker_rows(replications: int, n_points: int = 16384, *, seed: int = 0, workers: int = 1) -> pd.DataFrame:
    """Return the walking speed at points of a scrambled Sobol sequence in [0, 1]^8, in metres a second.
    In ``graded`` a walker that falls gets its way over 13 seconds."""
    return walks(replications, n_points, COEFFICIENTS, lambda points: points, ("speed", "graded"), seed)


def walks(
    replications: int,
    n_points: int,
    columns: tuple[str, ...],
    controllers: Callable[[FloatArray], FloatArray],
    speeds: tuple[str, ...],
    seed: int,
) -> pd.DataFrame:
    """Return ``replication, point``, the points of scrambled Sobol sequences in [0, 1]^8 and their rounded speeds."""
    frames = []
    for replication in range(replications):
        points = unit_points(n_points, len(columns), "sobol", 1_000_003 * seed + replication).astype(np.float32)
        frame = pd.DataFrame({"replication": replication, "point": np.arange(n_points)})
        frame[list(columns)] = points
        for name in speeds:
            speed = walking_speeds(controllers(points.astype(np.float64)), graded=name == "graded")
            frame[name] = np.round(speed, DECIMALS)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def walks_as_arms(
    label: str,
    rows: pd.DataFrame,
    columns: tuple[str, ...],
    speed: str,
    n_arms: int,
    replications: int,
    sigma: float,
    seed: int,
    best: float = -np.inf,
    data: str = "synthetic",
) -> CandidateArms:
    """Return candidates that are a random part of a table of walks for each replication; 1 is one set for all."""
    if not 2 <= n_arms <= len(rows) or replications < 1:
        raise ValueError(
            f"n_arms must be between 2 and the {len(rows)} walks of the table, replications at least 1, got {n_arms} "
            f"and {replications}."
        )
    points, speeds = rows[list(columns)].to_numpy(dtype=np.float64), rows[speed].to_numpy(dtype=np.float64)
    chosen = np.stack([np.random.default_rng([seed, r]).permutation(len(rows))[:n_arms] for r in range(replications)])
    features = points[chosen] if replications > 1 else points[chosen[0]]
    return CandidateArms(label, features, speeds[chosen], sigma, data=data, optimum=max(float(speeds.max()), best))


def walker_instance(
    n_arms: int = 2048,
    replications: int = 50,
    sigma: float = SIGMA,
    graded: bool = False,
    seed: int = 0,
    table: str = TABLE,
    file: Path | None = None,
) -> CandidateArms:
    """Return the walker on candidates of :math:`[0,1]^8`, a random part of the table of walks for each replication.
    The paper gives the domain and the noise (0.1). The speed is that of five steps, 0 after a fall or, ``graded``, the
    way until then. The candidates of replication r are the same whatever ``replications`` is; 1 is one set for all.
    ``table`` is the computation that walks, ``file`` its rows, by default those committed."""
    rows, digest = stored_table(table, file)
    rows = rows[rows["replication"] == 0]
    label = f"walker {digest} |X|={n_arms} sigma={sigma:g}{' graded' * graded}"
    speed = "graded" if graded else "speed"
    return walks_as_arms(label, rows, COEFFICIENTS, speed, n_arms, replications, sigma, seed, BEST_SPEED)


def stand_in_walker_instance(
    n_arms: int = 2048,
    replications: int = 50,
    sigma: float = SIGMA,
    graded: bool = False,
    seed: int = 0,
    table: str = TABLE,
    file: Path | None = None,
) -> CandidateArms:
    """Return the walker on at most 256 candidates, walked on the spot."""
    n, speed = min(n_arms, 256), "graded" if graded else "speed"
    rows = walker_rows(1, n, seed=seed)
    return walks_as_arms(
        "walker stand-in", rows, COEFFICIENTS, speed, n, replications, sigma, seed, BEST_SPEED, "stand-in"
    )


def around_nominal(points: FloatArray) -> FloatArray:
    """Return the controllers of points of [0, 1]^8, both of shape (n, 8)."""
    return np.asarray(np.array(NOMINAL) + np.array(WIDTHS) * (2.0 * points - 1.0))


def nominal_rows(replications: int, n_points: int = 16384, *, seed: int = 0, workers: int = 1) -> pd.DataFrame:
    """Return ``speed``, metres a second, 0 after a fall, around the nominal gait, at scrambled Sobol points."""
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


ROBOT = (partial(walker_instance, n_arms=2048), partial(stand_in_walker_instance))
_FEW = {"n_points": 64}
EXPERIMENTS: dict[str, Experiment | Computation] = {
    TABLE: computed("Walks of the biped", 1, walker_rows, smoke=_FEW, n_points=16384),
    NOMINAL_TABLE: computed("Walks of the biped around a gait", 1, nominal_rows, smoke=_FEW, n_points=16384),
    **panels("Figure 2", "fig2_robot", "robot", *ROBOT, paper=with_candidates(400)),
    **with_zero_mean("fig2_robot", "robot", *ROBOT),
    **with_known("robot", "robot", *ROBOT),
    **{  # the searches of the paper on another reading of its robot
        f"nominal_robot_b{batch}": search(
            f"robot around a gait, B = {batch}",
            published(batch, learned("robot around a gait")),
            partial(nominal_instance, n_arms=2048),
            partial(stand_in_nominal_instance),
        )
        for batch in (5, 10)
    },
    "slopes": computed("Slopes of the objectives", 500, slope_rows, few=4),
}
