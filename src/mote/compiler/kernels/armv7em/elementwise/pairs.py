"""MAXIMUM and MINIMUM of four or two elements at a time, ADD, SUB and MUL of int16 by two: `mote_pairs_simd.h`."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import Instance, Kernel, Packed, Price, Refusal, Signature, View
from mote.compiler.kernels.pack.elements import SUFFIXES
from mote.compiler.kernels.portable.elementwise import binary
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import Add

RUNS = {"maximum": "maxima", "minimum": "minima", "add_s16": "sums", "mul_s16": "products"}
"""For each portable kernel: the C functions, `mote_<run>_<type>`, that compute words of its elements."""
EXTREMES = ("maxima", "minima")
TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16})


def _halved(view: View) -> bool:
    """Whether it is a sum of tensors with equal scales, which takes fewer steps."""
    op, g = view.op, view.graph
    return isinstance(op, Add) and op.input(g).scale == op.input(g, 1).scale


def _simd(kernel: Kernel) -> Kernel:
    """The kernel with SIMD instructions in its loops; one whose operand is repeated has a cost of its own."""
    run = RUNS[kernel.name]

    def pack(view: View) -> Packed | Refusal:
        packed = kernel.pack(view)
        if isinstance(packed, Refusal):
            return packed
        ((name, *arguments),) = (i.arguments for i in packed.instances)
        if packed.instances[0].macro != "MOTE_PAIRS" or "mote_shifted_sum" in arguments:
            return Refusal("scales that are powers of two are shifted")
        dtype = view.input.dtype
        of = "extremes" if run in EXTREMES else "halved_sums" if _halved(view) else run
        of = f"{of}_simd_{8 * dtype.itemsize}"
        made = Instance("MOTE_PAIRS_SIMD", (f"simd_{name}", *arguments, f"mote_{run}_{SUFFIXES[dtype]}"))
        costs = of if packed.name == name else f"{of}_rows"
        return replace(
            packed, name=f"simd_{packed.name}", instances=(made,), price=Price(costs=costs), beats=(kernel.name,)
        )

    types = Signature(kernel.types.inputs & TYPES, kernel.types.outputs & TYPES)
    costs = "extremes_simd_8" if run in EXTREMES else f"{run}_simd_16"
    name = f"{kernel.name}_simd"
    return replace(kernel, name=name, types=types, pack=pack, header="pairs_simd", isa=DSP, costs=costs)


KERNELS = tuple(_simd(kernel) for kernel in binary.KERNELS if kernel.name in RUNS)
