"""Data of the drug simulator: what it was made from and what it recorded, or a stand-in of the same schema."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bestarm.interface import BoolArray, FloatArray
from bestarm.streams import Streams
from bestarm_lab.datasets.registry import fetch
from bestarm_objectives.drug import files
from bestarm_objectives.drug.boolean_network import BooleanNetwork, settle
from bestarm_objectives.drug.characteristic_direction import characteristic_direction
from bestarm_objectives.drug.gene_table import UNKNOWN, GeneTable
from bestarm_objectives.drug.rein_model import Observation, read_model, read_observations
from bestarm_objectives.drug.simulator import DrugSimulator, reversion_score, simulator_from_tables
from bestarm_objectives.drug.stand_in import N_ANTI_EPILEPTIC, StandInDrugData, stand_in_drug_data

DATA_FILES = (
    "drug-rewards",
    "drug-rewards-log",
    "drug-signatures",
    "drug-signatures-67",
    "drug-signatures-binary",
    "drug-labels",
    "epilepsy-phenotype",
    "epilepsy-phenotype-real",
    "epilepsy-controls",
    "epilepsy-patients",
    "epilepsy-network",
    "epilepsy-network-observations",
)
FINAL_GENES = 20  # genes that a stand-in experiment observes at its end


@dataclass(frozen=True)
class DrugData:
    """What Appendix B of the paper rests on."""

    network: BooleanNetwork  # the inferred network
    observations: tuple[Observation, ...]  # the experiments that the inference had to explain
    patients: GeneTable  # patients, controls: expression profiles
    controls: GeneTable
    # features, signatures, binary_signatures: of the arms; of the baseline, real-valued; of the simulator, binary
    features: GeneTable
    signatures: GeneTable
    binary_signatures: GeneTable
    phenotype: GeneTable  # phenotype, binary_phenotype: how patients differ from controls, with values and as 0 and 1
    binary_phenotype: GeneTable
    drugs: tuple[files.Drug, ...]  # the paper's ten
    # all drugs with a signature that are known to be anti-epileptic or pro-convulsant; the paper's ten come first
    labelled: tuple[files.Drug, ...]
    log: files.SimulationLog  # the recorded simulations
    rewards: FloatArray  # shape (18, 10): the table of recorded rewards
    data: str  # {"real", "stand-in"}: where all this comes from

    def simulator(self, drugs: Sequence[files.Drug] | None = None, *, clamped: bool = False) -> DrugSimulator:
        """Return the simulator for some drugs, by default the paper's ten; see `DrugSimulator` for ``clamped``."""
        return simulator_from_tables(
            f"{self.data} drug simulator",
            self.network,
            self.patients,
            self.binary_signatures,
            self.binary_phenotype,
            [(drug.name, drug.cid) for drug in (self.drugs if drugs is None else drugs)],
            clamped=clamped,
            data=self.data,
        )

    def baselines(self, drugs: Sequence[files.Drug] | None = None) -> FloatArray:
        """Return the baseline's score of some drugs, by default the paper's ten; the higher, the better."""
        chosen = [drug.cid for drug in (self.drugs if drugs is None else drugs)]
        genes = self.network.genes
        return reversion_score(self.phenotype.on(genes)[0], self.signatures.select(chosen).on(genes))


def anti_epileptic(drugs: Sequence[files.Drug]) -> BoolArray:
    """Return which of these drugs are anti-epileptic."""
    return np.array([drug.label > 0 for drug in drugs])


def published_drug_data() -> DrugData:
    """Return the authors' files; `stand_in_data` has the same schema.
    Raises DataUnavailable if one of them cannot be found, and ValueError if one is not what it should be."""
    network = read_model(fetch("epilepsy-network"))
    binary_signatures = files.read_binary_signatures(fetch("drug-signatures-binary"))
    signatures = files.read_signatures(fetch("drug-signatures-67"))
    labels = files.read_drug_labels(fetch("drug-labels"))
    ten = {drug.cid for drug in files.DRUGS}
    others = [
        files.Drug(name, cid, int(label))
        for name, cid, label in zip(labels.names, labels.cids, labels.labels, strict=True)
        if label and cid not in ten and cid in binary_signatures.profiles and cid in signatures.profiles
    ]
    return DrugData(
        network,
        read_observations(fetch("epilepsy-network-observations")),
        files.read_expression(fetch("epilepsy-patients"), files.N_PATIENTS),
        files.read_expression(fetch("epilepsy-controls"), files.N_CONTROLS),
        files.read_signatures(fetch("drug-signatures")),
        signatures,
        binary_signatures,
        files.read_phenotype(fetch("epilepsy-phenotype-real")),
        files.read_binary_phenotype(fetch("epilepsy-phenotype")),
        files.DRUGS,
        (*files.DRUGS, *others),
        files.read_simulation_log(fetch("drug-rewards-log"), network.genes),
        files.read_rewards(fetch("drug-rewards")).values,
        "real",
    )


def stand_in_data(seed: int = 0) -> DrugData:
    """Return stand-in data; the recorded table and the experiments are runs of the stand-in simulator itself."""
    made = stand_in_drug_data(seed)
    network = replace(made.network, perturbed=made.network.genes[:3])
    drugs = tuple(
        files.Drug(f"stand-in {index + 1}", cid, 1 if index < N_ANTI_EPILEPTIC else -1)
        for index, (_, cid) in enumerate(made.drugs)
    )
    direction = characteristic_direction(made.patients.values.T, made.controls.values.T)
    phenotype = GeneTable(made.patients.genes, ("stand-in disease",), direction[:, None])
    log = _stand_in_log(made, phenotype, seed)
    n_patients = len(made.patients.profiles)
    return DrugData(
        network,
        tuple(_stand_in_observation(network, gene, seed) for gene in network.perturbed),
        made.patients,
        made.controls,
        made.signatures,
        made.signatures,
        made.binary_signatures,
        phenotype,
        made.binary_phenotype,
        drugs,
        drugs,
        log,
        log.rewards.reshape(n_patients, len(drugs)),
        "stand-in",
    )


def _stand_in_log(made: StandInDrugData, phenotype: GeneTable, seed: int) -> files.SimulationLog:
    """Record one run of the stand-in simulator for each patient and drug."""
    simulator = made.simulator()
    once = Streams.first(1, seed=seed, instance="stand-in log")
    patients, drugs = (index.ravel() for index in np.indices((len(simulator.phenotypes), len(simulator.drugs))))
    treated = np.vstack(
        [simulator.predict_phenotypes(int(p), int(d), once) for p, d in zip(patients, drugs, strict=True)]
    )
    genes = made.network.genes
    baselines = reversion_score(phenotype.on(genes)[0], made.signatures.on(genes))
    return files.SimulationLog(
        genes,
        patients,
        drugs,
        drugs,
        simulator.phenotypes[patients],
        simulator.signatures[drugs],
        simulator.initial_states()[patients, drugs],
        treated,
        np.broadcast_to(simulator.target, treated.shape),
        simulator.score(treated),
        np.where(drugs < N_ANTI_EPILEPTIC, 1.0, -1.0),
        baselines[drugs],
    )


def _stand_in_observation(network: BooleanNetwork, gene: str, seed: int) -> Observation:
    """Run the network once with a gene held at 0, and observe some genes at the end."""
    once = Streams.first(1, seed=seed, instance="stand-in observation")
    anywhere = np.full((1, network.n_genes), UNKNOWN, dtype=np.int8)
    start = settle(network, anywhere, once).states[0]
    held = np.where(np.array(network.genes) == gene, 0, UNKNOWN).astype(np.int8)
    end = settle(network, start[None], once, clamp=held, purpose=gene).states[0]
    initial = {g: int(value) for g, value in zip(network.genes, start, strict=True)}
    final = {g: int(value) for g, value in list(zip(network.genes, end, strict=True))[:FINAL_GENES]}
    return Observation(f"cell STANDIN; 0 h; dose none; perturbagen {gene} (trt_sh)", (gene,), initial, final)
