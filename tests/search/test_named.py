"""Constructors by name: what they make, what they show, and what they refuse."""

import inspect
import pydoc
from dataclasses import replace

import numpy as np
import pytest
from every_policy import EVERY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bestarm
from bestarm.guards.labels import _PRESETS
from bestarm.partition import Partition
from bestarm.policies import batch_gp, budgeted, gifa
from bestarm.policies.batch_gp import BatchGP
from bestarm.policies.gp_state import GPModel
from bestarm.policies.gpoo import Gpoo
from bestarm.policies.gse import Gse
from bestarm.policies.oae import Oae
from bestarm.search import named

REQUIRED = {"n_best": 2, "budget": 40, "batch": 2, "rounds": 3, "optimism": 0.1}
NAMES = pytest.mark.parametrize("name", named.NAMES)


def made(name, **changes):
    """Return the policy of a name, its required settings small."""
    signature = inspect.signature(getattr(bestarm, name))
    needed = {n: REQUIRED[n] for n, p in signature.parameters.items() if p.default is inspect.Parameter.empty}
    return getattr(bestarm, name)(**needed | changes)


@NAMES
def test_help_shows_every_setting_with_its_default_and_meaning(name):
    """In the signature and in the text; each default is the one that is used."""
    constructor = getattr(bestarm, name)
    text = pydoc.render_doc(constructor, renderer=pydoc.plaintext)
    policy = made(name)
    inner = getattr(policy, "policy", policy)
    for setting, parameter in inspect.signature(constructor).parameters.items():
        lines = text.splitlines()
        place = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{setting} : "))
        assert len(lines[place + 1].strip()) > 5, setting
        if parameter.default is inspect.Parameter.empty:
            assert "default" not in lines[place]
        else:
            assert f"default {parameter.default!r}" in lines[place]
            owner = policy if hasattr(policy, setting) else inner
            assert getattr(owner, setting) == parameter.default


@NAMES
def test_what_makes_an_algorithm_cannot_be_set(name):
    """An unknown setting, a fixed one, and a required one that is missing, each with the list."""
    with pytest.raises(TypeError, match=rf"{name} has no setting optimsm; it has: .*label\."):
        made(name, optimsm=1.0)
    with pytest.raises(TypeError, match=rf"{name}: missing a required argument: .*; it needs"):
        getattr(bestarm, name)()
    if "objective" not in inspect.signature(getattr(bestarm, name)).parameters and isinstance(made(name), Oae):
        with pytest.raises(TypeError, match=r"has no setting objective \(it is always '(avg|hinge|softmax)' there\)"):
            made(name, objective="sum")


def test_named_policies_are_those_of_the_studies():
    """The presets that experiments use."""
    for name in ("lucb", "ugape", "m_lingape", "lingifa"):
        assert getattr(named, name)(3, sigma=0.2) == getattr(gifa, name)(3, sigma=0.2)
    assert named.lingape(40, delta=0.1) == budgeted.lingape(40, delta=0.1)
    assert named.lingape_greedy(40) == budgeted.lingape_greedy(40)
    assert named.gp_bucb(5, 4) == BatchGP.gp_bucb(5, 4)
    assert named.b_est(5, 4) == BatchGP.b_est(5, 4)
    assert named.lp_ucb(5, 4) == BatchGP.lp_ucb(5, 4)
    assert named.thompson(5, 4) == BatchGP.thompson(5, 4)
    for acquisition in ("ucb", "est"):
        assert getattr(named, f"{acquisition}_dpp_max")(5, 4) == BatchGP.dpp_max(acquisition, 5, 4)
        assert getattr(named, f"{acquisition}_dpp_sample")(5, 4) == BatchGP.dpp_sample(acquisition, 5, 4)
    assert batch_gp.BatchGP is BatchGP


def test_every_name_has_a_constructor_that_bears_it():
    """The table of labels and the constructors agree, and each constructor's label passes its own check."""
    for label, preset in _PRESETS.items():
        if preset.constructor in named.NAMES:
            assert made(preset.constructor).label == label
        else:
            assert hasattr(bestarm, preset.constructor)
    labels = [made(name).label for name in named.NAMES]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Oae("MaxOpt", 2, 3, optimism=0.1), "'MaxOpt' wants objective to be 'softmax', got 'avg'; use bestarm"),
        (lambda: Oae("MeanOpt", 2, 3), "'MeanOpt' wants optimism to be positive, got 0.0; use bestarm.mean_opt"),
        (lambda: Oae("Greedy", 2, 3, optimism=0.1), "'Greedy' wants optimism to be 0.0, got 0.1; use bestarm.greedy"),
        (lambda: Oae("DetD 0.1", 2, 3, optimism=0.1), "'DetD 0.1' wants diversity to be positive, got None"),
        (lambda: Oae("GPOO", 2, 3), "'GPOO' is the name of another algorithm than Oae; use bestarm.gpoo"),
        (lambda: Gpoo("StoOO", 20), "'StoOO' is the name of another algorithm than Gpoo"),
        (lambda: Gse(20, label="GSE-Log"), "'GSE-Log' wants model to be 'logistic', got 'linear'; use bestarm.gse_log"),
        (lambda: gifa.m_lingape(2, label="LinGIFA"), "'LinGIFA' wants by_gap_index to be True, got False"),
        (lambda: gifa.ugape(2, label="lucb (mine)"), "'lucb .mine.' wants by_gap_index to be False"),
        (lambda: BatchGP("UCB-DPP-MAX", 2, 3), "'UCB-DPP-MAX' wants rule to be 'dpp-max' or 'pure-exploration'"),
        (lambda: made("mean_opt", label="HingePNorm"), "'HingePNorm' wants objective to be 'hinge', got 'avg'"),
        (lambda: made("max_opt", optimism=0.0), "'MaxOpt' wants optimism to be positive, got 0.0"),
        (lambda: replace(made("ensemble"), label_noise=1.0), "'Ensemble' wants label_noise to be 0.0, got 1.0"),
    ],
)  # fmt: skip
def test_a_label_that_names_another_algorithm_is_refused(make, message):
    """With the setting that differs, and the constructor."""
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
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
        (lambda: made("gse_lin", budget=7.5), "budget must be a whole number of at least 1"),
        (lambda: made("gpoo", kernel={"family": "rbf"}), "a kernel needs variance and lengthscale, .* got family"),
        (lambda: made("gpoo", kernel={"variance": 1.0, "lengthscle": 1}), "a kernel needs variance and lengthscale"),
        (lambda: Partition(arity=2.5), "arity must be a whole number, got 2.5"),
    ],
)
def test_settings_are_checked_when_a_policy_is_made(make, message):
    """Never after the first real batch."""
    with pytest.raises(ValueError, match=message):
        make()


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.just(10**30), st.floats(), st.text(max_size=3), st.just(()),
    st.lists(st.integers(-2, 3), max_size=2), st.just({}), st.just(object()), st.complex_numbers(),
    st.just(np.array([1.0, 2.0])), st.just(GPModel()), st.just("avg"),
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_odd_settings_end_in_a_policy_or_a_clear_error(data):
    """Whatever is given to whatever setting of whatever constructor, in one line with the setting's name or value."""
    name = data.draw(st.sampled_from(named.NAMES))
    setting = data.draw(st.sampled_from(list(inspect.signature(getattr(bestarm, name)).parameters)))
    value = data.draw(ODD)
    if setting == "kernel" and "cells" in (getattr(bestarm, name).__doc__ or "") and not isinstance(value, dict):
        return  # any object with a method K is a kernel
    text = ""
    try:
        made(name, **{setting: value})
    except ValueError as error:
        text = str(error)
    assert "\n" not in text
    assert not text or setting in text or "label" in text or repr(value) in text, text


def test_common_words_are_names_among_relatives_only():
    """A gap-index algorithm may be called greedy, and a network that is none may not."""
    assert gifa.m_lingape(2, label="greedy").label == "greedy"
    with pytest.raises(ValueError, match="'greedy' is the name of another algorithm than EnsembleSearch"):
        made("ensemble", label="greedy")


def test_the_library_s_own_policies_pass():
    """The table that all other tests use."""
    for policy in EVERY.values():
        assert replace(policy) == policy
