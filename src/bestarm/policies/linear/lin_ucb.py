r"""LinUCB with a fixed budget: the baseline of the GSE paper for linear rewards, shared or disjoint.

References
----------
.. [1] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Section 8.
.. [2] Li, Chu, Langford, Schapire. "A Contextual-Bandit Approach to Personalized News Article Recommendation". WWW
   2010. Algorithm 1.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, shared
from bestarm.policies.linear import arm_space
from bestarm.policies.linear.arm_space import ArmSpace
from bestarm.policies.linear.fixed_budget import check_budget, largest, most_pulled
from bestarm.settings import check_settings
from bestarm.streams import Streams

_CODED_RISK = 0.001


@njit(cache=True)
def choose_optimistic(
    means: FloatArray,
    variances: FloatArray,
    alpha: float,
    in_order: bool,
    key: np.uint64,
    replications: IntArray,
    spent: IntArray,
    arms: IntArray,
) -> None:
    """Write the arm with the largest mean + alpha sqrt(variance) of every replication, shape (R, 1)."""
    n_replications, n_arms = means.shape
    index, everything = np.empty(n_arms), np.ones(n_arms, dtype=np.bool_)
    for r in range(n_replications):
        for k in range(n_arms):
            # the optimistic reward: mean + alpha |x|_{A^-1}
            index[k] = means[r, k] + alpha * np.sqrt(max(variances[r, k], 0.0))
        arms[r, 0] = largest(index, everything, in_order, key, replications[r], spent[r], 0)


@njit(cache=True)
def learn_disjoint(
    variances: FloatArray, means: FloatArray, pulls: IntArray, arms: IntArray, counts: IntArray, totals: FloatArray
) -> None:
    """Update the pulled arm alone, in place: ridge regression on its own rewards."""
    for r in range(len(means)):
        for j in range(arms.shape[1]):
            n, a = counts[r, j], arms[r, j]
            if n == 0 or np.isnan(totals[r, j]):
                continue
            gain = n * variances[r, a] / (1.0 + n * variances[r, a])
            means[r, a] += gain * (totals[r, j] / n - means[r, a])
            variances[r, a] -= gain * variances[r, a]
            pulls[r, a] += n


@dataclass(kw_only=True)
class LinUcbState(ArmSpace):
    r"""The state of LinUCB for R replications; if disjoint only ``variances``, :math:`x_i^\top A_i^{-1} x_i`."""

    means: FloatArray  # estimated means, (R, K)
    pulls: IntArray  # successful pulls of each arm, (R, K)
    spent: IntArray  # pulls that were asked for, failed ones included, (R,)
    replications: IntArray
    key: np.uint64 = shared()


@dataclass(frozen=True)
class LinUcb:
    r"""LinUCB ([2]_) that stops when its budget is spent and returns the most pulled arm ([1]_, Section 8).

    Pulls the arm with the largest :math:`x^\top\hat\theta + \alpha\sqrt{x^\top A^{-1}x}`, where :math:`A = \rho I +
    \sum x x^\top` and :math:`\hat\theta = A^{-1}\sum x y`; all arms share it. The first pull, without data, is of a
    longest arm. Raises ValueError for a value out of range.

    Parameters
    ----------
    budget : int
        Pulls, at least 1.
    label : str
        Name in the paper; keys the random ties.
    alpha : float, optional
        Exploration, in units of reward; default :math:`1+\sqrt{\ln(2/\delta)/2}` ([2]_).
    delta : float
        Risk in (0, 1) behind the default of ``alpha``.
    regulariser : float
        :math:`\rho > 0`; 1 in [2]_.
    disjoint : bool
        *Deviation*: one ridge regression for each arm, so that no arm tells anything of another; the authors' code.
    ties_in_order : bool
        *Deviation*: of equal arms take the first, as the authors' code does; so the order of the arms matters.
    """

    budget: int
    label: str = "LinUCB"
    alpha: float | None = None
    delta: float = 0.05
    regulariser: float = 1.0
    disjoint: bool = False
    ties_in_order: bool = False

    def __post_init__(self) -> None:
        check_settings(self, shares=("delta",), alpha=0, regulariser=1e-12)
        check_budget(self.label, self.budget)

    @property
    def exploration(self) -> float:
        """The factor of the bonus."""
        return 1.0 + float(np.sqrt(np.log(2.0 / self.delta) / 2.0)) if self.alpha is None else self.alpha

    def as_coded(self) -> "LinUcb":
        """Return the algorithm with the named deviations of the authors' code, and its alpha, about 0.513."""
        alpha = 1.0 / float(np.sqrt(np.log(2.0 / _CODED_RISK) / 2.0))
        return replace(self, alpha=alpha, regulariser=1.0, disjoint=True, ties_in_order=True)

    def start(self, arms: Arms, streams: Streams) -> LinUcbState:
        """Return the state before the first pull."""
        n_replications = len(streams.replications)
        features, feature_set = arms.feature_sets(n_replications)
        gram = features @ features.transpose(0, 2, 1)
        known: dict[str, Any] = arm_space.start((gram / self.regulariser)[feature_set])
        if self.disjoint:
            known |= {name: known[name][:, :0] for name in ("gram", "recent", "core", "members")}
        return LinUcbState(
            **known,
            means=np.zeros((n_replications, arms.n_arms)),
            pulls=arms.no_pulls(n_replications),
            spent=np.zeros(n_replications, dtype=np.int64),
            replications=streams.replications,
            key=streams.key(f"ties of {self.label}"),
        )

    def ask(self, state: LinUcbState) -> Ask:
        """Choose the most optimistic arm where budget is left."""
        arms = np.empty((len(state.means), 1), dtype=np.int64)
        choose_optimistic(
            state.means, state.variances, self.exploration, self.ties_in_order, state.key, state.replications,
            state.spent, arms,
        )  # fmt: skip
        return Ask(arms, (state.spent < self.budget)[:, None].astype(np.int64))

    def tell(self, state: LinUcbState, asked: Ask, totals: FloatArray) -> None:
        """Update the estimates; a total that is NaN (a failed evaluation) teaches nothing and costs its pulls."""
        state.spent += asked.counts.sum(axis=1)
        if self.disjoint:
            learn_disjoint(state.variances, state.means, state.pulls, asked.arms, asked.counts, totals)
        else:
            arm_space.learn(state, state.means, state.pulls, asked, totals)

    def finished(self, state: LinUcbState) -> BoolArray:
        """Return which replications have spent their budget."""
        return state.spent >= self.budget

    def recommend(self, state: LinUcbState) -> IntArray:
        """Return the most pulled arm, shape (R, 1)."""
        return most_pulled(state.pulls, self.ties_in_order, state.key, state.replications, state.spent, 1)
