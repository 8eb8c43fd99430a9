"""The effect of a pass on a graph, as text."""

from __future__ import annotations

from dataclasses import dataclass

from mote.base.results import Record


@dataclass(frozen=True)
class Saving(Record):
    """The effect of one pass: the number of operators that it removed, and a line of text."""

    JSON = "name, removed, detail, exact, caveat?"

    name: str
    """The name of the pass."""
    removed: int
    """Number of operators that it removed."""
    detail: str
    """A line of text about the effect; empty if the pass changed nothing worth mentioning."""
    caveat: str = ""
    """How outputs may differ from those of the model file; empty if they do not."""

    @property
    def exact(self) -> bool:
        return not self.caveat
