"""Small experiments and what tests of the runner share."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestarm.policies.linear.gifa import LinGifa, MLinGape
from bestarm.problems.linear_bandit import LinearBandit
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.experiments.run import make_rows
from bestarm_lab.experiments.scale import Scale
from bestarm_lab.metrics import correct, simple_regret

SEED = 20261120
FEATURES = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-0.6, 0.8]])


def bandit(n_arms: int = 4, gap: float = 1.0) -> LinearBandit:
    return LinearBandit(f"plane K={n_arms} gap={gap}", FEATURES[:n_arms], np.array([gap, 0.1]))


def experiment(replications: int = 8, block: int = 4, **changes: Any) -> Experiment:
    """Return an experiment of two policies, each as written and as coded."""
    settings: dict[str, Any] = {
        "title": "small",
        "problem": partial(bandit, n_arms=4),
        "series": {"A": MLinGape(2, threshold="heuristic"), "B": LinGifa(2, threshold="heuristic")},
        "profiles": {"smoke": Scale(2), "laptop": Scale(replications)},
        "metrics": (correct, simple_regret),
        "conventions": ("as_written", "as_coded"),
        "block": block,
        "max_pulls": 10_000,
    }
    return Experiment(**(settings | changes))


def rows_of(an_experiment: Any, store: Path, profile: Any = "laptop", **settings: Any) -> pd.DataFrame:
    return make_rows(an_experiment, profile, **({"seed": SEED, "store": store} | settings))


def rows_and_blocks(an_experiment: Any, store: Path, **settings: Any) -> tuple[pd.DataFrame, int]:
    """Return the rows of an experiment, and how many blocks are computed for them."""
    totals = [0]

    def note(done: int, total: int, seconds_left: float) -> None:
        assert done <= total
        assert seconds_left >= 0
        totals.append(total)

    return rows_of(an_experiment, store, progress=note, **settings), totals[-1]


def equal(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Return whether all but the keys is equal, bit by bit."""
    return bool(a.drop(columns="key").reset_index(drop=True).equals(b.drop(columns="key").reset_index(drop=True)))
