"""ADD, SUB and MUL of four elements at a time: `mote_add4_s8.h` and `mote_mul4_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.arithmetic import elementwise, one_step, product_params, product_scale
from mote.compiler.kernels.pack.requantize.add import AddPrecision
from mote.ir.ops.common import int8_range
from mote.ir.ops.elementwise.arithmetic import Add, Mul

FOUR = AddPrecision(16, dropped=8)
"""Fixed-point precision with which `mote_add4_s8.h` adds."""

LEAST_RIGHT_SHIFT = 2
"""Smallest requantization shift of `mote_mul4_s8`: products shifted less overflow its 16-bit halves."""


def _add4(view: View) -> Packed | Refusal:
    return one_step(view, "add4_s8", FOUR, beats=("add", "add_exact", "add_even"))


def _mul4(view: View) -> Packed | Refusal:
    if int8_range(view.the(Mul).activation, view.output) != (-128, 127):
        return Refusal("the fused activation has limits of its own")
    if -product_scale(view)[1] < LEAST_RIGHT_SHIFT:
        return Refusal("products are not shifted far enough to fit half words")
    return elementwise(view, "mul4_s8", lambda order: product_params(view, order), beats=("mul",))


KERNELS = (
    Kernel("add4", (Add,), INT8, _add4, header="add4_s8", isa=DSP),
    Kernel("mul4", (Mul,), INT8, _mul4, header="mul4_s8", isa=DSP),
)
