"""What the checks of asking and telling cost at the door: microseconds a round of 500 searches, with and without them.

Simulations use policies as they are and pay nothing. Times are of the processor, so that other work on the machine
counts little. Arms are random vectors.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bestarm import Arms, Guarded, Streams, bayes_gap, lin_ucb, linear_oae, lucb, m_lingape, ucb_glm

REPLICATIONS, ROUNDS, REPEATS = 500, 200, 7
SIZES = ((10, 3), (50, 10))


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
    """Return a table of policies: a round as simulations have it, the checks at the door, and their share of it."""
    rows: list[dict[str, Any]] = []
    for n_arms, d in SIZES:
        arms = Arms(np.random.default_rng(0).standard_normal((n_arms, d)) / np.sqrt(d))
        made = (
            lin_ucb(ROUNDS),
            bayes_gap(ROUNDS, 0.1),
            ucb_glm(ROUNDS),
            lucb(2, sigma=1.0),
            m_lingape(2, sigma=1.0),
            linear_oae(batch=2, rounds=4),
        )
        for guarded in made:
            assert isinstance(guarded, Guarded)
            _round(guarded, arms)  # compiles
            pairs = [(_round(guarded.policy, arms), _round(guarded, arms)) for _ in range(REPEATS)]
            bare, checked = np.min(pairs, axis=0)
            rows.append(
                {
                    "arms": n_arms,
                    "policy": guarded.label,
                    "round": bare,
                    "checks": checked - bare,
                    "percent": 100 * (checked - bare) / bare,
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    print(f"Checks at the door, microseconds of the processor a round of {REPLICATIONS} searches (simulations: none)")
    print(costs().round(1).to_string(index=False))


if __name__ == "__main__":
    main()
