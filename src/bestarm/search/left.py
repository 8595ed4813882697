"""Hits: what one is, and how many are left, as is the best candidate, by draws of all candidates from a posterior."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator, Philox

from bestarm.search.candidates import Candidates
from bestarm.search.errors import error_of
from bestarm.search.number_texts import plain_floats
from bestarm.search.rounds import reward
from bestarm.search.tables import names_in
from bestarm.settings import check_whole
from bestarm.streams import Streams

_NUMBERS = 20_000_000  # drawn at most, unless there are fewer than a hundred draws of each candidate
_EXPLAINED = 0.5  # of the variance of rewards by predictions, below which nobody knows whether the best was measured
SHARE = "5%"  # of the candidates that are hits, where nobody says what one is

Hits = float | str | list[str] | None  # a reward from which on, a share such as "5%", names


def checked_hits(hits: Any, candidates: Any) -> Hits:
    """Return what a hit is, refusing what is neither a reward nor a share nor names of some of the candidates."""
    if hits is None:
        return None
    rule = f"hits must be a reward, a share such as '5%', or a list of names; got {hits!r}."
    text = hits.strip() if isinstance(hits, str) else ""
    share = plain_floats([text[:-1].strip()]) if text.endswith("%") else None
    if share is not None and 0.0 < share[0] < 100.0:
        return hits
    if isinstance(hits, int | float | np.number) and not isinstance(hits, bool):
        if not math.isfinite(hits):
            raise ValueError(f"hits must be finite, got {hits}; give the reward from which on it is a hit.")
        return float(hits)
    if isinstance(hits, str | bool) or not isinstance(hits, Iterable):
        raise ValueError(rule)
    known = isinstance(candidates, Candidates)
    if not (labels := list(dict.fromkeys(candidates.names_from(hits, "hits") if known else names_in(hits, "hits")))):
        raise ValueError("hits is an empty list; give names, a reward or a share such as '5%'.")
    if known and len(labels) == len(candidates.names):
        raise ValueError("every candidate is a hit, so that there is nothing to look for; name fewer.")
    return labels


def share_of(hits: Hits, n: int) -> float | None:
    """Return the share of hits among so many candidates; None where a reward says what a hit is, or nothing."""
    if isinstance(hits, str):
        return float(hits.strip()[:-1]) / 100.0
    return len(hits) / n if isinstance(hits, list) else None


@dataclass(frozen=True)
class Left:
    """What a search has probably not found yet; numbers are NaN if nothing is known."""

    hits: float = math.nan  # expected number of hits among the candidates not measured
    low: float = math.nan  # the middle 90% of the draws
    high: float = math.nan
    found: float = math.nan  # expected number of hits among those measured
    best: float = math.nan  # probability that the best of all candidates has been measured; NaN if rewards are noise
    what: str = ""  # a hit in words
    unknown: str = ""  # why nothing is known

    def __str__(self) -> str:
        if self.unknown:
            return f"not known: {self.unknown}"
        chance = "over 0.99" if self.best > 0.99 else "below 0.01" if self.best < 0.01 else f"{self.best:.2f}"
        best = f"the best has been measured with a probability of {chance}"
        if math.isnan(self.best):
            best = "whether the best has been measured is not known, since rewards are mostly noise to the policy"
        return (
            f"about {self.hits:.3g} of {self.hits + self.found:.3g} hits are left (90%: {self.low:.0f} to "
            f"{self.high:.0f}), a hit being {self.what}; {best}; how far to trust it: docs/what_to_use.md"
        )


def left_of(search: Any, hits: Any, draws: int) -> Left:
    """Return what is left, see `bestarm.Search.left`; asked the same again, the same answer at no cost."""
    check_whole("draws", draws, 100)
    if (hits := checked_hits(hits, search._candidates)) is None:
        hits = SHARE if search._hits is None else search._hits
    status = search._status
    rows = tuple((row, error_of(row[2])) for row in status.rows)
    key = (repr(hits), draws, search.aim, search.seed, rows, tuple(status.withdrawn), len(search.candidates.names))
    if search._left_before is None or search._left_before[0] != key:
        search._left_before = key, _computed(search, hits, draws)
    return search._left_before[1]


def _computed(search: Any, hits: Any, draws: int) -> Left:
    names, means, gone = search._candidates.names, search._status.means(), search._status.withdrawn
    known = np.array([means.get(name, math.nan) for name in names], dtype=np.float64)
    if np.isnan(known).all():
        return Left(unknown="no result was told yet")
    policy, state = search._replayed()
    if not hasattr(policy, "joint_draws"):
        return Left(unknown=f"{search._choice.name} has no posterior; search.with_policy('gp').left() has one")
    open_ = np.array([name not in means and name not in gone for name in names], dtype=np.bool_)
    measured = np.array([reward(v, search.aim) for v in known[~np.isnan(known)]], dtype=np.float64)
    if isinstance(hits, float) and open_.any() and measured.max() < reward(hits, search.aim):
        # beyond the largest reward seen, predictions are too sure that there is nothing
        return Left(unknown=f"no result reaches {hits:g} yet; left('{SHARE}') tells of the best {SHARE}")
    if not open_.any():
        values = np.full((1, 1), -np.inf)
    else:
        draws = min(draws, max(100, _NUMBERS // int(open_.sum())))
        rng = Generator(Philox(key=int(Streams.first(1, seed=search.seed).key("what is left"))))
        values = policy.joint_draws(state, np.flatnonzero(open_), draws, rng)
        if not isinstance(search.aim, str):  # nothing is nearer than 0: what is drawn so is next to it, in its order
            values = np.where(values > 0.0, 1e-9 * (values - values.max()), values)
        elif search.aim == "both":
            values = np.maximum(values, 0.0)
    noisy = open_.any() and hasattr(policy, "explained") and policy.explained(state) < _EXPLAINED
    best = math.nan if noisy else float((measured.max() >= values.max(axis=1)).mean())
    n = len(measured) + int(open_.sum())
    if isinstance(hits, float):
        threshold, what = np.full((1, 1), reward(hits, search.aim)), f"a reward of {hits:g} or better"
    else:
        k = min(max(1, math.ceil((share_of(hits, len(names)) or 0.0) * n - 1e-9)), n)
        every = np.hstack([values, np.broadcast_to(measured, (len(values), len(measured)))])
        threshold = np.partition(every, -k, axis=1)[:, -k][:, None]
        what = f"{'as good as' if ((every >= threshold).sum(axis=1) > k).any() else 'one of'} the best {k} of {n}"
    left, found = (values >= threshold).sum(axis=1), (measured >= threshold).sum(axis=1)
    low, high = np.quantile(left, [0.05, 0.95], method="inverted_cdf")
    return Left(float(left.mean()), float(low), float(high), float(found.mean()), best, what)
