"""Operators over lines of int8 tensors, with sums and products of four elements at a time: `mote_lines4_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.armv7em.elementwise import arithmetic
from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.lines import lines_kernel
from mote.compiler.kernels.portable.reductions import line_steps
from mote.compiler.kernels.portable.reductions.fused_last_axis import STEPS
from mote.ir.ops.reductions.fused_last_axis import Lines


def _lines(view: View) -> Packed | Refusal:
    return lines_kernel(view, (*line_steps.KERNELS, *arithmetic.KERNELS, *STEPS), beats=("lines",))


KERNELS = (Kernel("lines4", (Lines,), INT8, _lines, header="lines4_s8", isa=DSP, costs="lines"),)
