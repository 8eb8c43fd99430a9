"""Several targets side by side, and the difference to another model or to an earlier report."""

from __future__ import annotations

from typing import Any

from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subjects


def compare(subjects: Subjects) -> dict[str, Any] | None:
    """The other model, if there is one; targets are in the report anyway."""
    if len(subjects.targets) == 1 and subjects.against is None:
        return None
    return {"against": subjects.against}


SECTION = Section("compare", "Side by side", whole=compare)
