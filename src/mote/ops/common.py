"""What several operators share: fused activations, sliding windows, per-channel requantization."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op, Tensor
from mote.graph.fixedpoint import quantize_multiplier, wrap32
from mote.graph.flow import Flow, PaddingError, StrideError
from mote.graph.graph import Increment
from mote.graph.rows import OUTSIDE, inside, row_count
from mote.graph.tensor import Array
from mote.graph.types import Activation, DType
from mote.plan.kernel import Layout, Lowering, Structs, Value

FLOAT_MAX = float(np.finfo(np.float32).max)


def int8_range(activation: Activation, output: Tensor) -> tuple[int, int]:
    """The quantized bounds of a fused activation, with LiteRT's float32 rounding."""
    low, high = activation.bounds
    scale = np.float32(output.scale)

    def quantize(real: float) -> int:
        return output.zero_point + round_half_away(float(np.float32(real) / scale))

    lo = -128 if low == -math.inf else max(-128, quantize(low))
    hi = 127 if high == math.inf else min(127, quantize(high))
    return lo, hi


def round_half_away(x: float) -> int:
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def output_params(activation: Activation, output: Tensor, channels: Structs | None = None) -> dict[str, Value]:
    """`mote_output_t`. With the `channels` that it finishes, kernels may learn that it is plain."""
    lo, hi = int8_range(activation, output)
    plain = channels is not None and (lo, hi) == (-128, 127) and bool(np.all(channels.rows[:, 2] >= 0))
    return {"zero": output.zero_point, "lo": lo, "hi": hi, "plain": int(plain)}


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
        """Output positions over an input of `size`."""
        return (size + self.before + self.after - self.extent) // self.stride + 1

    def rows(self, out: int, size: int) -> tuple[int, ...]:
        """The input positions that output position `out` reads, OUTSIDE where an image of `size` has none."""
        first = out * self.stride - self.before
        return tuple(inside(first + k * self.dilation, size) for k in range(self.kernel))

    def present(self, size: int) -> NDArray[np.int64]:
        """Which taps lie inside an image of `size`, 1 or 0: a row for each way that occurs."""
        ways = {tuple(int(r != OUTSIDE) for r in self.rows(out, size)) for out in range(self.size(size))}
        return np.array(sorted(ways), np.int64)

    def __str__(self) -> str:
        parts = [str(self.kernel)]
        if self.stride != 1:
            parts.append(f"stride {self.stride}")
        if self.dilation != 1:
            parts.append(f"dilation {self.dilation}")
        if self.before or self.after:
            parts.append(f"pad {self.before}+{self.after}")
        return " ".join(parts)


@dataclass(frozen=True, kw_only=True)
class WindowOp(Op):
    """An operator whose output row needs a window of input rows: convolutions and pooling (NHWC)."""

    vertical: Axis
    horizontal: Axis
    pads_with_zero: ClassVar[bool] = False
    """Padding is the number zero, as a stream that has not begun could be."""

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        height = self.input(g).shape[1]
        image, row = divmod(y, self.output(g).shape[1])
        found = self.vertical.rows(row, height)
        return tuple(r if r == OUTSIDE else r + image * height for r in found)

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        """The windows over what is new reach back; elements at the end that no window covers make it lag behind."""
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
        return Increment(self.with_(**{name: plain}), Flow(flow.axis, size, fresh), {0: need})

    def adds(self, g: Graph, how: Lowering) -> bool:
        """Whether running sums are wanted and possible: int8 in NHWC, one output row from several input rows."""
        plain = self.output(g).dtype == DType.INT8 and how.reads == how.writes == Layout.NHWC
        if not how.adds or not plain or row_count(self.output(g).shape) != 1:
            return False
        return sum(r != OUTSIDE for r in self.reads(g, 0, 0) or ()) > 1

    def present(self, g: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which rows and which columns of the window lie inside the image, each way that occurs."""
        _, height, width, _ = self.input(g).shape
        return self.vertical.present(height), self.horizontal.present(width)

    def spatial(self, g: Graph) -> tuple[int, int]:
        _, height, width, _ = self.input(g).shape
        return self.vertical.size(height), self.horizontal.size(width)

    def windows(self, x: Array, fill: float) -> Array:
        """Every window of x, padded with `fill`: [n, out_h, out_w, channels, kernel_h, kernel_w]."""
        v, h = self.vertical, self.horizontal
        padded = np.pad(x, ((0, 0), (v.before, v.after), (h.before, h.after), (0, 0)), constant_values=fill)
        view = np.lib.stride_tricks.sliding_window_view(padded, (v.extent, h.extent), axis=(1, 2))
        return view[:, :: v.stride, :: h.stride, :, :: v.dilation, :: h.dilation]

    def window_params(self, g: Graph) -> dict[str, Value]:
        """`mote_window_t rows` and `mote_span_t cols`."""
        x, y = self.input(g), self.output(g)
        v, h = self.vertical, self.horizontal
        return {
            "rows": {
                "in_rows": x.shape[1],
                "out_rows": y.shape[1],
                "in_stride": x.shape[2] * x.shape[3],
                "out_stride": y.shape[2] * y.shape[3],
                "taps": v.kernel,
                "step": v.stride,
                "spread": v.dilation,
                "pad": v.before,
            },
            "cols": {
                "in_size": x.shape[2],
                "out_size": y.shape[2],
                "taps": h.kernel,
                "step": h.stride,
                "spread": h.dilation,
                "pad": h.before,
            },
        }


def channel_scales(x: Tensor, w: Tensor, y: Tensor, channels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Multiplier and shift of each output channel of a layer with weights."""
    assert w.quant is not None
    scales = np.broadcast_to(w.quant.scale, (channels,))
    pairs = [quantize_multiplier(x.scale * float(s) / y.scale) for s in scales]
    mult, shift = zip(*pairs, strict=True)
    return np.array(mult, np.int64), np.array(shift, np.int64)


def channel_structs(bias: NDArray[np.int64], mult: NDArray[np.int64], shift: NDArray[np.int64]) -> Structs:
    """`mote_channel_t` for each channel: the shift is stored as the right shift less one. Kernels want a normalized
    multiplier, so zero (a scale too small to matter) becomes 2^-32, which rounds every sum to zero as well; its bias
    then does not matter and is zero."""
    bias = np.where(mult == 0, 0, bias)
    shift = np.where(mult == 0, -31, shift)
    mult = np.where(mult == 0, 1 << 30, mult)
    return Structs("mote_channel_t", np.stack([wrap32(bias), mult, -shift - 1], axis=1))


def scale_params(mult: int, shift: int) -> dict[str, Value]:
    """What `mote_rescale` takes; zero is 2^-32 as well."""
    return {"mult": mult or 1 << 30, "shift": (-shift if mult else 31) - 1}


def bias_values(bias: Tensor | None, channels: int) -> NDArray[np.int64]:
    if bias is None or bias.data is None:
        return np.zeros(channels, np.int64)
    return bias.data.reshape(-1).astype(np.int64)


def float_bias(bias: Tensor | None, channels: int) -> NDArray[np.float32]:
    return np.zeros(channels, np.float32) if bias is None or bias.data is None else bias.data.reshape(-1)


def pad_to(x: Array, axis: int, multiple: int) -> Array:
    """x with zeros appended on `axis` up to a multiple."""
    missing = -x.shape[axis] % multiple
    return np.pad(x, [(0, missing if i == axis else 0) for i in range(x.ndim)])


def interleave(weights: Array, channels: int) -> NDArray[np.int8]:
    """[outputs, depth] weights in blocks of `channels` outputs, four inputs of each in turn, zero-padded."""
    padded = pad_to(pad_to(weights, 0, channels), 1, 4)
    blocks = padded.reshape(padded.shape[0] // channels, channels, padded.shape[1] // 4, 4)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).astype(np.int8).reshape(-1)


def activation_type(g: Graph, op: Op, *, dtypes: tuple[DType, ...] = (DType.INT8, DType.FLOAT32)) -> str | None:
    """Why the operator's input and output types are not supported together, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in dtypes:
        return f"{x.dtype} input is not supported (only {', '.join(dtypes)})"
    if y.dtype != x.dtype:
        return f"{x.dtype} input with {y.dtype} output is not supported"
    for t in (x, y):
        if t.dtype == DType.INT8 and (t.quant is None or t.quant.per_channel or t.scale <= 0):
            return f"int8 tensor '{t.name}' has no per-tensor quantization"
    return None


def weight_problem(g: Graph, op: Op) -> str | None:
    """Why a layer with weights (input 1) and a bias (input 2) cannot be compiled, or None."""
    if problem := activation_type(g, op):
        return problem
    x, w, b = op.input(g), op.input(g, 1), op.tensor(g, 2)
    if w.data is None:
        return "weights that are computed at run time are not supported"
    if w.dtype != x.dtype:
        return f"{x.dtype} input with {w.dtype} weights (hybrid quantization) is not supported"
    if b is not None and (b.data is None or b.dtype != (DType.INT32 if x.dtype == DType.INT8 else DType.FLOAT32)):
        return f"a {'computed' if b.data is None else b.dtype} bias is not supported"
    if x.dtype == DType.INT8 and (w.quant is None or np.any(w.quant.zero_point != 0)):
        return "int8 weights must have zero point 0"
    return None
