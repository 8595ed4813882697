"""Batched Gaussian process search: k-DPP samples against DPPy, replications at once against one at a time, growth.

The plain loop is what anybody writes for one replication: at every batch the posterior from scratch with SciPy's
Cholesky, in the batch one conditioning after the other with NumPy, and a sample by the down-up chain whose conditional
variances are vectors over the region. It has the policies' steps, not their draws. Seconds are processor time of one
thread, so that other work on the machine is not counted. DPPy and BoTorch are optional: a line says what is absent.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import importlib.util
import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from benchmarks.q_log_nei import QLogNEI
from bestarm.designs.k_dpp_chains import Entries, explicit, run_chain
from bestarm.designs.k_dpp_mixing import down_up_steps, sequential_deficit
from bestarm.interface import FloatArray
from bestarm.models.gp_hyper import GammaPriors, log_posterior, squared_differences
from bestarm.policies.gaussian.batch_gp import BatchGP, lp_ucb, ucb_dpp_max, ucb_dpp_sample
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.simulate import simulate
from bestarm.streams import Streams

SIGNAL, LENGTHSCALE, NOISE = 1.0, 0.2, 0.01
KNOWN = GPModel.frozen(LENGTHSCALE, SIGNAL, NOISE)


def covariance(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the prior covariances of points."""
    squared = ((x[:, None] - y[None]) ** 2).sum(axis=-1)
    return np.asarray(SIGNAL * np.exp(-0.5 * squared / LENGTHSCALE**2))


def hills(replications: int, n_arms: int, n_features: int = 2) -> NoiselessArms:
    """Return a smooth function on random points, those of each replication its own."""
    x = np.random.default_rng(0).random((replications, n_arms, n_features))
    return NoiselessArms("hills", x, np.sin(6 * x[..., 0]) * np.cos(5 * x[..., 1]), 0.1)


def _seconds(call: Callable[[], Any], repeats: int = 1) -> float:
    """Return the least processor time of a call."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


def sampler_against_dppy(n: int = 2048, k: int = 9, observed: int = 50) -> pd.DataFrame:
    """Return microseconds a sample of the same posterior kernel, as a search has it: a new kernel at every batch."""
    x = np.random.default_rng(0).random((n, 2))
    factor = np.linalg.cholesky(covariance(x[:observed], x[:observed]) + NOISE * np.eye(observed))
    rows = np.ascontiguousarray(solve_triangular(factor, covariance(x[:observed], x), lower=True))
    kernel = np.eye(n) + (covariance(x, x) - rows.T @ rows) / NOISE
    kernel = (kernel + kernel.T) / 2
    diagonal = np.diag(kernel).copy()
    steps = down_up_steps(sequential_deficit(diagonal.sum(), 1.0, n, k), k, 0.01)
    none, key = np.zeros(0, dtype=np.int64), Streams.first(1).key("benchmark")
    points = np.ascontiguousarray(x.T / LENGTHSCALE)
    posterior = Entries(np.zeros((0, 0)), points, rows, SIGNAL, 0.0, 1.0 / NOISE, 1.0)
    lines = []
    for name, entries in (("ours, posterior without its matrix", posterior), ("ours, explicit", explicit(kernel))):
        run_chain(entries, diagonal, none, k, 2, False, key, 0, 0)

        def many(entries: Entries = entries) -> None:
            for r in range(200):
                run_chain(entries, diagonal, none, k, steps, False, key, r, 0)

        lines.append({"sampler": f"{name}, {steps} steps", "microseconds": 1e6 * _seconds(many) / 200})
    try:
        from dppy.finite_dpps import FiniteDPP
    except ImportError:
        print("DPPy is not installed: its lines are left out.")
        return pd.DataFrame(lines)
    rng = np.random.RandomState(0)  # DPPy asks for it
    dpp = FiniteDPP("likelihood", L=kernel)
    first = _seconds(lambda: dpp.sample_exact_k_dpp(size=k, random_state=rng))
    again = _seconds(lambda: dpp.sample_exact_k_dpp(size=k, random_state=rng), 3)
    lines.append({"sampler": "DPPy, exact, a new kernel", "microseconds": 1e6 * first})
    lines.append({"sampler": "DPPy, exact, the same kernel again", "microseconds": 1e6 * again})
    table = pd.DataFrame(lines)
    return table.assign(ratio=table["microseconds"] / table["microseconds"].iloc[0])


def plain_loop(x: FloatArray, f: FloatArray, batch: int, rounds: int, rule: str, rng: np.random.Generator) -> None:
    """Run UCB-DPP-MAX or UCB-DPP-SAMPLE on one replication, with NumPy and SciPy."""
    n = len(x)
    seen = [int(rng.integers(n))]
    y = [f[seen[0]] + 0.1 * rng.standard_normal()]
    for t in range(1, rounds + 1):
        own = covariance(x[seen], x[seen]) + NOISE * np.eye(len(seen))
        factor, cross = cho_factor(own, lower=True), covariance(x[seen], x)
        mean = cross.T @ cho_solve(factor, np.array(y))
        rows = solve_triangular(factor[0], cross, lower=True)
        variance = np.maximum(SIGNAL - (rows**2).sum(axis=0), 0.0)
        width, wider = (np.sqrt(2 * np.log(n * s**2 * np.pi**2 / 0.3)) for s in (t, t + 1))
        chosen = [int((mean + width * np.sqrt(variance)).argmax())]
        deviation = np.sqrt(variance)
        region = np.flatnonzero(mean + 2 * wider * deviation >= (mean - width * deviation).max())

        def condition(rows: FloatArray, variance: FloatArray, arm: int) -> tuple[FloatArray, FloatArray]:
            row = (covariance(x[arm : arm + 1], x)[0] - rows[:, arm] @ rows) / np.sqrt(variance[arm] + NOISE)
            return np.vstack([rows, row]), np.maximum(variance - row**2, 0.0)

        rows, variance = condition(rows, variance, chosen[0])
        if rule == "dpp-max" or len(region) < batch:
            for _ in range(batch - 1):
                left = variance[region].copy()
                left[np.isin(region, chosen[1:])] = -1.0
                chosen.append(int(region[left.argmax()]))
                rows, variance = condition(rows, variance, chosen[-1])
        else:
            inside, diagonal = rows[:, region], 1.0 + variance[region] / NOISE
            members = [int(m) for m in rng.choice(len(region), batch - 1, replace=False)]

            def entries(j: int, inside: FloatArray = inside, region: Any = region) -> FloatArray:
                row = covariance(x[region[j]][None], x[region])[0] - inside[:, j] @ inside
                found = row / NOISE
                found[j] += 1.0
                return np.asarray(found)

            wide = np.array([entries(m) for m in members])
            k = batch - 1
            for _ in range(down_up_steps(sequential_deficit(diagonal.sum(), 1.0, len(region), k), k, 0.01)):
                out = int(rng.integers(k))
                kept = [i for i in range(k) if i != out]
                gram = wide[np.ix_(kept, [members[i] for i in kept])]
                solved = np.linalg.solve(np.linalg.cholesky(gram), wide[kept]) if kept else np.zeros((0, len(region)))
                left = np.maximum(diagonal - (solved**2).sum(axis=0), 0.0)
                left[[members[i] for i in kept]] = 0.0
                members[out] = int(np.searchsorted(left.cumsum(), rng.random() * left.sum(), side="right"))
                wide[out] = entries(members[out])
            chosen += region[members].tolist()
        seen += chosen
        y += (f[chosen] + 0.1 * rng.standard_normal(batch)).tolist()


def together_against_alone(replications: int = 50, n_arms: int = 2048, rounds: int = 30) -> pd.DataFrame:
    """Return processor seconds of 50 replications: all in one call, one call each, and the plain loop."""
    lines = []
    for batch in (5, 10):
        for make, rule in ((ucb_dpp_max, "dpp-max"), (ucb_dpp_sample, "dpp-sample")):
            policy, problem = make(batch, rounds, model=KNOWN), hills(replications, n_arms)
            simulate(make(2, 1, model=KNOWN), hills(1, 20), Streams.first(1), metrics={})
            ours = _seconds(lambda: simulate(policy, problem, Streams.first(replications), metrics={}), 2)  # noqa: B023

            def one_by_one(policy: BatchGP = policy, problem: NoiselessArms = problem) -> None:
                for r in range(10):
                    row = np.array([r])
                    simulate(policy, problem.take(row), Streams(0, "hills", row), metrics={})

            alone = _seconds(one_by_one) / 10 * replications
            x, f = problem.features[0], problem.means[0]
            rng = np.random.default_rng(0)
            plain = _seconds(lambda: plain_loop(x, f, batch, rounds, rule, rng)) * replications  # noqa: B023
            lines.append(
                {"policy": policy.label, "B": batch, "ours (s)": ours, "one call each (s)": alone, "plain (s)": plain}
            )
    table = pd.DataFrame(lines)
    for name in ("one call each", "plain"):
        table[f"ratio to {name}"] = table[f"{name} (s)"] / table["ours (s)"]
    return table


def likelihood(sizes: tuple[int, ...] = (25, 50, 100, 200), n_features: int = 2) -> pd.DataFrame:
    """Return microseconds of the log posterior of hyper-parameters with its gradient, and of SciPy's way to both.

    ``of dgemm`` is the share of the speed of a matrix product of 1024 rows here, counting n^3 operations for the factor
    and the inverse.
    """
    big, rng = np.random.default_rng(0).random((1024, 1024)), np.random.default_rng(1)
    speed = 2.0 * 1024**3 / _seconds(lambda: big @ big, 5)
    lines = []
    for n in sizes:
        x, y = rng.random((n_features, n)), rng.standard_normal(n)
        theta = np.log(np.r_[1.0, np.full(n_features, 0.4), 0.01])
        priors, gradient, squared = GammaPriors().table(n_features), np.empty(n_features + 2), squared_differences(x)
        every = (x[:, :, None] - x[:, None]) ** 2

        def plain(y: FloatArray = y, theta: FloatArray = theta, every: FloatArray = every) -> None:
            kernel = np.exp(theta[0] - 0.5 * np.tensordot(np.exp(-2 * theta[1:-1]), every, 1))
            factor = cho_factor(kernel + np.exp(theta[-1]) * np.eye(len(y)), lower=True)
            alpha, inverse = cho_solve(factor, y), cho_solve(factor, np.eye(len(y)))
            steep = (np.outer(alpha, alpha) - inverse) * kernel
            0.5 * y @ alpha + np.log(np.diagonal(factor[0])).sum() + np.tensordot(every, steep).sum() + steep.sum()

        def ours(enough: float, theta: FloatArray = theta, squared: FloatArray = squared, y: FloatArray = y) -> None:
            for _ in range(20):
                log_posterior(theta, squared, y, 1.0, priors, gradient, enough)  # noqa: B023

        ours(-np.inf)
        line = {"n": n, "value": _seconds(lambda: ours(np.inf), 20) / 20}
        line["with gradient"] = _seconds(lambda: ours(-np.inf), 20) / 20
        line["SciPy"] = _seconds(lambda: [plain() for _ in range(5)], 20) / 5
        lines.append(line | {"of dgemm": n**3 / line["with gradient"] / speed})
    table = pd.DataFrame(lines)
    table[["value", "with gradient", "SciPy"]] *= 1e6
    return table.assign(ratio=table["SciPy"] / table["with gradient"])


def growth(replications: int = 3) -> pd.DataFrame:
    """Return milliseconds a batch with |X|, B and T, for known hyper-parameters and for MAP."""
    cells = [("|X|", n, 5, 30) for n in (512, 1024, 2048, 4096)]
    cells += [("B", 2048, b, 20) for b in (2, 5, 10, 20)] + [("T", 2048, 5, t) for t in (10, 20, 40)]
    lines = []
    for grows, n_arms, batch, rounds in cells:
        line: dict[str, Any] = {"grows": grows, "|X|": n_arms, "B": batch, "T": rounds}
        for label, model in (("known", KNOWN), ("MAP", GPModel())):
            for make in (ucb_dpp_max, ucb_dpp_sample):
                policy, problem = make(batch, rounds, model=model), hills(replications, n_arms)
                spent = _seconds(lambda: simulate(policy, problem, Streams.first(replications), metrics={}))  # noqa: B023
                line[f"{policy.label}, {label} (ms)"] = 1e3 * spent / replications / rounds
        lines.append(line)
    return pd.DataFrame(lines)


def qlognei(n_arms: int = 2048, batch: int = 5, observed: int = 76) -> pd.DataFrame | None:
    """Return milliseconds of a fit and of one batch, by BoTorch's qLogNEI greedy over the candidates and by ours.

    Both learn their hyper-parameters from the same random evaluations. None where BoTorch is absent.
    """
    if importlib.util.find_spec("botorch") is None:
        print("BoTorch is not installed: qLogNEI is left out.")
        return None
    problem, streams = hills(1, n_arms), Streams.first(1)
    given: dict[str, Any] = {"batch": batch, "rounds": 1, "first": observed}
    ours = [make(**given, model=GPModel(growth=1.0)) for make in (ucb_dpp_max, ucb_dpp_sample)]
    lines = []
    for policy in (QLogNEI("qLogNEI", **given), *ours, lp_ucb(**given, model=GPModel(growth=1.0))):
        fits, batches = [], []
        for _ in range(4):
            state = policy.start(problem.arms, streams)
            asked = policy.ask(state)
            totals = problem.rewards(asked, problem.arms.no_pulls(1), streams)
            fits.append(_seconds(lambda: policy.tell(state, asked, totals)))  # noqa: B023
            batches.append(_seconds(lambda: policy.ask(state)))  # noqa: B023
        # The first one compiles or imports.
        lines.append({"policy": policy.label, "fit (ms)": 1e3 * min(fits[1:]), "batch (ms)": 1e3 * min(batches[1:])})
    table = pd.DataFrame(lines)
    both = table["fit (ms)"] + table["batch (ms)"]
    return table.assign(ratio=both.iloc[0] / both)


def main() -> None:
    """Print the tables."""
    print("One sample of a k-DPP, n = 2048, k = 9, 50 observations in the plane, total variation at most 0.01\n")
    print(sampler_against_dppy().round(1).to_string(index=False))
    print("\n50 replications, 2048 arms, 30 batches, known hyper-parameters, one core\n")
    print(together_against_alone().round(2).to_string(index=False))
    print("\nMicroseconds of the likelihood of hyper-parameters\n")
    print(likelihood().round(3).to_string(index=False))
    print("\nMilliseconds a batch and replication, one core\n")
    print(growth().round(2).to_string(index=False))
    found = qlognei()
    if found is not None:
        print("\nOne batch of five after 76 rewards, 2048 arms, hyper-parameters learned, beside BoTorch\n")
        print(found.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
