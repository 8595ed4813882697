r"""The theory of the OAE paper on instances in which its model is exact: regret, query counts, optimism.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 4.3,
   Appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numba import njit

from bestarm.experiments.construct import construct
from bestarm.experiments.simulate import simulate
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.policies.batch_search import BatchSearch, BatchState, random_order
from bestarm.policies.linear_oae import EllipsoidOae, LinearOae, LinearState
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.problems.sphere_arms import CloneArms, SphereArms, unit_vectors
from bestarm.streams import Streams, uniform

ROUNDING = 1e-8
COMMIT, TRACE, MIXING = "Explore then commit", "Guess with a trace", "Mixing, norm known"
_BLOCK = 100
Law = SphereArms | CloneArms


@dataclass
class RegretMonitor:
    """A batch search under observation; it makes the same choices.

    Parameters
    ----------
    policy : BatchSearch
        What searches; no replication may stop before another.
    means : ndarray, shape (R, n_arms)
        Responses.
    enumerate_batches : bool
        Whether to compare what a `LinearOae` was promised with the most that any batch promises.

    Attributes
    ----------
    rounds : list of dict
        For each round and replication: ``regret``, the best batch that could be had minus the batch; ``best``, what the
        former is worth; ``known``, whether all directions are (NaN for a policy that keeps no basis); ``hope``, what
        the batch promised, NaN where nothing was promised; ``most``, the most that any batch promises.
    """

    policy: BatchSearch
    means: FloatArray
    enumerate_batches: bool = False
    rounds: list[dict[str, FloatArray]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name of the policy."""
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        """Start the policy."""
        self.rounds.clear()
        return self.policy.start(arms, streams)

    def ask(self, state: BatchState) -> Ask:
        """Let the policy choose, and note what the choice is worth."""
        asked = self.policy.ask(state)
        if asked.counts.any():
            size = asked.arms.shape[1]
            kept = -np.partition(-np.where(state.available, self.means, -np.inf), size - 1, axis=1)[:, :size]
            best = kept.sum(axis=1)
            nothing = np.full(len(best), np.nan)
            found = {"best": best, "hope": nothing, "most": nothing, "known": nothing}
            if isinstance(state, LinearState):
                found |= {"hope": state.hope, "known": (state.rank == state.estimate.shape[1]).astype(np.float64)}
                if self.enumerate_batches and isinstance(self.policy, LinearOae) and not np.isnan(state.hope).any():
                    found["most"] = largest_promise(*self.policy.plausible(state), state, size)
            regret = best - np.take_along_axis(self.means, asked.arms, axis=1).sum(axis=1)
            self.rounds.append(found | {"regret": regret})
        return asked

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Let the policy learn."""
        self.policy.tell(state, asked, totals)

    def finished(self, state: BatchState) -> BoolArray:
        """Return which replications have stopped."""
        return self.policy.finished(state)

    def recommend(self, state: BatchState) -> IntArray:
        """Return the best arm observed so far."""
        return self.policy.recommend(state)

    def table(self, name: str) -> FloatArray:
        """Return a finding, shape (rounds, R)."""
        return np.array([found[name] for found in self.rounds])


def largest_promise(centre: FloatArray, widths: FloatArray, state: BatchState, size: int) -> FloatArray:
    r"""Return the largest :math:`\hat\theta^\top s+\|Ms\|` of any batch, by enumeration, shape (R,).

    Parameters
    ----------
    centre, widths : ndarray, shapes (R, d) and (R, d, d)
        The plausible parameters, see `bestarm.policies.linear_oae`.
    state : BatchState
        Whose available arms are meant.
    size : int
        Arms of a batch.
    """
    batches = np.array(list(combinations(range(state.available.shape[1]), size)))
    sums = state.features[state.feature_set][:, batches].sum(axis=2)
    wide = sums @ widths.swapaxes(1, 2)
    values = (sums @ centre[:, :, None])[:, :, 0] + np.linalg.norm(wide, axis=2)
    return np.asarray(np.where(state.available[:, batches].all(axis=2), values, -np.inf).max(axis=1))


def observed_run(
    policy: BatchSearch, law: Law, replications: IntArray, seed: int, *, enumerate_batches: bool = False
) -> tuple[RegretMonitor, NoiselessArms]:
    """Run a search on a law's arms for some replications; return what was observed, and the arms."""
    problem = law.take(replications)
    monitor = RegretMonitor(policy, problem.means, enumerate_batches)
    simulate(monitor, problem, Streams(seed, law.label, replications), metrics={}, every=1)
    return monitor, problem


def _blocks(replications: int) -> list[IntArray]:
    return [np.arange(start, min(start + _BLOCK, replications)) for start in range(0, replications, _BLOCK)]


def _in_parallel(function: Callable[..., pd.DataFrame], jobs: Sequence[tuple[Any, ...]], workers: int) -> pd.DataFrame:
    with joblib.parallel_config(backend="loky" if workers > 1 else "sequential", n_jobs=workers):
        frames = joblib.Parallel()(joblib.delayed(function)(*job) for job in jobs)
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic")


def _burn_in_block(
    label: str, settings: Mapping[str, Any], instance: str, n_arms: int, d: int, batch: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law: Law = SphereArms(n_arms, d, seed=seed) if instance == "sphere" else CloneArms(d, 4 * batch, seed=seed)
    policy = construct({"label": label, **settings, "batch": batch, "rounds": 2 * d}, "policies")
    monitor, _ = observed_run(policy, law, rows, seed)
    regret, known = monitor.table("regret"), monitor.table("known")
    needed = np.where(np.isnan(known[0]), np.nan, (known == 0.0).sum(axis=0))  # rounds begun without full knowledge
    return pd.DataFrame(
        {
            "series": label,
            "instance": instance,
            "n_features": d,
            "batch": batch,
            "replication": rows,
            "regret": regret.sum(axis=0),
            "late_regret": regret[d + d // 2 :].sum(axis=0),
            "rounds_needed": needed,
        }
    )


def burn_in_rows(
    series: Mapping[str, Mapping[str, Any]],
    replications: int,
    seed: int,
    *,
    instances: Mapping[str, Mapping[str, Sequence[int]]],
    n_arms: int = 2000,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the regret of 2d batches on exactly linear instances ([1]_, Theorem 4.1 without misspecification).

    Parameters
    ----------
    series : mapping
        Label to settings of a batch search, without ``batch`` and ``rounds``.
    replications : int
        Runs of each cell.
    seed : int
        Seed of the project.
    instances : mapping
        ``sphere`` (`SphereArms`) or ``clones`` (`CloneArms` with 4b copies) to ``{dimensions: [...], batches: [...]}``.
    n_arms : int
        Random arms of ``sphere``.

    Returns
    -------
    DataFrame
        ``convention, series, instance, n_features, batch, replication``; ``regret``, against the best batch of what was
        left in each round; ``late_regret``, of the last quarter of the rounds; ``rounds_needed`` until all directions
        are known.

    Raises
    ------
    ValueError
        For an unknown instance.
    """
    if unknown := sorted(set(instances) - {"sphere", "clones"}):
        raise ValueError(f"instances must be sphere or clones, got {', '.join(unknown)}.")
    jobs = [
        (label, settings, instance, n_arms, int(d), int(batch), rows, seed)
        for instance, grid in instances.items()
        for label, settings in series.items()
        for d in grid["dimensions"]
        for batch in grid["batches"]
        for rows in _blocks(replications)
    ]
    return _in_parallel(_burn_in_block, jobs, workers)


def _misspecified_block(
    omega: float, n_arms: int, d: int, batch: int, rounds: Sequence[int], starts: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = SphereArms(n_arms, d, omega, seed)
    policy = EllipsoidOae("OAE", batch, max(rounds), omega=omega, starts=starts)
    monitor, _ = observed_run(policy, law, rows, seed)
    regret = monitor.table("regret").cumsum(axis=0)
    missing = monitor.table("best")[1:] - batch * omega - monitor.table("hope")[1:] > ROUNDING
    frames = [
        pd.DataFrame(
            {
                "series": f"ω = {omega:g}",
                "omega": omega,
                "n_features": d,
                "batch": batch,
                "rounds": t,
                "replication": rows,
                "regret": regret[t - 1],
                "pessimistic": missing[: t - 1].sum(axis=0),
            }
        )
        for t in rounds
    ]
    return pd.concat(frames, ignore_index=True)


def misspecified_rows(
    omegas: Sequence[float],
    replications: int,
    seed: int,
    *,
    dimensions: Sequence[int],
    batches: Sequence[int],
    rounds: Sequence[int],
    n_arms: int = 2000,
    starts: int = 50,
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the regret of vanilla OAE with :math:`\gamma_t=(t-1)b\omega^2` under misspecification.

    Parameters
    ----------
    omegas : sequence of float
        :math:`\omega`; the algorithm knows it.
    replications : int
        Runs of each cell.
    seed : int
        Seed of the project.
    dimensions, batches, rounds : sequence of int
        d, b, and the T at which regret is recorded.
    n_arms, starts : int
        Random arms; starts of the alternation.

    Returns
    -------
    DataFrame
        ``convention, series, omega, n_features, batch, rounds, replication, regret``; ``pessimistic``, rounds in which
        the batch promised less than the best one left minus :math:`b\omega`.
    """
    jobs = [
        (float(omega), n_arms, int(d), int(batch), list(rounds), starts, rows, seed)
        for omega in omegas
        for d in dimensions
        for batch in batches
        for rows in _blocks(replications)
    ]
    return _in_parallel(_misspecified_block, jobs, workers)


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


def bonuses(x: FloatArray, queried: IntArray, optimism: float) -> FloatArray:
    r"""Return what a regularised linear model with intercept adds to its fit, shape (R, n_arms).

    The minimiser of :math:`\frac1n\sum(f(a)-y)^2-\lambda\frac1{|U|}\sum_Uf` is least squares plus
    :math:`\frac\lambda2[1+n(a-\bar x)^\top S^{-1}(\mu_U-\bar x)]`, with mean and scatter of the n arms queried and
    the mean :math:`\mu_U` of the others.

    Parameters
    ----------
    x : ndarray, shape (R, n_arms, d)
        Arms.
    queried : ndarray of int64, shape (R, n)
        Arms queried, at least d + 1 of them in general position.
    optimism : float
        :math:`\lambda`.
    """
    n_arms, n = x.shape[1], queried.shape[1]
    seen = np.take_along_axis(x, queried[:, :, None], axis=1)
    mean = seen.mean(axis=1, keepdims=True)
    others = (x.sum(axis=1, keepdims=True) - n * mean) / (n_arms - n)
    scatter = (seen - mean).swapaxes(1, 2) @ (seen - mean)
    pull = np.linalg.solve(scatter, (others - mean).swapaxes(1, 2))
    return np.asarray(0.5 * optimism * (1.0 + n * ((x - mean) @ pull)[:, :, 0]))


def _bonus_block(
    queries: str, n_arms: int, d: int, n_queried: int, optimism: float, batch: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = SphereArms(n_arms, d, seed=seed)
    problem = law.take(rows)
    order = random_order(Streams(seed, law.label, rows).key("queries"), rows, 0, n_arms)
    if queries == "exploiting":  # d + 1 random arms reveal the parameter; then always the best
        started = np.argsort(-order, axis=1)[:, : d + 1]
        order = problem.means.copy()
        np.put_along_axis(order, started, np.inf, axis=1)
    queried = np.argsort(-order, axis=1)[:, :n_queried]
    bonus = bonuses(problem.features, queried, optimism)
    left = np.ones_like(bonus, dtype=np.bool_)
    np.put_along_axis(left, queried, False, axis=1)
    means = np.where(left, problem.means, -np.inf)
    best = np.argsort(-means, axis=1)
    top = np.take_along_axis(bonus, best[:, : (n_arms - n_queried) // 10], axis=1)
    hope = np.where(left, problem.means + bonus, -np.inf)  # least squares is exact here
    promised = np.sort(hope, axis=1)[:, -batch:].sum(axis=1)
    worth = np.take_along_axis(problem.means, best[:, :batch], axis=1).sum(axis=1)
    found = {
        "negative": (left & (bonus < 0.0)).sum(axis=1) / (n_arms - n_queried),
        "negative_top": (top < 0.0).mean(axis=1),
        "spread": bonus[left].reshape(len(rows), -1).std(axis=1) / (0.5 * optimism),
        "pessimistic": (promised < worth - ROUNDING).astype(np.float64),
    }
    base = {"check": "bonus", "series": queries, "n_features": d, "batch": batch, "optimism": optimism}
    return pd.DataFrame(base | {"n_queried": n_queried, "replication": rows, "rounds": 1} | found)


def _optimism_block(
    check: str, omega: float, n_arms: int, d: int, batch: int, rounds: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = SphereArms(n_arms, d, omega, seed)
    policy = LinearOae("OAE", batch, rounds) if omega == 0.0 else EllipsoidOae("OAE", batch, rounds, omega=omega)
    monitor, _ = observed_run(policy, law, rows, seed, enumerate_batches=check == "enumeration")
    best, hope, most = (monitor.table(name) for name in ("best", "hope", "most"))
    counted = ~np.isnan(hope)
    found = {
        "rounds": counted.sum(axis=0),
        "pessimistic": (counted & (hope < best - batch * omega - ROUNDING)).sum(axis=0),
    }
    if check == "enumeration":
        found["suboptimal"] = (counted & (hope < most - ROUNDING)).sum(axis=0)
        found["pessimistic_exact"] = (counted & (most < best - batch * omega - ROUNDING)).sum(axis=0)
    base = {"check": check, "series": f"ω = {omega:g}", "omega": omega, "n_features": d, "batch": batch}
    return pd.DataFrame(base | {"replication": rows} | found)


def optimism_rows(
    runs: Mapping[str, Any],
    enumeration: Mapping[str, Any],
    bonus: Mapping[str, Any],
    replications: int,
    seed: int,
    *,
    omegas: Sequence[float] = (0.0,),
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return how often an optimistic linear model promises less than the best batch is worth ([1]_, Lemma D.3).

    Parameters
    ----------
    runs, enumeration : mapping
        ``{n_arms, dimensions, batches, rounds}``: runs of vanilla OAE on random arms. Those of ``enumeration`` have few
        arms, and the alternation is compared with the most that any batch promises.
    bonus : mapping
        ``{n_arms, dimensions, per_feature, optimism, batch}``: what the regularised model with intercept adds after
        ``per_feature * (d + 1)`` random or exploiting queries; see `bonuses`.
    replications : int
        Runs of each cell.
    seed : int
        Seed of the project.
    omegas : sequence of float
        Misspecification of the runs.

    Returns
    -------
    DataFrame
        ``convention, check`` (runs, enumeration, bonus), ``series, n_features, batch, replication, rounds``;
        ``pessimistic``, rounds in which the batch promised less than the best one was worth minus :math:`b\omega`;
        ``suboptimal``, rounds in which the alternation missed the best promise; ``pessimistic_exact``, those in which
        that, too, was too small. For ``bonus``: ``n_queried, optimism``; ``negative`` and ``negative_top``, the shares
        with a negative bonus among the arms left and among the best tenth of them; ``spread``, the standard deviation
        of the bonus in units of its constant part.

    Raises
    ------
    ValueError
        If the arms to enumerate are more than 14 or their batches larger than 3.
    """
    if enumeration["n_arms"] > 14 or max(enumeration["batches"]) > 3:
        raise ValueError("enumeration is for at most 14 arms and batches of at most 3.")
    runs_of = {"runs": runs, "enumeration": enumeration}
    jobs = [
        (check, float(omega), grid["n_arms"], int(d), int(b), grid["rounds"], rows, seed)
        for check, grid in runs_of.items()
        for omega in omegas
        for d in grid["dimensions"]
        for b in grid["batches"]
        for rows in _blocks(replications)
    ]
    bonus_jobs = [
        (queries, bonus["n_arms"], int(d), int(n) * (int(d) + 1), float(optimism), bonus["batch"], rows, seed)
        for queries in ("random", "exploiting")
        for d in bonus["dimensions"]
        for n in bonus["per_feature"]
        for optimism in bonus["optimism"]
        for rows in _blocks(replications)
    ]
    found = [_in_parallel(_optimism_block, jobs, workers), _in_parallel(_bonus_block, bonus_jobs, workers)]
    return pd.concat(found, ignore_index=True)
