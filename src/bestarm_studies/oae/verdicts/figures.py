"""Counts of verdicts, and the ratios of batches that claims have compared."""

from collections.abc import Mapping

import pandas as pd

from bestarm_lab.claims.verdicts import VERDICTS
from bestarm_lab.figures.values import as_values

_CLASSES = {"10_5": "NN 10-5", "100_10": "NN 100-10", "300_100": "NN 300-100", "linear": "linear"}
_MADE = {"synthetic": "synthetic", "fitted": "fitted"}  # responses that are not those of a table
_COMPARED = (
    r"(?P<experiment>\w+?_(?P<hidden>10_5|100_10|300_100|linear))(?:: name = (?P<set>\w+))?, .* against (?P<rival>\w+)"
)


def verdict_counts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return how many of the paper's own claims have each verdict, by what they were decided on."""
    theirs = verdicts[verdicts["ours"].fillna("") == ""]
    scales = {"paper": "at the paper's own scale", "laptop": "at the reduced scale"}
    on = theirs["scale"].map(scales).where(theirs["kind"] == "test", "exactly (arithmetic, theorems)")
    on = on.mask(theirs["verdict"] == "not run", "not at all")
    counts = pd.crosstab(on, theirs["verdict"]).reindex(columns=[v for v in VERDICTS if v in set(theirs["verdict"])])
    return counts.rename_axis(columns=None).rename_axis("decided").reset_index()


def ratios_of_claims(comparisons: pd.DataFrame, identities: Mapping[str, str], profile: str) -> pd.DataFrame:
    """Return the ratios that some claims have compared: x is the set, the series the class, the panel the rival.
    ``identities`` map claims to what is added to the names of their sets."""
    mine = comparisons[comparisons["id"].isin(list(identities)) & (comparisons["convention"] == "as_written")]
    parts = mine["comparison"].str.extract(_COMPARED)
    sets = parts["set"].fillna("BlogFeedback") + mine["id"].map(identities)
    rivals = parts["rival"].replace("RandomBatch", "random batches")
    data = parts["experiment"].str.split("_").str[0].map(_MADE).fillna("real")
    table = mine[["low", "high", "n"]].assign(value=mine["effect"], x=sets, panel=rivals, data=data)
    table = table.assign(series=pd.Categorical(parts["hidden"].map(_CLASSES), list(_CLASSES.values())))
    table = table.sort_values("series", kind="stable").astype({"series": str})
    return as_values(table, statistic="ratio", profile=profile)
