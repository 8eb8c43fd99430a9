"""Signal operators that keep nothing between inferences, against TFLite Micro, tensor by tensor."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.execute import reference
from mote.frontends import tflite
from mote.ir.ops.signal.audio_stateless import square_roots
from tests.helpers.support import examples, tflite_micro
from tests.ir.ops.signal.signal_models import Front, needs_micro, over_time, single


@needs_micro
@settings(max_examples=examples(18), deadline=None)
@given(st.integers(1, 20), st.integers(1, 3), st.integers(0, 31), st.integers(0, 100))
def test_samples(size: int, vectors: int, shift: int, seed: int) -> None:
    front, rng = Front(), np.random.default_rng(seed)
    windows = rng.integers(-(1 << 15), 1 << 15, size).astype(np.int16)
    front.window(front.input((vectors, size)), (vectors, size), windows, shift)
    scaled, _ = front.auto_scale(front.input((2 * size,)), 2 * size)
    front.energy(scaled, size, int(rng.integers(0, size + 1)) if seed % 2 else 0)
    over_time(front.finish(), 9, seed, small=True)


@needs_micro
@pytest.mark.parametrize("values", [[-32768, 5], [-32768, -5], [-32768, -5, 3, -9], [7, -32768], [0, 0], [-32768] * 2])
def test_the_lowest_sample(values: list[int]) -> None:
    """Its absolute value has no 16 bits, and what TFLite Micro makes of it depends on what comes after it."""
    front = Front()
    x = front.input((len(values),))
    front.auto_scale(x, len(values))
    data = front.finish()
    g = tflite.parse(data, "model")
    case = {x: np.array(values, np.int16)}
    with tflite_micro():
        want, got = reference.micro(data, g)(case), g.evaluate(case)
        assert want is not None and all(np.array_equal(want[t].reshape(got[t].shape), got[t]) for t in g.outputs)


@needs_micro
@settings(max_examples=examples(18), deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=9), st.integers(0, 31), st.integers(0, 200))
def test_channels(widths: list[int], shift: int, seed: int) -> None:
    front, rng, n = Front(), np.random.default_rng(seed), len(widths) - 1
    widths = [*widths[:-1], widths[-1] + 1]
    front.filter_bank(front.input((sum(widths),), "uint32"), widths, seed)
    wide = front.input((n,), "uint64")
    front.square_root(wide, front.input((), "int32") if seed % 3 else front.const(np.int32(shift)), n)
    x = front.input((n,), "uint32")
    changes = {"clamping": bool(seed % 2), "smoothing_bits": int(rng.integers(0, 20))}
    if seed % 5 == 0:
        changes |= {"smoothing": -1, "one_minus_smoothing": (1 << 31) - 1, "spectral_subtraction_bits": shift}
    clean, noise = front.subtraction(x, n, **changes)
    gained = front.pcan(clean, noise, n, shift, seed)
    front.log(gained, n, int(rng.integers(0, 1 << 16)), int(rng.integers(0, 20)))
    front.log(x, n, int(rng.choice([1, 1600, -5, 1 << 30])), shift)
    over_time(front.finish(), 10, seed, small=bool(seed % 4))


def test_square_roots() -> None:
    squares = [n * n + k for n in (3, 0xFFFE, 1 << 20, (1 << 32) - 2) for k in (-1, 0, n, n + 1, 2 * n)]
    for n in (*range(70), 0xFFFFFFFF, 0xFFFE0001, 1 << 32, (1 << 32) + (1 << 17), (1 << 64) - 1, *squares):
        root = math.isqrt(n)
        exact = min(root + (n - root * root > root), 0xFFFFFFFF)
        assert square_roots(np.array([n], np.uint64)) == (0xFFFF if 0xFFFF0000 < n < 1 << 32 else exact)


def test_channels_that_reach_outside() -> None:
    front = Front()
    front.filter_bank(front.input((9,), "uint32"), [4, 6])
    with pytest.raises(UnsupportedError, match="reaches outside"):
        tflite.parse(front.finish(), "model")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            single("SignalEnergy", (8,), [((4,), "uint32")], start_index=0, end_index=5),
            "bins 0 to 5 do not fit (8,) and (4,)",
        ),
        (
            single("SignalEnergy", (8,), [((4,), "int32")], start_index=0, end_index=4),
            "int32 output is not supported (only uint32)",
        ),
        (
            single("SignalEnergy", (8,), [((4,), "uint32")], start_index=-1, end_index=4),
            "bins -1 to 4 do not fit (8,) and (4,)",
        ),
        (
            single("SignalFilterBankLog", (4,), [((4,), "int16")], "uint32", output_scale=1, input_correction_bits=32),
            "the option input_correction_bits is 32, it is from 0 to 31",
        ),
        (
            single("SignalFilterBankLog", (4,), [((4,), "int16")], "uint32", output_scale=1),
            "the option input_correction_bits is missing",
        ),
        (
            single("SignalFilterBankLog", (4,), [((4,), "int16")], "int32", output_scale=1, input_correction_bits=2),
            "int32 input 0 is not supported (only uint32)",
        ),
        (
            single("SignalFftAutoScale", (4, 1), [((4, 1), "int16"), ((), "int32")]),
            "tensor 'x1' has the shape (4, 1), it should have one axis",
        ),
        (
            single("SignalWindow", (4,), [((4,), "int16")], shift=3),
            "has 1 inputs and 1 outputs, which its operator does not take",
        ),
        (
            single("SignalPCAN", (4,), [((4,), "uint32")], "uint32", snr_shift=3),
            "has 1 inputs and 1 outputs, which its operator does not take",
        ),
        (
            single("SignalFilterBank", (4,), [((4,), "uint64")], "uint32", num_channels=4),
            "has 1 inputs and 1 outputs, which its operator does not take",
        ),
        (
            single("SignalFilterBankSquareRoot", (4,), [((4,), "uint32")], "uint64"),
            "has 1 inputs and 1 outputs, which its operator does not take",
        ),
    ],
)
def test_errors(data: bytes, error: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(error)):
        tflite.parse(data, "model")
