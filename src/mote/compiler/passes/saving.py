"""What a pass made of a graph, for a person to read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Saving:
    """The effect of one pass: the number of operators that it removed, and a line for a person to read."""

    name: str
    """The name of the pass."""
    removed: int
    """Operators that it removed."""
    detail: str
    """Empty where the pass changed nothing that is worth a line."""
    caveat: str = ""
    """How outputs may differ from those of the model file; empty where they do not."""

    @property
    def exact(self) -> bool:
        return not self.caveat
