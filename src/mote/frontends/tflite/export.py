"""A graph as a `.tflite` file: what a front end read, before any pass has changed it.

Tensors that Mote keeps otherwise than TFLite does are written as TFLite has them: those of uint8 files with their 128
more, what operators keep as variables, bodies of control flow as subgraphs. Layers without an
equivalent in TFLite are refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mote.base.errors import MoteError, Unsupported, working_on
from mote.frontends.tflite.emit import WRITERS
from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.frontends.tflite.file.metadata import PREPROCESS
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph, Op, State
from mote.ir.graph.types import DType
from mote.ir.ops.control.state import Assign
from mote.ir.ops.elementwise.activations import ConcatRescale, Flip
from mote.ir.ops.moves.pad_concat_transpose import Concatenation

SIGNATURE = "serving_default"
"""The name under which TensorFlow's converters write a model that has one signature."""


class UnsaidLayersError(MoteError):
    """All layers of a model without an equivalent in TFLite, in one message."""

    def __init__(self, layers: list[Unsupported], *, where: str) -> None:
        self.layers = layers
        lines = [f"{len(layers)} layer(s) have no equivalent in TFLite:"]
        lines += [f"  layer {x.index} {x.op} '{x.name}': {x.reason}" for x in layers]
        super().__init__(
            "\n".join(lines), where=where, remedy="compile the model as it is: `mote compile` takes every format"
        )


@dataclass(frozen=True)
class Exported:
    """The file; `tensors`: its tensor indices by the graph's tensor ids."""

    data: bytes
    tensors: Mapping[int, int]
    operators: int


def export(graph: Graph, where: str, about: str = "", preprocess: str = "") -> Exported:
    """The file of a graph that was read from the file `where`; `about` is its description in the file, `preprocess` the
    steps that make its input, which its metadata has."""
    file = _File(Writer(graph.name, about=about))
    emitter = file.write(graph, file.writer)
    if preprocess:
        file.writer.note(PREPROCESS, preprocess.encode())
    file.writer.sign(SIGNATURE)
    if file.problems:
        raise UnsaidLayersError(file.problems, where=where)
    tensors = emitter.indices | {t: emitter.at(t) for t in emitter.same}
    return Exported(file.writer.finish(), tensors, file.writer.operators)


@dataclass
class _File:
    """The subgraphs under construction, and the layers without an equivalent."""

    writer: Writer
    numbers: dict[int, int] = field(default_factory=dict)
    """Subgraph indices of bodies by identity: a body that is called twice is written once."""
    bodies: list[Graph] = field(default_factory=list)
    """The written bodies, kept alive so that their identities stay unique."""
    count: int = 0
    problems: list[Unsupported] = field(default_factory=list)

    def write(self, graph: Graph, writer: Writer) -> Emitter:
        """Write a graph as one subgraph."""
        e = Emitter(writer, graph, self.body, _same(graph))
        variables = {s.before: s for s in graph.states if isinstance(_writes(graph, s), Assign)}
        for t in graph.inputs:
            e.indices[t] = e.at(t)
        self._begin(e, variables)
        for op in graph.ops:
            with working_on(op):
                self._write(e, op)
        writer.listed(e.all(graph.inputs), e.all(graph.outputs))
        return e

    def body(self, graph: Graph) -> int:
        if id(graph) not in self.numbers:
            self.count += 1
            self.numbers[id(graph)] = self.count
            self.bodies.append(graph)
            self.write(graph, self.writer.subgraph(graph.name))
        return self.numbers[id(graph)]

    def _begin(self, e: Emitter, variables: Mapping[int, State]) -> None:
        """Variables are initialized once and read before everything else; states of stateful operators are variable
        tensors."""
        for s in e.graph.states:
            if s.before not in variables:
                t = e.graph.tensors[s.before]
                scale = None if t.quant is None else t.scale
                e.indices[t.id] = e.writer.variable(t.name, t.shape, t.dtype, scale, t.zero_point)
        if not variables:
            return
        self.count += 1
        first = self.writer.subgraph("initialize")
        e.op("CALL_ONCE", [], [], init_subgraph_index=self.count)
        for number, (before, state) in enumerate(variables.items()):
            name = f"variable_{number}"
            value = first.const(f"{name}/initial", state.initial)
            handle = _handle(first, name)
            first.op("ASSIGN_VARIABLE", [handle, value], [])
            e.op("READ_VARIABLE", [_handle(e.writer, name)], [e.at(before)])

    def _write(self, e: Emitter, op: Op) -> None:
        if id(op) in e.done or _is_alias(e, op):
            return
        if isinstance(op, Assign):
            _assign(e, op)
            return
        write = WRITERS.get(type(op))
        try:
            if write is None:
                raise UnsaidError("TFLite has no such operator")
            write(e, op)
        except UnsaidError as reason:
            self.problems.append(Unsupported(op.index, op.name, op.kind, str(reason)))


def _handle(writer: Writer, name: str) -> int:
    handle = writer.tensor(f"{name}/handle", (), DType.RESOURCE)
    writer.op("VAR_HANDLE", [], [handle], container="", shared_name=name)
    return handle


def _assign(e: Emitter, op: Assign) -> None:
    """A variable's number is the index of its state among the assigned ones."""
    assigned = [s.before for s in e.graph.states if isinstance(_writes(e.graph, s), Assign)]
    handle = _handle(e.writer, f"variable_{assigned.index(op.inputs[0])}")
    e.op("ASSIGN_VARIABLE", [handle, e.at(op.inputs[1])], [])


def _writes(graph: Graph, state: State) -> Op | None:
    """The operator that writes a state, if one does."""
    return graph.producers.get(state.after)


def _is_alias(e: Emitter, op: Op) -> bool:
    """Whether an operator between two names of one tensor has no effect."""
    return isinstance(op, Flip | ConcatRescale) and e.at(op.inputs[0]) == e.at(op.outputs[0])


def _same(graph: Graph) -> dict[int, int]:
    """Tensors of the graph that are the same tensor in the file: a uint8 input or output and its int8 version, a state
    after an inference and the variable, and rescaled operands of a concatenation, which TFLite's CONCATENATION rescales
    itself."""
    aliases = {}
    for op in graph.ops:
        for position, before in op.updates.items():
            value = op.inputs[1] if isinstance(op, Assign) else op.inputs[before]
            aliases[op.outputs[position]] = value
        if isinstance(op, Flip) and (pair := _edge(graph, op)):
            aliases |= {pair[0]: pair[1]}
        if isinstance(op, ConcatRescale) and _joined(graph, op):
            aliases[op.outputs[0]] = op.inputs[0]
    return {t: _last(aliases, t) for t in aliases}


def _last(aliases: Mapping[int, int], t: int) -> int:
    while t in aliases:
        t = aliases[t]
    return t


def _edge(graph: Graph, op: Flip) -> tuple[int, int] | None:
    """The int8 tensor and its uint8 version, where the whole file is uint8."""
    sides = sorted((op.input(graph), op.output(graph)), key=lambda t: t.dtype == DType.UINT8)
    inside, edge = sides
    is_edge = edge.dtype == DType.UINT8 and inside.quant is not None and inside.quant.unsigned
    return (inside.id, edge.id) if is_edge else None


def _joined(graph: Graph, op: ConcatRescale) -> bool:
    y = op.output(graph)
    readers: Iterable[Op] = graph.consumers.get(y.id, [])
    return y.inner and y.quant is not None and y.quant.unsigned and all(isinstance(r, Concatenation) for r in readers)
