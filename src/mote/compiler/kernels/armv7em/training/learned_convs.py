"""Int8 convolutions with trainable weights and biases, four channels of two pixels at a time:
`mote_learned_conv4x2_s8.h`."""

from __future__ import annotations

from math import prod

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import INT8, SIGNAL, Entry, Kernel, Needs, Packed, Params, Refusal, View
from mote.compiler.kernels.portable.training.integer_steps import axis_params
from mote.compiler.kernels.portable.windows.learned_layers import OPERANDS, learned_layer
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.windows.conv import Conv2D

INPUTS = 8
"""Input channels that an iteration of the inner loop consumes."""
ROOMY = 24576
"""Most scratch memory in bytes that the kernel may use; layers that need more are refused."""


def _conv(view: View) -> Packed | Refusal:
    op, (batch, height, width, inputs) = view.the(Conv2D), view.input.shape
    depth = prod(op.input(view.graph, WEIGHTS).shape[1:])
    layer = learned_layer(view, depth)
    if isinstance(layer, Refusal):
        return layer
    if batch > 1 or view.output.shape[1] == 1:
        return Refusal("it is for images of two rows or more, one at a time")
    if inputs % INPUTS or (op.vertical.dilation, op.horizontal.dilation) != (1, 1):
        return Refusal(f"it is for {INPUTS} channels and multiples, without dilation")
    scratch = _scratch(op, (height, width), inputs, depth)
    if scratch > ROOMY:
        return Refusal(f"it needs {scratch:,} bytes of working memory (at most {ROOMY:,})")
    axes = {"rows": axis_params(op.vertical, height), "cols": axis_params(op.horizontal, width)}
    params: Params = {**axes, "inputs": inputs, "layer": layer}
    return Packed("learned_conv4x2_s8", params, Entry(operands=OPERANDS), Needs(scratch))


def _scratch(op: Conv2D, size: tuple[int, int], inputs: int, depth: int) -> int:
    """Scratch bytes: the widened image, and the widened weights of four channels."""
    rows, columns = op.vertical.size(size[0]), op.horizontal.size(size[1])
    lines = (rows - 1) // 2 * op.vertical.stride + op.vertical.kernel
    return 4 * lines * ((columns - 1) * op.horizontal.stride + op.horizontal.kernel) * inputs + 8 * depth


def _work(view: View) -> float:
    """Estimated cycles: of the products, the results, and widening the weights."""
    op = view.op
    return 1.15 * op.macs(view.graph) + 30 * view.output.size + 4 * op.input(view.graph, WEIGHTS).size


KERNELS = (
    Kernel(
        "learned_conv4x2",
        (Conv2D,),
        INT8,
        _conv,
        isa=DSP,
        costs=SIGNAL,
        work=_work,
        learned=frozenset({WEIGHTS, BIAS}),
    ),
)
