"""What a board counts, in words."""

from __future__ import annotations

import pytest

from mote.deploy.boards.address import parse_address
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.facts import BoardFacts, facts_of
from mote.deploy.boards.interruption import Interruption
from mote.deploy.boards.placing import OpenBoard
from mote.deploy.boards.protocol import UNKNOWN, Counter, Identity


class Asked:
    """A session that knows its device."""

    def __init__(self, **words: int) -> None:
        usual = {"counter": Counter.DWT, "clock_hz": 80_000_000, "counter_hz": 0, "flash_waits": 4}
        rest = {"protocol": 1, "abilities": 0, "message_bytes": 512, "core": 0, "inputs": 1, "outputs": 1, "steps": 1}
        given = {**rest, "memories": 0, "boots": 1, **usual, **words}
        self.identity = Identity(**given, model=bytes(16), runtime=bytes(16), target="stm32l4r5")
        self.interruptions = [Interruption("the board was reset", "1 inference", "/dev/ttyACM0")]


def facts(address: str = "serial:/dev/ttyACM0", **words: int) -> BoardFacts:
    return facts_of(OpenBoard(BoardEntry("desk", parse_address(address)), Asked(**words), "flashed"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "words", "unit", "seconds"),
    [
        ("serial:/dev/ttyACM0", {}, "cycles", 0.01),
        ("serial:/dev/ttyACM0", {"clock_hz": 0}, "cycles", None),
        ("tcp:10.0.0.7:4000", {"counter": Counter.HOOK, "counter_hz": 1_000_000}, "cycles", 0.01),
        ("tcp:10.0.0.7:4000", {"counter": Counter.HOOK, "counter_hz": 1_000_000, "clock_hz": 0}, "ticks", 0.8),
        ("qemu:cortex-m4", {"counter": Counter.HOOK, "counter_hz": 25_000_000, "clock_hz": 0}, "instructions", None),
    ],
)
def test_units(address: str, words: dict[str, int], unit: str, seconds: float | None) -> None:
    """Cycles of the core, instructions of an emulated one, or ticks of a timer without a clock to turn them into
    cycles."""
    given = facts(address, **words)
    assert (given.unit, given.seconds(800_000)) == (unit, seconds)
    assert given.unit in str(given)


def test_sentences() -> None:
    assert str(facts()) == "desk: cycles by DWT CYCCNT, 80 MHz, 4 wait states of flash; flashed"
    assert facts().notes[1:] == ["desk was interrupted once: the board was reset; repeated: 1 inference"]
    unknown = facts(clock_hz=0, flash_waits=UNKNOWN, counter=9)
    assert str(unknown) == "desk: cycles by counter 9, clock not known, flash waits not known; flashed"
