"""What a notebook calls: run the experiments of one section, then save its figures and tables with their numbers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from bestarm.datasets.registry import DataUnavailable, checksums
from bestarm.experiments.computed import is_computed, run_computed
from bestarm.experiments.construct import accepted_settings
from bestarm.experiments.definitions import Experiment, Profile, ledger, load_experiment, project_seed
from bestarm.experiments.run import data_files, n_workers, run_experiment
from bestarm.experiments.store import read_rows, write_parquet
from bestarm.paths import QUICK, RESULTS, ROOT, STORE
from bestarm.reporting.claim_tests import experiments_of
from bestarm.reporting.claims import DATA_MISSING, evaluate
from bestarm.reporting.provenance import provenance

_Data = TypeVar("_Data")

PAPER_SCALE = "paper_scale"


def tell_runner(line: str) -> bool:
    """Append a line to the runner's progress file, and return whether there is one."""
    if "BESTARM_PROGRESS" not in os.environ:
        return False
    with open(os.environ["BESTARM_PROGRESS"], "a", encoding="utf-8") as file:
        file.write(line + "\n")
    return True


def say(line: str) -> None:
    """Print a line in the notebook and to whoever waits for it."""
    print(line)
    tell_runner(line)


def progress_line(name: str) -> Callable[[int, int, float], None]:
    """Return a progress callback: a line for each block, to the runner's progress file or to a terminal."""

    def report(done: int, total: int, seconds_left: float) -> None:
        line = f"{name}: block {done} of {total}, about {seconds_left:.0f} s left"
        if tell_runner(line):
            return
        if sys.stderr.isatty():
            print(line, file=sys.stderr, end="\n" if done == total else "\r", flush=True)

    return report


@dataclass
class Section:
    """One section of a paper at one scale.

    Parameters
    ----------
    paper : str
        Ledger, ``papers/<paper>.yaml``.
    profile : {"smoke", "laptop", "paper"}
        Scale.
    output_dir : str
        Where figures and results go, relative to the root of the project; ``"_quick"`` leaves the published ones alone.
    """

    paper: str
    profile: Profile
    output_dir: str = "_quick"
    rows: dict[str, pd.DataFrame] = field(default_factory=dict)
    data_missing: bool = False
    experiments: dict[str, Experiment] = field(default_factory=dict)
    taken: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def load(self, name: str) -> Experiment:
        """Return an experiment at this scale.

        On data that nobody has, a stand-in of the same schema takes its place and says so; outside the smoke profile
        everything that rests on it then goes to ``_quick/`` and the published figure stays.
        """
        if name not in self.experiments:
            try:
                self.experiments[name] = load_experiment(self.paper, name, self.profile)
            except DataUnavailable as error:
                self.experiments[name] = load_experiment(self.paper, name, self.profile, stand_in=True)
                say(f"SKIPPED the real data of {name}, stand-in data take their place: {error}")
        return self.experiments[name]

    def take(self, name: str, real: Callable[[], _Data], stand_in: Callable[[], _Data], files: Sequence[str]) -> _Data:
        """Return data that no experiment holds, or their stand-in; figures name them as they name experiments."""
        try:
            found = real()
            self.taken[name] = tuple(files)
        except DataUnavailable as error:
            found = stand_in()
            self.taken[name] = ()
            say(f"SKIPPED the real data of {name}, stand-in data take their place: {error}")
        return found

    def run(self, name: str) -> pd.DataFrame:
        """Return the rows of an experiment, computing what is not stored yet."""
        committed = None
        if self.profile != "smoke" and not os.environ.get("BESTARM_FRESH"):
            committed = read_rows(RESULTS / self.paper / self._scale(f"{name}.parquet"))
        store = QUICK / "store" if self.profile == "smoke" else Path(os.environ.get("BESTARM_STORE", STORE))
        seed, workers = project_seed(), 1 if self.profile == "smoke" else n_workers()
        if is_computed(self.paper, name):
            rows = run_computed(
                self.paper, name, self.profile, seed=seed, store=store, committed=committed, workers=workers
            )
        else:
            rows = run_experiment(
                self.load(name),
                seed=seed,
                store=store,
                committed=committed,
                workers=workers,
                progress=progress_line(name),
            )
        self.rows[name] = rows
        return rows

    def series(self, name: str) -> list[str]:
        """Return the series of an experiment in the paper's order."""
        return list(dict.fromkeys(s.label for s in self.experiments[name].series))

    def entry(self, name: str) -> dict[str, Any]:
        """Return what the ledger says of an experiment."""
        return ledger(self.paper)["experiments"][name]

    def scale(self, *names: str) -> str:
        """Return the scale of some experiments in words for a caption: runs, the profile's settings and its cuts."""
        found: dict[str, dict[str, None]] = {}
        for name in names:
            entry = self.entry(name)
            cut = entry["profiles"][self.profile]
            known = {key for spec in entry.get("series", {}).values() for key in accepted_settings(spec, "policies")}
            terms: dict[str, Any] = {"runs": self.rows[name]["replication"].nunique()}
            terms |= {key: value for key, value in cut.get("settings", {}).items() if key in known}
            for key, values in cut.get("vary", {}).items():
                if not isinstance(values[0], str):
                    terms[key] = f"{', '.join(map(str, values))} of {', '.join(map(str, entry['vary'][key]))}"
            for key, value in terms.items():
                found.setdefault(key.removeprefix("n_").replace("_", " "), {})[str(value)] = None
        return ", ".join(f"{key} {' or '.join(values)}" for key, values in found.items()) + f"; {self.profile} profile"

    def claims(self) -> dict[str, Any]:
        """Return the paper's claims as the ledger writes them."""
        return ledger(self.paper)["claims"]

    def save_results(self, *names: str) -> None:
        """Save the final rows of experiments: ``results/<paper>/<name>.parquet``."""
        for name in names:
            write_parquet(self.rows[name], self._folder("results", [name]) / f"{name}.parquet")

    def save_picture(self, name: str, figure: Figure, experiments: Sequence[str] = ()) -> None:
        """Save a picture that plots no result of its own (a diagram, a table of verdicts) as PNG and PDF."""
        folder, vector = self._folder("figures", experiments), self._folder("_report/pdf", experiments)
        folder.mkdir(parents=True, exist_ok=True)
        vector.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        figure.savefig(vector / f"{name}.pdf", metadata={"CreationDate": None})

    def save_figure(self, name: str, figure: Figure, values: pd.DataFrame, experiments: Sequence[str]) -> None:
        """Save a figure as PNG, its plotted values as CSV and its provenance as JSON."""
        self.save_picture(name, figure, experiments)
        self._save_values(self._folder("figures", experiments), name, values, experiments)

    def save_table(self, name: str, table: pd.DataFrame, values: pd.DataFrame, experiments: Sequence[str]) -> None:
        """Save a table as Markdown, its values as CSV and its provenance as JSON."""
        folder = self._folder("figures", experiments)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(markdown_table(table), encoding="utf-8")
        self._save_values(folder, name, values, experiments)

    def verdicts(self, *identities: str) -> pd.DataFrame:
        """Return the verdicts on some claims, by default all, each from the largest scale that all its rows have."""
        claims = self.claims()
        chosen = {i: claims[i] for i in (identities or claims)}
        larger = {name: rows for name in self.rows if (rows := self.paper_scale(name)) is not None}
        found = evaluate(self.paper, chosen, self.rows, dict.fromkeys(self.rows, self.profile), larger)
        missing = found[found["decided_by"].astype(str).str.startswith(DATA_MISSING)]
        if len(missing) and self.profile != "smoke":
            self.data_missing = True  # what is saved from now on must not replace published verdicts
            say(f"SKIPPED the verdicts on {', '.join(missing['id'].unique())}: {missing['decided_by'].iloc[0]}")
        return found

    def load_results(self) -> None:
        """Take the rows of every experiment that a claim or one of its controls rests on."""
        tests = [t["test"] for claim in self.claims().values() for t in (claim, *claim.get("controls", []))]
        self.borrow(*dict.fromkeys(e for test in tests for e in experiments_of(test)))

    def paper_scale(self, name: str) -> pd.DataFrame | None:
        """Return the stored rows of an experiment at the paper's own scale, if there are any; none in a smoke run."""
        return None if self.profile == "smoke" else read_rows(RESULTS / self.paper / PAPER_SCALE / f"{name}.parquet")

    def borrow(self, *names: str) -> None:
        """Take the rows of experiments that other sections run: stored ones, in the smoke profile by a run."""
        for name in names:
            stored = None
            if self.profile != "smoke":
                stored = read_rows(RESULTS / self.paper / self._scale(f"{name}.parquet"))
            if stored is None:
                self.run(name)
            else:
                self.rows[name] = stored

    def _save_values(self, folder: Path, name: str, values: pd.DataFrame, experiments: Sequence[str]) -> None:
        values.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
        files = {file for e in experiments if e in self.experiments for file in data_files(self.experiments[e])}
        files |= {file for e in experiments for file in self.taken.get(e, ())}
        text = provenance(
            self.paper,
            name,
            seed=project_seed(),
            profile=self.profile,
            rows={e: self.rows[e] for e in experiments if e not in self.taken},
            data=checksums(*sorted(files)),
        )
        (folder / f"{name}.json").write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _folder(self, kind: str, experiments: Sequence[str]) -> Path:
        stand_in = any(
            not self.taken[e] if e in self.taken else (self.rows[e]["data"] == "stand-in").any() for e in experiments
        )
        if (stand_in or self.data_missing) and self.profile != "smoke":
            return QUICK / kind / self.paper
        return ROOT / self.output_dir / kind / self.paper / self._scale("")

    def _scale(self, name: str) -> Path:
        return Path(PAPER_SCALE, name) if self.profile == "paper" else Path(name)


def markdown_table(table: pd.DataFrame) -> str:
    """Return a frame as a Markdown table; numbers are expected to be formatted already."""
    header = [str(c) for c in table.columns]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += [
        "| " + " | ".join(str(v).replace("\n", " ").replace("|", "\\|") for v in row) + " |"
        for row in table.itertuples(index=False)
    ]
    return "\n".join(lines) + "\n"


def banner(profile: Profile) -> str:
    """Return the line that a notebook prints about the scale of its text outputs."""
    if profile == "smoke":
        return "SMOKE PROFILE: a few replications, to see that everything runs. Numbers below mean nothing."
    return f"Profile: {profile}."
