"""The contract of a section of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mote.ui.reporter.subject import Subject, Subjects


@dataclass(frozen=True)
class Section:
    """A section: data from Python as JSON types, and the script `page/KEY.js` that renders it.

    Data is None where there is nothing to show: the page omits the section. The script calls
    `report.section(KEY, render)`, and `render(root, data, page)` fills the section with `data.each` of the target that
    is shown and `data.whole` of the report."""

    key: str
    title: str
    each: Callable[[Subject], Any] | None = None
    """Data of one target."""
    whole: Callable[[Subjects], Any] | None = None
    """Data of the whole report."""
    scripts: tuple[str, ...] = ()
    """Further files of `page/` that its script needs, without `.js`."""
