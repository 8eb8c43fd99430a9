"""Cycles of an inference by layer and by function, as `mote profile` gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mote.base.results import ItemTable, Result
from mote.base.text import short_names
from mote.bench.measure.energy.layers import MeasuredEnergy
from mote.bench.measure.profiler.measured import (
    BoardMeasurement,
    percent,
)
from mote.bench.pictures.costs import CostBar, costs


@dataclass(frozen=True)
class Slow:
    """Wait states: cycles spent waiting for code and for constants. `loaded`: bytes of constants loaded; `fetched`:
    bytes of lines of code and constants read from slow memory."""

    code: int = 0
    """Cycles of waiting for code."""
    constants: int = 0
    """Cycles of waiting for constants."""
    loaded: int = 0
    """Bytes of constants that were loaded."""
    fetched: int = 0
    """Bytes of lines of code and constants that were read from slow memory."""


NO_WAITS = Slow()
"""No wait states."""


@dataclass(frozen=True)
class Mix:
    """Cycles without wait states by the kind of instruction. By the core's model each instruction counts with what it
    takes behind the one before it, and jumps with all that they take."""

    multiply: int = 0
    """Multiplications, with or without addition."""
    memory: int = 0
    """Loads and stores."""
    other: int = 0
    """Addresses, moves, unpacking, requantization, loops and calls."""


@dataclass(frozen=True)
class LayerProfile:
    number: str
    """The layer's number in the model."""
    name: str
    """The name of the layer."""
    op: str
    """The operator."""
    kernel: str
    """The kernel and its instruction set."""
    macs: int
    """Multiply-accumulate operations."""
    instructions: int | None
    """Instructions of the layer; None where only a board counted."""
    cycles: int
    """Cycles of the layer, wait states included."""
    share: float
    """Share of all cycles."""
    peak: float | None
    """MACs per cycle, as a fraction of the core's peak."""
    waits: Slow
    """Wait states of the layer."""
    short: str = ""
    """The layer's short name, the same in all reports."""
    mix: Mix | None = None
    """Cycles by the kind of instruction; None where those are not told apart."""
    functions: tuple[str, ...] = ()
    """Functions that it executed, in order of their names."""
    microjoules: float | None = None
    """Estimated energy; None where the current is not known."""
    measured: int | None = None
    """The count of the board's counter; None where no board ran it."""
    error: float | None = None
    """Modelled over measured, less 1; None where there is no model, or no board."""


@dataclass(frozen=True)
class FunctionCost:
    """Costs of a function itself, without its callees."""

    name: str
    """The C function."""
    calls: int
    """Calls of the function."""
    instructions: int
    """Instructions of the function itself."""
    cycles: int
    """Cycles of the function itself, wait states included."""
    share: float
    """Share of all cycles."""
    waits: Slow
    """Wait states of the function."""


@dataclass(frozen=True)
class Energy:
    """An estimate. By a data sheet: `microjoules` = volts x µA/MHz x cycles / 10^6, for the current that `source`
    states. By the target's energy model: static power x time and the energy of each kind of work, with the `error` that
    the model had on layers that it was not fitted to."""

    microjoules: float
    """Microjoules of an inference."""
    volts: float | None
    """The supply voltage; None by an energy model."""
    ua_per_mhz: float | None
    """The current while running, in microamperes per megahertz; None by an energy model."""
    source: str
    """The document that states the current, or the captures that the model was fitted to."""
    error: float | None = None
    """Mean relative error of the energy model; None by a data sheet."""


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """One inference, or all calls of a function. `estimate` says that the core's timing is not published; `reason` why
    there is no energy. `waits` are part of the cycles; `loads_known` is false where nothing tells what is read, so that
    waits for constants are an estimate: each constant of a layer once. Where a board ran it, `board` is what it
    counted, beside the model's cycles; without the tools of the model `cycles` are the board's."""

    LINE = "of {model!r} on {target}: {cycles:,} cycles"
    ROWS = ItemTable("functions", "function=name, calls, instructions, cycles, share:.1%", title="functions")

    model: str
    """The model's file, or what its object is called."""
    target: str
    """The target's name."""
    emulator: str
    """The emulator that ran it."""
    compiler: str
    """The C compiler that built it; empty for a program of the user's."""
    core: str
    """The core whose timing was used."""
    timing: str
    """The document that the timing comes from."""
    estimate: bool
    """Whether the core's timing is not published."""
    entry: str
    """The function whose calls were profiled."""
    calls: int
    """Calls of that function."""
    macs: int
    """Multiply-accumulate operations."""
    instructions: int | None
    """Instructions of an inference; None where only a board counted."""
    cycles: int
    """Cycles of an inference, wait states included."""
    peak: float | None
    """MACs per cycle, as a fraction of the core's peak."""
    peak_macs: int | None
    """Peak MACs per cycle of the core."""
    clock_hz: int | None
    """The clock of the part; None for a core."""
    seconds: float | None
    """The time of an inference at that clock."""
    energy: Energy | None
    """The energy of an inference; None where the current is not known."""
    reason: str
    """The reason why there is no energy."""
    memory: str
    """A description of the target's memory timing."""
    waits: Slow
    """Wait states, which are part of the cycles."""
    loads_known: bool
    """Whether it is known which constants were read; else each counts once."""
    layers: list[LayerProfile]
    """The costs of each layer."""
    functions: list[FunctionCost]
    """The costs of each C function."""
    ram_code: int = 0
    """Bytes of code executed from RAM."""
    saved: int | None = None
    """Additional cycles of the same plan with all code in flash, where it is in RAM."""
    modelled: int | None = None
    """Cycles by the core's model, wait states included, where `cycles` are those of its RTL."""
    measured: MeasuredEnergy | None = None
    """Energy by a capture of a meter, where one was given."""
    board: BoardMeasurement | None = None
    """The measurement on a board, where one ran it."""

    @property
    def core_cycles(self) -> int:
        """Cycles without wait states."""
        return self.cycles - self.waits.code - self.waits.constants

    def svg(self) -> str:
        """Cycles of each layer, or of each function of a program, as bars."""
        parts: Sequence[LayerProfile | FunctionCost] = self.layers or self.functions
        names = short_names([part.name for part in parts])
        bars = [
            CostBar(
                f"{part.number} {name}" if isinstance(part, LayerProfile) else name,
                part.cycles,
                part.waits.code + part.waits.constants,
                f"{100 * part.share:.1f}%",
                f"{part.name}\n{part.cycles:,} cycles"
                + ("" if part.instructions is None else f", {part.instructions:,} instructions"),
            )
            for part, name in zip(parts, names, strict=True)
        ]
        waits = self.waits.code + self.waits.constants
        told = f"{self.cycles:,} cycles{f', {waits:,} of them waiting for flash (orange)' if waits else ''}"
        return costs(bars, f"{Path(self.model).name} on {self.target}", told)

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "cycles": self.cycles,
            "instructions": self.instructions,
            "waits": (self.waits.code + self.waits.constants) or None,
            "time": None if self.seconds is None else f"{1e3 * self.seconds:.4g} ms",
            "energy": None if self.energy is None else f"{self.energy.microjoules:.3g} µJ",
            "measured energy": None if self.measured is None else f"{self.measured.microjoules:.3g} µJ",
            "of the peak": f"{self.peak:.0%}" if self.peak else None,
        }
        if self.board is not None:
            facts |= {f"measured {self.board.facts.unit}": self.board.total, "model error": percent(self.board.error)}
        return facts

    def _parts(self) -> list[str]:
        measured = "" if self.board is None else f", measured {self.board.facts.unit}=measured, error:+.1%"
        columns = "#=number, op, name, kernel, MACs=macs, instructions, cycles, share:.1%"
        return [ItemTable("layers", columns + measured, left=4).html(self), *super()._parts()]

    def _notes(self) -> list[str]:
        core = f"{self.core}{', an estimate' if self.estimate else ''}"
        return [core, *(() if self.board is None else self.board.facts.notes)]


def share_of(cycles: int, total: int) -> float:
    return cycles / total if total else 0.0
