"""Features of windows of sensor samples: `mote_window_statistics.h`, `mote_window_spectrum.h`,
`mote_window_wavelet.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import SIGNAL, Call, Entry, Kernel, Needs, Packed, Params, View, signature
from mote.compiler.kernels.pack.params import rows_params
from mote.compiler.kernels.portable.features.spectral import BIN, fft_params
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.features.motion import (
    Statistic,
    Wavelet,
    WindowFeatures,
    WindowSpectrum,
    WindowStatistics,
    WindowWavelet,
)

SAMPLES = signature(DType.INT16, DType.INT16)
ORDER = tuple(Statistic)
"""Statistics in the order of the C constants `MOTE_STATISTIC_...`."""
CENTERED = {Statistic.SKEW, Statistic.KURTOSIS, Statistic.MEAN_CROSSINGS}


def _windows(view: View) -> Params:
    _, _, unit, channels = view.input.shape
    op = view.the(WindowFeatures)
    rows = rows_params(Axis(op.frame // unit, op.hop // unit), view.input.shape, view.output.shape)
    return {"rows": rows, "unit": unit, "channels": channels}


def _entry(view: View, name: str) -> Entry:
    return Entry(Call.ROWS, row=f"{name}_row", taps=view.the(WindowFeatures).frame // view.input.shape[2])


def _statistics(view: View) -> Packed:
    op = view.the(WindowStatistics)
    params: Params = {
        **_windows(view),
        "features": op.features,
        "twice": int(not CENTERED.isdisjoint(op.statistics)),
        "feature": np.array([ORDER.index(s) for s in op.statistics], np.uint8),
    }
    return Packed("window_statistics", params, _entry(view, "window_statistics"))


def _spectrum(view: View) -> Packed:
    op = view.the(WindowSpectrum)
    params: Params = {
        **_windows(view),
        "fft": fft_params(op.transform),
        "bands": op.bands,
        "dominant": int(op.dominant),
        "offset": op.offset,
    }
    params |= {"window": op.taps.astype(np.uint16)} if op.hann else {}
    params |= {"edges": np.array(op.edges, np.uint16)} if op.bands else {}
    kept = max(op.transform.points, op.transform.bins)
    return Packed("window_spectrum", params, _entry(view, "window_spectrum"), Needs(scratch=BIN * kept))


def _wavelet(view: View) -> Packed:
    op = view.the(WindowWavelet)
    name = "window_haar" if op.wavelet is Wavelet.HAAR else "window_daubechies"
    params: Params = {**_windows(view), "levels": op.levels, "offset": op.offsets().astype(np.int32)}
    return Packed(name, params, _entry(view, name), Needs(scratch=4 * op.frame))


def _samples(view: View) -> int:
    """Number of samples in all windows and channels."""
    op = view.the(WindowFeatures)
    return view.output.shape[1] * op.frame * view.input.shape[-1]


def _statistics_work(view: View) -> float:
    return (14 * len(view.the(WindowStatistics).statistics) - 6) * _samples(view)


def _spectrum_work(view: View) -> float:
    return 102 * _samples(view)


def _wavelet_work(view: View) -> float:
    return (42 if view.the(WindowWavelet).wavelet is Wavelet.HAAR else 74) * _samples(view)


KERNELS = (
    Kernel(
        "window_statistics",
        (WindowStatistics,),
        SAMPLES,
        _statistics,
        "window_statistics",
        costs=SIGNAL,
        work=_statistics_work,
    ),
    Kernel(
        "window_spectrum",
        (WindowSpectrum,),
        SAMPLES,
        _spectrum,
        "window_spectrum",
        tuned=True,
        costs=SIGNAL,
        work=_spectrum_work,
    ),
    Kernel("window_wavelet", (WindowWavelet,), SAMPLES, _wavelet, "window_wavelet", costs=SIGNAL, work=_wavelet_work),
)
