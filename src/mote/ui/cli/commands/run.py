"""`mote run`: compile, cross-compile, run on the emulated target, and print what each layer costs."""

from __future__ import annotations

import argparse

import numpy as np

from mote.base.files import write_file
from mote.bench.measure.run import Inference, RunResult
from mote.bench.measuring import run as run_model
from mote.frontends.data.readers.arrays import ZIP, packed_arrays
from mote.ir.graph.tensor import Array
from mote.ui.cli.common import bold, duration, named, print_json, progress, show, table
from mote.ui.cli.images import add_runtime
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.tools import TOOLS, add_board, add_tools, show_interruptions
from mote.ui.cli.table import alias, drop, shorten

FIT = (alias("kernel", 16), drop("op"), shorten("layer", 12), drop("per MAC"))
"""Columns that a narrow terminal does without, the least important first."""
ALL, SOME = 32, 10
"""An output of so many values is printed whole; of a longer one so many values are."""
LARGEST = 3
"""How many of the largest values are named."""
ROWS = 16
"""How many inferences are printed."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p)
    add_tools(p)
    add_board(p, "run it on this board, with its counter of cycles")
    add_runtime(p)
    p.add_argument(
        "--data",
        metavar="FILE",
        help=".npy or .npz with the inputs of one inference or, along a first axis, of several (default: the"
        " self-test's pattern)",
    )
    p.add_argument("-o", "--output", metavar="FILE", help="write the outputs to this .npz")


def run(arguments: argparse.Namespace) -> int:
    with progress("building and running"):
        result = run_model(
            arguments.model, arguments.data, settings=settings(arguments), **named(arguments, *TOOLS, "runtime")
        )
    if arguments.output is not None:
        write_file(arguments.output, packed_arrays(result.values), ZIP)
    print_json(result.json()) if arguments.json else print_text(result)
    return 0


def print_text(result: RunResult) -> None:
    show(bold(f"{result.model} on {result.target}") + f" ({result.emulator}, {result.compiler})")
    print(table(*result.layer_table(), left=4, fit=FIT))
    macs = sum(x.macs for x in result.layers)
    if result.instructions is not None:
        per = f", {result.instructions / macs:.2f} per MAC" if macs else ""
        show(f"{result.unit}: {result.instructions:,}{per}")
    if result.training_step is not None and result.instructions:
        times = result.training_step / result.instructions
        show(
            f"training: {result.training_step:,} {result.unit} of a step with its inference, {times:.2f} times as many"
        )
    if result.board is not None:
        show(f"board: {result.board}")
        show_interruptions(result.board.interruptions)
        if result.seconds is not None:
            show(f"time:  {duration(result.seconds)}")
    ram, flash = result.ram, result.flash
    code = f" + code {ram.code:,}" if ram.code else ""
    stack = (
        _n(ram.stack) if ram.stack is not None or ram.stack_measured is None else f"{ram.stack_measured:,} (measured)"
    )
    show(f"RAM:   {ram.total:,} bytes = arena {ram.arena:,} + static {_n(ram.static)} + stack {stack}{code}")
    show(f"flash: {flash.total:,} bytes = code {_n(flash.code)} + constants {flash.constants:,}")
    for i, inference in enumerate(result.inferences[:ROWS]):
        if len(result.inferences) > 1:
            show(bold(f"row {i}") + _took(inference, result.unit))
        for name, values in inference.outputs.items():
            show(f"output {name}: {values.dtype} {'x'.join(map(str, values.shape))} {_values(values.reshape(-1))}")
    if len(result.inferences) > ROWS:
        show(f"and {len(result.inferences) - ROWS:,} rows more: --json prints them, --output writes them")


def _took(inference: Inference, unit: str) -> str:
    return "" if inference.instructions is None else f": {inference.instructions:,} {unit}"


def _values(values: Array) -> str:
    """All of them or the first, and the largest with the places that they have."""
    shown = np.array2string(
        values[: ALL if values.size <= ALL else SOME], precision=4, separator=" ", max_line_width=10**6
    )
    largest = np.argsort(-values.astype(np.float64), kind="stable")[:LARGEST]
    best = ", ".join(f"{values[i]:.4g} at {i}" for i in largest)
    return f"{shown}{' ...' if values.size > ALL else ''}" + (f", largest: {best}" if values.size > 1 else "")


def _n(value: int | None) -> str:
    return "(not measured)" if value is None else f"{value:,}"
