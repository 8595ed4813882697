"""Plain fits by every class of networks, and the sizes of the UCI sets."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation, computed
from bestarm_studies.oae import series as oae
from bestarm_studies.oae.experiments import BICYCLES
from bestarm_studies.oae.fits.set_sizes import size_rows
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.uci_sets import UCI_SETS, stand_in_uci_instance, uci_instance

TABLES = (*BICYCLES, "BlogFeedback")
CLASSES = (oae.LINEAR, oae.SMALL, oae.MIDDLE)
_LANDSCAPES = {name: partial(landscape, name=name) for name in LANDSCAPES}


def _fits(on: str, problems: dict[str, partial[Any]], classes: tuple[oae.Hidden, ...], **settings: Any) -> Computation:
    """Return plain fits by some classes; ``settings`` are of the initial weights, or of data."""
    title = f"Training error on {on}, by class and step size"
    settings |= {"problems": problems, "classes": classes, "learning_rates": oae.LEARNING_RATES, "at": oae.LOOKED_AT}
    return computed(title, oae.RUNS, fit_rows, smoke={"steps": 10}, paper=oae.WHOLE_FITS, steps=oae.STEPS, **settings)


EXPERIMENTS = {
    "fits_synthetic": _fits("the four landscapes", _LANDSCAPES, (*CLASSES, oae.LARGE)),
    "random_fits_synthetic": _fits(
        "the four landscapes from random biases", _LANDSCAPES, (*CLASSES, oae.LARGE), bias=oae.DEFAULT_BIAS
    ),
    "fits_uci": _fits(
        "three UCI sets",
        {name: partial(uci_instance, name=name) for name in TABLES},
        CLASSES,
        stand_ins={name: partial(stand_in_uci_instance, name=name) for name in TABLES},
        data_files=[UCI_SETS[name].file for name in TABLES],
    ),
    "uci_sizes": computed(
        "Points and attributes of the UCI sets", 1, size_rows, data_files=[about.file for about in UCI_SETS.values()]
    ),
}
