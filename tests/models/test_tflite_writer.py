"""The writer against LiteRT: its schema module reads back each field, its interpreter runs each operator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="the checks need ai-edge-litert")

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from mote.frontends.tflite.file.schema import OPTIONS, FieldKind
from mote.frontends.tflite.writer import NO_TENSOR, Writer

RNG = np.random.default_rng(0)


def i32(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def i8(*shape: int) -> np.ndarray:
    return RNG.integers(-100, 100, shape).astype(np.int8)


def run(data: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Runs a model in LiteRT's reference kernels; inputs not given are random."""
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for i, detail in enumerate(interpreter.get_input_details()):
        value = inputs[i] if i < len(inputs) else RNG.uniform(0, 100, detail["shape"])
        interpreter.set_tensor(detail["index"], value.astype(detail["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


# Operator, operands (a shape: an input; an array: a constant; None: left out), output shapes, options.
# LiteRT wants a bias in an int8 CONV_2D, and in a depthwise one either a bias or no third input at all.
IMAGE = (1, 6, 6, 4)
CASES: list[tuple[str, list[Any], list[tuple[int, ...]], dict[str, Any]]] = [
    ("CONV_2D", [IMAGE, i8(5, 3, 3, 4), i32(1, 2, 3, 4, 5)], [(1, 3, 3, 5)], {"stride_h": 2, "stride_w": 2}),
    ("CONV_2D", [IMAGE, i8(2, 3, 3, 4), i32(1, 2)], [(1, 2, 4, 2)],
     {"dilation_h_factor": 2, "padding": "VALID"}),
    ("DEPTHWISE_CONV_2D", [IMAGE, i8(1, 3, 3, 8)], [(1, 6, 6, 8)], {"depth_multiplier": 2}),
    ("FULLY_CONNECTED", [(2, 6), i8(5, 6), None], [(2, 5)], {"fused_activation_function": "RELU"}),
    ("FULLY_CONNECTED", [(1, 2, 6), i8(5, 6), None], [(1, 2, 5)], {"keep_num_dims": True}),
    ("AVERAGE_POOL_2D", [IMAGE], [(1, 3, 2, 4)],
     {"padding": "VALID", "filter_height": 2, "filter_width": 3, "stride_h": 2, "stride_w": 3}),
    ("MAX_POOL_2D", [IMAGE], [(1, 6, 6, 4)], {"filter_height": 3, "filter_width": 3}),
    ("MEAN", [IMAGE, i32(1, 2)], [(1, 1, 1, 4)], {"keep_dims": True}),
    ("SUM", [IMAGE, i32(1)], [(1, 6, 4)], {}),
    ("REDUCE_MAX", [IMAGE, i32(1)], [(1, 6, 4)], {}),
    ("ADD", [IMAGE, (1, 1, 1, 4)], [IMAGE], {"fused_activation_function": "RELU6"}),
    ("SUB", [IMAGE, IMAGE], [IMAGE], {}),
    ("MUL", [IMAGE, IMAGE], [IMAGE], {}),
    ("MAXIMUM", [IMAGE, IMAGE], [IMAGE], {}),
    ("MINIMUM", [IMAGE, IMAGE], [IMAGE], {}),
    ("PAD", [IMAGE, i32([0, 0], [1, 2], [0, 1], [0, 0])], [(1, 9, 7, 4)], {}),
    ("PADV2", [IMAGE, i32([0, 0], [1, 2], [0, 1], [0, 0]), np.int8(7)], [(1, 9, 7, 4)], {}),
    ("RESHAPE", [IMAGE, i32(2, 72)], [(2, 72)], {}),
    ("RESHAPE", [IMAGE], [(2, 72)], {"new_shape": [2, 72]}),
    ("SQUEEZE", [(1, 6, 1, 4)], [(1, 6, 4)], {"squeeze_dims": [2]}),
    ("EXPAND_DIMS", [(6, 4), np.int32(1)], [(6, 1, 4)], {}),
    ("TRANSPOSE", [IMAGE, i32(0, 3, 1, 2)], [(1, 4, 6, 6)], {}),
    ("CONCATENATION", [IMAGE, IMAGE], [(1, 12, 6, 4)], {"axis": 1}),
    ("PACK", [(6, 4), (6, 4)], [(6, 2, 4)], {"values_count": 2, "axis": 1}),
    ("UNPACK", [(6, 2, 4)], [(6, 4), (6, 4)], {"num": 2, "axis": 1}),
    ("FILL", [i32(2, 3), np.int8(7)], [(2, 3)], {}),
    ("SLICE", [IMAGE, i32(0, 1, 2, 0), i32(1, 3, 2, 4)], [(1, 3, 2, 4)], {}),
    ("STRIDED_SLICE", [IMAGE, i32(0, 1, 0, 2), i32(1, 6, 3, 3), i32(1, 2, 1, 1)], [(1, 3, 6)],
     {"end_mask": 4, "shrink_axis_mask": 8}),
    ("SPLIT", [np.int32(3), IMAGE], [(1, 6, 6, 2), (1, 6, 6, 2)], {"num_splits": 2}),
    ("SPLIT_V", [IMAGE, i32(1, 3), np.int32(3)], [(1, 6, 6, 1), (1, 6, 6, 3)], {"num_splits": 2}),
    ("SOFTMAX", [(2, 10)], [(2, 10)], {}),
    ("LOGISTIC", [IMAGE], [IMAGE], {}),
    ("TANH", [IMAGE], [IMAGE], {}),
    ("RELU", [IMAGE], [IMAGE], {}),
    ("RELU6", [IMAGE], [IMAGE], {}),
    ("RELU_N1_TO_1", [IMAGE], [IMAGE], {}),
    ("LEAKY_RELU", [IMAGE], [IMAGE], {"alpha": 0.25}),
    ("PRELU", [IMAGE, i8(1, 1, 4)], [IMAGE], {}),
    ("HARD_SWISH", [IMAGE], [IMAGE], {}),
    ("QUANTIZE", [IMAGE], [IMAGE], {}),
    ("RESIZE_NEAREST_NEIGHBOR", [IMAGE, i32(12, 9)], [(1, 12, 9, 4)], {"half_pixel_centers": True}),
    ("RESIZE_BILINEAR", [IMAGE, i32(12, 9)], [(1, 12, 9, 4)], {"align_corners": True}),
    ("TRANSPOSE_CONV", [i32(1, 12, 12, 5), i8(5, 3, 3, 4), IMAGE, None], [(1, 12, 12, 5)],
     {"stride_h": 2, "stride_w": 2}),
    ("GATHER", [IMAGE, i32(3, 1)], [(1, 6, 2, 4)], {"axis": 2}),
    ("ABS", [IMAGE], [IMAGE], {}),
]  # fmt: skip
# The reference kernels fix the output scale of these.
OUTPUT_SCALE = {"SOFTMAX": (1 / 256, -128), "LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
SAME_SCALE = (0.05, -3)


def int8_model(kind: str, operands: list[Any], outputs: list[tuple[int, ...]], options: dict[str, Any]) -> bytes:
    """A one-operator int8 model: a tuple is an input's shape, an array a constant, None no input."""
    w = Writer(kind)
    inputs = []
    for n, operand in enumerate(operands):
        if operand is None:
            inputs.append(NO_TENSOR)
        elif isinstance(operand, tuple):
            inputs.append(w.input(f"x{n}", operand, "int8", *SAME_SCALE))
        elif operand.dtype == np.int8 and kind in ("PADV2", "FILL"):
            inputs.append(w.const(f"c{n}", operand, *SAME_SCALE))
        elif operand.dtype == np.int8:
            inputs.append(w.const(f"c{n}", operand, 0.01))
        else:
            inputs.append(w.const(f"c{n}", operand))
    scale = OUTPUT_SCALE.get(kind, SAME_SCALE)
    results = [w.tensor(f"y{n}", shape, "int8", *scale) for n, shape in enumerate(outputs)]
    w.op(kind, inputs, results, **options)
    w.output(*results)
    return w.finish()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_int8_operator_runs_in_litert(
    case: tuple[str, list[Any], list[tuple[int, ...]], dict[str, Any]],
) -> None:
    results = run(int8_model(*case))
    assert [r.shape for r in results] == case[2]
    assert all(r.dtype == np.int8 for r in results)


FOLDERS = ("ir/ops", "helpers", "frontends/tflite", "compiler/passes")
"""Folders of tests that write models."""


def test_every_operator_is_tried() -> None:
    """Here, or in a test that writes models of the operator and compares with LiteRT what they compute."""
    tests = Path(__file__).parents[1]
    paths = [path for folder in FOLDERS for path in (tests / folder).rglob("*.py")]
    sources = "".join(path.read_text(encoding="utf-8") for path in paths)
    tried = {case[0] for case in CASES} | set(re.findall(r'"([A-Z][A-Z0-9_]+)"', sources))
    assert sorted(OPTIONS.keys() - tried) == []


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def unusual(kind: FieldKind) -> tuple[Any, Any]:
    """A value no field has by default, as the writer takes it and as the file holds it."""
    return {
        FieldKind.PADDING: ("VALID", schema.Padding.VALID),
        FieldKind.ACTIVATION: ("RELU6", schema.ActivationFunctionType.RELU6),
        FieldKind.TENSOR_TYPE: ("int8", schema.TensorType.INT8),
        FieldKind.WEIGHTS_FORMAT: (
            "SHUFFLED4x16INT8",
            schema.FullyConnectedOptionsWeightsFormat.SHUFFLED4x16INT8,
        ),
        FieldKind.MIRROR_MODE: ("SYMMETRIC", schema.MirrorPadMode.SYMMETRIC),
        FieldKind.INT32: (3, 3),
        FieldKind.UINT32: (2**32 - 3, 2**32 - 3),
        FieldKind.FLOAT32: (0.75, 0.75),
        FieldKind.INT32S: ([5, 4], [5, 4]),
        FieldKind.STRING: ("word", b"word"),
        FieldKind.BYTES: (b"\1\2\3", [1, 2, 3]),
    }[kind]


@pytest.mark.parametrize("kind", sorted(OPTIONS))
def test_codes_and_options_are_those_of_the_schema(kind: str) -> None:
    table, fields = OPTIONS[kind].table, OPTIONS[kind].fields
    values = {name: (not f.default,) * 2 if f.kind is FieldKind.BOOL else unusual(f.kind) for name, f in fields.items()}
    w = Writer(kind)
    x = w.input("x", (4,), "float32")
    w.op(kind, [x], [x], **{name: given for name, (given, _) in values.items()})
    model = schema.ModelT.InitFromPackedBuf(w.finish(), 0)
    assert model.version == 3
    code = getattr(schema.BuiltinOperator, kind)
    assert (model.operatorCodes[0].builtinCode, model.operatorCodes[0].deprecatedBuiltinCode) == (code, min(code, 127))
    options = getattr(model.subgraphs[0].operators[0], camel(OPTIONS[kind].union))
    assert type(options).__name__ == (f"{table}OptionsT" if table else "NoneType")
    for name, (_, stored) in values.items():
        assert np.array_equal(getattr(options, camel(name)), stored), name


def test_options_not_given_do_nothing_surprising() -> None:
    w = Writer("defaults")
    x = w.input("x", IMAGE, "float32")
    w.op("DEPTHWISE_CONV_2D", [x, x], [x])
    options = schema.ModelT.InitFromPackedBuf(w.finish(), 0).subgraphs[0].operators[0].builtinOptions
    assert (options.strideW, options.strideH, options.depthMultiplier, options.dilationWFactor) == (
        1,
        1,
        1,
        1,
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32", "bool"])
def test_tensor_types(dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    w = Writer(dtype)
    x = w.input("x", (2, 3), dtype)
    c = w.const("c", values)
    y = w.tensor("y", (4, 3), dtype)
    w.op("CONCATENATION", [x, c], [y], axis=0)
    w.output(y)
    assert np.array_equal(run(w.finish(), values)[0], np.concatenate([values, values]))


def test_quantization_is_stored_per_tensor_and_per_channel() -> None:
    w = Writer("scales")
    x = w.input("x", IMAGE, "int8", scale=0.5, zero_point=-7)
    k = w.const("k", i8(1, 3, 3, 4), scale=[0.1, 0.2, 0.3, 0.4], axis=3)
    y = w.tensor("y", IMAGE, "int8", scale=2.0, zero_point=5)
    w.op("DEPTHWISE_CONV_2D", [x, k], [y])
    w.output(y)
    interpreter = Interpreter(model_content=w.finish())
    quantization = {d["name"]: d["quantization_parameters"] for d in interpreter.get_tensor_details()}
    assert quantization["x"]["scales"].tolist() == [0.5]
    assert quantization["x"]["zero_points"].tolist() == [-7]
    assert np.allclose(quantization["k"]["scales"], [0.1, 0.2, 0.3, 0.4])
    assert quantization["k"]["zero_points"].tolist() == [0, 0, 0, 0]
    assert quantization["k"]["quantized_dimension"] == 3


def test_float_convolution_computes_what_was_written() -> None:
    w = Writer("float")
    x = w.input("x", (1, 4, 4, 1), "float32")
    k = w.const("k", np.ones((1, 2, 2, 1), np.float32))
    b = w.const("b", np.array([0.5], np.float32))
    y = w.tensor("y", (1, 2, 2, 1), "float32")
    w.op("CONV_2D", [x, k, b], [y], stride_h=2, stride_w=2)
    w.output(y)
    image = np.arange(16.0).reshape(1, 4, 4, 1)
    assert run(w.finish(), image)[0].ravel().tolist() == [10.5, 18.5, 42.5, 50.5]


def test_float_edges_and_two_outputs() -> None:
    w = Writer("edges")
    x = w.input("x", (3,), "float32")
    q = w.tensor("q", (3,), "int8", scale=0.5, zero_point=1)
    y = w.tensor("y", (3,), "float32")
    w.op("QUANTIZE", [x], [q])
    w.op("DEQUANTIZE", [q], [y])
    w.output(y, q)
    real, stored = run(w.finish(), np.array([0.0, 1.0, -3.1]))
    assert real.tolist() == [0.0, 1.0, -3.0]
    assert stored.tolist() == [1, 3, -5]


def test_custom_operator_is_stored() -> None:
    w = Writer("custom")
    x = w.input("x", (3,), "float32", signature=(-1,))
    w.op("CUSTOM", [x], [x], custom_code="Mine", custom_options=b"\x01\x02")
    model = schema.ModelT.InitFromPackedBuf(w.finish(), 0)
    assert model.operatorCodes[0].customCode == b"Mine"
    assert list(model.subgraphs[0].operators[0].customOptions) == [1, 2]
    assert list(model.subgraphs[0].tensors[0].shapeSignature) == [-1]


def test_variables_and_intermediates_are_stored() -> None:
    w = Writer("states")
    x = w.input("x", (3,), "float32")
    s = w.variable("s", (3,), "int8", scale=0.5, zero_point=4)
    w.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, s], [x], intermediates=[s, x])
    graph = schema.ModelT.InitFromPackedBuf(w.finish(), 0).subgraphs[0]
    assert [t.isVariable for t in graph.tensors] == [False, True]
    assert list(graph.operators[0].intermediates) == [s, x]


def test_constants_are_aligned_and_bytes_are_the_same_again() -> None:
    marker = np.arange(100, 124, dtype=np.uint8)

    def build() -> bytes:
        w = Writer("again")
        x = w.input("x", (24,), "uint8", scale=1.0)
        w.op("CONCATENATION", [x, w.const("odd", np.zeros(3, np.uint8)), w.const("c", marker)], [x])
        return w.finish()

    data = build()
    assert data == build()
    assert data[4:8] == b"TFL3"
    assert data.index(marker.tobytes()) % 16 == 0


@pytest.mark.parametrize(
    ("kind", "inputs", "options", "message"),
    [
        ("NO_SUCH", [0], {}, "not among the operators"),
        ("CONV_2D", [0], {"strides": 2}, "no option strides"),
        ("CONV_2D", [5], {}, "no tensor with index 5"),
        ("CONV_2D", [0], {"padding": "FULL"}, "no FULL"),
    ],
)
def test_mistakes_are_named(kind: str, inputs: list[int], options: dict[str, Any], message: str) -> None:
    w = Writer("wrong")
    w.input("x", (1,), "int8")
    with pytest.raises(ValueError, match=message):
        w.op(kind, inputs, [0], **options)
        w.finish()
