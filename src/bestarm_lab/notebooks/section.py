"""Sections of notebooks: the rows of their experiments, and a place for figures, tables and verdicts."""

import json
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Image, Markdown, display
from matplotlib.figure import Figure

from bestarm_lab.claims.verdicts import markdown, verdict_table
from bestarm_lab.datasets.registry import DataUnavailable, checksums
from bestarm_lab.experiments.changes import with_parameters
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.keys import data_files
from bestarm_lab.experiments.run import make_rows, n_workers
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.figures.figures import headings, runs_text
from bestarm_lab.figures.pictures import light_svg, narrow
from bestarm_lab.figures.styles import use_style
from bestarm_lab.notebooks.parameters import CHANGED, changed_parameters, declared_parameters, published_parameters
from bestarm_lab.paths import QUICK, ROOT
from bestarm_lab.results import committed_rows, costs, current_rows, published, read_verdicts, readable, rows_of
from bestarm_lab.study import load_study, load_styles, project_seed
from bestarm_lab.study_packages import find_claim

_Data = TypeVar("_Data")
PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib", "seaborn", "statsmodels")  # whose versions are kept


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
            self.changed = changed_parameters(self.study, self.notebook, declared_parameters(self.study, self.notebook))
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
        if (found := experiment.on_data()) is not experiment:
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
        scale, rows = profile or self.profile, None
        largest = profile is None and scale == "laptop"
        if largest:
            scale, rows = self._published(name)
        if self.experiment(name) is not load_study(self.study).experiment(name):
            return self._simulated(name, scale, rows)
        if scale != "smoke" and not largest:
            rows = current_rows(self.study, name, scale)
        if rows is None:
            if scale != "smoke":
                seconds = costs().get((self.study, name, scale))
                cost = "an unknown time" if seconds is None else f"about {seconds:.0f} processor seconds"
                print(f"The committed rows of {name} are not those of the present code; simulating them takes {cost}.")
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
        if name not in self.read:
            self.read[name] = published(self.study, name)
        scale, rows = self.read[name]
        return scale, None if rows is None else rows.copy(deep=False)

    def _simulated(self, name: str, scale: Profile, committed: pd.DataFrame | None) -> pd.DataFrame:
        """Return the rows of a changed experiment, at the scale of the published ones where that is not changed."""
        experiment, smoke = self.on_data(name), scale == "smoke"
        if committed is None and not smoke:
            committed = committed_rows(self.study, name, scale)
        rows = make_rows(
            experiment,
            scale,
            seed=project_seed(),
            store=QUICK / "store",
            committed=None if experiment.measured else committed,
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
        if self.changed:
            _head_anew(figure, f"Changed parameters: {self.words()}", runs_text(values["n"]) if "n" in values else "")
        self._save_values(name, values, experiments)
        self._show_picture(name, figure)

    def picture(self, name: str, figure: Figure) -> None:
        """Save and show a diagram as PNG and SVG; with a title, which nothing could test, it is a ValueError."""
        if above := headings(figure):
            raise ValueError(f"the diagram {name!r} has the title {above[0].get_text()!r}; draw it without one.")
        self._show_picture(name, figure)

    def table(self, name: str, table: pd.DataFrame, values: pd.DataFrame, experiments: Sequence[str] = ()) -> None:
        """Save a table as Markdown, its values as CSV and their provenance as JSON; display it."""
        (self._folder() / f"{name}.md").write_text(markdown_table(table), encoding="utf-8")
        self._save_values(name, values, experiments)
        display(Markdown(markdown_table(table)))

    def verdicts(self, *identities: str) -> None:
        """Display the verdicts on this notebook's claims, or on some; with changed parameters why there are none."""
        if set(self.changed or {}) - {"claims"}:
            display(Markdown(f"Changed parameters: {self.words()}. Claims are decided on the published rows alone."))
            return
        if (verdicts := read_verdicts(self.study)) is None:
            raise FileNotFoundError(f"there are no verdicts on {self.study}; make them by: bestarm rows {self.study}")
        names = [find_claim(identity)[1] for identity in identities]  # refuses what is none
        chosen = verdicts["id"].isin(names) if names else verdicts["notebook"] == self.notebook
        display(Markdown(verdict_table(verdicts[chosen])))

    def _save_values(self, name: str, values: pd.DataFrame, experiments: Sequence[str]) -> None:
        folder = self._folder()
        scale = " and ".join(dict.fromkeys(self.scales[e] for e in experiments if e in self.scales)) or self.profile
        if "profile" in values:
            values = values.assign(profile=scale)
        values.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
        rows = {e: self.found[e] for e in experiments if e in self.found}
        files = {file for e in experiments for file in self.other_data.get(e, ())}
        for e, frame in rows.items():
            experiment = self.experiment(e)
            if not isinstance(experiment, Computation):
                files |= set(data_files(experiment.problem, frame["data"].iloc[0]))
            elif (frame["data"] == "real").any():
                files |= set(experiment.data_files)
        provenance = {
            "study": self.study,
            "figure": f"{self.notebook}/{name}",
            "seed": project_seed(),
            "profile": scale,
            "experiments": {e: _made_by(frame) for e, frame in rows.items()},
            "rows": [f"results/{self.study}/{e}.parquet" for e in rows],
            "data_sha256": checksums(*sorted(files)),
            "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        }
        text = json.dumps(provenance, indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")

    def _show_picture(self, name: str, figure: Figure) -> None:
        """Save a figure as PNG on white, which every page can show, and as SVG on no ground; display and close it."""
        folder = self._folder()
        png = folder / f"{name}.png"
        figure.savefig(png, metadata={"Software": None})
        (folder / f"{name}.svg").write_text(light_svg(figure), encoding="utf-8")
        display(Image(filename=png, width=round(figure.dpi * figure.get_size_inches()[0])))  # drawn a third time else
        if (base := os.environ.get("BESTARM_NARROW")) and narrow(figure):  # as wide as a phone; the figure is changed
            file = Path(base) / self.study / self.notebook / f"{name}.svg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(light_svg(figure, letters="none"), encoding="utf-8")
        plt.close(figure)

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


def _made_by(rows: pd.DataFrame) -> dict[str, Any]:
    named = [c for c in ("convention", "series") if c in rows]
    keys: dict[str, list[str]] = {}
    for *cell, key in rows[[*named, "key"]].drop_duplicates().itertuples(index=False):
        keys.setdefault(" · ".join(cell), []).append(key[:12])
    return {
        "keys": {cell: ks[0] if len(ks) == 1 else f"{ks[0]} and {len(ks) - 1} more" for cell, ks in keys.items()},
        "replications": int(rows["replication"].nunique()),
        "data": str(rows["data"].iloc[0]),
    }


def _head_anew(figure: Figure, title: str, setting: str) -> None:
    """Write something else into the two texts over a figure, in the room that they have."""
    if not (above := headings(figure)):
        return
    lines = sum(text.get_text().count("\n") + 1 for text in above if text.get_text())
    words, letters = f"{title}; {setting}" if setting else title, int(11 * figure.get_size_inches()[0])
    above[0].set_text("\n".join(textwrap.wrap(words, letters, max_lines=max(1, lines), placeholder=" ...")))
    for text in above[1:]:
        text.set_text("")


def _progress(name: str) -> Callable[[int, int, float], None]:
    def report(done: int, total: int, seconds_left: float) -> None:
        if done == total or done % max(1, total // 10) == 0:
            print(f"{name}: block {done} of {total}, about {seconds_left:.0f} s left", file=sys.stderr, flush=True)

    return report


def markdown_table(table: pd.DataFrame) -> str:
    """Return a frame as a Markdown table; numbers are expected to be formatted already."""
    return markdown([*map(str, table.columns)], table.itertuples(index=False)) + "\n"
