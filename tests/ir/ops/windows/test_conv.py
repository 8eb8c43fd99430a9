"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED against LiteRT, on random configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from tests.helpers.support import batch, check, examples, needs_litert

pytestmark = needs_litert
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass(frozen=True)
class Config:
    kind: str
    dtype: str
    batch: int
    size: tuple[int, int]
    channels: int
    outputs: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: str
    activation: str
    per_channel: bool
    bias: bool
    gain: float
    zeros: tuple[int, int]
    seed: int
    weights: str = "any"
    """How the weights are spread: see `spread`; of float32 layers, whether they are of half precision ("halves")."""
    groups: int = 1
    pruned: str = ""
    """Which weights are not zero, where not all of them are: see `PRUNED`."""


PRUNED = ("some", "few", "single", "first", "last", "none")
"""Blocks of two channels and four inputs, half of them or a tenth; single weights; one block of inputs; nothing."""


@st.composite
def configs(draw: st.DrawFn, kind: str) -> Config:
    kernel = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    dilation = (draw(st.sampled_from([1, 1, 1, 2, 3])), draw(st.sampled_from([1, 1, 1, 2, 3])))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    least = [(k - 1) * d + 1 if padding == "VALID" else 1 for k, d in zip(kernel, dilation, strict=True)]
    return Config(
        kind=kind,
        dtype=draw(st.sampled_from(["int8", "int8", "int8", "float32"])),
        batch=draw(st.sampled_from([1, 1, 1, 2])),
        size=(draw(st.integers(least[0], least[0] + 6)), draw(st.integers(least[1], least[1] + 6))),
        channels=draw(st.integers(1, 9)),
        outputs=draw(st.integers(1, 9) if kind != "DEPTHWISE_CONV_2D" else st.sampled_from([1, 1, 2, 3])),
        kernel=kernel,
        stride=(1, 1) if max(dilation) > 1 else (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        dilation=dilation,
        padding=padding,
        activation=draw(st.sampled_from(ACTIVATIONS)),
        per_channel=draw(st.booleans()),
        bias=draw(st.booleans()),
        gain=draw(st.sampled_from([0.02, 0.3, 1.0, 4.0])),
        zeros=(draw(st.integers(-128, 127)), draw(st.integers(-128, 127))),
        seed=draw(st.integers(0, 1 << 30)),
    )


def positions(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - (kernel - 1) * dilation - 1) // stride + 1


def pruned(weights: np.ndarray, how: str, rng: np.random.Generator) -> np.ndarray:
    """Weights [outputs, ..] with zeros."""
    matrix = weights.reshape(len(weights), -1)
    outputs, depth = matrix.shape
    blocks = rng.random((-(-outputs // 2), -(-depth // 4))) < {"some": 0.5, "few": 0.1}.get(how, 0.0)
    blocks[:, {"first": 0, "last": -1}.get(how, slice(0, 0))] = True
    kept = np.repeat(np.repeat(blocks, 2, axis=0), 4, axis=1)[:outputs, :depth]
    kept = rng.random(matrix.shape) < 0.1 if how == "single" else kept
    return np.where(kept, matrix, 0).astype(weights.dtype).reshape(weights.shape)


def spread(rng: np.random.Generator, shape: tuple[int, ...], how: str) -> np.ndarray:
    """int8 weights: any, a few values, three, a small range, mostly zeros, or all of them, or the ends."""
    any_ = rng.integers(-127, 128, shape)
    found = {
        "any": any_,
        "few": rng.choice([-90, -7, 0, 55], shape),
        "ternary": any_ % 3 * 77 - 77,
        "small": rng.integers(-8, 8, shape),
        "sparse": any_ * (rng.random(shape) < 0.05),
        "none": 0 * any_,
        "ends": rng.choice([-128, 127], shape),
    }
    return found[how].astype(np.int8)


def add_layer(w: Writer, i: int, c: Config, *, source: int | None = None, output: bool = True) -> int:
    """One layer, with an input and an output of its own unless told otherwise; `gain` moves the output scale, and so
    the requantization shift."""
    rng = np.random.default_rng(c.seed)
    outputs = c.channels * c.outputs if c.kind == "DEPTHWISE_CONV_2D" else c.outputs
    axis = 3 if c.kind == "DEPTHWISE_CONV_2D" else 0
    if c.kind == "FULLY_CONNECTED":
        shape, weights = (c.batch * c.size[0], c.channels * c.size[1]), (outputs, c.channels * c.size[1])
        result = (shape[0], outputs)
    else:
        shape = (c.batch, *c.size, c.channels)
        weights = (1, *c.kernel, outputs) if axis == 3 else (outputs, *c.kernel, c.channels // c.groups)
        result = (
            c.batch,
            *(positions(*a, c.padding) for a in zip(c.size, c.kernel, c.stride, c.dilation, strict=True)),
            outputs,
        )
    depth = int(np.prod(weights)) // outputs
    quantized, wide = c.dtype != "float32", c.dtype == "int16"
    zeros = (0, 0) if wide else c.zeros
    biases = "int64" if wide and (c.seed % 2 or c.kind == "DEPTHWISE_CONV_2D") else "int32"
    scale = rng.uniform(0.001, 0.02, outputs if c.per_channel else 1).astype(np.float32)
    scale_in, scale_out = 0.05, float(0.05 * scale.max() * 127 * 80 * depth**0.5 / 127 * c.gain)
    if source is None:
        source = w.input(f"x{i}", shape, c.dtype, **_quant(quantized, scale_in, zeros[0]))
    data = spread(rng, weights, c.weights) if quantized else rng.normal(size=weights).astype(np.float32)
    data = data.astype(np.float16).astype(np.float32) if c.weights == "halves" else data
    data = pruned(data, c.pruned, rng) if c.pruned else data
    k = w.const(f"k{i}", data, **({"scale": scale, "axis": axis} if quantized else {}))
    reads = [source, k]
    # LiteRT refuses a CONV_2D without a bias.
    if c.bias or c.kind == "CONV_2D":
        b = (
            rng.integers(-2000, 2000, outputs).astype(biases)
            if quantized
            else rng.normal(size=outputs).astype(np.float32)
        )
        reads.append(w.const(f"b{i}", b, **({"scale": scale * np.float32(scale_in)} if quantized else {})))
    elif c.kind == "FULLY_CONNECTED":
        reads.append(NO_TENSOR)
    y = w.tensor(f"y{i}", result, c.dtype, **_quant(quantized, scale_out, zeros[1]))
    options = {"fused_activation_function": c.activation, "version": 5 if wide else 1}
    if c.kind != "FULLY_CONNECTED":
        options |= {
            "padding": c.padding,
            "stride_h": c.stride[0],
            "stride_w": c.stride[1],
            "dilation_h_factor": c.dilation[0],
            "dilation_w_factor": c.dilation[1],
        }
    if c.kind == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = c.outputs
    elif wide and (c.bias or c.kind == "CONV_2D"):
        options["quantized_bias_type"] = biases
    w.op(c.kind, reads, [y], **options)
    if output:
        w.output(y)
    return y


def _quant(quantized: bool, scale: float, zero: int) -> dict[str, object]:
    return {"scale": scale, "zero_point": zero} if quantized else {}


def model(layers: list[Config]) -> bytes:
    w = Writer("layers")
    for i, c in enumerate(layers):
        add_layer(w, i, c)
    return w.finish()


def batches(kind: str) -> st.SearchStrategy[list[Config]]:
    return batch(configs(kind), 24, 16)


@given(batches("CONV_2D"))
@settings(max_examples=examples(7, 1), deadline=None)
def test_conv(layers: list[Config]) -> None:
    check(model(layers))


@given(batches("DEPTHWISE_CONV_2D"))
@settings(max_examples=examples(7, 1), deadline=None)
def test_depthwise(layers: list[Config]) -> None:
    check(model(layers))


@given(batches("FULLY_CONNECTED"))
@settings(max_examples=examples(6, 1), deadline=None)
def test_fully_connected(layers: list[Config]) -> None:
    check(model(layers))


@given(batch(st.sampled_from(KINDS).flatmap(configs), 24, 9))
@settings(max_examples=examples(3, 1), deadline=None)
def test_int16(layers: list[Config]) -> None:
    check(model([replace(c, dtype="int16") for c in layers]))


def test_groups_that_do_not_fit() -> None:
    c = Config("CONV_2D", "int8", 1, (3, 3), 6, 4, (1, 1), (1, 1), (1, 1), "SAME", "NONE", False, True, 1.0, (0, 0), 0)
    with pytest.raises(UnsupportedError, match="4 output channels cannot be divided into 3 groups"):
        tflite.parse(model([replace(c, groups=3)]), "model")


@given(batch(configs("CONV_2D"), 24, 9))
@settings(max_examples=examples(3, 1), deadline=None)
def test_groups(layers: list[Config]) -> None:
    """Of one to five channels, which is all of them now and then."""
    sizes = [(c.outputs, 1 + c.seed % 5) for c in layers]
    types = [("int8", "int16", "float32")[c.seed % 3] for c in layers]
    check(
        model(
            [
                replace(c, groups=n, channels=n * m, outputs=n * (1 + c.channels % 6), dtype=t)
                for c, (n, m), t in zip(layers, sizes, types, strict=True)
            ]
        )
    )
