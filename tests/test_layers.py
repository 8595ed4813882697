"""Imports go one way: studies to the lab and the library, screens to the library, no study to another."""

import ast
from pathlib import Path

import pytest

from bestarm_lab.experiments.names import PACKAGES, PLACES, SOURCE, source_file

BELOW = {  # what each package may import beside itself
    "bestarm": set(),
    "bestarm_lab": {"bestarm"},
    "bestarm_screens": {"bestarm"},
    "bestarm_objectives": {"bestarm", "bestarm_lab"},
    "bestarm_studies": {"bestarm", "bestarm_lab", "bestarm_objectives"},
}
FLOORS = {  # within a package, from the ground up; what lies beside the rooms is on the ground floor
    "bestarm": ["designs", "models", "problems", "policies", "search"],
    "bestarm_lab": ["datasets", "experiments"],
}
FILES = sorted(SOURCE.glob("bestarm*/**/*.py"))


def imported_modules(source: str) -> set[str]:
    """Return the modules of these packages that a piece of Python imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {
        n for n in found if n.split(".")[0] in PACKAGES and SOURCE.joinpath(*n.split(".")).with_suffix(".py").is_file()
    }


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def floor_of(module: str) -> int:
    """Return the floor of a module in its package."""
    package, _, rest = module.partition(".")
    rooms, room = FLOORS.get(package, []), rest.partition(".")[0]
    if package == "bestarm_lab":  # the rooms above experiments use one another
        return rooms.index(room) + 1 if room in rooms else (0 if room in ("paths", "metrics") else len(rooms) + 1)
    return rooms.index(room) + 1 if room in rooms else 0


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_downwards(path):
    module = module_of(path)
    package = module.split(".")[0]
    for other in imported_modules(path.read_text(encoding="utf-8")):
        above = other.split(".")[0]
        if package != above:
            assert above in BELOW[package], f"{module} imports {other}"
        elif package == "bestarm_studies":
            assert other == package or other.split(".")[1] == module.split(".")[1], f"{module} imports another study"
        else:
            assert floor_of(other) <= floor_of(module), f"{module} imports {other}, which lies above it"


def test_every_module_is_found_by_its_name():
    assert len(FILES) > 100
    assert all(source_file(module_of(path)) == path for path in FILES if module_of(path) not in PLACES)
