"""The audit of dependencies says what was not audited, in one line, and never calls that a success.

Python and pip-audit are replaced by scripts, so that nothing is asked of any network.
"""

import os
import shutil
import subprocess

import pytest

from bestarm_lab.paths import ROOT

LOCKS = "".join((ROOT / name).read_text(encoding="utf-8") for name in ["locks/requirements.lock", "locks/torch.lock"])
LOCKED = sum("==" in line for line in LOCKS.splitlines())
NOT = "were NOT audited."
TABLE = "Name Version ID Fix Versions\\n---- ------- -- ------------\\nnumpy 1.0 PYSEC-1 2.0\\n"
SKIPPED = "numpy Dependency not found on PyPI and could not be audited: numpy (2.4.6)\\n"
NO_ROUTE = "echo Traceback >&2; echo 'ConnectionError: no route' >&2; exit 1"
NOTHING_KNOWN = f"for i in $(seq {LOCKED}); do printf '{SKIPPED}'; done"
NO_DATABASE = "no database of vulnerabilities answers here"
DOES_NOT_KNOW = f"the database that answers here does not know {{}} of {LOCKED} dependencies; those {NOT}"
NONE_IN = f"no known vulnerability in {{}} of {LOCKED} dependencies."


@pytest.mark.parametrize(
    ("pip", "audit", "status", "lines"),
    [
        ("exit 1", "exit 0", 0, [f"pip-audit cannot be installed here; the dependencies {NOT}"]),
        ("exit 0", NO_ROUTE, 0, [f"{NO_DATABASE} (ConnectionError: no route); the dependencies {NOT}"]),
        ("exit 0", NOTHING_KNOWN, 0, [DOES_NOT_KNOW.format(LOCKED)]),
        ("exit 0", f"printf '{SKIPPED}'", 0, [DOES_NOT_KNOW.format(1), NONE_IN.format(LOCKED - 1)]),
        ("exit 0", "echo fine >&2", 0, [NONE_IN.format(LOCKED)]),
        ("exit 0", f"printf '{TABLE}'; exit 1", 1, ["numpy 1.0 PYSEC-1 2.0"]),
    ],
)
def test_the_audit_says_what_it_did(tmp_path, pip, audit, status, lines):
    """Not installed, no database, one that knows nothing or little, all well, a finding."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    fake = tmp_path / "python3"
    fake.write_text(
        "#!/usr/bin/env bash\n"
        'mkdir -p "$3/bin"\n'
        f"printf '#!/usr/bin/env bash\\n%s\\n' {shell(pip)} > \"$3/bin/pip\"\n"
        f"printf '#!/usr/bin/env bash\\n%s\\n' {shell(audit)} > \"$3/bin/pip-audit\"\n"
        'chmod +x "$3/bin/pip" "$3/bin/pip-audit"\n'
    )
    fake.chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = subprocess.run(["bash", str(ROOT / ".ci" / "audit")], capture_output=True, text=True, env=env, check=False)
    assert (found.returncode, found.stderr) == (status, "")
    said = found.stdout.splitlines()
    assert said[-len(lines) :] == ([f"audit: {line}" for line in lines] if status == 0 else lines)
    assert len(said) == (len(lines) if status == 0 else 3)


def shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
