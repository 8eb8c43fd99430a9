"""float32 unary functions that LiteRT does not have: `mote_angles_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Call, Entry, Kernel, Needs, Packed, View
from mote.ir.ops.elementwise import float_math

FUNCTIONS: tuple[type[float_math.DoublePrecision], ...] = (
    *(float_math.Tan, float_math.Asin, float_math.Acos, float_math.Atan),
    *(float_math.Sinh, float_math.Cosh, float_math.Asinh, float_math.Acosh, float_math.Atanh),
    *(float_math.Log1p, float_math.Erf),
)


def _function(op: type[float_math.DoublePrecision]) -> Kernel:
    """Catalogue entry of a unary function, named after the operator."""
    name = f"{op.kind.lower()}_f32"

    def pack(view: View) -> Packed:
        return Packed(name, {"unused": 0}, Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)))

    return Kernel(name, (op,), FLOAT32, pack, header="angles_f32", costs=OTHER_F32)


KERNELS = tuple(map(_function, FUNCTIONS))
