"""A screen of one's own: seconds a round for 20,000 genes with 1,000 features, and BayBE on a finished screen.

A round is what ``bestarm suggest`` does after reading the files: the features standardised, the state made anew from
320 phenotypes of 20 rounds, the policy asked for 16 genes, each of them explained. Seconds are of the wall and of the
processor, two threads for linear algebra; the features are normal, the phenotype is a linear function with noise.
BayBE is optional, and a line says if it is absent: it gets the example screen's standardised features as numerical
descriptors of its candidates, its default recommender, and the phenotypes as they are.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "2")

import importlib.util
import resource
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from bestarm.interface import BoolArray, FloatArray
from bestarm.search.campaign import next_round
from bestarm.search.candidates import Candidates, read_features
from bestarm.search.choices import NAMES, Choice
from bestarm.search.next_batch import Plan
from bestarm.search.replay import chance, hit_counts, hits_of
from bestarm.search.rounds import Round, Suggestion
from bestarm.search.tables import averaged, read_wells
from bestarm_lab.paths import DATA

BATCH = 16
EXAMPLE = DATA / "example_screen"


def some_screen(n_genes: int, n_features: int) -> tuple[Candidates, FloatArray]:
    """Return normal features and a noisy linear phenotype."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n_genes, n_features))
    phenotype = values @ rng.standard_normal(n_features) / np.sqrt(n_features) + rng.standard_normal(n_genes)
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(n_features)])
    return Candidates(tuple(f"G{i}" for i in range(n_genes)), frame), phenotype


def some_rounds(features: Candidates, phenotype: FloatArray, n_rounds: int) -> tuple[list[Round], dict[str, float]]:
    """Return rounds of random batches and their phenotypes."""
    order = np.random.default_rng(1).permutation(len(features.names))
    settings = Plan(Choice("random"), BATCH).described()
    rounds: list[Round] = []
    told: tuple[tuple[str, float], ...] = ()
    known: dict[str, float] = {}
    for number in range(n_rounds):
        arms = order[BATCH * number : BATCH * (number + 1)]
        batch = tuple(Suggestion(features.names[a]) for a in arms)
        rounds.append(Round(number + 1, settings, "benchmark", told, {}, batch))
        told = tuple((features.names[a], float(phenotype[a])) for a in arms)
        known |= dict(told)
    return rounds, known


def seconds_a_round(
    n_genes: int = 20_000, n_features: int = 1000, n_rounds: int = 20, policies: tuple[str, ...] = NAMES
) -> pd.DataFrame:
    """Return seconds of the round after ``n_rounds``, of every policy."""
    features, phenotype = some_screen(n_genes, n_features)
    rounds, known = some_rounds(features, phenotype, n_rounds)
    small, values = some_screen(200, 3)
    few, few_known = some_rounds(small, values, 2)
    lines = []
    for name in policies:
        next_round(Plan(Choice(name, _brief(name)), BATCH), small, few_known, few)  # compiles
        began, busy = time.perf_counter(), time.process_time()
        next_round(Plan(Choice(name), BATCH), features, known, rounds)
        lines.append({"policy": name, "wall s": time.perf_counter() - began, "processor s": time.process_time() - busy})
        print(f"  {name}: {lines[-1]['wall s']:.1f} s, of the processor {lines[-1]['processor s']:.1f} s", flush=True)
    return pd.DataFrame(lines)


def _brief(name: str) -> dict[str, int]:
    networks = (
        "mean_opt",
        "max_opt",
        "hinge",
        "greedy",
        "det_d",
        "ensemble",
        "noisy_ensemble",
        "seq_b",
        "ensemble_seq_b",
    )
    return {"steps": 5} if name in networks else {}


def seconds_of_reading(n_genes: int = 20_000, n_features: int = 1000) -> float:
    """Return the seconds that reading a table of features takes, six digits a number."""
    features, _ = some_screen(n_genes, n_features)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.csv"
        frame = features.table.set_axis(pd.Index(features.names, name="gene"))
        frame.to_csv(path, float_format="%.6f")
        began = time.perf_counter()
        read_features(path, [])
        return time.perf_counter() - began


def example_screen() -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return standardised features, phenotypes and hits of the example screen."""
    notes: list[str] = []
    features = read_features(EXAMPLE / "features.csv", notes)
    names, wells, _ = read_wells(EXAMPLE / "finished_screen.csv", "", notes)
    found = averaged(names, wells)[0]
    rewards = np.array([found[gene] for gene in features.names])
    return features.scores(), rewards, hits_of(rewards, 0.05)


def baybe_hits(rounds: int, runs: int) -> tuple[FloatArray, float]:
    """Return the hits of BayBE's batches on the example screen, shape (runs, rounds), and its seconds a round."""
    from baybe import Campaign, active_settings
    from baybe.objectives import SingleTargetObjective
    from baybe.parameters import NumericalDiscreteParameter
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    scores, rewards, hits = example_screen()
    frame = pd.DataFrame(scores, columns=[f"x{j}" for j in range(scores.shape[1])]).round(6)
    parameters = [NumericalDiscreteParameter(c, sorted(set(frame[c]))) for c in frame.columns]
    space = SearchSpace.from_dataframe(frame, parameters)
    objective = SingleTargetObjective(NumericalTarget("phenotype"))
    found, seconds = np.zeros((runs, rounds)), []
    for run in range(runs):
        active_settings.random_seed = run
        campaign = Campaign(space, objective, allow_recommending_already_measured=False)
        counted = 0
        for number in range(rounds):
            began = time.process_time()
            batch = campaign.recommend(BATCH)
            arms = batch.index.to_numpy()
            campaign.add_measurements(batch.assign(phenotype=rewards[arms]))
            seconds.append(time.process_time() - began)
            counted += int(hits[arms].sum())
            found[run, number] = counted
    return found, float(np.mean(seconds))


def against_baybe(rounds: int = 6, runs: int = 5) -> pd.DataFrame:
    """Return hits on the example screen, with standard errors, and processor seconds a round."""
    scores, rewards, hits = example_screen()
    lines = []

    def line(name: str, counts: FloatArray, seconds: float) -> None:
        error = counts.std(axis=0, ddof=1) / np.sqrt(len(counts))
        middle, last = rounds // 2 - 1, rounds - 1
        cells = {f"{BATCH * (x + 1)} genes": f"{counts[:, x].mean():.1f} ± {error[x]:.1f}" for x in (middle, last)}
        lines.append({"policy": name, **cells, "runs": len(counts), "s a round": f"{seconds:.2g}"})

    for name in ("mean_opt", "det_d", "ensemble", "linear", "dpp_sample", "thompson"):
        own = {"batch": BATCH, "rounds": rounds}
        counts = hit_counts(Choice(name), scores, rewards, hits, runs=runs, **own)
        began = time.process_time()
        hit_counts(Choice(name), scores, rewards, hits, runs=1, **own)
        line(name, counts, (time.process_time() - began) / rounds)
    if importlib.util.find_spec("baybe") is None:
        print("BayBE is not installed (pip install baybe): its line is left out.")
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts, seconds = baybe_hits(rounds, runs)
        line("BayBE", counts, seconds)
    law = chance(len(rewards), int(hits.sum()), BATCH, rounds)["value"]
    lines.append(
        {
            "policy": "chance (exact)",
            f"{BATCH * (rounds // 2)} genes": f"{law[rounds // 2 - 1]:.1f}",
            f"{BATCH * rounds} genes": f"{law[rounds - 1]:.1f}",
            "runs": "",
            "s a round": "",
        }
    )
    return pd.DataFrame(lines)


def main() -> None:
    """Print both tables."""
    print("A screen of one's own: hits on the example screen, of 25 among 500 genes")
    print(against_baybe().to_string(index=False))
    print("A round for 20,000 genes with 1,000 features, 320 known")
    print(f"  reading the features: {seconds_of_reading():.1f} s")
    print(seconds_a_round().round(1).to_string(index=False))
    print(f"  most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
