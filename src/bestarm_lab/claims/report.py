"""One claim decided anew: every comparison that its verdict rests on, and the rows behind each."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd

from bestarm_lab.claims.cells import Rows, Value
from bestarm_lab.claims.evaluation import adjusted, decide, with_verdict
from bestarm_lab.claims.kinds import ClaimTest, OfCells
from bestarm_lab.claims.layout import Part, Span, series_of
from bestarm_lab.claims.records import Claim, Exact
from bestarm_lab.claims.statistics import Comparison
from bestarm_lab.claims.verdicts import CONVENTIONS, average_text, effect_text, states, verdict_text
from bestarm_lab.paths import ROOT
from bestarm_lab.quoted import reason
from bestarm_lab.results import read_verdicts, rows_file, verdict_rows
from bestarm_lab.study import Study, load_study
from bestarm_lab.study_packages import find_claim


def explain(identity: str) -> str:
    """Return a claim in words, decided anew on the committed rows, for each convention that it has.

    Other claims enter by their committed p-values, as p is adjusted over all claims of a paper.
    """
    name, identity = find_claim(identity)
    whole = load_study(name)
    claim = whole.claims[identity]
    needed = {e for test in claim.tests.values() for e in test.experiments()}
    study = replace(whole, experiments={e: whole.experiments[e] for e in whole.experiments if e in needed})
    rows, larger = verdict_rows(study)
    lines = [f"{claim.id}: {claim.text}", f"{claim.where}; notebooks/{name}/{claim.notebook}.ipynb"]
    if claim.ours:
        lines.append(f"A {claim.ours} of this project" + (f", of {claim.of}" if claim.of else ""))
    if claim.caveat:
        lines.append(f"Caveat: {' '.join(claim.caveat.split())}")
    if claim.because:
        lines.append(f"Why: {reason(name, claim.notebook, claim.because)}")
    for convention, words in CONVENTIONS.items():
        line = decide(study, claim, convention, rows, larger)
        if line is not None:
            there = larger if line["scale"] == "paper" else rows
            files = {e: _file(name, e, rows, larger if line["scale"] == "paper" else {}) for e in needed}
            mine = {e: frame for e, frame in there.items() if e in needed}
            lines += ["", f"By the {words} ({convention})" + (f", {line['scale']} scale" if line["scale"] else "")]
            lines += [f"  {text}" if text else "" for text in _decision(study, claim, line, mine, files)]
    return "\n".join(lines)


def _file(study: str, experiment: str, rows: Rows, larger: Rows) -> str:
    """Return which file of rows decides, as a path from the repository's root."""
    at_scale = experiment in larger and not (experiment in rows and larger[experiment].equals(rows[experiment]))
    return rows_file(study, experiment, "paper" if at_scale else "laptop").relative_to(ROOT).as_posix()


def _decision(study: Study, claim: Claim, line: dict[str, Any], rows: Rows, files: Mapping[str, str]) -> Iterator[str]:
    """Yield what decides a claim under one convention."""
    test = claim.tests[line["convention"]]
    yield f"Test: {line['test']}"
    if isinstance(test, Exact):
        settings = {key: value for key, value in test.settings.items() if key != "experiments"}
        yield f"Check: {test.name}" + (f", with {_listed(settings)}" if settings else "")
        yield from (f"Rows: {files[e]}" for e in test.experiments())
    else:
        if "found" in line:
            yield ""
            yield from _comparisons(test, line)
        yield ""
        yield "Rows:"
        yield from (f"  {text}" for text in queries(test, line["convention"], rows, files))
    yield ""
    yield from _verdict(study, line)


def _comparisons(test: ClaimTest, line: dict[str, Any]) -> Iterator[str]:
    """Yield every comparison with its estimate, interval, p-values and state; of counted cells each cell as well."""
    found: list[Comparison] = line["found"]
    yield "Comparisons (estimate [95% interval], runs, one-sided p of the claim and of its opposite):"
    for comparison, state in zip(found, states(found), strict=True):
        numbers = f"{comparison.effect:.3g} [{comparison.low:.3g}, {comparison.high:.3g}]"
        ps = f"n = {comparison.n}, p = {comparison.p:.3g}, {comparison.p_opposite:.3g}"
        yield f"  {state:<7} {numbers:<29} {ps:<36} {comparison.name}"
    if isinstance(test, OfCells):
        yield test.counted(found).name.capitalize()
    if line["decided_by"]:
        yield line["decided_by"].lstrip("; ").capitalize()


def _verdict(study: Study, line: dict[str, Any]) -> Iterator[str]:
    """Yield the verdict, with p adjusted over the committed p-values of the other claims."""
    table = read_verdicts(study.name)
    whole = pd.DataFrame([line])
    if table is not None:
        others = table[(table["id"] != line["id"]) | (table["convention"] != line["convention"])]
        whole = pd.concat([others.astype(object), whole.astype(object)], ignore_index=True)
        whole[["ours", "level"]] = whole[["ours", "level"]].fillna("")
    final = dict(with_verdict(adjusted(whole).iloc[-1]))
    yield f"Verdict: {verdict_text(final)}"
    if "p" in line and pd.notna(line["p"]):
        over = "this project's statements" if line["ours"] else f"the paper's claims of level {line['level']}"
        yield (
            f"  p = {line['p']:.3g} of the claim, {line['p_opposite']:.3g} of its opposite, one-sided; "
            f"two-sided and adjusted over {over} {final['p_adjusted']:.3g}"
        )
    if effect := effect_text(final):
        yield f"  {effect}"
    if pd.notna(final.get("effect")):
        yield f"  decided by {final['decided_by']}"
    if isinstance(final.get("on_average"), str):
        yield (
            f"Beside it, another statement: {average_text(final)}; p = {final['average_p']:.3g} of the claim, "
            f"{final['average_p_opposite']:.3g} of its opposite, adjusted {final['average_p_adjusted']:.3g}"
        )
    before = None if table is None else table[(table["id"] == line["id"]) & (table["convention"] == line["convention"])]
    if before is None or before.empty:
        yield f"  No verdict is committed; make it by: bestarm rows {study.name}"
    elif before["verdict"].iloc[0] == final["verdict"]:
        yield f"  As committed in results/{study.name}/verdicts.csv."
    else:
        yield f"  Committed is {before['verdict'].iloc[0]!r}; bring it up to date by: bestarm rows {study.name}"


def queries(test: ClaimTest, convention: str, rows: Rows, files: Mapping[str, str]) -> list[str]:
    """Return the file, the columns and the filter behind each group of cells, as pandas expressions to be pasted.

    ``rows`` are those of the test's experiments, ``files`` says where these lie.
    """
    value, found = test.quantity.value, []
    for part in test.parts:
        for experiment, where in _grouped(part):
            for names, settings in part.places(experiment, where).values():
                found += [_query(test, part, rows[e], files[e], convention, settings) for e in names if e in rows]
    if value.of is not None:
        given = f" with {_listed(test.quantity.settings)}" if test.quantity.settings else ""
        found.append(f"# {test.quantity.name}: {value.words}, by {_function(value)}(cell, settings){given}")
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
    test: ClaimTest, part: Part, rows: pd.DataFrame, file: str, convention: str, settings: Mapping[str, Any]
) -> str:
    quantity = test.quantity
    where = {"convention": convention} if "convention" in rows else {}
    where |= {setting: wanted for setting, wanted in settings.items() if setting in rows}
    filters = [_filter(setting, wanted) for setting, wanted in where.items()]
    series = [name for pair in part.pairs for side in pair for name in series_of(side)]
    if series and quantity.value.of is None and not quantity.series_are:
        filters.append(f"series in {_text(list(dict.fromkeys(series)))}")
    columns = [*where, "series", "replication", quantity.name]
    wanted = "" if quantity.value.of else f", columns={_text(list(dict.fromkeys(columns)))}"
    text = f"pd.read_parquet({_text(file)}{wanted})" + (f".query({' and '.join(filters)!r})" if filters else "")
    notes = [f"{_filter(s, v)} ({quantity.values[s].words})" for s, v in settings.items() if s not in rows]
    if quantity.series_are:
        notes.append(f"series are told apart by {quantity.values[quantity.series_are].words}")
    return text + (f"  # and {' and '.join(notes)}" if notes else "")


def _filter(setting: str, wanted: Any) -> str:
    name = setting if setting.isidentifier() else f"`{setting}`"
    if isinstance(wanted, Span):
        return f"{wanted.low} <= {name} <= {wanted.high}"
    return f"{name} {'in' if isinstance(wanted, list) else '=='} {_text(wanted)}"


def _function(value: Value) -> str:
    """Return the function of a value by its name."""
    function = getattr(value.of, "func", value.of)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', value.words)}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings.items())
