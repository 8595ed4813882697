"""Keys by definitions: what runs counts, what it is called, where it stands and how it looks does not."""

import ast
import shutil
import sys
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses, refusing
from small_experiments import SEED, experiment, rows_of

from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.experiments import definitions, names
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.definitions import code_digest, only_refuses, reached, roots_of
from bestarm_lab.experiments.experiment import Series
from bestarm_lab.experiments.keys import describe
from bestarm_lab.experiments.names import LOOSE, WHOLE, Definition
from bestarm_lab.metrics import correct
from bestarm_lab.paths import ROOT
from bestarm_lab.study import load_study
from bestarm_studies.linear_topm.theory.observer import GifaObserver

STUDIES = ("linear_topm", "gpoo", "gse", "oae", "dpp_bbo")
KINDS = ("constant", "line", "stream", "default", "order")


def experiments(study: str):
    return load_study(study).experiments


def what_runs(one, series=None) -> list:
    """Return what the rows of one series of an experiment are made by."""
    if isinstance(one, Computation):
        return [one.rows]
    given = one.series[series or next(iter(one.series))]
    return [simulate, Streams, one.problem, getattr(given, "policy", given), one.metrics, one.observe]


MINE = '''
"""A module."""
import numpy as np
from dataclasses import dataclass
from bestarm.settings import check_whole

FACTOR: float = 2.0  # a constant


def helper(x: float) -> float:
    """Return more."""
    return FACTOR * x


@dataclass(frozen=True)
class Record:
    n: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError("n must be at least 1.")


def unused():
    return 3


def root(x: float, record=Record(2)) -> float:
    """Return two times x."""
    check_whole("n", record.n)
    total = 0.0
    for i in range(record.n):
        total += helper(x) + np.sqrt(i)
    return total
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a function that writes a module outside the packages, and returns the digest of its ``root``."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which is taken for a source of equal length and second

    def digest(source: str, module: str = "mine", name: str = "root") -> str:
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        sys.modules.pop(module, None)
        definitions.forget()
        return code_digest(getattr(import_module(module), name))

    yield digest
    definitions.forget()
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


SAME = {
    "a docstring": ('"""Return two times x."""', '"""Return x + x, in the unit of x."""'),
    "no docstring": ('    """Return two times x."""\n', ""),
    "a comment": ("  # a constant", ""),
    "formatting": ("(x: float, record=Record(2)) -> float", "(\n    x: float,\n    record=Record(2),\n) -> float"),
    "an annotation": ("def helper(x: float) -> float", "def helper(x)"),
    "the annotation of a constant": ("FACTOR: float = 2.0", "FACTOR = 2.0"),
    "the annotation of a field": ("scale: float = 1.0", "scale: 'float | int' = 1.0"),
    "an added function": ("def unused():", "def another():\n    return 4\n\n\ndef unused():"),
    "a changed function that is not reached": ("return 3", "return 4"),
    "an added constant": ("FACTOR: float", "OTHER = 3\nFACTOR: float"),
    "the name of an import": ("import numpy as np", "import numpy as other"),
    "a guard less": ('    check_whole("n", record.n)\n', ""),
    "a refusal more in a frozen record": (
        "        if self.n < 1:",
        '        check_whole("n", self.n)\n        if self.n < 1:',
    ),
    "an added import": ("import numpy as np\n", "import numpy as np\nimport math\nfrom bestarm import partition\n"),
    "an import for types alone": (
        "import numpy as np\n",
        "import numpy as np\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas\n",
    ),
}
OTHER = {
    "a constant": ("FACTOR: float = 2.0", "FACTOR: float = 2.002"),
    "an integer for a float": ("FACTOR: float = 2.0", "FACTOR: float = 2"),
    "a statement more": ("    return total", "    total += 0.0\n    return total"),
    "a statement less": ("    total = 0.0\n", ""),
    "a helper": ("return FACTOR * x", "return FACTOR * x + 0.0"),
    "a default": ("record=Record(2)", "record=Record(3)"),
    "the default of a record": ("scale: float = 1.0", "scale: float = 1.5"),
    "a text that is no docstring": ("    return total", '    "total"\n    return total'),
    "what a library is asked": ("np.sqrt(i)", "np.cbrt(i)"),
    "what another name means": ("import numpy as np\n", "import math as np\n"),
    "a record that changes itself": ('raise ValueError("n must be at least 1.")', 'object.__setattr__(self, "n", 1)'),
    "a statement at the top of the module": ("def unused():", "np.random.default_rng(0)\n\n\ndef unused():"),
    "an operator": ("FACTOR * x", "FACTOR + x"),
    "a mutable constant that is changed": ("def unused():", "FACTOR += 1.0\n\n\ndef unused():"),
}


@pytest.mark.parametrize("change", SAME)
def test_what_makes_no_number_is_not_in_the_digest(mine, change):
    old, new = SAME[change]
    changed = MINE.replace(old, new)
    if change == "the name of an import":
        changed = changed.replace("np.", "other.")
    assert changed != MINE
    assert mine(changed) == mine(MINE)


@pytest.mark.parametrize("change", OTHER)
def test_what_may_make_a_number_is_in_the_digest(mine, change):
    old, new = OTHER[change]
    assert old in MINE
    assert mine(MINE.replace(old, new)) != mine(MINE)


def test_names_that_a_function_binds_hide_those_of_the_module(mine):
    """A parameter, a variable, the target of a comprehension and a walrus; but not what a nested function reads."""
    source = """
def f():
    return 1

def g():
    return 2

def root(f):
    total = [g for g in range(f) if (h := g)]
    def inner():
        return h
    return inner() + total[0]

def h():
    return {}
"""
    before = mine(source.format(3))
    assert mine(source.format(4)) == before, "h is bound in root"
    assert mine(source.format(3).replace("return 1", "return 7").replace("return 2", "return 8")) == before
    reads = source.format(3).replace("total[0]", "total[0] + (lambda: k())()") + "\ndef k():\n    return {}\n"
    assert mine(reads.format(3)) != mine(reads.format(4)), "what a nested function reads"


def test_the_first_iterable_of_a_comprehension_is_read_outside_of_it(mine):
    source = "items = [{}]\n\ndef root():\n    return [items for items in items]\n"
    assert mine(source.format(1)) != mine(source.format(2))


def test_a_method_does_not_see_the_names_of_its_class(mine):
    source = "size = {}\n\nclass root:\n    size = 3\n    def f(self):\n        return size\n"
    assert mine(source.format(1)) != mine(source.format(2))


def test_imports_are_followed_in_every_form(mine, tmp_path):
    """From, whole, renamed, of a part of a package, with a star, inside a function, through a module that hands on."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "__init__.py").write_text("", encoding="utf-8")
    (pack / "relative.py").write_text("from .base import f as handed_on\n", encoding="utf-8")
    forms = [
        ("from pack.base import f", "f()"),
        ("from pack.base import f as other", "other()"),
        ("from pack import base", "base.f()"),
        ("import pack.base", "pack.base.f()"),
        ("import pack.base as b", "b.f()"),
        ("from pack.base import *", "f()"),
        ("from pack.relative import handed_on", "handed_on()"),
        ("import pack.base as b", "getattr(b, 'f')()"),  # a module that is handed on counts whole
    ]
    forms += [("", f"(lambda: 0)() or {call}") for _, call in forms[:1]]
    for number, (line, call) in enumerate(forms):
        body = f"    from pack.base import f\n    return {call}" if not line else f"    return {call}"
        source = f"{line}\n\ndef root():\n{body}\n"
        found = []
        for value in (1, 2):
            (pack / "base.py").write_text(f"def f():\n    return {value}\n", encoding="utf-8")
            found.append(mine(source, f"form{number}"))
        assert found[0] != found[1], (line, call)


def test_what_is_installed_counts_by_its_name(mine):
    """NumPy's own functions are not read; versions are in the provenance."""
    mine(MINE)
    found = reached(import_module("mine").root)
    assert {d.module for d in found} == {"mine"}
    assert Definition("mine", "helper") in found
    assert Definition("mine", "unused") not in found
    assert names.source_file("numpy") is None
    assert names.source_file("json") is None
    assert roots_of([np.sqrt, len, 3, "text", None]) == set()


def test_packages_of_another_environment_are_installed_ones_and_those_of_studies_are_followed(tmp_path, monkeypatch):
    """A package in a user's own folder, or one that a path names, is as much installed as one of this environment."""
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    for name in ("elsewhere_a", "elsewhere_b"):
        (site / f"{name}.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    names._of_studies.cache_clear()
    monkeypatch.setattr(names, "entry_points", lambda group: {"b": EntryPoint("b", "elsewhere_b.study", group)})
    assert names.source_file("elsewhere_a") is None
    assert names.source_file("elsewhere_b") == (site / "elsewhere_b.py").resolve()
    names._of_studies.cache_clear()


def test_names_that_go_round_in_a_circle_count_as_their_whole_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "circle_a.py").write_text("from circle_b import *\n", encoding="utf-8")
    (tmp_path / "circle_b.py").write_text("import circle_a\nfrom circle_a import *\n", encoding="utf-8")
    assert names.locate("circle_a", "nowhere") == Definition("circle_a", WHOLE)


def test_what_only_refuses_is_told_from_what_does_more(mine):
    source = """
kept = []

def refuses(x):
    if x < 0:
        raise ValueError(x)

def calls(x):
    refuses(x)

def keeps(x):
    kept.append(x)
    if x < 0:
        raise ValueError(x)

def stores(x):
    x[0] = 1
    raise ValueError

def returns(x):
    if x < 0:
        raise ValueError(x)
    return x

def nothing(x):
    pass

def root(x):
    refuses(x)
    return x
"""
    mine(source)
    found = {name: only_refuses(Definition("mine", name)) for name in names.names_of("mine").statements}
    assert {name for name, refuses in found.items() if refuses} == {"refuses", "calls"}
    used = source.replace("    refuses(x)\n    return x", "    refuses(x.pop())\n    return x")
    assert mine(used) != mine(source), "an argument that does something counts"


PAGE = (ROOT / "docs" / "bring_your_policy.md").read_text(encoding="utf-8")
OWN = PAGE.partition("```python\n")[2].partition("```")[0]  # a policy of one's own


def test_rows_of_a_policy_kept_elsewhere_follow_its_code(mine, tmp_path):
    """A reversed choice makes other rows, in the same store; so does a policy of the same name in another file."""

    def rows(source: str, module: str):
        mine(source, module, "KeepAll")
        series = {"mine": import_module(module).KeepAll("mine", 40)}
        return rows_of(replace(experiment(), series=series, conventions=("as_written",)), tmp_path / "store")

    right = rows(OWN, "own_policy")
    assert rows(OWN.replace("argmax", "argmin"), "own_policy")["simple_regret"].mean() > right["simple_regret"].mean()
    again = rows(OWN.replace("  # features, (R, K, d)", ""), "own_policy_moved")
    assert again.equals(right), "the same definitions in another file are the same policy"
    assert not rows(OWN.replace("stage += 1", "stage += 2"), "another_file")["key"].isin(right["key"]).any()


def test_a_policy_that_no_file_holds_is_refused():
    made = type("Prompted", (), {"__module__": "__main__"})
    kept = sys.modules["__main__"].__dict__.pop("__file__", None)
    try:
        definitions.forget()
        refuses(lambda: code_digest(made), r"Prompted is defined at a prompt or in a notebook, .* put it into a file")
    finally:
        if kept is not None:
            sys.modules["__main__"].__file__ = kept
        definitions.forget()


PRESET = f"""{OWN}

from bestarm.presets import preset


@preset
class Short(KeepAll):
    label: str = "short"
    budget: int = 30


def runs(rounds):
    return Short()
"""


def preset_with(lines: str) -> str:
    return PRESET.replace("    budget: int = 30\n\n\ndef runs", f"    {lines}\n\n\ndef runs")


def test_a_preset_is_its_base_with_other_defaults(mine):
    """Its records have the keys of the base's with the same values; what code makes by it follows its defaults."""
    mine(PRESET, "own_preset", "KeepAll")
    own = import_module("own_preset")
    preset, base, other = own.Short(), own.KeepAll("short", 30), own.KeepAll("short", 40)
    assert describe(preset) == describe(base) != describe(other)
    assert code_digest(preset) == code_digest(base)
    assert describe(own.Short(budget=40)) == describe(other)
    made = mine(PRESET, "own_preset", "runs")
    assert mine(preset_with("budget: int = 40"), "own_preset", "runs") != made


@refusing(
    ("    def start(self, arms, streams):\n        return None", "Short is no preset of KeepAll: it adds start;"),
    ("    def __post_init__(self):\n        pass", "it adds __post_init__;"),
    ("    other: int = 2", "it adds other;"),
    ("    factor = 2", "it adds factor; give fields of the base other defaults only"),
    error=TypeError,
)
def test_a_class_that_adds_anything_is_no_preset(line, mine):
    mine(preset_with(f"budget: int = 30\n{line}"), "own_preset", "runs")


@pytest.fixture
def copied(monkeypatch, tmp_path):
    """Return a copy of the packages that digests are taken of."""
    for package in names.PACKAGES:
        shutil.copytree(names.SOURCE / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(names, "SOURCE", tmp_path)
    definitions.forget()
    yield tmp_path
    monkeypatch.undo()
    definitions.forget()


def digests(searches) -> list[str]:
    definitions.forget()
    return [code_digest(*values) for values in searches]


def digest_of(values) -> str:
    return digests([values])[0]


def test_nothing_is_imported_relatively():
    for package in names.PACKAGES:
        for path in (names.SOURCE / package).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), path


@pytest.mark.parametrize("study", STUDIES)
def test_what_makes_rows_reaches_no_figure_no_claim_and_no_guard_of_the_protocol(study):
    """A new figure makes no rows stale; and no module is handed on as an object, which would count whole."""
    above = ("bestarm_lab.figures", "bestarm_lab.claims", "bestarm_lab.notebooks", "bestarm.search")
    above += ("bestarm.guards.protocol", "bestarm_lab.results", "bestarm_lab.experiments.run")
    for name, one in experiments(study).items():
        found = reached(*what_runs(one)) if isinstance(one, Computation) else reached(simulate, one.problem, one.series)
        assert not [d for d in found if d.module.startswith(above) or d.name == WHOLE], name


def test_what_a_policy_reaches_is_found_through_other_modules():
    """A gap-index algorithm reaches its compiled round, its thresholds and the streams; no LinGame, no preset."""
    found = {f"{d.module}.{d.name}" for d in reached(experiments("linear_topm")["fig1a"].series["UGapE"])}
    expected = {"policies.linear.gifa.Gifa", "policies.linear.gifa_round.choose_pair", "streams.philox"}
    assert {f"bestarm.{name}" for name in expected} <= found
    assert [name for name in found if name.startswith("bestarm.policies.linear.thresholds.")]
    assert not [name for name in found if "lingame" in name or name.endswith("gifa.ugape")]


@cache
def families():
    """Return one policy, problem and metrics of every family, and every policy class of the studies."""
    found = {}
    for study in STUDIES:
        for name, one in experiments(study).items():
            if isinstance(one, Computation):
                continue
            for series, given in one.series.items():
                policy = given.policy if isinstance(given, Series) else given
                made = policy.func if isinstance(policy, partial) else type(policy)
                found.setdefault((study, made.__qualname__), (study, name, series))
    return sorted(found.values())


def searches_of_families() -> list:
    return [what_runs(experiments(study)[name], series) for study, name, series in families()]


@cache
def digests_before() -> list[str]:
    """Return the digest of a search of every family, of files that nothing has changed."""
    return digests(searches_of_families())


class Fault(ast.NodeTransformer):
    """One change of what a definition does, the ``number``-th that is possible of its kind."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind, self.left, self.done = kind, number, False

    def _here(self) -> bool:
        self.left -= 1
        self.done |= self.left == -1
        return self.left == -1

    def visit_Constant(self, node):
        if self.kind == "constant" and type(node.value) in (int, float) and self._here():
            return ast.copy_location(ast.Constant(node.value * 1.001 if node.value else 1e-3), node)
        if self.kind == "stream" and isinstance(node.value, str) and self._here():
            return ast.copy_location(ast.Constant(node.value + "x"), node)
        return node

    def visit_FunctionDef(self, node):
        # docstrings, annotations and refusals are no faults
        if node.name == "__post_init__":
            return node
        node.returns = None
        body = node.body[1:] if ast.get_docstring(node) else node.body
        if self.kind == "default" and node.args.defaults and self._here():
            node.args.defaults[-1] = ast.Constant("other")
        if self.kind == "line" and len(body) > 1 and self._here():
            body = body[:-1]
        if self.kind == "order" and len(node.args.args) > 1 and self._here():
            node.args.args[0], node.args.args[1] = node.args.args[1], node.args.args[0]
        node.body = [self.visit(part) for part in body]
        return node

    def visit_AnnAssign(self, node):
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_arg(self, node):
        return node

    visit_Raise = visit_arg

    def visit_Expr(self, node):
        checks = isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith("check_")
        return node if checks else self.generic_visit(node)

    def visit_ClassDef(self, node):
        node.body = [self.visit(p) for p in (node.body[1:] if ast.get_docstring(node) else node.body)]
        return node


def planted(path: Path, name: str, kind: str, number: int) -> str | None:
    """Put one fault into a definition of a file; return the source before, or None where there is no such place."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    fault = Fault(kind, number)
    for place, statement in enumerate(tree.body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if name in (getattr(statement, "name", None), getattr(target, "id", None)) and not fault.done:
            tree.body[place] = fault.visit(statement)
    if not fault.done:
        return None
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    return source


def test_planted_faults_change_the_key_of_every_family(copied):
    """A constant, a line, a stream, a default, an order: in each policy, problem and metric, and in what they call."""
    generator = np.random.default_rng(SEED)
    tried, missed = dict.fromkeys(KINDS, 0), []
    for number, (study, name, series) in enumerate(families()):
        values = what_runs(experiments(study)[name], series)
        before = digest_of(values)
        for turn, part in enumerate(("policy", "problem", "metric")):
            roots = {"policy": values[3], "problem": values[2], "metric": values[4]}[part]
            found = sorted(d for d in reached(roots) if d.name not in (WHOLE, LOOSE))
            kinds = KINDS[(number + turn) % 5 :] + KINDS[: (number + turn) % 5]
            places = ((kind, place) for kind in kinds for place in generator.permutation(len(found)))
            for kind, place in places:
                module, definition = found[place]
                path = names.source_file(module)
                if (source := planted(path, definition, kind, int(generator.integers(2)))) is not None:
                    if digest_of(values) == before:
                        missed.append(f"{study} {series}: {kind} in {module}.{definition}")
                    path.write_text(source, encoding="utf-8")
                    tried[kind] += 1
                    break
    assert not missed, "\n".join(missed)
    assert min(tried.values()) >= 5, tried
    assert sum(tried.values()) >= 60, tried


def test_the_beta_of_lemma_1_times_1_001_changes_the_key(copied):
    """It changes 7 of 500 runs, which two runs of each part would not show."""
    values = what_runs(experiments("gpoo")["fig2"], "GPOO")
    before = digest_of(values)
    path = names.source_file(next(d for d in reached(*values) if d.name == "lemma1_beta").module)
    head, _, body = path.read_text(encoding="utf-8").partition("def lemma1_beta")
    assert "return " in body
    path.write_text(head + "def lemma1_beta" + body.replace("return ", "return 1.001 * ", 1), encoding="utf-8")
    assert digest_of(values) != before


def moved(copied: Path, origin: str, target: str) -> None:
    old, new = (copied.joinpath(*m.split(".")).with_suffix(".py") for m in (origin, target))
    new.parent.mkdir(parents=True, exist_ok=True)
    old.rename(new)
    (package, module), (into, renamed) = origin.rsplit(".", 1), target.rsplit(".", 1)
    for path in copied.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if module in text:
            text = text.replace(f"from {origin} import", f"from {target} import")
            text = text.replace(f"from {package} import {module}\n", f"from {into} import {renamed} as {module}\n")
            path.write_text(text, encoding="utf-8")


def test_moving_splitting_and_renaming_modules_changes_no_key(copied):
    """A module in another room, under another name; a definition in a module of its own."""
    before = digests_before()
    moved(copied, "bestarm.policies.linear.gifa_round", "bestarm.designs.a_round")
    moved(copied, "bestarm.vector_functions", "bestarm.models.vectors")
    moved(copied, "bestarm.policies.linear.elimination", "bestarm.policies.stages")
    moved(copied, "bestarm.designs.rounding", "bestarm.apportionment")
    moved(copied, "bestarm.policies.cells.cell_search", "bestarm.models.cells")
    path = copied / "bestarm/partition.py"  # split: everything in another module, handed on by this one
    path.rename(copied / "bestarm/cells.py")
    bound = ", ".join(names.names_of("bestarm.partition").statements)
    path.write_text(f"from bestarm.cells import {bound}\n", encoding="utf-8")
    assert digests(searches_of_families()) == before


ADDED = """

def added(x):
    return x + 1

ADDED = 3

class Added:
    pass

# more
"""


def test_additions_and_another_form_of_every_file_change_no_key(copied):
    """Each written anew by Python's own formatter, without docstrings and comments, and with definitions at its end."""
    before = digests_before()
    for path in copied.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.returns = None
                if ast.get_docstring(node):
                    node.body = node.body[1:] or [ast.Pass()]
        path.write_text(ast.unparse(tree) + ADDED, encoding="utf-8")
    found = digests(searches_of_families())
    assert [f for f, old, new in zip(families(), before, found, strict=True) if new != old] == []


def test_measured_rows_outlive_the_code(copied):
    """Wall times belong to the machine; they are measured again on purpose only."""
    one = experiments("linear_topm")["growth_times"]
    before = one.parts("smoke", SEED)[0].key
    path = copied / "bestarm_studies/linear_topm/beyond/experiments.py"
    path.write_text(path.read_text(encoding="utf-8").replace("return", "0\n    return"), encoding="utf-8")
    definitions.forget()
    assert one.parts("smoke", SEED)[0].key == before


def test_a_class_that_moves_keeps_the_key_of_what_it_makes():
    """Specifications name functions and classes without their modules."""
    described = describe([GifaObserver, partial(correct), experiments("linear_topm")["fig1a"].series["UGapE"]])
    assert (described[0], described[1][0], described[2][0]) == ("GifaObserver", "correct", "Gifa")
    assert "bestarm" not in str(described)
