"""float32 layers with int8 weights, as dynamic-range quantization makes them, against the same layers in float32:
LiteRT itself rounds inputs to 8 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Level, SparsityParameters, Writer
from mote.ir.graph.tensor import Shape
from tests.helpers.network import Net
from tests.helpers.support import check_numpy, emulated, needs_litert
from tests.ir.ops.recurrent import lstm_models, test_svdf

pytestmark = needs_litert


class Small(Writer):
    """Writes float32 weights as int8 with scales, or as the float32 numbers that these stand for: `expanded`. Matrices
    are weights, and what begins with one of `named`."""

    def __init__(self, expanded: bool, axis: int | None = None, named: str = "") -> None:
        super().__init__("small")
        self.expanded, self.axis, self.named = expanded, axis, named

    def const(self, name: str, values: ArrayLike, *args: Any, **options: Any) -> int:
        array = np.asarray(values)
        weights = array.ndim > 1 or (bool(self.named) and name[0] in self.named and name[1].isdigit())
        if array.dtype != np.float32 or not weights:
            return super().const(name, values, *args, **options)
        axes = tuple(i for i in range(array.ndim) if i != self.axis) if self.axis is not None else None
        scale = np.abs(array).max(axis=axes, keepdims=True).astype(np.float32) / np.float32(127)
        codes = np.round(array / scale).astype(np.int8)
        if self.expanded:
            return super().const(name, codes * scale)
        return super().const(name, codes, scale.reshape(-1), axis=self.axis or 0)


def layers(expanded: bool, per_channel: bool) -> bytes:
    """Convolutions and fully connected layers beside and behind each other."""
    net = Net(3, "float32")
    net.writer = writer = Small(expanded, 0 if per_channel else None)
    x = net.input(1, 7, 6, 5)
    a = net.conv(x, 6, 3, stride=2, fused_activation_function="RELU")
    b = net.conv(a, 4, 1)
    c = net.conv(x, 3, (2, 3), dilation=2, fused_activation_function="RELU6")
    writer.axis = 3
    found = [b, c, net.depthwise(x, 1, 3, stride=2), net.depthwise(x, 2, 3, fused_activation_function="RELU")]
    writer.axis = 0 if per_channel else None
    found.append(net.fully_connected(net.flat(b), 9))
    return net.finish(*found)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("per_channel", [False, True])
def test_layers(per_channel: bool) -> None:
    model = layers(False, per_channel)
    check_numpy(tflite.parse(model, "model"), layers(True, per_channel))
    compiled = compile(model)
    families = {step.kernel.family for step in compiled.plan.steps}
    assert {"conv2d_hybrid", "depthwise_hybrid", "fully_connected_hybrid"} <= families
    result = verify(compiled, 3, sanitize=True)
    assert result.passed and "LiteRT rounds what it multiplies with int8 weights" in result.reference
    assert compiled.project.constants < compile(layers(True, per_channel)).project.constants / 2


@pytest.mark.slow
def test_on_a_core() -> None:
    assert verify(compile(layers(False, True), target=emulated("cortex-m4")), 2).passed
    assert verify(compile(recurrent(False), target=emulated("cortex-m4")), 2).passed


def recurrent(expanded: bool) -> bytes:
    """SVDF and LSTM with all of their parts."""
    w = Small(expanded, named="p")
    test_svdf.add_layer(w, 0, test_svdf.Config("float32", 2, rank=2))
    test_svdf.add_layer(w, 1, test_svdf.Config("float32", 1, rank=1, bias=False, activation="NONE"))
    plain = lstm_models.Config("float32", time=2, inputs=4, cells=5)
    lstm_models.add_layer(w, 2, plain)
    lstm_models.add_layer(
        w, 3, lstm_models.Config("float32", 2, 2, 3, 4, 3, True, True, True, True, clips=(0.4, 0.3), seed=2)
    )
    return w.finish()


def test_recurrent_layers() -> None:
    model = recurrent(False)
    graph, twin = tflite.parse(model, "model"), tflite.parse(recurrent(True), "model")
    ours, wanted = reference.numpy(graph), reference.litert(recurrent(True))
    for case in stimuli(graph, 5):
        got, want, sizes = ours(case), wanted(case), reference.magnitudes(twin)(case)
        assert got is not None and want is not None
        for t in graph.outputs:
            np.testing.assert_allclose(got[t], want[t], atol=1e-5 * max(1.0, sizes[t]))
    compiled = compile(model)
    assert {"svdf_hybrid", "lstm_hybrid"} <= {step.kernel.family for step in compiled.plan.steps}
    assert verify(compiled, 4, sanitize=True).passed


def matmul(expanded: bool, turned: bool) -> bytes:
    w = Small(expanded)
    x, y = w.input("x", (2, 3, 8), "float32"), w.tensor("y", (2, 3, 5), "float32")
    values = np.random.default_rng(5).normal(size=(5, 8)).astype(np.float32)
    w.op("BATCH_MATMUL", [x, w.const("k", values if turned else values.T)], [y], adj_y=turned)
    w.output(y)
    return w.finish()


@pytest.mark.parametrize("turned", [False, True])
def test_constant_matrices(turned: bool) -> None:
    model = matmul(False, turned)
    check_numpy(tflite.parse(model, "model"), matmul(True, turned))
    assert verify(compile(model), 2, sanitize=True).passed


def widened(kind: str, zero: int = 0, axis: int = 0) -> bytes:
    """Weights that the file itself turns into float32."""
    rng = np.random.default_rng(6)
    w = Writer("widened")
    shape: Shape = {"CONV_2D": (4, 3, 3, 5), "DEPTHWISE_CONV_2D": (1, 3, 3, 5)}.get(kind, (4, 5))
    x = w.input("x", (2, 5) if kind == "FULLY_CONNECTED" else (1, 6, 6, 5), "float32")
    scales = rng.uniform(0.01, 0.02, shape[axis])
    k = w.const("k", rng.integers(-127, 128, shape).astype(np.int8), scales, [zero] * len(scales), axis=axis)
    wide = w.tensor("wide", shape, "float32")
    w.op("DEQUANTIZE", [k], [wide], version=5)
    channels = shape[3] if kind == "DEPTHWISE_CONV_2D" else shape[0]
    b = w.const("b", rng.normal(size=channels).astype(np.float32))
    y = w.tensor("y", (2, 4) if kind == "FULLY_CONNECTED" else (1, 6, 6, channels), "float32")
    w.op(kind, [x, wide, b], [y])
    w.output(y)
    return w.finish()


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_weights_that_the_file_widens(kind: str) -> None:
    """LiteRT computes the same numbers, so that it is the judge."""
    model = widened(kind, axis=3 if kind == "DEPTHWISE_CONV_2D" else 0)
    compiled = compile(model)
    assert all(step.kernel.family.endswith("_hybrid") for step in compiled.plan.steps)
    result = verify(compiled, 3, sanitize=True)
    assert result.passed and result.reference == "LiteRT BUILTIN_REF"


def test_weights_that_must_be_widened() -> None:
    """With a zero point, or scales of inputs: they are float32 in flash."""
    for model in (widened("CONV_2D", zero=3), widened("CONV_2D", axis=3)):
        compiled = compile(model)
        assert {step.kernel.family for step in compiled.plan.steps} == {"conv2d_f32"}
        assert verify(compiled, 3, sanitize=True).reference == "LiteRT BUILTIN_REF"


def test_int4_weights() -> None:
    """They are bytes in flash."""
    rng = np.random.default_rng(7)
    w = Writer("four")
    x, y = w.input("x", (2, 9), "float32"), w.tensor("y", (2, 5), "float32")
    k = w.const("k", rng.integers(-8, 8, (5, 9)).astype(np.int8), 0.1, dtype="int4")
    w.op("FULLY_CONNECTED", [x, k, NO_TENSOR], [y], version=12)
    w.output(y)
    assert verify(compile(w.finish()), 3, sanitize=True).passed


def test_sparse_weights() -> None:
    """DENSIFY leaves them int8, so that LiteRT rounds inputs, and is no judge."""
    w = Writer("sparse")
    levels = [Level(2), Level(0, [0, 1, 2], [1, 0], "uint8")]
    k = w.const("k", np.int8([3, 5]), 0.1, shape=(2, 3), sparsity=SparsityParameters((0, 1), (), levels))
    dense, x = w.tensor("dense", (2, 3), "int8", 0.1), w.input("x", (1, 3), "float32")
    y = w.tensor("y", (1, 2), "float32")
    w.op("DENSIFY", [k], [dense])
    w.op("FULLY_CONNECTED", [x, dense, NO_TENSOR], [y])
    w.output(y)
    result = verify(compile(w.finish()), 3, sanitize=True)
    assert result.passed and result.reference.startswith("numpy")


def test_how_far_litert_is_off() -> None:
    """docs/trust/numerics.md says so: LiteRT's results differ from float32 by up to a percent of the largest one."""
    hybrid, real = reference.litert(layers(False, True)), reference.litert(layers(True, True))
    graph = tflite.parse(layers(False, True), "model")
    off = []
    for case in stimuli(graph, 6):
        a, b = hybrid(case), real(case)
        assert a is not None and b is not None
        off.append(max(np.abs(a[t] - b[t]).max() / max(np.abs(b[t]).max(), 1.0) for t in graph.outputs))
    assert 1e-3 < max(off) < 2e-2


@pytest.mark.parametrize(("zero", "says"), [(3, "int8 weights must have zero point 0"), (0, "")])
def test_weights_with_a_zero_point(zero: int, says: str) -> None:
    w = Writer("zero")
    x, y = w.input("x", (2, 9), "float32"), w.tensor("y", (2, 5), "float32")
    w.op("FULLY_CONNECTED", [x, w.const("k", np.ones((5, 9), np.int8), 0.1, zero), NO_TENSOR], [y])
    w.output(y)
    if says:
        with pytest.raises(UnsupportedError, match=says):
            tflite.parse(w.finish(), "model")
    else:
        tflite.parse(w.finish(), "model")


def test_float_convolution_beside_an_lstm() -> None:
    """Both have a function for dot products."""
    net = Net(1, "float32")
    y = net.conv(net.input(1, 4, 4, 2), 3)
    lstm_models.add_layer(net.writer, 7, lstm_models.Config("float32", cells=3))
    assert verify(compile(net.finish(y)), 1, sanitize=True).passed
