"""Signal operators that keep samples between inferences, against TFLite Micro, step after step."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.limits import TooLargeError
from mote.ir.graph.tensor import Shape
from tests.helpers.support import examples
from tests.ir.ops.signal.signal_models import Front, needs_micro, over_time, single


@needs_micro
@settings(max_examples=examples(24), deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from([(), (1,), (2,), (2, 3)]),
    st.integers(0, 99),
)
def test_frames(size: int, step: int, frames: int, outer: Shape, seed: int) -> None:
    front, rng = Front(), np.random.default_rng(seed)
    shape = (*outer, frames * step)
    x = front.input(shape)
    front.framer(x, shape, size, step, prefill=size >= step and seed % 2 == 0)
    front.delay(x, shape, int(rng.integers(0, 20)))
    for dtype in ("int16", "float32"):
        whole = (*outer, frames, size)
        front.overlap_add(front.input(whole, dtype), whole, min(step, size), dtype)
    left, right = (int(n) for n in rng.integers(0, 4, 2))
    front.stacker(front.input((size,)), size, left, right, int(rng.integers(1, left + right + 2)))
    over_time(front.finish(), 14, seed)


STACK: Mapping[str, int] = {"stacker_left_context": 1, "stacker_right_context": 1, "stacker_step": 1, "num_channels": 4}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            single("SignalFramer", (8,), [((3, 4), "int16"), ((), "bool")], frame_size=4, frame_step=3, prefill=True),
            "frames of 4 samples every 3 do not fit a signal of the shape (8,)",
        ),
        (
            single("SignalFramer", (8,), [((2, 3), "int16"), ((), "bool")], frame_size=3, frame_step=4, prefill=True),
            "frames of 3 samples every 4 do not fit a signal of the shape (8,)",
        ),
        (
            single("SignalFramer", (8,), [((2, 4), "int16"), ((1,), "bool")], frame_size=4, frame_step=4, prefill=True),
            "output 1 has the shape (1,), it must be a boolean scalar",
        ),
        (
            single("SignalFramer", (8,), [((2, 4), "int16"), ((), "int8")], frame_size=4, frame_step=4, prefill=True),
            "int8 output is not supported (only bool)",
        ),
        (
            single("SignalFramer", (8,), [((2, 4), "int16")], frame_size=4, frame_step=4, prefill=True),
            "has 1 inputs and 1 outputs, which its operator does not take",
        ),
        (
            single(
                "SignalFramer", (8,), [((2, 4), "int16"), ((), "bool")], frame_size=1 << 30, frame_step=4, prefill=True
            ),
            "frames of 1073741824 samples every 4 do not fit a signal of the shape (8,)",
        ),
        (
            single("SignalDelay", (8,), [((8,), "int16")], delay_length=-1),
            "a delay of -1 does not fit a signal of the shape (8,)",
        ),
        (
            single("SignalDelay", (8,), [((8,), "int32")], delay_length=2),
            "int16 input with int32 output is not supported (only int16)",
        ),
        (single("SignalDelay", (8,), [((8,), "int16")]), "the option delay_length is missing"),
        (
            single("SignalDelay", (9000, 8), [((9000, 8), "int16")], delay_length=1 << 23),
            "has 75,497,472,000 elements, more than 8,388,608",
        ),
        (
            single("SignalOverlapAdd", (2, 4), [((10,), "int16")], T=7, frame_step=5),
            "frames of the shape (2, 4) every 5 samples do not overlap",
        ),
        (
            single("SignalOverlapAdd", (4,), [((4,), "int16")], T=7, frame_step=2),
            "frames of the shape (4,) every 2 samples do not overlap",
        ),
        (
            single("SignalOverlapAdd", (2, 4), [((4,), "int32")], "int32", T=2, frame_step=2),
            "int32 input with int32 output is not supported (only int16, float32)",
        ),
        (
            single("SignalStacker", (4,), [((12,), "int16"), ((), "bool")], **{**STACK, "stacker_step": 0}),
            "stacks of 1 and 1 frames of 4 around one, every 0, do not fit 4 channels",
        ),
        (
            single("SignalStacker", (4,), [((12,), "int16"), ((), "bool")], **{**STACK, "stacker_step": 4}),
            "stacks of 1 and 1 frames of 4 around one, every 4, do not fit 4 channels",
        ),
        (
            single("SignalStacker", (4,), [((8,), "int16"), ((), "bool")], **STACK),
            "the output has the shape (8,), which should be (12,)",
        ),
        (
            single("SignalStacker", (4,), [((12,), "int16"), ((), "bool")], **{**STACK, "num_channels": 3}),
            "stacks of 1 and 1 frames of 3 around one, every 1, do not fit 4 channels",
        ),
        (
            single("SignalFilterBankSpectralSubtraction", (4,), [((4,), "uint32")] * 2, "uint32", num_channels=4),
            "the option spectral_subtraction_bits is missing",
        ),
    ],
)
def test_errors(data: bytes, error: str) -> None:
    with pytest.raises((UnsupportedError, TooLargeError), match=re.escape(error)):
        tflite.parse(data, "model")
