"""`mote run`: builds the generated C for a target, runs it, and reports its costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from mote.base.errors import MoteError, explaining
from mote.base.files import temporary_folder
from mote.base.notebook import table
from mote.base.results import Result
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench, missing_tools
from mote.bench.measure.training import training_step
from mote.compiler.checks.budgets import check_budgets
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.emit.c.options import STEP_INPUTS, STEP_MARGIN
from mote.compiler.emit.c.programs.golden import FULL
from mote.compiler.firmware import Firmware, firmware, stack_of
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.facts import BoardFacts
from mote.frontends.data.inputs import Inputs, given_inputs
from mote.hardware import toolchain
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape, to_model
from mote.ir.graph.tensor import Array
from mote.ir.ops.control.control_flow import depends

SHOWN = 10
"""Number of output values that a notebook shows."""


@dataclass(frozen=True)
class LayerCost:
    """Costs of a layer; `instructions` is None on the host."""

    number: str
    """Layer number in `mote plan`."""
    name: str
    """The name of the layer."""
    op: str
    """Operator kind."""
    kernel: str
    """Name of the kernel with its instruction set."""
    macs: int
    """MACs."""
    instructions: int | None
    """Instructions of the layer; None on the host."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class Ram:
    """RAM of a model: arena, other variables and stack."""

    arena: int
    """Bytes of the tensor arena."""
    static: int | None
    """Bytes of other variables; None on the host."""
    stack: int | None
    """Upper bound on stack bytes over all runs; None if unknown."""
    stack_measured: int | None
    """Stack bytes used by this run; None on the host."""
    total: int
    """Total bytes."""
    code: int = 0
    """Bytes of code executed from RAM; also counted in flash."""


@dataclass(frozen=True)
class Flash:
    code: int | None
    """Bytes of code; None on the host."""
    constants: int
    """Bytes of constants."""
    total: int
    """Total bytes."""


@dataclass(frozen=True)
class Output:
    name: str
    """The name of the output."""
    shape: list[int]
    """Shape in the model's layout."""
    dtype: str
    """The element type."""
    sha256: str
    """SHA-256 of the values of the last inference."""


@dataclass(frozen=True)
class Inference:
    """Costs and outputs of one inference."""

    instructions: int | None
    """Instructions of the inference; None on the host."""
    outputs: dict[str, Array]
    """Outputs by name."""


@dataclass(frozen=True)
class RunResult(Result):
    """Result of `mote run`: exact costs of the last inference, and the outputs of all. Values that cannot be measured
    on the host are None."""

    FACTS = (
        "{unit}=instructions, RAM=ram.total:size, flash=flash.total:size, stack=ram.stack:size,"
        " {unit} of a training step=training_step?"
    )

    model: str
    """Model file name, or a description of the model object."""
    target: str
    """Name of the target."""
    emulator: str
    """Name of the emulator or board."""
    compiler: str
    """Name and version of the C compiler."""
    instructions: int | None
    """Instructions of the last inference (a board counts cycles, see `unit`); None on the host."""
    longest_step: int | None
    """Maximum instructions of one call of the step function; None if a board ran it."""
    layers: list[LayerCost]
    """Costs of each layer."""
    ram: Ram
    """RAM use."""
    flash: Flash
    """Flash use."""
    outputs: list[Output]
    """Descriptions of the outputs; `sha256` is of the last inference's."""
    inferences: list[Inference]
    """Costs and outputs of each inference."""
    values: dict[str, Array]
    """Outputs by name, with a leading axis if there are several inferences."""
    unit: str = "instructions"
    """Unit of `instructions`: cycles on AVR (whose simulator is cycle-exact) and on boards."""
    board: BoardFacts | None = None
    """The board that ran it, with its counter; None if an emulator did."""
    training_step: int | None = None
    """Instructions of a training step including its inference; None on the host, and for models that do not learn."""

    @property
    def seconds(self) -> float | None:
        """Time of the last inference by a board's counter; None if its rate is unknown."""
        return None if self.board is None or self.instructions is None else self.board.seconds(self.instructions)

    def __repr__(self) -> str:
        counted = "not counted" if self.instructions is None else f"{self.instructions:,}"
        return f"<RunResult of {self.model!r} on {self.target}: {self.unit} {counted}>"

    def json(self) -> dict[str, Any]:
        """Costs and outputs as JSON types; numbers that are not finite become strings."""
        summary = asdict(self)
        del summary["values"]
        for inference in summary["inferences"]:
            inference["outputs"] = {name: _plain(value) for name, value in inference["outputs"].items()}
        return summary

    def layer_table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """The heads and rows of a table of layers."""
        rows: list[tuple[object, ...]] = [
            (
                x.number,
                x.short,
                x.op,
                x.kernel,
                x.macs,
                x.instructions,
                f"{x.instructions / x.macs:.2f}" if x.instructions and x.macs else "",
                f"{x.instructions / self.instructions:.1%}" if x.instructions and self.instructions else "",
            )
            for x in self.layers
        ]
        return ("#", "layer", "op", "kernel", "MACs", self.unit, "per MAC", "share"), rows

    def _parts(self) -> list[str]:
        rows = [(name, x.dtype, "x".join(map(str, x.shape)), _shown(x)) for name, x in self.values.items()]
        outputs = table(("output", "type", "shape", "values"), rows, left=4)
        return [table(*self.layer_table(), left=4), outputs]

    def _notes(self) -> list[str]:
        tools = ", ".join(tool for tool in (self.emulator, self.compiler) if tool)
        return [tools, *(() if self.board is None else self.board.notes)]


def _share(part: int | None, whole: int | None) -> str | None:
    return f"{100 * part / whole:.1f}%" if part is not None and whole else None


def _shown(values: Array) -> str:
    """The first values of an array."""
    first = np.array2string(values.reshape(-1)[:SHOWN], precision=4, separator=" ", max_line_width=1000)
    return first if values.size <= SHOWN else f"{first[:-1]} ...]"


def _plain(values: Array) -> Any:
    """An array as JSON; numbers that are not finite become strings."""
    flat = [x if isfinite(x) else str(x) for x in values.reshape(-1).tolist()]
    return np.array(flat, object).reshape(values.shape).tolist()


@explaining()
def run(
    compiled: Compiled,
    inputs: Inputs | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | BoardEntry | None = None,
    layers: bool = True,
) -> RunResult:
    """Build, run and measure inferences (by default one on the self-test's input), and each layer unless `layers` is
    false, which saves a build and a run. `inputs` may be for several consecutive inferences; layers are those of the
    last. `board` runs it instead of an emulator."""
    graph, plan = compiled.plan.graph, compiled.plan
    known = [
        LayerCost(
            plan.number(of[0]),
            op.name,
            op.kind,
            kernel_label(compiled, i),
            op.macs(graph),
            None,
            graph.short_name(op),
        )
        for i, (op, of) in enumerate(plan.works)
    ]
    subject = MeasuredSubject(
        compiled.path,
        firmware(compiled),
        graph,
        known,
        bool(graph.states),
        plan.arena,
        compiled.project.arena,
        compiled.project.constants,
        held=plan.static if compiled.settings.instances else 0,
    )
    raw = stimulus(graph, inputs)
    result = measured(subject, raw, compiler=compiler, emulator=emulator, board=board, layers=layers)
    check_budgets(compiled, result.flash.code or 0, result.ram.stack or 0, constants=result.flash.constants)
    if compiled.settings.train and result.instructions:
        return replace(result, training_step=training_step(compiled, compiler=compiler, emulator=emulator, board=board))
    return result


@dataclass(frozen=True)
class MeasuredSubject:
    """Subject of a measurement: a firmware and facts about its model."""

    path: str
    firmware: Firmware
    graph: Graph
    """A graph with the model's inputs and outputs."""
    layers: Sequence[LayerCost]
    keeps: bool
    """Whether the model is stateful."""
    arena: int
    defined: int
    """Bytes of the arena that the firmware itself defines."""
    constants: int
    """Bytes of constants, if not visible in the linked file."""
    held: int = 0
    """Bytes of the model's other variables that the caller holds, not the firmware."""
    pointers: bool = False
    """Whether functions are called through pointers, so that stack has no static bound."""


def measured(
    subject: MeasuredSubject,
    raw: list[list[bytes]],
    *,
    compiler: str | None,
    emulator: str | None,
    board: str | BoardEntry | None = None,
    layers: bool,
) -> RunResult:
    """Builds, runs and measures the subject on raw inputs."""
    graph, target = subject.graph, subject.firmware.target
    with (
        temporary_folder() as folder,
        bench(subject.firmware, folder, compiler=compiler, emulator=emulator, board=board) as on,
    ):
        plain = on.execute(Mode.MEASURE, raw)
        elf = on.elf(Mode.MEASURE) if on.links else None
        sizes = None if elf is None else toolchain.sizes(elf, target)
        stack, stack_measured = (None, plain.stack)
        if elf is not None and plain.stack is not None and sizes is not None and not subject.pointers:
            stack, stack_measured = stacks(elf, plain.stack, on.board is None)
        last = raw if subject.keeps else raw[-1:]
        profile = on.execute(Mode.PROFILE, last) if layers and plain.instructions else None
    steps = profile.steps[-1] if profile and profile.steps else [None] * len(subject.layers)
    given = [graph.tensors[t] for t in graph.outputs]
    counts: Sequence[int | None] = plain.instructions or [None] * len(raw)
    inferences = [Inference(n, _outputs(given, out)) for n, out in zip(counts, plain.outputs, strict=True)]
    outputs = [
        Output(t.name, list(model_shape(t)), t.dtype, sha256(data).hexdigest())
        for t, data in zip(given, plain.outputs[-1], strict=True)
    ]
    static = None if sizes is None else sizes.static - subject.defined + subject.held
    code = None if sizes is None else sizes.code
    in_ram = 0 if sizes is None else sizes.ram_code
    constants = subject.constants if sizes is None else sizes.constants
    arena, most = subject.arena, stack or stack_measured or 0
    return RunResult(
        model=subject.path,
        target=target.name,
        emulator=on.tools[0],
        compiler=on.tools[1],
        instructions=plain.instructions[-1] if plain.instructions else None,
        longest_step=profile.longest[-1] if profile and profile.longest else None,
        layers=[replace(layer, instructions=cost) for layer, cost in zip(subject.layers, steps, strict=True)],
        ram=Ram(arena, static, stack, stack_measured, arena + (static or 0) + most + in_ram, in_ram),
        flash=Flash(code, constants, constants + (code or 0)),
        outputs=outputs,
        inferences=inferences,
        values={name: _together([x.outputs[name] for x in inferences]) for name in inferences[0].outputs},
        unit=on.counts,
        board=on.facts,
    )


def _outputs(tensors: Sequence[Tensor], data: Sequence[bytes]) -> dict[str, Array]:
    """Outputs by name; duplicates get a number."""
    names = [t.name for t in tensors]
    unique = [name if names.count(name) == 1 else f"{name}#{i}" for i, name in enumerate(names)]
    raw = [np.frombuffer(x, t.dtype.numpy).reshape(t.shape) for t, x in zip(tensors, data, strict=True)]
    arrays = [to_model(t, x) for t, x in zip(tensors, raw, strict=True)]
    return dict(zip(unique, arrays, strict=True))


def _together(values: Sequence[Array]) -> Array:
    return np.stack(values) if len(values) > 1 else values[0]


def stimulus(graph: Graph, inputs: Inputs | None) -> list[list[bytes]]:
    """Raw input bytes for each inference: from `inputs`, or the first pattern of the self-test."""
    cases = [FULL.inputs(graph)] if inputs is None else given_inputs(graph, inputs)
    return [[np.ascontiguousarray(case[t]).tobytes() for t in graph.inputs] for case in cases]


def with_longest_step(compiled: Compiled, *, compiler: str | None = None, emulator: str | None = None) -> Compiled:
    """Adds to the model's header the measured instructions of the longest step, plus STEP_MARGIN percent. Not a
    guaranteed bound, since a few kernels depend on data."""
    flow = next((op for op in compiled.plan.graph.ops if depends(op)), None)
    if flow is not None:
        raise MoteError(
            "takes as long as the inputs make it, so that no longest step can be stated",
            where=flow.where,
            remedy="omit --step: the step function is there without it",
        )
    cases = stimuli(compiled.plan.graph, STEP_INPUTS, seed=0)
    raw = [[case[t].tobytes() for t in compiled.plan.graph.inputs] for case in cases]
    with temporary_folder() as folder:
        on = bench(compiled, folder, compiler=compiler, emulator=emulator)
        longest = on.execute(Mode.PROFILE, raw).longest
    if not longest:
        raise MoteError(
            "instructions cannot be counted there, so that no longest step can be stated",
            where=f"target {compiled.settings.target.name}",
            remedy="choose a microcontroller, or omit --step: the step function is there without it",
        )
    return compiled.with_longest_step(max(longest) * (100 + STEP_MARGIN) // 100 + 1)


def stack_bound(compiled: Compiled) -> int | None:
    """Static upper bound on the model's stack bytes; None if it cannot be determined."""
    if missing_tools(compiled.settings.target, what="bytes of stack") is not None:
        return None
    with temporary_folder() as folder:
        try:
            on = bench(compiled, folder)
            return stack_of(on.elf(Mode.MEASURE), on.firmware.learning)
        except MoteError:
            return None


def stacks(elf: Path, measured: int, in_harness: bool = True) -> tuple[int, int]:
    """(static bound, measured use) of the model's stack, given the bytes `measured` around the glue's call; an agent
    adds its own hook between steps."""
    worst = toolchain.worst_stack(elf, "harness_run")
    glue = worst.chain[0].size
    if not in_harness:
        return worst.size - glue, measured
    if measured > worst.size:
        raise MoteError(
            f"the model took {measured - glue} bytes of stack, more than the {worst.size - glue} it can take ({worst})",
            remedy="this is a bug of Mote",
        )
    return worst.size - glue, max(measured - glue, 0)
