"""CONV_3D and CONV_3D_TRANSPOSE against LiteRT, on random configurations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import check, exact_on, examples, needs_litert

pytestmark = needs_litert
Three = tuple[int, int, int]


@dataclass(frozen=True)
class Config:
    """One layer; `size` is what windows lie over: the input's, or the output's where it is transposed."""

    transposed: bool = False
    batch: int = 1
    size: Three = (4, 5, 3)
    channels: tuple[int, int] = (2, 3)
    kernel: Three = (2, 3, 2)
    stride: Three = (1, 2, 1)
    dilation: Three = (1, 1, 1)
    padding: str = "SAME"
    activation: str = "NONE"
    bias: bool = True
    seed: int = 0

    @property
    def positions(self) -> Three:
        axes = zip(self.size, self.kernel, self.stride, self.dilation, strict=True)
        inside = self.padding == "VALID"
        deep, high, wide = (-(-(n - (k - 1) * d * inside) // s) for n, k, s, d in axes)
        return deep, high, wide


@st.composite
def configs(draw: st.DrawFn) -> Config:
    three = st.tuples(*[st.integers(1, 3)] * 3)
    kernel, dilation = draw(three), draw(st.sampled_from([(1, 1, 1), (1, 1, 1), (2, 1, 3)]))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    least = [(k - 1) * d + 1 if padding == "VALID" else 1 for k, d in zip(kernel, dilation, strict=True)]
    deep, high, wide = (draw(st.integers(n, n + 4)) for n in least)
    return Config(
        transposed=draw(st.booleans()),
        batch=draw(st.integers(1, 2)),
        size=(deep, high, wide),
        channels=draw(st.tuples(st.integers(1, 6), st.integers(1, 5))),
        kernel=kernel,
        stride=(1, 1, 1) if max(dilation) > 1 else draw(three),
        dilation=dilation,
        padding=padding,
        activation=draw(st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
        bias=draw(st.booleans()),
        seed=draw(st.integers(0, 1 << 30)),
    )


def add_layer(w: Writer, i: int, c: Config, x: int | None = None) -> int:
    rng = np.random.default_rng(c.seed)
    inputs, outputs = c.channels
    small, large = (c.batch, *c.positions), (c.batch, *c.size)
    given, result = (small, large) if c.transposed else (large, small)
    order = (outputs, inputs) if c.transposed else (inputs, outputs)
    x = w.input(f"x{i}", (*given, inputs), "float32") if x is None else x
    k = w.const(f"k{i}", rng.normal(size=(*c.kernel, *order)).astype(np.float32))
    b = [w.const(f"b{i}", rng.normal(size=outputs).astype(np.float32))] if c.bias else []
    y = w.tensor(f"y{i}", (*result, outputs), "float32")
    operands = [w.const(f"shape{i}", np.int32([*result, outputs])), k, x, *b] if c.transposed else [x, k, *b]
    options = {f"stride_{n}": s for n, s in zip("dhw", c.stride, strict=True)}
    options |= {f"dilation_{n}_factor": d for n, d in zip("dhw", c.dilation, strict=True)}
    kind = "CONV_3D_TRANSPOSE" if c.transposed else "CONV_3D"
    w.op(kind, operands, [y], padding=c.padding, fused_activation_function=c.activation, **options)
    return y


def model(*layers: Config) -> bytes:
    w = Writer("volumes")
    w.output(*(add_layer(w, i, c) for i, c in enumerate(layers)))
    return w.finish()


def network() -> bytes:
    """Volumes that grow and shrink."""
    w = Writer("network")
    first = Config(size=(6, 6, 4), channels=(1, 6))
    up = Config(transposed=True, size=first.size, channels=(6, 5), stride=first.stride, kernel=(3, 2, 2))
    down = Config(size=first.size, channels=(5, 2), stride=(2, 2, 2), activation="RELU")
    y = None
    for i, c in enumerate((first, up, down)):
        y = add_layer(w, i, c, y)
    assert y is not None
    w.output(y)
    return w.finish()


@pytest.mark.slow
@given(st.lists(configs(), min_size=10, max_size=10))
@settings(max_examples=examples(3), deadline=None)
def test_random_layers(layers: list[Config]) -> None:
    check(model(*layers))


def test_volumes_run_by_rows() -> None:
    compiled = check(network(), least_ram=True)
    assert not any(step.whole for step in compiled.plan.steps)


@pytest.mark.parametrize("transposed", [False, True])
def test_batch_normalization_is_folded(transposed: bool) -> None:
    w = Writer("normalized")
    c = Config(transposed)
    x = add_layer(w, 0, c)
    shape = (1, *(c.size if transposed else c.positions), 3)
    for i, kind in enumerate(("MUL", "ADD"), 1):
        y = w.tensor(f"y{i}", shape, "float32")
        w.op(kind, [x, w.const(f"c{i}", np.float32([0.5, -2, 3]))], [y], fused_activation_function="NONE")
        x = y
    w.output(x)
    assert [op.kind for op in check(w.finish()).plan.graph.ops] == ["CONV_3D_TRANSPOSE" if transposed else "CONV_3D"]


@pytest.mark.slow
def test_on_cores() -> None:
    for core in ("cortex-m4", "rv32imc"):
        exact_on(core, network(), inputs=1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"size": (9, 5, 3)}, r"comes from volumes of \(9, 3, 3\)"),
        ({"shape": 4}, "must have 5 axes"),
        ({"depth": 3}, "weights of depth 3 do not fit 2 input channels"),
    ],
)
def test_what_is_refused(change: dict[str, object], why: str) -> None:
    w = Writer("refused")
    x = w.input("x", (1, 4, 3, 3, 2)[: change.get("shape", 5)], "float32")
    k = w.const("k", np.zeros((2, 3, 2, 3, change.get("depth", 2)), np.float32))
    size = change.get("size", (4, 5, 3))
    y = w.tensor("y", (1, *size, 3), "float32")
    w.op("CONV_3D_TRANSPOSE", [w.const("s", np.int32([1, *size, 3])), k, x], [y], stride_d=1, stride_h=2)
    w.output(y)
    with pytest.raises(UnsupportedError, match=why):
        tflite.parse(w.finish(), "model")
