"""Facts about a board that ran a model: identity, counter, and how the model got there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.deploy.boards.placing import OpenBoard, connected
from mote.deploy.boards.protocol import UNKNOWN, Counter, Identity

CYCLES, INSTRUCTIONS, TICKS = "cycles", "instructions", "ticks"
"""Units of counters: core cycles, instructions of an emulated core, or ticks of a timer with unknown relation to
cycles."""
COUNTERS: Mapping[int, str] = {
    Counter.NONE: "no counter",
    Counter.DWT: "DWT CYCCNT",
    Counter.MCYCLE: "mcycle",
    Counter.SYSTICK: "SysTick",
    Counter.HOOK: "a timer of the port",
}
"""Names of counters, by kind."""


@dataclass(frozen=True)
class BoardFacts:
    """A board that ran a model, and its counter."""

    name: str
    """Name or address of the board."""
    target: str
    """Target reported by its agent."""
    unit: str
    """Unit of counts: cycles, instructions (emulated boards), or ticks (timer with unknown core clock)."""
    counter: str
    """Name of the counter."""
    counter_hz: int | None
    """Counter ticks per second; None if unknown."""
    clock_hz: int | None
    """Core clock reported by the board; None if unknown."""
    flash_waits: int | None
    """Flash wait states reported by the board; None if unknown."""
    code: str
    """How the model got onto the board."""
    interruptions: tuple[Interruption, ...] = ()
    """Resets and losses during the run."""

    def __str__(self) -> str:
        return f"{self.name}: {self.counting}; {self.code}"

    @property
    def notes(self) -> list[str]:
        """Lines of text on the board and its interruptions."""
        return [str(self), *interruption_lines(self.interruptions)]

    @property
    def counting(self) -> str:
        """Everything that counts depend on besides model and target, in words."""
        clock = "clock not known" if self.clock_hz is None else f"{self.clock_hz / 1e6:g} MHz"
        rate = f" of {self.counter_hz / 1e6:g} MHz" if self.unit == TICKS and self.counter_hz else ""
        waits = "flash waits not known" if self.flash_waits is None else f"{self.flash_waits} wait states of flash"
        return f"{self.unit} by {self.counter}{rate}, {clock}, {waits}"

    def seconds(self, count: int) -> float | None:
        """Seconds for a number of counts; None if unknown."""
        rate = {CYCLES: self.clock_hz, TICKS: self.counter_hz}.get(self.unit)
        return count / rate if rate else None


def facts_of(board: OpenBoard) -> BoardFacts:
    """Facts about an open board."""
    facts = _facts(board.entry, board.identity, board.placed)
    told = tuple(replace(each, board=board.label) for each in board.session.interruptions)
    return replace(facts, interruptions=told)


def counter_of(board: BoardEntry) -> str:
    """Everything that a board's counts depend on, in words; an emulated board need not be asked."""
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
    """Unit of counts: timer ticks are converted to cycles if both rates are known."""
    is_timer = identity.counter == Counter.HOOK
    return TICKS if is_timer and not (identity.clock_hz and identity.counter_hz) else CYCLES
