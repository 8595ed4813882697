"""Values that a paper prints, beside ours: ``printed.yaml`` of a study, drawn as hollow diamonds.

The file has for each figure, named ``notebook/file``, a list of blocks. A block says where its values stand in the
paper, of which statistic they are, over how many runs, and the values by panel, series and x::

    12_genedisco/fig05:
    - source: Figure 5, a table
      statistic: hit ratio
      n: 5
      values:
        IFNg: {OAE: {800: 0.062}}

With ``read_off: true`` a block holds what was measured on a picture of the paper; figure and CSV say so.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from bestarm_lab.figures.values import COLUMNS
from bestarm_lab.yaml_keys import YamlKeys, of_type, refuse_unknown

PRINTED, READ_OFF = "printed in the paper", "read off the paper's figure"


def theirs(statistic: str, words: str = PRINTED) -> str:
    """Return the name that a statistic of ours has in the paper's rows."""
    return f"{statistic}, {words}"


def read_printed(given: Mapping[str, Any], file: str, figures: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Return, for each figure, the rows of the paper's values.

    ``given`` is what the file says, ``figures`` are those of the study, ``notebook/file``. Rows are in the columns of a
    figure's CSV; their statistic ends in `PRINTED` or `READ_OFF`, their convention is ``printed``, and ``data`` is the
    place in the paper. Raises ValueError for an unknown figure, an unknown or missing key, or a value that is no
    number, with its place in the file.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"{file}: expected figures with lists of printed values, got {given!r}.")
    refuse_unknown(file, "figure", given, figures)
    found = {}
    for figure, blocks in given.items():
        place = f"{file}, {figure}"
        rows = [row for block in of_type(place, blocks, list) for row in _rows(YamlKeys(place, block))]
        found[figure] = pd.DataFrame(rows).reindex(columns=COLUMNS)
    return found


def _rows(given: YamlKeys) -> list[dict[str, Any]]:
    source, statistic, n = (given.take(name, kind) for name, kind in (("source", str), ("statistic", str), ("n", int)))
    words = READ_OFF if given.take("read_off", bool, False) else PRINTED
    values = given.take("values", dict)
    given.done()
    base = {"statistic": theirs(statistic, words), "n": n, "convention": "printed", "data": source}
    return [
        base | {"panel": panel, "series": series, "x": x, "value": of_type(f"{place}, {x!r}", value, float)}
        for panel, by_series in values.items()
        for series, by_x in of_type(f"{given.place}, {panel}", by_series, dict).items()
        for place in [f"{given.place}, {panel}, {series}"]
        for x, value in of_type(place, by_x, dict).items()
    ]


def beside(values: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Return the values of a figure with the paper's below them, as far as the figure shows their panel, series and x.

    A run at smoke scale, or with changed parameters, may show fewer of them. Raises ValueError for a value of the paper
    whose statistic the figure does not have.
    """
    ours = [statistic for statistic in values["statistic"].unique() if statistic]
    known = [theirs(statistic, words) for statistic in ours for words in (PRINTED, READ_OFF)]
    refuse_unknown("the paper's values", "statistic", printed["statistic"], known)
    keys = ["panel", "series", "x"]
    shown = set(values[keys].itertuples(index=False, name=None))
    mine = printed[[line in shown for line in printed[keys].itertuples(index=False, name=None)]]
    return pd.concat([values, mine.assign(profile=values["profile"].iloc[0])], ignore_index=True)


def theirs_of(values: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Return the rows of what the paper prints of a statistic."""
    return values[values["statistic"].isin([theirs(statistic, words) for words in (PRINTED, READ_OFF)])]


def apart(values: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return our rows, and the paper's by the words of the legend."""
    if "convention" not in values:
        return values, {}
    printed = values["convention"] == "printed"
    found = {words: values[printed & values["statistic"].str.endswith(words)] for words in (PRINTED, READ_OFF)}
    return values[~printed], {words: rows for words, rows in found.items() if not rows.empty}
