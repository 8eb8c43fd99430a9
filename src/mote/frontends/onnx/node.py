"""One node of an ONNX file, as the parsers of operators see it.

A parser is a function `parse(node) -> Value`, or a tuple with one entry for each output of the node (None for an output
that the file leaves out, or that nobody reads). It asks the node for attributes and inputs, and the builder `node.b`
for operators. It raises UnsupportedNodeError with a reason where Mote cannot compute the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value
from mote.frontends.onnx.file.tensors import read_tensor
from mote.frontends.remedies import RUN_TIME_SIZES
from mote.ir.graph.tensor import Array

T = TypeVar("T")
Entry = Any
"""The entry of a name in a scope: an array for a constant, a Value for a computed one, or LOST."""
LOST = object()
"""Result of an unsupported node whose shape is unknown."""


class UnavailableError(Exception):
    """A value cannot be computed because an earlier one cannot, which is reported already."""


ML = "ai.onnx.ml"
MICROSOFT = "com.microsoft"

TYPES = (
    *("UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS"),
    *("SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"),
)
"""Names of attribute types, by their numbers in the file."""


@dataclass(frozen=True, eq=False)
class FileNode:
    """A node of the file. Inputs and outputs are names, empty where they are omitted; attributes are
    AttributeProtos."""

    domain: str
    op_type: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    version: int
    """Opset version of the node's domain."""
    proto: Any = None

    @property
    def code(self) -> str:
        """The operator's name in messages."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def label(self) -> str:
        """The node's name in messages: many files leave nodes unnamed."""
        return self.name or next((name for name in self.outputs if name), "")

    @property
    def bodies(self) -> Iterator[Any]:
        """The subgraphs among its attributes."""
        for attribute in self.attributes.values():
            if TYPES[attribute.type] == "GRAPH":
                yield attribute.g
            yield from attribute.graphs

    @cached_property
    def reads(self) -> frozenset[str]:
        """The names that it reads, including those that its subgraphs capture."""
        return frozenset(name for name in self.inputs if name).union(*map(_captured, self.bodies))


def _captured(body: Any) -> set[str]:
    """The names that a subgraph reads of those around it."""
    own = {entry.name for entry in (*body.input, *body.initializer)}
    names = {output.name for output in body.output}
    for node in body.node:
        own.update(node.output)
        names.update(name for name in node.input if name)
        for inner in (a.g for a in node.attribute if TYPES[a.type] == "GRAPH"):
            names |= _captured(inner)
    return names - own


@dataclass(eq=False)
class GraphScope:
    """The graph of a node and its values: constants are arrays as in the file (float64 and float16 included),
    everything else is a Value. A subgraph sees the enclosing scope."""

    calls: Sequence[FileNode]
    outputs: Sequence[str]
    values: dict[str, Entry] = field(default_factory=dict)
    around: GraphScope | None = None
    types: dict[str, int] = field(default_factory=dict)
    """Element types as numbered by the file: floats of any width become float32 Values."""

    def element_type(self, name: str) -> int:
        """The element type of a name; 0 where it is unknown."""
        scope: GraphScope | None = self
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.around
        return 0

    def find(self, name: str) -> Entry:
        """The entry of a name; None where there is none."""
        scope: GraphScope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.around
        return None

    def constant(self, name: str) -> Array | None:
        entry = self.find(name)
        if isinstance(entry, Value) and entry.quant is None:
            return entry.data
        return entry if isinstance(entry, np.ndarray) else None

    @cached_property
    def _producers(self) -> dict[str, FileNode]:
        return {name: call for call in self.calls for name in call.outputs if name}

    @cached_property
    def _consumers(self) -> dict[str, list[FileNode]]:
        consumers: dict[str, list[FileNode]] = {}
        for call in self.calls:
            for name in call.reads:
                consumers.setdefault(name, []).append(call)
        return consumers

    def producer(self, name: str) -> FileNode | None:
        """The node of this graph that computes a value, folded or not."""
        return self._producers.get(name)

    def consumers(self, name: str) -> Sequence[FileNode]:
        """The nodes of this graph that read a value, also in their subgraphs."""
        return self._consumers.get(name, [])

    def is_output(self, name: str) -> bool:
        return name in self.outputs

    def only_consumer(self, name: str) -> FileNode | None:
        """The only consumer of a value; None where there are several, or it is an output."""
        consumers = self.consumers(name)
        return consumers[0] if len(consumers) == 1 and not self.is_output(name) else None


@dataclass(frozen=True, eq=False)
class Node:
    """A node with its inputs as values. `asked` records the attributes that its parser has read."""

    call: FileNode
    index: int
    b: Builder
    inputs: tuple[Value | None, ...]
    scope: GraphScope
    asked: set[str] = field(default_factory=set)

    @property
    def op_type(self) -> str:
        return self.call.op_type

    @property
    def version(self) -> int:
        """Opset version of the node's domain."""
        return self.call.version

    @property
    def name(self) -> str:
        return self.call.label

    @property
    def where(self) -> str:
        """The node's name in messages."""
        return f"layer {self.index} {self.call.code} '{self.name}'"

    def has(self, position: int) -> bool:
        """Whether an input is present."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def input(self, position: int = 0) -> Value:
        value = self.optional(position)
        if value is None:
            raise UnsupportedNodeError(f"input {position} is missing")
        return value

    def entry(self, position: int) -> Entry:
        """The entry of an input: an array where it is constant, else a Value."""
        self.input(position)
        return self.scope.find(self.call.inputs[position])

    def optional(self, position: int) -> Value | None:
        return self.inputs[position] if self.has(position) else None

    def wants(self, position: int) -> bool:
        """Whether an output is read."""
        name = self.call.outputs[position] if position < len(self.call.outputs) else ""
        return bool(name) and (self.scope.is_output(name) or bool(self.scope.consumers(name)))

    def element_type(self, position: int = 0) -> int:
        """The file's element type of an input, as a number; 0 where it is unknown."""
        return self.scope.element_type(self.call.inputs[position]) if self.has(position) else 0

    def output_type(self, position: int = 0) -> int:
        """The file's element type of an output, as a number; 0 where it is unknown."""
        return self.scope.element_type(self.call.outputs[position]) if position < len(self.call.outputs) else 0

    def known(self, position: int, what: str) -> Array:
        """The value of an input that must be constant (an axis, a shape, paddings), in the file's type."""
        self.input(position)
        data = self.scope.constant(self.call.inputs[position])
        if data is None:
            raise UnsupportedNodeError(f"{what} must be a constant, or follow from shapes", RUN_TIME_SIZES)
        return data

    def maybe_known(self, position: int) -> Array | None:
        """The value of a constant input; None where the input is omitted or computed."""
        return self.scope.constant(self.call.inputs[position]) if self.has(position) else None

    def known_integers(self, position: int, what: str) -> list[int]:
        """The value of a constant input as a list of integers."""
        data = self.known(position, what)
        if data.dtype.kind not in "iu":
            raise UnsupportedNodeError(f"{what} must be integers, not {data.dtype}")
        return [int(n) for n in data.reshape(-1)]

    def number(self, position: int, what: str) -> float:
        """The value of a constant input that is a scalar, int or float."""
        data = self.known(position, what)
        if data.size != 1 or data.dtype.kind not in "iufb":
            raise UnsupportedNodeError(f"{what} must be a scalar, not {data.dtype} of the shape {data.shape}")
        return data.reshape(-1)[0].item()  # type: ignore[no-any-return]

    def numbers(self, name: str, position: int) -> list[int] | None:
        """Integers that are an attribute in older opsets and a constant input in newer ones; None where both are
        absent."""
        if name in self.call.attributes:
            return self.integers(name)
        return self.known_integers(position, name) if self.has(position) else None

    def given(self, name: str) -> bool:
        """Whether an attribute is present."""
        return name in self.call.attributes

    def integer(self, name: str, default: int | None = None) -> int:
        return self._attribute(name, "INT", "i", default, int)

    def flag(self, name: str, default: bool | None = None) -> bool:
        return bool(self.integer(name, default))

    def real(self, name: str, default: float | None = None) -> float:
        return self._attribute(name, "FLOAT", "f", default, _finite)

    def text(self, name: str, default: str | None = None) -> str:
        return self._attribute(name, "STRING", "s", default, _text)

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        return self._attribute(name, "INTS", "ints", default, list)

    def reals(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        return self._attribute(name, "FLOATS", "floats", default, list)

    def texts(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        return self._attribute(name, "STRINGS", "strings", default, lambda them: [_text(it) for it in them])

    def array(self, name: str) -> Array:
        """A tensor attribute."""
        return self._attribute(name, "TENSOR", "t", None, read_tensor)

    def graph(self, name: str) -> Any:
        """A graph attribute."""
        return self._attribute(name, "GRAPH", "g", None, lambda it: it)

    def _attribute(self, name: str, type_: str, member: str, default: Any, convert: Callable[[Any], T]) -> T:
        """The value of an attribute, which must be of that type."""
        self.asked.add(name)
        attribute = self.call.attributes.get(name)
        if attribute is None:
            if default is None:
                raise UnsupportedNodeError(f"the attribute {name} is missing")
            return convert(default)
        actual = TYPES[attribute.type]
        if actual != type_:
            raise UnsupportedNodeError(f"the attribute {name} has the type {actual}, it must be {type_}")
        return convert(getattr(attribute, member))


Parser = Callable[[Node], Value | Sequence[Value | None]]
Fused = Mapping[str, Value | None]
"""Results of fused nodes by name; None for intermediate names that nothing else reads."""
Group = Callable[[Node], Fused | None]
"""Matches a node with those around it as one operator of Mote."""
Key = tuple[str, str]
"""The domain of an operator, empty for ONNX's own, and its name."""


def words(text: str) -> frozenset[str]:
    """Names of operators, with spaces between them."""
    return frozenset(text.split())


def _finite(value: float) -> float:
    if not isfinite(value):
        raise UnsupportedNodeError(f"an attribute is {value}")
    return float(value)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
