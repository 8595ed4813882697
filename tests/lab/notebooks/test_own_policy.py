"""The page on bringing a policy of one's own: its blocks run, in a folder outside the repository."""

import re
import sys

import pandas as pd

from bestarm_lab.paths import ROOT
from bestarm_lab.results import published


def test_the_page_runs_as_it_stands(capsys, tmp_path, monkeypatch):
    """Published algorithms stand in the table as they are published, and the new one beside them."""
    text = (ROOT / "docs" / "bring_your_policy.md").read_text(encoding="utf-8")
    policy, check, run = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "mypolicy.py").write_text(policy)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found: dict = {}
    try:
        exec(compile(check + run, "bring_your_policy.md", "exec"), found)
    finally:
        sys.modules.pop("mypolicy", None)
    assert re.search(r"^mine +0\.\d\d", capsys.readouterr().out, re.MULTILINE)
    rows, own = found["rows"], published("gse", "fig2")[1]
    assert len({len(mine) for _, mine in rows.groupby("series")}) == 1
    own = own[(own["convention"] == "as_written") & (own["replication"] < 200) & own["n_arms"].isin([8, 16])]
    theirs, keys = rows[rows["series"] != "mine"], ["series", "n_arms", "budget", "replication"]
    both = (frame.set_index(keys)["correct"].sort_index() for frame in (theirs, own))
    pd.testing.assert_series_equal(*both, check_dtype=False)
    assert rows.loc[rows["series"] == "mine", "correct"].mean() > 2 / 8  # a guess has 1/8 or 1/16
    assert len([path for path in (tmp_path / "_mine").rglob("*") if path.is_file()]) == 6  # cells of the new one alone
