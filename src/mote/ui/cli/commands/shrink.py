"""`mote shrink`: remove what cannot affect the outputs of a model before it is compiled, bit for bit."""

from __future__ import annotations

import argparse

from mote.compiler.settings import ROUNDINGS
from mote.optimize.compress.shrink import COLUMNS, FEWEST, INPUTS, ShrinkResult, arrows, shrink
from mote.ui.cli.commands.verify import count
from mote.ui.cli.common import add_json, add_number, bold, green, named, print_json, progress, red, show, table
from mote.ui.cli.options.compiling import add_option
from mote.ui.cli.options.model import add_model, reading
from mote.ui.cli.table import drop, fold
from mote.ui.cli.terminal import unbroken

FIT = (drop("op"), drop("weight bytes"), drop("channels"), fold("removed"))
"""Columns that a narrow terminal does without, the least important first."""


def add(p: argparse.ArgumentParser) -> None:
    add_model(p)
    add_option(p, "io", help="int8: int8 inputs and outputs, without QUANTIZE and DEQUANTIZE layers")
    rounding = "reproduce the rounding of LiteRT or of TFLite Micro, bit for bit (default: litert)"
    add_option(p, "numerics", choices=ROUNDINGS, help=rounding)
    p.add_argument(
        "--inputs",
        type=count,
        metavar="N",
        help="number of inputs to compare outputs on: random, extreme and structured ones"
        f" (default: {INPUTS}, for large models {FEWEST})",
    )
    add_number(p, "--seed", 0, "seed of the random inputs", metavar=None)
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    with progress("comparing outputs"):
        result = shrink(arguments.model, **named(arguments, "inputs", "seed", "io", "numerics"), **reading(arguments))
    print_json(result.json()) if arguments.json else print_text(result)
    return 0 if result.equal else 1


def print_text(result: ShrinkResult) -> None:
    show(bold(result.model))
    changed = result.changed
    if changed:
        print(table(COLUMNS, [layer.row for layer in changed], left=4, fit=FIT))
    channels, macs, weights = arrows(result.before, result.after)
    shrunk = f"{len(changed)} of {len(result.layers)} layers shrink"
    show(f"{shrunk}: channels {channels}, MACs {macs}, weight bytes {weights}")
    for name, proof in result.proofs.items():
        show(f"  {name}: {proof}")
    said = f"outputs on {result.inputs:,} inputs, by {result.checked}: "
    if result.equal:
        show(said + unbroken(green("equal bit for bit")))
    else:
        show(said + red(f"different on {result.differing:,}"))
