"""An observer of searches over cells: it makes the same choices and writes down the tree at every round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.partition import Partition
from bestarm.streams import Streams


@dataclass(frozen=True)
class TreeMonitor:
    """A policy over cells under observation.

    Parameters
    ----------
    policy : Policy
        What searches; its state has the arrays of a `bestarm.designs.partition_tree.PartitionTree`.
    look : callable
        Called with the state in every round, after the choice and before the reward: line 3 of Algorithm 1 of GPOO. The
        last call is after the last reward.
    """

    policy: Any
    look: Callable[[Any], None]

    @property
    def label(self) -> str:
        """Name of the policy."""
        return str(self.policy.label)

    def start(self, arms: Partition, streams: Streams) -> Any:
        """Return the policy's state before the first evaluation."""
        return self.policy.start(arms, streams)

    def ask(self, state: Any) -> Ask:
        """Let the policy choose, and look."""
        asked: Ask = self.policy.ask(state)
        self.look(state)
        return asked

    def tell(self, state: Any, asked: Ask, totals: FloatArray) -> None:
        """Pass the rewards on."""
        self.policy.tell(state, asked, totals)

    def finished(self, state: Any) -> BoolArray:
        """Return which replications have stopped."""
        found: BoolArray = self.policy.finished(state)
        return found

    def recommend(self, state: Any) -> IntArray:
        """Return what the policy recommends."""
        found: IntArray = self.policy.recommend(state)
        return found
