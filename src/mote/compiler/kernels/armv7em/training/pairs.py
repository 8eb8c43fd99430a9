"""Update steps and input gradients of trainable int8 convolutions that skip zero terms of the output gradient:
`mote_conv_step_pairs_s8.h` and `mote_conv_input_gradient_pairs_s8.h`."""

from __future__ import annotations

from collections.abc import Callable

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import INT8, SIGNAL, Entry, Kernel, Needs, Packed, Params, Refusal, View
from mote.compiler.kernels.portable.training.integer_gradients import conv_input_gradient
from mote.compiler.kernels.portable.training.integer_steps import span, weights_step, with_momentum
from mote.ir.ops.training.integer.input_gradients import IntegerConvInputGradient
from mote.ir.ops.training.integer.steps import ConvStep, DepthwiseStep

VECTOR = 16
"""Bytes of a vector of eight channels."""
TERM = 8
"""Bytes of a stored nonzero term (gradient element and its position)."""
MOST_TERMS = 128
"""Most nonzero gradient terms that are accumulated at once."""
BLOCKS = (64, 32, 16, 8)
"""Possible numbers of channels to process at once: larger blocks traverse the gradient less often."""
SUMS = 32
"""Bytes of the sums of eight channels."""
ROOMY = 21504
"""Limit of scratch bytes for processing more channels at once."""


def _conv_step(view: View) -> Packed | Refusal:
    op, g = view.the(ConvStep), view.graph
    if isinstance(op, DepthwiseStep):
        return Refusal("channels do not mix")
    (_, rows, columns, depth), _ = op.images(g)
    taps = op.vertical.kernel * op.horizontal.kernel
    image = span(op.vertical, rows) * span(op.horizontal, columns)
    block, scratch = _block(depth, SUMS * taps + VECTOR * image, op.positions(g))
    return with_momentum(view, "conv", "pairs_s8", {"of": weights_step(view), "block": block}, scratch)


def _conv_input_gradient(view: View) -> Packed:
    op, g = view.the(IntegerConvInputGradient), view.graph
    rows = (op.vertical.kernel - 1) * op.vertical.dilation + 1
    plane = op.terms_of(g) * VECTOR + rows * op.size[1] * SUMS
    block, scratch = _block(op.channels(g), plane, op.given_channels(g))
    params: Params = {"layer": conv_input_gradient(view).params, "block": block}
    return Packed("conv_input_gradient_pairs_s8", params, Entry(operands=(0, 1)), Needs(scratch))


def _block(channels: int, plane: int, terms: int) -> tuple[int, int]:
    """Number of channels to process at once, and scratch bytes. `plane`: bytes for eight channels; `terms`: gradient
    terms."""
    held = -(-min(terms, MOST_TERMS) // 4) * 4 * TERM
    rooms = {block: held + block // 8 * plane for block in BLOCKS if block < channels + 8}
    block = next((block for block, room in rooms.items() if room <= ROOMY), BLOCKS[-1])
    return block, rooms[block]


def _work(terms: Callable[[View], int], result: float) -> Callable[[View], float]:
    """Callback that estimates cycles if half of the gradient's terms are zero. `terms`: number of terms of a sum of
    eight channels; `result`: cycles for each element of the result."""

    def work(view: View) -> float:
        macs = view.op.macs(view.graph)
        return PRODUCT * macs + SUM * macs / (8 * terms(view)) + result * view.output.size

    return work


def _step_terms(view: View) -> int:
    return view.the(ConvStep).positions(view.graph)


def _gradient_terms(view: View) -> int:
    return view.the(IntegerConvInputGradient).given_channels(view.graph)


PRODUCT, SUM = 0.8, 100
"""Estimated cycles of a product, and the overhead of a sum of eight channels."""
STEP = "conv_step_pairs_s8"
KERNELS = (
    Kernel(STEP, (ConvStep,), INT8, _conv_step, STEP, isa=DSP, costs=SIGNAL, work=_work(_step_terms, 20)),
    Kernel(
        "conv_input_gradient_pairs_s8",
        (IntegerConvInputGradient,),
        INT8,
        _conv_input_gradient,
        isa=DSP,
        costs=SIGNAL,
        work=_work(_gradient_terms, 20),
    ),
)
