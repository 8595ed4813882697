"""The DVC pipeline: what each stage must declare, found by following imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from bestarm.experiments.code_hash import imported_modules, module_file, reached_modules
from bestarm.experiments.definitions import ledger
from bestarm.paths import ROOT

PIPELINE = ROOT / "dvc.yaml"


def notebook_source(path: Path) -> str:
    """Return the code cells of a notebook as one piece of Python."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def modules_of_series(paper: str, experiments: list[str]) -> set[str]:
    """Return the policy and problem modules that the ledger names for these experiments."""
    found = set()
    for name in experiments:
        spec = ledger(paper)["experiments"][name]
        if "rows" in spec:
            found.add(f"bestarm.experiments.{spec['rows']['make'].partition('.')[0]}")
            continue
        problems = [spec["problem"], *([spec["stand_in"]] if "stand_in" in spec else [])]
        found |= {f"bestarm.problems.{p['make'].partition('.')[0]}" for p in problems}
        found |= {f"bestarm.policies.{s['make'].partition('.')[0]}" for s in spec["series"].values()}
        if "watch" in spec:
            found.add(f"bestarm.policies.{spec['watch'].partition('.')[0]}")
    return found


def required_deps(notebook: Path, experiments: list[str]) -> list[str]:
    """Return the files of this project that the results of a notebook depend on, relative to the root."""
    paper = notebook.parent.name
    modules = imported_modules(notebook_source(notebook)) | modules_of_series(paper, experiments)
    modules.add("bestarm.reporting.runner")
    files = [module_file(name) for name in reached_modules(modules)]
    style = module_file("bestarm.reporting.figures")
    paths = [notebook, ROOT / "data" / "registry.yaml", *(f for f in files if f is not None)]
    if style in files:
        paths.append(Path(str(style)).with_name("bestarm.mplstyle"))
    return sorted(str(p.relative_to(ROOT)) for p in paths)


def stage_parameters(stage: dict[str, Any]) -> dict[str, list[str]]:
    """Return the keys that a stage declares, by file of parameters."""
    return {file: keys for entry in stage.get("params", []) for file, keys in entry.items()}


def experiments_of_stage(stage: dict[str, Any]) -> list[str]:
    """Return the experiments whose ledger entries a stage declares as parameters."""
    keys = [k for file_keys in stage_parameters(stage).values() for k in file_keys]
    return [k.removeprefix("experiments.") for k in keys if k.startswith("experiments.")]


def load_pipeline() -> dict[str, Any]:
    """Return ``dvc.yaml``."""
    return yaml.safe_load(PIPELINE.read_text(encoding="utf-8"))


def notebook_of_stage(stage: dict[str, Any]) -> Path:
    """Return the notebook that a stage executes."""
    return ROOT / next(word for word in stage["cmd"].split() if word.endswith(".ipynb"))


def declared_claims(stage: dict[str, Any]) -> list[str]:
    """Return the ledger's claims that a stage must declare as parameters: its notebook's, or all if it names all.

    Each is named by itself: DVC copies every parameter into its lock file and reads and writes it whole at each stage.
    """
    notebook = notebook_of_stage(stage)
    named = stage_parameters(stage).get(f"papers/{notebook.parent.name}.yaml", [])
    if "claims" in named:
        return ["claims"]
    claims = ledger(notebook.parent.name)["claims"]
    return [f"claims.{identity}" for identity, claim in claims.items() if claim["notebook"] == notebook.stem]


def complete_stages() -> None:
    """Rewrite the ``deps`` and claims of every stage in ``dvc.yaml`` to what it reaches, keeping other stages' results.

    The file is written anew in YAML's block style; only comment lines at its top survive.
    """
    pipeline = load_pipeline()
    for stage in pipeline["stages"].values():
        ledger_file = f"papers/{notebook_of_stage(stage).parent.name}.yaml"
        parameters = stage_parameters(stage)
        kept = [k for k in parameters.get(ledger_file, []) if k.partition(".")[0] != "claims"]
        parameters[ledger_file] = kept + declared_claims(stage)
        stage["params"] = [{file: keys} for file, keys in parameters.items() if keys]
        results = [d for d in stage.get("deps", []) if d.startswith("results/")]
        stage["deps"] = results + required_deps(notebook_of_stage(stage), experiments_of_stage(stage))
    header = "".join(line for line in PIPELINE.read_text(encoding="utf-8").splitlines(True) if line.startswith("#"))
    PIPELINE.write_text(
        header + yaml.safe_dump(pipeline, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8"
    )
