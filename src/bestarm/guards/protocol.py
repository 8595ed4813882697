"""The order of ask and tell, and what may be told: refused before any compiled code sees it.

A policy is decorated by `guarded`. A search without a budget of which every evaluation fails is ended by an error, see
`EverythingFails`. Which request waits for its rewards is remembered beside the state, not in
it, so that copies of a state (`dataclasses.replace`, `bestarm.interface.take_rows`) carry no memory: of those only
shapes, ranges and finiteness are checked until they are asked again.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from bestarm.guards.faults import FAULTS, LARGEST_REWARD, all_small, first_fault, note_outcomes
from bestarm.guards.memory import lack_of_memory
from bestarm.guards.settings import checked

Policy = TypeVar("Policy", bound=type)

_said = False

_FLOAT = np.dtype(np.float64)

FAILURES_PER_ARM, LEAST_FAILURES = 10, 100  # in a row, after which a search without an end of its own is ended

_PER_ARM = ("live", "available", "pulls", "means", "variances")  # fields of states with shape (R, n_arms)


class NothingLearned(UserWarning):
    """Every evaluation told so far failed, so that a recommendation rests on nothing."""


class EverythingFails(RuntimeError):
    """The last evaluations of a search that has no budget all failed, so that it would ask for ever.

    The rule: in every replication that goes on, 10 evaluations for each arm, and at least 100, failed in a row. It is
    raised by ``ask`` once; when ``ask`` is called again the search goes on, and the failures are counted anew.
    """


class Waiting(NamedTuple):
    """A copy of what was asked last, arms and counts of shape (R, b)."""

    arms: NDArray[np.int64]
    counts: NDArray[np.int64]


class _Request(NamedTuple):
    """What was asked last, and its bytes: the cheapest copy, and the cheapest to compare with."""

    asked: Any
    arms: bytes
    counts: bytes

    def copy(self) -> Waiting:
        """Return the request as it was when it was made."""
        arms, counts = self.asked
        return Waiting(
            np.frombuffer(self.arms, arms.dtype).reshape(arms.shape),
            np.frombuffer(self.counts, counts.dtype).reshape(counts.shape),
        )


@dataclass(eq=False)
class Memory:
    """What is remembered of one state: who started it on what, what was asked, and whether anything was learned."""

    policy: Any = None
    arms: Any = None
    streams: Any = None
    request: _Request | None = None
    told: bool = False
    learned: NDArray[np.bool_] | None = None  # (R,): whether a reward was told; None where the past is not known
    in_vain: NDArray[np.int64] | None = None  # (R,): evaluations that failed since the last reward
    all_learned: bool = False
    any_in_vain: bool = False
    n_arms: int = 0
    inside: bool = False

    @property
    def waiting(self) -> Waiting | None:
        """A copy of the request that waits for its rewards."""
        return None if self.request is None else self.request.copy()

    def expect(self, asked: Any) -> None:
        """Remember a request that waits for its rewards from now on."""
        self.request = _Request(asked, asked.arms.tobytes(), asked.counts.tobytes())

    def note(self, counts: NDArray[np.int64], totals: NDArray[np.float64], n: int) -> None:
        """Note which of R = ``n`` replications learned something, and how many evaluations failed since then."""
        if self.learned is None:
            self.learned = np.ones(n, np.bool_)  # of a copy nothing is known, and nothing is said
        if self.in_vain is None:
            self.in_vain = np.zeros(n, np.int64)
        self.all_learned, self.any_in_vain = note_outcomes(counts, totals, self.learned, self.in_vain)


_MEMORIES: dict[int, tuple[weakref.ref[Any], Memory]] = {}


def memory_of(state: Any) -> Memory | None:
    """Return what is remembered of a state, or None of a copy or of one whose requests were forgotten."""
    found = _MEMORIES.get(id(state))
    return found[1] if found is not None and found[0]() is state else None


def remember(state: Any, memory: Memory) -> None:
    """Remember this of a state as long as it lives."""
    place = id(state)
    _MEMORIES[place] = (weakref.ref(state, lambda _: _MEMORIES.pop(place, None)), memory)


def forget_asked(state: Any) -> None:
    """Forget what was asked of a state, so that any pulls can be told: measurements made before the search began.

    Shapes, ranges and finiteness are checked all the same; the next ``ask`` begins the protocol again.
    """
    _MEMORIES.pop(id(state), None)


def waiting(state: Any) -> Waiting | None:
    """Return the request that waits for its rewards, or None if there is none or it is not known."""
    memory = memory_of(state)
    return None if memory is None else memory.waiting


def ordered(cls: Policy) -> Policy:
    """Decorate a policy so that what it is told, and the order of asking and telling, are checked."""
    for name, wrap in (("start", _start), ("ask", _ask), ("tell", _tell), ("recommend", _recommend)):
        if name in cls.__dict__:
            setattr(cls, name, wrap(cls.__dict__[name]))
    return cls


def guarded(**least: float) -> Callable[[Policy], Policy]:
    """Return a decorator of a policy that checks its settings, too.

    Parameters
    ----------
    **least : float
        Least values of settings, see `bestarm.guards.settings.checked`.
    """

    def decorate(cls: Policy) -> Policy:
        return checked(**least)(ordered(cls))

    return decorate


def _say_first_compile() -> None:
    """Say once that the first search compiles, where nothing is in the cache of compiled code yet."""
    global _said
    if _said:
        return
    _said = True
    folder = Path(getattr(numba.config, "CACHE_DIR", "") or Path(__file__).parents[1])
    if not any(folder.rglob("*.nbi")):
        print(
            "bestarm: compiling for the first time, which may take a minute; later runs start at once.", file=sys.stderr
        )


def _start(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def start(self: Any, arms: Any, streams: Any) -> Any:
        if not hasattr(arms, "no_pulls"):
            raise ValueError(
                f"{self.label} searches Arms or the cells of a Partition, got {type(arms).__name__}; write "
                "Arms(features)."
            )
        if hasattr(arms, "arity") and not hasattr(self, "root_posterior"):
            raise ValueError(f"{self.label} searches Arms, got a Partition; write Arms(features), or take GPOO.")
        if not hasattr(streams, "replications"):
            raise ValueError(f"streams must be Streams, got {type(streams).__name__}; Streams.first(1) is one search.")
        _say_first_compile()
        state = method(self, arms, streams)
        n = len(streams.replications)
        remember(state, Memory(self, arms, streams, learned=np.zeros(n, np.bool_)))
        return state

    return start


def _ask(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def ask(self: Any, state: Any) -> Any:
        memory = memory_of(state)
        if memory is None:
            memory = Memory()
            remember(state, memory)
        elif memory.inside:
            return method(self, state)
        if memory.any_in_vain:
            _end_what_only_fails(self, state, memory)
        memory.inside = True
        try:
            asked = method(self, state)
        except (MemoryError, RuntimeError) as error:
            _say_memory(self, error)
            raise
        finally:
            memory.inside = False
        memory.expect(asked)
        return asked

    return ask


def _tell(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def tell(self: Any, state: Any, asked: Any, totals: Any) -> None:
        memory = memory_of(state)
        if memory is not None and memory.inside:
            return method(self, state, asked, totals)
        if memory is not None and memory.request is None:
            raise ValueError(
                f"{self.label}: these rewards were told already; ask for the next pulls first."
                if memory.told
                else f"{self.label}: nothing was asked yet; call ask first, or forget_asked(state) for older data."
            )
        plain = memory is not None and _as_asked(memory.request, asked, totals)
        if not plain:
            arms, counts, totals = _as_told(self, state, asked, totals)
            _check_told(self, state, memory, arms, counts, totals)
            if arms is not asked.arms or counts is not asked.counts:
                asked = type(asked)(arms, counts)
        if memory is None:
            return method(self, state, asked, totals)
        memory.inside = True
        try:
            method(self, state, asked, totals)
        except (MemoryError, RuntimeError) as error:
            _say_memory(self, error)
            raise
        finally:
            memory.inside = False
        memory.request, memory.told = None, True
        if not plain or memory.any_in_vain or not memory.all_learned:
            memory.note(asked.counts, totals, n_replications(state))
        return None

    return tell


def _recommend(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def recommend(self: Any, state: Any) -> Any:
        memory = memory_of(state)
        if memory is None or memory.inside:
            return method(self, state)
        if memory.any_in_vain and memory.learned is not None and memory.in_vain is not None:
            n, in_vain = len(memory.learned), int(((memory.in_vain > 0) & ~memory.learned).sum())
            where = "" if n == 1 else f" in {in_vain} of {n} replications"
            if in_vain:
                warnings.warn(
                    f"{self.label}: nothing was learned{where}, since every evaluation failed; the recommendation is "
                    "arbitrary. Tell rewards that are numbers.",
                    NothingLearned,
                    stacklevel=2,
                )
        memory.inside = True
        try:
            return method(self, state)
        finally:
            memory.inside = False

    return recommend


def _end_what_only_fails(policy: Any, state: Any, memory: Memory) -> None:
    """Raise `EverythingFails` where a search without a budget has nothing but failures, in all that goes on."""
    if memory.in_vain is None or hasattr(policy, "budget") or hasattr(policy, "rounds"):
        return
    going = ~policy.finished(state)
    limit = max(LEAST_FAILURES, FAILURES_PER_ARM * n_arms(state))
    if going.any() and (memory.in_vain[going] >= limit).all():
        failed = int(memory.in_vain[going].min())
        memory.in_vain[:] = 0
        raise EverythingFails(
            f"{policy.label}: the last {failed} evaluations all failed, and without a budget the search would ask for "
            "ever; mend them and ask again, or take recommend(state) as it is."
        )


def _say_memory(policy: Any, error: Exception) -> None:
    """Raise one line where memory ran out, whichever library says so."""
    if said := lack_of_memory(error):
        raise MemoryError(
            f"{policy.label}: memory ran out ({said}); take fewer candidates, smaller layers, batches or ensembles."
        ) from error


def _as_asked(request: Any, asked: Any, totals: Any) -> bool:
    """Return whether this is the very request, unchanged, with rewards that are all numbers and none too large.

    The quick way for what is nearly always told. It proves what `_check_told` would: the arms are those that the
    policy itself asked.
    """
    if not (
        asked is request.asked
        and type(totals) is np.ndarray
        and totals.dtype is _FLOAT
        and totals.shape == asked.arms.shape
        and totals.flags.c_contiguous
        and asked.arms.tobytes() == request.arms
        and asked.counts.tobytes() == request.counts
    ):
        return False
    return bool(all_small(totals))


def _as_told(policy: Any, state: Any, asked: Any, totals: Any) -> tuple[Any, Any, Any]:
    """Return arms, counts and totals as arrays, refusing what are no numbers or have other shapes."""
    if not (hasattr(asked, "arms") and hasattr(asked, "counts")):
        raise ValueError(
            f"{policy.label}: tell wants what ask returned, with arms and counts, got {type(asked).__name__}; write "
            "tell(state, asked, totals)."
        )
    arms, counts = _wholes("arms", asked.arms), _wholes("counts", asked.counts)
    n = n_replications(state)
    if arms.ndim != 2 or counts.shape != arms.shape or len(arms) != n:
        raise ValueError(
            f"arms and counts must have shape ({n}, b), got {arms.shape} and {counts.shape}; tell what was asked."
        )
    if type(totals) is not np.ndarray or totals.dtype != np.float64 or not totals.flags.c_contiguous:
        totals = _numbers(totals)
    if totals.shape != arms.shape:
        raise ValueError(
            f"totals must have the shape of the arms, {arms.shape}, got {totals.shape}; give one sum an arm."
        )
    return arms, counts, totals


def _wholes(name: str, values: Any) -> NDArray[np.int64]:
    if type(values) is np.ndarray and values.dtype == np.int64 and values.flags.c_contiguous:
        return values
    found = np.asarray(values)
    if found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got an array of {found.dtype}; tell what was asked.")
    return np.ascontiguousarray(found, dtype=np.int64)


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        found = np.asarray(values)
    except ValueError:
        raise ValueError("totals must be a table of numbers, but its rows differ in length; complete them.") from None
    if found.dtype.kind not in "biuf":
        what = f"an array of {found.dtype}" if found.ndim else repr(values)
        raise ValueError(f"totals must be real numbers, or NaN for an evaluation that failed; got {what}.")
    return np.ascontiguousarray(found, dtype=np.float64) if found.ndim else found


def n_replications(state: Any) -> int:
    """Return R of a state."""
    return len(state.replications)


def n_arms(state: Any) -> int:
    """Return the number of arms, or of cells, that a state can be told about."""
    partition = getattr(state, "partition", None)
    if partition is not None:
        return int(partition.numbering[0][-1])
    for name in _PER_ARM:
        values = getattr(state, name, None)
        if values is not None and values.ndim == 2:
            return int(values.shape[1])
    raise TypeError(f"a state needs one of {', '.join(_PER_ARM)}, got {type(state).__name__}.")


def _check_told(policy: Any, state: Any, memory: Memory | None, arms: Any, counts: Any, totals: Any) -> None:
    """Refuse what was not asked and what is no reward."""
    if memory is None:
        n, expected = n_arms(state), _expected_of_a_copy(state, counts)
    else:
        n, expected = memory.n_arms or n_arms(state), memory.waiting
        memory.n_arms = n
    asked, asked_counts = (arms, counts) if expected is None else expected
    if asked.shape != arms.shape:
        raise ValueError(
            f"{policy.label}: {asked.shape[1]} arms a replication wait for rewards, got {arms.shape[1]}; tell what the "
            "last ask returned."
        )
    fault = first_fault(arms, counts, totals, asked, asked_counts, n)
    if fault:
        r, j = divmod(fault // FAULTS, arms.shape[1])
        _refuse(policy, fault % FAULTS, arms[r, j], counts[r, j], totals[r, j], asked_counts[r, j], n)


def _expected_of_a_copy(state: Any, counts: Any) -> Waiting | None:
    """Return what a copy of a state must be told, where the state itself knows which cells it learns about."""
    if not hasattr(state, "partition"):
        return None
    chosen = np.maximum(state.chosen, 0)[:, None]
    return Waiting(np.take_along_axis(state.cells, chosen, axis=1), counts)


def _refuse(policy: Any, fault: int, arm: int, count: int, total: float, asked: int, n_arms: int) -> None:
    messages = {
        1: f"arm {arm} does not exist: arms are 0, ..., {n_arms - 1}; tell what was asked.",
        2: f"counts must be at least 0, got {count}; tell what was asked.",
        3: f"{policy.label}: arm {arm} is not what the last ask returned; tell what was asked last.",
        4: f"{policy.label}: {count} pulls of arm {arm} are told where {asked} were asked; tell at most those.",
        5: "rewards must be numbers, or NaN for an evaluation that failed; got an infinite one.",
        6: f"rewards must be at most {LARGEST_REWARD:g} in size, got {abs(total):.3g}; rescale them, or tell NaN.",
    }
    raise ValueError(messages[fault])
