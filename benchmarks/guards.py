"""What the checks of the ask-tell interface cost: microseconds a round of 500 searches, with and without them.

Times are of the processor, so that other work on the machine counts little. Arms are random vectors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from bestarm import Arms, BayesGap, LinUcb, Streams, UcbGlm, linear_oae, lucb, m_lingape

REPLICATIONS, ROUNDS, REPEATS = 500, 200, 7
SIZES = ((10, 3), (50, 10))


@contextmanager
def without_checks(policy: Any) -> Iterator[None]:
    """Take the checks off the classes of a policy for a while."""
    taken = []
    for cls in type(policy).__mro__:
        for name in ("start", "ask", "tell", "recommend"):
            method = cls.__dict__.get(name)
            if hasattr(method, "__wrapped__"):
                taken.append((cls, name, method))
                setattr(cls, name, method.__wrapped__)
    try:
        yield
    finally:
        for cls, name, method in taken:
            setattr(cls, name, method)


def _round(policy: Any, arms: Arms) -> float:
    """Return the microseconds of a round, without those of making up rewards; the first two rounds warm up."""
    state, spent, n = policy.start(arms, Streams.first(REPLICATIONS)), 0.0, 0
    for number in range(ROUNDS):
        began = time.process_time()
        asked = policy.ask(state)
        spent += (time.process_time() - began) * (number > 1)
        if policy.finished(state).any():
            break
        totals = asked.counts * (0.5 + 0.4 * np.sin(asked.arms * 1.7))
        began = time.process_time()
        policy.tell(state, asked, totals)
        spent += (time.process_time() - began) * (number > 1)
        n += number > 1
    return 1e6 * spent / max(n, 1)


def costs() -> pd.DataFrame:
    """Return a table of policies: a round without checks, the checks, and their share of it."""
    rows = []
    for n_arms, d in SIZES:
        arms = Arms(np.random.default_rng(0).standard_normal((n_arms, d)) / np.sqrt(d))
        policies = (
            LinUcb(ROUNDS), BayesGap(ROUNDS, 0.1), UcbGlm(ROUNDS), lucb(2, sigma=1.0), m_lingape(2, sigma=1.0),
            linear_oae(batch=2, rounds=4),
        )  # fmt: skip
        for policy in policies:
            _round(policy, arms)  # compiles
            found: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(REPEATS):
                found[True].append(_round(policy, arms))
                with without_checks(policy):
                    found[False].append(_round(policy, arms))
            bare, checks = min(found[False]), min(found[True]) - min(found[False])
            rows.append(
                {
                    "arms": n_arms,
                    "policy": policy.label,
                    "round": bare,
                    "checks": checks,
                    "percent": 100 * checks / bare,
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    print(f"Checks of ask and tell, microseconds of the processor a round of {REPLICATIONS} searches")
    print(costs().round(1).to_string(index=False))


if __name__ == "__main__":
    main()
