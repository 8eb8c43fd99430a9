"""Passes as text: the graph before, the graph after, and the same values from both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mote.api.stimuli import stimuli
from mote.frontends import tflite
from mote.graph import Graph
from mote.graph.tolerance import Magnitudes, compare
from mote.passes import (
    fold_batch_norm,
    fold_constants,
    fuse_activations,
    fuse_pads,
    fuse_tables,
    optimize,
    remove_dead_code,
    remove_identities,
    strip_io,
    tflm_numerics,
)
from tflite_writer import NO_TENSOR, Writer

Q = {"scale": 0.05, "zero_point": -3}


def graph(build: Callable[[Writer], int | list[int]]) -> Graph:
    w = Writer("before")
    outputs = build(w)
    for out in [outputs] if isinstance(outputs, int) else outputs:
        w.output(out)
    return tflite.parse(w.finish(), "before")


def unchanged(before: Graph, after: Graph, exact: bool = True) -> None:
    """Every output has the same value; `exact`: floats too, bit for bit."""
    after.verify()
    for case in stimuli(before, 4):
        want, got = before.evaluate(case), after.evaluate(case)
        sizes = Magnitudes(before).step(want)
        for t in before.outputs:
            assert np.array_equal(got[t], want[t]) if exact else not compare(got[t], want[t], sizes[t])[1]


def kinds(g: Graph) -> list[str]:
    return [op.kind for op in g.ops]


def conv(w: Writer, x: int, shape: tuple[int, ...], name: str, dtype: str = "int8", **options: object) -> int:
    rng = np.random.default_rng(0)
    if dtype == "int8":
        k = w.const(f"{name}_w", rng.integers(-127, 128, (4, 3, 3, 2)).astype(np.int8), scale=0.01)
        b = w.const(f"{name}_b", rng.integers(-99, 99, 4).astype(np.int32), scale=0.0005)
        y = w.tensor(name, shape, "int8", **Q)
    else:
        k = w.const(f"{name}_w", rng.normal(size=(4, 3, 3, 2)).astype(np.float32))
        b = w.const(f"{name}_b", rng.normal(size=4).astype(np.float32))
        y = w.tensor(name, shape, "float32")
    w.op("CONV_2D", [x, k, b], [y], **options)
    return y


def test_fold_constants() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 4), "int8", **Q)
        a = w.const("a", np.array([[1, 2, 3, 4]], np.int8), **Q)
        half = w.tensor("half", (1, 4), "int8", **Q)
        w.op("ADD", [a, a], [half])
        y = w.tensor("y", (1, 4), "int8", **Q)
        w.op("ADD", [x, half], [y])
        return y

    before = graph(build)
    after = fold_constants.run(before)
    assert after.text() == (
        "graph(%0: int8[1x4])\n  %3: int8[1x4] = ADD(%0, const int8[1x4]) {activation=NONE}\n  return %3"
    )
    unchanged(before, after)


def test_constant_outputs_stay_operators() -> None:
    def build(w: Writer) -> list[int]:
        x = w.input("x", (1, 4), "int8", **Q)
        a = w.const("a", np.array([[1, 2, 3, 4]], np.int8), **Q)
        y, z = (w.tensor(n, (1, 4), "int8", **Q) for n in "yz")
        w.op("ADD", [a, a], [y])
        w.op("ADD", [x, y], [z])
        return [y, z]

    before = graph(build)
    unchanged(before, fold_constants.run(before))
    assert kinds(fold_constants.run(before)) == ["ADD", "ADD"]


def test_remove_dead_code() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 4), "float32")
        y, unused, further = (w.tensor(n, (1, 4), "float32") for n in ("y", "unused", "further"))
        w.op("RELU", [x], [y])
        w.op("TANH", [x], [unused])
        w.op("RELU", [unused], [further])
        return y

    before = graph(build)
    after = remove_dead_code.run(before)
    assert kinds(after) == ["RELU"]
    unchanged(before, after)


def test_remove_identities_and_collapse_reshapes() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 2, 2, 2), "int8", **Q)
        same, a, b = (w.tensor(n, s, "int8", **Q) for n, s in (("s", (1, 2, 2, 2)), ("a", (1, 4, 2)), ("b", (1, 8))))
        w.op("QUANTIZE", [x], [same])
        w.op("RESHAPE", [same, w.const("1", np.array([1, 4, 2], np.int32))], [a])
        w.op("RESHAPE", [a, w.const("2", np.array([1, 8], np.int32))], [b])
        y = w.tensor("y", (1, 8), "int8", **Q)
        w.op("ADD", [b, b], [y])
        return y

    before = graph(build)
    after = remove_identities.run(before)
    assert after.text() == (
        "graph(%0: int8[1x2x2x2])\n"
        "  %3: int8[1x8] = RESHAPE(%0) {shape=(1, 8)}\n"
        "  %6: int8[1x8] = ADD(%3, %3) {activation=NONE}\n"
        "  return %6"
    )
    unchanged(before, after)


@pytest.mark.parametrize(("value", "fused"), [(-3, True), (5, False)])
def test_fuse_pads(value: int, fused: bool) -> None:
    """Exact only where the padding holds the zero point."""

    def build(w: Writer) -> int:
        x = w.input("x", (1, 5, 6, 2), "int8", **Q)
        padded = w.tensor("padded", (1, 8, 9, 2), "int8", **Q)
        pads = w.const("pads", np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32))
        w.op("PADV2", [x, pads, w.const("value", np.array(value, np.int8), **Q)], [padded])
        return conv(w, padded, (1, 3, 4, 4), "y", padding="VALID", stride_h=2, stride_w=2)

    before = graph(build)
    after = fuse_pads.run(before)
    assert kinds(after) == kinds(before)[1 if fused else 0 :]
    unchanged(before, after)


@pytest.mark.parametrize("same", [True, False])
def test_fuse_activations(same: bool) -> None:
    """int8: only where the quantization does not change, so that the activation is a clamp."""

    def build(w: Writer) -> int:
        x = w.input("x", (1, 5, 6, 2), "int8", **Q)
        c = conv(w, x, (1, 5, 6, 4), "c")
        y = w.tensor("y", (1, 5, 6, 4), "int8", **(Q if same else {"scale": 0.04, "zero_point": 9}))
        w.op("RELU6", [c], [y])
        return y

    before = graph(build)
    after = fuse_activations.run(before)
    assert kinds(after) == (["CONV_2D"] if same else ["CONV_2D", "RELU6"])
    unchanged(before, after)


def test_activation_of_a_layer_with_state() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 3), "float32")
        k, t = (w.const(n, np.ones((4, size), np.float32)) for n, size in (("k", 3), ("t", 5)))
        state = w.variable("s", (1, 20), "float32")
        c, y = (w.tensor(n, (1, 2), "float32") for n in "cy")
        w.op("SVDF", [x, k, t, NO_TENSOR, state], [c], rank=2)
        w.op("RELU", [c], [y])
        return y

    before = graph(build)
    after = fuse_activations.run(before)
    unchanged(before, after)
    assert kinds(after) == ["SVDF"] and after.states == before.states


def test_fuse_tables() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 64), "int8", **Q)
        a = w.tensor("a", (1, 64), "int8", scale=0.03, zero_point=7)
        b = w.tensor("b", (1, 64), "float32")
        c = w.tensor("c", (1, 64), "int8", scale=0.1, zero_point=-20)
        d = w.tensor("d", (1, 64), "int8", scale=1 / 256, zero_point=-128)
        w.op("QUANTIZE", [x], [a])
        w.op("DEQUANTIZE", [a], [b])
        w.op("QUANTIZE", [b], [c])
        w.op("LOGISTIC", [c], [d])
        return d

    before = graph(build)
    after = fuse_tables.run(before)
    assert kinds(after) == ["TABLE"]
    unchanged(before, after)


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_fold_batch_norm(kind: str) -> None:
    def build(w: Writer) -> int:
        rng = np.random.default_rng(1)
        x = w.input("x", (1, 5, 6, 2), "float32")
        if kind == "conv":
            c, channels = conv(w, x, (1, 5, 6, 4), "c", "float32"), 4
        else:
            k = w.const("k", rng.normal(size=(1, 3, 3, 2)).astype(np.float32))
            c, channels = w.tensor("c", (1, 5, 6, 2), "float32"), 2
            w.op("DEPTHWISE_CONV_2D", [x, k], [c])
        m, a = (w.tensor(n, (1, 5, 6, channels), "float32") for n in ("m", "a"))
        w.op("MUL", [c, w.const("gamma", rng.normal(size=channels).astype(np.float32))], [m])
        w.op("ADD", [w.const("beta", rng.normal(size=channels).astype(np.float32)), m], [a],
             fused_activation_function="RELU6")  # fmt: skip
        return a

    before = graph(build)
    after = fold_batch_norm.run(before)
    assert len(after.ops) == 1 and after.ops[0].activation == "RELU6"
    unchanged(before, after, exact=False)


def test_strip_io() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 8), "float32")
        q, r = (w.tensor(n, (1, 8), "int8", **Q) for n in "qr")
        y = w.tensor("y", (1, 8), "float32")
        w.op("QUANTIZE", [x], [q])
        w.op("RELU", [q], [r])
        w.op("DEQUANTIZE", [r], [y])
        return y

    after = strip_io.run(graph(build)).verify()
    assert kinds(after) == ["RELU"]
    assert [after.tensors[t].dtype for t in (*after.inputs, *after.outputs)] == ["int8", "int8"]


def test_tflm_numerics() -> None:
    def build(w: Writer) -> int:
        rng = np.random.default_rng(2)
        x = w.input("x", (4, 64), "int8", **Q)
        k = w.const("k", rng.integers(-127, 128, (32, 64)).astype(np.int8), scale=0.01)
        y = w.tensor("y", (4, 32), "int8", scale=0.2, zero_point=1)
        w.op("FULLY_CONNECTED", [x, k, -1], [y])
        return y

    before = graph(build)
    after = tflm_numerics.run(before)
    differing = 0
    for case in stimuli(before, 20):
        (out,) = before.outputs
        delta = np.abs(before.evaluate(case)[out].astype(int) - after.evaluate(case)[out])
        assert delta.max() <= 1
        differing += int(delta.sum())
    assert differing > 0


def test_pipeline_reports_what_it_removed() -> None:
    def build(w: Writer) -> int:
        x = w.input("x", (1, 5, 6, 2), "int8", **Q)
        padded = w.tensor("padded", (1, 7, 8, 2), "int8", **Q)
        w.op("PAD", [x, w.const("pads", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))], [padded])
        c = conv(w, padded, (1, 5, 6, 4), "c", padding="VALID")
        y = w.tensor("y", (1, 5, 6, 4), "int8", **Q)
        w.op("RELU", [c], [y])
        return y

    before = graph(build)
    after, savings = optimize(before)
    assert [(s.name, s.removed, s.detail) for s in savings] == [
        ("fuse pads", 1, "1 PAD"),
        ("fuse activations", 1, "1 RELU"),
    ]
    unchanged(before, after)
