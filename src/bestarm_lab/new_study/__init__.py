"""A new study from a template: a toy experiment, two claims, a notebook and tests that pass."""

import keyword
import re
from pathlib import Path
from string import Template

from bestarm_lab.notebooks.runner import METADATA
from bestarm_lab.paths import ROOT

_FOLDER = Path(__file__).parent
_SECTION = ("experiments.py", "checks.py", "claims.yaml")
_IGNORE = ".venv/\n__pycache__/\n*.egg-info/\n_quick/\n_store/\n_rebuild/\ndata/raw/\n.dvc/tmp/\n.dvc/cache/\n"


def new_study(name: str, at: Path | None, known: list[str]) -> list[Path]:
    """Write a toy study, and return its files.

    It goes into the folder ``at``, a repository of its own, which must not exist or be empty; by default into this
    checkout, and its lines into ``pyproject.toml`` and ``dvc.yaml``. Raises ValueError for a name that is taken (one of
    ``known``) or no word, a folder that is not empty, or where there is no checkout.
    """
    if keyword.iskeyword(name):
        raise ValueError(f"{name!r} is a keyword of Python, which no package can be called; take my_{name}.")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"a study's name is a word of small letters, digits and _, got {name!r}; take my_study.")
    if name in known:
        raise ValueError(f"there is a study {name!r} already; take another name.")
    if at is None:
        return _in_checkout(name)
    if at.exists() and (not at.is_dir() or any(at.iterdir())):
        raise ValueError(f"{at} is not empty; name a folder that is not there yet.")
    words = _words(name, f"{name}_study", "A repository of its own")
    files = _files(words, f"tests/test_{name}.py") | {
        "pyproject.toml": _text("pyproject.toml", words),
        "dvc.yaml": _text("dvc.yaml", words),
        "params.yaml": "seed: 1\nprofile: laptop\n",
        ".gitignore": _IGNORE,
    }
    return _write(at, files)


def _in_checkout(name: str) -> list[Path]:
    pipeline, project = ROOT / "dvc.yaml", ROOT / "pyproject.toml"
    if not (ROOT / "src" / "bestarm_studies").is_dir() or not project.is_file():
        raise ValueError(f"{ROOT} is no checkout of bestarm; name a folder of its own by --at.")
    words = _words(name, f"bestarm_studies.{name}", "2026")
    files = _files(words, f"tests/studies/{name}/test_{name}_study.py")
    if there := [ROOT / file for file in files if (ROOT / file).exists()]:
        raise ValueError(f"{there[0]} is there already; move it away, or take another name.")
    declared, stages = project.read_text(encoding="utf-8"), pipeline.read_text(encoding="utf-8")
    mark = '[project.entry-points."bestarm.studies"]\n'
    rows = re.search(r"(  rows:\n    foreach: \[)([^\]]*)\]", stages)
    if mark not in declared or rows is None:
        raise ValueError(f"{project} or {pipeline} has another form than expected; add the study by hand.")
    stage = re.search(rf"^  {name}:\n.*", _text("dvc.yaml", words), re.MULTILINE | re.DOTALL)
    assert stage is not None
    own = stage[0].replace(
        f"src/bestarm_studies.{name}",
        f"src/bestarm, src/bestarm_lab, src/bestarm_objectives, src/bestarm_studies/{name}",
    )
    written = _write(ROOT, files)
    project.write_text(declared.replace(mark, f'{mark}{name} = "bestarm_studies.{name}"\n'), encoding="utf-8")
    longer = stages.replace(rows[0], f"{rows[1]}{rows[2]}, {name}]").rstrip("\n")
    pipeline.write_text(f"{longer}\n{own.rstrip()}\n", encoding="utf-8")
    return [*written, project, pipeline]


def _words(name: str, package: str, title: str) -> dict[str, str]:
    return {"name": name, "NAME": name.upper().replace("_", "-"), "package": package, "title": title}


def _files(words: dict[str, str], test: str) -> dict[str, str]:
    """Return the files of the study itself, wherever it lives: package, notebook with its parameters, and test."""
    package, notebooks = f"src/{words['package'].replace('.', '/')}", f"notebooks/{words['name']}"
    return {f"{package}/first/{part}": _text(part, words) for part in _SECTION} | {
        f"{package}/first/__init__.py": '"""Elimination beside one uniform stage: Figure 1."""\n',
        f"{package}/__init__.py": _text("study.py", words),
        f"{package}/paper.yaml": _text("paper.yaml", words),
        test: _text("test_study.py", words),
        f"{notebooks}/01_first.ipynb": _notebook(words),
        f"{notebooks}/parameters.yaml": _text("parameters.yaml", words),
    }


def _text(part: str, words: dict[str, str]) -> str:
    return Template((_FOLDER / f"{part}.txt").read_text(encoding="utf-8")).substitute(words)


def _notebook(words: dict[str, str]) -> str:
    """Return the notebook of the template, whose cells begin at lines with ``%%`` and their tag, or ``md``."""
    import nbformat  # a second

    found = nbformat.v4.new_notebook(metadata=METADATA)
    for number, part in enumerate(re.split(r"^%%", f"%% md\n{_text('01_first.md', words)}", flags=re.MULTILINE)[1:]):
        kind, _, source = part.partition("\n")
        kind, source = kind.strip(), source.strip("\n")
        make = nbformat.v4.new_markdown_cell if kind == "md" else nbformat.v4.new_code_cell
        cell = make(source, id=f"cell-{number:02d}")
        if kind not in ("md", ""):
            cell.metadata["tags"] = [kind]
        found.cells.append(cell)
    return nbformat.writes(found) + "\n"


def _write(root: Path, files: dict[str, str]) -> list[Path]:
    for file, text in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text, encoding="utf-8")
    return [root / file for file in files]
