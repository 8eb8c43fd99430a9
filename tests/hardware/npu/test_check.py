"""Footprints of command streams: the memory that Vela lays out, and the verdicts of the checker on the device."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest

from mote.base.errors import MoteError
from mote.hardware.npu.check import INTERNAL, Footprint, MemorySpan, check
from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.stream import CommandStream, decode, made
from tests.hardware.npu.checker import Status, decided
from tests.hardware.npu.compiled import Compiled, compiled
from tests.hardware.npu.mutate import mutant, short_stream
from tests.helpers.support import examples

CORES = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-256", "ethos-u65-512")
NEWEST = ("ethos-u85-128", "ethos-u85-1024")
MEMORY = (4096, 4096, 4096)


def footprint(part: Compiled) -> Footprint:
    return check(decode(part.payload), part.sizes, part.writable)


@pytest.mark.parametrize("core", CORES + NEWEST)
@pytest.mark.parametrize("model", ["digits", "keywords"])
def test_streams_of_vela_touch_all_of_their_memory(model: str, core: str) -> None:
    for part in compiled(model, core):
        touched = footprint(part)
        padding = 128 if "u85" in core else 16
        for base, size in enumerate(part.sizes):
            used = max(touched.read(base)[1], touched.written(base)[1])
            assert size - padding < used <= size or (base == 2 and "u55" in core), f"base pointer {base}"
        assert touched.written(0) == (0, 0)
        first, end = touched.written(INTERNAL)
        assert 0 <= first < end, "tables of softmax"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", CORES + NEWEST)
def test_verdicts_about_mutants_are_those_of_the_device(core: str) -> None:
    part = compiled("digits", core)[0]
    chance = random.Random(core)
    made_for = core.rpartition("-")[0]
    verdicts = [
        agreed(mutant(part.payload, chance), part.sizes, part.writable, made_for) for _ in range(examples(20_000, 120))
    ]
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.6


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["ethos-u55", "ethos-u65", "ethos-u85"])
def test_verdicts_about_short_streams_are_those_of_the_device(core: str) -> None:
    chance = random.Random(core)
    verdicts = []
    for _ in range(examples(100_000, 600)):
        sizes = [chance.choice((0, 512, 1024, 4096)) for _ in range(3)]
        writable = [chance.random() < 0.8 for _ in range(3)]
        verdicts.append(agreed(short_stream(core, chance).encode(), sizes, writable, core))
    assert 0.05 < sum(verdicts) / len(verdicts) < 0.7


def agreed(payload: bytes, sizes: Sequence[int], writable: Sequence[bool], core: str) -> bool:
    """Whether a payload is good, which both must say, and of a bad one the same byte if it can be decoded."""
    status, at = decided(payload, sizes, writable, core)
    try:
        stream = decode(payload)
    except MoteError:
        assert status is not Status.OK
        return False
    if stream.form == "COP2" or (stream.config.core == "ethos-u85") != (core == "ethos-u85"):
        assert status in (Status.PAYLOAD, Status.CORE)
        return False
    try:
        check(stream, sizes, writable)
    except MoteError as error:
        assert status is not Status.OK, error
        assert error.remedy
        place = re.search(r"byte (\d+)$", error.where)
        assert place is not None and int(place[1]) == at, f"{error}, but {status.name} at {at}"
        return False
    assert status is Status.OK
    return True


def test_short_streams_of_the_newest_are_checked_or_refused() -> None:
    chance = random.Random(85)
    good = 0
    for _ in range(examples(50_000, 300)):
        stream = decode(short_stream("ethos-u85", chance).encode())
        try:
            touched = check(stream, MEMORY, (True,) * 3)
        except MoteError as error:
            assert error.remedy and "byte" in error.where
            continue
        good += 1
        for operation in touched.operations:
            for span in (*operation.reads, *operation.writes):
                assert 0 <= span.first <= span.end <= (2048 if span.base == INTERNAL else 4096)
    assert good > 10


def stream_of(core: str, registers: dict[str, int], work: Command | str) -> CommandStream:
    kinds = named(core)
    set_ = [Command(kinds[name]).with_value(value) for name, value in registers.items()]
    last = Command(kinds[work]) if isinstance(work, str) else work
    return made(core, 128, [*set_, last, Command(kinds["STOP"], 0xFFFF)])


def test_gathers_of_the_newest_reach_as_far_as_the_largest_index() -> None:
    kinds = named("ethos-u85")
    said = {
        "DMA0_SRC": 64,
        "DMA0_DST": 0,
        "DMA0_LEN": 16,
        "DMA0_SIZE0": 3,
        "DMA0_SRC_STRIDE0": 16,
        "DMA0_DST_STRIDE0": 32,
        "DMA0_IDX_REGION": 2,
        "DMA0_IDX": 8,
        "DMA0_IDX_MAX": 9,
    }
    base = stream_of("ethos-u85", said, "DMA_START")
    source = Command(kinds["DMA0_SRC_REGION"]).with_value(1, "stride_mode").with_value(1, "indexed")
    target = Command(kinds["DMA0_DST_REGION"]).with_value(1, "region")
    stream = base.with_commands([source, target, *base.commands])
    touched = check(stream, (224, 80, 20), (False, True, False)).operations[0]
    assert touched.reads == (MemorySpan(0, 64, 224, "DMA0_SRC"), MemorySpan(2, 8, 20, "DMA0_IDX"))
    assert touched.writes == (MemorySpan(1, 0, 80, "DMA0_DST"),)
    with pytest.raises(MoteError, match="DMA0_SRC has bytes 64 to 224 of base pointer 0, which has 223 bytes"):
        check(stream, (223, 80, 20), (False, True, False))


def test_branches_and_interrupts_are_refused() -> None:
    for core, name in (("ethos-u85", "BRANCH"), ("ethos-u55", "IRQ")):
        with pytest.raises(MoteError, match=r"branch|interrupt"):
            check(stream_of(core, {}, name), (), ())


def test_the_last_command_stops_the_npu() -> None:
    stream = made("ethos-u55", 128, [])
    with pytest.raises(MoteError, match="no command stops the NPU"):
        check(stream, (), ())
    stop = stream.command("STOP", 0xFFFF)
    assert check(stream.with_commands([stop]), (), ()) == Footprint(())
    with pytest.raises(MoteError, match="8 base pointers"):
        check(stream.with_commands([stop]), (0,) * 9, ())
