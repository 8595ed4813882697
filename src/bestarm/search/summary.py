"""A search in a few lines: its state, the best so far, the next step; as texts, and for notebooks as HTML."""

import html
from typing import Any

from bestarm.search.rounds import of_prediction, reward
from bestarm.search.status import ASKED, FAILED, MEASURED, STATES, UNMEASURED
from bestarm.search.tables import counted, listed

_QUICK = 200_000  # numbers in a table of candidates
_AIMS = {"max": "large rewards", "min": "small rewards", "both": "rewards of large size"}


def lines_of(search: Any, *, patient: bool = True) -> list[tuple[str, str]]:
    """Return what a person first wants to know, not escaped; what takes more than a second for the patient alone."""
    if search._sequential is not None:
        step = "none: the search has ended" if search.finished else "ask(), measure, tell(table)"
        told = counted(search._sequential.round, "round")
        return [("search", f"by {search.policy.label}, {told} told"), ("next step", step)]
    aim = search.aim if isinstance(search.aim, str) else f"rewards near {search.aim:g}"
    named = f"by {search._choice.name} among {counted(len(search.candidates.names), 'candidate')}"
    counts = search.states.value_counts()
    known = {state: int(counts.get(state, 0)) for state in STATES}
    there = [f"{known[MEASURED]} measured", f"{known[FAILED]} failed", f"{known[ASKED]} asked and still to come"]
    there += [f"{n} {state}" for state, n in known.items() if n and state not in (MEASURED, FAILED, ASKED)]
    small = len(search.candidates.names) * len(search.candidates.columns) <= _QUICK
    return [
        ("search", f"{named}, for {_AIMS.get(aim, aim)}; {counted(len(search.rounds), 'batch')}"),
        ("candidates", ", ".join(there)),
        *(("learns from", said) for said in search._some_learned(known=True)),
        ("best so far", best_of(search)),
        ("left to find", str(search.left()) if patient or small else "search.left() says it"),
        ("next step", next_step(search, known)),
    ]


def best_of(search: Any) -> str:
    """Return the best candidate measured so far in words."""
    means = search._status.means()
    ranked = search._ranked(means)
    if not ranked:
        return "every measurement failed" if means else "nothing was measured yet"
    found = f"{ranked[0]}: {means[ranked[0]]:.6g}"
    if search.aim == "both" or not isinstance(search.aim, str):
        what = "size" if search.aim == "both" else "distance"
        found += f" ({what} {of_prediction(reward(means[ranked[0]], search.aim), search.aim):.6g})"
    return found


def next_step(search: Any, known: dict[str, int]) -> str:
    """Return what a person does next."""
    if waiting := search.pending:
        return f"measure {listed(waiting)}, and tell the results (an empty cell is still to come)"
    if search.finished:
        return "none: the search has ended" if known[UNMEASURED] else "none: no candidate is left"
    return "ask for a batch: ask(8)" if known[MEASURED] else "tell what is known, or ask for a first batch: ask(8)"


def as_html(search: Any) -> str:
    """Return a short table for notebooks."""
    rows = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{html.escape(label)}</th>'
        f'<td style="text-align:left">{html.escape(text)}</td></tr>'
        for label, text in lines_of(search, patient=False)
    )
    return f"<table><tbody>{rows}</tbody></table>"
