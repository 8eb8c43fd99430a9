"""Writes `.tflite` files: `mote convert` does, and tests and model scripts, which need no TensorFlow for it.

The format is the public TFLite schema, version 3: a FlatBuffer with a subgraph of tensors and operators (and more of
them where one calls others), and one buffer for each constant. Its numbers are in `mote.frontends.tflite.file.schema`,
which the reader works from as well. A field whose value is the schema's default is left out of the file, as the
official converter does, so a reader under test meets absent fields too. The same calls give the same bytes.

    w = Writer("one_conv")
    x = w.input("x", (1, 8, 8, 3), "int8", scale=0.02, zero_point=-3)
    k = w.const("k", weights, scale=[0.01, 0.02], axis=0)
    b = w.const("b", bias, scale=[0.0002, 0.0004])
    y = w.tensor("y", (1, 4, 4, 2), "int8", scale=0.05, zero_point=4)
    w.op("CONV_2D", [x, k, b], [y], padding="SAME", stride_h=2, stride_w=2, fused_activation_function="RELU6")
    w.output(y)
    data = w.finish()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.encoder import Encoder
from mote.frontends.tflite.file.record import SCALARS
from mote.frontends.tflite.file.schema import ENUMS, OPERATORS, OPTIONS, TENSOR_TYPES, FieldKind, Fields

NO_TENSOR = -1
"""The index of an omitted optional input, such as the bias of a convolution."""

_BUFFER_ALIGNMENT = 16

_BITS = {"int4": 4, "uint4": 4, "int2": 2}
"""Bits of sub-byte types."""

_USUAL = {
    "stride_w": 1,
    "stride_h": 1,
    "filter_width": 1,
    "filter_height": 1,
    "depth_multiplier": 1,
    "beta": 1.0,
    "out_type": "int32",
}
"""Defaults of options that differ from the schema's."""


@dataclass(frozen=True)
class Level:
    """One axis of a sparse tensor: dense with `size` indices, or listed ones with their segments. `kind` is the type of
    the numbers in the file."""

    size: int = 0
    segments: Sequence[int] | None = None
    indices: Sequence[int] = ()
    kind: str = "int32"


@dataclass(frozen=True)
class SparsityParameters:
    """The sparsity parameters of a tensor, in the schema's terms."""

    traversal_order: Sequence[int]
    block_map: Sequence[int]
    levels: Sequence[Level]


@dataclass(frozen=True)
class BlockwiseQuantization:
    """Block-wise quantization: the tensor of the scales, one for each `size` elements along the last axis."""

    scales: int
    size: int
    zero_points: int = NO_TENSOR


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    buffer: int
    signature: tuple[int, ...] | None
    variable: bool
    sparsity: SparsityParameters | None
    blocks: BlockwiseQuantization | None


@dataclass(frozen=True)
class _Operator:
    opcode: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str
    options: dict[str, Any]
    custom_options: bytes
    intermediates: tuple[int, ...]


@dataclass
class Writer:
    """Collects tensors and operators in the order they are added; `finish` gives the bytes of the file."""

    name: str
    outside: bool = False
    """Whether constants are stored after the FlatBuffer, as in files above 2 GB."""
    about: str = ""
    """Description of the model in the file."""
    _tensors: list[_Tensor] = field(default_factory=list, init=False)
    _operators: list[_Operator] = field(default_factory=list, init=False)
    _opcodes: list[tuple[int, str, int]] = field(default_factory=list, init=False)
    # Buffer 0 means "no data", by the format's convention.
    _buffers: list[bytes] = field(default_factory=lambda: [b""], init=False)
    _notes: dict[str, int] = field(default_factory=dict, init=False)
    """The buffers of metadata, by name."""
    _inputs: list[int] = field(default_factory=list, init=False)
    _outputs: list[int] = field(default_factory=list, init=False)
    _others: list[Writer] = field(default_factory=list, init=False)
    _signature: str = field(default="", init=False)

    def subgraph(self, name: str) -> Writer:
        """Another subgraph of the same file: number 1, 2, ... for operators that call it."""
        other = Writer(name)
        other._opcodes, other._buffers = self._opcodes, self._buffers
        self._others.append(other)
        return other

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | NDArray[np.floating] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        signature: Sequence[int] | None = None,
    ) -> int:
        """Adds an activation and returns its index.

        Without `scale` it is not quantized; with a list there is one for each channel of `axis`.
        `signature` is the shape with -1 where a dimension is dynamic.
        """
        return self._add(name, shape, dtype, scale, zero_point, axis, buffer=0, signature=signature)

    def input(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | None = None,
        zero_point: int = 0,
        signature: Sequence[int] | None = None,
    ) -> int:
        """Adds an activation that is the model's next input."""
        index = self.tensor(name, shape, dtype, scale, zero_point, signature=signature)
        self._inputs.append(index)
        return index

    def variable(
        self, name: str, shape: Sequence[int], dtype: str, scale: float | None = None, zero_point: int = 0
    ) -> int:
        """Adds a variable tensor, which an operator keeps between inferences."""
        return self._add(name, shape, dtype, scale, zero_point, axis=0, buffer=0, variable=True)

    def const(
        self,
        name: str,
        values: ArrayLike,
        scale: float | Sequence[float] | NDArray[np.floating] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        *,
        dtype: str = "",
        shape: Sequence[int] | None = None,
        sparsity: SparsityParameters | None = None,
        blocks: BlockwiseQuantization | None = None,
    ) -> int:
        """Adds a constant; its type is the array's, so pass `np.int32(...)` arrays for shapes and axes. `dtype` may be
        a type of fewer bits, of which several elements share a byte. A sparse constant has the shape that is given,
        and its values are those that are listed. With `blocks` it is quantized block-wise, without `scale`."""
        array = np.asarray(values)
        self._buffers.append(_bytes(array, dtype))
        buffer, shape = len(self._buffers) - 1, array.shape if shape is None else shape
        kind = dtype or array.dtype.name
        return self._add(name, shape, kind, scale, zero_point, axis, buffer, sparsity=sparsity, blocks=blocks)

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        version: int = 1,
        custom_code: str = "",
        custom_options: bytes = b"",
        intermediates: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """Adds an operator. `options` are the schema's own field names; `NO_TENSOR` leaves an input out.
        `intermediates` are tensors that only say how the operator quantizes what it computes inside."""
        if kind not in OPTIONS:
            raise ValueError(f"{kind}: not among the operators whose options the schema has")
        known = OPTIONS[kind].fields
        unknown = sorted(options.keys() - known.keys())
        if unknown:
            raise ValueError(f"{kind}: no option {', '.join(unknown)} (it has: {', '.join(known) or 'none'})")
        bad = [i for i in (*inputs, *outputs, *intermediates) if not NO_TENSOR <= i < len(self._tensors)]
        if bad:
            raise ValueError(f"{kind}: no tensor with index {bad[0]}")
        opcode = (OPERATORS[kind], custom_code, version)
        if opcode not in self._opcodes:
            self._opcodes.append(opcode)
        ids = tuple(inputs), tuple(outputs)
        self._operators.append(
            _Operator(self._opcodes.index(opcode), *ids, kind, options, custom_options, tuple(intermediates))
        )

    @property
    def operators(self) -> int:
        """The number of operators in all subgraphs."""
        return len(self._operators) + sum(other.operators for other in self._others)

    def output(self, *indices: int) -> None:
        """Marks tensors as the model's next outputs."""
        self._outputs.extend(indices)

    def listed(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Sets existing tensors as the inputs and the outputs."""
        self._inputs, self._outputs = list(inputs), list(outputs)

    def sign(self, key: str) -> None:
        """Makes this subgraph a signature: interpreters and quantizers find it, its inputs and its outputs by name."""
        self._signature = key

    def note(self, name: str, data: bytes) -> None:
        """Adds metadata: bytes that belong to a tool, by name."""
        self._buffers.append(data)
        self._notes[name] = len(self._buffers) - 1

    def finish(self) -> bytes:
        """The file. The writer is left as it was, so more may be added and written again."""
        if not self.outside:
            return self._finish([_Place() for _ in self._buffers])
        length = len(self._finish(_places(self._buffers, _BUFFER_ALIGNMENT)))
        places = _places(self._buffers, length)
        file = self._finish(places)
        for data, place in zip(self._buffers, places, strict=True):
            file += bytes(place.offset - len(file)) + data if data else b""
        return file

    def _finish(self, places: list[_Place]) -> bytes:
        """The FlatBuffer, with the data of each buffer at its offset."""
        e = Encoder()
        buffers = e.references([_buffer(e, data, place) for data, place in zip(self._buffers, places, strict=True)])
        subgraphs = [writer._subgraph(e) for writer in (self, *self._others)]
        opcodes = e.references([_opcode(e, *opcode) for opcode in self._opcodes])
        values = {
            "version": schema.VERSION,
            "operator_codes": opcodes,
            "subgraphs": e.references(subgraphs),
            "description": e.string(f"{self.name}; {self.about}" if self.about else self.name),
            "buffers": buffers,
        }
        signed = [(i, w) for i, w in enumerate((self, *self._others)) if w._signature]
        if self._notes:
            entries = [(e.string(name), buffer) for name, buffer in self._notes.items()]
            tables = [e.table(schema.METADATA, {"name": name, "buffer": buffer}) for name, buffer in entries]
            values["metadata"] = e.references(tables)
        if signed:
            values["signature_defs"] = e.references([writer._signature_def(e, number) for number, writer in signed])
        return e.finish(e.table(schema.MODEL, values), schema.IDENTIFIER)

    def _subgraph(self, e: Encoder) -> int:
        tensors = e.references([_tensor(e, tensor) for tensor in self._tensors])
        operators = e.references([_operator(e, operator) for operator in self._operators])
        values = {
            "tensors": tensors,
            "inputs": e.integers(self._inputs),
            "outputs": e.integers(self._outputs),
            "operators": operators,
            "name": e.string(self.name),
        }
        return e.table(schema.SUBGRAPH, values)

    def _signature_def(self, e: Encoder, number: int) -> int:
        values: dict[str, Any] = {
            "inputs": self._tensor_maps(e, self._inputs),
            "outputs": self._tensor_maps(e, self._outputs),
            "signature_key": e.string(self._signature),
        }
        if number:
            values["subgraph_index"] = number
        return e.table(schema.SIGNATURE, values)

    def _tensor_maps(self, e: Encoder, tensors: Sequence[int]) -> int:
        """Tensors by name; duplicate names get their index as a suffix."""
        names: dict[str, int] = {}
        for t in dict.fromkeys(tensors):
            name = self._tensors[t].name
            names[f"{name}_{t}" if name in names else name] = t
        maps = [
            e.table(schema.TENSOR_MAP, {"name": e.string(name), **({"tensor_index": t} if t else {})})
            for name, t in names.items()
        ]
        return e.references(maps)

    def _add(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | NDArray[np.floating] | None,
        zero_point: int | Sequence[int],
        axis: int,
        buffer: int,
        signature: Sequence[int] | None = None,
        variable: bool = False,
        sparsity: SparsityParameters | None = None,
        blocks: BlockwiseQuantization | None = None,
    ) -> int:
        if dtype not in TENSOR_TYPES:
            raise ValueError(f"{name}: no tensor type {dtype} (there are: {', '.join(TENSOR_TYPES)})")
        scales = np.atleast_1d(np.asarray([] if scale is None else scale, np.float32))
        zeros = np.broadcast_to(np.asarray(zero_point, np.int64), scales.shape)
        self._tensors.append(
            _Tensor(
                name,
                tuple(int(n) for n in shape),
                dtype,
                tuple(scales.tolist()),
                tuple(zeros.tolist()),
                axis,
                buffer,
                None if signature is None else tuple(signature),
                variable,
                sparsity,
                blocks,
            )
        )
        return len(self._tensors) - 1


@dataclass(frozen=True)
class _Place:
    """The offset of a buffer's data in the file; 0: inside of the FlatBuffer."""

    offset: int = 0


def _places(buffers: Sequence[bytes], start: int) -> list[_Place]:
    """Consecutive offsets, each aligned."""
    places = []
    for data in buffers:
        start = -(-start // _BUFFER_ALIGNMENT) * _BUFFER_ALIGNMENT
        places.append(_Place(start))
        start += len(data)
    return places


def _buffer(e: Encoder, data: bytes, place: _Place) -> int:
    if place.offset and data:
        return e.table(schema.BUFFER, {"offset": place.offset, "size": len(data)})
    return e.table(schema.BUFFER, {"data": e.raw(data, _BUFFER_ALIGNMENT)} if data else {})


def _bytes(array: NDArray[Any], dtype: str) -> bytes:
    """An array in its storage format; sub-byte types have the first element in the lowest bits of a byte."""
    if dtype not in _BITS:
        return array.astype(array.dtype.newbyteorder("<")).tobytes()
    bits = _BITS[dtype]
    codes = array.reshape(-1).astype(np.int16) & ((1 << bits) - 1)
    padded = np.concatenate([codes, np.zeros(-codes.size % (8 // bits), np.int16)]).reshape(-1, 8 // bits)
    packed: NDArray[np.uint8] = (padded << np.arange(0, 8, bits, dtype=np.int64)).sum(axis=1).astype(np.uint8)
    return packed.tobytes()


def _tensor(e: Encoder, t: _Tensor) -> int:
    values = {"shape": e.integers(t.shape), "name": e.string(t.name)}
    if t.scales:
        values["quantization"] = _quantization(e, t)
    elif t.blocks is not None:
        values["quantization"] = _blockwise(e, t.blocks)
    if t.sparsity is not None:
        values["sparsity"] = _sparsity(e, t.sparsity)
    if t.signature is not None:
        values["shape_signature"] = e.integers(t.signature)
    if TENSOR_TYPES[t.dtype]:
        values["type"] = TENSOR_TYPES[t.dtype]
    if t.variable:
        values["is_variable"] = True
    if t.buffer:
        values["buffer"] = t.buffer
    return e.table(schema.TENSOR, values)


def _quantization(e: Encoder, t: _Tensor) -> int:
    values = {
        "scale": e.array(np.asarray(t.scales, np.float32)),
        "zero_point": e.array(np.asarray(t.zero_points, np.int64)),
    }
    if t.axis:
        values["quantized_dimension"] = t.axis
    return e.table(schema.QUANTIZATION, values)


def _blockwise(e: Encoder, blocks: BlockwiseQuantization) -> int:
    values = {"scales": blocks.scales, "zero_points": blocks.zero_points, "block_size": blocks.size}
    details = e.table(schema.BLOCKWISE_QUANTIZATION, values)
    return e.table(schema.QUANTIZATION, {"details_type": schema.BLOCKWISE, "details": details})


def _sparsity(e: Encoder, s: SparsityParameters) -> int:
    values = {
        "traversal_order": e.integers(s.traversal_order),
        "dim_metadata": e.references([_level(e, x) for x in s.levels]),
    }
    if s.block_map:
        values["block_map"] = e.integers(s.block_map)
    return e.table(schema.SPARSITY, values)


def _level(e: Encoder, level: Level) -> int:
    if level.segments is None:
        return e.table(schema.DIMENSION, {"dense_size": level.size})
    number = {kind: number for number, kind in schema.INDEX_TYPES.items()}[level.kind]
    values = {"format": schema.DIMENSION_TYPES["SPARSE_CSR"]}
    for name, numbers in (("array_segments", level.segments), ("array_indices", level.indices)):
        vector = e.array(np.asarray(numbers, level.kind))
        values[name] = e.table(schema.INDEX_VECTOR, {"values": vector})
        values[f"{name}_type"] = number
    return e.table(schema.DIMENSION, values)


def _opcode(e: Encoder, code: int, custom_code: str, version: int) -> int:
    """Codes above 127 are only in the newer field; the older one is then 127."""
    values: dict[str, Any] = {"custom_code": e.string(custom_code)} if custom_code else {}
    values["deprecated_builtin_code"] = min(code, schema.MAX_OLD_CODE)
    if version != 1:
        values["version"] = version
    if code:
        values["builtin_code"] = code
    return e.table(schema.OPERATOR_CODE, values)


def _operator(e: Encoder, op: _Operator) -> int:
    values: dict[str, Any] = {"inputs": e.integers(op.inputs), "outputs": e.integers(op.outputs)}
    known = OPTIONS[op.kind]
    if known.number:
        values[known.union] = _options(e, known.fields, op.options)
        values[f"{known.union}_type"] = known.number
    if op.custom_options:
        values["custom_options"] = e.raw(op.custom_options, 1)
    if op.intermediates:
        values["intermediates"] = e.integers(op.intermediates)
    if op.opcode:
        values["opcode_index"] = op.opcode
    return e.table(schema.OPERATOR, values)


def _options(e: Encoder, known: Fields, options: dict[str, Any]) -> int:
    """The options table, without values equal to the schema's defaults."""
    values = {}
    for name, f in known.items():
        value = options.get(name, _USUAL.get(name))
        if value is None:
            continue
        if f.kind in ENUMS and value not in ENUMS[f.kind]:
            raise ValueError(f"{name}: no {value} (there are: {', '.join(ENUMS[f.kind])})")
        if f.kind in ENUMS:
            value = ENUMS[f.kind][value]
        if f.kind not in SCALARS or value != f.default:
            values[name] = _option(e, f.kind, value)
    return e.table(known, values)


def _option(e: Encoder, kind: FieldKind, value: Any) -> Any:
    """A value for a field: a scalar, or the position of an object."""
    if kind is FieldKind.INT32S:
        return e.integers(value)
    if kind is FieldKind.BYTES:
        return e.raw(value, 1)
    return e.string(value) if kind is FieldKind.STRING else value
