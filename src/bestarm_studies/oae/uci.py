"""Rows of UCI tables as arms, whose largest response is sought; each is seen without noise, once.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Appendix
   E.1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.datasets.registry import fetch
from bestarm_lab.datasets.tables import ArmTable
from bestarm_studies.oae.uci_tables import (
    read_adult,
    read_bank_marketing,
    read_bike_sharing,
    read_blog_feedback,
    standard,
)

DATA_FILES = ("adult", "bank-marketing", "bike-sharing-day", "bike-sharing-hour", "blog-feedback")


@dataclass(frozen=True)
class UciSet:
    """One of the paper's data sets: its file, the rows kept, and the size printed in [1]_."""

    file: str
    n_rows: int
    printed: tuple[int, int]
    n_features: int


UCI_SETS = {
    "BikeSharingDay": UciSet("bike-sharing-day", 731 - 73, (658, 13), 11),
    "BikeSharingHour": UciSet("bike-sharing-hour", 17379 - 1737, (15642, 13), 12),
    "BlogFeedback": UciSet("blog-feedback", 52396, (52396, 280), 280),
    "Adult": UciSet("adult", 32561, (32561, 119), 108),
    "Bank": UciSet("bank-marketing", 32950, (32950, 60), 63),
}


def read_uci(name: str, *, parts_of_target: bool = False) -> ArmTable:
    """Return all rows of a data set, standardised.

    Parameters
    ----------
    name : str
        One of ``UCI_SETS``.
    parts_of_target : bool
        See `bestarm_studies.oae.uci_tables.read_bike_sharing`.

    Raises
    ------
    ValueError
        For an unknown name, or parts of a target that has none.
    DataUnavailable
        If the file cannot be found.
    """
    check_name(name, parts_of_target=parts_of_target)
    path = fetch(UCI_SETS[name].file)
    if name.startswith("Bike"):
        return read_bike_sharing(path, parts_of_target=parts_of_target)
    return {"Adult": read_adult, "Bank": read_bank_marketing, "BlogFeedback": read_blog_feedback}[name](path)


def check_name(name: str, *, parts_of_target: bool) -> None:
    """Raise if there is no such data set, or its target has no parts."""
    if name not in UCI_SETS:
        raise ValueError(f"name must be one of {', '.join(UCI_SETS)}, got {name!r}.")
    if parts_of_target and not name.startswith("Bike"):
        raise ValueError(f"parts_of_target is for the two bicycle sets, {name} has no such columns.")


def uci_instance(name: str, parts_of_target: bool = False, n_arms: int | None = None, seed: int = 0) -> NoiselessArms:
    """Return a UCI table as arms; the response has mean 0 and standard deviation 1 over all arms.

    Parameters
    ----------
    name : str
        One of ``UCI_SETS``.
    parts_of_target : bool
        Keep the two columns of the bicycle sets whose sum is the response.
    n_arms : int, optional
        A random subset; by default as many as [1]_ prints.
    seed : int
        Of the subset.

    Raises
    ------
    DataUnavailable
        If the file cannot be found; `stand_in_uci_instance` has the same schema.
    """
    table = read_uci(name, parts_of_target=parts_of_target)
    kept = UCI_SETS[name].n_rows if n_arms is None else n_arms
    if not 2 <= kept <= len(table.target):
        raise ValueError(f"n_arms must be between 2 and the {len(table.target)} rows of {name}, got {kept}.")
    rows = np.sort(np.random.default_rng(seed).permutation(len(table.target))[:kept])
    label = f"{name}{' with parts of the target' * parts_of_target}{f' K={kept}' * (n_arms is not None)}"
    return NoiselessArms(label, table.features[rows], standard(table.target[rows])[None], data="real")


def stand_in_uci_instance(
    name: str, parts_of_target: bool = False, n_arms: int | None = None, seed: int = 0
) -> NoiselessArms:
    """Return random arms with a smooth response, of the schema of a data set but at most 2000 rows."""
    check_name(name, parts_of_target=parts_of_target)
    about = UCI_SETS[name]
    rng = np.random.default_rng([about.n_rows, seed])
    kept = min(about.n_rows, 2000) if n_arms is None else n_arms
    features = rng.standard_normal((kept, about.n_features + 2 * parts_of_target))
    response = features[:, 0] + np.tanh(features[:, 1] * features[:, 2]) + 0.3 * features[:, 3] ** 2
    return NoiselessArms(f"{name} stand-in", features, standard(response)[None], data="stand-in")
