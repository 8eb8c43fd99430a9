"""Streaming inference (`mote compile --stream`): how each operator processes a tensor a few elements at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.ir.graph.tensor import Shape


@dataclass(frozen=True)
class StreamAxis:
    """How a tensor comes: of `size` elements along `axis` only the last `fresh` are new, those before them were there
    in the inferences before."""

    axis: int
    size: int
    fresh: int

    def cut(self, shape: Shape, count: int | None = None) -> Shape:
        """The shape with the new elements only, or with `count`."""
        kept = self.fresh if count is None else count
        return tuple(kept if i == self.axis else n for i, n in enumerate(shape))

    def on(self, axis: int) -> StreamAxis:
        return replace(self, axis=axis)


class PaddingError(Exception):
    """The operator pads the window at its edges, so that what it computes there depends on where the window is."""

    def __init__(self, what: str, *, causal: bool) -> None:
        super().__init__(what)
        self.causal = causal
        """It has a causal form, which pads where the stream begins."""


class StrideError(Exception):
    """New elements must come in multiples of `multiple`."""

    def __init__(self, multiple: int) -> None:
        super().__init__(f"new elements must come in multiples of {multiple}")
        self.multiple = multiple
