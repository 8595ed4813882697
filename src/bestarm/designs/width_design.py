r"""Designs that make a Gaussian width small: how far the largest of correlated estimates strays.

With :math:`A(\lambda)=\sum_j\lambda_jx_jx_j^\top` and directions v, the width is
:math:`f(\lambda)=E_{\xi\sim N(0,I)}\max_vv^\top A(\lambda)^{-1/2}\xi`. Its gradient needs no Kronecker system: with
:math:`A=Q\,\mathrm{diag}(a)\,Q^\top`, :math:`s=a^{-1/2}`, :math:`u_j=Q^\top A^{-1}x_j` and the maximising v,

.. math:: \partial_{\lambda_j}v^\top A^{-1/2}\xi=-\sum_{kl}\frac{(Q^\top v)_k(Q^\top\xi)_l}{s_k+s_l}u_{jk}u_{jl},

so a gradient costs :math:`O(nd^2+d^3)`, however many :math:`\xi` there are.

References
----------
.. [1] Katz-Samuels, Jain, Karnin, Jamieson. "An Empirical Process Approach to the Union Bound: Practical Algorithms for
   Combinatorial and Linear Bandits". NeurIPS 2020.
.. [2] Azizi, Kveton, Ghavamzadeh. "Fixed-Budget Best-Arm Identification in Structured Bandits". IJCAI 2022. Appendix E.
"""

import numpy as np
from numba import njit

from bestarm.interface import FloatArray
from bestarm.streams import standard_normal

_BISECTIONS = 100
_SMALLEST = 1e-12
_LEAST_SHARE = 1e-3  # of the uniform weight: at weight 0 the gradient need not exist


@njit(cache=True)
def normals(key: np.uint64, replication: int, item: int, n: int, d: int) -> FloatArray:
    """Return n standard normal vectors, shape (n, d)."""
    found = np.empty((n, d))
    for i in range(n):
        for k in range(d):
            found[i, k] = standard_normal(key, replication, item, i * d + k)
    return found


@njit(cache=True)
def width(x: FloatArray, weights: FloatArray, directions: FloatArray, xi: FloatArray, gradient: FloatArray) -> float:
    """Return the mean over ``xi`` of the largest v' A^-1/2 xi, and write its gradient.

    ``x`` (ndarray, shape (n, d)): arms that the design weighs; they span everything; ``weights`` (ndarray, shape (n,)):
    the design, not negative; its support spans everything; ``directions`` (ndarray, shape (m, d)): v; ``xi`` (ndarray,
    shape (n_draws, d)): draws; ``gradient`` (ndarray, shape (n,)): overwritten."""
    n, d = x.shape
    a = np.zeros((d, d))
    for j in range(n):
        for k in range(d):
            for m in range(d):
                a[k, m] += weights[j] * x[j, k] * x[j, m]
    eigenvalues, q = np.linalg.eigh(a)  # A = Q diag(a) Q', s = a^-1/2
    eigenvalues = np.maximum(eigenvalues, _SMALLEST)
    s = 1.0 / np.sqrt(eigenvalues)
    turned, rotated = directions @ q, xi @ q
    middle, value = np.zeros((d, d)), 0.0
    for i in range(len(xi)):
        heights = turned @ (s * rotated[i])  # v'A^-1/2 xi for every direction v
        best = int(np.argmax(heights))
        value += heights[best]
        # the sum over draws of (Q'v)_k (Q'xi)_l / (s_k + s_l)
        for k in range(d):
            for m in range(d):
                middle[k, m] += turned[best, k] * rotated[i, m] / (s[k] + s[m])
    # u_j = Q'A^-1 x_j; the gradient is minus the form u_j' middle u_j, averaged over draws
    u = (x @ q) / eigenvalues
    bent = u @ middle
    for j in range(n):
        gradient[j] = -np.sum(bent[j] * u[j]) / len(xi)
    return value / len(xi)


@njit(cache=True)
def mirror_step(weights: FloatArray, gradient: FloatArray, step: float, floor: float) -> FloatArray:
    r"""Return the mirror step with the negative entropy of :math:`w/2+c`, c the floor, on the simplex.

    Minimises :math:`\kappa g^\top w+D(w,w_t)`: :math:`w/2+c=\max((w_t/2+c)e^{-2\kappa g-\nu},c)` with :math:`\nu` such
    that the weights sum to 1; then no weight is left below a thousandth of 1/n.
    """
    base = 0.5 * weights + floor
    exponent = -2.0 * step * gradient
    low, high = exponent.min() - 60.0, exponent.max() + 60.0
    found = weights.copy()
    for _ in range(_BISECTIONS):  # bisection for nu: the larger it is, the smaller the weights
        shift = 0.5 * (low + high)
        total = 0.0
        for j in range(len(weights)):
            found[j] = 2.0 * max(base[j] * np.exp(exponent[j] - shift) - floor, 0.0)
            total += found[j]
        if shift in (low, high):  # there is no number between them
            break
        if total > 1.0:
            low = shift
        else:
            high = shift
    found = np.maximum(found, _LEAST_SHARE / len(weights))
    return found / found.sum()


@njit(cache=True)
def mirror_descent(
    x: FloatArray, directions: FloatArray, key: np.uint64, replication: int, item: int, shift: float, delta: float
) -> FloatArray:
    r"""Return the average of T iterates of stochastic mirror descent from uniform, as the code of [2]_ runs it.

    One :math:`\xi` an iteration, :math:`T=\min(100,\max(10,2\ln^2(d)d^3/(b^2\delta^2)))`,
    :math:`\kappa=\frac{2b^2}{d^3}\sqrt{2/T}`, mirror map the entropy of :math:`\lambda/2+1/(2d)`.
    """
    n, d = x.shape
    # T and kappa as above; the shift is b
    n_steps = int(min(100.0, max(10.0, 2.0 * np.log(d) ** 2 * d**3 / (shift**2 * delta**2))))
    step = 2.0 * shift**2 / d**3 * np.sqrt(2.0 / n_steps)
    xi = normals(key, replication, item, n_steps, d)
    weights, gradient, total = np.full(n, 1.0 / n), np.empty(n), np.zeros(n)
    for t in range(n_steps):
        total += weights
        width(x, weights, directions, xi[t : t + 1], gradient)  # a stochastic gradient, from one draw
        weights = mirror_step(weights, gradient, step, 0.5 / d)
    return total / n_steps


@njit(cache=True)
def exponentiated_gradient(
    x: FloatArray, directions: FloatArray, key: np.uint64, replication: int, item: int, n_draws: int, n_steps: int
) -> FloatArray:
    """Return the best design by exponentiated gradients on common draws, whose steps grow while the width falls."""
    n, d = x.shape
    xi = normals(key, replication, item, n_draws, d)
    weights, gradient, trial_gradient = np.full(n, 1.0 / n), np.empty(n), np.empty(n)
    value = width(x, weights, directions, xi, gradient)
    step = 1.0
    for _ in range(n_steps):
        scale = np.abs(gradient).max()
        if scale == 0.0 or step < 1e-6:
            break
        # a multiplicative step, with the gradient scaled to entries of at most 1
        trial = weights * np.exp(-step * (gradient - gradient.min()) / scale)
        trial = np.maximum(trial / trial.sum(), _LEAST_SHARE / n)
        trial /= trial.sum()
        reached = width(x, trial, directions, xi, trial_gradient)
        if reached < value:  # taken only if the width falls
            weights, value, step = trial, reached, 1.3 * step
            gradient[:] = trial_gradient
        else:
            step *= 0.5
    return weights
