"""The README's example runs."""

import re

from bestarm.paths import ROOT


def test_python_blocks_run(capsys):
    """The ask-tell examples find the two best arms, and a cell within a tenth of the optimum 3.2."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert len(block.strip().splitlines()) <= 18
        exec(compile(block, "README.md", "exec"), {})
    found = capsys.readouterr().out
    assert "best arms: [0, 1]" in found
    assert "best candidate" in found
    low, high = re.search(r"the best cell is \[(.*), (.*)\]", found).groups()
    assert float(low) - 0.1 <= 3.2 <= float(high) + 0.1
