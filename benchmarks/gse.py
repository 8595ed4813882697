"""GSE, its designs and Peace: against loops over replications, a general solver, and a Kronecker system.

The naive GSE is what one would write with NumPy from the paper, one replication after the other: Algorithm 2 with a
matrix inversion for each candidate of its line search, and least squares on all pulls; its line search stalls after a
few steps, where ours goes on to the optimum. Peace's rival differentiates a matrix root as the authors' code does, by a
d^2 x d^2 system in every iteration, and SciPy's SLSQP for the mirror step.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import optimize

from bestarm.designs.optimal_design import DesignRule, optimal_design
from bestarm.policies.linear.gse import Gse, n_stages
from bestarm.policies.linear.peace import Peace
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_studies.gse.instances import adaptive_instance, sphere_instance

REPEATS = 3
GRID = 0.75 ** np.arange(24)


def _median(measure: Callable[[], float]) -> float:
    return float(np.median([measure() for _ in range(REPEATS)]))


def naive_design(x: np.ndarray, n_steps: int = 100) -> np.ndarray:
    """Return a design by Algorithm 2 with steps 0.75^k, a matrix inversion for each."""
    weights = np.full(len(x), 1.0 / len(x))

    def largest(w: np.ndarray) -> float:
        inverse = np.linalg.inv((x.T * w) @ x + 1e-6 * np.eye(x.shape[1]))
        return float(np.einsum("ki,ij,kj->k", x, inverse, x).max())

    for _ in range(n_steps):
        inverse = np.linalg.inv((x.T * weights) @ x + 1e-6 * np.eye(x.shape[1]))
        vertex = np.eye(len(x))[np.einsum("ki,ij,kj->k", x, inverse, x).argmax()]
        values = [largest((1 - g) * weights + g * vertex) for g in GRID[1:]]
        if values[-1] > largest(weights) - 1e-6:
            break
        step = GRID[1:][int(np.argmin(values))]
        weights = (1 - step) * weights + step * vertex
    return weights


def naive_gse(x: np.ndarray, theta: np.ndarray, sigma: float, budget: int, rng: np.random.Generator) -> int:
    """Return the arm that one run names; every pull is a row of the least squares problem."""
    live = np.arange(len(x))
    n = budget // n_stages(len(x), 2)
    while len(live) > 1:
        _, s, v = np.linalg.svd(x[live], full_matrices=False)
        z = x[live] @ v[s > 1e-9 * s[0]].T
        shares = naive_design(z) * n
        counts = np.floor(shares).astype(int)
        for i in np.argsort(counts - shares)[: n - counts.sum()]:
            counts[i] += 1
        rows = np.repeat(z, counts, axis=0)
        rewards = np.repeat(x[live] @ theta, counts) + sigma * rng.standard_normal(len(rows))
        estimate = np.linalg.lstsq(rows, rewards, rcond=None)[0]
        live = live[np.argsort(-(z @ estimate))[: -(-len(live) // 2)]]
    return int(live[0])


def gse_against_loops() -> pd.DataFrame:
    """Return milliseconds a run: in a batch, one at a time through the same code, and naively."""
    lines = []
    for n_arms, n_features in ((16, 10), (32, 10), (128, 10), (1024, 10)):
        law, budget = sphere_instance(n_arms, n_features), 20 * n_arms
        policy = Gse(budget, allocation="g-optimal")
        n = 1000 if n_arms <= 128 else 50
        batch = law.take(np.arange(n))
        one = law.take(np.arange(1))

        def run(problem, rows, policy=policy, law=law) -> float:
            began = time.perf_counter()
            simulate(policy, problem, Streams(0, law.label, rows), metrics={})
            return time.perf_counter() - began

        run(one, np.arange(1))
        together = _median(lambda: run(batch, np.arange(n)) / n)  # noqa: B023
        alone = _median(lambda: np.mean([run(one, np.arange(1)) for _ in range(20)]))  # noqa: B023
        rng = np.random.default_rng(0)

        def naive() -> float:
            began = time.perf_counter()
            naive_gse(one.features[0], one.theta[0], law.sigma, budget, rng)  # noqa: B023
            return time.perf_counter() - began

        slow = _median(naive)
        line = {"arms": n_arms, "d": n_features, "replications": n, "batch (ms a run)": 1e3 * together}
        line |= {"one at a time": 1e3 * alone, "naive": 1e3 * slow, "ratio": slow / together}
        lines.append(line)
    return pd.DataFrame(lines)


def designs_against_others() -> pd.DataFrame:
    """Return milliseconds a design and the largest leverage: ours, naive Frank-Wolfe, SLSQP on the determinant."""
    lines = []
    for n_arms, d in ((16, 10), (32, 10), (128, 10), (1024, 10), (1024, 50)):
        rng = np.random.default_rng([n_arms, d])
        sets = 200 if n_arms <= 128 else 5
        x = rng.standard_normal((sets, n_arms, d))
        x /= np.linalg.norm(x, axis=2, keepdims=True)
        live = np.ones(x.shape[:2], dtype=bool)
        optimal_design(x[:1], live[:1], DesignRule())
        began = time.perf_counter()
        found = optimal_design(x, live, DesignRule())
        ours = (time.perf_counter() - began) / sets
        began = time.perf_counter()
        naive_design(x[0])
        naive = time.perf_counter() - began
        general = np.nan
        if n_arms <= 32:
            began = time.perf_counter()
            optimize.minimize(
                lambda w, x=x: -np.linalg.slogdet((x[0].T * w) @ x[0])[1],
                np.full(n_arms, 1.0 / n_arms),
                bounds=[(1e-9, 1)] * n_arms,
                constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            )
            general = time.perf_counter() - began
        line = {"arms": n_arms, "d": d, "ours (ms)": 1e3 * ours, "leverage / d": float((found.leverage / d).mean())}
        lines.append(line | {"naive (ms)": 1e3 * naive, "SLSQP (ms)": 1e3 * general, "ratio": naive / ours})
    return pd.DataFrame(lines)


def kronecker_iteration(x: np.ndarray, weights: np.ndarray, directions: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Return the weights after one iteration of stochastic mirror descent as the authors' code does it."""
    d = x.shape[1]
    a = (x.T * weights) @ x
    eigenvalues, q = np.linalg.eigh(a)
    root, inverse = (q / np.sqrt(eigenvalues)) @ q.T, (q / eigenvalues) @ q.T
    system = np.linalg.inv(np.kron(root, np.eye(d)) + np.kron(np.eye(d), root))
    best = directions[np.argmax(directions @ root @ xi)]
    gradient = np.array([-best @ (system @ np.kron(inverse @ u, inverse @ u)).reshape(d, d) @ xi for u in x])
    base, floor = weights / 2 + 0.5 / d, 0.5 / d
    step = 2.0 / d**3 * np.sqrt(0.02)

    def loss(w: np.ndarray) -> float:
        u = w / 2 + floor
        return float(step * gradient @ w + np.sum(u * np.log(u / base) - u + base))

    return optimize.minimize(
        loss, weights, bounds=[(0, 1)] * len(x), constraints={"type": "eq", "fun": lambda w: w.sum() - 1}
    ).x


def peace_against_kronecker() -> pd.DataFrame:
    """Return seconds for 100 runs on the adaptive instance; the rival from a few iterations of its first stage."""
    lines = []
    for n_arms in (8, 16, 32):
        problem, policy = adaptive_instance(n_arms), Peace(20 * n_arms)
        simulate(policy, problem, Streams.first(1), metrics={})
        began = time.perf_counter()
        simulate(policy, problem, Streams.first(100), metrics={})
        ours = time.perf_counter() - began
        x, rng = problem.features, np.random.default_rng(0)
        weights, n_iterations = np.full(n_arms, 1.0 / n_arms), 5 if n_arms < 32 else 2
        began = time.perf_counter()
        for _ in range(n_iterations):
            weights = kronecker_iteration(x, weights, x[0] - x, rng.standard_normal(n_arms - 1))
        each = (time.perf_counter() - began) / n_iterations
        lines.append({"arms": n_arms, "ours (s)": ours, "first stages by Kronecker (s)": each * 100 * 100})
    table = pd.DataFrame(lines)
    return table.assign(ratio=table["first stages by Kronecker (s)"] / table["ours (s)"])


def main() -> None:
    """Print the tables."""
    print("GSE-Lin-FWG, random instances, B/K = 20, one core\n")
    print(gse_against_loops().round(3).to_string(index=False))
    print("\nOptimal designs of random unit arms to within 1%, one core\n")
    print(designs_against_others().round(3).to_string(index=False))
    print("\nPeace, 100 runs, adaptive instance, B/K = 20, one core; the rival's first stage only, extrapolated\n")
    print(peace_against_kronecker().round(2).to_string(index=False))


if __name__ == "__main__":
    main()
