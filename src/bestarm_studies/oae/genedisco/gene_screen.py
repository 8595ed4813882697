"""A finished screen as arms: genes that may be perturbed, the effect of each, and the hits that a search is to find.

In each run a fifth of the genes is set aside and can never be chosen; the others are the pool. Hits are the 5% of the
pool with the largest absolute effect, and the hit ratio is the share of the hits that have been found. The authors'
code draws the set aside of the hit list anew, so that about a fifth of its hits lies outside the loop's pool. Of the
paper: Section 5.0.1; the benchmark is GeneDisco (Mehrjou and others, ICLR 2022).
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.interface import Arms, Ask, BoolArray, FloatArray, IntArray
from bestarm.policies.batch_search import random_order
from bestarm.streams import Streams
from bestarm_studies.oae.genedisco import gene_tables
from bestarm_studies.oae.landscapes import DrawnArms

DATA_FILES = (*gene_tables.SCREEN_FILES, gene_tables.GROUPS_FILE, gene_tables.OLD_NAMES_FILE)
SET_ASIDE = 0.2
TOP = 0.05
FAULTS = ("none", "descriptors", "targets", "both")


@dataclass(frozen=True)
class PoolArms(Arms):
    """Genes with their descriptors, of which each run may choose those of its pool, shape (R, n_genes)."""

    pool: BoolArray


@dataclass(frozen=True)
class ScreenRuns:
    """A screen in some runs: ``features`` (n_genes, d), ``means`` (1, n_genes), effects seen without noise.
    ``pool``, ``hits``, ``second_hits`` and ``rising``, shape (R, n_genes), are the genes that can be chosen; the
    largest absolute effects of the pool, and of the pool that the authors' code draws for its hit list; the largest
    effects of the pool, sign included. ``second_split``: the hit ratio is that of the authors' code."""

    label: str
    features: FloatArray
    means: FloatArray
    pool: BoolArray
    hits: BoolArray
    second_hits: BoolArray
    rising: BoolArray
    second_split: bool = False
    data: str = "real"

    @property
    def arms(self) -> PoolArms:
        """The genes of the screen, and which of them can be chosen."""
        return PoolArms(self.features, self.pool)

    def rewards(self, asked: Ask, pulled: IntArray, streams: Streams) -> FloatArray:
        """Return the effects of what is asked, shape (R, b), and add the pulls to the tally."""
        rows = np.arange(len(asked.arms))
        for place in range(asked.arms.shape[1]):
            pulled[rows, asked.arms[:, place]] += asked.counts[:, place]
        return np.asarray(self.means[0][asked.arms] * asked.counts)

    def take(self, rows: IntArray) -> Self:
        """Return the screen in a subset of the runs."""
        kept = {name: getattr(self, name)[rows] for name in ("pool", "hits", "second_hits", "rising")}
        return replace(self, **kept)


@dataclass(frozen=True)
class GeneScreen(DrawnArms):
    """A screen whose split into pool and set aside is drawn anew for each run; `take` draws it.
    ``label`` keys the splits; with ``second_split`` the hit list has its own; ``source``: which descriptors."""

    label: str
    features: FloatArray
    effects: FloatArray
    second_split: bool = False
    data: str = "real"
    seed: int = 0
    name: str = ""
    source: str = ""

    def as_coded(self) -> "GeneScreen":
        """Return the screen as the benchmark's loaders made it until 2022, with the split of its hit list."""
        return gene_screen(self.name, self.source, "both", True, self.seed, self.data)

    def take(self, replications: IntArray) -> ScreenRuns:
        """Return the screen in some runs, by their identities."""
        streams = Streams(self.seed, self.label, np.asarray(replications, dtype=np.int64))
        pool, second = (self._pool(streams, purpose) for purpose in ("test set", "test set of the hit list"))
        return ScreenRuns(
            label=self.label,
            features=self.features,
            means=self.effects[None],
            pool=pool,
            hits=_largest(np.abs(self.effects), pool),
            second_hits=_largest(np.abs(self.effects), second),
            rising=_largest(self.effects, pool),
            second_split=self.second_split,
            data=self.data,
        )

    def _pool(self, streams: Streams, purpose: str) -> BoolArray:
        n = len(self.effects)
        draws = random_order(streams.key(purpose), streams.replications, 0, n)
        first = np.argsort(draws, axis=1, kind="stable")[:, : int(SET_ASIDE * n)]
        pool = np.ones(draws.shape, dtype=np.bool_)
        np.put_along_axis(pool, first, False, axis=1)
        return pool


def _largest(effects: FloatArray, pool: BoolArray) -> BoolArray:
    """Return the top 5% of each pool, rounded down to a whole number of genes."""
    n = int(TOP * pool[0].sum())
    ranked = np.argsort(np.where(pool, -effects, np.inf), axis=1, kind="stable")[:, :n]
    found = np.zeros(pool.shape, dtype=np.bool_)
    np.put_along_axis(found, ranked, True, axis=1)
    return found


@cache
def joined(name: str, source: str, fault: str) -> tuple[FloatArray, pd.Series]:
    """Return descriptors and effects of the genes that have both, sorted by symbol, with the faults of one name."""
    table = gene_tables.descriptors(source, misaligned=fault in ("descriptors", "both"))
    target = gene_tables.screen_target(name, misaligned=fault in ("targets", "both"))
    genes = table.index.intersection(target.index).sort_values()
    return table.loc[genes].to_numpy(dtype=np.float64), target.loc[genes]


def gene_screen(
    name: str,
    source: str = "DepMap groups",
    fault: str = "none",
    second_split: bool = False,
    seed: int = 0,
    data: str = "real",
) -> GeneScreen:
    """Return one of the screens IFNg, IL2, NK and SARS-CoV-2 on `descriptors` of ``source``.
    ``fault`` says whose rows are misaligned ("none", "descriptors", "targets", "both"); ``second_split`` is as in
    `GeneScreen`; ``data`` is "stand-in" where other descriptors are wanted than can be had."""
    if fault not in FAULTS:
        raise ValueError(f"fault must be one of {', '.join(FAULTS)}, got {fault!r}.")
    features, target = joined(name, source, fault)
    return GeneScreen(f"{name}, {source}", features, target.to_numpy(), second_split, data, seed, name, source)


def _share(found: IntArray, hits: BoolArray) -> FloatArray:
    return np.asarray(np.take_along_axis(hits, found, axis=1).sum(axis=1) / hits.sum(axis=1))


def hit_ratio(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the share of the hits among all genes chosen so far; of the code's own hit list where it has one."""
    return _share(recommended, problem.second_hits if problem.second_split else problem.hits)


def recall_one_split(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the share of the pool's hits that have been found."""
    return _share(recommended, problem.hits)


def recall_two_splits(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the share found of a hit list that was drawn from another pool."""
    return _share(recommended, problem.second_hits)


def precision(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the share of the chosen genes that are hits of the pool."""
    found = np.take_along_axis(problem.hits, recommended, axis=1).sum(axis=1)
    return np.asarray(found / max(recommended.shape[1], 1))


def recall_rising(problem: Any, recommended: IntArray) -> FloatArray:
    """Return the share found of the 5% of the pool with the largest effects, sign included."""
    return _share(recommended, problem.rising)


METRICS = (hit_ratio, recall_one_split, recall_two_splits, precision, recall_rising)


def chance_law(n_genes: int, acquired: int, *, splits: int) -> Any:
    """Return the law of the hits among ``acquired`` genes chosen at random from the pool, of ``n_genes`` in all.
    Hypergeometric: with one split they are a random part of the pool, with two, seen from the hit list, of all genes,
    since both pools are drawn independently. Over `hit_count` it is that of the hit ratio."""
    if splits not in (1, 2):
        raise ValueError(f"splits must be 1 or 2, got {splits}.")
    pool = n_genes - int(SET_ASIDE * n_genes)
    if not 0 <= acquired <= pool:
        raise ValueError(f"acquired must be between 0 and the {pool} genes of the pool, got {acquired}.")
    return stats.hypergeom(pool if splits == 1 else n_genes, hit_count(n_genes), acquired)


def hit_count(n_genes: int) -> int:
    """Return the number of hits of a screen with so many genes."""
    return int(TOP * (n_genes - int(SET_ASIDE * n_genes)))
