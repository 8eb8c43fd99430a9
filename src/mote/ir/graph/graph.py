"""The network as data: operators, and the graph that connects them by tensors.

A graph is immutable, verified after every pass, and printable as text. Operators and graphs are in one file because
each is defined by the other; what concerns a single operator is in a file of `mote.ir.ops`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import working_on
from mote.base.text import SHORT, cut, short_names
from mote.ir.graph.attributes import Attributes
from mote.ir.graph.ranges import RANGED, Peak, Range, anything, between
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape, Tensor
from mote.ir.graph.types import DType, StateRole

ABSENT = -1
"""The tensor id in `Op.inputs` for an absent optional input (no bias, say)."""


@dataclass(frozen=True)
class Increment:
    """Streaming form of an operator: `op` computes the new elements of its output, described by `flow`, from the last
    `needs[position]` elements of each input."""

    op: Op
    flow: StreamAxis
    needs: Mapping[int, int]


class Op(Attributes):
    """Base class of operators: attributes are the fields of the subclass, tensors are ids of the graph.

    A subclass defines its outputs' shapes (`shapes`), its results (`evaluate`, the NumPy reference, bit-exact for
    int8), which input rows an output row needs (`reads`) and what is not supported (`unsupported`). It knows nothing of
    the C kernels that compute it: see `mote.compiler.kernels`.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    name: str = ""
    index: int = -1

    kind: ClassVar[str] = ""
    is_view: ClassVar[bool] = False
    """The output has the input's bytes under another shape: nothing to compute, the buffer is shared."""
    weights: ClassVar[int | None] = None
    """Position of the weights among the inputs, for operators whose kernels are selected by the weights' type."""
    sequential: ClassVar[bool] = False
    """The operator is recurrent: output rows are computed from the top, each from the states that the previous row
    left. An operator with states that is not sequential computes all rows at once."""

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """Subgraphs of a control flow operator."""
        return ()

    @property
    def updates(self) -> dict[int, int]:
        """State updates: maps the position of each output that is a new state to the position of the input with the old
        one. The output is written in place over that input, and a kernel gets both as one operand."""
        return {}

    def shapes(self, g: Graph) -> list[Shape]:
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        raise NotImplementedError

    def stored(self, g: Graph, results: Sequence[Array]) -> dict[int, Array]:
        """The results of `evaluate` by tensor id, converted to the types and shapes of the output tensors."""
        pairs = zip((g.tensors[t] for t in self.outputs), results, strict=True)
        return {t.id: np.asarray(value).astype(t.dtype.numpy, copy=False).reshape(t.shape) for t, value in pairs}

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """For float outputs that are sums: the outputs before the activation; else empty. `mote.ir.graph.tolerance`
        calls it with absolute inputs and constants to get the magnitude of the summed terms."""
        return []

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        """Magnitude of the terms that cancel inside a float function where its result is near 0: runtimes that sum
        these terms have the rounding error of the terms, not of the result."""
        return 0.0

    def alternative_codes(self, g: Graph, values: Sequence[Array | None]) -> Array | None:
        """Alternative output codes where a float reference may round the other way because a value is near the midpoint
        of two codes; None: no code is ambiguous."""
        return None

    def unsupported(self, g: Graph) -> str | None:
        """Why this operator cannot be compiled in this graph, or None."""
        return None

    def misjudged(self, g: Graph) -> str | None:
        """Why LiteRT's reference kernel is wrong or fails for this operator, so that the model cannot be compared with
        LiteRT; or None."""
        return None

    def is_identity(self, g: Graph) -> bool:
        """Whether the output always equals input 0, shape and quantization included."""
        return False

    def table(self, g: Graph) -> NDArray[np.int8] | None:
        """Lookup table of a unary int8 function: its results for -128..127; None for other operators."""
        return None

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """Value range of the first output (int8), given the ranges of the inputs (None for inputs that are not int8);
        None: unknown, any value."""
        return None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Bounds of the integer accumulators for inputs in these ranges; None: the operator has no integer
        accumulators."""
        return None

    def channel_sources(self, g: Graph) -> dict[int, NDArray[np.int64]] | None:
        """For each activation input, by position: map from output channel (index on the last axis) to the only input
        channel that it depends on, or OUTSIDE if it depends on none. Inputs of which every output channel needs all
        channels are left out. None: the operator mixes channels."""
        return None

    def narrowed(self, g: Graph, kept: Sequence[NDArray[np.int64]]) -> Self:
        """The operator restricted to the kept channels: `kept` has an index array for each activation input, then one
        for the output."""
        return self

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        """The smallest and the largest meaningful value of an input, for an index into another one, say; None: any."""
        return None

    def macs(self, g: Graph) -> int:
        return 0

    def work(self, g: Graph) -> int:
        """Estimated cost of the NumPy reference, in multiplications."""
        return self.macs(g)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The rows of input `position` that output row `y` depends on, in the order of the kernel's row function;
        OUTSIDE for padding. None: the output can only be computed as a whole."""
        return None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """The operator's streaming form when its inputs (by position) are streams; None: it needs whole inputs every
        time. `causal`: zero padding may stand for the elements before the stream began. Raises PaddingError and
        StrideError."""
        return None

    def activations(self, g: Graph) -> list[Tensor]:
        """The inputs that are computed at run time (not constants)."""
        return [g.tensors[i] for _, i in self.computed(g)]

    def computed(self, g: Graph) -> list[tuple[int, int]]:
        """The positions and tensor ids of the inputs that are computed at run time (not constants)."""
        return [(p, i) for p, i in enumerate(self.inputs) if i != ABSENT and g.tensors[i].data is None]

    def tensor(self, g: Graph, position: int) -> Tensor | None:
        """The tensor at input `position`, or None where the input is absent."""
        if position >= len(self.inputs) or self.inputs[position] == ABSENT:
            return None
        return g.tensors[self.inputs[position]]

    def input(self, g: Graph, position: int = 0) -> Tensor:
        tensor = self.tensor(g, position)
        assert tensor is not None, f"{self.kind} '{self.name}' lacks input {position}"
        return tensor

    def output(self, g: Graph, position: int = 0) -> Tensor:
        return g.tensors[self.outputs[position]]

    @property
    def where(self) -> str:
        """The operator's name in error messages: layer index, kind and name."""
        return f"layer {self.index} {self.kind} '{self.name}'"

    def attributes(self) -> dict[str, Any]:
        base = {f.name for f in fields(Op)}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in base}

    @classmethod
    def like(cls, op: Op, **others: Any) -> Self:
        """An operator of this class with the attributes that it shares with `op`, and with `others`."""
        cls.generate()
        own = {f.name for f in fields(cls)}
        return cls(**{f.name: getattr(op, f.name) for f in fields(op) if f.name in own}, **others)

    def with_(self, **changes: Any) -> Self:
        return replace(self, **changes)


@dataclass(frozen=True, eq=False)
class State:
    """A variable of the model that persists between inferences, in one buffer: tensor `before` is its value at the
    start of an inference (computed by no operator), tensor `after` the value at the end (an operator writes it in
    place, see `Op.updates`). Both are the same tensor if inferences only read it."""

    before: int
    after: int
    initial: Array
    role: StateRole = StateRole.NONE


@dataclass(frozen=True)
class ModelLayer:
    """A layer of the model in reports: its index and a short name."""

    index: int
    name: str

    @staticmethod
    def named(names: Mapping[int, str]) -> dict[int, ModelLayer]:
        """The layers by index, from the layer names in the model file."""
        short = short_names(list(names.values()))
        return {index: ModelLayer(index, name) for index, name in zip(names, short, strict=True)}


class InvalidGraphError(Exception):
    """A graph breaks an invariant: the file's fault if it was just read, Mote's after a pass."""

    def __init__(self, reason: str, where: str) -> None:
        self.reason = reason
        self.where = where
        super().__init__(f"{where}: {reason}")


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in execution order, and tensors by id. Passes return a new graph."""

    name: str
    tensors: Mapping[int, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    states: tuple[State, ...] = ()
    warm_up: int = 0
    """Number of inferences until the outputs are valid: the first ones fill the states."""
    layers: Mapping[int, ModelLayer] = field(default_factory=dict)
    """The layers of the model that operators belong to, by `Op.index`."""

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.ops)} operators, {len(self.tensors)} tensors>"

    def layer_of(self, op: Op) -> int:
        """Index of the operator's layer in the model; -1 if it belongs to none."""
        return self.layers[op.index].index if op.index in self.layers else -1 if self.layers else op.index

    def short_name(self, op: Op) -> str:
        """Name of the operator's layer in reports, at most 20 characters: unique in the model and unchanged by
        passes."""
        if op.index in self.layers:
            return self.layers[op.index].name
        return self._short_others.get(op.name) or cut(op.name, SHORT)

    @cached_property
    def _short_others(self) -> dict[str, str]:
        """Short names of operators that belong to no layer of the model, by operator name."""
        others = list(dict.fromkeys(op.name for op in self.ops if op.index not in self.layers))
        return dict(zip(others, short_names(others, taken=[x.name for x in self.layers.values()]), strict=True))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Number of each operator in reports: its layer's index in the model, with .1, .2, ... appended if a layer
        became several operators; x1, x2, ... for operators of no layer; the position in the graph if the graph has no
        layers."""
        if not self.layers:
            return tuple(map(str, range(len(self.ops))))
        layers = [self.layer_of(op) for op in self.ops]
        many = Counter(layers)
        seen: Counter[int] = Counter()
        numbers = []
        for layer in layers:
            seen[layer] += 1
            own = f"{layer}" if many[layer] == 1 else f"{layer}.{seen[layer]}"
            numbers.append(own if layer >= 0 else f"x{seen[layer]}")
        return tuple(numbers)

    @cached_property
    def ranges(self) -> dict[int, Range]:
        """Value ranges of all int8 tensors (type RANGED), by tensor id."""
        ranges = {}
        for i, t in self.tensors.items():
            if t.dtype == RANGED:
                ranges[i] = anything(t) if t.data is None else between([t.data])
        for op in self.ops:
            if op.output(self).dtype == RANGED:
                with working_on(op):
                    narrower = op.range(self, [ranges.get(i) for i in op.inputs])
                ranges |= {op.outputs[0]: narrower} if narrower else {}
        return ranges

    def peak(self, op: Op) -> Peak | None:
        """Bounds of an operator's integer accumulators, for the value ranges of its inputs; None if it has none."""
        return op.peak(self, [self.ranges.get(i) for i in op.inputs])

    @cached_property
    def sums_wrap(self) -> bool:
        """Whether any int32 accumulator might overflow, so that the C code must be compiled with wrapping
        arithmetic."""
        inside = any(body.sums_wrap for op in self.ops for body in op.bodies)
        return inside or any((peak := self.peak(op)) is not None and peak.wraps for op in self.ops)

    @cached_property
    def work(self) -> int:
        """Estimated cost of the NumPy reference for all operators, in multiplications."""
        return sum(op.work(self) for op in self.ops)

    @cached_property
    def producers(self) -> dict[int, Op]:
        return {out: op for op in self.ops for out in op.outputs}

    @cached_property
    def places(self) -> dict[int, int]:
        """Position of each operator in execution order, by `id(op)`."""
        return {id(op): place for place, op in enumerate(self.ops)}

    @cached_property
    def consumers(self) -> dict[int, list[Op]]:
        consumers: dict[int, list[Op]] = {}
        for op in self.ops:
            for tensor in dict.fromkeys(op.inputs):
                if tensor != ABSENT:
                    consumers.setdefault(tensor, []).append(op)
        return consumers

    def only_consumer(self, tensor: int) -> Op | None:
        """The operator that reads `tensor`, if it is the only reader and the tensor is no graph output."""
        readers = self.consumers.get(tensor, [])
        return readers[0] if len(readers) == 1 and tensor not in self.outputs else None

    def quantized_as(self, tensor: int) -> Tensor | None:
        """The quantized tensor that QUANTIZE makes of a float tensor, if nothing but QUANTIZE reads it."""
        readers = self.consumers.get(tensor, [])
        if tensor in self.outputs or not readers or any(op.kind != "QUANTIZE" for op in readers):
            return None
        return readers[0].output(self) if self.tensors[tensor].dtype == DType.FLOAT32 else None

    def with_ops(self, ops: Iterable[Op], tensors: Iterable[Tensor] = ()) -> Graph:
        """This graph with its operators replaced and some tensors added or replaced; unused tensors are dropped."""
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
        """Run the NumPy reference: takes the values of graph inputs, returns those of all computed tensors, by id.
        States that are not passed have their initial values; `carried` returns the states for the next inference."""
        known: dict[int, Array] = {s.before: s.initial for s in self.states} | dict(values)
        for op in self.ops:
            args = self.arguments(op, known)
            with working_on(op):
                results = op.evaluate(self, args)
            known |= op.stored(self, results)
        return known

    def carried(self, values: Mapping[int, Array]) -> dict[int, Array]:
        """The states for the next inference, by tensor id, from the results of `evaluate` for this one."""
        return {s.before: values[s.after] for s in self.states}

    def arguments(self, op: Op, known: Mapping[int, Array]) -> list[Array | None]:
        """The values of an operator's inputs: constants, and `known` values of the others; None for absent inputs."""
        tensors = (None if i == ABSENT else self.tensors[i] for i in op.inputs)
        return [None if t is None else known[t.id] if t.data is None else t.data for t in tensors]

    def verify(self) -> Graph:
        """Check the invariants that every pass must keep; raises InvalidGraphError."""
        seen = {*self.inputs, *(s.before for s in self.states)}
        seen |= {i for i, t in self.tensors.items() if t.data is not None}
        for op in self.ops:
            for i in op.inputs:
                if i != ABSENT and i not in seen:
                    raise InvalidGraphError(f"reads tensor {i} before it is computed", op.where)
            for body in op.bodies:
                body.verify()
            with working_on(op):
                expected = op.shapes(self)
            if len(expected) != len(op.outputs):
                raise InvalidGraphError(f"has {len(op.outputs)} outputs, the operator {len(expected)}", op.where)
            for out, shape in zip(op.outputs, expected, strict=True):
                if out in seen:
                    raise InvalidGraphError(f"computes tensor {out} a second time", op.where)
                if self.tensors[out].shape != shape:
                    actual = self.tensors[out].shape
                    raise InvalidGraphError(f"output {out} has shape {actual}, the operator gives {shape}", op.where)
                seen.add(out)
        for out in (*self.outputs, *(s.after for s in self.states)):
            if out not in seen:
                raise InvalidGraphError(f"output tensor {out} is never computed", f"graph '{self.name}'")
        self._verify_updates()
        return self

    def _verify_updates(self) -> None:
        """Check that each state is written in place by one operator that declares it, after all readers of the old
        value."""
        declared = {op.outputs[o]: op.inputs[i] for op in self.ops for o, i in op.updates.items()}
        expected = {s.after: s.before for s in self.states if s.after != s.before}
        if declared != expected:
            raise InvalidGraphError(f"updates {declared}, its states are {expected}", f"graph '{self.name}'")
        for op in self.ops:
            for i in op.updates.values():
                late = self.ops[self.ops.index(op) + 1 :]
                if any(op.inputs[i] in reader.inputs for reader in late):
                    raise InvalidGraphError(f"tensor {op.inputs[i]} is read after it was written over", op.name)

    def text(self) -> str:
        """The graph as text, one operator per line, for tests and debugging."""
        lines = [f"graph({', '.join(str(self.tensors[i]) for i in self.inputs)})"]
        for op in self.ops:
            args = ", ".join("-" if i == ABSENT else self._short(i) for i in op.inputs)
            attrs = ", ".join(f"{k}={v}" for k, v in op.attributes().items() if _worth_printing(v))
            outs = ", ".join(str(self.tensors[i]) for i in op.outputs)
            lines.append(f"  {outs} = {op.kind}({args})" + (f" {{{attrs}}}" if attrs else ""))
            lines += [f"    {line}" for body in op.bodies for line in body.text().split("\n")]
        lines.append(f"  return {', '.join(f'%{i}' for i in self.outputs)}")
        return "\n".join(lines)

    def _short(self, i: int) -> str:
        t = self.tensors[i]
        return f"%{i}" if t.data is None else f"const {t.dtype}[{'x'.join(map(str, t.shape))}]"


def _worth_printing(value: object) -> bool:
    if isinstance(value, tuple):
        return not any(isinstance(part, Graph) for part in value)
    return isinstance(value, int | float | str)
