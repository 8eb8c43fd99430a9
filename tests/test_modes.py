"""Every way to run a model, every tensor against LiteRT: on the host under sanitizers and on emulated cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flatbuffers", reason="the model writer needs the flatbuffers package")

import mcunet_v2
from mote.api.compiler import Compiled, compile
from mote.api.verifier import verify
from support import emulated, needs_litert
from tflite_writer import Writer

pytestmark = needs_litert
MODELS = Path(__file__).parents[1] / "models"
LEAST, PUSHED = {"least_ram": True}, {"input": "rows"}
MODES: dict[str, dict[str, Any]] = {
    "least": LEAST,
    "pushed": PUSHED,
    "budget": {},
    "least, speed": LEAST | {"optimize": "speed"},
    "pushed, size": PUSHED | {"optimize": "size"},
    "row steps": {"step": "row"},
    "pushed row steps": PUSHED | {"step": "row"},
    "red zones": LEAST | {"red_zones": True},
    "pushed red zones": PUSHED | {"red_zones": True},
}
BUDGETS = {"digits": 900, "keywords": 6000, "small": 7000}
"""Bytes between those of the least plan and those of the plan by layers."""
TARGETS = ["host", "cortex-m4", "cortex-m0plus", "cortex-m33", "rv32imc"]


@cache
def model(name: str, dtype: str = "int8") -> bytes:
    path = MODELS / f"{name}.tflite"
    return path.read_bytes() if path.exists() else mcunet_v2.build(mcunet_v2.SMALL, dtype=dtype)


def compiled_as(name: str, mode: str, target: str) -> Compiled:
    """The model in a mode, which it is really in."""
    options = MODES[mode] | ({"ram": BUDGETS[name]} if mode == "budget" else {})
    compiled = compile(model(name), target=target, **options)
    plan = compiled.plan
    assert not plan.layered
    assert plan.pushed == (options.get("input") == "rows")
    assert plan.ram <= options.get("ram", plan.ram)
    assert (plan.zone > 0) == ("red_zones" in options)
    return compiled


def exact(compiled: Compiled, inputs: int = 2) -> None:
    result = verify(compiled, inputs, sanitize=compiled.settings.target.name == "host")
    assert result.reference == "LiteRT BUILTIN_REF" and result.tensors > 0
    assert result.exact, result.mismatches


def cases() -> list[tuple[str, str, str]]:
    """Every mode on the host, on a core with DSP instructions and on one or two others; every model on each of them."""
    names = list(BUDGETS)
    return [
        (target, mode, names[(i + t) % len(names)])
        for t, target in enumerate(TARGETS)
        for i, mode in enumerate(MODES)
        if t < 2 or (i + t) % 2
    ]


@pytest.mark.parametrize(("target", "mode", "name"), cases())
def test_every_mode(target: str, mode: str, name: str) -> None:
    exact(compiled_as(name, mode, emulated(target)), 4)


@pytest.mark.parametrize(("target", "options"), [("host", LEAST), ("cortex-m4", PUSHED)])
def test_work_done_twice(target: str, options: dict[str, Any]) -> None:
    """Less RAM, more work than once and no more than allowed, the same values."""
    once = compile(model("small"), target=target, **options)
    twice = compile(model("small"), target=emulated(target), recompute=30.0, **options)
    assert twice.plan.ram < once.plan.ram
    assert once.macs < twice.macs <= 1.3 * once.macs
    exact(twice)


@pytest.mark.parametrize(
    ("target", "options"), [("host", LEAST), ("host", PUSHED), ("cortex-m4", PUSHED), ("rv32imc", {"step": "row"})]
)
def test_float_model(target: str, options: dict[str, Any]) -> None:
    compiled = compile(model("small", "float32"), target=emulated(target), **options)
    assert not compiled.plan.layered
    exact(compiled)


@dataclass
class Net:
    """A model as it grows: methods add a layer and return its output. All int8 tensors have the same scale."""

    dtype: str = "int8"
    writer: Writer = field(default_factory=lambda: Writer("net"))
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def input(self, *shape: int) -> int:
        x = self.writer.input("input", shape, self.dtype, **self._quant)
        self.shapes[x] = shape
        return x

    def conv(self, x: int, channels: int, kernel: int = 3, stride: int = 1, padding: str = "SAME") -> int:
        n, *size, depth = self.shapes[x]
        weights = self._weights((channels, kernel, kernel, depth))
        options = {"padding": padding, "stride_h": stride, "stride_w": stride}
        new = [-(-(s - (kernel - 1) * (padding == "VALID")) // stride) for s in size]
        return self._layer("CONV_2D", [x, *weights], (n, *new, channels), **options)

    def transpose_conv(self, x: int, channels: int, kernel: int = 3, stride: int = 2) -> int:
        n, height, width, depth = self.shapes[x]
        shape = (n, height * stride, width * stride, channels)
        weights, bias = self._weights((channels, kernel, kernel, depth))
        operands = [self._constant(np.int32(shape)), weights, x, bias]
        return self._layer("TRANSPOSE_CONV", operands, shape, stride_h=stride, stride_w=stride, version=4)

    def pool(self, x: int, size: int = 2, kind: str = "MAX_POOL_2D") -> int:
        n, height, width, channels = self.shapes[x]
        options = dict.fromkeys(("filter_height", "filter_width", "stride_h", "stride_w"), size)
        return self._layer(kind, [x], (n, height // size, width // size, channels), padding="VALID", **options)

    def resize(self, x: int, height: int, width: int, kind: str = "RESIZE_BILINEAR") -> int:
        n, _, _, channels = self.shapes[x]
        size = self._constant(np.int32([height, width]))
        return self._layer(kind, [x, size], (n, height, width, channels), half_pixel_centers=True)

    def pad(self, x: int, *paddings: tuple[int, int]) -> int:
        shape = tuple(a + n + b for n, (a, b) in zip(self.shapes[x], paddings, strict=True))
        return self._layer("PAD", [x, self._constant(np.int32(paddings))], shape)

    def concatenate(self, axis: int, *parts: int) -> int:
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[p][axis] for p in parts)
        return self._layer("CONCATENATION", parts, tuple(shape), axis=axis)

    def add(self, a: int, b: int) -> int:
        return self._layer("ADD", [a, b], self.shapes[a])

    def finish(self, *outputs: int) -> bytes:
        self.writer.output(*outputs)
        return self.writer.finish()

    @property
    def _quant(self) -> dict[str, Any]:
        return {"scale": 0.05, "zero_point": 3} if self.dtype == "int8" else {}

    def _layer(self, kind: str, operands: Sequence[int], shape: tuple[int, ...], **options: Any) -> int:
        y = self.writer.tensor(f"{kind.lower()}_{len(self.shapes)}", shape, self.dtype, **self._quant)
        self.writer.op(kind, operands, [y], **options)
        self.shapes[y] = shape
        return y

    def _constant(self, values: Any, **quant: Any) -> int:
        return self.writer.const(f"constant_{self.rng.integers(1 << 30)}", values, **quant)

    def _weights(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Weights and a bias that keep the activations alive."""
        reach = np.prod(shape[1:]) ** 0.5
        if self.dtype == "float32":
            weights, bias = self.rng.uniform(-1.5, 1.5, shape) / reach, self.rng.uniform(-0.5, 0.5, shape[0])
            return self._constant(np.float32(weights)), self._constant(np.float32(bias))
        scales = np.full(shape[0], 0.0125 / reach)
        weights, bias = self.rng.integers(-127, 128, shape), self.rng.integers(-2000, 2000, shape[0])
        return self._constant(np.int8(weights), scale=scales), self._constant(np.int32(bias), scale=0.05 * scales)


def several_outputs(net: Net) -> bytes:
    """One of them is read again inside, one is the first to be there."""
    a = net.conv(net.input(1, 12, 9, 3), 6)
    b = net.conv(a, 4, stride=2)
    return net.finish(net.pool(a), b, net.conv(net.conv(b, 8), 5))


def concatenation(net: Net) -> bytes:
    """Channels side by side, then rows one below the other, from branches of different reach."""
    x = net.input(1, 10, 7, 4)
    side = net.concatenate(3, net.conv(x, 5), x, net.conv(net.conv(x, 3), 2, kernel=5))
    return net.finish(net.conv(net.concatenate(1, side, net.conv(side, 11)), 6, stride=2))


def resized(net: Net) -> bytes:
    x = net.conv(net.input(1, 8, 6, 3), 5)
    up = net.conv(net.resize(x, 16, 12), 4, stride=2)
    return net.finish(net.conv(net.resize(net.add(up, net.conv(x, 4)), 5, 13, "RESIZE_NEAREST_NEIGHBOR"), 3))


def transposed(net: Net) -> bytes:
    x = net.input(1, 12, 8, 3)
    return net.finish(net.add(net.transpose_conv(net.conv(x, 7, stride=2), 4), net.conv(x, 4)))


def padded(net: Net) -> bytes:
    """Rows, columns and channels of padding before layers that cannot take it in."""
    x = net.pad(net.conv(net.input(1, 7, 6, 3), 5), (0, 0), (2, 3), (0, 2), (0, 0))
    return net.finish(net.conv(net.pad(net.pool(x), (0, 0), (1, 0), (0, 0), (1, 2)), 4))


def two_images(net: Net) -> bytes:
    """Windows do not reach from one image into the other."""
    x = net.conv(net.conv(net.input(2, 9, 8, 3), 6), 8, stride=2)
    return net.finish(net.pool(net.conv(x, 5, kernel=1), 2, "AVERAGE_POOL_2D"))


def tall(net: Net) -> bytes:
    """More rows than are scheduled one by one."""
    x = net.conv(net.input(1, 300, 1, 3), 4)
    return net.finish(net.conv(net.conv(x, 5), 3, stride=4))


NETS = [several_outputs, concatenation, resized, transposed, padded, two_images, tall]
WAYS = [(net, options, "int8") for net in NETS for options in (LEAST, PUSHED)]
WAYS += [(net, PUSHED, "float32") for net in (concatenation, resized, transposed)]


@pytest.mark.parametrize(("build", "options", "dtype"), WAYS)
def test_every_kind_of_rows(build: Callable[[Net], bytes], options: dict[str, Any], dtype: str) -> None:
    compiled = compile(build(Net(dtype)), **options)
    assert not compiled.plan.layered
    exact(compiled, 4)
