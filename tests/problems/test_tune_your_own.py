"""The page on tuning a model of your own: its blocks run, print what is shown and find good settings."""

import re

import numpy as np
import pytest

from bestarm_lab.paths import ROOT

PAGE = (ROOT / "docs" / "tune_your_own.md").read_text(encoding="utf-8")


def block(language: str, place: int = 0) -> str:
    """Return one of the page's blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[place]


def run(code: str) -> dict:
    """Run a block and return its names."""
    names: dict = {}
    exec(compile(code, "docs/tune_your_own.md", "exec"), names)
    return names


@pytest.mark.filterwarnings("default")
def test_the_estimator_s_block_prints_what_is_shown(capsys):
    """To 0.03 of an accuracy, which may differ between versions of scikit-learn; above most of the settings drawn."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'bestarm[sklearn]'")
    tuned = run(block("python"))["tuned"]
    printed, shown = capsys.readouterr().out.splitlines(), block("text").splitlines()
    assert [re.sub(r"[\d.]+(e-\d+)?", "", line) for line in printed] == [
        re.sub(r"[\d.]+(e-\d+)?", "", line) for line in shown
    ]
    for one, other in zip(printed, shown, strict=True):
        if "accuracy" in one:
            values = [float(re.search(r"accuracy:? ([\d.]+)", line).group(1)) for line in (one, other)]
            assert abs(values[0] - values[1]) < 0.03
    scores = tuned.cv_results_["mean_test_score"]
    assert tuned.best_score_ > np.quantile(scores[:5], 0.5)
    assert len(scores) == 30


def test_the_function_s_block_finds_settings_above_the_median(capsys):
    """Batches of five; the printed quality is above that of nine in ten of 30 candidates."""
    names = run(block("python", 1))
    printed = capsys.readouterr().out
    found = float(re.search(r"quality: ([\d.]+)", printed).group(1))
    settings = names["best"].settings
    assert f"recommended: C = {settings['C']:.3g}, gamma" in printed
    assert isinstance(settings["components"], int)
    assert names["best"].table.groupby("batch").size().tolist() == [1] + [5] * 6
    assert found > np.quantile([names["quality"](**s) for s in names["candidates"].settings[::10]], 0.9)


def test_what_the_page_says_of_trials_that_fail(capsys):
    """The page's objective fails for many components: marked with the reason, all batches whole, a setting found."""
    changed = block("python", 1).replace("    height = ", "    assert components < 50, 'too large'\n    height = ", 1)
    names = run(changed)
    table = names["best"].table
    failed = table["components"] >= 50
    assert 0 < failed.sum() < len(table) == 31
    np.testing.assert_array_equal(table["value"].isna(), failed)
    assert set(table.loc[failed, "failure"]) == {"AssertionError: too large"}
    assert names["best"].settings["components"] < 50
    assert "quality: 0." in capsys.readouterr().out
