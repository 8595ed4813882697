"""Values that the claims on causes compare."""

from bestarm_lab.claims.cells import Value
from bestarm_studies.gpoo.paper_against_code.causes import gap_closed, gap_opened

_GAP = {"of": "column", "slow": "series", "changed": "series", "fast": "series"}
VALUES: dict[str, Value] = {
    "gap_closed": Value("part of the gap that is closed", gap_closed, needs=_GAP),
    "gap_opened": Value("part of the gap that is opened", gap_opened, needs=_GAP),
}
