"""TFLite Micro's audio front end (micro frontend): `mote_micro_features.h`."""

from __future__ import annotations

from math import isqrt

import numpy as np

from mote.compiler.kernels.contract import SIGNAL, Call, Entry, Kernel, Needs, Packed, Params, View, signature, units_of
from mote.compiler.kernels.pack.params import rows_params
from mote.compiler.kernels.portable.features.work import each
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.features.micro import MicroFeatures, MicroSpectrum, window
from mote.ir.ops.features.real_fft import radices
from mote.ir.ops.signal.audio_stateless import PCAN_TABLE, log_table
from mote.ir.ops.signal.fft import digit_order, fixed_twiddles

SUFFIXES = {DType.INT16: "s16", DType.INT32: "s32"}
ROOTS = np.array([isqrt(max(high, 64) << 8) for high in range(256)], np.uint8)
"""Square roots of 16-bit numbers by their high byte, exact or one too small; kernels normalize numbers so that the high
byte is at least 64."""
GAINS = 129
"""Length of the gain table, padded to every index that five bits can select."""


def _pairs(first: Ints, second: Ints) -> Ints:
    return (first.astype(np.int64) & 0xFFFF | (second.astype(np.int64) & 0xFFFF) << np.int64(16)).astype(np.uint32)


def _turns(half: int, roots: Ints) -> Ints:
    """The twiddle factors of all FFT stages but the first, three per butterfly, in the order in which the kernel reads
    them."""
    words, turns = _pairs(roots[:, 0], roots[:, 1]), []
    size = radices(half)[-1]
    while size < half:
        step = half // (4 * size)
        turns += [words[u * step * k] for u in range(1, size) for k in (1, 2, 3)]
        size *= 4
    return np.array(turns, np.uint32)


def _spectrum(view: View) -> Packed:
    op = view.the(MicroSpectrum)
    unit = view.input.shape[2]
    half, taps, bank = op.length // 2, op.frame // unit, op.bank()
    roots, last = fixed_twiddles(op.length, False, 16)
    shape = window(op.frame)
    params: Params = {
        "rows": rows_params(Axis(taps, op.hop // unit), view.input.shape, view.output.shape),
        "pairs": unit // 2,
        "half": half,
        "channels": op.channels,
        "window": _pairs(shape[::2], shape[1::2]),
        "place": np.argsort(digit_order(half)).astype(np.int16),
        "roots": _turns(half, roots),
        "last": _pairs(last[:, 0], last[:, 1]),
        "edges": bank.edges.astype(np.int16),
        "weights": _pairs(bank.weights, bank.rests),
        "root": ROOTS,
    }
    return Packed(
        "micro_spectrum",
        params,
        Entry(Call.ROWS, row="micro_spectrum_row", taps=taps),
        Needs(scratch=4 * half),
    )


def _features(view: View) -> Packed:
    op = view.the(MicroFeatures)
    even, odd = op.shares
    params: Params = {
        "channels": view.input.shape[2],
        "smoothing_bits": op.smoothing_bits,
        "even": even,
        "odd": odd,
        "least": op.least,
        "correction": op.correction,
        "pcan": int(op.pcan is not None),
        "shift": op.snr_shift if op.pcan is not None else 0,
        "log": int(op.log is not None),
        "up": op.log or 0,
    }
    if op.pcan is not None:
        params["gains"] = np.pad(op.gains(), (0, GAINS - PCAN_TABLE))
    if op.log is not None:
        params["bends"] = log_table()
    units = units_of(view.input.shape, view.input.shape[2])
    return Packed(f"micro_features_{SUFFIXES[op.result]}", params, Entry(Call.FLAT, units, operands=(0, 1, 2)))


KERNELS = (
    Kernel(
        "micro_spectrum",
        (MicroSpectrum,),
        signature(DType.INT16, DType.UINT32),
        _spectrum,
        "micro_features",
        costs=SIGNAL,
        work=lambda view: 63 * view.the(MicroSpectrum).frame * view.output.shape[1],
    ),
    *(
        Kernel(
            f"micro_features_{suffix}",
            (MicroFeatures,),
            signature(DType.UINT32, dtype),
            _features,
            "micro_features",
            costs=SIGNAL,
            work=each(92),
        )
        for dtype, suffix in SUFFIXES.items()
    ),
)
