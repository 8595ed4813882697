"""The command line: ``bestarm rows | notebook | repro | pages | suggest | replay``."""

from __future__ import annotations

import argparse
import sys

from bestarm.reporting.screen_parser import add_commands

_KEPT = "finished blocks are kept, and the same command goes on from there. Fewer workers need less: BESTARM_WORKERS=1."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bestarm",
        description="Make the rows of a study, execute a notebook, rebuild everything, or write the generated pages. "
        "Suggest the next batch of a screen of your own, or replay a finished one.",
        epilog="Environment: BESTARM_DATA, folder searched for data files before the network; BESTARM_OFFLINE, "
        "download nothing; BESTARM_STORE, folder of finished blocks; BESTARM_WORKERS, number of processes; "
        "BESTARM_SCHEDULER, address of a Dask scheduler whose workers make the rows; BESTARM_FRESH, ignore "
        "committed rows.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows", help="make the rows of a study's experiments, and the verdicts on its claims")
    rows.add_argument("study")
    rows.add_argument("--profile", default="laptop", choices=["laptop", "paper"])
    rows.add_argument("--experiment", action="append", default=[], help="only this one; may be given several times")
    rows.add_argument("--measure", action="store_true", help="measure wall times and processor seconds again")
    notebook = commands.add_parser("notebook", help="execute one notebook and publish its figures")
    notebook.add_argument("name", help="study/notebook, for example gse/03_adaptive")
    notebook.add_argument("--profile", default="laptop", choices=["smoke", "laptop", "paper"])
    repro = commands.add_parser("repro", help="rebuild from scratch and compare with what is committed")
    repro.add_argument("study", nargs="*")
    repro.add_argument("--profile", default="laptop", choices=["smoke", "laptop"])
    commands.add_parser("pages", help="bring the generated pages and parts of pages up to date")
    add_commands(commands)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; errors of use, of files and of memory end with one line and status 2, Ctrl-C with 130."""
    given = _parser().parse_args(arguments)
    # imported late, so that --help answers at once
    from concurrent.futures.process import BrokenProcessPool

    from bestarm.experiments.cluster import ClusterFailed
    from bestarm.guards.memory import lack_of_memory
    from bestarm.reporting.leftovers import leave, mark
    from bestarm.reporting.rebuild import rebuild
    from bestarm.reporting.results import make_results
    from bestarm.reporting.runner import NotebookFailed, run_notebook

    mark()
    try:
        match given.command:
            case "rows":
                make_results(given.study, given.profile, given.experiment, measure=given.measure)
            case "notebook":
                run_notebook(given.name, given.profile)
            case "repro":
                return rebuild(given.study, given.profile)
            case "pages":
                from bestarm.reporting.pages import write_pages

                write_pages()
            case "suggest":
                from bestarm.reporting.screen_commands import run_suggest

                return run_suggest(given)
            case "replay":
                from bestarm.reporting.screen_commands import run_replay

                return run_replay(given)
    except (ValueError, ClusterFailed, NotebookFailed, OSError) as error:
        print(f"bestarm: {_one_line(error)}", file=sys.stderr)
        return 2
    except BrokenProcessPool:
        leave(f"bestarm: a worker died, which usually means that memory ran out; {_KEPT}", 2)
    except (MemoryError, RuntimeError) as error:
        said = lack_of_memory(error)
        if said is None:
            raise
        leave(f"bestarm: memory ran out ({said}); {_KEPT}", 2)
    except KeyboardInterrupt:
        leave("\nbestarm: interrupted; finished blocks are kept, the same command goes on from there.", 130)
    return 0


def _one_line(error: Exception) -> str:
    """Return what an error says, of the operating system with the file that it is about."""
    if isinstance(error, OSError) and error.filename and str(error.filename) not in str(error.strerror):
        return f"{error.strerror}: {error.filename}. Free the disk, or choose another place."
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
