"""WAV files: as Python's own module writes them, as others do, and damaged."""

from __future__ import annotations

import io
import struct
import wave
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.frontends.data.readers.sounds import sound

RNG = np.random.default_rng(0)


def written(samples: bytes, channels: int = 1, width: int = 2, rate: int = 16000) -> bytes:
    """A file of Python's."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(width)
        out.setframerate(rate)
        out.writeframes(samples)
    return file.getvalue()


def chunked(form: bytes, data: bytes, before: bytes = b"") -> bytes:
    """A file of these parts."""
    body = b"WAVE" + before
    for kind, part in ((b"fmt ", form), (b"data", data)):
        body += kind + struct.pack("<I", len(part)) + part + bytes(len(part) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def form(code: int = 1, channels: int = 1, bits: int = 16, rate: int = 8000) -> bytes:
    block = channels * bits // 8
    return struct.pack("<HHIIHH", code, channels, rate, rate * block, block, bits)


GOOD = written(np.arange(-50, 50, dtype="<i2").tobytes())


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_samples_of_every_width(width: int, channels: int) -> None:
    """Byte by byte what they stand for: 8 bits have no sign, more have one."""
    raw = RNG.integers(0, 256, 30 * channels * width, np.uint8).tobytes()
    found = sound(written(raw, channels, width, 22050), "x.wav")
    whole = [int.from_bytes(raw[i : i + width], "little", signed=width > 1) for i in range(0, len(raw), width)]
    middle = 128 if width == 1 else 0
    want = np.array([(n - middle) / 2 ** (8 * width - 1) for n in whole], np.float32)
    np.testing.assert_array_equal(found.values, want if channels == 1 else want.reshape(-1, channels))
    assert found.rate == 22050 and found.period == 1 / 22050
    assert found.values.dtype == np.float32 and np.abs(found.values).max() <= 1


def test_real_numbers_and_extensible_formats() -> None:
    reals = RNG.normal(size=20).astype("<f4")
    np.testing.assert_array_equal(sound(chunked(form(3, bits=32), reals.tobytes()), "x").values, reals)
    extended = form(0xFFFE, bits=24) + struct.pack("<HHI", 22, 24, 0) + struct.pack("<H", 1) + bytes(14)
    found = sound(chunked(extended, b"\0\0\x40" * 5, before=b"LIST\3\0\0\0abc\0"), "x")
    assert found.values.tolist() == [0.5] * 5


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "does not begin"),
    "text": (b"no sound at all", "does not begin"),
    "only the beginning": (GOOD[:12], "no format or no samples"),
    "no samples": (chunked(form(), b""), "has no samples"),
    "cut off": (GOOD[:-10], "cut off: 200 bytes are announced, 190 are there"),
    "huge": (GOOD[:40] + b"\xff\xff\xff\xff" + GOOD[44:], "cut off: 4,294,967,295 bytes"),
    "half a sample": (chunked(form(), b"abc"), "last sample is cut off"),
    "half a frame": (chunked(form(channels=2), b"ab"), "last sample is cut off"),
    "a short format": (chunked(form()[:10], b"abcd"), "format is cut off"),
    "compressed": (chunked(form(code=2, bits=4), b"abcd"), "4-bit samples of the format 2"),
    "12 bits": (chunked(form(bits=12), b"abcd"), "12-bit samples"),
    "no channels": (chunked(form(channels=0), b"abcd"), "0 channels"),
    "many channels": (chunked(form(channels=9999, bits=8), b"abcd"), "9999 channels"),
    "no rate": (chunked(form(rate=0), b"abcd"), "0 samples a second"),
    "another block": (chunked(form()[:12] + b"\7\0" + form()[14:], b"abcd"), "7 bytes each"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_none(name: str) -> None:
    data, said = BAD[name]
    with pytest.raises(MoteError, match=said) as error:
        sound(data, "x.wav")
    assert error.value.where == "x.wav" and error.value.remedy


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4), st.integers(0, len(GOOD)))
@example([], len(GOOD))
def test_damaged_bytes(changes: list[tuple[int, int]], length: int) -> None:
    """Whatever a file says, it is a sound or an error."""
    damaged = bytearray(GOOD)
    for at, value in changes:
        damaged[at] = value
    try:
        found: Any = sound(bytes(damaged[:length]), "x.wav")
    except MoteError:
        return
    assert 0 < found.values.size <= length and found.rate > 0
