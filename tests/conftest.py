"""One thread per process, no display, the style of figures, and how often runs are killed."""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
import gc
import os
import sys

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
sys.modules.setdefault("rfc3987_syntax", None)  # as `bestarm_lab.notebooks` does

from pathlib import Path

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
    """Draw in the project's style where figures are tested, elsewhere in Matplotlib's, whichever test comes first."""
    if drawn := {"studies", "figures"} & set(request.path.relative_to(Path(__file__).parent).parts):
        from bestarm_lab.figures.styles import use_style

        use_style()
    elif getattr(request.config, "styled", False):
        sys.modules["matplotlib"].rcdefaults()
    request.config.styled = bool(drawn)
    yield
    if drawn:
        sys.modules["matplotlib.pyplot"].close("all")
