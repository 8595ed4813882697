"""A claim as its ledger writes it: what it takes from others, and its test under each convention, as yet unread."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from bestarm_lab.claims.layout import LAYOUT
from bestarm_lab.claims.verdicts import CONVENTIONS
from bestarm_lab.study_packages import files_of, read_file
from bestarm_lab.yaml_keys import of_type, refuse_unknown

_ledger = cache(read_file)  # once for all claims of a study, as `claim_ids`
KIND_WORDS = ("difference", "ratio", "share", "discordant", "mostly", "rank", "slope", "spread")
# every word of the grammar that is no kind: a key that is one of these is no slip, wherever it stands
WORDS = (
    *(*CONVENTIONS, *LAYOUT, "parts", "series_are", "need", "above", "below", "within", "at_least", "by", "runs"),
    *("printed", "printed_n", "better", "in_cells", "in_more_than", "among", "is", "best", "along"),
)


def written_claim(study: str, identity: str) -> dict[str, Any]:
    """Return a claim of a study as written, with its ``notebook``, and the names of groups in its test replaced."""
    shared: Mapping[str, Any] = {}
    for notebook, file in files_of(study, "claims.yaml"):
        ledger = _ledger(study, file)
        groups = {**shared, **ledger.get("groups", {})}
        if identity in ledger.get("claims", {}):
            entry = whole_entry(identity, ledger["claims"], f"{study}/{file}")
            return {"notebook": notebook, **entry, "test": expanded(entry["test"], groups)}
        shared = shared if notebook else groups
    raise KeyError(identity)


def whole_entry(identity: str, entries: Mapping[str, Any], file: str = "claims.yaml") -> dict[str, Any]:
    """Return a claim of a ledger with what it takes from others.

    A statement of ours is of the claim before the dot of its name, and of its place in the paper, if it says nothing
    else. A test that is ``like`` an earlier claim's has its keys, except those that it writes itself.
    """
    entry = dict(entries[identity])
    test = entry.get("test")
    if isinstance(test, Mapping) and "like" in test:
        before = list(entries)[: list(entries).index(identity)]
        refuse_unknown(f"{file}, {identity}, test, like", "earlier claim", [test["like"]], before)
        other = whole_entry(test["like"], entries, file)["test"]
        entry["test"] = {**other, **{key: value for key, value in test.items() if key != "like"}}
    of = entry.get("of", identity.rpartition(".")[0])
    if "ours" not in entry or not of:
        return entry
    place = {"where": entries[of]["where"]} if "where" in entries.get(of, {}) else {}
    return {"of": of, **place, **entry}


def expanded(part: Any, groups: Mapping[str, Any]) -> Any:
    """Return a test with the names of groups replaced by what they stand for; in lists they are spliced."""
    if isinstance(part, str) and part in groups:
        return expanded(groups[part], groups)
    if isinstance(part, list):
        found: list[Any] = []
        for entry in part:
            grown = expanded(entry, groups)
            found += grown if isinstance(grown, list) and isinstance(entry, str) else [grown]
        return found
    return {k: expanded(v, groups) for k, v in part.items()} if isinstance(part, dict) else part


def by_convention(test: Mapping[str, Any], place: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return place and keys of a test by convention; an exact check is of the text, unless the ledger has the code."""
    shared = {key: value for key, value in test.items() if key not in CONVENTIONS}
    found = {}
    for convention in CONVENTIONS:
        if (change := test.get(convention, None if "check" in test and convention != "as_written" else {})) is not None:
            inside = place + (f", {convention}" if change else "")
            found[convention] = (inside, {**shared, **of_type(inside, change, dict)})
    return found
