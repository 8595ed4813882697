"""DetD: MeanOpt with a batch that a determinant spreads out.

Idea: arms with large outputs may be alike. The batch has the largest sum of outputs plus lam_div log det K[B, B], where
K is near 1 for arms that are alike; it is built greedily, arm after arm.

Source: Pacchiano, Wulsin, Barton, Voloch. "Neural Design for Genetic Perturbation Experiments". ICLR 2023. Algorithm 2
(OAE-DvD), Appendix B.1, with Equation 3's network.

Deviations: 10^-6 is added to the diagonal, without which arms in one direction have determinant 0. The kernel is that
of directions x / |x|, as printed, of [x, 1] over its norm ("affine"), or of standardised features ("rbf").
"""

from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from bestarm_plain.mean_opt import oae


def kernel_matrix(x: ndarray, kernel: str = "direction", jitter: float = 1e-6) -> ndarray:
    """Return K + jitter I with K_ij = exp(-|u_i - u_j|^2), shape (n, n)."""
    if kernel == "rbf":
        u = (x - x.mean(axis=0)) / x.std(axis=0)
    else:
        rows = x if kernel == "direction" else np.column_stack([x, np.ones(len(x))])
        u = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.exp(-((u[:, None] - u) ** 2).sum(axis=2)) + jitter * np.eye(len(x))


def diverse_batch(f: ndarray, U: list[int], b: int, *, K: ndarray, lam_div: float = 1.0) -> list[int]:
    """Return the greedy batch: the largest f, then again and again the best sum of f plus log determinant."""
    B = [max(U, key=lambda a: f[a])]
    while len(B) < b:

        def value(a: int) -> float:
            batch = [*B, a]
            return f[batch].sum() + lam_div * np.linalg.slogdet(K[np.ix_(batch, batch)])[1]

        B.append(max((a for a in U if a not in B), key=value))
    return B


def det_d(
    x: ndarray,
    *given: Any,
    features: ndarray | None = None,  # of the kernel, where the network's inputs x are scaled
    diversity: float = 1.0,
    kernel: str = "direction",
    **others: Any,
) -> int:
    """Return the best arm measured; other arguments as of `mean_opt.oae`, whose batches are chosen by a determinant."""
    K = kernel_matrix(x if features is None else features, kernel)
    return oae(x, *given, choose=partial(diverse_batch, K=K, lam_div=diversity), **others)
