"""Custom operators, which call C functions registered by users."""

from __future__ import annotations

from mote.compiler.kernels.contract import ANY_TYPE, OTHER, Call, Entry, Kernel, Needs, Packed, View, aligned
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.rows import row_count
from mote.ir.ops.control.custom import Custom


def _own(view: View) -> Packed:
    op = view.the(Custom)
    use, definition = op.use(view.graph), op.definition
    same_size = definition.elementwise and use.inputs[0] is not None and use.inputs[0].nbytes == use.output.nbytes
    return Packed(
        definition.function,
        {**definition.parameters(use)} or {"unused": 0},
        Entry(
            Call.FLAT if definition.elementwise or definition.by_rows else Call.WHOLE,
            row_count(use.output.shape) if definition.by_rows else use.output.size,
            operands=tuple(p for p, i in enumerate(op.inputs) if i != ABSENT),
        ),
        Needs(
            scratch=None if definition.scratch is None else aligned(definition.scratch(use)),
            in_place=(0,) if same_size else (),
        ),
    )


KERNELS = (Kernel("custom", (Custom,), ANY_TYPE, _own, costs=OTHER),)
