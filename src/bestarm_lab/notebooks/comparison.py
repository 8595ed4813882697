"""Comparisons of rebuilt figures and verdicts with the committed ones, number by number."""

from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ["panel", "series", "x", "statistic", "convention"]
OUTCOMES = ["equal", "within half the wider interval", "moved", "new", "missing"]
ROWS = ["equal", "within rounding", "moved"]
ROUNDING = 2.0**-53 * 2**21
"""Relative: machine epsilon times two million operations, more than any number of a row is made of."""


def compare_values(old: pd.DataFrame, new: pd.DataFrame) -> pd.Series:
    """Return, for each plotted value of two versions of a figure, how they agree.

    It is one of ``OUTCOMES``, by panel, series, x, statistic and convention. A value without an interval can only be
    equal or moved.
    """
    left, right = (_keyed(frame) for frame in (old, new))
    both = left.merge(right, how="outer", left_index=True, right_index=True, suffixes=("_old", "_new"))
    a, b = (pd.to_numeric(both[f"value_{v}"], errors="coerce").to_numpy(dtype=np.float64) for v in ("old", "new"))
    widths = [(both[f"high_{v}"] - both[f"low_{v}"]).to_numpy(dtype=np.float64) for v in ("old", "new")]
    width = np.fmax(*widths)
    only_new, only_old = ~both.index.isin(left.index), ~both.index.isin(right.index)
    near = np.abs(a - b) <= 0.5 * np.nan_to_num(width)
    equal = (both["value_old"].astype(str) == both["value_new"].astype(str)).to_numpy()
    outcome = np.select([only_new, only_old, equal, near], ["new", "missing", OUTCOMES[0], OUTCOMES[1]], "moved")
    return pd.Series(outcome, index=both.reset_index("occurrence").index)


def _keyed(frame: pd.DataFrame) -> pd.DataFrame:
    """Index values by their keys and, where a point was observed several times, by which of them they are."""
    frame = frame.astype(dict.fromkeys(KEYS, str))
    return frame.assign(occurrence=frame.groupby(KEYS).cumcount()).set_index([*KEYS, "occurrence"])


def compare_rows(old: pd.DataFrame, new: pd.DataFrame) -> dict[str, int]:
    """Count how the values of two versions of an experiment's rows agree, without their keys.

    Numbers are equal (with the same bits, or both missing), within rounding (relative, ``ROUNDING``) or moved;
    words are equal or moved. Rows of another shape or with other columns have moved as a whole.
    """
    old, new = (frame.drop(columns="key", errors="ignore").reset_index(drop=True) for frame in (old, new))
    if list(old.columns) != list(new.columns) or len(old) != len(new):
        return dict(zip(ROWS, (0, 0, new.size), strict=True))
    equal = near = 0
    for name in new:
        a, b = old[name], new[name]
        same = ((a == b) | (a.isna() & b.isna())).fillna(False).to_numpy(dtype=bool)
        equal += int(same.sum())
        if all(pd.api.types.is_float_dtype(c) for c in (a, b)):
            x, y = a.to_numpy(dtype=np.float64)[~same], b.to_numpy(dtype=np.float64)[~same]
            near += int((np.abs(x - y) <= ROUNDING * np.fmax(np.abs(x), np.abs(y))).sum())
    return dict(zip(ROWS, (equal, near, new.size - equal - near), strict=True))


def compare_folders(old: Path, new: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare every CSV below ``figures`` and every table of verdicts below ``results`` of two folders.

    The first table has a row for each figure or table and a column for each of ``OUTCOMES``; the second the verdicts
    that changed: ``study, id, convention, old, new``.
    """
    figures = [folder / "figures" for folder in (old, new)]
    names = sorted({p.relative_to(folder) for folder in figures for p in folder.glob("*/*/*.csv")})
    counts = {}
    for name in names:
        frames = [pd.read_csv(f / name) if (f / name).is_file() else None for f in figures]
        known = next(frame for frame in frames if frame is not None)
        left, right = (known.iloc[:0] if frame is None else frame for frame in frames)
        counts[str(name.with_suffix(""))] = compare_values(left, right).value_counts()
    table = pd.DataFrame(counts).T.reindex(columns=OUTCOMES).fillna(0).astype(int)
    studies = sorted({p.parent.name for folder in (old, new) for p in folder.glob("results/*/verdicts.csv")})
    changed = [_changed_verdicts(*(f / "results" / s / "verdicts.csv" for f in (old, new))) for s in studies]
    verdicts = pd.concat(changed, ignore_index=True) if changed else pd.DataFrame(columns=["study", "id"])
    return table, verdicts


def _changed_verdicts(old: Path, new: Path) -> pd.DataFrame:
    columns = ["id", "convention", "verdict"]
    left, right = (
        pd.read_csv(p, usecols=columns) if p.is_file() else pd.DataFrame(columns=columns, dtype=str) for p in (old, new)
    )
    both = left.merge(right, on=columns[:2], how="outer", suffixes=("_old", "_new"))
    different = both[both["verdict_old"].fillna("none") != both["verdict_new"].fillna("none")]
    return different.rename(columns={"verdict_old": "old", "verdict_new": "new"}).assign(study=new.parent.name)
