"""The command line: ``bestarm rows | notebook | repro | pages``."""

from __future__ import annotations

import argparse
import sys


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bestarm",
        description="Make the rows of a study, execute a notebook, rebuild everything, or write the generated pages.",
        epilog="Environment: BESTARM_DATA, folder searched for data files before the network; BESTARM_OFFLINE, "
        "download nothing; BESTARM_STORE, folder of finished blocks; BESTARM_WORKERS, number of processes; "
        "BESTARM_FRESH, ignore committed rows.",
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
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; errors of use end with one line and status 2."""
    given = _parser().parse_args(arguments)
    # imported late, so that --help answers at once
    from bestarm.reporting.rebuild import rebuild
    from bestarm.reporting.results import make_results
    from bestarm.reporting.runner import NotebookFailed, run_notebook

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
    except (ValueError, NotebookFailed) as error:
        print(f"bestarm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbestarm: interrupted; finished blocks are kept, the same command goes on from there.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
