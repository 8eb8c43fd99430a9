"""Command streams wait for the transfers and operations whose bytes they need."""

from __future__ import annotations

import pytest

from mote.base.errors import MoteError
from mote.hardware.npu.check import check
from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.hazards import check_order, judge
from mote.hardware.npu.stream import CommandStream, decode, made
from tests.hardware.npu.compiled import compiled

CORES = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-256", "ethos-u65-512", "ethos-u85-128", "ethos-u85-1024")
WAITS = ("DMA_WAIT", "KERNEL_WAIT")


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("model", ["digits", "keywords"])
def test_streams_of_vela_wait_where_they_must(model: str, core: str) -> None:
    """Without any one of their waits they are refused, but for one of softmax on Ethos-U85 that nothing needs."""
    for part in compiled(model, core):
        stream = decode(part.payload)
        judge(stream, part.sizes, part.writable)
        waits = [n for n, command in enumerate(stream.commands) if command.name in WAITS]
        good = 0
        for n in waits:
            less = stream.with_commands([*stream.commands[:n], *stream.commands[n + 1 :]])
            check(less, part.sizes, part.writable)
            try:
                judge(less, part.sizes, part.writable)
                good += 1
            except MoteError as error:
                assert "may not have done with" in error.reason and error.remedy
        assert len(waits) > 2 and good <= ("u85" in core)


def transfers(core: str, places: list[tuple[int, int]], wait: int | None = None) -> CommandStream:
    """Transfers of 16 bytes from one place of base pointer 0 to another, with a wait before the last one."""
    kinds = named(core)
    commands = [Command(kinds["DMA0_SRC_REGION"]), Command(kinds["DMA0_DST_REGION"])]
    commands.append(Command(kinds["DMA0_LEN"]).with_value(16))
    for number, (source, target) in enumerate(places):
        commands.append(Command(kinds["DMA0_SRC"]).with_value(source))
        commands.append(Command(kinds["DMA0_DST"]).with_value(target))
        if wait is not None and number == len(places) - 1:
            commands.append(Command(kinds["DMA_WAIT"]).with_value(wait))
        commands.append(Command(kinds["DMA_START"]))
    return made(core, 256, [*commands, Command(kinds["STOP"], 0xFFFF)])


@pytest.mark.parametrize(
    ("core", "places", "wait", "good"),
    [
        ("ethos-u65", [(0, 16), (16, 32)], None, False),
        ("ethos-u65", [(0, 16), (16, 32)], 0, True),
        ("ethos-u65", [(0, 16), (16, 32)], 1, False),
        ("ethos-u65", [(0, 16), (48, 64), (16, 32)], 1, True),
        ("ethos-u65", [(0, 16), (48, 64), (80, 96), (16, 32)], None, True),
        ("ethos-u85", [(0, 16), (48, 64), (80, 96), (16, 32)], None, False),
        ("ethos-u65", [(0, 16), (0, 32)], None, True),
        ("ethos-u65", [(0, 16), (32, 0)], None, False),
        ("ethos-u65", [(0, 16), (32, 16)], None, False),
    ],
)
def test_transfers_wait_for_one_another(core: str, places: list[tuple[int, int]], wait: int | None, good: bool) -> None:
    """Reads behind writes, writes behind reads and writes behind writes, with as many outstanding as the core has."""
    stream = transfers(core, places, wait)
    footprint = check(stream, (128,), (True,))
    if good:
        check_order(stream.config, footprint)
    else:
        with pytest.raises(MoteError, match=r"of base pointer 0, which DMA0_(SRC|DST) of DMA_START at byte"):
            check_order(stream.config, footprint)
