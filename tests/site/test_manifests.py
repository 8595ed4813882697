"""What machines read of a release is right about the files that it names."""

import hashlib
import json

import pytest
import yaml
from bestarm_site.manifests import write
from bestarm_site.records import records

import bestarm
from bestarm_lab.paths import ROOT


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    write(folder)
    return folder


def test_every_claim_leads_to_files_with_their_digests(release):
    told = json.loads((release / "claims.json").read_text(encoding="utf-8"))
    assert [entry["claim"] for entry in told["claims"]] == list(records())
    named = {
        path for e in told["claims"] for kind in ("verdicts", "notebook", "rows", "figure") for path in e.get(kind, [])
    }
    assert named <= set(told["sha256"])
    for path in sorted(named)[::20]:
        assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == told["sha256"][path]
    tested = [e for e in told["claims"] if any(word != "not run" for word in e["verdict"].values())]
    assert all(e["notebook"] and e["verdicts"] for e in tested)


def test_a_codecheck_finds_every_output(release):
    text = (release / "codecheck.yml").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    told = yaml.safe_load(text)
    files = [entry["file"] for entry in told["manifest"]]
    assert len(files) == len(set(files)) > 100
    assert all((ROOT / file).is_file() and entry for file, entry in zip(files, told["manifest"], strict=True))


def test_the_version_is_the_same_everywhere(release):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == bestarm.__version__
    assert f"## {bestarm.__version__}, " in (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in ("codemeta.json", ".zenodo.json"):
        assert json.loads((release / name).read_text(encoding="utf-8"))["version"] == bestarm.__version__
