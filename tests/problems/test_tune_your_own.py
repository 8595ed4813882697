"""The page on tuning a model of your own: the function's block finds good settings; `test_docs_blocks` runs both."""

import re

import numpy as np

from bestarm_lab.paths import ROOT

PAGE = (ROOT / "docs" / "tune_your_own.md").read_text(encoding="utf-8")


def block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[place]


def run(code: str) -> dict:
    names: dict = {}
    exec(compile(code, "docs/tune_your_own.md", "exec"), names)
    return names


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
