"""TFLite Micro's Signal operators: `mote_fft.h`, `mote_signal_samples.h`, `mote_filter_bank.h` and `mote_frames.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Structs,
    View,
    signature,
    units_of,
)
from mote.ir.graph.types import DType
from mote.ir.ops.features.real_fft import radices
from mote.ir.ops.signal.audio_stateful import (
    Delay,
    FrameCount,
    Framer,
    NoiseEstimate,
    OverlapAdd,
    Ready,
    SpectralSubtraction,
    StackCount,
    Stacker,
)
from mote.ir.ops.signal.audio_stateless import (
    ScaleBits,
    Scaled,
    SignalEnergy,
    SignalFilterBank,
    SignalFilterBankLog,
    SignalFilterBankSquareRoot,
    SignalPcan,
    SignalWindow,
    log_table,
)
from mote.ir.ops.signal.fft import Irfft, Rfft, fixed_twiddles, twiddles

CTYPES = {DType.INT16: ("s16", "int16_t"), DType.INT32: ("s32", "int32_t"), DType.FLOAT32: ("f32", "float")}
SAMPLES = signature(DType.INT16, DType.INT16)
WORDS = signature(DType.UINT32, DType.UINT32)
COUNTERS = signature(DType.INT32, DType.INT32)


def _transform(view: View) -> Packed:
    op = view.op
    assert isinstance(op, Rfft | Irfft)
    inverse, dtype = isinstance(op, Irfft), view.input.dtype
    suffix, ctype = CTYPES[dtype]
    tables = twiddles(op.length, inverse)
    if dtype != DType.FLOAT32:
        tables = fixed_twiddles(op.length, inverse, 8 * dtype.itemsize)
    params: Params = {
        "half": op.length // 2,
        "stages": len(radices(op.length // 2)),
        "inverse": int(inverse),
        "samples": view.input.shape[-1],
        "radix": np.array(radices(op.length // 2), np.int32),
        "roots": tables[0].astype(dtype.numpy),
        "last": tables[1].astype(dtype.numpy),
        "scale": 1.0 / op.length,
    }
    vectors = units_of(view.input.shape, view.input.shape[-1])
    name = f"{'irfft' if inverse else 'rfft'}_{suffix}"
    return Packed(name, params, Entry(Call.FLAT, vectors), instances=(Instance("MOTE_FFT", (suffix, ctype)),))


def _window(view: View) -> Packed:
    window = view.constant(1)
    params: Params = {"size": window.size, "shift": view.the(SignalWindow).shift, "window": window}
    return Packed(
        "signal_window", params, Entry(Call.FLAT, units_of(view.input.shape, window.size)), Needs(in_place=(0,))
    )


def _scale_bits(view: View) -> Packed:
    return Packed("scale_bits", {"size": view.input.size})


def _scaled(view: View) -> Packed:
    return Packed("scaled", {"size": view.input.size}, Entry(operands=(0, 1)), Needs(in_place=(0,)))


def _energy(view: View) -> Packed:
    op = view.the(SignalEnergy)
    return Packed("signal_energy", {"bins": view.output.size, "start": op.start, "end": op.end})


def _filter_bank(view: View) -> Packed:
    bands = np.array(view.the(SignalFilterBank).channels(view.graph), np.int64)
    bands[bands[:, 2] == 0] = 0
    params: Params = {
        "channels": view.output.size,
        "band": Structs("mote_band_t", bands),
        "weights": view.constant(1),
        "rests": view.constant(2),
    }
    return Packed("filter_bank", params)


def _square_root(view: View) -> Packed:
    return Packed("square_root", {"channels": view.output.size}, Entry(operands=(0, 1)))


def _noise(view: View) -> Packed:
    op = view.the(NoiseEstimate)
    params: Params = {
        "channels": view.output.size,
        "smoothing_bits": op.smoothing_bits,
        "bits": op.bits,
        "clamping": int(op.clamping),
        "even": {"weight": op.shares[0] & 0xFFFFFFFF, "rest": op.rests[0] & 0xFFFFFFFF},
        "odd": {"weight": op.shares[1] & 0xFFFFFFFF, "rest": op.rests[1] & 0xFFFFFFFF},
    }
    return Packed("noise", params)


def _subtraction(view: View) -> Packed:
    op = view.the(SpectralSubtraction)
    bits: Params = {"smoothing_bits": op.smoothing_bits, "bits": op.bits, "least": op.least & 0xFFFFFFFF}
    return Packed("subtraction", {"channels": view.output.size, **bits}, Entry(operands=(0, 1)), Needs(in_place=(0,)))


def _log(view: View) -> Packed:
    op = view.the(SignalFilterBankLog)
    params: Params = {
        "channels": view.output.size,
        "bits": op.bits,
        "scale": op.scale & 0xFFFFFFFF,
        "table": log_table(),
    }
    return Packed("channel_log", params)


def _gain(view: View) -> Packed:
    params: Params = {"channels": view.output.size, "shift": view.the(SignalPcan).shift, "table": view.constant(2)}
    return Packed("gain", params, Entry(operands=(0, 1)), Needs(in_place=(0,)))


def _frame_count(view: View) -> Packed:
    op = view.the(FrameCount)
    return Packed("frame_count", {"more": op.more, "most": op.most}, Entry(operands=()))


def _stack_count(view: View) -> Packed:
    op = view.the(StackCount)
    return Packed("stack_count", {"left": op.left, "frames": op.frames, "step": op.step}, Entry(operands=()))


def _framer(view: View) -> Packed:
    op, kept = view.the(Framer), view.op.input(view.graph, 1).shape
    params: Params = {
        "signals": kept[0],
        "frames": op.frames(view.graph),
        "size": op.size,
        "step": op.step,
        "kept": op.kept,
        "room": kept[1],
        "missing": op.missing,
    }
    return Packed("framer", params, Entry(operands=(0, 1, 2)))


def _ready(view: View) -> Packed:
    op = view.the(Ready)
    return Packed("ready", {"at": op.at, "least": op.least})


def _delay(view: View) -> Packed:
    signals, delay = view.op.input(view.graph, 1).shape
    return Packed(
        "delay", {"signals": signals, "samples": view.input.shape[-1], "delay": delay}, Entry(operands=(0, 1))
    )


def _overlap_add(view: View) -> Packed:
    *_, frames, size = view.input.shape
    suffix, ctype = CTYPES[view.input.dtype]
    signals = view.op.input(view.graph, 1).shape[0]
    params: Params = {"signals": signals, "frames": frames, "size": size, "step": view.the(OverlapAdd).step}
    instance = Instance("MOTE_OVERLAP_ADD", (suffix, ctype))
    return Packed(f"overlap_add_{suffix}", params, Entry(operands=(0, 1)), instances=(instance,))


def _stacker(view: View) -> Packed:
    op = view.the(Stacker)
    params: Params = {"channels": view.input.size, "left": op.left, "frames": op.frames, "step": op.step}
    return Packed("stacker", params, Entry(operands=(0, 1, 2)))


KERNELS = (
    *(
        Kernel(
            f"{name}_{suffix}",
            (op,),
            signature(dtype, dtype),
            _transform,
            "fft",
            costs=OTHER_F32 if dtype.real else OTHER,
        )
        for name, op in (("rfft", Rfft), ("irfft", Irfft))
        for dtype, (suffix, _) in CTYPES.items()
    ),
    Kernel("signal_window", (SignalWindow,), SAMPLES, _window, "signal_samples", costs=OTHER),
    Kernel("scale_bits", (ScaleBits,), signature(DType.INT16, DType.INT32), _scale_bits, "signal_samples", costs=OTHER),
    Kernel("scaled", (Scaled,), SAMPLES, _scaled, "signal_samples", costs=OTHER),
    Kernel(
        "signal_energy", (SignalEnergy,), signature(DType.INT16, DType.UINT32), _energy, "signal_samples", costs=OTHER
    ),
    Kernel(
        "filter_bank",
        (SignalFilterBank,),
        signature(DType.UINT32, DType.UINT64),
        _filter_bank,
        "filter_bank",
        costs=OTHER,
    ),
    Kernel(
        "square_root",
        (SignalFilterBankSquareRoot,),
        signature(DType.UINT64, DType.UINT32),
        _square_root,
        "filter_bank",
        costs=OTHER,
    ),
    Kernel("noise", (NoiseEstimate,), WORDS, _noise, "filter_bank", costs=OTHER),
    Kernel("subtraction", (SpectralSubtraction,), WORDS, _subtraction, "filter_bank", costs=OTHER),
    Kernel(
        "channel_log", (SignalFilterBankLog,), signature(DType.UINT32, DType.INT16), _log, "filter_bank", costs=OTHER
    ),
    Kernel("gain", (SignalPcan,), WORDS, _gain, "filter_bank", costs=OTHER),
    Kernel("frame_count", (FrameCount,), COUNTERS, _frame_count, "frames", costs=OTHER),
    Kernel("stack_count", (StackCount,), COUNTERS, _stack_count, "frames", costs=OTHER),
    Kernel("framer", (Framer,), SAMPLES, _framer, "frames", costs=OTHER),
    Kernel("ready", (Ready,), signature(DType.INT32, DType.BOOL), _ready, "frames", costs=OTHER),
    Kernel("delay", (Delay,), SAMPLES, _delay, "frames", costs=OTHER),
    Kernel("overlap_add", (OverlapAdd,), SAMPLES, _overlap_add, "frames", costs=OTHER),
    Kernel("overlap_add_f32", (OverlapAdd,), FLOAT32, _overlap_add, "frames", costs=OTHER_F32),
    Kernel("stacker", (Stacker,), SAMPLES, _stacker, "frames", costs=OTHER),
)
