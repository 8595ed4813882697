"""Arms with linear responses, runs of exact linear searches on them, and bootstrap means over replications.

Arms are drawn anew for each replication: random unit arms, or copies of the unit vectors. An observer notes the regret
and the promises of a search. Of the paper: Section 4.3, Appendix D.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numba import njit

from bestarm.interface import Arms, Ask, FiniteProblem, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.batch_search import BatchSearch, BatchState
from bestarm.policies.linear.linear_oae import LinearOae
from bestarm.policies.linear.linear_search import LinearSearch, LinearState
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams, standard_normal
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.study import project_seed
from bestarm_studies.oae.landscapes import DrawnArms

FREQUENCY = 40.0
ROUNDING = 1e-8  # smaller differences of sums and distances are none
RESAMPLES = 2000
ORDER = ["Vanilla", "Seq", "DvD", "LogDet", "Greedy", "RandomBatch"]
ORDER += ["Explore then commit", "Guess with a trace", "Mixing, norm known"]


@njit(cache=True)
def _normals(key: np.uint64, replications: IntArray, n: int, d: int) -> FloatArray:
    """Return standard normal draws for each replication, shape (R, n, d)."""
    found = np.empty((len(replications), n, d))
    for r in range(len(replications)):
        for i in range(n):
            for j in range(d):
                found[r, i, j] = standard_normal(key, replications[r], i, j)
    return found


def unit_vectors(key: np.uint64, replications: IntArray, n: int, d: int) -> FloatArray:
    """Return n vectors uniform on the unit sphere for each replication, shape (R, n, d)."""
    drawn = _normals(key, np.asarray(replications, dtype=np.int64), n, d)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=2, keepdims=True))


@dataclass(frozen=True)
class SphereArms(DrawnArms):
    r"""Random unit arms, :math:`y=\theta^\top a+\omega\,\mathrm{sign}\sin(40w^\top a)`; unit vectors are uniform."""

    n_arms: int
    n_features: int
    omega: float = 0.0
    seed: int = 0
    data: str = "synthetic"

    def __post_init__(self) -> None:
        if self.n_arms < 2 or self.n_features < 1 or not 0.0 <= self.omega < np.inf:
            raise ValueError(
                "n_arms must be at least 2, n_features at least 1 and omega at least 0, "
                f"got {self.n_arms}, {self.n_features} and {self.omega}."
            )

    @property
    def label(self) -> str:
        """Name of the law; the same arms for every misspecification."""
        return f"sphere, {self.n_arms} arms, d = {self.n_features}"

    def parameters(self, replications: IntArray) -> FloatArray:
        r"""Return :math:`\theta`, shape (R, d)."""
        key = Streams(self.seed, self.label, replications).key("parameter")
        return np.asarray(unit_vectors(key, replications, 1, self.n_features)[:, 0])

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        x = unit_vectors(streams.key("arms"), streams.replications, self.n_arms, self.n_features)
        means = np.einsum("rad,rd->ra", x, self.parameters(streams.replications))
        if self.omega > 0.0:
            w = unit_vectors(streams.key("wave"), streams.replications, 1, self.n_features)[:, 0]
            means += self.omega * np.sign(np.sin(FREQUENCY * np.einsum("rad,rd->ra", x, w)))
        return NoiselessArms(self.label, x, means)


@dataclass(frozen=True)
class CloneArms(DrawnArms):
    r"""``copies`` of each of the d unit vectors, with differences of deviation ``perturbation``, :math:`y=\theta^\top
    a`. Arm ``a`` is a copy of number ``a // copies``."""

    n_features: int
    copies: int
    perturbation: float = 1e-6
    seed: int = 0
    data: str = "synthetic"

    def __post_init__(self) -> None:
        if self.n_features < 1 or self.copies < 1 or self.n_features * self.copies < 2 or not self.perturbation >= 0:
            raise ValueError(
                "there must be at least two arms and the perturbation be at least 0, got "
                f"n_features {self.n_features}, copies {self.copies}, perturbation {self.perturbation}."
            )

    @property
    def label(self) -> str:
        """Name of the law; the same parameters whatever the number of copies."""
        return f"clones, d = {self.n_features}"

    def parameters(self, replications: IntArray) -> FloatArray:
        r"""Return :math:`\theta`, uniform on the unit sphere, shape (R, d)."""
        key = Streams(self.seed, self.label, replications).key("parameter")
        return np.asarray(unit_vectors(key, replications, 1, self.n_features)[:, 0])

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms of some replications, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        n = self.n_features * self.copies
        x = self.perturbation * _normals(streams.key("arms"), streams.replications, n, self.n_features)
        x += np.repeat(np.eye(self.n_features), self.copies, axis=0)
        return NoiselessArms(self.label, x, np.einsum("rad,rd->ra", x, self.parameters(streams.replications)))


@dataclass
class RegretObserver(Observed):
    """A batch search under observation, with the same choices; no replication may stop before another.
    ``rounds`` has ``regret``; ``best``, the best batch that could be had; ``known``, whether all directions are;
    ``hope`` and with ``enumerate_batches`` ``most``, what the batch and any batch promise; ``wide``, shape (R,
    n_epsilons). NaN where there is no basis or promise."""

    problem: FiniteProblem
    enumerate_batches: bool = False
    epsilons: tuple[float, ...] = ()
    rounds: list[dict[str, FloatArray]] = field(default_factory=list)

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        self.rounds.clear()
        state: BatchState = super().start(arms, streams)
        return state

    def ask(self, state: BatchState) -> Ask:
        """Let the policy choose, and note what the choice is worth."""
        asked = super().ask(state)
        if asked.counts.any():
            size, means = asked.arms.shape[1], np.broadcast_to(self.problem.means, state.available.shape)
            kept = -np.partition(-np.where(state.available, means, -np.inf), size - 1, axis=1)[:, :size]
            best = kept.sum(axis=1)
            nothing = np.full(len(best), np.nan)
            found = {"best": best, "hope": nothing, "most": nothing, "known": nothing}
            found["wide"] = np.full((len(best), len(self.epsilons)), np.nan)
            if isinstance(state, LinearState):
                found |= {"hope": state.hope, "known": (state.rank == state.estimate.shape[1]).astype(np.float64)}
                if self.enumerate_batches and isinstance(self.policy, LinearOae) and not np.isnan(state.hope).any():
                    found["most"] = largest_promise(*self.policy.plausible(state), state, size)
                if self.epsilons and isinstance(self.policy, LinearSearch):
                    width = self.policy.width(state, asked.arms)[:, :, None]
                    found["wide"] = ((width > np.array(self.epsilons)) & (asked.counts > 0)[:, :, None]).sum(axis=1)
            regret = best - np.take_along_axis(means, asked.arms, axis=1).sum(axis=1)
            self.rounds.append(found | {"regret": regret})
        return asked

    def table(self, name: str) -> FloatArray:
        """Return a finding, shape (rounds, R), or (rounds, R, n_epsilons) for ``wide``."""
        return np.array([found[name] for found in self.rounds])


def largest_promise(centre: FloatArray, widths: FloatArray, state: BatchState, size: int) -> FloatArray:
    r"""Return the largest :math:`\hat\theta^\top s+\|Ms\|` of any batch of available arms, by enumeration, shape (R,).
    Plausible parameters: ``centre`` (R, d), ``widths`` (R, d, d), see `bestarm.policies.linear.linear_batches`."""
    batches = np.array(list(combinations(range(state.available.shape[1]), size)))
    sums = state.features[state.feature_set][:, batches].sum(axis=2)
    wide = sums @ widths.swapaxes(1, 2)
    values = (sums @ centre[:, :, None])[:, :, 0] + np.linalg.norm(wide, axis=2)
    return np.asarray(np.where(state.available[:, batches].all(axis=2), values, -np.inf).max(axis=1))


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


def rows_in_parallel(function: Callable[..., pd.DataFrame], jobs: list[tuple[Any, ...]], workers: int) -> pd.DataFrame:
    """Return the rows of all jobs, in their order; they do not depend on the number of workers."""
    with joblib.parallel_config(backend="loky" if workers > 1 else "sequential", n_jobs=workers):
        frames = joblib.Parallel()(joblib.delayed(function)(*job) for job in jobs)
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic")


def rows_as_written(test: Test, tables: Rows) -> pd.DataFrame:
    rows = pd.concat([tables[name] for name in test.get("experiments", [test.get("experiment")])], ignore_index=True)
    return rows[rows["convention"] == "as_written"]


def resampled_means(rows: pd.DataFrame, cells: Sequence[str], value: str) -> tuple[pd.DataFrame, FloatArray]:
    """Return the cells, and their means, shape (1 + ``RESAMPLES``, n_cells): as observed, then of bootstrap samples.
    Replications are drawn as a whole, as cells share arms."""
    table = rows.pivot_table(index=list(cells), columns="replication", values=value)
    rng, n = np.random.default_rng(project_seed()), table.shape[1]
    weights = np.concatenate([np.ones((1, n)), rng.multinomial(n, np.full(n, 1.0 / n), RESAMPLES)]) / n
    return table.index.to_frame(index=False), weights @ table.to_numpy().T
