"""A study's ledger, ``claims.yaml``, read once into records; what is misspelt or missing is refused in one line.

Refused as well are names that the study does not have: experiments, series, settings of cells, and columns.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from bestarm_lab.claims import kinds
from bestarm_lab.claims.cells import Quantity, Value, Values
from bestarm_lab.claims.fingerprint import read_fingerprint
from bestarm_lab.claims.kinds import QUANTIFIERS, ClaimTest, Runs
from bestarm_lab.claims.layout import Best, Grids, Part, Side, Span, on_grids, read_parts, read_side, series_of
from bestarm_lab.claims.records import LEVELS, OURS, Check, Claim, Exact
from bestarm_lab.claims.statistics import Relation
from bestarm_lab.claims.written import KIND_WORDS, WORDS, by_convention, expanded, whole_entry
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.quoted import UNKNOWN
from bestarm_lab.yaml_keys import YamlKeys, choice, of_type, refuse_twice, refuse_unknown

Experiments = Mapping[str, Experiment | Computation]
_EVERY = ("convention", "series", "data", "replication", "round", "pulls", "stopped", "budget")  # columns of a search


def _list_of(kind: type) -> Callable[[str, Any], Any]:
    return lambda place, raw: [of_type(place, one, kind) for one in of_type(place, raw, list)]


def _series(place: str, raw: Any) -> Any:
    return _list_of(str)(place, raw) if isinstance(raw, list) else of_type(place, raw, str)


# sorts of settings that checks and values ask for; words with bars between them are a choice of these words
SORTS: dict[str, Callable[[str, Any], Any] | type | None] = {
    "number": float,
    "numbers": _list_of(float),
    "text": str,
    "flag": bool,
    "series": _series,
    "side": read_side,
    "column": str,
    "any": None,
}


def read_ledger(
    ledger: Mapping[str, Any],
    checks: Mapping[str, Check],
    values: Values,
    file: str = "claims.yaml",
    groups: Mapping[str, Any] | None = None,
    notebook: str = "",
    grids: Grids | None = None,
) -> tuple[dict[str, Claim], dict[str, Any]]:
    """Return the claims of a ledger, and the groups that it knows.

    A ledger has ``groups``, names for what tests repeat, and ``claims``. That of a section has the study's ``groups``
    beside its own, and its ``notebook``; in that of a study each claim names its own. ``file`` is its name in messages,
    ``grids`` has of each experiment the settings that vary, and their values. Raises ValueError for an unknown, missing
    or doubled key, with the file, the claim and the nearest right word.
    """
    given = YamlKeys(file, ledger)
    own, entries = given.take("groups", dict, {}), given.take("claims", dict, {})
    given.done()
    refuse_twice(file, "group", own, groups or {})
    known = {**(groups or {}), **own}
    of_section = {"notebook": notebook} if notebook else {}
    whole = {i: {**of_section, **whole_entry(i, entries, file)} for i in entries}
    return {i: read_claim(i, entry, known, checks, values, file, grids) for i, entry in whole.items()}, known


def check_parents(claims: Mapping[str, Claim], file: str = "claims.yaml") -> None:
    """Refuse a statement of the project's own that names no claim as the one that it belongs to."""
    for claim in claims.values():
        if claim.of:
            refuse_unknown(f"{file}, {claim.id}, of", "claim", [claim.of], claims)


def read_claim(
    identity: str,
    entry: Mapping[str, Any],
    groups: Mapping[str, Any],
    checks: Mapping[str, Check],
    values: Values,
    file: str = "claims.yaml",
    grids: Grids | None = None,
) -> Claim:
    """Return one claim of a ledger, see `read_ledger`."""
    given = YamlKeys(f"{file}, {identity}", entry)
    text, where, notebook = (given.take(key, str) for key in ("claim", "where", "notebook"))
    test = on_grids(expanded(given.take("test", dict), groups), grids or {}, f"{given.place}, test")
    caveat, of = given.take("caveat", str, ""), given.take("of", str, "")
    ours = given.take("ours", choice(*OURS), "")
    anchor, because = _anchor(given, ours), given.take("because", _because, {})
    given.done()
    written = by_convention(test, f"{given.place}, test")
    keys = {convention: YamlKeys(*whole, also=WORDS) for convention, whole in written.items()}
    tests = {convention: read_test(own, checks, values, anchor["quantifier"]) for convention, own in keys.items()}
    return Claim(identity, text, where, notebook, tests, caveat, ours, of, because=because, **anchor)


def _because(place: str, raw: Any) -> dict[str, Any]:
    """Return why a claim is not confirmed, an entry of `bestarm_lab.quoted` with its table; or that nobody knows."""
    if raw == "unknown":
        return {"said": UNKNOWN}
    given = YamlKeys(place, of_type(place, raw, dict))
    return dict(raw) | {key: given.take(key, str) for key in ("said", "from")}


def _anchor(given: YamlKeys, ours: str) -> dict[str, str]:
    if ours:
        return {"quantifier": given.take("quantifier", choice(*QUANTIFIERS), "all")}
    paper = YamlKeys(f"{given.place}, paper", given.take("paper", dict))
    found = {"sentence": paper.take("sentence", read_fingerprint), "level": paper.take("level", choice(*LEVELS))}
    found["quantifier"] = paper.take("quantifier", choice(*QUANTIFIERS))
    if found["level"] == "headline":
        found["short"] = paper.take("short", str)
    paper.done()
    return found


def read_test(
    given: YamlKeys, checks: Mapping[str, Check], values: Values, quantifier: str = "all"
) -> ClaimTest | Exact:
    """Return a test of one of the eight kinds, or the call of an exact check."""
    if "check" not in given:
        given.refuse_slip("check")  # whose settings may have the name of a kind
    kind = "check" if "check" in given else given.one_of("check", *KINDS)
    name = given.take(kind, str)
    if kind == "check":
        refuse_unknown(given.place, "check", [name], checks)
        check = checks[name]
        of_rows = {"experiments": given.take("experiments", _list_of(str))} if check.reads_rows else {}
        settings = of_rows | _settings(given, check)
        given.done()
        return Exact(name, check, settings)
    if series_are := given.take("series_are", str, ""):
        refuse_unknown(f"{given.place}, series_are", "value", [series_are], [n for n, v in values.items() if v.of])
    settings = _settings(given, values[name]) if name in values else {}
    need = given.take("need", int, None)
    common = {"quantity": Quantity(name, settings, series_are, values), "need": need, "quantifier": quantifier}
    return KINDS[kind](given, common)


def _settings(given: YamlKeys, asked: Check | Value) -> dict[str, Any]:
    found = {}
    for key, sort in {**asked.needs, **asked.may}.items():
        if key in asked.needs or key in given:
            found[key] = given.take(key, choice(*sort.split("|")) if "|" in sort else SORTS[sort])
    return found


def _relation(given: YamlKeys, *words: str) -> Relation:
    word = given.one_of(*words)
    if word != "within":
        bound = given.take(word, float)
        return Relation(word, high=bound) if word == "below" else Relation(word, low=bound)  # type: ignore[arg-type]
    return given.take(word, _within)


def _within(place: str, raw: Any) -> Relation:
    """Return ``within``: a pair, or one number for a distance from zero."""
    pair = isinstance(raw, list) and len(raw) == 2
    low, high = _list_of(float)(place, raw) if pair else (-of_type(place, raw, float), raw)
    return Relation("within", low, high)


def _runs(place: str, raw: Any) -> Runs:
    given = YamlKeys(place, raw)
    word = given.one_of("at_most", "above")
    bound = given.take(word, float)
    given.done()
    return Runs(bound, word == "at_most")


def _cells_share(given: YamlKeys) -> dict[str, Any]:
    word = given.one_of("in_cells", "in_more_than")
    return {"share": given.take(word, float), "exceeded": word == "in_more_than"}


def _two_sided(given: YamlKeys, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    for part in parts:
        if any(right is None for _, right in part.pairs) or not (part.pairs or part.against):
            raise ValueError(f"{given.place}: this test compares two sides; name right, pairs or against.")
    return parts


def _effect(given: YamlKeys, common: dict[str, Any], kind: type[kinds.Difference | kinds.Ratio]) -> ClaimTest:
    relation = _relation(given, "above", "below", "within")
    better = given.take("better", choice("above", "below"), "") if relation.word == "within" else ""
    parts = read_parts(given)
    if kind is kinds.Ratio and common["quantity"].value.statistic is not None:
        _two_sided(given, parts)
    return kind(relation=relation, better=better, **common, parts=parts)


def _share(given: YamlKeys, common: dict[str, Any]) -> ClaimTest:
    printed: dict[str, Any] = {}
    if "printed" in given:
        n, raw = given.take("printed_n", int, None), given.take("printed", dict)
        for experiment, lines in raw.items():
            place = f"{given.place}, printed, {experiment}"
            pairs = {series: v if isinstance(v, list) else [v, n] for series, v in of_type(place, lines, dict).items()}
            if any(None in pair for pair in pairs.values()):
                given.refuse_slip("printed_n")
                raise ValueError(f"{place}: a share without its number of runs; write [share, runs], or printed_n.")
            printed[experiment] = {series: (float(share), int(runs)) for series, (share, runs) in pairs.items()}
    relation = _relation(given, "within") if printed else _relation(given, "above", "below")
    runs = given.take("runs", _runs, None)
    return kinds.Share(relation=relation, runs=runs, printed=printed, **common, parts=read_parts(given))


def _discordant(given: YamlKeys, common: dict[str, Any]) -> ClaimTest:
    relation = _relation(given, "above", "below")
    if relation.bound != 0.0:
        raise ValueError(f"{given.place}: this test is about 0, got {relation.words()}; write {relation.word}: 0.")
    runs = given.take("runs", _runs, None)
    return kinds.Discordant(relation=relation, runs=runs, **common, parts=_two_sided(given, read_parts(given)))


def _mostly(given: YamlKeys, common: dict[str, Any]) -> ClaimTest:
    by = given.take("by", choice("ratio", "difference"), "difference")
    relation, counted = _relation(given, "above", "below", "at_least"), _cells_share(given)
    parts = _two_sided(given, read_parts(given))
    return kinds.Mostly(relation=relation, by_ratio=by == "ratio", **counted, **common, parts=parts)


def _rank(given: YamlKeys, common: dict[str, Any]) -> ClaimTest:
    series, among = given.take("left"), tuple(given.take("among", list))
    refuse_unknown(f"{given.place}, left", "series", [series], among)
    rank, best = given.take("is", int), given.take("best", choice("highest", "lowest"), "highest")
    counted = _cells_share(given)
    parts = read_parts(given, [(series, Best("highest", among))])
    asked = {"series": series, "among": among, "rank": rank, "lowest": best == "lowest"}
    return kinds.Rank(**asked, **counted, **common, parts=parts)


def _slope(given: YamlKeys, common: dict[str, Any]) -> ClaimTest:
    relation = _relation(given, "above", "below", "within")
    if common["quantity"].value.statistic is not None:
        return kinds.Slope(relation=relation, **common, parts=read_parts(given))
    along = given.take("along", str)
    parts = read_parts(given)
    for part in parts:
        for experiment, entry in part.cells:
            refuse_unknown(f"{given.place}, along", "setting", [along], entry)
            if len(entry[along]) < 2:
                raise ValueError(f"{given.place}, cells, {experiment}: a slope needs two values of {along} or more.")
    return kinds.Slope(relation=relation, along=along, **common, parts=parts)


def _spread(given: YamlKeys, common: dict[str, Any]) -> ClaimTest:
    return kinds.Spread(relation=_relation(given, "above", "below"), **common, parts=read_parts(given))


_DIFFERENCE, _RATIO = partial(_effect, kind=kinds.Difference), partial(_effect, kind=kinds.Ratio)
KINDS: dict[str, Callable[[YamlKeys, dict[str, Any]], ClaimTest]] = dict(
    zip(KIND_WORDS, (_DIFFERENCE, _RATIO, _share, _discordant, _mostly, _rank, _slope, _spread), strict=True)
)


def check_names(claims: Mapping[str, Claim], experiments: Experiments, file: str = "claims.yaml") -> None:
    """Refuse claims about what a study does not have, with the file, the claim and the nearest right word.

    Only of searches are series and columns known before there are rows.
    """
    for claim in claims.values():
        for test in claim.tests.values():
            place = f"{file}, {claim.id}, test"
            refuse_unknown(place, "experiment", test.experiments(), experiments)
            if isinstance(test, Exact):
                _check_settings(place, test.check, test.settings, test.experiments(), experiments)
            else:
                _check_test(place, test, experiments)


def columns_of(experiment: Experiment) -> list[str]:
    """Return the columns that rows of a search have."""
    return [*_EVERY, *experiment.vary, *experiment.measured_columns()]


def _series_of(found: Iterable[Experiment | Computation]) -> list[Any] | None:
    """Return the series of some experiments, or None where only their rows tell."""
    series = [experiment.series if isinstance(experiment, Experiment) else None for experiment in found]
    return None if None in series else [name for names in series for name in names or ()]


def _check_test(place: str, test: ClaimTest, experiments: Experiments) -> None:
    adds = test.quantity.value.adds
    known = _series_of(e for e in experiments.values() if isinstance(e, Experiment)) or []
    for part in test.parts:
        for experiment, where in part.each_cell():
            cells = part.places(experiment, where)
            for names, settings in cells.values():
                for name in names:
                    if isinstance(search := experiments[name], Experiment):
                        _check_cell(f"{place}, {name}", test.quantity, search, settings)
            if not test.quantity.series_are:
                there = {key: _series_of(experiments[name] for name in names) for key, (names, _) in cells.items()}
                here = {key: None if series is None else [*series, *adds] for key, series in there.items()}
                for left, right in part.pairs:
                    _check_side(f"{place}, {experiment}", left, here["left"], [*known, *adds])
                    if right is not None:
                        _check_side(f"{place}, {experiment}", right, here.get("against", here["left"]), [*known, *adds])
    if isinstance(test, kinds.Share):
        refuse_unknown(f"{place}, printed", "experiment", test.printed, test.experiments())
        for experiment, printed in test.printed.items():
            if isinstance(search := experiments[experiment], Experiment):
                refuse_unknown(f"{place}, printed, {experiment}", "series", printed, [*search.series, "*"])
    quantity = test.quantity
    _check_settings(place, quantity.value, quantity.settings, test.experiments(), experiments)


def _check_cell(place: str, quantity: Quantity, experiment: Experiment, settings: Mapping[str, Any]) -> None:
    columns = columns_of(experiment)
    refuse_unknown(place, "setting", settings, [*columns, *quantity.values])
    for setting, wanted in settings.items():
        if setting in experiment.vary and not isinstance(wanted, Span):
            refuse_unknown(f"{place}, {setting}", "value", [wanted], experiment.vary[setting])
    if quantity.name not in quantity.values:
        refuse_unknown(place, "column or value", [quantity.name], [*columns, *quantity.values])


def _check_side(place: str, side: Side, here: list[Any] | None, anywhere: list[Any]) -> None:
    """Refuse a series that is not in a cell; of the best of some, one is there and the others are in the study."""
    names = series_of(side)
    if here is not None:
        if not set(names) & set(here):
            refuse_unknown(place, "series", names, here)
        refuse_unknown(place, "series", names, anywhere)


def _check_settings(
    place: str, asked: Check | Value, settings: Mapping[str, Any], named: list[str], experiments: Experiments
) -> None:
    """Refuse series and columns that the settings of a value or check name and nobody has."""
    found, sorts = [experiments[name] for name in named], {**asked.needs, **asked.may}
    series, searches = _series_of(found), [e for e in found if isinstance(e, Experiment)]
    for key, value in settings.items():
        if sorts.get(key) in ("series", "side") and found and series is not None:
            refuse_unknown(f"{place}, {key}", "series", value if isinstance(value, list) else series_of(value), series)
        for search in searches if sorts.get(key) == "column" else []:
            refuse_unknown(f"{place}, {key}", "column", [value], columns_of(search))
