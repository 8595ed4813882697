"""The page on rows: every column of committed rows, none that is nowhere, an example that prints what it says."""

import fnmatch
import re
from contextlib import redirect_stdout
from io import StringIO

import pyarrow.parquet
import pytest

from bestarm_lab.paths import RESULTS, ROOT
from bestarm_lab.study_packages import study_names

PAGE = (ROOT / "site" / "pages" / "rows.md").read_text(encoding="utf-8")


def documented(section):
    text = re.search(rf"^#+ {re.escape(section)}\n(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def columns(study):
    return {name for file in (RESULTS / study).rglob("*.parquet") for name in pyarrow.parquet.read_schema(file).names}


@pytest.mark.parametrize("study", study_names())
def test_every_column_of_committed_rows_is_documented(study):
    shared = documented("Columns of every file") + documented("Columns of searches")
    own, found = documented(study), columns(study)
    assert found
    assert [c for c in sorted(found) if not any(fnmatch.fnmatch(c, known) for known in shared + own)] == []
    assert [known for known in own if not fnmatch.filter(found, known)] == []
    assert set(shared) & set(own) == set()


def test_shared_columns_occur():
    everywhere = set().union(*map(columns, study_names()))
    assert set(documented("Columns of every file") + documented("Columns of searches")) <= everywhere


def test_the_example_prints_what_the_page_says(monkeypatch):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(ROOT)
    with redirect_stdout(StringIO()) as printed:
        exec(example, {})
    wins, differ, share, p = printed.getvalue().split()
    said = f"wins {wins} of {differ} runs, a share of {float(share):.3f}, with p = {float(p):.1e}"
    assert said.replace("e-05", "e-5") in " ".join(PAGE.split())
