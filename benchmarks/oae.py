"""Many small networks at once: against the plain Torch loop over networks, and against torch.func.

The plain loop is what anybody writes: one `Sequential` after the other, autograd, `torch.optim.Adam`. torch.func is the
public way to train many modules as one: `vmap` of `grad` over stacked parameters, and one fused Adam for all. All three
minimise the squared error of 10 observations minus lambda times the mean of 10 arms of the pool; minibatches of the
rivals are drawn beforehand and not timed, ours are drawn and timed. Rates are network-steps a second of processor time
(one thread each), so that other work on the machine is not counted; only their ratios are a verdict. Each repetition
measures all rivals one after the other, and the median of the ratios is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import joblib
import numpy as np
import pandas as pd
import torch
from joblib.externals.loky import get_reusable_executor
from torch import Tensor, nn

from bestarm.models.mlp_fit import FitData, Training, fit_networks
from bestarm.streams import Streams

REPEATS = 3
SECONDS = 0.6
N_ARMS, N_KNOWN = 1000, 60
SHAPES = (((10, 5), 1), ((100, 10), 1), ((100, 10), 12), ((100, 10), 280))
GROUPS = (1, 12, 50, 500)
OPTIMISM = 0.01


def some_data(n_networks: int, n_features: int) -> FitData:
    """Return 60 observations of 1000 arms for each network."""
    rng = np.random.default_rng([n_networks, n_features])
    order = np.array([rng.permutation(N_ARMS) for _ in range(n_networks)])
    return FitData(
        features=torch.tensor(rng.standard_normal((1, N_ARMS, n_features)), dtype=torch.float32),
        feature_set=np.zeros(n_networks, dtype=np.int64),
        arms=np.ascontiguousarray(order[:, :N_KNOWN]),
        n_observed=np.full(n_networks, N_KNOWN),
        pool=np.ascontiguousarray(order[:, N_KNOWN:]),
        n_pool=np.full(n_networks, N_ARMS - N_KNOWN),
        row=np.arange(n_networks),
        targets=rng.standard_normal((n_networks, N_KNOWN)),
    )


def some_minibatches(data: FitData, n_networks: int, n_steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return features and targets of observations, and features of arms of the pool, for each step and network."""
    rng = np.random.default_rng(0)
    known = rng.integers(N_KNOWN, size=(n_steps, n_networks, 10))
    free = rng.integers(N_ARMS - N_KNOWN, size=(n_steps, n_networks, 10))
    g = np.arange(n_networks)[:, None]
    targets = torch.tensor(data.targets[g, known], dtype=torch.float32)
    return data.features[0][data.arms[g, known]], targets, data.features[0][data.pool[g, free]]


def sequential(hidden: tuple[int, ...], n_features: int) -> nn.Sequential:
    """Return one network."""
    modules: list[nn.Module] = []
    before = n_features
    for after in (*hidden, 1):
        modules += [nn.Linear(before, after), nn.ReLU()]
        before = after
    return nn.Sequential(*modules[:-1])


def ours(data: FitData, hidden: tuple[int, ...], n_networks: int, n_steps: int) -> float:
    """Return the network-steps a second of `fit_networks`, minibatches and initial weights included."""
    networks = np.stack([np.arange(n_networks), np.zeros(n_networks, dtype=np.int64)], axis=1)
    training, strengths = Training(hidden, n_steps), np.full(n_networks, OPTIMISM)
    key = Streams.first(1).key("benchmark")
    began = time.process_time()
    fit_networks(training, data, strengths, key, networks)
    return n_networks * n_steps / (time.process_time() - began)


def plain_loop(data: FitData, hidden: tuple[int, ...], n_networks: int, n_steps: int) -> float:
    """Return the network-steps a second of one network after the other; one of them is enough to know."""
    x, y, u = some_minibatches(data, 1, n_steps)
    network = sequential(hidden, data.features.shape[2])
    adam = torch.optim.Adam(network.parameters(), lr=0.01)
    began = time.process_time()
    for s in range(n_steps):
        loss = ((network(x[s, 0])[:, 0] - y[s, 0]) ** 2).mean() - OPTIMISM * network(u[s, 0]).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return n_steps / (time.process_time() - began)


def stacked(data: FitData, hidden: tuple[int, ...], n_networks: int, n_steps: int) -> float:
    """Return the network-steps a second of torch.func."""
    x, y, u = some_minibatches(data, n_networks, n_steps)
    modules = [sequential(hidden, data.features.shape[2]) for _ in range(n_networks)]
    parameters, _ = torch.func.stack_module_state(modules)
    skeleton = modules[0]

    def loss(own: dict[str, Tensor], x: Tensor, y: Tensor, u: Tensor) -> Tensor:
        outputs, hopes = (torch.func.functional_call(skeleton, own, (z,)) for z in (x, u))
        return ((outputs[:, 0] - y) ** 2).mean() - OPTIMISM * hopes.mean()

    slopes = torch.func.vmap(torch.func.grad(loss))
    parameters = {name: p.detach().clone().requires_grad_() for name, p in parameters.items()}
    adam = torch.optim.Adam(parameters.values(), lr=0.01, fused=True)
    plain = {name: p.detach() for name, p in parameters.items()}
    began = time.process_time()
    for s in range(n_steps):
        for name, slope in slopes(plain, x[s], y[s], u[s]).items():
            parameters[name].grad = slope
        adam.step()
    return n_networks * n_steps / (time.process_time() - began)


def _steps(measure: Callable[..., float], data: FitData, hidden: tuple[int, ...], n_networks: int) -> int:
    """Return a number of steps that takes about SECONDS."""
    rate = measure(data, hidden, n_networks, 10)
    rate = measure(data, hidden, n_networks, int(np.clip(0.1 * rate / n_networks, 5, 200)))
    most = 5000 if measure is ours else max(20, int(2e8 / (n_networks * 20 * data.features.shape[2] * 4)))
    return int(np.clip(SECONDS * rate / n_networks, 5, most))


def _loop_steps(data: FitData, hidden: tuple[int, ...]) -> int:
    return int(np.clip(SECONDS * plain_loop(data, hidden, 1, 50), 20, 2000))


def against_others() -> pd.DataFrame:
    """Return rates, and how many times the plain loop's and torch.func's ours is, in one process."""
    lines = []
    for hidden, n_features in SHAPES:
        for n_networks in GROUPS:
            data = some_data(n_networks, n_features)
            n_ours, n_func = (_steps(measure, data, hidden, n_networks) for measure in (ours, stacked))
            n_loop = _loop_steps(data, hidden)
            rates = np.array(
                [
                    (
                        ours(data, hidden, n_networks, n_ours),
                        plain_loop(data, hidden, n_networks, n_loop),
                        stacked(data, hidden, n_networks, n_func),
                    )
                    for _ in range(REPEATS)
                ]
            )
            line = {"network": "-".join(map(str, hidden)), "inputs": n_features, "G": n_networks}
            line |= dict(zip(("ours", "plain loop", "torch.func"), np.median(rates, axis=0), strict=True))
            line |= {f"/ {n}": np.median(rates[:, 0] / rates[:, i]) for i, n in ((1, "plain loop"), (2, "torch.func"))}
            lines.append(line)
    return pd.DataFrame(lines)


def _worker(n_networks: int, n_features: int, hidden: tuple[int, ...], n_steps: int) -> tuple[float, float, float]:
    """Return the rate by processor time, and when (by the clock) the fits began and ended."""
    torch.set_num_threads(1)
    data = some_data(n_networks, n_features)
    ours(data, hidden, n_networks, 5)
    began = time.time()
    return ours(data, hidden, n_networks, n_steps), began, time.time()


def with_two_processes() -> pd.DataFrame:
    """Return the ratio to the plain loop of one process and of two workers, each with a group of its own.

    The plain loop is that of one process; the goal of the project is 60 times it with two workers. "by the clock" is
    what two workers really did, less than what two idle processors would do where other work shares them.
    """
    lines = []
    for hidden, n_features in SHAPES:
        for n_networks in (50, 250):
            data = some_data(n_networks, n_features)
            n_steps, n_loop = 2 * _steps(ours, data, hidden, n_networks), _loop_steps(data, hidden)
            call = joblib.delayed(_worker)(n_networks, n_features, hidden, n_steps)
            found = []
            for _ in range(REPEATS):
                loop = plain_loop(data, hidden, 1, n_loop)
                one = ours(data, hidden, n_networks, n_steps)
                rates, began, ended = zip(*joblib.Parallel(n_jobs=2)([call, call]), strict=True)
                by_clock = 2 * n_networks * n_steps / (max(ended) - min(began))
                found.append((one / loop, sum(rates) / loop, by_clock / loop))
            line = {"network": "-".join(map(str, hidden)), "inputs": n_features, "G a process": n_networks}
            names = ("one process", "two processes", "two, by the clock")
            lines.append(line | dict(zip(names, np.median(found, axis=0), strict=True)))
    get_reusable_executor().shutdown(wait=True)
    return pd.DataFrame(lines)


def growth() -> pd.DataFrame:
    """Return the time of a network-step relative to the first line of each block: with G, width and inputs."""
    blocks = {
        "G": [((100, 10), 12, g) for g in (1, 4, 12, 50, 200, 500)],
        "width": [((w, 10), 12, 50) for w in (10, 50, 100, 200, 400)],
        "inputs": [((100, 10), d, 50) for d in (1, 12, 60, 280)],
    }
    lines = []
    for name, cells in blocks.items():
        first = np.nan
        for hidden, n_features, n_networks in cells:
            data = some_data(n_networks, n_features)
            n_steps = _steps(ours, data, hidden, n_networks)
            each = 1 / np.median([ours(data, hidden, n_networks, n_steps) for _ in range(REPEATS)])
            first = each if np.isnan(first) else first
            n_parameters = sum(p.numel() for p in sequential(hidden, n_features).parameters())
            line = {"grows": name, "network": "-".join(map(str, hidden)), "inputs": n_features, "G": n_networks}
            line |= {"parameters": n_parameters, "microseconds": 1e6 * each, "relative": each / first}
            lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print("Network-steps a second, one process, one thread\n")
    print(against_others().round(1).to_string(index=False))
    print("\nTimes the plain loop of one process (the goal is 60 with two)\n")
    print(with_two_processes().round(1).to_string(index=False))
    print("\nTime of a network-step\n")
    print(growth().round(2).to_string(index=False))


if __name__ == "__main__":
    main()
