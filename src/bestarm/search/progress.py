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
_within = threading.local()


def _watched() -> bool:
    """Return whether somebody looks on at a terminal; outputs of notebooks are kept and compared, so they have none."""
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def _say(what: str, thread: int) -> None:
    """Log what takes long in a thread, and whether it is compiling."""
    frame = sys._current_frames().get(thread)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("numba.core."):
        frame = frame.f_back
    why = "" if frame is None else ": code that is new here is being compiled once, which may take a minute"
    level = logging.WARNING if _watched() else logging.INFO
    _log.log(level, "bestarm: %s takes more than %.0f s%s.", what, AFTER, why)


@contextlib.contextmanager
def noted(what: str) -> Iterator[None]:
    """Log, once it has taken two seconds, what is being done: a warning on a terminal, otherwise an info.

    That nothing was compiled here before is said at once, by the note of the policies. Within another note nothing is
    said.
    """
    if getattr(_within, "note", False):
        yield
        return
    protocol._say_first_compile()
    timer = threading.Timer(AFTER, _say, (what, threading.get_ident()))
    timer.daemon = _within.note = True
    with contextlib.suppress(RuntimeError):  # where no thread can be started nothing is said
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _within.note = False
