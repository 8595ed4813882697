"""The synthetic objectives of the paper: Branin-Hoo, Hartmann-6 and a mixture of cosines, to be maximised.

Sources: Lizotte, PhD thesis, University of Alberta, 2008; the mixture, Anderson, Moore and Cohn, ICML 2000.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray
from bestarm.problems.box import Design, unit_points
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms

_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_SCALES = np.array([
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
])  # fmt: skip
_CENTRES = 1e-4 * np.array([
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
])  # fmt: skip


@dataclass(frozen=True)
class Objective:
    """A function on a box, to be maximised: ``evaluate`` takes points (..., d) to values (...).
    ``optimum`` is its largest value, taken at ``optimisers``; ``spread`` the standard deviation over the box."""

    name: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    evaluate: Callable[[FloatArray], FloatArray]
    optimum: float
    optimisers: tuple[tuple[float, ...], ...]
    spread: float

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return len(self.lower)

    def unit(self, points: FloatArray) -> FloatArray:
        """Return points of the box in [0, 1]^d."""
        low, high = np.array(self.lower), np.array(self.upper)
        return np.asarray((np.asarray(points) - low) / (high - low))

    def at(self, unit: FloatArray) -> FloatArray:
        """Return the values at points of [0, 1]^d."""
        low, high = np.array(self.lower), np.array(self.upper)
        return self.evaluate(low + unit * (high - low))


def branin_hoo(points: FloatArray) -> FloatArray:
    r"""Return :math:`-[(v-\frac{5.1}{4\pi^2}u^2+\frac5\pi u-6)^2+10(1-\frac1{8\pi})\cos u+10]`."""
    u, v = points[..., 0], points[..., 1]
    valley = v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6
    return np.asarray(-(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10))


def hartmann_6(points: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_i\alpha_i\exp(-\sum_jA_{ij}(x_j-P_{ij})^2)`."""
    distances = (_SCALES * (points[..., None, :] - _CENTRES) ** 2).sum(axis=-1)
    return np.asarray((_WEIGHTS * np.exp(-distances)).sum(axis=-1))


def cosines(points: FloatArray) -> FloatArray:
    r"""Return :math:`1-\sum_j(u_j^2-0.3\cos3\pi u_j)` with :math:`u=1.6x-0.5` (Anderson and others)."""
    u = 1.6 * points - 0.5
    return np.asarray(1.0 - (u**2 - 0.3 * np.cos(3 * np.pi * u)).sum(axis=-1))


BRANIN_HOO = Objective(
    "Branin-Hoo",
    (-5.0, 0.0),
    (10.0, 15.0),
    branin_hoo,
    -0.39788735772973816,
    ((-np.pi, 12.275), (np.pi, 2.275), (3 * np.pi, 2.475)),
    51.3,
)
HARTMANN_6 = Objective(
    "Hartmann-6",
    (0.0,) * 6,
    (1.0,) * 6,
    hartmann_6,
    3.322368011415512,
    ((0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053),),
    0.39,
)
COSINES = Objective("Cosines", (0.0, 0.0), (1.0, 1.0), cosines, 1.6, ((0.3125, 0.3125),), 0.62)
OBJECTIVES = {objective.name: objective for objective in (BRANIN_HOO, HARTMANN_6, COSINES)}


def synthetic_instance(
    name: str,
    n_arms: int = 2048,
    replications: int = 50,
    noise: float = 0.01,
    design: Design = "sobol",
    with_optimum: bool = False,
    seed: int = 0,
) -> CandidateArms:
    """Return one of the objectives on candidates of :math:`[0,1]^d`, new ones for each replication.
    ``noise`` is its standard deviation over that of the function on its box, ``design`` that of
    `bestarm.problems.box.unit_points`; the paper states neither. The candidates of replication r are the same whatever
    ``replications`` is; 1 is one set for all. ``with_optimum`` puts the maximisers in place of the last candidates."""
    if name not in OBJECTIVES:
        raise ValueError(f"name must be one of {', '.join(OBJECTIVES)}, got {name!r}.")
    if replications < 1 or not 0 <= noise < np.inf:
        raise ValueError(f"replications must be at least 1 and noise not negative, got {replications} and {noise}.")
    objective = OBJECTIVES[name]
    sets = 1 if design == "grid" else replications
    drawn = [unit_points(n_arms, objective.dimension, design, 1_000_003 * seed + r) for r in range(sets)]
    features = np.stack(drawn)
    if with_optimum:
        best = objective.unit(np.array(objective.optimisers))
        features[:, -len(best) :] = best
    means = np.minimum(objective.at(features), objective.optimum)  # the maximisers are known to eight digits
    label = f"{name} {design} |X|={n_arms} noise={noise:g}{' with its optimum' * with_optimum}"
    return CandidateArms(
        label, features if sets > 1 else features[0], means, noise * objective.spread, optimum=objective.optimum
    )
