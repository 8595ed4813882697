"""The workbench's commands: ``bestarm rows | verdict | notebook | retell | repro | pages | new``."""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bestarm.command_line import main

__all__ = ["add_commands", "main"]

Run = Callable[[argparse.Namespace], int | None]

_ENVIRONMENT = (
    "BESTARM_ROOT, the project whose rows, notebooks and figures are meant; BESTARM_DATA, folder searched for data "
    "files before the network; BESTARM_OFFLINE, download nothing; BESTARM_STORE, folder of finished blocks; "
    "BESTARM_WORKERS, number of processes; BESTARM_SCHEDULER, address of a Dask scheduler whose workers make the rows; "
    "BESTARM_FRESH, ignore committed rows"
)
_KEPT = "finished blocks are kept, and the same command goes on from there. Fewer workers need less: BESTARM_WORKERS=1."


def add_commands(commands: Any) -> str:
    """Add the commands to a parser, and return what --help says of the environment; imports come later."""
    rows = commands.add_parser("rows", help="make the rows of a study's experiments, and the verdicts on its claims")
    rows.add_argument("study")
    rows.add_argument("--profile", default="laptop", choices=["laptop", "paper"])
    rows.add_argument("--experiment", action="append", default=[], help="only this one; may be given several times")
    rows.add_argument("--measure", action="store_true", help="measure wall times and processor seconds again")
    rows.add_argument(
        "--renew",
        action="store_true",
        help="give rows of the paper's scale the key of changed code where laptop rows computed anew were equal",
    )
    verdict = commands.add_parser("verdict", help="show one claim with every comparison and the rows behind it")
    verdict.add_argument("claim", help="its name, for example GPOO-C10")
    verdict.add_argument("--anew", action="store_true", help="decide it anew on the committed rows")
    notebook = commands.add_parser("notebook", help="execute one notebook and publish its figures")
    notebook.add_argument("name", help="study/notebook or how it begins, for example gse/03_adaptive or gse/03")
    notebook.add_argument("--profile", default="laptop", choices=["smoke", "laptop", "paper"])
    notebook.add_argument(
        "-p",
        dest="parameters",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="another value of a parameter of the notebook, as -p n_arms '[8, 16]'; may be given several times",
    )
    retell = commands.add_parser("retell", help="show each quoted sentence whose number is not that of its row")
    retell.add_argument("study", nargs="*")
    retell.add_argument("--write", action="store_true", help="put the numbers of the rows into the texts")
    repro = commands.add_parser("repro", help="rebuild from scratch and compare with what is committed")
    repro.add_argument("study", nargs="*")
    repro.add_argument("--profile", default="laptop", choices=["smoke", "laptop"])
    pages = commands.add_parser("pages", help="bring the generated pages and parts of pages up to date")
    new = commands.add_parser("new", help="write a toy study, or the like, to begin from")
    new.add_argument("kind", choices=["study"])
    new.add_argument("name", help="a word of small letters, digits and _")
    new.add_argument("--at", metavar="FOLDER", help="a repository of its own there; by default this checkout")
    new.set_defaults(run=_new)
    guarded = {rows: _rows, verdict: _verdict, notebook: _notebook, retell: _retell, repro: _repro, pages: _pages}
    for parser, run in guarded.items():
        parser.set_defaults(run=_guarded(run))
    return _ENVIRONMENT


def _rows(given: argparse.Namespace) -> None:
    from bestarm_lab.study_packages import package_of

    package_of(given.study)  # a misspelt one is refused before anything slow is imported, and so below
    from bestarm_lab.results import make_results, renew_results

    if given.renew:
        renew_results(given.study, given.experiment)
    else:
        make_results(given.study, given.profile, given.experiment, measure=given.measure)


def _verdict(given: argparse.Namespace) -> None:
    from bestarm_lab.study_packages import find_claim

    find_claim(given.claim)
    from bestarm_lab.claims.report import explain

    print(explain(given.claim, anew=given.anew))


def _notebook(given: argparse.Namespace) -> None:
    from bestarm_lab.notebooks.runner import run_notebook

    names = [name for name, _ in given.parameters]
    if odd := [name for name in names if name in ("profile", "output_dir", "name")]:
        remedy = "the profile is chosen by --profile, and papermill itself takes an output_dir"
        raise ValueError(f"-p {odd[0]} changes no parameter of a notebook; {remedy}.")
    if odd := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"-p {odd[0]} is there twice; give each parameter once, lists as '[8, 16]'.")
    run_notebook(given.name, given.profile, **dict(given.parameters))


def _retell(given: argparse.Namespace) -> int:
    from bestarm_lab.quoted import retell

    if right := retell(given.study, given.write):
        print("Each quoted number is that of its row.")
    return int(not right)


def _new(given: argparse.Namespace) -> int:
    from bestarm_lab.new_study import new_study
    from bestarm_lab.study_packages import study_names

    if given.at == "":
        raise ValueError("--at is empty; name a folder, or leave it out for this checkout.")
    print("\n".join(map(str, new_study(given.name, Path(given.at) if given.at else None, study_names()))))
    at = shlex.quote(given.at or "")
    install = f"pip install -e {at}; cd {at}; git init; dvc init; " if given.at else ""
    print(f"Now: {install}bestarm rows {given.name}; bestarm notebook {given.name}/01_first; then the tests.")
    return 0


def _repro(given: argparse.Namespace) -> int:
    from bestarm_lab.notebooks.rebuild import rebuild

    return rebuild(given.study, given.profile)


def _pages(given: argparse.Namespace) -> None:
    from bestarm_lab.notebooks.pages import write_pages

    write_pages()


def _guarded(run: Run) -> Callable[[argparse.Namespace], int]:
    """Return a command that leaves no process behind, however it ends, and says what is kept."""

    def guarded(given: argparse.Namespace) -> int:
        from bestarm_lab.paths import check_project

        check_project(f"bestarm {given.command}")
        from concurrent.futures.process import BrokenProcessPool

        from bestarm.guards.memory import lack_of_memory
        from bestarm_lab.notebooks.child_processes import leave, mark

        mark()
        try:
            return run(given) or 0
        except BrokenProcessPool:
            leave(f"bestarm: a worker died, which usually means that memory ran out; {_KEPT}", 2)
        except (MemoryError, RuntimeError) as error:
            if (said := lack_of_memory(error)) is None:
                raise
            leave(f"bestarm: memory ran out ({said}); {_KEPT}", 2)
        except KeyboardInterrupt:
            leave("\nbestarm: interrupted; finished blocks are kept, the same command goes on from there.", 130)
        return 2

    return guarded


if __name__ == "__main__":
    sys.exit(main())
