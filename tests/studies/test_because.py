"""Each headline and section claim that is refuted, or holds in part, says why, with numbers from rows."""

import re

import pytest
from refusals import refuses

from bestarm_lab.claims.claims_file import read_claim
from bestarm_lab.quoted import UNKNOWN, reason
from bestarm_lab.results import read_verdicts
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names


@pytest.mark.parametrize("study", study_names())
def test_what_does_not_hold_says_why(study):
    claims, verdicts = load_study(study).claims, read_verdicts(study)
    fails = verdicts[verdicts["verdict"].isin(["refuted", "mixed"]) & verdicts["level"].isin(["headline", "section"])]
    silent = [name for name in dict.fromkeys(fails["id"]) if not claims[name].because]
    assert not silent, f"no cause of {', '.join(silent)}; add because: with the row that measures it, or unknown."


@pytest.mark.parametrize("study", study_names())
def test_reasons_hold_and_are_filled_in(study):
    told = {c.id: reason(study, c.notebook, c.because) for c in load_study(study).claims.values() if c.because}
    assert told
    for name, text in told.items():
        assert text == UNKNOWN or (text.endswith(".") and not re.search(r"[{}]|\bnan\b", text)), f"{name}: {text}"


def test_a_reason_whose_row_says_otherwise_is_refused():
    because = {"said": "Nothing holds.", "from": "verdicts.csv", "id": "GSE-C1"}
    because["holds"] = {"only": "verdict", "is": "confirmed"}
    refuses(lambda: reason("gse", "12_verdicts", because), "Nothing holds")
    given = {"where": "Abstract", "notebook": "12_verdicts", "claim": "It is.", "test": {}, "because": {"said": "So."}}
    refuses(lambda: read_claim("A-C1", {**given, "ours": "control"}, {}, {}, {}), "from")
