"""Dependencies: what each package imports is declared by the extra that it belongs to."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bestarm_lab.experiments.names import SOURCE
from bestarm_lab.paths import ROOT

EXTRA = {"bestarm": "", "bestarm_plain": ""} | dict.fromkeys(
    ("bestarm_lab", "bestarm_objectives", "bestarm_studies"), "lab"
)
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


def third_party(path: Path) -> set[tuple[str, bool]]:
    """Return what a module imports beside the standard library and these packages, and whether late."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    outside = {(name, late) for name, late in imported(tree.body) if name not in {*sys.stdlib_module_names, *EXTRA}}
    return {(canonicalize_name(DISTRIBUTION.get(name, name)), late) for name, late in outside}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_import_is_declared_by_the_extra_of_its_package(path):
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
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
    networks = (
        "det_d ensemble ensemble_noise_y ensemble_seq_b ensemble_seq_b_noise_y greedy hinge_p_norm max_opt mean_opt"
    )
    assert " ".join(sorted(without[0].split())) == f"{networks} seq_b"
    assert (with_torch[0], without[1:], len(without)) == ("", with_torch[1:], 3)


HEAVY = ("torch", "matplotlib", "dvc", "IPython", "GPy", "joblib")


def test_the_light_part_imports_nothing_heavy():
    code = (
        "import sys, bestarm\nbestarm.Search, bestarm.Partition, bestarm.GPModel, bestarm.lin_ucb, bestarm.od_linbai\n"
        f"print(*(m for m in {HEAVY} if m in sys.modules))"
    )
    assert printed("-c", code).strip() == ""


def test_without_scikit_learn_one_line_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None; import bestarm; bestarm.Search\n"
        "try:\n    bestarm.BatchSearchCV\nexcept ImportError as error:\n    print(error)"
    )
    assert printed("-c", code) == "BatchSearchCV needs scikit-learn: pip install 'bestarm[sklearn]'\n"
