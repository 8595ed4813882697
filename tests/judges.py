"""The laboratory of the pages in `bestarm_plain`: one replication, with the noise and the ties of the library."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import signature
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from pandas import DataFrame
from scipy.special import expit

from bestarm.designs.rounding import random_order
from bestarm.interface import Ask
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.simulate import simulate
from bestarm.streams import Streams, uniform
from bestarm_lab.metrics import correct
from bestarm_studies.linear_topm.instances import MisspecifiedBandit


@dataclass(frozen=True)
class ConstantKernel:
    """One value, which may be none of a covariance."""

    value: float

    def K(self, X, X2=None):
        return np.full((len(X), len(X if X2 is None else X2)), self.value)


@dataclass(frozen=True)
class BernoulliBandit(LinearBandit):
    """Arms that pay 1 with probability 1 / (1 + exp(-theta' x)), else 0."""

    def rewards(self, asked, pulled, streams):
        key, chances = streams.key("noise"), expit(np.broadcast_to(self.means, pulled.shape))
        totals = np.zeros(asked.arms.shape)
        for r, j in np.argwhere(asked.counts > 0):
            a = asked.arms[r, j]
            for _ in range(asked.counts[r, j]):
                totals[r, j] += uniform(key, streams.replications[r], a, pulled[r, a]) < chances[r, a]
                pulled[r, a] += 1
        return totals


def experiment_a(label: str, level: float = 0.0) -> MisspecifiedBandit:
    """Return experiment A of Réda et al. (2021) by its published law and seed; its fourth best arm deviates."""
    draws = np.random.RandomState(123456)
    features, theta = draws.normal(0.0, 5.0, (5, 10)), draws.normal(0.0, 20.0, 5)
    features = np.ascontiguousarray((features / np.abs(features).max(axis=0)).T)
    return MisspecifiedBandit(label, features, theta / np.abs(theta).max(), 1.0, deviation=level * (np.arange(10) == 3))


def general(seed: int = 3, n_arms: int = 6, d: int = 3, kind: type = LinearBandit, sigma: float = 0.8) -> LinearBandit:
    """Return arms in general position, so that no two indices tie by themselves."""
    rng = np.random.default_rng(seed)
    return kind(f"general {seed} {n_arms} {d}", rng.standard_normal((n_arms, d)), rng.standard_normal(d), sigma)


class Bench:
    """Rewards and random ties of one replication, by the library's draws; ``history`` holds the pulls.

    Streams have one replication; a problem with arms of each is cut to it. The ties are those of the policy of this
    ``label``; ``choice`` is the number of the library's draw for the n-th choice since the last pull.
    """

    def __init__(self, problem: Any, streams: Streams, label: str = "", choice: Callable[[int], int] = int) -> None:
        (self.replication,) = (int(r) for r in streams.replications)
        if getattr(problem, "features", np.zeros((0, 0))).ndim == 3:
            problem = problem.take(streams.replications)
        self.problem, self.streams, self.choice = problem, streams, choice
        self.pulled, self.ties = problem.arms.no_pulls(1), streams.key(f"ties of {label}")
        self.history: list[int] = []
        self.n_choices = 0

    @property
    def x(self) -> np.ndarray:
        return self.problem.features.reshape(self.problem.features.shape[-2:])

    def pull(self, a: int, n: int = 1) -> float:
        """Return the sum of an arm's next n rewards."""
        self.history += [int(a)] * n
        self.n_choices = 0
        return self.problem.rewards(Ask(np.array([[a]]), np.array([[n]])), self.pulled, self.streams)[0, 0]

    def observe(self, arms: list[int]) -> np.ndarray:
        self.history += [int(a) for a in arms]
        return self.problem.rewards(Ask(np.array([arms]), np.ones((1, len(arms)), int)), self.pulled, self.streams)[0]

    def draw(self, item: int, number: int) -> float:
        return uniform(self.ties, self.replication, item, number)

    def orders(self, first: int = 0) -> Callable[[int], np.ndarray]:
        """Return the library's random orders of the arms, one for each stage."""
        stages = count(first)
        return lambda n: random_order(self.ties, self.replication, next(stages), 0, n)

    def argmax(self, values: Any, among: Any = None) -> int:
        """Return the arm of largest value among the allowed ones; the n-th equal one replaces with chance 1/n."""
        best, n_equal, first = -1, 0, self.choice(self.n_choices) * self.problem.arms.n_arms
        self.n_choices += 1
        for i in range(len(values)) if among is None else among:
            if best < 0 or values[i] > values[best]:
                best, n_equal = i, 1
            elif values[i] == values[best]:
                n_equal += 1
                if self.draw(len(self.history), first + i) < 1 / n_equal:
                    best = i
        return int(best)


def rows(policy: Any, problem: Any, streams: Streams, **options: Any) -> DataFrame:
    """Return a line for each replication, with whether its answer is correct and the first arm that it names."""
    metrics = {"correct": correct, "arm": lambda _, recommended: recommended[:, 0].astype(float)}
    return simulate(policy, problem, streams, metrics=metrics, **options)


def first_rows(policy: Any, problem: Any, n: int, seed: int = 0) -> DataFrame:
    """Return the same for the first n replications."""
    return rows(policy, problem, Streams(seed, problem.label, np.arange(n)))


class Runs(NamedTuple):
    """What each replication did: its pulls in order, whether it stopped by itself, what it recommends."""

    pulls: list[list[int]]
    stopped: np.ndarray
    recommended: np.ndarray
    state: Any


def drive(policy: Any, problem: Any, streams: Streams, cap: int = 10**9) -> Runs:
    """Run a plain loop over rounds that keeps the sequence of pulls; each replication is cut at ``cap`` pulls."""
    state, pulled = policy.start(problem.arms, streams), problem.arms.no_pulls(len(streams.replications))
    pulls: list[list[int]] = [[] for _ in pulled]
    going = np.ones(len(pulled), dtype=bool)
    while True:
        asked = policy.ask(state)
        going &= ~policy.finished(state) & (pulled.sum(axis=1) + asked.counts.sum(axis=1) <= cap)
        if not going.any():
            return Runs(pulls, policy.finished(state).copy(), policy.recommend(state).copy(), state)
        asked = Ask(asked.arms, np.where(going[:, None], asked.counts, 0))
        for own, arms, counts in zip(pulls, *asked, strict=True):
            own += np.repeat(arms, counts).tolist()
        policy.tell(state, asked, problem.rewards(asked, pulled, streams))


def settings_of(policy: Any, page: Callable[..., Any]) -> dict[str, Any]:
    """Return a policy's settings that a page takes, too: they have the same names."""
    known = {f.name: getattr(p, f.name) for p in (getattr(policy, "policy", policy), policy) for f in fields(p)}
    return {name: known[name] for name in signature(page).parameters if name in known}


def same_pulls(page: Any, policy: Any, problem: Any, streams: Streams, **others: Any) -> tuple[Runs, list[Any]]:
    """Compare a policy and its page, pull by pull; return the policy's runs and the page's answers.

    ``max_pulls`` and ``choice`` are those of a page and of a `Bench`, if given; ``draws`` makes arguments from a bench.
    """
    choice, draws = others.pop("choice", int), others.pop("draws", lambda bench: {})
    fast, answers = drive(policy, problem, streams, others.get("max_pulls", 10**9)), []
    for r in range(len(streams.replications)):
        bench = Bench(problem, streams.take(np.array([r])), policy.label, choice)
        given = {"argmax": bench.argmax} | settings_of(policy, page) | draws(bench) | others
        answers.append(page(bench.x, bench.pull, **{k: v for k, v in given.items() if k in signature(page).parameters}))
        assert fast.pulls[r] == bench.history, f"replication {r} of {policy}"
    return fast, answers


def same_runs(page: Any, policy: Any, problem: Any, streams: Streams, **others: Any) -> int:
    """Compare a policy and its page, pull by pull and in their answers; return how many replications stopped."""
    fast, answers = same_pulls(page, policy, problem, streams, **others)
    for answer, arms in zip(answers, fast.recommended, strict=True):
        assert sorted(np.atleast_1d(answer)) == sorted(arms)
    return int(fast.stopped.sum())
