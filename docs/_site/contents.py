"""Hook of MkDocs: the navigation is the index in docs/README.md, and links that leave docs/ lead to the repository.

Pages at the root that the index names (SECURITY.md, CONTRIBUTING.md) become pages of their section."""

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
INDEX = "README.md"
SECTION = re.compile(r"^\| \[(\w+)\]\((\w+/README\.md)\)")
PAGE = re.compile(r"^\| \[[^]]+\]\(([^)#]+\.md)\) \|")
FILE = re.compile(r"(?<=\[)([\w-]+)\.md(?=\]\()")
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[#)])")


def sections() -> dict[str, list[str]]:
    """Each section of docs/README.md with its pages, as paths from docs/; the first page is the section's own."""
    pages: dict[str, list[str]] = {}
    for line in (ROOT / "docs" / INDEX).read_text(encoding="utf-8").splitlines():
        if section := SECTION.match(line):
            pages[section[1].capitalize()] = [section[2]]
        elif page := PAGE.match(line):
            pages[list(pages)[-1]].append(page[1])
    return pages


def at_the_root() -> dict[str, str]:
    """Pages outside of docs/, as paths from the root, with the place that each has in the site."""
    return {
        posixpath.normpath(f"docs/{page}"): f"{pages[0].partition('/')[0]}/{posixpath.basename(page)}"
        for pages in sections().values()
        for page in pages
        if page.startswith("../")
    }


def repository() -> str:
    urls: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    return urls["Repository"]


def linked(text: str, source: str, place: str) -> str:
    """A page's text with links that work in the site, not called by files: `source` is its path from the root of
    the repository, `place` the path of its page in the site."""
    moved = at_the_root()

    def link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        on_disk = ROOT / path
        if "://" in match[1] or not on_disk.exists():
            return match[1]
        to = moved.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") and on_disk.is_file() else "")
        if to:
            return posixpath.relpath(to, posixpath.dirname(place) or ".")
        return f"{repository()}/{'tree' if on_disk.is_dir() else 'blob'}/main/{path}"

    return LINK.sub(link, FILE.sub(r"\1", text))


def on_config(config: MkDocsConfig) -> None:
    moved = at_the_root()
    nav: list[Any] = [{"Mote": INDEX}]
    for title, pages in sections().items():
        nav.append({title: [moved.get(posixpath.normpath(f"docs/{page}"), page) for page in pages]})
    config.nav = nav
    config.extra["social"] = [{"icon": "fontawesome/brands/github", "link": repository(), "name": "Source"}]


def on_files(files: Files, config: MkDocsConfig) -> None:
    for source, place in at_the_root().items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    place = page.file.src_uri
    sources = {where: source for source, where in at_the_root().items()}
    return linked(markdown, sources.get(place, f"docs/{place}"), place)
