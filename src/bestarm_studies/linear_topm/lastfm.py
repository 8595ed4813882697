"""Real Top-m instances whose linearity is approximate: Last.fm artists for one listener, and ten drugs.

Réda, Tirinzoni, Degenne, "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification", NeurIPS 2021.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray
from bestarm_lab.datasets.registry import fetch
from bestarm_studies.linear_topm.instances import MisspecifiedBandit, unexplained_deviation

DATA_FILES = ("lastfm-103", "lastfm-50", "drugs-linear")

# name of the data file: arms, features, largest deviation of the true means from the linear prediction
SIZES = {"lastfm-103": (103, 8, 0.206), "lastfm-50": (50, 7, 0.206), "drugs-linear": (10, 6, 0.02)}


@dataclass(frozen=True)
class LinearRepresentation:
    """A linear model of some arms.
    ``features``, shape (n_arms, n_features); ``theta``, (n_features,); ``truth``, (n_arms,): true means, or None."""

    features: FloatArray
    theta: FloatArray
    truth: FloatArray | None


@says_which_file
def read_linear_representation(
    path: Path, *, n_arms: int, n_features: int, with_truth: bool = True
) -> LinearRepresentation:
    """Read one file; a ValueError if it is no ``.npz`` file, or an array is missing, of another shape or not finite."""
    shapes = {"features": (n_arms, n_features), "theta": (n_features,)}
    if with_truth:
        shapes["ground_truth"] = (n_arms,)
    arrays = {}
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: expected a NumPy archive, found something else.")
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in shapes if name not in file.files]
            if missing:
                raise ValueError(f"{path}: expected arrays {', '.join(shapes)}, found {', '.join(file.files)}.")
            for name, shape in shapes.items():
                arrays[name] = np.ascontiguousarray(file[name], dtype=np.float64)
                if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
                    raise ValueError(f"{path}: expected finite {name} of shape {shape}, found {arrays[name].shape}.")
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: expected a NumPy archive, found none that can be read ({error}).") from error
    return LinearRepresentation(arrays["features"], arrays["theta"], arrays.get("ground_truth"))


def _instance(name: str, found: LinearRepresentation, as_it_is: bool, sigma: float, data: str) -> MisspecifiedBandit:
    if not as_it_is:
        deviation = np.zeros(len(found.features))
    elif found.truth is not None:
        deviation = found.truth - found.features @ found.theta
    else:
        deviation = unexplained_deviation(found.features, SIZES[name][2])
    label = f"{name} {'true' if as_it_is else 'linear'} means{' stand-in' * (data == 'stand-in')}"
    return MisspecifiedBandit(label, found.features, found.theta, sigma, deviation=deviation, data=data)


def _size(name: str) -> tuple[int, int, float]:
    if name not in SIZES:
        raise ValueError(f"name must be one of {', '.join(SIZES)}, got {name!r}.")
    return SIZES[name]


def lastfm_instance(name: str, as_it_is: bool, sigma: float = 0.5) -> MisspecifiedBandit:
    """Return an instance on real features, with Gaussian noise.
    ``name``: "lastfm-103", "lastfm-50" or "drugs-linear", whose true means are the linear prediction and a deviation of
    the stated size; ``as_it_is``: the means are the true ones, else the prediction. Raises DataUnavailable without the
    file, of which `stand_in_lastfm_instance` has the schema, and ValueError for an unknown name or another shape."""
    n_arms, n_features, _ = _size(name)
    found = read_linear_representation(
        fetch(name), n_arms=n_arms, n_features=n_features, with_truth=name != "drugs-linear"
    )
    return _instance(name, found, as_it_is, sigma, "real")


def stand_in_lastfm_instance(name: str, as_it_is: bool, sigma: float = 0.5, seed: int = 0) -> MisspecifiedBandit:
    """Return random data of the same shape, range and deviation, for use where the real files cannot be had."""
    n_arms, n_features, level = _size(name)
    rng = np.random.default_rng([seed, n_arms])
    features = rng.standard_normal((n_arms, n_features))
    theta = rng.standard_normal(n_features)
    theta *= 0.2 / np.abs(features @ theta).max()
    features[:, 0] += 0.4 * theta[0] / theta[0] ** 2  # mean prediction about 0.4, as in the real files
    truth = features @ theta + unexplained_deviation(features, level, seed)
    known = LinearRepresentation(features, theta, None if name == "drugs-linear" else truth)
    return _instance(name, known, as_it_is, sigma, "stand-in")
