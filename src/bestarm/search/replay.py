"""Replays of a finished screen: policies run on it many times over, and the hits found by each batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.search.choices import Choice
from bestarm.search.rounds import of_prediction
from bestarm.settings import check_whole
from bestarm.simulate import simulate
from bestarm.streams import Streams

CHANCE = "chance (exact)"
COLUMNS = ("panel", "series", "x", "statistic", "value", "low", "high", "n", "convention", "profile", "data")
_POSTERIOR_BYTES = 2**29  # of the Gaussian processes that run at once


@dataclass
class HitCounter(Observed):
    """A policy under observation: how many genes of each batch are hits, shape (R,) each."""

    hits: BoolArray
    found: list[IntArray] = field(default_factory=list)

    def tell(self, state: Any, asked: Ask, totals: FloatArray) -> None:
        self.found.append((self.hits[asked.arms] & (asked.counts > 0)).sum(axis=1))
        super().tell(state, asked, totals)


def hits_of(rewards: FloatArray, top: float, threshold: float | None = None, aim: str = "high") -> BoolArray:
    """Return which genes are hits: from a reward on, or the best share with ties; refusals name it by ``aim``."""
    if threshold is None:
        if not 0.0 < top < 1.0:
            raise ValueError(f"top must be a share between 0 and 1, got {top}; 0.05 is the best twentieth.")
        threshold = float(np.sort(rewards)[-max(1, int(np.ceil(top * len(rewards) - 1e-9)))])
    found = np.asarray(rewards >= threshold)
    if found.all() or not found.any():
        how_many = "every gene is" if found.all() else "no gene is"
        raise ValueError(f"{how_many} a hit at {of_prediction(threshold, aim):g}; choose another --hit or --top.")
    return found


def hit_counts(
    choice: Choice,
    scores: FloatArray,
    rewards: FloatArray,
    hits: BoolArray,
    *,
    batch: int,
    rounds: int,
    runs: int,
    seed: int = 0,
    on_round: Callable[[int], None] | None = None,
) -> IntArray:
    """Return the hits found by the end of each batch, shape (runs, rounds), by features, shape (n_genes, d).

    Runs differ in their random first batch, the same for every policy, and in the policy's own draws.
    """
    from bestarm.search.pool_policies import PoolGP  # imports Torch where it is

    search = choice.search(batch, rounds)
    together = runs
    if isinstance(search, PoolGP):  # which hold a posterior on all genes each; draws do not depend on the grouping
        together = max(1, int(_POSTERIOR_BYTES // (8 * min(batch * rounds, len(rewards)) * len(rewards))))
    found = []
    for start in range(0, runs, together):
        streams = Streams(seed, "", np.arange(start, min(start + together, runs), dtype=np.int64))
        observed = HitCounter(search, hits)
        problem = NoiselessArms("finished screen", scores, rewards[None], data="real")
        simulate(observed, problem, streams, metrics={}, on_round=on_round)
        found.append(np.cumsum(np.stack(observed.found, axis=1), axis=1))
    return np.concatenate(found)


def chance(n_genes: int, n_hits: int, batch: int, rounds: int) -> pd.DataFrame:
    """Return the exact law of random batches without replacement: mean hits, and the middle 95% of single runs."""
    from scipy.stats import hypergeom  # takes a second, which a refusal need not wait for

    measured = np.minimum(batch * np.arange(1, rounds + 1), n_genes)
    law = hypergeom(n_genes, n_hits, measured)
    value, low, high = measured * n_hits / n_genes, law.ppf(0.025), law.ppf(0.975)
    return pd.DataFrame({"x": np.arange(1, rounds + 1), "value": value, "low": low, "high": high})


def replay(
    choices: Sequence[Choice],
    scores: FloatArray,
    rewards: FloatArray,
    hits: BoolArray,
    *,
    batch: int,
    rounds: int,
    runs: int,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> pd.DataFrame:
    """Return mean hits so far of policies and of chance by batch, in a figure's columns; see `hit_counts`.

    Intervals of 95% are by Student's t over the runs. There are no more rounds than there are genes for.
    """
    check_whole("batch", batch, 1)
    check_whole("rounds", rounds, 1)
    check_whole("runs", runs, 2)
    check_whole("seed", seed, 0)
    rounds = min(rounds, -(-len(rewards) // batch))
    frames = []
    for name, choice in named_choices(choices).items():
        on_round = None if progress is None else partial(progress, name)
        sizes = {"batch": batch, "rounds": rounds, "runs": runs, "seed": seed}
        counts = hit_counts(choice, scores, rewards, hits, on_round=on_round, **sizes)
        mean, error = counts.mean(axis=0), counts.std(axis=0, ddof=1) / np.sqrt(runs)
        reach = stdtrit(runs - 1, 0.975) * error
        low, high = np.maximum(mean - reach, 0.0), np.minimum(mean + reach, hits.sum())
        frame = pd.DataFrame({"x": np.arange(1, rounds + 1), "value": mean, "low": low, "high": high})
        frames.append(frame.assign(series=name, n=runs))
    law = chance(len(rewards), int(hits.sum()), batch, rounds)
    frames.append(law.assign(low=law["value"], high=law["value"], series=CHANCE, n=1))
    table = pd.concat(frames, ignore_index=True)
    return table.assign(panel="", statistic="hits", convention="as_written", profile="", data="real")[list(COLUMNS)]


def named_choices(choices: Sequence[Choice]) -> dict[str, Choice]:
    """Return the policies by their names in the table, with settings where a name is there twice."""
    found: dict[str, Choice] = {}
    for choice in choices:
        several = sum(other.name == choice.name for other in choices) > 1
        settings = ", ".join(f"{k}={v}" for k, v in choice.settings.items())
        name = f"{choice.name} ({settings or 'defaults'})" if several else choice.name
        if name in found:
            raise ValueError(f"the policy {name} is there twice; name it once, or give it other settings.")
        found[name] = choice
    return found


def summary(table: pd.DataFrame, batches: Sequence[int], batch: int, n_genes: int) -> pd.DataFrame:
    """Return a table in words: hits of each policy at some batches, with intervals, and beside them chance."""
    lines = []
    for series, mine in table.groupby("series", sort=False):
        at = mine.set_index("x")
        cells = {"policy": str(series)}
        for x in batches:
            value = at.loc[x]
            interval = "" if series == CHANCE else f" [{value['low']:.1f}, {value['high']:.1f}]"
            cells[f"{min(x * batch, n_genes)} genes"] = f"{value['value']:.1f}{interval}"
        lines.append(cells)
    return pd.DataFrame(lines)
