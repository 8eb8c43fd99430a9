"""Hook of MkDocs: the reference of the Python API, from the docstrings of everything in `mote.__all__` and
`mote.quantize`, one page for each package of Mote that has some of it."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import mote
from mote import quantize

FOLDER = "reference/python"
TITLES = {
    "api": "Plug-ins",
    "compiler": "Compile",
    "compress": "Shrink and prune",
    "data": "Data",
    "errors": "Errors",
    "evaluation": "Verify and evaluate",
    "execute": "Interpreter",
    "frontends": "Read models",
    "measure": "Run and profile",
    "quantize": "Quantize",
    "search": "Explore",
}
"""Titles of pages by package; one that is not here has its own name."""


@cache
def pages() -> dict[str, dict[str, str]]:
    """For each page the public names, and where each is defined."""
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for name in mote.__all__:
        if not name.startswith("__"):
            home = mote._HOMES[name]
            names[home.partition(".")[0]][f"mote.{name}"] = f"mote.{home}.{name}"
    for name, home in quantize._HOMES.items():
        names["quantize"][f"mote.quantize.{name}"] = f"{home}.{name}"
    return {room: names[room] for room in sorted(names, key=title)}


def title(room: str) -> str:
    return TITLES.get(room, room.capitalize())


def page(room: str) -> str:
    """The Markdown of one page, which mkdocstrings fills: functions, then classes. In searches, guides come first."""
    names = sorted(pages()[room].items(), key=lambda item: (item[0].rpartition(".")[2][0].isupper(), item[0]))
    entries = (f'::: {place}\n    options:\n      heading: "{name}"\n' for name, place in names)
    return f"---\nsearch:\n  boost: 0.5\n---\n\n# {title(room)}\n\n" + "\n".join(entries)


def on_config(config: MkDocsConfig) -> None:
    section = next(pages for entry in config.nav for title, pages in entry.items() if title == "Reference")
    section.append({"Python": [f"{FOLDER}/{room}.md" for room in pages()]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    for room in pages():
        files.append(File.generated(config, f"{FOLDER}/{room}.md", content=page(room)))
