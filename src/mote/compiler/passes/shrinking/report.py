"""Report of what passes removed, and why outputs stay bit-exact."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RemovalKind:
    """Things that can be removed, and why results stay equal bit for bit, whatever a model is given."""

    name: str
    proof: str


@dataclass(frozen=True)
class Removal:
    """`count` things of a kind, from the layer of the file with this index."""

    index: int
    kind: RemovalKind
    count: int
