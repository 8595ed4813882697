"""A small screen for tests: 40 genes, three features, a smooth phenotype, and commands run on it; told searches."""

from pathlib import Path

import numpy as np
import pandas as pd

from bestarm import Search
from bestarm.command_line import main

N_GENES = 40
SMALL = ["--set", "hidden=8,4", "--set", "steps=60"]
NETWORKS = ("mean_opt", "max_opt", "hinge", "greedy", "det_d", "ensemble", "noisy_ensemble", "seq_b", "ensemble_seq_b")


def genes() -> list[str]:
    return [f"GENE{i:02d}" for i in range(N_GENES)]


def features() -> pd.DataFrame:
    values = np.random.default_rng(5).standard_normal((N_GENES, 3)).round(3)
    return pd.DataFrame(values, index=pd.Index(genes(), name="gene"), columns=["a", "b", "c"])


def phenotypes() -> pd.Series:
    x = features()
    return (100.0 * (x["a"] - 0.5 * x["b"] ** 2)).round(2).rename("phenotype")


def knowing(search: Search, table) -> Search:
    """Tell a search a table, or a dictionary of its columns, and return it."""
    search.tell(pd.DataFrame(table))
    return search


def one_line(capsys, *arguments) -> str:
    """Return the one line by which a command is refused."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("bestarm: ")
    assert shown.count("\n") == 1
    return shown


class Lab:
    """A folder with the two tables, in which commands are run and batches are measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.features, self.phenotypes = folder / "features.csv", folder / "phenotypes.csv"
        self.rounds = folder / "phenotypes_rounds"
        features().to_csv(self.features)
        self.phenotypes.write_text("gene,phenotype\n")

    def given(self, *arguments: str, policy: str = "mean_opt", batch: int = 4) -> list[str]:
        small = SMALL if policy in NETWORKS and "--check" not in arguments else []
        given = ["suggest", str(self.features), str(self.phenotypes), "--batch", str(batch), "--policy", policy]
        return [*given, *small, *arguments]

    def suggest(self, *arguments: str, **settings) -> int:
        return main(self.given(*arguments, **settings))

    def says(self, capsys, *arguments: str, status: int = 0, **settings) -> str:
        """Return what the command prints, of which the status is checked; of a refusal its one line."""
        if status == 2:
            return one_line(capsys, *self.given(*arguments, **settings))
        capsys.readouterr()
        assert self.suggest(*arguments, **settings) == status
        return capsys.readouterr().out

    def plate(self, number: int) -> pd.DataFrame:
        return pd.read_csv(self.rounds / f"round_{number:03d}_plate.csv", keep_default_na=False)

    def batch(self, number: int) -> list[str]:
        return list(self.plate(number)["gene"])

    def measure(self, names, failed=()) -> None:
        values = phenotypes()
        self.add(*(f"{name},{'failed' if name in failed else values[name]}" for name in names))

    def round(self, number: int, *arguments: str, failed: int = 0, **settings) -> None:
        """Suggest a batch and measure it, of which the first wells may fail."""
        assert self.suggest(*arguments, **settings) == 0
        self.measure(self.batch(number), failed=self.batch(number)[:failed])

    def add(self, *rows: str) -> None:
        with open(self.phenotypes, "a") as file:
            file.writelines(f"{row}\n" for row in rows)

    def files(self) -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in sorted(self.rounds.glob("round*"))}
