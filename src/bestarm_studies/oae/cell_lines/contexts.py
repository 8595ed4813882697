"""Genes as arms: what is a group of cell lines' own in their effects; features are the own parts of 70 other groups.

DepMap Public 26Q1 (depmap.org) gives the mean effect of every gene's knock-out in a group of lines and in all lines
outside it, negative where cells need the gene. A group's **own part** is :math:`y_{ig}`, the mean effect of gene i
outside group g minus that in g, positive where the group needs the gene more than other lines do; the largest own part
is searched: such a gene is what harms these tumours and spares other cells. Groups share lines (a line with an APC
mutation belongs to the WNT pathway, too): some tell nearly everything of another. No claim about CMAP rests on it.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from bestarm.interface import FloatArray
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm_lab.datasets.registry import available, fetch
from bestarm_objectives.autoencoder.training import scaled

DATA_FILES = ("depmap-group-effects",)
LEAST_LINES = 20  # the effect in a group of fewer lines is mostly their noise
R_SQUARED = (0.25, 0.39, 0.53, 0.67, 0.81, 0.95)  # six values from about the smallest R2 there is
# the groups whose R2 is nearest to these values; named before any search
GROUPS = ("alk", "myc_amp", "neuroendocrine_high", "kmt2b", "emt_high", "mtap_cdkn2a_codeletion")
PENALTY, FOLDS = 1.0, 5


class GroupEffects(NamedTuple):
    """Own parts of effects, shape (n_genes, n_groups); genes; groups; the number of lines in each group."""

    own: FloatArray
    genes: list[str]
    groups: list[str]
    lines: list[int]


def read_group_effects() -> GroupEffects:
    """Return the own parts of all groups; a gene that lacks a value in any group is left out (one of 17,787)."""
    with np.load(fetch(*DATA_FILES), allow_pickle=False) as file:
        own = file["mean_out_of_group"].astype(np.float64) - file["mean_in_group"]
        genes, groups, lines = (file[name].tolist() for name in ("genes", "groups", "n_in_group"))
    return without_missing(own, genes, groups, lines)


def group_effects() -> tuple[GroupEffects, str]:
    """Return the own parts of all groups and "real", or made-up ones and "stand-in" where nobody has the file."""
    if available(*DATA_FILES):
        return read_group_effects(), "real"
    rng, groups = np.random.default_rng(0), [*GROUPS, "other", "another"]
    own = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8)) + rng.standard_normal((300, 8))
    return GroupEffects(own, [f"gene {i}" for i in range(300)], groups, [30] * 8), "stand-in"


def without_missing(own: FloatArray, genes: list[str], groups: list[str], lines: list[int]) -> GroupEffects:
    """Return the genes that have a value in every group."""
    whole = np.isfinite(own).all(axis=1)
    return GroupEffects(own[whole], [gene for gene, kept in zip(genes, whole, strict=True) if kept], groups, lines)  # type: ignore[arg-type]


def arms_of_group(effects: GroupEffects, name: str) -> tuple[FloatArray, FloatArray]:
    """Return features of genes, own parts of the other groups, and rewards; each with mean 0 and spread 1."""
    if name not in effects.groups:
        raise ValueError(f"name must be one of {', '.join(effects.groups)}, got {name!r}.")
    at = effects.groups.index(name)
    return scaled(np.delete(effects.own, at, axis=1)), scaled(effects.own[:, at])


def group_arms(name: str) -> NoiselessArms:
    """Return genes as arms; the reward is the own part of one of 71 groups; `stand_in_group` has the same schema."""
    features, rewards = arms_of_group(read_group_effects(), name)
    return NoiselessArms(f"DepMap 26Q1, {name}", features, rewards[None], data="real")


def stand_in_group(name: str) -> NoiselessArms:
    """Return 300 made-up genes with six features, three of which tell nothing, for tests where nobody has the data."""
    rng = np.random.default_rng([ord(character) for character in name])
    features = rng.standard_normal((300, 6))
    rewards = features[:, 0] + np.tanh(features[:, 1] * features[:, 2]) + 0.3 * rng.standard_normal(300)
    return NoiselessArms(f"{name} stand-in", scaled(features), scaled(rewards)[None], data="stand-in")


def group_or_stand_in(name: str) -> NoiselessArms:
    """Return `group_arms`, or the stand-in where nobody has the data."""
    return group_arms(name) if available(*DATA_FILES) else stand_in_group(name)


def r_squared(features: FloatArray, rewards: FloatArray) -> float:
    """Return the share of the variance that ridge regression predicts of genes that it was not fitted to.
    Five parts, of which each is predicted from the other four; the penalty is 1 on standardised features."""
    fold = np.random.default_rng(0).integers(0, FOLDS, len(rewards))
    columns = np.column_stack([features, np.ones(len(rewards))])
    penalty = PENALTY * np.diag([*np.ones(features.shape[1]), 0.0])
    left = np.empty(len(rewards))
    for k in range(FOLDS):
        x, y = columns[fold != k], rewards[fold != k]
        left[fold == k] = rewards[fold == k] - columns[fold == k] @ np.linalg.solve(x.T @ x + penalty, x.T @ y)
    return float(1.0 - (left**2).mean() / rewards.var())


def likeness_rows(replications: int, seed: int, *, workers: int = 1) -> pd.DataFrame:
    """Return how well other groups tell of each group (``panel``): x is its number of lines, ``value`` `r_squared`."""
    effects, data = group_effects()
    values = [r_squared(*arms_of_group(effects, name)) for name in effects.groups]
    table = pd.DataFrame({"panel": effects.groups, "x": effects.lines, "value": values})
    return table.assign(series="ridge", replication=0, data=data, convention="as_written")
