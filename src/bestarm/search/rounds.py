"""The log of a search: one record for each batch, from which every batch can be made anew."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.search.errors import Errors
from bestarm.search.tables import listed

FORMAT = 3  # of a round, 2 without errors; 1 had `gene` for `name`, and nothing pending, withdrawn or added
AIMS = ("max", "min", "both")
_ALIASES = {"high": "max", "low": "min"}

Told = Sequence[tuple[str, float]]  # candidates by name, and values
Values = Mapping[str, Sequence[float]]  # of each candidate its measurements, in the order of their telling


@dataclass(frozen=True)
class Suggestion:
    """One candidate of a batch and why it is there; numbers are NaN while nothing is known, or where nobody asked."""

    name: str
    predicted: float = math.nan  # predicted value, its size for the aim ``both`` and its distance for a target
    uncertainty: float = math.nan  # standard deviation of the prediction
    novelty: float = math.nan  # root mean square difference of standardised features to the nearest one measured
    nearest: str = ""  # that candidate; empty while there is none
    rank: int = 0  # place of the prediction among all candidates that were left; 0 while nothing is known
    why: str = ""  # the reason in words


@dataclass(frozen=True)
class Round:
    """One batch of a search and all that decided it; ``docs/search_files.md`` has the fields as files have them."""

    number: int  # 1, 2, ...
    settings: Mapping[str, Any]  # what decides the batch beside the data: policy, settings, seed, size, aim
    features: str  # SHA-256 of names and features
    told: tuple[tuple[str, float], ...]  # what became known since the round before, in the order of its telling
    revised: Mapping[str, tuple[float, ...]]  # candidates told before whose measurements are others now
    suggested: tuple[Suggestion, ...]  # the batch
    hit: float = math.nan  # value from which a candidate is a hit
    expected_hits: float = math.nan  # how many of the batch were expected to be
    learned: Mapping[str, float] | None = None  # what the round before taught, see `explanations.learned`
    version: str = ""  # of bestarm
    n_candidates: int | None = None  # how many there were, later ones come after them; None in format 1: all
    pending: tuple[str, ...] = ()  # candidates that were being measured beside the batch
    withdrawn: tuple[str, ...] = ()  # candidates that could not be chosen
    errors: Errors = field(default_factory=dict)  # standard error and number behind means, see `errors_of`

    @property
    def names(self) -> list[str]:
        """The batch, in order."""
        return [s.name for s in self.suggested]


def aim_of(aim: Any) -> str | float:
    """Return an aim in its own word: ``max``, ``min``, ``both`` or a finite number."""
    if isinstance(aim, str) and _ALIASES.get(aim, aim) in AIMS:
        return _ALIASES.get(aim, aim)
    if isinstance(aim, int | float | np.number) and not isinstance(aim, bool) and math.isfinite(aim):
        return float(aim)
    raise ValueError(f"aim must be one of {', '.join(AIMS)}, or the number that is aimed at; got {aim!r}.")


def reward(value: float, aim: str | float) -> float:
    """Return what is maximised: the value, its negative, its size, or the negative distance to a target."""
    if isinstance(aim, str):
        word = _ALIASES.get(aim, aim)
        return abs(value) if word == "both" else -value if word == "min" else value
    return -abs(value - aim)


def of_prediction(value: Any, aim: str | float) -> Any:
    """Return the reward of a predicted value (a size or a distance for some aims), and the value of such a reward."""
    return value if aim_of(aim) in ("max", "both") else -value


def known_at(rounds: Sequence[Round]) -> dict[str, tuple[float, ...]]:
    """Return name → measurements as the last of these rounds knew them."""
    known: dict[str, tuple[float, ...]] = {}
    for each in rounds:
        known |= {name: tuple(values) for name, values in each.revised.items()}  # of those told before
        for name, value in each.told:
            known[name] = (*known.get(name, ()), value)
    return known


def same(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether measurements are equal; two failures are."""
    return len(a) == len(b) and all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a, b, strict=True))


def newly_told(rounds: Sequence[Round], values: Values, order: Sequence[str]) -> list[tuple[str, float]]:
    """Return what became known since the last round: its batch in order, others as the candidates are listed."""
    known = known_at(rounds)
    left = {name: list(found[len(known.get(name, ())) :]) for name, found in values.items()}
    found: list[tuple[str, float]] = []
    for name in rounds[-1].names if rounds else ():
        if left.get(name):
            found.append((name, left[name].pop(0)))
    for name in order:
        found += [(name, value) for value in left.get(name, ())]
    return found


def revisions(rounds: Sequence[Round], values: Values) -> dict[str, tuple[float, ...]]:
    """Return candidates told before whose first measurements are others now; what is gone counts as failed."""
    found: dict[str, tuple[float, ...]] = {}
    for name, before in known_at(rounds).items():
        now = tuple(values.get(name, ())[: len(before)])
        now += (math.nan,) * (len(before) - len(now))
        if not same(before, now):
            found[name] = now
    return found


@dataclass(frozen=True)
class Chunk:
    """Measurements that a policy is told together: candidates by their places, and values, NaN where one failed.

    Where some have errors those of all are there, shape (n, 2): standard error or NaN, and number of measurements.
    """

    places: IntArray
    rewards: FloatArray
    errors: FloatArray | None = None

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[float], place: Mapping[str, int], errors: Any) -> "Chunk":
        """Return measurements of candidates by their names, with their errors by name."""
        own = np.array([errors.get(name, (math.nan, 1.0)) for name in names]).reshape(-1, 2) if errors else None
        places = np.array([place[name] for name in names], np.int64)
        return cls(places, np.array(values, dtype=np.float64), own)

    def only(self, keep: BoolArray, among: IntArray | None = None) -> "Chunk":
        """Return some of the measurements, by their places ``among`` some sorted ones."""
        places = self.places[keep] if among is None else np.searchsorted(among, self.places[keep])
        return Chunk(places, self.rewards[keep], None if self.errors is None else self.errors[keep])


def chunks_of(
    rounds: Sequence[Round],
    new: Told,
    revised: Values,
    order: Sequence[str],
    errors: Errors,
    together: int,
    repeats: bool,
) -> list[Chunk]:
    """Return what was told in each round and now, by the latest measurements and the aim of the present.

    The rewards are measurements as they are; see `reward`. Those of the first rounds can be taken ``together`` as one
    table in the order of the candidates, each of them once unless it ``repeats``.
    """
    latest: dict[str, list[float]] = {name: list(values) for name, values in known_at(rounds).items()}
    latest |= {name: list(values) for name, values in revised.items()}
    for name, value in new:
        latest.setdefault(name, []).append(value)
    place = {name: i for i, name in enumerate(order)}
    used: dict[str, int] = {}
    found = []
    tables = [*([name for name, _ in each.told] for each in rounds), [name for name, _ in new]]
    if together:
        first = sorted((name for names in tables[:together] for name in names), key=place.__getitem__)
        tables = [first if repeats else list(dict.fromkeys(first)), *tables[together:]]
    for names in tables:
        if not names:
            continue
        values = []
        for name in names:
            values.append(latest[name][used.get(name, 0)])
            used[name] = used.get(name, 0) + 1
        found.append(Chunk.of(names, values, place, errors))
    return found


def as_json(new: Round) -> dict[str, Any]:
    """Return a round as JSON can hold it, None in place of NaN."""
    meta = asdict(new) | {"format": FORMAT if new.errors else 2, "learned": dict(new.learned or {})}
    if not new.errors:
        del meta["errors"]
    return dict(_plain(meta))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def number_of(value: Any) -> float:
    """Return a finite number from JSON, NaN for None."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def of_json(meta: Mapping[str, Any]) -> Round:
    """Return a round from what `as_json` gave, in this format or an earlier one; other things raise errors."""
    label, numbers = "gene" if meta["format"] == 1 else "name", ("predicted", "uncertainty", "novelty")
    suggested = tuple(
        Suggestion(_word(s[label]), p, u, n, _word(s["nearest"]), int(s["rank"]), _word(s["why"]))
        for s in meta["suggested"]
        for p, u, n in ([number_of(s[x]) for x in numbers],)
    )
    revised = {
        _word(name): tuple(map(number_of, values if isinstance(values, list) else [values]))
        for name, values in meta["revised"].items()
    }
    n, hits = meta.get("n_candidates"), (number_of(meta["hit"]), number_of(meta["expected_hits"]))
    told = tuple((_word(name), number_of(value)) for name, value in meta["told"])
    learned, version = {k: number_of(v) for k, v in meta["learned"].items()}, _word(meta["version"])
    lists = (tuple(map(_word, meta.get(name, ()))) for name in ("pending", "withdrawn"))
    errors = {_word(name): (number_of(sem), number_of(k)) for name, (sem, k) in meta.get("errors", {}).items()}
    more: Any = (learned, version, None if n is None else int(n), *lists, errors)
    own = (int(meta["number"]), dict(meta["settings"]), _word(meta["features"]), told, revised, suggested)
    return Round(*own, *hits, *more)


def check_known(each: Round, names: set[str]) -> None:
    """Refuse a round that is about candidates that are not there."""
    spoken = {*each.names, *each.revised, *each.errors, *each.pending, *each.withdrawn, *dict(each.told)}
    if odd := sorted(spoken - names):
        raise ValueError(f"round {each.number} is about {listed(odd)}, which is no candidate; put it back.")
