"""Values of searches of fitted responses."""

import pandas as pd

from bestarm_studies.oae.values import by_set, search_values


def fitted_values(rows: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return `search_values` of responses that a fitted network made; these are not called real data."""
    values = search_values({f"{name}, fitted": mine for name, mine in by_set(rows).items()}, profile)
    return values.assign(data=values["data"].replace("real", "fitted"))
