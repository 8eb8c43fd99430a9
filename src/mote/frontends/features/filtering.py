"""Steps that filter and normalize signals of 16-bit integers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mote.frontends.features.filter_design import butterworth, notch, rounded_sections, rounded_taps, sinc
from mote.frontends.features.signal import Signal, SignalKind
from mote.ir.graph import Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.features.filters import (
    EMPHASIS_BITS,
    MEAN_BITS,
    Biquads,
    Fir,
    FirStream,
    PreEmphasis,
    PreEmphasisStream,
    RemoveDc,
    Section,
    lanes,
)
from mote.ir.ops.features.normalizing import VARIANCE_BITS, NormalizeWindow, RunningNormalize

NORMAL_BITS = 11
"""Fraction bits of normalized values: 16 deviations are full scale."""
SHARP = 20
"""Taps of a filter before decimation, for each of the samples that become one."""
EDGE = 0.4175
"""Its cut-off, in parts of the new rate: a Hamming window of so many taps stops everything above half of that rate."""
MOST_DECIMATION = 256
LONGEST = 15
"""The largest shift of running averages."""


def emphasized(signal: Signal, factor: float) -> Signal:
    """Less so much of the sample before each."""
    if not 0 <= factor <= 1:
        raise signal.refuse(f"pre-emphasis={factor:g} cannot be", "give a factor from 0 to 1")
    signal = _samples(signal, "pre-emphasis")
    return _looking_back(signal, 1, PreEmphasis, PreEmphasisStream, factor=round(factor * (1 << EMPHASIS_BITS)))


def fir(signal: Signal, *taps: float) -> Signal:
    """The sum of each sample and those before it, each times a tap."""
    return _convolved(_samples(signal, "fir"), np.array(taps or (1.0,), np.float64))


def decimate(signal: Signal, factor: int, taps: int = 0) -> Signal:
    """Every so-manyth sample, behind a low-pass filter; with one tap without it."""
    if not 1 <= factor * signal.period <= MOST_DECIMATION:
        raise signal.refuse(f"decimate={factor} cannot be", f"take from 2 to {MOST_DECIMATION}, all steps together")
    signal = _samples(signal, "decimate")
    if signal.unit % factor and factor % signal.unit:
        raise signal.refuse(
            f"decimate={factor}: rows of {signal.unit} samples are no multiple of that",
            "take windows and hops of a multiple of it",
        )
    count = taps or SHARP * factor + 1
    response = np.ones(1) if count == 1 or factor == 1 else sinc(0, EDGE / factor, count)
    made = _convolved(signal, response, decimation=factor)
    span, period = made.span + (factor - 1) * made.period, made.period * factor
    return replace(made, rate=made.rate / factor, span=span, period=period)


def biquad(signal: Signal, b0: float, b1: float, b2: float, a1: float, a2: float) -> Signal:
    """One second-order section: b0 + b1/z + b2/z^2 over 1 + a1/z + a2/z^2."""
    return _recursive(_samples(signal, "biquad"), rounded_sections([(b0, b1, b2, a1, a2)]))


def low_pass(signal: Signal, hz: float, order: int = 2, taps: int = 0) -> Signal:
    """A Butterworth filter; a windowed sinc function where taps are given."""
    edge = _part(signal, "low-pass", hz)
    return _passing(signal, "low-pass", 0.0, edge, order, taps)


def high_pass(signal: Signal, hz: float, order: int = 2, taps: int = 0) -> Signal:
    """A Butterworth filter; a windowed sinc function where taps are given."""
    edge = _part(signal, "high-pass", hz)
    return _passing(signal, "high-pass", edge, 0.5, order, taps)


def band_pass(signal: Signal, low: float, high: float, order: int = 2, taps: int = 0) -> Signal:
    """A Butterworth filter of twice the order; a windowed sinc function where taps are given."""
    if not low < high:
        raise signal.refuse(f"band-pass({low:g},{high:g}) cannot be", "give the lower frequency first")
    edges = _part(signal, "band-pass", low), _part(signal, "band-pass", high)
    return _passing(signal, "band-pass", *edges, order, taps)


def notched(signal: Signal, hz: float, q: float = 30) -> Signal:
    """Without one frequency: hum of the mains, say."""
    if not q > 0:
        raise signal.refuse(f"notch(q={q:g}) cannot be", "give the frequency divided by the width of the notch")
    at = _part(signal, "notch", hz)
    if at / q >= 0.5:
        raise signal.refuse(f"notch(q={q:g}) is as wide as the rate", "give a larger q")
    return _recursive(_samples(signal, "notch"), rounded_sections(notch(at, q)))


def remove_dc(signal: Signal, shift: int = 10) -> Signal:
    """Without the running mean of about 2^shift samples."""
    _check_shift(signal, "remove-dc", shift)
    return _samples(signal, "remove-dc").then(RemoveDc, shift=shift, states=[np.zeros(signal.channels, np.int32)])


def running_normalize(
    signal: Signal,
    shift: int = 8,
    deviation: int = 1,
    center: int = 1,
    least: float = 0,
    mean: float = 0,
    std: float = 0,
    fraction: int = NORMAL_BITS,
) -> Signal:
    """In units of the running standard deviation from the running mean; features each by their own. `mean` and `std`
    are what they begin with, and the deviation is `least` at least."""
    _check_shift(signal, "running-normalize", shift)
    signal = _integers16(
        signal.integers("running-normalize", SignalKind.SAMPLES, SignalKind.FEATURES), "running-normalize"
    )
    each = signal.kind is SignalKind.FEATURES
    count, one = lanes(signal.tensor.shape, each), 2.0**signal.fraction
    means = np.full(count, _whole(signal, mean * one, MEAN_BITS), np.int32)
    if not deviation:
        if not center:
            raise signal.refuse("running-normalize(deviation=0,center=0) does nothing", "leave it out")
        return signal.then(RemoveDc, shift=shift, features=each, states=[means])
    variances = np.full(count, min(max(std * one, 0.0), 65535.0) ** 2 * (1 << VARIANCE_BITS), np.int64)
    states: list[Array] = [means, variances]
    floor, bits = _floor(signal, least), _bits(signal, fraction)
    fields: dict[str, Any] = {"shift": shift, "features": each, "center": bool(center), "floor": floor, "bits": bits}
    return signal.then(RunningNormalize, fraction=bits, states=states, **fields)


def normalize(signal: Signal, deviation: int = 1, least: float = 0, fraction: int = NORMAL_BITS) -> Signal:
    """In units of the standard deviation of all samples from their mean, per channel; features each by their own."""
    if signal.builder.streaming:
        raise signal.refuse(
            "normalize takes all samples of a clip, which a stream does not have at once", "use running-normalize"
        )
    signal = _integers16(signal.integers("normalize", SignalKind.SAMPLES, SignalKind.FEATURES), "normalize")
    fields: dict[str, Any] = {"features": signal.kind is SignalKind.FEATURES, "floor": _floor(signal, least)}
    if not deviation:
        return signal.then(NormalizeWindow, bits=0, deviation=False, **fields)
    bits = _bits(signal, fraction)
    return signal.then(NormalizeWindow, fraction=bits, bits=bits, **fields)


def _samples(signal: Signal, step: str) -> Signal:
    """The signal, if a filter can take it."""
    return _integers16(signal.integers(step, SignalKind.SAMPLES), step)


def _integers16(signal: Signal, step: str) -> Signal:
    if signal.tensor.dtype != DType.INT16:
        raise signal.refuse(f"{step} takes integers of 16 bits, and gets {signal.tensor.dtype}", "leave it out")
    return signal


def _part(signal: Signal, step: str, hz: float) -> float:
    """A frequency in parts of the sample rate."""
    if not signal.rate:
        raise signal.refuse(
            f"{step}: the signal does not say how many samples a second it has",
            "begin with the sensor: audio(16000) or motion(100)",
        )
    if not 0 < hz < signal.rate / 2:
        raise signal.refuse(
            f"{step} at {hz:g} Hz cannot be", f"give a frequency between 0 and {signal.rate / 2:g} Hz, half of the rate"
        )
    return hz / signal.rate


def _passing(signal: Signal, kind: str, low: float, high: float, order: int, taps: int) -> Signal:
    signal = _samples(signal, kind)
    if taps:
        return _convolved(signal, sinc(low, high, taps))
    return _recursive(signal, rounded_sections(butterworth(kind, low, high, order)))


def _looking_back(signal: Signal, samples: int, kind: type[Op], streamed: type[Op] | None, **fields: Any) -> Signal:
    """The signal after a filter that reads so many samples before each. In a stream its own operator keeps them, if it
    has one; else a window of rows does."""
    if signal.builder.streaming and samples and streamed:
        signal.builder.looks_back += samples * signal.period
        return signal.then(streamed, states=[np.zeros(samples * signal.channels, np.int16)], **fields)
    tensor, rows = signal.history(samples)
    made = signal.builder.add(kind, tensor, dtype=tensor.dtype, quant=tensor.quant, history=rows, **fields)
    return replace(signal, tensor=made)


def _convolved(signal: Signal, taps: Array, decimation: int = 1) -> Signal:
    whole, bits = rounded_taps(taps)
    streamed = None if signal.unit % decimation else FirStream
    return _looking_back(signal, len(whole) - 1, Fir, streamed, taps=whole, tap_bits=bits, decimation=decimation)


def _recursive(signal: Signal, sections: tuple[Section, ...]) -> Signal:
    kept = np.zeros(signal.channels * (2 + 4 * len(sections)), np.int32)
    return signal.then(Biquads, sections=sections, states=[kept])


def _check_shift(signal: Signal, step: str, shift: int) -> None:
    if not 1 <= shift <= LONGEST:
        raise signal.refuse(
            f"{step}(shift={shift}) cannot be", f"take from 1 to {LONGEST}: averages of 2^shift samples"
        )


def _whole(signal: Signal, value: float, bits: int) -> int:
    """A 16-bit number with more fraction bits."""
    if not -(1 << 15) <= value < 1 << 15:
        raise signal.refuse("mean is outside of what the signal can be", "give a mean of its values")
    return round(value * (1 << bits))


def _floor(signal: Signal, least: float) -> int:
    """The least deviation, in integers of the signal."""
    value = round(least * 2.0**signal.fraction)
    if not 0 <= value < 1 << 15:
        raise signal.refuse(f"least={least:g} is outside of what the signal can be", "give a deviation of its values")
    return max(value, 1)


def _bits(signal: Signal, fraction: int) -> int:
    if not 0 <= fraction <= MEAN_BITS:
        raise signal.refuse(f"fraction={fraction} cannot be", f"take from 0 to {MEAN_BITS} bits")
    return fraction
