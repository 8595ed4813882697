r"""Stand-in data for the drug simulator: a random network, and expression and signatures of the authors' schema.

**Nothing here is measured.** It serves tests and readers without the files; every record says "stand-in".
"""

from dataclasses import dataclass

import numpy as np

from bestarm.interface import FloatArray
from bestarm.streams import Streams
from bestarm_objectives.drug.boolean_network import BooleanNetwork, Edge, settle
from bestarm_objectives.drug.characteristic_direction import binarize_direction, characteristic_direction
from bestarm_objectives.drug.gene_table import UNKNOWN, GeneTable, StateArray
from bestarm_objectives.drug.rein_model import OWN_STATE_CONDITION, network_from_conditions
from bestarm_objectives.drug.simulator import DrugSimulator, simulator_from_tables

N_ANTI_EPILEPTIC = 5
N_PRO_CONVULSANT = 5
LEVEL_OFF, LEVEL_ON, NOISE = 7.0, 12.0, 0.6  # log expression of a gene that is off, on; standard deviation
SHARE_FLIPPED = 0.05  # of the genes of a patient or a control, away from their attractor
SHARE_SET = 0.1  # of the genes, by a drug


@dataclass(frozen=True)
class StandInDrugData:
    """Stand-in data with the schema of the authors' files; attributes as there."""

    network: BooleanNetwork
    patients: GeneTable
    controls: GeneTable
    signatures: GeneTable
    binary_signatures: GeneTable
    binary_phenotype: GeneTable
    drugs: tuple[tuple[str, str], ...]

    def simulator(self, *, clamped: bool = False) -> DrugSimulator:
        """Return the simulator on these data."""
        return simulator_from_tables(
            "stand-in drug simulator",
            self.network,
            self.patients,
            self.binary_signatures,
            self.binary_phenotype,
            self.drugs,
            clamped=clamped,
            data="stand-in",
        )


def stand_in_network(rng: np.random.Generator, *, n_genes: int = 60, max_regulators: int = 3) -> BooleanNetwork:
    """Return a random threshold network.
    Each gene has 1 to ``max_regulators`` regulators, three quarters of them activators, and follows their majority; it
    keeps its state on a draw."""
    genes = [f"STANDIN{i:03d}" for i in range(n_genes)]
    edges = []
    for gene in range(n_genes):
        others = [i for i in range(n_genes) if i != gene]
        for regulator in rng.choice(others, size=rng.integers(1, max_regulators + 1), replace=False):
            edges.append(Edge(genes[regulator], genes[gene], 1 if rng.random() < 0.75 else -1))
    return network_from_conditions(genes, edges, dict.fromkeys(genes, OWN_STATE_CONDITION))


def _two_attractors(network: BooleanNetwork, seed: int) -> tuple[StateArray, StateArray]:
    """Return the two fixed points farthest apart among those that 200 random starts reach."""
    anywhere = np.full((200, network.n_genes), UNKNOWN, dtype=np.int8)
    settled = settle(network, anywhere, Streams.first(200, seed=seed, instance="stand-in attractors"))
    states = settled.states[settled.changes >= 0]
    distances = (states[:, None] != states[None]).sum(axis=2)
    if not distances.size or distances.max() < network.n_genes // 4:
        raise ValueError(
            f"no two fixed points of this random network differ in a quarter of the genes; {seed} is no good seed."
        )
    first, second = np.unravel_index(np.argmax(distances), distances.shape)
    return states[first], states[second]


def stand_in_drug_data(
    seed: int = 0, *, n_genes: int = 60, n_measured: int = 1000, n_patients: int = 18, n_controls: int = 17
) -> StandInDrugData:
    """Return stand-in data: patients and controls around two attractors, five drugs for and five against.
    An anti-epileptic stand-in sets a tenth of the genes to their value in the controls' attractor, a pro-convulsant one
    to the opposite value. ``seed``: seed of everything; ``n_genes``: genes of the network; ``n_measured``: genes of the
    expression profiles, those of the network first; ``n_patients``, ``n_controls``: sizes of the groups."""
    rng = np.random.default_rng(seed)
    network = stand_in_network(rng, n_genes=n_genes)
    patient_state, control_state = _two_attractors(network, seed)
    elsewhere = rng.random(n_measured - n_genes) < 0.4  # genes outside the network, the same in both groups
    genes = network.genes + tuple(f"STANDOUT{i:04d}" for i in range(n_measured - n_genes))

    def expression(state: StateArray, n_profiles: int, kind: str) -> GeneTable:
        on = np.concatenate([state == 1, elsewhere]) ^ (rng.random((n_profiles, n_measured)) < SHARE_FLIPPED)
        values = np.where(on, LEVEL_ON, LEVEL_OFF) + NOISE * rng.standard_normal(on.shape)
        return GeneTable(genes, tuple(f"stand-in {kind} {i + 1}" for i in range(n_profiles)), values.T)

    patients = expression(patient_state, n_patients, "patient")
    controls = expression(control_state, n_controls, "control")
    phenotype = binarize_direction(characteristic_direction(patients.values.T, controls.values.T))
    n_drugs = N_ANTI_EPILEPTIC + N_PRO_CONVULSANT
    cids = tuple(str(-1 - drug) for drug in range(n_drugs))  # no compound has a negative identifier
    binary: FloatArray = np.full((n_drugs, n_genes), np.nan)
    for drug in range(n_drugs):
        chosen = rng.choice(n_genes, size=max(1, round(SHARE_SET * n_genes)), replace=False)
        value = control_state[chosen]
        binary[drug, chosen] = value if drug < N_ANTI_EPILEPTIC else 1 - value
    signed = np.where(np.isnan(binary), 0.0, 2 * binary - 1) + 0.2 * rng.standard_normal(binary.shape)
    signed /= np.linalg.norm(signed, axis=1, keepdims=True)
    kinds = ["anti-epileptic"] * N_ANTI_EPILEPTIC + ["pro-convulsant"] * N_PRO_CONVULSANT
    return StandInDrugData(
        network,
        patients,
        controls,
        GeneTable(network.genes, cids, signed.T),
        GeneTable(network.genes, cids, binary.T),
        GeneTable(genes, ("stand-in disease",), phenotype[:, None].astype(np.float64)),
        tuple((f"stand-in {kind} {drug + 1}", cid) for drug, (kind, cid) in enumerate(zip(kinds, cids, strict=True))),
    )
