"""A `.tflite` file as dicts and lists with the schema's names: it is read into them, edited, and written again."""

from __future__ import annotations

from typing import Any

import numpy as np

from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.encoder import Encoder
from mote.frontends.tflite.file.flatbuffer import FlatBuffer
from mote.frontends.tflite.file.record import TableRecord
from mote.frontends.tflite.file.schema import FieldKind, Fields

Table = dict[str, Any]

CHILDREN: dict[str, Fields] = {
    "operator_codes": schema.OPERATOR_CODE,
    "metadata": schema.METADATA,
    "signature_defs": schema.SIGNATURE,
    "inputs": schema.TENSOR_MAP,
    "outputs": schema.TENSOR_MAP,
    "subgraphs": schema.SUBGRAPH,
    "buffers": schema.BUFFER,
    "tensors": schema.TENSOR,
    "operators": schema.OPERATOR,
    "quantization": schema.QUANTIZATION,
    "sparsity": schema.SPARSITY,
    "dim_metadata": schema.DIMENSION,
    "array_segments": schema.INDEX_VECTOR,
    "array_indices": schema.INDEX_VECTOR,
}
"""The fields that hold tables of one kind; those of a union are of the kind that its number says."""
OPTIONS: dict[str, dict[int, Fields]] = {
    union: {o.number: o.fields for o in schema.OPTIONS.values() if o.number and o.union == union}
    for union in ("builtin_options", "builtin_options_2")
} | {"details": {schema.BLOCKWISE: schema.BLOCKWISE_QUANTIZATION}}
VECTORS = {FieldKind.INT32S: "int32", FieldKind.INT64S: "int64", FieldKind.FLOAT32S: "float32"}
ALIGNMENT = 16


def decode(data: bytes) -> Table:
    """A file that can be read."""
    return _decoded(TableRecord(schema.MODEL, FlatBuffer(data).root()))


def _decoded(record: TableRecord) -> Table:
    found = {name: _value(record, name, field.kind) for name, field in record.fields.items()}
    return {name: value for name, value in found.items() if value is not None}


def _value(record: TableRecord, name: str, kind: FieldKind) -> Any:
    if kind is FieldKind.TABLE:
        child = record.child(name)
        return None if child is None else _decoded(TableRecord(kind_of(name, record), child))
    if kind is FieldKind.TABLES:
        return [_decoded(child) for child in record.children(name, CHILDREN[name])]
    if kind in VECTORS or kind is FieldKind.BYTES:
        vector = record.vector(name)
        values = None if vector is None else vector.array(VECTORS.get(kind, "uint8"))
        return values if values is None else values.tobytes() if kind is FieldKind.BYTES else values.tolist()
    if kind is FieldKind.STRING:
        return record.string(name)
    return record.real(name) if kind is FieldKind.FLOAT32 else record.integer(name)


def kind_of(name: str, holder: TableRecord | Table) -> Fields:
    """The fields of the table that a field of a table holds."""
    if name in CHILDREN:
        return CHILDREN[name]
    kind = f"{name}_type"
    return OPTIONS[name].get(holder.integer(kind) if isinstance(holder, TableRecord) else holder.get(kind, 0), {})


def encode(model: Table) -> bytes:
    """The file of a model, however odd."""
    e = Encoder()
    return e.finish(_encoded(e, schema.MODEL, model), schema.IDENTIFIER)


def _encoded(e: Encoder, fields: Fields, values: Table) -> int:
    known = {name: value for name, value in values.items() if name in fields}
    return e.table(fields, {name: _reference(e, fields, known, name) for name in known})


def _reference(e: Encoder, fields: Fields, values: Table, name: str) -> Any:
    """What a field holds: a number, or where that lies which it refers to."""
    kind, value = fields[name].kind, values[name]
    if kind is FieldKind.TABLE:
        return _encoded(e, kind_of(name, values), value)
    if kind is FieldKind.TABLES:
        return e.references([_encoded(e, CHILDREN[name], child) for child in value])
    if kind in VECTORS:
        return e.array(np.array(value, VECTORS[kind]))
    if kind is FieldKind.BYTES:
        return e.raw(value, ALIGNMENT)
    if kind is FieldKind.STRING:
        return e.string(value)
    return value
