"""Layers with int16 activations and int8 weights against LiteRT: whole networks, long sums, biases, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.network import Net
from tests.helpers.support import check, exact_on, needs_litert

pytestmark = needs_litert


def network() -> bytes:
    """Wide images of which little is left, so that layers run by rows where memory is short."""
    net = Net(3, "int16")
    x = net.input(1, 12, 9, 3)
    y = net.conv(net.conv(x, 12, stride=2, fused_activation_function="RELU"), net.weights(8, 3, 2, 3))
    y = net.conv(y, 9, 1)
    y = net.depthwise(net.depthwise(y, 2, (3, 2)), stride=2, fused_activation_function="RELU6")
    y = net.transpose_conv(net.conv(y, 5, (2, 3), dilation=2), 3)
    padded = net.conv(net.pad(y, (0, 0), (1, 1), (2, 0), (0, 0)), 6, 3, padding="VALID")
    pooled = net.pool(net.pool(padded, 2, "MAX_POOL_2D", 1), 2)
    classes = net.fully_connected(net.flat(pooled), 10)
    return net.finish(net.op("SOFTMAX", [classes], quant=(1 / 32768, 0), beta=1.0))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", [{"least_ram": True}, {"input": "rows"}])
def test_network(options: dict[str, Any]) -> None:
    compiled = check(network(), **options)
    assert "PAD" not in [op.kind for op in compiled.plan.graph.ops]
    assert any(not step.whole for step in compiled.plan.steps)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["cortex-m4", "rv32imc"])
def test_network_on_cores(core: str) -> None:
    exact_on(core, network(), least_ram=True)


def test_stream() -> None:
    """The last rows of the stream are in ring buffers."""
    net = Net(4, "int16")
    y = net.conv(net.input(1, 16, 3, 4), 6, (3, 1), padding="VALID")
    y = net.conv(net.depthwise(y, 1, (2, 1), padding="VALID"), 4, (3, 1), padding="VALID")
    compiled = compile(net.finish(net.fully_connected(net.flat(y), 3)), stream=1)
    assert "ring" in [step.kernel.name for step in compiled.plan.steps]
    assert verify(compiled, 4, sanitize=True).exact


def layer(
    kind: str,
    *,
    bias: np.ndarray | None = None,
    depth: int = 3,
    outputs: int = 5,
    scales: tuple[float, float, float] = (0.01, 0.02, 0.3),
    weight: int | None = None,
    **options: Any,
) -> bytes:
    """One layer over a few vectors; its weights are random, or all the same."""
    w, rng = Writer("layer"), np.random.default_rng(7)
    channels = depth if kind == "DEPTHWISE_CONV_2D" else outputs
    shapes = {
        "FULLY_CONNECTED": ((4, depth), (channels, depth), (4, channels)),
        "DEPTHWISE_CONV_2D": ((1, 2, 2, depth), (1, 1, 1, channels), (1, 2, 2, channels)),
    }
    image = ((1, 2, 2, depth), (channels, 1, 1, depth), (1, 2, 2, channels))
    given, kernel, result = shapes.get(kind, image)
    weights = rng.integers(-127, 128, kernel) if weight is None else np.full(kernel, weight)
    x = w.input("x", given, "int16", scale=scales[0])
    k = w.const("k", weights.astype(np.int8), scale=scales[1])
    b = [] if bias is None else [w.const("b", bias, scale=scales[0] * scales[1])]
    y = w.tensor("y", result, "int16", scale=scales[2])
    first = [w.const("shape", np.int32(result)), k, x] if kind == "TRANSPOSE_CONV" else [x, k]
    w.op(kind, [*first, *b], [y], version=4, **options)
    w.output(y)
    return w.finish()


KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_64_bits(kind: str) -> None:
    """A bias that alone leaves 32 bits, next to one that does not."""
    channels = 3 if kind == "DEPTHWISE_CONV_2D" else 5
    bias = np.linspace(-1, 1, channels) * 2.0**36
    compiled = check(layer(kind, bias=bias.astype(np.int64), scales=(0.01, 0.02, 1e4 * 0.0137)))
    assert all(step.kernel.name.endswith("sums64") for step in compiled.plan.steps)


@pytest.mark.slow
def test_parts_of_long_sums_on_a_core() -> None:
    """More products than one sum of 32 bits holds."""
    bias = (np.linspace(-1, 1, 5) * 2.0**36).astype(np.int64)
    exact_on("cortex-m4", layer("CONV_2D", bias=bias, depth=600, scales=(0.01, 0.02, 137.0)), inputs=2)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("scale", [2.0**-4, 2.0**-6, 2.0**-7, 0.0313, 1e-9])
def test_halves_in_fully_connected_layers(scale: float) -> None:
    """Scales that are powers of two give ties, and tiny ones nothing but zeros."""
    check(layer("FULLY_CONNECTED", depth=1, outputs=3, weight=1, scales=(0.5, 0.5 * scale, 0.25)), inputs=4)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "DEPTHWISE_CONV_2D"])
def test_biases_of_32_bits(kind: str) -> None:
    bias = np.arange(-2, 3, dtype=np.int32) * 10_000
    check(layer(kind, bias=bias, quantized_bias_type="int32"))
    deep = check(layer(kind, bias=bias, quantized_bias_type="int32", depth=800, weight=127, scales=(0.01, 0.02, 40.0)))
    assert deep.plan.graph.sums_wrap
    with pytest.raises(UnsupportedError, match="int32 biases where LiteRT has int64"):
        tflite.parse(layer(kind, bias=bias), "model")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"scales": (0.01, 0.02, 1e-7)}, r"multiplied by 2\^7 and more"),
        ({"bias": np.full(5, 1 << 41, np.int64)}, "may leave 40 bits"),
        ({"bias": np.zeros(4, np.int64)}, "a bias of 4 elements does not fit 5 output channels"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], why: str) -> None:
    for kind in ("CONV_2D", "FULLY_CONNECTED"):
        with pytest.raises(UnsupportedError, match=why):
            tflite.parse(layer(kind, **changes), "model")


def test_zero_points_are_refused() -> None:
    w = Writer("zero")
    x, y = w.input("x", (1, 3), "int16", scale=0.1, zero_point=4), w.tensor("y", (1, 2), "int16", scale=0.1)
    w.op("FULLY_CONNECTED", [x, w.const("k", np.ones((2, 3), np.int8), scale=0.1)], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match="all zero points must be 0"):
        tflite.parse(w.finish(), "model")
