"""UCI arms whose response is a network's fit to the real one, so that a class of networks contains the truth.

This is the one kind of problem that needs a model: its response is one.

References
----------
.. [1] Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Appendices
   E.1.2 and G.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from bestarm.interface import FloatArray
from bestarm.models.fused_fit import fit_fused as fit_networks
from bestarm.models.fused_predict import predict_fused as predict
from bestarm.models.mlp_fit import FitData, Training
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams
from bestarm_studies.oae.uci import DATA_FILES as UCI_FILES
from bestarm_studies.oae.uci import stand_in_uci_instance, uci_instance
from bestarm_studies.oae.uci_tables import standard

DATA_FILES = UCI_FILES
_ATTEMPTS = 10


def teacher_response(problem: NoiselessArms, training: Training) -> FloatArray:
    """Return the standardised outputs of one network fitted to all arms, shape (1, n_arms).

    A network whose units have all died has a constant output; the next initial weights are tried.

    Raises
    ------
    RuntimeError
        If ten networks in a row were dead.
    """
    n = problem.means.shape[1]
    nothing, everything = np.zeros(1, dtype=np.int64), np.arange(n, dtype=np.int64)[None]
    features = torch.tensor(problem.features, dtype=torch.float32, device=training.device)[None]
    data = FitData(features, nothing, everything, np.full(1, n), everything[:, :0], nothing, nothing, problem.means)
    for attempt in range(_ATTEMPTS):
        name = np.array([[attempt, 0]])
        key = Streams.first(1, instance=problem.label).key("teacher")
        fitted = predict(training, data, fit_networks(training, data, np.zeros(1), key, name))
        if fitted.std() > 1e-3 and np.isfinite(fitted).all():
            return np.asarray(standard(fitted[0])[None])
    raise RuntimeError(f"{_ATTEMPTS} networks fitted to {problem.label} were all constant; lower the learning rate.")


def _fitted(problem: NoiselessArms, hidden: Sequence[int], steps: int, learning_rate: float) -> NoiselessArms:
    response = teacher_response(problem, Training(tuple(hidden), steps, learning_rate))
    shape = "-".join(map(str, hidden)) or "linear"
    return replace(problem, label=f"{problem.label} fitted by {shape}", means=response)


def fitted_instance(name: str, hidden: Sequence[int], steps: int = 5000, learning_rate: float = 0.01) -> NoiselessArms:
    """Return a UCI table whose response is the fit of one network to the real response ([1]_, Appendix E.1.2).

    Parameters
    ----------
    name : str
        One of `bestarm_studies.oae.uci.UCI_SETS`.
    hidden : sequence of int
        Units of the teacher's hidden layers.
    steps, learning_rate
        Of the teacher's fit.

    Raises
    ------
    DataUnavailable
        If the file cannot be found; `stand_in_fitted_instance` has the same schema.
    """
    return _fitted(uci_instance(name), hidden, steps, learning_rate)


def stand_in_fitted_instance(
    name: str, hidden: Sequence[int], steps: int = 5000, learning_rate: float = 0.01
) -> NoiselessArms:
    """Return a stand-in table whose response is the fit of one network."""
    return _fitted(stand_in_uci_instance(name), hidden, steps, learning_rate)
