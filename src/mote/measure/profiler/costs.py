"""Cycles of each layer and each function, from a trace of the executed basic blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote import toolchain
from mote.boards.facts import CYCLES, TICKS
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.firmware import Bench, Firmware, bench, firmware, missing_tools
from mote.cores.board import Board
from mote.cores.cycles import CycleModel
from mote.cores.instructions import ACCESSES, MULTIPLIES, Timed
from mote.data.inputs import Inputs
from mote.errors import MoteError
from mote.files import temporary_folder
from mote.graph import Graph
from mote.measure.energy.layers import MeasuredEnergy
from mote.measure.profiler.instructions import check_disassembler, cycle_model, disassemble
from mote.measure.profiler.measured import (
    RUNS,
    BoardMeasurement,
    geometric_error,
    mean_error,
    middle,
    percent,
    relative_error,
)
from mote.measure.profiler.outputs import check_outputs
from mote.measure.profiler.trace import FlashLoads, Trace, calls, cut, trace
from mote.measure.profiler.waits import Waits, simulate
from mote.measure.profiler.zones import zones
from mote.measure.run import stimulus
from mote.notebook import card, folded, table
from mote.pictures.costs import CostBar, costs
from mote.targets import Reads, Target
from mote.text import did_you_mean, short_names
from mote.toolchain import Emulator, Mode
from mote.toolchain.builder import board_of
from mote.toolchain.elf import extents
from mote.toolchain.emulators import RTL, check
from mote.toolchain.harness_protocol import Tag, write_inputs
from mote.toolchain.machine_code import ElfCode, machine_of, read_code

ENTRY = "harness_run"
TIMEOUT_S = 300.0
RTL_TIMEOUT_S = 3600.0
_STEP = re.compile(r"mote_step_(\d+)_\d+")


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


class InstructionKind(Enum):
    """The kinds of instructions that a mix tells apart."""

    MULTIPLY = auto()
    MEMORY = auto()
    OTHER = auto()


Counts = list[tuple[int, int]]
"""Blocks, and how often each was executed."""
Edges = list[tuple[int, int, int]]
"""Blocks, those that were executed next, and how often."""


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


@dataclass(frozen=True)
class Profile:
    """One inference, or all calls of a function. `estimate` says that the core's timing is not published; `reason` why
    there is no energy. `waits` are part of the cycles; `loads_known` is false where nothing tells what is read, so that
    waits for constants are an estimate: each constant of a layer once. Where a board ran it, `board` is what it
    counted, beside the model's cycles; without the tools of the model `cycles` are the board's."""

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

    def __repr__(self) -> str:
        return f"<Profile of {self.model!r} on {self.target}: {self.cycles:,} cycles>"

    @property
    def core_cycles(self) -> int:
        """Cycles without wait states."""
        return self.cycles - self.waits.code - self.waits.constants

    def _repr_html_(self) -> str:
        facts = {
            "cycles": self.cycles,
            "instructions": self.instructions,
            "waits": (self.waits.code + self.waits.constants) or None,
            "time": None if self.seconds is None else f"{1e3 * self.seconds:.4g} ms",
            "energy": None if self.energy is None else f"{self.energy.microjoules:.3g} µJ",
            "measured energy": None if self.measured is None else f"{self.measured.microjoules:.3g} µJ",
            "of the peak": None if not self.peak else f"{100 * self.peak:.0f}%",
        }
        on_board = self.board
        if on_board is not None:
            facts[f"measured {on_board.facts.unit}"] = on_board.total
            facts["model error"] = percent(on_board.error)
        beside = () if on_board is None else (f"measured {on_board.facts.unit}", "error")
        rows = [
            (
                *(x.number, x.op, x.name, x.kernel, x.macs, x.instructions, x.cycles, f"{100 * x.share:.1f}%"),
                *((x.measured, percent(x.error)) if beside else ()),
            )
            for x in self.layers
        ]
        head = ("#", "op", "name", "kernel", "MACs", "instructions", "cycles", "share", *beside)
        layers = table(head, rows, left=4)
        functions = table(
            ("function", "calls", "instructions", "cycles", "share"),
            [(f.name, f.calls, f.instructions, f.cycles, f"{100 * f.share:.1f}%") for f in self.functions],
        )
        notes = [f"{self.core}{', an estimate' if self.estimate else ''}"]
        notes += [] if on_board is None else [str(on_board.facts)]
        return card(f"{self.model} on {self.target}", facts, layers, folded("functions", functions), notes=notes)

    def json(self) -> dict[str, Any]:
        """All fields as JSON types."""
        return asdict(self)

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


def profile(
    compiled: Compiled,
    inputs: Inputs | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    layers: bool = True,
) -> Profile:
    """One inference (of the self-test's input, or of the first of `inputs`). Total and functions are measured in the
    plain firmware; layers, unless `layers` is false, in a second build with a marker nop after each, which is not
    counted. A `board` measures the same inference with its own counter."""
    graph, plan = compiled.plan.graph, compiled.plan
    subject = Profiled(
        compiled.path,
        firmware(compiled),
        [
            LayerFacts(
                plan.number(of[0]),
                op.name,
                op.kind,
                kernel_label(compiled, i),
                op.macs(graph),
                of[0].kernel.constants,
                graph.short_name(op),
            )
            for i, (op, of) in enumerate(plan.works)
        ],
        graph,
    )
    raw = stimulus(graph, inputs)[0]
    result = profiled(subject, raw, compiler=compiler, emulator=emulator, board=board, layers=layers)
    saved = None
    if compiled.settings.place_code == "ram" and result.instructions is not None:
        other = profile(compiled.in_flash(), inputs, compiler=compiler, emulator=emulator, layers=False)
        saved = other.cycles - result.cycles
    return replace(result, ram_code=compiled.settings.ram_code, saved=saved)


@dataclass(frozen=True)
class LayerFacts:
    """Static facts about a layer."""

    number: str
    name: str
    op: str
    kernel: str
    macs: int
    constants: int = 0
    """Bytes of constants that it reads, at least once."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class Profiled:
    """The subject of a profile."""

    path: str
    firmware: Firmware
    layers: Sequence[LayerFacts]
    graph: Graph | None = None
    """The graph that says what the outputs must be, where it is known."""


def profiled(
    subject: Profiled,
    raw: list[bytes],
    *,
    compiler: str | None,
    emulator: str | None,
    board: str | None = None,
    layers: bool,
) -> Profile:
    """Profiles one inference, with raw inputs of the harness: by the model, and on a board where one is named."""
    if board is None:
        return _modelled(subject, raw, compiler, emulator, layers)
    missing = no_model(subject.firmware.target, compiler, emulator)
    measured, steps = _on_board(subject, raw, compiler, board)
    if missing is None:
        return _beside(_modelled(subject, raw, compiler, emulator, layers), measured, steps)
    if measured.facts.unit != CYCLES:
        raise MoteError(
            f"counts {measured.facts.unit}, and there is no model of cycles beside them: {missing.reason}",
            where=f"board {measured.facts.name}",
            remedy=f"{missing.remedy}; `mote run --board` shows what it counts",
        )
    return _alone(subject, compiler, measured, steps if layers else [], missing)


def no_model(target: Target, compiler: str | None = None, emulator: str | None = None) -> MoteError | None:
    """The reason why cycles cannot be modelled, if any."""
    missing = missing_tools(target, compiler, emulator, what="cycles")
    try:
        check_cycles(target)
    except MoteError as error:
        return missing or error
    return missing


def _on_board(
    subject: Profiled, raw: list[bytes], compiler: str | None, board: str
) -> tuple[BoardMeasurement, list[int]]:
    """The middle one of some inferences on a board, and the counts of its layers."""
    target = subject.firmware.target
    with temporary_folder() as folder, bench(subject.firmware, folder, compiler=compiler, board=board) as on:
        runs = [on.execute(Mode.PROFILE, [raw]) for _ in range(RUNS)]
        facts = on.facts
    assert facts is not None
    if facts.unit == CYCLES and facts.target != target.name:
        raise MoteError(
            f"is a {facts.target}, and the model of cycles is that of {target.name}",
            where=f"board {facts.name}",
            remedy="omit --target, or name the board's",
        )
    if subject.graph is not None:
        check_outputs(subject.graph, raw, runs[0].outputs[0], where=f"{subject.path} on {target.name}")
    counts = [run.instructions[0] for run in runs if run.instructions]
    steps = [run.steps[0] for run in runs if run.steps]
    if len(counts) < RUNS or len(steps) < RUNS:
        raise MoteError(
            "has no counter of cycles",
            where=f"board {facts.name}",
            remedy="let mote_port_cycles of its agent count: DWT, mcycle, SysTick or a timer",
        )
    taken, spread = middle(counts)
    return BoardMeasurement(facts, RUNS, counts[taken], spread, facts.seconds(counts[taken])), steps[taken]


def _beside(profile: Profile, measured: BoardMeasurement, steps: Sequence[int]) -> Profile:
    """A modelled profile with what a board measured, and the errors of the model where it counts the same unit."""
    layers = [
        replace(layer, measured=taken) for layer, taken in zip(profile.layers, steps, strict=bool(profile.layers))
    ]
    if measured.facts.unit == TICKS:
        return replace(profile, layers=layers, board=measured)

    def count(modelled: Profile | LayerProfile) -> int:
        return modelled.cycles if measured.facts.unit == CYCLES else modelled.instructions or 0

    layers = [replace(x, error=relative_error(count(x), x.measured or 0)) for x in layers]
    pairs = [(count(x), x.measured) for x in layers if x.measured and count(x)]
    errors = replace(
        measured,
        error=relative_error(count(profile), measured.total),
        mean_error=mean_error(pairs),
        geometric_error=geometric_error(pairs),
    )
    return replace(profile, layers=layers, board=errors)


def _alone(
    subject: Profiled, compiler: str | None, measured: BoardMeasurement, steps: Sequence[int], missing: MoteError
) -> Profile:
    """The profile of a board without a model beside it."""
    target, facts = subject.firmware.target, measured.facts
    layers = [
        LayerProfile(
            *(known.number, known.name, known.op, known.kernel, known.macs, None, taken),
            share=_share(taken, measured.total),
            peak=_peak(known.macs, taken, target),
            waits=Slow(),
            short=known.short,
            measured=taken,
        )
        for known, taken in zip(subject.layers, steps, strict=bool(steps))
    ]
    macs = sum(known.macs for known in subject.layers)
    energy = _energy(target, Cost(cycles=measured.total))
    return Profile(
        model=subject.path,
        target=target.name,
        emulator=f"board {facts.name}",
        compiler=toolchain.find_compiler(target, compiler).kind if compiler else "",
        core=f"{facts.counter} of the board",
        timing=f"not modelled: {missing.reason}",
        estimate=False,
        entry=ENTRY,
        calls=1,
        macs=macs,
        instructions=None,
        cycles=measured.total,
        peak=_peak(macs, measured.total, target),
        peak_macs=target.peak_macs,
        clock_hz=facts.clock_hz,
        seconds=measured.seconds,
        energy=energy,
        reason="" if energy else _no_energy(target),
        memory=_in_words(target),
        waits=Slow(),
        loads_known=True,
        layers=layers,
        functions=[],
        board=measured,
    )


def _modelled(subject: Profiled, raw: list[bytes], compiler: str | None, emulator: str | None, layers: bool) -> Profile:
    """Outputs of RTL are compared with the reference's: nothing else has run there before."""
    target = subject.firmware.target
    cycle_model(target)
    with temporary_folder() as folder:
        on = bench(subject.firmware, folder, compiler=compiler, emulator=emulator)
        ran = _run(on, Mode.MEASURE, [raw])
        if on.emulator.kind == RTL and subject.graph is not None:
            check_outputs(subject.graph, raw, ran.outputs, where=f"{subject.path} on {target.name}")
        plain = ran.region(ENTRY)
        marked = marked_steps(on, raw) if layers else []
    if not plain.loads_known:
        marked = [_assumed(target, known, cost) for known, cost in zip(subject.layers, marked, strict=layers)]
    total = _all(target, subject.layers, plain)
    profiles = []
    for known, cost in zip(subject.layers, marked, strict=layers):
        share, peak = _share(cost.cycles, total.cycles), _peak(known.macs, cost.cycles, target)
        told = (known.number, known.name, known.op, known.kernel, known.macs)
        costs = (cost.instructions, cost.cycles, share, peak, cost.waits)
        profiles.append(LayerProfile(*told, *costs, known.short, cost.mix, cost.functions, _joules(target, cost)))
    macs = sum(known.macs for known in subject.layers)
    return _result(subject.path, on.tools[1], on.emulator, plain, total, macs, profiles)


def check_cycles(target: Target) -> None:
    """Refuses a target without a cycle model."""
    cycle_model(target)
    if target.core.code is not None and target.core.code.disassembler:
        check_disassembler()


def marked_run(on: Bench, inputs: list[bytes]) -> tuple[TracedRun, TracedCalls]:
    """One inference with steps that are separated by marker nops: the run, and its calls."""
    ran = _run(on, Mode.MARK, [inputs])
    return ran, ran.region(ENTRY)


def marked_steps(on: Bench, inputs: list[bytes]) -> list[Cost]:
    """Costs of each step of the plan in one inference, separated by marker nops."""
    return marked_run(on, inputs)[1].steps(on.firmware.works)


def steps(
    compiled: Compiled,
    on_targets: Sequence[Target] = (),
    *,
    compiler: str | None = None,
    emulator: str | None = None,
) -> list[list[Cost]]:
    """Costs of each step of a model in one inference: cycles, wait states, and bytes of constants loaded from flash.
    One build and one run serve all targets with the same instruction set (by default the model's own)."""
    with temporary_folder() as folder:
        on = bench(compiled, folder, compiler=compiler, emulator=emulator)
        ran = _run(on, Mode.MARK, stimulus(compiled.plan.graph, None)[:1])
    return [
        replace(ran, target=target).region(ENTRY).steps(len(compiled.plan.works))
        for target in on_targets or (compiled.settings.target,)
    ]


def profile_elf(elf: str | Path, entry: str, target: Target, *, emulator: str | None = None) -> Profile:
    """Profiles all calls of a function in a bare-metal program, which runs unmodified on the target's board, in this
    folder, and must exit by itself (semihosting)."""
    cycle_model(target)
    path = Path(elf)
    machine = machine_of(path)
    if machine != target.arch:
        raise MoteError(
            f"is for {machine or 'another machine'}, not for {target.arch}",
            where=str(path),
            remedy=f"choose a target for it; {target.name} is {target.arch}",
        )
    code = read_code(path)
    if entry not in code.functions:
        raise MoteError(
            f"has no function '{entry}'",
            where=str(path),
            remedy=did_you_mean(entry, code.functions) + "C++ names must be given as the linker sees them",
        )
    tool = toolchain.find_emulator(target, emulator or "qemu")
    if tool.kind != "qemu":
        raise MoteError("a program other than Mote's runs in QEMU only", remedy="omit --emulator")
    traced = trace(path.resolve(), code, target, tool, Path.cwd(), TIMEOUT_S)
    region = TracedRun(code, traced, target, board_of(target)).region(entry)
    return _result(str(path), "", tool, region, region.cost(), 0, [])


@dataclass(frozen=True)
class Cost:
    """`cycles` are all of them; `waits` says which of them slow memory took."""

    instructions: int = 0
    cycles: int = 0
    waits: Slow = Slow()
    mix: Mix | None = None
    functions: tuple[str, ...] = ()

    @property
    def work(self) -> dict[str, float]:
        """Cycles and bytes by the kind of work, as an energy model takes them; cycles that are not told apart are
        others."""
        waited = self.waits.code + self.waits.constants
        mix = self.mix or Mix(other=self.cycles - waited)
        return {**asdict(mix), "wait": waited, "flash_byte": self.waits.fetched}


@dataclass(frozen=True)
class TracedRun:
    """A completed run of a program."""

    code: ElfCode
    traced: Trace
    target: Target
    board: Board
    """The board that it was linked for."""
    sections: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Start and end of each section: needed for parts with several flash memories."""
    outputs: Sequence[bytes] = ()
    """Outputs of the model, where it is one of Mote's."""

    def region(self, entry: str) -> TracedCalls:
        """All calls of a function."""
        traced = cut(self.traced, _borders(self.code))
        blocks = disassemble(self.code, traced.blocks)
        returns = {n: b[-1].end for n, b in enumerate(blocks) if b and b[-1].flow.calls}
        where = f"{self.code.elf}: {entry}"
        spans = calls(traced, self.code.functions[entry], returns, where)
        if not spans:
            said = f" (it said: {traced.said[-200:]})" if traced.said else ""
            raise MoteError("was not called", where=where, remedy=f"see why the program ended before that{said}")
        slow = simulate(blocks, traced.order, traced.loads, zones(self.target, self.board, self.code, self.sections))
        known = traced.loads is not None
        marks = dict(_marks(self.code))
        cycles = traced.cycles
        ran = (blocks, traced.order, spans, marks, slow, known, cycles, traced.loads)
        return TracedCalls(self.code, self.target, entry, *ran)


def _marks(code: ElfCode) -> list[tuple[int, int]]:
    """The addresses of marker nops, with the step that each ends."""
    return [(at, int(m[1])) for at, name in code.labels if (m := _STEP.match(name))]


def _borders(code: ElfCode) -> set[int]:
    """The addresses of marker nops, and those behind them."""
    marks = {at for at, _ in _marks(code)}
    return marks | {at + code.instruction(at).size for at in marks}


@dataclass(frozen=True)
class TracedCalls:
    """The calls of a function: `spans` are their first and last index in the `order` of blocks."""

    code: ElfCode
    target: Target
    entry: str
    blocks: list[list[Timed]]
    order: NDArray[np.int32]
    spans: list[tuple[int, int]]
    marks: dict[int, int]
    """The step that the marker nop at an address ends."""
    slow: Waits
    loads_known: bool
    measured: NDArray[np.int64] | None = None
    """Cycles of each executed block, where the core itself ran; else they are modelled."""
    loads: FlashLoads | None = None
    """Loads from read-only memory, where they are known."""

    @cached_property
    def core(self) -> CycleModel:
        return cycle_model(self.target)

    @cached_property
    def inside(self) -> list[Cost]:
        """Costs of each block alone, without wait states."""
        return [Cost(len(b), self.core.block(b)) for b in self.blocks]

    def cost(self) -> Cost:
        return self._sum(self.spans)

    def _sum(self, spans: Sequence[tuple[int, int]]) -> Cost:
        """Costs of the blocks in these spans, with the transitions between them."""
        ran, edges = self._ran(spans), self._edges(spans)
        instructions = sum(n * self.inside[b].instructions for b, n in ran)
        cycles = sum(self._spent(spans, ran, edges).values())
        waits = Slow(*(sum(int(counts[lo:hi].sum()) for lo, hi in spans) for counts in _each(self.slow)))
        functions = {self.code.names[self.code.start(self.blocks[b][0].at)] for b, _ in ran if self.blocks[b]}
        return Cost(
            instructions,
            cycles + waits.code + waits.constants,
            waits,
            self._mix(cycles, ran, edges),
            tuple(sorted(functions)),
        )

    def _mix(self, cycles: int, ran: Counts, edges: Edges) -> Mix | None:
        """Cycles by the kind of instruction; None where the decoder does not tell them apart."""
        if not self.code.machine.disassembler:
            return None
        parts = Counter[InstructionKind]()
        for b, n in ran:
            for kind, spent in self._kinds[b]:
                parts[kind] += n * spent
        for a, b, n in edges:
            before, after = self.blocks[a][-1], self.blocks[b][0]
            parts[InstructionKind.OTHER if before.end != after.at else _kind(after)] += n * self._join(a, b)
        whole = max(sum(parts.values()), 1)
        multiply, memory = (
            round(cycles * max(parts[kind], 0) / whole) for kind in (InstructionKind.MULTIPLY, InstructionKind.MEMORY)
        )
        return Mix(multiply, memory, cycles - multiply - memory)

    @cached_property
    def _kinds(self) -> list[list[tuple[InstructionKind, int]]]:
        """Cycles of the instructions of each block, each behind the one before it, by their kind."""
        block = self.core.block
        return [
            [
                *((_kind(i), block([i])) for i in instructions[:1]),
                *((_kind(i), block([before, i]) - block([before])) for before, i in pairwise(instructions)),
            ]
            for instructions in self.blocks
        ]

    def modelled(self) -> int:
        """Cycles of all calls by the core's model, without wait states."""
        ran, edges = self._ran(self.spans), self._edges(self.spans)
        return sum(replace(self, measured=None)._spent(self.spans, ran, edges).values())

    def _spent(self, spans: Sequence[tuple[int, int]], ran: Counts, edges: Edges) -> Counter[int]:
        """Cycles of each block with the transitions from it, without wait states."""
        if self.measured is not None:
            order, cycles = (np.concatenate([x[lo:hi] for lo, hi in spans]) for x in (self.order, self.measured))
            return Counter(dict(enumerate(np.bincount(order, cycles).astype(np.int64).tolist())))
        spent = Counter({b: n * self.inside[b].cycles for b, n in ran})
        for a, b, n in edges:
            spent[a] += n * self._join(a, b)
        return spent

    def _ran(self, spans: Sequence[tuple[int, int]]) -> Counts:
        """(block, how often)."""
        blocks, counts = np.unique(np.concatenate([self.order[lo:hi] for lo, hi in spans]), return_counts=True)
        return list(zip(blocks.tolist(), counts.tolist(), strict=True))

    def _edges(self, spans: Sequence[tuple[int, int]]) -> Edges:
        """(block, next block, how often)."""
        size = len(self.blocks)
        parts = [self.order[lo:hi][: len(self.order) - lo - 1] for lo, hi in spans]
        nexts = [self.order[lo + 1 : hi + 1] for lo, hi in spans]
        keys = np.concatenate(parts).astype(np.int64) * size + np.concatenate(nexts)
        pairs, counts = np.unique(keys, return_counts=True)
        return [(int(k) // size, int(k) % size, int(n)) for k, n in zip(pairs, counts, strict=True)]

    def _join(self, a: int, b: int) -> int:
        return self.core.between(self.blocks[a][-1], self.blocks[b][0])

    def step_spans(self, count: int) -> list[list[tuple[int, int]]]:
        """The blocks of each step of a marked model: from one marker to the next. Code after the last marker belongs to
        no step."""
        spans: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        of_block = np.array([self.marks.get(b[0].at, -1) for b in self.blocks], np.int32)
        for lo, hi in self.spans:
            start = lo
            steps = of_block[self.order[lo:hi]]
            for at in np.flatnonzero(steps >= 0).tolist():
                spans[steps[at]].append((start, lo + at))
                start = lo + at + 1
        return spans

    def steps(self, count: int) -> list[Cost]:
        """Costs of each step of a marked model."""
        return [self._sum(span) if span else Cost() for span in self.step_spans(count)]

    def functions(self) -> list[FunctionCost]:
        """Every executed function, the most expensive first."""
        calls, instructions, cycles = Counter[int](), Counter[int](), Counter[int]()
        starts = [self.code.start(b[0].at) for b in self.blocks]
        ran, edges = self._ran(self.spans), self._edges(self.spans)
        for b, n in ran:
            instructions[starts[b]] += n * self.inside[b].instructions
        for b, n in self._spent(self.spans, ran, edges).items():
            cycles[starts[b]] += n
        for a, b, n in edges:
            if self.blocks[b][0].at == starts[b] and (self.blocks[a][-1].flow.calls or starts[a] != starts[b]):
                calls[starts[b]] += n
        calls[self.code.functions[self.entry]] += len(self.spans)
        waits = self._waits_of(np.array(starts, np.int64))
        total = sum(cycles.values()) + sum(w.code + w.constants for w in waits.values())
        names = self.code.names
        costs = []
        for f, n in cycles.items():
            slow = waits.get(f, Slow())
            n += slow.code + slow.constants
            costs.append(FunctionCost(names[f], calls[f], instructions[f], n, _share(n, total), slow))
        return sorted(costs, key=lambda f: (-f.cycles, f.name))

    def _waits_of(self, starts: NDArray[np.int64]) -> dict[int, Slow]:
        """Wait states by function, given the function of each block."""
        own, which = np.unique(
            np.concatenate([starts[self.order[lo:hi]] for lo, hi in self.spans]), return_inverse=True
        )
        sums = [
            np.bincount(which, np.concatenate([counts[lo:hi] for lo, hi in self.spans]), len(own)).astype(np.int64)
            for counts in _each(self.slow)
        ]
        return {int(f): Slow(*map(int, totals)) for f, *totals in zip(own, *sums, strict=True)}


def _kind(i: Timed) -> InstructionKind:
    return (
        InstructionKind.MULTIPLY
        if i.task in MULTIPLIES
        else InstructionKind.MEMORY
        if i.task in ACCESSES
        else InstructionKind.OTHER
    )


def _each(slow: Waits) -> tuple[NDArray[np.int64], ...]:
    """Per-block arrays in the order of the fields of `Slow`."""
    return slow.code, slow.data, slow.loaded, slow.fetched


def _run(on: Bench, mode: Mode, raw: list[list[bytes]]) -> TracedRun:
    """Builds a model and traces one inference."""
    target = on.target
    elf = on.elf(mode)
    code = read_code(elf)
    write_inputs(on.folder / mode, raw)
    timeout_s = RTL_TIMEOUT_S if on.emulator.kind == RTL else TIMEOUT_S
    traced = trace(elf, code, target, on.emulator, on.folder / mode, timeout_s, _borders(code))
    entries = check(elf, target, on.emulator, on.folder / mode, traced.said)
    outputs = [data for tag, _, data in entries if tag == Tag.OUTPUT]
    return TracedRun(code, traced, target, board_of(target), extents(elf), outputs)


def _assumed(target: Target, layer: LayerFacts, cost: Cost) -> Cost:
    """A step whose loads are unknown: assumes that all of its constants are read once, the minimum."""
    waited = target.constant_reads.stream(layer.constants)
    fetched = cost.waits.fetched + layer.constants
    waits = replace(cost.waits, constants=waited, loaded=layer.constants, fetched=fetched)
    return replace(cost, cycles=cost.cycles + waited, waits=waits)


def _all(target: Target, layers: Sequence[LayerFacts], plain: TracedCalls) -> Cost:
    """Costs of an inference."""
    cost = plain.cost()
    if not plain.loads_known:
        for layer in layers:
            more = _assumed(target, layer, Cost()).waits
            waits = Slow(*map(sum, zip(astuple(cost.waits), astuple(more), strict=True)))
            cost = replace(cost, cycles=cost.cycles + more.constants, waits=waits)
    return cost


def _result(
    model: str,
    compiler: str,
    emulator: Emulator,
    region: TracedCalls,
    cost: Cost,
    macs: int,
    layers: list[LayerProfile],
) -> Profile:
    target, core = region.target, region.core
    in_rtl = region.measured is not None
    energy = _energy(target, cost)
    return Profile(
        model=model,
        target=target.name,
        emulator=f"{emulator.kind} {emulator.version}".strip(),
        compiler=compiler,
        core=target.core.rtl[target.rtl].title if in_rtl and target.rtl else core.name,
        timing="its RTL, with memory that answers in the next cycle" if in_rtl else core.source,
        estimate=core.estimate and not in_rtl,
        entry=region.entry,
        calls=len(region.spans),
        macs=macs,
        instructions=cost.instructions,
        cycles=cost.cycles,
        peak=_peak(macs, cost.cycles, target),
        peak_macs=target.peak_macs,
        clock_hz=target.clock_hz,
        seconds=cost.cycles / target.clock_hz if target.clock_hz else None,
        energy=energy,
        reason="" if energy else _no_energy(target),
        memory=_in_words(target),
        waits=cost.waits,
        loads_known=region.loads_known,
        layers=layers,
        functions=region.functions(),
        modelled=region.modelled() + cost.waits.code + cost.waits.constants if in_rtl else None,
    )


def _energy(target: Target, cost: Cost) -> Energy | None:
    """The energy of work by the target's model, or else by the current that its data sheet states."""
    model = target.energy
    if model is not None and (target.clock_hz or not model.static_mw):
        seconds = cost.cycles / target.clock_hz if target.clock_hz else 0.0
        return Energy(model.microjoules(cost.work, seconds), None, None, model.source, model.error)
    if target.ua_per_mhz and target.volts:
        microjoules = target.volts * target.ua_per_mhz * cost.cycles / 1e6
        return Energy(microjoules, target.volts, target.ua_per_mhz, target.energy_source)
    return None


def _joules(target: Target, cost: Cost) -> float | None:
    """Microjoules of work, where they are known."""
    energy = _energy(target, cost)
    return None if energy is None else energy.microjoules


def _no_energy(target: Target) -> str:
    if target.energy is not None:
        return f"target {target.name} has static power in [energy], and no clock_hz"
    looked_at = f" ({target.energy_source})" if target.energy_source else ": ua_per_mhz and volts"
    return f"target {target.name} states no current{looked_at}"


def _in_words(target: Target) -> str:
    """A description of the memory timing."""
    code, data = target.code_memory, target.constants_memory
    if code is None or data is None:
        return _sourced(target.reads)
    if code == data:
        return f"{code.name}: {_sourced(code.reads)}"
    places = (("code", code, target.code_reads), ("constants", data, target.constant_reads))
    return "; ".join(f"{what} in {memory.name}: {_sourced(reads)}" for what, memory, reads in places)


def _sourced(reads: Reads) -> str:
    return f"{reads} ({reads.source})" if reads.source else str(reads)


def _share(cycles: int, total: int) -> float:
    return cycles / total if total else 0.0


def _peak(macs: int, cycles: int, target: Target) -> float | None:
    return macs / (cycles * target.peak_macs) if macs and cycles and target.peak_macs else None
