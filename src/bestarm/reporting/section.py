"""What a notebook calls: the rows of its experiments, and a place for its figures, tables and verdicts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Markdown, display
from matplotlib.figure import Figure

from bestarm.datasets.registry import DataUnavailable, checksums
from bestarm.experiments.computation import Computation
from bestarm.experiments.keys import data_files
from bestarm.experiments.scale import Profile
from bestarm.paths import QUICK, ROOT
from bestarm.reporting.appearance import use_style
from bestarm.reporting.claims import verdict_table
from bestarm.reporting.provenance import provenance
from bestarm.reporting.results import costs, current_rows, published, read_verdicts, rows_of
from bestarm.reporting.study import load_study, project_seed

_Data = TypeVar("_Data")


@dataclass
class Section:
    """One section of a paper at one scale.

    Parameters
    ----------
    study, notebook : str
        ``notebooks/<study>/<notebook>.ipynb``.
    profile : {"smoke", "laptop", "paper"}
        Scale.
    output_dir : str
        Where ``figures/`` is made, relative to the root of the project. The pipeline names another place by
        ``$BESTARM_OUTPUT``, so that a notebook that is read and run leaves the published figures alone.
    """

    study: str
    notebook: str
    profile: Profile
    output_dir: str = "_quick"
    found: dict[str, pd.DataFrame] = field(default_factory=dict)
    scales: dict[str, Profile] = field(default_factory=dict)
    other_data: dict[str, tuple[str, ...] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        use_style()
        if self.profile == "smoke":
            print("SMOKE PROFILE: a few replications, to see that everything runs. The numbers below mean nothing.")

    def experiment(self, name: str) -> Any:
        """Return an experiment: its series, its titles and its scales, for which nobody needs the data."""
        return load_study(self.study).experiment(name)

    def on_data(self, name: str) -> Any:
        """Return an experiment whose problems can be built: where nobody has its data, on its stand-in."""
        experiment = self.experiment(name)
        found = experiment.on_data()
        if found is not experiment:
            self.other_data[name] = None
            self._say_stand_in(name)
        return found

    def problem(self, name: str) -> Any:
        """Return the problem of the first cell of an experiment `on_data`."""
        return self.on_data(name).first_problem()

    def order(self, name: str) -> list[str]:
        """Return the series of an experiment in the order of its figure."""
        return list(self.experiment(name).series)

    def rows(self, name: str, profile: Profile | None = None) -> pd.DataFrame:
        """Return the rows of an experiment, by default at the notebook's profile.

        The profile laptop takes those at the paper's own scale where they are committed. Committed rows are taken if
        the present code would make the same, or if nobody here has the data that they were made on. Otherwise a line
        says so, and how long the simulation will take, before it starts.
        """
        scale, rows = profile or self.profile, None
        if profile is None and scale == "laptop":
            scale, rows = published(self.study, name)
        elif scale != "smoke":
            rows = current_rows(self.study, name, scale)
        if rows is None:
            scale = profile or self.profile
            if scale != "smoke":
                self._announce(name, scale)
            rows = rows_of(self.study, name, scale)
        if (rows["data"] == "stand-in").any():
            self._say_stand_in(name)
        self.found[name], self.scales[name] = rows, scale
        return rows

    def together(self, *names: str) -> list[pd.DataFrame]:
        """Return the rows of experiments that are compared with each other, all at one scale.

        That is the paper's own where all of them have such rows, and else the notebook's profile.
        """
        if self.profile == "laptop" and len({published(self.study, name)[0] for name in names}) > 1:
            return [self.rows(name, self.profile) for name in names]
        return [self.rows(name) for name in names]

    def _say_stand_in(self, name: str) -> None:
        print(f"STAND-IN DATA in {name}: nobody here has the real data; its figures are not published.")

    def _announce(self, name: str, profile: Profile) -> None:
        seconds = costs().get((self.study, name, profile))
        cost = "an unknown time" if seconds is None else f"about {seconds:.0f} processor seconds"
        print(f"The committed rows of {name} are not those of the present code; simulating them takes {cost}.")

    def data(self, name: str, real: Callable[[], _Data], stand_in: Callable[[], _Data], files: Sequence[str]) -> _Data:
        """Return data that no experiment holds, or their stand-in; figures name them as they name experiments."""
        try:
            found = real()
            self.other_data[name] = tuple(files)
        except DataUnavailable as error:
            found = stand_in()
            self.other_data[name] = None
            print(f"STAND-IN DATA for {name}: {error}")
        return found

    def at(self, name: str) -> tuple[Any, Profile]:
        """Return an experiment and the scale of its rows, for a caption; its rows have been read before."""
        return self.experiment(name), self.scales[name]

    def show(self, name: str, figure: Figure, values: pd.DataFrame, experiments: Sequence[str] = ()) -> None:
        """Save a figure as PNG, its plotted values as CSV and their provenance as JSON; display and close it."""
        folder = self._folder(experiments)
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        self._save_values(folder, name, values, experiments)
        display(figure)
        plt.close(figure)

    def picture(self, name: str, figure: Figure) -> None:
        """Save a diagram, which plots no numbers, as PNG; display and close it."""
        figure.savefig(self._folder(()) / f"{name}.png", metadata={"Software": None})
        display(figure)
        plt.close(figure)

    def table(self, name: str, table: pd.DataFrame, values: pd.DataFrame, experiments: Sequence[str] = ()) -> None:
        """Save a table as Markdown, its values as CSV and their provenance as JSON; display it."""
        folder = self._folder(experiments)
        (folder / f"{name}.md").write_text(markdown_table(table), encoding="utf-8")
        self._save_values(folder, name, values, experiments)
        display(Markdown(markdown_table(table)))

    def verdicts(self, *identities: str) -> None:
        """Display the verdicts on this notebook's claims, or on some, from the study's table."""
        verdicts = read_verdicts(self.study)
        if verdicts is None:
            raise FileNotFoundError(f"there are no verdicts on {self.study}; make them by: bestarm rows {self.study}")
        chosen = verdicts["id"].isin(identities) if identities else verdicts["notebook"] == self.notebook
        display(Markdown(verdict_table(verdicts[chosen])))

    def _save_values(self, folder: Path, name: str, values: pd.DataFrame, experiments: Sequence[str]) -> None:
        scale = " and ".join(dict.fromkeys(self.scales[e] for e in experiments if e in self.scales)) or self.profile
        if "profile" in values:
            values = values.assign(profile=scale)
        values.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
        files = {file for e in experiments for file in self.other_data.get(e) or ()}
        for e in experiments:
            if e in self.found:
                experiment = self.experiment(e)
                if isinstance(experiment, Computation):
                    real = (self.found[e]["data"] == "real").any()
                    files |= set(experiment.data_files) if real else set()
                else:
                    files |= set(data_files(experiment.problem, self.found[e]["data"].iloc[0]))
        text = provenance(
            self.study,
            f"{self.notebook}/{name}",
            seed=project_seed(),
            profile=scale,
            rows={e: self.found[e] for e in experiments if e in self.found},
            data=checksums(*sorted(files)),
        )
        (folder / f"{name}.json").write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _folder(self, experiments: Sequence[str]) -> Path:
        stand_in = any(
            self.other_data[e] is None if e in self.other_data else (self.found[e]["data"] == "stand-in").any()
            for e in experiments
        )
        published = os.environ.get("BESTARM_OUTPUT")
        if published and not stand_in:
            folder = Path(published)
        else:
            base = QUICK if stand_in and self.profile != "smoke" else ROOT / self.output_dir
            folder = base / "figures" / self.study / self.notebook
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def markdown_table(table: pd.DataFrame) -> str:
    """Return a frame as a Markdown table; numbers are expected to be formatted already."""
    header = [str(c) for c in table.columns]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += [
        "| " + " | ".join(str(v).replace("\n", " ").replace("|", "\\|") for v in row) + " |"
        for row in table.itertuples(index=False)
    ]
    return "\n".join(lines) + "\n"
