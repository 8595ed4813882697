"""One thread per process, no display, the style of figures, and a driver that writes down every pull."""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
import gc
import os
import sys

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
sys.modules.setdefault("rfc3987_syntax", None)  # as `bestarm_lab.notebooks` does

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

gc.disable()
settings.register_profile("bestarm", deadline=None)
settings.load_profile("bestarm")


def pytest_addoption(parser):
    parser.addoption("--kills", type=int, default=4, help="how often runs are killed at random moments")


def pytest_collection_finish(session):
    """Spare the garbage collector the million objects that imports and the collection of tests leave behind."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def kills(request) -> int:
    return request.config.getoption("--kills")


@pytest.fixture(autouse=True)
def style(request):
    """Draw in the project's style where figures are tested, whichever test comes first, and close what was drawn."""
    if drawn := {"studies", "figures"} & set(request.path.relative_to(Path(__file__).parent).parts):
        from bestarm_lab.figures.styles import use_style

        use_style()
    yield
    if drawn:
        sys.modules["matplotlib.pyplot"].close("all")


class Driven(NamedTuple):
    """What each replication did: its pulls in order, whether it stopped by itself, what it recommends."""

    pulls: list[list[int]]
    stopped: np.ndarray
    recommended: np.ndarray
    state: Any


@pytest.fixture(scope="session")
def drive() -> Callable[..., Driven]:
    """Return a plain loop over rounds that keeps the sequence of pulls; each replication is cut at ``cap`` pulls."""

    def loop(policy, problem, streams, cap=10**9, on_round=None) -> Driven:
        state = policy.start(problem.arms, streams)
        n_replications = len(streams.replications)
        pulled = np.zeros((n_replications, problem.arms.n_arms), dtype=np.int64)
        pulls: list[list[int]] = [[] for _ in range(n_replications)]
        open_ = np.ones(n_replications, dtype=bool)
        while True:
            asked = policy.ask(state)
            open_ &= ~policy.finished(state) & (pulled.sum(axis=1) + asked.counts.sum(axis=1) <= cap)
            if on_round is not None:
                on_round(state)
            if not open_.any():
                return Driven(pulls, policy.finished(state).copy(), policy.recommend(state).copy(), state)
            asked = type(asked)(asked.arms, np.where(open_[:, None], asked.counts, 0))
            for r in range(n_replications):
                pulls[r] += [int(a) for a, n in zip(asked.arms[r], asked.counts[r], strict=True) for _ in range(n)]
            policy.tell(state, asked, problem.rewards(asked, pulled, streams))

    return loop
