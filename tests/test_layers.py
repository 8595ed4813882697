"""Imports go one way: studies to the lab and the library, no study and no section to another, nowhere in a circle."""

import ast
import re
from pathlib import Path

import pytest

from bestarm_lab.experiments.names import PLACES, SOURCE, source_file
from bestarm_lab.paths import NOTEBOOKS
from bestarm_lab.study_packages import study_names

BELOW = {  # what each package may import beside itself
    "bestarm": set(),
    "bestarm_lab": {"bestarm"},
    "bestarm_objectives": {"bestarm", "bestarm_lab"},
    "bestarm_plain": set(),
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
        n for n in found if n.split(".")[0] in BELOW and SOURCE.joinpath(*n.split(".")).with_suffix(".py").is_file()
    }


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def floor_of(module: str) -> int:
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


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another, however indirectly."""
    reached = {module: set(found) for module, found in imports.items()}
    for middle in imports:
        for module in imports:
            if middle in reached[module]:
                reached[module] |= reached[middle]
    groups = {tuple(sorted(m for m in reached[module] if module in reached[m])) for module in imports}
    return [list(group) for group in groups if group]


def imports_of(package: str) -> dict[str, set[str]]:
    """Return what each module of a package imports of it when it runs, in functions, too; not for types alone."""
    found = {}
    for path in FILES:
        module = module_of(path)
        if module.split(".")[0] == package:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in [n for n in ast.walk(tree) if isinstance(n, ast.If)]:
                if ast.unparse(node.test) == "TYPE_CHECKING":
                    node.body = [ast.Pass()]
            found[module] = imported_modules(ast.unparse(tree))
    return {module: {other for other in names if other in found} - {module} for module, names in found.items()}


@pytest.mark.parametrize("package", ["bestarm"])
def test_no_modules_import_one_another(package):
    assert circles(imports_of(package)) == []


def test_a_circle_of_three_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]


SHARED = {"oae": {"cell_lines"}}  # rooms of more than one notebook
WITHOUT_ROOM = {"oae": {"what_to_use", "your_own_screen"}}  # notebooks on one's own arms, whose code is the library
GATHERERS = {"robustness"}  # modules of a study's root that read its sections


def sections_of(study: str) -> set[str]:
    return {path.parent.name for path in (SOURCE / "bestarm_studies" / study).glob("*/__init__.py")}


@pytest.mark.parametrize("study", study_names())
def test_every_notebook_of_a_study_has_a_folder_of_its_name(study):
    notebooks = {re.sub(r"^\d+_", "", path.stem) for path in (NOTEBOOKS / study).glob("*.ipynb")}
    assert notebooks - WITHOUT_ROOM.get(study, set()) == sections_of(study) - SHARED.get(study, set())


@pytest.mark.parametrize("study", study_names())
def test_no_section_imports_another(study):
    rooms, root = sections_of(study), SOURCE / "bestarm_studies" / study
    for path in root.rglob("*.py"):
        inside = path.relative_to(root).parts
        own = SHARED.get(study, set()) | {inside[0] if len(inside) > 1 else ""}
        if len(inside) == 1 and path.stem in GATHERERS:
            continue
        for other in imported_modules(path.read_text(encoding="utf-8")):
            parts = other.split(".")
            if parts[0] == "bestarm_studies" and len(parts) > 2 and parts[1] == study and parts[2] in rooms:
                assert parts[2] in own, f"{'/'.join(inside)} imports {other}: what two sections share is in the root"
