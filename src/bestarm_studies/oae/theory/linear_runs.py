"""Runs of exact linear searches, an observer of their regret and promises, and bootstrap means over replications.

Of the paper: Section 4.3, Appendix D.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import pandas as pd

from bestarm.interface import Arms, Ask, FiniteProblem, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.policies.batch_search import BatchSearch, BatchState
from bestarm.policies.linear.linear_oae import LinearOae
from bestarm.policies.linear.linear_search import LinearSearch, LinearState
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.study import project_seed
from bestarm_studies.oae.theory.sphere_arms import CloneArms, SphereArms


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
        """Start the policy."""
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
    ``centre`` (R, d) and ``widths`` (R, d, d) are the plausible parameters, see
    `bestarm.policies.linear.linear_batches`."""
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


def rows_in_parallel(
    function: Callable[..., pd.DataFrame], jobs: Sequence[tuple[Any, ...]], workers: int
) -> pd.DataFrame:
    """Return the rows of all jobs, in their order; they do not depend on the number of workers."""
    with joblib.parallel_config(backend="loky" if workers > 1 else "sequential", n_jobs=workers):
        frames = joblib.Parallel()(joblib.delayed(function)(*job) for job in jobs)
    return pd.concat(frames, ignore_index=True).assign(convention="as_written", data="synthetic")


Tables = Mapping[str, pd.DataFrame]  # experiment to its rows
RESAMPLES = 2000


def rows_as_written(test: Mapping[str, Any], tables: Tables) -> pd.DataFrame:
    names = test.get("experiments", [test.get("experiment")])
    rows = pd.concat([tables[name] for name in names], ignore_index=True)
    return rows[rows["convention"] == "as_written"]


def resampled_means(rows: pd.DataFrame, cells: Sequence[str], value: str) -> tuple[pd.DataFrame, FloatArray]:
    """Return the cells, and their means, shape (1 + ``RESAMPLES``, n_cells): as observed, then of bootstrap samples.
    Replications are drawn as a whole, as cells share arms."""
    table = rows.pivot_table(index=list(cells), columns="replication", values=value)
    rng, n = np.random.default_rng(project_seed()), table.shape[1]
    weights = np.concatenate([np.ones((1, n)), rng.multinomial(n, np.full(n, 1.0 / n), RESAMPLES)]) / n
    return table.index.to_frame(index=False), weights @ table.to_numpy().T


ORDER = ["Vanilla", "Seq", "DvD", "LogDet", "Greedy", "RandomBatch"]
ORDER += ["Explore then commit", "Guess with a trace", "Mixing, norm known"]
