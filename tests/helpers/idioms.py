"""Sequences of operators that converters write for one idea: activations, moves of elements, normalizations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mote.compiler.passes.pipeline import optimize
from mote.frontends import tflite
from mote.ir.graph import Graph
from tests.helpers.network import FLOAT, SCALE, Net

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


def same(model: bytes, x: np.ndarray) -> Graph:
    """The graph after the passes, which makes of `x` what it made before them."""
    before = tflite.parse(model, "before")
    after = optimized(model)
    want, got = before.evaluate({before.inputs[0]: x}), after.evaluate({before.inputs[0]: x})
    assert all(np.array_equal(got[t], want[t]) for t in before.outputs), after.text()
    return after
