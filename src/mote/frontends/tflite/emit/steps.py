"""Several TFLite operators in place of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.frontends.tflite.emit.emitter import Emitter
from mote.ir.graph import Op
from mote.ir.graph.tensor import Array, Shape


class Steps:
    """A sequence of float32 operators, each reading the result of an earlier one."""

    def __init__(self, e: Emitter, op: Op) -> None:
        self.e, self.y = e, op.output(e.graph)
        self.count = 0

    def make(self, kind: str, inputs: Sequence[int], shape: Shape, **options: object) -> int:
        """The result of an operator on values of the file."""
        self.count += 1
        made = self.e.floats(self.y, f"step {self.count}", shape)
        self.e.op(kind, inputs, [made], **options)
        return made

    def number(self, value: float) -> int:
        return self.constant(np.array(value, np.float32))

    def constant(self, data: Array) -> int:
        self.count += 1
        return self.e.writer.const(f"{self.y.name} (constant {self.count})", np.asarray(data, np.float32))

    def last(self, kind: str, inputs: Sequence[int], **options: object) -> None:
        """The operator that computes the final result."""
        self.e.op(kind, inputs, [self.e.at(self.y.id)], **options)

    def makes(self, kind: str, inputs: Sequence[int], shapes: Sequence[Shape], **options: object) -> list[int]:
        """Append an operator with several float results, and return their tensors."""
        self.count += 1
        made = [self.e.floats(self.y, f"step {self.count}, part {i}", shape) for i, shape in enumerate(shapes)]
        self.e.op(kind, inputs, made, **options)
        return made
