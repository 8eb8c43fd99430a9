"""`mote run`: compile, cross-compile, run on the emulated target, and print what each layer costs."""

from __future__ import annotations

import argparse
from math import prod
from pathlib import Path

import numpy as np

from mote.api import compiler, measure
from mote.api.measure import RunResult
from mote.cli.common import (
    Subparsers,
    add_compile_options,
    add_tools,
    bold,
    print_json,
    progress,
    settings,
    shorten,
    table,
)
from mote.errors import MoteError

SHOWN = 10
"""How many values of an output are printed."""


def add(commands: Subparsers) -> None:
    p = commands.add_parser("run", help="run on an emulated target, with exact costs", description=__doc__)
    add_compile_options(p)
    add_tools(p)
    p.add_argument("--data", metavar="FILE", help=".npy or .npz with the inputs (default: the self-test's pattern)")
    p.add_argument("--output", metavar="FILE", help="write the outputs to this .npz")
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    compiled = compiler.compile(arguments.model, settings(arguments))
    inputs = measure.read_inputs(compiled, Path(arguments.data)) if arguments.data else None
    with progress("building and running"):
        result = measure.run(compiled, inputs, compiler=arguments.compiler, emulator=arguments.emulator)
    if arguments.output:
        try:
            np.savez(arguments.output, **result.values)  # type: ignore[arg-type]
        except OSError as error:
            raise MoteError(f"cannot be written ({error.strerror})", where=arguments.output) from None
    print_json(result.json()) if arguments.json else print_text(result)
    return 0


def print_text(result: RunResult) -> None:
    print(bold(f"{result.model} on {result.target}") + f" ({result.emulator}, {result.compiler})")
    total = result.instructions or 0
    rows = [
        (
            shorten(x.name),
            x.op,
            x.kernel,
            x.macs,
            x.instructions,
            f"{x.instructions / x.macs:.2f}" if x.instructions and x.macs else "",
            f"{100 * x.instructions / total:.1f}%" if x.instructions and total else "",
        )
        for x in result.layers
    ]
    print(table(("layer", "op", "kernel", "MACs", "instructions", "per MAC", "share"), rows, left=3))
    macs = sum(x.macs for x in result.layers)
    if result.instructions is not None:
        per = f", {result.instructions / macs:.2f} per MAC" if macs else ""
        print(f"instructions: {result.instructions:,}{per}")
    ram, flash = result.ram, result.flash
    print(f"RAM:   {ram.total:,} bytes = arena {ram.arena:,} + static {_n(ram.static)} + stack {_n(ram.stack)}")
    print(f"flash: {flash.total:,} bytes = code {_n(flash.code)} + constants {flash.constants:,}")
    for o in result.outputs:
        values = result.values[o.name].reshape(-1)[-prod(o.shape) :]
        shown = np.array2string(values[:SHOWN], precision=4, separator=" ") + (" ..." if values.size > SHOWN else "")
        print(f"output {o.name}: {o.dtype} {'x'.join(map(str, o.shape))} {shown}")


def _n(value: int | None) -> str:
    return "(not measured)" if value is None else f"{value:,}"
