r"""Claims of the GPOO paper that a computation decides: single feedback as a special case, the envelope, the cost.

References
----------
.. [1] Zhang, Tsuchida, Ong. "Gaussian Process Bandits with Aggregated Feedback". AAAI 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bestarm.designs.partition_tree import LEAF
from bestarm.experiments.observe import Looking
from bestarm.experiments.simulate import simulate
from bestarm.interface import FloatArray
from bestarm.policies.gpoo import Gpoo
from bestarm.reporting.claim_cells import Value
from bestarm.reporting.study import project_seed
from bestarm.reporting.verdicts import Decision
from bestarm.streams import Streams
from bestarm_studies.gpoo.functions import reward_function
from bestarm_studies.gpoo.theory_rows import largest_slopes

Test = Mapping[str, Any]
Rows = Mapping[str, pd.DataFrame]


def single_feedback(test: Test, rows: Rows) -> Decision:
    """Check that with S = 1 the posterior is that of ordinary Gaussian process regression at the centres of cells."""
    bandit, policy = reward_function("f1"), Gpoo("GPOO", int(test["budget"]))
    largest = 0.0

    def look(state: Any) -> None:
        nonlocal largest
        t = int(state.n_observed[0])
        if t == 0:
            return
        seen = bandit.partition.centres(state.observed[0, :t])
        rewards = state.factor[0, :t, :t] @ state.residuals[0, :t]
        live = np.flatnonzero(state.live[0])
        x = bandit.partition.centres(state.cells[0, live])
        gram = policy.kernel.K(seen) + policy.noise_variance * np.eye(t)
        means = policy.kernel.K(x, seen) @ np.linalg.solve(gram, rewards)
        largest = max(largest, float(np.abs(means - state.means[0, live]).max()))

    streams = Streams.first(1, seed=project_seed(), instance=bandit.label)
    simulate(Looking(policy, look), bandit, streams, metrics={})
    return Decision(largest < 1e-8, f"means differ by at most {largest:.1e} over {policy.budget} rounds")


def envelope(test: Test, rows: Rows) -> Decision:
    """Check that b-values lie above the Lipschitz envelope of every leaf whose average is in its interval."""
    n_runs, beyond, checked = int(test["runs"]), 0, 0
    for size in test["sizes"]:
        bandit, policy = reward_function("f1", n_representatives=size), Gpoo("GPOO", int(test["budget"]))
        slope = float(largest_slopes(bandit)[0])

        def look(state: Any, bandit: Any = bandit, policy: Any = policy, slope: float = slope) -> None:
            nonlocal beyond, checked
            rows, slots = np.nonzero(state.status == LEAF)
            cells = state.cells[rows, slots]
            lower, upper = bandit.partition.bounds(cells)
            points = bandit.partition.representatives(cells)[..., 0]
            x = lower + (upper - lower) * np.linspace(0.0, 1.0, 41)
            values = bandit.evaluate(points[..., None])
            bound = (values[:, None, :] + slope * np.abs(x[:, :, None] - points[:, None, :])).min(axis=2).max(axis=1)
            widths = policy.widths(state, state.n_rounds + 1)[rows, slots]
            inside = np.abs(state.means[rows, slots] - values.mean(axis=1)) <= widths
            checked += int(inside.sum())
            beyond += int((bound > policy.bounds(state)[rows, slots] + 1e-9)[inside].sum())

        streams = Streams.first(n_runs, seed=project_seed(), instance=bandit.label)
        simulate(Looking(policy, look), bandit, streams, metrics={})
    runs = n_runs * len(test["sizes"])
    text = f"{beyond} of {checked} leaves of {runs} runs have an envelope above b"
    return Decision(beyond == 0, text, informative=checked > 0, checked=f"{checked:,} leaves of {runs} runs")


def cost(test: Test, rows: Rows) -> Decision:
    """Check that multiplications grow at most like N to the printed power: counted, not timed."""
    bandit, counts = reward_function("f1"), []
    for budget in test["budgets"]:
        total = 0

        def look(state: Any) -> None:
            nonlocal total
            t = int(state.n_observed[0])
            fresh = int((state.live[0] & (state.draws[0] == 0)).sum())
            # every live node takes one inner product; a division, two forward substitutions
            total += int(state.live[0].sum()) * t + (2 * t * t // 2 if fresh else 0)

        streams = Streams.first(1, seed=project_seed(), instance=bandit.label)
        simulate(Looking(Gpoo("GPOO", int(budget)), look), bandit, streams, metrics={})
        counts.append(total)
    slope = float(np.polyfit(np.log(test["budgets"]), np.log(counts), 1)[0])
    text = f"multiplications grow like N^{slope:.2f} for N = {test['budgets'][0]} to {budget}"
    return Decision(slope <= test["power"], text)


def always(test: Test, rows: Rows) -> Decision:
    """Check that a share of a bound never exceeds 1 in the runs in which the event held."""
    frame = pd.concat([rows[name] for name in test["experiments"]], ignore_index=True)
    mine = frame[frame["series"].isin(test["series"])]
    if "event_share" in mine:
        mine = mine[mine["event_share"] <= 1.0]
    if "budget" in test:
        mine = mine[mine["budget"] == test["budget"]]
    if "binds" not in test:
        shares, where = mine[test["metric"]].to_numpy(dtype=np.float64), ""
    else:  # a bound above the range of f holds of any search
        binds = mine[test["binds"]].to_numpy(dtype=np.bool_)
        shares = mine.loc[binds, test["metric"]].to_numpy(dtype=np.float64)
        where = f"; the bound is below the range of f in {len(shares)} of {len(binds)} runs"
    if not len(shares) or not (shares > 0.0).any():
        return Decision(True, f"the bound never binds{where}", informative=False)
    beyond = int((shares > 1.0).sum())
    text = f"{beyond} of {len(shares)} runs beyond the bound; at most {shares.max():.3g} times the bound{where}"
    return Decision(beyond == 0, text, checked=f"{len(shares)} runs")


def azuma(test: Test, rows: Rows) -> Decision:
    """Check the two-sided bound for martingales exactly, on sums of fair signs, whose steps have the range 2."""
    largest, checked = 0.0, 0
    for n in range(1, int(test["longest"]) + 1):
        sums = 2 * np.arange(n + 1) - n
        law = stats.binom.pmf(np.arange(n + 1), n, 0.5)
        for reach in range(1, n + 1):
            bound = 2.0 * np.exp(-2.0 * reach**2 / (n * test["range"] ** 2))
            if bound < 1.0:
                largest = max(largest, float(law[np.abs(sums) >= reach].sum() / bound))
                checked += 1
    text = f"the tail is at most {largest:.2f} times the bound in {checked} cases in which the bound is below 1"
    return Decision(largest <= 1.0, text)


def _curve(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return a column of the rows by run, series and budget, at the budgets that the test names or at all."""
    inside = rows["budget"].isin(test["budgets"]) if "budgets" in test else rows["budget"] > 0
    return rows[inside].pivot(index="replication", columns=["series", "budget"], values=test["of"]).astype(np.float64)


def first_budget(means: FloatArray, budgets: FloatArray, test: Test) -> FloatArray:
    """Return the first budget from which on the mean stays at or below ``level``; infinity where there is none."""
    stays = np.logical_and.accumulate((means <= test["level"])[..., ::-1], axis=-1)[..., ::-1]
    return np.where(stays[..., -1], budgets[stays.argmax(axis=-1)], np.inf)


def rate(means: FloatArray, budgets: FloatArray, test: Test) -> FloatArray:
    """Return the slope of the logarithm of a mean in log(N / log N)."""
    x = np.log(budgets / np.log(budgets))
    x = x - x.mean()
    return np.asarray(np.log(np.maximum(means, 1e-9)) @ x / (x @ x))


def gap_closed(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``slow`` to ``fast`` that ``changed`` closes."""
    means = rows.groupby(["replication", "series"], sort=False)[test["of"]].mean().unstack("series")
    gap, gain = means[test["slow"]] - means[test["fast"]], means[test["slow"]] - means[test["changed"]]
    closed = gain.mean() / gap.mean()
    found: pd.Series = closed + (gain - closed * gap) / gap.mean()
    return found.to_frame(test["changed"])


def gap_opened(rows: pd.DataFrame, test: Test) -> pd.DataFrame:
    """Return by run, to first order, the part of the gap from ``fast`` to ``slow`` that ``changed`` opens."""
    return 1.0 - gap_closed(rows, test)


def _number(symbol: str) -> Callable[[pd.DataFrame, Test], pd.Series]:
    """Return what reads K or S from the name of a series, "K = 3, S = 10"."""
    pattern = rf"\b{symbol} = (\d+)"
    return lambda rows, test: pd.to_numeric(rows["series"].str.extract(pattern)[0])


CHECKS: dict[str, Callable[[Test, Rows], Decision]] = {
    "always": always,
    "azuma": azuma,
    "cost": cost,
    "envelope": envelope,
    "single_feedback": single_feedback,
}
VALUES: dict[str, Value] = {
    "arity": Value("K, the arity of the tree", _number("K")),
    "size": Value("S, representatives of a cell", _number("S")),
    "off_peak": Value("an off-peak indicator"),
    "event_share": Value("largest error in units of its interval"),
    "smoothed_error": Value("error of the model against f smoothed over a box"),
    "first_budget": Value("budget from which on mean regret stays low", _curve, statistic=first_budget),
    "rate": Value("log mean regret against log(N / log N)", _curve, statistic=rate),
    "gap_closed": Value("part of the gap that is closed", gap_closed),
    "gap_opened": Value("part of the gap that is opened", gap_opened),
}
