"""Sections of notebooks: the rows of their experiments, and a place for figures, tables and verdicts."""

import json
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Markdown, display
from matplotlib.figure import Figure
from matplotlib.text import Text

from bestarm_lab.claims.verdicts import verdict_table
from bestarm_lab.datasets.registry import DataUnavailable, checksums
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.keys import data_files
from bestarm_lab.experiments.run import make_rows, n_workers
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.figures import runs_text
from bestarm_lab.figures.narrow import narrow
from bestarm_lab.figures.styles import use_style
from bestarm_lab.figures.vector import light_svg
from bestarm_lab.notebooks.parameter_overrides import with_parameters
from bestarm_lab.notebooks.parameters import CHANGED, changed_parameters, declared_parameters, published_parameters
from bestarm_lab.notebooks.provenance import provenance
from bestarm_lab.paths import QUICK, ROOT
from bestarm_lab.results import committed_rows, costs, current_rows, published, read_verdicts, readable, rows_of
from bestarm_lab.study import load_study, load_styles, project_seed

_Data = TypeVar("_Data")


@dataclass
class Section:
    """One section of a paper at one scale."""

    study: str  # study, notebook: ``notebooks/<study>/<notebook>.ipynb``
    notebook: str
    profile: Profile  # {"smoke", "laptop", "paper"}: scale
    # where ``figures/`` is made, relative to the root of the project. The pipeline names another place by
    # ``$BESTARM_OUTPUT``, so that a notebook that is read and run leaves the published figures alone
    output_dir: str = "_quick"
    # parameters that are not as published; by default those of the notebook that is running, see
    # `bestarm_lab.notebooks.parameters`. Rows that they need and that are not committed are simulated into ``_quick/``,
    # and figures are headed by them in place of the published finding
    changed: dict[str, Any] | None = None
    found: dict[str, pd.DataFrame] = field(default_factory=dict)
    scales: dict[str, Profile] = field(default_factory=dict)
    other_data: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stood_in: bool = False  # whether a stand-in was handed out: what is shown from then on is not published
    experiments: dict[str, Any] = field(default_factory=dict)
    read: dict[str, tuple[Profile, pd.DataFrame | None]] = field(default_factory=dict, repr=False)  # published rows

    def __post_init__(self) -> None:
        use_style()
        load_styles(self.study)  # before anything is drawn, whatever is loaded when
        if self.changed is None:
            given = declared_parameters(self.study, self.notebook)
            self.changed = changed_parameters(self.study, self.notebook, given)
        if self.changed:
            print(f"{CHANGED}: {self.words()}. What the text says, and its pictures, are the published findings.")
        if self.profile == "smoke":
            print("SMOKE PROFILE: a few replications, to see that everything runs. The numbers below mean nothing.")

    def words(self) -> str:
        """Return the parameters that are not as published, in words."""
        return ", ".join(f"{name} = {value}" for name, value in (self.changed or {}).items())

    def experiment(self, name: str) -> Any:
        """Return an experiment with the notebook's changed parameters, for which nobody needs the data."""
        if name not in self.experiments:
            published = published_parameters(self.study, self.notebook)
            experiment = load_study(self.study).experiment(name)
            self.experiments[name] = with_parameters(experiment, self.changed or {}, published)
        return self.experiments[name]

    def change(self, name: str, **changes: Any) -> None:
        """Change an experiment by what a parameter means for it alone; nothing is done while all are as published."""
        if self.changed:
            self.experiments[name] = self.experiment(name).changed(**changes)

    def on_data(self, name: str) -> Any:
        """Return an experiment whose problems can be built: where nobody has its data, on its stand-in."""
        experiment = self.experiment(name)
        found = experiment.on_data()
        if found is not experiment:
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
        says so, and how long the simulation will take, before it starts. Where a parameter of the notebook is changed,
        only those rows are simulated that it needs and that are not committed.
        """
        if self.experiment(name) is not load_study(self.study).experiment(name):
            return self._simulated(name, profile)
        scale, rows = profile or self.profile, None
        if profile is None and scale == "laptop":
            scale, rows = self._published(name)
        elif scale != "smoke":
            rows = current_rows(self.study, name, scale)
        if rows is None:
            scale = profile or self.profile
            if scale != "smoke":
                self._announce(name, scale)
            rows = readable(rows_of(self.study, name, scale))
        if (rows["data"] == "stand-in").any():
            self._say_stand_in(name)
        self.found[name], self.scales[name] = rows, scale
        return rows

    def together(self, *names: str) -> list[pd.DataFrame]:
        """Return the rows of some experiments at one scale: the paper's where all have it, or the notebook's."""
        if self.profile == "laptop" and len({self._published(name)[0] for name in names}) > 1:
            return [self.rows(name, self.profile) for name in names]
        return [self.rows(name) for name in names]

    def _published(self, name: str) -> tuple[Profile, pd.DataFrame | None]:
        """Return published rows, read from their file once, and their scale."""
        if name not in self.read:
            self.read[name] = published(self.study, name)
        scale, rows = self.read[name]
        return scale, None if rows is None else rows.copy(deep=False)

    def _simulated(self, name: str, profile: Profile | None) -> pd.DataFrame:
        """Return the rows of a changed experiment, at the scale of the published ones where that is not changed."""
        scale, committed = profile or self.profile, None
        if profile is None and scale == "laptop":
            scale, committed = self._published(name)
        experiment, smoke = self.on_data(name), scale == "smoke"
        measured = isinstance(experiment, Computation) and experiment.measured
        if committed is None and not smoke:
            committed = committed_rows(self.study, name, scale)
        rows = make_rows(
            experiment,
            scale,
            seed=project_seed(),
            store=QUICK / "store",
            committed=None if measured else committed,
            workers=1 if smoke else n_workers(),
            progress=_progress(name),
        )
        if isinstance(experiment, Computation) and (rows["data"] == "stand-in").any():
            self._say_stand_in(name)
        self.found[name], self.scales[name] = readable(rows), scale
        return self.found[name]

    def _say_stand_in(self, name: str, why: str = "nobody here has the real data") -> None:
        self.stood_in = True
        print(f"STAND-IN DATA in {name}: {why}; what it shows is not published.")

    def _announce(self, name: str, profile: Profile) -> None:
        seconds = costs().get((self.study, name, profile))
        cost = "an unknown time" if seconds is None else f"about {seconds:.0f} processor seconds"
        print(f"The committed rows of {name} are not those of the present code; simulating them takes {cost}.")

    def data(self, name: str, real: Callable[[], _Data], stand_in: Callable[[], _Data], files: Sequence[str]) -> _Data:
        """Return data that no experiment holds, or their stand-in; figures name them as they name experiments."""
        try:
            found = real()
        except DataUnavailable as error:
            self._say_stand_in(name, error.args[0])
            return stand_in()
        self.other_data[name] = tuple(files)
        return found

    def at(self, name: str) -> tuple[Any, Profile]:
        """Return an experiment and the scale of its rows, for a caption; its rows have been read before."""
        return self.experiment(name), self.scales[name]

    def show(self, name: str, figure: Figure, values: pd.DataFrame, experiments: Sequence[str] = ()) -> None:
        """Save a figure as PNG and SVG, its values as CSV and their provenance as JSON; display and close it."""
        folder = self._folder()
        if self.changed:
            _head_anew(figure, f"Changed parameters: {self.words()}", runs_text(values["n"]) if "n" in values else "")
        _save_picture(folder, name, figure)
        self._save_values(folder, name, values, experiments)
        display(figure)
        self._save_narrow(name, figure)
        plt.close(figure)

    def picture(self, name: str, figure: Figure) -> None:
        """Save and show a diagram as PNG and SVG; with a title, which nothing could test, it is a ValueError."""
        if above := _above(figure):
            raise ValueError(f"the diagram {name!r} has the title {above[0].get_text()!r}; draw it without one.")
        _save_picture(self._folder(), name, figure)
        display(figure)
        self._save_narrow(name, figure)
        plt.close(figure)

    def table(self, name: str, table: pd.DataFrame, values: pd.DataFrame, experiments: Sequence[str] = ()) -> None:
        """Save a table as Markdown, its values as CSV and their provenance as JSON; display it."""
        folder = self._folder()
        (folder / f"{name}.md").write_text(markdown_table(table), encoding="utf-8")
        self._save_values(folder, name, values, experiments)
        display(Markdown(markdown_table(table)))

    def verdicts(self, *identities: str) -> None:
        """Display the verdicts on this notebook's claims, or on some; with changed parameters why there are none."""
        if set(self.changed or {}) - {"claims"}:
            display(Markdown(f"Changed parameters: {self.words()}. Claims are decided on the published rows alone."))
            return
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
        files = {file for e in experiments for file in self.other_data.get(e, ())}
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

    def _save_narrow(self, name: str, figure: Figure) -> None:
        """Write a figure for a page as wide as a phone below ``$BESTARM_NARROW``, if that is set and it has room."""
        if (base := os.environ.get("BESTARM_NARROW")) and narrow(figure):  # the figure is changed
            file = Path(base) / self.study / self.notebook / f"{name}.svg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(light_svg(figure, letters="none"), encoding="utf-8")

    def _folder(self) -> Path:
        published = os.environ.get("BESTARM_OUTPUT")
        if published and not self.stood_in:
            folder = Path(published)
        else:
            base = QUICK if self.stood_in and self.profile != "smoke" else ROOT / self.output_dir
            if self.changed and base.resolve() == ROOT.resolve():
                base = QUICK  # published figures are replaced by nothing else
            folder = base / "figures" / self.study / self.notebook
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _save_picture(folder: Path, name: str, figure: Figure) -> None:
    """Write a figure as PNG on white, which every page can show, and as SVG on no ground."""
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    (folder / f"{name}.svg").write_text(light_svg(figure), encoding="utf-8")


def _above(figure: Figure) -> list[Text]:
    """Return the title and the setting over a figure, where it has them."""
    return [text for text in figure.texts if text.get_verticalalignment() == "top"]


def _head_anew(figure: Figure, title: str, setting: str) -> None:
    """Write something else into the two texts over a figure, in the room that they have."""
    above = _above(figure)
    if not above:
        return
    width, places = (
        figure.get_size_inches()[0],
        sum(text.get_text().count("\n") + 1 for text in above if text.get_text()),
    )
    words = f"{title}; {setting}" if setting else title
    above[0].set_text("\n".join(textwrap.wrap(words, int(11 * width), max_lines=max(1, places), placeholder=" ...")))
    for text in above[1:]:
        text.set_text("")


def _progress(name: str) -> Callable[[int, int, float], None]:
    def report(done: int, total: int, seconds_left: float) -> None:
        if done == total or done % max(1, total // 10) == 0:
            print(f"{name}: block {done} of {total}, about {seconds_left:.0f} s left", file=sys.stderr, flush=True)

    return report


def markdown_table(table: pd.DataFrame) -> str:
    """Return a frame as a Markdown table; numbers are expected to be formatted already."""
    header = [str(c) for c in table.columns]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += [
        "| " + " | ".join(str(v).replace("\n", " ").replace("|", "\\|") for v in row) + " |"
        for row in table.itertuples(index=False)
    ]
    return "\n".join(lines) + "\n"
