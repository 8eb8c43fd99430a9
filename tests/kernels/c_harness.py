"""Kernels called from C of a test's own, under the sanitizers, with every row in a block of memory of its own."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mote.codegen.c import printed
from mote.codegen.values import Constants
from mote.graph import Graph, Op
from mote.graph.rows import OUTSIDE, row_count
from mote.graph.tensor import Array
from mote.kernels import library
from mote.kernels.contract import Call, Layout, Packed

KERNELS = [f"-I{folder}" for folder in library.FOLDERS]
"""Where the C compiler finds the kernels."""
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-Wno-unused"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

READ = """\
#include <stdio.h>
#include <stdlib.h>

/* A block of exactly n bytes, so that the sanitizer sees every step outside it. */
static void *block(size_t n) {
    void *p = malloc(n);
    if (p == NULL) {
        abort();
    }
    return p;
}

static void *read_block(size_t n) {
    void *p = block(n);
    if (fread(p, 1, n, stdin) != n) {
        abort();
    }
    return p;
}
"""


@dataclass
class Program:
    """C that reads rows from its input, calls kernels and writes rows to its output."""

    includes: dict[str, None] = field(default_factory=dict)
    instances: dict[str, None] = field(default_factory=dict)
    constants: Constants = field(default_factory=lambda: Constants("k"))
    globals: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    given: list[bytes] = field(default_factory=list)
    taps: int = 1

    def params(self, kernel: Packed) -> str:
        """The kernel's parameters as a global; gives the expression to pass."""
        self.includes[kernel.file] = None
        self.instances.update(dict.fromkeys(map(str, kernel.instances)))
        self.taps = max(self.taps, kernel.taps)
        name = f"p{len(self.globals)}"
        body = self.constants.struct(name, kernel.params)
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
        self.say(f"fwrite({block}, 1, {nbytes}, stdout);")

    def run(self) -> bytes:
        text = "\n".join(
            [
                f"#define MOTE_MAX_TAPS {self.taps}",
                *(f'#include "{file}"' for file in self.includes),
                *self.instances,
                READ,
                printed(self.constants.definitions),
                *self.globals,
                "int main(void) {",
                *self.body,
                "    return 0;\n}\n",
            ]
        )
        with TemporaryDirectory() as folder:
            source, binary = Path(folder) / "main.c", Path(folder) / "main"
            source.write_text(text)
            command = ["cc", *FLAGS, *SANITIZERS, *KERNELS, str(source), "-o", str(binary), "-lm"]
            subprocess.run(command, check=True)
            run = [str(binary)]
            leaks = {"ASAN_OPTIONS": "detect_leaks=0"}
            return subprocess.run(run, input=b"".join(self.given), stdout=subprocess.PIPE, check=True, env=leaks).stdout


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


def call_row_by_row(program: Program, g: Graph, op: Op, kernel: Packed, values: list[Array]) -> None:
    """Calls for every output row, the last one first; the rows are written in order."""
    y = op.output(g)
    count = row_count(y.shape)
    params = program.params(kernel)
    activations = {}
    for position in kernel.operands:
        layout = kernel.reads if position == 0 else Layout.NHWC
        rows = rows_of(layout.store(values[position]))
        activations[position] = [program.block(row.nbytes, row) for row in rows]
    scratch = "" if kernel.scratch is None else f", {program.block(max(kernel.scratch, 1))}"
    nbytes = kernel.writes.line * y.shape[-1] if kernel.writes.planar else y.nbytes // count
    out = [program.block(nbytes) for _ in range(count)]
    ctype = "float" if kernel.row.endswith("f32_row") else "int8_t"
    for row in reversed(range(count)):
        read = {p: op.reads(g, p, row) for p in kernel.operands}
        assert all(r is not None for r in read.values())
        pointers = [activations[p][r] if r != OUTSIDE else "NULL" for p in kernel.operands for r in read[p] or ()]
        if kernel.rows and kernel.group > 1:
            if row % kernel.group == 0:
                _call_several(program, op, g, kernel, row, activations[0], out, f"{params}, ", scratch)
        elif kernel.row:
            at = f"{row}, " if kernel.row_index else ""
            program.say(
                f"{{ const {ctype} *rows[] = {{{', '.join(pointers)}}};",
                f"mote_{kernel.row}({params}, rows, {at}{out[row]}{scratch}); }}",
            )
        else:
            how = str(kernel.units // count) if kernel.call is Call.FLAT else "0, 1"
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
    count = min(kernel.group, len(out) - first)
    read = [op.reads(g, 0, first + k) or () for k in range(count)]
    step = op.vertical.stride  # type: ignore[attr-defined]
    found = {k * step + i: r for k, rows in enumerate(read) for i, r in enumerate(rows)}
    pointers = [inputs[r] if (r := found.get(i, OUTSIDE)) != OUTSIDE else "NULL" for i in range(max(found) + 1)]
    program.say(
        f"{{ const int8_t *rows[] = {{{', '.join(pointers)}}};",
        f"int8_t *outs[] = {{{', '.join(out[first : first + count])}}};",
        f"mote_{kernel.rows}({params}rows, outs, {count}{scratch}); }}",
    )


def call_over_time(program: Program, g: Graph, op: Op, kernel: Packed, steps: list[dict[int, Array]]) -> None:
    """Calls of an operator that keeps states, with the values of its other operands (by tensor) at each step. After
    each one its output is written, then its states."""
    params = program.params(kernel)
    initial = {s.before: s.initial for s in g.states}
    states = {p: program.block(initial[op.inputs[p]].nbytes, initial[op.inputs[p]]) for p in op.updates.values()}
    scratch = "" if kernel.scratch is None else f", {program.block(max(kernel.scratch, 1))}"
    fresh = [p for p in kernel.operands if p not in states]
    names = {p: f"x{p}" for p in fresh} | states
    size = op.output(g).nbytes
    program.say(f"for (int32_t step = 0; step < {len(steps)}; step++) {{")
    program.say(*(f"void *x{p} = read_block({g.tensors[op.inputs[p]].nbytes});" for p in fresh))
    program.say(f"void *out = block({size});")
    program.say(f"mote_{kernel.name}({params}, {', '.join(names[p] for p in kernel.operands)}, out{scratch});")
    program.write("out", size)
    for position, block in states.items():
        program.write(block, op.input(g, position).nbytes)
    program.say("}")
    program.given += [step[op.inputs[p]].tobytes() for step in steps for p in fresh]
