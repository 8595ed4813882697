"""Finding data files: where they are looked for, what is checked, what is said when they are missing or wrong."""

import gzip
import hashlib
import http.server
import io
import socket
import threading
import zipfile

import pytest
from refusals import refuses

from bestarm_lab.datasets import registry
from bestarm_lab.datasets.registry import DataDamaged, DataUnavailable, available, checksums, content_sha256, fetch

CONTENT = b"arm,reward\n0,0.5\n1,0.7\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MEMBER = "folder/rewards.csv"


@pytest.fixture
def house(monkeypatch, tmp_path):
    """Return data/raw and the mirror of a house with one registered file, which nobody has; the network is closed."""
    raw, mirror = tmp_path / "raw", tmp_path / "mirror"
    mirror.mkdir()
    entry = {"path": "some/rewards.csv", "url": "http://127.0.0.1:9/rewards.csv", "sha256": SHA256}
    monkeypatch.setattr(registry, "registry", lambda: {"rewards": entry})
    monkeypatch.setattr(registry, "RAW_DATA", raw)
    monkeypatch.setenv("BESTARM_DATA", str(mirror))
    monkeypatch.setenv("BESTARM_OFFLINE", "1")
    monkeypatch.setenv("NO_PROXY", "*")
    return raw, mirror, entry


def put(folder, content: bytes = CONTENT, name: str = "some/rewards.csv"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def serve(monkeypatch, house):
    """Return a function that serves some bytes as the official file on this machine, and lists the requests made."""
    servers = []

    def start(content: bytes, status: int = 200) -> list[str]:
        requests: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        house[2]["url"] = f"http://127.0.0.1:{server.server_port}/official/rewards.csv"
        monkeypatch.delenv("BESTARM_OFFLINE")
        return requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def fails(error, *words, ask=fetch):
    with pytest.raises(error) as caught:
        ask("rewards")
    assert [part for part in words if part not in str(caught.value)] == []


def test_raw_data_come_before_the_mirror_and_the_mirror_before_the_network(house, serve):
    """Each source is used only while the ones before it have nothing; a download is kept in data/raw."""
    raw, mirror, _ = house
    requests = serve(CONTENT)
    assert (fetch("rewards"), requests) == (raw / "some/rewards.csv", ["/official/rewards.csv"])
    (raw / "some/rewards.csv").unlink()
    in_mirror = put(mirror)
    assert fetch("rewards") == in_mirror
    in_raw = put(raw)
    assert fetch("rewards") == in_raw
    in_mirror.write_bytes(b"not looked at")
    assert (fetch("rewards").read_bytes(), len(requests)) == (CONTENT, 1)


def test_the_mirror_lies_beside_the_checkout_unless_it_is_named(monkeypatch, tmp_path):
    """``$BESTARM_DATA``, by default ../shared/data."""
    from bestarm_lab.paths import ROOT, data_mirror

    monkeypatch.delenv("BESTARM_DATA", raising=False)
    assert data_mirror() == ROOT.parent / "shared" / "data"
    monkeypatch.setenv("BESTARM_DATA", str(tmp_path))
    assert data_mirror() == tmp_path


@pytest.mark.parametrize("place", ["raw", "mirror"])
def test_a_packed_file_is_checked_by_its_content(house, place):
    """A .gz is found under its own name; the checksum is that of what is inside; a plain file comes first."""
    folder = house[0] if place == "raw" else house[1]
    packed = put(folder, name="some/rewards.csv.gz")
    assert (fetch("rewards"), content_sha256(packed)) == (packed, SHA256)
    plain = put(folder)
    assert fetch("rewards") == plain


def test_offline_means_that_the_network_is_not_asked(house, serve, monkeypatch):
    """With BESTARM_OFFLINE the message names both places; nothing is requested."""
    requests = serve(CONTENT)
    monkeypatch.setenv("BESTARM_OFFLINE", "1")
    fails(DataUnavailable, "'rewards'", str(house[0]), str(house[1]), "BESTARM_OFFLINE is set")
    assert requests == []
    assert not available("rewards")


def test_a_file_is_available_when_every_one_is(house, monkeypatch):
    entries = {"rewards": house[2], "other": house[2] | {"path": "other.csv"}}
    monkeypatch.setattr(registry, "registry", lambda: entries)
    put(house[1])
    assert available("rewards")
    assert not available("rewards", "other")
    put(house[0], name="other.csv")
    assert available("rewards", "other")
    assert checksums("rewards", "other") == {"rewards": SHA256, "other": SHA256}


@pytest.mark.parametrize("name", ["some/rewards.csv", "some/rewards.csv.gz"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_file_of_another_content_is_an_error_with_its_name_and_the_remedy(house, name, place):
    """Nothing is computed from it, and it is not replaced behind the user's back."""
    path = put(house[place], CONTENT + b"2,0.9\n", name)
    for ask in (fetch, available):
        fails(DataDamaged, str(path), "'rewards'", SHA256, "Delete it", ask=ask)
    assert path.is_file()


@pytest.mark.parametrize("damage", ["not packed", "truncated", "flipped", "empty"])
def test_a_packed_file_that_cannot_be_unpacked_is_an_error_with_its_name_and_the_remedy(house, damage):
    path = put(house[0], bytes(range(256)) * 20, "some/rewards.csv.gz")
    whole = path.read_bytes()
    broken = {"not packed": CONTENT, "truncated": whole[: len(whole) // 2], "empty": b""}
    path.write_bytes(broken.get(damage, whole[:10] + b"\xff" * 8 + whole[18:]))
    fails(DataDamaged, str(path), "Delete it")


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(house):
    for ask in (fetch, available, checksums):
        with pytest.raises(ValueError, match=r"unknown data file 'reward'; data/registry\.yaml has: rewards"):
            ask("reward")


def test_a_download_of_another_content_is_an_error_and_leaves_nothing(house, serve):
    """The message names the address; data/raw stays without the file."""
    serve(b"<html>moved</html>")
    fails(DataDamaged, house[2]["url"], "'rewards'", SHA256)
    assert not [p for p in house[0].rglob("*") if p.is_file()]


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as files:
        for name, content in members.items():
            files.writestr(name, content)
    return buffer.getvalue()


def test_a_member_is_taken_out_of_its_archive(house, serve):
    """And only it is kept; the next time it is found where it lies."""
    raw, _, entry = house
    entry["member"] = MEMBER
    requests = serve(archive({MEMBER: CONTENT, "folder/other.csv": b"more"}))
    path = fetch("rewards")
    assert (path, path.read_bytes()) == (raw / "some/rewards.csv", CONTENT)
    assert [p.name for p in raw.rglob("*") if p.is_file()] == ["rewards.csv"]
    assert (fetch("rewards"), len(requests)) == (path, 1)


LARGE = archive({MEMBER: bytes(range(256)) * 4})


@pytest.mark.parametrize(
    "content",
    [
        archive({MEMBER: b"another table"}),
        archive({"folder/other.csv": CONTENT}),
        b"<html>no such file</html>",
        b"",
        LARGE[:60] + b"\xff" * 30 + LARGE[90:],
    ],
    ids=["wrong content", "no member", "no archive", "empty", "damaged stream"],
)
def test_a_wrong_archive_leaves_nothing_behind(house, serve, content):
    house[2]["member"] = MEMBER
    serve(content)
    refuses(lambda: fetch("rewards"), "rewards", DataDamaged)
    assert not [p for p in house[0].rglob("*") if p.is_file()]


def test_an_address_without_the_file_leaves_the_data_unavailable(house, serve):
    serve(b"gone", status=404)
    refuses(lambda: fetch("rewards"), "did not answer \\(HTTPError\\)", DataUnavailable)
    assert not [p for p in house[0].rglob("*") if p.is_file()]


def test_a_refused_connection_leaves_the_data_unavailable(house, monkeypatch):
    """The message names the address, and where to put the file by hand."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        house[2]["url"] = f"http://127.0.0.1:{free.getsockname()[1]}/rewards.csv"
    monkeypatch.delenv("BESTARM_OFFLINE")
    fails(DataUnavailable, house[2]["url"], "did not answer", str(house[0] / "some/rewards.csv"), "BESTARM_DATA")
    assert not available("rewards")


def test_every_registered_file_says_where_it_comes_from():
    """Path, https address or (derived files) origin, checksum, licence and content; no two share a path."""
    entries = registry.registry()
    for name, entry in entries.items():
        assert set(entry) >= {"path", "origin" if entry.get("derived") else "url", "sha256", "licence", "content"}, name
        assert entry.get("derived") or entry["url"].startswith("https://")
        assert len(bytes.fromhex(entry["sha256"])) == 32
        assert not entry["path"].startswith(("/", ".."))
    assert len({entry["path"] for entry in entries.values()}) == len(entries)


def test_files_that_are_here_are_the_registered_ones(monkeypatch):
    """Every file found without the network has its registered content."""
    monkeypatch.setenv("BESTARM_OFFLINE", "1")
    found = [name for name in registry.registry() if available(name)]
    if not found:
        pytest.skip("no data file is in data/raw or in the mirror")
    for name in found:
        assert content_sha256(fetch(name)) == registry.registry()[name]["sha256"]
