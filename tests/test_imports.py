"""Imports: each is declared by the extra of its package, and all go one way, from studies down to the library."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bestarm_lab.experiments.names import PLACES, SOURCE, source_file
from bestarm_lab.paths import NOTEBOOKS, ROOT
from bestarm_lab.study_packages import study_names

EXTRA = {"bestarm": "", "bestarm_plain": ""}
EXTRA |= dict.fromkeys(("bestarm_lab", "bestarm_objectives", "bestarm_studies"), "lab")
WITH_NUMBA = {"llvmlite"}  # Numba pins the version that it works with
NETWORKS = "torch_or_numpy fused_fit fused_predict mlp_batch mlp_fit"  # the first does without
OF_EXTRAS = {f"bestarm.models.{name}": "networks" for name in NETWORKS.split()} | {
    f"bestarm.search.{name}": extra
    for name, extra in {"tuning": "sklearn", "replay_figure": "screens", "plots": "plot"}.items()
}
LATE = {  # imported in a function, where an extra of its own says what is needed
    ("bestarm.kernels", "gpy"): "lab",
    ("bestarm.search.table_files", "openpyxl"): "excel",
    ("bestarm_lab.experiments.cluster", "cloudpickle"): "cluster",
    ("bestarm_lab.experiments.cluster", "distributed"): "cluster",
}
# where a module has another name
DISTRIBUTION = {"GPy": "gpy", "IPython": "ipython", "sklearn": "scikit-learn", "yaml": "pyyaml"}
FILES = sorted(SOURCE.glob("bestarm*/**/*.py"))
SHARED = {"oae": {"cell_lines"}}  # rooms of more than one notebook
WITHOUT_ROOM = {"oae": {"what_to_use", "your_own_screen"}}  # notebooks on one's own arms, whose code is the library
GATHERERS = {"robustness"}  # modules of a study's root that read its sections


def imported(body: list[ast.stmt], *, late: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the first names of modules that are imported when a program runs, and whether within a function."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], late
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imported(node.orelse, late=late)
            continue
        within = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from imported(getattr(node, part, []), late=within)


@cache
def declared(extra: str) -> set[str]:
    """Return the distributions that come with an extra, with those of the extras that it takes in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: set[str] = set()
    own = project["optional-dependencies"][extra] if extra else []
    for requirement in map(Requirement, project["dependencies"] + own):
        if requirement.name == project["name"]:
            found = found.union(*map(declared, requirement.extras))
        else:
            found.add(canonicalize_name(requirement.name))
    return found


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def third_party(path: Path) -> set[tuple[str, bool]]:
    """Return what a module imports beside the standard library and these packages, and whether late."""
    found = imported(parsed(path).body)
    outside = {(name, late) for name, late in found if name not in {*sys.stdlib_module_names, *EXTRA}}
    return {(canonicalize_name(DISTRIBUTION.get(name, name)), late) for name, late in outside}


def test_every_import_is_declared_by_the_extra_of_its_package():
    for path in FILES:
        module = module_of(path)
        for name, late in third_party(path):
            extra = OF_EXTRAS.get(module, EXTRA[module.split(".")[0]])
            extra = LATE.get((module, name), extra) if late else extra
            assert name in declared(extra) | WITH_NUMBA, f"{module} imports {name}, which [{extra}] does not declare"


def test_names_of_distributions_are_those_installed():
    known = {name: set(map(canonicalize_name, found)) for name, found in packages_distributions().items()}
    for name, distribution in DISTRIBUTION.items():
        assert name == "sklearn" or distribution in known[name]


def test_everything_that_is_declared_is_imported():
    used = {name for path in FILES for name, _ in third_party(path)}
    programs = {"dvc", "ipykernel", "jupyter"}
    assert set().union(*map(declared, ["", "networks", "sklearn", "screens", "lab", "cluster"])) - programs <= used


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import numpy as np, bestarm
lacking = []
for name in bestarm.__all__:
    if name == "BatchSearchCV":  # of another extra
        continue
    try:
        getattr(bestarm, name)
    except ImportError as error:
        assert str(error) == f"{name} needs Torch: pip install 'bestarm[networks]'", error
        lacking.append(name)
        assert name not in dir(bestarm), "which help(bestarm) reads"
print(*lacking)
arms = np.random.default_rng(1).standard_normal((12, 3))
for policy in (bestarm.random_batches(4, 2), bestarm.linear_oae(4, 2)):
    search = bestarm.Search(arms, policy)
    for _ in range(2):
        batch = search.ask()
        batch["reward"] = arms[batch.index, 0]
        search.tell(batch)
    search.save(sys.argv[1], overwrite=True)
    print(*bestarm.Search.load(sys.argv[1]).history["name"])
"""


def printed(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def test_without_torch_only_networks_are_missing_and_say_so(tmp_path):
    """All the others are there, and batch searches without networks do the same with and without it."""
    scripts, file = [WITHOUT_TORCH, WITHOUT_TORCH.replace('sys.modules["torch"] = None', "")], str(tmp_path / "s.npz")
    without, with_torch = (printed("-c", script, file).splitlines() for script in scripts)
    names = "det_d ensemble ensemble_noise_y ensemble_seq_b ensemble_seq_b_noise_y greedy hinge_p_norm max_opt mean_opt"
    assert " ".join(sorted(without[0].split())) == f"{names} seq_b"
    assert (with_torch[0], without[1:], len(without)) == ("", with_torch[1:], 3)


def test_the_light_part_imports_nothing_heavy():
    code = (
        "import sys, bestarm\nbestarm.Search, bestarm.Partition, bestarm.GPModel, bestarm.lin_ucb, bestarm.od_linbai\n"
        "print(*sys.modules.keys() & {'torch', 'matplotlib', 'dvc', 'IPython', 'GPy', 'joblib'})"
    )
    assert printed("-c", code).strip() == ""


def test_without_scikit_learn_one_line_says_what_to_install():
    code = (
        "import sys; sys.modules['joblib'] = None; import bestarm; bestarm.Search\n"
        "try:\n    bestarm.BatchSearchCV\nexcept ImportError as error:\n    print(error)"
    )
    assert printed("-c", code) == "BatchSearchCV needs scikit-learn: pip install 'bestarm[sklearn]'\n"


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


def imported_modules(tree: ast.Module) -> set[str]:
    seen: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            seen |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            seen |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {n for n in seen if n.split(".")[0] in BELOW and SOURCE.joinpath(*n.split(".")).with_suffix(".py").is_file()}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def floor_of(module: str) -> int:
    package, _, rest = module.partition(".")
    rooms, room = FLOORS.get(package, []), rest.partition(".")[0]
    if package == "bestarm_lab":  # the rooms above experiments use one another
        return rooms.index(room) + 1 if room in rooms else (0 if room in ("paths", "metrics") else len(rooms) + 1)
    return rooms.index(room) + 1 if room in rooms else 0


@pytest.mark.parametrize("package", BELOW)
def test_imports_go_downwards(package):
    for path in (SOURCE / package).rglob("*.py"):
        module = module_of(path)
        for other in imported_modules(parsed(path)):
            above = other.split(".")[0]
            if package != above:
                assert above in BELOW[package], f"{module} imports {other}"
            elif package == "bestarm_studies":
                assert other == package or other.split(".")[1] == module.split(".")[1], f"{module} imports {other}"
            else:
                assert floor_of(other) <= floor_of(module), f"{module} imports {other}, which lies above it"


def test_every_module_is_found_by_its_name():
    assert len(FILES) > 100
    assert all(source_file(module_of(path)) == path for path in FILES if module_of(path) not in PLACES)


def test_no_modules_of_the_library_import_one_another():
    """However indirectly, in functions, too, and not for types alone; the error names a circle."""
    found = {}
    for path in (SOURCE / "bestarm").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in [n for n in ast.walk(tree) if isinstance(n, ast.If)]:
            if ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = [ast.Pass()]
        found[module_of(path)] = imported_modules(tree) - {module_of(path)}
    TopologicalSorter(found).prepare()


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
        for other in imported_modules(parsed(path)):
            parts = other.split(".")
            if parts[0] == "bestarm_studies" and len(parts) > 2 and parts[1] == study and parts[2] in rooms:
                assert parts[2] in own, f"{'/'.join(inside)} imports {other}: what two sections share is in the root"
