"""A rebuild of everything from scratch, and its comparison with what is committed, number by number."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from bestarm_lab.experiments.store import read_rows
from bestarm_lab.lineage import PROCESSORS, who_made
from bestarm_lab.notebooks.runner import notebooks_of, run_notebook, warnings_of
from bestarm_lab.paths import FIGURES, QUICK, REBUILD, RESULTS, ROOT
from bestarm_lab.results import costs, stored_rows
from bestarm_lab.study import load_study

PIPELINE = ROOT / "dvc.yaml"
NOTEBOOK_SECONDS = 20.0  # of a notebook that draws from rows
KEYS = ["panel", "series", "x", "statistic", "convention"]
OUTCOMES = ["equal", "within half the wider interval", "moved", "new", "missing"]
ROWS = ["equal", "within rounding", "moved"]
# relative: machine epsilon times two million operations, more than any number of a row is made of
ROUNDING = 2.0**-53 * 2**21


def stages_of(studies: Sequence[str] = ()) -> list[str]:
    """Return the stages of some studies, or of all, in the order of ``dvc.yaml``: first rows, then notebooks."""
    stages = yaml.safe_load(PIPELINE.read_text(encoding="utf-8"))["stages"]
    known = stages["rows"]["foreach"]
    if unknown := sorted(set(studies) - set(known)):
        raise ValueError(f"unknown study {', '.join(unknown)}; the pipeline has: {', '.join(known)}.")
    wanted = [name for name in known if name in studies or not studies]
    notebooks = [f"{name}@{notebook}" for name in wanted for notebook in stages[name]["foreach"]]
    return [*(f"rows@{name}" for name in wanted), *notebooks]


def rebuild(studies: Sequence[str] = (), profile: str = "laptop") -> int:
    """Rebuild the rows, figures, tables and verdicts of some studies, or of all, and compare them with the committed.

    The laptop profile runs ``dvc repro --force`` against an empty store; what is committed is set aside first.
    Interrupted, a second call goes on where the first stopped. The smoke profile runs the notebooks into ``_quick/``.
    The exit status is 1 if a verdict changed or the pipeline failed, else 0.
    """
    stages = stages_of(studies)
    if profile == "smoke":
        return _smoke([p for study in studies or [None] for p in notebooks_of(study)])  # type: ignore[list-item]
    if profile != "laptop":
        raise ValueError(f"a rebuild knows the profiles smoke and laptop, got {profile!r}.")
    aside = REBUILD / "committed"
    print(f"Rebuilding {len(stages)} stages from an empty store, about {_minutes(stages):.0f} minutes.", flush=True)
    if aside.is_dir():
        print(f"Going on with the interrupted rebuild in {REBUILD.name}/ (delete that folder to start anew).")
    else:
        _set_aside(aside)
    began = time.monotonic()
    status, skipped = _run_stages(stages)
    if status != 0:
        print("The pipeline stopped; what it finished is kept: the same command goes on from there.", file=sys.stderr)
        return status
    minutes = (time.monotonic() - began) / 60.0
    counts, changed = compare_folders(aside, ROOT)
    if studies:
        counts = counts[[name.split("/")[0] in studies for name in counts.index]]
        changed = changed[changed["study"].isin(studies)]
    counts.loc["all"] = counts.sum()
    print(f"\nRebuilt {len(stages)} stages in {minutes:.1f} minutes. Numbers, new against committed:\n")
    print(counts.to_string())
    rows = rows_table(aside, studies)
    print(f"\nRows, new against committed, and the processors that made them:\n\n{rows.to_string(index=False)}")
    print(f"\nVerdicts changed: {len(changed)}" + ("" if changed.empty else f"\n{changed.to_string(index=False)}"))
    print("\n".join(skipped) if skipped else "Nothing was skipped, and no figure was drawn from stand-in data.")
    shutil.rmtree(REBUILD)
    return int(len(changed) > 0)


def rows_table(aside: Path, studies: Sequence[str] = ()) -> pd.DataFrame:
    """Return how the laptop rows of each experiment agree with those set aside, and which processors made both."""
    table = []
    for file in sorted((aside / "results").glob("*/*.parquet")):
        study, name = file.parent.name, file.stem
        if studies and study not in studies:
            continue
        old, new = read_rows(file, f"{study}/{name}@laptop"), stored_rows(study, name, "laptop")
        if old is None or new is None:
            continue
        made = {"committed": who_made(study, name, folder=aside / PROCESSORS.name), "new": who_made(study, name)}
        table.append({"rows": f"{study}/{name}", **compare_rows(old, new), **made})
    return pd.DataFrame(table)


def _smoke(paths: Sequence[Path]) -> int:
    """Run notebooks with a few replications, saying before each how many there are; repeat at the end what was said."""
    began, said = time.monotonic(), []
    for number, path in enumerate(paths, start=1):
        name = f"{path.parent.name}/{path.stem}"
        spent = time.monotonic() - began
        left = f", about {spent / (number - 1) * (len(paths) - number + 1) / 60:.0f} minutes left" if number > 1 else ""
        print(f"[{spent / 60:5.1f} min] notebook {number} of {len(paths)}: {name}{left}", flush=True)
        said += [f"{name}: {line}" for line in warnings_of(run_notebook(name, "smoke"))]
    print("\n".join(said) if said else "Nothing was skipped, and no figure was drawn from stand-in data.")
    print(f"Smoke profile: the figures in {QUICK.name}/ show that everything runs; their numbers mean nothing.")
    return 0


def _run_stages(stages: Sequence[str]) -> tuple[int, list[str]]:
    """Run stages by DVC, saying before each one which it is and how long the rest takes; return what was skipped."""
    environment = os.environ | {"BESTARM_STORE": str(REBUILD / "store"), "BESTARM_FRESH": "1", "PYTHONUNBUFFERED": "1"}
    began = time.monotonic()
    begun: list[str] = []
    skipped: list[str] = []

    def reproduce(*some: str) -> int:
        command = ["dvc", "--wait-for-lock", "repro", "--force", "--single-item", *some]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            for line in process.stdout or ():
                if found := re.match(r"Running stage '([^']+)'", line):
                    begun.append(found[1])
                    rows = [name for name in begun if name.startswith("rows@")][-1:]  # they may be long in coming
                    left = _minutes(rows + [name for name in stages if name not in begun])
                    stage = f"stage {len(begun)} of {len(stages)}: {found[1]}, about {left:.0f} minutes left"
                    print(f"[{(time.monotonic() - began) / 60:5.1f} min] {stage}", flush=True)
                elif "SKIPPED" in line or "STAND-IN" in line:
                    skipped.append(line.rstrip())
                    print(line, end="", flush=True)
                elif re.match(r"\[ *\d|ERROR|bestarm:|    ", line) or "ailed" in line:
                    print(line, end="", flush=True)
        return process.returncode

    with ThreadPoolExecutor(2) as pool:  # notebooks as soon as their rows are there, beside the rows of the next study
        running = []
        for study in [name.removeprefix("rows@") for name in stages if name.startswith("rows@")]:
            if status := reproduce(f"rows@{study}"):
                return status, skipped
            notebooks = [name for name in stages if name.startswith(f"{study}@")]
            running += [pool.submit(reproduce, *half) for half in (notebooks[::2], notebooks[1::2]) if half]
    return max((one.result() for one in running), default=0), list(dict.fromkeys(skipped))


def _minutes(stages: Iterable[str]) -> float:
    """Return the minutes of some stages on two cores: an experiment not measured takes those of its study's mean."""
    seconds = 0.0
    for stage in stages:
        kind, _, name = stage.partition("@")
        if kind == "rows":
            made = [(name, key, "laptop") for key, one in load_study(name).experiments.items() if not one.measured]
            seconds += len(made) * float(np.mean([costs()[key] for key in made if key in costs()] or [0.0])) / 2.0
        else:
            seconds += NOTEBOOK_SECONDS / 2.0
    return seconds / 60.0


def _set_aside(aside: Path) -> None:
    temporary = aside.with_name("committed.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(FIGURES, temporary / "figures")
    for file in (f for kind in ("verdicts.csv", "*.parquet") for f in RESULTS.glob(f"*/{kind}")):
        (temporary / "results" / file.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, temporary / "results" / file.parent.name)
    if PROCESSORS.is_dir():
        shutil.copytree(PROCESSORS, temporary / PROCESSORS.name)
    os.replace(temporary, aside)


def compare_values(old: pd.DataFrame, new: pd.DataFrame) -> pd.Series:
    """Return how each plotted value of two versions of a figure agrees, one of ``OUTCOMES``, by ``KEYS``.

    A value without an interval can only be equal or moved.
    """
    left, right = (_keyed(frame) for frame in (old, new))
    both = left.merge(right, how="outer", left_index=True, right_index=True, suffixes=("_old", "_new"))
    a, b = (pd.to_numeric(both[f"value_{v}"], errors="coerce").to_numpy(dtype=np.float64) for v in ("old", "new"))
    width = np.fmax(*[(both[f"high_{v}"] - both[f"low_{v}"]).to_numpy(dtype=np.float64) for v in ("old", "new")])
    only_new, only_old = ~both.index.isin(left.index), ~both.index.isin(right.index)
    near = np.abs(a - b) <= 0.5 * np.nan_to_num(width)
    equal = (both["value_old"].astype(str) == both["value_new"].astype(str)).to_numpy()
    outcome = np.select([only_new, only_old, equal, near], ["new", "missing", OUTCOMES[0], OUTCOMES[1]], "moved")
    return pd.Series(outcome, index=both.reset_index("occurrence").index)


def _keyed(frame: pd.DataFrame) -> pd.DataFrame:
    """Index values by their keys and, where a point was observed several times, by which of them they are."""
    frame = frame.astype(dict.fromkeys(KEYS, str))
    return frame.assign(occurrence=frame.groupby(KEYS).cumcount()).set_index([*KEYS, "occurrence"])


def compare_rows(old: pd.DataFrame, new: pd.DataFrame) -> dict[str, int]:
    """Count how the values of two versions of an experiment's rows agree, without their keys.

    Numbers are equal (with the same bits, or both missing), within rounding (relative, ``ROUNDING``) or moved;
    words are equal or moved. Rows of another shape or with other columns have moved as a whole.
    """
    old, new = (frame.drop(columns="key", errors="ignore").reset_index(drop=True) for frame in (old, new))
    if list(old.columns) != list(new.columns) or len(old) != len(new):
        return dict(zip(ROWS, (0, 0, new.size), strict=True))
    equal = near = 0
    for name in new:
        a, b = old[name], new[name]
        same = ((a == b) | (a.isna() & b.isna())).fillna(False).to_numpy(dtype=bool)
        equal += int(same.sum())
        if all(pd.api.types.is_float_dtype(c) for c in (a, b)):
            x, y = a.to_numpy(dtype=np.float64)[~same], b.to_numpy(dtype=np.float64)[~same]
            near += int((np.abs(x - y) <= ROUNDING * np.fmax(np.abs(x), np.abs(y))).sum())
    return dict(zip(ROWS, (equal, near, new.size - equal - near), strict=True))


def compare_folders(old: Path, new: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare every CSV below ``figures`` and every table of verdicts below ``results`` of two folders.

    The first table has a row for each figure or table and a column for each of ``OUTCOMES``; the second the verdicts
    that changed: ``study, id, convention, old, new``.
    """
    figures = [folder / "figures" for folder in (old, new)]
    columns = [*KEYS, "value", "low", "high"]
    counts = {
        str(name.with_suffix("")): compare_values(*(_read(f / name, columns) for f in figures)).value_counts()
        for name in sorted({p.relative_to(folder) for folder in figures for p in folder.glob("*/*/*.csv")})
    }
    table = pd.DataFrame(counts).T.reindex(columns=OUTCOMES).fillna(0).astype(int)
    studies = sorted({p.parent.name for folder in (old, new) for p in folder.glob("results/*/verdicts.csv")})
    changed = [_changed_verdicts(*(f / "results" / s / "verdicts.csv" for f in (old, new))) for s in studies]
    return table, (pd.concat(changed, ignore_index=True) if changed else pd.DataFrame(columns=["study", "id"]))


def _read(file: Path, columns: list[str]) -> pd.DataFrame:
    """Return some columns of a table, without lines where there is no file."""
    return pd.read_csv(file, usecols=columns) if file.is_file() else pd.DataFrame(columns=columns)


def _changed_verdicts(old: Path, new: Path) -> pd.DataFrame:
    columns = ["id", "convention", "verdict"]
    left, right = (_read(file, columns) for file in (old, new))
    both = left.merge(right, on=columns[:2], how="outer", suffixes=("_old", "_new"))
    different = both[both["verdict_old"].fillna("none") != both["verdict_new"].fillna("none")]
    return different.rename(columns={"verdict_old": "old", "verdict_new": "new"}).assign(study=new.parent.name)
