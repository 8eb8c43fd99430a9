"""What slow memory costs: traces by hand, and programs whose waits can be told by looking."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mote.bench.measure.profiler.trace import FlashLoads
from mote.bench.measure.profiler.waits import Waits, Zone, lru_misses, simulate
from mote.bench.measure.profiler.zones import zones
from mote.hardware import targets
from mote.hardware.cores import ARCHITECTURES
from mote.hardware.cores.instructions import ControlKind, Decoded, Task, Timed
from mote.hardware.targets import Reads
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.machine_code import ElfCode


def straight(at: int, *sizes: int) -> list[Timed]:
    """A block of instructions of these sizes."""
    found = []
    for size in sizes:
        found.append(Timed(at, Decoded(size, ControlKind.PLAIN), "nop", Task.ALU))
        at += size
    return found


def loads(*found: tuple[int, int, int]) -> FlashLoads:
    """(place, address, bytes)."""
    places, addresses, sizes = np.array(found, np.int64).reshape(-1, 3).T
    return FlashLoads(addresses, sizes, places)


def run(
    reads: Reads, blocks: list[list[Timed]], order: list[int], *read: tuple[int, int, int], start: int = 0
) -> Waits:
    zones = [Zone(start, 1 << 20, "flash", reads, reads)]
    return simulate(blocks, np.array(order, np.int32), loads(*read), zones)


@pytest.mark.parametrize(
    ("count", "ways", "missed"),
    [
        # 1 2 3 1 2 4 1 5 2 1: the third line takes the place of the one that was not used for longest
        (3, None, [1, 1, 1, 0, 0, 1, 0, 1, 1, 0]),
        (2, None, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        (8, None, [1, 1, 1, 0, 0, 1, 0, 1, 0, 0]),
        # two sets of one line: 1, 3, 5 share one, 2 and 4 the other
        (2, 1, [1, 1, 1, 1, 0, 1, 0, 1, 1, 1]),
        (4, 2, [1, 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    ],
)
def test_lines_that_are_kept(count: int, ways: int | None, missed: list[int]) -> None:
    assert lru_misses([1, 2, 3, 1, 2, 4, 1, 5, 2, 1], count, ways).tolist() == missed


def test_memory_that_answers_at_once_costs_nothing() -> None:
    waits = run(Reads(), [straight(0, 2, 2, 2)], [0, 0], (0, 64, 4), (1, 68, 2))
    assert waits.code.tolist() == waits.data.tolist() == waits.fetched.tolist() == [0, 0]
    assert waits.loaded.tolist() == [4, 2]


def test_code() -> None:
    """Three lines of 8 bytes in order, with a line of two instructions of four bytes; then back to the first."""
    code = [straight(0, 2, 2, 2, 2, 4, 4, 4, 4), straight(0, 2)]
    alone = Reads(wait_states=5, read_bytes=8, line_bytes=8)
    waits = run(alone, code, [0, 1, 1])
    assert waits.code.tolist() == [15, 5, 0] and waits.fetched.tolist() == [24, 8, 0]
    assert run(Reads(5, 8, line_bytes=8, code_lines=2), code, [0, 1, 0]).code.tolist() == [15, 5, 10]
    assert run(Reads(5, 8, line_bytes=8, code_lines=3), code, [0, 1, 0]).code.tolist() == [15, 0, 0]


def test_code_that_is_fetched_ahead() -> None:
    """The next line is asked for when one is entered: four instructions take four cycles off, two take two; a jump to
    what was not asked for waits in full."""
    code = [straight(0, 2, 2, 2, 2, 4, 4, 4, 4), straight(64, 2)]
    waits = run(Reads(5, 8, prefetch=True, line_bytes=8), code, [0, 1, 0])
    assert waits.code.tolist() == [5 + (5 - 4) + (5 - 2), 5, 5 + 1 + 3]


def test_an_instruction_across_two_lines_waits_for_both() -> None:
    assert run(Reads(5, 8, line_bytes=8), [straight(6, 4)], [0]).code.tolist() == [10]


def test_lines_of_several_reads() -> None:
    """A line of four reads: 4 * 6 cycles, of which one would have been spent anyway."""
    assert run(Reads(5, 8, line_bytes=32), [straight(0, 2)], [0]).code.tolist() == [23]


def test_constants() -> None:
    """Words in order share a line; without lines each waits; a word across two lines takes both."""
    block = [straight(0, 2)]
    words = [(0, 64, 4), (0, 68, 4), (0, 72, 4), (1, 64, 4), (1, 126, 4)]
    two, one = (run(Reads(5, 8, line_bytes=8, data_lines=n), block, [0, 0], *words) for n in (2, 1))
    assert two.data.tolist() == [10, 10] and one.data.tolist() == [10, 15]
    assert two.loaded.tolist() == [12, 8] and two.fetched.tolist() == [16 + 8, 16]
    none = run(Reads(5, 8, line_bytes=8), block, [0, 0], *words)
    assert none.data.tolist() == [15, 15]


def test_code_and_constants_in_the_same_lines() -> None:
    """Two lines: the code's and one constant's; another constant pushes the first one out, and the code stays."""
    shared = Reads(5, 8, line_bytes=8, code_lines=2, shared_lines=True)
    block = [straight(0, 2), straight(128, 2)]
    words = [(0, 64, 4), (1, 64, 4), (3, 72, 4), (5, 64, 4)]
    waits = run(shared, block, [0, 1, 0, 1, 0, 1], *words)
    # lines: c0 64 | c128 (out: c0), 64 | c0 (out: c128) | c128 (out: 64), 72 (out: c0) | c0 (out: c128) | c128, 64
    assert waits.code.tolist() == [5, 5, 5, 5, 5, 5]
    assert waits.data.tolist() == [5, 0, 0, 5, 0, 5]


def test_what_lies_elsewhere_is_not_waited_for() -> None:
    """Code below the zone, and a constant in it."""
    waits = run(Reads(5, 8, line_bytes=8, data_lines=1), [straight(0, 2)], [0], (0, 512, 4), (0, 128, 4), start=256)
    assert waits.code.tolist() == [0] and waits.data.tolist() == [5]


def test_two_memories_have_lines_of_their_own() -> None:
    fast, slow = Reads(1, 8, line_bytes=8, data_lines=1), Reads(9, 8, line_bytes=8, data_lines=1)
    zones = [Zone(0, 64, "inside", fast, fast), Zone(64, 128, "outside", slow, slow)]
    waits = simulate(
        [straight(0, 2)], np.array([0, 0], np.int32), loads((0, 8, 4), (0, 64, 4), (1, 8, 4), (1, 64, 4)), zones
    )
    assert waits.code.tolist() == [1, 0] and waits.data.tolist() == [10, 0]


def test_which_memory_an_address_stands_for() -> None:
    """Of a part with internal and external flash: code, constants that were put outside, those that were not, and code
    that is executed from RAM. Code that lies in another memory than flash brings its literals along."""
    part = targets.load("stm32h750")
    board = board_of(part)
    rom, ram = board.rom[0], board.ram[0]
    machine = ARCHITECTURES["arm"].code
    assert machine is not None
    code = ElfCode(Path("x"), machine, [(rom + 256, bytes(64)), (ram, bytes(32))], [], {}, [], {}, {}, [])
    found = {z.start: z for z in zones(part, board, code, {".memory_qspi": (rom + 512, rom + 1024)})}
    names = {start - rom: (z.end - rom, z.memory) for start, z in found.items() if start >= rom and start != ram}
    last = board.rom[1]
    assert names == {
        0: (256, "flash"),
        256: (320, "flash"),
        320: (512, "flash"),
        512: (1024, "qspi"),
        1024: (last, "flash"),
    }
    assert found[ram].memory == "itcm" and not found[ram].flash and not found[ram].code.waits
    assert found[rom + 512].data.miss == 280 and found[rom].data.miss == 9
    inside = replace(part, code_in="itcm")
    moved = {z.start: z for z in zones(inside, board, code, {})}
    assert moved[rom + 256].memory == "itcm" and moved[rom + 256].data == Reads() and moved[rom].memory == "flash"
    core = targets.load("cortex-m4")
    assert {z.memory for z in zones(core, board_of(core), replace(code, sections=code.sections[:1]), {})} == {""}
