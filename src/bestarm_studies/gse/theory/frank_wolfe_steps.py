"""Corollary 2: steps of Frank-Wolfe from Kumar and Yıldırım's start.

Of the paper: Appendix C; the start is that of Kumar and Yıldırım, Journal of Optimization Theory and Applications 2005.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_lab.claims.verdicts import Decision
from bestarm_studies.gse.checks import Rows, Test


def steps_to_twice_the_rank(n_arms: int, d: int, n_sets: int, seed: int) -> FloatArray:
    """Return the Frank-Wolfe steps from Kumar and Yıldırım's start until no leverage exceeds 2d, shape (S,)."""
    rng = np.random.default_rng([seed, n_arms, d])
    x = rng.standard_normal((n_sets, n_arms, d))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    streams = Streams.first(n_sets, seed=seed, instance=f"corollary 2 {n_arms} {d}")
    rule = DesignRule("d-optimal", "kumar-yildirim", tolerance=1.0)
    live, key = np.ones((n_sets, n_arms), dtype=np.bool_), streams.key("start")
    return np.asarray(
        optimal_design(x, live, rule, key=key, replications=streams.replications).n_steps, dtype=np.float64
    )


def step_rows(
    replications: int, dimensions: Sequence[int], arms_per_dimension: Sequence[int], *, seed: int, workers: int = 1
) -> pd.DataFrame:
    """Return the Frank-Wolfe steps until no leverage exceeds 2d, for so many random sets of arms of each size."""
    frames = [
        pd.DataFrame(
            {
                "n_features": d,
                "per_dimension": k,
                "replication": np.arange(replications),
                "steps": steps_to_twice_the_rank(k * d, d, replications, seed),
            }
        )
        for d in dimensions
        for k in arms_per_dimension
    ]
    return pd.concat(frames, ignore_index=True)


def corollary_2(test: Test, rows: Rows) -> Decision:
    """Decide that at most d log(log(d)) steps, on average, bring every leverage below 2d, for few arms and many."""
    (name,) = test["experiments"]
    holds, texts = True, []
    means = rows[name].groupby(["n_features", "per_dimension"])["steps"].mean().unstack("per_dimension")
    for d, mine in zip(means.index.to_list(), means.to_numpy(), strict=True):
        allowed = d * np.log(np.log(d))
        holds &= bool(mine.max() <= allowed)
        texts.append(f"d = {d}: {' and '.join(f'{m:.1f}' for m in mine)}, allowed {allowed:.1f}")
    sizes = " and ".join(f"{k}d" for k in means)
    return Decision(holds, f"mean steps with {sizes} arms: {'; '.join(texts)}")
