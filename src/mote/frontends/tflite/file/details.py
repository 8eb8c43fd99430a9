"""Tensors and signatures of a `.tflite` file as they are recorded, for interfaces like LiteRT's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.flatbuffer import FlatBuffer, MalformedError
from mote.frontends.tflite.file.record import TableRecord


@dataclass(frozen=True)
class FileTensor:
    """A tensor of a subgraph."""

    index: int
    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    """The shape with -1 where it is open; empty: all of it is fixed."""
    dtype: str
    scales: NDArray[np.float32]
    zero_points: NDArray[np.int32]
    axis: int


@dataclass(frozen=True)
class FileSignature:
    """A subgraph that can be run by name, with the names and indices of its inputs and outputs."""

    key: str
    subgraph: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def signatures(data: bytes) -> dict[str, FileSignature]:
    """The signatures of a file by their keys; names are sorted, as LiteRT lists them."""
    root = TableRecord(schema.MODEL, FlatBuffer(data).root())
    by_key = {}
    for record in root.children("signature_defs", schema.SIGNATURE):
        inputs, outputs = (_ports(record, name) for name in ("inputs", "outputs"))
        key = record.string("signature_key")
        by_key[key] = FileSignature(key, record.integer("subgraph_index"), inputs, outputs)
    return by_key


def _ports(signature: TableRecord, name: str) -> dict[str, int]:
    records = signature.children(name, schema.TENSOR_MAP)
    return dict(sorted((record.string("name"), record.integer("tensor_index")) for record in records))


def tensors(data: bytes, subgraph: int) -> tuple[FileTensor, ...]:
    """The tensors of a subgraph in the order of the file."""
    subgraphs = TableRecord(schema.MODEL, FlatBuffer(data).root()).children("subgraphs", schema.SUBGRAPH)
    if not 0 <= subgraph < len(subgraphs):
        raise MalformedError(f"there is no subgraph {subgraph}")
    records = subgraphs[subgraph].children("tensors", schema.TENSOR)
    return tuple(_tensor(index, record) for index, record in enumerate(records))


def _tensor(index: int, record: TableRecord) -> FileTensor:
    quantization = TableRecord(schema.QUANTIZATION, record.child("quantization"))
    scale, zero = quantization.vector("scale"), quantization.vector("zero_point")
    scales = np.zeros(0, np.float32) if scale is None else np.array(scale.array("float32"), np.float32)
    zeros = np.zeros(scales.size, np.int64) if zero is None else np.array(zero.array("int64"), np.int64)
    return FileTensor(
        index=index,
        name=record.string("name"),
        shape=tuple(record.integers("shape")),
        signature=tuple(record.integers("shape_signature")),
        dtype=record.choice("type"),
        scales=scales,
        zero_points=zeros.astype(np.int32),
        axis=quantization.integer("quantized_dimension"),
    )
