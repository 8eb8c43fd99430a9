"""Sums at the ends of 32 bits, and every multiplier that they can meet: equal to LiteRT's reference, or refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.kernels.contract import View
from mote.compiler.kernels.portable.matrix.fully_connected import KERNELS
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, rescale_once
from mote.ir.graph.tensor import Array
from mote.ir.ops.matrix.round_once import once_multiplier, once_results, once_steps, same_once
from tests.helpers.network import Net, Quant
from tests.helpers.support import FUZZ, HOST_DSP, check, exact_on, examples, needs_litert, varied

INPUT: Quant = (0.125, -5)
WEIGHTS = 0.25
LEAST_SCALE = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Layer:
    """One whose sums are multiplied by `real`, as nearly as scales in float32 can say it."""

    kind: str
    real: float
    zero: int = 0
    bias: int = 1000
    """Biases are up to this."""

    def quant(self, scale: float) -> Quant:
        return max(float(np.float32(scale / self.real)), LEAST_SCALE), self.zero


def add(net: Net, x: int, layer: Layer, weights: Array | None = None, bias: Array | None = None) -> int:
    """The layer after tensor `x`, with two channels, three where it keeps those of the input."""
    n, height, width, channels = net.shapes[x]
    scale, _ = net.quants[x]
    assert scale is not None
    if layer.kind == "MEAN":
        return net.op("MEAN", [x, net.ints(1, 2)], (n, channels), layer.quant(scale))
    if layer.kind == "QUANTIZE":
        return net.op("QUANTIZE", [x], None, layer.quant(scale))
    if layer.kind == "MUL":
        return net.op("MUL", [x, x], None, layer.quant(scale * scale))
    shape, axis, options = {
        "CONV_2D": ((2, 2, 2, channels), 0, {}),
        "DEPTHWISE_CONV_2D": ((1, 2, 2, channels), 3, {"depth_multiplier": 1}),
        "TRANSPOSE_CONV": ((2, 2, 2, channels), 0, {"version": 4}),
        "FULLY_CONNECTED": ((2, channels), 0, {}),
    }[layer.kind]
    weights = net.weights(*shape) if weights is None else weights
    rows = weights.shape[axis]
    bias = net.rng.integers(-layer.bias, layer.bias, rows, endpoint=True) if bias is None else bias
    scales = np.full(1 if layer.kind == "FULLY_CONNECTED" else rows, WEIGHTS)
    k = net.writer.const("weights", weights, scales, axis=axis)
    b = net.writer.const("bias", bias.astype(np.int32), scales * scale)
    operands, out = [x, k, b], (n, height, width, rows)
    if layer.kind == "FULLY_CONNECTED":
        out = (n * height * width, rows)
    else:
        options = {"stride_h": 1, "stride_w": 1, "padding": "SAME", **options}
    if layer.kind == "TRANSPOSE_CONV":
        operands = [net.ints(*out), k, x, b]
    elif layer.kind != "FULLY_CONNECTED":
        options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    return net.op(layer.kind, operands, out, layer.quant(WEIGHTS * scale), **options)


def model(layers: list[Layer], shape: tuple[int, ...] = (1, 3, 3, 3)) -> bytes:
    net = Net()
    x = net.input(*shape, quant=INPUT)
    return net.finish(*[add(net, x, layer) for layer in layers])


SUMMING = ["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"]
MOST = dict.fromkeys([*SUMMING, "FULLY_CONNECTED", "MEAN", "QUANTIZE"], 30) | {"MUL": 14}
"""Every kind of layer, and the power of two below which multipliers are not refused."""


@st.composite
def layers(draw: st.DrawFn, kind: str) -> Layer:
    """Multipliers from 2^-40 on, among them powers of two and one; biases of all sizes."""
    bits = draw(st.integers(0, 31))
    most = MOST[kind] - (max(bits, 16) + 1 if kind == "FULLY_CONNECTED" else 1)
    exponent = min(draw(st.just(0) | st.integers(-40, 29)), most)
    fraction = draw(st.sampled_from([1.0, 1.0, 0.75, 1 / 3]) | st.floats(0.5, 1.0))
    return Layer(kind, fraction * 2.0**exponent, draw(st.integers(-128, 127)), min(1 << bits, INT32_MAX))


@needs_litert
@given(varied(st.tuples(*[layers(kind) for kind in MOST for _ in range(4 if FUZZ else 1)])))
@settings(max_examples=examples(3, 1), deadline=None)
def test_every_multiplier(found: tuple[Layer, ...]) -> None:
    """Several small models: the time that a plan takes grows faster than its layers."""
    for target in ("host", HOST_DSP):
        check(model(list(found)), 4, target=target)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("target", ["host", HOST_DSP])
def test_the_ends_of_32_bits(target: str) -> None:
    """132,200 products of 127 leave 32 bits, and so do biases at their ends, in parts of a sum or in all of it."""
    net = Net()
    long = net.input(1, 1, 1, 132_200, quant=(0.5, -128))
    deep = np.full((1, 132_200), 127, np.int8)
    outputs = [add(net, long, Layer("CONV_2D", 2.0**e, 3), deep.reshape(1, 1, 1, -1)) for e in (-25, -8, 3)]
    outputs += [add(net, long, Layer("FULLY_CONNECTED", 2.0**-25, 3), deep)]
    compiled = check(net.finish(*outputs, *with_large_biases(net)), 6, target=target)
    assert compiled.plan.graph.sums_wrap


def with_large_biases(net: Net) -> list[int]:
    """Layers of every kind and multipliers of every size with biases at the ends, or so that sums end just there."""
    outputs = []
    x = net.input(1, 3, 3, 3, quant=INPUT)
    for real in (2.0**-26, 0.01, 0.9999999, 5.0, 2.0**20):
        for kind in [*SUMMING, "FULLY_CONNECTED"][: 4 if real < 0.5 else 3]:
            for ends in ([INT32_MAX, -INT32_MAX - 1, INT32_MAX], [-INT32_MAX, INT32_MAX - 9000, 1 << 30]):
                bias = np.array(ends)[: 3 if kind == "DEPTHWISE_CONV_2D" else 2]
                outputs.append(add(net, x, Layer(kind, real, int(net.rng.integers(-128, 128))), bias=bias))
    return outputs


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
def test_registers_wrap_on_cores(core: str) -> None:
    net = Net()
    exact_on(core, net.finish(*with_large_biases(net)), 4)


@needs_litert
@pytest.mark.parametrize("target", ["host", HOST_DSP])
def test_fully_connected_at_every_step(target: str) -> None:
    """Sums around each step of the results: LiteRT multiplies in double precision. For some multipliers no integer of
    31 bits stands, as products that are nearly halves are rounded to halves, or not."""
    net = Net()
    x = net.input(1, 1, 1, 4, quant=(0.5, 0))
    outputs = []
    for real in (2.0**-9, 1 / 3, 0.00217, 1 / 44665992, 2.0**-32, 1.3e-7):
        layer = Layer("FULLY_CONNECTED", real, 4)
        exact = WEIGHTS * 0.5 / layer.quant(WEIGHTS * 0.5)[0]
        steps = once_steps(exact, layer.zero)
        bias = np.unique(np.clip(np.concatenate([steps + k for k in (-2, -1, 0, 1)]), -INT32_MAX - 1, INT32_MAX))
        outputs.append(add(net, x, layer, np.zeros((len(bias), 4), np.int8), bias))
    weights = np.array([[1, 0, 0, 0], [0, 0, 0, -1]], np.int8)
    outputs.append(add(net, x, Layer("FULLY_CONNECTED", 1 / 44665992, 4), weights, np.array([22332996, -22332996])))
    compiled = compile(net.finish(*outputs), target=target, shrink=False)
    result = verify(compiled, 4, sanitize=True)
    assert result.passed, result.mismatches
    assert {s.kernel.family for s in compiled.plan.steps} >= {"fully_connected_steps"}


REALS = st.builds(lambda fraction, exponent: fraction * 2.0**exponent, st.floats(0.5, 1.0), st.integers(-33, 6))


@given(REALS, st.integers(-128, 127), st.integers(10, 31))
@settings(max_examples=300, deadline=None)
def test_multipliers_that_stand_for_doubles(real: float, zero: int, bits: int) -> None:
    """What is called exact is, at random sums too."""
    limit = 1 << bits
    scale = once_multiplier(real, zero, limit)
    assume(same_once(real, zero, limit, scale))
    x = np.random.default_rng(0).integers(-limit, min(limit, INT32_MAX), 4000)
    assert np.array_equal(np.clip(rescale_once(x, *scale) + zero, -128, 127), once_results(x, real, zero))


@pytest.mark.parametrize(
    ("kind", "real", "reason"),
    [
        ("FULLY_CONNECTED", 2.0**20, "leave 32 bits: the output's scale"),
        *[(kind, 2.0**30, r"multiplied by 2\^30 and more") for kind in (*SUMMING, "QUANTIZE")],
        ("MEAN", 2.0**33, r"multiplied by 2\^30 and more"),
        ("MUL", 2.0**15, "too small for the inputs'"),
    ],
)
def test_what_litert_does_not_define_is_refused(kind: str, real: float, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"layer 0 {kind} 't1': .*{reason}"):
        compile(model([Layer(kind, real)]))


def test_an_average_of_too_many_is_refused() -> None:
    net = Net()
    x = net.input(1, 4096, 2048, 1)
    with pytest.raises(UnsupportedError, match="a mean of 8388608 elements"):
        compile(net.finish(net.pool(x, (4096, 2048))))


def sums_of(x: Ints, weights: Array, bias: Array, zero: int) -> Ints:
    return (x - zero) @ weights.astype(np.int64).T + bias


@given(st.integers(-128, 127), st.integers(0, 1 << 30), st.sampled_from([0, 1000, INT32_MAX]))
@settings(max_examples=30, deadline=None)
def test_the_peak_is_reached(zero: int, seed: int, size: int) -> None:
    """The inputs that are worst for each channel give the sums that are said to be possible, and none are larger."""
    net, rng = Net(seed), np.random.default_rng(seed)
    x = net.input(1, 1, 1, 6, quant=(0.5, zero))
    weights, bias = net.weights(3, 6), rng.integers(-size, size, 3, endpoint=True)
    graph = tflite.parse(net.finish(add(net, x, Layer("FULLY_CONNECTED", 2.0**-24), weights, bias)), "model")
    peak = graph.peak(graph.ops[0])
    assert peak is not None
    worst = [np.where(sign * weights > 0, 127, -128) for sign in (-1, 1)]
    ends = np.abs([np.diagonal(sums_of(x, weights, bias, zero)) for x in worst])
    assert peak.total == ends.max() and peak.headroom == pytest.approx(31 - np.log2(peak.total))
    order = rng.permuted(np.arange(6))
    raw = np.cumsum(rng.integers(-128, 128, 6)[order] * weights[:, order].astype(np.int64), axis=1)
    starts = bias - zero * weights.astype(np.int64).sum(axis=1)
    assert np.abs(starts[:, None] + raw).max() <= peak.part


def test_only_sums_that_may_not_fit_wrap() -> None:
    """All others are added up in signed arithmetic, which the sanitizers of all other tests watch."""

    def wraps(bias: int) -> bool:
        net = Net()
        x = net.input(1, 3, 3, 3, quant=INPUT)
        compiled = compile(net.finish(add(net, x, Layer("CONV_2D", 2.0**-20), bias=np.array([bias, 0]))))
        return any("MOTE_SUMS_WRAP 1" in text for name, text in compiled.project.files.items() if name.endswith(".c"))

    assert not wraps(1000) and wraps(INT32_MAX)


def test_steps_are_for_what_nothing_else_does() -> None:
    graph = tflite.parse(model([Layer("FULLY_CONNECTED", 0.01)]), "model")
    made = {kernel.name: kernel.bind(View(graph, graph.ops[:1])) for kernel in KERNELS[:3]}
    assert str(made["fully_connected_steps"]) == 'Refusal(why="multipliers of 31 bits give LiteRT\'s results")'
