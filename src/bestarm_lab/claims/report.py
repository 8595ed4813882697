"""One claim with its verdict: every comparison that it rests on, and the rows behind each.

What is committed is shown from the ledger and the tables in ``results/``; only a claim that is decided anew loads its
study, which takes seconds.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd
import pyarrow.parquet

from bestarm_lab.claims.cells import Quantity, Value
from bestarm_lab.claims.layout import LAYOUT, Best, Part, Span, on_grids, read_parts, series_of
from bestarm_lab.claims.verdicts import CONVENTIONS, average_text, effect_text, verdict_text
from bestarm_lab.claims.written import KIND_WORDS, WORDS, by_convention, written_claim
from bestarm_lab.paths import RESULTS, ROOT, rows_file
from bestarm_lab.quoted import UNKNOWN, reason
from bestarm_lab.study_packages import find_claim
from bestarm_lab.yaml_keys import YamlKeys

Columns = Mapping[str, Sequence[str]]  # of the rows of each experiment
Asked = tuple[tuple[Part, ...], Quantity]  # where a test compares, and what


def explain(identity: str, *, anew: bool = False) -> str:
    """Return a claim in words with its verdict as committed, or decided anew on the committed rows, by convention.

    Other claims enter by their committed p-values, as p is adjusted over all claims of a paper.
    """
    name, identity = find_claim(identity)
    claim = written_claim(name, identity)
    lines = [f"{identity}: {claim['claim']}", f"{claim['where']}; notebooks/{name}/{claim['notebook']}.ipynb"]
    if "ours" in claim:
        lines.append(f"A {claim['ours']} of this project" + (f", of {claim['of']}" if "of" in claim else ""))
    if "caveat" in claim:
        lines.append(f"Caveat: {' '.join(claim['caveat'].split())}")
    if because := claim.get("because"):
        lines.append(f"Why: {UNKNOWN if because == 'unknown' else reason(name, claim['notebook'], because)}")
    tables = [RESULTS / name / f"{table}.csv" for table in ("verdicts", "comparisons")]
    if not tables[0].is_file():
        return "\n".join([*lines, "", f"No verdict is committed; make it by: bestarm rows {name}"])
    verdicts, comparisons = map(pd.read_csv, tables)
    committed = verdicts[verdicts["id"] == identity].set_index("convention")
    read: dict[str, Asked] = {}
    if anew:
        read, verdicts, comparisons = _decided_anew(name, identity, verdicts)
    for line in verdicts[verdicts["id"] == identity].to_dict("records"):
        convention = line["convention"]
        scale = f", {line['scale']} scale" if isinstance(line["scale"], str) and line["scale"] else ""
        lines += ["", f"By the {CONVENTIONS[convention]} ({convention}){scale}", f"  Test: {line['test']}"]
        place, test = by_convention(claim["test"], identity)[convention]
        if "check" in test:
            decides = _check(name, test, line)
        else:
            decides = _compared(name, read.get(convention) or _as_written(place, test), line, comparisons)
        lines += [f"  {text}" if text else "" for text in (*decides, "", *_verdict(line))]
        if not anew:
            lines.append(f"  As committed in results/{name}/verdicts.csv; anew by: bestarm verdict {identity} --anew")
        elif convention in committed.index and _state(committed.loc[convention]) == _state(line):
            lines.append(f"  As committed in results/{name}/verdicts.csv.")
        else:
            lines.append(f"  This is not what is committed; bring it up to date by: bestarm rows {name}")
    return "\n".join(lines)


def _state(line: Any) -> list[str]:
    """Return verdict and scale of a line, nothing where there is no scale."""
    return [value if isinstance(value := line[column], str) else "" for column in ("verdict", "scale")]


def _decided_anew(name: str, identity: str, known: pd.DataFrame) -> tuple[dict[str, Asked], pd.DataFrame, pd.DataFrame]:
    """Return what the tests of a claim ask, their verdicts on the committed rows, and the comparisons behind these."""
    from bestarm_lab.claims.evaluation import adjust_p_values, comparison_table, decide
    from bestarm_lab.claims.records import Exact
    from bestarm_lab.results import verdict_rows
    from bestarm_lab.study import load_study

    whole = load_study(name)
    claim = whole.claims[identity]
    needed = {e for test in claim.tests.values() for e in test.experiments()}
    study = replace(whole, experiments={e: whole.experiments[e] for e in whole.experiments if e in needed})
    rows, larger = verdict_rows(study)
    found = [decide(study, claim, convention, rows, larger) for convention in CONVENTIONS]
    mine = pd.DataFrame([line for line in found if line is not None])
    lines = pd.concat([known[known["id"] != identity].astype(object), mine.astype(object)], ignore_index=True)
    lines[["ours", "level"]] = lines[["ours", "level"]].fillna("")
    read = {c: (test.parts, test.quantity) for c, test in claim.tests.items() if not isinstance(test, Exact)}
    return read, adjust_p_values(lines).tail(len(mine)), comparison_table(mine)


def _settings(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a test gives to its check or value: what is no word of the grammar."""
    return {key: value for key, value in test.items() if key not in (*WORDS, *KIND_WORDS, "check", "experiments")}


def _as_written(place: str, test: Mapping[str, Any]) -> Asked:
    """Return what a test asks, without the settings whose whole grid it takes and without the study's values."""
    layout = {key: test[key] for key in (*LAYOUT, "parts") if key in test}
    sides = None
    if "among" in test:
        sides = [(layout.pop("left", None), Best("highest", tuple(test["among"])))]
    kind = next(word for word in KIND_WORDS if word in test)
    quantity = Quantity(test[kind], _settings(test), test.get("series_are", ""))
    return read_parts(YamlKeys(place, on_grids(layout, {}, place)), sides), quantity


def _check(study: str, test: Mapping[str, Any], line: Mapping[Any, Any]) -> Iterator[str]:
    settings = _settings(test)
    yield f"Check: {test['check']}" + (f", with {_listed(settings)}" if settings else "")
    yield from (f"Rows: {rows_behind(study, e, line['scale'] == 'paper')}" for e in test.get("experiments", []))


def _compared(study: str, asked: Asked, line: Mapping[Any, Any], comparisons: pd.DataFrame) -> Iterator[str]:
    mine = comparisons[(comparisons["id"] == line["id"]) & (comparisons["convention"] == line["convention"])]
    if len(mine):
        yield from ("", "Comparisons (estimate [95% interval], runs, one-sided p of the claim and of its opposite):")
    for _, c in mine.iterrows():
        numbers = f"{c['effect']:.3g} [{c['low']:.3g}, {c['high']:.3g}]"
        ps = f"n = {c['n']}, p = {c['p']:.3g}, {c['p_opposite']:.3g}"
        yield f"  {c['state']:<7} {numbers:<29} {ps:<36} {c['comparison']}"
    named = {e for part in asked[0] for e in part.experiments()}
    files = {e: file for e in named if (ROOT / (file := rows_behind(study, e, line["scale"] == "paper"))).is_file()}
    columns = {e: columns_of(file) for e, file in files.items()}
    yield from ("", "Rows:")
    yield from (f"  {text}" for text in queries(*asked, line["convention"], columns, files))


def rows_behind(study: str, experiment: str, at_scale: bool) -> str:
    """Return the file of rows on which an experiment is judged, as a path from the repository's root.

    At the paper's own scale it is the laptop's where that profile cuts nothing.
    """
    paper = rows_file(study, experiment, "paper")
    file = paper if at_scale and paper.is_file() else rows_file(study, experiment, "laptop")
    return file.relative_to(ROOT).as_posix()


def columns_of(file: str) -> list[str]:
    """Return the columns of a file of rows, a path from the repository's root."""
    return list(pyarrow.parquet.read_schema(ROOT / file).names)


def _verdict(line: Mapping[Any, Any]) -> Iterator[str]:
    yield f"Verdict: {verdict_text(line)}"
    if pd.notna(line["p"]):
        ours = isinstance(line["ours"], str) and line["ours"]
        over = "this project's statements" if ours else f"the paper's claims of level {line['level']}"
        yield (
            f"  p = {line['p']:.3g} of the claim, {line['p_opposite']:.3g} of its opposite, one-sided; "
            f"two-sided and adjusted over {over} {line['p_adjusted']:.3g}"
        )
    if effect := effect_text(line):
        yield f"  {effect}"
    if isinstance(line["on_average"], str):
        yield (
            f"Beside it, another statement: {average_text(line)}; p = {line['average_p']:.3g} of the claim, "
            f"{line['average_p_opposite']:.3g} of its opposite, adjusted {line['average_p_adjusted']:.3g}"
        )


def queries(
    parts: Sequence[Part], quantity: Quantity, convention: str, columns: Columns, files: Mapping[str, str]
) -> list[str]:
    """Return file, columns and filter behind each group of cells, as pandas expressions to be pasted."""
    found = []
    for part in parts:
        for experiment, where in _grouped(part):
            for names, settings in part.places(experiment, where).values():
                there = [e for e in names if e in columns]
                found += [_query(quantity, part, columns[e], files[e], convention, settings) for e in there]
    if columns and not any(quantity.name in there for there in columns.values()):
        given = f" with {_listed(quantity.settings)}" if quantity.settings else ""
        value = quantity.values.get(quantity.name)
        by = f", by {_function(value)}(cell, settings)" if value else ""
        found.append(f"# {quantity.name}: {_words(quantity, quantity.name)}{by}{given}")
    return list(dict.fromkeys(found))


def _grouped(part: Part) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield experiment and settings of each group of cells: all plain values of a setting, or one span."""
    for experiment, entry in part.cells:
        plain = {k: [v for v in values if not isinstance(v, Span)] for k, values in entry.items()}
        ways = {k: [plain[k]] * bool(plain[k]) + [v for v in entry[k] if isinstance(v, Span)] for k in entry}
        for chosen in product(*ways.values()):
            where = zip(ways, chosen, strict=True)
            yield experiment, {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in where}


def _query(
    quantity: Quantity, part: Part, columns: Sequence[str], file: str, convention: str, settings: Mapping[str, Any]
) -> str:
    where = {"convention": convention} if "convention" in columns else {}
    where |= {setting: wanted for setting, wanted in settings.items() if setting in columns}
    filters = [_filter(setting, wanted) for setting, wanted in where.items()]
    series = [name for pair in part.pairs for side in pair for name in series_of(side)]
    if series and quantity.name in columns and not quantity.series_are:
        filters.append(f"series in {_text(list(dict.fromkeys(series)))}")
    names = [*where, "series", "replication", quantity.name]
    wanted = f", columns={_text(list(dict.fromkeys(names)))}" if quantity.name in columns else ""
    text = f"pd.read_parquet({_text(file)}{wanted})" + (f".query({' and '.join(filters)!r})" if filters else "")
    notes = [f"{_filter(s, v)} ({_words(quantity, s)})" for s, v in settings.items() if s not in columns]
    if quantity.series_are:
        notes.append(f"series are told apart by {_words(quantity, quantity.series_are)}")
    return text + (f"  # and {' and '.join(notes)}" if notes else "")


def _words(quantity: Quantity, value: str) -> str:
    return quantity.values[value].words if value in quantity.values else "a value of the study, which --anew names"


def _filter(setting: str, wanted: Any) -> str:
    name = setting if setting.isidentifier() else f"`{setting}`"
    if isinstance(wanted, Span):
        return f"{wanted.low} <= {name} <= {wanted.high}"
    return f"{name} {'in' if isinstance(wanted, list) else '=='} {_text(wanted)}"


def _function(value: Value) -> str:
    function = getattr(value.of, "func", value.of)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', value.words)}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings.items())
