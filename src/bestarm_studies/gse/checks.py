"""Values that claims of several sections compare."""

import pandas as pd

from bestarm_lab.claims.cells import Value

_STATIC_ARMS, _LOGISTIC_ARMS = 16, 8  # where K is not varied and the rows have no column for it


def accuracy_of_a_guess(rows: pd.DataFrame) -> float:
    """Return 1/K of a cell."""
    if "n_arms" in rows:
        return float(1.0 / rows["n_arms"].iloc[0])
    return 1.0 / (_STATIC_ARMS if "gap" in rows else _LOGISTIC_ARMS)


VALUES: dict[str, Value] = {
    "correct": Value("accuracy", chance=accuracy_of_a_guess),
    "agrees": Value("whether the most played arm is the one nearest the average of those played"),
    "distance": Value("distance of the most played arm and the average of those played"),
    "per_arm": Value("budget over the number of arms", lambda rows, test: rows["budget"] / rows["n_arms"]),
}
