"""Layer normalization and similar chains along the last axis, computed line by line: `mote_lines_s8.h` and
`mote_lines_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.lines import lines_kernel
from mote.compiler.kernels.portable.elementwise import arithmetic, binary, fused_elementwise, unary
from mote.compiler.kernels.portable.reductions import line_steps, mean, reduce
from mote.ir.ops.reductions.fused_last_axis import Lines

STEPS = (
    *line_steps.KERNELS,
    *arithmetic.KERNELS,
    *mean.KERNELS,
    *reduce.KERNELS,
    *unary.KERNELS,
    *fused_elementwise.KERNELS,
    *binary.KERNELS,
)


def _lines(view: View) -> Packed | Refusal:
    return lines_kernel(view, STEPS)


KERNELS = (
    Kernel("lines", (Lines,), INT8, _lines, header="lines_s8"),
    Kernel("lines_f32", (Lines,), FLOAT32, _lines, header="lines_f32"),
)
