"""Running an experiment: workers, blocks, kills, damage, committed rows, the hash of the code, unknown names."""

import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bestarm import metrics
from bestarm.experiments import code_hash as hashing
from bestarm.experiments import definitions, run, store
from bestarm.experiments.code_hash import code_hash, imported_modules, reached_modules, syntax_digest
from bestarm.experiments.definitions import Experiment, Series, load_experiment
from bestarm.experiments.run import cell_key, run_experiment
from bestarm.experiments.simulate import simulate
from bestarm.experiments.store import Store, read_rows, write_parquet
from bestarm.metrics import correct
from bestarm.policies.gifa import lingifa, lucb, m_lingape
from bestarm.problems.linear_bandit import LinearBandit
from bestarm.streams import Streams
from bestarm_studies.linear_topm.instances import classic_instance

SEED = 20261120
SPEC = {"make": "linear_bandit.classic_instance", "n_arms": 4, "n_best": 2, "omega": np.pi / 3}


def experiment(n_replications: int = 8, block_size: int = 4, **changes) -> Experiment:
    """Return a small experiment of two series; the profile allows more than one worker."""
    settings = {
        "paper": "test",
        "name": "small",
        "profile": "laptop",
        "n_replications": n_replications,
        "block_size": block_size,
        "max_pulls": 10_000,
        "metrics": ("correct", "simple_regret"),
        "problem": classic_instance(4, 2, np.pi / 3),
        "problem_spec": SPEC,
        "series": (
            Series("linear", "as_written", m_lingape(2, threshold="heuristic")),
            Series("linear", "as_coded", lingifa(2, threshold="heuristic").as_coded()),
        ),
        "data": "synthetic",
    }
    return Experiment(**(settings | changes))


def rows_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what must be equal between two runs: everything but wall time and key."""
    return frame.drop(columns=["seconds", "key"])


def run_here(an_experiment: Experiment, folder: Path, **settings) -> pd.DataFrame:
    """Run in this process."""
    return run_experiment(an_experiment, **({"seed": SEED, "store": folder, "workers": 1} | settings))


def blocks_in(folder: Path) -> list[Path]:
    """Return the blocks of a store."""
    return sorted(folder.rglob("*.parquet"))


class Counter:
    """Counts the blocks that a run computes."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, done: int, total: int, seconds_left: float) -> None:
        assert done <= total
        assert seconds_left >= 0
        self.total = total


# ----------------------------------------------------------------------------------------------------------------------
# What the rows depend on


def test_rows_are_those_of_the_loop_in_order(tmp_path):
    """Series by series, replications in order, with convention, series, data and key."""
    small = experiment()
    frame = run_here(small, tmp_path)
    assert list(frame.columns) == [
        "convention", "series", "replication", "round", "pulls", "stopped", "correct", "simple_regret", "seconds",
        "data", "key",
    ]  # fmt: skip
    assert frame["convention"].tolist() == ["as_written"] * 8 + ["as_coded"] * 8
    assert frame["replication"].tolist() == [*range(8)] * 2
    assert (frame["seconds"] > 0).all()
    for series, rows in zip(small.series, (frame[:8], frame[8:]), strict=True):
        streams = Streams.first(8, seed=SEED, instance=small.problem.label)
        expected = simulate(series.policy, small.problem, streams, metrics={"correct": correct})
        pd.testing.assert_frame_equal(rows[list(expected)].reset_index(drop=True), expected, check_exact=True)
        assert set(rows["key"]) == {cell_key(small, series, SEED)}


@pytest.mark.slow
def test_one_worker_and_two_give_equal_bits(tmp_path):
    """Four blocks in this process, or in two others."""
    alone, two = (run_here(experiment(), tmp_path / str(workers), workers=workers) for workers in (1, 2))
    pd.testing.assert_frame_equal(rows_of(alone), rows_of(two), check_exact=True)
    assert alone["key"].equals(two["key"])


def test_block_size_changes_no_row(tmp_path):
    """Blocks of 1, 3, 4 and 100 replications give equal rows, under other keys."""
    frames = [run_here(experiment(block_size=size), tmp_path) for size in (1, 3, 4, 100)]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(rows_of(frame), rows_of(frames[0]), check_exact=True)
    assert len({frame["key"][0] for frame in frames}) == 4


def test_more_replications_change_nothing_before_and_compute_only_what_is_new(tmp_path):
    """From 4 to 12 replications: two new blocks for each series."""
    few, counter = run_here(experiment(4), tmp_path), Counter()
    many = run_here(experiment(12), tmp_path, progress=counter)
    assert counter.total == 4
    pd.testing.assert_frame_equal(
        many[many["replication"] < 4].reset_index(drop=True), few, check_exact=True
    )  # seconds and key included: the first blocks are the stored ones


def test_one_more_series_computes_only_its_own_blocks(tmp_path):
    """And leaves the rows of the others as they were."""
    small = experiment()
    before, counter = run_here(small, tmp_path), Counter()
    larger = replace(small, series=(Series("LUCB", "as_written", lucb(2, threshold="heuristic")), *small.series))
    after = run_here(larger, tmp_path, progress=counter)
    assert counter.total == 2
    pd.testing.assert_frame_equal(after[8:].reset_index(drop=True), before, check_exact=True)


def test_arms_of_each_replication_stay_with_it_in_every_block(tmp_path):
    """A problem with its own arms in each replication gives the same rows for any block size."""
    rng = np.random.default_rng(0)
    problem = LinearBandit("own arms", rng.standard_normal((6, 4, 3)), rng.standard_normal((6, 3)))
    frames = [
        run_here(experiment(6, size, problem=problem, max_pulls=400), tmp_path / str(size)) for size in (1, 2, 4, 6)
    ]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(rows_of(frame), rows_of(frames[0]), check_exact=True)


def test_a_policy_without_deviations_has_one_block_for_both_conventions(tmp_path):
    """Equal keys are computed once, and committed rows of one convention do not double those of the other."""
    policy = m_lingape(2, threshold="heuristic")
    twice = experiment(series=(Series("same", "as_written", policy), Series("same", "as_coded", policy)))
    counter = Counter()
    frame = run_here(twice, tmp_path / "a", progress=counter)
    assert counter.total == 2
    assert len(frame) == 16
    again = run_here(twice, tmp_path / "b", committed=frame, progress=counter)
    pd.testing.assert_frame_equal(again, frame, check_exact=True)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": SEED + 1},
        {"max_pulls": 9_999},
        {"metrics": ("correct",)},
        {"problem_spec": SPEC | {"omega": 1.0}},
        {"problem": classic_instance(4, 2, 1.0)},
        {"block_size": 5},
        {"policy": m_lingape(2, threshold="heuristic", delta=0.06)},
        {"policy": m_lingape(2, threshold="heuristic", label="other")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_everything_that_rows_depend_on_is_in_their_key(change):
    """Seed, budget, metrics, problem, block and each setting of the policy; not the number of replications."""
    small = experiment()
    series, changed = small.series[0], dict(change)
    seed = changed.pop("seed", SEED)
    other = replace(series, policy=changed.pop("policy", series.policy))
    assert cell_key(replace(small, **changed), other, seed) != cell_key(small, series, SEED)
    assert cell_key(replace(small, n_replications=3, profile="paper"), series, SEED) == cell_key(small, series, SEED)


def test_the_data_behind_a_real_problem_are_in_its_key(monkeypatch):
    """Another checksum in the registry is another key; simulations and stand-ins have no data."""
    spec = {"make": "drug_instance.drug_instance"}
    real, simulated = experiment(problem_spec=spec, data="real"), experiment(problem_spec=spec)
    assert run.data_files(real) == ("drug-rewards", "drug-signatures")
    assert run.data_files(simulated) == ()
    before = cell_key(real, real.series[0], SEED), cell_key(simulated, real.series[0], SEED)
    monkeypatch.setattr(run, "checksums", lambda *names: dict.fromkeys(names, "other"))
    assert cell_key(real, real.series[0], SEED) != before[0]
    assert cell_key(simulated, real.series[0], SEED) == before[1]


# ----------------------------------------------------------------------------------------------------------------------
# Kills and damage

KILLED_RUN = """
    import sys, time
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from test_run import SEED, long_experiment
    from bestarm.experiments.run import run_experiment

    def wait_for_the_kill(done, total, seconds_left):
        if done == 3:
            time.sleep(600)

    run_experiment(long_experiment(), seed=SEED, store=Path(sys.argv[1]), workers=1, progress=wait_for_the_kill)
"""


def long_experiment() -> Experiment:
    """Return an experiment of four blocks that each take long enough to be killed in."""
    slow = Series("LUCB", "as_written", lucb(2))
    return experiment(40, 10, problem=classic_instance(4, 2, np.pi / 6), max_pulls=100_000, series=(slow,))


@pytest.mark.slow
def test_a_killed_run_resumes_after_its_last_whole_block(tmp_path):
    """kill -9 once the first block is there: the second run computes the others only, and the rows are equal."""
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED_RUN), str(folder), str(Path(__file__).parent)]
    )
    try:
        deadline = time.monotonic() + 120
        while not list(folder.rglob("*.sha256")):
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    written = {path: path.stat().st_mtime_ns for path in blocks_in(folder) if path.with_suffix(".sha256").is_file()}
    assert 1 <= len(written) <= 3
    counter = Counter()
    resumed = run_here(long_experiment(), folder, progress=counter)
    assert counter.total == 4 - len(written)
    assert all(path.stat().st_mtime_ns == when for path, when in written.items())
    pd.testing.assert_frame_equal(rows_of(resumed), rows_of(run_here(long_experiment(), tmp_path / "whole")))
    nothing = Counter()
    pd.testing.assert_frame_equal(run_here(long_experiment(), folder, progress=nothing), resumed, check_exact=True)
    assert nothing.total == 0


def flip_a_byte(path: Path) -> None:
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


DAMAGE = {
    "truncated": lambda block: os.truncate(block, 100),
    "empty": lambda block: os.truncate(block, 0),
    "flipped": flip_a_byte,
    "wrong checksum": lambda block: block.with_suffix(".sha256").write_text("0" * 64),
    "empty checksum": lambda block: block.with_suffix(".sha256").write_text(""),
    "binary checksum": lambda block: block.with_suffix(".sha256").write_bytes(b"\xff\x00"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_block_is_reported_and_computed_again(tmp_path, caplog, damage):
    """One warning that names the file; the other blocks are kept; equal rows; the block is whole afterwards."""
    before = run_here(experiment(), tmp_path)
    block = blocks_in(tmp_path)[1]
    DAMAGE[damage](block)
    counter = Counter()
    with caplog.at_level(logging.WARNING):
        after = run_here(experiment(), tmp_path, progress=counter)
    assert counter.total == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(block) in caplog.text
    assert "damaged" in caplog.text
    pd.testing.assert_frame_equal(rows_of(after), rows_of(before), check_exact=True)
    run_here(experiment(), tmp_path, progress=(nothing := Counter()))
    assert nothing.total == 0


@pytest.mark.parametrize("missing", [".sha256", ".parquet"])
def test_half_a_block_counts_as_none(tmp_path, missing):
    """A block without its checksum was never finished; a checksum alone is nothing."""
    before = run_here(experiment(), tmp_path)
    blocks_in(tmp_path)[0].with_suffix(missing).unlink()
    after = run_here(experiment(), tmp_path, progress=(counter := Counter()))
    assert counter.total == 1
    pd.testing.assert_frame_equal(rows_of(after), rows_of(before), check_exact=True)


def no_space(*_args, **_settings):
    """Fail like a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("failing", ["replace", "to_parquet", "mkdir", "write_text"])
def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch, failing):
    """It names the file and the remedy, leaves nothing half-written, and the next run succeeds."""
    target = {"replace": os, "to_parquet": pd.DataFrame, "mkdir": Path, "write_text": Path}[failing]
    folder = tmp_path / "store"
    with monkeypatch.context() as patch:
        patch.setattr(target, failing, no_space)
        with pytest.raises(OSError, match="No space left on device") as caught:
            run_here(experiment(), folder)
    assert caught.value.errno == errno.ENOSPC
    assert f"cannot write results to {folder}" in str(caught.value)
    assert "Free the disk or choose another store" in str(caught.value)
    assert not [path for path in folder.rglob("*") if path.name.endswith(".tmp")]
    assert not list(folder.rglob("*.sha256"))
    assert len(run_here(experiment(), folder)) == 16


def test_a_store_that_is_a_file_is_one_clear_error(tmp_path):
    """No folder can be made below it."""
    (tmp_path / "store").write_text("not a folder")
    with pytest.raises(OSError, match=r"cannot write results to .*store"):
        run_here(experiment(), tmp_path / "store")


def test_a_failed_write_keeps_what_was_there(tmp_path, monkeypatch):
    """The file is either the old one or the new one."""
    path = tmp_path / "rows.parquet"
    old, new = pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [2]})
    write_parquet(old, path)
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "replace", no_space)
        with pytest.raises(OSError, match="cannot write"):
            write_parquet(new, path)
    pd.testing.assert_frame_equal(pd.read_parquet(path), old)
    assert os.listdir(tmp_path) == ["rows.parquet"]
    write_parquet(new, path)
    pd.testing.assert_frame_equal(pd.read_parquet(path), new)


def test_unreadable_final_rows_are_reported_and_counted_as_absent(tmp_path, caplog):
    """Final rows are a convenience: without them an experiment is computed."""
    path = tmp_path / "fig.parquet"
    assert read_rows(path) is None
    assert not caplog.records
    write_parquet(pd.DataFrame({"x": [1]}), path)
    assert len(read_rows(path)) == 1
    os.truncate(path, 20)
    assert read_rows(path) is None
    assert str(path) in caplog.text


def test_blocks_of_one_cell_are_not_mistaken_for_one_another(tmp_path):
    """Key and range name a block."""
    blocks = Store(tmp_path)
    blocks.write("ab12", 0, 4, pd.DataFrame({"x": [1, 2]}))
    assert blocks.read("ab12", 0, 4)["x"].tolist() == [1, 2]
    for other in (("ab12", 0, 5), ("ab12", 1, 4), ("ab13", 0, 4)):
        assert blocks.read(*other) is None


# ----------------------------------------------------------------------------------------------------------------------
# Committed rows


def test_committed_rows_are_used_where_their_key_is_right(tmp_path):
    """All of them, so nothing is computed; the frame is equal, wall times included, also through a file."""
    committed = run_here(experiment(), tmp_path / "first")
    write_parquet(committed, tmp_path / "rows.parquet")
    counter = Counter()
    again = run_here(
        experiment(), tmp_path / "second", committed=read_rows(tmp_path / "rows.parquet"), progress=counter
    )
    assert counter.total == 0
    pd.testing.assert_frame_equal(again, committed, check_exact=True)


@pytest.mark.parametrize(
    ("spoil", "recomputed"),
    [
        (lambda rows: rows.assign(key="0" * 32), 4),
        (lambda rows: rows.drop(columns="key"), 4),
        (lambda rows: rows.drop(columns="simple_regret"), 4),
        (lambda rows: rows.drop(columns="round"), 4),
        (lambda rows: rows.assign(key=rows["key"].where(rows["convention"] == "as_written", "other")), 2),
        (lambda rows: rows[rows["replication"] != 2], 2),
        (lambda rows: rows[:0], 4),
    ],
    ids=["key", "no key", "no metric", "no round", "one key", "a row", "all rows"],
)
def test_committed_rows_are_not_used_otherwise(tmp_path, spoil, recomputed):
    """Another key, a missing column, or a block that is not whole: computed again."""
    committed = run_here(experiment(), tmp_path / "first")
    lies = spoil(committed.assign(pulls=committed["pulls"] + 1))
    again = run_here(experiment(), tmp_path / "second", committed=lies, progress=(counter := Counter()))
    assert counter.total == recomputed
    assert int((again["pulls"] == committed["pulls"]).sum()) == 4 * recomputed


# ----------------------------------------------------------------------------------------------------------------------
# The hash of the code

SOURCE = '''
"""A module."""
import numpy as np  # numbers


def twice(x: float) -> float:
    """Return two times x."""
    return 2.0 * x
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""Return two times x."""', '"""Return x + x, in the unit of x."""', True),
        ('    """Return two times x."""\n', "", True),
        ('"""A module."""', '"""A better module."""', True),
        ("  # numbers", "", True),
        ("(x: float) -> float", "(\n    x: float,\n) -> float", True),
        ("2.0 * x", "(2.0 * x)", True),
        ("2.0 * x", "2.0 * x + 0.0", False),
        ("2.0", "2", False),
        ("import numpy as np", "import numpy", False),
        ("twice(x", "twice(y", False),
        ("return 2.0 * x", '"two"\n    return 2.0 * x', False),
    ],
)
def test_only_what_runs_is_in_the_digest(old, new, same):
    """Docstrings, comments and formatting are not; statements, names and constants are."""
    assert old in SOURCE
    changed = SOURCE.replace(old, new)
    assert (syntax_digest(changed) == syntax_digest(SOURCE)) is same


def test_imports_are_found_in_every_form():
    """At any depth, of modules and from packages; other packages are left out."""
    source = textwrap.dedent(
        """
        import numpy, bestarm.paths
        from bestarm.policies import gifa_round, lingame as game
        from bestarm.interface import Arms
        def later():
            from bestarm import metrics
        """
    )
    expected = {"paths", "policies", "policies.gifa_round", "policies.lingame", "interface", "metrics"}
    assert imported_modules(source) == {"bestarm"} | {f"bestarm.{name}" for name in expected}


def test_no_module_uses_a_relative_import():
    """The search for what a result was computed by does not follow them."""
    for path in hashing.PACKAGE.rglob("*.py"):
        assert "from ." not in path.read_text(encoding="utf-8"), path


def test_what_a_policy_reaches_is_found_through_other_modules():
    """GIFA reaches its compiled round, the thresholds, the designs and the streams; not LinGame, not the figures."""
    reached = reached_modules(["bestarm.policies.gifa"])
    assert reached == sorted(reached)
    for name in ("policies.gifa", "policies.gifa_round", "policies.thresholds", "designs.l1_design", "streams"):
        assert f"bestarm.{name}" in reached
    assert "bestarm.policies.lingame" not in reached
    assert not [name for name in reached if name.startswith("bestarm.reporting")]


@pytest.fixture
def copied_package(monkeypatch, tmp_path):
    """Return a copy of the package that the hash is taken of."""
    copy = tmp_path / "bestarm"
    shutil.copytree(hashing.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(hashing, "PACKAGE", copy)
    hashing._imports_of.cache_clear()
    yield copy
    hashing._imports_of.cache_clear()


def test_a_change_below_a_result_changes_its_hash_and_a_change_beside_it_does_not(copied_package):
    """A comment or a docstring costs nothing; a statement in a module reached through others counts; others do not."""

    def hash_now() -> str:
        hashing._imports_of.cache_clear()
        return code_hash(["bestarm.policies.gifa"])

    before = hash_now()
    streams = copied_package / "streams.py"
    source = streams.read_text(encoding="utf-8")
    streams.write_text("# a comment\n" + source.replace('"""Random', '"""Some random').replace('r"""', 'r"""Now '))
    assert hash_now() == before
    streams.write_text(source.replace("range(10)", "range(9)"))
    assert hash_now() != before
    streams.write_text(source)
    lingame = copied_package / "policies" / "lingame.py"
    lingame.write_text(lingame.read_text(encoding="utf-8") + "\nUNRELATED = 1\n")
    assert hash_now() == before
    (copied_package / "interface.py").write_text(
        (copied_package / "interface.py").read_text(encoding="utf-8") + "\nimport bestarm.policies.lingame\n"
    )
    assert hash_now() != before


def test_a_bug_fix_never_reuses_old_rows(copied_package, monkeypatch):
    """The key follows the code of the policy, the problem, the loop and the metrics used, not of other metrics."""
    small = experiment()
    key = cell_key(small, small.series[0], SEED)
    for module in ("policies/gifa_round", "problems/linear_bandit", "experiments/simulate"):
        path = copied_package / f"{module}.py"
        source = path.read_text(encoding="utf-8")
        path.write_text(source + "\nFIXED = True\n", encoding="utf-8")
        hashing._imports_of.cache_clear()
        assert cell_key(small, small.series[0], SEED) != key, module
        path.write_text(source, encoding="utf-8")
    hashing._imports_of.cache_clear()
    assert cell_key(small, small.series[0], SEED) == key

    def mended(problem, recommended):
        return correct(problem, recommended) + 0.0

    monkeypatch.setattr(metrics, "regret_of_another_paper", mended, raising=False)
    assert cell_key(small, small.series[0], SEED) == key
    monkeypatch.setattr(metrics, "correct", mended)
    assert cell_key(small, small.series[0], SEED) != key


# ----------------------------------------------------------------------------------------------------------------------
# Definitions


@pytest.fixture
def ledger(monkeypatch):
    """Return a ledger of one experiment that may be spoilt."""
    content = {
        "experiments": {
            "fig": {
                "conventions": ["as_written", "as_coded"],
                "metrics": ["correct"],
                "block": 3,
                "max_pulls": 500,
                "profiles": {"smoke": {"replications": 2}, "laptop": {"replications": 7}, "paper": {"replications": 9}},
                "problem": dict(SPEC),
                "every_series": {"n_best": 2, "delta": 0.1},
                "series": {"A": {"make": "gifa.lucb"}, "B": {"make": "gifa.m_lingape", "delta": 0.2}},
            }
        }
    }
    monkeypatch.setattr(definitions, "ledger", lambda paper: content)
    return content["experiments"]["fig"]


def test_an_experiment_is_what_its_ledger_says(ledger):
    """Scale of the profile, settings of every series and of one, the deviations of the second convention."""
    loaded = load_experiment("paper", "fig", "laptop")
    assert (loaded.n_replications, loaded.block_size, loaded.max_pulls) == (7, 3, 500)
    assert loaded.problem.label == classic_instance(4, 2, np.pi / 3).label
    assert [(s.label, s.convention) for s in loaded.series] == [
        ("A", "as_written"), ("B", "as_written"), ("A", "as_coded"), ("B", "as_coded"),
    ]  # fmt: skip
    written = lucb(2, label="A", delta=0.1), m_lingape(2, label="B", delta=0.2)
    assert [s.policy for s in loaded.series] == [*written, *(policy.as_coded() for policy in written)]
    assert loaded.data == "synthetic"
    assert load_experiment("paper", "fig", "smoke").n_replications == 2


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("problem", {"make": "linear_bandits.classic_instance"}, "unknown module 'linear_bandits' in problems"),
        ("problem", {"make": "linear_bandit.classic"}, "unknown name 'classic'.*it has: .*classic_instance"),
        ("problem", {"make": "linear_bandit._gaussian_totals"}, "unknown name '_gaussian_totals'"),
        ("problem", {"make": "linear_bandit.Streams"}, "unknown name 'Streams'"),
        ("problem", {"n_arms": 4}, "unknown module ''"),
        ("problem", SPEC | {"angle": 1}, "linear_bandit.classic_instance has no setting angle; it has: n_arms"),
        ("problem", {"make": SPEC["make"], "n_arms": 4}, "linear_bandit.classic_instance: .*missing"),
        ("problem", SPEC | {"n_best": 3}, "n_best must be between 1 and n_arms - 2 = 2, got 3"),
        ("series", {"A": {"make": "gifas.lucb"}}, "unknown module 'gifas' in policies"),
        ("series", {"A": {"make": "gifa.lucb2"}}, "unknown name 'lucb2'.*it has: .*lucb"),
        ("series", {"A": {"make": "gifa.lucb", "detla": 0.1}}, "gifa.lucb: .*detla"),
        ("series", {"A": {"make": "lingame.LinGame"}}, "lingame.LinGame has no setting n_best; it has: .*delta"),
        ("series", {"A": {"make": "gifa.lucb", "delta": 2}}, r"delta must lie in \(0, 1\), got 2"),
        ("every_series", {"n_best": 2, "thresold": "eq2"}, "thresold"),
        ("conventions", ["as_printed"], "convention must be one of as_written, as_coded, got 'as_printed'"),
        ("metrics", ["correct", "regret"], "unknown metric 'regret'; bestarm.metrics has: .*correct, .*simple_regret"),
        ("metrics", ["Metric"], "unknown metric 'Metric'"),
        (
            "profiles",
            {"laptop": {"replications": 2, "settings": {"step": 9}}},
            "experiment fig: no policy has a setting step; they have: n_best",
        ),
        ("profiles", {"smoke": {"replications": 2}}, "fig has no profile 'laptop'; it has: smoke"),
    ],
)
def test_an_unknown_name_in_a_ledger_is_one_clear_error(ledger, place, value, message):
    """Problems, policies, settings, conventions, metrics, profiles: before anything runs."""
    ledger[place] = value
    with pytest.raises(ValueError, match=message):
        load_experiment("paper", "fig", "laptop")


def test_an_experiment_without_a_stand_in_says_so(ledger):
    """Only experiments on real data have one."""
    with pytest.raises(ValueError, match="fig has no stand-in"):
        load_experiment("paper", "fig", "laptop", stand_in=True)


def test_unknown_papers_experiments_and_profiles_are_refused_with_the_known_ones():
    """On the real ledgers."""
    with pytest.raises(ValueError, match=r"unknown paper 'topm'; papers/ has: .*linear_topm"):
        load_experiment("topm", "fig1a", "smoke")
    with pytest.raises(ValueError, match=r"unknown experiment 'fig9' of linear_topm; it has: .*fig1a"):
        load_experiment("linear_topm", "fig9", "smoke")
    with pytest.raises(ValueError, match="profile must be one of smoke, laptop, paper, got 'large'"):
        load_experiment("linear_topm", "fig1a", "large")


def test_every_simulated_experiment_of_the_ledger_loads_and_has_one_key_for_each_cell():
    """Keys are equal across profiles (but for one that is cut earlier) and differ between cells; all is plain data."""
    for name, spec in definitions.ledger("linear_topm")["experiments"].items():
        if "rows" in spec:  # made by a function, without policies
            continue
        stand_in = "stand_in" in spec
        keys = []
        cut = {"max_pulls" in spec["profiles"][p] for p in ("smoke", "laptop", "paper")}
        for profile in ("smoke", "laptop", "paper") if cut == {False} else ("laptop", "paper"):
            loaded = load_experiment("linear_topm", name, profile, stand_in=stand_in)
            assert loaded.data == ("stand-in" if stand_in else "synthetic")
            assert json.loads(json.dumps(loaded.problem_spec)) == loaded.problem_spec
            keys.append([cell_key(loaded, series, SEED) for series in loaded.series])
        assert all(k == keys[0] for k in keys)
        assert len(set(keys[0])) == len(keys[0])
