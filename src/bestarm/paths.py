"""Where everything lies, so that nothing depends on the working directory."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(os.environ.get("BESTARM_ROOT", Path(__file__).resolve().parents[2]))

NOTEBOOKS = ROOT / "notebooks"
RESULTS = ROOT / "results"
FIGURES = ROOT / "figures"
DATA = ROOT / "data"
RAW_DATA = DATA / "raw"

QUICK = ROOT / "_quick"
STORE = ROOT / "_store"
REBUILD = ROOT / "_rebuild"


def data_mirror() -> Path:
    """Return the directory searched for data files before the network: ``$BESTARM_DATA`` or ``../shared/data``."""
    return Path(os.environ.get("BESTARM_DATA", ROOT.parent / "shared" / "data"))
