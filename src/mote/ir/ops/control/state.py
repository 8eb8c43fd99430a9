"""States of a model between inferences: ASSIGN_VARIABLE, and sliding windows.

VAR_HANDLE, READ_VARIABLE and CALL_ONCE become no operators: the front end turns them into states (see
`frontends/tflite/variables.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.ranges import Range, between
from mote.ir.graph.tensor import Array, Shape


class Assign(Op):
    """ASSIGN_VARIABLE: writes a computed value to a state. Inputs: (old state, value); output: the new state."""

    kind = "ASSIGN_VARIABLE"

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        before, value = self.input(g), self.input(g, 1)
        if (before.dtype, before.shape) != (value.dtype, value.shape):
            return f"a variable of {before.dtype} {before.shape} cannot become {value.dtype} {value.shape}"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        assert values[1] is not None
        return [values[1]]


class SlidingWindow(Op):
    """Sliding window over the last elements of a stream along `axis`. Inputs: (old window, new elements); output: the
    new window. Kernels shift it in place, or keep it as a ring buffer with a counter."""

    axis: int
    kind = "WINDOW"

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        before, new = values
        assert before is not None and new is not None
        joined = np.concatenate([before, new], self.axis)
        return [np.take(joined, np.arange(new.shape[self.axis], joined.shape[self.axis], dtype=np.int64), self.axis)]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """The union of the ranges of the state's initial values and of the new elements."""
        new = inputs[1]
        if new is None or self.axis == len(self.output(g).shape) - 1:
            return None
        first = next(s.initial for s in g.states if s.after == self.outputs[0])
        return between([first, new.low, new.high])
