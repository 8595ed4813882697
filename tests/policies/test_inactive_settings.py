"""No public constructor of a policy accepts a setting that changes nothing."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import zip_longest
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import bestarm
from bestarm.guards.inactive import NEEDS
from bestarm.interface import Arms
from bestarm.kernels import Stationary
from bestarm.partition import Partition
from bestarm.policies.gaussian.batch_rules import DownUp, Eigen, Exchange, UpperBound
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.policies.linear.gifa import LinGifa, MLinGape
from bestarm.streams import Streams

# Some problems below have rewards that no linear model explains, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.* takes means as linear in the features, but:UserWarning")

ROUNDS = 40  # that are compared, of searches that end by themselves
KNOWN = GPModel.frozen(0.5, 1.0, 0.01)
# Small, so that a search takes milliseconds; other constructors have their defaults.
SMALL: dict[str, Any] = {
    "n_best": 2, "budget": 40, "batch": 4, "rounds": 3, "optimism": 0.5, "sigma": 0.3, "hidden": (4,), "steps": 30,
    "minibatch": 4, "members": 2, "model": KNOWN, "starts": 5, "max_depth": 6, "depth": 3, "level": 0.1,
    "policy": MLinGape(2, sigma=0.1), "means": tuple(range(14)),
}  # fmt: skip
# Other values of settings, of which one has to change something. Words of an annotation, and the other truth value, are
# found without this table.
OTHERS: dict[str, list[Any]] = {
    "n_best": [1, 3], "budget": [30], "batch": [3], "rounds": [2], "optimism": [5.0], "hidden": [(6,)], "steps": [10],
    "learning_rate": [0.1], "minibatch": [2], "pool_minibatch": [3], "bias": [1.0], "members": [3],
    "label_noise": [3.0], "optimism_weight": [0.0, 1.0], "diversity": [None, 10.0], "starts": [1],
    "resolution": [0.3], "delta": [0.5, 1e-9], "epsilon": [1.0, 10.0], "sigma": [3.0, 0.01], "norm_bound": [20.0, 0.1],
    "regulariser": [20.0, 1e-3], "threshold_regulariser": [20.0, 1e-3], "alpha": [0.01, 10.0], "ridge": [10.0],
    "lengthscale": [0.1, 5.0], "prior_scale": [0.1, 10.0], "least_eigenvalue": [10.0], "shift": [20.0, 0.01],
    "eta": [3, 4], "schedule_dimension": [2, 5], "projection": ["0.5", "3"],
    "kernel": [Stationary("rbf", 2.0, 0.4), Stationary("rbf", 0.01, 0.3)], "delta_scale": [0.5, 0.01],
    "delta_ratio": [0.1, 0.9], "max_depth": [2], "risk": [0.9, 1e-6], "theta": [0.9, 1e-6], "holder": [0.3],
    "slope": [0.1, 10.0], "cell_ratio": [0.6, 0.1], "cell_radius": [0.1, 5.0], "risk_exponent": [9.0],
    "c2": [0.1, 10.0], "c3": [0.1, 10.0], "metric_dimension": [3.0], "model_noise_variance": [1.0, 1e-4],
    "depth": [2], "model": [GPModel.frozen(0.1, 1.0, 0.01)], "first": [3], "beta_scale": [1e-3, 9.0],
    "inflation": [9.0], "sampler": [DownUp(0.5), Exchange(0.5), Eigen()], "penalty_width": [0.1, UpperBound()],
    "n_features": [7], "level": [0.0, 1.0], "mean_bound": [0.1, 10.0], "base": [2], "delta0": [0.01],
    "policy": [LinGifa(2, sigma=0.1)], "means": [tuple(range(14))[::-1]],
}  # fmt: skip
# Other settings with which a difference shows on problems as small as these.
WITH: dict[tuple[str, str], dict[str, Any]] = {
    (name, "stop"): {"epsilon": 1.0, "n_best": 3} for name in ("lucb", "ugape", "m_lingape", "lingifa")
} | {
    (name, setting): {"recommendation": "posterior", "delta_scale": 4.0}
    for name in ("stooo", "ave_stooo")
    for setting in ("kernel", "sigma")
}
WITH |= {("gp_tree", name): {"slope": 0.1} for name in ("risk_exponent", "c2", "c3", "metric_dimension")}
WITH |= {("linear_oae", "starts"): {"first": "chosen"}, ("gpoo", "late_beta"): {"sigma": 1.0}}
WITH |= {("grid_search", "theta"): {"order": "upper_bound"}}
LEFT_OUT = {
    "label": "keys random numbers, and is a name",
    "device": "where networks are trained; it changes rounding, and nothing else",
}
ROUNDING = {("bayes_gap", "general_eigenvectors")}  # the same matrix by another solver: digits of the state


def constructors() -> Iterator[str]:
    """Yield the public functions that make a policy."""
    for name, (module, _) in bestarm._PLACES.items():
        if module.startswith("bestarm.policies.") and name.islower():
            yield name


def settings() -> list[tuple[str, str]]:
    return [
        (name, setting)
        for name in constructors()
        for setting in inspect.signature(getattr(bestarm, name)).parameters
        if setting not in LEFT_OUT
    ]


def made(name: str, changes: dict[str, Any]) -> Any:
    """Return the policy of a constructor, small, with some changes."""
    known = inspect.signature(getattr(bestarm, name)).parameters
    small = {k: v for k, v in SMALL.items() if k in known and k not in NEEDS.get(name, {})}
    return getattr(bestarm, name)(**small | changes)


def others(name: str, setting: str) -> list[Any]:
    maker = getattr(bestarm, name)
    default = inspect.signature(maker).parameters[setting].default
    if isinstance(default, bool):
        return [not default]
    hint = get_type_hints(inspect.unwrap(maker))[setting]
    words = get_args(hint) if get_origin(hint) is Literal else ()
    found = [word for word in words if word != default] or OTHERS[setting]
    assert all(value != SMALL.get(setting, default) for value in found), "the same value is no other one"
    return found


@dataclass(frozen=True, eq=False)
class Problem:
    """What is searched, its rewards given arms, shape (R, b), and the round; replications and rounds to compare."""

    arms: Any
    rewards: Callable[[np.ndarray, int], np.ndarray]
    n: int = 2
    rounds: int = ROUNDS


RNG = np.random.default_rng(0)
CLOUD, THETA = RNG.standard_normal((14, 3)) / 1.5, np.array([1.0, -0.5, 0.25])
SHEET = np.column_stack([CLOUD[:, :2], CLOUD[:, 0] + CLOUD[:, 1]])  # of rank 2
ORIGIN = np.vstack([np.zeros(3), CLOUD[:9]])
WIDE = RNG.standard_normal((40, 6))
APART = np.array([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.5]])
MANY = np.random.default_rng(1).standard_normal((400, 6, 3))
LOUD = np.random.default_rng(2).standard_normal((400, 500))


def noisy(values: Any, noise: float = 0.3) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return rewards with these means, of each arm or of each arm in each replication."""
    means = np.atleast_2d(values)

    def rewards(arms: np.ndarray, turn: int) -> np.ndarray:
        row = np.arange(len(arms))[:, None]
        return means[row % len(means), arms % means.shape[1]] + noise * LOUD[(row + 7 * arms) % 400, turn % 500]

    return rewards


def failing(rewards: Any) -> Any:
    """Return the same where every fourth evaluation fails."""
    return lambda arms, turn: np.where((arms + turn) % 4 == 0, np.nan, rewards(arms, turn))


def broken(rewards: Any) -> Any:
    """Return the same where everything fails after the first round."""
    return lambda arms, turn: rewards(arms, turn) if turn == 0 else np.full(arms.shape, np.nan)


def binary(rewards: Any) -> Any:
    return lambda arms, turn: (rewards(arms, turn) > 0.0).astype(float)


LINEAR, FLAT = noisy(CLOUD @ THETA), noisy(np.zeros(14), 0.0)
ARMS = (
    Problem(Arms(CLOUD), LINEAR),
    Problem(Arms(CLOUD), binary(LINEAR)),
    Problem(Arms(CLOUD), failing(LINEAR)),
    Problem(Arms(CLOUD), failing(binary(LINEAR))),
    Problem(Arms(CLOUD), broken(binary(LINEAR))),
    Problem(Arms(SHEET), noisy(SHEET @ THETA, 0.0)),
    Problem(Arms(np.eye(6)), binary(noisy([1.0, -1.0, 0.3, 0.3, -1.0, 0.0]))),
    Problem(Arms(np.eye(6)), FLAT),
    Problem(Arms(ORIGIN), binary(noisy(np.zeros(10), 1.0))),
    Problem(Arms(ORIGIN), noisy(ORIGIN @ THETA)),
    Problem(Arms(CLOUD[:5]), noisy(np.arange(5.0), 0.0)),
    Problem(Arms(APART), noisy([9.0, 0.0, 0.0, 0.1], 0.01)),
    Problem(Arms(WIDE), noisy(WIDE @ np.arange(6.0), 0.1)),
)
CELLS = (
    Problem(Partition(arity=2, n_representatives=4), noisy(np.sin(np.arange(14.0)))),
    Problem(Partition(arity=3, n_representatives=3), FLAT),
    Problem(Partition(arity=2, n_representatives=4), failing(noisy(np.sin(np.arange(14.0))))),
)


def problems(name: str, setting: str) -> tuple[Problem, ...]:
    """Return what a constructor's policy searches."""
    if setting in ("stop", "index_time_ahead"):
        return (Problem(Arms(MANY), noisy(0.3 * MANY @ THETA), 400, 150),)
    return CELLS if get_type_hints(type(made(name, {}).policy).start)["arms"] is Partition else ARMS


def outcome(policy: Any, problem: Problem, digits: bool = False) -> Iterator[Any]:
    """Yield what was asked and recommended in every round, and the refusal of a problem that is none for the policy."""
    try:
        state = policy.start(problem.arms, Streams.first(problem.n))
        for turn in range(problem.rounds):
            over = policy.finished(state)
            if over.all():
                break
            asked = policy.ask(state)
            totals = np.where(asked.counts > 0, problem.rewards(asked.arms, turn) * asked.counts, 0.0)
            policy.tell(state, asked, totals)
            arms = np.where(asked.counts > 0, asked.arms, -1)
            yield arms.tolist(), asked.counts.tolist(), over.tolist(), policy.recommend(state).tolist()
        if digits:
            arrays = (getattr(state.inner, f.name) for f in fields(state.inner))
            yield [array.tobytes() for array in arrays if isinstance(array, np.ndarray)]
    except ValueError as error:
        yield str(error)


@cache
def usual(name: str, given: frozenset[tuple[str, Any]], problem: Problem, digits: bool) -> Any:
    """Return the outcome that other values of a setting are compared with."""
    return list(outcome(made(name, dict(given)), problem, digits))


def idle(name: str, setting: str, given: dict[str, Any]) -> str | None:
    """Return which values changed nothing beside what is given, or None if one did, or all are refused."""
    tried, digits = [], (name, setting) in ROUNDING
    for value in others(name, setting):
        try:
            policy = made(name, given | {setting: value})
        except ValueError:
            continue
        tried.append(value)
        for problem in problems(name, setting):
            before = usual(name, frozenset(given.items()), problem, digits)
            if any(now != then for now, then in zip_longest(outcome(policy, problem, digits), before)):
                return None
    return f"{name}({setting}=...) of {tried} is what it is without" if tried else None


@pytest.mark.parametrize(("name", "setting"), settings())
def test_every_setting_changes_something_or_is_refused(name, setting):
    """Another value changes what is asked or recommended on a small problem, or is refused in one line."""
    assert idle(name, setting, WITH.get((name, setting), {})) is None


@pytest.mark.parametrize(("name", "setting"), [(name, setting) for name in NEEDS for setting in NEEDS[name]])
def test_a_setting_that_needs_another_says_so_and_matters_with_it(name, setting):
    """Refused alone, in one line with the remedy; with one of the values that it needs, it changes something."""
    other, values = NEEDS[name][setting]
    value = others(name, setting)[0]
    without = {}
    if inspect.signature(getattr(bestarm, name)).parameters[other].default in values:
        without = {other: next(v for v in others(name, other) if v not in values)}
    with pytest.raises(ValueError, match=rf"^{setting} of {name} has a meaning with {other}=.* only, got .*; set that"):
        made(name, without | {setting: value})
    assert made(name, {other: values[0], setting: value})
    assert any(idle(name, setting, WITH.get((name, setting), {}) | {other: value}) is None for value in values)
