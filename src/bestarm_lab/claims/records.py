"""A claim as its study's ledger states it, with the test that decides it under each convention."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from bestarm_lab.claims.cells import Rows
from bestarm_lab.claims.kinds import ClaimTest
from bestarm_lab.claims.verdicts import Decision

OURS = ("control", "prediction", "reading", "correction")
LEVELS = ("headline", "section", "detail", "theorem")


@dataclass(frozen=True)
class Check:
    """An exact decision of a study, and the settings that a claim gives it."""

    # from settings and rows to a `Decision`, or from settings alone (arithmetic and closed forms, decided anew wherever
    # verdicts are written); the first line of its docstring says what it does
    decide: Callable[..., Decision]
    # needs, may: settings that it must and may be given beside the ``experiments`` whose rows it reads, each with its
    # sort, see `bestarm_lab.claims.claims_file.SORTS`
    needs: Mapping[str, str] = field(default_factory=dict)
    may: Mapping[str, str] = field(default_factory=dict)

    @property
    def reads_rows(self) -> bool:
        """Whether it looks at the rows of experiments."""
        return len(signature(self.decide).parameters) == 2

    def __call__(self, settings: Mapping[str, Any], rows: Rows) -> Decision:
        return self.decide(settings, rows) if self.reads_rows else self.decide(settings)


@dataclass(frozen=True)
class Exact:
    """A claim's call of an exact check, in place of a statistical test."""

    name: str
    check: Check
    settings: Mapping[str, Any]

    def experiments(self) -> list[str]:
        """Return the experiments whose rows it looks at."""
        return list(self.settings.get("experiments", []))

    def words(self) -> str:
        """Return what it does: the first line of its docstring."""
        return str(self.check.decide.__doc__).strip().splitlines()[0].rstrip(".")


@dataclass(frozen=True)
class Claim:
    """One claim."""

    id: str  # its name
    text: str  # a sentence that stands alone
    where: str  # where, notebook: its place in the paper; the notebook that shows it
    notebook: str
    tests: Mapping[str, ClaimTest | Exact]  # by convention; one that the ledger leaves out is absent
    caveat: str = ""  # what the test does not decide
    ours: str = ""  # one of `OURS` for a statement of this project; empty for one of the paper's
    of: str = ""  # the claim of the paper that such a statement belongs to
    # fingerprint of the paper's sentence, or caption, that states it (`bestarm_lab.claims.fingerprint`); claims that
    # share it are parts of one sentence. Empty for a statement of this project
    sentence: str = ""
    # one of `LEVELS`: of an abstract, introduction or conclusion; of a section's main finding; of a detail of a figure,
    # table or appendix; of a theorem. Empty for a statement of this project
    level: str = ""
    short: str = ""  # a headline in a few words, for figures
    # one of `bestarm_lab.claims.kinds.QUANTIFIERS`, by the words of the sentence: of how many comparisons it speaks
    quantifier: str = "all"
    # why it was not confirmed: an entry of `bestarm_lab.quoted` with its table, ``from``; empty if nothing is said
    because: Mapping[str, Any] = field(default_factory=dict)

    @property
    def test(self) -> ClaimTest | Exact:
        """Return the test as written, or of the only convention that there is."""
        return next(iter(self.tests.values()))
