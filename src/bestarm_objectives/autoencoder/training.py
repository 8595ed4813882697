"""The embedding of perturbations: the bottleneck of an autoencoder that never sees a reward.

Encoder 978-1500-300-100 and its mirror image, with batch normalisation, ReLU and dropout on the layers between, linear
at the bottleneck and at the output. The paper gives layers, optimiser and loss; rate of dropout, minibatch, step size
and epochs are ours. Torch on one thread of the processor: the same signatures give the same embedding on one machine,
and one that differs by rounding on another. Source: Section 5 of Pacchiano, Wulsin, Barton, Voloch, "Neural Design for
Genetic Perturbation Experiments", ICLR 2023.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bestarm.interface import FloatArray


@dataclass(frozen=True)
class Coding:
    """How an autoencoder is trained; a setting out of its range is a ValueError."""

    layers: tuple[int, ...] = (1500, 300, 100)  # units of the encoder's layers, the bottleneck last
    dropout: float = 0.1  # dropout, learning_rate: of the layers between; of Adam
    learning_rate: float = 1e-3
    # minibatch, epochs, patience: signatures in a step; most epochs, and most without a lower validation error
    minibatch: int = 128
    epochs: int = 100
    patience: int = 10
    validation: float = 0.1  # share of the signatures whose error ends the training
    seed: int = 0  # of the split, the initial weights, the minibatches and the dropout

    def __post_init__(self) -> None:
        if min((*self.layers, self.minibatch - 1, self.epochs, self.patience)) < 1:
            raise ValueError("layers, epochs and patience must be at least 1 and minibatch at least 2.")
        if not (0.0 <= self.dropout < 1.0 and 0.0 < self.validation < 1.0 and self.learning_rate > 0.0):
            raise ValueError(
                f"dropout must be at least 0, validation positive, both below 1, and learning_rate positive; got "
                f"{self.dropout}, {self.validation} and {self.learning_rate}."
            )


class Embedding(NamedTuple):
    """What an autoencoder found."""

    # shape (n_arms, layers[-1]): the bottleneck of every signature, each coordinate with mean 0 and deviation 1
    codes: FloatArray
    # shape (n_epochs, 2): mean squared error after each epoch: of the training set (with dropout), of the validation
    # set; 1 is what the means of the genes reach, since genes are scaled
    errors: FloatArray
    best: int  # the epoch whose weights were kept


def _stack(sizes: tuple[int, ...], dropout: float) -> Iterator[nn.Module]:
    """Yield linear layers, each but the last followed by batch normalisation, ReLU and dropout."""
    for number, (before, after) in enumerate(pairwise(sizes)):
        yield nn.Linear(before, after)
        if number < len(sizes) - 2:
            yield from (nn.BatchNorm1d(after), nn.ReLU(), nn.Dropout(dropout))


def train(signatures: FloatArray, coding: Coding) -> Embedding:
    """Return the embedding of signatures, shape (n_arms, n_genes), each gene scaled before.
    Time grows with epochs times arms times weights: about 7.9 million multiplications a signature and epoch, thrice.
    Raises ValueError if there are too few signatures for a minibatch of two."""
    n, n_genes = signatures.shape
    n_held = max(1, round(coding.validation * n))
    if n - n_held < 2:
        raise ValueError(f"an autoencoder needs at least 3 signatures, got {n}.")
    torch.set_num_threads(1)
    x = torch.tensor(scaled(signatures), dtype=torch.float32)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(coding.seed)
        sizes = (n_genes, *coding.layers)
        encoder = nn.Sequential(*_stack(sizes, coding.dropout))
        model = nn.Sequential(encoder, *_stack(sizes[::-1], coding.dropout))
        order = torch.randperm(n)
        errors, best, weights = _epochs(model, x[order[n_held:]], x[order[:n_held]], coding)
    model.load_state_dict(weights)
    model.eval()
    with torch.no_grad():
        codes = torch.cat([encoder(part) for part in x.split(1024)]).numpy()
    return Embedding(scaled(codes).astype(np.float32), errors, best)


def _epochs(model: nn.Module, x: Tensor, held: Tensor, coding: Coding) -> tuple[FloatArray, int, dict[str, Tensor]]:
    adam = torch.optim.Adam(model.parameters(), lr=coding.learning_rate)
    errors: list[tuple[float, float]] = []
    best, weights = 0, copy.deepcopy(model.state_dict())
    for epoch in range(coding.epochs):
        model.train()
        total = 0.0
        for part in torch.randperm(len(x)).split(coding.minibatch):
            if len(part) < 2:  # batch normalisation needs two
                continue
            adam.zero_grad(set_to_none=True)
            loss = torch.nn.functional.mse_loss(model(x[part]), x[part])
            loss.backward()
            adam.step()
            total += float(loss.detach()) * len(part)
        model.eval()
        with torch.no_grad():
            error = float(torch.nn.functional.mse_loss(model(held), held))
        errors.append((total / len(x), error))
        if error <= min(e for _, e in errors):
            best, weights = epoch, copy.deepcopy(model.state_dict())
        elif epoch - best >= coding.patience:
            break
    return np.array(errors), best, weights


def scaled(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; a column that is constant becomes 0."""
    spread = values.std(axis=0, dtype=np.float64)
    return np.asarray((values - values.mean(axis=0, dtype=np.float64)) / np.where(spread > 1e-9, spread, 1.0))
