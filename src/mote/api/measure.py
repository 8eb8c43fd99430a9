"""`mote run`: build the generated C for a target, run it, and say what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mote import toolchain
from mote.api.compiler import Compiled, check_budgets
from mote.api.stimuli import stimuli
from mote.codegen import glue
from mote.codegen.selftest import pattern
from mote.errors import MoteError
from mote.graph import Tensor
from mote.graph.tensor import Array
from mote.toolchain import Compiler, Emulator, Execution, Mode

Inputs = Mapping[int, Array] | Sequence[Mapping[int, Array]]
"""Those of an inference, or of several one after another."""

STEP_INPUTS = 3
STEP_MARGIN = 0.05


@dataclass(frozen=True)
class LayerCost:
    """One step of the plan; `instructions` is None on the host."""

    name: str
    op: str
    kernel: str
    macs: int
    instructions: int | None


@dataclass(frozen=True)
class Ram:
    """`stack` is the most that any run can take, `stack_measured` what this one took."""

    arena: int
    static: int | None
    stack: int | None
    stack_measured: int | None
    total: int


@dataclass(frozen=True)
class Flash:
    code: int | None
    constants: int
    total: int


@dataclass(frozen=True)
class Output:
    name: str
    shape: list[int]
    dtype: str
    sha256: str


@dataclass(frozen=True)
class RunResult:
    """Exact costs of one inference, and its outputs. What the host cannot tell is None."""

    model: str
    target: str
    emulator: str
    compiler: str
    instructions: int | None
    longest_step: int | None
    """Instructions that one call of the step function takes at most."""
    layers: list[LayerCost]
    ram: Ram
    flash: Flash
    outputs: list[Output]
    values: dict[str, Array]

    def json(self) -> dict[str, Any]:
        found = asdict(self)
        del found["values"]
        return found


@dataclass(frozen=True)
class Bench:
    """A compiled model in a working folder, with the tools that build and run it."""

    compiled: Compiled
    compiler: Compiler
    emulator: Emulator
    folder: Path
    sanitize: bool = False

    def elf(self, mode: Mode) -> Path:
        project = self.folder / "project"
        self.compiled.project.write(project)
        joint = self.folder / "glue.c"
        joint.write_text(glue.text(self.compiled.plan, self.compiled.project.options), encoding="utf-8")
        workdir = self.folder / mode
        workdir.mkdir(exist_ok=True)
        return toolchain.build(
            project,
            [project / s for s in self.compiled.project.sources],
            joint,
            self.compiled.settings.target,
            self.compiler,
            mode=mode,
            optimize=self.compiled.settings.optimize,
            workdir=workdir,
            sanitize=self.sanitize,
        )

    def execute(self, mode: Mode, inputs: list[list[bytes]]) -> Execution:
        elf = self.elf(mode)
        return toolchain.execute(
            elf, self.compiled.settings.target, self.emulator, inputs, workdir=self.folder / mode, mode=mode
        )


def bench(
    compiled: Compiled,
    folder: Path,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    sanitize: bool = False,
) -> Bench:
    """Find the tools (`compiler`: gcc, zig; `emulator`: qemu, unicorn) for a compiled model."""
    target = compiled.settings.target
    return Bench(
        compiled,
        toolchain.find_compiler(target, compiler),
        toolchain.find_emulator(target, emulator),
        folder,
        sanitize,
    )


def run(
    compiled: Compiled,
    inputs: Inputs | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    layers: bool = True,
) -> RunResult:
    """Build, run and measure one inference (on the self-test's input unless `inputs` are given), each layer too unless
    `layers` is false: that takes a build and a run of its own. Of a model that keeps a state there may be inputs for
    several inferences: the last one counts, and `values` are those of all."""
    graph, plan = compiled.plan.graph, compiled.plan
    raw = stimulus(compiled, inputs)
    with TemporaryDirectory(prefix="mote-") as folder:
        on = bench(compiled, Path(folder), compiler=compiler, emulator=emulator)
        plain = on.execute(Mode.MEASURE, raw)
        elf = on.folder / Mode.MEASURE / "model.elf"
        sizes = toolchain.sizes(elf, compiled.settings.target)
        stack, stack_measured = (None, None) if plain.stack is None else stacks(elf, plain.stack)
        profile = on.execute(Mode.PROFILE, raw) if layers and plain.instructions else None
    steps = profile.steps[-1] if profile and profile.steps else [None] * len(plan.works)
    values = {}
    outputs = []
    for tensor, *every in zip((graph.tensors[t] for t in graph.outputs), *plain.outputs, strict=True):
        shape = (len(every), *tensor.shape) if len(every) > 1 else tensor.shape
        values[tensor.name] = np.frombuffer(b"".join(every), tensor.dtype.numpy).reshape(shape)
        outputs.append(Output(tensor.name, list(tensor.shape), tensor.dtype, sha256(every[-1]).hexdigest()))
    static = None if sizes is None else sizes.static - compiled.project.arena
    code = None if sizes is None else sizes.code
    constants = compiled.project.constants if sizes is None else sizes.constants
    check_budgets(compiled, code or 0, stack or 0)
    return RunResult(
        model=compiled.path,
        target=compiled.settings.target.name,
        emulator=f"{on.emulator.kind} {on.emulator.version}".strip(),
        compiler=f"{on.compiler.kind} {on.compiler.version}".strip(),
        instructions=plain.instructions[-1] if plain.instructions else None,
        longest_step=profile.longest[-1] if profile and profile.longest else None,
        layers=[
            LayerCost(op.name, op.kind, kernel_label(compiled, i), op.macs(graph), cost)
            for i, ((op, _), cost) in enumerate(zip(plan.works, steps, strict=True))
        ],
        ram=Ram(plan.arena, static, stack, stack_measured, plan.arena + (static or 0) + (stack or 0)),
        flash=Flash(code, constants, constants + (code or 0)),
        outputs=outputs,
        values=values,
    )


def stimulus(compiled: Compiled, inputs: Inputs | None) -> list[list[bytes]]:
    """Inferences as the harness takes them: of these inputs, or one of the self-test's."""
    graph = compiled.plan.graph
    given = inputs or {t: pattern(graph.tensors[t]) for t in graph.inputs}
    cases = [given] if isinstance(given, Mapping) else given
    return [[np.ascontiguousarray(case[t]).tobytes() for t in graph.inputs] for case in cases]


def with_step_bound(compiled: Compiled, *, compiler: str | None = None, emulator: str | None = None) -> Compiled:
    """The same model with a header that states how many instructions a step takes at most: measured on some inputs and
    rounded up by STEP_MARGIN, since a few kernels take a little longer for some values than for others."""
    cases = stimuli(compiled.plan.graph, STEP_INPUTS, seed=0)
    raw = [[case[t].tobytes() for t in compiled.plan.graph.inputs] for case in cases]
    with TemporaryDirectory(prefix="mote-") as folder:
        on = bench(compiled, Path(folder), compiler=compiler, emulator=emulator)
        longest = on.execute(Mode.PROFILE, raw).longest
    if not longest:
        raise MoteError(
            "instructions cannot be counted there, so that no bound for a step can be stated",
            where=f"target {compiled.settings.target.name}",
            remedy="choose a microcontroller, or leave --step away: the step function is there without it",
        )
    return compiled.with_step_bound(int(max(longest) * (1 + STEP_MARGIN)) + 1)


def stacks(elf: Path, measured: int) -> tuple[int, int]:
    """The most stack that the model's run function can take, and what it took where the glue's call took `measured`."""
    worst = toolchain.worst_stack(elf, "harness_run")
    glue = worst.chain[0].size
    if measured > worst.size:
        raise MoteError(
            f"the model took {measured - glue} bytes of stack, more than the {worst.size - glue} it can take ({worst})",
            remedy="this is a bug of Mote",
        )
    return worst.size - glue, max(measured - glue, 0)


def code_size(compiled: Compiled) -> int | None:
    """Bytes of code in the linked firmware, without the harness; None on the host."""
    with TemporaryDirectory(prefix="mote-") as folder:
        target = compiled.settings.target
        joint = Path(folder)
        on = Bench(compiled, toolchain.find_compiler(target), Emulator("none", (), ""), joint)
        sizes = toolchain.sizes(on.elf(Mode.MEASURE), target)
        return None if sizes is None else sizes.code


def kernel_label(compiled: Compiled, step: int) -> str:
    """The kernel's name, with the instruction set variant that the target gets."""
    kernel = compiled.plan.works[step][1][0].kernel
    return f"{kernel.name}/dsp" if kernel.tuned and "dsp" in compiled.settings.target.features else kernel.name


def read_inputs(compiled: Compiled, path: Path) -> list[dict[int, Array]]:
    """Inputs from a .npy (one input) or .npz file (by tensor name, or in order as arr_0, arr_1, ...): of one inference,
    or of as many as there are for a model that keeps a state, along the stream or along an axis before all others."""
    graph = compiled.plan.graph
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise MoteError(f"cannot be read as .npy or .npz ({error})", where=str(path)) from None
    arrays = {"arr_0": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    found: dict[int, list[Array]] = {}
    for i, t in enumerate(graph.inputs):
        tensor = graph.tensors[t]
        value = arrays.get(tensor.name, arrays.get(f"arr_{i}"))
        if value is None:
            raise MoteError(
                f"has no array '{tensor.name}' (it has {', '.join(arrays) or 'none'})",
                where=str(path),
                remedy="save the inputs by name, or in order as arr_0, arr_1, ...",
            )
        found[t] = _cases(tensor, value, bool(graph.states))
        if not found[t] or value.dtype != tensor.dtype.numpy:
            raise MoteError(
                f"'{tensor.name}' is {value.dtype} {value.shape}, the model takes {tensor.dtype} {tensor.shape}",
                where=str(path),
            )
    if len(set(map(len, found.values()))) > 1:
        raise MoteError("has more inputs of one kind than of another", where=str(path))
    return [dict(zip(found, case, strict=True)) for case in zip(*found.values(), strict=True)]


def _cases(tensor: Tensor, value: Array, several: bool) -> list[Array]:
    """The inferences that a value is for; none where it does not fit."""
    axis = tensor.newest
    if axis is not None and value.ndim == len(tensor.shape) and value.shape[axis] % tensor.shape[axis] == 0:
        parts = np.split(value, value.shape[axis] // tensor.shape[axis], axis)
        return parts if parts[0].shape == tensor.shape else []
    if value.size == tensor.size or (several and value.shape[1:] == tensor.shape):
        return list(value.reshape(-1, *tensor.shape))
    return []
