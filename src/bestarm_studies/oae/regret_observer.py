"""An observer of batch searches: the regret of each batch, and what an optimistic linear search was promised.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Section 4.3,
   Appendix D.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from bestarm.interface import Arms, Ask, FiniteProblem, FloatArray
from bestarm.observe import Observed
from bestarm.policies.batch_search import BatchState
from bestarm.policies.linear_oae import LinearOae
from bestarm.policies.linear_search import LinearSearch, LinearState
from bestarm.streams import Streams


@dataclass
class RegretObserver(Observed):
    """A batch search under observation; it makes the same choices.

    Parameters
    ----------
    policy : BatchSearch
        What searches; no replication may stop before another.
    problem : FiniteProblem
        What is searched.
    enumerate_batches : bool
        Whether to compare what a `LinearOae` was promised with the most that any batch promises.
    epsilons : tuple of float
        Widths above which arms of the batch are counted.

    Attributes
    ----------
    rounds : list of dict
        For each round and replication: ``regret``, the best batch that could be had minus the batch; ``best``, what the
        former is worth; ``known``, whether all directions are (NaN for a policy that keeps no basis); ``hope``, what
        the batch promised, NaN where nothing was promised; ``most``, the most that any batch promises; ``wide``, shape
        (R, n_epsilons), arms of the batch at which plausible functions differed by more than each of ``epsilons``.
    """

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
    r"""Return the largest :math:`\hat\theta^\top s+\|Ms\|` of any batch, by enumeration, shape (R,).

    Parameters
    ----------
    centre, widths : ndarray, shapes (R, d) and (R, d, d)
        The plausible parameters, see `bestarm.policies.linear_batches`.
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
