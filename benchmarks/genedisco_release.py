"""The benchmark's own release, GeneDisco 1.0.5, on the tables of this project; it needs an environment of its own.

Its loaders and its loop are run as they were released, on Python 3.11::

    python -m benchmarks.genedisco_release tables FOLDER        # here: writes the tables
    python -m venv release
    release/bin/pip install --no-deps genedisco==1.0.5 slingpy==0.2.11
    release/bin/pip install "numpy<2" "pandas<2.3" "scipy<1.14" "scikit-learn<1.6" torch==2.13.0 h5py six seaborn \\
        xxhash dataclasses-json requests ilock
    release/bin/python benchmarks/genedisco_release.py loaders FOLDER   # whose rows belong to other genes
    release/bin/python benchmarks/genedisco_release.py searches FOLDER --runs 3 --cycles 50

``loaders`` gives each loader of the release the files that it reads, with HGNC's outdated symbols of this project in
the place of HGNC's whole table, which also has aliases that are symbols of other genes. ``searches`` runs the whole
loop with the network of its application. Rows are aligned there, as in the repository since June 2023: the loaders take
what they find in their cache. The only change to the release is that tables are kept in memory.
"""

# ruff: noqa: E402  (the number of threads is read when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import contextlib
import io
import pickle
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
SEARCHES, LOADERS = HERE / "genedisco_release.csv", HERE / "genedisco_loaders.csv"
SCREENS = {  # the release's name of the screen, and of the file in its cache
    "IFNg": ("schmidt_2021_ifng", "schmidt_2021_ifng.h5"),
    "IL2": ("schmidt_2021_il2", "schmidt_2021_il2.h5"),
    "NK": ("zhuang_2019_nk", "zhuang_2019.h5"),
    "SARS-CoV-2": ("zhu_2021_sarscov2", "zhu_2021_sarscov2_host_factors.h5"),
}
POLICIES = {"TopUncertain": "topuncertain", "SoftUncertain": "softuncertain", "OAE": "custom"}
BATCH = 16
OPTIMISTIC = '''
import numpy as np
from genedisco.active_learning_methods.acquisition_functions.base_acquisition_function import (
    BaseBatchAcquisitionFunction,
)


class Optimistic(BaseBatchAcquisitionFunction):
    """Mean plus standard deviation."""

    def __call__(self, dataset_x, select_size, available_indices, last_selected_indices=None, model=None):
        mean, deviation, _ = model.predict(dataset_x.subset(available_indices), return_std_and_margin=True)
        best = np.flip(np.argsort(mean + deviation))[:select_size]
        return [available_indices[i] for i in best]
'''


def write_tables(folder: Path) -> None:
    """Write what the release reads: descriptors, effects, symbols of 2019, and HGNC's outdated symbols."""
    from bestarm.gene_symbols import approved_symbols
    from bestarm_lab.datasets.registry import fetch
    from bestarm_studies.oae.genedisco.gene_tables import OLD_NAMES_FILE, SYMBOLS_FILE, group_effects, screen_target
    from bestarm_studies.oae.genedisco.todays_screen import N_GROUPS, group_means

    folder.mkdir(parents=True, exist_ok=True)
    table = group_effects().iloc[:, :N_GROUPS]
    approved = approved_symbols(fetch(SYMBOLS_FILE))
    with np.load(fetch(OLD_NAMES_FILE)) as found:
        of_2019 = {approved.get(str(g), str(g)): str(g) for g in found["genes"]}
    table.to_csv(folder / "symbols of 2026.csv")
    old = [of_2019.get(approved.get(g, g), g) for g in table.index]
    table.set_axis(pd.Index(old)).sort_index().to_csv(folder / "symbols of 2019.csv")
    group_means().to_csv(folder / "aligned.csv")
    for name in SCREENS:
        screen_target(name).to_csv(folder / f"{name}.csv")
    before = pd.Series(approved).groupby(pd.Series(approved)).agg(lambda mine: "|".join(mine.index))
    names = pd.DataFrame({"symbol": before.index, "prev_symbol": before.to_numpy(), "alias_symbol": ""})
    names.to_csv(folder / "hgnc_mapping.tsv", sep="\t", index=False)


def wrong_rows(names: list[str], data: np.ndarray, source: Any) -> tuple[int, int]:
    """Return how many genes a loader kept, and how many of them have no row that is theirs."""
    rows: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        rows.setdefault(name, []).append(i)
    kept = source.get_row_names()
    values = np.asarray(source._get_file_cache()["covariates"])
    wrong = sum(not any(np.allclose(values[k], data[i]) for i in rows[name]) for k, name in enumerate(kept))
    return len(kept), wrong


def loaders(folder: Path, out: Path) -> None:
    """Write how many genes each loader keeps, and how many of them have another gene's row."""
    from genedisco.apps.single_cycle_application import SingleCycleApplication as Application
    from genedisco.datasets import screens as package
    from genedisco.datasets.features.hgnc_names import HGNCNames

    lines = []
    beside = Path(package.__file__).parent
    effects = {
        "IFNg": ("schmidt_2021_ifng", "schmidt_ifng_d{}.gene_summary.txt", "id", ["pos|lfc"]),
        "IL2": ("schmidt_2021_il2", "schmidt_il2_d{}.gene_summary.txt", "id", ["pos|lfc"]),
        "NK": ("zhuang_2019_nk", "zhuang_2019_low_selection.gene_summary.txt", "Gene", ["Rep1|z", "Rep2|z"]),
        "tau": ("sanchez_2021_tau", "sanchezetal2021_21days.csv", "Symbol", ["RSA_Down"]),
        "SARS-CoV-2": ("zhu_2021_sarscov2", "zhu_2021_sarscov2_host_factors.csv", "id", ["pos|score"]),
    }
    for screen, (name, file, index, columns) in effects.items():
        with tempfile.TemporaryDirectory() as cache:
            os.symlink((folder / "hgnc_mapping.tsv").resolve(), Path(cache) / "hgnc_mapping.tsv")
            paths = [beside / file.format(i) for i in ((1, 2) if "{}" in file else (1,))]
            tables = [pd.read_csv(p, sep="," if p.suffix == ".csv" else "\t", index_col=index) for p in paths]
            table = pd.concat(tables)[columns].sum(axis=1)
            if len(tables) > 1:
                table = table.groupby(table.index).mean() / 1.0
            data = table.to_numpy(dtype=np.float64)
            if screen == "SARS-CoV-2":
                data = -np.log(data)
            if screen == "tau":
                data = -data
            before = [str(g) for g in table.index]
            names = before if screen == "SARS-CoV-2" else HGNCNames(cache).update_outdated_gene_names(before)
            kept, wrong = wrong_rows(names, data[:, None].astype(np.float32), Application.get_dataset_y(name, cache))
        lines.append(
            {"loader": screen, "symbols": "of the file", "genes": len(set(before)), "kept": kept, "wrong": wrong}
        )
        print(lines[-1], flush=True)
    for symbols in ("of 2026", "of 2019"):
        table = pd.read_csv(folder / f"symbols {symbols}.csv", index_col=0, keep_default_na=False)
        with tempfile.TemporaryDirectory() as cache:
            os.symlink((folder / "hgnc_mapping.tsv").resolve(), Path(cache) / "hgnc_mapping.tsv")
            official = table.T.set_axis([f"{g} ({i})" for i, g in enumerate(table.index)], axis=1)
            official.rename_axis("DepMap_ID").reset_index().to_csv(Path(cache) / "achilles.csv", index=False)
            source = Application.get_dataset_x("achilles", cache).data_sources[0]
            names = HGNCNames(cache).update_outdated_gene_names(list(table.index))
            kept, wrong = wrong_rows(names, table.to_numpy(dtype=np.float64), source)
        lines.append({"loader": "Achilles", "symbols": symbols, "genes": len(table), "kept": kept, "wrong": wrong})
        print(lines[-1], flush=True)
    pd.DataFrame(lines).to_csv(out, index=False)


class _InMemory:
    """A file of the release whose table is read once; all else is asked of the file."""

    def __init__(self, path: str) -> None:
        import h5py

        self.file = h5py.File(path, "r")
        self.table = self.file["covariates"][()]

    def __getitem__(self, key: str) -> Any:
        return self.table if key == "covariates" else self.file[key]

    def __contains__(self, key: str) -> bool:
        return key in self.file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@cache
def _in_memory(path: str) -> _InMemory:
    return _InMemory(path)


def one_search(folder: Path, cache: Path, screen: str, policy: str, seed: int, cycles: int) -> list[float]:
    """Return the release's hit ratio after each cycle."""
    from genedisco.apps.active_learning_loop import ActiveLearningLoop

    with tempfile.TemporaryDirectory() as output:
        custom = Path(output) / "optimistic.py"
        custom.write_text(OPTIMISTIC, encoding="utf-8")
        loop = ActiveLearningLoop(
            model_name="bayesian_mlp",
            acquisition_function_name=POLICIES[policy],
            acquisition_function_path=str(custom),
            acquisition_batch_size=BATCH,
            num_active_learning_cycles=cycles,
            feature_set_name="achilles",
            dataset_name=SCREENS[screen][0],
            cache_directory=str(cache),
            output_directory=str(Path(output) / "run"),
            seed=seed,
        )
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            loop.run()
        with (Path(output) / "run" / "results.pickle").open("rb") as file:
            return [float(np.squeeze(scores["HitRatio"])) for scores in pickle.load(file)]


def searches(folder: Path, out: Path, runs: int, cycles: int, every: int, only: list[str], named: list[str]) -> None:
    """Add to a file the searches that it does not have yet."""
    import torch
    from slingpy.data_access.data_sources.hdf5_data_source import HDF5DataSource
    from slingpy.data_access.data_sources.hdf5_tools import HDF5Tools

    torch.set_num_threads(1)
    HDF5DataSource._get_file_cache = lambda source: _in_memory(str(source.hdf5_file))
    done = pd.read_csv(out) if out.exists() else pd.DataFrame(columns=["screen", "policy", "run"])
    with tempfile.TemporaryDirectory() as folder_of_cache:
        save = partial(HDF5Tools.save_h5_file, dataset_name="aligned")
        files = {"aligned": "achilles.h5", **{screen: SCREENS[screen][1] for screen in only}}
        for name, file in files.items():
            table = pd.read_csv(folder / f"{name}.csv", index_col=0, keep_default_na=False).astype(np.float64)
            save(
                str(Path(folder_of_cache) / file),
                table.to_numpy(),
                column_names=list(map(str, table.columns)),
                row_names=list(table.index),
            )
        for run in range(runs):
            for screen in only:
                for policy in named:
                    there = (done["screen"] == screen) & (done["policy"] == policy) & (done["run"] == run)
                    if there.any():
                        continue
                    began = time.process_time()
                    found = one_search(folder, Path(folder_of_cache), screen, policy, run, cycles)
                    seconds = time.process_time() - began
                    lines = [
                        {"screen": screen, "policy": policy, "run": run, "genes": BATCH * n, "hit_ratio": found[n - 1]}
                        for n in range(every, cycles + 1, every)
                    ]
                    pd.DataFrame(lines).to_csv(out, mode="a", header=not out.exists(), index=False)
                    print(f"{screen}, {policy}, run {run}: {found[-1]:.4f}, {seconds:.0f} s", flush=True)


def main() -> None:
    """Do one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("tables", "loaders", "searches"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--screens", nargs="*", default=list(SCREENS))
    parser.add_argument("--policies", nargs="*", default=list(POLICIES))
    given = parser.parse_args()
    if given.what == "tables":
        write_tables(given.folder)
    elif given.what == "loaders":
        loaders(given.folder, given.out or LOADERS)
    else:
        out = given.out or SEARCHES
        searches(given.folder, out, given.runs, given.cycles, given.every, given.screens, given.policies)


if __name__ == "__main__":
    main()
