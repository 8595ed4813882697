"""A card for each algorithm: idea, equation from the notebook, steps beside a call, and what differs in code."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import bestarm
import bestarm_plain
from bestarm_lab.paths import NOTEBOOKS, ROOT
from bestarm_lab.study import load_study
from bestarm_site.pages import studies

HERE = Path(__file__).parents[1]


@cache
def described() -> dict[str, dict[str, Any]]:
    """Return what ``algorithms.yaml`` says of each constructor."""
    table: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "algorithms.yaml").read_text(encoding="utf-8"))
    return table


def equation(study: str, notebook: str, part: str) -> str:
    """Return the first displayed equation of a notebook that contains a part, as it stands there.

    Raises
    ------
    ValueError
        If the notebook has no such equation.
    """
    if not part:
        return ""
    cells = json.loads((NOTEBOOKS / study / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for shown in re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL):
        if part in shown:
            return str(shown.strip())
    raise ValueError(f"algorithms.yaml: {study}/{notebook} has no equation with {part!r}.")


@cache
def _pages() -> dict[str, str]:
    """Return the page of NumPy of each constructor, by the table in the package's docstring."""
    return dict(re.findall(r"^`(\w+)` +`(\w+)`", bestarm_plain.__doc__ or "", re.MULTILINE))


def page_of(name: str) -> Path | None:
    """Return the file, below the root, in which an algorithm is one page of NumPy, if there is one."""
    return Path("src/bestarm_plain") / f"{_pages()[name]}.py" if name in _pages() else None


def deviations(name: str) -> list[tuple[str, str]]:
    """Return the settings of a constructor that run the authors' code, or an ablation, with what each does."""
    found = []
    docstring = inspect.cleandoc(getattr(bestarm, name).__doc__ or "")
    for match in re.finditer(r"^(\w+) : .*\n((?:    .*\n?)+)", docstring, re.MULTILINE):
        words = " ".join(match.group(2).split())
        if "*deviation*" in words.lower() or "*ablation*" in words.lower():
            found.append((match.group(1), words))
    return found


@cache
def _facts() -> list[tuple[str, dict[str, str]]]:
    """Return the lines of the table of algorithms in the page on one's own arms: the constructors, and what it says."""
    found: list[tuple[str, dict[str, str]]] = []
    columns: list[str] = []
    for line in (ROOT / "docs" / "own_arms.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif "`" in cells[0] and columns[0].startswith("constructor"):
            found.append((cells[0], dict(zip(columns[1:], cells[1:], strict=False))))
    return found


def facts(name: str) -> dict[str, str]:
    """Return what the page on one's own arms says of a constructor: when it ends, noise, failures, cost of a round."""
    return next((told for names, told in _facts() if f"`{name}`" in names), {})


TABLE = """import bestarm
import numpy as np
import pandas as pd

table = np.random.default_rng(0).uniform(size=(40, 3))
candidates = pd.DataFrame(table, columns=["a", "b", "c"])
search = bestarm.Search(candidates, {call})
batch = search.ask()
"""
BOX = """from bestarm import Partition, Streams, {name}

space = Partition(arity=2, n_representatives=10)
policy = {call}
state = policy.start(space, Streams.first(1))
asked = policy.ask(state)
points = space.representatives(asked.arms[0])
"""
NEEDED = {"n_best": 3, "budget": 400, "sigma": 0.1, "batch": 5, "rounds": 10, "optimism": 0.1, "level": 0.1}
NEEDED_OBJECTS = {"policy": "bestarm.m_lingape(n_best=3)", "means": "tuple(table.sum(axis=1))"}  # as written in code


def code(name: str) -> str:
    """Return a whole example: a search over some candidates, or over cells of a box, and its first batch."""
    if any("cells of a box" in told for told in facts(name).values()):
        return BOX.format(name=name, call=call(name).removeprefix("bestarm."))
    return TABLE.format(call=call(name))


def call(name: str) -> str:
    """Return a call of a constructor with the settings that it needs."""
    parameters = inspect.signature(getattr(bestarm, name)).parameters.values()
    needed = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind != p.VAR_KEYWORD]
    return f"bestarm.{name}({', '.join(f'{n}={(NEEDED | NEEDED_OBJECTS)[n]}' for n in needed)})"


def card(name: str, entry: dict[str, Any]) -> str:
    """Return the card of one algorithm."""
    lines = [f"({name.replace('_', '-')})=", f"## {entry['names'][0]}", "", entry["idea"], ""]
    if shown := equation(entry["study"], entry["notebook"], entry["equation"]):
        source = f"/notebooks/{entry['study']}/{entry['notebook']}.ipynb"
        lines += ["$$", shown, "$$", "", f"From [its notebook]({source}), where every symbol is explained.", ""]
    steps = "\n".join(f"{i}. {step}" for i, step in enumerate(entry["steps"], 1))
    lines += ["**Each round**", "", steps, "", "**In code**", "", "```python", code(name).rstrip(), "```", ""]
    lines += [f"{{py:obj}}`All settings <bestarm.{name}>`", ""]
    if path := page_of(name):
        first = next(other for other in described() if page_of(other) == path)
        text = (ROOT / path).read_text(encoding="utf-8").rstrip()
        folded = [f":::{{dropdown}} Read it in a page: `{path}`", "", "```python", text, "```", ":::", ""]
        where = f"/algorithms/{described()[first]['study']}.md#{first.replace('_', '-')}"
        lines += folded if name == first else [f"Read it in a page: [`{path}`]({where}).", ""]
    if told := facts(name):
        lines += [
            "| " + " | ".join(told) + " |",
            "|" + " --- |" * len(told),
            "| " + " | ".join(told.values()) + " |",
            "",
        ]
    if found := deviations(name):
        lines += [":::{dropdown} What the authors' code does otherwise, and ablations", ""]
        lines += [f"`{setting}`\n: {words}\n" for setting, words in found]
        lines += [":::", ""]
    return "\n".join(lines)


def page(study: str) -> str:
    """Return the page of the algorithms that a study explains."""
    paper = load_study(study).paper
    lines = [f"# {paper.abbreviation}: algorithms", "", f"The algorithms of *{paper.title}* and their rivals.", ""]
    lines += [card(name, entry) for name, entry in described().items() if entry["study"] == study]
    return "\n".join(lines)


def index() -> str:
    """Return the page that leads to every card."""
    lines = [
        "# Algorithms",
        "",
        "Each has a constructor `bestarm.<name>`; [your own arms](/docs/own_arms.md) says which to take.",
        "",
    ]
    for study in studies():
        lines += [f"## {load_study(study).paper.title}", ""]
        for name, entry in described().items():
            if entry["study"] == study:
                lines += [
                    f"[{entry['names'][0]}](/algorithms/{study}.md#{name.replace('_', '-')})\n: {entry['idea']}\n"
                ]
    return "\n".join(lines)


API = {
    "algorithms": ("Algorithms", None),
    "search": (
        "Searches, arms and files",
        ["Search", "Arms", "Partition", "Stationary", "GPModel", "Streams", "save", "load"],
    ),
    "policies": (
        "Policies of your own",
        [
            "Policy",
            "State",
            "Ask",
            "check_policy",
            "Guarded",
            "waiting",
            "forget_asked",
            "NothingLearned",
            "EverythingFails",
        ],
    ),
    "batches": ("Rules for the rest of a batch", ["UpperBound", "DownUp", "Exchange", "Eigen"]),
}


def api_pages() -> dict[str, str]:
    """Return the API reference: one page for each group of public names."""
    grouped = {name for _, names in API.values() if names for name in names}
    pages = {}
    for group, (title, names) in API.items():
        lines = [f"# {title}", "", "```{eval-rst}", ".. currentmodule:: bestarm", ""]
        for name in names or [n for n in bestarm.__all__ if n not in grouped]:
            value = getattr(bestarm, name)
            kind = "autoclass" if inspect.isclass(value) else "autofunction"
            lines += [f".. {kind}:: bestarm.{name}"]
            lines += ["   :members:", ""] if kind == "autoclass" and not issubclass(value, Exception) else [""]
        pages[f"api/{group}.md"] = "\n".join([*lines, "```", ""])
    listed = "\n".join(API)
    pages["api/index.md"] = f"# API reference\n\nWhat `import bestarm` offers.\n\n```{{toctree}}\n\n{listed}\n```\n"
    return pages
