"""Convolutions four output channels and two pixels at a time: packed weights and constants of `mote_gemm4_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    INT8,
    Biases,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    aligned,
    units_of,
)
from mote.compiler.kernels.helium.common import HELIUM, NO_CONSTANTS
from mote.compiler.kernels.helium.gemm.gemm_assembly import CHANNELS, PAIR, Columns, Outputs, Pixels, code
from mote.compiler.kernels.helium.gemm.windows_assembly import Windows
from mote.compiler.kernels.helium.padded_rows import padded_params, padded_rows
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.requantize.vector import COUNT, Lanes, lanes, lanes_params, rounded_twice
from mote.compiler.kernels.portable.windows.conv import sums_of
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import BIAS, WEIGHTS, bias_values, int8_range, learned
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D

VECTOR = 16
"""Inputs that are multiplied at once (bytes of a vector)."""
TILE = (1, PAIR)
FEW = Refusal("there are fewer than four channels")


class GemmBuffers(NamedTuple):
    """Size of the kernel's input buffers: smaller ones save RAM and cost some time. `end`: suffix of the kernel's
    name."""

    end: str
    packed: int
    """Most bytes of packed windows at once (at least two windows are packed)."""
    pads: bool
    """Whether rows are copied with their padding."""


BUFFERS = (GemmBuffers("", 1024, True), GemmBuffers("_lean", 0, False))


@dataclass(frozen=True)
class Layer:
    """Constants of a convolution; weights have shape [outputs, window rows, inputs under a row]."""

    lanes: Lanes
    weights: NDArray[np.int8]
    constants: NDArray[np.int32]

    @property
    def channels(self) -> int:
        return len(self.weights)

    @property
    def fours(self) -> NDArray[np.int64]:
        """Channel indices [groups, 4]: the channels computed at once; the last group overlaps if their number is not a
        multiple of four."""
        first = np.minimum(np.arange(0, self.channels, CHANNELS, dtype=np.int64), self.channels - CHANNELS)
        return first[:, None] + np.arange(CHANNELS, dtype=np.int64)

    def params(self, weights: NDArray[np.int8]) -> Params:
        """Parameters `mote_gemm4_t`; `weights`: [outputs, inputs] in the memory order of the inputs."""
        fours = pad_to(weights, 1, VECTOR)[self.fours].reshape(len(self.fours), CHANNELS, -1, VECTOR)
        return {
            "weights": np.ascontiguousarray(fours.transpose(0, 2, 1, 3)).reshape(-1),
            "constants": self._in_fours(self.constants),
            "fours": len(self.fours),
            "last": self.channels - CHANNELS,
            "lanes": lanes_params(self.lanes),
            "channels": self.channels,
        }

    def _in_fours(self, constants: Array) -> Array:
        """Pack constants [channels, constants] as [groups of four][constants][four]."""
        return np.ascontiguousarray(constants[self.fours].transpose(0, 2, 1)).reshape(-1)

    @property
    def biases(self) -> Biases:
        return Biases("gemm.constants", scale=self.lanes.bias_factors, owners=self._in_fours(self.lanes.owners))

    @property
    def outputs(self) -> Outputs:
        return Outputs(Requantize.of(self.lanes), self.channels)


def layer(view: View) -> Layer | None:
    return view.once(_layer)


def _layer(view: View) -> Layer | None:
    op, shape = view.op, view.op.input(view.graph, WEIGHTS).shape
    assert isinstance(op, Conv2D | GroupedConv2D)
    learns, limits = WEIGHTS in learned(view.graph, op), int8_range(op.activation, view.output)
    requantization = rounded_twice(sums_of(view), limits) if learns else lanes(sums_of(view), limits)
    if requantization is None or (learns and requantization.constant.any()):
        return None  # constant channels would need zero weights, trained ones change
    w: Ints = (np.zeros(shape, np.int64) if learns else view.constant(WEIGHTS)).astype(np.int64)
    bias = bias_values(op.tensor(view.graph, BIAS), len(w)) - view.input.zero_point * w.sum(
        axis=(1, 2, 3), dtype=np.int64
    )
    packed = requantization.weights(w.reshape(*w.shape[:2], -1)).astype(np.int8)
    return Layer(requantization, packed, requantization.constants(0 * bias if learns else bias))


def instance(conv: Layer, pixels: Pixels) -> tuple[str, Instance]:
    """Name and code of the matrix product for pixels in this memory layout."""
    requantize = Requantize.of(conv.lanes)
    name = f"{pixels.steps}x{pixels.apart}_{conv.channels}_{requantize.name}"
    form, shift = requantize.form, requantize.shift
    arguments = (name, COUNT[form], pixels.steps, pixels.apart, conv.channels, form, shift)
    return name, Instance("MOTE_GEMM4_CODE", arguments, tuple(code(pixels, conv.outputs)))


def _pointwise(view: View) -> Packed | Refusal:
    """The kernel for 1x1 windows, at any stride."""
    op, x, y = view.the(Conv2D), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    if v.kernel * h.kernel > 1 or v.before + v.after + h.before + h.after:
        return Refusal("it is for windows of one pixel")
    depth = x[3]
    pixels = Pixels(-(-depth // VECTOR), h.stride * depth)
    if depth % 4:
        return Refusal("channels are no multiple of four")
    if not pixels.fits:
        return Refusal("pixels have too many channels")
    if y[3] < CHANNELS:
        return FEW
    conv = layer(view)
    if conv is None:
        return NO_CONSTANTS
    name, function = instance(conv, pixels)
    flat = op.pointwise
    after = 0 if flat else x[2] * depth - (y[2] - 1) * pixels.apart - depth
    behind = -(-max(VECTOR * pixels.steps - depth - after, 0) // pixels.apart)
    params: Params = {
        "depth": depth,
        "apart": pixels.apart,
        "behind": behind,
        "width": y[2],
        "step": v.stride,
        "in_stride": x[2] * depth,
        "out_stride": y[2] * y[3],
        "gemm": conv.params(conv.weights.reshape(conv.channels, -1)),
    }
    copied = PAIR * pixels.apart + VECTOR if behind or y[2] < PAIR else 0
    scratch = copied + (PAIR * y[3] if y[2] < PAIR else 0)
    instances = function, Instance("MOTE_POINTWISE4", (name,))
    if not flat and y[0] > 1 and x[1] != y[1] * v.stride:
        return Refusal("rows of several images do not lie evenly")
    name = f"pointwise4_{name}" if flat else f"pointwise4_rows_{name}"
    by_rows = Entry(Call.ROWS, row=f"{name}_row", taps=1)
    return Packed(
        name,
        params,
        Entry(Call.FLAT, units_of(y, y[3])) if flat else by_rows,
        Needs(scratch=scratch),
        Price(tile=TILE, whole_tiles=True, density=VECTOR * pixels.steps / depth),
        instances,
        biases=conv.biases,
    )


def columns_of(view: View) -> Columns:
    op, channels = view.the(Conv2D), view.input.shape[3]
    return Columns(op.vertical.kernel, op.horizontal.kernel, op.horizontal.stride, channels, channels)


def vectors_of(columns: Columns) -> NDArray[np.int64]:
    """Indices of the vectors of a window's weights in the order in which the code reads them."""
    vectors = np.arange(columns.weights // CHANNELS, dtype=np.int64).reshape(columns.rows, columns.columns, -1)
    return vectors[:, columns.order].transpose(0, 2, 1).reshape(-1)


def _slide(view: View, buffers: GemmBuffers) -> Packed | Refusal:
    """The kernel that slides windows over pixels whose channels are whole vectors, without packing them."""
    op, x, y = view.the(Conv2D), view.input, view.output
    v, h = op.vertical, op.horizontal
    if v.kernel * h.kernel == 1:
        return Refusal("pointwise4 is for windows of one pixel")
    columns = columns_of(view)
    if not columns.fits or h.dilation > 1:
        return Refusal("it is for windows of up to three rows over few times sixteen channels")
    if y.shape[3] < CHANNELS:
        return FEW
    conv = layer(view)
    if conv is None:
        return NO_CONSTANTS
    padded = padded_rows(view, columns.span) if buffers.pads else None
    requantize = Requantize.of(conv.lanes)
    shape = (v.kernel, h.kernel, h.stride, x.shape[3])
    name = f"{v.kernel}x{h.kernel}x{x.shape[3]}_s{h.stride}_{conv.channels}_{requantize.name}"
    arguments = (name, COUNT[requantize.form], *shape, conv.channels, requantize.form, requantize.shift)
    function = Instance("MOTE_SLIDE4_CODE", arguments, tuple(code(columns, conv.outputs)))
    weights = conv.weights.reshape(conv.channels, -1, VECTOR)[:, vectors_of(columns)].reshape(conv.channels, -1)
    params: Params = {
        **padded_params(view, padded),
        "depth": x.shape[3],
        "zero": x.zero_point,
        "span": columns.span,
        "gemm": conv.params(weights),
    }
    spare = aligned(PAIR * conv.channels) if y.shape[2] < PAIR else 0
    return Packed(
        f"conv4_{name}",
        params,
        Entry(Call.ROWS, row=f"conv4_{name}_row", taps=v.kernel),
        Needs(scratch=(padded.size if padded else v.kernel * columns.span * x.shape[3]) + spare),
        Price(tile=TILE, whole_tiles=True),
        instances=(function, Instance("MOTE_SLIDE4", (name,))),
        biases=conv.biases,
    )


def _windows(view: View, buffers: GemmBuffers) -> Packed | Refusal:
    """The kernel for any window, which packs windows into contiguous vectors first."""
    op, x = view.the(Conv2D), view.input
    v, h = op.vertical, op.horizontal
    if op.pointwise and x.shape[3] % 4 == 0:
        return Refusal("pointwise4 is for windows of one pixel and channels in fours")
    line, steps = h.kernel * x.shape[3], -(-op.depth(view.graph) // VECTOR)
    pixels = Pixels(steps, VECTOR * steps)
    if not pixels.fits:
        return Refusal("windows are too large to be packed")
    if view.output.shape[3] < CHANNELS:
        return FEW
    conv = layer(view)
    if conv is None:
        return NO_CONSTANTS
    gemm_name, gemm_code = instance(conv, pixels)
    windows = Windows(v.kernel, line, h.stride * x.shape[3], pixels.apart)
    pack, instances = "NULL", [gemm_code]
    if windows.fits and h.dilation == 1:
        pack = f"{v.kernel}x{line}_{windows.step}_{pixels.apart}"
        arguments = (pack, v.kernel, line, windows.step, pixels.apart)
        instances.append(Instance("MOTE_WINDOWS4_CODE", arguments, tuple(windows.code())))
    name = f"packed_{pack if pack != 'NULL' else 'any'}_{gemm_name}"
    function = f"mote_windows4_{pack}" if pack != "NULL" else pack
    instances.append(Instance("MOTE_CONV4_WINDOWS", (name, gemm_name, function)))
    batch = max(buffers.packed // (PAIR * pixels.apart), 1) * PAIR
    padded = padded_rows(view) if buffers.pads and pack != "NULL" else None
    padding = aligned(x.shape[2] * x.shape[3]) if pack != "NULL" and (v.before or v.after) and not padded else 0
    params: Params = {
        **padded_params(view, padded),
        "depth": x.shape[3],
        "zero": x.zero_point,
        "apart": pixels.apart,
        "batch": batch,
        "padding": padding,
        "gemm": conv.params(conv.weights.reshape(conv.channels, -1)),
    }
    packed = batch * pixels.apart + VECTOR
    return Packed(
        f"conv4_{name}",
        params,
        Entry(Call.ROWS, row=f"conv4_{name}_row", taps=v.kernel),
        Needs(scratch=packed + aligned(PAIR * conv.channels) + (padded.size if padded else padding)),
        Price(tile=TILE, whole_tiles=True, density=VECTOR * steps / op.depth(view.graph)),
        instances=tuple(instances),
        biases=conv.biases,
    )


def _kernel(name: str, pack: Callable[[View], Packed | Refusal]) -> Kernel:
    return Kernel(name, (Conv2D,), INT8, pack, header="gemm4_s8", isa=HELIUM, lanes=4)


SLIDING = tuple(_kernel(f"conv4{buffers.end}", partial(_slide, buffers=buffers)) for buffers in BUFFERS)
LAYERS = (
    _kernel("pointwise4", _pointwise),
    *SLIDING,
    *(_kernel(f"conv4_packed{buffers.end}", partial(_windows, buffers=buffers)) for buffers in BUFFERS),
)
KERNELS = tuple(map(learning, LAYERS))
