"""Portable kernels beside TFLite Micro's reference kernels: instructions for one operator, counted on this computer.

    PYTHONPATH=models:. python benchmarks/micro.py [--write]

Both are compiled C for x86-64: Mote's with gcc -O2 without vectors (microcontrollers have none), TFLite Micro's as its
wheel has it. valgrind counts instructions; what a call takes is the difference between many calls and one, less what an
operator on one element takes (the interpreter's own work, in both). Data are the same random numbers; `--write` puts
the table into docs/measure/benchmarks.md.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.helpers.network import Net

from mote import compile
from mote.bench.execute.stimuli import stimuli

PAGE = Path(__file__).parents[1] / "docs" / "measure" / "benchmarks.md"
BEGIN, END = "<!-- micro: benchmarks/micro.py -->\n", "<!-- end of micro -->\n"
CALLS = 101
COUNT = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
MICRO = """\
import sys, numpy as np
from tflite_micro import runtime
model, inputs, calls = sys.argv[1], np.load(sys.argv[2]), int(sys.argv[3])
interpreter = runtime.Interpreter.from_file(model, arena_size=1 << 20)
for i, name in enumerate(sorted(inputs.files)):
    interpreter.set_input(inputs[name], i)
for _ in range(calls):
    interpreter.invoke()
"""

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
int main(int n, char **given) {
    FILE *f;
    (void)n;
    net_init();
    FILLS
    for (int i = atoi(given[1]); i > 0; i--) {
        net_run();
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Case:
    """An operator on so many elements, and on a single one."""

    name: str
    what: str
    build: Callable[[tuple[int, ...]], bytes]
    shape: tuple[int, ...]
    least: tuple[int, ...]


def unary(
    kind: str, dtype: str = "int8", quant: tuple[float, int] | None = None, **options: object
) -> Callable[..., bytes]:
    def build(shape: tuple[int, ...]) -> bytes:
        net = Net(1, dtype)
        return net.finish(net.op(kind, [net.input(*shape)], quant=quant, **options))

    return build


def binary(kind: str, dtype: str = "int8") -> Callable[..., bytes]:
    def build(shape: tuple[int, ...]) -> bytes:
        net = Net(1, dtype)
        x = net.input(*shape)
        return net.finish(net.moved(kind, [x, net.input(*shape, quant=net.quants[x])]))

    return build


def along(kind: str, axes: tuple[int, ...], *, keeps: bool = True, dtype: str = "int8") -> Callable[..., bytes]:
    def build(shape: tuple[int, ...]) -> bytes:
        net = Net(1, dtype)
        x = net.input(*shape)
        out = tuple(n for i, n in enumerate(shape) if i not in axes)
        add = net.moved if keeps else net.op
        return net.finish(add(kind, [x, net.ints(*axes)], out))

    return build


def product(shape: tuple[int, ...]) -> bytes:
    net = Net(1)
    rows, depth = shape
    x, y = net.input(1, rows, depth), net.input(1, depth, rows)
    return net.finish(net.op("BATCH_MATMUL", [x, y], (1, rows, rows), (0.5, 3)))


def blocks(kind: str) -> Callable[..., bytes]:
    def build(shape: tuple[int, ...]) -> bytes:
        net = Net(1)
        n, h, w, c = shape
        out = (n, h // 2, w // 2, 4 * c) if kind == "SPACE_TO_DEPTH" else (n, 2 * h, 2 * w, c // 4)
        return net.finish(net.moved(kind, [net.input(*shape)], out, block_size=2))

    return build


def gathered(shape: tuple[int, ...]) -> bytes:
    net = Net(1)
    x = net.input(*shape)
    indices = net.ints(*np.random.default_rng(0).integers(0, shape[0], shape[0]).tolist())
    return net.finish(net.moved("GATHER", [x, indices]))


IMAGE, DOT = (1, 24, 24, 16), (1, 1, 1, 1)
CASES = (
    Case("BATCH_MATMUL", "int8, 48x64 by 64x48", product, (48, 64), (1, 1)),
    Case("REDUCE_MAX", "int8, over height and width", along("REDUCE_MAX", (1, 2)), IMAGE, DOT),
    Case("SUM", "float32, over height and width", along("SUM", (1, 2), dtype="float32"), IMAGE, DOT),
    Case("MAXIMUM", "int8", binary("MAXIMUM"), IMAGE, DOT),
    Case("SQUARED_DIFFERENCE", "int8", binary("SQUARED_DIFFERENCE"), IMAGE, DOT),
    Case("DIV", "float32", binary("DIV", "float32"), IMAGE, DOT),
    Case("L2_NORMALIZATION", "int8", unary("L2_NORMALIZATION", quant=(1 / 128, 0)), IMAGE, DOT),
    Case("LOG_SOFTMAX", "int8", unary("LOG_SOFTMAX", quant=(16 / 256, 127)), (64, 32), (1, 1)),
    Case("ABS", "int8", unary("ABS"), IMAGE, DOT),
    Case("EXP", "float32", unary("EXP", "float32"), IMAGE, DOT),
    Case("SPACE_TO_DEPTH", "int8", blocks("SPACE_TO_DEPTH"), IMAGE, (1, 2, 2, 1)),
    Case("DEPTH_TO_SPACE", "int8", blocks("DEPTH_TO_SPACE"), IMAGE, (1, 1, 1, 4)),
    Case("GATHER", "int8, rows of 64", gathered, (64, 64), (1, 1)),
)


def counted(command: list[str]) -> int:
    """The instructions of a program."""
    done = subprocess.run([*COUNT, *command], capture_output=True, text=True, check=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))


def per_call(command: list[str]) -> float:
    """The instructions of a call: `command` takes how many as its last argument."""
    return (counted([*command, str(CALLS)]) - counted([*command, "1"])) / (CALLS - 1)


def of_micro(model: bytes, folder: Path) -> float:
    (folder / "model.tflite").write_bytes(model)
    graph = compile(model).source
    inputs = stimuli(graph, 1)[0]
    np.savez(folder / "inputs.npz", **{f"{i:02}": inputs[t] for i, t in enumerate(graph.inputs)})
    return per_call([sys.executable, "-c", MICRO, str(folder / "model.tflite"), str(folder / "inputs.npz")])


def of_mote(model: bytes, folder: Path) -> float:
    compiled = compile(model, name="net")
    compiled.write(folder)
    inputs = stimuli(compiled.plan.graph, 1)[0]
    names = re.findall(r"\*(net_input\w*)\(void\)", compiled.project.files["net.h"])
    fills = []
    for name, t in zip(names, compiled.plan.graph.inputs, strict=True):
        path = folder / f"{name}.bin"
        path.write_bytes(inputs[t].tobytes())
        fills.append(f'f = fopen("{path}", "rb"); fread({name}(), 1, {inputs[t].nbytes}, f); fclose(f);')
    (folder / "count.c").write_text(PROGRAM.replace("FILLS", "\n    ".join(fills)))
    subprocess.run(
        ["gcc", "-O2", "-fno-tree-vectorize", "-w", "count.c", "net.c", "-o", "count", "-lm"], cwd=folder, check=True
    )
    return per_call([f"{folder}/count"])


def line(case: Case) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = []
        for count in (of_mote, of_micro):
            whole, least = (count(case.build(shape), folder) for shape in (case.shape, case.least))
            found.append(round(whole - least))
    mote, micro = found
    return f"| {case.name} | {case.what} | {mote:,} | {micro:,} | {mote / micro:.2f} |"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--write", action="store_true", help="put the table into docs/measure/benchmarks.md")
    p.add_argument("--only", help="one operator")
    options = p.parse_args()
    lines = ["| operator | what | Mote | TFLite Micro | ratio |", "|---|---|--:|--:|--:|"]
    print("\n".join(lines))
    for case in CASES:
        if options.only in (None, case.name):
            lines.append(line(case))
            print(lines[-1], flush=True)
    if options.write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        text = "\n".join(lines)
        PAGE.write_text(f"{before}{BEGIN}{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
