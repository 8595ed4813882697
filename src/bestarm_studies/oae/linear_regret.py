"""Regret of linear batch searches where their model is exact, or wrong by a known error.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 4.3,
   Theorem 4.1, Proposition D.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm.interface import IntArray
from bestarm.policies.batch_search import BatchSearch
from bestarm.policies.linear_oae import EllipsoidOae
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.oae.eluder_dimension import eluder_bounds
from bestarm_studies.oae.regret_observer import RegretObserver
from bestarm_studies.oae.sphere_arms import ROUNDING, CloneArms, SphereArms

_BLOCK = 100
Law = SphereArms | CloneArms


def observed_run(
    policy: BatchSearch,
    law: Law,
    replications: IntArray,
    seed: int,
    *,
    enumerate_batches: bool = False,
    epsilons: Sequence[float] = (),
) -> tuple[RegretObserver, NoiselessArms]:
    """Run a search on a law's arms for some replications; return what was observed, and the arms."""
    problem = law.take(replications)
    observer = RegretObserver(policy, problem, enumerate_batches, tuple(epsilons))
    simulate(observer, problem, Streams(seed, law.label, replications), metrics={}, every=1)
    return observer, problem


def replication_blocks(replications: int) -> list[IntArray]:
    """Return the numbers of the replications in blocks that one job runs."""
    return [np.arange(start, min(start + _BLOCK, replications)) for start in range(0, replications, _BLOCK)]


def rows_in_parallel(
    function: Callable[..., pd.DataFrame], jobs: Sequence[tuple[Any, ...]], workers: int
) -> pd.DataFrame:
    """Return the rows of all jobs, in their order; they do not depend on the number of workers."""
    with joblib.parallel_config(backend="loky" if workers > 1 else "sequential", n_jobs=workers):
        frames = joblib.Parallel()(joblib.delayed(function)(*job) for job in jobs)
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic")


def _instance(name: str, n_arms: int, d: int, batch: int, seed: int) -> Law:
    return SphereArms(n_arms, d, seed=seed) if name == "sphere" else CloneArms(d, 4 * batch, seed=seed)


def _burn_in_block(
    label: str,
    search: Callable[..., BatchSearch],
    instance: str,
    n_arms: int,
    d: int,
    batch: int,
    epsilons: Sequence[float],
    rows: IntArray,
    seed: int,
) -> pd.DataFrame:
    law = _instance(instance, n_arms, d, batch, seed)
    policy = search(label=label, batch=batch, rounds=2 * d)
    observer, _ = observed_run(policy, law, rows, seed, epsilons=epsilons)
    regret, known = observer.table("regret"), observer.table("known")
    needed = np.where(np.isnan(known[0]), np.nan, (known == 0.0).sum(axis=0))  # rounds begun without full knowledge
    found = {
        "series": label,
        "instance": instance,
        "n_features": d,
        "batch": batch,
        "replication": rows,
        "regret": regret.sum(axis=0),
        "late_regret": regret[d + d // 2 :].sum(axis=0),
        "rounds_needed": needed,
    }
    wide = observer.table("wide").sum(axis=0)
    return pd.DataFrame(found | {f"wide_{epsilon:g}": wide[:, i] for i, epsilon in enumerate(epsilons)})


def _eluder_block(
    instance: str, n_arms: int, d: int, batches: Sequence[int], epsilons: Sequence[float], rows: IntArray, seed: int
) -> pd.DataFrame:
    bounds: dict[Law, IntArray] = {}  # random arms are the same for every size of a batch
    frames = []
    for batch in batches:
        law = _instance(instance, n_arms, d, batch, seed)
        if law not in bounds:
            bounds[law] = np.array([eluder_bounds(x, epsilons) for x in law.take(rows).features])
        found = {"instance": instance, "n_features": d, "batch": batch, "replication": rows}
        for i, epsilon in enumerate(epsilons):
            found |= {f"eluder_low_{epsilon:g}": bounds[law][:, 0, i], f"eluder_high_{epsilon:g}": bounds[law][:, 1, i]}
        frames.append(pd.DataFrame(found))
    return pd.concat(frames, ignore_index=True)


def burn_in_rows(
    series: Mapping[str, Callable[..., BatchSearch]],
    replications: int,
    seed: int,
    *,
    instances: Mapping[str, Mapping[str, Sequence[int]]],
    n_arms: int = 2000,
    epsilons: Sequence[float] = (),
    workers: int = 1,
) -> pd.DataFrame:
    r"""Return the regret of 2d batches on exactly linear instances ([1]_, Theorem 4.1 without misspecification).

    Parameters
    ----------
    series : mapping
        Label to the constructor of a batch search, or a partial of it, that still wants ``label, batch, rounds``.
    replications : int
        Runs of each cell.
    seed : int
        Seed of the project.
    instances : mapping
        ``sphere`` (`SphereArms`) or ``clones`` (`CloneArms` with 4b copies) to ``{dimensions: [...], batches: [...]}``.
    n_arms : int
        Random arms of ``sphere``.
    epsilons : sequence of float
        :math:`\epsilon` of Proposition D.4.

    Returns
    -------
    DataFrame
        ``convention, series, instance, n_features, batch, replication``; ``regret``, against the best batch of what was
        left in each round; ``late_regret``, of the last quarter of the rounds; ``rounds_needed`` until all directions
        are known; for each :math:`\epsilon`, ``wide_0.1``, pulls of arms at which plausible functions differed by more
        (NaN for a policy that keeps no basis), and ``eluder_low_0.1``, ``eluder_high_0.1``, bounds on the eluder
        dimension of all arms.

    Raises
    ------
    ValueError
        For an unknown instance.
    """
    if unknown := sorted(set(instances) - {"sphere", "clones"}):
        raise ValueError(f"instances must be sphere or clones, got {', '.join(unknown)}.")
    jobs = [
        (label, search, instance, n_arms, int(d), int(batch), list(epsilons), rows, seed)
        for instance, grid in instances.items()
        for label, search in series.items()
        for d in grid["dimensions"]
        for batch in grid["batches"]
        for rows in replication_blocks(replications)
    ]
    found = rows_in_parallel(_burn_in_block, jobs, workers)
    if not epsilons:
        return found
    arms = [
        (instance, n_arms, int(d), list(grid["batches"]), list(epsilons), rows, seed)
        for instance, grid in instances.items()
        for d in grid["dimensions"]
        for rows in np.array_split(np.arange(replications), min(4, replications))
    ]
    bounds = rows_in_parallel(_eluder_block, arms, workers).drop(columns=["convention", "data"])
    return found.merge(
        bounds, how="left", on=["instance", "n_features", "batch", "replication"], validate="many_to_one"
    )


def _misspecified_block(
    omega: float, n_arms: int, d: int, batch: int, rounds: Sequence[int], starts: int, rows: IntArray, seed: int
) -> pd.DataFrame:
    law = SphereArms(n_arms, d, omega, seed)
    policy = EllipsoidOae("OAE", batch, max(rounds), omega=omega, starts=starts)
    observer, _ = observed_run(policy, law, rows, seed)
    regret = observer.table("regret").cumsum(axis=0)
    missing = observer.table("best")[1:] - batch * omega - observer.table("hope")[1:] > ROUNDING
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
        :math:`\omega`; the algorithm is given it.
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
        for rows in replication_blocks(replications)
    ]
    return rows_in_parallel(_misspecified_block, jobs, workers)
