"""MEAN over any axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mote.graph import Graph, Op
from mote.graph.fixedpoint import Ints, quantize_multiplier, rescale, wrap32
from mote.graph.flow import Flow
from mote.graph.graph import Increment
from mote.graph.ranges import LEAST, Peak, Range
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType
from mote.ops.analysis import rising
from mote.ops.common import MOST_SUMMED, activation_type, scale_problem
from mote.ops.sums import rescaled

LOOPS = 3
"""How many separate groups of kept and of averaged axes the C kernel can walk."""


@dataclass(frozen=True, kw_only=True)
class Mean(Op):
    """The mean over `axes` (sorted, none negative). For int8 LiteRT rescales the sum, all in one step."""

    axes: tuple[int, ...]
    keep_dims: bool = False
    kind = "MEAN"

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        if self.keep_dims:
            return [tuple(1 if i in self.axes else n for i, n in enumerate(x))]
        return [tuple(n for i, n in enumerate(x) if i not in self.axes)]

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        flow = flows[0]
        if flow.axis in self.axes:
            return None
        gone = 0 if self.keep_dims else sum(a < flow.axis for a in self.axes)
        return Increment(self, flow.on(flow.axis - gone), {0: flow.fresh})

    def count(self, g: Graph) -> int:
        """How many elements each mean is of."""
        return prod(self.input(g).shape[i] for i in self.axes)

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self):
            return problem
        kept, averaged, _ = self.loops(g)
        if max(len(kept), len(averaged)) > LOOPS:
            return f"more than {LOOPS} separate groups of axes are not supported"
        if self.count(g) >= MOST_SUMMED:
            return f"a mean of {self.count(g)} elements is not supported"
        return scale_problem(self.scale(g)) if self.input(g).dtype == DType.INT8 else None

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """Any where sums might not fit their 32 bits."""
        return rising(g, self, inputs) if self.count(g) << 8 + max(self.scale(g)[1], 0) < 1 << 31 else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        if inputs[0] is None:
            return None
        zero, count = self.input(g).zero_point, self.count(g)
        largest = count * inputs[0].farthest(zero)
        return Peak(largest, max(count * (abs(zero) - LEAST), rescaled(largest, max(self.scale(g)[1], 0))))

    def threads(self, g: Graph) -> dict[int, Ints] | None:
        mixed = len(self.input(g).shape) - 1 in self.axes
        return None if mixed else {0: np.arange(self.output(g).channels)}

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        shape = self.output(g).shape
        if x.dtype == np.float32:
            return [x.mean(axis=self.axes, dtype=np.float64).astype(np.float32).reshape(shape)]
        y = self.output(g)
        total = x.astype(np.int64).sum(axis=self.axes) - self.input(g).zero_point * self.count(g)
        scaled = wrap32(rescale(total, *self.scale(g)) + y.zero_point)
        return [np.clip(scaled, -128, 127).astype(np.int8).reshape(shape)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)

    def scale(self, g: Graph) -> tuple[int, int]:
        """Multiplier and shift from the sum to the output: LiteRT divides the multiplier by the count, after
        a left shift that keeps its precision, and truncates."""
        mult, shift = quantize_multiplier(self.input(g).scale / self.output(g).scale)
        count = self.count(g)
        left = min(count.bit_length() - 1, 32, 31 + shift)
        return (mult << left) // count, shift - left

    def loops(self, g: Graph) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int]:
        """The input as loops of (size, step): over kept axes, over averaged axes, and the number of kept
        elements that lie side by side at the end. Neighbouring axes of a kind become one loop."""
        groups: list[tuple[bool, int, int]] = []
        step = 1
        for i, size in reversed(list(enumerate(self.input(g).shape))):
            if size > 1:
                averaged = i in self.axes
                if groups and groups[-1][0] == averaged:
                    groups[-1] = (averaged, groups[-1][1] * size, groups[-1][2])
                else:
                    groups.append((averaged, size, step))
            step *= size
        inner = groups.pop(0)[1] if groups and not groups[0][0] else 1
        kept, averaged_loops = (
            [(size, step) for is_averaged, size, step in reversed(groups) if is_averaged == wanted]
            for wanted in (False, True)
        )
        return kept, averaged_loops, inner
