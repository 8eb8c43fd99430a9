"""Helpers of several operators: fused activations, sliding windows, per-channel requantization."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, quantize_multipliers
from mote.ir.graph.rows import OUTSIDE, inside
from mote.ir.graph.streaming import PaddingError, StreamAxis, StrideError
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType

FLOAT_MAX = float(np.finfo(np.float32).max)
WINDOWS = 1 << 22
"""Maximum number of window elements that the reference copies at once."""
MOST_SUMMED = 1 << 23
"""Number of int8 values, each minus its zero point, from which their sum may overflow int32."""
MOST_SHIFT = 30
"""Largest left shift of a multiplier: LiteRT's result for multipliers of 2^30 and above is undefined."""
MOST_WIDE_SHIFT = 7
"""The largest left shift of 64-bit accumulators."""
WIDEST = 1 << 40
"""Bound of the accumulators of layers with int16 inputs: supported sums stay below it."""
MOST_LEARNED_BITS = 30
"""Trainable int32 biases are clamped to at most +-2^30, whatever their layer's scales are."""
WEIGHTS, BIAS = 1, 2
"""Input positions of a layer's weights and bias; if they are states instead of constants, they are trainable."""


def int8_range(activation: Activation, output: Tensor) -> tuple[int, int]:
    """The bounds of a fused activation, quantized for an int8 output."""
    return quantized_range(activation, output)


def quantized_range(activation: Activation, output: Tensor) -> tuple[int, int]:
    """The bounds of a fused activation, quantized with LiteRT's float32 rounding."""
    low, high = activation.bounds
    least, most = output.dtype.limits
    scale = np.float32(output.scale)

    def quantize(real: float) -> int:
        return output.zero_point + round_half_away(float(np.float32(real) / scale))

    lo = least if low == -math.inf else max(least, quantize(low))
    hi = most if high == math.inf else min(most, quantize(high))
    return lo, hi


def integer_range(activation: Activation, dtype: DType) -> tuple[int, int]:
    """The bounds of a fused activation for unquantized integers."""
    (low, high), (least, most) = activation.bounds, dtype.limits
    return (least if low == -math.inf else int(low)), (most if high == math.inf else int(high))


def round_half_away(x: float) -> int:
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def float_range(activation: Activation) -> tuple[float, float]:
    low, high = activation.bounds
    return max(low, -FLOAT_MAX), min(high, FLOAT_MAX)


def clamp_float(x: NDArray[np.float64], activation: Activation) -> NDArray[np.float32]:
    low, high = activation.bounds
    return np.clip(x, low, high).astype(np.float32)


@dataclass(frozen=True)
class Axis:
    """One axis of a sliding window: kernel size, stride, dilation, padding before and after."""

    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    @property
    def extent(self) -> int:
        return (self.kernel - 1) * self.dilation + 1

    def size(self, size: int) -> int:
        """Number of output positions over an input of `size`."""
        return (size + self.before + self.after - self.extent) // self.stride + 1

    def inner(self, size: int) -> Axis:
        """The axis without kernel taps that are in the padding at every position, for an image of `size`."""
        behind = (self.size(size) - 1) * self.stride
        above, below = max(self.before - behind, 0), max(self.after - behind, 0)
        return replace(self, kernel=self.kernel - above - below, before=self.before - above, after=self.after - below)

    def rows(self, out: int, size: int) -> tuple[int, ...]:
        """The input positions that output position `out` reads, OUTSIDE for padding around an image of `size`."""
        first = out * self.stride - self.before
        return tuple(inside(first + k * self.dilation, size) for k in range(self.kernel))

    def positions(self, size: int) -> NDArray[np.int64]:
        """The input positions that each output position reads, a row each, OUTSIDE for padding around an image of
        `size`."""
        first = np.arange(self.size(size), dtype=np.int64)[:, None] * self.stride - self.before
        taps = first + np.arange(self.kernel, dtype=np.int64) * self.dilation
        return np.where((taps >= 0) & (taps < size), taps, OUTSIDE)

    def inside(self, count: int, size: int) -> NDArray[np.int64]:
        """Number of kernel taps inside an image of `size`, for each of the first `count` output positions."""
        first = np.arange(count, dtype=np.int64) * self.stride - self.before
        before_end, before_begin = (np.clip(-((first - end) // self.dilation), 0, self.kernel) for end in (size, 0))
        return before_end - before_begin

    def present(self, size: int) -> NDArray[np.int64]:
        """The distinct masks (1 or 0 per tap) of kernel taps inside an image of `size`, a row each."""
        ways = {tuple(row) for row in (self.positions(size) != OUTSIDE).tolist()}
        return np.array(sorted(ways), np.int64).reshape(-1, self.kernel)

    def __str__(self) -> str:
        parts = [str(self.kernel)]
        if self.stride != 1:
            parts.append(f"stride {self.stride}")
        if self.dilation != 1:
            parts.append(f"dilation {self.dilation}")
        if self.before or self.after:
            parts.append(f"pad {self.before}+{self.after}")
        return " ".join(parts)


class WindowOp(Op):
    """An operator whose output row needs a window of input rows: convolutions and pooling (NHWC)."""

    vertical: Axis
    horizontal: Axis
    pads_with_zero: ClassVar[bool] = False
    """Padding has the value 0, and so can replace the elements before a stream begins."""

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The input rows in the window of an output row. Trainable weights and biases are a single row: they are passed
        by address."""
        if position > 0:
            return (0,)
        height = self.input(g).shape[1]
        image, row = divmod(y, self.output(g).shape[1])
        rows = self.vertical.rows(row, height)
        return tuple(r if r == OUTSIDE else r + image * height for r in rows)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form: the windows over the new elements also cover earlier ones; elements at the end that no window
        covers delay the output."""
        flow = flows[0]
        if flow.axis not in (1, 2):
            return None
        name = "vertical" if flow.axis == 1 else "horizontal"
        axis: Axis = getattr(self, name)
        if axis.size(flow.size) == 1:
            return None
        if axis.before > 0 or axis.after > 0:
            if not (causal and self.pads_with_zero):
                what = f"pads {axis.before} elements before and {axis.after} after the window"
                raise PaddingError(what, causal=self.pads_with_zero)
            if axis.size(flow.size) != -(-flow.size // axis.stride):
                what = f"makes {axis.size(flow.size)} elements of {flow.size} with a stride of {axis.stride}"
                raise PaddingError(what, causal=False)
        if flow.fresh % axis.stride:
            raise StrideError(axis.stride)
        fresh, size = flow.fresh // axis.stride, axis.size(flow.size)
        plain = Axis(axis.kernel, axis.stride, axis.dilation)
        unused = 0 if axis.before or axis.after else flow.size - (size - 1) * axis.stride - axis.extent
        if size < fresh:
            return None
        need = (fresh - 1) * axis.stride + axis.extent + unused
        return Increment(self.with_(**{name: plain}), StreamAxis(flow.axis, size, fresh), {0: need})

    def present(self, g: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct masks of window rows, and of window columns, inside the image."""
        _, height, width, _ = self.input(g).shape
        return self.vertical.present(height), self.horizontal.present(width)

    def spatial(self, g: Graph) -> tuple[int, int]:
        _, height, width, _ = self.input(g).shape
        return self.vertical.size(height), self.horizontal.size(width)

    def windows(self, x: Array, fill: float) -> Iterator[Array]:
        """All windows of x, padded with `fill`: [n, rows, out_w, channels, kernel_h, kernel_w], a few output rows at a
        time, from the top. Memory is taken for these windows only, however large padding and dilation are."""
        n, height, width, channels = x.shape
        columns = self.horizontal.positions(width)
        rows = self.vertical.positions(height)
        at_once = max(1, WINDOWS // (n * channels * rows.shape[1] * columns.size))
        for first in range(0, len(rows), at_once):
            taken = rows[first : first + at_once]
            patches = _gathered(_gathered(x, 1, taken, fill), 3, columns, fill)
            yield patches.transpose(0, 1, 3, 5, 2, 4)


def _gathered(x: Array, axis: int, positions: NDArray[np.int64], fill: float) -> Array:
    """Gather along an axis by a matrix of positions: the axis becomes two axes; `fill` where a position is OUTSIDE."""
    elements = np.take(x, positions, axis, mode="clip")
    outside = (positions == OUTSIDE).reshape(*positions.shape, *[1] * (x.ndim - axis - 1))
    return np.where(outside, np.array(fill, x.dtype), elements) if outside.any() else elements


def real_scales(x: Tensor, w: Tensor, y: Tensor, channels: int) -> NDArray[np.float64]:
    """Per-channel requantization scales of a layer: input scale times weight scale over output scale."""
    assert w.quant is not None
    return np.asarray(x.scale * np.broadcast_to(w.quant.scale, (channels,)).astype(np.float64) / y.scale)


def channel_scales(x: Tensor, w: Tensor, y: Tensor, channels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per-channel requantization scales as multipliers and shifts. For uint8 convolutions the product of input and
    weight scale is rounded to float32, as in LiteRT."""
    real = real_scales(x, w, y, channels)
    if w.quant is not None and w.quant.unsigned:
        real = np.full(channels, float(np.float32(x.scale) * w.quant.scale[0]) / y.scale)
    return quantize_multipliers(real)


def even_scales(x: Tensor, w: Tensor, y: Tensor, channels: int) -> NDArray[np.float64]:
    """Per-channel requantization scales as in ONNX Runtime: in float32, rounded after the product and after the
    quotient."""
    assert w.quant is not None
    scales = np.float32(x.scale) * w.quant.scale.astype(np.float32) / np.float32(y.scale)
    return np.broadcast_to(scales, (channels,)).astype(np.float64)


def bias_values(bias: Tensor | None, channels: int) -> NDArray[np.int64]:
    """The constant bias of a layer; zeros if there is none or it is trainable."""
    if bias is None or bias.data is None:
        return np.zeros(channels, np.int64)
    return bias.data.reshape(-1).astype(np.int64)


def learned(g: Graph, op: Op) -> tuple[int, ...]:
    """Positions of a layer's trainable inputs: weights and bias that are states instead of constants."""
    if op.weights is None:
        return ()
    states = {s.before for s in g.states}
    return tuple(p for p in (WEIGHTS, BIAS) if p < len(op.inputs) and op.inputs[p] in states)


def learned_bias_bits(g: Graph, op: Op) -> NDArray[np.int64]:
    """Per channel, the bits that a trainable int32 bias is clamped to (-2^bits..2^bits): enough for the initial bias
    plus half of the output's range. Accumulator bounds are proven for this whole interval."""
    initial = next(s.initial for s in g.states if s.before == op.inputs[BIAS])
    x, w, y = op.input(g), op.input(g, WEIGHTS), op.output(g)
    half_range = -y.dtype.limits[0] / real_scales(x, w, y, y.channels)
    bits = np.ceil(np.log2(np.abs(initial.reshape(-1).astype(np.float64)) + half_range + 1))
    return np.clip(bits, 1, MOST_LEARNED_BITS).astype(np.int64)


def bias_ends(g: Graph, op: Op, channels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The smallest and the largest integer bias of each channel; equal for a constant bias."""
    if BIAS in learned(g, op):
        limit = 1 << learned_bias_bits(g, op)
        return -limit, limit
    bias = bias_values(op.tensor(g, BIAS), channels)
    return bias, bias


def integer_bias(g: Graph, op: Op, values: Sequence[Array | None], channels: int) -> NDArray[np.int64]:
    """The integer bias of a layer: a constant, or the clamped value of a state if it is trainable."""
    if BIAS not in learned(g, op):
        return bias_values(op.tensor(g, BIAS), channels)
    value = values[BIAS]
    assert value is not None
    return np.clip(value.reshape(-1).astype(np.int64), *bias_ends(g, op, channels))


def float_bias(bias: Tensor | None, channels: int) -> NDArray[np.float32]:
    return np.zeros(channels, np.float32) if bias is None or bias.data is None else bias.data.reshape(-1)


def float_bias_problem(bias: Tensor | None, channels: int) -> str | None:
    """Why a bias is not one constant float32 number for each output channel."""
    if bias is not None and (bias.data is None or bias.dtype != DType.FLOAT32):
        return f"a {'computed' if bias.data is None else bias.dtype} bias is not supported"
    if bias is not None and bias.size != channels:
        return f"a bias of {bias.size} elements does not fit {channels} output channels"
    return None


def real_bias(g: Graph, op: Op, values: Sequence[Array | None], channels: int) -> NDArray[np.float32]:
    """The float32 bias of a layer (input 2): a constant, or the value of a state if it is trainable."""
    bias = op.tensor(g, 2)
    if bias is None or bias.data is not None:
        return float_bias(bias, channels)
    value = values[2]
    assert value is not None
    return value.reshape(-1)


def activation_type(g: Graph, op: Op, *, dtypes: tuple[DType, ...] = (DType.INT8, DType.FLOAT32)) -> str | None:
    """Why the operator's input and output types are not supported together, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in dtypes:
        return f"{x.dtype} input is not supported (only {', '.join(dtypes)})"
    if y.dtype != x.dtype:
        return f"{x.dtype} input with {y.dtype} output is not supported"
    for t in (x, y):
        if t.dtype in (DType.INT8, DType.INT16) and (t.quant is None or t.quant.per_channel or t.scale <= 0):
            return f"{t.dtype} tensor '{t.name}' has no per-tensor quantization"
    return None


def hybrid(g: Graph, op: Op) -> bool:
    """Whether an operator has float32 activations and int8 weights (hybrid)."""
    if op.weights is None or op.input(g).dtype != DType.FLOAT32:
        return False
    return op.input(g, op.weights).dtype == DType.INT8


ROUNDED_INPUTS = "LiteRT rounds what it multiplies with int8 weights to 8 bits"


def rounded_inputs(g: Graph, op: Op) -> str | None:
    """Why a hybrid operator (float32 activations, int8 weights) cannot be compared with LiteRT, which rounds the
    activations to 8 bits; None if the file itself dequantizes the weights."""
    if op.weights is None or not hybrid(g, op):
        return None
    return ROUNDED_INPUTS if op.input(g, op.weights).copy_of is None else None


def real_constant(t: Tensor, values: Array, axis: int = 0) -> Array:
    """A constant as float64, dequantized with one scale or one per index of `axis`."""
    if values.dtype == np.float32 or t.quant is None:
        return values.astype(np.float64)
    scale = t.quant.scale.astype(np.float64)
    return values * scale.reshape([-1 if i == axis else 1 for i in range(values.ndim)])


def real_weights(g: Graph, op: Op, values: Array, axis: int = 0) -> Array:
    """The weights of a layer as float64, dequantized if the layer is hybrid (float32 activations, int8 weights)."""
    if op.weights is None or not hybrid(g, op):
        return values.astype(np.float64)
    return real_constant(op.input(g, op.weights), values, axis)


def absolute_weights(values: Sequence[Array | None], *positions: int) -> list[Array | None]:
    """The inputs of an operator, with absolute values of integer inputs at these positions."""
    absolute = list(values)
    for p in positions:
        value = absolute[p]
        absolute[p] = value if value is None or value.dtype.kind == "f" else np.abs(value.astype(np.int16))
    return absolute


def wide_weights(w: Tensor) -> bool:
    """Whether these are uint8 weights that need 9 bits (int16) after their zero point is subtracted."""
    return w.dtype == DType.INT16 and w.quant is not None and w.quant.unsigned


def weight_problem(g: Graph, op: Op) -> str | None:
    """Why a layer with weights (input 1) and a bias (input 2) cannot be compiled, or None."""
    if problem := activation_type(g, op, dtypes=(DType.INT8, DType.INT16, DType.FLOAT32)):
        return problem
    if op.input(g).dtype == DType.INT16:
        return _int16_problem(g, op)
    x, w, learns = op.input(g), op.input(g, 1), learned(g, op)
    if w.data is None and WEIGHTS not in learns:
        return "weights that are computed at run time are not supported"
    wide = wide_weights(w) and x.dtype == DType.INT8
    if wide and op.weights is None:
        return "uint8 weights that do not fit int8 once their zero point is taken off are not supported"
    half = w.dtype == DType.FLOAT16 and x.dtype == DType.FLOAT32
    if w.dtype != x.dtype and not (wide or half or hybrid(g, op)):
        return f"{x.dtype} input with {w.dtype} weights is not supported"
    if problem := _bias_problem(g, op):
        return problem
    if problem := _channel_mismatch(g, op):
        return problem
    if learns and x.dtype == DType.INT8 and (wide or w.quant is None or w.quant.unsigned):
        return "uint8 weights, or weights without a scale, do not learn"
    if w.dtype in (DType.FLOAT32, DType.FLOAT16):
        return None
    if w.quant is None or np.any(w.quant.zero_point != 0):
        return "int8 weights must have zero point 0"
    if hybrid(g, op):
        return None
    return scale_problem(quantize_multiplier(float(real_scales(x, w, op.output(g), len(w.quant.scale)).max())))


def _bias_problem(g: Graph, op: Op) -> str | None:
    """Why the bias of a layer with int8 or float32 inputs is not supported, or None."""
    b = op.tensor(g, BIAS)
    if b is None:
        return None
    learns = BIAS in learned(g, op)
    if b.data is None and not learns:
        return "a computed bias is not supported"
    if b.dtype != (DType.INT32 if op.input(g).dtype == DType.INT8 else DType.FLOAT32):
        return f"a {b.dtype} bias is not supported"
    initial = [np.abs(s.initial.astype(np.float64)).max() for s in g.states if learns and s.before == b.id]
    if b.dtype == DType.INT32 and initial and initial[0] > 1 << MOST_LEARNED_BITS:
        return f"a bias of more than 2^{MOST_LEARNED_BITS} cannot learn"
    return None


def _channel_mismatch(g: Graph, op: Op) -> str | None:
    """Why the number of biases or weight scales does not match the output channels, or None."""
    w, b, channels = op.input(g, 1), op.tensor(g, 2), op.shapes(g)[0][-1]
    if b is not None and b.size != channels:
        return f"a bias of {b.size} elements does not fit {channels} output channels"
    if w.quant is not None and w.quant.scale.size not in (1, channels):
        return f"{w.quant.scale.size} scales of the weights do not fit {channels} output channels"
    return None


def _int16_problem(g: Graph, op: Op) -> str | None:
    """Why a layer with int16 activations and int8 weights is not supported, or None."""
    x, w, b, y = op.input(g), op.input(g, 1), op.tensor(g, 2), op.output(g)
    if w.data is None or w.dtype != DType.INT8:
        return f"int16 input with {'computed' if w.data is None else w.dtype} weights is not supported (only int8)"
    if b is not None and (b.data is None or b.dtype not in (DType.INT32, DType.INT64)):
        return f"a {'computed' if b.data is None else b.dtype} bias is not supported with int16 input"
    if problem := _channel_mismatch(g, op):
        return problem
    if w.quant is None or np.any(w.quant.zero_point != 0) or x.zero_point != 0 or y.zero_point != 0:
        return "with int16 input all zero points must be 0, and weights quantized"
    size = np.abs(w.data.astype(np.int64)).sum() * -DType.INT16.limits[0]
    if size + np.abs(bias_values(b, y.channels)).max() > WIDEST:
        return f"sums that may leave {WIDEST.bit_length() - 1} bits are not supported"
    problem_of = wide_scale_problem if wide_sums(g, op) else scale_problem
    return problem_of(quantize_multiplier(float(real_scales(x, w, y, len(w.quant.scale)).max())))


def wide_sums(g: Graph, op: Op) -> bool:
    """Whether LiteRT accumulates a layer in 64 bits: int16 inputs and no bias or an int64 one."""
    bias = op.tensor(g, 2)
    return op.input(g).dtype == DType.INT16 and (bias is None or bias.dtype == DType.INT64)


def scale_problem(*scales: tuple[int, int]) -> str | None:
    """Why requantization by one of these multipliers and shifts is not supported, or None."""
    if all(shift <= MOST_SHIFT for _, shift in scales):
        return None
    return "results would be multiplied by 2^30 and more: the output's scale is too small for the input's"


def wide_scale_problem(*scales: tuple[int, int]) -> str | None:
    """Why requantization of 64-bit accumulators to int16 by one of these multipliers and shifts is not supported, or
    None."""
    if all(shift <= MOST_WIDE_SHIFT for _, shift in scales):
        return None
    return "results would be multiplied by 2^7 and more: the output's scale is too small for the input's"
