"""Fits of the plain searches that diverge: which share, in how many runs, when."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.first_hits import until_found


def divergence_values(sets: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return which share of the fits had outputs beyond 10^4, in how many runs, and when the last of them was.
    Rounds of all runs count, each until it has found an arm of the smallest quantile. Statistics ``share of fits``,
    ``runs`` and ``last round``, the batches before the last of them; x is missing, n the number of fits (of rounds,
    where several networks are fitted in one)."""
    table: list[dict[str, Any]] = []
    for name, rows in sets.items():
        searched = until_found(rows)
        searched = searched[
            (searched["round"] > 1) & searched["diverged"].notna() & (searched["series"] != "RandomBatch")
        ]
        for series, mine in searched.groupby("series", sort=False):
            beyond = mine["diverged"] > 0
            line = {"panel": name, "series": series, "n": len(mine)}
            table.append(line | {"statistic": "share of fits", "value": float(beyond.mean())})
            table.append(line | {"statistic": "runs", "value": mine.loc[beyond, "replication"].nunique()})
            last = int(mine.loc[beyond, "round"].max()) - 1 if beyond.any() else 0
            table.append(line | {"statistic": "last round", "value": last})
    return as_values(pd.DataFrame(table), profile=profile)


def divergence_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return `divergence_values` as text, series by panels: share of fits, their runs, batches before the last."""
    wide = values.pivot(index="series", columns=["statistic", "panel"], values="value")

    def text(share: float, runs: float, last: float) -> str:
        some = f"{100 * share:.2g}% in {runs:.0f} {'run' if runs == 1 else 'runs'}, last after {last:.0f}"
        return some if share else "none"

    found = {
        panel: list(map(text, *(wide[s][panel] for s in ("share of fits", "runs", "last round"))))
        for panel in dict.fromkeys(values["panel"])
    }
    return pd.DataFrame(found, index=wide.index).rename_axis("series").reset_index()
