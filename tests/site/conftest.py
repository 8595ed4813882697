"""The made site, served from this machine, and a browser: the Chromium of the system, driven by Playwright."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bestarm_lab.paths import ROOT

HTML = ROOT / "build" / "site" / "html"
PATIENCE = 120_000  # milliseconds for a page or a locator: a loaded machine is slow, and no test is about its speed


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="session")
def site():
    if not (HTML / "index.html").is_file():
        pytest.skip("the site is not made; run `make site-test`")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(HTML)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is among the site's tools")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium here; CHROMIUM may name one")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def new_context(browser):
    """Return a function that opens a browser's context with ``PATIENCE``; all are closed after the test."""
    contexts = []

    def opened(**options):
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(PATIENCE)
        contexts[-1].set_default_navigation_timeout(PATIENCE)
        return contexts[-1]

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def visit(new_context, site):
    """Return a function that opens a page; whatever it complains of, or fetches from elsewhere, fails the test."""
    complaints = []

    def opened(path, *, width=1280, height=900, dark=False):
        viewport, scheme = {"width": width, "height": height}, "dark" if dark else "light"
        page = new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce").new_page()
        page.on("console", lambda m: complaints.append(f"{path}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: complaints.append(f"{path}: {e}"))
        page.on("requestfailed", lambda r: complaints.append(f"{path}: {r.url} failed") if not left(r) else None)
        page.on("request", lambda r: complaints.append(f"outside: {r.url}") if not ours(r.url) else None)
        page.goto(f"{site}/{path}", wait_until="load")
        return page

    def left(request):  # the page was left before it had loaded
        return request.failure == "net::ERR_ABORTED"

    def ours(address):
        return address.startswith((site, "data:", "blob:"))

    yield opened
    assert not complaints
