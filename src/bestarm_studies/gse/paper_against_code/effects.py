"""The largest effects of the differences, and how much of the budget they spend."""

from collections.abc import Mapping

import pandas as pd

from bestarm_lab.figures.values import interval_text


def largest_effects(values: pd.DataFrame, n: int = 25) -> pd.DataFrame:
    """Return the largest of some effects as a table of texts."""
    changes = values[values["x"] != ""].reset_index(drop=True)
    largest = changes.loc[changes["value"].abs().sort_values(ascending=False, kind="stable").index[:n]]
    texts = [interval_text(*line) for line in largest[["value", "low", "high"]].itertuples(index=False)]
    table = largest[["panel", "series", "x"]].assign(change=texts, n=largest["n"])
    return table.rename(columns={"panel": "where", "series": "algorithm", "x": "difference", "change": "accuracy"})


def pulls_spent(audits: Mapping[str, pd.DataFrame], tolerance: float = 0.06) -> pd.DataFrame:
    """Return the share of the budget that was spent, where it is off by more than the tolerance."""
    shares = {
        name: (rows["pulls"] / rows["budget"]).groupby([rows["series"], rows["n_arms"]], sort=False).mean()
        for name, rows in audits.items()
    }
    found = pd.concat(shares, names=["audit"]).rename("share").reset_index()
    found = found[found["share"].sub(1).abs() > tolerance]
    found = found.assign(series=found["series"].str.replace("published ", "authors' "))
    table = found.pivot_table(index=["audit", "series"], columns="n_arms", values="share", sort=False)
    table = table[sorted(table.columns)]
    table.columns = [f"K = {k}" for k in table.columns]
    return table.map(lambda share: "" if pd.isna(share) else f"{share:.2f}").reset_index()
