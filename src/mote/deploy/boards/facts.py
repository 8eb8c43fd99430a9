"""A board that ran a model, in words: what it is, what it counts, and how the model got there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.deploy.boards.placing import OpenBoard, connected
from mote.deploy.boards.protocol import UNKNOWN, Counter, Identity

CYCLES, INSTRUCTIONS, TICKS = "cycles", "instructions", "ticks"
"""Units of counters: cycles of the core, instructions of an emulated one, or ticks of a timer whose relation to cycles
nobody states."""
COUNTERS: Mapping[int, str] = {
    Counter.NONE: "no counter",
    Counter.DWT: "DWT CYCCNT",
    Counter.MCYCLE: "mcycle",
    Counter.SYSTICK: "SysTick",
    Counter.HOOK: "a timer of the port",
}
"""Names of counters."""


@dataclass(frozen=True)
class BoardFacts:
    """A board that ran a model, and what it counts with."""

    name: str
    """The name or the address of the board."""
    target: str
    """The target that its agent states."""
    unit: str
    """The unit of its counter: cycles; of an emulated board instructions; of a timer that states no clock of the core
    ticks."""
    counter: str
    """The counter that was read."""
    counter_hz: int | None
    """Ticks of the counter in a second; None where they are not known."""
    clock_hz: int | None
    """The clock of the core as the board states it; None where it does not."""
    flash_waits: int | None
    """Wait states of flash as the board states them; None where it does not."""
    code: str
    """How the model got onto the board."""
    interruptions: tuple[Interruption, ...] = ()
    """The times that it was reset or lost in the middle of its work."""

    def __str__(self) -> str:
        return f"{self.name}: {self.counting}; {self.code}"

    @property
    def notes(self) -> list[str]:
        """The board and its interruptions, as lines for people."""
        return [str(self), *interruption_lines(self.interruptions)]

    @property
    def counting(self) -> str:
        """What counts depend on beside the model and the target, in words."""
        clock = "clock not known" if self.clock_hz is None else f"{self.clock_hz / 1e6:g} MHz"
        rate = f" of {self.counter_hz / 1e6:g} MHz" if self.unit == TICKS and self.counter_hz else ""
        waits = "flash waits not known" if self.flash_waits is None else f"{self.flash_waits} wait states of flash"
        return f"{self.unit} by {self.counter}{rate}, {clock}, {waits}"

    def seconds(self, count: int) -> float | None:
        """The time of so many counts; None where nothing says it."""
        rate = {CYCLES: self.clock_hz, TICKS: self.counter_hz}.get(self.unit)
        return count / rate if rate else None


def facts_of(board: OpenBoard) -> BoardFacts:
    """The facts about a board that is open."""
    facts = _facts(board.entry, board.identity, board.placed)
    told = tuple(replace(each, board=board.label) for each in board.session.interruptions)
    return replace(facts, interruptions=told)


def counter_of(board: BoardEntry) -> str:
    """What counts of a board depend on, in words. An emulated board counts instructions, without asking it."""
    if board.address.is_emulated:
        return f"{INSTRUCTIONS} of an emulated board"
    with connected(board) as session:
        return _facts(board, session.identity, "").counting


def _facts(board: BoardEntry, identity: Identity, placed: str) -> BoardFacts:
    return BoardFacts(
        board.label,
        identity.target,
        INSTRUCTIONS if board.address.is_emulated else _unit(identity),
        COUNTERS.get(identity.counter, f"counter {identity.counter}"),
        identity.counter_hz or None,
        identity.clock_hz or None,
        None if identity.flash_waits == UNKNOWN else identity.flash_waits,
        placed,
    )


def _unit(identity: Identity) -> str:
    """Ticks of a timer are turned into cycles where the rates of both are known."""
    is_timer = identity.counter == Counter.HOOK
    return TICKS if is_timer and not (identity.clock_hz and identity.counter_hz) else CYCLES
