"""Validation at the public interface: the order of ask and tell, and what may be told, are checked here alone.

Policies are plain records and know nothing of this, so that a simulation pays nothing. Where a person does the telling,
mistakes are to be expected: `bestarm.Search` and the public constructors (``bestarm.lucb`` and the others) wrap the
policy in `Guarded`, whose ``start`` returns a `GuardedState`: the policy's own state and, beside it, the record of who
started it on what, which request waits for its rewards, and where anything was learned. The record is in plain fields,
so that copies of a guarded state (`dataclasses.replace`, `bestarm.interface.take_rows`) have it, too, and
`bestarm.save` finds all that it needs.
"""

import inspect
import logging
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import InitVar, dataclass, replace
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

from bestarm.guards.inactive import refuse_inactive
from bestarm.guards.memory import with_memory
from bestarm.guards.rewards import as_arrays, check_rewards, note_outcomes
from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray, State, take_rows
from bestarm.lack_of_fit import new_tally, note_rewards, warn_of_misfit
from bestarm.partition import Partition
from bestarm.presets import help_of, plain_class, signature_of
from bestarm.streams import Streams

Settings = ParamSpec("Settings")
Made = TypeVar("Made")

FAILURES_PER_ARM, LEAST_FAILURES = 10, 100  # in a row, after which a search without an end of its own is ended


class NothingLearned(UserWarning):
    """Every evaluation told so far failed, so that a recommendation rests on nothing."""


class EverythingFails(RuntimeError):
    """The last evaluations of a search that has no budget all failed, so that it would ask for ever.

    The rule: in every replication that goes on, 10 evaluations for each arm, and at least 100, failed in a row. It is
    raised by ``ask`` once; when ``ask`` is called again the search goes on, and the failures are counted anew.
    """


@dataclass(eq=False)
class GuardedState:
    """The state of a guarded search: that of its policy, and the record of the protocol.

    Fields of the policy's own state can be read here as well, say ``state.pulls``. A copy has a state of its own.
    """

    policy: Any
    arms: Any  # what is searched: `Arms`, or a `Partition`
    streams: Streams
    inner: Any  # the policy's own state
    rows: IntArray  # 0, ..., R - 1; a copy that is made with fewer rows takes those of ``inner`` and ``streams``
    learned: BoolArray  # whether a reward was told, (R,)
    failures_in_a_row: IntArray  # evaluations that failed since the last reward, (R,)
    asked_arms: IntArray | None = None  # copies of the request that waits for its rewards, (R, b)
    asked_counts: IntArray | None = None
    told: bool = False  # whether anything was told
    open: bool = False  # whether pulls that were not asked may be told, see `forget_asked`
    tally: FloatArray | None = None  # of a linear policy what each arm taught, (R, K, 4), see `tallied_misfit`
    fresh: InitVar[bool] = False  # whether ``inner`` belongs to nobody else yet, so that it need not be copied

    def __post_init__(self, fresh: bool) -> None:
        if fresh:
            return
        # `replace` and `take_rows` know nothing of a state within a state: the copy looks after its own
        self.inner = deepcopy(take_rows(self.inner, self.rows))
        self.learned, self.failures_in_a_row = self.learned.copy(), self.failures_in_a_row.copy()
        self.tally = None if self.tally is None else self.tally.copy()
        self.streams = self.streams.take(self.rows)
        if isinstance(self.arms, Arms) and self.arms.features.ndim == 3:
            self.arms = replace(self.arms, features=self.arms.features[self.rows])
        self.rows = np.arange(len(self.rows))

    @property
    def replications(self) -> IntArray:
        """Numbers of the replications, shape (R,)."""
        return self.streams.replications

    @property
    def n_arms(self) -> int:
        """Number of arms, or of cells, that can be told about."""
        return int(self.arms.numbering[0][-1] if isinstance(self.arms, Partition) else self.arms.n_arms)

    @property
    def request(self) -> Ask | None:
        """A copy of the request that waits for its rewards."""
        if self.asked_arms is None or self.asked_counts is None:
            return None
        return Ask(self.asked_arms.copy(), self.asked_counts.copy())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.inner, name)


@dataclass(frozen=True)
class Guarded:
    """A policy whose asking and telling is checked; settings of the policy can be read here as well.

    ``policy``: what searches. Its methods raise ValueErrors of one line for what is told out of order or no reward."""

    policy: Any

    @property
    def label(self) -> str:
        """Name of the policy."""
        return str(self.policy.label)

    def as_coded(self) -> "Guarded":
        """Return the policy with the named deviations of the authors' code, guarded."""
        return Guarded(self.policy.as_coded())

    def start(self, arms: Any, streams: Streams) -> GuardedState:
        """Return the state before the first pull."""
        if not hasattr(arms, "no_pulls"):
            got = f"got {type(arms).__name__}; write Arms(features)"
            raise ValueError(f"{self.label} searches Arms or the cells of a Partition, {got}.")
        if isinstance(arms, Partition) and searched_kind(self.policy) is Arms:
            raise ValueError(f"{self.label} searches Arms, got a Partition; write Arms(features), or take GPOO.")
        if not hasattr(streams, "replications"):
            raise ValueError(f"streams must be Streams, got {type(streams).__name__}; Streams.first(1) is one search.")
        _say_first_compile()
        n = len(streams.replications)
        inner = self.policy.start(arms, streams)
        nothing, never = np.zeros(n, np.bool_), np.zeros(n, np.int64)
        tally = new_tally(self.policy, arms, n)
        return GuardedState(self.policy, arms, streams, inner, np.arange(n), nothing, never, tally=tally, fresh=True)

    def ask(self, state: GuardedState) -> Ask:
        """Decide which replications stop, and the next pulls of the others; these wait for their rewards from now."""
        self._own(state)
        self._end_what_only_fails(state)
        asked: Ask = with_memory(self.label, self.policy.ask, state.inner)
        state.asked_arms, state.asked_counts, state.open = asked.arms.copy(), asked.counts.copy(), False
        return asked

    def tell(self, state: GuardedState, asked: Ask, totals: FloatArray) -> None:
        """Learn the sums of rewards, shape (R, b), of what was asked last; NaN is an evaluation that failed."""
        if (expected := self._own(state).request) is None and not state.open:
            again = "these rewards were told already; ask for the next pulls first"
            early = "nothing was asked yet; call ask first, or forget_asked(state) for older data"
            raise ValueError(f"{self.label}: {again if state.told else early}.")
        told, rewards = as_arrays(self.label, len(state.replications), asked, totals)
        check_rewards(self.label, state.n_arms, told if expected is None else expected, told, rewards)
        with_memory(self.label, self.policy.tell, state.inner, told, rewards)
        state.asked_arms = state.asked_counts = None
        state.told = True
        note_outcomes(told.counts, rewards, state.learned, state.failures_in_a_row)
        note_rewards(state.tally, told.arms, told.counts, rewards)

    def finished(self, state: GuardedState) -> BoolArray:
        """Return which replications have stopped, shape (R,)."""
        stopped: BoolArray = self.policy.finished(self._own(state).inner)
        return stopped

    def recommend(self, state: GuardedState) -> IntArray:
        """Return the recommended arms, shape (R, n_best); a warning says if they rest on nothing, or a wrong model."""
        if (nothing := (self._own(state).failures_in_a_row > 0) & ~state.learned).any():
            where = "" if len(nothing) == 1 else f" in {nothing.sum()} of {len(nothing)} replications"
            what = f"nothing was learned{where}, since every evaluation failed; the recommendation is arbitrary"
            warnings.warn(f"{self.label}: {what}. Tell rewards that are numbers.", NothingLearned, stacklevel=2)
        warn_of_misfit(self.label, state.tally, state.arms)
        recommended: IntArray = self.policy.recommend(state.inner)
        return recommended

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "policy":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.policy, name)

    def _own(self, state: Any) -> GuardedState:
        """Return the state itself, refusing that of another policy."""
        found = guarded_state(state)
        own, other = (plain_class(type(policy)) for policy in (self.policy, found.policy))  # as policies are saved
        if own is not other or found.policy.label != self.label:
            raise ValueError(f"{self.label}: this state is of {found.policy.label}, whose start made it; ask that one.")
        return found

    def _end_what_only_fails(self, state: GuardedState) -> None:
        """Raise `EverythingFails` where a search without a budget has nothing but failures, in all that goes on."""
        if hasattr(self.policy, "budget") or hasattr(self.policy, "rounds") or not state.failures_in_a_row.any():
            return
        going = ~self.finished(state)
        limit = max(LEAST_FAILURES, FAILURES_PER_ARM * state.n_arms)
        if going.any() and (state.failures_in_a_row[going] >= limit).all():
            failed = int(state.failures_in_a_row[going].min())
            state.failures_in_a_row[:] = 0
            what = f"the last {failed} evaluations all failed, and without a budget the search would ask for ever"
            remedy = "mend them and ask again, or take recommend(state) as it is"
            raise EverythingFails(f"{self.label}: {what}; {remedy}.")


def unguarded(policy: Any) -> Any:
    """Return a policy without its guards."""
    return policy.policy if isinstance(policy, Guarded) else policy


def searched_kind(policy: Any) -> type | None:
    """Return `Arms` or `Partition`, as the first parameter of the policy's ``start`` is annotated, or None."""
    first = next(iter(inspect.signature(policy.start).parameters.values()))
    return {name: kind for kind in (Arms, Partition) for name in (kind, kind.__name__)}.get(first.annotation)


def guarded_state(state: Any) -> GuardedState:
    """Return the state itself, refusing one that no guarded search started."""
    if not isinstance(state, GuardedState):
        got = f"got {type(state).__name__}; write Guarded(policy).start(arms, streams)"
        raise ValueError(f"only a state that start of a public constructor or load returned is known here, {got}.")
    return state


def forget_asked(state: State) -> None:
    """Forget what was asked of a state, so that any pulls can be told: measurements made before the search began.

    Shapes, ranges and finiteness are checked all the same; the next ``ask`` begins the protocol again. A search of
    cells can be told nothing but the cell that it asked for.
    """
    found = guarded_state(state)
    found.open = not isinstance(found.arms, Partition)
    found.asked_arms = found.asked_counts = None


def waiting(state: State) -> Ask | None:
    """Return a copy of the request that waits for its rewards, or None if there is none."""
    return guarded_state(state).request


def guarded_constructor(preset: Callable[Settings, Made], name: str) -> Callable[Settings, Made]:
    """Return a public constructor of this name: its policies are guarded, its errors and its help name all settings.

    To a reader of types its policies are those of the class or function itself, since `Guarded` lends their settings.
    """
    known = signature_of(preset)
    required = [n for n, p in known.parameters.items() if p.default is inspect.Parameter.empty]

    @wraps(preset)
    def construct(*arguments: Settings.args, **settings: Settings.kwargs) -> Made:
        if unknown := [n for n in settings if n not in known.parameters]:
            raise TypeError(f"{name} has no setting {unknown[0]}; it has: {', '.join(known.parameters)}.")
        try:
            given = known.bind(*arguments, **settings).arguments
        except TypeError as error:
            raise TypeError(f"{name}: {error}; it needs {', '.join(required)}.") from None
        refuse_inactive(name, known, given)
        return Guarded(preset(**given))  # type: ignore[return-value, call-arg]

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = help_of(preset)
    construct.__signature__ = known  # type: ignore[attr-defined]
    return construct


@cache
def _say_first_compile() -> None:
    """Say once that the first search compiles, where nothing is in the cache of compiled code yet."""
    folder = Path(getattr(numba.config, "CACHE_DIR", "") or Path(__file__).parents[1])
    if not any(folder.rglob("*.nbi")):
        said = "compiling for the first time, which may take a minute; later runs start at once"
        logging.getLogger("bestarm").warning("bestarm: %s.", said)
