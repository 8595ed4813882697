"""Training errors of each class of networks on each set of arms, over the steps of a plain fit."""

from collections.abc import Callable, Mapping, Sequence

import joblib
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from bestarm.models.fused_fit import fit_fused as fit_networks
from bestarm.models.fused_predict import predict_fused as predict
from bestarm.models.mlp_fit import FitData, Training
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import DataUnavailable
from bestarm_lab.figures.figures import line_panels
from bestarm_lab.figures.values import summarise
from bestarm_studies.oae.landscapes import Landscape

Maker = Callable[[], NoiselessArms | Landscape]
SEEN = 2000  # the training error of larger sets is that of so many of their arms
CLASSES = ["linear", "NN 10-5", "NN 100-10", "NN 300-100"]


def class_name(hidden: Sequence[int]) -> str:
    """Return the paper's name of a class of networks."""
    return "NN " + "-".join(map(str, hidden)) if len(hidden) else "linear"


def _fits(
    name: str,
    make: Maker,
    stand_in: Maker | None,
    hidden: Sequence[int],
    learning_rate: float,
    n: int,
    steps: int,
    at: Sequence[int],
    seed: int,
    bias: float,
) -> pd.DataFrame:
    replications = np.arange(n, dtype=np.int64)
    try:
        problem = make().take(replications)
    except DataUnavailable:
        if stand_in is None:
            raise
        problem = stand_in().take(replications)
    features, feature_set = problem.arms.feature_sets(n)
    if problem.features.ndim == 3:  # a line: the arms of each replication have their own mean and spread
        features = (features - features.mean(axis=1, keepdims=True)) / features.std(axis=1, keepdims=True)
    n_arms = features.shape[1]
    arms = np.broadcast_to(np.arange(n_arms, dtype=np.int64), (n, n_arms))
    responses = np.broadcast_to(problem.means, (n, n_arms))
    data = FitData(
        torch.tensor(features, dtype=torch.float32),
        feature_set,
        arms,
        np.full(n, n_arms),
        arms[:, :0],
        np.zeros(n, dtype=np.int64),
        replications,
        responses,
    )
    seen = np.sort(np.random.default_rng(seed).permutation(n_arms)[:SEEN])
    looked = FitData(
        data.features[:, seen],
        feature_set,
        arms[:, : len(seen)],
        np.full(n, len(seen)),
        arms[:, :0],
        np.zeros(n, dtype=np.int64),
        replications,
        responses[:, seen],
    )
    training = Training(tuple(hidden), steps, learning_rate, bias=bias)
    found: list[pd.DataFrame] = []

    def on_step(step: int, group: slice, parameters: torch.Tensor) -> None:
        mine = FitData(
            looked.features,
            feature_set,
            looked.arms,
            looked.n_observed,
            looked.pool,
            looked.n_pool,
            replications[group],
            looked.targets[group],
        )
        error = ((predict(training, mine, parameters) - mine.targets) ** 2).mean(axis=1)
        variance = responses[group].var(axis=1)
        found.append(pd.DataFrame({"replication": replications[group], "x": step, "mse": error, "var": variance}))

    key = Streams.first(n, seed=seed, instance=problem.label).key(f"{class_name(hidden)} plain fit")
    names = np.stack([replications, np.zeros(n, dtype=np.int64)], axis=1)
    fit_networks(training, data, np.zeros(n), key, names, on_step, at=at)
    rows = pd.concat(found, ignore_index=True)
    return rows.assign(series=class_name(hidden), panel=name, learning_rate=learning_rate, data=problem.data)


def fit_rows(
    problems: Mapping[str, Maker],
    classes: Sequence[Sequence[int]],
    learning_rates: Sequence[float],
    at: Sequence[int],
    steps: int,
    replications: int,
    seed: int,
    *,
    stand_ins: Mapping[str, Maker] | None = None,
    bias: float = 0.0,
    workers: int = 1,
) -> pd.DataFrame:
    """Return ``mse``, the training error of plain fits to all arms, and ``var``, the variance of the response.
    x is the step, of ``at``. ``problems`` map names to functions that make them, ``stand_ins`` likewise where nobody
    has the data; ``bias`` is that of `bestarm.models.mlp_batch.Mlp.xavier`."""
    cells = [
        (name, make, (stand_ins or {}).get(name), hidden, rate, replications)
        for name, make in problems.items()
        for hidden in classes
        for rate in learning_rates
    ]
    frames = joblib.Parallel(n_jobs=max(1, min(workers, len(cells))))(
        joblib.delayed(_fits)(*cell, steps, at, seed, bias) for cell in cells
    )
    return pd.concat(frames, ignore_index=True).assign(convention="as_written")


def fit_values(rows: pd.DataFrame, profile: str, rates: dict[str, float]) -> pd.DataFrame:
    """Return the median training error over the variance of the response, with its quartiles, step by step.
    ``rates`` has the step size of each class; rows of others are left out."""
    mine = rows[rows["learning_rate"] == rows["series"].map(rates)]
    mine = mine.assign(ratio=mine["mse"] / mine["var"])
    return summarise(mine, {"median MSE / variance": ("ratio", "median")}, x="x", panel="{panel}", profile=profile)


def fits_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return a panel for each set of arms: training error over variance against the step, a line for each class."""
    return line_panels(
        values,
        CLASSES,
        title=title,
        setting=setting,
        statistic="median MSE / variance",
        x="step of Adam",
        y="training MSE / variance\n(median)",
        spread="quartiles",
        log="xy",
        reference=1.0,
        reference_label="a constant",
        marks="band",
    )
