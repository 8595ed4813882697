"""A search whose networks do not fit into the memory: one line, whichever library finds it, and the state goes on."""

import resource
import subprocess
import sys

import pytest

SEARCH = """
import logging, resource, sys
import numpy as np
from pathlib import Path
import bestarm
from bestarm.models import fused_fit, fused_predict
logging.disable(logging.CRITICAL)
if sys.argv[1] == "torch":
    fused_fit.cannot_run = fused_predict.cannot_run = lambda training: "a test"
def begin(hidden, batches):
    policy = bestarm.mean_opt(batch=2, rounds=4, optimism=0.01, hidden=hidden, steps=3)
    state = policy.start(bestarm.Arms(np.random.default_rng(0).standard_normal((50, 3))), bestarm.Streams.first(1))
    for _ in range(batches):
        asked = policy.ask(state)
        policy.tell(state, asked, asked.counts * 0.5)
    return policy, state
begin((4, 4), 2)  # compiles
policy, state = begin((6000, 6000), 1)  # a random batch
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 2**20, hard))
try:
    policy.ask(state)
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(policy.recommend(state).shape)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is set by way of /proc")
@pytest.mark.parametrize("path", ["fused", "torch"])
def test_networks_that_do_not_fit_end_in_one_line(path):
    """With 200 MB more than at the start, a network of 36 million weights."""
    assert resource.RLIMIT_AS
    run = subprocess.run([sys.executable, "-c", SEARCH, path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    said, shape = run.stdout.splitlines()
    assert said.startswith("MeanOpt: memory ran out (")
    assert said.endswith("take fewer candidates, smaller layers, batches or ensembles.")
    assert shape == "(1, 1)"
