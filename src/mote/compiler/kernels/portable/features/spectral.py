"""Spectral features of audio: `mote_spectral_features.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import SIGNAL, Call, Entry, Kernel, Needs, Packed, Params, View, signature, units_of
from mote.compiler.kernels.pack.params import rows_params
from mote.compiler.kernels.portable.features.work import each
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.features.real_fft import RealFft
from mote.ir.ops.features.spectral import (
    DivideByPeak,
    MelBank,
    RemoveGain,
    SpectralFeatures,
    log_table,
    octaves,
    root_table,
)

BIN = 4
"""Bytes of a complex FFT value, or of its power."""


def fft_params(fft: RealFft) -> Params:
    """Sizes, permutation and twiddle factors of an FFT (`mote_real_fft_t`)."""
    params: Params = {
        "length": fft.length,
        "points": fft.points,
        "stages": len(fft.stages),
        "radix": np.array(fft.stages, np.uint8),
        "place": fft.places.astype(np.uint16),
        "roots": fft.staged_roots.astype(np.int16).reshape(-1),
        "last": fft.last.astype(np.int16).reshape(-1) if fft.folded else np.zeros(0, np.int16),
    }
    return _without_empty(params)


def _without_empty(params: Params) -> Params:
    """Parameters without empty arrays, whose pointers are then NULL."""
    return {name: value for name, value in params.items() if not isinstance(value, np.ndarray) or value.size}


def _spectrum(view: View) -> Params:
    op = view.the(SpectralFeatures)
    unit = view.input.shape[2]
    none = np.zeros(0, np.int64)
    bands = op.bands or MelBank(0, none, none)
    params: Params = {
        "rows": rows_params(Axis(op.frame // unit, op.hop // unit), view.input.shape, view.output.shape),
        "unit": unit,
        "fraction": op.sample_fraction,
        "fft": fft_params(op.transform),
        "window": (none if op.window == "none" else op.taps).astype(np.int16),
        "power": int(op.power),
        "filters": op.filters,
        "first": bands.first,
        "top": bands.top if op.filters else op.transform.bins - 1,
        "counts": bands.counts.astype(np.uint16),
        "rising": bands.rising.astype(np.uint16),
        "root": (none if op.power else root_table()).astype(np.uint16),
    }
    return _without_empty(params)


def _entry(view: View, name: str) -> Entry:
    op = view.the(SpectralFeatures)
    return Entry(Call.ROWS, row=f"{name}_row", taps=op.frame // view.input.shape[2])


def _spectrum_size(op: SpectralFeatures) -> int:
    """Scratch memory of the spectrum, in values of BIN bytes."""
    whole = op.filters == 0 and op.transform.folded
    return op.transform.points + int(whole)


def _logs(view: View) -> Packed:
    op = view.the(SpectralFeatures)
    top, power = op.offset
    behind, room = 0, _spectrum_size(op)
    if op.coefficients and not _in_place(op.bands):
        behind = room
        room += op.filters
    params: Params = {
        "spectrum": _spectrum(view),
        "offset": top,
        "least": op.least,
        "offset_power": power,
        "octaves": octaves(op.divisor),
        "factor": op.factor,
        "nothing": op.log_of_nothing,
        "log": log_table().astype(np.uint16),
        "coefficients": op.coefficients,
        "cosine_shift": op.cosine_shift,
        "cosines": op.cosines.astype(np.int16).reshape(-1),
        "logs_at": behind,
    }
    return Packed("spectral_logs", _without_empty(params), _entry(view, "spectral_logs"), Needs(scratch=BIN * room))


def _in_place(bands: MelBank | None) -> bool:
    """Whether the logarithms of mel bands can overwrite the spectrum: none replaces a bin that is read later."""
    return bands is not None and bool(np.all(np.arange(bands.filters, dtype=np.int64) < bands.first + bands.starts[2:]))


def _energies(view: View) -> Packed:
    op = view.the(SpectralFeatures)
    share, less = op.share
    params: Params = {"spectrum": _spectrum(view), "share": share, "less": less, "fraction": op.output_fraction}
    return Packed(
        "spectral_energies", params, _entry(view, "spectral_energies"), Needs(scratch=BIN * _spectrum_size(op))
    )


def _remove_gain(view: View) -> Packed:
    op = view.the(RemoveGain)
    params: Params = {
        "columns": len(op.factors),
        "factors": np.array(op.factors, np.int32),
        "silence": np.array(op.silence, np.int16),
        "log": log_table().astype(np.uint16),
    }
    entry = Entry(Call.FLAT, units_of(view.input.shape, len(op.factors)), operands=(0, 1))
    return Packed("remove_gain", params, entry, Needs(in_place=(0,)))


def _divide(view: View) -> Packed:
    return Packed("divide_by_peak", {"unused": 0}, Entry(Call.FLAT, view.output.size, operands=(0, 1)))


def _work(view: View) -> float:
    return 100 * view.the(SpectralFeatures).fft * view.output.shape[1]


KERNELS = (
    Kernel(
        "spectral_logs",
        (SpectralFeatures,),
        signature(DType.INT16, DType.INT16),
        _logs,
        header="spectral_features",
        tuned=True,
        costs=SIGNAL,
        work=_work,
    ),
    Kernel(
        "spectral_energies",
        (SpectralFeatures,),
        signature(DType.INT16, DType.INT32),
        _energies,
        header="spectral_features",
        tuned=True,
        costs=SIGNAL,
        work=_work,
    ),
    Kernel(
        "remove_gain",
        (RemoveGain,),
        signature(DType.INT16, DType.INT16),
        _remove_gain,
        header="spectral_features",
        costs=SIGNAL,
        work=each(20),
    ),
    Kernel(
        "divide_by_peak",
        (DivideByPeak,),
        signature(DType.INT16, DType.INT32),
        _divide,
        header="spectral_features",
        costs=SIGNAL,
        work=each(20),
    ),
)
