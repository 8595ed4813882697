"""BoTorch's qLogNEI in this project's loop: rounds, blocks, failures, and what is said where BoTorch is absent."""

import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from hills import hills, run
from refusals import each_refused, refuses

from benchmarks.q_log_nei import QLogNEI
from bestarm.interface import Arms, Ask
from bestarm.policies.gaussian.batch_gp import ucb_dpp_sample
from bestarm.simulate import simulate
from bestarm.streams import Streams
from bestarm_lab.metrics import simple_regret

needs_botorch = pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install botorch")
POLICY = QLogNEI("qLogNEI", batch=3, rounds=2)
few = partial(hills, n=3, n_arms=40, sigma=0.02)


@needs_botorch
def test_rounds_and_first_arms():
    """The first arms are those of the paper's searches; then batches of different arms; the end asks for nothing."""
    problem, streams = few(), Streams.first(3, instance="hills")
    state, found = run(POLICY, problem, streams)
    assert [a.shape for a in found] == [(3, 1), (3, 3), (3, 3)]
    other = ucb_dpp_sample(3, 2)
    np.testing.assert_array_equal(found[0], other.ask(other.start(problem.arms, streams)).arms)
    assert all(len(set(row)) == 3 for batch in found[1:] for row in batch.tolist())
    np.testing.assert_array_equal(state.n_known, 7)
    assert POLICY.ask(state).counts.sum() == 0
    np.testing.assert_array_equal(POLICY.recommend(state)[:, 0], state.means.argmax(axis=1))


@needs_botorch
def test_replications_do_not_depend_on_their_block():
    """Replication 2 alone, after draws of others from Torch, does what it does among three; asking twice is once."""
    import torch

    problem = few()
    whole = run(POLICY, problem, Streams.first(3, instance="hills"))[1]
    torch.rand(5)
    rows = np.array([2])
    state, part = run(POLICY, problem.take(rows), Streams(0, "hills", rows))
    for a, b in zip(whole, part, strict=True):
        np.testing.assert_array_equal(a[rows], b)
    state.round -= 1
    np.testing.assert_array_equal(POLICY.ask(state).arms, POLICY.ask(state).arms)


@needs_botorch
def test_failed_evaluations():
    """One of a batch fails, in replication 0 everything: counted, not learned, and the search goes on."""

    def fails(asked: Ask, turn: int):
        failed = np.zeros(asked.arms.shape, dtype=bool)
        failed[:, 0], failed[0] = turn > 0, True
        return failed

    state, _ = run(POLICY, few(), Streams.first(3, instance="hills"), fails)
    np.testing.assert_array_equal(state.n_failed, [7, 2, 2])
    np.testing.assert_array_equal(state.n_known, [0, 5, 5])
    assert np.isfinite(state.means).all()


@needs_botorch
def test_the_search_finds_the_best_arm():
    """After one random arm and five batches of four among 100 arms, the median regret is below 0.02."""
    policy, problem, streams = QLogNEI("qLogNEI", 4, 5), few(n=5, n_arms=100), Streams.first(5, instance="hills")
    rows = simulate(policy, problem, streams, metrics={"regret": simple_regret})
    assert (rows["pulls"] == 21).all()
    assert rows["regret"].median() < 0.02


def test_without_botorch_one_line_says_what_to_do(monkeypatch):
    """A search that is started names what is missing and how to get it."""
    for module in [name for name in sys.modules if name.split(".")[0] == "botorch"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "botorch", None)
    refuses(lambda: POLICY.start(few().arms, Streams.first(3)), "pip install botorch", ImportError)


test_bad_input_is_refused = each_refused(
    (lambda: QLogNEI("x", 0, 3), "batch must be a whole number"),
    (lambda: QLogNEI("x", 2.5, 3), "batch must be a whole number"),
    (lambda: QLogNEI("x", 2, 0), "rounds must be"),
    (lambda: QLogNEI("x", 2, 3, first=0), "first must be"),
    (lambda: QLogNEI("x", 5, 3).start(Arms(np.eye(3)), Streams.first(1)), "at most the number of arms, 3"),
)
