"""Operators as calls of ESP-NN: the function, its arguments and constants, or the reason for a refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import SCRATCH, Blob, Invocation, Pointer
from mote.compiler.offload.esp_nn import known_defects, scratch
from mote.compiler.offload.esp_nn.layer import MOST, EspLayer, EspWindow, EspWork
from mote.compiler.offload.esp_nn.library import Edition
from mote.compiler.offload.esp_nn.rounding import twice_multiplier
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import WindowOp, bias_values, channel_scales, quantized_range
from mote.ir.ops.elementwise.activations import HardSwish, Logistic
from mote.ir.ops.elementwise.arithmetic import HEADROOM, Add, Mul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool

VECTOR = 16
"""Alignment of constants in bytes, as vectors are loaded."""
INT32 = np.iinfo(np.int32)
MOST_SHIFT = 30
"""Maximum of ESP-NN's rounding shift to the right."""

Argument = Pointer | int | str


def layer(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    """The calls that compute an operator, or the reason for a refusal."""
    make = MADE.get(type(op))
    if make is None:
        return Refusal("ESP-NN has no function for it")
    tensors = [graph.tensors[t] for t in (op.inputs[0], op.outputs[0])]
    if any(t.dtype != DType.INT8 for t in tensors):
        return Refusal("ESP-NN computes with int8 activations")
    return make(op, graph, edition)


def _conv(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, Conv2D)
    w = _window(op, graph, op.activation)
    problem = _window_problem(op, w) or _weights_problem(op, graph, op.rounding) or known_defects.conv(w, edition)
    kind = "conv_1x1" if w.height == w.width == 1 else "conv"
    return Refusal(problem) if problem else _weighted("esp_nn_layer_conv", kind, op, graph, w, scratch.conv(w, edition))


def _depthwise(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, DepthwiseConv2D)
    w = _window(op, graph, op.activation)
    problem = _window_problem(op, w) or _weights_problem(op, graph, op.rounding)
    if problem := problem or known_defects.depthwise(w, op.multiplier, edition):
        return Refusal(problem)
    kind = "depthwise_conv" if op.multiplier == 1 else "depthwise_conv_multiplied"
    return _weighted("esp_nn_layer_depthwise", kind, op, graph, w, scratch.depthwise(w, op.multiplier, edition))


def _pool(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, AveragePool | MaxPool)
    w, average = _window(op, graph, op.activation), isinstance(op, AveragePool)
    if problem := _window_problem(op, w) or (known_defects.average(w, edition) if average else ""):
        return Refusal(problem)
    called = Invocation(f"esp_nn_layer_{'average' if average else 'max'}", _pointers("window", *_ends(op)))
    function = "avg_pool" if average else "max_pool"
    work = _work(function, op, graph, _inside(op, w) * w.out_channels)
    return EspLayer(function, (called,), work, (_blob("window", w.words),))


def _fully_connected(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, FullyConnected)
    x, y = op.input(graph), op.output(graph)
    if problem := _weights_problem(op, graph, None):
        return Refusal(problem)
    channels, depth = op.input(graph, 1).shape
    if max(channels, depth) > 2 * MOST + 1:
        return Refusal(f"ESP-NN counts up to {2 * MOST + 1} inputs and outputs")
    scales = _once_scales(op, graph)
    if isinstance(scales, Refusal):
        return scales
    low, high = quantized_range(op.activation, y)
    source, target = map(Pointer, _ends(op))
    weights, bias, blobs = _constants(op, graph)
    sizes = (x.size // depth, depth, channels, -x.zero_point, y.zero_point)
    work = _work("fully_connected" if x.zero_point else "fully_connected_zero", op, graph, op.macs(graph))
    if np.all(scales == scales[:, :1]):
        arguments: tuple[Argument, ...] = (source, weights, bias, target, *sizes, *scales[:, 0].tolist(), low, high)
        return EspLayer("fully_connected", (Invocation("esp_nn_layer_fully_connected", arguments),), work, blobs)
    arguments = (source, weights, bias, Pointer("scales"), target, *sizes, low, high)
    called = Invocation("esp_nn_layer_fully_connected_per_channel", arguments)
    return EspLayer("fully_connected", (called,), work, (*blobs, _blob("scales", scales)))


def _softmax(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, Softmax)
    x = op.input(graph)
    classes, rows = x.channels, x.size // x.channels
    if problem := known_defects.softmax(rows, classes, edition):
        return Refusal(problem)
    mult, shift, radius = op.scaling(graph)
    source, target = map(Pointer, _ends(op))
    called = Invocation("esp_nn_layer_softmax", (source, target, rows, classes, mult, shift, -radius, Pointer(SCRATCH)))
    return EspLayer("softmax", (called,), _work("softmax", op, graph, pixels=rows), scratch=scratch.softmax(classes))


def _add(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, Add)
    operands, y = [op.input(graph), op.input(graph, 1)], op.output(graph)
    if problem := _pair_problem(operands, y):
        return Refusal(problem)
    if any(t.shape != y.shape for t in operands):
        return Refusal("ESP-NN adds tensors of one shape")
    scales = op.multipliers(graph)
    (first, first_shift), (second, second_shift), (mult, shift) = scales
    if min(shift for _, shift in scales) < -MOST_SHIFT or max(shift for _, shift in scales) > 0:
        return Refusal(f"ESP-NN shifts the parts of a sum right by up to {MOST_SHIFT} bits")
    pointers, blobs = _operands(op, operands)
    arguments: tuple[Argument, ...] = (
        *pointers,
        *(-t.zero_point for t in operands),
        *(first, second, first_shift, second_shift, HEADROOM[DType.INT8]),
        Pointer(op.outputs[0]),
        *(y.zero_point, mult, shift),
        *quantized_range(op.activation, y),
        y.size,
    )
    return EspLayer("add", (Invocation("esp_nn_add_elementwise_s8", arguments),), _work("add", op, graph), blobs)


def _mul(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, Mul)
    operands, y = [op.input(graph), op.input(graph, 1)], op.output(graph)
    if problem := _pair_problem(operands, y):
        return Refusal(problem)
    mult, shift = op.multiplier(graph)
    if shift < -MOST_SHIFT:
        return Refusal(f"ESP-NN shifts products right by up to {MOST_SHIFT} bits")
    shapes = [t.shape for t in operands]
    pointers, blobs = _operands(op, operands)
    if shapes[0] != y.shape:
        operands, pointers, shapes = operands[::-1], pointers[::-1], shapes[::-1]
    channels = y.channels
    if shapes[0] != y.shape or (shapes[1] != y.shape and not (prod(shapes[1]) == channels == shapes[1][-1])):
        return Refusal("ESP-NN multiplies tensors of one shape, or channels by a number each")
    arguments: tuple[Argument, ...] = (
        *pointers,
        *(-t.zero_point for t in operands),
        Pointer(op.outputs[0]),
        *(y.zero_point, mult, shift),
        *quantized_range(op.activation, y),
    )
    alike = shapes[1] == y.shape
    function = "esp_nn_mul_elementwise_s8" if alike else "esp_nn_mul_broadcast_channel_s8"
    arguments = (*arguments, *((y.size,) if alike else (y.size // channels, channels)))
    return EspLayer("mul", (Invocation(function, arguments),), _work("mul", op, graph), blobs)


def _hard_swish(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, HardSwish)
    x, y = op.input(graph), op.output(graph)
    (mult, shift), (unit, unit_shift) = op.multipliers(x, y)
    if not np.array_equal(known_defects.hard_swish(x, y, (mult, shift), (unit, unit_shift), edition), op.table(graph)):
        return Refusal("ESP-NN rounds products of negative numbers another way on an ESP32-P4")
    room = scratch.hard_swish(edition)
    source, target = map(Pointer, _ends(op))
    arguments = (source, target, y.size, x.zero_point, mult, unit, unit_shift, shift, y.zero_point)
    room_at: Argument = Pointer(SCRATCH) if room else "0"
    called = Invocation("esp_nn_layer_hard_swish", (*arguments, room_at))
    return EspLayer("hard_swish", (called,), _work("hard_swish", op, graph), scratch=room)


def _logistic(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    """The call for LOGISTIC: a lookup in LiteRT's table, instead of the one that ESP-NN computes in float32."""
    assert isinstance(op, Logistic)
    table = Blob("table", np.roll(op.table(graph), -128), VECTOR)
    source, target = map(Pointer, _ends(op))
    called = Invocation("esp_nn_logistic_s8", (source, target, op.output(graph).size, Pointer("table")))
    return EspLayer("logistic", (called,), _work("logistic", op, graph), (table,))


def _mean(op: Op, graph: Graph, edition: Edition) -> EspLayer | Refusal:
    assert isinstance(op, Mean)
    x, y = op.input(graph), op.output(graph)
    if len(x.shape) != 4 or op.axes != (1, 2):
        return Refusal("ESP-NN has means of all pixels of an image only")
    images, height, width, channels = x.shape
    mult, shift = op.scale(graph)
    peak = graph.peak(op)
    if peak is None or peak.wraps or shift < -MOST_SHIFT:
        return Refusal("its sums may overflow 32 bits")
    source, target = map(Pointer, _ends(op))
    sizes = (images, height, width, channels)
    called = Invocation("esp_nn_layer_mean", (source, target, *sizes, x.zero_point, y.zero_point, mult, shift))
    return EspLayer("mean", (called,), _work("mean", op, graph, x.size))


Make = Callable[[Op, Graph, Edition], EspLayer | Refusal]
MADE: dict[type[Op], Make] = {
    Conv2D: _conv,
    DepthwiseConv2D: _depthwise,
    AveragePool: _pool,
    MaxPool: _pool,
    FullyConnected: _fully_connected,
    Softmax: _softmax,
    Add: _add,
    Mul: _mul,
    HardSwish: _hard_swish,
    Logistic: _logistic,
    Mean: _mean,
}


def _pair_problem(operands: Sequence[Tensor], y: Tensor) -> str:
    return "ESP-NN computes with int8 activations" if any(t.dtype != DType.INT8 for t in operands) else ""


def _operands(op: Op, operands: Sequence[Tensor]) -> tuple[tuple[Pointer, ...], tuple[Blob, ...]]:
    """The operands of a binary operator as arguments, with constants as blobs."""
    blobs = {p: Blob(f"operand{p}", t.data.reshape(-1), VECTOR) for p, t in enumerate(operands) if t.data is not None}
    pointers = tuple(Pointer(blobs[p].name if p in blobs else op.inputs[p]) for p in range(len(operands)))
    return pointers, tuple(blobs.values())


def _ends(op: Op) -> tuple[int, int]:
    return op.inputs[0], op.outputs[0]


def _pointers(*to: int | str) -> tuple[Pointer, ...]:
    return tuple(map(Pointer, to))


def _work(kind: str, op: Op, graph: Graph, taps: int = 0, pixels: int = 0) -> EspWork:
    return EspWork(kind, taps, pixels, op.output(graph).size)


def _window(op: WindowOp, graph: Graph, activation: Activation) -> EspWindow:
    x, y = op.input(graph), op.output(graph)
    rows, columns = op.vertical, op.horizontal
    images, height, width, channels = x.shape
    _, out_height, out_width, out_channels = y.shape
    low, high = quantized_range(activation, y)
    return EspWindow(
        images,
        height,
        width,
        channels,
        rows.kernel,
        columns.kernel,
        out_height,
        out_width,
        out_channels,
        rows.stride,
        columns.stride,
        rows.before,
        columns.before,
        -x.zero_point,
        y.zero_point,
        low,
        high,
    )


def _inside(op: WindowOp, w: EspWindow) -> int:
    """Number of window pixels inside of the images."""
    rows = op.vertical.inside(w.out_height, w.in_height).sum()
    return int(w.images * rows * op.horizontal.inside(w.out_width, w.in_width).sum())


def _window_problem(op: WindowOp, w: EspWindow) -> str:
    if (op.vertical.dilation, op.horizontal.dilation) != (1, 1):
        return "ESP-NN has no dilated windows"
    sizes = (w.in_height + w.pad_y + w.height, w.in_width + w.pad_x + w.width, w.in_channels, w.out_channels)
    return f"ESP-NN counts rows, columns and channels up to {MOST}" if max(sizes) > MOST else ""


def _weights_problem(op: Op, graph: Graph, rounding: Rounding | None) -> str:
    """Why ESP-NN does not support a layer's weights, bias or accumulator range; empty if it does."""
    w, bias = op.input(graph, 1), op.tensor(graph, 2)
    if rounding not in (None, Rounding.TWICE):
        return "ESP-NN rounds as LiteRT's convolutions do"
    if w.data is None or w.dtype != DType.INT8 or w.quant is None or w.quant.unsigned or np.any(w.quant.zero_point):
        return "ESP-NN wants constant int8 weights with zero point 0"
    if bias is not None and (bias.data is None or np.any(np.abs(bias.data.astype(np.int64)) > INT32_MAX)):
        return "ESP-NN wants a constant bias of 32 bits"
    peak = graph.peak(op)
    return "its sums may overflow 32 bits" if peak is None or peak.wraps else ""


def _weighted(called: str, kind: str, op: Conv2D | DepthwiseConv2D, graph: Graph, w: EspWindow, room: int) -> EspLayer:
    """The calls for a convolution or depthwise convolution."""
    x, y, weights = op.input(graph), op.output(graph), op.input(graph, 1)
    constant, bias, blobs = _constants(op, graph)
    scales = np.stack(channel_scales(x, weights, y, y.channels))
    source, target = map(Pointer, _ends(op))
    room_at: Argument = Pointer(SCRATCH) if room else "0"
    arguments = (Pointer("window"), source, constant, bias, Pointer("scales"), target, room_at)
    inside = _inside(op, w)
    taps, pixels = inside * w.out_channels * w.in_channels, inside * w.out_channels
    if isinstance(op, DepthwiseConv2D):
        side_by_side = w.in_channels if op.multiplier == 1 else op.multiplier
        passes = (side_by_side // 4 + side_by_side % 4) * (w.out_channels // side_by_side)
        taps, pixels = pixels, inside * passes
    return EspLayer(
        "conv" if isinstance(op, Conv2D) else "depthwise_conv",
        (Invocation(called, arguments),),
        _work(kind, op, graph, taps, pixels),
        (_blob("window", w.words), *blobs, _blob("scales", scales)),
        room,
    )


def _constants(op: Op, graph: Graph) -> tuple[Pointer, Argument, tuple[Blob, ...]]:
    """Weights and bias as arguments and as blobs; a missing bias is a null pointer."""
    w, bias = op.input(graph, 1), op.tensor(graph, 2)
    assert w.data is not None
    weights = Blob("weights", w.data.reshape(-1), VECTOR)
    if bias is None:
        return Pointer("weights"), "0", (weights,)
    values = bias_values(bias, bias.size)
    return Pointer("weights"), Pointer("bias"), (weights, _blob("bias", values))


def _once_scales(op: FullyConnected, graph: Graph) -> Ints | Refusal:
    """Multipliers and shifts with which ESP-NN gives the model's results for FULLY_CONNECTED."""
    sums = op.sums(graph, graph.ranges[op.inputs[0]])
    if op.rounding is Rounding.TWICE:
        return np.stack([sums.mult, sums.shift])
    if op.rounding is not Rounding.ONCE or sums.real is None:
        return Refusal("ESP-NN does not round to even")
    limit = int(np.abs([sums.low, sums.high]).max())
    scales = [twice_multiplier(real, sums.zero, limit) for real in sums.real.tolist()]
    exact = [scale for scale in scales if scale is not None]
    if len(exact) < len(scales):
        return Refusal("ESP-NN rounds twice, and no multiplier gives the results of LiteRT, which rounds once")
    return np.array(exact, np.int64).T


def _blob(name: str, values: Ints | Sequence[int]) -> Blob:
    data = np.asarray(values, np.int64).reshape(-1)
    assert data.size == 0 or INT32.min <= data.min() <= data.max() <= INT32.max
    return Blob(name, data.astype(np.int32), VECTOR)
