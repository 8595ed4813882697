"""Queries that learners need until an arm is nearly optimal, in the linear and in the Lipschitz class.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Lemma D.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import Streams, uniform
from bestarm_studies.oae.sphere_arms import ROUNDING, unit_vectors

COMMIT, TRACE, MIXING = "Explore then commit", "Guess with a trace", "Mixing, norm known"


def linear_queries(coordinates: FloatArray, epsilon: float) -> dict[str, IntArray]:
    r"""Return how many queries three learners need until one is :math:`\epsilon`-optimal in the unit ball.

    They see :math:`\theta` in orthonormal directions of a random rotation, so for every unit :math:`\theta` its
    coordinates are those of a uniform one. After m directions the best guess is worth :math:`s_m`, the norm of the
    first m coordinates; it has to reach :math:`k=1-\epsilon`.

    ``Explore then commit`` queries :math:`\lfloor dk^2\rfloor` directions, then its guess and one more direction by
    turns. ``Guess with a trace`` always queries its guess plus a vanishing multiple of a fresh direction, which without
    noise reveals :math:`\theta` along it exactly. A :math:`\theta` of norm r < 1 needs only
    :math:`s_m/r\geq1-\epsilon/r`, which is no later, so for both the mean is that of the worst case.

    ``Mixing, norm known`` knows that :math:`|\theta|=1`, as under the law of the lemma's proof. It queries
    :math:`(s/k)\hat g+\sqrt{1-s^2/k^2}\,u` with its guess and a fresh direction: among all mixtures this has the best
    chance. It succeeds if :math:`s^2+z^2\geq k^2` for the new coordinate z > 0; for z < 0 the next query, the guess,
    does.

    Parameters
    ----------
    coordinates : ndarray, shape (R, d)
        Unit vectors.
    epsilon : float
        :math:`\epsilon`, in (0, 1).

    Returns
    -------
    dict of str to ndarray of int64, shape (R,)
        For each learner; directions of the first two that happen to be good enough are not counted as success.
    """
    d, target = coordinates.shape[1], (1.0 - epsilon) ** 2
    reached = np.cumsum(coordinates**2, axis=1) >= target
    reached[:, -1] = True  # up to rounding
    enough = reached.argmax(axis=1)  # the guess is good after one more direction than this
    explored = int(d * target)
    commit = explored + 1 + 2 * np.maximum(enough + 1 - explored, 0)
    mixing = enough + 1 + (coordinates[np.arange(len(coordinates)), enough] < 0.0)
    return {COMMIT: commit, TRACE: enough + 2, MIXING: mixing}


def bump_packing(d: int, epsilon: float) -> FloatArray:
    r"""Return points of the unit ball with distances of at least :math:`2\epsilon`: even or hexagonal, shape (N, d).

    Raises
    ------
    ValueError
        For another dimension than 1 or 2.
    """
    if d not in (1, 2):
        raise ValueError(f"packings are made for d = 1 and 2, got {d}.")
    if d == 1:
        return np.asarray(-1.0 + 2.0 * epsilon * np.arange(int(1.0 / epsilon + ROUNDING) + 1))[:, None]
    reach = int(1.0 / epsilon) + 1
    i, j = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1), indexing="ij")
    points = np.stack([2.0 * epsilon * (i + 0.5 * j), epsilon * np.sqrt(3.0) * j], axis=-1).reshape(-1, 2)
    return np.asarray(points[(points**2).sum(axis=1) <= 1.0 + ROUNDING])


def cover_order(points: FloatArray, epsilon: float) -> tuple[IntArray, IntArray]:
    r"""Return, for a bump at each point, the queries until one meets it, and until one is :math:`\epsilon`-optimal.

    Queried are midpoints of two points at distance :math:`2\epsilon` and the points themselves, the one next that
    meets most bumps not yet excluded. A reward reveals the distance from the summit; then the points at that distance
    are queried, of which all but the last may fail.

    Parameters
    ----------
    points : ndarray, shape (N, d)
        Where the bump may be; it is positive at distances below :math:`2\epsilon`.
    epsilon : float
        A query at most so far from the summit is :math:`\epsilon`-optimal.

    Returns
    -------
    met, solved : ndarray of int64, shape (N,)
        Numbers of queries.
    """
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    first, second = np.nonzero(np.triu((distance > 0) & (distance <= 2.0 * epsilon + ROUNDING)))
    queries = np.concatenate([0.5 * (points[first] + points[second]), points])
    away = np.linalg.norm(queries[:, None] - points[None], axis=2)
    meets = away < 2.0 * epsilon - ROUNDING
    left = np.ones(len(points), dtype=np.bool_)
    met, solved = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=np.int64)
    gains, n = meets.sum(axis=1), 0
    while left.any():
        query = int(gains.argmax())
        n += 1
        new = np.flatnonzero(meets[query] & left)
        met[new] = n
        for distance_now in np.unique(np.round(away[query, new] / epsilon, 6)):
            same = new[np.isclose(away[query, new] / epsilon, distance_now, atol=1e-5)]
            solved[same] = n if distance_now <= 1.0 + 1e-5 else n + 1 + np.arange(len(same))
        left[new] = False
        gains = gains - meets[:, new].sum(axis=1)
    return met, solved


@njit(cache=True)
def _integers(key: np.uint64, n: int, below: int) -> IntArray:
    found = np.empty(n, dtype=np.int64)
    for r in range(n):
        found[r] = int(below * uniform(key, r, 0, 0))
    return found


def query_rows(
    linear: Sequence[tuple[int, float]],
    lipschitz: Mapping[str, Sequence[float]],
    replications: int,
    seed: int,
    *,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return how many queries learners need until one is :math:`\epsilon`-optimal ([1]_, Lemma D.1).

    Parameters
    ----------
    linear : sequence of (int, float)
        d and :math:`\epsilon`; see `linear_queries`.
    lipschitz : mapping
        ``{dimensions: [...], epsilons: [...]}``: a bump :math:`(2\epsilon-\|z-x\|)_+` at a uniform point of a packing.
        ``Cover`` queries in `cover_order`, ``Points`` the points of the packing in random order.
    replications : int
        Trials of each cell.
    seed : int
        Seed of the project.

    Returns
    -------
    DataFrame
        ``convention, item`` (linear or lipschitz), ``series, n_features, epsilon, replication, queries``; for the
        second item also ``met``, queries until one meets the bump, which is what the proof counts, and ``packing``, the
        number of points.
    """
    del workers  # seconds in all
    rows, frames = np.arange(replications), []
    for n_features, accuracy in linear:
        key = Streams(seed, f"queries, d = {n_features}", rows).key("parameter")
        coordinates = unit_vectors(key, rows, 1, int(n_features))[:, 0]
        for label, queries in linear_queries(coordinates, float(accuracy)).items():
            base = {"item": "linear", "series": label, "n_features": int(n_features), "epsilon": float(accuracy)}
            frames.append(pd.DataFrame(base | {"replication": rows, "queries": queries.astype(np.float64)}))
    for d in lipschitz.get("dimensions", []):
        for epsilon in lipschitz["epsilons"]:
            points = bump_packing(int(d), float(epsilon))
            key = Streams(seed, f"bumps, d = {d}, epsilon = {epsilon}", rows).key("summit")
            summit = _integers(key, replications, len(points))
            met, solved = cover_order(points, float(epsilon))
            counts = {"Cover": (met[summit], solved[summit]), "Points": (summit + 1, summit + 1)}
            for label, (first, queries) in counts.items():
                base = {"item": "lipschitz", "series": label, "n_features": int(d), "epsilon": float(epsilon)}
                found = {"replication": rows, "queries": queries.astype(np.float64), "met": first.astype(np.float64)}
                frames.append(pd.DataFrame(base | found | {"packing": float(len(points))}))
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic")
