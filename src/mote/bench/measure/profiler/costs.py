"""Cycles of each layer and function, from a trace of executed basic blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.base.text import did_you_mean
from mote.bench.measure.profiler.instructions import check_disassembler, cycle_model
from mote.bench.measure.profiler.measured import (
    RUNS,
    BoardMeasurement,
    geometric_error,
    mean_error,
    middle,
    relative_error,
)
from mote.bench.measure.profiler.outputs import check_outputs
from mote.bench.measure.profiler.result import Energy, LayerProfile, Profile, Slow, share_of
from mote.bench.measure.profiler.trace import trace
from mote.bench.measure.profiler.traced import Cost, TracedCalls, TracedRun, borders
from mote.bench.measure.run import stimulus
from mote.bench.measure.runner import Bench, bench, missing_tools
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.firmware import Firmware, firmware
from mote.deploy.boards.facts import CYCLES, TICKS
from mote.frontends.data.inputs import Inputs
from mote.hardware import toolchain
from mote.hardware.targets import Reads, Target
from mote.hardware.toolchain import Emulator, Mode
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.devices import answered
from mote.hardware.toolchain.elf import extents
from mote.hardware.toolchain.emulators import RTL, check
from mote.hardware.toolchain.harness_protocol import Tag, write_inputs
from mote.hardware.toolchain.machine_code import machine_of, read_code
from mote.ir.graph import Graph

ENTRY = "harness_run"
TIMEOUT_S = 300.0
RTL_TIMEOUT_S = 3600.0


def profile(
    compiled: Compiled,
    inputs: Inputs | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    layers: bool = True,
) -> Profile:
    """Profiles one inference (on the self-test's input, or the first of `inputs`). Total and functions are measured in
    the unmodified firmware; layers (unless `layers` is false) in a second build with a marker nop after each, which is
    not counted. A `board` measures the same inference with its own counter."""
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
    return replace(result, ram_code=compiled.ram_code, saved=saved)


@dataclass(frozen=True)
class LayerFacts:
    """Static facts about a layer."""

    number: str
    name: str
    op: str
    kernel: str
    macs: int
    constants: int = 0
    """Bytes of constants that the layer reads at least once."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class Profiled:
    """Subject of a profile: a firmware and facts about its layers."""

    path: str
    firmware: Firmware
    layers: Sequence[LayerFacts]
    graph: Graph | None = None
    """Graph whose reference outputs are expected; None if unknown."""


def profiled(
    subject: Profiled,
    raw: list[bytes],
    *,
    compiler: str | None,
    emulator: str | None,
    board: str | None = None,
    layers: bool,
) -> Profile:
    """Profiles one inference on raw inputs, by the cycle model and, if named, on a board."""
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
    """Error why cycles cannot be modelled; None if they can."""
    missing = missing_tools(target, compiler, emulator, what="cycles")
    try:
        check_cycles(target)
    except MoteError as error:
        return missing or error
    return missing


def _on_board(
    subject: Profiled, raw: list[bytes], compiler: str | None, board: str
) -> tuple[BoardMeasurement, list[int]]:
    """Measures several inferences on a board; returns the one with the median count and its layer counts."""
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
    """A modelled profile extended by a board's measurements and the model's errors, if both count the same unit."""
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
    """A profile from board counts alone."""
    target, facts = subject.firmware.target, measured.facts
    layers = [
        LayerProfile(
            *(known.number, known.name, known.op, known.kernel, known.macs, None, taken),
            share=share_of(taken, measured.total),
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
    """The modelled profile; outputs of RTL simulations are checked against the reference, since nothing else has
    verified the core."""
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
        share, peak = share_of(cost.cycles, total.cycles), _peak(known.macs, cost.cycles, target)
        told = (known.number, known.name, known.op, known.kernel, known.macs)
        costs = (cost.instructions, cost.cycles, share, peak, cost.waits)
        profiles.append(LayerProfile(*told, *costs, known.short, cost.mix, cost.functions, _joules(target, cost)))
    macs = sum(known.macs for known in subject.layers)
    return _result(subject.path, on.tools[1], on.emulator, plain, total, macs, profiles)


def check_cycles(target: Target) -> None:
    """Raises an error for a target without a cycle model."""
    cycle_model(target)
    if target.core.code is not None and target.core.code.disassembler:
        check_disassembler()


def marked_run(on: Bench, inputs: list[bytes]) -> tuple[TracedRun, TracedCalls]:
    """Traces one inference of a build with marker nops between steps; returns the run and its calls."""
    ran = _run(on, Mode.MARK, [inputs])
    return ran, ran.region(ENTRY)


def marked_steps(on: Bench, inputs: list[bytes]) -> list[Cost]:
    """Costs of each plan step in one inference, separated by marker nops."""
    return marked_run(on, inputs)[1].steps(on.firmware.works)


def steps(
    compiled: Compiled, on_targets: Sequence[Target] = (), *, compiler: str | None = None, emulator: str | None = None
) -> list[list[Cost]]:
    """Costs of each step of a model in one inference: cycles, wait states, and bytes of constants loaded from flash.
    One build and run serves all targets with the same instruction set (default: the model's own)."""
    with temporary_folder() as folder:
        on = bench(compiled, folder, compiler=compiler, emulator=emulator)
        ran = _run(on, Mode.MARK, stimulus(compiled.plan.graph, None)[:1])
    return [
        replace(ran, target=target).region(ENTRY).steps(len(compiled.plan.works))
        for target in on_targets or (compiled.settings.target,)
    ]


def profile_elf(elf: str | Path, entry: str, target: Target, *, emulator: str | None = None) -> Profile:
    """Profiles all calls of a function in a bare-metal program, which runs unmodified on the target's emulated board
    with this working folder and must exit by itself (semihosting)."""
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


def _run(on: Bench, mode: Mode, raw: list[list[bytes]]) -> TracedRun:
    """Builds a model and traces one inference."""
    target = on.target
    elf = on.elf(mode)
    code = read_code(elf)
    devices = on.firmware.simulation.devices
    write_inputs(on.folder / mode, raw)
    timeout_s = RTL_TIMEOUT_S if on.emulator.kind == RTL else TIMEOUT_S
    with answered(devices, on.folder / mode):
        traced = trace(elf, code, target, on.emulator, on.folder / mode, timeout_s, borders(code))
        entries = check(elf, target, on.emulator, on.folder / mode, traced.said)
    outputs = [data for tag, _, data in entries if tag == Tag.OUTPUT]
    return TracedRun(code, traced, target, board_of(target), extents(elf), outputs)


def _assumed(target: Target, layer: LayerFacts, cost: Cost) -> Cost:
    """Step costs if loads are unknown: assumes that all its constants are read once, the minimum."""
    waited = target.constant_reads.stream(layer.constants)
    fetched = cost.waits.fetched + layer.constants
    waits = replace(cost.waits, constants=waited, loaded=layer.constants, fetched=fetched)
    return replace(cost, cycles=cost.cycles + waited, waits=waits)


def _all(target: Target, layers: Sequence[LayerFacts], plain: TracedCalls) -> Cost:
    """Costs of a whole inference."""
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
    """Energy of the work by the target's energy model, else by its data sheet's current."""
    model = target.energy
    if model is not None and (target.clock_hz or not model.static_mw):
        seconds = cost.cycles / target.clock_hz if target.clock_hz else 0.0
        return Energy(model.microjoules(cost.work, seconds), None, None, model.source, model.error)
    if target.ua_per_mhz and target.volts:
        microjoules = target.volts * target.ua_per_mhz * cost.cycles / 1e6
        return Energy(microjoules, target.volts, target.ua_per_mhz, target.energy_source)
    return None


def _joules(target: Target, cost: Cost) -> float | None:
    """Energy of the work in microjoules; None if unknown."""
    energy = _energy(target, cost)
    return None if energy is None else energy.microjoules


def _no_energy(target: Target) -> str:
    if target.energy is not None:
        return f"target {target.name} has static power in [energy], and no clock_hz"
    looked_at = f" ({target.energy_source})" if target.energy_source else ": ua_per_mhz and volts"
    return f"target {target.name} states no current{looked_at}"


def _in_words(target: Target) -> str:
    """Describes the memory timing in words."""
    code, data = target.code_memory, target.constants_memory
    if code is None or data is None:
        return _sourced(target.reads)
    if code == data:
        return f"{code.name}: {_sourced(code.reads)}"
    places = (("code", code, target.code_reads), ("constants", data, target.constant_reads))
    return "; ".join(f"{what} in {memory.name}: {_sourced(reads)}" for what, memory, reads in places)


def _sourced(reads: Reads) -> str:
    return f"{reads} ({reads.source})" if reads.source else str(reads)


def _peak(macs: int, cycles: int, target: Target) -> float | None:
    return macs / (cycles * target.peak_macs) if macs and cycles and target.peak_macs else None
