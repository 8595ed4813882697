r"""The next batch of a search as a function of what was measured, for policies that decide from data alone.

What was measured is told round by round, and then the policy is asked: where all of it had been asked for, under the
same settings, and nothing was corrected, the batch is that of an uninterrupted search to the last bit. What was known
beforehand is told first and counts as a round; a corrected measurement is told as it is now, in its old place.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.guards.memory import with_memory
from bestarm.interface import Arms, Ask, FloatArray, IntArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.model_batches import MOST_KNOWN
from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice
from bestarm.search.errors import Errors, errors_of, mean_of
from bestarm.search.rounds import Chunk, Round, Told, Values, aim_of, known_at, news_since, reward
from bestarm.search.state_files import describe, restore
from bestarm.settings import check_whole
from bestarm.streams import Streams

if TYPE_CHECKING:
    from bestarm.search.pool_policies import PoolPolicy

NETWORKS_AT_ONCE = 256  # places of a batch by networks, which are named by place


@dataclass(frozen=True)
class CustomPolicy:
    """A policy that a public constructor made, a `BatchSearch` or `BatchGP`, with features and rewards as they are."""

    policy: Any

    @property
    def name(self) -> str:
        return str(self.policy.label)

    @property
    def repeats(self) -> bool:
        """Whether a candidate may be asked for again, each measurement for itself; otherwise they are averaged."""
        return isinstance(self.policy, BatchGP)

    @property
    def first(self) -> int:
        """Size of the first batch where it is another one than that of the others, else 0."""
        return int(self.policy.first) if self.repeats else 0

    def search(self, batch: int, rounds: int) -> PoolPolicy:
        from bestarm.search.pool_policies import CustomGP, ScaledSearch  # import Torch where it is

        own = replace(self.policy, batch=batch, rounds=rounds)
        return CustomGP(own) if self.repeats else ScaledSearch(own, scaled=False, plain=True)

    def described(self) -> dict[str, Any]:
        """Return the policy as JSON can hold it; one of another library by its name alone."""
        try:
            return {"policy": describe(self.policy)}
        except ValueError:
            return {"policy": self.name}


def decides_from_data(policy: Any) -> bool:
    """Return whether a policy, without guards, takes any measurements in any order."""
    module = sys.modules.get("bestarm.policies.batch_search")  # which imports Torch, and is there if a policy of it is
    return isinstance(policy, BatchGP) or (module is not None and isinstance(policy, module.BatchSearch))


@dataclass(frozen=True)
class Plan:
    """How a batch is chosen: policy, size, seed, aim, and principal components in place of the features (0 for none).

    The aim is ``max``, ``min`` (or ``high`` and ``low``), ``both`` (large positive and negative values) or a number.
    A policy that took over after some batches (``since``) is told what was known at its own first batch as one table.
    """

    choice: Choice | CustomPolicy
    batch: int
    seed: int = 0
    aim: str | float = "max"
    components: int = 0
    since: int = 0

    def __post_init__(self) -> None:
        for name, least in {"batch": 1, "seed": 0, "since": 0, "components": 0}.items():
            check_whole(name, getattr(self, name), least)
        object.__setattr__(self, "aim", aim_of(self.aim))

    def described(self) -> dict[str, Any]:
        more = {"seed": self.seed, "batch": self.batch, "aim": self.aim, "components": self.components}
        return self.choice.described() | more | ({"since": self.since} if self.since else {})

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Plan:
        policy, kept = described["policy"], {name: described[name] for name in ("batch", "seed", "aim", "components")}
        choice = CustomPolicy(restore(policy)) if isinstance(policy, dict) else Choice.of(described)
        return cls(choice, **kept, since=described.get("since", 0))

    @property
    def by_networks(self) -> bool:
        """Whether networks choose, of which there are only so many at once."""
        policy = self.choice.search(1, 1)
        return hasattr(getattr(policy, "policy", policy), "hidden")

    @property
    def weighs(self) -> bool:
        """Whether the policy weighs rewards by their errors."""
        return hasattr(self.choice.search(1, 1), "weigh")

    def features(self, candidates: Candidates) -> FloatArray:
        """Return what the policy sees of candidates, shape (n, d): standardised, or for `CustomPolicy` as they are."""
        return candidates.values if isinstance(self.choice, CustomPolicy) else candidates.scores(self.components)

    def values(self, measured: Values) -> dict[str, tuple[float, ...]]:
        """Return what the policy is told of each candidate: all measurements, or their mean without failures."""
        return {name: tuple(v) if self.choice.repeats else (mean_of(v),) for name, v in measured.items() if len(v)}

    def errors(self, measured: Values) -> Errors:
        """Return the error of each candidate's mean, see `errors_of`; nothing for a policy that does not weigh."""
        return errors_of(measured) if self.weighs else {}

    def told(
        self, rounds: Sequence[Round], measured: Values, candidates: Candidates
    ) -> tuple[list[Chunk], Told, Values]:
        """Return what the policy is told, see `chunks`, what is new since the last round, and what was corrected."""
        new, revised = news_since(rounds, self.values(measured), candidates.names)
        return self.chunks(rounds, new, revised, candidates, self.errors(measured)), new, revised

    def chunks(
        self, rounds: Sequence[Round], new: Told, revised: Values, candidates: Candidates, errors: Errors
    ) -> list[Chunk]:
        """Return what the policy is told of each round and now, by the latest measurements as they are, see `reward`.

        What was known when it took over is one table in the candidates' order, each once unless the policy `repeats`.
        """
        latest: dict[str, list[float]] = {name: list(values) for name, values in known_at(rounds).items()}
        latest |= {name: list(values) for name, values in revised.items()}
        for name, value in new:
            latest.setdefault(name, []).append(value)
        left = {name: iter(values) for name, values in latest.items()}
        tables = [*([name for name, _ in each.told] for each in rounds), [name for name, _ in new]]
        if self.since:
            together = self.since + 1
            first = sorted((name for names in tables[:together] for name in names), key=candidates.place.__getitem__)
            tables = [first if self.choice.repeats else list(dict.fromkeys(first)), *tables[together:]]
        found = []
        for names in filter(None, tables):
            values = np.array([next(left[name]) for name in names], dtype=np.float64)
            own = np.array([errors.get(name, (math.nan, 1.0)) for name in names]).reshape(-1, 2) if errors else None
            found.append(Chunk(candidates.places(names), values, own))
        return found


@dataclass
class ReplayCache:
    """The state of a policy after the last telling, used again where it was told the same of the same candidates."""

    key: Any = None
    told: list[tuple[bytes, bytes]] = field(default_factory=list)
    state: Any = None
    room: int = 0


def replayed_state(
    plan: Plan, features: FloatArray, chunks: Sequence[Chunk], cache: ReplayCache | None = None, room: int = 0
) -> tuple[Any, Any]:
    """Return a policy and its state after some rounds of measurements, with room for some more.

    The features are those of `Plan.features`. With a cache the state is used again: it must not be changed.
    """
    cache = ReplayCache() if cache is None else cache
    key = (plan.choice, plan.seed, plan.aim, plan.components, features.shape, id(features))
    marks = [(chunk.places.tobytes(), chunk.rewards.tobytes()) for chunk in chunks]
    needed = sum(len(chunk.places) for chunk in chunks) + max(room, plan.batch)
    if cache.key != key or marks[: len(cache.told)] != cache.told or cache.room < needed:
        wide = needed + needed // 2 if cache.key == key else needed
        wide = needed if len(features) < needed else min(wide, max(needed, min(len(features), MOST_KNOWN)))
        streams = Streams.first(1, seed=plan.seed)
        state = with_memory(plan.choice.name, lambda: plan.choice.search(1, wide).start(Arms(features), streams))
        cache.key, cache.told, cache.state, cache.room = key, [], state, wide
    policy = plan.choice.search(min(plan.batch, NETWORKS_AT_ONCE) if plan.by_networks else plan.batch, 10**9)
    cache.key = None  # what is interrupted in the middle of a telling is of no use
    for chunk in chunks[len(cache.told) :]:
        rewards = np.array([reward(value, plan.aim) for value in chunk.rewards])
        arms = chunk.places[None]
        policy.tell(cache.state, Ask(arms, np.ones_like(arms)), np.ascontiguousarray(rewards[None]))
    cache.key, cache.told = key, marks
    if hasattr(policy, "weigh"):
        table = np.tile([np.nan, 1.0], (len(features), 1))
        for chunk in (errors := [chunk for chunk in chunks if chunk.errors is not None]):
            table[chunk.places] = chunk.errors
        policy.weigh(cache.state, table if errors else None)
    return policy, cache.state


def choose_batch(
    plan: Plan,
    features: FloatArray,
    chunks: Sequence[Chunk],
    *,
    n_asked: int,
    withdrawn: IntArray,
    pending: IntArray,
    cache: ReplayCache | None = None,
) -> IntArray:
    """Return the next batch, by places in the table; shorter where fewer candidates are left.

    Random choices differ by the number of batches asked before (``n_asked``) where nothing was told in between.
    Candidates that were withdrawn are not chosen, nor are those that are being measured (``pending``).
    """
    found: list[int] = []
    most = NETWORKS_AT_ONCE if plan.by_networks else plan.batch
    while len(found) < plan.batch:
        part = replace(plan, batch=min(most, plan.batch - len(found)))
        policy, state = replayed_state(part, features, chunks, cache, len(pending) + plan.batch)
        kept = getattr(state, "fitted", None)  # a posterior hangs on what was measured alone
        state = deepcopy(state, {id(kept): kept}) if cache is not None or plan.choice.repeats else state
        state.round = max(len(chunks), n_asked)  # the random choices are those of this round
        gp: Any = getattr(state, "gp", None)
        if hasattr(gp, "round"):
            gp.round = state.round
        policy.set_aside(state, withdrawn)
        policy.believe(state, np.concatenate([pending, np.array(found, np.int64)]))
        if not state.available.any():
            break
        asked = with_memory(plan.choice.name, policy.ask, state)
        if len(new := asked.arms[0][asked.counts[0] > 0]) == 0:
            break
        found += map(int, new)
    return np.array(found, dtype=np.int64)


def recomputed_batches(
    rounds: Sequence[Round], candidates: Candidates, plan_of: Callable[[Round], Plan] | None = None
) -> list[list[str]]:
    """Return the batch of every round made anew from what the log says was known then."""
    found: list[list[str]] = []
    kept: dict[tuple[int, Any, int], FloatArray] = {}
    for number, each in enumerate(rounds):
        plan = Plan.of(each.settings) if plan_of is None else plan_of(each)
        some = candidates.first(each.n_candidates or len(candidates.names))
        view = (len(some.names), isinstance(plan.choice, CustomPolicy), plan.components)
        if view not in kept:
            kept[view] = plan.features(some)
        chunks = plan.chunks(rounds[:number], each.told, each.revised, some, each.errors)
        gone, there = some.places(each.withdrawn), some.places(each.pending)
        places = choose_batch(plan, kept[view], chunks, n_asked=number - plan.since, withdrawn=gone, pending=there)
        found.append([some.names[a] for a in places])
    return found
