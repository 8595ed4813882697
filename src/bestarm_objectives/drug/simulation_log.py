"""Reader of the log of the 180 simulations (18 patients x 10 drugs) behind the recorded rewards."""

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestarm.guards.files import says_which_file
from bestarm.interface import FloatArray, IntArray
from bestarm_objectives.drug.files import DRUGS, N_PATIENTS
from bestarm_objectives.drug.gene_table import UNKNOWN, StateArray


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
    # rewards, labels, baselines: shape (180,): score of the simulator; 1 anti-epileptic, -1 pro-convulsant; score of
    # the baseline
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
    is incomplete, a state has another length, a drug is none of `DRUGS`, or there are not 180 blocks.
    """
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
