r"""Information: parts of all bounds and of their figures, Theorem 6.8 on its growth, the chain rule of Section 3.2.

Chain rule: sums of :math:`\log(1+\sigma_{t-1,b}^2/\sigma^2)` beside log determinants. Beside the paper: Srinivas,
Krause, Kakade and Seeger, IEEE Transactions on Information Theory 2012; submodular maximisation, Nemhauser, Wolsey and
Fisher, Mathematical Programming 1978.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bestarm.interface import FloatArray
from bestarm.policies.gaussian.batch_gp import BatchGP
from bestarm.policies.gaussian.gp_state import BatchGPState
from bestarm_lab.claims.cells import Rows, Test
from bestarm_lab.claims.records import Check
from bestarm_lab.claims.verdicts import Decision
from bestarm_lab.experiments.observed import watched
from bestarm_lab.figures.figures import WIDTH, draw_lines, headed, legend_below, wide
from bestarm_lab.figures.styles import DOTS, Style
from bestarm_lab.figures.values import as_values
from bestarm_studies.dpp_bbo.candidate_arms import CandidateArms, Maker
from bestarm_studies.dpp_bbo.gp_draws import DRAWN, FUNCTIONS, kernel_matrix
from bestarm_studies.dpp_bbo.moments import dpp_kernel, hallucinated
from bestarm_studies.dpp_bbo.values import ROUNDING

GREEDY = float(np.e / (np.e - 1.0))  # the largest information is at most so many times the greedy one (Nemhauser)
NOISE = DRAWN["sigma"] ** 2
N_ARMS, DELTA, BATCH = 400, 0.05, 5  # of the searches of drawn functions
RATE_STYLES = {
    "eigenvalues, length-scale 0.2": Style("#0072B2", ""),
    "eigenvalues, length-scale 0.05": Style("#882255", "", "--"),
    "greedy sets, length-scale 0.2": Style("#C17C00", "o", DOTS),
}


def ucb_beta(n_arms: float, t: Any, delta: float) -> Any:
    r"""Return :math:`\beta_t=2\log(|X|t^2\pi^2/(6\delta))`."""
    return 2.0 * np.log(n_arms * np.asarray(t) ** 2 * np.pi**2 / (6.0 * delta))


def zeta(t: Any, delta: float, divisor: float) -> Any:
    r"""Return :math:`\zeta_t=2\log(\pi^2t^2/(a\delta))`: a is 1 in Theorem 2.1, 3 in Theorems 3.3 and 3.4."""
    return 2.0 * np.log(np.pi**2 * np.asarray(t) ** 2 / (divisor * delta))


def per_information(factor: float, noise: float) -> float:
    r"""Return :math:`c/\log(1+\sigma^{-2})`: c is 2 in Theorem 2.1, 8 in Srinivas, 36 in Theorems 3.3 and 3.4."""
    return float(factor / np.log1p(1.0 / noise))


def greedy_information(kernel: FloatArray, noise: float, n: int) -> FloatArray:
    r"""Return :math:`\frac12\log\det(I+\sigma^{-2}K_A)` of the greedy sets of 1, ..., n arms, which may repeat.
    Every arm is the one with the largest variance given those before. Time is O(n m^2) for m arms."""
    covariance, found = np.array(kernel, dtype=np.float64), np.empty(n)
    for t in range(n):
        pick = int(np.argmax(np.diagonal(covariance)))
        column = covariance[pick] / np.sqrt(covariance[pick, pick] + noise)
        found[t] = 0.5 * np.log1p(covariance[pick, pick] / noise)
        covariance -= np.outer(column, column)
    return np.cumsum(found)


def regret_bound(factor: float, n: Any, root: Any, information: Any, noise: float) -> Any:
    r"""Return :math:`\sqrt{Cn\gamma_n}` times a width, C of `per_information`: the form of all the theorems."""
    return np.sqrt(per_information(factor, noise) * np.asarray(n) * information) * root


def stacked(parts: Sequence[tuple[float, Callable[..., object]]], title: str, *settings: str) -> Figure:
    """Return a figure of parts, one below the other, each with a legend of its own.
    A part has a height in inches and a function that draws into a subfigure, ``figure``."""
    heights = [height for height, _ in parts]
    figure = plt.figure(figsize=(WIDTH, sum(heights)))
    places: Any = figure.subfigures(len(parts), 1, height_ratios=heights)
    for place, (_, draw) in zip(places, parts, strict=True):
        draw(figure=place)
    return headed(figure, title, *settings)


@cache
def draw_kernel() -> FloatArray:
    """Return the kernel matrix of the candidates that all drawn functions share."""
    return kernel_matrix(FUNCTIONS(replications=1).features, DRAWN["lengthscale"])


@cache
def draw_information(n: int) -> FloatArray:
    r"""Return upper bounds on :math:`\gamma_1,\dots,\gamma_n` of these candidates: e/(e - 1) times the greedy sets'."""
    return GREEDY * greedy_information(draw_kernel(), NOISE, n)


def kernel_eigenvalues(lengthscale: float, n_nodes: int = 400, n_terms: int = 400) -> FloatArray:
    r"""Return the eigenvalues of the squared-exponential kernel's operator on [0, 1] with the uniform law.
    By Gauss and Legendre's quadrature. With x from the middle, :math:`k(x,y)=\sum_n\phi_n(x)\phi_n(y)` and
    :math:`\phi_n(x)=e^{-x^2/2\ell^2}(x/\ell)^n/\sqrt{n!}`, so that they are squared singular values of
    :math:`\sqrt{w_i}\phi_n(x_i)`, right down to the square of the rounding."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    x = 0.5 * nodes / lengthscale
    features = np.empty((n_nodes, n_terms))
    features[:, 0] = np.exp(-0.5 * x**2)
    for n in range(1, n_terms):
        features[:, n] = features[:, n - 1] * x / np.sqrt(n)
    return np.asarray(np.linalg.svd(np.sqrt(0.5 * weights)[:, None] * features, compute_uv=False) ** 2)


def information_gain(eigenvalues: FloatArray, sizes: FloatArray, noise: float) -> FloatArray:
    r"""Return :math:`\frac12\sum_i\log(1+\sigma^{-2}S\lambda_i)` for each S: the rate of :math:`\gamma_S`."""
    return np.array([0.5 * np.log1p(s * eigenvalues / noise).sum() for s in sizes])


def operator_eigenvalues(lengthscale: float, dimension: int, floor: float = 1e-22) -> FloatArray:
    """Return the eigenvalues above ``floor`` of the operator on the cube: products of those on [0, 1]."""
    one = kernel_eigenvalues(lengthscale)
    found = one = one[one > floor]
    for _ in range(dimension - 1):
        found = np.outer(found, one).ravel()
        found = found[found > floor]
    return np.sort(found)[::-1]


def local_slopes(sizes: FloatArray, information: FloatArray) -> FloatArray:
    r"""Return the slope of :math:`\log\gamma` against :math:`\log\log S` between neighbouring sizes."""
    return np.asarray(np.diff(np.log(information)) / np.diff(np.log(np.log(sizes))))


def rate_values(profile: str, grids: Mapping[int, int], most: int = 4096) -> pd.DataFrame:
    r"""Return local slopes of :math:`\log\gamma_S` against :math:`\log\log S`, by eigenvalues and by greedy sets.
    ``grids`` maps dimensions to the points on a side of the grid from which greedy sets of up to ``most`` are taken."""
    sizes, frames = 10.0 ** np.arange(1.0, 13.0, 0.5), []
    for dimension, lengthscale in ((1, 0.2), (2, 0.2), (2, 0.05)):
        gains = information_gain(operator_eigenvalues(lengthscale, dimension), sizes, NOISE)
        line = pd.DataFrame({"x": np.sqrt(sizes[1:] * sizes[:-1]), "value": local_slopes(np.asarray(sizes), gains)})
        frames.append(line.assign(panel=f"d = {dimension}", series=f"eigenvalues, length-scale {lengthscale:g}"))
    powers = 2.0 ** np.arange(6, int(np.log2(most)) + 1)
    for dimension, side in grids.items():
        axes = np.meshgrid(*[np.linspace(0.0, 1.0, side)] * dimension)
        gains = greedy_information(kernel_matrix(np.stack([a.ravel() for a in axes], axis=1), 0.2), NOISE, most)
        slopes = local_slopes(np.asarray(powers), gains[powers.astype(int) - 1])
        line = pd.DataFrame({"x": np.sqrt(powers[1:] * powers[:-1]), "value": slopes})
        frames.append(line.assign(panel=f"d = {dimension}", series="greedy sets, length-scale 0.2"))
    return as_values(pd.concat(frames), statistic="slope", profile=profile)


def rate_figure(values: pd.DataFrame, *, title: str, setting: str = "") -> Figure:
    """Return local slopes of the information's logarithm with the claimed slope d and the older one, d + 1."""
    panels = list(dict.fromkeys(values["panel"]))
    figure, axes = plt.subplots(1, len(panels), figsize=wide(1, 2.8))
    for axis, panel in zip(axes, panels, strict=True):
        draw_lines(axis, values[values["panel"] == panel], list(RATE_STYLES), marks="none", styles=RATE_STYLES)
        d = int(panel.split()[-1])
        axis.axhline(d, color="0.2", ls="--", lw=1.0, label="d: Theorem 6.8", zorder=1)
        axis.axhline(d + 1, color="0.5", ls="-.", lw=1.0, label="d + 1: the older rate", zorder=1)
        axis.set(title=panel, xlabel="S", xscale="log", ylim=(0.5 * d, d + 1.15))
    axes[0].set_ylabel("local slope of log γ in log log S")
    legend_below(figure)
    return headed(figure, title, setting)


def information_rate(test: Test) -> Decision:
    """Check that the slope of log γ in log log S is at most d just below ``largest``, by the operator's eigenvalues."""
    found = {}
    for dimension, lengthscale in test["kernels"]:
        sizes = np.array([test["largest"] / 10.0, test["largest"]])
        gains = information_gain(operator_eigenvalues(lengthscale, dimension), sizes, NOISE)
        found[dimension, lengthscale] = float(local_slopes(sizes, gains)[0])
    words = [f"slope {slope:.2f} for d = {d}, length-scale {scale:g}" for (d, scale), slope in found.items()]
    holds = all(slope <= d for (d, _), slope in found.items())
    return Decision(holds, f"at S = {test['largest']:.0e}: {', '.join(words)}")


def chain_rule_rows(
    policy: BatchGP, problem: Maker, replications: int, *, seed: int = 0, workers: int = 1
) -> pd.DataFrame:
    r"""Return how far sums of :math:`\log(1+\sigma_{t-1,b}^2/\sigma^2)` are from log determinants, batch by batch."""
    functions, generator = problem(replications=replications), np.random.default_rng(0)
    prior = kernel_matrix(functions.features, float(np.ravel(policy.model.lengthscale)[0]))

    def look(state: BatchGPState, part: CandidateArms) -> list[dict[str, Any]] | None:
        batch, lines = hallucinated(state), []
        if not batch:
            return None
        first, last = batch.start, batch.stop
        for r, replication in enumerate(state.replications):
            gains = state.pivots[r, :last] ** 2 / state.noise[r]
            arms = generator.permutation(state.conditioned[r, first + 1 : last])
            of_batch = np.log(gains[first]) + np.linalg.slogdet(dpp_kernel(state, r, arms))[1]
            every = state.conditioned[r, :last]
            whole = np.linalg.slogdet(np.eye(last) + prior[np.ix_(every, every)] / state.noise[r])[1]
            deviations = np.sqrt((gains[first:] - 1.0) * state.noise[r])
            printed = float(np.log1p(deviations / state.noise[r]).sum())
            errors = {
                "batch_error": abs(np.log(gains[first:]).sum() - of_batch),
                "run_error": abs(np.log(gains).sum() - whole),
                "misprint": abs(printed - of_batch),
            }
            lines.append({"replication": int(replication), "batch": state.round} | errors)
        return lines

    return watched(policy, functions, look, replications, seed=seed)


def chain_rule(test: Test, rows: Rows) -> Decision:
    """Check the sums of log(1 + variance / noise) against determinants: of every batch, in any order, and of a run."""
    (name,) = test["experiments"]
    mine = rows[name]
    largest, misprint = float(mine[["batch_error", "run_error"]].max().max()), float(mine["misprint"].max())
    text = f"equal to {largest:.0e} in {len(mine)} batches; with σ for σ², as printed, up to {misprint:.1f} off"
    return Decision(largest < ROUNDING * 100, text, informative=len(mine) > 0, checked=f"{len(mine)} batches")


CHECKS = {
    "chain_rule": Check(chain_rule),
    "information_rate": Check(information_rate, {"kernels": "any", "largest": "number"}),
}
