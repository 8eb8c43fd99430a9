"""The calls of CMSIS-NN's functions: one for each operator, with its structs as C literals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.graph import Graph, Op
from mote.graph.types import DType
from mote.kernels.contract import Refusal
from mote.offload.cmsis_nn import sizes
from mote.offload.cmsis_nn.sizes import MVE
from mote.offload.contract import SCRATCH, Blob, Invocation, Pointer
from mote.offload.library.call import Caller, LibraryCall
from mote.offload.library.layer import Requantization, bias_blob, requantization, weights_blob
from mote.ops.common import Axis, quantized_range
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D
from mote.ops.windows.pool import AveragePool, MaxPool, Pool
from mote.targets import Target

Argument = Pointer | int | str
SPARE = 4
"""Elements that Helium's depthwise convolution reads at once of each constant, also where fewer are left."""


def literal(struct: str, *values: object) -> str:
    """The address of a struct."""
    return f"&(const cmsis_nn_{struct}){{{', '.join(map(str, values))}}}"


def pair(horizontal: int, vertical: int) -> str:
    """A cmsis_nn_tile, or the ends of an activation."""
    return f"{{{horizontal}, {vertical}}}"


def dims(shape: Sequence[int]) -> str:
    return literal("dims", *shape)


def working(scratch: int) -> tuple[Argument, int]:
    """The arguments for working memory."""
    return (Pointer(SCRATCH) if scratch else "NULL"), scratch


def constants(blobs: Sequence[Blob]) -> list[Argument]:
    return [Pointer(blob.name) for blob in blobs]


def _tiles(vertical: Axis, horizontal: Axis) -> list[str]:
    """Stride, padding and dilation, each horizontal first."""
    return [
        pair(horizontal.stride, vertical.stride),
        pair(horizontal.before, vertical.before),
        pair(horizontal.dilation, vertical.dilation),
    ]


def _convolve(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Conv2D)
    how = requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if x.dtype != DType.INT8 or how.once:
        return Refusal(f"{x.dtype} convolutions are not called")
    name, scratch = _convolution(op, x.shape, target)
    params = literal(
        "conv_params", how.input_offset, how.output_offset, *_tiles(op.vertical, op.horizontal), pair(how.low, how.high)
    )
    weights, bias = weights_blob(graph, op), bias_blob(graph, op)
    arguments = (
        *working(scratch),
        *constants(how.blobs),
        params,
        *(dims(x.shape), Pointer(x.id)),
        *(dims(w.shape), Pointer(weights.name), Pointer(bias.name)),
        *(dims(y.shape), Pointer(y.id)),
    )
    return LibraryCall(
        Invocation(f"cmsis_nn_{name}_s8", arguments), (f"arm_{name}_s8",), (*how.blobs, weights, bias), scratch
    )


def _convolution(op: Conv2D, x: Sequence[int], target: Target) -> tuple[str, int]:
    """The function and its working memory. Helium's version for one row is right for a stride of 1, with as much
    padding behind the image as before it or one more: other rows are left to the general function."""
    _, height, width, channels = x
    vertical, horizontal = op.vertical, op.horizontal
    taps = vertical.kernel * horizontal.kernel * channels
    plain = (vertical.before, horizontal.before, vertical.dilation, horizontal.dilation) == (0, 0, 1, 1)
    if plain and taps == channels:
        fast = vertical.stride == horizontal.stride == 1
        return "convolve_wrapper", sizes.convolve_1x1_fast_s8(target, channels) if fast else 0
    one_row = height == 1 and vertical.kernel == horizontal.dilation == 1 and horizontal.stride * channels % 4 == 0
    if not one_row or MVE not in target.features:
        return "convolve_wrapper", sizes.convolve_s8(target, taps)
    even = horizontal.stride == 1 and horizontal.after - horizontal.before in (0, 1)
    if even and vertical == Axis(1) and width >= 2 * horizontal.kernel:
        return "convolve_wrapper", sizes.convolve_1_x_n_mve(horizontal, channels)
    return "convolve", sizes.convolve_s8(target, taps)


def _depthwise(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, DepthwiseConv2D)
    how = requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if x.dtype != DType.INT8 or how.once:
        return Refusal(f"{x.dtype} depthwise convolutions are not called")
    mve = MVE in target.features
    if mve and x.channels == 1 < y.channels and x.shape[1] == 1:
        return Refusal("Helium's version takes one channel of one row for a convolution, whose padding it may not know")
    scratch = sizes.depthwise_wrapper_s8(target, x.shape, y.channels, op.vertical, op.horizontal, w.size)
    params = literal(
        "dw_conv_params",
        how.input_offset,
        how.output_offset,
        op.multiplier,
        *_tiles(op.vertical, op.horizontal),
        pair(how.low, how.high),
    )
    own = (*how.blobs, weights_blob(graph, op), bias_blob(graph, op))
    blobs = tuple(map(_spared, own)) if mve else own
    arguments = (
        *working(scratch),
        *constants(blobs[:2]),
        params,
        *(dims(x.shape), Pointer(x.id)),
        *(dims(w.shape), *constants(blobs[2:])),
        *(dims(y.shape), Pointer(y.id)),
    )
    name = "depthwise_conv_wrapper_s8"
    return LibraryCall(Invocation(f"cmsis_nn_{name}", arguments), (f"arm_{name}",), blobs, scratch)


def _spared(blob: Blob) -> Blob:
    """With elements behind it that may be read."""
    data = blob.data.reshape(-1)
    more = -data.size % SPARE
    return Blob(blob.name, np.concatenate([data, np.zeros(more, data.dtype)]), blob.alignment) if more else blob


def _fully_connected(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, FullyConnected)
    how = requantization(graph, op)
    if isinstance(how, Refusal):
        return how
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if x.dtype != DType.INT8:
        return Refusal(f"{x.dtype} fully connected layers are not called")
    channels, depth = w.shape
    weights, bias = weights_blob(graph, op), bias_blob(graph, op)
    sums = _kernel_sums(how, weights, bias) if MVE in target.features else None
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
    name = "fully_connected_s8" if how.per_tensor else "fully_connected_per_channel_s8"
    call = Invocation(f"cmsis_nn_{'once_' if how.once else ''}{name}", arguments)
    return LibraryCall(call, (f"arm_{name}",), blobs, once=how.once)


def _kernel_sums(how: Requantization, weights: Blob, bias: Blob) -> Blob:
    """The biases with the sums of weights times the offset of the inputs, as arm_vector_sum_s8 computes them."""
    return Blob("sums", (bias.data + weights.data.sum(axis=1, dtype=np.int64) * how.input_offset).astype(np.int32))


def _pool(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Pool)
    x, y = op.input(graph), op.output(graph)
    if x.dtype != DType.INT8:
        return Refusal(f"{x.dtype} pooling is not called")
    average = isinstance(op, AveragePool)
    scratch = sizes.avgpool(target, x.channels) if average else 0
    low, high = quantized_range(op.activation, y)
    stride, padding, _ = _tiles(op.vertical, op.horizontal)
    arguments = (
        *working(scratch),
        literal("pool_params", stride, padding, pair(low, high)),
        *(dims(x.shape), Pointer(x.id)),
        dims((1, op.vertical.kernel, op.horizontal.kernel, 1)),
        *(dims(y.shape), Pointer(y.id)),
    )
    name = "avgpool_s8" if average else "max_pool_s8"
    return LibraryCall(Invocation(f"cmsis_nn_{name}", arguments), (f"arm_{name}",), (), scratch)


CALLERS: Mapping[type[Op], Caller] = {
    Conv2D: _convolve,
    DepthwiseConv2D: _depthwise,
    FullyConnected: _fully_connected,
    AveragePool: _pool,
    MaxPool: _pool,
}
"""What makes the calls, by the operator."""
