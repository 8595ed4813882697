"""Plain fits by every class of networks, and the sizes of the UCI sets."""

from functools import partial
from typing import Any

from bestarm_lab.experiments.computation import Computation, computed
from bestarm_lab.experiments.scale import Profile
from bestarm_studies.oae.experiments import BICYCLES
from bestarm_studies.oae.fits.set_sizes import size_rows
from bestarm_studies.oae.landscapes import LANDSCAPES, landscape
from bestarm_studies.oae.network_fits import fit_rows
from bestarm_studies.oae.series import DEFAULT_BIAS, LARGE, LEARNING_RATES, LINEAR, LOOKED_AT, MIDDLE, SMALL, WHOLE_FITS
from bestarm_studies.oae.uci_sets import UCI_SETS, stand_in_uci_instance, uci_instance

TABLES = (*BICYCLES, "BlogFeedback")
FIT_PROFILES: dict[Profile, dict[str, int]] = {
    "smoke": {"replications": 2, "steps": 10},
    "laptop": WHOLE_FITS,
    "paper": WHOLE_FITS,
}


def landscape_fits(title: str, **start: Any) -> Computation:
    """Return plain fits of the landscapes by every class; ``start`` are settings of the initial weights."""
    return Computation(
        title=title,
        rows=partial(
            fit_rows,
            problems={name: partial(landscape, name=name) for name in LANDSCAPES},
            classes=(LINEAR, SMALL, MIDDLE, LARGE),
            learning_rates=LEARNING_RATES,
            at=LOOKED_AT,
            **start,
        ),
        profiles=FIT_PROFILES,
    )


EXPERIMENTS = {
    "fits_synthetic": landscape_fits("Training error on the four landscapes, by class and step size"),
    "random_fits_synthetic": landscape_fits(
        "Training error on the four landscapes from random biases, by class and step size", bias=DEFAULT_BIAS
    ),
    "fits_uci": Computation(
        title="Training error on three UCI sets, by class and step size",
        rows=partial(
            fit_rows,
            problems={name: partial(uci_instance, name=name) for name in TABLES},
            stand_ins={name: partial(stand_in_uci_instance, name=name) for name in TABLES},
            classes=(LINEAR, SMALL, MIDDLE),
            learning_rates=LEARNING_RATES,
            at=LOOKED_AT,
        ),
        profiles=FIT_PROFILES,
        data_files=[UCI_SETS[name].file for name in TABLES],
    ),
    "uci_sizes": computed(
        "Points and attributes of the UCI sets", 1, size_rows, data_files=[about.file for about in UCI_SETS.values()]
    ),
}
