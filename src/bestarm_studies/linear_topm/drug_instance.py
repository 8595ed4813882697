"""The drug-repurposing instance (Section 5, Appendix B): ten drugs, their rewards recorded for eighteen patients."""

import numpy as np

from bestarm_lab.datasets.registry import fetch
from bestarm_objectives.drug.files import DRUGS, N_PATIENTS, read_rewards, read_signatures
from bestarm_studies.linear_topm.recorded_rewards import RecordedRewards

DATA_FILES = ("drug-rewards", "drug-signatures")


def drug_instance(identity_features: bool = False) -> RecordedRewards:
    """Return the instance on the real data: features of dimension 71, a table of 18 x 10 recorded rewards.
    ``identity_features``: give every drug a feature of its own instead: what an algorithm can do that knows nothing of
    the drugs. Raises DataUnavailable if the files cannot be found; `stand_in_drug_instance` has the same schema. Raises
    ValueError if a file lacks a drug or has another shape."""
    signatures = read_signatures(fetch("drug-signatures")).select([drug.cid for drug in DRUGS])
    table = read_rewards(fetch("drug-rewards")).values
    features = np.eye(len(DRUGS)) if identity_features else np.ascontiguousarray(signatures.values.T)
    return RecordedRewards("drug repurposing K=10", features, table)


def stand_in_drug_instance(seed: int = 0, identity_features: bool = False) -> RecordedRewards:
    """Return random data of the same schema, spread and gap, for use where the real files cannot be had."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((len(DRUGS), 71))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    means = np.repeat([0.48, 0.39], 5) + 0.01 * np.tile(np.linspace(-1, 1, 5), 2)
    table = np.clip(means + 0.04 * rng.standard_normal((N_PATIENTS, len(DRUGS))), 0.0, 1.0)
    features = np.eye(len(DRUGS)) if identity_features else features
    return RecordedRewards("stand-in drug repurposing K=10", features, table, data="stand-in")
