"""Operators with the arithmetic of ONNX Runtime, float32 with results rounded to even: `mote_add_even_s8.h`,
`mote_mul_s8.h` or `mote_mul_steps_s8.h`, `mote_mean_even_s8.h`, `mote_pool_even_s8.h`, `mote_softmax_even_s8.h`,
`mote_quantize_even.h`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Signature,
    View,
    units_of,
)
from mote.compiler.kernels.pack.arithmetic import Order, elementwise
from mote.compiler.kernels.pack.params import output_params, window_params
from mote.compiler.kernels.pack.requantize.even import even_channels, even_sums
from mote.compiler.kernels.pack.requantize.search import HALF_CHOOSING, REGISTER, Staircase, best_multiplier, room_of
from mote.compiler.kernels.portable.elementwise.quantize import NAMES, NOT_EVEN
from mote.compiler.kernels.portable.reductions.mean import walk_params
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.numeric.staircase import thresholds
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.elementwise.arithmetic import INT8 as CODES
from mote.ir.ops.elementwise.quantize import QUANTIZED, Quantize
from mote.ir.ops.onnxruntime_rounding import OFFSET, EvenAdd, EvenAveragePool, EvenMean, EvenMul, EvenSoftmax, saturated

MOST_LEFT, MOST_RIGHT = 14, 22
"""Maximum left shift of a product before it is multiplied, limited by 32 bits, and maximum right shift after it,
limited by the zero point."""
NEAR_BITS = 3
"""Extra margin around rounding ties, in units of the fixed-point sum, within which the kernel recomputes in floating
point."""


def _add(view: View) -> Packed | Refusal:
    op, g = view.the(EvenAdd), view.graph
    ratio, terms = op.constants(g)
    base = OFFSET * op.unsigned
    most = 256.0 * abs(float(ratio)) + float(np.abs(terms).max()) + 1
    shift = min(29 - max(math.frexp(most)[1], 0), 20)
    if shift < 8:
        return Refusal("scales are too far apart for fixed point")
    one, half = 1 << shift, 1 << shift >> 1
    factor = round(float(ratio) * one)
    fixed = np.rint(terms.astype(np.float64) * one).astype(np.int64) + half + factor * base - base * one
    near = min(256 + NEAR_BITS, half - 1)
    results = _simulated(op, factor, fixed, shift, near, ratio, terms)
    want = op.results(g)
    if not np.array_equal(results, want.T if op.turned else want):
        return Refusal("double precision does not give ONNX Runtime's results")
    params: Params = {
        "factor": factor,
        "shift": shift,
        "near": near,
        "base": base,
        "turned": 0,
        "ratio": float(ratio),
        "terms": fixed.astype(np.int32),
        "exact": terms,
    }
    made = elementwise(view, "add_even_s8", lambda order: params | {"turned": int((order == (1, 0)) != op.turned)})
    return replace(made, price=replace(made.price, costs=OTHER))


def _simulated(
    op: EvenAdd, factor: int, fixed: Ints, shift: int, near: int, ratio: np.float32, terms: np.ndarray
) -> Ints:
    """Results of the C function `mote_add_even_one` for all pairs of int8 operands."""
    base = OFFSET * op.unsigned
    sums = factor * CODES[:, None] + fixed[None, :]
    double = (CODES + base).astype(np.float64)[:, None] * np.float64(ratio) + terms.astype(np.float64)[None, :]
    slow = saturated(double.astype(np.float32)) - base
    quick = ((sums + near) & ((1 << shift) - 1)) >= 2 * near
    return np.clip(np.where(quick, sums >> shift, slow), -128, 127)


def _staircase(view: View) -> Staircase:
    """The reference's results as a function of the product of both operands."""
    op, g = view.the(EvenMul), view.graph
    zeros = op.input(g).zero_point, op.input(g, 1).zero_point
    corners = [(a - zeros[0]) * (b - zeros[1]) for a in (-128, 127) for b in (-128, 127)]
    low, high = min(*corners, 0), max(*corners, 0)
    first = int(op.scaled(g, np.array([low], np.int64))[0])
    return Staircase(low, high, first, thresholds(lambda x: op.scaled(g, x), low, high))


def _mul(view: View) -> Packed | Refusal:
    """Packs MUL with one multiplier, shift and addend that give the exact result for every product, or refuses it."""
    op, g, stairs = view.the(EvenMul), view.graph, view.once(_staircase)
    fraction, exponent = math.frexp(float(op.ratio(g)))
    left = min(MOST_LEFT, MOST_RIGHT + exponent)
    right = left - exponent
    if left < 0 or not 0 < right <= MOST_RIGHT:
        return Refusal("scales are too far apart")
    nearest, limits = int(math.ldexp(fraction, 31)), (-128, 127)
    mult = best_multiplier(stairs, 1 << left, right, nearest, HALF_CHOOSING, limits)
    low, high = room_of(stairs, 1 << left, right, mult, HALF_CHOOSING, limits)
    add = -((HALF_CHOOSING.half - low) // HALF_CHOOSING.one)
    largest = max(-stairs.low, stairs.high) << left
    fits = largest < REGISTER and (largest * mult >> 31) + abs(add) < REGISTER and 1 << 30 <= mult < REGISTER
    if not fits or not low <= HALF_CHOOSING.half + add * HALF_CHOOSING.one <= high:
        return Refusal("no constants give ONNX Runtime's results")

    def params(order: Order) -> Params:
        a, b = (op.input(g, i).zero_point for i in order)
        shifts = {"left": left, "mult": mult, "right": right, "ties": 0, "add": add, "lo": -128, "hi": 127}
        return {"a_zero": a, "b_zero": b, **shifts}

    return elementwise(view, "mul_s8", params, beats=("mul_steps",))


def _mul_steps(view: View) -> Packed:
    op, g, stairs = view.the(EvenMul), view.graph, view.once(_staircase)
    before = np.full(stairs.first + 128, stairs.low, np.int64)
    steps = np.concatenate([before, stairs.steps, np.full(256, stairs.high + 1, np.int64)])[:256].astype(np.int32)

    def params(order: Order) -> Params:
        a, b = (op.input(g, i).zero_point for i in order)
        return {"a_zero": a, "b_zero": b, "lo": -128, "hi": 127, "steps": steps}

    return replace(elementwise(view, "mul_steps_s8", params), price=Price(costs=OTHER))


def _mean(view: View) -> Packed:
    op, y = view.the(EvenMean), view.output
    zero, count, real = view.input.zero_point, op.count(view.graph), op.ratio(view.graph)
    sums = even_sums(real, y.zero_point, count * (128 + abs(zero)))
    bias, mult, shift = even_channels(sums, np.array([-zero * count], np.int64)).rows[0].tolist()
    output = output_params(Activation.NONE, y)
    return Packed(
        "mean_even_s8", {**walk_params(view), "channel": {"bias": bias, "mult": mult, "shift": shift}, "output": output}
    )


def _pool(view: View) -> Packed:
    op, y = view.the(EvenAveragePool), view.output
    base = OFFSET * op.unsigned
    params: Params = {
        **window_params(view),
        "channels": y.shape[3],
        "count": op.count,
        "base": base,
        "scale": y.scale,
        "zero": float(y.zero_point + base),
        "reals": op.reals(view.graph),
    }
    return Packed("pool_even_s8", params, Entry(Call.ROWS, row="pool_even_s8_row", taps=op.vertical.kernel))


def _softmax(view: View) -> Packed:
    op, depth = view.the(EvenSoftmax), view.input.shape[-1]
    params: Params = {
        "depth": depth,
        "zero": view.output.zero_point,
        "factor": float(op.factor(view.graph)),
        "exp": op.exponentials(view.graph),
    }
    return Packed("softmax_even_s8", params, Entry(Call.FLAT, units_of(view.input.shape, depth)), Needs(in_place=(0,)))


def _quantize(view: View) -> Packed | Refusal:
    y = view.output
    op = view.the(Quantize)
    if op.rounding is not Rounding.EVEN:
        return NOT_EVEN
    divides = op.factor is None
    name = f"quantize_{'even' if divides else 'times'}_{NAMES[y.dtype][0]}"
    instance = Instance("MOTE_QUANTIZE_EVEN", (name, NAMES[y.dtype][1], *y.dtype.limits, "/" if divides else "*"))
    scale = y.scale if op.factor is None else float(np.float32(op.factor))
    return Packed(name, {"scale": scale, "zero": y.zero_point}, Entry(Call.FLAT, y.size), instances=(instance,))


REAL_TO_CODES = Signature(frozenset({DType.FLOAT32}), frozenset(QUANTIZED))
KERNELS = (
    Kernel("add_even", (EvenAdd,), INT8, _add, header="add_even_s8", costs=OTHER),
    Kernel("mul_even", (EvenMul,), INT8, _mul, header="mul_s8", costs="mul"),
    Kernel("mul_steps", (EvenMul,), INT8, _mul_steps, header="mul_steps_s8", costs=OTHER),
    Kernel("mean_even", (EvenMean,), INT8, _mean, costs="mean", tuned=True),
    Kernel("pool_even", (EvenAveragePool,), INT8, _pool, costs=OTHER_F32),
    Kernel("softmax_even", (EvenSoftmax,), INT8, _softmax, costs=OTHER_F32),
    Kernel("quantize_even", (Quantize,), REAL_TO_CODES, _quantize, header="quantize_even", costs=OTHER_F32),
)
