"""FastXML: an ensemble of trees that ranks many labels, fitted and asked like a scikit-learn estimator."""

from dataclasses import dataclass, field
from typing import Any, Self

import joblib
import numpy as np
import scipy.sparse as sparse
from numba import njit

from bestarm.interface import FloatArray, IntArray
from bestarm.streams import Streams
from bestarm_objectives.fastxml.label_tree import LabelTree, SparseRows, add_shares, grow_tree, leaves


def sparse_rows(matrix: Any) -> SparseRows:
    """Return a matrix, dense or sparse, by rows; entries that are 0 are left out.
    Raises ValueError if it has no two dimensions, or an entry is not finite."""
    rows = sparse.csr_matrix(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        raise ValueError("features and labels must be finite; impute or drop what is missing.")
    return SparseRows(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)


@njit(cache=True)
def precision_sums(scores: FloatArray, starts: IntArray, labels: IntArray, most: int) -> FloatArray:
    """Return the mean precision at 1, ..., ``most``; of equal scores the label of smaller number comes first."""
    n, n_labels = scores.shape
    hits, best = np.zeros(most), np.empty(most, dtype=np.int64)
    for i in range(n):
        filled = 0
        for label in range(n_labels):
            value = scores[i, label]
            if filled == most and value <= scores[i, best[most - 1]]:
                continue
            # insertion among the best so far, the largest score first
            at = min(filled, most - 1)
            while at > 0 and value > scores[i, best[at - 1]]:
                best[at] = best[at - 1]
                at -= 1
            best[at] = label
            filled = min(filled + 1, most)
        for rank in range(filled):
            for p in range(starts[i], starts[i + 1]):
                if labels[p] == best[rank]:
                    # a hit at this rank counts in the precision at every later one
                    for k in range(rank, most):
                        hits[k] += 1.0
                    break
    return hits / (n * np.arange(1, most + 1))


@dataclass(eq=False)
class FastXML:
    r"""Trees for multi-label learning with many labels.

    A node starts from random sides :math:`\delta_i=\pm1` of its points. By turns, the labels are ranked on each side by
    the normalised gain of the points there, and points move to the side that ranks their labels better, until the mean
    nDCG stands still. A sparse linear separator is then fitted to the sides once, by logistic regression with an
    :math:`L_1` penalty and costs that give both sides the same weight, and its signs send the points to two children. A
    leaf has the shares of its labels; a forest averages them. Raises ValueError on `fit`, for a parameter out of range,
    or features and labels of different lengths.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.eye(2)[[0, 0, 0, 1, 1, 1]]
    >>> model = FastXML(n_trees=5, log_loss=10.0, max_leaf=2).fit(features, features)
    >>> model.precision_at_k(features, features)
    1.0
    """

    n_trees: int = 50
    bias: float = 1.0  # value of one more feature that every point has
    log_loss: float = 1.0  # cost of the logistic loss beside the penalty
    max_leaf: int = 10  # points in a leaf at most, if it can be split
    labels_per_leaf: int = 100  # labels kept of a leaf, the most frequent ones
    seed: int = 0  # of the random sides; tree t is the same whatever ``n_trees``
    n_jobs: int = 1  # threads that grow trees, which do not depend on it
    trees_: list[LabelTree] = field(default_factory=list, init=False, repr=False)
    n_features_in_: int = field(default=0, init=False, repr=False)
    n_labels_: int = field(default=0, init=False, repr=False)

    def fit(self, features: Any, labels: Any, described: int = 0) -> Self:
        """Grow the trees.
        Rows of ``features`` and ``labels``, arrays or sparse matrices, are the points; a label is there where it is not
        0. For ``described`` see `bestarm_objectives.fastxml.label_tree.grow_tree`."""
        for name, least in {"n_trees": 1, "max_leaf": 1, "labels_per_leaf": 1}.items():
            if getattr(self, name) != int(getattr(self, name)) or getattr(self, name) < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {getattr(self, name)}.")
        if not 0 < self.log_loss < np.inf or not np.isfinite(self.bias):
            raise ValueError(f"log_loss must be positive and bias finite, got {self.log_loss} and {self.bias}.")
        points, wanted = sparse_rows(features), sparse_rows(labels)
        if len(points.starts) != len(wanted.starts) or len(points.starts) < 3:
            raise ValueError(
                f"features and labels must have the same rows, at least 2, got {len(points.starts) - 1} and "
                f"{len(wanted.starts) - 1}."
            )
        self.n_features_in_, self.n_labels_ = int(features.shape[1]), int(labels.shape[1])
        key = Streams.first(1, seed=int(self.seed), instance="FastXML").key("sides")
        self.trees_ = joblib.Parallel(n_jobs=self.n_jobs, backend="threading")(
            joblib.delayed(grow_tree)(
                points,
                wanted,
                (self.n_features_in_, self.n_labels_),
                float(self.bias),
                float(self.log_loss),
                int(self.max_leaf),
                int(self.labels_per_leaf),
                described,
                key,
                tree,
            )
            for tree in range(int(self.n_trees))
        )
        return self

    def predict_proba(self, features: Any) -> FloatArray:
        """Return the mean share of every label in the leaves of each point, shape (n, n_labels)."""
        points = self._points(features)
        scores, cuts = np.zeros((len(points.starts) - 1, self.n_labels_)), np.array([int(self.max_leaf)])
        for tree in self.trees_:
            nodes = leaves(tree, points, self.n_features_in_, float(self.bias), cuts)[0]
            add_shares(scores, nodes, tree, int(self.labels_per_leaf))
        return scores / len(self.trees_)

    def predict(self, features: Any, k: int = 1) -> IntArray:
        """Return the k labels of largest score of each point, the largest first, shape (n, k)."""
        return np.argsort(-self.predict_proba(features), axis=1, kind="stable")[:, :k]

    def precision_at_k(self, features: Any, labels: Any, k: int = 1) -> float:
        """Return the share of the k first labels that the points have, on average over the points."""
        rows = sparse_rows(labels)
        return float(precision_sums(self.predict_proba(features), rows.starts, rows.columns, k)[k - 1])

    def _points(self, features: Any) -> SparseRows:
        if not self.trees_:
            raise ValueError("this FastXML has no trees yet; call fit first.")
        if features.shape[1] != self.n_features_in_:
            raise ValueError(f"features must have {self.n_features_in_} columns as in fit, got {features.shape[1]}.")
        return sparse_rows(features)
