"""`mote verify`: every tensor that the generated code computes, against the reference."""

from __future__ import annotations

import argparse

from mote.bench.evaluation.verify import VerifyResult
from mote.bench.verifying import verify
from mote.frontends.features.pipeline import preprocessing
from mote.ir.graph.tolerance import FLOAT_TOLERANCE
from mote.ui.cli.common import add_number, green, named, print_json, progress, red, show
from mote.ui.cli.images import add_runtime
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.sampling import add_data, data_of
from mote.ui.cli.options.tools import TOOLS, add_board, add_tools, show_interruptions
from mote.ui.cli.terminal import unbroken

SHOWN = 10
"""How many mismatches are printed."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, omitted=("preprocess",))
    add_tools(p)
    add_board(p, "read every tensor from this board")
    add_data(p, choose=False)
    p.add_argument(
        "--inputs",
        type=count,
        metavar="N",
        help="number of inputs: random, extreme and structured ones (default: 8); with --data the first N"
        " samples (default: all)",
    )
    add_number(p, "--seed", 0, "seed of the random inputs", metavar=None)
    add_runtime(p)
    p.add_argument(
        "--source",
        metavar="FILE",
        help="for a .mote file: the model that it was packed from (default: looked for beside it; without"
        " one, outputs are compared with the runtime on this computer)",
    )


def count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def run(arguments: argparse.Namespace) -> int:
    steps = preprocessing(arguments.data_steps)
    with progress("building and running") as say:
        result = verify(
            arguments.model,
            arguments.inputs,
            settings=settings(arguments, preprocess=str(steps) if steps.compiled else ""),
            data=data_of(arguments, steps=steps.clip if steps.compiled else None, several=False)
            if arguments.data
            else None,
            **named(arguments, *TOOLS, "source", "seed", "runtime"),
            say=say,
        )
    print_json(result.json()) if arguments.json else print_text(result)
    return 0 if result.passed else 1


def print_text(result: VerifyResult) -> None:
    compared = f"{result.tensors} tensors, {result.inputs} inputs, against {result.reference}"
    head = f"{result.model} on {result.target}: {compared}"
    if result.exact:
        show(f"{head}: {unbroken(green('equal bit for bit'))}")
    elif result.passed:
        steps = f"within {result.max_steps} where float values near a half were quantized before"
        show(
            f"{head}: {green('equal')} (integers {steps if result.max_steps else 'bit for bit'}, float32 within "
            f"{FLOAT_TOLERANCE:g} of the magnitude of what was added up: no tensor differs by more than "
            f"{100 * result.max_share:.2g}% of what that allows, and none by more than {result.max_abs_diff:.3g})"
        )
    else:
        show(f"{head}: {red(f'{len(result.mismatches)} mismatches')}, largest difference {result.max_abs_diff:.6g}")
        for m in result.mismatches[:SHOWN]:
            allowed = f" ({m.allowed:.3g} is allowed)" if m.allowed else ""
            what = f"{m.differing} elements differ, by up to {m.max_abs_diff:.6g}{allowed}"
            layer = f"layer {m.number} {m.op} {m.short}" if m.number else f"{m.op} '{m.name}'"
            show(f"  input {m.input}: {layer}: {what}")
        if len(result.mismatches) > SHOWN:
            show(f"  and {len(result.mismatches) - SHOWN} more")
    show_interruptions(result.interruptions)
