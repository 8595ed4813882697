"""Readers of the drug-repurposing files behind the fourth experiment of the Top-m paper.

Each takes the path of one file, plain or ``.gz``, and says in its errors which file, what was expected and what was
found. The gene network is read by `bestarm_objectives.drug.rein_model`.
"""

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray, IntArray
from bestarm_objectives.drug.gene_table import UNKNOWN, GeneTable, StateArray, read_frame, read_gene_table

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
    column has another norm than 1."""
    table = read_gene_table(path, n_profiles=N_DRUGS, required_profiles=[drug.cid for drug in DRUGS])
    norms = np.linalg.norm(table.values, axis=0)
    if not np.allclose(norms, 1.0, atol=1e-6):
        drug = int(np.argmin(np.isclose(norms, 1.0, atol=1e-6)))
        raise ValueError(f"{path}: expected columns of norm 1, found {norms[drug]} for drug {table.profiles[drug]}.")
    return table


@says_which_file
def read_binary_signatures(path: Path) -> GeneTable:
    """Read binary signatures: 0, 1 or empty for 67 genes and 512 drugs, the 509 of the other files among them.
    Raises ValueError if it is no table of 0, 1 and empty cells, or lacks one of the ten drugs."""
    return _binary(path, read_gene_table(path, required_profiles=[drug.cid for drug in DRUGS]))


@says_which_file
def read_expression(path: Path, n_profiles: int) -> GeneTable:
    """Read quantile-normalised log expression; of repeated symbols the first row is kept, as the authors do.
    Raises ValueError if it is no table of numbers, has not ``n_profiles`` columns (18 or 17), or lacks a value."""
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
    The simulator aims at the opposite, 1 minus this. Raises ValueError if it is no single column of 0 and 1."""
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


@dataclass(frozen=True)
class SimulationLog:
    """The simulations behind the reward table, in the order of the log: patients, and ten drugs within each."""

    genes: tuple[str, ...]  # length G: order of the genes in the states below
    patients: IntArray  # shape (180,): row of the reward table
    drugs: IntArray  # shape (180,): column of the reward table
    positions: IntArray  # shape (180,): position of the drug among the columns of the signature files
    # initial, drug, masked, treated, target: shape (180, G): binarised phenotype of the patient; binary signature; one
    # masked by the other; predicted attractor; binary direction from patients to controls. `UNKNOWN` where a gene has
    # no value; ``treated`` has all
    initial: StateArray
    drug: StateArray
    masked: StateArray
    treated: StateArray
    target: StateArray
    # rewards, labels, baselines: shape (180,): simulator's score; 1 anti-epileptic, -1 pro-convulsant; baseline's score
    rewards: FloatArray
    labels: FloatArray
    baselines: FloatArray


LOGGED_STATES = {"initial": "initial", "drug": "drug", "masked": "masked", "state": "treated", "-Epilepsy": "target"}
_ARM = re.compile(r"\((\d+), '([^']+)'\).*\(([-\d.e]+), ([-\d.e]+), ([-\d.e]+)\)\)")


@says_which_file
def read_simulation_log(path: Path, genes: Sequence[str]) -> SimulationLog:
    """Read the log of the simulations: blocks of five states and one line with drug, reward, label and baseline.
    A state is one character a gene, ``|`` for unknown. Four of the five list the genes alphabetically, the treated
    state lists them in the order of the network (``genes``), in which the result has all. Raises ValueError if a block
    is incomplete, a state has another length, a drug is none of `DRUGS`, or there are not 180 blocks."""
    names = [drug.name.lower() for drug in DRUGS]
    alphabetical = np.argsort(np.argsort(np.asarray(genes)))  # where each gene of the network stands in the alphabet
    states: dict[str, list[StateArray]] = {field: [] for field in LOGGED_STATES.values()}
    arms: list[tuple[int, int]] = []
    scores: list[tuple[float, ...]] = []
    for start, block in _blocks(path):
        for line, (tag, field) in zip(block, LOGGED_STATES.items(), strict=False):
            state, _, found_tag = line.partition("\t")
            if found_tag != tag or len(state) != len(genes) or set(state) - set("01|"):
                raise ValueError(
                    f"{path}, block at line {start}: expected {len(genes)} characters 0, 1 or | and the word {tag!r}, "
                    f"found {line[:40]!r}... of length {len(state)}."
                )
            values = np.array([UNKNOWN if character == "|" else int(character) for character in state], dtype=np.int8)
            states[field].append(values if field == "treated" else values[alphabetical])
        arm = _ARM.search(block[5])
        if arm is None or arm[2].lower() not in names:
            raise ValueError(
                f"{path}, block at line {start}: expected a line with one of the drugs "
                f"{', '.join(drug.name for drug in DRUGS)} and three scores, found {block[5]!r}."
            )
        arms.append((int(arm[1]), names.index(arm[2].lower())))
        scores.append(tuple(float(score) for score in arm.groups()[2:]))
    if len(arms) != N_PATIENTS * len(DRUGS):
        raise ValueError(f"{path}: expected {N_PATIENTS * len(DRUGS)} blocks of six lines, found {len(arms)}.")
    positions, drugs = np.array(arms, dtype=np.int64).T
    rewards, labels, baselines = np.array(scores).T
    return SimulationLog(
        tuple(genes),
        np.repeat(np.arange(N_PATIENTS), len(DRUGS)),
        drugs,
        positions,
        **{field: np.array(rows) for field, rows in states.items()},
        rewards=rewards,
        labels=labels,
        baselines=baselines,
    )


def _blocks(path: Path) -> list[tuple[int, list[str]]]:
    """Return the blocks of six lines of the log, each with the number of its first line."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected a text file, found none that can be read ({error}).") from error
    lines = text.splitlines()
    if len(lines) % 6:
        raise ValueError(f"{path}: expected blocks of six lines, found {len(lines)} lines.")
    return [(start + 1, lines[start : start + 6]) for start in range(0, len(lines), 6)]
