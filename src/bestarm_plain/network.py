"""A network with ReLU units, fitted by Adam to rewards and towards large outputs; the pages of OAE share it.

The loss is the mean squared error on arms measured, minus lam times an objective A on arms left (OAE paper, Eq. 3).
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy import ndarray

Layers = list[tuple[ndarray, ndarray]]  # weights (in, out) and biases (out,)


class Draws:
    """Initial weights and minibatches of one network; the pages take any object with these two methods."""

    def __init__(self, *name: int) -> None:
        self.rng = np.random.default_rng(name)

    def weights(self, sizes: tuple[int, ...]) -> Layers:
        """Return weights uniform within sqrt(6 / (in + out)) (Glorot, Bengio 2010), and no biases."""
        reach = [(np.sqrt(6 / (n + m)), n, m) for n, m in pairwise(sizes)]
        return [(self.rng.uniform(-r, r, (n, m)), np.zeros(m)) for r, n, m in reach]

    def minibatch(self, step: int, n: int, m: int, u: int, m_pool: int) -> tuple[ndarray, ndarray]:
        """Return places of at most m of n arms measured and of at most m_pool of u arms left, without replacement."""
        return self.rng.permutation(n)[:m], self.rng.permutation(u)[:m_pool]


Named = Callable[[int, int, int], Draws]  # the draws of a network by its round, place in the batch and member


def outputs(layers: Layers, x: ndarray) -> list[ndarray]:
    """Return the activations of every layer, shape (n, units); the last is f."""
    found = [x]
    for W, c in layers[:-1]:
        found.append(np.maximum(found[-1] @ W + c, 0))
    return [*found, found[-1] @ layers[-1][0] + layers[-1][1]]


def slope_of(objective: str, f: ndarray) -> ndarray:
    """Return the derivative of A by each output f: of its mean, of the mean of max(0, f)^4, of log sum exp."""
    if objective == "hinge":
        return 4 * np.maximum(f, 0) ** 3 / len(f)
    if objective == "softmax":
        shares = np.exp(f - f.max())
        return shares / shares.sum()
    return np.full(f.shape, 1 / len(f))


def fitted(
    x: ndarray,  # arms measured, shape (n, d)
    y: ndarray,
    left: ndarray,  # arms left, shape (u, d)
    lam: float,
    draws: Draws,
    *,
    objective: str = "avg",
    hidden: tuple[int, ...] = (100, 10),
    steps: int = 5000,
    learning_rate: float = 0.01,
    minibatch: int = 10,
    pool_minibatch: int | None = None,
) -> Callable[[ndarray], ndarray]:
    """Return f, fitted by so many steps of Adam from a fresh start."""
    layers = draws.weights((x.shape[1], *hidden, 1))
    m_pool = (pool_minibatch or (256 if objective == "softmax" else 10)) if lam else 0
    first = [[np.zeros_like(p) for p in layer] for layer in layers]
    second = [[np.zeros_like(p) for p in layer] for layer in layers]
    for step in range(steps):
        rows, pool = draws.minibatch(step, len(x), minibatch, len(left), m_pool)
        h = outputs(layers, np.concatenate([x[rows], left[pool]]))
        f, k = h[-1][:, 0], len(rows)
        slope = np.concatenate([2 / k * (f[:k] - y[rows]), -lam * slope_of(objective, f[k:]) if len(pool) else f[k:]])
        slope = slope[:, None]
        for number in range(len(layers) - 1, -1, -1):  # backwards
            W, gradient = layers[number][0], (h[number].T @ slope, slope.sum(axis=0))
            slope = (slope @ W.T) * (h[number] > 0)
            for p, g, m, v in zip(layers[number], gradient, first[number], second[number], strict=True):
                m += 0.1 * (g - m)
                v += 0.001 * (g**2 - v)
                p -= learning_rate * m / (1 - 0.9 ** (step + 1)) / (np.sqrt(v / (1 - 0.999 ** (step + 1))) + 1e-8)
    return lambda z: outputs(layers, z)[-1][:, 0]
