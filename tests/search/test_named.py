"""Public constructors: what they make, what they show, and what they refuse."""

import ast
import inspect
import pkgutil
import pydoc
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import each_refused, refuses

import bestarm
from bestarm.partition import Partition
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.policies.linear.budgeted import Budgeted
from bestarm.policies.linear.fc2fb import Fc2fb
from bestarm.policies.linear.gifa import Gifa, MLinGape
from bestarm.policies.linear.mislid import MisLid
from bestarm.policies.linear.p1_rage import P1Rage
from bestarm.policies.linear.peace import PeaceLiveArms
from bestarm.policies.linear.peace_all_arms import PeaceAllArms
from bestarm.policies.linear.static_design import OracleAllocation, StaticGOptimal
from bestarm.policies.networks.oae import Oae
from bestarm.search.state_files import describe

REQUIRED = {"n_best": 2, "budget": 40, "batch": 2, "rounds": 3, "optimism": 0.1, "sigma": 0.1, "means": (0.0, 1.0)}
REQUIRED |= {"level": 0.1, "policy": MLinGape(2)}
CONSTRUCTORS = sorted(
    name
    for name, (module, _) in bestarm._PLACES.items()
    if module.startswith("bestarm.policies.") and inspect.isfunction(getattr(bestarm, name))
)
NAMES = pytest.mark.parametrize("name", CONSTRUCTORS)


def made(name, **changes):
    """Return the policy of a name, without its guards, its required settings small."""
    signature = inspect.signature(getattr(bestarm, name))
    needed = {n: REQUIRED[n] for n, p in signature.parameters.items() if p.default is inspect.Parameter.empty}
    guarded = getattr(bestarm, name)(**needed | changes)
    assert isinstance(guarded, bestarm.Guarded)
    return guarded.policy


def values_of(record, setting):
    for f in fields(record):
        value = getattr(record, f.name)
        if f.name == setting:
            yield value
        elif is_dataclass(value):
            yield from values_of(value, setting)


@NAMES
def test_help_shows_every_setting_with_its_default_and_meaning(name):
    """In the signature and in the text; each default is the one that is used."""
    constructor = getattr(bestarm, name)
    text = pydoc.render_doc(constructor, renderer=pydoc.plaintext)
    policy = made(name)
    for setting, parameter in inspect.signature(constructor).parameters.items():
        lines = text.splitlines()
        place = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{setting} : "))
        assert len(lines[place + 1].strip()) > 5, setting
        if parameter.default is inspect.Parameter.empty:
            assert "default" not in lines[place]
        else:
            shown = type(parameter.default).__name__ if setting == "model" else repr(parameter.default)
            assert f"default {shown}" in lines[place]
            assert (name == "fc2fb" and setting == "label") or parameter.default in values_of(policy, setting)


@NAMES
def test_a_setting_that_is_not_there_is_refused_with_those_that_are(name):
    refuses(lambda: made(name, optimsm=1.0), rf"{name} has no setting optimsm; it has: .*label\.", TypeError)
    needed = [p for p in inspect.signature(getattr(bestarm, name)).parameters.values() if p.default is p.empty]
    if needed:
        with pytest.raises(TypeError, match=rf"{name}: missing a required argument: .*; it needs {needed[0].name}"):
            getattr(bestarm, name)()
    if isinstance(made(name), Oae):
        refuses(lambda: made(name, objective="sum"), r"has no setting objective; it has: batch, rounds", TypeError)


def test_constructors_make_the_algorithms_of_the_papers():
    """The parts that the names stand for; a preset has the fields of its base."""
    classical = {"index": "classical", "threshold": "lucb1"}
    gap = {"by_gap_index": True, "challenged_by_mth": True}
    for name, base in {
        "lucb": Gifa("LUCB", 2, **classical),
        "ugape": Gifa("UGapE", 2, **classical, by_gap_index=True, stop="ugape"),
        "m_lingape": Gifa("m-LinGapE", 2, selection="greedy", threshold="eq2"),
        "lingifa": Gifa("LinGIFA", 2, **gap, stop="ugape", threshold="eq2", initialise=False),
    }.items():
        assert describe(made(name)) == describe(base)
    parts = {"selection": "optimised", "regulariser": 1.0, "threshold": "eq2"}
    optimised = MLinGape(1, label="LinGapE", **parts)
    assert made("lingape", stops_early=False) == Budgeted(optimised, 40, "determinant", False)
    greedy = MLinGape(1, label="LinGapE-Greedy", **parts | {"selection": "greedy", "delta": 0.1})
    assert made("lingape_greedy", delta=0.1) == Budgeted(greedy, 40, "determinant")
    networks = {"mean_opt": ("avg", None), "hinge_p_norm": ("hinge", None), "max_opt": ("softmax", None)}
    for name, (objective, diversity) in (networks | {"det_d": ("avg", 1.0)}).items():
        policy = made(name)
        assert (policy.objective, policy.diversity, policy.optimism) == (objective, diversity, 0.1)
    assert (made("greedy").objective, made("greedy").optimism) == ("avg", 0.0)
    assert (made("gse_lin").model, made("gse_log").model) == ("linear", "logistic")
    assert (made("gse_lin_all_rewards").allocation, made("gse_lin_all_rewards").keeps_rewards) == ("g-optimal", True)
    assert made("peace") == PeaceAllArms(40)
    assert made("peace_live_arms") == PeaceLiveArms(budget=40)
    assert made("fc2fb") == Fc2fb(MLinGape(2), 40)
    assert made("fc2fb").label == "FC2FB of m-LinGapE"
    for name, kind in {"mislid": MisLid, "p1_rage": P1Rage, "static_g_optimal": StaticGOptimal}.items():
        assert type(made(name)) is kind
    assert made("oracle_allocation") == OracleAllocation(40, (0.0, 1.0))
    assert (made("stooo").rule, made("ave_stooo").rule) == ("munos", "average")
    for name, noise in (("ensemble", 0.0), ("ensemble_noise_y", 1.0), ("ensemble_seq_b", 0.0)):
        assert made(name).label_noise == noise
    assert all(isinstance(made(name), BatchGP) for name in ("gp_bucb", "thompson", "est_dpp_max"))
    assert len({made(name).label for name in CONSTRUCTORS}) == len(CONSTRUCTORS)


def test_type_checkers_and_the_table_see_the_same_names():
    """The stub that only type checkers read has the names of the table, from the same modules."""
    tree = ast.parse(Path(bestarm.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {a.asname or a.name: (node.module, a.name) for node in imports for a in node.names} == bestarm._PLACES


def test_no_public_name_is_that_of_a_module():
    """Importing ``bestarm.x`` sets ``x`` in the package, where it would hide a function ``x``."""
    assert not {module.name for module in pkgutil.iter_modules(bestarm.__path__)} & set(bestarm.__all__)


@pytest.mark.parametrize("name", ["lucb", "gse_lin", "gpoo", "lin_ucb"])
def test_only_networks_import_torch(name):
    code = f"import bestarm, sys; bestarm.{name}(9); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


test_settings_are_checked_when_a_policy_is_made = each_refused(
    (lambda: made("m_lingape", n_best=1.5), "n_best must be a whole number, got 1.5; give such an int"),
    (lambda: made("m_lingape", n_best="2"), "n_best must be a whole number, got '2'"),
    (lambda: made("m_lingape", n_best=None), "n_best must be a whole number, got None"),
    (lambda: made("m_lingape", n_best=True), "n_best must be a whole number, got True"),
    (lambda: made("m_lingape", sigma=np.inf), "sigma must be finite, got inf"),
    (lambda: made("m_lingape", sigma="a"), "sigma must be a number, got 'a'"),
    (lambda: made("m_lingape", norm_bound=np.nan), "norm_bound must be finite, got nan"),
    (lambda: made("m_lingape", norm_bound=-1), "norm_bound must be at least 0, got -1; raise it"),
    (lambda: made("m_lingape", regulariser=1e-30), "regulariser must be at least 1e-12, got 1e-30; raise it"),
    (lambda: made("m_lingape", initialise="yes"), "initialise must be True or False, got 'yes'"),
    (lambda: made("mean_opt", batch=1.5), "batch must be a whole number, got 1.5"),
    (lambda: made("mean_opt", rounds=1.5), "rounds must be a whole number, got 1.5"),
    (lambda: made("mean_opt", hidden=4), r"hidden must be whole numbers, got 4; give a tuple such as \(10, 5\)"),
    (lambda: made("mean_opt", hidden=(4, 2.5)), "hidden"),
    (lambda: made("mean_opt", label=3), "label must be a word, got 3"),
    (lambda: Oae("x", 2, 3, objective="magic"), "objective must be one of avg, sum, hinge, softmax, got 'magic'"),
    (lambda: made("gse_lin", budget=np.nan), "budget must be a whole number, got nan"),
    (lambda: made("gse_lin", budget=None), "budget must be a whole number, got None"),
    (lambda: made("gse_lin", budget=7.5), "budget must be a whole number, got 7.5"),
    (lambda: made("gse_lin", budget=0), "budget must be a whole number of at least 1"),
    (lambda: made("gpoo", kernel={"family": "rbf"}), "a kernel needs variance and lengthscale, .* got family"),
    (lambda: made("gpoo", kernel={"variance": 1.0, "lengthscle": 1}), "a kernel needs variance and lengthscale"),
    (lambda: Partition(arity=2.5), "arity must be a whole number, got 2.5"),
)

FIXED = [None, 10**30, (), {}, object(), np.array([1.0, 2.0]), GPModel(), "avg"]
NUMBERS = st.booleans() | st.integers(-3, 3) | st.floats() | st.complex_numbers()
ODD = st.one_of(*map(st.just, FIXED), NUMBERS, st.text(max_size=3), st.lists(st.integers(-2, 3), max_size=2))


@settings(max_examples=400, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_odd_settings_end_in_a_policy_or_a_clear_error(data):
    """Whatever is given to whatever setting of whatever constructor, in one line with the setting's name or value."""
    name = data.draw(st.sampled_from(CONSTRUCTORS))
    setting = data.draw(st.sampled_from(list(inspect.signature(getattr(bestarm, name)).parameters)))
    value = data.draw(ODD)
    any_kernel = setting == "kernel" and "Kernel or dict" in (getattr(bestarm, name).__doc__ or "")
    if any_kernel and not isinstance(value, dict):
        return  # any object with a method K is a kernel
    try:
        made(name, **{setting: value})
    except ValueError as error:
        text = str(error)
        assert "\n" not in text
        assert setting in text or "label" in text or repr(value) in text, text
