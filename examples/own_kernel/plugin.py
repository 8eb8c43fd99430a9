"""A kernel of one's own for MAX_POOL_2D.

mote compile MODEL --plugin examples/own_kernel/plugin.py --kernel LAYER=max_pairs
"""

from pathlib import Path

import mote
from mote.compiler.kernels.contract import INT8, Call, Entry, Kernel, Packed, Price, Refusal
from mote.ir.ops.common import Axis, int8_range
from mote.ir.ops.windows.pool import MaxPool

INSTRUCTIONS = 14
"""What an output takes, as measured with `mote run`: the planner compares that with its own kernels."""


def pack(view):
    """The kernel bound to one layer, or why it does not fit: `mote plan --layer NAME` prints that."""
    op, (_, height, width, channels) = view.op, view.input.shape
    if (op.vertical, op.horizontal) != (Axis(2, stride=2), Axis(2, stride=2)) or height % 2 or width % 2:
        return Refusal("windows are not 2x2 pixels side by side")
    if int8_range(op.activation, view.output) != (-128, 127):
        return Refusal("it has a fused activation")
    return Packed(
        "max_pairs_s8",
        {"width": width // 2, "channels": channels},
        Entry(Call.ROWS, row="max_pairs_s8_row", taps=2),
        price=Price(cost=INSTRUCTIONS * view.output.size),
    )


mote.register_kernel(
    Kernel("max_pairs", (MaxPool,), INT8, pack), header=Path(__file__).with_name("mote_max_pairs_s8.h")
)
