"""The committed rows of a study: made, kept and read in one place.

Rows of the laptop profile lie in ``results/<study>/<experiment>.parquet``, those at the paper's own scale beside them
in ``results/<study>/paper/``. ``verdicts.csv`` has the verdicts on all claims, ``comparisons.csv`` the comparisons
behind them, ``robustness.csv`` what they become with other margins and under choices that the paper leaves open.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from bestarm.search.atomic_files import write_atomically
from bestarm_lab.claims.evaluation import COLUMNS, WITHOUT_DATA, adjust_p_values, comparison_table, verdict_lines
from bestarm_lab.claims.robustness import COLUMNS as ROBUSTNESS
from bestarm_lab.claims.robustness import dependences, experiments, other_margins, under_choices
from bestarm_lab.experiments.keys import Part
from bestarm_lab.experiments.run import make_rows, n_workers, stored_whole
from bestarm_lab.experiments.scale import Profile
from bestarm_lab.experiments.store import read_made_by, read_rows, write_rows
from bestarm_lab.lineage import add_lines, made_by, processor_name, read_lineage, record_processor, renew, steps
from bestarm_lab.paths import DATA, QUICK, RESULTS, STORE, rows_file
from bestarm_lab.study import Study, load_study, open_choices, project_seed

COSTS = DATA / "core_seconds.csv"


def stored_rows(study: str, name: str, profile: Profile) -> pd.DataFrame | None:
    """Return what an experiment's file of rows holds, None if absent or damaged; readers take `committed_rows`."""
    return read_rows(rows_file(study, name, profile), f"{study}/{name}@{profile}")


def committed_rows(study: str, name: str, profile: Profile) -> pd.DataFrame | None:
    """Return the committed rows of an experiment, `readable`, or None if there are none or they are damaged."""
    rows = stored_rows(study, name, profile)
    return None if rows is None else readable(rows)


def readable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows without the rank of an arm that nobody recommended: before the first pull it is NaN.

    The files hold one, that of the first arm. To write NaN there would make all rows stale whose numbers are right.
    """
    return rows.assign(rank=rows["rank"].where(rows["pulls"] > 0)) if {"rank", "pulls"} <= set(rows) else rows


def current_rows(study: str, name: str, profile: Profile) -> pd.DataFrame | None:
    """Return the committed rows of an experiment if its present specification and code would make the same ones.

    Where nobody has the data, rows that were made on them are returned as they are: a key names the data, so that there
    is none to compare theirs with, and they cannot be found to be stale here.
    """
    rows = committed_rows(study, name, profile)
    experiment = load_study(study).experiment(name)
    if rows is None or experiment.measured:
        return rows
    if (rows["data"] == "real").any() and not experiment.has_data():
        return rows
    return rows if stored_whole(experiment.on_data(), profile, project_seed(), rows) else None


def published(study: str, name: str) -> tuple[Profile, pd.DataFrame | None]:
    """Return the rows that figures and verdicts show, and their scale: the paper's own where there are such rows.

    Rows of the laptop profile are at the paper's own scale if that profile cuts nothing of the experiment.
    """
    if (rows := _rows_at_papers_scale(study, name)) is not None:
        return "paper", rows
    return "laptop", current_rows(study, name, "laptop")


def _rows_at_papers_scale(study: str, name: str) -> pd.DataFrame | None:
    if (file := rows_file(study, name, "paper")).is_file():
        if (rows := current_rows(study, name, "paper")) is not None:
            return rows
        if stored_rows(study, name, "paper") is None:
            remedy = f"put it back (git checkout), or: bestarm rows {study} --profile paper --experiment {name}"
            raise ValueError(f"{file} is damaged, and fewer runs do not take the place of its rows; {remedy}.")
    whole = load_study(study).experiment(name).same_scale("laptop", "paper")
    return current_rows(study, name, "laptop") if whole else None


def rows_of(
    study: str,
    name: str,
    profile: Profile,
    *,
    progress: Callable[[int, int, float], None] | None = None,
    spent: Callable[[float], None] | None = None,
    measure: bool = False,
) -> pd.DataFrame:
    """Return the rows of an experiment, computing what is neither committed nor stored.

    With ``$BESTARM_FRESH`` set, committed rows are ignored, except measured times, which are kept until ``measure``
    asks for new ones. Smoke runs ignore them always.
    """
    experiment = load_study(study).experiment(name).on_data()
    committed = None if profile == "smoke" else stored_rows(study, name, profile)
    store = QUICK / "store" if profile == "smoke" else Path(os.environ.get("BESTARM_STORE", STORE))
    if experiment.measured:
        if committed is not None and not measure:
            return committed
        committed, store = None, QUICK / "measured"
        shutil.rmtree(store, ignore_errors=True)
    if os.environ.get("BESTARM_FRESH"):
        committed = None
    return make_rows(
        experiment,
        profile,
        seed=project_seed(),
        store=store,
        committed=committed,
        workers=1 if profile == "smoke" else n_workers(),
        scheduler=None if profile == "smoke" else os.environ.get("BESTARM_SCHEDULER"),
        progress=progress,
        spent=spent,
    )


def make_results(study: str, profile: Profile, only: Sequence[str] = (), *, measure: bool = False) -> None:
    """Make the rows of a study's experiments, or of some, and the verdicts on its claims; commit them to ``results/``.

    Files of experiments that the study no longer has are deleted. Rows on stand-in data replace no committed rows. Of
    the whole laptop profile claims are decided under the study's open choices as well. ``only`` names some experiments;
    ``measure`` measures wall times again, and writes processor seconds to ``data/core_seconds.csv``.
    """
    loaded = load_study(study)
    names = [n for n in loaded.experiments if n in only or not only]
    for name in only:
        loaded.experiment(name)  # refuses unknown names before anything runs
    skipped, began = [], time.monotonic()
    for number, name in enumerate(names, start=1):
        experiment = loaded.experiment(name)
        if not experiment.has_data():  # a stand-in would be simulated for nothing
            skipped.append(name)
            continue
        say = _progress(f"{study} rows, {number} of {len(names)}: {name}", began)
        taken: list[float] = []
        rows = rows_of(study, name, profile, progress=say, spent=taken.append, measure=measure)
        if (rows["data"] == "stand-in").any():
            skipped.append(name)
            continue
        if measure and taken:
            record_cost(study, name, profile, taken[0])
        anew = measure if experiment.measured else bool(os.environ.get("BESTARM_FRESH"))
        _commit(study, name, profile, experiment.on_data().parts(profile, project_seed()), rows, anew=anew)
    if profile == "laptop" and not only:
        for file in (RESULTS / study).glob("*.parquet"):
            if file.stem not in loaded.experiments:
                file.unlink()
    if skipped:
        say_skipped(study, skipped)
    write_verdicts(loaded)
    if profile == "laptop" and not only:
        write_choices(loaded)


def _commit(study: str, name: str, profile: Profile, parts: Sequence[Part], rows: pd.DataFrame, *, anew: bool) -> None:
    """Write rows to ``results/``, who made them, and whether those of the laptop are as they were before."""
    file, before = rows_file(study, name, profile), stored_rows(study, name, profile)
    known = read_made_by(file)
    if before is not None and profile == "laptop":
        add_lines(lineage_file(study), steps(name, before, known, rows, parts, processor_name()))
    if before is None or not before.equals(rows) or known != made_by(parts):  # else the file keeps its bytes
        write_rows(rows, file, f"{study}/{name}@{profile}", made_by(parts))
    record_processor(study, name, profile, rows, None if anew else before, processor_name())


def lineage_file(study: str) -> Path:
    """Return where the lineage of a study's rows is committed, see `bestarm_lab.lineage`."""
    return RESULTS / study / "lineage.csv"


def renew_results(study: str, only: Sequence[str] = ()) -> None:
    """Give rows at the paper's own scale the present key, where equal laptop rows show that they would be the same.

    It says what it renewed, and of what it did not why; the laptop rows must have been made before.
    """
    loaded, lines = load_study(study), []
    for name in only:
        loaded.experiment(name)
    for name, experiment in loaded.experiments.items():
        rows = stored_rows(study, name, "paper") if name in only or not only else None
        if rows is None or not experiment.has_data():
            continue
        file, parts = rows_file(study, name, "paper"), experiment.on_data().parts("paper", project_seed())
        known = read_made_by(file)
        renewed, added, refused = renew(name, rows, known, parts, read_lineage(lineage_file(study)), processor_name())
        for line in refused:
            print(f"NOT RENEWED {line}.", file=sys.stderr)
        if added:
            kept = {key: known[key] for key in renewed["key"].unique() if key in known}
            write_rows(renewed, file, f"{study}/{name}@paper", kept | made_by(parts))
            print(f"renewed {name}: {len(added)} series, {sum(line['rows'] for line in added)} rows", file=sys.stderr)
            lines += added
    add_lines(lineage_file(study), lines)
    write_verdicts(loaded)


def say_skipped(study: str, names: Iterable[str]) -> None:
    """Say on a line of its own which experiments or claims stay as they are, since nobody here has their data."""
    if sys.stderr.isatty():
        print(file=sys.stderr)  # progress may stand in the line
    print(
        f"SKIPPED {', '.join(names)} of {study}: nobody here has the data. What is committed stays; "
        "data/registry.yaml says where the files come from.",
        file=sys.stderr,
        flush=True,
    )


def write_verdicts(study: Study) -> pd.DataFrame:
    """Decide a study's claims on its committed rows and write all; exact ones without data keep their verdict."""
    rows, larger = verdict_rows(study)
    lines = verdict_lines(study, rows, larger)
    verdicts = _with_committed(study.name, adjust_p_values(lines))
    known = read_robustness(study.name)
    kept = known[(known["kind"] != "margin") & known["claim"].isin(study.claims)]
    _write_table(study.name, "verdicts", _with_dependences(study.name, verdicts, kept))
    _write_table(study.name, "comparisons", comparison_table(lines))
    _write_table(study.name, "robustness", pd.concat([other_margins(lines, verdicts), kept]), digits=4)
    return verdicts


def write_choices(study: Study) -> None:
    """Decide a study's claims on its `published` rows under its open choices; write them below other margins."""
    choices, known = open_choices(study.name), read_robustness(study.name)
    names = study.experiments if any(not choice.substitutions for choice in choices) else experiments(choices)
    rows = {name: frame for name in names if (frame := published(study.name, name)[1]) is not None}
    found = under_choices(study.claims, choices, rows)
    _write_table(study.name, "robustness", pd.concat([known[known["kind"] == "margin"], found]), digits=4)
    if (verdicts := read_verdicts(study.name)) is not None:
        _write_table(study.name, "verdicts", _with_dependences(study.name, verdicts, found))


def _with_dependences(study: str, verdicts: pd.DataFrame, robustness: pd.DataFrame) -> pd.DataFrame:
    found = dependences(robustness, open_choices(study))
    named = [found.get(key, "") for key in zip(verdicts["id"], verdicts["convention"], strict=True)]
    return verdicts.assign(depends_on=named)


def _write_table(study: str, name: str, table: pd.DataFrame, digits: int = 6) -> None:
    file = RESULTS / study / f"{name}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, table.to_csv(index=False, float_format=f"%.{digits}g", lineterminator="\n").encode())


def _with_committed(study: str, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts with the committed ones of the exact claims that ask the same and lack their data here."""
    known, asked = read_verdicts(study), ["id", "convention", "test"]
    if known is None or not (absent := verdicts["decided_by"].str.startswith(WITHOUT_DATA, na=False)).any():
        return verdicts
    verdicts, known = verdicts.set_index(asked), known.set_index(asked)
    kept = verdicts.index[absent.to_numpy()].intersection(known.index)
    found = ["verdict", "direction", "decided_by", "checked"]
    verdicts.loc[kept, found] = known.loc[kept, found]
    if len(kept):
        say_skipped(study, kept.get_level_values("id"))
    return verdicts.reset_index()[COLUMNS]


def verdict_rows(study: Study) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Return the committed rows of the laptop profile, and those at the paper's own scale, see `published`."""
    rows = {name: committed_rows(study.name, name, "laptop") for name in study.experiments}
    larger = {name: _rows_at_papers_scale(study.name, name) for name in study.experiments}
    return ({n: r for n, r in rows.items() if r is not None}, {n: r for n, r in larger.items() if r is not None})


def _read_table(study: str, name: str) -> pd.DataFrame | None:
    file = RESULTS / study / f"{name}.csv"
    return pd.read_csv(file) if file.is_file() else None


def read_verdicts(study: str) -> pd.DataFrame | None:
    """Return the committed verdicts on a study's claims, or None if there are none."""
    return _read_table(study, "verdicts")


def read_comparisons(study: str) -> pd.DataFrame | None:
    """Return every comparison behind the committed verdicts of a study, or None if there are none."""
    return _read_table(study, "comparisons")


def read_robustness(study: str) -> pd.DataFrame:
    """Return what a study's committed verdicts become with other margins and under open choices."""
    found = _read_table(study, "robustness")
    return pd.DataFrame(columns=ROBUSTNESS) if found is None else found


@cache
def costs() -> Mapping[tuple[str, str, str], float]:
    """Return the processor seconds of experiments as they were last measured, by (study, experiment, profile)."""
    if not COSTS.is_file():
        return {}
    return {(s, e, p): float(seconds) for s, e, p, seconds in pd.read_csv(COSTS).itertuples(index=False)}


def record_cost(study: str, name: str, profile: Profile, seconds: float) -> None:
    """Write the processor seconds that an experiment took to ``data/core_seconds.csv``."""
    known = {**costs.__wrapped__(), (study, name, profile): round(seconds, 1)}
    table = pd.Series(known, name="core_seconds").sort_index()
    table.to_csv(COSTS, index_label=["study", "experiment", "profile"], lineterminator="\n")


def _progress(what: str, began: float) -> Callable[[int, int, float], None]:
    def report(done: int, total: int, seconds_left: float) -> None:
        text = f"[{time.monotonic() - began:5.0f} s] {what}, block {done} of {total}, about {seconds_left:.0f} s left"
        end = "\r" if sys.stderr.isatty() and done < total else "\n"
        if end == "\r" or done == total or done % max(1, total // 10) == 0:
            print(f"{text:<110}" if sys.stderr.isatty() else text, end=end, file=sys.stderr, flush=True)

    return report
