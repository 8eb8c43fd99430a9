"""Coefficients of filters: windowed sinc functions, and Butterworth filters and notches as second-order sections.

Frequencies are parts of the sample rate, between 0 and 0.5.
"""

from __future__ import annotations

from cmath import exp, pi
from math import atan, cos, log10, prod, tan

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.sample import WHERE
from mote.ir.graph.tensor import Array
from mote.ir.ops.features.filters import SECTION_BITS, Section

ONE = 1 << SECTION_BITS
MOST_TAPS = 4096
MOST_ORDER = 12
WIDE = 16
"""A band whose edges are this far apart is a high-pass and a low-pass."""
NEAR = 1e-12
RIPPLE = 0.1
"""How far a section with rounded coefficients may be from the ideal one in decibels, where that passes a signal."""

Reals = tuple[float, float, float, float, float]
"""b0, b1, b2, a1 and a2 of a second-order section."""


def sinc(low: float, high: float, count: int) -> Array:
    """The taps of a filter that passes from `low` to `high`, with a Hamming window; -6 dB at both. 0 and 0.5 are no
    edges."""
    if not 1 <= count <= MOST_TAPS or (high == 0.5 and low > 0 and count % 2 == 0):
        raise MoteError(
            f"{count} taps cannot be", where=WHERE, remedy=f"take an odd number of taps from 1 to {MOST_TAPS - 1}"
        )
    n = np.arange(count, dtype=np.int64) - (count - 1) / 2
    taps = 2 * high * np.sinc(2 * high * n) - 2 * low * np.sinc(2 * low * n)
    taps *= 0.54 + 0.46 * np.cos(2 * np.pi * n / max(count - 1, 1))
    middle = 0.0 if low == 0 else 0.5 if high == 0.5 else (low + high) / 2
    gain = float(np.abs(np.sum(taps * np.exp(-2j * np.pi * middle * n))))
    made: Array = taps / gain
    return made


def rounded_taps(taps: Array) -> tuple[tuple[int, ...], int]:
    """Real taps as int16 and their fraction bits: as many as leave all sums in 32 bits. The rounded taps add up to
    the rounded sum of the real ones: the error goes to the largest."""
    total = float(np.abs(taps).sum())
    for fraction in range(15, -1, -1):
        whole = np.rint(taps * (1 << fraction)).astype(np.int64)
        whole[np.argmax(np.abs(whole))] += int(np.rint(taps.sum() * (1 << fraction))) - whole.sum()
        if np.abs(whole).max() < 1 << 15 and np.abs(whole).sum() < 65534:
            return tuple(whole.tolist()), fraction
    raise MoteError(f"taps that add up to {total:g} cannot be", where=WHERE, remedy="give taps of a smaller sum")


def butterworth(kind: str, low: float, high: float, order: int) -> list[Reals]:
    """A Butterworth filter of an order (a band-pass of twice that) by the bilinear transform, -3 dB at its edges:
    "low-pass" up to `high`, "high-pass" from `low`, "band-pass" between both, where a wide one is a high-pass and a
    low-pass. No section amplifies much of what passes."""
    if not 1 <= order <= MOST_ORDER:
        raise MoteError(f"order={order} cannot be", where=WHERE, remedy=f"take an order from 1 to {MOST_ORDER}")
    poles = [exp(1j * pi * (2 * k + order + 1) / (2 * order)) for k in range(order)]
    below, above = tan(pi * low), tan(pi * high)
    if kind == "low-pass":
        return [_section(pair, (-1, -1), 0.0) for pair in _pairs([above * p for p in poles])]
    if kind == "high-pass":
        return [_section(pair, (1, 1), 0.5) for pair in _pairs([below / p for p in poles])]
    if above > WIDE * below:
        return [*butterworth("high-pass", low, low, order), *butterworth("low-pass", high, high, order)]
    width, center = above - below, below * above
    roots = [((p * width / 2) ** 2 - center) ** 0.5 for p in poles]
    made = [p * width / 2 + sign * root for p, root in zip(poles, roots, strict=True) for sign in (1, -1)]
    sections = [_section(pair, (1, -1), atan(center**0.5) / pi) for pair in _pairs(made)]
    gain = prod(b0 ** (1 / order) for b0, *_ in sections)
    return [(gain, 0.0, -gain, a1, a2) for *_, a1, a2 in sections]


def notch(frequency: float, quality: float) -> list[Reals]:
    """A section that removes one frequency; its -3 dB points are frequency / quality apart."""
    gain, angle = 1 / (1 + tan(pi * frequency / quality)), 2 * pi * frequency
    return [(gain, -2 * cos(angle) * gain, gain, -2 * cos(angle) * gain, 2 * gain - 1)]


def _pairs(poles: list[complex]) -> list[tuple[complex, ...]]:
    """Poles of a digital filter from those of an analog one: conjugate ones two by two, real ones two by two or alone;
    those far from the unit circle first."""
    digital = [(1 + p) / (1 - p) for p in poles]
    above = sorted((p for p in digital if p.imag > NEAR), key=abs)
    real = sorted((complex(p.real) for p in digital if abs(p.imag) <= NEAR), key=abs)
    return [*(tuple(real[k : k + 2]) for k in range(0, len(real), 2)), *((p, p.conjugate()) for p in above)]


def _section(poles: tuple[complex, ...], zeros: tuple[int, int], middle: float) -> Reals:
    """The section with these poles and zeros, with a gain of 1 at a frequency."""
    a = np.real(np.poly(poles))
    b = np.poly(zeros[: len(poles)])
    z = exp(-2j * pi * middle)
    b = b * abs(np.polyval(a[::-1], z) / np.polyval(b[::-1], z))
    (b0, b1, b2), (a1, a2) = np.pad(b, (0, 3 - len(b))), np.pad(a[1:], (0, 3 - len(a)))
    return float(b0), float(b1), float(b2), float(a1), float(a2)


def rounded_sections(sections: list[Reals]) -> tuple[Section, ...]:
    """Sections with integer coefficients, whose zeros and gain at 0 Hz are those of the real ones."""
    made = []
    for section in sections:
        b0, b1, b2, a1, a2 = section
        if not _stable(a1, a2):
            raise MoteError("a section of the filter is not stable", where=WHERE, remedy="give poles inside |z| = 1")
        first, last, feedback = round(b0 * ONE), round(b2 * ONE), (round(a1 * ONE), round(a2 * ONE))
        total, whole = b0 + b1 + b2, ONE + sum(feedback)
        gain = total / (1 + a1 + a2)
        middle = round(gain * whole) - first - last if abs(total) > 1e-12 else -first - last
        if abs(b1 - a1) < 1e-15 and first == last:
            middle = feedback[0]
        whole_section = (first, middle, last, *feedback)
        _check(section, whole_section)
        made.append(whole_section)
    return tuple(made)


def _check(section: Reals, whole: Section) -> None:
    """Refuse coefficients that 32 bits do not hold, or not precisely enough."""
    b0, b1, b2, a1, a2 = rounded = tuple(c / ONE for c in whole)
    if not all(-2 <= c < 2 for c in (b0, b1, b2)) or sum(map(abs, rounded)) >= 8 - 2**-20:
        raise MoteError("coefficients of a section are too large", where=WHERE, remedy="scale b0, b1 and b2 down")
    if not _stable(a1, a2):
        raise _too_low()
    frequencies = np.concatenate([np.linspace(0, 0.5, 65), np.angle(np.roots([1, *section[3:]])) / (2 * pi)])
    ideal, real = (np.abs(response([s], frequencies)) for s in (section, (b0, b1, b2, a1, a2)))
    worst = max((abs(20 * log10(r / i)) for i, r in zip(ideal, real, strict=True) if i > 0.3 and r > 0), default=0)
    if worst > RIPPLE:
        raise _too_low()


def _too_low() -> MoteError:
    return MoteError("the cut-off is too low for the sample rate", where=WHERE, remedy="decimate before it")


def _stable(a1: float, a2: float) -> bool:
    return abs(a2) < 1 and abs(a1) < 1 + a2


def response(sections: list[Reals], frequencies: Array) -> Array:
    """The complex gain of sections at frequencies."""
    z = np.exp(-2j * np.pi * np.asarray(frequencies))
    gain = np.ones_like(z)
    for b0, b1, b2, a1, a2 in sections:
        gain *= (b0 + b1 * z + b2 * z**2) / (1 + a1 * z + a2 * z**2)
    return gain
