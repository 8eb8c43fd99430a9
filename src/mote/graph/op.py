"""The base of every operator. What is true of one operator lives in one file of `mote.ops`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mote.graph.flow import Flow, Increment
from mote.graph.tensor import Array, Shape, Tensor

if TYPE_CHECKING:
    from mote.graph.graph import Graph
    from mote.graph.ranges import Range
    from mote.plan.kernel import Kernel, Layout, Lowering

ABSENT = -1
"""The id in `inputs` of an optional tensor that is not there (a bias, say)."""


OUTSIDE = -1
"""The row that a window reads above or below the image."""


@dataclass(frozen=True)
class Rows:
    """Rows `lo..hi-1` of a tensor."""

    lo: int
    hi: int


@dataclass(frozen=True, kw_only=True)
class Op:
    """One operator: attributes are the fields of the subclass, tensors are ids of the graph.

    A subclass says what its outputs' shapes are (`shapes`), what it computes (`evaluate`, the NumPy
    reference, bit-exact for int8), which input rows an output row needs (`reads`), what it cannot
    do (`unsupported`), and which C kernel computes it (`lower`).
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    name: str = ""
    index: int = -1

    kind: ClassVar[str] = ""
    is_view: ClassVar[bool] = False
    """The output is the input's bytes under another shape: nothing to compute, the buffer is shared."""

    @property
    def updates(self) -> dict[int, int]:
        """The positions of outputs that are states after the inference, written in place over the states before it: the
        inputs at the positions that they map to. A kernel is given such a state once, as that operand."""
        return {}

    def shapes(self, g: Graph) -> list[Shape]:
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        raise NotImplementedError

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        raise NotImplementedError

    def variants(self, g: Graph, how: Lowering) -> list[Kernel]:
        """The kernels to choose from."""
        return [self.lower(g, how)]

    def kernels(self, g: Graph, how: Lowering) -> list[Kernel]:
        """The same, found once: packing weights and proving constants takes time."""
        key = id(self), how
        if key not in g.kernels:
            plain = replace(how, coded=False)
            g.kernels[key] = [*self.kernels(g, plain), *self.coded(g, plain)] if how.coded else self.variants(g, how)
        return g.kernels[key]

    def coded(self, g: Graph, how: Lowering) -> list[Kernel]:
        """The kernels with coded weights."""
        return []

    def writes(self, g: Graph, how: Lowering, layout: Layout) -> bool:
        """Whether a kernel can write the output in a layout other than NHWC."""
        return False

    def preferred(self, g: Graph, how: Lowering) -> Layout | None:
        """The layout other than NHWC in which the kernel would rather have its first input, if there is one."""
        return None

    def unsupported(self, g: Graph) -> str | None:
        """Why this operator cannot be compiled in this graph, or None."""
        return None

    def is_identity(self, g: Graph) -> bool:
        """Whether the output always equals input 0, shape and quantization included."""
        return False

    def table(self, g: Graph) -> NDArray[np.int8] | None:
        """For a function of one int8 value to an int8 value: its results for -128..127."""
        return None

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """The values that the first output can have, an int8 one, from those of the inputs that are computed and int8;
        None: any."""
        return None

    def threads(self, g: Graph) -> dict[int, NDArray[np.int64]] | None:
        """Which channel (index on the last axis) of an input each channel of the output is made from, and from no other
        one: by the positions of computed inputs, without those whose channels are all needed; OUTSIDE where it is made
        from none. None: channels mix."""
        return None

    def narrowed(self, g: Graph, kept: Sequence[NDArray[np.int64]]) -> Self:
        """The same operator between tensors that have these channels only: those of its inputs that are computed, in
        their order, then its output's."""
        return self

    def macs(self, g: Graph) -> int:
        return 0

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The rows of input `position` that row `y` of the output is made from, in the order in which the kernel's
        row function takes them; OUTSIDE for padding. None: the output can only be computed as a whole."""
        return None

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        """How the operator goes on when its inputs (by position) flow; None: it needs all of them every time. `causal`:
        padding may stand for what was before the stream. Raises PaddingError and StrideError."""
        return None

    def activations(self, g: Graph) -> list[Tensor]:
        """The inputs that are computed at run time (not constants)."""
        return [g.tensors[i] for _, i in self.computed(g)]

    def computed(self, g: Graph) -> list[tuple[int, int]]:
        """The positions and ids of these."""
        return [(p, i) for p, i in enumerate(self.inputs) if i != ABSENT and g.tensors[i].data is None]

    def tensor(self, g: Graph, position: int) -> Tensor | None:
        """Input `position`, or None where it is absent."""
        if position >= len(self.inputs) or self.inputs[position] == ABSENT:
            return None
        return g.tensors[self.inputs[position]]

    def input(self, g: Graph, position: int = 0) -> Tensor:
        found = self.tensor(g, position)
        assert found is not None, f"{self.kind} '{self.name}' lacks input {position}"
        return found

    def output(self, g: Graph, position: int = 0) -> Tensor:
        return g.tensors[self.outputs[position]]

    def attributes(self) -> dict[str, Any]:
        base = {f.name for f in fields(Op)}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in base}

    def with_(self, **changes: Any) -> Self:
        return replace(self, **changes)


def inside(row: int, count: int) -> int:
    """`row` where an image of `count` rows has it, else OUTSIDE."""
    return row if 0 <= row < count else OUTSIDE


def row_count(shape: Shape) -> int:
    """Rows of a tensor: everything but its last two axes (width and channels); a matrix has its lines."""
    if len(shape) <= 1:
        return 1
    count = 1
    for dim in shape[: -2 if len(shape) > 2 else 1]:
        count *= dim
    return count
