"""The folder of a search: models, C projects, the result as JSON and a report, written all at once."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from pathlib import Path
from shlex import join

from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.options import parsed
from mote.compiler.settings import Settings
from mote.files import write_folder
from mote.nas.result import HEAD, SearchMember, SearchResult, row
from mote.notebook import picture, table
from mote.progress import duration
from mote.version import __version__

REPORT, RESULT, PROJECT = "report.html", "search.json", "c"
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0"
    " 1rem}img{max-width:100%}pre{overflow-x:auto;padding:.6rem;border:1px solid #8885}table{font-size:14px}"
)


def compiled_member(member: SearchMember, settings: Settings) -> Compiled:
    """A member as it is shipped for the target of a search."""
    options = parsed(dict(member.options)) if member.options else {}
    return compile(member.data, replace(settings, name=settings.name or "model", **options))


def write_result(result: SearchResult, folder: str, *, force: bool = False) -> list[str]:
    """Writes a result into a folder in one step; returns the names of files of the user's that were overwritten."""
    files: dict[str, str | bytes] = {}
    for member in result.members:
        files |= {f"{member.name}/{name}": data for name, data in member.files.items()}
        project = compiled_member(member, result.settings).project
        files |= {f"{member.name}/{PROJECT}/{name}": text for name, text in project.files.items()}
    files[RESULT] = json.dumps(result.json(), indent=2) + "\n"
    files[REPORT] = report_page(result, folder)
    return write_folder(folder, files, force=force)


def report_page(result: SearchResult, folder: str) -> str:
    """The report as one HTML file that needs no other."""
    title = f"Search: {result.data} for {result.target}"
    limits = ", ".join(f"{name} {value:,}" for name, value in result.json()["limits"].items()) or "those of the target"
    said = [
        f"{result.task} task, {result.metric} on {result.test}, which nothing was chosen by; held-out validation data"
        " chose.",
        f"Limits: {limits}. Spaces: {', '.join(result.families)}.",
        f"{result.costed:,} choices were planned for the target, {result.trials:,} of those that fit were scored;"
        f" models were trained for {result.epochs} epochs, seed {result.seed}, in {duration(result.seconds)}.",
        *result.notes,
    ]
    rows = [row(member) for member in (*result.members, *result.dominated)]
    commands = "\n".join(line for member in result.members for line in member_commands(member, result, folder))
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in said),
        picture(result.svg(), f"test {result.metric} against costs"),
        "<h2>Models</h2>",
        table(HEAD, rows),
        f"<p>The first {len(result.members)} are the front; the others are worse in all respects.</p>"
        if result.dominated
        else "",
        "<h2>Commands</h2>",
        f"<pre>{escape(search_command(result, folder))}\n{escape(commands)}</pre>",
        f"<footer>Mote {escape(__version__)}</footer>",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def search_command(result: SearchResult, folder: str) -> str:
    """The command that searches so again."""
    words = ["mote", "search", "--data", result.data, "--test", result.test, "--target", result.target]
    for name, value in result.json()["limits"].items():
        words += [f"--{name}", f"{value * 1e6:g}us" if name == "latency" else str(value)]
    return join([*words, "--seed", str(result.seed), "--epochs", str(result.epochs), "-o", folder])


def member_commands(member: SearchMember, result: SearchResult, folder: str) -> list[str]:
    """Commands that test a member and compile it again."""
    model = str(Path(folder) / member.name / member.model)
    steps = ["--preprocess", member.steps] if member.steps else []
    options = [word for name, value in member.options.items() for word in (f"--{name}", str(value))]
    return [
        join(["mote", "evaluate", model, "--data", result.test, *steps]),
        join(["mote", "compile", model, "--target", result.target, *options, "-o", f"build/{member.name}"]),
    ]
