"""Operations that Vela does not use, or not so, in streams of the test's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.functional import execute
from mote.hardware.npu.stream import CommandStream, made

MACS = {"ethos-u55": 128, "ethos-u65": 256, "ethos-u85": 256}
Values = dict[str, int | dict[str, int | str]]


def command(core: str, name: str, value: int | dict[str, int | str]) -> Command:
    """A command whose fields have these values, or names of values."""
    one = Command(named(core)[name])
    for field in one.kind.fields:
        if isinstance(value, int):
            one = one.with_value(value, field.name)
        elif field.name in value:
            wanted = value[field.name]
            names = {said: number for number, said in (field.values or {}).items()}
            one = one.with_value(wanted if isinstance(wanted, int) else names[wanted], field.name)
    return one


def stream(core: str, *parts: Values) -> CommandStream:
    commands = [command(core, name, value) for part in parts for name, value in part.items()]
    return made(core, MACS[core], [*commands, command(core, "STOP", 0xFFFF)])


def feature_map(name: str, region: int, height: int, width: int, depth: int, size: int = 1) -> Values:
    """A map of one tile at the beginning of a region."""
    return {
        f"{name}_REGION": region,
        **{f"{name}_BASE{tile}": 0 for tile in range(4)},
        f"{name}_HEIGHT0_M1": height - 1,
        f"{name}_HEIGHT1_M1": height - 1,
        f"{name}_WIDTH0_M1": width - 1,
        f"{name}_STRIDE_Y": width * depth * size,
        f"{name}_STRIDE_X": depth * size,
        f"{name}_STRIDE_C": size,
        f"{name}_ZERO_POINT": 0,
    }


def shift_right(rounding: str, **changes: Any) -> Values:
    """32-bit numbers of region 0 shifted by those of region 1, to region 2: 2 x 3 x 4 of them."""
    bits: dict[str, int | str] = {"sign": "SIGNED", "bits": "32", "layout": "NHWC"}
    registers: Values = {
        **feature_map("IFM", 0, 2, 3, 4, 4),
        **feature_map("IFM2", 1, 2, 3, 4, 4),
        **feature_map("OFM", 2, 2, 3, 4, 4),
        "IFM_PRECISION": bits,
        "IFM2_PRECISION": bits,
        "OFM_PRECISION": {**bits, "round_mode": rounding},
        "IFM2_BROADCAST": 0,
        "IFM_DEPTH_M1": 3,
        "OFM_HEIGHT_M1": 1,
        "OFM_WIDTH_M1": 2,
        "OFM_DEPTH_M1": 3,
        "ACTIVATION": {"function": "RELU", "clip": "OFM"},
        "ACTIVATION_MIN": 0,
        "ACTIVATION_MAX": 0,
    }
    return {**registers, **changes, "ELEMENTWISE": {"mode": "SHR"}}


def areas(*arrays: NDArray[Any]) -> list[NDArray[np.uint8]]:
    return [np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy() for array in arrays]


@given(st.sampled_from(("DOUBLE", "TRUNCATE", "NATURAL")), st.integers(0, 1 << 30))
def test_shifts_round_in_every_mode(rounding: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, by = rng.integers(-(1 << 20), 1 << 20, 24, np.int32), rng.integers(0, 16, 24, np.int32)
    memory = areas(x, by, np.zeros(24, np.int32))
    execute(stream("ethos-u55", shift_right(rounding)), memory)
    exact = x / 2.0**by
    want = {
        "DOUBLE": np.copysign(np.floor(np.abs(exact) + 0.5), exact),
        "TRUNCATE": np.trunc(exact),
        "NATURAL": np.floor(exact + 0.5),
    }[rounding]
    assert np.array_equal(memory[2].view(np.int32), want)


def test_maps_of_four_tiles() -> None:
    """Rows and columns behind those of the first tile lie at other addresses, on the right with another height."""
    rng = np.random.default_rng(0)
    x = rng.integers(-1000, 1000, (2, 3, 4), np.int32)
    tiles: Values = {"OFM_WIDTH0_M1": 1, "OFM_HEIGHT0_M1": 0, "OFM_HEIGHT1_M1": 0}
    tiles |= {"OFM_STRIDE_Y": 32, "OFM_BASE1": 32, "OFM_BASE2": 64, "OFM_BASE3": 96}
    memory = areas(x, np.zeros(24, np.int32), np.zeros(28, np.int32))
    execute(stream("ethos-u55", shift_right("NATURAL", **tiles)), memory)
    got = memory[2].view(np.int32)
    for row, column, at in ((0, slice(0, 2), 0), (0, slice(2, 3), 8), (1, slice(0, 2), 16), (1, slice(2, 3), 24)):
        part = x[row, column].reshape(-1)
        assert np.array_equal(got[at : at + part.size], part)


def test_bounds_of_32_bit_outputs_count_where_they_are_forced() -> None:
    x = np.arange(-12, 12, dtype=np.int32) * 1000
    for clip, want in (("OFM", x), ("INT16", np.clip(x, -5000, 3000))):
        bounds = {
            "ACTIVATION": {"function": "RELU", "clip": clip},
            "ACTIVATION_MIN": 0x10000 - 5000,
            "ACTIVATION_MAX": 3000,
        }
        memory = areas(x, np.zeros(24, np.int32), np.zeros(24, np.int32))
        execute(stream("ethos-u65", shift_right("NATURAL", **bounds)), memory)
        assert np.array_equal(memory[2].view(np.int32), want)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"OFM_BASE0": 2}, "no multiples of 4"),
        ({"IFM_REGION": 5}, "no memory behind base pointer 5"),
        ({"OFM_STRIDE_Y": -48}, "which has 96"),
        ({"IFM_PRECISION": {"sign": "SIGNED", "bits": "64", "layout": "NHWC"}}, "elements of 64 bits"),
        ({"OFM_HEIGHT_M1": 65535, "OFM_WIDTH_M1": 65535}, "more than any device"),
    ],
)
def test_refusals(changes: Values, reason: str) -> None:
    memory = areas(*[np.zeros(24, np.int32)] * 3)
    with pytest.raises(MoteError, match=reason):
        execute(stream("ethos-u55", shift_right("NATURAL", **changes)), memory)


def test_registers_that_were_not_set_are_named() -> None:
    registers = {name: value for name, value in shift_right("NATURAL").items() if name != "OFM_DEPTH_M1"}
    with pytest.raises(MoteError, match="register OFM_DEPTH_M1 was not set"):
        execute(stream("ethos-u55", registers), areas(*[np.zeros(24, np.int32)] * 3))


def _gathered(**changes: Any) -> Values:
    """Rows of 3 bytes of region 0, by indices of region 1, to region 2."""
    registers: Values = {
        "DMA0_SRC_REGION": {"region": 0, "stride_mode": "2D", "indexed": 1},
        "DMA0_DST_REGION": {"region": 2},
        "DMA0_SRC": 1,
        "DMA0_DST": 0,
        "DMA0_LEN": 3,
        "DMA0_SIZE0": 4,
        "DMA0_SRC_STRIDE0": 5,
        "DMA0_DST_STRIDE0": 3,
        "DMA0_IDX_REGION": 1,
        "DMA0_IDX": 0,
        "DMA0_IDX_MAX": 6,
    }
    return {**registers, **changes, "DMA_START": 0}


def test_transfers_by_indices() -> None:
    rows, indices = np.arange(40, dtype=np.uint8), np.array([6, 0, 3, 3], np.int32)
    memory = areas(rows, indices, np.zeros(12, np.uint8))
    execute(stream("ethos-u85", _gathered()), memory)
    assert memory[2].tolist() == [int(5 * i + 1 + k) for i in indices for k in range(3)]
    memory = areas(rows, np.array([6, 7, 0, 0], np.int32), np.zeros(12, np.uint8))
    with pytest.raises(MoteError, match="index 7 is not from 0 to 6"):
        execute(stream("ethos-u85", _gathered()), memory)


def test_transfers_of_three_dimensions() -> None:
    planes: Values = {"DMA0_SRC_REGION": {"region": 0, "stride_mode": "3D"}, "DMA0_SIZE0": 2, "DMA0_SIZE1": 2}
    planes |= {"DMA0_SRC_STRIDE1": 20, "DMA0_DST_STRIDE1": 6}
    memory = areas(np.arange(40, dtype=np.uint8), np.zeros(0, np.uint8), np.zeros(12, np.uint8))
    execute(stream("ethos-u85", _gathered(**planes)), memory)
    assert memory[2].tolist() == [1, 2, 3, 6, 7, 8, 21, 22, 23, 26, 27, 28]
