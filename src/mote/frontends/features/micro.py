"""The step `micro-frontend`: features of wake words and of TFLite Micro's speech examples."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.sample import WHERE
from mote.frontends.features.signal import Signal, SignalKind, fixed_point
from mote.ir.graph.types import DType
from mote.ir.ops.features.micro import MicroFeatures, MicroSpectrum

SWITCH = ("on", "off")


def micro_front_end(
    signal: Signal,
    frame: int = 480,
    hop: int = 160,
    channels: int = 40,
    low: float = 125,
    high: float = 7500,
    smoothing_bits: int = 10,
    even: float = 0.025,
    odd: float = 0.06,
    remaining: float = 0.05,
    pcan: str = "on",
    strength: float = 0.95,
    offset: float = 80,
    gain_bits: int = 21,
    log: str = "on",
    shift: int = 6,
    rate: int = 0,
) -> Signal:
    """[frames, channels] of a sound, bit for bit as the C library `microfrontend` has them."""
    mono = signal.integers("micro-frontend", SignalKind.SAMPLES).mono()
    spectrum: dict[str, Any] = {
        "rate": _rate(signal, rate),
        "frame": frame,
        "hop": hop,
        "channels": channels,
        "low": float(low),
        "high": float(high),
    }
    features: dict[str, Any] = {
        "length": 1 << max(frame - 1, 0).bit_length(),
        "smoothing_bits": smoothing_bits,
        "smoothing": (float(even), float(odd)),
        "remaining": float(remaining),
        "pcan": (float(strength), float(offset), gain_bits) if _on("pcan", pcan) else None,
        "log": shift if _on("log", log) else None,
    }
    first = MicroSpectrum(inputs=(), outputs=(), **spectrum)
    second = MicroFeatures(inputs=(), outputs=(), **features)
    if problem := first.problem or second.problem:
        raise MoteError(problem, where=f"{WHERE} micro-frontend")
    if gcd(frame, hop) % 2:
        raise MoteError(
            f"frames of {frame} samples every {hop} have odd parts",
            where=f"{WHERE} micro-frontend",
            remedy="take even numbers of samples",
        )
    samples = mono.framed(frame, hop)
    waiting = -(-max(frame - hop, 0) // hop) if signal.builder.streaming else 0
    states = [np.zeros(channels, np.uint32), np.array([waiting], np.int32)]
    magnitudes = signal.builder.add(MicroSpectrum, samples, dtype=DType.UINT32, **spectrum)
    made = signal.builder.add(
        MicroFeatures, magnitudes, dtype=second.result, quant=fixed_point(0), states=states, **features
    )
    return mono.features(made, frame, hop, 0)


def _rate(signal: Signal, rate: int) -> int:
    if signal.rate and rate and rate != signal.rate:
        raise signal.refuse(f"rate={rate} is not that of the samples, {signal.rate:g} Hz", "leave it out")
    if not (signal.rate or rate):
        raise signal.refuse("micro-frontend needs to know the samples a second", "say it: rate=16000")
    return rate or int(signal.rate)


def _on(name: str, value: str) -> bool:
    if value not in SWITCH:
        raise MoteError(
            f"{name}={value} cannot be", where=f"{WHERE} micro-frontend", remedy=f"use {' or '.join(SWITCH)}"
        )
    return value == "on"
