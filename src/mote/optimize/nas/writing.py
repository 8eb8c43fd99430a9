"""Writes the output folder of a search: model files, C projects and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from shlex import join
from typing import Any

from mote.compiler.settings import Settings
from mote.optimize.nas.costs.compiled_costs import compiled_model
from mote.optimize.nas.member import SearchMember
from mote.version import __version__

PROJECT = "c"
"""Subfolder of a member's C project."""
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0"
    " 1rem}img{max-width:100%}pre{overflow-x:auto;padding:.6rem;border:1px solid #8885}table{font-size:14px}"
)


def member_files(member: SearchMember, settings: Settings) -> dict[str, str | bytes]:
    """Contents of all files of a member, by path below the output folder."""
    project = compiled_model(member.data, settings, member.options).project
    models = {f"{member.name}/{name}": data for name, data in member.files.items()}
    return {**models, **{f"{member.name}/{PROJECT}/{name}": text for name, text in project.files.items()}}


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Command-line words of options: empty values are omitted, True is a switch, lists repeat the option."""
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            words += (
                []
                if one is None or one == "" or one is False
                else [f"--{name}"]
                if one is True
                else [f"--{name}", str(one)]
            )
    return words


def member_commands(member: SearchMember, folder: str, options: Mapping[str, Any]) -> list[str]:
    """Commands that evaluate a member and compile it again; `options` are those of the search."""
    model = str(Path(folder) / member.name / member.model)
    steps = ",".join(filter(None, (options.get("preprocess"), member.steps)))
    data = {"data": options["test"], **{name: options.get(name) for name in ("inputs", "labels")}, "preprocess": steps}
    parts = {name: options.get(name) for name in ("target", "trust-target", "ram", "flash", "optimize")}
    return [
        join(["mote", "evaluate", model, *option_words(data)]),
        join(["mote", "compile", model, *option_words({**parts, **member.options}), "-o", f"build/{member.name}"]),
    ]


def report_page(
    title: str, paragraphs: Sequence[str], drawn: str, models: str, commands: Sequence[str], footnote: str
) -> str:
    """The report as one self-contained HTML file; `drawn` and `models` are already HTML."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in paragraphs),
        drawn,
        "<h2>Models</h2>",
        models,
        f"<p>{escape(footnote)}</p>" if footnote else "",
        "<h2>Commands</h2>",
        f"<pre>{escape(chr(10).join(commands))}</pre>",
        f"<footer>Mote {escape(__version__)}</footer>",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
