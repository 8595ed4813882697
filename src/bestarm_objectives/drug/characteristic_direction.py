r"""The characteristic direction between two groups of expression profiles, and its binary version.

Source: Clark, Hu, Feldmann, Kou, Chen, Duan, Ma'ayan, "The characteristic direction: a geometrical approach to identify
differentially expressed genes", BMC Bioinformatics 15:79, 2014.
"""

import numpy as np

from bestarm.interface import BoolArray, FloatArray
from bestarm_objectives.drug.gene_table import UNKNOWN, StateArray


def characteristic_direction(
    group: FloatArray, reference: FloatArray, *, gamma: float = 1.0, explained_variance: float = 1.0
) -> FloatArray:
    r"""Return the direction in which one group of profiles differs from another, CD([group || reference]).
    The normal of the hyperplane that linear discriminant analysis puts between the groups (Clark and others), a unit
    vector, positive where the group exceeds the reference: :math:`b \propto V S_\gamma^{-1} V^\top (\bar x_{group} -
    \bar x_{reference})` with :math:`V` the principal axes of all profiles, :math:`S` the covariance within groups on
    these axes, :math:`\bar s^2` its mean diagonal, and :math:`S_\gamma = \gamma S + (1 - \gamma) \bar s^2 I`.

    Groups have shapes (n_group, n_genes) and (n_reference, n_genes): log expression, one row a profile. ``gamma``
    shrinks: 1 is linear discriminant analysis, 0 the difference of the means. The leading axes are kept until they
    explain so much of the variance. The paper gives neither parameter; with both at 1 the authors' direction of
    patients and controls is found again (correlation 0.999). Raises ValueError if the genes differ in number, a
    parameter is out of range, a value is not finite, or the means are equal."""
    if group.ndim != 2 or reference.ndim != 2 or group.shape[1] != reference.shape[1]:
        raise ValueError(
            f"both groups must have shape (n_profiles, n_genes) with the same genes, "
            f"got {group.shape} and {reference.shape}."
        )
    if not (np.isfinite(group).all() and np.isfinite(reference).all()):
        raise ValueError("profiles must be finite; drop or impute the genes that are not.")
    if not 0 <= gamma <= 1 or not 0 < explained_variance <= 1:
        raise ValueError(
            f"gamma must lie in [0, 1] and explained_variance in (0, 1], got {gamma} and {explained_variance}."
        )
    n_profiles = len(group) + len(reference)
    if n_profiles < 3:
        raise ValueError(f"at least 3 profiles are needed for a covariance within groups, got {n_profiles}.")
    difference = group.mean(axis=0) - reference.mean(axis=0)
    pooled = np.vstack([group, reference])
    _, spread, axes = np.linalg.svd(pooled - pooled.mean(axis=0), full_matrices=False)
    n_axes = int((spread > spread[0] * 1e-10).sum())
    share = np.cumsum(spread[:n_axes] ** 2) / (spread[:n_axes] ** 2).sum()
    v = axes[: min(n_axes, np.searchsorted(share, explained_variance - 1e-12) + 1)].T
    d = v.T @ difference
    if not np.linalg.norm(d) > 1e-12 * np.linalg.norm(pooled):
        raise ValueError("the groups have equal means on the axes kept: they have no characteristic direction.")
    within = np.vstack([group - group.mean(axis=0), reference - reference.mean(axis=0)]) @ v
    s = within.T @ within / (n_profiles - 2)
    shrunken = gamma * s + (1 - gamma) * np.diag(s).mean() * np.eye(len(s))
    # Adding a multiple of d d' changes the length of the solution, not its direction (Sherman and Morrison), and the
    # system stays solvable where S is singular: more genes than profiles and gamma = 1.
    b = v @ np.linalg.solve(shrunken + np.outer(d, d), d)
    return b / np.linalg.norm(b)


def binarize_direction(direction: FloatArray, significant: BoolArray | None = None) -> StateArray:
    """Return 1 where a direction is positive and 0 where it is negative, `UNKNOWN` where zero or not significant.
    ``significant`` says which genes to keep; by default all, as in the authors' phenotype."""
    states = np.where(direction > 0, 1, np.where(direction < 0, 0, UNKNOWN))
    return np.where(True if significant is None else significant, states, UNKNOWN).astype(np.int8)
