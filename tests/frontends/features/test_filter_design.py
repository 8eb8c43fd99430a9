"""Designed filters against SciPy's, and what integers make of them."""

from __future__ import annotations

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.frontends.features.filter_design import (
    ONE,
    butterworth,
    notch,
    response,
    rounded_sections,
    rounded_taps,
    sinc,
)

FREQUENCIES = np.linspace(0, 0.5, 257)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("edges", [(0.01, 0.1), (0.2, 0.24), (0.02, 0.25)])
def test_butterworth_filters_are_scipys(order: int, edges: tuple[float, float]) -> None:
    scipy = pytest.importorskip("scipy.signal")
    low, high = edges
    for kind, name, at in (("low-pass", "low", high), ("high-pass", "high", low), ("band-pass", "band", edges)):
        wanted = scipy.sosfreqz(scipy.butter(order, 2 * np.array(at), name, output="sos"), 2 * np.pi * FREQUENCIES)[1]
        made = butterworth(kind, low, high, order)
        wide = kind == "band-pass" and np.tan(np.pi * high) > 16 * np.tan(np.pi * low)
        np.testing.assert_allclose(np.abs(response(made, FREQUENCIES)), np.abs(wanted), atol=0.06 if wide else 1e-9)
        rounded = [tuple(c / ONE for c in section) for section in rounded_sections(made)]
        np.testing.assert_allclose(
            np.abs(response(rounded, FREQUENCIES)), np.abs(response(made, FREQUENCIES)), atol=1e-4
        )


def test_notches_are_scipys() -> None:
    scipy = pytest.importorskip("scipy.signal")
    for frequency, quality in ((0.05, 30), (0.125, 5), (0.4, 100)):
        b, a = scipy.iirnotch(frequency, quality, fs=1)
        np.testing.assert_allclose(notch(frequency, quality)[0], (*b, *a[1:]), atol=1e-12)


@pytest.mark.parametrize("count", [1, 31, 64, 257])
def test_sinc_filters_are_scipys(count: int) -> None:
    scipy = pytest.importorskip("scipy.signal")
    np.testing.assert_allclose(sinc(0, 0.1, count), scipy.firwin(count, 0.2), atol=1e-12)
    if count % 2 and count > 1:
        np.testing.assert_allclose(sinc(0.1, 0.5, count), scipy.firwin(count, 0.2, pass_zero=False), atol=1e-12)
        np.testing.assert_allclose(sinc(0.1, 0.2, count), scipy.firwin(count, (0.2, 0.4), pass_zero=False), atol=1e-12)


def test_rounded_filters_keep_their_gain_at_zero_hertz() -> None:
    for kind, gain in (("low-pass", 1), ("high-pass", 0), ("band-pass", 0)):
        for b0, b1, b2, a1, a2 in rounded_sections(butterworth(kind, 0.003, 0.004, 3)):
            assert b0 + b1 + b2 == gain * (ONE + a1 + a2)
    ((b0, b1, b2, a1, _),) = rounded_sections(notch(0.05, 30))
    assert b0 == b2 and b1 == a1
    taps, fraction = rounded_taps(sinc(0, 0.1, 63))
    assert sum(taps) == 1 << fraction == 1 << 15


def test_taps_of_any_size_have_a_fraction() -> None:
    assert rounded_taps(np.array([1.0])) == ((1 << 14,), 14)
    assert rounded_taps(np.array([1.0, -31 / 32])) == ((1 << 14, -31 << 9), 14)
    taps, fraction = rounded_taps(np.full(7, 100.0))
    assert taps == (100 << fraction,) * 7
    with pytest.raises(MoteError, match="cannot be"):
        rounded_taps(np.full(7, 10000.0))


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ([(1.0, 0.0, 0.0, -2.0, 1.0)], "not stable"),
        ([(2.5, 0.0, 0.0, 0.0, 0.0)], "too large"),
        (butterworth("low-pass", 3e-6, 3e-6, 2), "too low for the sample rate"),
    ],
)
def test_what_32_bits_do_not_hold_is_refused(sections: list[tuple[float, ...]], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        rounded_sections(sections)  # type: ignore[arg-type]
