"""The unit that is stored: the rows of one key, made block by block."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bestarm_lab.experiments.keys import digest


@dataclass(frozen=True)
class Part:
    """What is computed and stored under one key: one series in one cell, or a whole computation."""

    settings: str  # settings, code: hashes of the specification (settings, data, seed), and of the code that runs
    code: str
    columns: dict[str, Any]  # columns that are the same in all of its rows, ``convention`` and ``series`` first
    replications: int  # replications, block: runs, and runs in one block (a unit of work, of storage and of loss)
    block: int
    # from the first and the last replication but one to rows with a column ``replication``
    compute: Callable[[int, int], pd.DataFrame]
    wanted: tuple[str, ...] = ()  # columns that stored rows must have

    @property
    def key(self) -> str:
        """Hash of everything that the rows depend on: their name in the store and in files."""
        return digest([self.settings, self.code])

    def blocks(self) -> list[tuple[int, int]]:
        """Return the first and the last replication but one of every block."""
        n = self.replications
        return [(start, min(start + self.block, n)) for start in range(0, n, self.block)]
