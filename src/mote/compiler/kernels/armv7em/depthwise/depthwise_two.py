"""Depthwise convolutions with 3x3 windows over planar rows, two output rows at once: instances of
`mote_depthwise_two_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.kernels.armv7em.depthwise.depthwise3 import Blocks, parts3
from mote.compiler.kernels.armv7em.depthwise.depthwise_two_assembly import TWO, Inputs, Outputs, Shape, code
from mote.compiler.kernels.armv7em.depthwise.depthwise_wide_assembly import Block
from mote.compiler.kernels.armv7em.depthwise.records import Channels, Weights, form_of
from mote.compiler.kernels.assembly import MOST_OFFSET
from mote.compiler.kernels.contract import Instance, Params, View
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

ROWS = 2
"""Output rows that are computed at once."""


@dataclass(frozen=True)
class Two:
    """How two output rows are computed at once."""

    shape: Shape
    """Decomposition of an output row into blocks of outputs."""
    line: int
    """Bytes of an input row of one channel, with its padding."""
    channels: int
    name: str
    """Identifies all that the code depends on, apart from weights and constants."""


def two_rows(view: View, blocks: Blocks) -> Two | None:
    """How to compute two output rows at once. None: the shape is not supported, the kernel for single rows is faster,
    no two output rows have windows entirely inside the image, or there are several images, whose rows are not at a
    constant distance."""
    op, x, y = view.the(DepthwiseConv2D), view.input.shape, view.output.shape
    h, v = op.horizontal, op.vertical
    inside = [first >= 0 and first + v.stride + 3 <= x[1] for first in (v.stride * i - v.before for i in range(y[1]))]
    if y[0] != 1 or v.dilation != 1 or v.stride != h.stride or not any(inside) or 4 * y[3] > MOST_OFFSET:
        return None
    fours, rest = divmod(y[2], 4)
    if (fours, rest) == (1, 1):  # one block of five is faster
        return None
    end = h.before + x[2] - 4 * h.stride * fours
    last = Block(3, h.stride, rest, 0, range(end)) if rest else None
    name = f"s{h.stride}_{y[2]}x{y[3]}_{blocks.line}" + (f"_{end}" if last else "")
    return Two(Shape(fours, last, h.stride), blocks.line, y[3], name)


def two_parts(
    view: View, two: Two, blocks: Blocks, channels: Channels, weights: Weights
) -> tuple[str, tuple[Instance, ...], Params]:
    """The kernel's name, its macro instances, and its parameters."""
    one, instances, params = parts3(view, blocks, channels, weights)
    row, count, stride = two.channels * two.line, two.channels, two.shape.stride
    outputs = Outputs("strb", count, 4 * count, view.output.shape[2] * count, 1)
    end = channels.form, channels.requantization.shift
    how = form_of(view, weights)
    name = f"depthwise_two_{how}_{two.name}_{end[0]}_{end[1]}"
    near = code(two.shape, Inputs(TWO[stride], two.line, row), outputs, how, *end)
    scattered = Outputs(outputs.store, outputs.pixel, outputs.block, None, outputs.channel)
    far = code(two.shape, Inputs(TWO[stride], two.line, None), scattered, how, *end)
    functions = (
        Instance("MOTE_TWO_CODE", (f"{name}_near",), tuple(near)),
        Instance("MOTE_TWO_CODE", (f"{name}_anywhere",), tuple(far)),
    )
    facts = stride, view.output.shape[2], count, two.line
    macro = "MOTE_TWO_APART" if how is Weights.B8 else "MOTE_TWO"
    return name, (*instances, *functions, Instance(macro, (name, one), facts=facts)), params
