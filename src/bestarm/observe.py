"""Observers of a policy: the same loop and the same choices, with a record of every round.

An experiment names an observer class; its rows then have the class's ``columns``, found by ``findings``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.streams import Streams


@dataclass
class Observed:
    """A policy under observation; observers of their own override `start`, `ask` or `tell`."""

    policy: Any  # what searches

    @property
    def label(self) -> str:
        """Name of the policy."""
        return str(self.policy.label)

    def start(self, arms: Any, streams: Streams) -> Any:
        """Return the policy's state before the first pull."""
        return self.policy.start(arms, streams)

    def ask(self, state: Any) -> Ask:
        """Let the policy choose."""
        asked: Ask = self.policy.ask(state)
        return asked

    def tell(self, state: Any, asked: Ask, totals: FloatArray) -> None:
        """Update the policy."""
        self.policy.tell(state, asked, totals)

    def finished(self, state: Any) -> BoolArray:
        """Return which replications have stopped."""
        stopped: BoolArray = self.policy.finished(state)
        return stopped

    def recommend(self, state: Any) -> IntArray:
        """Return what the policy recommends."""
        recommended: IntArray = self.policy.recommend(state)
        return recommended


@dataclass
class Looking(Observed):
    """A policy whose state is looked at in every round, after the choice and before the reward."""

    look: Callable[[Any], None]  # called with the state; the last call is after the last reward

    def ask(self, state: Any) -> Ask:
        """Let the policy choose, and look."""
        asked = super().ask(state)
        self.look(state)
        return asked
