r"""The drug simulator: how far a drug moves a patient's phenotype to the healthy one, and a baseline.

The baseline is that of Duan and others, "L1000CDS2: LINCS L1000 characteristic direction signatures search engine", npj
Systems Biology and Applications 2, 2016.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestarm.interface import BoolArray, FloatArray
from bestarm.streams import Streams
from bestarm_objectives.drug.boolean_network import BooleanNetwork, settle
from bestarm_objectives.drug.gene_table import UNKNOWN, GeneTable, StateArray
from bestarm_objectives.drug.histogram_binarization import binarize_via_histogram


def mask(phenotype: StateArray, signature: StateArray) -> StateArray:
    """Return the phenotype right after treatment: the signature where it has a value, else the phenotype."""
    return np.where(signature != UNKNOWN, signature, phenotype).astype(np.int8)


def cosine_score(first: FloatArray | StateArray, second: FloatArray | StateArray, support: BoolArray) -> FloatArray:
    """Return the cosine of two vectors on a common support; in [0, 1] for vectors of 0 and 1.
    The vectors, shapes (..., G) that broadcast, are not centred; ``support`` are the genes that count. The result,
    shape (...), is NaN where a vector is zero on the support."""
    first, second = np.where(support, first, 0.0), np.where(support, second, 0.0)
    lengths = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    product = (first * second).sum(axis=-1)
    return np.divide(product, lengths, out=np.full(np.shape(product), np.nan), where=lengths > 0)


def reversion_score(direction: FloatArray, signature: FloatArray) -> FloatArray:
    """Return the score of the baseline, one minus the cosine of disease and drug (Algorithm 3, after Duan and others).
    ``direction``, shape (G,), is how patients differ from controls, ``signature``, shape (..., G), real-valued drug
    signatures; NaN where unknown. The algorithm prints a binary direction (`UNKNOWN` must then be turned into NaN); the
    recorded scores use the real-valued one. The score, shape (...), is in [0, 2]; the higher, the more the drug opposes
    the disease. Genes unknown to either do not count."""
    return 1.0 - cosine_score(direction, signature, np.isfinite(direction) & np.isfinite(signature))


def hit_ratio(scores: FloatArray, positive: BoolArray, rank: int) -> FloatArray:
    """Return the share of positives among the ``rank`` largest scores, HR@rank (Figure 5).
    The higher a score, shape (..., n_drugs), the better; NaN ranks last. ``positive``, shape (n_drugs,), are the drugs
    known to work. Where drugs tie for the last places, the share is its expectation: ties are broken at random."""
    if not 1 <= rank <= scores.shape[-1]:
        raise ValueError(f"rank must lie between 1 and the number of drugs {scores.shape[-1]}, got {rank}.")
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    last = np.sort(ranked, axis=-1)[..., -rank, None]
    above, tied = ranked > last, ranked == last
    places_left = rank - above.sum(axis=-1)
    return ((above & positive).sum(axis=-1) + places_left * (tied & positive).sum(axis=-1) / tied.sum(axis=-1)) / rank


@dataclass(frozen=True)
class DrugSimulator:
    """Rewards of drugs in patients, from a Boolean gene network (Algorithm 2).
    The binarised phenotype of a patient, masked by the signature of a drug, is the initial state; the network runs to a
    fixed point; the reward is the cosine of this predicted phenotype with the direction towards the controls. A reward
    is random: genes without a value start anywhere, and the order of changes decides between attractors. The authors
    ask an SMT solver for one trajectory instead, and record what it happens to return. Raises ValueError if a shape
    does not fit the network or the names."""

    label: str  # name of the instance; it keys the runs, together with the patient's row and the drug's name
    network: BooleanNetwork  # network on G genes
    phenotypes: StateArray  # shape (n_patients, G): binarised phenotypes of patients
    signatures: StateArray  # shape (n_drugs, G): binary signatures of drugs
    target: StateArray  # shape (G,): binary direction from patients to controls
    drugs: tuple[str, ...]  # length n_drugs: names of the drugs
    # whether the genes that a signature sets are held for the whole run. In the released simulations none is
    clamped: bool = False
    # changes after which a run starts again; default 20 G. The authors' solver picks unknown genes so that 40 suffice
    max_changes: int | None = None
    n_starts: int = 10  # starts after which a run is given up; its reward is NaN
    data: str = "real"  # {"real", "stand-in"}: where phenotypes and signatures come from

    def __post_init__(self) -> None:
        n_genes = self.network.n_genes
        for name, found, expected in (
            ("phenotypes", self.phenotypes.shape, (len(self.phenotypes), n_genes)),
            ("signatures", self.signatures.shape, (len(self.drugs), n_genes)),
            ("target", self.target.shape, (n_genes,)),
        ):
            if found != expected:
                raise ValueError(f"{name} must have shape {expected}, got {found}.")

    def initial_states(self) -> StateArray:
        """Return the masked phenotypes, shape (n_patients, n_drugs, G)."""
        return mask(self.phenotypes[:, None], self.signatures[None])

    def predict_phenotypes(self, patient: int, drug: int, streams: Streams) -> StateArray:
        """Return R predicted phenotypes of a treated patient, shape (R, G); a row of `UNKNOWN` where none was found."""
        n_runs = len(streams.replications)
        settled = settle(
            self.network,
            np.tile(mask(self.phenotypes[patient], self.signatures[drug]), (n_runs, 1)),
            streams,
            clamp=self.signatures[drug] if self.clamped else None,
            max_changes=self.max_changes,
            n_starts=self.n_starts,
            purpose=f"{self.label}, patient {patient}, {self.drugs[drug]}",
        )
        return settled.states

    def score(self, phenotypes: StateArray) -> FloatArray:
        """Return the cosine with the target, shape (...), of predicted phenotypes, shape (..., G)."""
        support = (self.target != UNKNOWN) & (phenotypes != UNKNOWN)
        return cosine_score(phenotypes, self.target, support)

    def rewards(self, streams: Streams) -> FloatArray:
        """Return R tables of rewards, shape (R, n_patients, n_drugs); NaN where no fixed point was found."""
        tables = np.empty((len(streams.replications), len(self.phenotypes), len(self.drugs)))
        for patient in range(len(self.phenotypes)):
            for drug in range(len(self.drugs)):
                tables[:, patient, drug] = self.score(self.predict_phenotypes(patient, drug, streams))
        return tables


def simulator_from_tables(
    label: str,
    network: BooleanNetwork,
    patients: GeneTable,
    binary_signatures: GeneTable,
    binary_phenotype: GeneTable,
    drugs: Sequence[tuple[str, str]],
    *,
    clamped: bool = False,
    data: str = "real",
) -> DrugSimulator:
    """Put a simulator together from the authors' files.
    The patients' expression on all measured genes sets the thresholds of the binarisation. Profiles of the binary
    signatures are PubChem identifiers; the binary phenotype is one profile: 1 where patients exceed controls, so that
    the target is the opposite. ``drugs`` are the arms, in order (name, PubChem identifier). Others: `DrugSimulator`."""
    genes = network.genes
    binarized = GeneTable(patients.genes, patients.profiles, _with_gaps(binarize_via_histogram(patients.values.T).T))
    disease = binary_phenotype.states(genes)[0]
    return DrugSimulator(
        label,
        network,
        binarized.states(genes),
        binary_signatures.select([cid for _, cid in drugs]).states(genes),
        np.where(disease == UNKNOWN, UNKNOWN, 1 - disease).astype(np.int8),
        tuple(name for name, _ in drugs),
        clamped=clamped,
        data=data,
    )


def _with_gaps(states: StateArray) -> FloatArray:
    return np.where(states == UNKNOWN, np.nan, states)
