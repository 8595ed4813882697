"""UCI arms whose response is a network's fit to the real one, so that a class of networks contains the truth.

Each run has a network of its own, its teacher: runs stay independent, and an interval over runs covers the teacher.
This is the one kind of problem that needs a model: its response is one. Of the paper: Appendices E.1.2 and G.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from bestarm.interface import FloatArray, IntArray
from bestarm.models.fused_fit import fit_fused as fit_networks
from bestarm.models.fused_predict import predict_fused as predict
from bestarm.models.mlp_fit import FitData, Training
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams
from bestarm_studies.oae.drawn_arms import DrawnArms
from bestarm_studies.oae.uci_sets import DATA_FILES as UCI_FILES
from bestarm_studies.oae.uci_sets import stand_in_uci_instance, standard, uci_instance

DATA_FILES = UCI_FILES
_ATTEMPTS = 10


def teacher_responses(table: NoiselessArms, training: Training, replications: IntArray) -> FloatArray:
    """Return the standardised outputs of one network for each replication, fitted to all arms, shape (R, n_arms).
    Initial weights and minibatches are named by the replication, so that its network does not depend on the others. A
    network whose units have all died has a constant output; its replication alone takes the next initial weights."""
    n = table.means.shape[1]
    nothing, everything = np.zeros(1, dtype=np.int64), np.arange(n, dtype=np.int64)[None]
    features = torch.tensor(table.features, dtype=torch.float32, device=training.device)[None]
    key = Streams.first(1, instance=table.label).key("teachers")
    found = np.empty((len(replications), n))
    left = np.arange(len(replications))
    for attempt in range(_ATTEMPTS):
        names = np.stack([replications[left], np.full(len(left), attempt)], axis=1)
        row, targets = np.zeros(len(left), dtype=np.int64), np.broadcast_to(table.means, (len(left), n))
        data = FitData(features, nothing, everything, np.full(1, n), everything[:, :0], nothing, row, targets)
        outputs = predict(training, data, fit_networks(training, data, np.zeros(len(left)), key, names))
        alive = np.array([np.isfinite(mine).all() and mine.std() > 1e-3 for mine in outputs], dtype=np.bool_)
        for place, mine in zip(left[alive], outputs[alive], strict=True):  # one by one: sums in one order for any block
            found[place] = standard(mine)
        left = left[~alive]
        if len(left) == 0:
            return found
    raise RuntimeError(
        f"{_ATTEMPTS} networks fitted to {table.label} for replication {replications[left[0]]} were all constant; "
        "lower the learning rate."
    )


@dataclass(frozen=True)
class FittedArms(DrawnArms):
    """A table whose response is a network's fit to the real one, another network for each replication."""

    table: NoiselessArms
    training: Training

    @property
    def label(self) -> str:
        """Name of the law."""
        return f"{self.table.label} fitted by {'-'.join(map(str, self.training.hidden)) or 'linear'}"

    @property
    def data(self) -> str:
        """Where the response comes from that is fitted."""
        return self.table.data

    def take(self, replications: IntArray) -> NoiselessArms:
        """Return the arms with the responses of some replications, by their identities."""
        means = teacher_responses(self.table, self.training, np.asarray(replications, dtype=np.int64))
        return replace(self.table, label=self.label, means=means)


def fitted_instance(name: str, hidden: Sequence[int], steps: int = 5000, learning_rate: float = 0.01) -> FittedArms:
    """Return a UCI table whose response is a network's fit to the real response (Appendix E.1.2).
    ``hidden``, ``steps`` and ``learning_rate`` are the teacher's; `stand_in_fitted_instance` has the same schema."""
    return FittedArms(uci_instance(name), Training(tuple(hidden), steps, learning_rate))


def stand_in_fitted_instance(
    name: str, hidden: Sequence[int], steps: int = 5000, learning_rate: float = 0.01
) -> FittedArms:
    """Return a stand-in table whose response is a network's fit."""
    return FittedArms(stand_in_uci_instance(name), Training(tuple(hidden), steps, learning_rate))
