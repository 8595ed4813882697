"""The page about a search: whole, without network or script, with every text escaped; and the form for notebooks."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from refusals import refuses
from small_screen import knowing

import bestarm
from bestarm.command_line import main
from bestarm.search import report
from bestarm.search.search import Search

EVIL = "<script>alert('1')</script> & \"R\" "
TABLE = pd.DataFrame(
    np.random.default_rng(3).uniform(0.0, 1.0, (20, 2)),
    index=[f"{EVIL}{i}" if i < 3 else f"r{i}" for i in range(20)],
    columns=["dose", "<b>time</b>"],
)


class Page(HTMLParser):
    """What is in a page: tags with their attributes, text, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def a_search(n=8):
    values = [float(i) if i != 4 else "failed" for i in range(n)]
    search = knowing(Search(TABLE, "neighbours", seed=1), {"name": TABLE.index[:n], "reward": values})
    search.ask(3)
    return search


def test_the_page_has_everything_and_needs_nothing(tmp_path):
    search = a_search()
    search.report(tmp_path / "campaign.html")
    text = (tmp_path / "campaign.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "link", "iframe", "b"} & {tag for tag, _ in page.tags}
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert "prefers-color-scheme: dark" in text
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(pictures) == 4
    for attributes in pictures:
        assert len(attributes["alt"]) > 40
        kind, _, data = attributes["src"].partition(",")
        assert (kind, base64.b64decode(data)[:4]) == ("data:image/png;base64", b"\x89PNG")
    for wanted in (EVIL, *search.pending, *search.why()["why"], "7 measured, 1 failed, 3 asked", "<b>time</b>"):
        assert wanted.strip() in page.text
    assert [p.name for p in tmp_path.iterdir()] == ["campaign.html"]


def test_the_page_tells_what_was_done_to_the_tables():
    search = Search(TABLE.assign(salt=["a", "b"] * 10), "neighbours")
    search.tell(pd.DataFrame({"name": TABLE.index[:5], "reward": [1.0, 2.0, 3.0, None, 5.0]}))
    text = Page(report.page_of(search, 0)).text
    assert "column salt: 2 words, a column of 0 and 1 for each." in text
    assert "1 row without a reward, still to come." in text


def test_a_search_that_knows_nothing_has_a_page(tmp_path):
    search = Search(TABLE, "random")
    assert "They come with the first result." in report.page_of(search, None)
    search.tell(search.ask(2).assign(reward="failed"))
    search.report(tmp_path / "empty.html")
    assert "every measurement failed" in (tmp_path / "empty.html").read_text(encoding="utf-8")


def test_equal_searches_have_equal_pages():
    assert report.page_of(a_search(), 3) == report.page_of(a_search(), 3)


def test_a_page_takes_no_other_file(tmp_path):
    search = a_search()
    search.save(tmp_path / "search.zip")
    before = (tmp_path / "search.zip").read_bytes()
    with pytest.raises(ValueError, match=r"a report is an HTML page, got .*search.zip; name it .*search.html"):
        search.report(tmp_path / "search.zip")
    assert (tmp_path / "search.zip").read_bytes() == before
    (tmp_path / "search.zip").rename(tmp_path / "search.html")
    refuses(lambda: search.report(tmp_path / "search.html"), "holds a saved search or another archive; give the page")
    with pytest.raises(ValueError, match="sequential"):
        Search(TABLE, bestarm.m_lingape(n_best=1, delta=0.1, sigma=0.1)).report(tmp_path / "page.html")
    nowhere = tmp_path / "nowhere" / "page.html"
    refuses(lambda: search.report(nowhere, refits=0), "there is no folder .*nowhere", OSError)


def test_the_command_writes_the_page(tmp_path, capsys):
    a_search().save(tmp_path / "search.zip")
    assert main(["report", str(tmp_path / "search.zip")]) == 0
    assert capsys.readouterr().out == f"report: {tmp_path / 'search.html'}\n"
    assert main(["report", str(tmp_path / "search.zip"), "--out", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "search.html").read_bytes()
    assert main(["report", str(tmp_path / "nothing.zip")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_form_for_notebooks_is_short_and_escaped():
    text = a_search(3)._repr_html_()
    page = Page(text)
    assert {tag for tag, _ in page.tags} == {"table", "tbody", "tr", "th", "td"}
    assert f"{EVIL}2: 2" in page.text
    assert "3 measured, 0 failed, 3 asked and still to come, 14 unmeasured" in page.text
    assert "measure " in page.text
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("aim", "rewards", "words"),
    [
        ("max", [], "tell what is known, or ask for a first batch"),
        ("max", [0.0, 1.0], "ask for a batch"),
        ("max", np.arange(20.0), "no candidate is left"),
        ("both", [1.0, 2.0, -3.0], "-3 (size 3)"),
        (1.2, [1.0, 2.0, -3.0], "1 (distance 0.2)"),
        ("min", [1.0, 2.0, -3.0], ": -3<"),
    ],
)
def test_the_best_and_the_next_step(aim, rewards, words):
    search = knowing(Search(TABLE, "random", aim=aim), {"name": TABLE.index[: len(rewards)], "reward": rewards})
    assert words in search._repr_html_()


def test_sequential_searches_have_a_form_too():
    assert "0 rounds told" in Search(TABLE, bestarm.m_lingape(n_best=1, delta=0.1, sigma=0.1))._repr_html_()
