"""Rows of what is seen in every round of a search: the same loop and the same choices, and a look at each state."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bestarm.observe import Looking
from bestarm.simulate import simulate
from bestarm.streams import Streams

Seen = pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


def watched(
    policy: Any,
    problem: Any,
    look: Callable[[Any, Any], Seen],
    replications: int | Sequence[int],
    *,
    seed: int,
    block: int | None = None,
) -> pd.DataFrame:
    """Return what is seen in every round of a search, after the choice and before the reward, as rows.

    ``look`` makes of a state and the problem of its replications rows: a frame, a mapping of columns, a list of
    mappings, or None for a round of which nothing is kept. The last call is after the last reward. ``replications``
    says how many, or which; what is seen does not depend on how many are searched together (``block``, by default all).
    The problem's label keys the noise. Rows of all blocks are returned round by round.
    """
    runs = np.arange(replications) if isinstance(replications, int) else np.array(replications, dtype=np.int64)
    seen: list[pd.DataFrame] = []
    for start in range(0, len(runs), block or len(runs)):
        some = runs[start : start + (block or len(runs))]
        part = problem.take(some)

        def note(state: Any, part: Any = part) -> None:
            found = look(state, part)
            if found is not None:
                seen.append(found if isinstance(found, pd.DataFrame) else pd.DataFrame(found))

        simulate(Looking(policy, note), part, Streams(seed, problem.label, some), metrics={})
    return pd.concat(seen, ignore_index=True)
