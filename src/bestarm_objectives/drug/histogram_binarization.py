"""Binarisation of one expression profile: thresholds from the two main peaks of its histogram.

What the paper leaves open of its ``binarize_via_histogram`` follows the authors' release.
"""

from typing import NamedTuple

import numpy as np

from bestarm.interface import FloatArray, IntArray
from bestarm_objectives.drug.gene_table import UNKNOWN, StateArray


class Peak(NamedTuple):
    """A peak of a sequence: where it is, and by how much it stands out (infinite for the highest)."""

    place: int
    persistence: float


def persistent_peaks(counts: IntArray) -> list[Peak]:
    """Return the peaks of a sequence, the most persistent first (persistent homology of its superlevel sets).
    Places enter by decreasing value. One without neighbours starts a peak; one that joins two peaks ends the lower of
    them, whose persistence is its own value less the value of the joining place. Of two equal peaks the left one ends,
    and of equal values the left one enters first."""
    hill: dict[int, int] = {}  # place → peak of the hill that it belongs to
    ended: dict[int, float] = {}
    peaks = []
    for place in np.argsort(-counts, kind="stable").tolist():
        left, right = hill.get(place - 1), hill.get(place + 1)
        if left is None and right is None:
            hill[place] = place
            peaks.append(place)
        elif left is None or right is None:
            hill[place] = right if left is None else left  # type: ignore[assignment]
        else:
            stays, ends = (left, right) if counts[left] > counts[right] else (right, left)
            ended[ends] = float(counts[ends] - counts[place])
            hill = {other: stays if peak == ends else peak for other, peak in hill.items()}
            hill[place] = stays
    return sorted((Peak(peak, ended.get(peak, np.inf)) for peak in peaks), key=lambda peak: -peak.persistence)


def histogram_thresholds(profile: FloatArray, *, n_bins: int = 20, min_genes: int = 5) -> tuple[float, float]:
    """Return the values below which a gene is off and above which it is on.
    The log expression of one sample, shape (n_genes,), is counted in bins of equal width between its extremes. Bins
    with at most ``min_genes`` genes are dropped, and those left are taken as neighbours. Of the two most persistent
    peaks of the counts, the lower threshold ends the bin of the left one and the upper begins the bin of the right one.
    With a single peak, the thresholds enclose its bin, or the bin after it if that is the first; if they coincide, the
    upper one is raised by the standard deviation of the bin edges. Raises ValueError if the profile is not finite or no
    bin holds more than ``min_genes`` genes."""
    if not np.isfinite(profile).all():
        raise ValueError("a profile must be finite; drop the genes that were not measured.")
    counts, edges = np.histogram(profile, bins=n_bins)
    kept = counts > min_genes
    if not kept.any():
        raise ValueError(f"no bin holds more than {min_genes} of {len(profile)} genes; lower n_bins or min_genes.")
    counts, starts = counts[kept], edges[:-1][kept]  # starts: left edges
    places = sorted(peak.place for peak in persistent_peaks(counts)[:2])
    if len(places) == 2:
        return float(starts[places[0] + 1]), float(starts[places[1]])
    last = len(starts) - 1
    lower = float(starts[min(max(places[0], 1), last)])
    upper = float(starts[min(places[0] + 1, last)])
    return lower, upper if upper > lower else upper + float(np.std(edges))


def binarize_via_histogram(profiles: FloatArray, *, n_bins: int = 20, min_genes: int = 5) -> StateArray:
    """Return the binary version of expression profiles, each with its own thresholds.
    Of log expression, shape (n_profiles, n_genes), values are 0 below the lower threshold, 1 above the upper one, else
    `UNKNOWN`. The thresholds come from all genes given, so give the whole profile, then pick genes."""
    thresholds = [histogram_thresholds(profile, n_bins=n_bins, min_genes=min_genes) for profile in profiles]
    lower, upper = np.array(thresholds).reshape(-1, 2, 1).transpose(1, 0, 2)
    return np.where(profiles < lower, 0, np.where(profiles > upper, 1, UNKNOWN)).astype(np.int8)
