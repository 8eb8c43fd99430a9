"""`mote prune`: prune or cluster the weights of a float model, refit it to calibration data."""

from __future__ import annotations

import argparse

from mote.optimize.compress.prune.costs import TARGET
from mote.optimize.compress.prune.pruner import SHARES, Pruned, prune
from mote.optimize.compress.prune.pruning_plan import SAMPLES, PruningPlan
from mote.optimize.compress.prune.schedule import KINDS
from mote.ui.cli.common import add_json, add_number, bold, fields_of, print_json, progress, show, table
from mote.ui.cli.options.compiling import add_option
from mote.ui.cli.options.model import add_model, reading
from mote.ui.cli.options.sampling import add_data, data_of
from mote.ui.cli.options.tools import add_workers
from mote.ui.cli.table import columns, drop

HELP = {
    "channels": "remove whole channels (default)",
    "blocks": "block sparsity: set blocks of weights to zero, which sparse kernels skip",
    "clusters": "give weights few distinct values, which `--optimize size` stores in few bits",
}


def add(p: argparse.ArgumentParser) -> None:
    add_model(p)
    add_data(p, required=True)
    p.add_argument("-o", "--output", metavar="FILE.tflite", required=True, help="the pruned float model")
    kinds = p.add_mutually_exclusive_group()
    for kind in KINDS:
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=HELP[kind])
    limits = p.add_mutually_exclusive_group(required=True)
    limits.add_argument(
        "--macs", metavar="N|P%", help="target for MACs: a number, or a percentage of those of the model"
    )
    limits.add_argument("--flash", metavar="BYTES|P%", help="target for the flash of the int8 model (K and M suffixes)")
    limits.add_argument("--cycles", metavar="N|P%", help="target for the estimated cycles of the int8 model")
    p.add_argument("--target", default=TARGET, help=f"target to estimate for (default: {TARGET})")
    add_option(p, "optimize", default="", help="how it is compiled (default: balanced; size for --clusters)")
    p.add_argument(
        "--test", metavar="DATA", help="labelled samples, to measure the accuracy of the file, and of its int8 form"
    )
    p.add_argument(
        "--fine-tune",
        type=int,
        default=0,
        metavar="EPOCHS",
        help="fine-tune the pruned model with PyTorch for this many epochs",
    )
    p.add_argument(
        "--augment",
        default="",
        metavar="STEPS",
        help="data augmentation: flip,shift=4,cutout=8 for images, time=4,stretch=0.1,mask=8x2 for series, noise=0.1",
    )
    p.add_argument(
        "--device", default="auto", help="PyTorch device to train on (default: an accelerator if there is one)"
    )
    add_number(p, "--samples", SAMPLES, "number of samples for refitting weights")
    shares = ", ".join(f"{share:.0%}%" for share in SHARES)
    p.add_argument("--front", action="store_true", help=f"also make and measure models at {shares}")
    add_workers(p)
    add_json(p)
    p.set_defaults(kind="channels")


def run(arguments: argparse.Namespace) -> int:
    with progress("pruning") as say:
        result = prune(
            arguments.model,
            data_of(arguments),
            test=None if arguments.test is None else data_of(arguments, arguments.test, labelled=True),
            **fields_of(PruningPlan, arguments),
            **reading(arguments),
            say=say,
        )
    result.write(arguments.output)
    print_json(result.json() | {"file": arguments.output}) if arguments.json else print_text(result, arguments.output)
    return 0


def print_text(result: Pruned, output: str) -> None:
    show(bold(f"{result.model} for {result.target}, {result.optimize}: {result.kind}"))
    print(columns(result.layer_columns, result, (drop("op"),)))
    show()
    print(table(*result.points_table(), fit=(drop("instructions"), drop("RAM"))))
    if metric := result.after.metric:
        show(f"{metric}: of the float model, pruned: of {output}; in int8: of it quantized by `mote quantize`")
    if result.estimated:
        show(f"not run: {result.estimated}; cycles are the planner's estimate, flash that of constants and code")
    else:
        show("instructions: of one inference of the int8 model on the emulated core; cycles: the planner's estimate")
    for warning in result.warnings:
        show(f"warning: {warning}")
    for note in result.notes:
        show(f"note: {note}")
    show("weights refitted with {:,} of {:,} samples".format(*result.samples))
    tuned = f", fine-tuned for {result.fine_tuned} epochs" if result.fine_tuned else ""
    show(f"{output}: {len(result.data):,} bytes, a float model{tuned}; `mote quantize` quantizes it")
