"""Execution of notebooks with papermill: in place for the published figures, elsewhere for anything else."""

import contextlib
import errno
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from bestarm_lab.notebooks.child_processes import end_marked
from bestarm_lab.notebooks.parameters import CHANGED, check_parameters, published_parameters, read_value
from bestarm_lab.paths import FIGURES, NOTEBOOKS, QUICK, ROOT

PUBLISHED = "laptop"  # the notebooks' default profile
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotebookFailed(ValueError):
    """A cell raised; what was published before is untouched."""


def notebooks_of(study: str | None = None) -> list[Path]:
    """Return the notebooks of one study or of all, in order."""
    return sorted(p for p in NOTEBOOKS.glob(f"{study or '*'}/*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def notebook_path(name: str) -> Path:
    """Return the file of a notebook: its path, ``study/notebook`` or how that begins; ValueError with what there is."""
    known = {f"{p.parent.name}/{p.stem}": p for p in notebooks_of()}
    own = Path(name).resolve()
    given = f"{own.parent.name}/{own.stem}" if own.is_file() else name.removeprefix("notebooks/").removesuffix(".ipynb")
    begun = [one for one in known if one.startswith(given)]
    if given not in known and len(begun) != 1:
        near = begun or [one for one in known if one.startswith(f"{given.split('/')[0]}/")] or known
        raise ValueError(f"there is no notebook {name!r}; there are: {', '.join(near)}.")
    return known[given if given in known else begun[0]]


def run_notebook(name: str, profile: str = PUBLISHED, **parameters: Any) -> Path:
    """Execute a notebook and publish what it saved when all of it has run.

    At the published profile without other parameters (values, or texts) the notebook file itself receives its text
    outputs, and its figures replace those in ``figures/<study>/<notebook>/``. Otherwise the executed copy, whose path
    is returned, and its figures go below ``_quick/<profile>/``, with changed parameters, given here or edited in the
    notebook, below ``_quick/changed/``. Where data stand in, what is published stays as it is, figures and text. Raises
    ValueError for an unknown notebook or parameter, before anything runs, and NotebookFailed if a cell raises.
    """
    path = notebook_path(name)
    import nbformat  # a second, as below; an unknown notebook is refused without
    import papermill
    from nbclient.exceptions import DeadKernelError

    study = path.parent.name
    check_parameters(path, parameters)
    published = published_parameters(study, path.stem)
    parameters = {n: read_value(n, value, published.get(n)) for n, value in parameters.items()}
    in_place = profile == PUBLISHED and not parameters
    given = parameters if in_place else {"profile": profile, **parameters}
    base = FIGURES / study if in_place else QUICK / profile / "figures" / study
    for folder in (base, path.parent if in_place else QUICK / profile / "notebooks" / study):
        _remove_leftovers(folder, path.stem)
    temporary = base / f".{path.stem}.{os.getpid()}.new"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    began = time.monotonic()
    copy = temporary / path.name
    with _output(temporary):
        try:
            papermill.execute_notebook(
                str(path),
                str(copy),
                given,
                kernel_name="python3",
                cwd=str(ROOT),
                progress_bar=False,
                extra_arguments=["--IPKernelApp.log_level=40"],  # else each warns that it has no encryption
                stderr_file=sys.stderr if parameters else None,  # progress
            )
        except DeadKernelError as error:
            end_marked("BESTARM_OUTPUT", str(temporary))
            shutil.rmtree(temporary, ignore_errors=True)
            raise NotebookFailed(
                f"the kernel of {study}/{path.stem} died, which usually means that memory ran out. Nothing was "
                "published; finished blocks of rows are kept, and the same command goes on from there. Fewer workers "
                "need less: BESTARM_WORKERS=1."
            ) from error
        except papermill.PapermillExecutionError as error:
            kept = QUICK / "failed" / f"{study}-{path.name}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            os.replace(copy, kept)
            shutil.rmtree(temporary)
            raise NotebookFailed(
                f"{study}/{path.stem} stopped in cell {error.exec_count}: {error.ename}: {error.evalue.rstrip('.')}. "
                f"Nothing was published; the notebook so far is {kept}."
            ) from error
    notebook = nbformat.read(copy, as_version=4)
    for line in (said := _warnings(notebook)):
        print(f"{study}/{path.stem}: {line}", file=sys.stderr)
    whole = not any("STAND-IN" in line for line in said)
    changed = any(line.startswith(CHANGED) for line in _printed(notebook))
    in_place = in_place and not changed
    strip(notebook)
    copy.unlink()
    target, executed = base / path.stem, path
    if not in_place:
        quick = QUICK / ("changed" if changed else profile)
        target, executed = quick / "figures" / study / path.stem, quick / "notebooks" / study / path.name
    if in_place and not whole and target.is_dir():
        shutil.rmtree(temporary)
    else:
        _publish(temporary, target)
    if in_place and not whole:
        print(f"{study}/{path.stem}: kept as published, since some of its data are not here", file=sys.stderr)
        return path
    executed.parent.mkdir(parents=True, exist_ok=True)
    partial = executed.with_name(f".{executed.name}.{os.getpid()}.new")
    nbformat.write(notebook, partial)
    os.replace(partial, executed)
    print(f"{study}/{path.stem}: {profile} profile in {time.monotonic() - began:.0f} s", file=sys.stderr)
    if changed:
        print(f"{study}/{path.stem}: parameters are changed; figures are in {target}, the notebook is {executed}")
    return executed


@contextlib.contextmanager
def _output(folder: Path) -> Iterator[None]:
    before = os.environ.get("BESTARM_OUTPUT")
    os.environ["BESTARM_OUTPUT"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("BESTARM_OUTPUT")
        else:
            os.environ["BESTARM_OUTPUT"] = before


def _publish(temporary: Path, target: Path) -> None:
    """Put a folder of figures in place of the last one, so that none of an earlier run stays."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    for attempt in range(100):  # another process may publish the same notebook between any two lines
        shutil.rmtree(old, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.replace(target, old)
        try:
            os.replace(temporary, target)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt == 99:
                raise
    shutil.rmtree(old, ignore_errors=True)


def _remove_leftovers(folder: Path, notebook: str) -> None:
    """Remove what runs of a notebook left behind that were killed: named by processes that are no more."""
    for path in [*folder.glob(f".{notebook}.*.new"), *folder.glob(f".{notebook}.*.old")]:
        number = path.name.split(".")[-2]
        if not (number.isdigit() and psutil.pid_exists(int(number))):
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def warnings_of(path: Path) -> list[str]:
    """Return the lines in which an executed notebook says that data are missing or rows are not current."""
    import nbformat

    return _warnings(nbformat.read(path, as_version=4))


def _warnings(notebook: Any) -> list[str]:
    return [line for line in _printed(notebook) if line.startswith(("STAND-IN", "The committed rows of"))]


def _printed(notebook: Any) -> list[str]:
    streams = [o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream"]
    return "".join(streams).splitlines()


def strip(notebook: Any) -> None:
    """Take times, pictures, progress and the machine's particulars out of an executed notebook."""
    notebook.metadata = METADATA
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags" and value}
        if cell.cell_type == "code":
            cell.outputs = _texts(cell.outputs)


def _texts(outputs: list[Any]) -> list[Any]:
    """Return what was printed and shown as text; a stream is joined, since a kernel cuts it anew in every run."""
    found: list[Any] = []
    for output in outputs:
        if output.output_type in ("execute_result", "display_data"):
            if any(kind.startswith("image/") for kind in output.data):
                continue
            output.data = {kind: text for kind, text in output.data.items() if kind in ("text/plain", "text/markdown")}
            output.metadata = {}
        elif output.output_type != "stream" or output.name != "stdout":
            continue
        elif found and found[-1].output_type == "stream":
            found[-1].text += output.text
            continue
        found.append(output)
    return found
