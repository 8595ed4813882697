r"""Networks of one hidden layer with Monte Carlo dropout, one for each replication, and what their passes say.

The network is :math:`f(x)=b_2+\sum_j w_j\max(0,2m_j(W x+b_1)_j)` with random bits :math:`m_j`: dropout of one half acts
on the output of the first layer, before the nonlinearity (Gal and Ghahramani, ICML 2016). It is trained with dropout by
Adam on the squared error, until the training loss has not fallen for some epochs; the parameters of the lowest loss are
kept. Predictions draw the bits anew: the first layer is the same in all passes, each a sum over a word's bits.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bestarm.interface import FloatArray, IntArray
from bestarm.settings import check_whole
from bestarm.streams import philox, uniform

MOST_UNITS = 32  # a pass draws one word of 32 bits
_BETA_1, _BETA_2, _EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
SingleArray = NDArray[np.float32]


@dataclass(frozen=True)
class DropoutTraining:
    """How a network is trained and asked; the defaults are those of GeneDisco (Mehrjou and others, ICLR 2022).
    ``hidden`` units are at most 32. There are at most ``epochs`` passes over the data; training ends after ``patience``
    of them without a lower loss. ``passes`` are the random ones of a prediction. Adam's weight decay is added to the
    gradient. ``broadcast_loss`` is a fault of the authors' code: every output is compared with every response of its
    minibatch, so that the gradient pulls all outputs to the minibatch's mean."""

    hidden: int = 32
    epochs: int = 100
    patience: int = 13
    minibatch: int = 64
    passes: int = 100
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    broadcast_loss: bool = False

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "patience", "minibatch", "passes"):
            check_whole(name, getattr(self, name), 1)
        if self.hidden > MOST_UNITS:
            raise ValueError(f"hidden must be at most {MOST_UNITS}, the bits of a word; got {self.hidden}.")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            raise ValueError(
                f"learning_rate must be positive and weight_decay not negative, got {self.learning_rate} and "
                f"{self.weight_decay}."
            )


class Networks(NamedTuple):
    """Parameters of R networks: ``first`` (R, d, hidden), ``bias`` and ``last`` (R, hidden), ``shift`` (R,)."""

    first: SingleArray
    bias: SingleArray
    last: SingleArray
    shift: SingleArray


class Passes(NamedTuple):
    """What the passes of each arm say: their mean, standard deviation (population form), and largest minus smallest."""

    mean: SingleArray
    deviation: SingleArray
    margin: SingleArray


@njit(cache=True)
def initial_parameters(key: np.uint64, replication: int, number: int, d: int, hidden: int) -> SingleArray:
    """Return the parameters of a network in one array, all uniform within one over the root of a layer's inputs.
    First the weights of the first layer, by input, then its biases, the weights of the last layer and its bias."""
    n = d * hidden + 2 * hidden + 1
    found = np.empty(n, dtype=np.float32)
    for i in range(n):
        reach = 1.0 / np.sqrt(d if i < (d + 1) * hidden else hidden)
        found[i] = np.float32(reach * (2.0 * uniform(key, replication, i, 4 * number) - 1.0))
    return found


@njit(cache=True)
def epoch_order(key: np.uint64, replication: int, number: int, epoch: int, n: int) -> IntArray:
    """Return the order of the observations in one epoch, a random permutation."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = int(uniform(key, replication, (epoch << 16) + i, 4 * number + 1) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


@njit(cache=True)
def random_words(key: np.uint64, stream: int, replication: int, place: int, n: int) -> NDArray[np.uint32]:
    """Return n words of 32 bits: a mask each, in which bit j says whether unit j is kept."""
    words = np.empty(n + 3, dtype=np.uint32)
    half = np.uint64(32)
    for i in range(0, n, 4):
        bits, more = philox(key, stream, replication, place, i)
        words[i], words[i + 1] = np.uint32(bits), np.uint32(bits >> half)
        words[i + 2], words[i + 3] = np.uint32(more), np.uint32(more >> half)
    return words[:n]


@njit(cache=True)
def training_bits(key: np.uint64, replication: int, number: int, step: int, n: int) -> NDArray[np.uint32]:
    """Return a word for each observation of a training step."""
    return random_words(key, 4 * number + 2, replication, step, n)


@njit(cache=True)
def prediction_bits(key: np.uint64, replication: int, number: int, arm: int, n: int) -> NDArray[np.uint32]:
    """Return a word for each pass of one arm."""
    return random_words(key, 4 * number + 3, replication, arm, n)


@njit(cache=True)
def _step(
    x: SingleArray,
    y: SingleArray,
    words: NDArray[np.uint32],
    theta: SingleArray,
    gradient: SingleArray,
    hidden: int,
    broadcast: bool,
) -> float:
    """Write the gradient of the loss of one minibatch, and return the loss."""
    n, d = x.shape
    two = np.float32(2.0)
    first = theta[: d * hidden].reshape(d, hidden)
    bias, last = theta[d * hidden : (d + 1) * hidden], theta[(d + 1) * hidden : (d + 2) * hidden]
    # forward: the bits drop units before the nonlinearity, those that stay count twice
    pre = np.dot(x, first)
    slope = np.empty((n, hidden), dtype=np.float32)
    mean = np.float32(0.0)
    for i in range(n):
        mean += y[i]
    mean /= np.float32(n)
    spread = np.float32(0.0)
    grad_last = np.zeros(hidden, dtype=np.float32)
    grad_bias = np.zeros(hidden, dtype=np.float32)
    grad_shift, loss = np.float32(0.0), np.float32(0.0)
    for i in range(n):
        for j in range(hidden):
            kept = np.float32((words[i] >> np.uint32(j)) & np.uint32(1))
            unit = two * kept * (pre[i, j] + bias[j])
            active = np.float32(1.0) if unit > 0 else np.float32(0.0)
            pre[i, j] = unit * active
            slope[i, j] = two * kept * active
    outputs = np.dot(pre, last)
    for i in range(n):
        # the fault compares every output with every response: the gradient is that towards their mean
        goal = mean if broadcast else y[i]
        miss = outputs[i] + theta[(d + 2) * hidden] - goal
        loss += miss * miss
        spread += (y[i] - mean) ** 2
        back = two * miss / np.float32(n)
        grad_shift += back
        for j in range(hidden):
            grad_last[j] += back * pre[i, j]
            slope[i, j] *= back * last[j]
            grad_bias[j] += slope[i, j]
    # backward
    gradient[: d * hidden] = np.dot(x.T, slope).ravel()
    gradient[d * hidden : (d + 1) * hidden] = grad_bias
    gradient[(d + 1) * hidden : (d + 2) * hidden] = grad_last
    gradient[(d + 2) * hidden] = grad_shift
    if broadcast:
        loss += spread
    return loss / n


@njit(cache=True)
def _adam(
    theta: SingleArray, gradient: SingleArray, m: SingleArray, v: SingleArray, t: int, rate: float, decay: float
) -> None:
    one = np.float32(1.0)
    scale = np.float32(rate / (1.0 - 0.9**t))
    root = np.float32(1.0 / np.sqrt(1.0 - 0.999**t))
    weight = np.float32(decay)
    for i in range(len(theta)):
        g = gradient[i] + weight * theta[i]
        m[i] = _BETA_1 * m[i] + (one - _BETA_1) * g
        v[i] = _BETA_2 * v[i] + (one - _BETA_2) * g * g
        theta[i] -= scale * m[i] / (np.sqrt(v[i]) * root + _EPSILON)


@njit(cache=True)
def _fit_one(
    x: SingleArray,
    y: SingleArray,
    key: np.uint64,
    replication: int,
    number: int,
    hidden: int,
    epochs: int,
    patience: int,
    minibatch: int,
    rate: float,
    decay: float,
    broadcast: bool,
) -> tuple[SingleArray, int]:
    """Fit one network with Adam; return the parameters of the lowest loss, and how many epochs it took."""
    n, d = x.shape
    theta = initial_parameters(key, replication, number, d, hidden)
    best = theta.copy()
    m, v, gradient = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    lowest, waited, t, done = np.inf, 0, 0, 0
    for epoch in range(epochs):
        order = epoch_order(key, replication, number, epoch, n)
        total, parts = 0.0, 0
        for start in range(0, n, minibatch):
            rows = order[start : start + minibatch]
            words = training_bits(key, replication, number, t, len(rows))
            t += 1
            total += _step(x[rows], y[rows], words, theta, gradient, hidden, broadcast)
            _adam(theta, gradient, m, v, t, rate, decay)
            parts += 1
        done += 1
        # the mean loss of the epoch's minibatches decides when to stop
        loss = total / parts
        if loss < lowest:
            lowest, waited = loss, 0
            best[:] = theta
        else:
            waited += 1
            if waited >= patience:
                break
    return best, done


def fit_dropout_networks(
    training: DropoutTraining,
    features: SingleArray,
    arms: IntArray,
    n_observed: IntArray,
    targets: FloatArray,
    key: np.uint64,
    names: IntArray,
) -> tuple[Networks, IntArray]:
    """Train one network for each replication; return the parameters of the lowest training loss, and epochs, (R,).
    ``features`` are those of all arms, (n_arms, d); of row r of ``arms`` and ``targets``, (R, n), the first
    ``n_observed[r]`` count. Equal ``names``, (R, 2), replication and number of a network, draw equal numbers."""
    if (n_observed < 1).any():
        raise ValueError(f"every replication needs at least one observation, got {int(n_observed.min())}.")
    d, hidden = features.shape[1], training.hidden
    thetas, epochs = [], np.zeros(len(arms), dtype=np.int64)
    for r, (replication, number) in enumerate(names):
        seen = arms[r, : n_observed[r]]
        theta, epochs[r] = _fit_one(
            np.ascontiguousarray(features[seen]),
            targets[r, : n_observed[r]].astype(np.float32),
            key,
            int(replication),
            int(number),
            hidden,
            training.epochs,
            training.patience,
            training.minibatch,
            training.learning_rate,
            training.weight_decay,
            training.broadcast_loss,
        )
        thetas.append(theta)
    stacked, end = np.stack(thetas), d * hidden
    first = stacked[:, :end].reshape(len(arms), d, hidden)
    return Networks(
        first, stacked[:, end : end + hidden], stacked[:, end + hidden : end + 2 * hidden], stacked[:, -1]
    ), epochs


def hidden_outputs(networks: Networks, features: SingleArray) -> SingleArray:
    """Return the outputs of the first layer before dropout, shape (R, n_arms, hidden)."""
    r, d, hidden = networks.first.shape
    flat = np.ascontiguousarray(networks.first.transpose(1, 0, 2)).reshape(d, r * hidden)
    found = (features @ flat).reshape(len(features), r, hidden) + networks.bias
    return np.ascontiguousarray(found.transpose(1, 0, 2))


@njit(cache=True)
def _total(values: SingleArray) -> np.float32:
    """Return the sum by halves, in an order that does not depend on the processor; the values are lost."""
    n = len(values)
    while n > 1:
        half = (n + 1) // 2
        for i in range(n - half):
            values[i] += values[half + i]
        n = half
    return values[0]


@njit(cache=True)
def _passes(
    outputs: SingleArray,
    last: SingleArray,
    shift: np.float32,
    arms: IntArray,
    key: np.uint64,
    replication: int,
    number: int,
    n_passes: int,
    found: SingleArray,
) -> None:
    """Write mean, standard deviation and range of the passes of some arms, shape (3, n)."""
    hidden = len(last)
    values = np.empty(n_passes, dtype=np.float32)
    one, n = np.uint32(1), np.float32(n_passes)
    for place in range(len(arms)):
        arm = arms[place]
        words = prediction_bits(key, replication, number, arm, n_passes)
        values[:] = shift
        for j in range(hidden):
            # unit j adds to every pass in whose word bit j is set
            unit = outputs[arm, j]
            if unit > 0:
                part = np.float32(2.0) * unit * last[j]
                bit = np.uint32(j)
                for p in range(n_passes):
                    values[p] += part * np.float32((words[p] >> bit) & one)
        # range, mean and standard deviation over the passes
        low = high = values[0]
        for p in range(n_passes):
            low, high = min(low, values[p]), max(high, values[p])
        mean = _total(values.copy()) / n
        for p in range(n_passes):
            values[p] = (values[p] - mean) ** 2
        found[0, place], found[1, place], found[2, place] = mean, np.sqrt(_total(values) / n), high - low


def predict_dropout(
    training: DropoutTraining,
    networks: Networks,
    outputs: SingleArray,
    available: NDArray[np.bool_],
    key: np.uint64,
    names: IntArray,
) -> Passes:
    """Return what random passes say of the ``available`` arms, shape (R, n_arms); minus infinity for the others.
    Every arm and pass draws bits of its own; ``outputs`` are `hidden_outputs`, ``key`` and ``names`` as for the fit."""
    found = np.full((3, *available.shape), -np.inf, dtype=np.float32)
    for r, (replication, number) in enumerate(names):
        arms = np.flatnonzero(available[r])
        mine = np.empty((3, len(arms)), dtype=np.float32)
        _passes(
            outputs[r],
            networks.last[r],
            networks.shift[r],
            arms,
            key,
            int(replication),
            int(number),
            training.passes,
            mine,
        )
        found[:, r, arms] = mine
    return Passes(*found)
