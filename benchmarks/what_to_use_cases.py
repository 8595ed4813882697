"""Three public screens and three public pools with their protocols, and the file of runs on them.

FOLDER of the commands holds ``screens-hits`` (score and hits of IL2, IFNg, Carnevale), ``materials-pools`` (Crossed
barrel, AutoAM, AgNP), ``depmap`` (descriptors of genes) and ``genedisco`` (two more screens, NK and SARS-CoV-2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.interface import BoolArray, FloatArray, IntArray
from bestarm.search.candidates import Candidates

SCREENS = {"IL2": "IL2", "IFNg": "IFNG", "Carnevale": "Carnevale22_Adenosine"}
OTHER_SCREENS = {"NK": "nk", "SARS-CoV-2": "sarscov2"}  # on which `Search.left` alone was tried
POOLS = {  # file, sign of what is maximised, evaluations
    "Crossed barrel": ("Crossed barrel_dataset.csv", 1.0, 100),
    "AutoAM": ("AutoAM_dataset.csv", 1.0, 50),
    "AgNP": ("AgNP_dataset.csv", -1.0, 50),
}


@dataclass(frozen=True)
class Case:
    """One data set with its protocol.

    Attributes
    ----------
    scores, rewards, hits : ndarray, shapes (n, d), (n,) and (n,)
        Standardised features, what is maximised, and what counts.
    batches : tuple of int
        Sizes of the batches, one after the other.
    """

    name: str
    scores: FloatArray
    rewards: FloatArray
    hits: BoolArray
    batches: tuple[int, ...]

    def small(self) -> Case:
        """Return the first fifty candidates, with two small batches."""
        few = np.arange(50)
        sizes = (5, 5) if len(set(self.batches)) == 1 else (2, 1, 1)
        return replace(self, scores=self.scores[few], rewards=self.rewards[few], hits=self.hits[few], batches=sizes)

    def fifths(self, found: IntArray) -> IntArray:
        """Return the hits found after each fifth of the measurements, shape (runs, 5), from those of each batch."""
        ends = np.cumsum(self.batches)
        places = np.searchsorted(ends, ends[-1] * np.arange(1, 6) / 5)
        return np.cumsum(found, axis=1)[:, places]


def screen(folder: Path, name: str) -> Case:
    """Return a screen; a missing descriptor is the mean of its column."""
    file = np.load(folder / "depmap" / "depmap26q1_group_gene_effect.npz", allow_pickle=False)
    symbols = [str(s) for s in file["genes"]]
    descriptors = pd.DataFrame(np.hstack([file["mean_in_group"], file["hedges_g"]]), index=symbols)
    if name in SCREENS:
        table = pd.read_csv(folder / "screens-hits" / f"ground_truth_{SCREENS[name]}.csv")
        table = table.groupby("Gene", sort=True)["Score"].mean()
    else:
        table = pd.read_csv(folder / "genedisco" / "targets_four_screens.tsv.gz", sep="\t")
        table = table.groupby("gene_current", sort=True)[OTHER_SCREENS[name]].mean().dropna()
    features = descriptors[~descriptors.index.duplicated()].reindex(table.index)
    features.columns = [f"x{j}" for j in range(features.shape[1])]
    features = features.astype(np.float64)
    features = features.fillna(features.mean())  # a gene without any is refused by a search
    rewards = np.abs(table.to_numpy(dtype=np.float64))
    hits = rewards >= np.quantile(rewards, 0.95)
    if name in SCREENS:
        movers = np.load(folder / "screens-hits" / f"topmovers_{SCREENS[name]}.npy", allow_pickle=False)
        hits = np.isin(table.index, movers)
    return Case(name, Candidates.of(features).scores(), rewards, hits, (128,) * 5)


def pool(folder: Path, name: str) -> Case:
    """Return a pool, replicates averaged."""
    file, sign, evaluations = POOLS[name]
    table = pd.read_csv(folder / "materials-pools" / file)
    mean = table.groupby(list(table.columns[:-1]), sort=True).mean().reset_index()
    rewards = sign * mean.iloc[:, -1].to_numpy(dtype=np.float64)
    n_best = int(np.ceil(0.05 * len(rewards) - 1e-9))
    features = mean.iloc[:, :-1].astype(np.float64)
    features.index = pd.Index([f"c{i}" for i in range(len(features))])
    hits = rewards >= np.sort(rewards)[-n_best]
    return Case(name, Candidates.of(features).scores(), rewards, hits, (2,) + (1,) * (evaluations - 2))


def case_of(folder: Path, name: str) -> Case:
    """Return a screen or a pool by its name."""
    return pool(folder, name) if name in POOLS else screen(folder, name)


def described(cases: Sequence[Case]) -> pd.DataFrame:
    """Return a line for each data set: how much there is, and how much is measured."""
    lines = [(c.name, *c.scores.shape, int(c.hits.sum()), sum(c.batches), len(c.batches)) for c in cases]
    return pd.DataFrame(lines, columns=["data", "candidates", "features", "hits", "measurements", "rounds"])


def runs_left(out: Path, case: Case, name: str, runs: int) -> list[int]:
    """Return the runs of a policy on a data set that the file does not have yet."""
    done = pd.read_csv(out) if out.exists() else pd.DataFrame(columns=["data", "policy", "run"])
    mine = done[(done["data"] == case.name) & (done["policy"] == name)]
    return sorted(set(range(runs)) - set(mine["run"]))


def append(out: Path, case: Case, name: str, runs: Sequence[int], found: IntArray, seconds: float) -> None:
    """Add a line for each run to the file: what was found after each fifth, and processor seconds."""
    lines = pd.DataFrame(found, columns=[f"found {k}/5" for k in range(1, 6)])
    lines.insert(0, "run", runs)
    lines.insert(0, "policy", name)
    lines.insert(0, "data", case.name)
    lines["seconds"] = round(seconds, 3)
    lines.to_csv(out, mode="a", header=not out.exists(), index=False)
    print(
        f"{case.name}, {name}: run {runs[0]} to {runs[-1]}, mean {found[:, -1].mean():.1f}, {seconds:.2f} s each",
        flush=True,
    )
