"""The site in a browser: what a reader does, at a desk and on a phone, with a mouse and without."""

import json
import re

import pytest
from bestarm_site import comparisons
from bestarm_site.cards import because
from bestarm_site.records import records
from bestarm_site.replays import TITLES

from bestarm_lab.notebooks.runner import notebooks_of
from bestarm_lab.paths import ROOT
from bestarm_lab.study_packages import study_names

pytest.importorskip("playwright.sync_api", reason="Playwright is among the tools of the site; run `make site-test`")
from bestarm_site import frames

TEMPLATES = [
    "index.html",
    "claims/index.html",
    "claims/linear_topm.html",
    "text_and_code.html",
    "papers/gpoo.html",
    "algorithms/gpoo.html",
    "gallery.html",
    "printed.html",
    "replays/index.html",
    "replays/gse.html",
    "replays/tree.html",
    "benchmarks.html",
    "paths.html",
    "notebooks/gpoo/02_tree_and_gpoo.html",
    "notebooks/gse/03_adaptive.html",
    "paper.html",
    "docs/notation.html",
    "docs/decisions/gse.html",
    "api/search.html",
]


def shown_rows(page):
    return page.locator("#claims tbody tr:not([hidden])")


def said(page, identity):
    return page.locator(f'.card-body[data-claim="{identity}"] .panel:not([hidden]) .plot-said')


def a_difference():
    """Return a claim with several comparisons above a margin, run as text and as code."""
    for study in study_names():
        for key, entry in comparisons.of_study(study).items():
            identity, convention = key.split("|")
            claim = records()[identity]
            ready = convention == "as_written" and not claim.ours and len(claim.verdicts) == 2
            if ready and entry.get("relation") == "above" and len(entry["dots"]) >= 3 and not entry["counts"]:
                return claim, entry
    raise AssertionError("no claim has three comparisons above a margin for both text and code")


def test_the_table_is_filtered_and_the_address_tells_how(visit):
    page = visit("claims/index.html")
    theirs = [r for r in records().values() if not r.ours]
    assert shown_rows(page).count() == len(theirs)
    page.select_option("[name=paper]", "gse")
    page.select_option("[name=verdict]", "refuted")
    page.select_option("[name=run]", "text")
    wanted = [r.id for r in theirs if r.study == "gse" and r.verdicts["as_written"].word == "refuted"]
    assert shown_rows(page).locator("th").all_inner_texts() == wanted
    assert page.inner_text("#claim-count").startswith(f"{len(wanted)} of ")
    again = visit("claims/index.html?" + page.url.split("?")[1])
    assert shown_rows(again).locator("th").all_inner_texts() == wanted
    again.fill("[name=words]", wanted[0])
    assert wanted[0] in shown_rows(again).locator("th").all_inner_texts()
    again.click("button[type=reset]")
    again.wait_for_function(f"document.querySelectorAll('#claims tbody tr:not([hidden])').length === {len(theirs)}")
    assert "?" not in again.url


def test_the_table_is_sorted_by_a_column(visit):
    page = visit("claims/index.html?paper=gse")

    def names():
        return shown_rows(page).locator("th").all_inner_texts()

    def words():
        return [t for t in shown_rows(page).locator("td:nth-child(3)").all_inner_texts() if t]

    as_in_the_paper = names()
    head = page.get_by_role("columnheader", name="text")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert words() == sorted(words())
    head.get_by_role("button").click()
    assert words() == sorted(words(), reverse=True)
    head.get_by_role("button").click()
    assert names() == as_in_the_paper
    assert page.evaluate("document.querySelector('.claims-wrap').scrollWidth") <= page.evaluate(
        "document.querySelector('.claims-wrap').clientWidth"
    )


def test_a_refuted_claim_says_why_on_its_card(visit):
    page = visit("claims/gse.html#GSE-C1")
    card = page.locator("section", has=page.locator('[id="GSE-C1"]')).last
    assert because(records()["GSE-C1"]) in card.inner_text()
    picture = card.locator("details.why img")
    picture.scroll_into_view_if_needed()
    page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=picture.element_handle())
    with page.expect_download() as caught:
        card.locator(".plot-csv").first.click()
    lines = caught.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == "comparison,effect,low,high,n,state"
    assert len(lines) == 1 + records()["GSE-C1"].verdicts["as_written"].comparisons


def test_exact_checks_and_differences_can_be_singled_out(visit):
    page = visit("claims/index.html?kind=exact")
    assert shown_rows(page).count() == sum(r.exact and not r.ours for r in records().values())
    page = visit("claims/index.html?parts=yes")
    assert shown_rows(page).count() == sum(r.parts and not r.ours for r in records().values())


def test_a_claim_is_reached_by_its_link_and_its_control_is_unfolded(visit):
    claim, _ = a_difference()
    page = visit(f"{claim.page}.html#{claim.id}")
    page.wait_for_timeout(400)
    assert 0 <= page.locator(f'[id="{claim.id}"]').bounding_box()["y"] < 300
    control = next(r for r in records().values() if r.of in records())
    page = visit(f"{control.page}.html#{control.id}")
    page.wait_for_timeout(400)
    assert page.locator(f'[id="{control.id}"]').is_visible()


def test_the_margin_is_dragged_and_moved_with_keys(visit):
    claim, entry = a_difference()
    page = visit(f"{claim.page}.html#{claim.id}")
    place = page.locator(f'.card-body[data-claim="{claim.id}"] .panel:not([hidden])')
    place.locator(".handle").wait_for()
    n, now = len(entry["dots"]), sum(dot["state"] == "for" for dot in entry["dots"])
    assert f"{now} of {n} comparisons significantly for" in said(page, claim.id).inner_text()
    handle = place.locator(".handle").bounding_box()
    plot = place.locator("svg").bounding_box()
    page.mouse.move(handle["x"] + 7, handle["y"] + 7)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] - 2, handle["y"] + 7, steps=5)
    page.mouse.up()
    assert "With the margin at" in said(page, claim.id).inner_text()
    assert f"0 of {n} comparisons significantly for" in said(page, claim.id).inner_text()
    place.get_by_role("button", name="As set").click()
    assert "At the margin that was set" in said(page, claim.id).inner_text()
    place.get_by_role("slider").focus()
    page.keyboard.press("Home")
    assert f"{n} of {n} comparisons significantly for" in said(page, claim.id).inner_text()


def test_text_and_code_are_switched_on_all_cards_and_kept(visit):
    claim, _ = a_difference()
    page = visit(f"{claim.page}.html#{claim.id}")
    place = page.locator(f'.card-body[data-claim="{claim.id}"]')
    assert place.locator('[data-convention="as_written"]').is_visible()
    page.get_by_role("button", name="the authors' code").click()
    assert place.locator('[data-convention="as_coded"]').is_visible()
    assert not place.locator('[data-convention="as_written"]').is_visible()
    place.locator('[data-convention="as_coded"] .plot-said, [data-convention="as_coded"] .found').first.wait_for()
    page.reload()
    assert page.locator(f'.card-body[data-claim="{claim.id}"] [data-convention="as_coded"]').is_visible()


def test_from_the_first_page_to_the_reason_in_three_clicks(visit):
    page = visit("index.html")
    page.locator(".story", has_text="GSE").get_by_role("link", name="GSE-C1").first.click()
    page.wait_for_url("**/claims/gse.html#GSE-C1")
    card = page.locator("section", has=page.locator('[id="GSE-C1"]')).last
    assert "cells" in card.inner_text()
    card.get_by_role("link", name=re.compile("Notebook")).first.click()
    page.wait_for_url("**/notebooks/gse/*.html")
    page.go_back()
    card.get_by_role("link", name=re.compile("^Figure")).first.click()
    page.wait_for_url("**/gallery_all/gse.html#*")


@pytest.mark.parametrize("name", ["gse", "tree", "oae", "topm"])
def test_a_replay_is_played_from_the_keyboard(visit, name):
    page = visit(f"replays/{name}.html")
    first = page.inner_text(".replay .said")
    picture = page.inner_html(".replay > svg")
    assert page.locator(".replay > svg *").count() > 5, "the first frame is a picture"
    page.locator(".replay [name=step]").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.inner_text(".replay .said") != first
    assert page.inner_html(".replay > svg") != picture
    page.keyboard.press("Home")
    assert page.input_value(".replay [name=step]") == "0"
    page.keyboard.press("End")
    assert page.inner_text(".replay .said") == first, "a replay begins with its end"
    page.keyboard.press("Home")
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.replay [name=step]').value > 0")
    page.get_by_role("button", name="Pause").click()
    page.locator(".replay .bar-of").first.locator("input, select").last.focus()
    page.keyboard.press("ArrowLeft" if name == "tree" else "ArrowRight")
    page.locator(".replay [name=step]").focus()
    page.keyboard.press("End")
    assert page.inner_html(".replay > svg") != picture, "another setting, another run"


@pytest.mark.parametrize("name", TITLES)
def test_the_first_frame_of_a_replay_needs_no_script(new_context, site, visit, name):
    committed = (ROOT / "site" / "replays" / f"{name}.svg").read_text(encoding="utf-8").strip()
    page = visit(f"replays/{name}.html", width=frames.WIDTH)
    page.locator(".replay [name=step]").wait_for()
    assert page.locator(".replay svg.first").count() == 0
    assert frames.drawn(page) == committed, "bring it up to date by `python -m bestarm_site.frames`"
    still = new_context(java_script_enabled=False).new_page()
    still.goto(f"{site}/replays/{name}.html")
    assert still.locator(".replay svg.first").bounding_box()["height"] > 100
    assert "drawn by a script" in still.inner_text(".replay")


@pytest.mark.parametrize("path", TEMPLATES)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_are_accessible_and_fit(visit, path, width, dark):
    """By axe-core, WCAG 2 A and AA; nothing is wider than the screen."""
    base = pytest.importorskip("axe_playwright_python.base")
    page = visit(path, width=width, dark=dark)
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= width + 1
    page.evaluate(base.AXE_SCRIPT)
    rules = json.dumps({"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    wrong = [
        f"{v['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for v in page.evaluate(f"axe.run(document, {rules})")["violations"]
        for node in v["nodes"][:2]
    ]
    assert not wrong


@pytest.mark.parametrize("width", [1280, 390])
def test_a_phone_is_given_the_narrow_variant_of_a_figure(visit, width):
    page = visit("notebooks/gpoo/03_regret.html", width=width)
    pictures = page.locator("article picture > img")
    assert pictures.count() > 1
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=picture.element_handle())
        shown = picture.evaluate("image => image.currentSrc")
        assert shown.endswith(".svg")
        assert shown.endswith(".narrow.svg") == (width == 390)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_figure_shows_text_or_code_alone_in_the_same_place(visit, width):
    page = visit("notebooks/gse/03_adaptive.html", width=width)
    place = page.locator(".two-runs").first
    image = place.locator("img")

    def shown(button):
        place.get_by_role("button", name=button).click()
        page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=image.element_handle())
        assert place.locator('[aria-pressed="true"]').inner_text() == button
        box = image.bounding_box()
        return image.evaluate("image => image.currentSrc"), box["y"], box["height"], image.get_attribute("alt")

    place.scroll_into_view_if_needed()
    both, text, code = shown("text and code"), shown("the paper's text"), shown("the authors' code")
    assert len({both[0], text[0], code[0]}) == 3
    assert all(found[0].endswith(".narrow.svg") == (width == 390) for found in (both, text, code))
    assert text[1:3] == code[1:3], "one is seen in the place of the other"
    assert text[2] < 0.7 * both[2]
    assert code[3] == f"{both[3]} (the authors' code alone)"
    assert shown("text and code") == both


def test_pictures_do_not_glare_in_the_dark(visit):
    page = visit("notebooks/gpoo/02_tree_and_gpoo.html", dark=True)
    assert "invert" in page.locator("article img").first.evaluate("image => getComputedStyle(image).filter")


def test_formulas_are_set_by_the_file_that_is_served_here(visit):
    page = visit("notebooks/gpoo/02_tree_and_gpoo.html")
    page.locator("mjx-container svg").first.wait_for()
    assert page.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("path", notebooks_of(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_notebook_complains_of_nothing(visit, path):
    """No error on the console, every formula set, every picture loaded, no raw table."""
    page = visit(path.relative_to(ROOT).with_suffix(".html").as_posix())
    if page.locator("div.math, span.math").count():
        page.locator("mjx-container svg").first.wait_for()
    assert page.locator("mjx-merror").count() == 0
    assert "| --- |" not in page.inner_text("article")
    page.wait_for_timeout(300)
    boxes = page.locator(".table-wrapper:visible, .highlight pre:visible, div.math:visible")
    wide = boxes.evaluate_all("all => all.filter((b) => b.scrollWidth > b.clientWidth + 1).map((b) => b.innerText)")
    assert not wide, "wider than the text"


@pytest.mark.parametrize("name", ["gse", "tree", "oae", "topm"])
def test_every_mark_of_a_replay_has_a_style_of_its_own(visit, name):
    """SVG fills what no rule names in black, which nobody sees in the dark."""
    page = visit(f"replays/{name}.html", dark=True)
    page.locator(".replay [name=step]").focus()
    page.keyboard.press("End")
    marks = page.locator(".replay > svg :is(rect, circle, path)")
    fills = marks.evaluate_all("marks => marks.map((mark) => getComputedStyle(mark).fill)")
    assert len(fills) > 2
    assert "rgb(0, 0, 0)" not in fills


def test_words_are_found(visit):
    page = visit("search.html?q=GPTree+stuck")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator("#search-results li").count() >= 1
    page.locator("#search-results li p.context").first.wait_for()
    assert "GPTree" in page.inner_text("#search-results")


def test_the_name_of_a_claim_leads_from_the_search_to_its_card(visit):
    page = visit("index.html")
    page.fill("input[name=q]", "gse-c1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/claims/gse.html#GSE-C1")
