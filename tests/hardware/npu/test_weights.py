"""Compressed weights are decoded as Arm's own codec decodes them, and damaged ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu import weights

codec = pytest.importorskip("ethosu.mlw_codec", reason="ethos-u-vela is not installed")


@st.composite
def sequences(draw: st.DrawFn) -> NDArray[np.int16]:
    """Weights like those of networks, of few values, of mostly zeros, or of pieces that differ: each is coded in
    another way, and pieces make slices with palettes of their own."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.sampled_from((1, 7, 12, 100, 3000)))
        kind = draw(st.sampled_from(("any", "bell", "few", "sparse", "constant")))
        piece = {
            "any": lambda size: random.integers(-255, 256, size),
            "bell": lambda size: np.clip(np.round(random.normal(0, random.integers(1, 60), size)), -255, 255),
            "few": lambda size: random.choice(random.integers(-255, 256, random.integers(2, 40)), size),
            "sparse": lambda size: random.integers(-255, 256, size) * (random.random(size) < 0.1),
            "constant": lambda size: np.full(size, random.integers(-255, 256)),
        }[kind](size)
        pieces.append(piece.astype(np.int16))
    return np.concatenate(pieces)


@given(sequences())
def test_weights_come_back(sequence: NDArray[np.int16]) -> None:
    packed = bytes(codec.encode(sequence.tolist()))
    assert weights.decode(packed).tolist() == sequence.tolist()
    assert weights.decode(packed + b"\xff" * 16).tolist() == sequence.tolist()


def test_streams_behind_one_another_are_decoded() -> None:
    first, second = [3, 3, -7, 0, 0, 255], [0] * 40 + [1]
    packed = bytes(codec.encode(first)) + b"\xff" * 5 + bytes(codec.encode(second))
    assert weights.decode(packed).tolist() == first + second
    assert weights.decode(b"").size == 0
    assert weights.decode(b"\xff" * 32).size == 0


@given(sequences(), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3), st.integers(0, 20))
def test_damaged_weights_are_refused_or_decoded(
    sequence: NDArray[np.int16], changes: list[tuple[int, int]], missing: int
) -> None:
    packed = bytearray(codec.encode(sequence.tolist()))
    for place, value in changes:
        packed[place % len(packed)] = value
    try:
        decoded = weights.decode(bytes(packed[: max(0, len(packed) - missing)]))
    except MoteError as error:
        assert "byte" in error.where
        assert error.remedy
    else:
        assert decoded.size <= 64 * 8 * len(packed)
        assert np.abs(decoded.astype(int)).max(initial=0) <= 255


@given(st.binary(max_size=100))
def test_arbitrary_bytes_are_refused_or_decoded(data: bytes) -> None:
    for decode in (weights.decode, weights.decode_fast):
        try:
            decode(data)
        except MoteError as error:
            assert "byte" in error.where


@pytest.mark.parametrize(
    ("bits", "reason"),
    [
        ([(4, 3)], "zero runs have no divisor 4"),
        ([(6, 3), (0, 15), (0, 3), (0, 1), (0, 1), (0, 9)], "no palette"),
        ([(6, 3), (0, 15), (6, 3), (0, 1), (1, 1), (0, 13)], "weights have no divisor 6"),
        ([(6, 3), (99, 15), (7, 3), (0, 1), (1, 1), (0, 10), (7, 3)], "ends in the middle"),
        (
            [(6, 3), (0, 15), (7, 3), (0, 1), (1, 1), (31, 5), (0, 5), (7, 3), (511, 9), (7, 3)],
            "value 542 has more than 9 bits",
        ),
        (
            [(6, 3), (0, 15), (7, 3), (0, 1), (1, 1), (0, 5), (0, 5), (0, 3), (1, 2), (0, 3), (0, 15), (0, 20)],
            "zero runs begin or end without a new palette",
        ),
    ],
)
def test_slices_that_the_hardware_cannot_decode_are_refused(bits: list[tuple[int, int]], reason: str) -> None:
    total = place = 0
    for value, width in bits:
        total |= value << place
        place += width
    with pytest.raises(MoteError, match=reason):
        weights.decode(total.to_bytes(-(-place // 8), "little"))


def _fast(raw: int, small: int, adjust: int, table: list[int], body: bytes) -> bytes:
    header = raw | small << 1 | (adjust & 0xFF) << 104
    for index, value in enumerate(table):
        header |= (2 * abs(value) + (value < 0)) << 112 + 9 * index
    return header.to_bytes(32, "little") + body


def test_the_fast_format_is_decoded() -> None:
    table = [0, -1, 255, -255, *range(5, 17)]
    assert weights.decode_fast(_fast(1, 0, -3, [], bytes([0x80, 0x7F, *range(14)]))).tolist() == [
        -125,
        130,
        *range(3, 17),
    ]
    assert weights.decode_fast(_fast(0, 1, 0, table, bytes([0b11100100] + [0] * 15))).tolist()[:5] == [*table[:4], 0]
    assert weights.decode_fast(_fast(0, 0, 0, table, bytes([0x1F] + [0] * 15))).tolist()[:3] == [16, -1, 0]
    for data, reason in ((b"", "are no weights"), (_fast(1, 1, 0, [], b""), "either in a table or not")):
        with pytest.raises(MoteError, match=reason):
            weights.decode_fast(data)


@pytest.mark.parametrize(("bits", "scale", "size"), [(40, 0xFFFFFFFF, 5), (32, 0x7FFFFFFF, 4), (48, 0x7FFF, 6)])
def test_biases_and_scales_are_decoded(bits: int, scale: int, size: int) -> None:
    low = -(1 << bits - 1)
    stored = b"".join(
        ((value & (1 << bits) - 1) | scale << 8 * size).to_bytes(9 if bits == 40 else 8, "little")
        + bytes([33] if bits == 40 else [33, 0])
        for value in (low, -low - 1, 7)
    )
    biases, scales, shifts = weights.records(stored, bits)
    assert biases.tolist() == [low, -low - 1, 7]
    assert scales.tolist() == [scale] * 3
    assert shifts.tolist() == [33] * 3
    with pytest.raises(MoteError, match="no records of 10 bytes"):
        weights.records(stored[1:], bits)
