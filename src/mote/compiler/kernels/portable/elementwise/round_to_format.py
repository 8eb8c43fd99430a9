"""Rounding of float32 numbers to a narrower floating-point format: `mote_narrow_f32.h`."""

from __future__ import annotations

import math

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Call, Entry, Kernel, Needs, Packed, Params, View
from mote.ir.ops.elementwise.round_to_format import RoundToFormat

FLOAT32_DIGITS = 23
FLOAT32_LEAST = -126


def _narrow(view: View) -> Packed:
    op = view.the(RoundToFormat)
    digits, lost = op.digits, math.isnan(op.beyond)
    steps = digits.least > FLOAT32_LEAST
    params: Params = {
        "dropped": FLOAT32_DIGITS - digits.kept,
        "least": math.ldexp(1.0, digits.least) if steps else 0.0,
        "step": math.ldexp(1.0, digits.least - digits.kept) if steps else 0.0,
        "inverse": math.ldexp(1.0, digits.kept - digits.least) if steps else 0.0,
        "most": digits.most,
        "beyond": 0.0 if lost else op.beyond,
        "lost": int(lost),
        "number": int(digits.number),
    }
    return Packed("narrow_f32", params, Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)))


KERNELS = (Kernel("narrow_f32", (RoundToFormat,), FLOAT32, _narrow, costs=OTHER_F32),)
