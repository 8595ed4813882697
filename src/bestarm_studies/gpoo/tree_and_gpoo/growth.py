"""Growth of trees over many runs: how deep they are, and whether they begin breadth-first."""

import numpy as np
import pandas as pd

from bestarm_lab.figures.values import as_values, summarise


def growth_values(rows: pd.DataFrame, panel: str, profile: str) -> pd.DataFrame:
    """Return how trees grow: the mean depth of the deepest divided cell, "deepest", at each round, with 95% intervals.
    ``rows`` are those of `bestarm_studies.gpoo.trees.growth_rows`."""
    return summarise(rows, {"deepest": ("deepest", "mean")}, x="round", panel=panel, profile=profile)


def breadth_first_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return in how many runs the first evaluations fill the tree depth by depth, as plotted values; x is how many.
    That is: depths never decrease, and none is left before all of its cells were evaluated."""
    table = []
    for (convention, series), group in rows.groupby(["convention", "series"], sort=False):
        depths = group.pivot(index="replication", columns="round", values="chosen_depth").to_numpy()
        fresh = group.pivot(index="replication", columns="round", values="first_draw").to_numpy(dtype=bool)
        for n_first in (7, 15, 31):
            here, new = depths[:, :n_first], fresh[:, :n_first]
            filled = (np.diff(here, axis=1) >= 0).all(axis=1)
            for h in range(1, 6):
                filled &= (here.max(axis=1) <= h) | ((new & (here == h)).sum(axis=1) == 2**h)
            base = {"series": series, "x": n_first, "convention": convention, "n": len(depths)}
            table.append(base | {"value": int(filled.sum())})
    return as_values(pd.DataFrame(table), panel="f1", statistic="breadth-first runs", profile=profile)


def breadth_first_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `breadth_first_values` as text."""
    values = breadth_first_values(rows, "")
    text = [f"{int(v)} of {n}" for v, n in zip(values["value"], values["n"], strict=True)]
    head = values[["convention", "series"]].assign(evaluations=values["x"].astype(int))
    head["convention"] = head["convention"].str.replace("_", " ")
    return head.assign(**{"breadth-first runs": text})
