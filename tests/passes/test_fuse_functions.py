"""Sequences of operators that converters write for one idea become one operator: exact to LiteRT, and only where nobody
else looks into them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.graph import Graph
from mote.kernels.portable import formula
from mote.ops.elementwise.activations import Clamp, LeakyRelu
from mote.ops.elementwise.binary_unscaled import Pow
from mote.ops.elementwise.fused_elementwise import PARTS
from mote.passes import optimize
from tests.helpers.network import FLOAT, SCALE, Net
from tests.helpers.support import check, exact_on, needs_litert

HALVES = (1 / 256, -128)
"""The quantization of shares of one, as LiteRT wants it of LOGISTIC."""


def number(net: Net, value: float) -> int:
    """A constant scalar; int8: with a scale of its own."""
    if net.dtype == "float32":
        return net.writer.const("number", np.float32(value))
    return net.writer.const("number", np.int8(127 if value > 0 else -127), abs(value) / 127)


def silu(net: Net, x: int) -> int:
    return net.op("MUL", [x, net.op("LOGISTIC", [x], quant=None if net.dtype == "float32" else HALVES)])


def gelu(net: Net, x: int) -> int:
    """Its approximation with tanh, written out."""
    cube = net.op("MUL", [net.op("MUL", [x, x], quant=quant(net, 0.2, -128)), x], quant=quant(net, 0.9, 3))
    inner = net.op("ADD", [x, net.op("MUL", [cube, number(net, 0.044715)])])
    bell = net.op("TANH", [net.op("MUL", [inner, number(net, 0.7978846)])], quant=quant(net, 1 / 128, 0))
    share = net.op("MUL", [net.op("ADD", [bell, number(net, 1.0)], quant=HALF(net)), number(net, 0.5)], quant=HALF(net))
    return net.op("MUL", [x, share])


def gelu_with_power(net: Net, x: int) -> int:
    """As above, with the cube as a power and the half first (float32)."""
    shape = net.shapes[x]
    cube = net.op("POW", [x, number(net, 3.0)])
    inner = net.op("ADD", [x, net.op("MUL", [number(net, 0.044715), cube], shape)])
    bell = net.op("ADD", [number(net, 1.0), net.op("TANH", [net.op("MUL", [inner, number(net, 0.7978846)])])], shape)
    return net.op("MUL", [net.op("MUL", [x, number(net, 0.5)]), bell])


def hard_swish(net: Net, x: int) -> int:
    clamped = net.op("RELU6", [net.op("ADD", [x, number(net, 3.0)])], quant=quant(net, 6 / 255, -128))
    return net.op("MUL", [net.op("MUL", [x, clamped], quant=quant(net, 0.1, -100)), number(net, 1 / 6)])


def hard_swish_fused(net: Net, x: int) -> int:
    """With the clamp inside of the sum."""
    clamped = net.op("ADD", [x, number(net, 3.0)], quant=quant(net, 6 / 255, -128), fused_activation_function="RELU6")
    return net.op("MUL", [x, net.op("MUL", [clamped, number(net, 1 / 6)], quant=HALF(net))])


def selu(net: Net, x: int) -> int:
    """By a choice between two functions."""
    above = net.writer.tensor("above", net.shapes[x], "bool")
    zero = number(net, 0.0) if net.dtype == "float32" else net.writer.const("zero", np.int8(0), SCALE)
    net.writer.op("GREATER", [x, zero], [above])
    grown = net.op("MUL", [net.op("EXP", [x], quant=quant(net, 2.0, -128)), number(net, 1.6)], quant=(SCALE, 4))
    return net.op("SELECT_V2", [above, net.op("ABS", [x], quant=(SCALE, 4)), grown], net.shapes[x], (SCALE, 4))


def quant(net: Net, scale: float, zero: int) -> tuple[float | None, int]:
    return FLOAT if net.dtype == "float32" else (scale, zero)


def HALF(net: Net) -> tuple[float | None, int]:  # noqa: N802
    return quant(net, 2 / 255, -128)


Builder = Callable[[Net, int], int]
BYTES: dict[str, Builder] = {f.__name__: f for f in (silu, gelu, hard_swish, hard_swish_fused, selu)}
REALS: dict[str, Builder] = {f.__name__: f for f in (silu, gelu, gelu_with_power, hard_swish, hard_swish_fused)}


def functions(dtype: str, builders: dict[str, Builder]) -> bytes:
    """Each function of an input of its own, which has all bytes among its values."""
    net = Net(3, dtype=dtype)
    return net.finish(*(build(net, net.input(1, 5, 16, 16)) for build in builders.values()))


def optimized(model: bytes) -> Graph:
    graph, _ = optimize(tflite.parse(model, "before"))
    return graph


def kinds(model: bytes) -> list[str]:
    return [op.kind for op in optimized(model).ops]


@needs_litert
def test_functions_of_bytes_are_tables() -> None:
    model = functions("int8", BYTES)
    assert kinds(model) == ["TABLE"] * len(BYTES)
    compiled = check(model)
    assert any(s.name == "fuse tables" and "LOGISTIC" in s.detail and s.exact for s in compiled.savings)


@needs_litert
def test_functions_of_real_numbers_are_formulas() -> None:
    model = functions("float32", REALS)
    assert kinds(model) == ["FORMULA"] * len(REALS)
    compiled = check(model)
    assert any(s.name == "fuse functions" and "TANH" in s.detail and s.exact for s in compiled.savings)
    exact_on("cortex-m4", model)


def test_all_parts_of_formulas_have_expressions() -> None:
    known = {*formula.SIGNS, *formula.EXPRESSIONS, *formula.PAIRS, Clamp, LeakyRelu, Pow}
    assert {*PARTS} == known


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("seen", ["output", "reader", "channels", "shape"])
def test_what_others_see_is_computed(dtype: str, seen: str) -> None:
    """A tensor inside that is read elsewhere or is an output, a constant for each channel, a repeated factor."""
    net = Net(dtype=dtype)
    x = net.input(1, 4, 3, 2)
    share = net.op("LOGISTIC", [x], quant=quant(net, *HALVES))
    outputs = [net.op("MUL", [x, share])]
    if seen == "output":
        outputs.append(share)
    if seen == "reader":
        outputs.append(net.op("SOFTMAX", [share], quant=quant(net, *HALVES), beta=1.0))
    if seen == "channels":
        values = net.writer.const("two", np.ones(2, net.dtype), *([SCALE] if dtype == "int8" else []))
        outputs = [net.op("MUL", [net.op("ADD", [share, values]), x])]
    if seen == "shape":
        outputs = [
            net.op("MUL", [net.op("LOGISTIC", [net.input(1, 1, 3, 2)], quant=quant(net, *HALVES)), x], (1, 4, 3, 2))
        ]
    found = kinds(net.finish(*outputs))
    assert "TABLE" not in found and "FORMULA" not in found


def transposed(net: Net, x: int, *permutation: int) -> int:
    shape = tuple(net.shapes[x][axis] for axis in permutation)
    return net.moved("TRANSPOSE", [x, net.ints(*permutation)], shape)


def back_and_forth(net: Net) -> int:
    return transposed(net, transposed(net, net.input(1, 4, 6, 2), 0, 3, 1, 2), 0, 2, 3, 1)


def transposed_twice(net: Net) -> int:
    return transposed(net, transposed(net, net.input(3, 4, 6, 2), 0, 3, 1, 2), 3, 0, 1, 2)


def transposed_ones(net: Net) -> int:
    return transposed(net, net.input(1, 4, 1, 2), 0, 2, 1, 3)


def joined_slices(net: Net, last: int = 6) -> int:
    x = net.input(1, 4, 6, 2)
    edges = (0, 2, 3, last)
    parts = [net.slice(x, (0, 0, a, 0), (1, 4, b - a, 2)) for a, b in pairwise(edges)]
    return net.concatenate(2, *parts)


def joined_part(net: Net) -> int:
    return joined_slices(net, 5)


def slice_of_slice(net: Net) -> int:
    return net.slice(net.slice(net.input(1, 9, 6, 2), (0, 2, 0, 0), (1, 6, 6, 2)), (0, 1, 2, 0), (1, 4, 3, 2))


def tiled(net: Net) -> int:
    """An image enlarged by TILE."""
    x = net.reshape(net.input(1, 4, 6, 2), 1, 4, 1, 6, 1, 2)
    wide = net.moved("TILE", [x, net.ints(1, 1, 2, 1, 3, 1)], (1, 4, 2, 6, 3, 2))
    return net.reshape(wide, 1, 8, 18, 2)


def packed(net: Net) -> int:
    """An image enlarged by PACK and RESHAPE, one axis after the other."""
    x = net.input(1, 4, 6, 2)
    rows = net.reshape(net.moved("PACK", [x, x], (1, 4, 2, 6, 2), axis=2, values_count=2), 1, 8, 6, 2)
    return net.reshape(net.moved("PACK", [rows, rows], (1, 8, 6, 2, 2), axis=3, values_count=2), 1, 8, 12, 2)


def repeated(net: Net) -> int:
    """An image enlarged as Keras repeats elements: every row and every column cut out and joined twice."""
    x = net.input(1, 3, 4, 2)
    rows = [net.slice(x, (0, y, 0, 0), (1, 1, 4, 2)) for y in range(3) for _ in range(2)]
    tall = net.concatenate(1, *rows)
    return net.concatenate(2, *(net.slice(tall, (0, 0, c, 0), (1, 6, 1, 2)) for c in range(4) for _ in range(2)))


def repeated_steps(net: Net) -> int:
    """The steps of a sequence repeated."""
    x = net.input(1, 5, 4)
    return net.concatenate(1, *(net.slice(x, (0, k, 0), (1, 1, 4)) for k in range(5) for _ in range(3)))


def depth_to_space(net: Net) -> int:
    x = net.reshape(net.input(1, 4, 6, 12), 1, 4, 6, 2, 2, 3)
    return net.reshape(transposed(net, x, 0, 1, 3, 2, 4, 5), 1, 8, 12, 3)


def space_to_depth(net: Net) -> int:
    x = net.reshape(net.input(1, 4, 6, 3), 1, 2, 2, 3, 2, 3)
    return net.reshape(transposed(net, x, 0, 1, 3, 2, 4, 5), 1, 2, 3, 12)


def shuffled(net: Net) -> int:
    """Channels in another order are a list of them."""
    x = net.reshape(net.input(1, 4, 6, 12), 1, 4, 6, 3, 4)
    return net.reshape(transposed(net, x, 0, 1, 2, 4, 3), 1, 4, 6, 12)


def shuffled_part(net: Net) -> int:
    """Half of the channels, of which the next unit of ShuffleNet takes every second one first."""
    x = net.slice(net.reshape(net.input(1, 4, 6, 12), 1, 4, 6, 2, 6), (0, 0, 0, 0, 0), (1, 4, 6, 2, 3))
    return net.reshape(transposed(net, x, 0, 1, 2, 4, 3), 1, 4, 6, 6)


def gap(net: Net) -> int:
    x = net.input(1, 4, 6, 2)
    return net.concatenate(2, *(net.slice(x, (0, 0, a, 0), (1, 4, 2, 2)) for a in (0, 3)))


MOVES: dict[Callable[[Net], int], list[str]] = {
    back_and_forth: ["RESHAPE"],
    transposed_twice: ["TRANSPOSE"],
    transposed_ones: ["RESHAPE"],
    joined_slices: ["RESHAPE"],
    joined_part: ["SLICE"],
    slice_of_slice: ["SLICE"],
    tiled: ["RESIZE_NEAREST_NEIGHBOR"],
    packed: ["RESIZE_NEAREST_NEIGHBOR"],
    repeated: ["RESIZE_NEAREST_NEIGHBOR"],
    repeated_steps: ["RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "RESHAPE"],
    depth_to_space: ["DEPTH_TO_SPACE"],
    space_to_depth: ["SPACE_TO_DEPTH"],
    shuffled: ["GATHER"],
    shuffled_part: ["GATHER"],
    gap: ["SLICE", "SLICE", "CONCATENATION"],
}


@pytest.mark.parametrize("build", MOVES, ids=lambda build: build.__name__)
def test_moves_become_one(build: Callable[[Net], int]) -> None:
    net = Net()
    assert kinds(net.finish(build(net))) == MOVES[build]


@needs_litert
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_moves_are_exact(dtype: str) -> None:
    net = Net(dtype=dtype)
    compiled = check(net.finish(*(build(net) for build in MOVES)))
    assert any(s.name == "fuse moves" and "PACK" in s.detail and s.exact for s in compiled.savings)


@pytest.mark.parametrize("seen", ["output", "reader"])
def test_moves_that_others_see_stay(seen: str) -> None:
    net = Net()
    turned = transposed(net, net.input(1, 4, 6, 2), 0, 3, 1, 2)
    other = turned if seen == "output" else net.op("SOFTMAX", [turned], quant=HALVES, beta=1.0)
    model = net.finish(transposed(net, turned, 0, 3, 2, 1), other)
    assert kinds(model).count("TRANSPOSE") == 2


LINES = (1, 3, 5, 24)


def kept(net: Net, kind: str, x: int, scale: float, zero: int) -> int:
    """One number of each line."""
    return net.op(kind, [x, net.ints(3)], (*LINES[:-1], 1), quant(net, scale, zero), keep_dims=True)


def vector(net: Net, scale: float = 0.01) -> int:
    values = net.weights(LINES[-1])
    if net.dtype == "float32":
        return net.writer.const("vector", np.float32(values * scale))
    return net.writer.const("vector", values, scale)


def inverse_root(net: Net, variance: int, least: float = 0.02) -> int:
    shifted = net.op("ADD", [variance, number(net, least)], quant=quant(net, 0.02, -128))
    return net.op("RSQRT", [shifted], quant=quant(net, 0.02, -128))


def layer_norm(net: Net, x: int) -> int:
    """As Keras has it: the mean is taken off last, together with what is added."""
    mean = kept(net, "MEAN", x, 0.02, 5)
    squares = net.op("SQUARED_DIFFERENCE", [x, mean], quant=quant(net, 0.1, -128))
    factors = net.op("MUL", [inverse_root(net, kept(net, "MEAN", squares, 0.05, -128)), vector(net)], LINES)
    offset = net.op("SUB", [vector(net), net.op("MUL", [mean, factors], LINES)], LINES)
    return net.op("ADD", [net.op("MUL", [x, factors]), offset])


def layer_norm_apart(net: Net, x: int) -> int:
    """As PyTorch has it: the mean is taken off first."""
    apart = net.op("SUB", [x, kept(net, "MEAN", x, 0.02, 5)])
    squares = net.op("MUL", [apart, apart], quant=quant(net, 0.1, -128))
    normal = net.op(
        "MUL", [apart, inverse_root(net, kept(net, "MEAN", squares, 0.05, -128))], quant=quant(net, 0.03, 0)
    )
    return net.op("ADD", [net.op("MUL", [normal, vector(net)]), vector(net)])


def layer_norm_by_root(net: Net, x: int) -> int:
    """With a quotient (float32)."""
    apart = net.op("SUB", [x, kept(net, "MEAN", x, 0.02, 5)])
    variance = kept(net, "MEAN", net.op("SQUARE", [apart]), 0.05, -128)
    return net.op("DIV", [apart, net.op("SQRT", [net.op("ADD", [variance, number(net, 0.02)])])])


def rms_norm(net: Net, x: int) -> int:
    squares = net.op("MUL", [x, x], quant=quant(net, 0.1, -128))
    normal = net.op("MUL", [x, inverse_root(net, kept(net, "MEAN", squares, 0.05, -128))])
    return net.op("MUL", [normal, vector(net)])


def l2_norm(net: Net, x: int) -> int:
    squares = net.op("MUL", [x, x], quant=quant(net, 0.1, -128))
    return net.op("MUL", [x, inverse_root(net, kept(net, "SUM", squares, 1.0, -128))])


def l2_norm_of_real_numbers(net: Net, x: int) -> int:
    total = net.op("MAXIMUM", [kept(net, "SUM", net.op("SQUARE", [x]), 1.0, -128), number(net, 0.02)])
    return net.op("MUL", [x, net.op("RSQRT", [total])])


NORMS: dict[str, list[Builder]] = {
    "int8": [layer_norm, layer_norm_apart, rms_norm],
    "float32": [layer_norm, layer_norm_apart, layer_norm_by_root, rms_norm, l2_norm_of_real_numbers],
}


def norms(dtype: str, *more: Builder) -> bytes:
    net = Net(5, dtype=dtype)
    return net.finish(*(build(net, net.input(*LINES)) for build in (*NORMS[dtype], *more)))


@needs_litert
@pytest.mark.parametrize("dtype", NORMS)
def test_norms_are_computed_line_by_line(dtype: str) -> None:
    model = norms(dtype)
    assert kinds(model) == ["LINES"] * len(NORMS[dtype])
    compiled = check(model)
    assert any(s.name == "fuse lines" and "MEAN" in s.detail and s.exact for s in compiled.savings)


@needs_litert
@pytest.mark.parametrize("dtype", NORMS)
def test_norms_on_a_core(dtype: str) -> None:
    """Also with int8 sums, of which LiteRT is no judge."""
    model = norms(dtype, l2_norm)
    assert kinds(model) == ["LINES"] * (len(NORMS[dtype]) + 1)
    exact_on("cortex-m4", model, ram="min")


@pytest.mark.parametrize("seen", ["output", "axes", "short", "other"])
def test_norms_that_are_none(seen: str) -> None:
    """A number that is an output, means over other axes, lines that are too short, factors from elsewhere."""
    net = Net()
    x = net.input(1, 3, 5, 8 if seen == "short" else 24)
    shape = (*net.shapes[x][:-1], 1)
    if seen == "axes":
        mean = net.op("MEAN", [x, net.ints(2)], (1, 3, 1, 24), keep_dims=True)
    elif seen == "other":
        mean = net.op("MEAN", [net.input(1, 3, 5, 24), net.ints(3)], shape, keep_dims=True)
    else:
        mean = net.op("MEAN", [x, net.ints(3)], shape, keep_dims=True)
    outputs = [net.op("SUB", [x, mean]), *([mean] if seen == "output" else [])]
    assert kinds(net.finish(*outputs)) == ["MEAN", "SUB"]


def test_norms_of_a_stream() -> None:
    """What is new of a stream is normalized by itself."""
    net = Net()
    x = net.conv(net.input(1, 8, 4, 3), 24, padding="VALID")
    normal = net.op("SUB", [x, net.op("MEAN", [x, net.ints(3)], (*net.shapes[x][:-1], 1), keep_dims=True)])
    compiled = check(net.finish(net.fully_connected(net.flat(normal), 3)), stream=1)
    assert "LINES" in [op.kind for op in compiled.plan.graph.ops]


def same(model: bytes, x: np.ndarray) -> Graph:
    """The graph after the passes, which makes of `x` what it made before them."""
    before = tflite.parse(model, "before")
    after = optimized(model)
    want, got = before.evaluate({before.inputs[0]: x}), after.evaluate({before.inputs[0]: x})
    assert all(np.array_equal(got[t], want[t]) for t in before.outputs), after.text()
    return after


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_functions_of_bytes(data: st.DataObject) -> None:
    """Sums, products and functions of what there is so far, of which some may be outputs."""
    net = Net(data.draw(st.integers(0, 1000)))
    made = [net.input(1, 256)]
    for _ in range(data.draw(st.integers(2, 7))):
        kind = data.draw(st.sampled_from(["ADD", "SUB", "MUL", "ABS", "RELU", "LOGISTIC", "QUANTIZE"]))
        given_ = [data.draw(st.sampled_from(made)) for _ in range(2 if kind in ("ADD", "SUB", "MUL") else 1)]
        made.append(net.op(kind, given_, quant=HALVES if kind == "LOGISTIC" else None))
    outputs = {made[-1], *data.draw(st.sets(st.sampled_from(made[1:]), max_size=2))}
    after = same(net.finish(*sorted(outputs)), np.arange(-128, 128).astype(np.int8).reshape(1, 256))
    assert len(after.ops) <= len(made) - 1 and (len(outputs) > 1 or len(after.ops) == 1)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_moves(data: st.DataObject) -> None:
    """Transposes, reshapes, slices, and tensors joined with themselves or with other parts."""
    net = Net()
    made = [net.input(2, 4, 6, 4)]
    for _ in range(data.draw(st.integers(2, 5))):
        x = data.draw(st.sampled_from(made[-2:]))
        shape = net.shapes[x]
        axis = data.draw(st.integers(0, len(shape) - 1))
        kind = data.draw(st.sampled_from(["TRANSPOSE", "RESHAPE", "SLICE", "CONCATENATION", "PACK"]))
        if kind == "TRANSPOSE":
            made.append(transposed(net, x, *data.draw(st.permutations(range(len(shape))))))
        elif kind == "RESHAPE":
            flat = int(np.prod(shape))
            made.append(net.reshape(x, *data.draw(st.sampled_from([(flat,), (2, flat // 2), (1, 2, flat // 4, 2)]))))
        elif kind == "SLICE" and shape[axis] % 2 == 0:
            half = shape[axis] // 2
            begin = [0] * len(shape)
            begin[axis] = data.draw(st.sampled_from([0, half]))
            made.append(net.slice(x, tuple(begin), (*shape[:axis], half, *shape[axis + 1 :])))
        elif kind == "CONCATENATION":
            made.append(net.concatenate(axis, x, x))
        elif len(shape) < 5:
            doubled = (*shape[:axis], 2, *shape[axis:])
            made.append(net.moved("PACK", [x, x], doubled, axis=axis, values_count=2))
    if len(made) > 1:
        values = np.random.default_rng(0).integers(-128, 128, (2, 4, 6, 4)).astype(np.int8)
        same(net.finish(made[-1]), values)


@needs_litert
def test_a_move_before_a_layer_with_an_absent_input() -> None:
    w = Writer("absent")
    x, turned, y = (
        w.input("x", (2, 6), "float32"),
        w.tensor("turned", (6, 2), "float32"),
        w.tensor("y", (6, 3), "float32"),
    )
    w.op("TRANSPOSE", [x, w.const("order", np.int32([1, 0]))], [turned])
    w.op("FULLY_CONNECTED", [turned, w.const("weights", np.ones((3, 2), np.float32)), -1], [y])
    w.output(y)
    check(w.finish(), inputs=1)
