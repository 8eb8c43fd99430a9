"""Kernels called from C of a test's own, with every row in a block of memory of its own: on the host under the
sanitizers, or on an emulated core, where calls can be timed. It is built and run as a model is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mote.compiler.emit.c.c import printed
from mote.compiler.emit.c.values import CTYPES, ConstantPool
from mote.compiler.kernels import library
from mote.compiler.kernels.contract import NHWC, Call, Packed
from mote.compiler.kernels.structs import kernel_fields
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Compiler, Emulator, Execution, Mode
from mote.hardware.toolchain.machine_code import read_code
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Region
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

KERNELS = [f"-I{folder}" for folder in library.FOLDERS]
"""Where the C compiler finds the kernels."""
FLAGS = ["-std=c99", "-Wconversion", "-pedantic", "-Werror", "-Wno-unused", "-Wno-overlength-strings"]
"""Assembly may be long."""
QUICK = ["-O0", "-g0"]
"""For the host: programs are large, short and run once."""
GLUE = Path(__file__).parent / "program.c"
TIMEOUT_S = 300.0

HEAD = """\
#include "harness.h"
void *block(size_t n);
void *read_block(size_t n);
"""
MAIN = """\
int program(void);
#if defined(__clang__)
__attribute__((optnone))
#else
__attribute__((optimize("O0")))
#endif
int program(void) {"""
"""Kernels are compiled as always, but once each, however often they are called."""


@dataclass(frozen=True)
class Computer:
    """How the host's programs are compiled for some instructions of its own, or for another computer and run there."""

    flags: tuple[str, ...] = ()
    compiler: tuple[str, ...] = ()
    """A cross compiler; its programs run without sanitizers."""
    emulator: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[Compiler, Emulator]:
        target = targets.load("host")
        if not self.compiler:
            return toolchain.find_compiler(target), toolchain.find_emulator(target)
        named = " ".join((*self.compiler, *self.emulator))
        return Compiler("host", self.compiler, named), Emulator("native", self.emulator, named)


@dataclass
class Program:
    """C that reads rows from its input, calls kernels and writes rows to its output."""

    core: str = "host"
    computer: Computer = field(default_factory=Computer)
    """For programs of the host."""
    includes: dict[str, None] = field(default_factory=dict)
    instances: dict[str, None] = field(default_factory=dict)
    constants: ConstantPool = field(default_factory=lambda: ConstantPool("k"))
    globals: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    given: list[bytes] = field(default_factory=list)
    taps: int = 1
    sums_wrap: bool = False
    """Whether kernels are told that sums might not fit."""
    timed: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of code of each function, once it has run on an emulated core."""

    def params(self, kernel: Packed) -> str:
        """The kernel's parameters as a global; gives the expression to pass."""
        self.includes |= dict.fromkeys(kernel.files)
        self.instances.update(dict.fromkeys(map(str, kernel.instances)))
        self.taps = max(self.taps, kernel.entry.taps)
        name = f"p{len(self.globals)}"
        body = self.constants.struct(name, kernel.params, kernel_fields(kernel))
        self.globals.append(f"static const mote_{kernel.name}_t {name} = {body};")
        return f"&{name}"

    def block(self, nbytes: int, given: Array | None = None) -> str:
        """A block of memory, filled with `given` from the input where it is there."""
        name = f"b{len(self.body)}"
        self.body.append(f"    void *{name} = {'block' if given is None else 'read_block'}({nbytes});")
        if given is not None:
            self.given.append(given.tobytes())
        return name

    def say(self, *lines: str) -> None:
        self.body += [f"    {line}" for line in lines]

    def write(self, block: str, nbytes: int) -> None:
        self.say(f"mote_trace(0, {block}, {nbytes});")

    def time(self, call: str) -> None:
        """A call whose instructions `measure` counts."""
        self.timed += 1
        self.say("mote_mark(0);", call, f"mote_mark({self.timed});")

    def run(self) -> bytes:
        """What it writes."""
        return self._execute(Mode.DUMP).dumps[0].get(0, b"")

    def measure(self) -> list[int]:
        """The instructions of each timed call, with those that pass its arguments."""
        steps = self._execute(Mode.PROFILE).steps
        assert steps
        return steps[0][1:]

    def _execute(self, mode: Mode) -> Execution:
        target = targets.load(self.core)
        host = target.arch == "host"
        own = self.computer.tools if host else None
        compiler, emulator = own or (toolchain.find_compiler(target), toolchain.find_emulator(target))
        given = b"".join(self.given)
        with TemporaryDirectory() as folder:
            workdir = Path(folder)
            source = workdir / "kernels.c"
            source.write_text(self._text(len(given)))
            elf = toolchain.build(
                workdir,
                [source],
                GLUE,
                target,
                compiler,
                mode=mode,
                optimize="balanced",
                workdir=workdir,
                sanitize=host and not self.computer.compiler,
                extra_flags=[*FLAGS, *KERNELS, *((*QUICK, *self.computer.flags) if host else ())],
            )
            if not host:
                code = read_code(elf)
                self.sizes = {name: code.ends[at] - at for name, at in code.functions.items()}
            return toolchain.execute(elf, target, emulator, [[given]], workdir=workdir, mode=mode, timeout_s=TIMEOUT_S)

    def _text(self, given: int) -> str:
        return "\n".join(
            [
                HEAD,
                f"#define MOTE_MAX_TAPS {self.taps}",
                f"#define MOTE_SUMS_WRAP {int(self.sums_wrap)}",
                f"#define MOTE_FUSED {int('fma' in targets.load(self.core).features)}",
                *(f'#include "{file}"' for file in self.includes),
                *self.instances,
                printed(self.constants.definitions),
                *self.globals,
                f"const uint32_t given_bytes = {given}, harness_step_count = {self.timed + 1};",
                f"uint8_t given[{max(given, 1)}];",
                MAIN,
                *self.body,
                "    return 0;\n}\n",
            ]
        )


def rows_of(values: Array) -> Array:
    """One row of the tensor in each row of a matrix."""
    return values.reshape(row_count(values.shape), -1)


def inputs_of(op: Op, g: Graph, seed: int = 0) -> list[Array]:
    """The operator's inputs: constants as they are, random values for the others."""
    rng = np.random.default_rng(seed)
    return [t.data if t.data is not None else random(rng, t.shape, t.dtype) for t in map(g.tensors.get, op.inputs) if t]


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.normal(size=shape).astype(kind)
    return rng.integers(0, 256, (*shape, kind.itemsize), dtype=np.uint8).view(kind).reshape(shape)


def int8_inputs(op: Op, g: Graph, seed: int) -> list[Array]:
    """The operator's inputs: constants as they are, random values for the others, for every fourth seed the least and
    the largest only."""
    rng = np.random.default_rng(seed)

    def values(shape: tuple[int, ...]) -> Array:
        found: Array = rng.choice([-128, 127], shape) if seed % 4 == 0 else rng.integers(-128, 128, shape)
        return found.astype(np.int8)

    return [values(t.shape) if t.data is None else t.data for t in (g.tensors[i] for i in op.inputs)]


@dataclass(frozen=True)
class Case:
    """A layer of one input and one of its kernels, called for the whole tensor and, where it can be, row by row; or in
    two runs of channels and channel by channel."""

    graph: Graph
    op: Op
    kernel: Packed
    seed: int

    @cached_property
    def inputs(self) -> list[Array]:
        return int8_inputs(self.op, self.graph, self.seed)

    @cached_property
    def expected(self) -> Array:
        (found,) = self.op.evaluate(self.graph, self.inputs)
        return found

    @property
    def ways(self) -> tuple[str, ...]:
        if self.kernel.entry.call is Call.CHANNELS:
            return "in halves", "by channels"
        return ("whole",) if self.kernel.entry.call is Call.WHOLE else ("whole", "by rows")

    def call(self, program: Program) -> None:
        """With `inputs`; what it writes is the output for each of the ways."""
        kernel, nbytes = self.kernel, self.expected.nbytes
        params = program.params(kernel)
        stored = kernel.needs.reads.store(self.inputs[0])
        block = program.block(stored.nbytes, stored)
        for runs in self._runs:
            out = program.block(nbytes)
            scratch = [] if kernel.needs.scratch is None else [program.block(kernel.needs.scratch)]
            for how in runs:
                program.say(f"mote_{kernel.name}({', '.join(map(str, [params, block, out, *how, *scratch]))});")
            program.write(out, nbytes)
        if "by rows" in self.ways:
            call_row_by_row(program, self.graph, self.op, kernel, self.inputs)

    @property
    def _runs(self) -> list[list[list[int]]]:
        """What calls are given behind the output, for each way in which these calls compute all of it."""
        entry, channels = self.kernel.entry, self.expected.shape[-1]
        if entry.call is Call.CHANNELS:
            each, half = [[n, n + 1] for n in reversed(range(channels))], channels // 2
            return [[[half, channels], [0, half]], each]
        return [[{Call.FLAT: [entry.units], Call.ROWS: [0, row_count(self.expected.shape)]}.get(entry.call, [])]]


def check_cases(cases: Sequence[Case], program: Program) -> None:
    """All of them in one program."""
    for case in cases:
        case.call(program)
    got = np.frombuffer(program.run(), np.int8)
    for case in cases:
        for how in case.ways:
            result, got = got[: case.expected.size], got[case.expected.size :]
            assert np.array_equal(result, case.expected.reshape(-1)), (how, case.kernel.name, case.graph.text())
    assert not got.size


def call_row_by_row(program: Program, g: Graph, op: Op, kernel: Packed, values: list[Array]) -> None:
    """Calls for every output row, the last one first; the rows are written in order."""
    y = op.output(g)
    count = row_count(y.shape)
    params = program.params(kernel)
    activations = {}
    for position in kernel.entry.operands:
        layout = kernel.needs.reads if position == 0 else NHWC
        rows = rows_of(layout.store(values[position]))
        activations[position] = [program.block(row.nbytes, row) for row in rows]
    scratch = "" if kernel.needs.scratch is None else f", {program.block(max(kernel.needs.scratch, 1))}"
    nbytes = kernel.needs.writes.row_bytes(y, count)
    out = [program.block(nbytes) for _ in range(count)]
    ctype = CTYPES[DType.INT8 if kernel.entry.moves else op.input(g, kernel.entry.operands[0]).dtype].name
    for row in reversed(range(count)):
        read = {p: op.reads(g, p, row) for p in kernel.entry.operands}
        assert all(r is not None for r in read.values())
        pointers = [activations[p][r] if r != OUTSIDE else "NULL" for p in kernel.entry.operands for r in read[p] or ()]
        if kernel.entry.rows and kernel.entry.group > 1:
            if row % kernel.entry.group == 0:
                _call_several(program, op, g, kernel, row, activations[0], out, f"{params}, ", scratch)
        elif kernel.entry.row:
            at = f"{row}, " if kernel.entry.row_index else ""
            program.say(
                f"{{ const {ctype} *rows[] = {{{', '.join(pointers)}}};",
                f"mote_{kernel.entry.row}({params}, rows, {at}{out[row]}{scratch}); }}",
            )
        else:
            how = str(kernel.entry.units // count) if kernel.entry.call is Call.FLAT else "0, 1"
            program.say(f"mote_{kernel.name}({params}, {', '.join(pointers)}, {out[row]}, {how}{scratch});")
    for block in out:
        program.write(block, nbytes)


def _call_several(
    program: Program,
    op: Op,
    g: Graph,
    kernel: Packed,
    first: int,
    inputs: list[str],
    out: list[str],
    params: str,
    scratch: str,
) -> None:
    """One call for as many rows as the kernel computes at once."""
    count = min(kernel.entry.group, len(out) - first)
    read = [op.reads(g, 0, first + k) or () for k in range(count)]
    window = op.ops[0] if isinstance(op, Region) else op
    step = window.vertical.stride  # type: ignore[attr-defined]
    found = {k * step + i: r for k, rows in enumerate(read) for i, r in enumerate(rows)}
    pointers = [inputs[r] if (r := found.get(i, OUTSIDE)) != OUTSIDE else "NULL" for i in range(max(found) + 1)]
    program.say(
        f"{{ const int8_t *rows[] = {{{', '.join(pointers)}}};",
        f"int8_t *outs[] = {{{', '.join(out[first : first + count])}}};",
        f"mote_{kernel.entry.rows}({params}rows, outs, {count}{scratch}); }}",
    )


def call_over_time(program: Program, g: Graph, op: Op, kernel: Packed, steps: list[dict[int, Array]]) -> None:
    """Calls of an operator that keeps states, with the values of its other operands (by tensor) at each step. After
    each one its output is written, then its states."""
    params = program.params(kernel)
    initial = {s.before: s.initial for s in g.states}
    states = {p: program.block(initial[op.inputs[p]].nbytes, initial[op.inputs[p]]) for p in op.updates.values()}
    scratch = "" if kernel.needs.scratch is None else f", {program.block(max(kernel.needs.scratch, 1))}"
    fresh = [p for p in kernel.entry.operands if p not in states]
    names = {p: f"x{p}" for p in fresh} | states
    size = op.output(g).nbytes
    program.say(f"for (int32_t step = 0; step < {len(steps)}; step++) {{")
    program.say(*(f"void *x{p} = read_block({g.tensors[op.inputs[p]].nbytes});" for p in fresh))
    program.say(f"void *out = block({size});")
    program.say(f"mote_{kernel.name}({params}, {', '.join(names[p] for p in kernel.entry.operands)}, out{scratch});")
    program.write("out", size)
    for position, block in states.items():
        program.write(block, op.input(g, position).nbytes)
    program.say("}")
    program.given += [step[op.inputs[p]].tobytes() for step in steps for p in fresh]
