"""The pages of OAE choose the library's batches: same initial weights, same minibatches, NumPy in double precision."""

from functools import partial

import numpy as np
import pytest
import torch
from hills import run
from judges import Bench

from bestarm.models.minibatches import draw_minibatches
from bestarm.models.mlp_batch import Mlp
from bestarm.policies.batch_search import BatchSearch
from bestarm.policies.linear.linear_oae import LinearOae
from bestarm.policies.networks.oae import MOST_MEMBERS, NETWORKS_A_ROUND, Oae
from bestarm.policies.networks.oae_ensemble import EnsembleSearch, label_noise
from bestarm.policies.networks.oae_sequential import EnsembleSeqB, SeqB
from bestarm.problems.noiseless_arms import NoiselessArms
from bestarm.streams import Streams
from bestarm_plain import det_d, ensemble, mean_opt, seq_b
from bestarm_plain.linear_oae import linear_oae

N, BATCH, ROUNDS = 3, 3, 12
X = np.random.default_rng(0).standard_normal((80, 5))
PROBLEM = NoiselessArms("five features", X, (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] - 0.3 * X[:, 3] ** 2)[None])
STREAMS = Streams.first(N, instance="pages")


class LibraryDraws:
    """The initial weights and minibatches of one network of the library."""

    def __init__(self, key, replication: int, t: int, place: int, member: int) -> None:
        self.key, self.name = key, np.array([[replication, t * NETWORKS_A_ROUND + place * MOST_MEMBERS + member]])

    def weights(self, sizes):
        shape = Mlp(sizes[0], sizes[1:-1])
        layers = shape.layers(shape.xavier(self.key, self.name).double())
        return [(weights[0].numpy().copy(), biases[0, 0].numpy().copy()) for weights, biases in layers]

    def minibatch(self, step, n, m, u, m_pool):
        index, zero = np.empty((1, 1, m + m_pool), dtype=np.int64), np.zeros(1, dtype=np.int64)
        known, pool = np.arange(n)[None], np.arange(max(u, 1))[None]
        target, targets = np.empty((1, 1, m), dtype=np.float32), np.zeros((1, n), dtype=np.float32)
        sizes = np.array([n]), np.array([u])
        draw_minibatches(self.key, self.name, zero, zero, known, sizes[0], targets, pool, sizes[1], step, index, target)
        return index[0, 0, : min(m, n)], index[0, 0, m : m + min(m_pool, u)]


OPTIMISM = {"optimism": 0.1}
CASES = {
    "Greedy": (Oae, {}, mean_opt.greedy),
    "MeanOpt": (Oae, OPTIMISM, mean_opt.mean_opt),
    "MeanOpt, two layers": (Oae, {**OPTIMISM, "hidden": (20, 10)}, mean_opt.mean_opt),
    "MeanOpt, linear": (Oae, {**OPTIMISM, "hidden": (), "steps": 300}, mean_opt.mean_opt),
    "HingePNorm": (Oae, {**OPTIMISM, "objective": "hinge"}, mean_opt.hinge_p_norm),
    "MaxOpt": (Oae, {**OPTIMISM, "objective": "softmax"}, mean_opt.max_opt),
    "DetD": (Oae, {**OPTIMISM, "diversity": 1.0}, det_d.det_d),
    "DetD, affine": (Oae, {**OPTIMISM, "diversity": 0.3, "kernel": "affine"}, det_d.det_d),
    "Ensemble": (EnsembleSearch, {"members": 3}, ensemble.ensemble),
    "EnsembleNoiseY": (EnsembleSearch, {"members": 3, "label_noise": 0.5}, ensemble.ensemble),
    "SeqB": (SeqB, OPTIMISM, seq_b.seq_b),
    "SeqB, mostly pessimistic": (SeqB, {**OPTIMISM, "optimism_weight": 0.25}, seq_b.seq_b),
    "Ensemble-SeqB": (EnsembleSeqB, {"members": 3}, seq_b.ensemble_seq_b),
    "Ensemble-SeqB-NoiseY": (EnsembleSeqB, {"members": 3, "label_noise": 1.0}, seq_b.ensemble_seq_b),
}


@pytest.mark.parametrize("name", CASES)
def test_batches_are_those_of_the_page(name):
    """11 batches in each of three runs, arm after arm, and the best arm measured."""
    make, given, page = CASES[name]
    settings = {"hidden": (6,), "steps": 25, "learning_rate": 0.01} | given
    policy: BatchSearch = make(name, BATCH, ROUNDS, standardise=True, **settings)
    state, asked = run(policy, PROBLEM, STREAMS)
    batches, noise_key = np.array(asked), STREAMS.key(f"{name} label noise")
    for r in range(N):
        bench = Bench(PROBLEM, STREAMS.take(np.array([r])))

        def noise(t, place, member, n, r=r):
            return label_noise(noise_key, np.array([r]), t * (BATCH + 1) + place, 3, n)[0, member]

        draws = partial(LibraryDraws, STREAMS.key(f"{name} networks"), r)
        more = {"noise": noise} if "members" in given else {"features": X} if "diversity" in given else {}
        x = torch.as_tensor(state.inputs)[state.feature_set[r]].double().numpy()
        answer = page(x, bench.observe, ROUNDS, batches[0, r].tolist(), draws=draws, **settings | more)
        np.testing.assert_array_equal(np.reshape(bench.history, (ROUNDS, BATCH)), batches[:, r])
        assert answer == policy.recommend(state)[r, 0]


@pytest.mark.parametrize("size", [1, 3])
def test_batches_of_linear_functions_are_those_of_the_page(size):
    """Five runs of nine batches in 24 dimensions, which are never all known; as sets, since turns end in any order."""
    rng, n = np.random.default_rng(2), 5
    x, theta = rng.standard_normal((40, 24)), rng.standard_normal(24)
    problem, streams = NoiselessArms("linear", x, (x @ theta / np.linalg.norm(theta) / 1.2)[None]), Streams.first(n)
    policy = LinearOae("OAE", size, 1 + 18 // (size + 1))
    state, asked = run(policy, problem, streams)
    for r in range(n):
        bench = Bench(problem, streams.take(np.array([r])))
        answer = linear_oae(x, bench.observe, policy.rounds, asked[0][r].tolist())
        for batch, theirs in zip(np.reshape(bench.history, (policy.rounds, size)), asked, strict=True):
            assert set(batch) == set(theirs[r])
        assert answer == policy.recommend(state)[r, 0]
