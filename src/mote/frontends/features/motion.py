"""Steps for motion and vibration: features of windows of samples."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise
from math import ceil
from typing import Any, TypeVar

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.frontends.features.sample import WHERE
from mote.frontends.features.signal import Signal, SignalKind, fixed_point
from mote.ir.graph.tensor import Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.features.motion import (
    FRACTION,
    LONGEST,
    Statistic,
    Wavelet,
    WindowFeatures,
    WindowSpectrum,
    WindowStatistics,
    WindowWavelet,
)
from mote.ir.ops.features.real_fft import RealFft
from mote.ir.ops.moves.pad_concat_transpose import Concatenation

E = TypeVar("E", bound=StrEnum)
DOMINANT = "dominant-frequency"
USUAL = "mean+std+min+max+skew+kurtosis+mean-crossings"
WINDOWS = ("hann", "none")
ROWS, COLUMNS = 1, 2


def motion_features(
    signal: Signal,
    frame: int = 128,
    hop: int = 64,
    features: str = USUAL,
    bands: str = "",
    window: str = "hann",
    wavelet: str = "",
    levels: int = 4,
) -> Signal:
    """[windows, features] of samples: statistics of each channel; then powers in bands, whose edges are in Hz, and the
    strongest frequency of each; then energies of a wavelet transform of each."""
    signal = signal.integers("motion-features", SignalKind.SAMPLES)
    samples = signal.framed(frame, hop)
    names = [name for name in features.split("+") if name]
    statistics = tuple(_one_of("feature", name, Statistic) for name in names if name != DOMINANT)
    edges, dominant = _edges(signal, frame, bands), DOMINANT in names
    parts: list[tuple[type[WindowFeatures], dict[str, Any]]] = []
    if statistics:
        parts.append((WindowStatistics, {"statistics": statistics}))
    if edges or dominant:
        hann = _named("window", window, WINDOWS) == "hann"
        parts.append((WindowSpectrum, {"edges": edges, "dominant": dominant, "hann": hann}))
    if wavelet:
        parts.append((WindowWavelet, {"wavelet": _one_of("wavelet", wavelet, Wavelet), "levels": levels}))
    _check(frame, levels if wavelet else 0, any(kind is WindowSpectrum for kind, _ in parts), len(parts))
    if samples.shape[ROWS] * samples.shape[COLUMNS] < frame:
        raise signal.refuse(f"a window takes {frame:,} samples, and there are fewer", "make it longer: length=SAMPLES")

    def add(kind: type[WindowFeatures], attributes: dict[str, Any]) -> Tensor:
        given = {"dtype": DType.INT16, "quant": fixed_point(FRACTION), "frame": frame, "hop": hop, **attributes}
        return signal.builder.add(kind, samples, **given)

    made = [add(*part) for part in parts]
    joined = made[0]
    if len(made) > 1:
        joined = signal.builder.add(Concatenation, *made, dtype=DType.INT16, quant=fixed_point(FRACTION), axis=COLUMNS)
    return signal.features(joined, frame, hop, FRACTION)


def _check(frame: int, levels: int, spectrum: bool, parts: int) -> None:
    """Refuse windows that have no such features."""
    for reason, remedy, wrong in (
        ("motion-features has no features", "name some, or bands, or a wavelet", not parts),
        (f"windows of {frame} samples are too long", f"take at most {LONGEST}", frame > LONGEST),
        (
            f"there is no spectrum of {frame} samples",
            "take a number whose only prime factors are 2, 3 and 5, at least 2",
            spectrum and not RealFft.fits(frame),
        ),
        (
            f"{levels} levels of a wavelet cannot be of windows of {frame} samples",
            "halve a window as often as its samples allow",
            levels < 0 or frame % (1 << min(max(levels, 0), 15)) > 0,
        ),
    ):
        if wrong:
            raise MoteError(reason, where=WHERE, remedy=remedy)


def _one_of(what: str, name: str, kinds: type[E]) -> E:
    return kinds(_named(what, name, [*kinds, *([DOMINANT] if what == "feature" else [])]))


def _named(what: str, name: str, names: Iterable[str]) -> str:
    known = list(map(str, names))
    if name not in known:
        remedy = f"{did_you_mean(name, known)}use {', '.join(known)}"
        raise MoteError(f"'{name}' is no {what}", where=WHERE, remedy=remedy)
    return name


def _edges(signal: Signal, frame: int, bands: str) -> tuple[int, ...]:
    """The bins at which bands begin, and the one behind the last, from edges in Hz with dashes between them: a band has
    the bins from its lower edge on, below its upper one."""
    if not bands:
        return ()
    try:
        hertz = [float(edge) for edge in bands.split("-")]
    except ValueError:
        raise MoteError(f"'{bands}' are no bands", where=WHERE, remedy="write edges in Hz: 1-5-20-50") from None
    if not signal.rate:
        raise MoteError("bands in Hz need the rate of samples", where=WHERE, remedy="name the sensor: motion(rate=100)")
    edges = tuple(min(ceil(edge * frame / signal.rate - 1e-9), frame // 2 + 1) for edge in hertz)
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
        step, most = signal.rate / frame, signal.rate / 2
        raise MoteError(
            f"bands of {bands} Hz: each must hold a multiple of {step:g} Hz, at most {most:g}",
            where=WHERE,
            remedy="take wider bands or longer windows",
        )
    return edges
