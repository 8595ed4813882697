r"""The design in arm space with many arms: an update in O(K p) where the plain recursion takes O(K^2).

After pulls of p different arms since :math:`G` was last written, the present matrix is :math:`G-WMW^\top` with the p
columns W of G that belong to these arms, and a symmetric M of p rows, whatever the number of pulls. A pull of arm a,
the q-th of them, has the column :math:`c=Wu`, :math:`u=e_q-MW_a^\top`, and adds :math:`\gamma uu^\top` to M with
:math:`\gamma=n/(1+nc_a)`. When there is no room for another arm, G is written anew by one product of matrices.
Searches that settle on a few arms hardly ever need that.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from bestarm.interface import Ask, FloatArray, IntArray
from bestarm.policies.linear.gifa_round import learn as learn_plainly

_ROOM = 16
_MANY = 48  # arms: with fewer the plain recursion is faster


@dataclass(kw_only=True)
class ArmSpace:
    r"""The part of a policy's state that knows :math:`x_i^\top V^{-1}x_j`, of R replications."""

    gram: FloatArray  # the matrix when it was last written; the present one with fewer than 48 arms, (R, K, K)
    variances: FloatArray  # the present diagonal, (R, K)
    recent: FloatArray  # W transposed, (R, p, K); no room, p = 0, with fewer than 48 arms
    core: FloatArray  # M, (R, p, p)
    members: IntArray  # the arms of W, (R, p)
    n_members: IntArray  # how many there are, (R,)


def start(gram: FloatArray) -> dict[str, FloatArray | IntArray]:
    """Return the fields of `ArmSpace` for these matrices, shape (R, K, K)."""
    n, n_arms = gram.shape[:2]
    room = _ROOM if n_arms >= _MANY else 0
    return {
        "gram": gram,
        "variances": np.einsum("rkk->rk", gram).copy(),
        "recent": np.zeros((n, room, n_arms)),
        "core": np.zeros((n, room, room)),
        "members": np.zeros((n, room), dtype=np.int64),
        "n_members": np.zeros(n, dtype=np.int64),
    }


def learn(state: ArmSpace, means: FloatArray, pulls: IntArray, asked: Ask, totals: FloatArray) -> None:
    """Update the matrix, the means and the counts of pulls, in place; a total that is NaN teaches nothing."""
    if state.recent.shape[1] == 0:
        learn_plainly(state.gram, means, pulls, asked.arms, asked.counts, totals, True)
        state.variances[:] = np.einsum("rkk->rk", state.gram)
        return
    design = state.gram, state.variances, state.recent, state.core, state.members, state.n_members
    _learn(*design, means, pulls, asked, totals)


def present(state: ArmSpace) -> FloatArray:
    """Return the present matrix, shape (R, K, K)."""
    return state.gram - state.recent.transpose(0, 2, 1) @ state.core @ state.recent


@njit(cache=True)
def _learn(
    gram: FloatArray,
    variances: FloatArray,
    recent: FloatArray,
    core: FloatArray,
    members: IntArray,
    n_members: IntArray,
    means: FloatArray,
    pulls: IntArray,
    asked: Ask,
    totals: FloatArray,
) -> None:
    """Learn the rewards of a round in place, by the recursion of the module."""
    arms, counts = asked
    room, n_arms = recent.shape[1:]
    u, column = np.empty(room), np.empty(n_arms)
    for r in range(len(means)):
        for k in range(arms.shape[1]):
            n, a = counts[r, k], arms[r, k]
            if n == 0 or np.isnan(totals[r, k]):
                continue
            # q is the place of arm a among the columns of W
            m, q = n_members[r], 0
            while q < m and members[r, q] != a:
                q += 1
            if q == room:  # no room for another arm: G - W M W' is written anew
                gram[r] -= recent[r].T @ (core[r] @ recent[r])
                recent[r], core[r] = 0.0, 0.0
                m, q = 0, 0
            if q == m:  # a new column of W
                recent[r, q], members[r, q] = gram[r, a], a
                m += 1
                n_members[r] = m
            # u = e_q - M W_a', and the column c = W u of the present matrix
            for i in range(m):
                u[i] = 0.0
                for j in range(m):
                    u[i] -= core[r, i, j] * recent[r, j, a]
            u[q] += 1.0
            column[:] = 0.0
            for j in range(m):
                for i in range(n_arms):
                    column[i] += u[j] * recent[r, j, i]
            gain = n / (1.0 + n * column[a])  # gamma = n / (1 + n c_a): the update of Sherman and Morrison for n pulls
            surprise = gain * (totals[r, k] / n - means[r, a])
            for i in range(n_arms):
                means[r, i] += column[i] * surprise
                variances[r, i] -= gain * column[i] * column[i]
            for i in range(m):  # M + gamma u u'
                for j in range(m):
                    core[r, i, j] += gain * u[i] * u[j]
            pulls[r, a] += n
