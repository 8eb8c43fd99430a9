"""`mote run`: build the generated C for a target, run it, and say what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mote import toolchain
from mote.codegen import glue
from mote.codegen.selftest import pattern
from mote.compiler import Compiled, check_budgets
from mote.errors import MoteError
from mote.graph.tensor import DTYPES, Array
from mote.toolchain import Compiler, Emulator, Execution, Mode


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
    arena: int
    static: int | None
    stack: int | None
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
    inputs: Mapping[int, Array] | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
) -> RunResult:
    """Build, run and measure one inference (on the self-test's input unless `inputs` are given)."""
    graph, plan = compiled.plan.graph, compiled.plan
    given = inputs or {t: pattern(graph.tensors[t]) for t in graph.inputs}
    stimulus = [[np.ascontiguousarray(given[t]).tobytes() for t in graph.inputs]]
    with TemporaryDirectory(prefix="mote-") as folder:
        on = bench(compiled, Path(folder), compiler=compiler, emulator=emulator)
        plain = on.execute(Mode.MEASURE, stimulus)
        sizes = toolchain.sizes(on.folder / Mode.MEASURE / "model.elf", compiled.settings.target)
        profile = on.execute(Mode.PROFILE, stimulus).steps if plain.instructions else None
    steps = profile[0] if profile else [None] * len(plan.steps)
    values = {}
    outputs = []
    for t, raw in zip(graph.outputs, plain.outputs[0], strict=True):
        tensor = graph.tensors[t]
        values[tensor.name] = np.frombuffer(raw, DTYPES[tensor.dtype]).reshape(tensor.shape)
        outputs.append(Output(tensor.name, list(tensor.shape), tensor.dtype, sha256(raw).hexdigest()))
    stack = plain.stack
    static = None if sizes is None else sizes.static - plan.arena
    code = None if sizes is None else sizes.code
    constants = compiled.project.constants if sizes is None else sizes.constants
    check_budgets(compiled, code or 0, stack or 0)
    return RunResult(
        model=compiled.path,
        target=compiled.settings.target.name,
        emulator=f"{on.emulator.kind} {on.emulator.version}".strip(),
        compiler=f"{on.compiler.kind} {on.compiler.version}".strip(),
        instructions=plain.instructions[0] if plain.instructions else None,
        layers=[
            LayerCost(s.op.name, s.op.kind, kernel_label(compiled, i), s.op.macs(graph), cost)
            for i, (s, cost) in enumerate(zip(plan.steps, steps, strict=True))
        ],
        ram=Ram(plan.arena, static, stack, plan.arena + (static or 0) + (stack or 0)),
        flash=Flash(code, constants, constants + (code or 0)),
        outputs=outputs,
        values=values,
    )


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
    kernel = compiled.plan.steps[step].kernel
    return f"{kernel.name}/dsp" if kernel.dsp and "dsp" in compiled.settings.target.features else kernel.name


def read_inputs(compiled: Compiled, path: Path) -> dict[int, Array]:
    """Inputs from a .npy (one input) or .npz file (by tensor name, or in order as arr_0, arr_1, ...)."""
    graph = compiled.plan.graph
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise MoteError(f"cannot be read as .npy or .npz ({error})", where=str(path)) from None
    arrays = {"arr_0": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    found = {}
    for i, t in enumerate(graph.inputs):
        tensor = graph.tensors[t]
        value = arrays.get(tensor.name, arrays.get(f"arr_{i}"))
        if value is None:
            raise MoteError(
                f"has no array '{tensor.name}' (it has {', '.join(arrays) or 'none'})",
                where=str(path),
                remedy="save the inputs by name, or in order as arr_0, arr_1, ...",
            )
        if value.size != tensor.size or value.dtype != DTYPES[tensor.dtype]:
            raise MoteError(
                f"'{tensor.name}' is {value.dtype} {value.shape}, the model takes {tensor.dtype} {tensor.shape}",
                where=str(path),
            )
        found[t] = value.reshape(tensor.shape)
    return found
