"""Progress in a notebook that somebody looks at: shown once it takes long, and cleared when it is done."""

import os

import pytest

CODE = """
import time
from bestarm.search import progress
progress.AFTER = 0.05
with progress.noted("a round"):
    time.sleep(1.0)
print("done")
"""


@pytest.mark.parametrize("watched", [True, False])
def test_what_takes_long_is_shown_until_it_is_done(watched):
    """By the messages of a kernel, begun as Jupyter's server begins one, or as nbclient does."""
    manager = pytest.importorskip("jupyter_client").KernelManager(kernel_name="python3")
    environment = {k: v for k, v in os.environ.items() if k != "JPY_SESSION_NAME"}
    manager.start_kernel(env=environment | ({"JPY_SESSION_NAME": "a.ipynb"} if watched else {}))
    client = manager.client()
    client.start_channels()
    seen = []
    try:
        client.wait_for_ready(timeout=60)
        client.execute_interactive(CODE, timeout=60, output_hook=seen.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert [m["content"]["text"] for m in seen if m["msg_type"] == "stream"] == ["done\n"]
    displays = [m for m in seen if m["msg_type"] in ("display_data", "update_display_data")]
    texts = [(m["msg_type"], m["content"]["data"]["text/plain"]) for m in displays]
    shown = [("display_data", "bestarm: a round takes more than 0 s."), ("update_display_data", "")]
    assert texts == (shown if watched else [])
