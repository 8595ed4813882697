"""Arguments of a search: its policy, and what a hit is."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice
from bestarm.search.number_texts import plain_floats
from bestarm.search.tables import names_in, unknown_names

DEFAULT = "gp"  # by the rule in docs/what_to_use.md

Hits = float | str | list[str] | None  # a reward from which on, a share such as "5%", names


def checked_policy(policy: Any, settings: Mapping[str, Any]) -> Any:
    """Return a `Choice` of a policy by its name, or the policy of a constructor."""
    if policy is None:
        policy = DEFAULT
    if isinstance(policy, str):
        return Choice(policy, settings)
    if settings:
        raise ValueError(f"there is no setting {next(iter(settings))!r}; settings are for a policy by its name.")
    if isinstance(policy, Choice):
        return policy
    for method in ("start", "ask", "tell", "finished", "recommend"):
        if isinstance(policy, type) or not hasattr(policy, method):
            raise ValueError(f"policy must have {method}, got {policy!r}; make one by a constructor of bestarm.")
    return policy


def checked_hits(hits: Any, candidates: Any) -> Hits:
    """Return what a hit is, refusing what is neither a reward nor a share nor names of some of the candidates."""
    if hits is None:
        return None
    rule = f"hits must be a reward, a share such as '5%', or a list of names; got {hits!r}."
    if isinstance(hits, str):
        share = plain_floats([hits.strip().removesuffix("%").strip()])
        if not hits.strip().endswith("%") or share is None or not 0.0 < share[0] < 100.0:
            raise ValueError(rule)
        return hits
    if isinstance(hits, int | float | np.number) and not isinstance(hits, bool):
        if not math.isfinite(hits):
            raise ValueError(f"hits must be finite, got {hits}; give the reward from which on it is a hit.")
        return float(hits)
    if isinstance(hits, bool) or not isinstance(hits, Iterable):
        raise ValueError(rule)
    labels = list(dict.fromkeys(names_in(hits, "hits")))
    if not labels:
        raise ValueError("hits is an empty list; give names, a reward or a share such as '5%'.")
    if isinstance(candidates, Candidates):
        unknown_names(labels, set(candidates.names))
        if len(labels) == len(candidates.names):
            raise ValueError("every candidate is a hit, so that there is nothing to look for; name fewer.")
    return labels


def share_of(hits: Hits, n: int) -> float | None:
    """Return the share of hits among so many candidates; None where a reward says what a hit is, or nothing."""
    if isinstance(hits, str):
        return float(hits.strip()[:-1]) / 100.0
    return len(hits) / n if isinstance(hits, list) else None
