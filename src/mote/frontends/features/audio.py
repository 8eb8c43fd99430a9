"""Steps that make spectral features of sound: spectrograms, mel filter banks and cepstra."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mote.frontends.features.signal import Signal, SignalKind, fixed_point
from mote.ir.ops.features.spectral import RemoveGain, SpectralFeatures


def spectrogram(
    signal: Signal,
    frame: int = 480,
    hop: int = 320,
    fft: int = 0,
    window: str = "hann",
    spectrum: str = "magnitude",
    unit: str = "none",
    floor: float = 1e-6,
) -> Signal:
    """[frames, fft / 2 + 1] of a sound."""
    fields = {"fft": fft, "window": window, "spectrum": spectrum, "log": unit, "floor": floor}
    return _features("spectrogram", signal, rate=1, frame=frame, hop=hop, **fields)


def log_mel(
    signal: Signal,
    frame: int = 480,
    hop: int = 320,
    fft: int = 0,
    filters: int = 40,
    low: float = 20,
    high: float = 4000,
    window: str = "hann",
    spectrum: str = "power",
    unit: str = "db",
    floor: float = 1e-20,
    rate: int = 0,
) -> Signal:
    """[frames, filters] of a sound."""
    bank = {"filters": _some("filters", signal, filters), "low": low, "high": high, "rate": _rate(signal, rate)}
    fields = {"fft": fft, "window": window, "spectrum": spectrum, "log": unit, "floor": floor}
    return _features("log-mel", signal, frame=frame, hop=hop, **fields, **bank)


def mfcc(
    signal: Signal,
    frame: int = 480,
    hop: int = 320,
    fft: int = 0,
    filters: int = 40,
    low: float = 20,
    high: float = 4000,
    window: str = "hann",
    spectrum: str = "magnitude",
    floor: float = 1e-6,
    count: int = 10,
    rate: int = 0,
) -> Signal:
    """[frames, count] of a sound."""
    bank = {"filters": _some("filters", signal, filters), "low": low, "high": high, "rate": _rate(signal, rate)}
    fields = {"fft": fft, "window": window, "spectrum": spectrum, "log": "ln", "floor": floor}
    return _features(
        "mfcc", signal, frame=frame, hop=hop, coefficients=_some("coefficients", signal, count), **fields, **bank
    )


def _features(step: str, signal: Signal, *, frame: int, hop: int, **fields: Any) -> Signal:
    """Features of frames, and of a sound that is to be divided by its largest sample what that makes of them."""
    sound = signal.integers(step, SignalKind.SAMPLES).mono()
    fields |= {
        "frame": frame,
        "hop": hop,
        "fft": fields["fft"] or _power_of_two(frame),
        "sample_fraction": sound.fraction,
    }
    op = SpectralFeatures(inputs=(), outputs=(), **fields)
    if op.problem is not None:
        raise sound.refuse(op.problem, "docs/improve/data.md says what can be")
    samples = sound.framed(frame, hop)
    op = op.with_(output_fraction=op.widest(gained=sound.peak is not None))
    if sound.peak is not None and op.log == "none":
        raise sound.refuse("peak comes before a spectrogram without logarithms", "take them: unit=ln or unit=db")
    add = partial(sound.builder.add, dtype=op.dtype, quant=fixed_point(op.output_fraction))
    made = add(SpectralFeatures, samples, name=step, **op.attributes())
    if sound.peak is not None:
        gain: dict[str, Any] = {"factors": op.gains(), "silence": tuple(map(int, op.silence))}
        made = add(RemoveGain, made, sound.largest(), name="peak gain", **gain)
    return replace(sound.features(made, frame, hop, op.output_fraction), peak=None)


def _some(what: str, signal: Signal, count: int) -> int:
    if count < 1:
        raise signal.refuse(f"{count} {what} cannot be", "docs/improve/data.md says what can be")
    return count


def _rate(signal: Signal, rate: int) -> int:
    hertz = rate or int(signal.rate)
    if hertz < 1:
        raise signal.refuse(f"{signal.name} does not say how many samples a second it has", "say it: rate=16000")
    return hertz


def _power_of_two(frame: int) -> int:
    """The least that is not less."""
    return 1 << max(0, frame - 1).bit_length()
