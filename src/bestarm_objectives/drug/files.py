"""Readers of the drug-repurposing files behind the fourth experiment of the Top-m paper.

Each takes the path of one file, plain or ``.gz``, and says in its errors which file, what was expected and what was
found. The gene network is read by `bestarm_objectives.drug.rein_model`, the log of the simulations by
`bestarm_objectives.drug.simulation_log`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray, IntArray
from bestarm_objectives.drug.gene_table import GeneTable, read_frame, read_gene_table

N_PATIENTS = 18
N_CONTROLS = 17
N_DRUGS = 509  # drugs with a real-valued signature


class Drug(NamedTuple):
    """A drug: its name, its PubChem identifier, and whether it is anti-epileptic (1) or pro-convulsant (-1)."""

    name: str
    cid: str
    label: int


# In the order of the columns of the reward table. The simulation log lists the drugs in another order, and the
# authors' loader takes the columns in that one: it gives each drug another's rewards (inside the same half).
DRUGS = (
    Drug("Hydroxyzine", "5734", 1),
    Drug("Acetazolamide", "1986", 1),
    Drug("Pentobarbital", "4737", 1),
    Drug("Topiramate", "5284627", 1),
    Drug("Diazepam", "3016", 1),
    Drug("DMCM", "104999", -1),
    Drug("Brucine", "442021", -1),
    Drug("Fipronil", "3352", -1),
    Drug("Flumazenil", "3373", -1),
    Drug("FG-7142", "4375", -1),
)


@dataclass(frozen=True)
class RewardTable:
    """Recorded rewards."""

    drugs: tuple[Drug, ...]  # length 10: the arms, in the order of the columns
    values: FloatArray  # shape (18, 10): reward of each drug in each patient, in [0, 1]


@says_which_file
def read_rewards(path: Path) -> RewardTable:
    """Read the recorded rewards: 18 rows of 10 numbers in [0, 1], no header, in the order of `DRUGS`."""
    try:
        values = np.loadtxt(path, ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path}: expected rows of numbers, found something else ({error}).") from error
    if values.shape != (N_PATIENTS, len(DRUGS)):
        raise ValueError(
            f"{path}: expected {N_PATIENTS} rows (patients) of {len(DRUGS)} rewards (drugs), found {values.shape}."
        )
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{path}: expected rewards in [0, 1], found {values[~((values >= 0) & (values <= 1))][0]}.")
    return RewardTable(DRUGS, values)


@says_which_file
def read_signatures(path: Path) -> GeneTable:
    """Read real-valued signatures, one column of unit norm for each of 509 drugs (PubChem identifiers).

    There are two such files: 71 genes of the network (the features of the arms), and 67 genes, 52 of them in the
    network (what the baseline uses). **They name the same profiles differently**: see ``tests/test_drug_data.py``.
    Raises ValueError if it is no table of numbers, lacks one of the ten drugs, has another number of columns, or a
    column has another norm than 1.
    """
    table = read_gene_table(path, n_profiles=N_DRUGS, required_profiles=[drug.cid for drug in DRUGS])
    norms = np.linalg.norm(table.values, axis=0)
    if not np.allclose(norms, 1.0, atol=1e-6):
        drug = int(np.argmin(np.isclose(norms, 1.0, atol=1e-6)))
        raise ValueError(f"{path}: expected columns of norm 1, found {norms[drug]} for drug {table.profiles[drug]}.")
    return table


@says_which_file
def read_binary_signatures(path: Path) -> GeneTable:
    """Read binary signatures: 0, 1 or empty for 67 genes and 512 drugs, the 509 of the other files among them.

    Raises ValueError if it is no table of 0, 1 and empty cells, or lacks one of the ten drugs.
    """
    return _binary(path, read_gene_table(path, required_profiles=[drug.cid for drug in DRUGS]))


@says_which_file
def read_expression(path: Path, n_profiles: int) -> GeneTable:
    """Read quantile-normalised log expression; of repeated symbols the first row is kept, as the authors do.

    There are `N_PATIENTS` or `N_CONTROLS` profiles. Raises ValueError if it is no table of numbers, has another number
    of columns, or a value is missing.
    """
    table = read_gene_table(path, n_profiles=n_profiles, keep_first_of_repeated_genes=True)
    if not np.isfinite(table.values).all():
        gene, profile = np.argwhere(~np.isfinite(table.values))[0]
        raise ValueError(
            f"{path}: expected a value for every gene, found none for {table.genes[gene]} in {table.profiles[profile]}."
        )
    return table


@says_which_file
def read_phenotype(path: Path) -> GeneTable:
    """Read a real-valued differential phenotype: how patients differ from controls, a single column."""
    return read_gene_table(path, n_profiles=1)


@says_which_file
def read_binary_phenotype(path: Path) -> GeneTable:
    """Read the binary differential phenotype: 1 where patients exceed controls, 0 where they fall below.

    The simulator aims at the opposite, 1 minus this. Raises ValueError if it is no single column of 0 and 1.
    """
    return _binary(path, read_gene_table(path, n_profiles=1))


def _binary(path: Path, table: GeneTable) -> GeneTable:
    other = table.values[~np.isin(table.values, (0, 1)) & ~np.isnan(table.values)]
    if other.size:
        raise ValueError(f"{path}: expected 0, 1 or an empty cell, found {other[0]}.")
    return table


@dataclass(frozen=True)
class DrugLabels:
    """What is known of the drugs."""

    cids: tuple[str, ...]  # cids, names: PubChem identifiers and names
    names: tuple[str, ...]
    labels: IntArray  # shape (n_drugs,): 1 anti-epileptic, 0 unknown, -1 pro-convulsant


@says_which_file
def read_drug_labels(path: Path) -> DrugLabels:
    """Read names and known effects of the drugs: columns ``drug_name`` and ``score``, 1, 0 or -1."""
    frame = read_frame(path)
    missing = [name for name in ("drug_name", "score") if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path}: expected columns drug_name and score, found {', '.join(map(str, frame.columns))} "
            f"without {', '.join(missing)}."
        )
    if not frame["score"].isin((-1, 0, 1)).all():
        raise ValueError(f"{path}: expected scores 1, 0 or -1, found {sorted(set(frame['score']) - {-1, 0, 1})[0]}.")
    return DrugLabels(tuple(frame.index), tuple(frame["drug_name"].astype(str)), frame["score"].to_numpy(np.int64))
