r"""Points and averaging matrix of cells, for each kind of feedback that a `Partition` knows.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022. Equation 1, Appendix D.
"""

from __future__ import annotations

import numpy as np

from bestarm.interface import FloatArray, IntArray
from bestarm.kernels import quadrature
from bestarm.partition import Partition
from bestarm_studies.gpoo.aggregated_gp import average_cells


def observed_averages(partition: Partition, cells: IntArray, lengthscale: float) -> tuple[FloatArray, FloatArray]:
    """Return the points, shape (n, d), and the matrix A, shape (t, n), of the rewards of cells, shape (t,).

    Averages over whole cells have the nodes and the weights of a quadrature that is exact to rounding for functions
    that vary on the scale of ``lengthscale``; a row of A for an integral sums to the cell's volume.
    """
    cells = np.asarray(cells)
    if partition.feedback == "representatives":
        return average_cells(partition, cells)
    lower, upper = partition.bounds(cells)
    rules = [quadrature(low, high, lengthscale) for low, high in zip(lower, upper, strict=True)]
    sizes = [len(weights) for _, weights in rules]
    averaging, begin = np.zeros((len(cells), sum(sizes))), 0
    volumes = (upper - lower).prod(axis=1) if partition.feedback == "integral" else np.ones(len(cells))
    for row, (_, weights) in enumerate(rules):
        averaging[row, begin : begin + len(weights)] = volumes[row] * weights
        begin += len(weights)
    return np.concatenate([nodes for nodes, _ in rules]), averaging
