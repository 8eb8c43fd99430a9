"""Update steps and input gradients of trainable int8 convolutions that skip zero terms of the output gradient:
`mote_conv_step_terms_s8.h` and `mote_conv_input_gradient_terms_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import INT8, SIGNAL, Entry, Kernel, Needs, Packed, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.portable.training.integer_gradients import conv_input_gradient
from mote.compiler.kernels.portable.training.integer_steps import span, weights_step, with_momentum
from mote.ir.ops.training.integer.input_gradients import IntegerConvInputGradient
from mote.ir.ops.training.integer.steps import ConvStep, DepthwiseStep

FOURS = Refusal("channels of the image are no multiple of four")
TERM, SUM = 8, 4
"""Bytes of a stored nonzero term (gradient element and its position), and of a sum."""
MOST_TERMS = 128
"""Most nonzero gradient terms that are accumulated at once."""
BLOCKS = (256, 128, 64, 32, 16, 8, 4)
"""Possible numbers of channels to process at once: larger blocks traverse the gradient less often."""
ROOMY = 21504
"""Limit of scratch bytes for processing more channels at once."""
PRODUCT, CALL, WEIGHT = 0.35, 40, 6
"""Estimated cycles: of a product if half of the terms are zero, of the sums of sixteen channels at one window element,
and of a weight's update."""


def _conv_step(view: View) -> Packed | Refusal:
    op, g = view.the(ConvStep), view.graph
    if isinstance(op, DepthwiseStep):
        return Refusal("channels do not mix")
    (_, rows, columns, depth), _ = op.images(g)
    if depth % 4:
        return FOURS
    taps, image = op.vertical.kernel * op.horizontal.kernel, span(op.vertical, rows) * span(op.horizontal, columns)
    held = TERM * min(op.positions(g), MOST_TERMS)
    rooms = {block: held + block * (SUM * taps + image) for block in dict.fromkeys(min(depth, b) for b in BLOCKS)}
    block = next((block for block, room in rooms.items() if room <= ROOMY), min(rooms))
    return with_momentum(view, "conv", "terms_s8", {"of": weights_step(view), "block": block}, rooms[block])


def _conv_input_gradient(view: View) -> Packed | Refusal:
    op, g = view.the(IntegerConvInputGradient), view.graph
    if op.channels(g) % 4:
        return FOURS
    rows = (op.vertical.kernel - 1) * op.vertical.dilation + 1
    scratch = SUM * rows * op.size[1] * op.channels(g) + TERM * op.given_channels(g)
    params = conv_input_gradient(view).params
    return Packed("conv_input_gradient_terms_s8", params, Entry(operands=(0, 1)), Needs(scratch))


def _step_work(view: View) -> float:
    op, macs = view.the(ConvStep), view.op.macs(view.graph)
    return PRODUCT * macs + CALL * macs / (16 * op.positions(view.graph)) + WEIGHT * view.output.size


def _gradient_work(view: View) -> float:
    op, macs = view.the(IntegerConvInputGradient), view.op.macs(view.graph)
    return PRODUCT * macs + CALL * macs / (16 * op.given_channels(view.graph)) + 3 * view.output.size


STEP, GRADIENT = "conv_step_terms_s8", "conv_input_gradient_terms_s8"
KERNELS = (
    Kernel(STEP, (ConvStep,), INT8, _conv_step, STEP, isa=HELIUM, costs=SIGNAL, work=_step_work),
    Kernel(
        GRADIENT,
        (IntegerConvInputGradient,),
        INT8,
        _conv_input_gradient,
        GRADIENT,
        isa=HELIUM,
        costs=SIGNAL,
        work=_gradient_work,
    ),
)
