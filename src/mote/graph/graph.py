"""The graph: immutable, verified after every pass, printable as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mote.errors import MoteError
from mote.graph.op import ABSENT, Op
from mote.graph.tensor import DTYPES, Array, Tensor

if TYPE_CHECKING:
    from mote.plan.kernel import Kernel, Lowering


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in execution order over tensors by id. Passes return a new graph."""

    name: str
    tensors: Mapping[int, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @cached_property
    def kernels(self) -> dict[tuple[int, Lowering], list[Kernel]]:
        """What `Op.kernels` has found for the operators of this graph."""
        return {}

    @cached_property
    def producers(self) -> dict[int, Op]:
        return {out: op for op in self.ops for out in op.outputs}

    @cached_property
    def consumers(self) -> dict[int, list[Op]]:
        found: dict[int, list[Op]] = {}
        for op in self.ops:
            for tensor in dict.fromkeys(op.inputs):
                if tensor != ABSENT:
                    found.setdefault(tensor, []).append(op)
        return found

    def only_consumer(self, tensor: int) -> Op | None:
        """The one operator that reads `tensor`, if nothing else (a graph output included) does."""
        readers = self.consumers.get(tensor, [])
        return readers[0] if len(readers) == 1 and tensor not in self.outputs else None

    def with_ops(self, ops: Iterable[Op], tensors: Iterable[Tensor] = ()) -> Graph:
        """This graph with other operators and some tensors added or replaced; unused tensors are dropped."""
        ops = tuple(ops)
        known = {**self.tensors, **{t.id: t for t in tensors}}
        used = {*self.inputs, *self.outputs}
        for op in ops:
            used.update(op.inputs, op.outputs)
        return replace(self, ops=ops, tensors={i: t for i, t in known.items() if i in used})

    def fresh_id(self) -> int:
        return max(self.tensors, default=-1) + 1

    def evaluate(self, values: Mapping[int, Array]) -> dict[int, Array]:
        """Run the NumPy reference: graph inputs in, every tensor that is computed out."""
        known: dict[int, Array] = dict(values)
        for op in self.ops:
            args = [None if i == ABSENT else self._value(known, i) for i in op.inputs]
            for out, value in zip(op.outputs, op.evaluate(self, args), strict=True):
                t = self.tensors[out]
                known[out] = np.asarray(value).astype(DTYPES[t.dtype], copy=False).reshape(t.shape)
        return known

    def _value(self, known: Mapping[int, Array], i: int) -> Array:
        data = self.tensors[i].data
        return known[i] if data is None else data

    def verify(self) -> Graph:
        """Check the invariants that every pass must keep. A violation is a bug or a damaged file."""
        seen = set(self.inputs) | {i for i, t in self.tensors.items() if t.data is not None}
        for op in self.ops:
            where = f"layer {op.index} {op.kind} '{op.name}'"
            for i in op.inputs:
                if i != ABSENT and i not in seen:
                    raise MoteError(f"reads tensor {i} before it is computed", where=where)
            expected = op.shapes(self)
            for out, shape in zip(op.outputs, expected, strict=True):
                if out in seen:
                    raise MoteError(f"computes tensor {out} a second time", where=where)
                if self.tensors[out].shape != shape:
                    actual = self.tensors[out].shape
                    raise MoteError(f"output {out} has shape {actual}, the operator gives {shape}", where=where)
                seen.add(out)
        for out in self.outputs:
            if out not in seen:
                raise MoteError(f"output tensor {out} is never computed", where=f"graph '{self.name}'")
        return self

    def text(self) -> str:
        """The graph as text, one operator a line: what tests and people compare."""
        lines = [f"graph({', '.join(str(self.tensors[i]) for i in self.inputs)})"]
        for op in self.ops:
            args = ", ".join("-" if i == ABSENT else self._short(i) for i in op.inputs)
            attrs = ", ".join(f"{k}={v}" for k, v in op.attributes().items() if _worth_printing(v))
            outs = ", ".join(str(self.tensors[i]) for i in op.outputs)
            lines.append(f"  {outs} = {op.kind}({args})" + (f" {{{attrs}}}" if attrs else ""))
        lines.append(f"  return {', '.join(f'%{i}' for i in self.outputs)}")
        return "\n".join(lines)

    def _short(self, i: int) -> str:
        t = self.tensors[i]
        return f"%{i}" if t.data is None else f"const {t.dtype}[{'x'.join(map(str, t.shape))}]"


def _worth_printing(value: object) -> bool:
    return isinstance(value, int | float | str | tuple)
