"""Vectorized MAXIMUM and MINIMUM, ADD, SUB and MUL of int16, and SQUARED_DIFFERENCE: `mote_pairs_vectors.h`."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.contract import Instance, Kernel, Packed, Price, Refusal, Signature, View
from mote.compiler.kernels.helium.common import HELIUM, HELIUM_FLOAT
from mote.compiler.kernels.pack.elements import SUFFIXES
from mote.compiler.kernels.portable.elementwise import binary
from mote.ir.graph.types import DType

RUNS = {
    "maximum": "maxima",
    "minimum": "minima",
    "maximum_f32": "maxima",
    "minimum_f32": "minima",
    "add_s16": "sums",
    "mul_s16": "products",
    "squared_difference": "squares",
}
"""For each portable kernel: the C functions, `mote_lanes_<run>_<type>`, that compute a run of its elements."""
EXTREMES = ("maxima", "minima")
TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.FLOAT32})


def _vectorized(kernel: Kernel) -> Kernel:
    """The kernel with vectors in its loops; one whose operand is repeated has a cost of its own."""
    run = RUNS[kernel.name]

    def pack(view: View) -> Packed | Refusal:
        packed = kernel.pack(view)
        if isinstance(packed, Refusal):
            return packed
        ((macro, (name, *arguments)),) = ((i.macro, i.arguments) for i in packed.instances)
        if macro != "MOTE_PAIRS" or "mote_shifted_sum" in arguments:
            return Refusal("scales that are powers of two are shifted")
        dtype = view.input.dtype
        of = f"extremes_{8 * dtype.itemsize}" if run in EXTREMES else run
        made = Instance("MOTE_PAIRS_VECTORS", (f"vectors_{name}", *arguments, f"mote_lanes_{run}_{SUFFIXES[dtype]}"))
        costs = of if packed.name == name else f"{of}_rows"
        return replace(
            packed, name=f"vectors_{packed.name}", instances=(made,), price=Price(costs=costs), beats=(kernel.name,)
        )

    types = Signature(kernel.types.inputs & TYPES, kernel.types.outputs & TYPES)
    isa = HELIUM_FLOAT if DType.FLOAT32 in types.inputs else HELIUM
    costs = "extremes_32" if kernel.name.endswith("_f32") else "extremes_8" if run in EXTREMES else run
    name = f"{kernel.name}_helium"
    return replace(kernel, name=name, types=types, pack=pack, header="pairs_vectors", isa=isa, costs=costs)


KERNELS = tuple(_vectorized(kernel) for kernel in binary.KERNELS if kernel.name in RUNS)
