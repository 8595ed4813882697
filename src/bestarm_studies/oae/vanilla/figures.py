"""Fits of the plain searches that diverge: which share, in how many runs, when."""

from collections.abc import Mapping

import pandas as pd

from bestarm_lab.figures.values import as_values
from bestarm_studies.oae.first_hits import until_found


def divergence_values(sets: Mapping[str, pd.DataFrame], profile: str) -> pd.DataFrame:
    """Return which share of the fits had outputs beyond 10^4, in how many runs, and when the last of them was.
    Runs count until they have found an arm of the smallest quantile. Statistics ``share of fits``, ``runs`` and ``last
    round``, batches before the last; no x; n fits, or rounds, where several networks are fitted in one."""
    fits = pd.concat([until_found(rows).assign(panel=name) for name, rows in sets.items()], ignore_index=True)
    fits = fits[(fits["round"] > 1) & fits["diverged"].notna() & (fits["series"] != "RandomBatch")]
    beyond = fits["diverged"] > 0
    fits = fits.assign(beyond=beyond, run=fits["replication"].where(beyond), last=(fits["round"] - 1).where(beyond, 0))
    kinds = {"share of fits": ("beyond", "mean"), "runs": ("run", "nunique"), "last round": ("last", "max")}
    found = fits.groupby(["panel", "series"], sort=False).agg(**kinds, n=("beyond", "size")).set_index("n", append=True)
    table = found.rename_axis(columns="statistic").stack().reset_index().rename(columns={0: "value"})
    return as_values(table, profile=profile)


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
