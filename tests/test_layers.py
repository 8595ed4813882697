"""Imports go one way: the library knows no study, no study another, and within the library only downwards."""

from pathlib import Path

import pytest

from bestarm.experiments.code_hash import SOURCE, imported_modules, module_file

ROOMS = ["streams", "interface", "datasets", "designs", "models", "problems", "policies", "search", "experiments"]
ROOMS += ["screens", "reporting"]
FILES = sorted(SOURCE.glob("bestarm*/**/*.py"))
NAMES_A_STUDY = "bestarm.reporting.study"  # the one place that finds studies, by name


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> int:
    """Return the floor of a module; what lies beside the rooms is on the ground floor."""
    parts = module.split(".")
    return ROOMS.index(parts[1]) if len(parts) > 1 and parts[1] in ROOMS[2:] else 0


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_downwards(path):
    module = module_of(path)
    for other in imported_modules(path.read_text(encoding="utf-8")):
        if module.startswith("bestarm_studies."):
            study = module.split(".")[1]
            assert (
                other.split(".")[0] == "bestarm"
                or other in ("bestarm_studies", f"bestarm_studies.{study}")
                or (other.split(".")[1] == study)
            ), f"{module} imports {other}, of another study"
        else:
            assert not other.startswith("bestarm_studies") or module == NAMES_A_STUDY, f"{module} imports {other}"
            assert room_of(other) <= room_of(module), f"{module} imports {other}, which lies above it"


def test_every_module_is_found_by_its_name():
    assert len(FILES) > 100
    assert all(module_file(module_of(path)) == path for path in FILES)
