"""Errors of autoencoders by epoch, and the residuals of a linear fit of the reward to their codes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm_lab.datasets.registry import available
from bestarm_studies.oae.cell_lines.arms import DATA_FILES
from bestarm_studies.oae.cell_lines.autoencoder import Coding, Embedding, embedding
from bestarm_studies.oae.cell_lines.drug_signatures import read_drug_signatures
from bestarm_studies.oae.cell_lines.proliferation import proliferation, scaled
from bestarm_studies.oae.cell_lines.simulated_arms import VCAP, simulated_vcap
from bestarm_studies.oae.cell_lines.simulator import expression, simulated_reward


def linear_misfit(codes: FloatArray, reward: FloatArray) -> float:
    """Return the share of a reward's variance that a least-squares fit to codes leaves; 0 is a perfect fit."""
    columns = np.column_stack([np.ones(len(codes)), codes.astype(np.float64)])
    fitted = columns @ np.linalg.lstsq(columns, reward, rcond=None)[0]
    return float(((reward - fitted) ** 2).mean() / reward.var())


def component_error(signatures: FloatArray, n_components: int) -> float:
    """Return the mean squared error of the best linear reconstruction from so many components, genes scaled."""
    values = np.linalg.svd(scaled(signatures), compute_uv=False)
    return float((values[n_components:] ** 2).sum() / (values**2).sum())


def _rows(name: str, found: Embedding, signatures: FloatArray, reward: FloatArray, data: str) -> pd.DataFrame:
    epochs = np.arange(1, len(found.errors) + 1)
    table = pd.concat(
        pd.DataFrame({"x": epochs, "statistic": kind, "value": found.errors[:, column]})
        for column, kind in enumerate(("training error", "validation error"))
    )
    ends = {
        "epoch kept": found.best + 1,
        "linear misfit": linear_misfit(found.codes, reward),
        "components": component_error(signatures, found.codes.shape[1]),
        "arms": len(reward),
    }
    last = pd.DataFrame({"x": np.nan, "statistic": list(ends), "value": [float(v) for v in ends.values()]})
    return pd.concat([table, last]).assign(panel=name, series="autoencoder", data=data)


def coding_rows(scale: int, replications: int, seed: int, *, drugs: bool = True, workers: int = 1) -> pd.DataFrame:
    """Return the course of both autoencoders' training, and what their codes tell linearly of the reward.

    Parameters
    ----------
    scale : int
        Divides the number of simulated arms.
    replications, seed : int
        One training each, with the seed of `bestarm_studies.oae.cell_lines.autoencoder.Coding`.
    drugs : bool
        Whether the drug signatures are embedded, too, where they are here.
    workers : int
        Not used; one network is trained after the other.

    Returns
    -------
    DataFrame
        ``replication, panel, series, x`` (epoch), ``statistic, value, data``; statistics ``training error`` (with
        dropout) and ``validation error``, 1 is what the genes' means reach; ``epoch kept``, ``linear misfit``,
        ``arms``, and ``components``, the error of as many principal components over all signatures.
    """
    shared, found = simulated_vcap(scale, 0)
    signatures = expression(shared, "VCAP", VCAP)
    frames = [_rows("VCAP", found, signatures, simulated_reward(signatures), "simulated")]
    if drugs and available(*DATA_FILES):
        signatures, symbols = read_drug_signatures()
        coded = embedding(signatures, Coding())
        frames.append(_rows("drug signatures", coded, signatures, proliferation(signatures, symbols), "real"))
    return pd.concat(frames, ignore_index=True).assign(replication=0, convention="as_written")
