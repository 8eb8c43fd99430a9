"""ONNX files: nodes in order, each folded, unrolled, decomposed by its definition, or parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import MoteError, TooLargeError, UnsupportedNodeError, naming
from mote.base.text import printable
from mote.frontends import limits
from mote.frontends.build import Builder, Value, quantized
from mote.frontends.model import Model, SourceLayer, with_numbers
from mote.frontends.onnx import folding, qdq
from mote.frontends.onnx.control import CONTROL
from mote.frontends.onnx.file.container import MOST_NODES, Container, LocalFunction, calls_of, named, open_container
from mote.frontends.onnx.file.local import written_out
from mote.frontends.onnx.file.order import in_order
from mote.frontends.onnx.file.schema import check_call, check_types, definition_of, schema_of
from mote.frontends.onnx.file.tensors import (
    DTYPES,
    FLOATS,
    DamagedError,
    Files,
    computed,
    held_type,
    read_sparse,
    read_tensor,
)
from mote.frontends.onnx.inputs import inputs_of, is_image
from mote.frontends.onnx.metadata import described
from mote.frontends.onnx.node import LOST, Entry, FileNode, GraphScope, Group, Node, Parser, UnavailableError
from mote.frontends.onnx.ops import GROUPS, PARSERS
from mote.frontends.onnx.qonnx import dialect
from mote.frontends.onnx.qonnx import layers as qonnx_layers
from mote.frontends.onnx.sizes import proposed
from mote.frontends.remedies import STRINGS
from mote.frontends.source import Source
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType

MISJUDGED = ("STFT",)
"""Operators whose shape inference in the package deviates from the standard."""


def read(source: Source) -> Model:
    """The model of a file, with its unsupported layers marked."""
    with naming(source.where):
        try:
            return _Reader(source, open_container(source.data)).model()
        except UnicodeDecodeError:
            raise DamagedError("it has names that are not UTF-8") from None


class _Reader:
    """Reads one file. `control` calls it for subgraphs."""

    def __init__(self, source: Source, container: Container) -> None:
        self.source = source
        self.container = container
        self.b = Builder(source.where, source.edges)
        self.b.warnings += container.notes
        self.files = Files(source.folder)
        self.count = 0
        """Number of nodes read, counted at every use."""
        self.depth = 0
        """Nesting depth of subgraphs and functions."""
        self.seen: set[int] = set()
        """Element types of values in the file."""
        self.main = GraphScope((), ())
        quantizers = any(dialect.ends_layer(node.domain, node.op_type) for node in container.proto.graph.node)
        self.groups: tuple[Group, ...] = (qonnx_layers.group,) if quantizers else ()
        """Pattern matchers of files with quantizers of QONNX or PULP."""
        self.told: tuple[FileNode, int] | None = None
        """The node of the file that is being read and its index, while its subgraphs are."""

    def model(self) -> Model:
        graph = self.container.proto.graph
        self.main = self._scope(graph, self.container.versions)
        if not self.main.outputs:
            raise MoteError("the model has no outputs", remedy="export the model with outputs")
        self._constants(graph, self.main)
        self._inputs(graph)
        self._run(self.main)
        for name in self.main.outputs:
            entry = self.main.find(name)
            if entry is None:
                raise DamagedError(f"nothing computes the output '{printable(name)}'")
            if entry is not LOST:
                if 0 in entry.shape:
                    raise MoteError(
                        f"output '{printable(name)}' has the shape {entry.shape}: no elements",
                        remedy="export the model without this output",
                    )
                self.b.output(self.value(entry), printable(name), through=quantized.uncoded)
        self._note_types()
        return described(with_numbers(_joined(self.b.finish())), self.container.proto)

    def _scope(self, graph: Any, versions: Mapping[str, int], around: GraphScope | None = None) -> GraphScope:
        given = [entry.name for entry in (*graph.input, *graph.initializer)]
        calls = in_order(calls_of(graph.node, versions), given)
        return GraphScope(calls, [output.name for output in graph.output], around=around)

    def _constants(self, graph: Any, scope: GraphScope) -> None:
        for proto in graph.initializer:
            self._define(scope, proto.name, read_tensor(proto, self.files), proto.data_type)
        for proto in graph.sparse_initializer:
            self._define(scope, proto.values.name, read_sparse(proto), proto.values.data_type)

    def _inputs(self, graph: Any) -> None:
        infos = [info for info in graph.input if info.name not in self.main.values]
        if len({info.name for info in infos}) < len(infos):
            raise DamagedError("an input is listed twice")
        self.source.check_constants(printable(info.name) for info in infos)
        constants = {fixed.name: fixed for fixed in self.source.constants}
        for given in inputs_of(infos, dict(self.source.shapes), self.b.assumed, self._proposed):
            dtype = held_type(given.element_type)
            if (fixed := constants.get(printable(given.name))) is not None:
                self._define(self.main, given.name, fixed.array(given.shape, dtype), given.element_type)
                continue
            if not dtype.computable:
                raise MoteError(
                    f"input '{printable(given.name)}' has elements of the type {dtype}",
                    remedy=STRINGS if dtype == DType.STRING else "export the model with float32 or int8 there",
                )
            if 0 in given.shape:
                raise MoteError(
                    f"input '{printable(given.name)}' has the shape {given.shape}: no elements",
                    remedy="give it a shape with --shape, or omit the input",
                )
            image = is_image(self.main, given.name)
            made = self.b.input(printable(given.name), given.shape, dtype, channels_last=image)
            self._define(self.main, given.name, made, given.element_type)
        self.b.warnings += self.b.assumed

    def _proposed(self, name: str, shape: Shape) -> tuple[Shape, str] | None:
        proto = self.container.proto
        return proposed(proto.graph, proto.opset_import, name, shape, image=is_image(self.main, name))

    def _define(self, scope: GraphScope, name: str, entry: Entry, element_type: int) -> None:
        if not name or name in scope.values:
            raise DamagedError(f"'{printable(name)}' is the name of several values")
        scope.values[name] = entry
        scope.types[name] = element_type
        self.seen.add(element_type)

    def _note_types(self) -> None:
        """Warn about element types that are computed in a narrower or wider type."""
        wide = sorted(DTYPES[number] for number in self.seen if DTYPES.get(number) in FLOATS)
        if wide:
            self.b.warnings.append(f"{' and '.join(wide)} values are computed in float32")

    # Nodes

    def _run(self, scope: GraphScope) -> None:
        """Constants are read first: pattern matchers look ahead."""
        for place, call in sorted(enumerate(scope.calls), key=lambda pair: pair[1].op_type != "Constant"):
            self._step(call, place, scope)

    def _step(self, call: FileNode, index: int, scope: GraphScope) -> None:
        """Read one node into the scope."""
        self.count += 1
        if self.count > MOST_NODES:
            raise TooLargeError(f"more than {MOST_NODES:,} nodes, counting every iteration and call")
        if call.outputs and all(name in scope.values for name in call.outputs if name):
            return
        for name in call.inputs:
            if name and scope.find(name) is None:
                raise DamagedError(f"{named(index, call)} reads '{printable(name)}', which nothing computes")
        types = self._types(call, scope)
        values: Sequence[Entry] | None = None
        try:
            check_call(call)
            check_types(call, [scope.element_type(name) for name in call.inputs])
            values = self._known(call, scope, types)
            values = self._made(call, index, scope, types) if values is None else values
        except UnavailableError:
            pass
        except UnsupportedNodeError as reason:
            with self._layer(call, index):
                raise reason
        self._bind(call, values, types, scope)

    def _made(self, call: FileNode, index: int, scope: GraphScope, types: Sequence[Any]) -> Sequence[Entry]:
        """The outputs of a node at run time."""
        key = (call.domain, call.op_type)
        parser = PARSERS.get(key)
        for sizes in map(folding.sizes_of, types):
            if sizes is not None and prod(sizes) > limits.MOST_ELEMENTS:
                raise UnsupportedNodeError(f"makes {prod(sizes):,} elements, more than {limits.MOST_ELEMENTS:,}")
        if parser is None and not call.domain and call.op_type in CONTROL:
            return self._controlled(call, index, scope)
        if parser is None and key in self.container.functions:
            return self._function(self.container.functions[key], call, index, scope)
        if parser is None:
            return self._defined(call, index, scope)
        node = self._node(call, index, scope)
        made: list[Sequence[Entry]] = []
        with self._layer(call, index):
            made.append(self._grouped(node) or self._parsed(node, parser, types))
        if not made:
            raise UnavailableError
        return made[0]

    def _grouped(self, node: Node) -> Sequence[Entry] | None:
        """The outputs of a node fused with others around it."""
        for group in (qdq.group, *self.groups, *GROUPS):
            if (outputs := group(node)) is not None:
                for name, value in outputs.items():
                    own = value is not None and node.scope is self.main
                    entry = self.b.named(value, printable(name)) if own and value is not None else value
                    self._define(node.scope, name, LOST if entry is None else entry, _number(entry))
                return [node.scope.values.get(name, LOST) for name in node.call.outputs]
        return None

    def _parsed(self, node: Node, parser: Parser, types: Sequence[Any]) -> Sequence[Entry]:
        made = parser(node)
        values = [made] if isinstance(made, Value) else list(made)
        unread = set(node.call.attributes) - node.asked
        if unread and schema_of(node.call) is None:
            raise UnsupportedNodeError(f"the attribute {printable(min(unread))} is not supported")
        for value, type_ in zip(values, types, strict=False):
            sizes = folding.sizes_of(type_)
            known = sizes is not None and node.op_type not in MISJUDGED
            if value is not None and known and value.shape != sizes:
                raise UnsupportedNodeError(f"has the shape {sizes} by the standard, not {value.shape}")
        return values

    def _defined(self, call: FileNode, index: int, scope: GraphScope) -> Sequence[Entry]:
        """The outputs of a node without a parser, decomposed by the standard's definition."""
        given = [self._type(scope, name) if name else None for name in call.inputs]
        function = definition_of(call, given)
        if function is None:
            raise UnsupportedNodeError("Mote has no such operator yet")
        if call.domain:  # such definitions say their own domain's version only
            function = replace(function, versions={**function.versions, **self.container.versions})
        return self._function(function, call, index, scope)

    def _function(self, function: LocalFunction, call: FileNode, index: int, scope: GraphScope) -> Sequence[Entry]:
        """The outputs of a function for the inputs of a node."""
        calls = in_order(calls_of(written_out(function, call), function.versions), function.inputs)
        wanted = [theirs if ours else "" for theirs, ours in zip(function.outputs, call.outputs, strict=False)]
        inner = GraphScope(calls, wanted)
        if len(call.inputs) > len(function.inputs) or len(call.outputs) > len(function.outputs):
            raise UnsupportedNodeError("has more inputs or outputs than the function has")
        for theirs, ours in zip(function.inputs, call.inputs, strict=False):
            if ours:
                inner.values[theirs], inner.types[theirs] = scope.find(ours), scope.element_type(ours)
        return self._inside(call, index, inner)

    def _controlled(self, call: FileNode, index: int, scope: GraphScope) -> Sequence[Entry]:
        """The outputs of a control flow node."""
        node = self._node(call, index, scope)
        return CONTROL[call.op_type](node, self)

    def body(self, graph: Any, given: Sequence[Entry], node: Node) -> list[Entry]:
        """The outputs of a subgraph, which sees the enclosing scope."""
        inner = self._scope(graph, self.container.versions, node.scope)
        self._constants(graph, inner)
        if len(given) != len(graph.input):
            raise UnsupportedNodeError(f"a body of {len(graph.input)} inputs is given {len(given)} values")
        for info, entry in zip(graph.input, given, strict=True):
            number = info.type.tensor_type.elem_type or _number(entry)
            self._define(inner, info.name, entry, number)
        return self._inside(node.call, node.index, inner)

    def _inside(self, call: FileNode, index: int, inner: GraphScope) -> list[Entry]:
        """The outputs of a graph that a node expands to. Problems in it are reported as that node's."""
        before = self.told
        self.told = before or (call, index)
        self.depth += 1
        limits.check_bodies(0, self.depth)
        self._run(inner)
        self.depth -= 1
        self.told = before
        for name in inner.outputs:
            if name and inner.find(name) is None:
                raise DamagedError(f"nothing computes '{printable(name)}' inside of {named(index, call)}")
        return [inner.find(name) if name else None for name in inner.outputs]

    def made(self, node: Node, make: Callable[[], Value]) -> Value:
        """A value that a control flow node itself computes, outside of its subgraphs."""
        values: list[Value] = []
        with self._layer(node.call, node.index):
            values.append(make())
        if not values:
            raise UnavailableError
        return values[0]

    @contextmanager
    def _layer(self, call: FileNode, index: int) -> Iterator[None]:
        """Operators that are added inside belong to a node of the file: the outermost one that is being read."""
        told, at = self.told or (call, index)
        with self.b.layer(at, printable(told.code), printable(told.label)):
            try:
                yield
            except UnsupportedNodeError as reason:
                if told is call:
                    raise
                inside = f"{printable(call.code)} '{printable(call.label)}' inside of it"
                raise reason.named(f"{inside}: {reason}") from None

    def _types(self, call: FileNode, scope: GraphScope) -> list[Any]:
        """The TypeProtos of a node's outputs, as far as they can be inferred."""
        names = [name for name in call.inputs if name]
        given = {name: type_ for name in names if (type_ := self._type(scope, name)) is not None}
        data = {name: array for name in names if (array := scope.constant(name)) is not None}
        return folding.types_of(call, given, data)

    def _type(self, scope: GraphScope, name: str) -> Any:
        """The TypeProto of a value; None where it is unknown."""
        from onnx import helper

        entry, number = scope.find(name), scope.element_type(name)
        return None if entry is LOST or not number else helper.make_tensor_type_proto(number, entry.shape)

    def _known(self, call: FileNode, scope: GraphScope, types: Sequence[Any]) -> Sequence[Entry] | None:
        """The outputs of a node where they are constant."""
        if call.domain:
            return None
        entries = [scope.find(name) if name else None for name in call.inputs]
        if call.op_type in ("Shape", "Size") and len(entries) == 1 and isinstance(entries[0], Value):
            stand_in = np.broadcast_to(np.zeros((), np.int8), entries[0].shape)
            return folding.folded(call, [stand_in], types)
        if any(entry is not None and not isinstance(entry, np.ndarray) for entry in entries):
            return None
        if call.op_type == "Constant":
            return [folding.constant_of(call)]
        return folding.folded(call, entries, types) if call.inputs else None

    def _bind(self, call: FileNode, values: Sequence[Entry] | None, types: Sequence[Any], scope: GraphScope) -> None:
        """Bind the names of a node's outputs to its results, or to placeholders where they are lost."""
        for place, name in enumerate(call.outputs):
            if not name or name in scope.values:
                continue
            entry = values[place] if values is not None and place < len(values) else None
            number = types[place].tensor_type.elem_type if types[place] is not None else 0
            if entry is None:
                entry = self._stand_in(name, types[place]) if values is None else None
            if entry is None:
                if scope.consumers(name) or scope.is_output(name):
                    raise UnsupportedNodeError(f"output {place} is not computed")
                continue
            if isinstance(entry, Value) and scope is self.main and values is not None:
                entry = self.b.named(entry, printable(name))
            self._define(scope, name, entry, number or _number(entry))

    def _stand_in(self, name: str, type_: Any) -> Entry:
        """A placeholder for an unsupported result, so that the nodes after it are checked too."""
        sizes = folding.sizes_of(type_)
        dtype = held_type(type_.tensor_type.elem_type) if sizes is not None else DType.UNKNOWN
        if sizes is None or not dtype.computable or 0 in sizes:
            return LOST
        return self.b.placeholder(printable(name), sizes, dtype)

    def value(self, entry: Entry, name: str = "") -> Value:
        """An entry of a scope as a Value."""
        if entry is LOST:
            raise UnavailableError
        if isinstance(entry, Value):
            return entry
        if entry.dtype == object:
            return Value(entry.shape, DType.STRING, data=entry, name=name)
        return self.b.constant(computed(entry), name)

    def _node(self, call: FileNode, index: int, scope: GraphScope) -> Node:
        inputs = tuple(self.value(scope.find(name), printable(name)) if name else None for name in call.inputs)
        return Node(call, index, self.b, inputs, scope)


def _number(entry: Entry) -> int:
    """The element type of a value of unknown type."""
    dtype = DType(entry.dtype.name) if isinstance(entry, np.ndarray) and entry.dtype.name in list(DType) else None
    dtype = entry.dtype if isinstance(entry, Value) else dtype
    return next((number for number, known in DTYPES.items() if known == dtype), 0)


def _joined(model: Model) -> Model:
    """The model with adjacent layers of the same node merged."""
    layers: list[SourceLayer] = []
    for layer in model.layers:
        last = layers[-1] if layers else None
        if last is None or (last.index, last.code, last.name) != (layer.index, layer.code, layer.name):
            layers.append(layer)
            continue
        made = {*last.outputs, *layer.outputs}
        layers[-1] = replace(
            last,
            inputs=tuple(dict.fromkeys(i for i in (*last.inputs, *layer.inputs) if i not in made)),
            outputs=tuple(dict.fromkeys((*last.outputs, *layer.outputs))),
            ops=(*last.ops, *layer.ops),
            problem=last.problem or layer.problem,
        )
    return replace(model, layers=tuple(layers))
