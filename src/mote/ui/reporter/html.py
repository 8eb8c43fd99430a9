"""The page of a report: template, style, scripts and data in one HTML file that needs no other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from mote.ui.reporter.section import Section
from mote.ui.reporter.sections import SECTIONS
from mote.ui.reporter.subject import Subject, Subjects
from mote.version import __version__

SHARED = ("page", "chart", "bars")
"""Scripts and styles that sections use."""


def report_data(subjects: Subjects) -> dict[str, Any]:
    """All data of a report as JSON types."""
    first = subjects.first.compiled
    return {
        "mote": __version__,
        "model": Path(first.path).name,
        "targets": [target_data(subject, SECTIONS) for subject in subjects.targets],
        "sections": [
            {"key": s.key, "title": s.title, "whole": s.whole(subjects) if s.whole is not None else None}
            for s in SECTIONS
        ],
    }


def target_data(subject: Subject, sections: Iterable[Section]) -> dict[str, Any]:
    """A model on a target as JSON types, with the data of some sections."""
    return {
        "name": subject.target,
        "clock_hz": subject.profile.clock_hz if subject.profile else None,
        "layers": [asdict(layer) | {"shape": list(layer.shape)} for layer in subject.layers],
        "each": {s.key: s.each(subject) for s in sections if s.each is not None},
    }


def page(data: dict[str, Any]) -> str:
    """The report as HTML. Text of the model is in the JSON only, whose `<` are escaped, and in the title."""
    title = f"{data['model']}: Mote report"
    scripts = [_file(f"{name}.js") for name in (*SHARED, *(n for s in shown(data) for n in (*s.scripts, s.key)))]
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "TITLE": escape(title),
        "STYLE": "\n".join([*(_file(f"{name}.css") for name in SHARED), *(_file(f"{s.key}.css") for s in shown(data))]),
        "DATA": text,
        "SCRIPT": "\n".join([*scripts, "report.start();"]),
    }
    html = _file("page.html")
    return "".join(parts.get(piece, piece) for piece in html.split("%%"))


def shown(data: dict[str, Any]) -> list[Section]:
    """Sections that have something to show."""
    whole = {s["key"]: s["whole"] for s in data["sections"]}
    return [s for s in SECTIONS if whole[s.key] is not None or any(t["each"].get(s.key) for t in data["targets"])]


@cache
def _file(name: str) -> str:
    """A file of the page; a section without a style of its own has none."""
    path = files("mote.ui.reporter") / "page" / name
    return path.read_text(encoding="utf-8") if path.is_file() or not name.endswith(".css") else ""
