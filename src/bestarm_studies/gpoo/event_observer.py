r"""An observer of GPOO that follows every cell down to some depth: does the event of the analysis hold?

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bestarm.interface import Ask, FloatArray
from bestarm.models.cell_posterior import CellPosterior, introduce, new_posterior, observe
from bestarm.observe import Observed
from bestarm.partition import Partition
from bestarm.policies.cells.cell_search import noise_of_average
from bestarm.policies.cells.gpoo import Gpoo, GpooState
from bestarm.streams import Streams
from bestarm_studies.gpoo.cell_bandit import CellBandit


@dataclass
class EventObserver(Observed):
    r"""GPOO under observation; it makes the same choices.

    Beside the policy's own tree it keeps the posterior of all cells down to depth :math:`h_{\max}+1`, the deepest that
    can be evaluated, and compares those down to :math:`h_{\max}` with the truth in every round.

    Parameters
    ----------
    policy : Gpoo
        What searches; no replication may stop before another.
    problem : CellBandit
        What is searched, for the truth.

    Attributes
    ----------
    largest_share : ndarray, shape (R,)
        Largest :math:`|\mu-\bar F|/CI_t` over all rounds and cells; :math:`\xi_2` holds where it is at most 1.
    state : GpooState
        The policy's state, as it stands.
    """

    policy: Gpoo
    problem: CellBandit
    largest_share: FloatArray = field(init=False)
    state: GpooState = field(init=False)
    all_cells: CellPosterior = field(init=False)
    truth: FloatArray = field(init=False)

    def start(self, arms: Partition, streams: Streams) -> GpooState:
        """Start the policy, and the posterior of all cells."""
        self.state = super().start(arms, streams)
        n, n_cells = len(streams.replications), int(arms.cell(self.policy.max_depth + 2, 0))
        fields = new_posterior(
            streams.replications, self.policy.budget, self.state.covariance, self.state.key, capacity=n_cells
        )
        self.all_cells = CellPosterior(**fields)
        self.all_cells.cells[:], self.all_cells.n_nodes[:] = np.arange(n_cells), n_cells
        self.all_cells.depths[:] = arms.depth(np.arange(n_cells))
        introduce(self.all_cells, *np.divmod(np.arange(n * n_cells), n_cells))
        self.truth = self.problem.cell_values(self.all_cells.cells)
        self.largest_share = np.zeros(n)
        return self.state

    def ask(self, state: GpooState) -> Ask:
        """Let the policy choose, and compare all cells with the truth: the posterior is that of the rewards before."""
        asked = super().ask(state)
        searching = state.n_rounds < self.policy.budget
        n_cells = int(state.partition.cell(self.policy.max_depth + 1, 0))
        widths = self.policy.widths_of(
            self.all_cells.variances, self.all_cells.depths, state.n_rounds[:, None] + 1, state.partition
        )
        shares = np.abs(self.all_cells.means - self.truth)[:, :n_cells] / widths[:, :n_cells]
        self.largest_share = np.where(searching, np.maximum(self.largest_share, shares.max(axis=1)), self.largest_share)
        return asked

    def tell(self, state: GpooState, asked: Ask, totals: FloatArray) -> None:
        """Pass the rewards on; in the posterior of all cells a cell's slot is its heap number."""
        super().tell(state, asked, totals)
        noise = noise_of_average(state.partition, state.partition.depth(asked.arms[:, 0]), self.policy.noise_variance)
        observe(self.all_cells, asked.arms[:, 0], totals[:, 0], noise)
