"""Plain fits to the rewards of random batches of arms (Figure 1)."""

from collections.abc import Mapping, Sequence

import joblib
import numpy as np
import pandas as pd
import torch

from bestarm.interface import IntArray
from bestarm.models.fused_fit import fit_fused
from bestarm.models.fused_predict import predict_fused
from bestarm.models.mlp_fit import FitData, Training
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams
from bestarm_lab.figures.styles import Style
from bestarm_lab.figures.values import summarise
from bestarm_studies.oae.network_fits import Maker, class_name
from bestarm_studies.oae.series import Hidden

# from the group that the others tell least of to that of which they tell most: ever darker
GROUP_STYLES = tuple(
    Style(colour, marker)
    for colour, marker in zip(
        ("#B8A100", "#E07B39", "#C8447E", "#7B3FA0", "#2F5DA8", "#0B2A4A"), ("o", "s", "^", "D", "v", "P"), strict=True
    )
)


def random_orders(label: str, replications: int, n_arms: int, seed: int) -> IntArray:
    """Return the order in which random batches see the arms, shape (R, n_arms)."""
    digits = [ord(character) for character in label]
    return np.stack([np.random.default_rng([seed, r, *digits]).permutation(n_arms) for r in range(replications)])


def fit_errors(
    problem: NoiselessArms, hidden: Hidden, learning_rate: float, steps: int, known: IntArray, seed: int
) -> pd.DataFrame:
    """Return ``train`` and ``test`` of one plain fit in each replication to the arms it knows, shape (R, n_known).
    These are mean squared errors of known and of other arms over the variance of all rewards; ``test`` is missing where
    every arm is known. ``series`` is the class."""
    n, n_known = known.shape
    replications, rewards = np.arange(n, dtype=np.int64), problem.means[0]
    data = FitData(
        torch.tensor(problem.features, dtype=torch.float32)[None],
        np.zeros(n, dtype=np.int64),
        np.ascontiguousarray(known),
        np.full(n, n_known),
        np.zeros((n, 0), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        replications,
        rewards[known],
    )
    training = Training(tuple(hidden), steps, learning_rate)
    key = Streams.first(n, seed=seed, instance=problem.label).key(f"{class_name(hidden)} fit of {n_known}")
    names = np.stack([replications, np.zeros(n, dtype=np.int64)], axis=1)
    outputs = predict_fused(training, data, fit_fused(training, data, np.zeros(n), key, names))
    errors = (outputs - rewards) ** 2 / rewards.var()
    seen = np.zeros(errors.shape, dtype=np.bool_)
    np.put_along_axis(seen, known, True, axis=1)
    rest = np.maximum((~seen).sum(axis=1), 1)
    test = np.where(seen.all(axis=1), np.nan, (errors * ~seen).sum(axis=1) / rest)
    train = (errors * seen).sum(axis=1) / n_known
    return pd.DataFrame({"replication": replications, "series": class_name(hidden), "train": train, "test": test})


def _line(
    name: str, make: Maker, hidden: Hidden, rate: float, steps: int, n: int, at: Sequence[int], batch: int, seed: int
) -> pd.DataFrame:
    problem = make().take(np.arange(1, dtype=np.int64))
    orders = random_orders(problem.label, n, problem.means.shape[1], seed)
    found = [
        fit_errors(problem, hidden, rate, steps, orders[:, : t * batch], seed).assign(x=t)
        for t in at
        if t * batch < problem.means.shape[1]
    ]
    return pd.concat(found).assign(panel=name, data=problem.data)


def batch_fit_rows(
    problems: Mapping[str, Maker],
    hidden: Hidden,
    learning_rate: float,
    batch: int,
    at: Sequence[int],
    steps: int,
    replications: int,
    seed: int,
    *,
    workers: int = 1,
) -> pd.DataFrame:
    """Return how well a class predicts each line after some numbers of random batches: `fit_errors` of each ``panel``,
    a line. x is the number of batches; those of ``at`` that would use up the arms are left out."""
    frames = joblib.Parallel(n_jobs=max(1, min(workers, len(problems))))(
        joblib.delayed(_line)(name, make, hidden, learning_rate, steps, replications, at, batch, seed)
        for name, make in problems.items()
    )
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def held_out_values(rows: pd.DataFrame, likeness: pd.DataFrame, profile: str) -> pd.DataFrame:
    """Return the median error on arms that were not seen, over the variance, with quartiles; x is random batches."""
    at = likeness.set_index("panel")["value"]
    groups = {name: f"{name} (R² {float(at[name]):.2f})" for name in rows["panel"].unique()}
    named = rows.assign(series=rows["panel"].map(groups))
    return summarise(named, {"error": ("test", "median")}, x="x", panel="NN 1500-300", profile=profile)
