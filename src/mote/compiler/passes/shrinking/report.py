"""Reports of what shrinking passes removed, and why outputs stay bit-exact."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RemovalKind:
    """A kind of thing that is removed, and the reason why results stay bit-exact for any input."""

    name: str
    proof: str


@dataclass(frozen=True)
class Removal:
    """A number of removed things of one kind; `index`: their layer in the model file."""

    index: int
    kind: RemovalKind
    count: int
