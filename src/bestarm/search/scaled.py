"""Batch policies with networks, linear functions or nothing, as a search uses them: rewards in units of their spread.

They are policies of the one interface, so that the same code suggests a laboratory's next batch and runs a finished
screen many times over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.models.smooth_gp import SmoothGP
from bestarm.policies.batch_search import BatchSearch, BatchState, RandomBatch, random_order, top_batch
from bestarm.policies.linear_search import LinearSearch, LinearState
from bestarm.streams import Streams


def spread_of(rewards: FloatArray, n_observed: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the rewards told so far, shape (R, 1) each; 0 and 1 where they say nothing.

    Parameters
    ----------
    rewards : ndarray, shape (R, room)
        Rewards, the first ``n_observed`` of each row.
    n_observed : ndarray of int64, shape (R,)
        How many are known.
    """
    known = np.arange(rewards.shape[1]) < n_observed[:, None]
    count = np.maximum(n_observed, 1)[:, None]
    mean = np.where(known, rewards, 0.0).sum(axis=1, keepdims=True) / count
    sd = np.sqrt(np.where(known, (rewards - mean) ** 2, 0.0).sum(axis=1, keepdims=True) / count)
    usable = (n_observed[:, None] > 1) & (sd > 1e-12 * np.maximum(1.0, np.abs(mean)))
    return np.where(usable, mean, 0.0), np.where(usable, sd, 1.0)


MEMBERS = 5  # networks whose mean and spread explain a batch


@dataclass(frozen=True)
class ScaledSearch:
    """A search with networks, linear functions or nothing, where measurements come from outside.

    It differs from its policy in one way: before each choice the rewards told so far are shifted to mean 0 and scaled
    to standard deviation 1 (``scaled``), since an optimism of 0.01 means something else for phenotypes in thousands.

    Parameters
    ----------
    policy : BatchSearch
        What chooses. Linear functions see features divided by the root of their number.
    scaled : bool
        Whether rewards are scaled; without it every batch is that of the policy itself.
    plain : bool
        Whether linear functions see features as they are.
    """

    policy: BatchSearch
    scaled: bool = True
    plain: bool = False

    @property
    def label(self) -> str:
        """Name of the policy."""
        return self.policy.label

    def start(self, arms: Arms, streams: Streams) -> BatchState:
        """Return the state before the first batch."""
        if isinstance(self.policy, LinearSearch) and not self.plain:
            arms = Arms(arms.features / np.sqrt(arms.n_features))
        state: BatchState = self.policy.start(arms, streams)
        return state

    def scaled_state(self, state: BatchState) -> BatchState:
        """Return a copy of a state with scaled rewards, by which the policy chooses."""
        if not self.scaled:
            return replace(state)
        mean, sd = spread_of(state.rewards, state.n_observed)
        return replace(state, rewards=(state.rewards - mean) / sd)

    def ask(self, state: BatchState) -> Ask:
        """Return the next batch; the scores in the state are in units of the scaled reward."""
        copy = self.scaled_state(state)
        asked: Ask = self.policy.ask(copy)
        state.scores, state.diverged = copy.scores, copy.diverged
        return asked

    def tell(self, state: BatchState, asked: Ask, totals: FloatArray) -> None:
        """Learn rewards, of what was asked or of anything else that was measured."""
        self.policy.tell(state, asked, totals)

    def finished(self, state: BatchState) -> BoolArray:
        """Return which replications have spent their rounds or their genes."""
        return self.policy.finished(state)

    def recommend(self, state: BatchState) -> IntArray:
        """Return the best gene measured so far, shape (R, 1)."""
        return self.policy.recommend(state)

    def set_aside(self, state: BatchState, places: IntArray) -> None:
        """Keep some arms from being chosen."""
        state.available[:, places] = False

    def believe(self, state: BatchState, places: IntArray) -> None:
        """Keep arms that are being measured from being chosen; networks do not guess their rewards."""
        self.set_aside(state, places)

    def predicted(self, state: BatchState) -> tuple[FloatArray, FloatArray]:
        """Return the predicted reward of every arm and the standard deviation of the prediction, shape (n_arms,) each.

        Linear functions have their own: centre and half-width of what is plausible. Networks are explained by an
        ensemble of plain networks, its mean and spread; random batches by a Gaussian process, which needs no Torch.
        """
        copy = self.scaled_state(state)
        mean, sd = spread_of(state.rewards, state.n_observed) if self.scaled else (np.zeros((1, 1)), np.ones((1, 1)))
        inner = self.policy
        if isinstance(inner, LinearSearch):
            assert isinstance(copy, LinearState)
            centre, _ = inner.plausible(copy)
            everything = np.arange(copy.available.shape[1])[None]
            found, spread = inner.outputs(copy, centre)[0], inner.width(copy, everything)[0] / 2.0
        elif isinstance(inner, RandomBatch):
            x = state.features[0]
            spread = x.std(axis=0)
            x = (x - x.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
            return SmoothGP().predicted(x, state.arms[0], state.rewards[0], int(state.n_observed[0]))
        else:
            from bestarm.search.choices import explaining_ensemble

            outputs = explaining_ensemble(inner, MEMBERS).ensemble(copy, copy.arms, copy.rewards, copy.n_observed)[0]
            found, spread = outputs.mean(axis=0), outputs.std(axis=0, ddof=1)
        return found * sd[0, 0] + mean[0, 0], spread * sd[0, 0]


def random_batch(streams: Streams, turn: int, available: BoolArray, size: int) -> IntArray:
    """Return random genes, shape (R, size): the first batch of every policy, the same at one seed."""
    order = random_order(streams.key("first batch"), streams.replications, turn, available.shape[1])
    return top_batch(order, available, order, size)


def as_told(policy: Any, state: Any, arms: IntArray, rewards: FloatArray) -> None:
    """Tell one replication the rewards of some arms, shape (n,); NaN where every well failed."""
    policy.tell(state, Ask(arms[None], np.ones_like(arms)[None]), np.ascontiguousarray(rewards[None], dtype=np.float64))
