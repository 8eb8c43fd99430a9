"""`mote convert`: a model of any format as a .tflite file, which LiteRT runs to check that it computes the same."""

from __future__ import annotations

import argparse

from mote.bench.evaluation.converter import Check, Converted, convert
from mote.frontends.reading import READING
from mote.ir.graph.tolerance import FLOAT_TOLERANCE
from mote.ui.cli.commands.verify import SHOWN, count
from mote.ui.cli.common import add_json, add_number, green, named, print_json, progress, red, show
from mote.ui.cli.options.model import EDGES_OF_FILES, add_model, add_row, reading
from mote.ui.cli.terminal import unbroken


def add(p: argparse.ArgumentParser) -> None:
    add_model(p)
    file = p.add_mutually_exclusive_group(required=True)
    file.add_argument(
        "output", nargs="?", default=argparse.SUPPRESS, metavar="FILE.tflite", help="the file to write (or -o FILE)"
    )
    file.add_argument("-o", "--output", metavar="FILE.tflite", help="the file to write")
    add_row(p, READING["edges"], help=EDGES_OF_FILES)
    p.add_argument("--no-verify", dest="verify", action="store_false", help="do not run the file with LiteRT")
    add_number(p, "--inputs", 8, "how many inputs to compare", kind=count)
    add_number(p, "--seed", 0, "seed of the random inputs", metavar=None)
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    """A file that is not right is not written."""
    with progress("converting"):
        result = convert(arguments.model, **reading(arguments), **named(arguments, "edges", "verify", "inputs", "seed"))
    right = result.check is None or result.check.passed
    if right:
        result.write(arguments.output)
    written = {"file": arguments.output if right else None}
    print_json(result.json() | written) if arguments.json else print_text(result, arguments.output)
    return 0 if right else 1


def print_text(result: Converted, output: str) -> None:
    for warning in result.warnings:
        show(f"warning: {warning}")
    for note in result.notes:
        show(f"note: {note}")
    if result.check is not None:
        _print_check(result.check)
    if result.check is None or result.check.passed:
        show(f"{output}: {result.operators} operators, {len(result.data):,} bytes, from {result.model}")
        for what, tensors in (("input", result.inputs), ("output", result.outputs)):
            for t in tensors:
                show(f"  {what} '{t.name}': {t.dtype} {'x'.join(map(str, t.shape)) or 'scalar'}")


def _print_check(check: Check) -> None:
    said = f"LiteRT on the new file against {check.reference}, {check.tensors} tensors, {check.inputs} inputs: "
    if check.exact:
        show(said + unbroken(green("equal bit for bit")))
    elif check.passed:
        show(
            f"{said}{green('equal')} (integers bit for bit, float32 within {FLOAT_TOLERANCE:g} of the magnitude of what"
            f" was added up; no element differs by more than {check.max_abs_diff:.3g})"
        )
    else:
        show(said + red(f"{len(check.mismatches)} mismatches") + ", so that nothing was written")
        for m in check.mismatches[:SHOWN]:
            show(f"  input {m.input}: {m.op} '{m.name}': {m.differing} elements differ, by up to {m.max_abs_diff:.6g}")
