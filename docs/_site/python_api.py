"""Hook of MkDocs: the reference of the Python API, from the docstrings of everything in `mote.__all__` and
`mote.quantize`, one page for each subject."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import mote
from mote import quantize

FOLDER = "reference/python"
INDEX = "reference/README.md"
TITLES = {
    "compiler": "Compile",
    "compress": "Shrink and prune",
    "data": "Data",
    "deploy": "Deploy",
    "errors": "Errors",
    "evaluation": "Verify and evaluate",
    "execute": "Interpreter",
    "frontends": "Read models",
    "listings": "Operators, targets and tools",
    "measure": "Run and profile",
    "register": "Plug-ins",
    "quantize": "Quantize",
    "search": "Explore",
}
"""Titles of pages by package; one that is not here has its own name."""
SHELVES = {
    "api.deploying": "deploy",
    "api.image_dump": "deploy",
    "api.inspection": "frontends",
    "api.listings": "listings",
    "api.measuring": "measure",
    "api.memory_plan": "compiler",
    "api.register": "register",
    "compress.mixed_precision.result": "quantize",
    "compress.quantize.post_training": "quantize",
    "toolchain.doctor": "listings",
}
"""Pages of the modules of packages that hold functions of several subjects."""


@cache
def pages() -> dict[str, dict[str, str]]:
    """For each page the public names, and where each is defined."""
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for name in mote.__all__:
        if not name.startswith("__"):
            home = mote._HOMES.get(name) or mote._CALLED[name].partition(":")[0]
            if name != "quantize":
                names[SHELVES.get(home, home.partition(".")[0])][f"mote.{name}"] = f"mote.{home}.{name}"
    for name, home in quantize._HOMES.items():
        if name in mote.__all__:
            continue
        called = ", mote.quantize" if mote._CALLED["quantize"].endswith(f":{name}") else ""
        names["quantize"][f"mote.quantize.{name}{called}"] = f"{home}.{name}"
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


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The index of the section lists what each page has."""
    if page.file.src_uri != INDEX:
        return markdown
    rows = (f"| [{title(room)}](python/{room}.md) | {', '.join(map(code, names))} |" for room, names in pages().items())
    return "\n".join([markdown, "## Python", "", "| page | names |", "|---|---|", *rows, ""])


def code(name: str) -> str:
    return f"`{name.partition(', ')[0].removeprefix('mote.')}`"
