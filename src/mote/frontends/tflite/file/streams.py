"""Command streams of Ethos-U in a `.tflite` file that Vela wrote, as they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from mote.frontends.tflite.file import schema, storage
from mote.frontends.tflite.file.flatbuffer import FlatBuffer, MalformedError
from mote.frontends.tflite.file.record import TableRecord

T = TypeVar("T")
CODE = "ethos-u"
"""The custom code of an operator that is a command stream."""
MEMORIES = 3
"""Inputs behind the stream that are memory of base pointers: constants, working memory, fast memory."""


@dataclass(frozen=True)
class FileStream:
    """The command stream of one operator."""

    operator: int
    payload: bytes
    sizes: tuple[int, ...]
    """Bytes behind the base pointers."""

    @property
    def writable(self) -> tuple[bool, ...]:
        return (False, True, True)


def streams(data: bytes) -> tuple[FileStream, ...]:
    """The command streams of the first subgraph; none where Vela has not compiled the file."""
    root = TableRecord(schema.MODEL, FlatBuffer(data).root())
    graphs = root.children("subgraphs", schema.SUBGRAPH)
    if not graphs:
        raise MalformedError("no subgraph")
    names = [record.string("custom_code") for record in root.children("operator_codes", schema.OPERATOR_CODE)]
    buffers = [storage.stored(data, record) for record in root.children("buffers", schema.BUFFER)]
    tensors = graphs[0].children("tensors", schema.TENSOR)
    listed = []
    for number, operator in enumerate(graphs[0].children("operators", schema.OPERATOR)):
        if _at(names, operator.integer("opcode_index"), "operator code") != CODE:
            continue
        inputs = [_at(tensors, index, "tensor") for index in operator.integers("inputs")]
        if len(inputs) <= MEMORIES:
            raise MalformedError(f"operator {number} ({CODE}) has {len(inputs)} inputs")
        payload = _at(buffers, inputs[0].integer("buffer"), "buffer").content()
        sizes = tuple(max(0, prod(tensor.integers("shape"))) for tensor in inputs[1 : 1 + MEMORIES])
        listed.append(FileStream(number, payload, sizes))
    return tuple(listed)


def _at(items: Sequence[T], index: int, kind: str) -> T:
    if not 0 <= index < len(items):
        raise MalformedError(f"there is no {kind} {index}")
    return items[index]
