"""The command line ``bestarm COMMAND``: commands of the installed packages, whose errors of use end in one line."""

import argparse
import errno
import io
import os
import sys
from importlib.metadata import EntryPoint
from typing import NoReturn

from bestarm.plugins import entry_points

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)


class _Parser(argparse.ArgumentParser):
    """A parser, and those of its commands, whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        sys.exit(_refused(f"{message.removeprefix('argument ')}; {self.prog} --help tells what there is."))


def _parser() -> tuple[argparse.ArgumentParser, dict[str, EntryPoint]]:
    """Return the parser, and for each command the entry point that brought it.

    An entry point of the group ``bestarm.commands`` is a function that adds parsers to argparse's subparsers, each
    with a default ``run``: a function from the parsed arguments to the status. It returns what ``--help`` is to say
    about environment variables, or "".
    """
    parser = _Parser(prog="bestarm", description="Find the best arms with few queries.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    brought: dict[str, EntryPoint] = {}
    environment = []
    for entry in entry_points("bestarm.commands").values():
        environment.append(entry.load()(commands))
        brought |= {name: entry for name in commands.choices if name not in brought}
    if any(environment):
        parser.epilog = f"Environment: {'; '.join(filter(None, environment))}."
    return parser, brought


def main(arguments: list[str] | None = None) -> int:
    """Run one command; errors of use, of files and of memory end with one line and status 2, Ctrl-C with 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to fail
    if sys.stdout is None:  # closed by whoever started this
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    parser, brought = _parser()
    given = parser.parse_args(arguments)
    try:
        status = int(given.run(given))
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read what was printed has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # what a shell says of it
    except ImportError as error:
        entry = brought[given.command]
        extras = f"{entry.dist.name if entry.dist else 'bestarm'}[{','.join(entry.extras)}]"
        if not entry.extras or not error.name or error.name.startswith("bestarm"):
            raise
        return _refused(f"{given.command} needs {error.name}, which is not here: pip install '{extras}'")
    except (ValueError, OSError) as error:
        return _refused(one_line(error))
    except (MemoryError, RuntimeError) as error:
        from bestarm.guards.memory import lack_of_memory

        said = lack_of_memory(error)
        if said is None:
            raise
        return _refused(f"memory ran out ({said}).")
    except KeyboardInterrupt:
        print("\nbestarm: interrupted.", file=sys.stderr)
        return 130


def _refused(text: str) -> int:
    print(f"bestarm: {text}", file=sys.stderr)
    return 2


def one_line(error: Exception) -> str:
    """Return what an error says, of the operating system with the file that it is about and the remedy."""
    if isinstance(error, OSError) and error.filename and str(error.filename) not in str(error.strerror):
        remedy = " Free the disk, or choose another place." if error.errno in _NO_ROOM else ""
        remedy = " Choose another place." if error.errno in _NOT_WRITABLE else remedy
        return f"{error.strerror}: {error.filename}.{remedy}"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, OSError) and error.errno in _NO_ROOM:  # of the output, since no file is named
        text = f"{text}: the output could not be written; what went to files before is there."
    return " ".join(text.split())
