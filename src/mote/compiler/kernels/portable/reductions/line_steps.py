"""Steps of lines with one number for each line (`mote_line_steps_s8.h`, `mote_line_steps_f32.h`): ADD, SUB, MUL, MEAN,
and the MEAN of a SQUARED_DIFFERENCE. Only LINES uses them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    View,
)
from mote.compiler.kernels.pack.arithmetic import affine_params, product_params, product_scale
from mote.compiler.kernels.pack.pairs import term_params
from mote.compiler.kernels.pack.params import scale_params
from mote.compiler.kernels.pack.requantize.add import AddPrecision
from mote.compiler.kernels.pack.requantize.squares import difference, squared
from mote.ir.graph.numeric.fixedpoint import Ints, rescale, wrap32
from mote.ir.graph.types import DType
from mote.ir.ops.common import int8_range
from mote.ir.ops.elementwise.arithmetic import INT8 as BYTES
from mote.ir.ops.elementwise.arithmetic import Add, Binary, Mul
from mote.ir.ops.elementwise.squared_difference import PLACES, SquaredDifference
from mote.ir.ops.reductions.mean import Mean

LINE = AddPrecision(16, dropped=8)
"""Fixed-point precision with which `mote_line_affine` adds."""
LEAST_RIGHT_SHIFT = 2
"""Smallest requantization shift of `mote_line_product`: products shifted less overflow half words."""
UNIT = 1 << PLACES[DType.INT8]
"""Factor of LiteRT's int8 numbers before they are subtracted."""
REAL = "line_steps_f32"
"""Header of the steps for float32."""
NO_LINE = Refusal("the operands are not a line and one number")


def _order(view: View) -> tuple[int, int] | None:
    """The positions of the operand that is a line and of the one that is a number; None if there are no such two."""
    op, g = view.the(Binary), view.graph
    sizes = op.input(g).size, op.input(g, 1).size
    if min(sizes) != 1 or max(sizes) != op.output(g).size or max(sizes) == 1:
        return None
    return (0, 1) if sizes[1] == 1 else (1, 0)


def _packed(view: View, name: str, params: Params, order: tuple[int, int]) -> Packed:
    return Packed(name, params, Entry(Call.FLAT, view.output.size, order), Needs(in_place=order[:1]))


def _add(view: View) -> Packed | Refusal:
    order, params = _order(view), affine_params(view, LINE)
    if order is None or isinstance(params, Refusal):
        return NO_LINE if isinstance(params, tuple) else params
    factors, constant = params
    terms: Params = {"a": factors[order[0]], "b": factors[order[1]], "c": constant}
    return _packed(view, "add_line_s8", terms, order)


def _mul(view: View) -> Packed | Refusal:
    order = _order(view)
    if order is None:
        return NO_LINE
    if int8_range(view.the(Mul).activation, view.output) != (-128, 127):
        return Refusal("the fused activation has limits of its own")
    if -product_scale(view)[1] < LEAST_RIGHT_SHIFT:
        return Refusal("products are not shifted far enough to fit half words")
    return _packed(view, "mul_line_s8", product_params(view, order), order)


@dataclass(frozen=True)
class SquaresTerms:
    """Constants of squared differences between a line and a number."""

    affine: tuple[int, int]
    """Factor and constant that give LiteRT's rescaled element of a line, times 2^16."""
    square: tuple[int, int]
    """Multiplier and constant that give the square, over the lowest int8 number, times 2^16."""
    numbers: Ints
    """LiteRT's rescaled number, for each byte that it may be."""


def squares_terms(view: View, order: tuple[int, int]) -> SquaresTerms | None:
    """Constants that give LiteRT's results for all pairs of bytes; None if there are none. `order`: the positions of
    the line and of the number."""
    op, g = view.the(SquaredDifference), view.graph
    (x, y), out, multipliers = (op.input(g, i) for i in order), op.output(g), op.multipliers(g)
    lines, numbers = (
        rescale((BYTES - t.zero_point) * UNIT, *multipliers[i]) for t, i in zip((x, y), order, strict=True)
    )
    most = int(max(lines.max() - numbers.min(), numbers.max() - lines.min()))
    differences = np.arange(most + 1, dtype=np.int64)
    squares = np.clip(rescale(differences**2, *multipliers[2]) + out.zero_point, -128, 127) + 128
    common = 2 * max(x.scale, y.scale)
    affine = difference(BYTES, lines, UNIT * x.scale / common)
    square = squared(most, squares, common * common / (UNIT * UNIT * out.scale)) if most < 1 << 15 else None
    return None if affine is None or square is None else SquaresTerms(affine, square, numbers)


def _squares(view: View) -> Packed | Refusal:
    """Packs the mean of squared differences between a line and a number."""
    mean, order = view.ops[1], _order(view)
    assert isinstance(mean, Mean)
    if order is None or not mean.of_lines(view.graph):
        return NO_LINE
    terms = squares_terms(view, order)
    if terms is None:
        return Refusal("no constants give LiteRT's squares in one step each")
    op, g, count = view.the(SquaredDifference), view.graph, mean.count(view.graph)
    params: Params = {
        "size": count,
        "squares": {
            "affine": {"a": terms.affine[0], "c": terms.affine[1]},
            "mult": terms.square[0],
            "add": terms.square[1],
        },
        "y": term_params(op.input(g, order[1]), op.multipliers(g)[order[1]]),
        "bias": int(wrap32(np.array(-count * (op.output(g).zero_point + 128)))),
        **scale_params(*mean.scale(g)),
        "zero": view.output.zero_point,
    }
    return Packed("squares_line_s8", params, Entry(Call.FLAT, 1, order))


def _mean_f32(view: View) -> Packed | Refusal:
    if not view.the(Mean).of_lines(view.graph):
        return NO_LINE
    return Packed("mean_line_f32", {"size": view.input.shape[-1]}, Entry(Call.FLAT, view.output.size))


def _squares_f32(view: View) -> Packed | Refusal:
    mean, order = view.ops[1], _order(view)
    assert isinstance(mean, Mean)
    if order is None or not mean.of_lines(view.graph):
        return NO_LINE
    return Packed("squares_line_f32", {"size": mean.count(view.graph)}, Entry(Call.FLAT, 1, order))


def _add_f32(view: View) -> Packed | Refusal:
    op, order = view.the(Add), _order(view)
    if order is None:
        return NO_LINE
    if op.sign < 0 and order[0] == 1:
        return Refusal("the line is subtracted")
    low, high = op.real_range
    return _packed(view, "add_line_f32", {"sign": float(op.sign), "low": low, "high": high}, order)


def _mul_f32(view: View) -> Packed | Refusal:
    order = _order(view)
    if order is None:
        return NO_LINE
    low, high = view.the(Mul).real_range
    return _packed(view, "mul_line_f32", {"low": low, "high": high}, order)


KERNELS = (
    Kernel("squares_line", (SquaredDifference, Mean), INT8, _squares, header="line_steps_s8", costs=OTHER),
    Kernel("add_line", (Add,), INT8, _add, header="line_steps_s8", costs=OTHER),
    Kernel("mul_line", (Mul,), INT8, _mul, header="line_steps_s8", costs=OTHER),
    Kernel("squares_line_f32", (SquaredDifference, Mean), FLOAT32, _squares_f32, header=REAL, costs=OTHER_F32),
    Kernel("mean_line_f32", (Mean,), FLOAT32, _mean_f32, header=REAL, costs=OTHER_F32),
    Kernel("add_line_f32", (Add,), FLOAT32, _add_f32, header=REAL, costs=OTHER_F32),
    Kernel("mul_line_f32", (Mul,), FLOAT32, _mul_f32, header=REAL, costs=OTHER_F32),
)
