"""Notes while something takes long: that code is compiled, and what is being waited for."""

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bestarm.guards import protocol

AFTER = 2.0  # seconds until something takes long

_log = logging.getLogger("bestarm.search")
_within = threading.local()


def _watched() -> bool:
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def _in_notebook() -> bool:
    """Return whether somebody looks on in Jupyter, VS Code or Colab; notebooks run as a whole keep their outputs."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    looks = "JPY_SESSION_NAME" in os.environ or "google.colab" in sys.modules
    return hasattr(shell, "kernel") and (looks or "__vsc_ipynb_file__" in shell.user_ns)


def _say(what: str, thread: int, shown: list[Any]) -> None:
    """Log what takes long in a thread, and whether it is compiling; in a notebook show it, until it is cleared."""
    frame = sys._current_frames().get(thread)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("numba.core."):
        frame = frame.f_back
    why = "" if frame is None else ": code that is new here is being compiled once, which may take a minute"
    _log.log(logging.WARNING if _watched() else logging.INFO, "bestarm: %s takes more than %.0f s%s.", what, AFTER, why)
    if _in_notebook():
        display = import_module("IPython.display").display
        text = {"text/plain": f"bestarm: {what} takes more than {AFTER:.0f} s{why}."}
        shown.append(display(text, raw=True, display_id=True))


@contextlib.contextmanager
def noted(what: str) -> Iterator[None]:
    """Say, once it has taken two seconds, what is being done: a warning on a terminal, otherwise a logged info.

    In a notebook that somebody looks at it is shown as well, until it is done. Within another note nothing is said.
    """
    if getattr(_within, "note", False):
        yield
        return
    protocol._say_first_compile()
    shown: list[Any] = []
    timer = threading.Timer(AFTER, _say, (what, threading.get_ident(), shown))
    timer.daemon = _within.note = True
    with contextlib.suppress(RuntimeError):  # where no thread can be started nothing is said
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _within.note = False
        for handle in shown:
            handle.update({"text/plain": ""}, raw=True)
