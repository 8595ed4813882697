"""Blocks of README and docs/: each runs on the installation that its page names, and prints what the page shows.

What a page names above a block, in its opening or in the block's own section, are extras such as ``".[plot]"``.
Packages of other extras cannot be imported while the block runs.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import pytest
from test_lock import LOCKED
from test_lock import version as locked

from bestarm_lab.paths import ROOT

EXTRAS = {"networks": {"torch"}, "sklearn": {"sklearn"}, "excel": {"openpyxl"}, "plot": {"matplotlib"}}
EXTRAS["screens"] = EXTRAS["networks"] | EXTRAS["excel"] | EXTRAS["plot"]
OTHERS = {"IPython", "dvc", "pyarrow", "requests", "seaborn", "statsmodels", "yaml"}
ELSEWHERE = {  # tests that run a page's blocks
    "docs/bring_your_policy.md": "tests/lab/notebooks/test_own_policy.py",
    "docs/adding_a_study.md": "tests/test_readme.py",
}
NOT_RUN = {  # by how a block begins
    "git clone": "it takes the network",
    "make lint": "the suite itself",
    "bestarm new study": "tests/lab has a test for each of these commands",
    "bestarm rows": "tests/lab has a test for each of these commands",
    "bestarm rows STUDY": "STUDY is to be filled in",
    "fig02": "no program",
    "dask scheduler": "two machines",
    "from dask_jobqueue": "a cluster",
}
BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Return language, text, and what stands above it in the page's opening and its own section, of each block."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        above = text[: match.start()]
        opening, last = above.split("\n## ")[0], above.split("\n## ")[-1]
        found.append((match[1], match[2], opening + last))
    return found


PAGES = sorted(str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCKS = [(page, place, *block) for page in PAGES for place, block in enumerate(blocks(page))]
RUN = {
    page: kept
    for page, group in groupby(BLOCKS, key=lambda block: block[0])
    if page not in ELSEWHERE
    and (kept := [b for _, *b in group if b[1] == "text" or not b[2].startswith(tuple(NOT_RUN))])
}


def run(folder: Path, language: str, text: str, above: str) -> str:
    """Run a block on what the page names, and return what it prints."""
    named = set(re.findall(r"(?:bestarm|\.)\[(\w+)\]", above))
    blocked = set().union(OTHERS, *EXTRAS.values()) - set().union(*(EXTRAS[extra] for extra in named & set(EXTRAS)))
    site = folder / ".site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(BLOCKER.format(blocked=blocked))
    commands = [[sys.executable, "-c", text]]
    if language in ("sh", "bash"):
        lines = [line for line in text.splitlines() if line.strip()]
        assert all(line.startswith("bestarm ") for line in lines), lines
        commands = [[sys.executable, "-m", *shlex.split(line, comments=True)] for line in lines]
    environment = os.environ | {"PYTHONPATH": str(site), "MPLBACKEND": "Agg"}
    printed = ""
    for command in commands:
        found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr[-2000:]
        printed += found.stdout
    return printed


def test_every_block_runs_somewhere_or_says_why_not():
    assert set(RUN) == {"README.md", "docs/own_arms.md", "docs/tune_your_own.md", "docs/your_own_screen.md"}
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")
    assert {start for _, _, _, text, _ in BLOCKS for start in NOT_RUN if text.startswith(start)} == set(NOT_RUN)


@pytest.mark.parametrize("page", RUN)
def test_blocks_run_on_what_the_page_names_and_print_what_it_shows(page, tmp_path):
    """A block of text after a program is what it prints: equal where the libraries are the locked ones."""
    if page == "docs/your_own_screen.md":
        for name in ("features", "finished_screen"):
            shutil.copy(ROOT / "data" / "example_screen" / f"{name}.csv", tmp_path)
        (tmp_path / "phenotypes.csv").write_text("gene,phenotype\n")
    printed, last = "", ""
    for _, language, text, above in RUN[page]:
        if language != "text":
            assert len(text.strip().splitlines()) <= 22
            last = run(tmp_path, language, text, above)
            printed += last
        elif all(version(name) == locked(LOCKED[name]) for name in ("numpy", "scipy", "scikit-learn")):
            assert last == text
    wanted = {
        "README.md": ["0.97"],
        "docs/own_arms.md": ["best arms: [0, 1]", "best candidate", "best of the table: [{'name': 'c", "the best cell"],
        "docs/tune_your_own.md": ["recommended: C = "],
        "docs/your_own_screen.md": ["round 1: 0 of 500 genes known", "hits; mean hits", "figure: replay/hits.png"],
    }
    for words in wanted[page]:
        assert words in printed
    if page == "docs/own_arms.md":
        low, high = re.search(r"the best cell is \[(.*), (.*)\]", printed).groups()
        assert float(low) - 0.1 <= 3.2 <= float(high) + 0.1
