"""Overridden input shapes of a `.tflite` file: all other shapes are inferred from the operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.frontends.tflite.variables import FileOperator
from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Shape

UNKNOWN: Shape = (0,)
"""Shape of a tensor that is not inferred yet."""
SHAPES = {"BROADCAST_TO": 1, "FILL": 0, "RESHAPE": 1, "SLICE": 2, "TRANSPOSE_CONV": 0}
"""Operators whose constants have output sizes including the batch, and the index of that input."""


@dataclass(frozen=True)
class Shaped:
    """The inputs with overridden shapes, and the batch where it changes."""

    given: Mapping[int, Shape] = field(default_factory=dict)
    open: frozenset[int] = frozenset()
    """The tensors whose stored shapes do not count."""
    batch: tuple[int, int] = (1, 1)
    """The batch in the file, and the wanted one."""

    @classmethod
    def of(
        cls,
        tensors: Mapping[int, Tensor],
        inputs: Sequence[int],
        calls: Sequence[FileOperator],
        shapes: Mapping[str, Shape],
    ) -> Shaped:
        """The effect of input shapes, by name, on a file."""
        names = {tensors[i].name: i for i in inputs}
        for name, shape in shapes.items():
            if name not in names:
                remedy = f"{did_you_mean(name, names)}the inputs are: {', '.join(names)}"
                raise MoteError(f"there is no input '{name}'", where="option shape", remedy=remedy)
            said = tensors[names[name]].shape
            if len(said) != len(shape):
                shown = ("x".join(map(str, x)) or "a number" for x in (said, shape))
                raise MoteError("'{}' is {}, which {} does not fit".format(name, *shown), where="option shape")
        given = {names[name]: shape for name, shape in shapes.items()}
        changed = {i: shape for i, shape in given.items() if tensors[i].shape != shape}
        if not changed:
            return cls(given)
        computed = frozenset(t for call in calls for t in call.outputs)
        batches = {(tensors[i].shape[0], shape[0]) for i, shape in changed.items()}
        return cls(given, computed, batches.pop() if len(batches) == 1 else (1, 1))

    def apply(self, tensors: dict[int, Tensor], calls: Sequence[FileOperator]) -> list[FileOperator]:
        """Set the shapes of the inputs, and make those of all other tensors dynamic; returns the calls, with the new
        batch in their constants."""
        for i, shape in self.given.items():
            tensors[i] = replace(tensors[i], shape=shape)
        for i in self.open:
            tensors[i] = replace(tensors[i], shape=UNKNOWN)
        return [self._with_batch(tensors, call) for call in calls]

    def _with_batch(self, tensors: dict[int, Tensor], call: FileOperator) -> FileOperator:
        place = SHAPES.get(call.code)
        before, after = self.batch
        if before == after or place is None or len(call.inputs) <= place or call.inputs[place] < 0:
            return call
        t = tensors[call.inputs[place]]
        if t.data is None or t.data.ndim != 1 or not t.data.size or int(t.data[0]) != before:
            return call
        if call.code == "RESHAPE" and -1 in t.data:  # it says which size follows the batch
            return call
        new = max(tensors) + 1
        data = np.array([after, *t.data[1:]], t.data.dtype)
        tensors[new] = replace(t, id=new, data=data, copy_of=t.id)
        return replace(call, inputs=(*call.inputs[:place], new, *call.inputs[place + 1 :]))
