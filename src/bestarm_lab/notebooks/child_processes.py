"""Processes that a command started and that must not outlive it: kernels of notebooks, and their workers."""

import contextlib
import os
import sys

import psutil

MARK = "BESTARM_STARTED_BY"  # in the environment of what a command starts


def mark() -> None:
    """Mark all processes that are started from now on, theirs included, as started by this one."""
    os.environ[MARK] = str(os.getpid())


def end_marked(variable: str, value: str) -> int:
    """Kill all other processes that were started with this value of an environment variable; return their number.

    A kernel that dies leaves workers without a parent, which are known by nothing else.
    """
    others = [process for process in psutil.process_iter(["environ"]) if process.pid != os.getpid()]
    found = [process for process in others if (process.info["environ"] or {}).get(variable) == value]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return len(found)


def leave(message: str, status: int) -> None:
    """End this process now with one line as its last word; nothing that the libraries want to say comes after it."""
    end_marked(MARK, str(os.getpid()))
    print(message, file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(status)
