"""Notes on the terminal while something takes long: that code is compiled, and what is being waited for."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator

from bestarm.guards import protocol

AFTER = 2.0  # seconds until something takes long

_log = logging.getLogger("bestarm.search")


def _watched() -> bool:
    """Return whether somebody looks on: a terminal, or a notebook."""
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
    return in_notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())


@contextlib.contextmanager
def noted(what: str) -> Iterator[None]:
    """Log, once it has taken two seconds, what is being done: a warning where somebody looks on, otherwise an info.

    That nothing was compiled here before is said at once, by the note of the policies.
    """
    protocol._say_first_compile()
    level = logging.WARNING if _watched() else logging.INFO
    text = "bestarm: %s takes more than %.0f s; what was never compiled here is compiled once."
    timer = threading.Timer(AFTER, _log.log, (level, text, what, AFTER))
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # where no thread can be started nothing is said
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
