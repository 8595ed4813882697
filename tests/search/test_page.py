"""Pages and notebooks on a screen and a campaign of one's own say what the code does, and run with one's own files."""

import importlib.util
import json
import re

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from scipy.stats import hypergeom
from titles import titled

from bestarm.command_line import main
from bestarm.search.choices import NAMES, SUMMARIES
from bestarm.search.plots import expected_best
from bestarm.search.search import Search
from bestarm_lab.paths import DATA, FIGURES, NOTEBOOKS, ROOT

PAGE = (ROOT / "docs" / "your_own_screen.md").read_text(encoding="utf-8")
NOTEBOOK = json.loads((NOTEBOOKS / "oae" / "your_own_screen.ipynb").read_text(encoding="utf-8"))
TEXT = "\n".join("".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "markdown")
TABLE = pd.read_csv(FIGURES / "oae" / "your_own_screen" / "replay.csv")
FILE = NOTEBOOKS / "your_own_campaign.ipynb"
POOL = DATA / "demonstration_pool"
YIELDS = pd.read_csv(POOL / "laboratory.csv", index_col="name")["reward"]
RUNS, BATCH, ROUNDS = 6, 8, 5


def test_the_page_has_every_policy_with_its_summary():
    assert re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE) == [(name, SUMMARIES[name]) for name in NAMES]


def test_options_on_the_page_are_those_of_the_commands(capsys):
    known = ""
    for command in ("suggest", "replay"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        known += capsys.readouterr().out
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) <= set(re.findall(r"--[a-z][a-z-]+", known))


def hits(series: str, batch: int) -> str:
    return f"{TABLE[(TABLE['series'] == series) & (TABLE['x'] == batch)]['value'].iloc[0]:.1f}"


def test_numbers_in_the_notebook_are_those_of_its_table():
    """Every sentence of the findings that says how many hits."""
    findings = TEXT.split("## What we find")[1].split("\n## ")[0]
    quoted = re.findall(r"`(\w+)` (?:finds|has found) ([\d.]+) hits .*?([\d]+) batches", findings)
    assert quoted
    chance = re.findall(r"chance ([\d.]+) .*?([\d]+) batches", findings)
    assert chance
    for series, value, batch in [*quoted, *(("chance (exact)", *found) for found in chance)]:
        assert hits(series, int(batch)) == value
    low, high = re.findall(r"single random campaign finds\s+(\d+) to (\d+) hits in 10 batches", findings)[0]
    law = hypergeom(500, 25, 160)
    assert (law.ppf(0.025), law.ppf(0.975)) == (int(low), int(high))


@titled(
    "oae/your_own_screen/replay", "After ten batches only diverse ones (det_d) are clearly ahead of chance, by two hits"
)
def test_only_diverse_ones_are_ahead(values: pd.DataFrame) -> bool:
    ten = values[values["x"] == 10].set_index("series")
    chance = ten.loc["chance (exact)", "value"]
    return list(ten.index[ten["low"] > chance]) == ["det_d"] and round(ten.loc["det_d", "value"] - chance) == 2


def run(**parameters):
    """Execute the code of the notebook, parameters injected as papermill does."""
    space = {}
    for cell in json.loads(FILE.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
            if "parameters" in cell["metadata"].get("tags", []):
                assert set(parameters) <= set(space)
                space.update(parameters)
    return space["search"]


def test_two_weeks_of_a_laboratory(tmp_path, capsys):
    own = {"candidates": str(POOL / "candidates.csv"), "laboratory": "", "folder": str(tmp_path), "batch": 6}
    run(**own)
    file = tmp_path / "batch_001.csv"
    batch = pd.read_csv(file)
    assert len(batch) == 6
    assert "They come with the first result." in (tmp_path / "campaign.html").read_text(encoding="utf-8")
    batch["reward"] = [*map(str, YIELDS[batch["name"][:4]]), "failed", ""]
    run(**own, results=str(file))
    assert "no row of the table has a reward" in capsys.readouterr().out
    batch.to_csv(file, index=False)
    filled = file.read_bytes()
    assert len(run(**own | {"batch": 4}).rounds) == 1, "a batch that waits is shown again"
    run(**own, results=str(file))
    shown = (tmp_path / "batch_002.csv").read_bytes()
    run(**own, results=str(file))
    assert "these rewards were told already" in capsys.readouterr().out
    assert (file.read_bytes(), (tmp_path / "batch_002.csv").read_bytes()) == (filled, shown)
    for other, words in (({"aim": "min"}, "the aim max, got min; give max"), ({"seed": 3}, "the seed 0, got 3")):
        refuses(lambda: run(**own | other), words)  # noqa: B023
    again = Search.load(tmp_path / "search.zip")
    assert again.states.value_counts().to_dict() == {"unmeasured": 228, "asked": 7, "measured": 4, "failed": 1}
    assert "7 candidates of" not in (tmp_path / "campaign.html").read_text(encoding="utf-8")
    assert again.check() == []


@pytest.mark.parametrize("aim", ["max", "min", "both", 50.0])
def test_the_demonstration_runs_for_aims(aim, tmp_path, capsys):
    files = {"candidates": str(POOL / "candidates.csv"), "laboratory": str(POOL / "laboratory.csv")}
    told = run(**files, folder=str(tmp_path), aim=aim, rounds=1, batch=5).history["reward"]
    found = [{"max": x.max(), "min": x.min(), "both": x.max(), 50.0: abs(x - 50.0).min()}[aim] for x in (told, YIELDS)]
    assert len(told) == 5
    said = capsys.readouterr().out.split("measurements:")[1]
    assert "by random batches on average" in said
    ours, chance, best = map(float, re.findall(r"-?\d+\.\d", said))
    assert [ours, best] == pytest.approx(found, abs=0.051)
    assert (chance > best) == (aim in ("min", 50.0))


def test_the_notebook_has_its_parameters_outputs_and_short_lines():
    code = [cell for cell in json.loads(FILE.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["metadata"].get("tags") for cell in code].count(["parameters"]) == 1
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"])
    assert max(len(line.rstrip("\n")) for cell in code for line in cell["source"]) <= 100


def test_the_files_are_those_of_the_formula(tmp_path):
    spec = importlib.util.spec_from_file_location("make", POOL / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    for table, name in zip(make.pool(), ("candidates.csv", "laboratory.csv"), strict=True):
        table.to_csv(tmp_path / name, lineterminator="\n")
        assert (tmp_path / name).read_bytes() == (POOL / name).read_bytes()


def test_a_search_beats_chance():
    """By more than two standard errors, in the best reward after 40 of 240; every run finds the best of all."""
    best = []
    for seed in range(RUNS):
        search = Search(POOL / "candidates.csv", seed=seed)
        for _ in range(ROUNDS):
            search.tell(search.ask(BATCH).assign(reward=lambda batch: YIELDS[batch["name"]].to_numpy()))
        best.append(search.history["reward"].max())
        if seed == 0:  # the notebook's own search
            shown = f"found as result {search.history['reward'].argmax() + 1}."
            assert shown in FILE.read_text(encoding="utf-8"), "execute the notebook anew"
    chance = expected_best(YIELDS.to_numpy(), np.array([BATCH * ROUNDS]))[0]
    assert np.mean(best) - chance > 2.0 * max(float(np.std(best, ddof=1)) / RUNS**0.5, 1.0)
    assert np.mean(np.array(best) == YIELDS.max()) >= 0.8
