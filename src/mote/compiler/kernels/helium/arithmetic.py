"""Vectorized ADD and SUB: `mote_add_s8.h`, whose inner loop uses Helium where the core has it."""

from __future__ import annotations

from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.pack.arithmetic import one_step
from mote.compiler.kernels.pack.requantize.add import ONE_STEP
from mote.ir.ops.elementwise.arithmetic import Add


def _add(view: View) -> Packed | Refusal:
    return one_step(view, "add_s8", ONE_STEP, beats=("add4", "add", "add_exact", "add_even"))


KERNELS = (Kernel("add_helium", (Add,), INT8, _add, header="add_s8", isa=HELIUM, costs="add"),)
