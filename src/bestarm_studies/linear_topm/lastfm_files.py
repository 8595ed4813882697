"""Reader of the linear representations of real Top-m problems from the follow-up on misspecification.

Each file holds the features of the arms, the parameter of the linear model that fits them best, and, for Last.fm, the
true means: one listener's play counts of artists, on a logarithmic scale between 0 and 1.

References
----------
.. [1] Réda, Tirinzoni, Degenne. "Dealing With Misspecification In Fixed-Confidence Linear Top-m Identification".
   NeurIPS 2021; the files are of the authors' release, https://github.com/clreda/misspecified-top-m.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray


@dataclass(frozen=True)
class LinearRepresentation:
    """A linear model of some arms.
    ``features`` (ndarray, shape (n_arms, n_features)): features of the arms; ``theta`` (ndarray, shape (n_features,)):
    parameter of the linear prediction; ``truth`` (ndarray, shape (n_arms,), or None): true means, where the file has
    them."""

    features: FloatArray
    theta: FloatArray
    truth: FloatArray | None


@says_which_file
def read_linear_representation(
    path: Path, *, n_arms: int, n_features: int, with_truth: bool = True
) -> LinearRepresentation:
    """Read one file.
    ``path``: the ``.npz`` file; ``n_arms``, ``n_features``: the shape that it must have; ``with_truth``: whether it
    must hold the true means. Raises ValueError if it is no such file, lacks an array, or an array has another shape or
    an entry that is not finite."""
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
