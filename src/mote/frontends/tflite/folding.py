"""Shape inference and constant folding while a file is read. Converters write shape arithmetic (SHAPE, slices, PACK) as
operators. Parsers need shapes, axes and sizes as constants, so the results of such operators become constants as soon
as their inputs are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import working_on
from mote.frontends import limits
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.ir.ops.moves.constant import ConstantOutput

MOST_FOLDED = 1 << 12
"""Element limit of a tensor that is folded while a file is read. Larger ones are left to the constant folding pass."""
FOLDED = (DType.INT32, DType.INT64, DType.BOOL, DType.FLOAT32)
"""The types of shape arithmetic."""


@dataclass(frozen=True)
class KnownTensors:
    """Inferred shapes and constants of tensors. `tensors` is changed along the way."""

    tensors: dict[int, Tensor]
    open: Collection[int]
    """The tensors with dynamic shapes, whose stored shapes do not count."""

    def take(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        """The operators of `ops` that cannot be folded into constants."""
        return tuple(op for op in ops if not self._folds(op))

    def _folds(self, op: Op) -> bool:
        """Set the shapes of the outputs, and their values where all inputs are constant."""
        graph = Graph("", self.tensors, (op,), (), ())
        with working_on(op):
            shapes = op.shapes(graph)
        for out, shape in zip(op.outputs, shapes, strict=False):
            if out in self.open and self.tensors[out].shape != shape:
                self.tensors[out] = replace(self.tensors[out], shape=shape)
                limits.check_tensor(self.tensors[out], constant=False)
        if not self._small(op) or [self.tensors[out].shape for out in op.outputs] != shapes:
            return False
        with working_on(op):
            if op.unsupported(graph):
                return False
            results = op.evaluate(graph, [None if i == ABSENT else self.tensors[i].data for i in op.inputs])
        if not all(np.all(np.isfinite(value)) for value in results):
            return False
        for out, value in zip(op.outputs, results, strict=True):
            t = self.tensors[out]
            data = np.asarray(value).astype(t.dtype.numpy, copy=False).reshape(t.shape)
            self.tensors[out] = replace(t, data=data)
        return True

    def _small(self, op: Op) -> bool:
        """Whether all inputs of an operator are constant, and small."""
        read = [self.tensors[i] for i in op.inputs if i != ABSENT]
        made = [self.tensors[i] for i in op.outputs]
        known = all(t.data is not None for t in read) and not op.updates
        if isinstance(op, ConstantOutput):
            return known and all(t.data is None for t in made)
        plain = all(t.dtype in FOLDED and t.quant is None and t.data is None for t in made)
        return known and plain and all(t.size <= MOST_FOLDED for t in (*read, *made))
