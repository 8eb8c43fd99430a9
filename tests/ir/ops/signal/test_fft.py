"""SignalRfft and SignalIrfft of any length and type, against TFLite Micro."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.ir.graph.tensor import Shape
from mote.ir.ops.features.real_fft import radices
from tests.helpers.support import examples
from tests.ir.ops.signal.signal_models import Front, needs_micro, over_time, single


@needs_micro
@settings(max_examples=examples(24), deadline=None)
@given(
    st.sampled_from([n for n in range(4, 200, 2) if radices(n // 2)]),
    st.sampled_from(["int16", "int32", "float32"]),
    st.sampled_from([(), (1,), (3,), (2, 2)]),
    st.integers(0, 100),
)
def test_transforms(length: int, dtype: str, outer: Shape, short: int) -> None:
    front = Front()
    x = front.input((*outer, max(1, length - short)), dtype)
    front.irfft(front.rfft(x, outer, length, dtype), outer, length, dtype)
    front.irfft(front.input((*outer, length + 2), dtype), outer, length, dtype)
    over_time(front.finish(), 7, short, small=short % 2 == 0)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            single("SignalRfft", (14,), [((16,), "int16")], T=7, fft_length=14),
            "a transform of 14 is not supported (only 4 to 65536: 2 times powers of 2, 3 and 5)",
        ),
        (
            single("SignalRfft", (2,), [((4,), "int16")], T=7, fft_length=2),
            "a transform of 2 is not supported (only 4 to 65536: 2 times powers of 2, 3 and 5)",
        ),
        (
            single("SignalRfft", (8,), [((10,), "int16")], T=2, fft_length=8),
            "the option T has the type 2, the input is int16",
        ),
        (
            single("SignalRfft", (9,), [((10,), "int16")], T=7, fft_length=8),
            "a transform of 8 of an input of (9,) does not have the output (10,)",
        ),
        (
            single("SignalRfft", (8,), [((10,), "int8")], T=7, fft_length=8),
            "int16 input with int8 output is not supported (only int16, int32 and float32)",
        ),
        (
            single("SignalRfft", (8,), [((10,), "uint8")], "uint8", fft_length=8),
            "uint8 input with uint8 output is not supported (only int16, int32 and float32)",
        ),
        (
            single("SignalIrfft", (8,), [((8,), "int16")], T=7, fft_length=8),
            "a transform of 8 of an input of (8,) does not have the output (8,)",
        ),
    ],
)
def test_errors(data: bytes, error: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(error)):
        tflite.parse(data, "model")
