"""Result of `mote profile`: cycles of an inference by layer and by function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mote.base.results import ItemTable, Result
from mote.base.text import short_names
from mote.bench.measure.energy.layers import MeasuredEnergy
from mote.bench.measure.profiler.measured import BoardMeasurement, percent
from mote.bench.pictures.costs import CostBar, costs


@dataclass(frozen=True)
class Slow:
    """Wait states by cause, and bytes read from slow memory."""

    code: int = 0
    """Cycles waiting for code."""
    constants: int = 0
    """Cycles waiting for constants."""
    loaded: int = 0
    """Bytes of constants loaded."""
    fetched: int = 0
    """Bytes of cache lines read from slow memory."""


NO_WAITS = Slow()
"""No wait states."""


@dataclass(frozen=True)
class Mix:
    """Cycles without wait states by kind of instruction. Each instruction counts with its cost after the preceding one,
    branches with their whole cost."""

    multiply: int = 0
    """Multiplications, with or without accumulation."""
    memory: int = 0
    """Loads and stores."""
    other: int = 0
    """Everything else: addresses, moves, unpacking, requantization, loops and calls."""


@dataclass(frozen=True)
class LayerProfile:
    number: str
    """Layer number in the model."""
    name: str
    """The name of the layer."""
    op: str
    """Operator kind."""
    kernel: str
    """Name of the kernel with its instruction set."""
    macs: int
    """Multiply-accumulate operations."""
    instructions: int | None
    """Instructions of the layer; None if only a board measured."""
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
    """Cycles by kind of instruction; None if not distinguished."""
    functions: tuple[str, ...] = ()
    """Names of functions that it executed, sorted."""
    microjoules: float | None = None
    """Estimated energy in microjoules; None if the current is unknown."""
    measured: int | None = None
    """Count of the board's counter; None without a board."""
    error: float | None = None
    """Modelled / measured - 1; None without a model or board."""


@dataclass(frozen=True)
class FunctionCost:
    """Costs of a function itself, without its callees."""

    name: str
    """Name of the C function."""
    calls: int
    """Number of calls."""
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
    """Estimated energy of an inference. From a data sheet: volts x uA/MHz x cycles / 10
    6 microjoules. From an energy model: static power x time plus energy per kind of work, with the model's
    cross-validated `error`."""

    microjoules: float
    """Microjoules per inference."""
    volts: float | None
    """Supply voltage; None for an energy model."""
    ua_per_mhz: float | None
    """Active current in microamperes per megahertz; None for an energy model."""
    source: str
    """Source of the current (a document), or the captures that the energy model was fitted to."""
    error: float | None = None
    """Mean relative error of the energy model; None for a data sheet."""


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """Result of `mote profile`: one inference, or all calls of a function. `waits` are included in the cycles. If
    `loads_known` is false, waits for constants are estimated with each constant read once. With a board, `board` holds
    its counts next to the model's cycles; without the model's tools `cycles` are the board's."""

    LINE = "of {model!r} on {target}: {cycles:,} cycles"
    ROWS = ItemTable("functions", "function=name, calls, instructions, cycles, share:.1%", title="functions")

    model: str
    """Model file name, or a description of the model object."""
    target: str
    """Name of the target."""
    emulator: str
    """Name of the emulator."""
    compiler: str
    """Name and version of the C compiler; empty for a user's program."""
    core: str
    """Core whose timing model was used."""
    timing: str
    """Source of the timing: a document."""
    estimate: bool
    """Whether timing is an estimate, because the core's is not published."""
    entry: str
    """Name of the profiled function."""
    calls: int
    """Number of its calls."""
    macs: int
    """Multiply-accumulate operations."""
    instructions: int | None
    """Instructions of an inference; None if only a board measured."""
    cycles: int
    """Cycles of an inference, wait states included."""
    peak: float | None
    """MACs per cycle, as a fraction of the core's peak."""
    peak_macs: int | None
    """Peak MACs per cycle of the core."""
    clock_hz: int | None
    """Clock frequency of the part; None for a bare core."""
    seconds: float | None
    """Time of an inference at that clock."""
    energy: Energy | None
    """Estimated energy; None if the current is unknown."""
    reason: str
    """Why there is no energy estimate."""
    memory: str
    """Memory timing of the target in words."""
    waits: Slow
    """Wait states, included in the cycles."""
    loads_known: bool
    """Whether loads of constants were traced; else each constant counts as read once."""
    layers: list[LayerProfile]
    """Costs of each layer."""
    functions: list[FunctionCost]
    """Costs of each C function."""
    ram_code: int = 0
    """Bytes of code executed from RAM."""
    saved: int | None = None
    """Additional cycles that the same plan would take with its RAM code in flash; None if no code is in RAM."""
    modelled: int | None = None
    """Cycles by the timing model including wait states, if `cycles` come from RTL simulation."""
    measured: MeasuredEnergy | None = None
    """Energy measured in a meter capture, if given."""
    board: BoardMeasurement | None = None
    """Measurement on a board, if one ran it."""

    @property
    def core_cycles(self) -> int:
        """Cycles without wait states."""
        return self.cycles - self.waits.code - self.waits.constants

    def svg(self) -> str:
        """SVG bars of cycles by layer, or by function of a program."""
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
