"""The graph: immutable, verified after every pass, printable as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mote.errors import MoteError
from mote.graph.op import ABSENT, Op
from mote.graph.ranges import Range, ranges
from mote.graph.tensor import DTYPES, Array, Tensor

if TYPE_CHECKING:
    from mote.plan.kernel import Kernel, Lowering


@dataclass(frozen=True, eq=False)
class State:
    """What a model keeps from one inference to the next, in one place: tensor `before` is what an inference finds there
    (nobody computes it), tensor `after` what it leaves (an operator writes it over `before`, see `Op.updates`)."""

    before: int
    after: int
    initial: Array


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in execution order over tensors by id. Passes return a new graph."""

    name: str
    tensors: Mapping[int, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    states: tuple[State, ...] = ()
    warm_up: int = 0
    """How many inferences it takes until the outputs mean something: the first ones fill the states."""

    @cached_property
    def kernels(self) -> dict[tuple[int, Lowering], list[Kernel]]:
        """What `Op.kernels` has found for the operators of this graph."""
        return {}

    @cached_property
    def ranges(self) -> dict[int, Range]:
        """Which values the int8 tensors can have."""
        return ranges(self)

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
        states = tuple(s for s in self.states if s.after in used)
        return replace(self, ops=ops, tensors={i: t for i, t in known.items() if i in used}, states=states)

    def fresh_id(self) -> int:
        return max(self.tensors, default=-1) + 1

    def evaluate(self, values: Mapping[int, Array]) -> dict[int, Array]:
        """Run the NumPy reference: graph inputs in, every tensor that is computed out. States that are not among the
        values are at their beginning; `carried` makes those of the next inference."""
        known: dict[int, Array] = {s.before: s.initial for s in self.states} | dict(values)
        for op in self.ops:
            args = [None if i == ABSENT else self._value(known, i) for i in op.inputs]
            for out, value in zip(op.outputs, op.evaluate(self, args), strict=True):
                t = self.tensors[out]
                known[out] = np.asarray(value).astype(DTYPES[t.dtype], copy=False).reshape(t.shape)
        return known

    def carried(self, values: Mapping[int, Array]) -> dict[int, Array]:
        """What the next inference finds in the states, from what `evaluate` gave for this one."""
        return {s.before: values[s.after] for s in self.states}

    def _value(self, known: Mapping[int, Array], i: int) -> Array:
        data = self.tensors[i].data
        return known[i] if data is None else data

    def verify(self) -> Graph:
        """Check the invariants that every pass must keep. A violation is a bug or a damaged file."""
        seen = {*self.inputs, *(s.before for s in self.states)}
        seen |= {i for i, t in self.tensors.items() if t.data is not None}
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
        for out in (*self.outputs, *(s.after for s in self.states)):
            if out not in seen:
                raise MoteError(f"output tensor {out} is never computed", where=f"graph '{self.name}'")
        self._verify_updates()
        return self

    def _verify_updates(self) -> None:
        """States are written in place, by operators that say so, after everyone who reads what was there."""
        made = {op.outputs[o]: op.inputs[i] for op in self.ops for o, i in op.updates.items()}
        wanted = {s.after: s.before for s in self.states}
        if made != wanted:
            raise MoteError(f"updates {made}, its states are {wanted}", where=f"graph '{self.name}'")
        for op in self.ops:
            for i in op.updates.values():
                late = self.ops[self.ops.index(op) + 1 :]
                if any(op.inputs[i] in reader.inputs for reader in late):
                    raise MoteError(f"tensor {op.inputs[i]} is read after it was written over", where=op.name)

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
