"""Quantized ONNX models are exact to ONNX Runtime: every operator, every group of DequantizeLinear and QuantizeLinear
that it joins, and what it leaves in real numbers; in NumPy, and in generated C."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.ir.graph import Graph
from tests.helpers.onnx_models import Net, judge_of
from tests.helpers.support import exact_on_x86

MICROSOFT = "com.microsoft"
SCALES = (0.0371, 0.0529, 0.0713)
BYTES = ["uint8", pytest.param("int8", marks=pytest.mark.frontends)]


def zero_of(dtype: str, zero: int) -> int:
    return zero if dtype == "uint8" else zero - 128


def passed(model: bytes, inputs: int = 3) -> Compiled:
    """Generated C gives what ONNX Runtime does, or NumPy's integers where that saturates: every integer, and floats
    within what roundings explain. Plans for speed are found soonest."""
    compiled = compile(model, optimize="speed")
    result = verify(compiled, inputs, sanitize=True)
    assert result.reference.startswith(judge_of(model))
    assert result.passed, (result.mismatches, compiled.source.text())
    return compiled


def kinds(graph: Graph) -> list[tuple[str, str]]:
    """The operators that compute, and what they compute with."""
    moved = ("QUANTIZE", "DEQUANTIZE", "RESHAPE", "TABLE")
    return [(op.kind, str(op.input(graph).dtype)) for op in graph.ops if op.kind not in moved]


def operators(net: Net, dtype: str) -> Iterator[tuple[str, str]]:
    """Operators on codes, with the types of their results."""
    zero = zero_of(dtype, 120)
    x = net.quantized(net.input(1, 4, 6, 6), SCALES[0], zero, dtype)
    y = net.quantized(net.input(1, 4, 6, 6), SCALES[1], zero + 3, dtype)
    first, second, last = (net.scaled(SCALES[i], zero + 3 * (i == 1), dtype) for i in range(3))
    weights = net.const(net.rng.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8))
    per_channel = net.scaled(net.rng.uniform(0.001, 0.003, 6), 0, "int8")
    bias = net.const(net.rng.integers(-3000, 3000, 6).astype(np.int32))
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    yield net.op("QLinearConv", x, *first, weights, *per_channel, *last, bias, **conv), dtype
    deep = net.const(net.rng.integers(-127, 128, (8, 1, 3, 3)).astype(np.int8))
    one = net.scaled(0.013, 0, "int8")
    yield net.op("QLinearConv", x, *first, deep, *one, *last, kernel_shape=[3, 3], group=4), dtype
    grouped = net.const(net.rng.integers(-127, 128, (6, 2, 1, 1)).astype(np.int8))
    yield net.op("QLinearConv", x, *first, grouped, *one, *last, kernel_shape=[1, 1], group=2), dtype
    if dtype == "uint8":
        offset = net.const(net.rng.integers(0, 256, (5, 4, 1, 1)).astype(np.uint8))
        yield (
            net.op("QLinearConv", x, *first, offset, *net.scaled(0.01, 77, "uint8"), *last, kernel_shape=[1, 1]),
            dtype,
        )
    matrix = net.const(net.rng.integers(-127, 128, (6, 7)).astype(np.int8))
    columns = net.scaled(net.rng.uniform(0.005, 0.02, 7), 0, "int8")
    yield net.op("QLinearMatMul", x, *first, matrix, *columns, *last), dtype
    yield net.op("QLinearMatMul", x, *first, y, *second, *last), dtype
    yield net.op("QLinearAdd", x, *first, y, *second, *last, domain=MICROSOFT), dtype
    yield net.op("QLinearMul", x, *first, y, *second, *last, domain=MICROSOFT), dtype
    channel = net.const(net.rng.integers(0, 100, (4, 1, 1)).astype(dtype))
    yield net.op("QLinearAdd", x, *first, channel, *second, *last, domain=MICROSOFT), dtype
    small = net.scaled(1 / 256, zero_of(dtype, 0), dtype)
    yield net.op("QLinearSigmoid", x, *first, *small, domain=MICROSOFT), dtype
    yield net.op("QLinearLeakyRelu", x, *first, *last, domain=MICROSOFT, alpha=0.2), dtype
    window = {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}
    yield net.op("QLinearAveragePool", x, *first, *last, domain=MICROSOFT, **window), dtype
    yield net.op("QLinearGlobalAveragePool", x, *first, *last, domain=MICROSOFT, channels_last=0), dtype
    yield net.op("QLinearSoftmax", x, *first, *small, domain=MICROSOFT, opset=13, axis=-1), dtype
    yield net.op("QLinearConcat", *last, x, *first, y, *second, domain=MICROSOFT, axis=1), dtype
    chosen = net.const(net.rng.random((1, 4, 6, 6)) < 0.5)
    yield net.op("QLinearWhere", chosen, x, *first, y, *second, *last, domain=MICROSOFT), dtype
    rows = net.quantized(net.input(3, 12), SCALES[0], zero, dtype)
    turned = net.const(net.rng.integers(-127, 128, (5, 12)).astype(np.int8))
    bias = net.const(net.rng.integers(-3000, 3000, 5).astype(np.int32))
    both = rows, *first, turned, *one, bias
    yield net.op("QGemm", *both, *last, domain=MICROSOFT, transB=1), dtype
    yield net.op("QGemm", *both, domain=MICROSOFT, transB=1), "float32"
    yield net.op("MatMulInteger", rows, net.const(np.asarray(matrix_of(net, 12, 4))), first[1]), "int32"
    yield net.op("ConvInteger", x, weights, first[1], kernel_shape=[3, 3]), "int32"


def matrix_of(net: Net, depth: int, channels: int) -> np.ndarray:
    return net.rng.integers(-127, 128, (depth, channels)).astype(np.int8)


@exact_on_x86
@pytest.mark.parametrize("dtype", BYTES)
def test_operators(dtype: str) -> None:
    net = Net(seed=len(dtype))
    for name, made in list(operators(net, dtype)):
        net.output(name, made)
    graph = passed(net.model()).source
    floats = [kind for kind, of in kinds(graph) if of == "float32"]
    assert set(floats) <= {"SUB", "FULLY_CONNECTED", "MUL", "CONV_2D", "CAST"}


def groups(net: Net, dtype: str) -> Iterator[str]:
    """Operators between DequantizeLinear and QuantizeLinear that become one of integers."""
    zero = zero_of(dtype, 100)
    least = zero_of(dtype, 0)

    def x(*shape: int, i: int = 0) -> str:
        return net.fake(net.input(*shape), SCALES[i], zero + i, dtype)

    def y(name: str, scale: float = SCALES[2], at: int = zero) -> str:
        return net.fake(name, scale, at, dtype)

    scales = net.rng.uniform(0.001, 0.003, 6).astype(np.float32)
    bias = np.float32(SCALES[0]) * scales
    image = x(1, 4, 6, 6)
    kernel = net.weights((6, 4, 3, 3), scales)
    whole = net.weights((6,), bias, dtype="int32")
    made = y(net.op("Conv", image, kernel, whole, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    yield made
    yield y(net.op("Relu", net.op("Conv", image, kernel, whole, kernel_shape=[3, 3])), at=least)
    real = net.const(net.rng.normal(size=6).astype(np.float32))
    clip = net.op("Clip", net.op("Conv", image, kernel, real, kernel_shape=[3, 3]), *map(net.const, np.float32([0, 6])))
    yield y(clip, 6 / 255, least)
    if dtype == "uint8":
        yield y(net.op("Conv", image, net.weights((5, 4, 1, 1), 0.01, 131, "uint8"), kernel_shape=[1, 1]))
    yield y(net.op("MaxPool", made, kernel_shape=[2, 2], strides=[2, 2]))
    yield y(net.op("AveragePool", made, kernel_shape=[2, 2], strides=[2, 2]), 0.041)
    yield y(net.op("GlobalAveragePool", made), 0.033, zero + 9)
    yield y(net.op("Add", made, y(net.op("Relu", made))), 0.1)
    yield y(net.op("Add", made, x(1, 6, 6, 6, i=1)), 0.1)
    yield y(net.op("Mul", made, x(1, 6, 1, 1, i=1)), 0.05)
    yield y(net.op("Concat", made, x(1, 6, 6, 6, i=1), axis=1), 0.09)
    yield y(net.op("Sigmoid", made), 1 / 256, least)
    yield y(net.op("Softmax", x(4, 10), axis=-1), 1 / 256, least)
    yield y(net.op("LeakyRelu", made, alpha=0.1))
    flat = net.op(
        "Reshape", y(net.op("MaxPool", made, kernel_shape=[3, 3], strides=[3, 3])), net.const(np.array([1, 24]))
    )
    yield y(
        net.op("Gemm", flat, net.weights((5, 24), 0.01), net.weights((5,), SCALES[2] * 0.01, dtype="int32"), transB=1),
        0.1,
    )
    yield net.op("Gemm", flat, net.weights((24, 5), 0.01))
    product = net.op("MatMul", x(2, 3, 8), net.weights((8, 5), net.rng.uniform(0.01, 0.02, 5), axis=1))
    yield y(net.op("Add", product, net.const(net.rng.normal(size=5).astype(np.float32))), 0.05)
    yield y(net.op("MatMul", x(2, 3, 8), x(2, 8, 4, i=1)), 0.06)
    yield net.op("MatMul", x(2, 3, 8), net.weights((8, 5), 0.01))
    yield y(
        net.op("Transpose", net.op("Slice", made, *(net.const(np.array([n])) for n in (1, 5, 2))), perm=[0, 2, 3, 1])
    )


@pytest.mark.slow
@exact_on_x86
@pytest.mark.parametrize("dtype", BYTES)
def test_groups(dtype: str) -> None:
    net = Net(seed=3 * len(dtype))
    for name in list(groups(net, dtype)):
        net.output(name)
    graph = passed(net.model()).source
    floats = {kind for kind, of in kinds(graph) if of == "float32"}
    assert floats <= {"SUB", "FULLY_CONNECTED", "MUL", "CAST", "RELU"}, floats


def left_alone(net: Net) -> Iterator[str]:
    """What ONNX Runtime computes with real numbers, between codes of any type."""
    for dtype in ("uint8", "int8", "int16", "uint16"):
        zero = {"uint8": 100, "int8": -28, "int16": 0, "uint16": 30000}[dtype]
        scale = SCALES[0] if dtype.endswith("t8") else SCALES[0] / 100
        x = net.fake(net.input(1, 4, 5, 5), scale, zero, dtype)
        kernel = net.weights((3, 4, 2, 2), 0.01)
        yield net.fake(net.op("LeakyRelu", net.op("Conv", x, kernel, kernel_shape=[2, 2])), scale, zero, dtype)
        yield net.fake(net.op("Tanh", x), scale, zero, dtype)
        yield net.fake(net.op("Sub", x, net.const(np.float32(0.3))), scale, zero, dtype)
        yield net.op("ReduceMean", x, net.const(np.array([2, 3])))


@exact_on_x86
def test_left_alone() -> None:
    """Real numbers that are quantized again may be off by a step where two sums are rounded to different sides of a
    half; here none is."""
    net = Net(seed=11)
    for name in list(left_alone(net)):
        net.output(name)
    graph = passed(net.model()).source
    assert [of for kind, of in kinds(graph) if kind == "CONV_2D"] == ["float32"] * 4


@exact_on_x86
def test_codes_at_the_edges() -> None:
    """A model that takes and gives uint8."""
    net = Net()
    x = net.input(1, 3, 4, 4, dtype="uint8")
    real = net.real(x, 0.02, 11, "uint8")
    made = net.op("Conv", real, net.weights((4, 3, 1, 1), 0.01), kernel_shape=[1, 1])
    net.output(net.quantized(made, 0.03, 99, "uint8"), "uint8")
    graph = passed(net.model()).source
    assert [str(graph.tensors[i].dtype) for i in (*graph.inputs, *graph.outputs)] == ["uint8", "uint8"]
    assert kinds(graph)[-1] != ("CONV_2D", "float32") and ("CONV_2D", "int8") in kinds(graph)


@exact_on_x86
def test_dynamic() -> None:
    """Scales that follow from the values, as quantize_dynamic writes them."""
    net = Net()
    x = net.input(2, 12)
    weights = net.const(matrix_of(net, 12, 7))
    scale, zero = net.scaled(0.02, 0, "int8")
    bias = net.const(net.rng.normal(size=7).astype(np.float32))
    net.output(net.op("DynamicQuantizeMatMul", x, weights, scale, zero, bias, domain=MICROSOFT))
    codes = net.quantized(x, 0.03, 100, "uint8")
    to_float = net.op(
        "MatMulIntegerToFloat", codes, weights, *net.scaled(0.03, 100, "uint8")[:1], scale,
        net.const(np.uint8(100)), zero, bias, domain=MICROSOFT,
    )  # fmt: skip
    net.output(to_float)
    passed(net.model())


def computed_zero(net: Net) -> str:
    codes, zero = net.input(4, dtype="int8"), net.input(dtype="int8")
    return net.op("DequantizeLinear", codes, net.const(np.float32(1)), zero)


def no_scale(net: Net) -> str:
    return net.quantized(net.input(4), 0.0, 0, "int8")


def misfit(net: Net) -> str:
    return net.op("QuantizeLinear", net.input(2, 3), net.const(np.float32([1, 2])), axis=1)


REFUSED = [("a zero point that is computed", computed_zero), ("a scale of 0", no_scale), ("do not fit", misfit)]


@pytest.mark.parametrize(("words", "build"), REFUSED)
def test_refused(words: str, build: Callable[[Net], str]) -> None:
    net = Net()
    name = build(net)
    net.output(name, "float32" if "dequantize" in name else "uint8")
    with pytest.raises(Exception, match=words):
        compile(net.model())
