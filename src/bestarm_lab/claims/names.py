"""Names in claims against what a study has: experiments, series, settings of cells, and columns."""

from collections.abc import Iterable, Mapping
from typing import Any

from bestarm_lab.claims.cells import Quantity, Value
from bestarm_lab.claims.kinds import ClaimTest, Share
from bestarm_lab.claims.layout import Side, Span, series_of
from bestarm_lab.claims.records import Check, Claim, Exact
from bestarm_lab.experiments.computation import Computation
from bestarm_lab.experiments.experiment import Experiment
from bestarm_lab.yaml_keys import refuse_unknown

Experiments = Mapping[str, Experiment | Computation]
_EVERY = ("convention", "series", "data", "replication", "round", "pulls", "stopped", "budget")  # columns of a search


def check_names(claims: Mapping[str, Claim], experiments: Experiments, file: str = "claims.yaml") -> None:
    """Refuse claims about what a study does not have.

    Only of searches are series and columns known before there are rows. Raises ValueError with the file, the claim and
    the nearest right word.
    """
    for claim in claims.values():
        for test in claim.tests.values():
            place = f"{file}, {claim.id}, test"
            refuse_unknown(place, "experiment", test.experiments(), experiments)
            if isinstance(test, Exact):
                _check_settings(place, test.check, test.settings, test.experiments(), experiments)
            else:
                _check_test(place, test, experiments)
                quantity = test.quantity
                _check_settings(place, quantity.value, quantity.settings, test.experiments(), experiments)


def columns_of(experiment: Experiment | Computation) -> list[str] | None:
    """Return the columns that rows of an experiment have, or None where only its rows tell."""
    if isinstance(experiment, Computation):
        return None
    observed = () if experiment.observe is None else getattr(experiment.observe, "func", experiment.observe).columns
    return [*_EVERY, *experiment.vary, *(metric.__name__ for metric in experiment.metrics), *observed]


def _series_of(found: Iterable[Experiment | Computation]) -> list[Any] | None:
    """Return the series of some experiments, or None where only their rows tell."""
    series: list[Any] = []
    for experiment in found:
        if isinstance(experiment, Computation):
            return None
        series += experiment.series
    return series


def _check_test(place: str, test: ClaimTest, experiments: Experiments) -> None:
    adds = test.quantity.value.adds
    known = _series_of(e for e in experiments.values() if isinstance(e, Experiment)) or []
    for part in test.parts:
        for experiment, where in part.each_cell():
            cells = part.places(experiment, where)
            for names, settings in cells.values():
                for name in names:
                    _check_cell(f"{place}, {name}", test.quantity, experiments[name], settings)
            if not test.quantity.series_are:
                there = {key: _series_of(experiments[name] for name in names) for key, (names, _) in cells.items()}
                here = {key: None if series is None else [*series, *adds] for key, series in there.items()}
                for left, right in part.pairs:
                    _check_side(f"{place}, {experiment}", left, here["left"], [*known, *adds])
                    if right is not None:
                        _check_side(f"{place}, {experiment}", right, here.get("against", here["left"]), [*known, *adds])
    if isinstance(test, Share):
        refuse_unknown(f"{place}, printed", "experiment", test.printed, test.experiments())
        for experiment, printed in test.printed.items():
            if isinstance(search := experiments[experiment], Experiment):
                refuse_unknown(f"{place}, printed, {experiment}", "series", printed, [*search.series, "*"])


def _check_cell(
    place: str, quantity: Quantity, experiment: Experiment | Computation, settings: Mapping[str, Any]
) -> None:
    columns = columns_of(experiment)
    if columns is None or isinstance(experiment, Computation):
        return
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
    """Refuse series, columns and experiments that the settings of a value or check name and nobody has."""
    found = [experiments[name] for name in named]
    for key, sort in {**asked.needs, **asked.may}.items():
        if key not in settings:
            continue
        inside, value = f"{place}, {key}", settings[key]
        if sort == "experiment":
            refuse_unknown(inside, "experiment", [value], experiments)
        elif sort in ("series", "side"):
            names = value if isinstance(value, list) else series_of(value)
            if (series := _series_of(found)) is not None and found:
                refuse_unknown(inside, "series", names, series)
        elif sort == "column":
            for experiment in found:
                if (columns := columns_of(experiment)) is not None:
                    refuse_unknown(inside, "column", [value], columns)
