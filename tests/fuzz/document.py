"""A `.tflite` file as dicts and lists with the schema's names: it is read into them, edited, and written again."""

from __future__ import annotations

from typing import Any

import numpy as np

from mote.frontends.tflite import schema
from mote.frontends.tflite.encoder import Encoder
from mote.frontends.tflite.flatbuffer import Buffer
from mote.frontends.tflite.record import Record
from mote.frontends.tflite.schema import Fields, Kind

Table = dict[str, Any]

CHILDREN: dict[str, Fields] = {
    "operator_codes": schema.OPERATOR_CODE,
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
VECTORS = {Kind.INT32S: "int32", Kind.INT64S: "int64", Kind.FLOAT32S: "float32"}
ALIGNMENT = 16


def decode(data: bytes) -> Table:
    """A file that can be read."""
    return _decoded(Record(schema.MODEL, Buffer(data).root()))


def _decoded(record: Record) -> Table:
    found = {name: _value(record, name, field.kind) for name, field in record.fields.items()}
    return {name: value for name, value in found.items() if value is not None}


def _value(record: Record, name: str, kind: Kind) -> Any:
    if kind is Kind.TABLE:
        child = record.child(name)
        return None if child is None else _decoded(Record(kind_of(name, record), child))
    if kind is Kind.TABLES:
        return [_decoded(child) for child in record.children(name, CHILDREN[name])]
    if kind in VECTORS or kind is Kind.BYTES:
        vector = record.vector(name)
        values = None if vector is None else vector.array(VECTORS.get(kind, "uint8"))
        return values if values is None else values.tobytes() if kind is Kind.BYTES else values.tolist()
    if kind is Kind.STRING:
        return record.string(name)
    return record.real(name) if kind is Kind.FLOAT32 else record.integer(name)


def kind_of(name: str, holder: Record | Table) -> Fields:
    """The fields of the table that a field of a table holds."""
    if name in CHILDREN:
        return CHILDREN[name]
    kind = f"{name}_type"
    return OPTIONS[name].get(holder.integer(kind) if isinstance(holder, Record) else holder.get(kind, 0), {})


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
    if kind is Kind.TABLE:
        return _encoded(e, kind_of(name, values), value)
    if kind is Kind.TABLES:
        return e.references([_encoded(e, CHILDREN[name], child) for child in value])
    if kind in VECTORS:
        return e.array(np.array(value, VECTORS[kind]))
    if kind is Kind.BYTES:
        return e.raw(value, ALIGNMENT)
    if kind is Kind.STRING:
        return e.string(value)
    return value
