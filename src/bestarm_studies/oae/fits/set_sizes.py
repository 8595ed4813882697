"""Points and attributes of the UCI sets, as printed and as found."""

from collections.abc import Mapping

import pandas as pd

from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.datasets.registry import available
from bestarm_studies.oae.uci_sets import UCI_SETS, stand_in_uci_instance, uci_instance


def size_rows(replications: int, *, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return how many points and attributes each UCI set has; columns ``series, replication, points, attributes``."""
    lines = []
    for name, about in UCI_SETS.items():
        problem = uci_instance(name) if available(about.file) else stand_in_uci_instance(name)
        points, attributes = problem.features.shape
        lines.append({"series": name, "points": points, "attributes": attributes, "data": problem.data})
    return pd.DataFrame(lines).assign(replication=0)


def size_table(problems: Mapping[str, NoiselessArms]) -> pd.DataFrame:
    """Return the printed and the actual numbers of rows and columns of some UCI sets, as text."""
    lines = []
    for name, problem in problems.items():
        printed, here = (" x ".join(map(str, size)) for size in (UCI_SETS[name].printed, problem.features.shape))
        lines.append({"set": name, "printed": printed, "here": here, "data": problem.data})
    return pd.DataFrame(lines)


def uci_sizes(test: Test, tables: Rows) -> Decision:
    """Compare the numbers of points, or of attributes, with the printed ones."""
    (name,) = test["experiments"]
    found = tables[name].set_index("series")[test["of"]]
    side = ("points", "attributes").index(test["of"])
    printed = {series: about.printed[side] for series, about in UCI_SETS.items()}
    texts = [f"{series}: {found[series]} (printed {number})" for series, number in printed.items()]
    return Decision(all(found[series] == number for series, number in printed.items()), "; ".join(texts))
