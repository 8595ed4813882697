"""The command line: what is unknown ends with status 2 and the list of what there is, and bad endings in one line."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys

import nbformat
import pandas as pd
import papermill
import psutil
import pytest
from nbclient.exceptions import DeadKernelError
from refusals import raising, refuses

from bestarm_lab import results
from bestarm_lab.command_line import main
from bestarm_lab.notebooks import child_processes, rebuild, runner
from bestarm_lab.notebooks.child_processes import end_marked


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("rows foo", "unknown study 'foo'; there are: dpp_bbo, gpoo, gse, linear_topm, oae"),
        ("rows gse --experiment fig99", "unknown experiment 'fig99' of gse; it has: "),
        ("notebook foo/01", "there is no notebook 'foo/01'; there are: "),
        ("notebook gse/99_nothing", "there is no notebook 'gse/99_nothing'; there are: "),
        ("new study import", "'import' is a keyword of Python, which no package can be called; take my_import"),
        ("repro foo", "unknown study foo; the pipeline has: "),
        ("repro foo --profile smoke", "unknown study foo; the pipeline has: "),
        ("repro gse foo --profile smoke", "unknown study foo; the pipeline has: "),
        ("verdict ''", "unknown claim ''; none is like it"),
        ("new study toy --at ''", "--at is empty; name a folder"),
        ("notebook gse/03 -p profile smoke", "-p profile changes no parameter of a notebook; the profile"),
        ("notebook gse/03 -p omega 1 -p omega 2", "-p omega is there twice; give each parameter"),
        ("notebook gse/03 -p n_arms [8", "n_arms is '[8', which is no value; write numbers, or a list"),
    ],
)
def test_what_is_unknown_ends_with_the_list_of_what_there_is(arguments, words, capsys, monkeypatch):
    monkeypatch.delenv("BESTARM_STARTED_BY", raising=False)
    assert main(shlex.split(arguments)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("bestarm: ")
    assert words in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("given", ["rows gse --profile smoke", "repro --profile paper", "notebook x --profile y", "x"])
def test_words_that_are_no_choice_end_with_the_choices(given, capsys):
    with pytest.raises(SystemExit) as ended:
        main(given.split())
    assert ended.value.code == 2
    assert "choose from" in capsys.readouterr().err


def test_what_lacks_its_data_is_skipped_before_anything_is_simulated(monkeypatch, capsys):
    """And said on a line of its own after all progress, also on a terminal."""
    monkeypatch.setattr(results, "rows_of", lambda *names, **settings: pytest.fail("simulated for nothing"))
    monkeypatch.setattr(results, "write_verdicts", lambda study: None)
    name = "real_drugs_linear"
    monkeypatch.setattr(type(results.load_study("linear_topm").experiment(name)), "has_data", lambda self: False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    results.make_results("linear_topm", "laptop", [name])
    shown = capsys.readouterr().err
    assert shown.startswith(f"\nSKIPPED {name} of linear_topm: nobody here has the data. What is committed stays")
    assert shown.endswith("\n")
    assert "\r" not in shown


@pytest.mark.parametrize(("only", "profile"), [((), "laptop"), (("fig1",), "laptop"), ((), "paper")])
def test_open_choices_follow_all_rows_of_the_laptop(monkeypatch, tmp_path, only, profile):
    written = []
    only = [next(iter(results.load_study("gpoo").experiments))] if only else []
    monkeypatch.setattr(results, "rows_of", lambda *names, **settings: pd.DataFrame({"data": ["real"]}))
    monkeypatch.setattr(results, "_commit", lambda *given, **settings: None)
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "write_verdicts", lambda study: written.append(study.name))
    monkeypatch.setattr(results, "write_choices", lambda study: written.append("choices"))
    results.make_results("gpoo", profile, only)
    assert written == (["gpoo", "choices"] if not only and profile == "laptop" else ["gpoo"])


def test_the_smoke_profile_repeats_at_its_end_what_was_drawn_from_stand_ins(monkeypatch, tmp_path, capsys):
    def executed(name, profile):
        path = tmp_path / f"{name.replace('/', '-')}.ipynb"
        text = "STAND-IN DATA in x: nobody here has the real data.\n" if "02" in name else "fine\n"
        output = nbformat.v4.new_output("stream", text=text)
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[output])]), path)
        return path

    monkeypatch.setattr(rebuild, "run_notebook", executed)
    paths = [runner.NOTEBOOKS / "gse" / f"0{n}_x.ipynb" for n in (1, 2, 3)]
    monkeypatch.setattr(rebuild, "notebooks_of", lambda study: paths)
    assert main(["repro", "gse", "--profile", "smoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "notebook 1 of 3: gse/01_x" in lines[0]
    assert "minutes left" in lines[1]
    assert lines[-2] == "gse/02_x: STAND-IN DATA in x: nobody here has the real data."
    assert lines[-1].startswith("Smoke profile")


def test_a_kernel_that_dies_ends_in_one_line_and_leaves_no_worker(monkeypatch, tmp_path, capsys):
    """The line says what is kept; a process that the dead kernel left behind is ended."""
    left = []

    def dies(*paths, **settings):
        left.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        raise DeadKernelError("Kernel died")

    monkeypatch.setattr(runner, "QUICK", tmp_path)
    monkeypatch.setattr(papermill, "execute_notebook", dies)
    assert main(["notebook", "gse/01_problem", "--profile", "smoke"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    said = "bestarm: the kernel of gse/01_problem died, which usually means that memory ran out. Nothing was published"
    assert said in shown
    assert "blocks of rows are kept" in shown
    assert left[0].wait(timeout=10) == -signal.SIGKILL
    assert not list((tmp_path / "smoke").rglob("*.new"))


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore Ctrl-C
from concurrent.futures.process import BrokenProcessPool
from bestarm_lab import command_line as cli, results
def slow(*names, **settings):
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])  # its end would swallow Ctrl-C
    print(child.pid, flush=True)
    if sys.argv[1] == "memory":
        raise BrokenProcessPool("A worker died")
    time.sleep(600)
results.make_results = slow
sys.exit(cli.main(["rows", "gse"]))
"""


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [("interrupt", 130, "interrupted; finished blocks are kept"), ("memory", 2, "a worker died, which usually means")],
)
def test_an_interrupted_command_ends_in_one_line(how, status, words):
    """Ctrl-C, or a worker that the system ended: one line, the status, and no process left."""
    script = [sys.executable, "-c", INTERRUPTED, how]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        child = int(process.stdout.readline())
        if how == "interrupt":
            process.send_signal(signal.SIGINT)
        _, shown = process.communicate(timeout=60)
    assert process.returncode == status
    assert [line for line in shown.splitlines() if line] == [next(x for x in shown.splitlines() if words in x)]
    with contextlib.suppress(psutil.NoSuchProcess):
        left = psutil.Process(child)
        assert psutil.wait_procs([left], timeout=10)[0] or left.status() == psutil.STATUS_ZOMBIE


def test_only_marked_processes_are_ended():
    env = os.environ | {"BESTARM_TEST_MARK": "this one"}
    marked = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=env)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        assert end_marked("BESTARM_TEST_MARK", "this one") == 1
        assert marked.wait(timeout=10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_disk_that_is_full_or_read_only_ends_in_one_line(monkeypatch, capsys):
    full, read_only = (28, "No space left on device", "/x/y.png"), (30, "cannot write results to /x. Free it")
    for error in (full, read_only):
        monkeypatch.setattr(runner, "run_notebook", raising(OSError(*error)))
        assert main(["notebook", "gse/01_problem"]) == 2
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1
        assert "/x" in shown


def test_a_kernel_starts_without_a_word_about_encryption(tiny_notebook, capfd):
    """The kernel's own warning does not reach the user; what the notebook says about its data does."""
    tiny_notebook("print('STAND-IN DATA in x: nobody here has the real data.')")
    path = runner.run_notebook("gse/01_tiny", "smoke")
    shown = capfd.readouterr().err
    assert "encryption" not in shown
    assert "WARNING" not in shown
    assert "gse/01_tiny: STAND-IN DATA in x: nobody here has the real data." in shown
    assert runner.warnings_of(path) == ["STAND-IN DATA in x: nobody here has the real data."]


NUMPY = "Unable to allocate 7.45 GiB for an array with shape (9, 9)"
TORCH = "[enforce fail] DefaultCPUAllocator: can't allocate memory:\nyou tried to allocate 8589934592 bytes"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(NUMPY), "ran out (Unable to allocate 7.45 GiB"),
        (MemoryError(), "memory ran out (an array did not fit); finished blocks are kept"),
        (RuntimeError(TORCH), "memory ran out (Torch could not get 8.0 GiB); finished blocks are kept"),
        (RuntimeError("CUDA out of memory. Tried to allocate some.\nMore"), "memory ran out (Torch got no more)"),
    ],
)
def test_memory_that_runs_out_in_this_process_ends_in_one_line(monkeypatch, error, words):
    """Whoever says so: NumPy, Numba or Torch; with what is kept and the remedy."""
    said = []
    monkeypatch.setattr(results, "make_results", raising(error))
    monkeypatch.setattr(child_processes, "leave", lambda *given: said.append(given))
    main(["rows", "gse"])
    ((message, status),) = said
    assert status == 2
    assert words in message
    assert "\n" not in message
    assert message.endswith("BESTARM_WORKERS=1.")


def test_another_runtime_error_is_not_taken_for_a_lack_of_memory(monkeypatch):
    monkeypatch.setattr(results, "make_results", raising(RuntimeError("a policy must do one or the other")))
    refuses(lambda: main(["rows", "gse"]), "one or the other", RuntimeError)


def test_a_notebook_is_named_by_its_path_as_well(monkeypatch):
    path = runner.notebook_path("gse/01_problem")
    monkeypatch.chdir(path.parent)
    for name in ("notebooks/gse/01_problem.ipynb", "./01_problem.ipynb", str(path)):
        assert runner.notebook_path(name) == path
    refuses(lambda: runner.notebook_path("/etc/hosts"), "there is no notebook '/etc/hosts'")


def test_commands_to_be_pasted_are_quoted(tmp_path, capsys):
    folder = str(tmp_path / "Spiel ä")
    assert main(["new", "study", "toy", "--at", folder]) == 0
    assert f"pip install -e '{folder}'; cd '{folder}';" in capsys.readouterr().out
