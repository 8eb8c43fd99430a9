"""Functions of one float32 tensor beside those that LiteRT has: `mote_angles_f32.h`."""

from __future__ import annotations

from mote.kernels.contract import FLOAT32, OTHER_F32, Call, Kernel, Packed, View
from mote.ops import angles

FUNCTIONS: tuple[type[angles.DoublePrecision], ...] = (
    *(angles.Tan, angles.Asin, angles.Acos, angles.Atan),
    *(angles.Sinh, angles.Cosh, angles.Asinh, angles.Acosh, angles.Atanh),
    *(angles.Log1p, angles.Erf),
)


def _function(op: type[angles.DoublePrecision]) -> Kernel:
    """The kernel is named as the operator."""
    name = f"{op.kind.lower()}_f32"

    def pack(view: View) -> Packed:
        return Packed(name, {"unused": 0}, Call.FLAT, view.output.size, in_place=(0,))

    return Kernel(name, (op,), FLOAT32, pack, header="angles_f32", costs=OTHER_F32)


KERNELS = tuple(map(_function, FUNCTIONS))
