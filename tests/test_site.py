"""The site of docs/: it builds without a warning, has every page, needs no network, and its search knows the words."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

import mote
from mote.ui.cli import COMMANDS
from tests.helpers.browser import Browser, executable
from tests.helpers.support import emulated, needs_litert

load_config = pytest.importorskip("mkdocs.config", reason="mkdocs builds the site: pip install '.[docs]'").load_config
Markdown = pytest.importorskip("markdown").Markdown
MarkdownIt = pytest.importorskip("markdown_it").MarkdownIt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LONGER = {"measure/report.html", "reference/index.html"}
"""Pages of which the site has more than GitHub: what hooks generate."""
BLOCKS = ("table", "tr", "ul", "ol", "li", "pre", "h1", "h2", "h3", "blockquote")
BLOCK = re.compile(rf"<({'|'.join(BLOCKS)})\b")
LOADED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*?\bsrc="([^"]*)"|<link\b[^>]*?\bhref="([^"]*)"')
NAVIGATION = re.compile(r'<a href="([^"]*)" class="md-nav__link')


class Elements:
    """Blocks of a page's article, the addresses that a browser loads with the page, and where its navigation leads."""

    def __init__(self, text: str) -> None:
        article = text[text.find("<article") : text.rfind("</article>")]
        self.counts = Counter(BLOCK.findall(article))
        self.loaded = [source or sheet for source, sheet in LOADED.findall(text)]
        self.in_navigation = NAVIGATION.findall(text)


def place(page: Path) -> str:
    """The file of the site that a page of docs/ becomes."""
    path = page.relative_to(DOCS)
    return path.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html").as_posix()


def build(folder: Path, **environment: str) -> Path:
    """The site in a folder, made without a warning."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "")
    return folder


@needs_litert
@pytest.mark.slow
def test_the_site_of_make_docs(tmp_path: Path) -> None:
    """With the report of an emulated core and its accuracy, which takes longer than that of the host."""
    emulated("cortex-m4")
    text = (build(tmp_path) / "measure" / "digits-report.html").read_text(encoding="utf-8")
    assert "cortex-m4" in text and "confusion" in text


def test_pages_are_read_as_on_github() -> None:
    """Without the theme, and without what hooks and plug-ins generate."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    markdown = Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
    texts = {place(page): markdown.reset().convert(page.read_text(encoding="utf-8")) for page in PAGES}
    assert_as_on_github({name: Elements(f"<article>{text}</article>") for name, text in texts.items()}, longer=())


@pytest.mark.slow
def test_site(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """One test, so that the site is built once, whatever the number of processes."""
    site = build(tmp_path, MOTE_SITE_TARGET="host")
    html = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    pages = {name: Elements(text) for name, text in html.items()}
    assert {place(page) for page in PAGES} | {f"reference/commands/{name}.html" for name in COMMANDS} <= set(pages)
    assert_navigation(pages)
    assert_nothing_is_fetched(site, pages)
    assert_search(site)
    assert_as_on_github(pages)
    assert "measure/digits-report.html" in html and "digits-report.html" in pages["measure/report.html"].loaded
    python = "".join(text for name, text in html.items() if name.startswith("reference/python/"))
    named = set(re.findall(r"\bmote\.(\w+)\s*<", python))
    assert {name for name in mote.__all__ if not name.startswith("__")} <= named
    if executable():
        assert_found(request.getfixturevalue("browser"), site, "staircase", "start/glossary.html")


def assert_found(browser: Browser, site: Path, word: str, page: str) -> None:
    """The search of a page that was opened from its file, without a network."""
    with browser.open(site / "index.html", offline=True) as tab:
        tab.click("input.md-search__input")
        tab.write(word[:-1])
        tab.key(word[-1])
        first = tab.wait("document.querySelector('.md-search-result__link')?.href")
        assert page in first and tab.errors == []
        assert not [address for address in tab.requests if not address.startswith("file:")]


def assert_navigation(pages: dict[str, Elements]) -> None:
    """Every page is in the navigation of its own section, and every section in that of the first page."""
    for page in PAGES:
        name = place(page)
        links = {os.path.normpath(f"{name}/../{link.partition('#')[0]}") for link in pages[name].in_navigation}
        others = {place(p) for p in PAGES if p.parent == page.parent}
        assert others <= links | {name}, f"{name}: {others - links}"


def assert_nothing_is_fetched(site: Path, pages: dict[str, Elements]) -> None:
    for name, page in pages.items():
        remote = [address for address in page.loaded if re.match(r"(https?:)?//", address)]
        assert not remote, f"{name} loads {remote}"
        local = [address for address in page.loaded if not address.startswith("data:") and name != "404.html"]
        missing = [address for address in local if not (site / name).parent.joinpath(address).exists()]
        assert not missing, f"{name} loads {missing}, which the site does not have"
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.findall(r"(?:url\(\s*|@import\s+)[\"']?(?:https?:)?//[^)]*", text), style.name


def assert_search(site: Path) -> None:
    """The index lies in a script too, which pages that were opened from a file can load."""
    script = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    entries = json.loads(script.removeprefix("var __index = "))["docs"]
    at = {entry["location"] for entry in entries}
    assert {"start/glossary.html", "reference/commands/compile.html#--target--t"} <= at
    words = " ".join(f"{entry['title']} {entry['text']}" for entry in entries)
    for word in ("requantize", "zero point", "staircase", "--max-accuracy-drop", "mote.quantize.post_training"):
        assert word in words, word
    assert "assets/iframe-worker.js" in (site / "index.html").read_text(encoding="utf-8")


def assert_as_on_github(pages: dict[str, Elements], longer: Collection[str] = LONGER) -> None:
    """Python's Markdown reads pages as CommonMark does: the site has as many lists, tables and blocks of code."""
    markdown = MarkdownIt("commonmark").enable("table")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        expected = Elements(f"<article>{markdown.render(text)}</article>").counts
        counts = pages[place(page)].counts
        if place(page) in longer:
            assert counts > Counter({tag: expected[tag] for tag in BLOCKS})
            continue
        told = {tag: (counts[tag], expected[tag]) for tag in BLOCKS if counts[tag] != expected[tag]}
        assert not told, f"{page.name}: elements in the site, and on GitHub: {told}"
