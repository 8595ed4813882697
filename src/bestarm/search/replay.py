"""Replays of a finished screen: policies run on it many times over, and the hits found by each batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import hypergeom
from scipy.stats import t as student

from bestarm.interface import Ask, BoolArray, FloatArray, IntArray
from bestarm.observe import Observed
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.search.choices import Choice
from bestarm.search.pool_policies import PoolGP
from bestarm.settings import check_whole
from bestarm.simulate import simulate
from bestarm.streams import Streams

CHANCE = "chance (exact)"
COLUMNS = ("panel", "series", "x", "statistic", "value", "low", "high", "n", "convention", "profile", "data")
_POSTERIOR_BYTES = 2**29  # of the Gaussian processes that run at once


@dataclass
class HitCounter(Observed):
    """A policy under observation: how many genes of each batch are hits.

    Parameters
    ----------
    policy : Policy
        What searches.
    hits : ndarray of bool, shape (n_genes,)
        Which genes are hits.

    Attributes
    ----------
    found : list of ndarray, shape (R,)
        Hits of each batch.
    """

    hits: BoolArray
    found: list[IntArray] = field(default_factory=list)

    def tell(self, state: Any, asked: Ask, totals: FloatArray) -> None:
        """Update the policy, and count."""
        self.found.append((self.hits[asked.arms] & (asked.counts > 0)).sum(axis=1))
        super().tell(state, asked, totals)


def hits_of(rewards: FloatArray, top: float, threshold: float | None = None) -> BoolArray:
    """Return which genes are hits: those from a reward on, or the best share.

    Parameters
    ----------
    rewards : ndarray, shape (n_genes,)
        What is maximised.
    top : float
        Share of the genes, at least one; those equal to the last one count, too.
    threshold : float, optional
        Reward from which a gene is a hit, in place of the share.

    Raises
    ------
    ValueError
        For a share outside (0, 1), or a threshold that no gene or every gene reaches.
    """
    if threshold is None:
        if not 0.0 < top < 1.0:
            raise ValueError(f"top must be a share between 0 and 1, got {top}; 0.05 is the best twentieth.")
        threshold = float(np.sort(rewards)[-max(1, int(np.ceil(top * len(rewards) - 1e-9)))])
    found = np.asarray(rewards >= threshold)
    if found.all() or not found.any():
        how_many = "every gene is" if found.all() else "no gene is"
        raise ValueError(f"{how_many} a hit at {threshold:g}; choose another --hit or --top.")
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
    """Return the hits found by the end of each batch, shape (runs, rounds).

    Parameters
    ----------
    choice : Choice
        The policy.
    scores : ndarray, shape (n_genes, d)
        Features.
    rewards : ndarray, shape (n_genes,)
        What is maximised.
    hits : ndarray of bool, shape (n_genes,)
        Which genes are hits.
    batch, rounds, runs, seed : int
        Runs differ in their random first batch, the same for every policy, and in the policy's own draws.
    on_round : callable, optional
        Called with the number of the round, for progress.
    """
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
    measured = np.minimum(batch * np.arange(1, rounds + 1), n_genes)
    law = hypergeom(n_genes, n_hits, measured)
    return pd.DataFrame(
        {
            "batch": np.arange(1, rounds + 1),
            "value": measured * n_hits / n_genes,
            "low": law.ppf(0.025),
            "high": law.ppf(0.975),
        }
    )


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
    """Return hits against batches for several policies and for chance, in the columns of a figure's CSV.

    Parameters
    ----------
    choices : sequence of Choice
        Policies; a name that is there twice is shown with its settings.
    scores, rewards, hits
        As of `hit_counts`.
    batch, rounds, runs, seed : int
        See `hit_counts`; no more rounds than there are genes for.
    progress : callable, optional
        Called with a policy's name and the number of the round.

    Returns
    -------
    DataFrame
        A row for each series and batch: ``value`` is the mean number of hits found so far, ``low`` and ``high`` its 95%
        interval by Student's t over the runs; of chance, the exact mean.

    Raises
    ------
    ValueError
        For numbers below 1, or fewer than two runs.
    """
    check_whole("batch", batch, 1)
    check_whole("rounds", rounds, 1)
    check_whole("runs", runs, 2)
    rounds = min(rounds, -(-len(rewards) // batch))
    frames = []
    for name, choice in named_choices(choices).items():
        counts = hit_counts(
            choice,
            scores,
            rewards,
            hits,
            batch=batch,
            rounds=rounds,
            runs=runs,
            seed=seed,
            on_round=None if progress is None else partial(progress, name),
        )
        mean, error = counts.mean(axis=0), counts.std(axis=0, ddof=1) / np.sqrt(runs)
        reach = student.ppf(0.975, runs - 1) * error
        frames.append(
            pd.DataFrame(
                {
                    "series": name,
                    "x": np.arange(1, rounds + 1),
                    "value": mean,
                    "low": np.maximum(mean - reach, 0.0),
                    "high": np.minimum(mean + reach, hits.sum()),
                    "n": runs,
                }
            )
        )
    law = chance(len(rewards), int(hits.sum()), batch, rounds)
    exact = law.rename(columns={"batch": "x"})
    frames.append(exact.assign(low=exact["value"], high=exact["value"], series=CHANCE, n=1))
    table = pd.concat(frames, ignore_index=True)
    return table.assign(panel="", statistic="hits", convention="as_written", profile="", data="real")[list(COLUMNS)]


def named_choices(choices: Sequence[Choice]) -> dict[str, Choice]:
    """Return the policies by their names in the table, with settings where a name is there twice.

    Raises
    ------
    ValueError
        Where two are the same.
    """
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
