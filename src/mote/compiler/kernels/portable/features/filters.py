"""Filters of 16-bit sample streams and their normalization: `mote_filters.h` and `mote_normalizing.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    SIGNAL,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Structs,
    View,
    signature,
    units_of,
)
from mote.compiler.kernels.pack.params import rows_params
from mote.compiler.kernels.portable.features.work import each
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.features.filters import (
    EMPHASIS_BITS,
    Biquads,
    Fir,
    FirStream,
    LookingBack,
    PreEmphasis,
    PreEmphasisStream,
    RemoveDc,
    lanes,
)
from mote.ir.ops.features.normalizing import NormalizeWindow, RunningNormalize

SAMPLES = signature(DType.INT16, DType.INT16)


def _window(view: View) -> Params:
    """The fields of `mote_window_t` for the input rows that a filter reads."""
    op, span = view.the(LookingBack), view.the(LookingBack).span(view.graph)
    axis = Axis(span, op.stride(view.graph), before=span - 1 - op.history)
    return rows_params(axis, view.input.shape, view.output.shape)


def _factor(factor: int) -> Params:
    """Fixed-point factor reduced to the fewest fraction bits that represent it exactly, because narrow products take
    fewer instructions."""
    spare = min((factor & -factor).bit_length() - 1, EMPHASIS_BITS - 1) if factor else EMPHASIS_BITS - 1
    return {"factor": factor >> spare, "fraction": EMPHASIS_BITS - spare}


def _pre_emphasis(view: View) -> Packed:
    _, _, unit, channels = view.input.shape
    params: Params = {
        "window": _window(view),
        "unit": unit,
        "channels": channels,
        **_factor(view.the(PreEmphasis).factor),
    }
    return Packed("pre_emphasis", params, Entry(Call.ROWS, row="pre_emphasis_row", taps=2))


def _fir(view: View) -> Packed:
    op, (_, _, unit, channels), units = view.the(Fir), view.input.shape, view.output.shape[2]
    params: Params = {
        "window": _window(view),
        "unit": unit,
        "units": units,
        "channels": channels,
        "count": len(op.taps),
        "decimation": op.decimation,
        "fraction": op.tap_bits,
        "taps": np.array(op.taps[::-1], np.int16),
    }
    used = len(op.taps) + (units - 1) * op.decimation
    return Packed("fir", params, Entry(Call.ROWS, row="fir_row", taps=op.span(view.graph)), Needs(scratch=2 * used))


def _pre_emphasis_stream(view: View) -> Packed:
    channels = view.input.shape[-1]
    return Packed(
        "pre_emphasis_stream",
        {"channels": channels, **_factor(view.the(PreEmphasisStream).factor)},
        Entry(Call.FLAT, units_of(view.input.shape, channels), operands=(0, 1)),
        Needs(in_place=(0,)),
    )


def _fir_stream(view: View) -> Packed:
    op, (_, rows, units, channels) = view.the(FirStream), view.output.shape
    params: Params = {
        "block": units,
        "channels": channels,
        "count": len(op.taps),
        "decimation": op.decimation,
        "fraction": op.tap_bits,
        "taps": np.array(op.taps[::-1], np.int16),
    }
    used = len(op.taps) + units * op.decimation
    return Packed("fir_stream", params, Entry(Call.FLAT, rows * units, operands=(0, 1)), Needs(scratch=2 * used))


def _biquads(view: View) -> Packed:
    op, channels = view.the(Biquads), view.input.shape[-1]
    rows = [(b0, b1, b2, -a1, -a2, *op.feedback((b0, b1, b2, a1, a2))) for b0, b1, b2, a1, a2 in op.sections]
    section = Structs("mote_section_t", np.array(rows, np.int64))
    return Packed(
        "biquads",
        {"channels": channels, "sections": len(rows), "section": section},
        Entry(Call.FLAT, units_of(view.input.shape, channels), operands=(0, 1)),
        Needs(in_place=(0,)),
    )


def _remove_dc(view: View) -> Packed:
    op = view.the(RemoveDc)
    channels = lanes(view.input.shape, op.features)
    return Packed(
        "remove_dc",
        {"channels": channels, "shift": op.shift},
        Entry(Call.FLAT, units_of(view.input.shape, channels), operands=(0, 1)),
        Needs(in_place=(0,)),
    )


def _running_normalize(view: View) -> Packed:
    op, shape = view.the(RunningNormalize), view.input.shape
    count = lanes(shape, op.features)
    params: Params = {
        "lanes": count,
        "shift": op.shift,
        "fraction": op.bits,
        "floor": op.floor,
        "center": int(op.center),
    }
    return Packed(
        "running_normalize", params, Entry(Call.FLAT, units_of(shape, count), operands=(0, 1, 2)), Needs(in_place=(0,))
    )


def _normalize_window(view: View) -> Packed:
    op = view.the(NormalizeWindow)
    params: Params = {
        "lanes": lanes(view.input.shape, op.features),
        "samples": op.count(view.graph),
        "fraction": op.bits,
        "floor": op.floor,
        "deviation": int(op.deviation),
    }
    return Packed("normalize_window", params, needs=Needs(in_place=(0,), overlays=True))


def _fir_work(view: View) -> float:
    assert isinstance(view.op, Fir | FirStream)
    return (5 + 2 * len(view.op.taps)) * view.output.size


def _biquads_work(view: View) -> float:
    sections = len(view.the(Biquads).sections)
    return (33 if sections == 1 else 66 * sections) * view.output.size


KERNELS = (
    Kernel("pre_emphasis", (PreEmphasis,), SAMPLES, _pre_emphasis, "filters", costs=SIGNAL, work=each(12)),
    Kernel("fir", (Fir,), SAMPLES, _fir, "filters", costs=SIGNAL, work=_fir_work),
    Kernel(
        "pre_emphasis_stream",
        (PreEmphasisStream,),
        SAMPLES,
        _pre_emphasis_stream,
        "filters",
        costs=SIGNAL,
        work=each(12),
    ),
    Kernel("fir_stream", (FirStream,), SAMPLES, _fir_stream, "filters", costs=SIGNAL, work=_fir_work),
    Kernel("biquads", (Biquads,), SAMPLES, _biquads, "filters", costs=SIGNAL, work=_biquads_work),
    Kernel("remove_dc", (RemoveDc,), SAMPLES, _remove_dc, "filters", costs=SIGNAL, work=each(13)),
    Kernel(
        "running_normalize",
        (RunningNormalize,),
        SAMPLES,
        _running_normalize,
        "normalizing",
        costs=SIGNAL,
        work=each(227),
    ),
    Kernel(
        "normalize_window", (NormalizeWindow,), SAMPLES, _normalize_window, "normalizing", costs=SIGNAL, work=each(50)
    ),
)
