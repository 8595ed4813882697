"""What every engine is compared with: one network as anybody would train it, on the draws of the project."""

import numpy as np
import torch
from torch import Tensor, nn

from bestarm.models.minibatches import draw_minibatches
from bestarm.models.mlp_batch import Mlp
from bestarm.models.mlp_fit import FitData, Training
from bestarm.streams import Streams

KEY = Streams.first(1, instance="networks").key("fit")


def objective_of(outputs: Tensor, objective: str, n_pool: int) -> Tensor:
    """Return the acquisition objective of Section 4.1, estimated on a minibatch of the pool."""
    if objective == "hinge":
        return (outputs.clamp_min(0.0) ** 4).mean()
    if objective == "softmax":
        return torch.logsumexp(outputs, 0) - np.log(len(outputs)) + np.log(n_pool)
    return outputs.mean() * (n_pool if objective == "sum" else 1)


def train_alone(training: Training, data: FitData, g: int, optimism: float, name: np.ndarray) -> nn.Sequential:
    """Return one network as anybody would train it: autograd, Torch's Adam, one step after the other."""
    r, m, m_pool = data.row[g], training.minibatch, training.pool_size
    shape = Mlp(data.features.shape[2], training.hidden)
    modules: list[nn.Module] = []
    for weights, biases in shape.layers(shape.xavier(KEY, name[None], training.bias)):
        layer = nn.Linear(*weights.shape[1:])
        layer.weight.data, layer.bias.data = weights[0].T.clone(), biases[0, 0].clone()
        modules += [layer, nn.ReLU()]
    network = nn.Sequential(*modules[:-1])
    index = np.empty((training.steps, 1, m + m_pool), dtype=np.int64)
    target = np.empty((training.steps, 1, m), dtype=np.float32)
    zero = np.zeros(1, dtype=np.int64)
    draw_minibatches(
        KEY, name[None], zero, zero, data.arms[r : r + 1], data.n_observed[r : r + 1],
        data.targets[g : g + 1].astype(np.float32), data.pool[r : r + 1], data.n_pool[r : r + 1], 0, index, target,
    )  # fmt: skip
    used, used_pool = min(m, data.n_observed[r]), min(m_pool, data.n_pool[r])
    x = data.features[data.feature_set[r]]
    adam = torch.optim.Adam(network.parameters(), lr=training.learning_rate)
    for s in range(training.steps):
        known, free = index[s, 0, :used], index[s, 0, m : m + used_pool]
        loss = ((network(x[known])[:, 0] - torch.from_numpy(target[s, 0, :used])) ** 2).mean()
        if optimism and used_pool:
            loss = loss - optimism * objective_of(network(x[free])[:, 0], training.objective, data.n_pool[r])
        adam.zero_grad()
        loss.backward()
        adam.step()
    return network


def parameters_of(network: nn.Sequential) -> Tensor:
    """Return the parameters of a network in the order of `Mlp`: weights and biases, layer by layer."""
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    return torch.cat([p.detach().reshape(-1) for layer in layers for p in (layer.weight.T, layer.bias)])
