"""Tables of rewards from the drug simulator, as rows: one for each table, drug and patient."""

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import available
from bestarm_objectives.drug.data import DATA_FILES, DrugData, published_drug_data, stand_in_data


def streams(n_tables: int, seed: int) -> Streams:
    """Return the random numbers of the tables: table r is the same whatever their number."""
    return Streams.first(n_tables, seed=seed, instance="drug simulator")


def reward_rows(replications: int, seed: int, workers: int = 1) -> pd.DataFrame:
    """Return `reward_rows_of` the authors' files, or of their stand-in where they cannot be had."""
    data = published_drug_data() if available(*DATA_FILES) else stand_in_data()
    return reward_rows_of(data, replications, seed)


def reward_rows_of(data: DrugData, n_tables: int, seed: int) -> pd.DataFrame:
    """Simulate every labelled drug in every patient, and put the recorded table beside it.
    ``n_tables``: each has one random trajectory for each drug and patient. ``as_written``: simulated here;
    ``as_coded``: the authors' table, as replication 0."""
    simulated = _rows(data, data.simulator(data.labelled).rewards(streams(n_tables, seed)))
    recorded = _rows(data, data.rewards[None])
    both = {"as_written": simulated, "as_coded": recorded}
    return pd.concat([rows.assign(convention=c) for c, rows in both.items()], ignore_index=True).assign(data=data.data)


def _rows(data: DrugData, tables: FloatArray) -> pd.DataFrame:
    """Return tables of shape (R, n_patients, n_drugs) as rows; their drugs are the first of the labelled ones."""
    drugs = data.labelled[: tables.shape[2]]
    table, patient, drug = (index.ravel() for index in np.indices(tables.shape, dtype=np.int16))
    columns = pd.DataFrame(
        {
            "series": [d.name for d in drugs],
            "label": [d.label for d in drugs],
            "in_paper": [d in data.drugs for d in drugs],
            "baseline": data.baselines(drugs),
        }
    )
    rows = columns.iloc[drug].reset_index(drop=True)
    return rows.assign(replication=table, patient=patient, reward=tables.ravel())
