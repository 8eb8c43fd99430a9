"""Networks that ONNX Runtime's quantizer has quantized in all of its ways: compiled C gives the outputs of ONNX Runtime
bit for bit, on the host and on emulated cores."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.ir.graph.types import Rounding
from tests.helpers.onnx_models import Net, judge_of, onnx, ort
from tests.helpers.support import emulated, exact_on_x86

quantization = pytest.importorskip("onnxruntime.quantization")
STATIC = {
    "QDQ uint8": ("QDQ", "QUInt8", "QInt8", False),
    "QDQ uint8, per channel": ("QDQ", "QUInt8", "QInt8", True),
    "QDQ int8, per channel": ("QDQ", "QInt8", "QInt8", True),
    "QDQ uint8 weights": ("QDQ", "QUInt8", "QUInt8", False),
    "QDQ uint16": ("QDQ", "QUInt16", "QInt8", False),
    "QOperator uint8": ("QOperator", "QUInt8", "QInt8", False),
    "QOperator uint8 weights": ("QOperator", "QUInt8", "QUInt8", False),
    "QOperator int8, per channel": ("QOperator", "QInt8", "QInt8", True),
}
QUICK = ("QDQ uint8, per channel",)


def real(net: Net, *shape: int) -> str:
    """Constant weights."""
    size = float(np.sqrt(np.prod(shape[1:])))
    return net.const((net.rng.normal(size=shape) / size).astype(np.float32))


def conv(net: Net, x: str, outputs: int, inputs: int, kernel: int, groups: int = 1, stride: int = 1) -> str:
    weights, bias = real(net, outputs, inputs // groups, kernel, kernel), real(net, outputs)
    pads = [kernel // 2] * 4
    shape = {"kernel_shape": [kernel] * 2, "pads": pads, "strides": [stride] * 2}
    return net.op("Conv", x, weights, bias, group=groups, **shape)


def separable(net: Net) -> tuple[int, ...]:
    """Depthwise and pointwise layers, pooled, and classes."""
    shape = (1, 1, 20, 10)
    x = net.op("Relu", conv(net, net.input(*shape), 16, 1, 3, stride=2))
    for _ in range(2):
        x = net.op("Relu", conv(net, x, 16, 16, 3, groups=16))
        x = net.op("Relu", conv(net, x, 16, 16, 1))
    x = net.op("AveragePool", x, kernel_shape=[5, 5], strides=[5, 5])
    x = net.op("Gemm", net.op("Flatten", x), real(net, 6, 32), real(net, 6), transB=1)
    net.output(net.op("Softmax", x))
    return shape


def inverted(net: Net) -> tuple[int, ...]:
    """Blocks of MobileNetV2, with sums of what goes around them."""
    shape, six = (1, 3, 16, 16), [net.const(np.float32(n)) for n in (0, 6)]
    x = net.op("Clip", conv(net, net.input(*shape), 8, 3, 3, stride=2), *six)
    for stride in (1, 2, 1):
        y = net.op("Clip", conv(net, x, 24, 8, 1), *six)
        y = net.op("Clip", conv(net, y, 24, 24, 3, groups=24, stride=stride), *six)
        y = conv(net, y, 8, 24, 1)
        x = net.op("Add", x, y) if stride == 1 else y
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    net.output(net.op("Gemm", x, real(net, 5, 8), real(net, 5), transB=1))
    return shape


def attention(net: Net) -> tuple[int, ...]:
    """A block of a transformer with two heads."""
    shape, heads = (1, 6, 16), net.const(np.array([1, 6, 2, 8]))

    def linear(x: str, inputs: int, outputs: int) -> str:
        return net.op("Add", net.op("MatMul", x, real(net, inputs, outputs)), real(net, outputs))

    x = net.input(*shape)
    query, key, value = (net.op("Reshape", linear(x, 16, 16), heads) for _ in range(3))
    query, value = (net.op("Transpose", part, perm=[0, 2, 1, 3]) for part in (query, value))
    scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 2, 3, 1]))
    mixed = net.op("MatMul", net.op("Softmax", scores), value)
    joined = net.op("Reshape", net.op("Transpose", mixed, perm=[0, 2, 1, 3]), net.const(np.array(shape)))
    x = net.op("Add", x, linear(joined, 16, 16))
    x = net.op("Add", x, linear(net.op("Sigmoid", linear(x, 16, 24)), 24, 16))
    net.output(x)
    return shape


NETWORKS = (separable, inverted, attention)


@cache
def quantized(network: Any, way: str) -> bytes:
    net = Net(seed=4, opset=17)
    shape = network(net)
    kind, activations, weights, per_channel = STATIC.get(way, ("", "", "QInt8", False))
    names = quantization.QuantType
    with TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        before.write_bytes(onnx.shape_inference.infer_shapes(onnx.load_from_string(net.model())).SerializeToString())
        if not kind:
            quantization.quantize_dynamic(before, after, weight_type=names[weights])
        else:
            quantization.quantize_static(
                before,
                after,
                _Reader(net.inputs[0].name, shape),
                quant_format=quantization.QuantFormat[kind],
                activation_type=names[activations],
                weight_type=names[weights],
                per_channel=per_channel,
            )
        return after.read_bytes()


class _Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
    """Some inputs to measure ranges with."""

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(0)
        self.left = [{name: rng.normal(size=shape).astype(np.float32)} for _ in range(4)]

    def get_next(self) -> Any:
        return self.left.pop() if self.left else None


def exact(model: bytes, inputs: int = 3, **options: Any) -> Any:
    """Every integer is ONNX Runtime's, or NumPy's where that saturates."""
    compiled = compile(model, **options)
    result = verify(compiled, inputs, sanitize=not options)
    assert result.reference.startswith(judge_of(model)) and result.passed, result.mismatches
    return compiled


@exact_on_x86
@pytest.mark.parametrize("way", QUICK)
def test_on_the_host(way: str) -> None:
    graph = exact(quantized(inverted, way)).source
    layers = [op for op in graph.ops if op.macs(graph)]
    assert len(layers) == 11 and all(op.attributes()["rounding"] is Rounding.EVEN for op in layers)


@exact_on_x86
@pytest.mark.frontends
@pytest.mark.parametrize("way", [*STATIC, "dynamic"])
@pytest.mark.parametrize("network", NETWORKS)
def test_every_way(network: Any, way: str) -> None:
    exact(quantized(network, way))


@pytest.mark.slow
@exact_on_x86
@pytest.mark.frontends
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55", "cortex-m0plus"])
@pytest.mark.parametrize("network", [separable, inverted])
def test_on_cores(network: Any, core: str) -> None:
    exact(quantized(network, "QDQ int8, per channel"), 2, target=emulated(core))


@exact_on_x86
def test_all_outputs_are_equal() -> None:
    """Of the whole model as users run it, with ONNX Runtime's usual options."""
    model = quantized(separable, "QDQ uint8, per channel")
    if judge_of(model) != "ONNX Runtime":
        pytest.skip("ONNX Runtime saturates on this processor")
    compiled, session = compile(model), ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    rng, graph = np.random.default_rng(1), compiled.source
    for _ in range(5):
        x = rng.normal(size=(1, 1, 20, 10)).astype(np.float32)
        (want,) = session.run(None, {session.get_inputs()[0].name: x})
        found = graph.evaluate({graph.inputs[0]: x.transpose(0, 2, 3, 1)})[graph.outputs[0]]
        assert np.array_equal(found, want)
