"""The hash of the code: what runs counts, what it is called and how it looks does not."""

import shutil
import textwrap
from dataclasses import replace
from functools import partial
from importlib import import_module

import pytest
from small_experiments import SEED, experiment

from bestarm.experiments import code_hash as hashing
from bestarm.experiments.code_hash import code_hash, imported_modules, reached_modules, syntax_digest
from bestarm.experiments.computation import Computation
from bestarm.experiments.keys import describe, modules_of
from bestarm.metrics import correct
from bestarm_studies.linear_topm.experiments import EXPERIMENTS
from bestarm_studies.linear_topm.observer import GifaObserver

SOURCE = '''
"""A module."""
import numpy as np  # numbers


def twice(x: float) -> float:
    """Return two times x."""
    return 2.0 * x
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""Return two times x."""', '"""Return x + x, in the unit of x."""', True),
        ('    """Return two times x."""\n', "", True),
        ('"""A module."""', '"""A better module."""', True),
        ("  # numbers", "", True),
        ("(x: float) -> float", "(\n    x: float,\n) -> float", True),
        ("2.0 * x", "(2.0 * x)", True),
        ("2.0 * x", "2.0 * x + 0.0", False),
        ("2.0", "2", False),
        ("import numpy as np", "import numpy", False),
        ("twice(x", "twice(y", False),
        ("return 2.0 * x", '"two"\n    return 2.0 * x', False),
    ],
)
def test_only_what_runs_is_in_the_digest(old, new, same):
    """Docstrings, comments and formatting are not; statements, names and constants are."""
    assert old in SOURCE
    changed = SOURCE.replace(old, new)
    assert (syntax_digest(changed) == syntax_digest(SOURCE)) is same


def test_imports_are_found_in_every_form():
    """At any depth, of modules and from packages; other packages are left out."""
    source = textwrap.dedent(
        """
        import numpy, bestarm.paths
        from bestarm.policies import gifa_round, lingame as game
        from bestarm_studies.linear_topm.instances import classic_instance
        def later():
            from bestarm import metrics
        """
    )
    expected = {"bestarm", "bestarm_studies.linear_topm.instances"}
    expected |= {
        f"bestarm.{name}" for name in ("paths", "policies", "policies.gifa_round", "policies.lingame", "metrics")
    }
    assert imported_modules(source) == expected


def test_no_module_uses_a_relative_import():
    """The search for what a result was computed by does not follow them."""
    for package in hashing.PACKAGES:
        for path in (hashing.SOURCE / package).rglob("*.py"):
            assert "from ." not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("study", ["linear_topm", "gpoo", "gse", "oae", "dpp_bbo"])
def test_what_makes_rows_reaches_no_figure_and_imports_nothing_in_a_circle(study):
    """A new figure makes no rows stale; a circle of imports has no digest."""
    for name, one in import_module(f"bestarm_studies.{study}.experiments").EXPERIMENTS.items():
        settings = [one.rows] if isinstance(one, Computation) else [one.problem, one.observe, *one.series.values()]
        reached = reached_modules(modules_of(settings) - {"bestarm.experiments.experiment"})
        assert not [module for module in reached if module.startswith("bestarm.reporting")], name
        assert code_hash(reached)


def test_what_a_policy_reaches_is_found_through_other_modules():
    """GIFA reaches its compiled round, the thresholds, the designs and the streams; not LinGame, not the figures."""
    reached = reached_modules(["bestarm.policies.gifa"])
    assert reached == sorted(reached)
    for name in ("policies.gifa", "policies.gifa_round", "policies.thresholds", "designs.l1_design", "streams"):
        assert f"bestarm.{name}" in reached
    assert "bestarm.policies.lingame" not in reached
    assert not [name for name in reached if name.startswith("bestarm.reporting")]


def forget() -> None:
    """Let the hash read the files again."""
    hashing._imports_of.cache_clear()
    hashing.syntax_digest.cache_clear()


@pytest.fixture
def copied(monkeypatch, tmp_path):
    """Return a copy of the packages that the hash is taken of."""
    for package in hashing.PACKAGES:
        shutil.copytree(hashing.SOURCE / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(hashing, "SOURCE", tmp_path)
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def keys(an_experiment) -> list[str]:
    """Return the keys of an experiment's parts, from the files as they are now."""
    forget()
    return [part.key for part in an_experiment.parts("smoke", SEED)]


def edited(path, old: str, new: str):
    """Change a file; return what puts it back."""
    source = path.read_text(encoding="utf-8")
    assert old in source, path
    path.write_text(source.replace(old, new), encoding="utf-8")
    return partial(path.write_text, source, encoding="utf-8")


def added(path):
    """Add a statement to a file; return what puts it back."""
    source = path.read_text(encoding="utf-8")
    path.write_text(source + "\nADDED = True\n", encoding="utf-8")
    return partial(path.write_text, source, encoding="utf-8")


SEARCH = replace(
    experiment(observe=GifaObserver), problem=EXPERIMENTS["fig1a"].problem, series=EXPERIMENTS["fig1a"].series
)
LIBRARY, STUDY = "bestarm", "bestarm_studies/linear_topm"
NAMED = [
    (SEARCH, f"{STUDY}/instances.py"),  # the problem's constructor
    (SEARCH, f"{LIBRARY}/problems/linear_bandit.py"),  # what it returns
    (SEARCH, f"{LIBRARY}/policies/gifa.py"),
    (SEARCH, f"{LIBRARY}/policies/gifa_round.py"),  # what the policy calls
    (SEARCH, f"{STUDY}/observer.py"),
    (SEARCH, f"{STUDY}/round_checks.py"),  # what the observer calls
    (SEARCH, f"{LIBRARY}/experiments/observe.py"),
    (SEARCH, f"{LIBRARY}/experiments/simulate.py"),
    (SEARCH, f"{LIBRARY}/streams.py"),
    (EXPERIMENTS["tab04"], f"{STUDY}/complexity_table.py"),
    (EXPERIMENTS["tab04"], f"{LIBRARY}/designs/l1_design.py"),
    (EXPERIMENTS["drug_simulator"], f"{STUDY}/drug/boolean_dynamics.py"),
]


def test_every_module_that_an_experiment_names_or_reaches_is_in_its_key(copied):
    """Problem, policy, observer, loop, computation: a statement counts, a docstring and other modules do not."""
    for search, path in NAMED:
        before = keys(search)
        put_back = added(copied / path)
        assert set(keys(search)).isdisjoint(before), path
        put_back()
        assert keys(search) == before
    before = keys(SEARCH)
    edited(copied / LIBRARY / "streams.py", 'r"""', 'r"""Now ')
    added(copied / LIBRARY / "policies" / "lingame.py")
    added(copied / LIBRARY / "reporting" / "forest.py")
    added(copied / LIBRARY / "metrics.py")
    added(copied / STUDY / "experiments.py")
    assert keys(SEARCH) == before


def test_a_metric_counts_by_its_own_source_and_a_study_s_by_its_module(copied, monkeypatch):
    """Those of the library call nothing, so that a new one leaves all rows as they are."""
    before = keys(SEARCH)

    def mended(problem, recommended):
        return correct(problem, recommended) + 0.0

    mended.__name__, mended.__module__ = "correct", "bestarm.metrics"
    assert set(keys(replace(SEARCH, metrics=(mended, *SEARCH.metrics[1:])))).isdisjoint(before)
    mended.__module__ = "bestarm_studies.linear_topm.complexity"
    own = replace(SEARCH, metrics=(mended, *SEARCH.metrics[1:]), observe=None)
    known = keys(own)
    added(copied / STUDY / "complexity.py")
    assert set(keys(own)).isdisjoint(known)


def test_measured_rows_outlive_the_code(copied):
    """Wall times belong to the machine; they are measured again on purpose only."""
    before = keys(EXPERIMENTS["growth_times"])
    added(copied / STUDY / "pull_times.py")
    added(copied / LIBRARY / "policies" / "gifa.py")
    assert keys(EXPERIMENTS["growth_times"]) == before


def test_moving_and_renaming_modules_changes_no_key(copied, monkeypatch):
    """Also where the order of the imports follows the names, and where a whole module is imported."""
    before = code_hash(["bestarm_studies.linear_topm.observer"])
    study = copied / STUDY
    (study / "round_checks.py").rename(copied / LIBRARY / "a_checks.py")
    edited(study / "observer.py", "bestarm_studies.linear_topm.round_checks", "bestarm.a_checks")
    source = (study / "observer.py").read_text(encoding="utf-8")
    line = next(line for line in source.splitlines(keepends=True) if "bestarm.a_checks" in line)
    first = source.index("from bestarm.")
    moved = source[:first] + line + source[first:].replace(line, "")
    (study / "observer.py").write_text(moved, encoding="utf-8")
    (copied / LIBRARY / "policies" / "gifa_round.py").rename(copied / LIBRARY / "designs" / "gifa_round.py")
    for path in copied.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "gifa_round" in text:
            text = text.replace("from bestarm.policies import gifa_round", "from bestarm.designs import gifa_round")
            path.write_text(text.replace("bestarm.policies.gifa_round", "bestarm.designs.gifa_round"), encoding="utf-8")
    forget()
    assert code_hash(["bestarm_studies.linear_topm.observer"]) == before
    added(copied / LIBRARY / "designs" / "gifa_round.py")
    forget()
    assert code_hash(["bestarm_studies.linear_topm.observer"]) != before


def test_a_class_that_moves_keeps_the_key_of_what_it_makes():
    """Specifications name functions and classes without their modules."""
    described = describe([GifaObserver, partial(correct), EXPERIMENTS["fig1a"].series["UGapE"]])
    assert described[0] == "GifaObserver"
    assert described[1][0] == "correct"
    assert described[2][0] == "Gifa"
    assert "bestarm" not in str(described)


GUARDED = """
from bestarm.guards.protocol import guarded, n_arms
from bestarm.guards.settings import check_whole
import numpy as np


@guarded(sigma=1e-12)
class Policy:
    def ask(self, state):
        check_whole("n", state.n[0])
        return np.zeros(state.n)
"""
PLAIN = """
import numpy as np


class Policy:
    def ask(self, state):
        return np.zeros(state.n)
"""


def test_guards_that_only_refuse_are_forgotten():
    """A decorator, and a statement that only calls a guard: the digest is that of the module without them."""
    assert syntax_digest(GUARDED) == syntax_digest(PLAIN)
    assert imported_modules(GUARDED) == set()
    renamed = GUARDED.replace("import guarded,", "import guarded as g,").replace("@guarded", "@g")
    assert syntax_digest(renamed) == syntax_digest(PLAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.zeros(state.n)", "np.zeros(n_arms(state))"),
        ('check_whole("n", state.n[0])', 'check_whole("n", state.draw())'),
        ('check_whole("n", state.n[0])', 'check_whole("n", n := 3)'),
        ('check_whole("n", state.n[0])', 'n = check_whole("n", state.n[0])'),
        ("@guarded(sigma=1e-12)", "@other\n@guarded(sigma=1e-12)"),
    ],
    ids=["a value", "arguments that do something", "arguments that name something", "a result", "another decorator"],
)
def test_a_guard_whose_value_is_used_counts(old, new):
    """It could change a number, and so could what its arguments do."""
    assert old in GUARDED
    assert syntax_digest(GUARDED.replace(old, new)) != syntax_digest(PLAIN)
    if "other" not in new:
        assert "bestarm.guards" in imported_modules(GUARDED.replace(old, new)).pop()


def test_a_used_guard_is_followed_and_the_others_are_not(copied):
    """A change of the guards makes rows stale where a value of theirs is used, and nowhere else."""
    before = keys(SEARCH)
    added(copied / LIBRARY / "guards" / "protocol.py")
    added(copied / LIBRARY / "guards" / "settings.py")
    assert keys(SEARCH) == before
    path = copied / LIBRARY / "policies" / "gifa.py"
    edited(path, "import guarded\n", "import guarded, waiting\n")
    forget()
    assert keys(SEARCH) == before
    edited(path, "return state.candidates.copy()", "return state.candidates.copy()[:, : waiting(state)]")
    used = keys(SEARCH)
    assert set(used).isdisjoint(before)
    added(copied / LIBRARY / "guards" / "protocol.py")
    assert set(keys(SEARCH)).isdisjoint(used)
