"""Policies by their names on public screens and pools: ``python -m benchmarks.what_to_use --data FOLDER``.

The protocol and the rule stand in ``docs/what_to_use.md``. FOLDER holds ``screens-hits`` (score and hits of IL2, IFNg,
Carnevale), ``materials-pools`` (Crossed barrel, AutoAM, AgNP) and ``depmap`` (descriptors of genes). Results are
appended to a CSV file, a line for each policy and data set, and what is there already is not run again.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.search.candidates import Candidates
from bestarm.search.choices import Choice
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_screens.replay import HitCounter

SCREENS = {"IL2": "IL2", "IFNg": "IFNG", "Carnevale": "Carnevale22_Adenosine"}
POOLS = {  # file, sign of what is maximised, evaluations
    "Crossed barrel": ("Crossed barrel_dataset.csv", 1.0, 100),
    "AutoAM": ("AutoAM_dataset.csv", 1.0, 50),
    "AgNP": ("AgNP_dataset.csv", -1.0, 50),
}
POLICIES = {
    "gp, 0.5 deviations": Choice("gp", {"beta": 0.5}),
    "gp, 1 deviation": Choice("gp", {"beta": 1.0}),
    "gp, 2 deviations": Choice("gp", {"beta": 2.0}),
    "hits": Choice("hits"),
    "forest": Choice("forest"),
    "neighbours": Choice("neighbours"),
    "gp_bucb": Choice("gp_bucb"),
    "thompson": Choice("thompson"),
    "linear": Choice("linear"),
    "mean_opt": Choice("mean_opt"),
    "greedy": Choice("greedy"),
    "ensemble": Choice("ensemble"),
}
COSTLY = ("gp, 0.5 deviations", "gp, 1 deviation", "gp, 2 deviations", "hits", "forest", "gp_bucb", "thompson")


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

    @property
    def chance(self) -> float:
        """Exact mean of what random batches find."""
        return float(sum(self.batches) * self.hits.mean())

    @property
    def most(self) -> float:
        """What can be found at most."""
        return float(min(sum(self.batches), self.hits.sum()))


def screen(folder: Path, name: str) -> Case:
    """Return a screen; a missing descriptor is the mean of its column."""
    file = np.load(folder / "depmap" / "depmap26q1_group_gene_effect.npz", allow_pickle=False)
    symbols = [str(s) for s in file["genes"]]
    descriptors = pd.DataFrame(np.hstack([file["mean_in_group"], file["hedges_g"]]), index=symbols)
    table = pd.read_csv(folder / "screens-hits" / f"ground_truth_{SCREENS[name]}.csv")
    table = table.groupby("Gene", sort=True)["Score"].mean()
    features = descriptors[~descriptors.index.duplicated()].reindex(table.index)
    features.columns = [f"x{j}" for j in range(features.shape[1])]
    hits = np.isin(table.index, np.load(folder / "screens-hits" / f"topmovers_{SCREENS[name]}.npy", allow_pickle=False))
    scores = Candidates.of(features).scores()
    return Case(name, scores, np.abs(table.to_numpy(dtype=np.float64)), hits, (128,) * 5)


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


def found_by(choice: Choice, case: Case, runs: Sequence[int]) -> IntArray:
    """Return the hits that each run has found after each batch, shape (runs, batches)."""
    streams = Streams(0, "", np.array(runs, dtype=np.int64))
    if len(set(case.batches)) == 1:
        observed = HitCounter(choice.search(case.batches[0], len(case.batches)), case.hits)
        problem = NoiselessArms("finished screen", case.scores, case.rewards[None], data="real")
        simulate(observed, problem, streams, metrics={})
        return np.cumsum(np.stack(observed.found, axis=1), axis=1)
    first = choice.search(case.batches[0], 1 + sum(case.batches))
    single = choice.search(1, 1 + sum(case.batches))
    problem = NoiselessArms("pool", case.scores, case.rewards[None], data="real")
    state = single.start(problem.arms, streams)
    found = []
    for size in case.batches:
        asked: Ask = (first if size > 1 else single).ask(state)
        single.tell(state, asked, case.rewards[asked.arms])
        found.append(case.hits[asked.arms].sum(axis=1))
    return np.cumsum(np.stack(found, axis=1), axis=1)


def measure(cases: Sequence[Case], names: Sequence[str], runs: int, dear: int, out: Path) -> None:
    """Run what is not in the file yet, and append a line for each."""
    for case in cases:
        for name in names:
            many = dear if name in COSTLY else runs
            done = pd.read_csv(out) if out.exists() else pd.DataFrame(columns=["data", "policy"])
            if ((done["data"] == case.name) & (done["policy"] == name)).any():
                continue
            began = time.process_time()
            together = 1 if name in ("gp_bucb", "thompson") and len(case.scores) > 5000 else many
            parts = [
                found_by(POLICIES[name], case, range(i, min(i + together, many))) for i in range(0, many, together)
            ]
            last = np.concatenate(parts)[:, -1]
            seconds = (time.process_time() - began) / many
            error = float(last.std(ddof=1) / np.sqrt(many))
            line = {
                "data": case.name, "policy": name, "found": float(last.mean()), "error": error, "runs": many,
                "chance": case.chance, "most": case.most, "processor seconds a run": round(seconds, 3),
            }  # fmt: skip
            print(line, flush=True)
            pd.DataFrame([line]).to_csv(out, mode="a", header=not out.exists(), index=False)


def verdict(table: pd.DataFrame) -> pd.DataFrame:
    """Return each policy's mean score over the data sets, its standard error, and whether it is below chance on any."""
    table = table.assign(
        score=(table["found"] - table["chance"]) / (table["most"] - table["chance"]),
        score_error=table["error"] / (table["most"] - table["chance"]),
        below=table["found"] + 2.0 * table["error"] < table["chance"],
    )
    by = table.groupby("policy", sort=False)
    found = pd.DataFrame(
        {
            "data sets": by.size(),
            "score": by["score"].mean(),
            "error": by["score_error"].apply(lambda e: float(np.sqrt((e**2).sum()) / len(e))),
            "below chance": by["below"].sum(),
            "seconds": by["processor seconds a run"].sum(),
        }
    )
    return found.sort_values("score", ascending=False)


def chosen(
    table: pd.DataFrame, policies: Sequence[str] = tuple(POLICIES), cases: Sequence[str] = (*SCREENS, *POOLS)
) -> str:
    """Return the policy that the rule takes, of those that were run on all of some data sets."""
    ranked = verdict(table[table["policy"].isin(policies) & table["data"].isin(cases)])
    ranked = ranked[(ranked["below chance"] == 0) & (ranked["data sets"] == len(cases))]
    best = ranked.iloc[0]
    return str(ranked[ranked["score"] >= best["score"] - best["error"]]["seconds"].idxmin())


def tables(table: pd.DataFrame) -> str:
    """Return two tables in Markdown: what was found on each data set, and the scores of the rule."""
    cases = [name for name in [*SCREENS, *POOLS] if name in set(table["data"])]
    ranked = verdict(table)
    lines = ["| policy | " + " | ".join(cases) + " |", "| --- |" + " --: |" * len(cases)]
    for policy in ranked.index:
        mine = table[table["policy"] == policy].set_index("data")
        cells = [
            f"{mine.loc[c, 'found']:.1f} ± {mine.loc[c, 'error']:.1f} ({mine.loc[c, 'runs']:.0f})"
            if c in mine.index
            else ""
            for c in cases
        ]
        lines.append(f"| {policy} | " + " | ".join(cells) + " |")
    chance = table.groupby("data")["chance"].first()
    lines.append("| chance (exact) | " + " | ".join(f"{chance[c]:.1f}" for c in cases) + " |")
    lines += [
        "",
        "| policy | mean score | below chance on | processor seconds of one run of each |",
        "| --- | --: | --: | --: |",
    ]
    for policy, line in ranked.iterrows():
        score = f"{line['score']:.3f} ± {line['error']:.3f}"
        lines.append(
            f"| {policy} | {score} | {line['below chance']:.0f} of {line['data sets']:.0f} | {line['seconds']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table of the rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/what_to_use.csv"))
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--dear", type=int, default=20, help="runs of Gaussian processes and forests")
    parser.add_argument("--only", nargs="*", default=[*POOLS, *SCREENS])
    parser.add_argument("--policies", nargs="*", default=list(POLICIES))
    given = parser.parse_args()
    cases = [pool(given.data, name) if name in POOLS else screen(given.data, name) for name in given.only]
    measure(cases, given.policies, given.runs, given.dear, given.out)
    print(tables(pd.read_csv(given.out)))


if __name__ == "__main__":
    main()
