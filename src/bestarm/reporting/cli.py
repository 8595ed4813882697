"""The command line: ``bestarm notebook | notebooks | experiment | repro | figure | pipeline | readme | report``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bestarm.reporting.pipeline import complete_stages
from bestarm.reporting.readme import write_readme
from bestarm.reporting.rebuild import rebuild, redraw
from bestarm.reporting.report import make_report
from bestarm.reporting.runner import NotebookFailed, notebooks_of, refresh_notebook, run_notebook
from bestarm.reporting.section import Section


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bestarm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    notebook = commands.add_parser("notebook", help="execute one notebook and publish what it saves")
    notebook.add_argument("path", type=Path)
    notebook.add_argument("--profile", default="smoke", choices=["smoke", "laptop", "paper"])
    notebooks = commands.add_parser("notebooks", help="refresh the text outputs of the committed notebooks")
    notebooks.add_argument("--paper")
    experiment = commands.add_parser("experiment", help="run one experiment and store its rows, with no figure")
    experiment.add_argument("--paper", required=True)
    experiment.add_argument("--name", required=True, help="key under experiments in papers/<paper>.yaml")
    experiment.add_argument("--profile", default="paper", choices=["laptop", "paper"])
    repro = commands.add_parser("repro", help="rebuild from scratch and compare with the committed figures")
    repro.add_argument("--paper")
    repro.add_argument("--profile", default="laptop", choices=["smoke", "laptop"])
    figure = commands.add_parser("figure", help="redraw one figure or table from stored rows")
    figure.add_argument("--paper", required=True)
    figure.add_argument("--fig", required=True, help="number of a figure, or a name such as tab03")
    commands.add_parser("pipeline", help="complete the dependencies and claims in dvc.yaml")
    commands.add_parser("readme", help="bring the generated parts of README.md up to date")
    commands.add_parser("report", help="render executed notebooks and figures to HTML and PDF")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; errors of use end with one line and status 2."""
    given = _parser().parse_args(arguments)
    try:
        match given.command:
            case "notebook":
                run_notebook(given.path, given.profile)
            case "notebooks":
                for path in notebooks_of(given.paper):
                    refresh_notebook(path)
                    print(f"refreshed {path.parent.name}/{path.name}")
            case "experiment":
                section = Section(given.paper, given.profile, ".")
                section.run(given.name)
                section.save_results(given.name)
            case "repro":
                return rebuild(given.paper, given.profile)
            case "figure":
                return redraw(given.paper, given.fig)
            case "pipeline":
                complete_stages()
            case "readme":
                write_readme()
            case "report":
                print(make_report())
    except (ValueError, NotebookFailed) as error:
        print(f"bestarm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbestarm: interrupted; finished blocks are kept, the same command goes on from there.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
