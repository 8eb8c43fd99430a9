"""Streaming inference (`mote compile --stream`): how each operator processes a tensor a few elements at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.ir.graph.tensor import Shape


@dataclass(frozen=True)
class StreamAxis:
    """Stream of a tensor: of `size` elements along `axis` only the last `fresh` are new in this inference, the others
    are from earlier ones."""

    axis: int
    size: int
    fresh: int

    def cut(self, shape: Shape, count: int | None = None) -> Shape:
        """The shape with only the new elements along the stream's axis, or with `count` elements."""
        kept = self.fresh if count is None else count
        return tuple(kept if i == self.axis else n for i, n in enumerate(shape))

    def on(self, axis: int) -> StreamAxis:
        return replace(self, axis=axis)


class PaddingError(Exception):
    """The operator pads its window, so that its results depend on the window's position in the stream."""

    def __init__(self, what: str, *, causal: bool) -> None:
        super().__init__(what)
        self.causal = causal
        """Whether the operator has a causal form, which pads only at the beginning of the stream."""


class StrideError(Exception):
    """The number of new elements per inference must be a multiple of `multiple`, because of an operator's stride."""

    def __init__(self, multiple: int) -> None:
        super().__init__(f"new elements must come in multiples of {multiple}")
        self.multiple = multiple
