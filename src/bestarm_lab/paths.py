"""Paths of the repository, the same from every working directory."""

import os
from pathlib import Path

_MARK = "params.yaml"  # a project's root has it, beside dvc.yaml


def _root() -> Path:
    """Return ``$BESTARM_ROOT``, else the project that the working directory is in, else the checkout of this file."""
    if "BESTARM_ROOT" in os.environ:
        return Path(os.environ["BESTARM_ROOT"]).resolve()
    here = Path.cwd()
    inside = (f for f in (here, *here.parents) if all((f / name).is_file() for name in (_MARK, "dvc.yaml")))
    return next(inside, Path(__file__).resolve().parents[2])


ROOT = _root()

NOTEBOOKS = ROOT / "notebooks"
RESULTS = ROOT / "results"
FIGURES = ROOT / "figures"
DATA = ROOT / "data"
RAW_DATA = DATA / "raw"

QUICK = ROOT / "_quick"
STORE = ROOT / "_store"
REBUILD = ROOT / "_rebuild"


def rows_file(study: str, name: str, profile: str) -> Path:
    """Return where the rows of an experiment are committed."""
    return (RESULTS / study / "paper" if profile == "paper" else RESULTS / study) / f"{name}.parquet"


def data_mirror() -> Path:
    """Return the directory searched for data files before the network: ``$BESTARM_DATA`` or ``../shared/data``."""
    return Path(os.environ.get("BESTARM_DATA", ROOT.parent / "shared" / "data"))


def check_project(command: str) -> None:
    """Refuse a command where the root is no project, which has a ``params.yaml``."""
    if not (ROOT / _MARK).is_file():
        where = ROOT if "BESTARM_ROOT" in os.environ else Path.cwd()
        raise ValueError(
            f"{command} needs a checkout of the repository (git clone), as the working directory or as BESTARM_ROOT; "
            f"{where} has no {_MARK}."
        )
