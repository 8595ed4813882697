"""Settings that only apply with certain values of others.

A public constructor refuses them with other values, where they would change nothing. In a study a whole form of an
algorithm is set at once, so that its classes take these settings in silence.
"""

from collections.abc import Mapping
from inspect import Signature
from typing import Any, NamedTuple

import numpy as np


class Needs(NamedTuple):
    """Another setting, and the values with which a setting has a meaning."""

    other: str
    values: tuple[Any, ...]


_OWN_RADIUS, _BY_TIME = Needs("radius", ("own",)), Needs("radius", ("own", "explicit"))
_EQ2, _FEATURES = Needs("threshold", ("eq2",)), Needs("index", ("paired", "individual"))
_DESIGN = Needs(
    "allocation", ("g-optimal", "frank-wolfe", "coded-grid", "kumar-yildirim", "wynn", "fedorov", "coded-ellipsoid")
)

_LINGAPE = {"threshold": _OWN_RADIUS, "index_time_ahead": _BY_TIME, "stop": Needs("stale_pair", (True,))}
_CLASSICAL = {"norm_bound": _EQ2, "threshold_regulariser": _EQ2, "regulariser": _FEATURES}
_STOOO = {name: Needs("recommendation", ("posterior",)) for name in ("kernel", "sigma")}
# Other solvers end at, or begin with, no weight on an arm at the origin.
_GSE = {"rounding": _DESIGN, "zero_arms_keep_weight": Needs("allocation", ("frank-wolfe", "coded-grid", "wynn"))}

NEEDS: dict[str, dict[str, Needs]] = {
    "ave_stooo": _STOOO,
    "bayes_gap": {
        "lengthscale": Needs("kernel", ("rbf", "exponential", "matern32", "matern52")),
        "squared_distance": Needs("kernel", ("exponential",)),
    },
    "grid_search": {"theta": Needs("order", ("upper_bound",))},
    "gse_lin": _GSE,
    "gse_lin_all_rewards": _GSE,
    "gse_log": _GSE,
    "lin_game": {"norm_bound": _EQ2},
    "lingape": _LINGAPE,
    "lingape_greedy": _LINGAPE,
    "lucb": _CLASSICAL,
    "stooo": _STOOO,
    "ugape": _CLASSICAL,
}


def refuse_inactive(name: str, known: Signature, given: Mapping[str, Any]) -> None:
    """Refuse a setting that would change nothing beside the others.

    ``name``: of the constructor; ``known``: its settings with their defaults; ``given``: settings that were given.
    Raises ValueError with the setting, and what it needs."""
    for setting, (other, values) in NEEDS.get(name, {}).items():
        if setting not in given or _same(given[setting], known.parameters[setting].default):
            continue
        value = given.get(other, known.parameters[other].default)
        if not any(_same(value, one) for one in values):
            words = " or ".join(map(repr, values))
            got = f"got {other}={value!r}; set that, or leave {setting} out"
            raise ValueError(f"{setting} of {name} has a meaning with {other}={words} only, {got}.")


def _same(a: Any, b: Any) -> bool:
    """Return whether two settings are the same word, number or object; an array is the same as itself only."""
    return a is b or bool(np.isscalar(a) and np.isscalar(b) and a == b)
