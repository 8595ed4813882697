"""The event of GPOO's analysis on draws of the prior (Lemma 1), and the bounds that hold in it (Lemmas 3 and 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.designs.partition_tree import EXPANDED
from bestarm.interface import Ask, FloatArray
from bestarm.models.cell_posterior import CellPosterior, introduce, new_posterior, observe
from bestarm.observe import Observed
from bestarm.partition import Partition
from bestarm.policies.cells.cell_search import noise_of_average
from bestarm.policies.cells.gpoo import Gpoo, GpooState
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.figures.figures import draw_quantiles, headed, runs_text, wide
from bestarm_lab.figures.values import QUANTILES, as_values
from bestarm_studies.gpoo.cell_bandit import CellBandit
from bestarm_studies.gpoo.theory.assumptions import largest_slopes, lipschitz_scale, ranges

LEMMAS = {
    "optimality_share": "Lemma 3",
    "draws_share": "Lemma 4 as printed",
    "draws_share_mended": "Lemma 4, one draw more",
    "regret_share": "regret over 3δ",
}


@dataclass
class EventObserver(Observed):
    r"""GPOO under observation; it makes the same choices.
    It keeps the posterior of all cells down to depth :math:`h_{\max}+1`, the deepest that can be evaluated, and
    compares those down to :math:`h_{\max}` with the truth of ``problem`` in every round; no replication may stop before
    another. ``largest_share``, shape (R,): largest :math:`|\mu-\bar F|/CI_t`, at most 1 where :math:`\xi_2` holds."""

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


def event_rows(
    searches: Mapping[str, tuple[partial[Gpoo], partial[CellBandit]]], replications: int, seed: int, *, workers: int = 1
) -> pd.DataFrame:
    r"""Return, for each run on a draw of the prior, whether the event held and how far the lemmas' bounds were used.
    The scale of :math:`\delta` is the one that Assumption 3 needs for the steepest of the drawn functions.
    ``event_share``: the largest :math:`|\mu-\bar F|/CI_t`; ``optimality_share``: the largest :math:`(f^*-\bar
    F)/3\delta(h)` of a divided cell (Lemma 3) for which :math:`3\delta(h)` is less than f varies; ``draws_share``: the
    largest :math:`T/(\beta_N\sigma^2/\delta(h)^2)` (Lemma 4). The lemmas' shares are 0 where the event did not hold."""
    calls = [joblib.delayed(_event_rows)(series, *search, replications, seed) for series, search in searches.items()]
    return pd.concat(joblib.Parallel(n_jobs=max(1, min(workers, len(calls))))(calls), ignore_index=True)


def _event_rows(
    series: str, policy_of: partial[Gpoo], problem_of: partial[CellBandit], replications: int, seed: int
) -> pd.DataFrame:
    problem = problem_of(replications, seed)
    slope = float(largest_slopes(problem).max())
    policy = policy_of(delta_scale=lipschitz_scale(slope, problem.partition.n_representatives))
    streams = Streams.first(replications, seed=seed, instance=problem.label)
    observer = EventObserver(policy, problem)
    simulate(observer, problem, streams, metrics={})
    state, best = observer.state, problem.best[1]
    divided = state.status == EXPANDED
    truth = problem.cell_values(np.where(divided, state.cells, 0))
    delta = policy.delta(state.depths)
    most = policy.beta_of(state.n_rounds, 2)[:, None] * policy.noise_variance / delta**2
    recommended = policy.recommend(state)
    regret = best - problem.cell_values(recommended)[:, 0]
    held = observer.largest_share <= 1.0
    bounds, bound = 3.0 * delta, 3.0 * policy.delta(problem.partition.depth(recommended)[:, 0])
    binding = divided & (bounds < ranges(problem)[:, None])  # a larger bound holds of any cell

    def share(values: FloatArray, among: Any = divided, held: Any = held) -> FloatArray:
        return np.where(held, np.where(among, values, 0.0).max(axis=1), 0.0)

    return pd.DataFrame(
        {
            "convention": "as_written",
            "series": series,
            "replication": np.arange(replications),
            "budget": policy.budget,
            "regret": regret,
            "event_share": observer.largest_share,
            "optimality_share": share((best[:, None] - truth) / bounds, binding),
            "optimality_binds": binding.any(axis=1),
            "draws_share": share(state.draws / most),
            "draws_share_mended": share(state.draws / (most + 1.0)),
            "regret_share": np.where(held, regret / bound, 0.0),
            "regret_binds": bound < ranges(problem),
        }
    )


def lemma_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the largest part of each lemma's bound that is used by any run in which the event held."""
    held = rows[rows["event_share"] <= 1.0].groupby("series", sort=False)[list(LEMMAS)].max().rename(columns=LEMMAS)
    tidy = held.rename_axis("series").reset_index().melt("series", var_name="x", value_name="value")
    return as_values(tidy, panel="lemmas", statistic="largest", n=rows["replication"].nunique(), profile=profile)


def share_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the distribution of the largest error in units of its width, and how often it stays below 1."""
    shares = rows.groupby("series", sort=False)["event_share"]
    found = {name: shares.quantile(q) for name, q in QUANTILES.items()} | {"largest": shares.max()}
    found["share of runs in the event"] = (rows["event_share"] <= 1.0).groupby(rows["series"], sort=False).mean()
    table = pd.DataFrame(found).rename_axis(columns="statistic").stack().reset_index().rename(columns={0: "value"})
    return as_values(table, n=table["series"].map(shares.size()), panel="event", x="", profile=profile)


def event_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return the distribution over runs of the largest error in units of its width, one line for each series."""
    figure, axis = plt.subplots(figsize=wide(1, 2.2))
    draw_quantiles(axis, values, list(dict.fromkeys(values["series"])))
    axis.axvline(1.0, color="black", ls="--", lw=1.0)
    axis.set(xlabel="largest error of a run, in units of its width; dashed: the width itself", xlim=(0.0, None))
    return headed(figure, title, runs_text(values["n"]), "thick: quartiles, thin: 5% to 95%, tick: largest", setting)
