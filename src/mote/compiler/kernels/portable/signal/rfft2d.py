"""2D Fourier transforms and parts of complex numbers: `mote_rfft2d.h`."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    View,
    signature,
)
from mote.ir.graph.types import DType
from mote.ir.ops.features.real_fft import radices
from mote.ir.ops.signal.fft import twiddles
from mote.ir.ops.signal.rfft2d import ComplexAbs, Imag, RealPart, Rfft2d

OF_COMPLEX = signature(DType.COMPLEX64, DType.FLOAT32)


def _rfft2d(view: View) -> Packed:
    op = view.the(Rfft2d)
    *images, rows, columns = view.input.shape
    params: Params = {
        "in_rows": rows,
        "in_columns": columns,
        "rows": op.height,
        "used": min(rows, op.height),
        "columns": op.width // 2 + 1,
        "row": _transform(2 * (op.width // 2), min(columns, op.width)),
        "column": _transform(2 * op.height, 0),
    }
    return Packed(
        "rfft2d",
        params,
        Entry(Call.FLAT, prod(images)),
        Needs(scratch=8 * op.height if op.height > 1 else 0),
        instances=(Instance("MOTE_FFT", ("f32", "float")), Instance("MOTE_RFFT2D", ("rfft2d",))),
    )


def _transform(length: int, samples: int) -> Params:
    """FFT parameters for a real signal of `samples` samples, or if `samples` is 0, for a complex signal of half the
    length."""
    stages = radices(length // 2)
    roots, last = (t.astype(np.float32) for t in twiddles(length, False))
    return {
        "half": length // 2,
        "stages": len(stages),
        "inverse": 0,
        "samples": samples,
        "radix": np.array(stages or [1], np.int32),
        "roots": roots,
        "last": last if last.size and samples else np.zeros((1, 2), np.float32),
        "scale": 1.0,
    }


def _of_complex(view: View) -> Packed:
    return Packed(view.op.kind.lower(), {"unused": 0}, Entry(Call.FLAT, view.output.size))


KERNELS = (
    Kernel("rfft2d", (Rfft2d,), signature(DType.FLOAT32, DType.COMPLEX64), _rfft2d, "rfft2d", costs=OTHER_F32),
    *(
        Kernel(kind.kind.lower(), (kind,), OF_COMPLEX, _of_complex, "rfft2d", costs=OTHER_F32)
        for kind in (ComplexAbs, RealPart, Imag)
    ),
)
