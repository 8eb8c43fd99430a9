"""Hook of MkDocs: a page for each command of `mote`, written from its argument parser."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from unittest.mock import patch

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mote.ui.cli import COMMANDS, parser

FOLDER = "reference/commands"
INDEX = "reference/README.md"
GUIDE = re.compile(r"\bdocs/([\w/-]+)\.md(#[\w-]+)?")
LATER = "---\nsearch:\n  boost: 0.5\n---\n\n"
"""Guides come before these pages in a search."""
WIDTH = "100"
"""Columns of the usage, whatever terminal the site is built in."""


def options_of(command: str) -> argparse.ArgumentParser:
    (commands,) = (a for a in parser(command)._actions if isinstance(a, argparse._SubParsersAction))
    options: argparse.ArgumentParser = commands.choices[command]
    return options


def page(command: str) -> str:
    """The page of a command: what it does, its usage, and a heading for each option, by which it is found."""
    with patch.dict(os.environ, {"COLUMNS": WIDTH}):
        return written(command, options_of(command))


def written(command: str, options: argparse.ArgumentParser) -> str:
    said = escaped((options.description or COMMANDS[command]).strip())
    lines = [f"{LATER}# mote {command}", "", said, ""]
    lines += ["```", options.format_usage().removeprefix("usage: ").rstrip(), "```", ""]
    for group in options._action_groups:
        shown = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        if not shown:
            continue
        lines += [f"## {(group.title or 'options').capitalize()}", ""]
        lines += [escaped(group.description), ""] if group.description else []
        for action in shown:
            lines += option(options, action)
    if options.epilog:
        lines += ["## Examples" if "mote " in options.epilog else "## Notes", "", *epilog(options.epilog), ""]
    return "\n".join(lines)


def option(options: argparse.ArgumentParser, action: argparse.Action) -> Iterator[str]:
    """The heading and the help of one option or argument."""
    formatter = options._get_formatter()
    name = ", ".join(action.option_strings) or formatter._metavar_formatter(action, action.dest)(1)[0]
    yield from (f"### `{name}`", "")
    arguments = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    if action.option_strings and action.nargs != 0:
        yield from (f"`{action.option_strings[0]} {arguments}`", "")
    yield from (escaped(formatter._expand_help(action)) if action.help else "", "")


def epilog(text: str) -> Iterator[str]:
    """Lines of commands as code, others as prose."""
    yield from ("```", text.strip("\n"), "```") if "\n" in text.strip() else (escaped(text),)


def escaped(text: str) -> str:
    """Help as Markdown: words that Markdown would take for its own are as they were written, pages are links."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        for character in "\\<*_[":
            parts[i] = parts[i].replace(character, f"\\{character}")
        parts[i] = GUIDE.sub(r"[\1](../../\1.md\2)", parts[i])
    return "`".join(parts)


def on_config(config: MkDocsConfig) -> None:
    section = next(pages for entry in config.nav for title, pages in entry.items() if title == "Reference")
    section.append({"Commands": [f"{FOLDER}/{command}.md" for command in COMMANDS]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    for command in COMMANDS:
        files.append(File.generated(config, f"{FOLDER}/{command}.md", content=page(command)))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The index of the section lists the commands."""
    if page.file.src_uri != INDEX:
        return markdown
    rows = (f"| [`mote {name}`](commands/{name}.md) | {escaped(line)} |" for name, line in COMMANDS.items())
    return "\n".join([markdown, "## Commands", "", "| command | |", "|---|---|", *rows, ""])
