"""ADD, SUB and MUL, with broadcasting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op, Tensor
from mote.graph.fixedpoint import Ints, quantize_multiplier, rescale
from mote.graph.flow import Flow
from mote.graph.graph import ABSENT, Increment
from mote.graph.ranges import Range, between
from mote.graph.rows import row_count
from mote.graph.tensor import Array, Shape
from mote.graph.types import Activation, DType
from mote.ops.analysis import end, pointwise, rising
from mote.ops.common import activation_type, clamp_float, float_range, int8_range, output_params
from mote.plan.kernel import Call, Kernel, Lowering, Structs, Value

MAX_AXES = 6
"""LiteRT broadcasts up to this many axes; so does `mote_broadcast.h`."""

HEADROOM = 20
"""LiteRT adds int8 numbers with this many more bits."""


@dataclass(frozen=True)
class Precision:
    """A way to add: clamp(((a * x >> dropped) + (b * y >> dropped) + c) >> shift)."""

    shift: int
    dropped: int = 0


ONE_STEP = Precision(21)
"""`mote_add_s8.h`."""

FOUR = Precision(16, dropped=8)
"""`mote_add4_s8.h`."""

MAX_LEFT_SHIFT = 14
"""A product of two int8 numbers shifted further would overflow."""

LEAST_RIGHT_SHIFT = 2
"""Products that are shifted less do not fit `mote_mul4_s8`'s half words."""

WITH_DSP = ("add4_s8", "mul4_s8")
"""Kernels with DSP instructions."""

INT8 = np.arange(-128, 128, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Binary(Op):
    """A function of two tensors, element by element; the smaller one is repeated as NumPy does."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [np.broadcast_shapes(self.input(g).shape, self.input(g, 1).shape)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The operand's row at the same indices, 0 on the axes on which it is repeated."""
        shape, operand = self.output(g).shape, self.input(g, position).shape
        if len(shape) < 2:
            return (0,)
        outer = shape[: -2 if len(shape) > 2 else 1]
        own = ((1,) * (len(shape) - len(operand)) + operand)[: len(outer)]
        if row_count(operand) != prod(own):
            return None
        return (sum(int(i) * n for i, n in zip(np.unravel_index(y, outer), _steps(outer, own), strict=True)),)

    def unsupported(self, g: Graph) -> str | None:
        swapped = self.with_(inputs=self.inputs[::-1])
        if problem := activation_type(g, self) or activation_type(g, swapped):
            return problem
        a, b = self.input(g), self.input(g, 1)
        if a.shape != b.shape and max(len(a.shape), len(b.shape)) > MAX_AXES:
            return f"broadcasting {a.shape} with {b.shape}: more than {MAX_AXES} axes are not supported"
        return None

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        """Where both flow alike, or the other one is repeated along the stream."""
        rank = len(self.output(g).shape)
        for position, flow in flows.items():
            flows = {**flows, position: flow.on(flow.axis + rank - len(self.input(g, position).shape))}
        axis = next(iter(flows.values())).axis
        for position in {0, 1} - set(flows):
            shape = self.input(g, position).shape
            if rank - len(shape) <= axis and shape[axis - rank] != 1:
                return None
        return pointwise(self, flows)

    def threads(self, g: Graph) -> dict[int, Ints] | None:
        """An operand with one channel has it repeated."""
        channels = self.output(g).channels
        return {p: np.arange(channels) for p, i in self.computed(g) if g.tensors[i].channels == channels}

    def flat(self, g: Graph) -> bool:
        """Both inputs have the output's shape: element i needs elements i."""
        return self.input(g).shape == self.input(g, 1).shape


@dataclass(frozen=True, kw_only=True)
class Arithmetic(Binary):
    """ADD, SUB or MUL with a fused activation."""

    activation: Activation = Activation.NONE

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        """The int8 result of int8 inputs, as LiteRT's reference kernel computes it."""
        raise NotImplementedError

    def real(self, a: Array, b: Array) -> Array:
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        if self.output(g).dtype == DType.FLOAT32:
            return [clamp_float(self.real(a, b).astype(np.float64), self.activation)]
        return [self.exact(g, a.astype(np.int64), b.astype(np.int64)).astype(np.int8)]

    def table(self, g: Graph) -> NDArray[np.int8] | None:
        """With a constant scalar it is a function of one value, which passes can fuse with others."""
        b, y = self.input(g, 1), self.output(g)
        if y.dtype != DType.INT8 or b.data is None or b.size != 1 or self.input(g).shape != y.shape:
            return None
        return self.exact(g, INT8, b.data.reshape(1).astype(np.int64)).astype(np.int8)

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        """The FLAT kernel where no operand is repeated, else the same one run by run."""
        order, walk = (0, 1), None
        if not self.flat(g):
            order, walk = broadcast(self.output(g).shape, self.input(g).shape, self.input(g, 1).shape)
        name, params = self.kernel(g, how, order)
        header = "arithmetic_f32" if name.endswith("_f32") else name
        dsp = name in WITH_DSP
        if walk is None:
            units = self.output(g).size
            return Kernel(name, params, Call.FLAT, units, (0, 1), in_place=True, header=header, dsp=dsp)
        stem, suffix = name.rsplit("_", 1)
        both: dict[str, Value] = {"walk": walk, stem: params}
        name = f"{stem}_rows_{suffix}"
        return Kernel(name, both, Call.ROWS, operands=order, in_place=True, header=header, dsp=dsp)

    def kernel(self, g: Graph, how: Lowering, order: tuple[int, int]) -> tuple[str, dict[str, Value]]:
        """Name and parameters of the kernel that takes the inputs in this order."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Add(Arithmetic):
    """int8: both inputs are brought to the scale 2 * max / 2^20, added, and brought to the output's scale."""

    sign: ClassVar[int] = 1
    kind = "ADD"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if self.output(g).dtype == DType.INT8 and self.multipliers(g)[2][1] > 0:
            return f"the output's scale {self.output(g).scale:g} is too small for the inputs'"
        return None

    def multipliers(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Multiplier and shift of each input and of the sum."""
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        common = 2 * max(a.scale, b.scale)
        real = (a.scale / common, b.scale / common, common / (y.scale * (1 << HEADROOM)))
        first, second, result = map(quantize_multiplier, real)
        return first, second, result

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        first, second, result = self.multipliers(g)
        x = rescale((a - self.input(g).zero_point) << HEADROOM, *first)
        y = rescale((b - self.input(g, 1).zero_point) << HEADROOM, *second)
        return finish(rescale(x + self.sign * y, *result), self.activation, self.output(g))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs, falling=ABSENT if self.sign > 0 else 1)

    def real(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        return [np.add(a, b)]

    def kernel(self, g: Graph, how: Lowering, order: tuple[int, int]) -> tuple[str, dict[str, Value]]:
        signs = (1, self.sign)
        if self.output(g).dtype == DType.FLOAT32:
            low, high = float_range(self.activation)
            first, second = (float(signs[i]) for i in order)
            return "add_f32", {"a_sign": first, "b_sign": second, "low": low, "high": high}
        inputs = [self.input(g, i) for i in order]
        ways = {"add4_s8": FOUR} if "dsp" in how.features else {}
        for name, precision in (ways | {"add_s8": ONE_STEP}).items():
            if found := self.affine(g, precision):
                factors, constant = found
                return name, {"a": factors[order[0]], "b": factors[order[1]], "c": constant}
        scales = self.multipliers(g)
        params: dict[str, Value] = {
            name: {"zero": t.zero_point, "mult": scales[i][0], "shift": -scales[i][1] - 1, "sign": signs[i]}
            for name, i, t in zip("ab", order, inputs, strict=True)
        }
        params |= {"mult": scales[2][0], "shift": -scales[2][1] - 1}
        return "add_exact_s8", {**params, "output": output_params(self.activation, self.output(g))}

    def affine(self, g: Graph, precision: Precision) -> tuple[tuple[int, int], int] | None:
        """Constants for addition in one step, if there are any."""
        if int8_range(self.activation, self.output(g)) != (-128, 127):
            return None
        scale = self.output(g).scale
        ratios = self.input(g).scale / scale, self.sign * self.input(g, 1).scale / scale
        return affine(self.exact(g, INT8[:, None], INT8[None, :]), *ratios, precision)


@dataclass(frozen=True, kw_only=True)
class Sub(Add):
    """The second input's rescaled value is subtracted; all else is ADD."""

    sign: ClassVar[int] = -1
    kind = "SUB"

    def real(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)


@dataclass(frozen=True, kw_only=True)
class Mul(Arithmetic):
    """int8: the product of the two, less their zero points, is rescaled."""

    kind = "MUL"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if self.output(g).dtype == DType.INT8 and self.multiplier(g)[1] > MAX_LEFT_SHIFT:
            return f"the output's scale {self.output(g).scale:g} is too small for the inputs'"
        return None

    def multiplier(self, g: Graph) -> tuple[int, int]:
        a, b, y = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return quantize_multiplier(float(a * b / y))

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        product = (a - self.input(g).zero_point) * (b - self.input(g, 1).zero_point)
        return finish(rescale(product, *self.multiplier(g)), self.activation, self.output(g))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """A product is largest and least where both factors are at an end."""
        first, second = ([end(g, self, p, inputs[p], up=up) for up in (False, True)] for p in (0, 1))
        return between(self.evaluate(g, pair)[0] for pair in product(first, second))

    def real(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)

    def kernel(self, g: Graph, how: Lowering, order: tuple[int, int]) -> tuple[str, dict[str, Value]]:
        if self.output(g).dtype == DType.FLOAT32:
            low, high = float_range(self.activation)
            return "mul_f32", {"low": low, "high": high}
        a, b = (self.input(g, i) for i in order)
        mult, shift = self.multiplier(g)
        if mult == 0 or shift < -20:
            mult, shift = 1 << 30, -20  # of a product of int8 numbers nothing is left then
        right = max(-shift, 0)
        lo, hi = int8_range(self.activation, self.output(g))
        params: dict[str, Value] = {
            "a_zero": a.zero_point,
            "b_zero": b.zero_point,
            "mult": mult,
            "add": (self.output(g).zero_point << right) + (1 << right >> 1),
            "right": right,
        }
        if "dsp" in how.features and (lo, hi) == (-128, 127) and right >= LEAST_RIGHT_SHIFT:
            return "mul4_s8", params
        return "mul_s8", params | {"left": max(shift, 0), "ties": -1 if right else 0, "lo": lo, "hi": hi}


def finish(scaled: Ints, activation: Activation, output: Tensor) -> Ints:
    return np.clip(scaled + output.zero_point, *int8_range(activation, output))


def affine(want: Ints, ratio_a: float, ratio_b: float, precision: Precision) -> tuple[tuple[int, int], int] | None:
    """(p, q), r with clamp(((p * a >> dropped) + (q * b >> dropped) + r) >> shift) == want[a + 128, b + 128] for all
    int8 a, b.

    Rounding twice is not affine, but `want` has 256 steps only: p and q need not be the exact ratios, they
    must keep each of the 65,536 pairs on its step. Each pair bounds r from both sides, so p and q will do if
    the largest lower bound does not exceed the smallest upper one. That slack is concave in (p, q), but for what is
    dropped; it is climbed from the exact ratios. Stretching both a little sends ties away from zero, as LiteRT does.
    """
    shift, dropped = precision.shift, precision.dropped
    low = np.where(want > -128, want << shift, -(1 << 40))
    high = np.where(want < 127, ((want + 1) << shift) - 1, 1 << 40)

    def bounds(p: int, q: int) -> tuple[int, int]:
        total = (p * INT8 >> dropped)[:, None] + (q * INT8 >> dropped)[None, :]
        return int((low - total).max()), int((high - total).min())

    def slack(pair: tuple[int, int]) -> int:
        lower, upper = bounds(*pair)
        return upper - lower

    one = 1 << (shift + dropped)
    best = round(ratio_a * one), round(ratio_b * one)
    found = slack(best)
    steepest = max(abs(ratio_a), abs(ratio_b))
    step = one >> 16
    while found < 0 and step:
        stretch = round(step * ratio_a / steepest), round(step * ratio_b / steepest)
        around = [(step * i, step * j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j] + [stretch]
        nearby = max(((best[0] + i, best[1] + j) for i, j in around), key=slack)
        gained = slack(nearby)
        if gained > found:
            best, found = nearby, gained
        else:
            step //= 2
    lower, upper = bounds(*best)
    r = (max(lower, -(1 << 31)) + min(upper, 1 << 31)) // 2
    sums = abs(r) + ((abs(best[0]) + abs(best[1])) << 7 >> dropped)
    fits = max(abs(best[0]), abs(best[1])) < 1 << 31 and sums < (1 << 31) - (1 << 24)
    return (best, r) if found >= 0 and fits else None


def broadcast(shape: Shape, a: Shape, b: Shape) -> tuple[tuple[int, int], dict[str, Value]]:
    """The order of the operands (the first one steps through a run) and `mote_broadcast_t`."""
    split = max(len(shape) - 2, 1) if len(shape) > 1 else 0
    axes = list(zip(shape, _steps(shape, a), _steps(shape, b), strict=True))
    outer, inner = _merge(axes[:split]), _merge(axes[split:])
    run, a_step, b_step = inner[-1] if inner else (1, 1, 1)
    loops = np.array((outer + inner[:-1])[::-1] or [(1, 0, 0)], np.int64)
    order = (0, 1) if a_step else (1, 0)
    walk: dict[str, Value] = {
        "run": run,
        "b_step": min(a_step, b_step),
        "runs": prod(n for n, *_ in inner[:-1]),
        "axes": len(outer + inner[:-1]),
        "axis": Structs("mote_axis_t", loops[:, [0, 1 + order[0], 1 + order[1]]]),
    }
    return order, walk


def _steps(shape: Shape, operand: Shape) -> list[int]:
    """Elements from one index to the next on each axis of `shape`; 0 where the operand is repeated."""
    padded = (1,) * (len(shape) - len(operand)) + operand
    return [0 if padded[i] == 1 else prod(padded[i + 1 :]) for i in range(len(shape))]


def _merge(axes: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring axes that are walked as one become one; axes of size 1 go."""
    merged: list[tuple[int, int, int]] = []
    for n, a, b in axes:
        if n == 1:
            continue
        if merged and merged[-1][1:] == (n * a, n * b):
            merged[-1] = (merged[-1][0] * n, a, b)
        else:
            merged.append((n, a, b))
    return merged
