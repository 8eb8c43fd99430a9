"""What may differ from a float reference: as much as the terms of a sum explain, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.emit.c.programs.golden import FULL, runs
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR
from mote.ir.graph import Graph, Quantization, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import FLOAT_TOLERANCE, Magnitudes, compare, computes_floats
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.elementwise.quantize import Quantize
from tests.helpers.network import Net

N = 64


def about(size: float) -> float:
    """The noise that is followed through a model is float32 too."""
    return pytest.approx(size, rel=0.07)  # type: ignore[no-any-return]


def cancelling(after: float | None = None) -> Graph:
    """A fully connected layer of one output with weights 1000, -1000, 1000, ..., and a MUL by `after` behind it."""
    net = Net(dtype="float32")
    y = net.op("FULLY_CONNECTED", [net.input(1, N), net.writer.const("w", weights())], (1, 1))
    if after is not None:
        y = net.op("MUL", [y, net.writer.const("m", np.float32([after]))])
    return tflite.parse(net.finish(y), "cancelling")


def weights() -> Array:
    return np.where(np.arange(N) % 2, -1000, 1000).astype(np.float32)[None]


def nearly_equal() -> Array:
    """Inputs around one that cancel to about a thousandth of their products."""
    return (1 + np.random.default_rng(0).uniform(-1e-6, 1e-6, (1, N))).astype(np.float32)


def in_order(x: Array, order: Array) -> Array:
    """The sum of products in float32, one by one."""
    total = np.float32(0)
    for i in order:
        total = np.float32(total + np.float32(x[0, i] * weights()[0, i]))
    return np.float32([[total]])


def test_another_order_of_a_cancelling_sum_is_the_same() -> None:
    g, x = cancelling(), nearly_equal()
    values = g.evaluate({g.inputs[0]: x})
    (out,) = g.outputs
    other = in_order(x, np.argsort(weights()[0], kind="stable"))
    assert compare(other, values[out])[1], "without its terms, the sum would count as wrong"
    size = Magnitudes(g).step(values)[out]
    assert size == about(N * 1000)
    assert not compare(other, values[out], size)[1]
    assert compare(values[out] + np.float32(2 * FLOAT_TOLERANCE * size), values[out], size)[1]


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_next_layer_knows(factor: float) -> None:
    g, x = cancelling(factor), nearly_equal()
    values = g.evaluate({g.inputs[0]: x})
    sizes = Magnitudes(g).step(values)
    assert sizes[g.outputs[0]] == about(factor * N * 1000)


def test_a_sum_of_nothing_but_cancellation() -> None:
    g = cancelling()
    values = g.evaluate({g.inputs[0]: np.ones((1, N), np.float32)})
    assert values[g.outputs[0]] == 0 and Magnitudes(g).step(values)[g.outputs[0]] == about(N * 1000)


def test_what_does_not_cancel_is_as_large_as_it_looks() -> None:
    g = cancelling()
    x = np.where(weights() > 0, 1, -1).astype(np.float32)
    values = g.evaluate({g.inputs[0]: x})
    assert values[g.outputs[0]] == N * 1000 and Magnitudes(g).step(values)[g.outputs[0]] == about(N * 1000)


def subtraction() -> Graph:
    net = Net(dtype="float32")
    return tflite.parse(net.finish(net.op("SUB", [net.input(4), net.input(4)])), "subtraction")


def test_subtraction_adds_up_its_operands() -> None:
    g = subtraction()
    values = g.evaluate(dict.fromkeys(g.inputs, np.float32([1, 2, 3, 4])))
    assert Magnitudes(g).step(values)[g.outputs[0]] == about(8)


def remembering() -> Graph:
    """An SVDF layer that adds up its last two inputs."""
    net = Net(dtype="float32")
    once, time = (net.writer.const("ones", np.ones((1, size), np.float32)) for size in (1, 2))
    state = net.writer.variable("s", (1, 2), "float32")
    y = net.op("SVDF", [net.input(1, 1), once, time, NO_TENSOR, state], rank=1)
    return tflite.parse(net.finish(y), "svdf")


def test_states_are_terms_of_the_next_step() -> None:
    g = remembering()
    sizes = Magnitudes(g)
    first = g.evaluate({g.inputs[0]: np.float32([[5]])})
    assert sizes.step(first)[g.outputs[0]] == about(5)
    second = g.evaluate({g.inputs[0]: np.float32([[-5]])} | g.carried(first))
    assert second[g.outputs[0]] == 0 and 10 <= sizes.step(second)[g.outputs[0]] <= 16


def test_infinity_allows_nothing_else() -> None:
    want = np.float32([np.inf, 1])
    assert compare(np.float32([np.inf, 1]), want) == (0.0, 0)
    assert compare(np.float32([np.inf, 2]), want)[1] == 1
    assert compare(np.float32([np.nan, 1]), want)[1] == 1


def test_integers_are_exact() -> None:
    """Unless real numbers were quantized on the way to them."""
    assert compare(np.int8([1]), np.int8([2])) == (1.0, 1)
    assert compare(np.int8([1]), np.int8([2]), magnitude=1.5 / FLOAT_TOLERANCE) == (1.0, 0)


def quantizing(x: float) -> Magnitudes:
    """Of a number plus one that is quantized in steps of one, times 10 and quantized again."""
    plain, coded = Quantization(np.float32([1]), np.zeros(1, np.int64)), DType.INT8
    tensors = {
        0: Tensor(0, "x", (1,), DType.FLOAT32),
        1: Tensor(1, "one", (1,), DType.FLOAT32, data=np.float32([1])),
        2: Tensor(2, "sum", (1,), DType.FLOAT32),
        3: Tensor(3, "codes", (1,), coded, plain),
        4: Tensor(4, "ten", (1,), coded, plain, np.int8([10])),
        5: Tensor(5, "product", (1,), coded, plain),
    }
    ops = (
        Add(inputs=(0, 1), outputs=(2,)),
        Quantize(inputs=(2,), outputs=(3,), rounding=Rounding.EVEN),
        Mul(inputs=(3, 4), outputs=(5,)),
    )
    g = Graph("quantizing", tensors, ops, (0,), (5,))
    sizes = Magnitudes(g)
    sizes.step(g.evaluate({0: np.float32([x])}))
    return sizes


def test_codes_of_real_numbers_near_a_half() -> None:
    """A step is allowed of them, and what it makes of integers behind them; of others nothing."""
    near, far = quantizing(0.500001), quantizing(0.6)
    assert set(near.drifted) == {2, 3, 5} and set(far.drifted) == {2}
    assert near.step(near.values)[5] * FLOAT_TOLERANCE == pytest.approx(21.5)
    assert near.step(near.values)[3] * FLOAT_TOLERANCE == pytest.approx(3.5)
    assert 5 not in far.step(far.values)


def test_the_self_test_has_the_same_tolerance() -> None:
    g = cancelling()
    assert computes_floats(g)
    (values,) = FULL.inputs(g).values()
    assert runs(g)[0].tolerances[g.outputs[0]] == about(FLOAT_TOLERANCE * 1000 * np.abs(values).sum())


def deep(layers: int) -> bytes:
    """Convolutions that each make a little more of small differences, as deep networks do."""
    net = Net(dtype="float32")
    x = net.input(1, 8, 8, 12)
    for _ in range(layers):
        weights = net.rng.normal(size=(12, 3, 3, 12), scale=1.3 / np.sqrt(9 * 12))
        bias = net.writer.const("bias", np.zeros(12, np.float32))
        operands = [x, net.writer.const("weights", np.float32(weights)), bias]
        x = net.op("CONV_2D", operands, padding="SAME", fused_activation_function="RELU")
    return net.finish(x)


def test_what_is_allowed_follows_the_depth() -> None:
    """What the layers before have rounded grows on the way, and is no mistake of the last one."""
    g = tflite.parse(deep(80), "deep")
    values = g.evaluate(FULL.inputs(g))
    sizes = Magnitudes(g).step(values)
    (out,), first = g.outputs, g.ops[0].outputs[0]
    share = [sizes[t] / np.abs(values[t]).max() for t in (first, out)]
    assert share[1] > 5 * share[0]
    wrong = values[out] * np.float32(1 + 1.1 * FLOAT_TOLERANCE * share[1])
    assert compare(wrong, values[out], sizes[out])[1] and share[1] * FLOAT_TOLERANCE < 0.1
