"""The pages of batched Gaussian process search ask for the library's batches, 240 in all for each."""

from functools import partial

import numpy as np
import pytest
from hills import hills, run
from judges import Bench

from bestarm.policies.gaussian import batch_gp
from bestarm.policies.gaussian.batch_rules import Eigen
from bestarm.policies.gaussian.gp_state import GPModel
from bestarm.policies.gaussian.local_penalty import N_TRIED, lipschitz_constant
from bestarm.streams import Streams, uniform
from bestarm_plain import gp_bucb, lp_ucb, ucb_dpp_max, ucb_dpp_sample

# arms far from all rewards would tie, and equal eigenvalues of a kernel would have no eigenvectors of their own
LENGTHSCALE, FIRST, BATCH, ROUNDS, N = 0.2, 8, 4, 48, 5
MODEL = GPModel.frozen((LENGTHSCALE, LENGTHSCALE), 1.0, 0.01)
EST = partial(batch_gp.est_dpp_sample, sampler=Eigen())
PAGES = {
    "GP-BUCB": (batch_gp.gp_bucb, gp_bucb.gp_bucb),
    "inflated": (partial(batch_gp.gp_bucb, inflation=1.5), partial(gp_bucb.gp_bucb, inflation=1.5)),
    "B-EST": (batch_gp.b_est, gp_bucb.b_est),
    "UCB-DPP-MAX": (batch_gp.ucb_dpp_max, ucb_dpp_max.ucb_dpp_max),
    "EST-DPP-MAX": (batch_gp.est_dpp_max, ucb_dpp_max.est_dpp_max),
    "UCB-DPP-SAMPLE": (partial(batch_gp.ucb_dpp_sample, sampler=Eigen()), ucb_dpp_sample.ucb_dpp_sample),
    "EST-DPP-SAMPLE": (EST, ucb_dpp_sample.est_dpp_sample),
    "LP-UCB": (batch_gp.lp_ucb, lp_ucb.lp_ucb),
}


def kernel(x: np.ndarray) -> np.ndarray:
    z = x / LENGTHSCALE
    return np.exp(-0.5 * ((z[:, None] - z) ** 2).sum(axis=2))


@pytest.mark.parametrize("name", PAGES)
def test_batches_are_those_of_the_page(name):
    """Five runs of 48 batches, and the arm recommended at the end."""
    make, page = PAGES[name]
    policy, problem = make(BATCH, ROUNDS, model=MODEL, first=FIRST), hills(N)
    streams = Streams.first(N, instance="hills")
    state, asked = run(policy, problem, streams)
    for r in range(N):
        bench, key = Bench(problem, streams.take(np.array([r]))), streams.key(f"batches of {policy.label}")

        def turn(bench=bench):
            return 1 + (len(bench.history) - FIRST) // BATCH

        def draw(number, r=r, key=key, turn=turn):
            return uniform(key, r, turn(), number)

        def slope(x, seen, weights, lengthscale, signal, r=r, key=key, turn=turn):
            columns = np.ascontiguousarray(x.T)
            return lipschitz_constant(columns, seen, weights, lengthscale, signal, N_TRIED, key, r, turn())

        first, given = asked[0][r].tolist(), {}
        if name == "LP-UCB":
            scales = np.full(2, LENGTHSCALE)
            answer = page(bench.x, bench.observe, BATCH, ROUNDS, first, lengthscale=scales, slope=slope)
        else:
            given = {"uniform": draw} if "DPP" in name else {}
            answer = page(kernel(bench.x), bench.observe, BATCH, ROUNDS, first, **given)
        batches = np.reshape(bench.history[FIRST:], (ROUNDS, BATCH))
        for t, (mine, theirs) in enumerate(zip(batches, asked[1:], strict=True)):
            np.testing.assert_array_equal(mine, theirs[r], err_msg=f"batch {t} of run {r}")
        assert answer == policy.recommend(state)[r, 0]


def test_the_page_finds_the_same_slope():
    """The largest gradient of the posterior mean, within 2% of the library's ascent."""
    x = np.random.default_rng(0).random((60, 2))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        seen, weights = rng.random((8, 2)), rng.standard_normal(8)
        own = lp_ucb.steepest(x, seen, weights, np.full(2, 0.3), 1.0)
        key = Streams.first(1).key(f"slope {seed}")
        theirs = lipschitz_constant(np.ascontiguousarray(x.T), seen, weights, np.full(2, 0.3), 1.0, 500, key, 0, 0)
        assert own == pytest.approx(theirs, rel=0.02)
