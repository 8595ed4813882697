"""A comparison of the recorded drug simulations (Appendix B) with what the authors' files let compute again."""

from typing import NamedTuple

import numpy as np

from bestarm.interface import BoolArray, FloatArray
from bestarm.streams import Streams
from bestarm_objectives.drug.boolean_network import is_fixed_point, settle
from bestarm_objectives.drug.characteristic_direction import binarize_direction, characteristic_direction
from bestarm_objectives.drug.data import DrugData
from bestarm_objectives.drug.gene_table import UNKNOWN, GeneTable, StateArray
from bestarm_objectives.drug.rein_model import Observation
from bestarm_objectives.drug.simulator import reversion_score

EQUAL_WITHIN = 1e-9


class Check(NamedTuple):
    """One recorded quantity: in how many of ``n`` cases it equals what is computed."""

    quantity: str
    equal: int
    n: int


def check_log(data: DrugData) -> list[Check]:
    """Compute every step of the recorded simulations again, each from the recorded step before it."""
    log, simulator = data.log, data.simulator()
    direction, table = binary_direction(data), data.binary_phenotype
    genes = [gene for gene in data.network.genes if gene in direction.genes and gene in table.genes]
    signs = (direction.states(genes) == table.states(genes))[0]
    equal = {
        "rewards of the table, against those of the log": _near(data.rewards[log.patients, log.drugs], log.rewards),
        "genes of the network: sign of the direction from expression": signs,
        "binary direction from patients to controls (D)": _rows(simulator.target, log.target),
        "binarised phenotype of the patient": _rows(simulator.phenotypes[log.patients], log.initial),
        "binary signature of the drug": _rows(simulator.signatures[log.drugs], log.drug),
        "phenotype masked by the signature": _rows(simulator.initial_states()[log.patients, log.drugs], log.masked),
        "treated state is a fixed point, no gene held": is_fixed_point(data.network, log.treated),
        "treated state is a fixed point, genes of the drug held": is_fixed_point(data.network, log.treated, log.drug),
        "reward, from the recorded treated state": _near(simulator.score(log.treated), log.rewards),
        "baseline, with the direction's values": _near(data.baselines()[log.drugs], log.baselines),
        "baseline, with a binary direction": _near(baselines_from_binary(data)[log.drugs], log.baselines),
    }
    return [Check(quantity, int(found.sum()), len(found)) for quantity, found in equal.items()]


def n_rewards_met(data: DrugData, tables: FloatArray) -> Check:
    """Count the recorded rewards that at least one simulated table, of shape (R, n_patients, n_drugs), has too."""
    met = (np.abs(tables - data.rewards) < EQUAL_WITHIN).any(axis=0)
    return Check(f"reward, met by one of {len(tables)} random trajectories", int(met.sum()), met.size)


def binary_direction(data: DrugData) -> GeneTable:
    """Return the sign of the characteristic direction of patients against controls, one profile."""
    direction = characteristic_direction(data.patients.values.T, data.controls.values.T)
    states = binarize_direction(direction).astype(np.float64)
    return GeneTable(data.patients.genes, ("direction",), np.where(states == UNKNOWN, np.nan, states)[:, None])


def n_explaining(data: DrugData, observation: Observation, streams: Streams) -> int:
    """Return how many random trajectories from an experiment's initial state end in its final one."""
    initial, final, held = (
        np.array([values.get(gene, UNKNOWN) for gene in data.network.genes], dtype=np.int8)
        for values in (observation.initial, observation.final, dict.fromkeys(observation.knocked_down, 0))
    )
    start = np.tile(initial, (len(streams.replications), 1))
    settled = settle(data.network, start, streams, clamp=held, purpose=observation.description)
    return int(((settled.states == final) | (final == UNKNOWN)).all(axis=1).sum())


def linear_misfit(data: DrugData) -> tuple[int, float]:
    """Return the rank of the drugs' features, and how far the best linear function of them is from the mean rewards."""
    features = data.features.select([drug.cid for drug in data.drugs]).values.T
    means = data.rewards.mean(axis=0)
    coefficients, _, rank, _ = np.linalg.lstsq(features, means, rcond=None)
    return int(rank), float(np.linalg.norm(features @ coefficients - means))


def baselines_from_binary(data: DrugData, *, signed: bool = False) -> FloatArray:
    """Return the baseline's scores with a binary direction, which Algorithm 3 prints, in place of its values.
    ``signed``: whether a gene that is lower in patients is -1; printed is 0, and then it counts for nothing."""
    states = data.binary_phenotype.on(data.network.genes)[0]
    signatures = data.signatures.select([drug.cid for drug in data.drugs]).on(data.network.genes)
    return reversion_score(2.0 * states - 1.0 if signed else states, signatures)


def _rows(first: StateArray, second: StateArray) -> BoolArray:
    return (first == second).all(axis=1)


def _near(first: FloatArray, second: FloatArray) -> BoolArray:
    return np.abs(first - second) < EQUAL_WITHIN
