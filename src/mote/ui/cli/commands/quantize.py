"""`mote quantize`: quantize a float model with calibration data, and write it as a .tflite file."""

from __future__ import annotations

import argparse
import sys

from mote.base.errors import MoteError
from mote.base.text import printable
from mote.optimize.compress.quantize.pipeline import ROUNDINGS, Methods
from mote.optimize.compress.quantize.post_training import MOST_SAMPLES, QuantizationPlan, Quantized, post_training
from mote.optimize.compress.quantize.quantizer import IO
from mote.optimize.compress.quantize.types.precision import Precision
from mote.ui.cli.commands.mixing import add_mixing, is_asked_for, run_mixing
from mote.ui.cli.common import add_json, bold, fields_of, print_json, progress, show
from mote.ui.cli.options.compiling import add_option
from mote.ui.cli.options.model import EDGES_OF_FILES, add_model, reading
from mote.ui.cli.options.sampling import add_data, data_of
from mote.ui.cli.table import columns, drop, shorten


def add(p: argparse.ArgumentParser) -> None:
    add_model(p)
    p.add_argument("--output", "-o", required=True, metavar="FILE.tflite", help="the file to write")
    add_data(p)
    p.add_argument(
        "--samples",
        type=int,
        default=MOST_SAMPLES,
        metavar="N",
        help=f"use at most this many samples, evenly spaced over the data (default: {MOST_SAMPLES}; 0: all)",
    )
    p.add_argument(
        "--precision",
        choices=[x.value for x in Precision if x is not Precision.FLOAT32],
        default=Precision.INT8.value,
        help="int8: 8-bit weights and activations (default); int16: 16-bit activations, 8-bit weights; int4:"
        " 4-bit weights, 8-bit activations; float16: float activations, 16-bit weights",
    )
    p.add_argument(
        "--calibration",
        default=Methods.calibration,
        metavar="METHOD",
        help="how activation ranges are chosen from the calibration data: percentile (default),"
        " percentile:99.9, min-max, mse, entropy",
    )
    p.add_argument(
        "--equalize",
        action=argparse.BooleanOptionalAction,
        default=Methods.equalize,
        help="cross-layer equalization: rescale channels of adjacent layers, for models with very uneven channels",
    )
    p.add_argument(
        "--correct-biases",
        action=argparse.BooleanOptionalAction,
        default=Methods.correct_biases,
        help="bias correction: remove the mean error of each layer (default)",
    )
    p.add_argument(
        "--rounding",
        choices=ROUNDINGS,
        default=Methods.rounding,
        help="rounding of weights: adaptive, which minimises the error of each layer's output (default), or nearest",
    )
    said = "type of the file's inputs and outputs: quantized, as its layers have them (default), or float32"
    add_option(p, "io", choices=IO, default=IO[0], help=said)
    add_option(p, "edges", help=EDGES_OF_FILES)
    p.add_argument(
        "--random-calibration",
        action="store_true",
        help="calibrate with random inputs, to measure sizes only: the accuracy of the file is meaningless",
    )
    add_json(p)
    add_mixing(p)


def quantize_first(arguments: argparse.Namespace) -> None:
    """Put the quantized models in the place of those that a command was given to compile. What is said of them goes
    where errors go: what the command prints may be read by programs."""
    if not arguments.quantize:
        raise MoteError(
            "is for models that are quantized first", where="option calibrate", remedy="add --quantize int8"
        )
    given = arguments.model if isinstance(arguments.model, list) else [arguments.model]
    with progress("quantizing") as say:
        made = [
            post_training(
                model,
                arguments.calibrate,
                precision=arguments.quantize,
                io="int8" if arguments.io == "int8" else "float32",
                edges=arguments.edges,
                **reading(arguments),
                say=say,
            )
            for model in given
        ]
    for result in made:
        for line in result.warnings:
            print(f"warning: {printable(line)}", file=sys.stderr)
        for line in (heading(result), *result.notes, *result.reasons):
            print(f"note: {printable(line)}", file=sys.stderr)
    arguments.shapes, arguments.signature, arguments.constants = [], "", []
    arguments.model = [x.source for x in made] if isinstance(arguments.model, list) else made[0].source


def heading(result: Quantized) -> str:
    some = f"{result.samples:,} of {result.available:,}" if result.available > result.samples else f"{result.samples:,}"
    said = f"{some} samples, {result.methods.calibration}" if result.samples else "no data"
    return f"{result.model} as {result.precision} ({said})"


def run(arguments: argparse.Namespace) -> int:
    if is_asked_for(arguments):
        return run_mixing(arguments, Methods(**fields_of(Methods, arguments)))
    with progress("quantizing") as say:
        result = post_training(
            arguments.model,
            data_of(arguments) if arguments.data else None,
            **fields_of(QuantizationPlan, arguments),
            **fields_of(Methods, arguments),
            **reading(arguments),
            say=say,
        )
    result.write(arguments.output)
    print_json(result.json() | {"file": arguments.output}) if arguments.json else print_text(result, arguments.output)
    return 0


def print_text(result: Quantized, output: str) -> None:
    show(bold(heading(result)))
    for warning in result.warnings:
        show(f"warning: {warning}")
    for note in result.notes:
        show(f"note: {note}")
    print(columns(Quantized.ROWS, result, (drop("op"), drop("zero"), shorten("layer", 12))))
    for line in result.reasons:
        show(printable(line))
    show(f"{output}: {len(result.data):,} bytes, {len(result.layers)} layers")
    for what, tensors in (("input", result.inputs), ("output", result.outputs)):
        for t in tensors:
            show(f"  {what} '{t.name}': {t.dtype} {'x'.join(map(str, t.shape)) or 'scalar'}")
