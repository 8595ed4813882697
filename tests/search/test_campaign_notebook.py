"""The campaign notebook with files of one's own: a batch to be measured, and the next one once results are there."""

import json

import pandas as pd
import pytest

from bestarm.search.search import Search
from bestarm_lab.paths import DATA, NOTEBOOKS

FILE = NOTEBOOKS / "your_own_campaign.ipynb"
POOL = DATA / "demonstration_pool"


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


def test_two_weeks_of_a_laboratory(tmp_path):
    own = {"candidates": str(POOL / "candidates.csv"), "laboratory": "", "folder": str(tmp_path), "batch": 6}
    run(**own)
    batch = pd.read_csv(tmp_path / "batch.csv")
    assert len(batch) == 6
    assert "They come with the first result." in (tmp_path / "campaign.html").read_text(encoding="utf-8")
    yields = pd.read_csv(POOL / "laboratory.csv", index_col="name")["reward"]
    batch["reward"] = [*map(str, yields[batch["name"][:4]]), "failed", ""]
    batch.to_csv(tmp_path / "results.csv", index=False)
    run(**own, results=str(tmp_path / "results.csv"))
    again = Search.load(tmp_path / "search.zip")
    assert again.states.value_counts().to_dict() == {"unmeasured": 228, "asked": 7, "measured": 4, "failed": 1}
    assert "7 candidates of" not in (tmp_path / "campaign.html").read_text(encoding="utf-8")
    assert again.check() == []


@pytest.mark.parametrize("aim", ["max", "min"])
def test_the_demonstration_runs_for_aims(aim, tmp_path, capsys):
    files = {"candidates": str(POOL / "candidates.csv"), "laboratory": str(POOL / "laboratory.csv")}
    search = run(**files, folder=str(tmp_path), aim=aim, rounds=1, batch=5)
    assert len(search.history) == 5
    assert "by random batches on average" in capsys.readouterr().out


def test_the_notebook_has_its_parameters_outputs_and_short_lines():
    cells = json.loads(FILE.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["metadata"].get("tags") for cell in code].count(["parameters"]) == 1
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"])
    assert max(len(line.rstrip("\n")) for cell in code for line in cell["source"]) <= 100
