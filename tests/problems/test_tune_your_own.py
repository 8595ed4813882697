"""The page on tuning a model of your own: its block runs and finds good settings, with scikit-learn and without."""

import re
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from bestarm_lab.paths import ROOT

PAGE = (ROOT / "docs" / "tune_your_own.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """Return the page's only block in a language."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 1
    return found[0]


def stand_in(monkeypatch) -> None:
    """Put modules in the place of scikit-learn's whose score is a smooth function of the page's three settings."""

    def score(model, x, y, cv):
        components, machine = model
        return np.full(cv, np.exp(-((np.log10(machine.C) / 3) ** 2) - (np.log10(machine.gamma) + 3) ** 2 / 9)) * np.exp(
            -(((components - 30) / 40) ** 2)
        )

    contents = {
        "datasets": {"load_digits": lambda return_X_y: (np.zeros((1797, 64)), np.zeros(1797))},
        "decomposition": {"PCA": lambda components, random_state: components},
        "model_selection": {"cross_val_score": score},
        "pipeline": {"make_pipeline": lambda *steps: steps},
        "svm": {"SVC": SimpleNamespace},
    }
    monkeypatch.setitem(sys.modules, "sklearn", ModuleType("sklearn"))
    for name, content in contents.items():
        module = ModuleType(f"sklearn.{name}")
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, f"sklearn.{name}", module)


@pytest.mark.parametrize("library", ["scikit-learn", "stand-in"])
@pytest.mark.filterwarnings("default")
def test_the_block_runs_and_finds_settings_above_the_median(library, monkeypatch, capsys):
    """At most 25 lines; batches of five; the printed accuracy is above that of nine in ten of 30 candidates."""
    if library == "stand-in":
        stand_in(monkeypatch)
    elif find_spec("sklearn") is None:
        pytest.skip("scikit-learn is not installed; pip install scikit-learn runs the page as it is")
    code, names = block("python"), {}
    assert len(code.strip().splitlines()) <= 25
    exec(compile(code, "docs/tune_your_own.md", "exec"), names)
    printed = capsys.readouterr().out
    found = float(re.search(r"accuracy: ([\d.]+)", printed).group(1))
    settings = names["best"].settings
    assert f"recommended: C = {settings['C']:.3g}, gamma" in printed
    assert isinstance(settings["components"], int)
    assert names["best"].table.groupby("batch").size().tolist() == [1] + [5] * 6
    others = [names["accuracy"](**s) for s in names["candidates"].settings[::10]]
    assert found > np.median(others)
    assert found > np.quantile(others, 0.9)
    if library == "scikit-learn":
        shown = block("text")
        assert abs(found - float(re.search(r"accuracy: ([\d.]+)", shown).group(1))) < 0.03
        assert [line.split()[0] for line in shown.splitlines()] == [line.split()[0] for line in printed.splitlines()]


def test_what_the_page_says_of_trials_that_fail(monkeypatch, capsys):
    """The page's objective fails for many components: marked with the reason, all batches whole, an accuracy found."""
    stand_in(monkeypatch)
    changed = block("python").replace("    model = make", "    assert components < 50, 'too large'\n    model = make")
    names: dict = {}
    exec(compile(changed, "docs/tune_your_own.md", "exec"), names)
    table = names["best"].table
    failed = table["components"] >= 50
    assert 0 < failed.sum() < len(table) == 31
    np.testing.assert_array_equal(table["value"].isna(), failed)
    assert set(table.loc[failed, "failure"]) == {"AssertionError: too large"}
    assert names["best"].settings["components"] < 50
    assert "accuracy: 0." in capsys.readouterr().out
