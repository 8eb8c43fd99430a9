"""The Signal operators of TFLite Micro's audio front end. What they keep, TFLite Micro keeps inside of the operator;
here each gets a state of its own."""

from __future__ import annotations

from math import prod

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.file.schema import TENSOR_TYPES
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.real_fft import radices
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.signal.audio_stateful import (
    COUNTERS,
    Delay,
    FrameCount,
    Framer,
    NoiseEstimate,
    OverlapAdd,
    Ready,
    SpectralSubtraction,
    StackCount,
    Stacker,
)
from mote.ir.ops.signal.audio_stateless import (
    PCAN_TABLE,
    ScaleBits,
    Scaled,
    SignalEnergy,
    SignalFilterBank,
    SignalFilterBankLog,
    SignalFilterBankSquareRoot,
    SignalPcan,
    SignalWindow,
)
from mote.ir.ops.signal.fft import LENGTHS, Irfft, Rfft

MOST = 1 << 24
"""Limit of elements that an option may ask for: more than any tensor has."""


def window(node: Node) -> Op:
    _operands(node, 2, 1)
    x, weights = node.input().shape, node.input(1).shape
    if not x or len(weights) != 1 or x[-1] % weights[0]:
        raise UnsupportedNodeError(f"a window of the shape {weights} does not fit vectors of the shape {x}")
    _same_shape(node)
    return SignalWindow(**node.same(), shift=_bits(node, "shift", 31))


def rfft(node: Node) -> Op:
    length = _transform(node)
    x, y = node.input().shape, node.output().shape
    if not x or x[-1] > length or y != (*x[:-1], length + 2):
        raise UnsupportedNodeError(f"a transform of {length} of an input of {x} does not have the output {y}")
    return Rfft(**node.same(), length=length)


def irfft(node: Node) -> Op:
    length = _transform(node)
    x, y = node.input().shape, node.output().shape
    if not x or x[-1] != length + 2 or y != (*x[:-1], length):
        raise UnsupportedNodeError(f"a transform of {length} of an input of {x} does not have the output {y}")
    return Irfft(**node.same(), length=length)


def fft_auto_scale(node: Node) -> list[Op]:
    _operands(node, 1, 2)
    _vector(node, 1)
    _same_shape(node)
    if node.output(1).shape != ():
        raise UnsupportedNodeError(f"the bits of a scale have the shape {node.output(1).shape}, it must be a scalar")
    scaled, bits = node.outputs
    return [
        ScaleBits(**{**node.same(), "outputs": (bits,), "name": node.output(1).name}),
        Scaled(**{**node.same(), "inputs": (*node.inputs, bits), "outputs": (scaled,)}),
    ]


def energy(node: Node) -> Op:
    _operands(node, 1, 1)
    _vector(node, 1)
    bins = node.input().size // 2
    options = node.custom_options()
    start, end = options.integer("start_index"), options.integer("end_index")
    if node.input().size % 2 or node.output().shape != (bins,) or not 0 <= start <= end <= bins:
        raise UnsupportedNodeError(f"bins {start} to {end} do not fit {node.input().shape} and {node.output().shape}")
    return SignalEnergy(**node.same(), start=start, end=end)


def filter_bank(node: Node) -> Op:
    _operands(node, 6, 1)
    _vector(node, 6)
    channels = node.custom_options().integer("num_channels")
    columns = [node.integers(p, "channels of a filter bank") for p in (3, 4, 5)]
    if channels < 1 or node.output().shape != (channels,) or any(len(c) != channels + 1 for c in columns):
        raise UnsupportedNodeError(f"{channels} channels do not fit its operands")
    energies, weights = node.input().size, min(node.input(1).size, node.input(2).size)
    for start, first, width in zip(*columns, strict=True):
        inside = start >= 0 and first >= 0 and start + width <= energies and first + width <= weights
        if width > 0 and not inside:
            raise UnsupportedNodeError(f"a channel of {width} from {start}, with weights from {first}, reaches outside")
    return SignalFilterBank(**node.same())


def filter_bank_square_root(node: Node) -> Op:
    _operands(node, 2, 1)
    _vector(node, 1)
    _same_shape(node)
    if node.input(1).size != 1:
        raise UnsupportedNodeError(f"the bits of a scale have the shape {node.input(1).shape}, it must be a scalar")
    return SignalFilterBankSquareRoot(**node.same())


def filter_bank_spectral_subtraction(node: Node) -> list[Op]:
    _operands(node, 1, 2)
    _vector(node, 1)
    _same_shape(node)
    shape = node.input().shape
    options = node.custom_options()
    if (options.integer("num_channels"),) != shape or node.output(1).shape != shape:
        raise UnsupportedNodeError(f"{options.integer('num_channels')} channels do not fit {shape}")
    bits, smoothing = _bits(node, "spectral_subtraction_bits", 63), _bits(node, "smoothing_bits", 31)
    before, after = node.state("noise", shape, DType.UINT32, node.outputs[1])
    estimate = NoiseEstimate(
        **{**node.same(), "inputs": (*node.inputs, before), "outputs": (after,), "name": node.output(1).name},
        shares=(options.integer("smoothing"), options.integer("alternate_smoothing")),
        rests=(options.integer("one_minus_smoothing"), options.integer("alternate_one_minus_smoothing")),
        smoothing_bits=smoothing,
        bits=bits,
        clamping=options.flag("clamping"),
    )
    least = options.integer("min_signal_remaining")
    changes = {"inputs": (*node.inputs, after), "outputs": node.outputs[:1]}
    subtraction = SpectralSubtraction(**{**node.same(), **changes}, least=least, smoothing_bits=smoothing, bits=bits)
    return [estimate, subtraction]


def filter_bank_log(node: Node) -> Op:
    _operands(node, 1, 1)
    _vector(node, 1)
    _same_shape(node)
    scale = node.custom_options().integer("output_scale")
    return SignalFilterBankLog(**node.same(), scale=scale, bits=_bits(node, "input_correction_bits", 31))


def pcan(node: Node) -> Op:
    _operands(node, 3, 1)
    _vector(node, 3)
    _same_shape(node)
    if node.input(1).shape != node.input().shape or node.input(2).size < PCAN_TABLE:
        raise UnsupportedNodeError(
            f"noise of the shape {node.input(1).shape} and gains of {node.input(2).shape} do not fit"
            f" {node.input().shape}: a table has {PCAN_TABLE} elements"
        )
    return SignalPcan(**node.same(), shift=_bits(node, "snr_shift", 63))


def framer(node: Node) -> list[Op]:
    _operands(node, 1, 2)
    options, x = node.custom_options(), node.input().shape
    size, step, filled = options.integer("frame_size"), options.integer("frame_step"), options.flag("prefill")
    if not (1 <= size < MOST and 1 <= step < MOST) or not x or x[-1] % step or (filled and size < step):
        raise UnsupportedNodeError(f"frames of {size} samples every {step} do not fit a signal of the shape {x}")
    frames = x[-1] // step
    _wanted(node, (*x[:-1], frames, size))
    steps = -(-size // step)
    kept = size - step if filled else (steps - 1) * step
    missing = 0 if filled else steps - 1
    before, after = node.state("samples", (prod(x[:-1]), max(kept, 1)), DType.INT16)
    heard, counted = node.state("steps", (1,), DType.INT32)
    count = FrameCount(**{**node.same(), "inputs": (heard,), "outputs": (counted,)}, more=frames, most=missing + frames)
    fields = {**node.same(), "inputs": (*node.inputs, before, counted), "outputs": (node.outputs[0], after)}
    framed = Framer(**fields, size=size, step=step, kept=kept, missing=missing)
    return [count, framed, _ready(node, counted, 0, missing + frames)]


def delay(node: Node) -> Op:
    _operands(node, 1, 1)
    _same_shape(node)
    x, length = node.input().shape, node.custom_options().integer("delay_length")
    if not x or not 0 <= length < MOST:
        raise UnsupportedNodeError(f"a delay of {length} does not fit a signal of the shape {x}")
    if length == 0:
        return Reshape(**node.same(), shape=x)
    before, after = node.state("samples", (prod(x[:-1]), length), DType.INT16)
    return Delay(**{**node.same(), "inputs": (*node.inputs, before), "outputs": (*node.outputs, after)})


def overlap_add(node: Node) -> Op:
    _operands(node, 1, 1)
    x, step = node.input().shape, node.custom_options().integer("frame_step")
    if len(x) < 2 or not 1 <= step <= x[-1]:
        raise UnsupportedNodeError(f"frames of the shape {x} every {step} samples do not overlap")
    _wanted(node, (*x[:-2], x[-2] * step))
    if step == x[-1]:
        return Reshape(**node.same(), shape=node.output().shape)
    before, after = node.state("sums", (prod(x[:-2]), x[-1] - step), node.input().dtype)
    return OverlapAdd(**{**node.same(), "inputs": (*node.inputs, before), "outputs": (*node.outputs, after)}, step=step)


def stacker(node: Node) -> list[Op]:
    _operands(node, 1, 2)
    _vector(node, 1)
    options, size = node.custom_options(), node.input().size
    left, right = options.integer("stacker_left_context"), options.integer("stacker_right_context")
    channels, step = options.integer("num_channels"), options.integer("stacker_step")
    frames = left + 1 + right
    if channels != size or not (0 <= left < MOST and 0 <= right < MOST) or not 1 <= step <= frames:
        raise UnsupportedNodeError(
            f"stacks of {left} and {right} frames of {channels} around one, every {step}, do not fit {size} channels"
        )
    _wanted(node, (frames * size,))
    before, after = node.state("frames", (frames + step - 1, size), DType.INT16)
    counters, counted = node.state("counters", (COUNTERS,), DType.INT32)
    count = StackCount(
        **{**node.same(), "inputs": (counters,), "outputs": (counted,)}, left=left, frames=frames, step=step
    )
    fields = {**node.same(), "inputs": (*node.inputs, before, counted), "outputs": (node.outputs[0], after)}
    return [count, Stacker(**fields, left=left, right=right, step=step), _ready(node, counted, 1, step)]


def _ready(node: Node, counters: int, at: int, least: int) -> Op:
    if node.output(1).shape != ():
        raise UnsupportedNodeError(f"output 1 has the shape {node.output(1).shape}, it must be a boolean scalar")
    changes = {"inputs": (counters,), "outputs": node.outputs[1:], "name": node.output(1).name}
    return Ready(**{**node.same(), **changes}, at=at, least=least)


def _transform(node: Node) -> int:
    """The length of an FFT that TFLite Micro supports."""
    _operands(node, 1, 1)
    options = node.custom_options()
    length, kind = options.integer("fft_length"), options.integer("T", TENSOR_TYPES[node.input().dtype])
    least, most = LENGTHS
    if not least <= length <= most or length % 2 or not radices(length // 2):
        raise UnsupportedNodeError(
            f"a transform of {length} is not supported (only {least} to {most}: 2 times powers of 2, 3 and 5)"
        )
    if kind != TENSOR_TYPES[node.input().dtype]:
        raise UnsupportedNodeError(f"the option T has the type {kind}, the input is {node.input().dtype}")
    return length


def _operands(node: Node, inputs: int, outputs: int) -> None:
    if len(node.inputs) != inputs or len(node.outputs) != outputs or -1 in node.inputs:
        raise UnsupportedNodeError(
            f"has {len(node.inputs)} inputs and {len(node.outputs)} outputs, which its operator does not take"
        )


def _vector(node: Node, inputs: int) -> None:
    for t in (node.input(p) for p in range(inputs)):
        if len(t.shape) != 1:
            raise UnsupportedNodeError(f"tensor '{t.name}' has the shape {t.shape}, it should have one axis")


def _same_shape(node: Node) -> None:
    _wanted(node, node.input().shape)


def _wanted(node: Node, shape: Shape) -> None:
    if node.output().shape != shape:
        raise UnsupportedNodeError(f"the output has the shape {node.output().shape}, which should be {shape}")


def _bits(node: Node, name: str, most: int) -> int:
    bits = node.custom_options().integer(name)
    if not 0 <= bits <= most:
        raise UnsupportedNodeError(f"the option {name} is {bits}, it is from 0 to {most}")
    return bits
