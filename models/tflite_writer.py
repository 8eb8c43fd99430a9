"""Writes `.tflite` files from Python, so that tests and model scripts need no TensorFlow.

The format is the public TFLite schema, version 3: a FlatBuffer with a subgraph of tensors and operators (and more of
them where one calls others), and one buffer for each constant. The tables below hold the numbers of that schema that
Mote's tests use. A field whose value is the schema's default is left out of the file, as the official converter does,
so a reader under test meets absent fields too. The same calls give the same bytes.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import ArrayLike, NDArray

NO_TENSOR = -1
"""The index that stands for an optional input left out, such as a convolution without a bias."""

_SCHEMA_VERSION = 3
_FILE_IDENTIFIER = b"TFL3"
_BUFFER_ALIGNMENT = 16
_MAX_OLD_OPCODE = 127

_DTYPES = {
    "float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9,
    "float64": 10, "resource": 13, "uint32": 15,
}  # fmt: skip
_PADDINGS = {"SAME": 0, "VALID": 1}
_ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4, "SIGN_BIT": 5}
_ENUMS = {"padding": _PADDINGS, "activation": _ACTIVATIONS, "dtype": _DTYPES}


@dataclass(frozen=True)
class _Field:
    """One field of an options table; `given` is what the writer puts when the caller says nothing."""

    slot: int
    kind: str
    default: Any = 0
    given: Any = None


_PADDING = _Field(0, "padding", given="SAME")
_STRIDES = {"stride_w": _Field(1, "int", given=1), "stride_h": _Field(2, "int", given=1)}


def _activation(slot: int) -> dict[str, _Field]:
    return {"fused_activation_function": _Field(slot, "activation", given="NONE")}


def _dilations(slot: int) -> dict[str, _Field]:
    return {"dilation_w_factor": _Field(slot, "int", 1), "dilation_h_factor": _Field(slot + 1, "int", 1)}


_POT_SCALE = {"pot_scale_int16": _Field(1, "bool", True)}

# Options table -> its number in the schema's union, and its fields.
_OPTIONS: dict[str, tuple[int, dict[str, _Field]]] = {
    "Conv2D": (1, {"padding": _PADDING, **_STRIDES, **_activation(3), **_dilations(4)}),
    "DepthwiseConv2D": (
        2,
        {
            "padding": _PADDING,
            **_STRIDES,
            "depth_multiplier": _Field(3, "int", given=1),
            **_activation(4),
            **_dilations(5),
        },
    ),
    "Pool2D": (
        5,
        {
            "padding": _PADDING,
            **_STRIDES,
            "filter_width": _Field(3, "int", given=1),
            "filter_height": _Field(4, "int", given=1),
            **_activation(5),
        },
    ),
    "SVDF": (6, {"rank": _Field(0, "int"), **_activation(1)}),
    "FullyConnected": (8, {**_activation(0), "keep_num_dims": _Field(2, "bool", False)}),
    "Softmax": (9, {"beta": _Field(0, "float", 0.0, given=1.0)}),
    "Concatenation": (10, {"axis": _Field(0, "int"), **_activation(1)}),
    "Add": (11, {**_activation(0), **_POT_SCALE}),
    "ResizeBilinear": (
        15,
        {"align_corners": _Field(2, "bool", False), "half_pixel_centers": _Field(3, "bool", False)},
    ),
    "Reshape": (17, {"new_shape": _Field(0, "ints", None)}),
    "Mul": (21, _activation(0)),
    "Pad": (22, {}),
    "Gather": (23, {"axis": _Field(0, "int"), "batch_dims": _Field(1, "int")}),
    "Transpose": (26, {}),
    "Reducer": (27, {"keep_dims": _Field(0, "bool", False)}),
    "Sub": (28, {**_activation(0), **_POT_SCALE}),
    "Div": (29, _activation(0)),
    "Squeeze": (30, {"squeeze_dims": _Field(0, "ints", None)}),
    "StridedSlice": (
        32,
        {
            "begin_mask": _Field(0, "int"),
            "end_mask": _Field(1, "int"),
            "ellipsis_mask": _Field(2, "int"),
            "new_axis_mask": _Field(3, "int"),
            "shrink_axis_mask": _Field(4, "int"),
        },
    ),
    "Split": (35, {"num_splits": _Field(0, "int")}),
    "Cast": (
        37,
        {
            "in_data_type": _Field(0, "dtype", given="float32"),
            "out_data_type": _Field(1, "dtype", given="float32"),
        },
    ),
    "Dequantize": (38, {}),
    "MaximumMinimum": (39, {}),
    "PadV2": (43, {}),
    "Slice": (48, {}),
    "TransposeConv": (49, {"padding": _PADDING, **_STRIDES, **_activation(3)}),
    "ExpandDims": (52, {}),
    "Shape": (55, {"out_type": _Field(0, "dtype", given="int32")}),
    "Pack": (59, {"values_count": _Field(0, "int"), "axis": _Field(1, "int")}),
    "Unpack": (64, {"num": _Field(0, "int"), "axis": _Field(1, "int")}),
    "ZerosLike": (67, {}),
    "Fill": (68, {}),
    "UnidirectionalSequenceLSTM": (
        71,
        {
            **_activation(0),
            "cell_clip": _Field(1, "float", 0.0),
            "proj_clip": _Field(2, "float", 0.0),
            "time_major": _Field(3, "bool", False),
            "asymmetric_quantize_inputs": _Field(4, "bool", False),
            "diagonal_recurrent_tensors": _Field(5, "bool", False),
        },
    ),
    "ResizeNearestNeighbor": (
        74,
        {"align_corners": _Field(0, "bool", False), "half_pixel_centers": _Field(1, "bool", False)},
    ),
    "LeakyRelu": (75, {"alpha": _Field(0, "float", 0.0)}),
    "Abs": (78, {}),
    "SplitV": (79, {"num_splits": _Field(0, "int")}),
    "Quantize": (89, {}),
    "HardSwish": (91, {}),
    "CallOnce": (103, {"init_subgraph_index": _Field(0, "int")}),
    "VarHandle": (111, {"container": _Field(0, "string", None), "shared_name": _Field(1, "string", None)}),
}

# Operator -> its builtin code and its options table; None where the schema has no table.
_OPS: dict[str, tuple[int, str | None]] = {
    "ADD": (0, "Add"),
    "AVERAGE_POOL_2D": (1, "Pool2D"),
    "CONCATENATION": (2, "Concatenation"),
    "CONV_2D": (3, "Conv2D"),
    "DEPTHWISE_CONV_2D": (4, "DepthwiseConv2D"),
    "DEQUANTIZE": (6, "Dequantize"),
    "FULLY_CONNECTED": (9, "FullyConnected"),
    "LOGISTIC": (14, None),
    "MAX_POOL_2D": (17, "Pool2D"),
    "MUL": (18, "Mul"),
    "RELU": (19, None),
    "RELU_N1_TO_1": (20, None),
    "RELU6": (21, None),
    "RESHAPE": (22, "Reshape"),
    "RESIZE_BILINEAR": (23, "ResizeBilinear"),
    "SOFTMAX": (25, "Softmax"),
    "SVDF": (27, "SVDF"),
    "TANH": (28, None),
    "CUSTOM": (32, None),
    "PAD": (34, "Pad"),
    "GATHER": (36, "Gather"),
    "TRANSPOSE": (39, "Transpose"),
    "MEAN": (40, "Reducer"),
    "SUB": (41, "Sub"),
    "DIV": (42, "Div"),
    "SQUEEZE": (43, "Squeeze"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (44, "UnidirectionalSequenceLSTM"),
    "STRIDED_SLICE": (45, "StridedSlice"),
    "SPLIT": (49, "Split"),
    "CAST": (53, "Cast"),
    "PRELU": (54, None),
    "MAXIMUM": (55, "MaximumMinimum"),
    "MINIMUM": (57, "MaximumMinimum"),
    "PADV2": (60, "PadV2"),
    "SLICE": (65, "Slice"),
    "TRANSPOSE_CONV": (67, "TransposeConv"),
    "EXPAND_DIMS": (70, "ExpandDims"),
    "SUM": (74, "Reducer"),
    "SHAPE": (77, "Shape"),
    "REDUCE_MAX": (82, "Reducer"),
    "PACK": (83, "Pack"),
    "UNPACK": (88, "Unpack"),
    "ZEROS_LIKE": (93, "ZerosLike"),
    "FILL": (94, "Fill"),
    "RESIZE_NEAREST_NEIGHBOR": (97, "ResizeNearestNeighbor"),
    "LEAKY_RELU": (98, "LeakyRelu"),
    "ABS": (101, "Abs"),
    "SPLIT_V": (102, "SplitV"),
    "QUANTIZE": (114, "Quantize"),
    "HARD_SWISH": (117, "HardSwish"),
    "CALL_ONCE": (129, "CallOnce"),
    "VAR_HANDLE": (142, "VarHandle"),
    "READ_VARIABLE": (143, None),
    "ASSIGN_VARIABLE": (144, None),
}


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


@dataclass(frozen=True)
class _Operator:
    opcode: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: str | None
    options: dict[str, Any]
    custom_options: bytes
    intermediates: tuple[int, ...]


@dataclass
class Writer:
    """Collects tensors and operators in the order they are added; `finish` gives the bytes of the file."""

    name: str
    _tensors: list[_Tensor] = field(default_factory=list, init=False)
    _operators: list[_Operator] = field(default_factory=list, init=False)
    _opcodes: list[tuple[int, str, int]] = field(default_factory=list, init=False)
    # Buffer 0 means "no data", by the format's convention.
    _buffers: list[bytes] = field(default_factory=lambda: [b""], init=False)
    _inputs: list[int] = field(default_factory=list, init=False)
    _outputs: list[int] = field(default_factory=list, init=False)
    _others: list[Writer] = field(default_factory=list, init=False)

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
        """Adds a state that an operator keeps from one inference to the next."""
        return self._add(name, shape, dtype, scale, zero_point, axis=0, buffer=0, variable=True)

    def const(
        self,
        name: str,
        values: ArrayLike,
        scale: float | Sequence[float] | NDArray[np.floating] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
    ) -> int:
        """Adds a constant; its type is the array's, so pass `np.int32(...)` arrays for shapes and axes."""
        array = np.asarray(values)
        self._buffers.append(array.astype(array.dtype.newbyteorder("<")).tobytes())
        buffer = len(self._buffers) - 1
        return self._add(name, array.shape, array.dtype.name, scale, zero_point, axis, buffer)

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
        if kind not in _OPS:
            raise ValueError(f"{kind}: not in the writer's table of operators")
        code, table = _OPS[kind]
        known = _OPTIONS[table][1] if table else {}
        unknown = sorted(options.keys() - known.keys())
        if unknown:
            raise ValueError(f"{kind}: no option {', '.join(unknown)} (it has: {', '.join(known) or 'none'})")
        bad = [i for i in (*inputs, *outputs, *intermediates) if not NO_TENSOR <= i < len(self._tensors)]
        if bad:
            raise ValueError(f"{kind}: no tensor with index {bad[0]}")
        opcode = (code, custom_code, version)
        if opcode not in self._opcodes:
            self._opcodes.append(opcode)
        ids = tuple(inputs), tuple(outputs)
        self._operators.append(
            _Operator(self._opcodes.index(opcode), *ids, table, options, custom_options, tuple(intermediates))
        )

    def output(self, *indices: int) -> None:
        """Marks tensors as the model's next outputs."""
        self._outputs.extend(indices)

    def finish(self) -> bytes:
        """The file. The writer is left as it was, so more may be added and written again."""
        b = flatbuffers.Builder(1024 + sum(len(data) + 64 for data in self._buffers))
        buffers = _offsets(b, [_buffer(b, data) for data in self._buffers])
        subgraphs = [writer._subgraph(b) for writer in (self, *self._others)]
        opcodes = _offsets(b, [_opcode(b, *opcode) for opcode in self._opcodes])
        model = _table(
            b,
            5,
            {
                0: ("Uint32", _SCHEMA_VERSION),
                1: ("UOffsetTRelative", opcodes),
                2: ("UOffsetTRelative", _offsets(b, subgraphs)),
                3: ("UOffsetTRelative", b.CreateString(self.name)),
                4: ("UOffsetTRelative", buffers),
            },
        )
        b.Finish(model, file_identifier=_FILE_IDENTIFIER)
        return bytes(b.Output())

    def _subgraph(self, b: flatbuffers.Builder) -> int:
        tensors = _offsets(b, [_tensor(b, tensor) for tensor in self._tensors])
        operators = _offsets(b, [_operator(b, operator) for operator in self._operators])
        return _table(
            b,
            5,
            {
                0: ("UOffsetTRelative", tensors),
                1: ("UOffsetTRelative", _ints(b, self._inputs)),
                2: ("UOffsetTRelative", _ints(b, self._outputs)),
                3: ("UOffsetTRelative", operators),
                4: ("UOffsetTRelative", b.CreateString(self.name)),
            },
        )

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
    ) -> int:
        if dtype not in _DTYPES:
            raise ValueError(f"{name}: no tensor type {dtype} (there are: {', '.join(_DTYPES)})")
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
            )
        )
        return len(self._tensors) - 1


def _table(b: flatbuffers.Builder, slots: int, fields: dict[int, tuple[str, Any]]) -> int:
    """One FlatBuffer table from slot -> (kind of slot, value); what it points to has been written before."""
    b.StartObject(slots)
    for slot, (kind, value) in fields.items():
        getattr(b, f"Prepend{kind}Slot")(slot, value, None if kind != "UOffsetTRelative" else 0)
    return int(b.EndObject())


def _ints(b: flatbuffers.Builder, values: Iterable[int]) -> int:
    return int(b.CreateNumpyVector(np.fromiter(values, np.int32)))


def _offsets(b: flatbuffers.Builder, offsets: list[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _bytes(b: flatbuffers.Builder, data: bytes, alignment: int) -> int:
    """A vector of bytes whose first byte is aligned in the file, so that a reader may use it in place."""
    b.StartVector(1, len(data), alignment)
    b.head -= len(data)
    b.Bytes[b.head : b.head + len(data)] = data
    return int(b.EndVector())


def _buffer(b: flatbuffers.Builder, data: bytes) -> int:
    if not data:
        return _table(b, 1, {})
    return _table(b, 1, {0: ("UOffsetTRelative", _bytes(b, data, _BUFFER_ALIGNMENT))})


def _tensor(b: flatbuffers.Builder, t: _Tensor) -> int:
    fields: dict[int, tuple[str, Any]] = {
        0: ("UOffsetTRelative", _ints(b, t.shape)),
        3: ("UOffsetTRelative", b.CreateString(t.name)),
    }
    if t.scales:
        fields[4] = ("UOffsetTRelative", _quantization(b, t))
    if t.signature is not None:
        fields[7] = ("UOffsetTRelative", _ints(b, t.signature))
    if _DTYPES[t.dtype]:
        fields[1] = ("Int8", _DTYPES[t.dtype])
    if t.variable:
        fields[5] = ("Bool", True)
    if t.buffer:
        fields[2] = ("Uint32", t.buffer)
    return _table(b, 8, fields)


def _quantization(b: flatbuffers.Builder, t: _Tensor) -> int:
    fields: dict[int, tuple[str, Any]] = {
        2: ("UOffsetTRelative", b.CreateNumpyVector(np.asarray(t.scales, np.float32))),
        3: ("UOffsetTRelative", b.CreateNumpyVector(np.asarray(t.zero_points, np.int64))),
    }
    if t.axis:
        fields[6] = ("Int32", t.axis)
    return _table(b, 7, fields)


def _opcode(b: flatbuffers.Builder, code: int, custom_code: str, version: int) -> int:
    """Codes above 127 live only in the newer field; the older one then says 127."""
    fields: dict[int, tuple[str, Any]] = {}
    if custom_code:
        fields[1] = ("UOffsetTRelative", b.CreateString(custom_code))
    fields[0] = ("Int8", min(code, _MAX_OLD_OPCODE))
    if version != 1:
        fields[2] = ("Int32", version)
    if code:
        fields[3] = ("Int32", code)
    return _table(b, 4, fields)


def _operator(b: flatbuffers.Builder, op: _Operator) -> int:
    fields: dict[int, tuple[str, Any]] = {
        1: ("UOffsetTRelative", _ints(b, op.inputs)),
        2: ("UOffsetTRelative", _ints(b, op.outputs)),
    }
    if op.table:
        union, known = _OPTIONS[op.table]
        fields[4] = ("UOffsetTRelative", _options(b, known, op.options))
        fields[3] = ("Uint8", union)
    if op.custom_options:
        fields[5] = ("UOffsetTRelative", _bytes(b, op.custom_options, 1))
    if op.intermediates:
        fields[8] = ("UOffsetTRelative", _ints(b, op.intermediates))
    if op.opcode:
        fields[0] = ("Uint32", op.opcode)
    return _table(b, 9, fields)


def _options(b: flatbuffers.Builder, known: dict[str, _Field], options: dict[str, Any]) -> int:
    """The options table; a value equal to the schema's default is left out."""
    fields: dict[int, tuple[str, Any]] = {}
    for name, f in known.items():
        value = options.get(name, f.default if f.given is None else f.given)
        if f.kind in _ENUMS and value not in _ENUMS[f.kind]:
            raise ValueError(f"{name}: no {value} (there are: {', '.join(_ENUMS[f.kind])})")
        if f.kind in _ENUMS:
            value = _ENUMS[f.kind][value]
        if value == f.default:
            continue
        fields[f.slot] = _option(b, f.kind, value)
    return _table(b, 1 + max((f.slot for f in known.values()), default=-1), fields)


def _option(b: flatbuffers.Builder, kind: str, value: Any) -> tuple[str, Any]:
    """The kind of slot and the value to put in it."""
    if kind == "ints":
        return "UOffsetTRelative", _ints(b, value)
    if kind == "string":
        return "UOffsetTRelative", b.CreateString(value)
    if kind == "int":
        return "Int32", int(value)
    if kind == "float":
        return "Float32", float(value)
    if kind == "bool":
        return "Bool", bool(value)
    return "Int8", value
