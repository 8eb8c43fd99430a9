"""Calls of convolutions, fully connected layers and pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.cmsis_nn import sizes
from mote.compiler.offload.cmsis_nn.files import AGAIN
from mote.compiler.offload.cmsis_nn.literals import SUFFIX, constants, dims, literal, pair, tiles, working
from mote.compiler.offload.cmsis_nn.sizes import MVE
from mote.compiler.offload.contract import Blob, Invocation, Pointer
from mote.compiler.offload.library.call import LibraryCall
from mote.compiler.offload.library.layer import Layer, Requantization, bias_blob, requantization, weights_blob
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis, quantized_range
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, Pool
from mote.ir.ops.windows.transpose_conv import TransposeConv

SPARE = 4
"""Elements of each constant that Helium's depthwise convolution reads at once, even if fewer remain."""
REVERSED_CHANNELS = 16
"""Input channels above which CMSIS-NN computes a transposed convolution as a convolution of upscaled images."""


def convolve(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Conv2D)
    how = _requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x = op.input(graph)
    taps = op.vertical.kernel * op.horizontal.kernel * x.channels
    if x.dtype == DType.INT16:
        name, scratch = "convolve_wrapper_s16", sizes.convolve_s16(target, taps)
    else:
        name, scratch = _convolution(op, x.shape, target)
    params = _params("conv_params", how, tiles(op.vertical, op.horizontal))
    return _window(graph, op, name, how, params, scratch, [weights_blob(graph, op), bias_blob(graph, op)])


def _requantization(graph: Graph, op: Layer) -> Requantization | Refusal:
    """The requantization of a layer with windows, if it rounds twice."""
    how = requantization(graph, op)
    return Refusal("it rounds sums twice") if isinstance(how, Requantization) and how.once else how


def _params(struct: str, how: Requantization, windows: Sequence[str], *others: int) -> str:
    """The literal of a parameter struct; `others`: the fields between offsets and windows."""
    return literal(struct, how.input_offset, how.output_offset, *others, *windows, pair(how.low, how.high))


def _window(
    graph: Graph, op: Layer, name: str, how: Requantization, params: str, scratch: int, blobs: Sequence[Blob]
) -> LibraryCall:
    """The call of a layer function with these parameters, weights and biases."""
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    arguments = (
        *working(scratch),
        *constants(how.blobs),
        params,
        *(dims(x.shape), Pointer(x.id)),
        *(dims(w.shape), *constants(blobs)),
        *(dims(y.shape), Pointer(y.id)),
    )
    return LibraryCall(Invocation(f"cmsis_nn_{name}", arguments), (f"arm_{name}",), (*how.blobs, *blobs), scratch)


def _convolution(op: Conv2D, x: Sequence[int], target: Target) -> tuple[str, int]:
    """The function for a convolution and its bytes of working memory. Helium's function for images of one row is only
    correct for stride 1 with equal padding on both sides or one more at the end; others use the general function."""
    _, height, width, channels = x
    vertical, horizontal = op.vertical, op.horizontal
    taps = vertical.kernel * horizontal.kernel * channels
    plain = (vertical.before, horizontal.before, vertical.dilation, horizontal.dilation) == (0, 0, 1, 1)
    if plain and taps == channels:
        fast = vertical.stride == horizontal.stride == 1
        return "convolve_wrapper_s8", sizes.convolve_1x1_fast_s8(target, channels) if fast else 0
    one_row = height == 1 and vertical.kernel == horizontal.dilation == 1 and horizontal.stride * channels % 4 == 0
    if not one_row or MVE not in target.features:
        return "convolve_wrapper_s8", sizes.convolve_s8(target, taps)
    even = horizontal.stride == 1 and horizontal.after - horizontal.before in (0, 1)
    if even and vertical == Axis(1) and width >= 2 * horizontal.kernel:
        return "convolve_wrapper_s8", sizes.convolve_1_x_n_mve(horizontal, channels)
    return "convolve_s8", sizes.convolve_s8(target, taps)


def depthwise(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, DepthwiseConv2D)
    how = _requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    mve = MVE in target.features
    if x.dtype == DType.INT16:
        scratch = sizes.depthwise_wrapper_s16(target, x.channels, op.multiplier, op.vertical, op.horizontal)
    elif mve and x.channels == 1 < y.channels and x.shape[1] == 1:
        return Refusal("Helium's version takes one channel of one row for a convolution, whose padding it may not know")
    else:
        scratch = sizes.depthwise_wrapper_s8(target, x.shape, y.channels, op.vertical, op.horizontal, w.size)
    params = _params("dw_conv_params", how, tiles(op.vertical, op.horizontal), op.multiplier)
    blobs = [weights_blob(graph, op), bias_blob(graph, op)]
    name = f"depthwise_conv_wrapper_{SUFFIX[x.dtype]}"
    call = _window(graph, op, name, how, params, scratch, blobs)
    spared = tuple(map(_spared, call.blobs)) if mve else call.blobs
    return LibraryCall(call.invocation, call.functions, spared, scratch)


def _spared(blob: Blob) -> Blob:
    """The constant padded with zeros, as elements after its end may be read."""
    data = blob.data.reshape(-1)
    more = -data.size % SPARE
    return Blob(blob.name, np.concatenate([data, np.zeros(more, data.dtype)]), blob.alignment) if more else blob


def transpose_convolve(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    """The call for a transposed convolution: output rows are accumulated; with many channels it is a convolution with
    reversed weights, of images with zeros between their pixels."""
    assert isinstance(op, TransposeConv)
    how = _requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if x.dtype != DType.INT8:
        return Refusal(f"it computes int8, not {x.dtype}")
    assert w.data is not None
    vertical, horizontal = op.vertical, op.horizontal
    steps = vertical.stride, horizontal.stride
    if max(steps) <= 2 and x.channels > REVERSED_CHANNELS and _within(vertical) and _within(horizontal):
        back = [Axis(a.kernel, 1, 1, a.kernel - 1 - a.before) for a in (vertical, horizontal)]
        blobs = [Blob("weights", np.ascontiguousarray(w.data[:, ::-1, ::-1])), bias_blob(graph, op)]
        params, scratch = _params("conv_params", how, tiles(*back)), sizes.convolve_s8(target, w.data[0].size)
        spread = (x.shape[0], x.shape[1] * steps[0], x.shape[2] * steps[1], x.channels)
        call = _window(graph, op, "convolve_s8", how, params, scratch, blobs)
        arguments = [dims(spread) if a == dims(x.shape) else a for a in call.invocation.arguments]
        upscaled = Invocation("cmsis_nn_convolve_upscaled_s8", (*arguments, dims((0, *steps, 0))))
        return LibraryCall(upscaled, call.functions, call.blobs, scratch)
    if not _flushed(vertical, x.shape[1], y.shape[1]) or not _flushed(horizontal, x.shape[2], y.shape[2]):
        return Refusal("it writes rows behind those of this output")
    windows = [pair(*steps[::-1]), pair(horizontal.before, vertical.before), pair(0, 0), pair(1, 1)]
    scratch = sizes.transpose_conv_s8(x.shape[2], y.channels, vertical, horizontal)
    blobs = [weights_blob(graph, op), bias_blob(graph, op)]
    params = _params("transpose_conv_params", how, windows)
    return _window(graph, op, "transpose_conv_s8", how, params, scratch, blobs)


def _within(axis: Axis) -> bool:
    """Whether the equivalent convolution has no negative padding."""
    return axis.before < axis.kernel


def _flushed(axis: Axis, size: int, out: int) -> bool:
    """Whether the rows that the function writes are all before the end of the output, and cover all of the output."""
    reached = (size - 1) * axis.stride + max(axis.kernel, axis.stride)
    return size * axis.stride <= axis.before + out <= reached


def fully_connected(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, FullyConnected)
    how = requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if x.dtype == DType.INT16 and not how.per_tensor:
        return Refusal("it has one multiplier for all channels of int16")
    channels, depth = w.shape
    weights, bias = weights_blob(graph, op), bias_blob(graph, op)
    sums = _kernel_sums(how, weights, bias) if MVE in target.features and x.dtype == DType.INT8 else None
    scales, given = ((), (int(how.mult[0]), int(how.shift[0]))) if how.per_tensor else (how.blobs, constants(how.blobs))
    blobs = (*scales, weights, *((sums,) if sums else (bias,)))
    params = literal("fc_params", how.input_offset, 0, how.output_offset, pair(how.low, how.high))
    batches = x.size // depth
    arguments = (
        *((Pointer(sums.name), sums.data.nbytes) if sums else ("NULL", 0)),
        *given,
        params,
        *(dims((batches, 1, 1, depth)), Pointer(x.id)),
        *(dims((depth, 1, 1, channels)), Pointer(weights.name), "NULL" if sums else Pointer(bias.name)),
        *(dims((batches, 1, 1, channels)), Pointer(y.id)),
    )
    name = f"fully_connected_{'' if how.per_tensor else 'per_channel_'}{SUFFIX[x.dtype]}"
    call = Invocation(f"cmsis_nn_{name}{AGAIN if how.once else ''}", arguments)
    return LibraryCall(call, (f"arm_{name}",), blobs, once=how.once)


def _kernel_sums(how: Requantization, weights: Blob, bias: Blob) -> Blob:
    """The biases plus the sums of weights times the input offset, as arm_vector_sum_s8 computes them."""
    return Blob("sums", (bias.data + weights.data.sum(axis=1, dtype=np.int64) * how.input_offset).astype(np.int32))


def pool(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Pool)
    x, y = op.input(graph), op.output(graph)
    if x.dtype not in SUFFIX:
        return Refusal(f"it computes int8 and int16, not {x.dtype}")
    average = isinstance(op, AveragePool)
    scratch = sizes.avgpool(target, x.channels) if average else 0
    low, high = quantized_range(op.activation, y)
    stride, padding, _ = tiles(op.vertical, op.horizontal)
    arguments = (
        *working(scratch),
        literal("pool_params", stride, padding, pair(low, high)),
        *(dims(x.shape), Pointer(x.id)),
        dims((1, op.vertical.kernel, op.horizontal.kernel, 1)),
        *(dims(y.shape), Pointer(y.id)),
    )
    name = f"{'avgpool' if average else 'max_pool'}_{SUFFIX[x.dtype]}"
    return LibraryCall(Invocation(f"cmsis_nn_{name}", arguments), (f"arm_{name}",), (), scratch)
