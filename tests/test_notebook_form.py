"""The form of a notebook: a short beginning, the findings under the first picture, few numbers, tables one can read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bestarm_lab.notebooks.runner import notebooks_of

MOST_WORDS = 250  # of the first cell
MOST_BETWEEN = 120  # words between the first picture and the findings: how to read it
MOST_NUMBERS = 5  # of a paragraph
MOST_COLUMNS, MOST_ROWS = 12, 30  # of a table in view
FOLDED = {"hide-output", "hide-cell", "remove-output", "remove-cell"}  # tags under which an output is not in view

Cell = dict[str, Any]
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
FINDINGS = "## What we find"
DETAILS = re.compile(r"<details.*?</details>", re.DOTALL)
TABLE = re.compile(r"(?:^[ \t]*\|.*(?:\n|\Z))+", re.MULTILINE)
LEANS_ON_ANOTHER = re.compile(
    r"\b(as above|(figure|table|picture|row|panels?)s? above|(as|like) the (upper|lower|first|last) (row|figure))\b",
    re.I,
)
NO_READING = [  # numbers that name something and measure nothing, and what is no text
    r"\$\$.*?\$\$",
    r"`[^`]*`",
    r"!?\[([^\]]*)\]\([^)]*\)",  # a link; its words are kept
    r"\b[A-Z]+-[A-Z]\d[\w.]*",  # a claim
    r"\b(Figures?|Tables?|Sections?|Equations?|Algorithms?|Theorems?|Lemmas?|Lemma|Corollary|Propositions?|Appendix|"
    r"notebooks?|Steps?|Lines?|lines?|steps?)\s+[A-Z]?\.?\d[\d.]*\w?((,| and| to) \d[\d.]*\w?)*",
    r"^\s*\d+\.\s",  # of a list
    r"\b(19|20)\d\d\b",  # a year
    r"95% (confidence )?(intervals?|t-intervals?|bands?)",
]
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:e-?\d+)?(?![\w])")
PICTURED = "# Title\n\nProblem.\n\n![A picture of arms](a.png)\n\n"


def cells_of(path: Path) -> list[Cell]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells]


def markdown(cells: list[Cell]) -> list[str]:
    return [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]


def faults_of_the_beginning(cells: list[Cell]) -> list[str]:
    """Return what is wrong up to the findings: a long first cell, or findings that are not under the first picture."""
    first = cells[0]["source"]
    faults = []
    if cells[0]["cell_type"] != "markdown" or len(first.split()) > MOST_WORDS:
        faults.append(f"the first cell has {len(first.split())} words")
    text = "\n\n".join(cell["source"] if cell["cell_type"] == "markdown" else "\n# code\n" for cell in cells)
    if (picture := PICTURE.search(text)) is None:
        return [*faults, "it has no picture"]
    heading = HEADING.search(text, picture.end())
    between = text[picture.end() : heading.start() if heading else len(text)]
    if heading is None or heading.group().strip() != FINDINGS or PICTURE.search(between):
        faults.append(f"{FINDINGS!r} is not the next heading under the first picture")
    elif len(between.split()) > MOST_BETWEEN:
        faults.append(f"{len(between.split())} words stand between the first picture and {FINDINGS!r}")
    return faults


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs and the items of lists of a text, without tables, displayed formulas and code."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$", "", text, flags=re.DOTALL)
    text = TABLE.sub("\n", HEADING.sub("\n", text))
    return [part for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", text) if part.strip()]


def numbers_of(paragraph: str) -> list[str]:
    """Return the numbers that a reader has to take in; those that name a figure, a claim or a year are none."""
    text = re.sub(r"\$\s*([-+]?[\d.,]+)\s*\$", r"\1", paragraph)  # a number set as a formula is a number
    text = re.sub(r"\$[^$]*\$", "", text)
    for pattern in NO_READING:
        text = re.sub(pattern, lambda m: f" {m.group(1)} " if m.group().startswith("[") else " ", text, flags=re.M)
    return NUMBER.findall(text)


def faults_of_paragraphs(cells: list[Cell]) -> list[str]:
    """Return the paragraphs with too many numbers, and explanations of figures that lean on another."""
    faults = []
    for paragraph in (part for text in markdown(cells) for part in paragraphs(text)):
        start = " ".join(paragraph.split())[:60]
        if len(numbers := numbers_of(paragraph)) > MOST_NUMBERS:
            faults.append(f"{len(numbers)} numbers ({' '.join(numbers)}) in: {start}")
        if "**How to read it.**" in paragraph and LEANS_ON_ANOTHER.search(" ".join(paragraph.split())):
            faults.append(f"leans on another figure: {start}")
    return faults


def shape(table: str) -> tuple[int, int]:
    """Return the numbers of columns and of rows of a table in Markdown."""
    lines = table.strip().splitlines()
    return len(re.split(r"(?<!\\)\|", lines[0].strip())) - 2, len(lines) - 2


def in_view(cell: Cell) -> list[str]:
    """Return the texts of a cell that a reader sees unfolded: the text, or what the code has printed as Markdown."""
    if cell["cell_type"] == "markdown":
        return [cell["source"]]
    if FOLDED & set(cell["metadata"].get("tags", [])):
        return []
    return ["".join(output.get("data", {}).get("text/markdown", "")) for output in cell.get("outputs", [])]


def faults_of_tables(cells: list[Cell]) -> list[str]:
    """Return the tables in view that are too wide or too long; what stands in ``<details>`` is folded."""
    shapes = [shape(t) for cell in cells for text in in_view(cell) for t in TABLE.findall(DETAILS.sub("", text))]
    return [f"a table of {c} columns and {r} rows" for c, r in shapes if c > MOST_COLUMNS or r > MOST_ROWS]


def faults(cells: list[Cell]) -> list[str]:
    """Return everything that is wrong with the form of a notebook, as lines."""
    return [*faults_of_the_beginning(cells), *faults_of_paragraphs(cells), *faults_of_tables(cells)]


@pytest.mark.parametrize("path", notebooks_of(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_notebook_has_the_form(path):
    found = faults(cells_of(path))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (PICTURED + FINDINGS + "\n\nOne.", ""),
        (PICTURED + "**How to read it.** Lines are means.\n\n" + FINDINGS, ""),
        (PICTURED + FINDINGS + "\n\n" + "word " * 250, "words"),
        (PICTURED + "## The runs\n\n" + FINDINGS, "next heading"),
        (PICTURED + "![Another](b.png)\n\n" + FINDINGS, "next heading"),
        ("# Title\n\n" + FINDINGS, "no picture"),
        (PICTURED + FINDINGS + "\n\nWith 16 arms 0.1, 0.2, 0.3, 0.4 and 0.5.", "6 numbers"),
        (PICTURED + FINDINGS + "\n\nWith 16 arms 0.1, 0.2, 0.3 and 0.4 (GSE-C3a, Figure 2, 95% intervals).", ""),
        (PICTURED + FINDINGS + "\n\n**How to read it.** As above, for cars.", "leans"),
        (PICTURED + FINDINGS + "\n\n" + "|a" * 13 + "|\n" + "|-" * 13 + "|\n", "13 columns"),
        (PICTURED + FINDINGS + "\n\n|a|\n|-|\n" + "|1|\n" * 31, "31 rows"),
        (PICTURED + FINDINGS + "\n\n<details><summary>All</summary>\n\n|a|\n|-|\n" + "|1|\n" * 31 + "\n</details>", ""),
    ],
)
def test_each_fault_is_found(source, fault):
    found = faults([{"cell_type": "markdown", "source": source, "metadata": {}}])
    assert (len(found) == 1 and fault in found[0]) if fault else not found


def test_folded_outputs_are_not_in_view():
    table = {"data": {"text/markdown": "|a|\n|-|\n" + "|1|\n" * 31}}
    cell = {"cell_type": "code", "source": "", "metadata": {"tags": []}, "outputs": [table]}
    assert faults_of_tables([cell])
    assert not faults_of_tables([cell | {"metadata": {"tags": ["hide-output"]}}])
