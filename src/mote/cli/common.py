"""What the subcommands share: compile options, tables, colour, progress."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from mote.api.compiler import INPUT, IO, NUMERICS, OPTIMIZE, PLACES, STEP, Settings, make_settings
from mote.data.dataset import Dataset, dataset
from mote.files import write_file
from mote.frontends import EDGES, FEATURES, SUFFIXES
from mote.plan.plan import Plan
from mote.quantize.precision import Precision
from mote.report.svg import SVG
from mote.text import printable

Options = argparse.ArgumentParser | argparse._ArgumentGroup
"""What options are added to: a parser, or a group of its options."""


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_model(parser: argparse.ArgumentParser, count: str | None = None) -> None:
    """The model, or as many as `count` says, and what it may need."""
    parser.add_argument("model", metavar="MODEL", nargs=count, help=f"a model file: {', '.join(SUFFIXES.values())}")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1,3,96,96",
        help="the shape of an input that the model leaves open, or another one than it has; may be given several times",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="compile an input as a constant: one number for all of its elements, as many as it has with commas"
        " between, or a .npy file; may be given several times",
    )
    parser.add_argument(
        "--signature", default="", metavar="NAME", help="which signature to compile of a .tflite file that has several"
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run this Python file first, which registers operators or kernels of yours (mote.register);"
        " may be given several times",
    )


def add_compile_options(
    parser: argparse.ArgumentParser,
    *,
    plan: bool = True,
    several: bool = False,
    optional: bool = False,
    code: bool = True,
    calibrated: bool = False,
) -> None:
    """The model (or `several`, or an `optional` one) and how to compile it; `plan`: with the options that choose one
    plan, `code`: with those that are about generated C, `calibrated`: `--data` is what a model is calibrated with."""
    add_model(parser, "+" if several else "?" if optional else None)
    parser.add_argument(
        "--quantize",
        choices=[x.value for x in Precision if x is not Precision.FLOAT32],
        default="",
        help="make integers of a model of real numbers first, as `mote quantize` does",
    )
    parser.add_argument(
        *("--calibrate", "--data") if calibrated else ("--calibrate",),
        metavar="DATA",
        help="the data to do that with: a few hundred typical inputs (docs/data.md)",
    )
    parser.add_argument(
        "--target", "-t", default="host", help="a name from `mote targets` or a .toml file (default: host)"
    )
    parser.add_argument(
        "--trust-target",
        action="store_true",
        help="let the target's file name any option of a compiler, even those that run programs",
    )
    parser.add_argument("--name", default="", help="prefix of the C symbols and files (default: from the file name)")
    parser.add_argument(
        "--io",
        choices=IO,
        default="model",
        help="int8: leave QUANTIZE/DEQUANTIZE at the model's edges to you",
    )
    parser.add_argument(
        "--numerics",
        choices=NUMERICS,
        default="litert",
        help="whose rounding to follow bit for bit (default: litert)",
    )
    parser.add_argument(
        "--edges",
        choices=EDGES,
        default=EDGES[0],
        help="how images lie in inputs and outputs of the C: channels last, as kernels take them (default), or as in"
        " the model",
    )
    parser.add_argument(
        "--features",
        choices=FEATURES,
        default=FEATURES[0],
        help="the type of the features that a forest is given (default: float32)",
    )
    parser.add_argument(
        "--outputs",
        action="append",
        default=[],
        metavar="NAME",
        help="compute this output only; may be given several times",
    )
    parser.add_argument(
        "--optimize",
        choices=OPTIMIZE,
        default="balanced",
        help="speed: faster kernels may take more RAM and flash; size: least flash; balanced: little of both,"
        " where that hardly costs speed (default)",
    )
    parser.add_argument(
        "--aligned", action="store_true", help="no word at an odd address, for a firmware that traps that"
    )
    if code:
        _add_code_options(parser)
    if plan:
        budget = parser.add_mutually_exclusive_group()
        budget.add_argument(
            "--ram",
            type=str,
            metavar="BYTES",
            help="the fastest plan within this RAM (K and M suffixes), or the least: min",
        )
        time = parser.add_mutually_exclusive_group()
        time.add_argument(
            "--latency",
            metavar="TIME",
            help="the plan with the least RAM that takes no longer than this (us, ms, s) at the part's clock, by the"
            " estimate",
        )
        time.add_argument("--cycles", type=int, metavar="N", help="the same in cycles")
        parser.add_argument(
            "--kernel",
            action="append",
            default=[],
            metavar="LAYER=NAME",
            help="the kernel (or family of kernels) of a layer, which has the name or number that `mote plan` prints;"
            " may be given several times",
        )
        budget.add_argument(
            "--point", metavar="NAME", help="a plan that `mote explore` names: ram-BYTES, within-BYTES, least, fastest"
        )
    parser.add_argument(
        "--input",
        choices=INPUT,
        default="whole",
        help="rows: the input comes row by row and is never in RAM whole (default: whole)",
    )
    parser.add_argument(
        "--step",
        choices=STEP[1:],
        default="",
        help="what a call of step() does at most: a layer or a row; the header then says how long that takes",
    )
    parser.add_argument("--no-shrink", action="store_true", help="keep channels, weights and layers that cannot matter")
    parser.add_argument(
        "--recompute",
        type=float,
        default=0.0,
        metavar="PERCENT",
        help="work that may be done twice to need less RAM (default: 0)",
    )
    parser.add_argument(
        "--stream",
        type=int,
        metavar="AXIS",
        help="the window slides along this axis of the input: take only what is new, and keep the rest",
    )
    parser.add_argument(
        "--hop",
        type=int,
        default=0,
        metavar="N",
        help="how much of it is new every time (default: as little as can be)",
    )
    parser.add_argument(
        "--causal",
        action="store_true",
        help="let padding along that axis stand for what was before the stream (another model than the windowed one)",
    )
    parser.add_argument("--flash", type=str, metavar="BYTES", help="refuse more flash than this (K and M suffixes)")
    add_json(parser)


def _add_code_options(parser: argparse.ArgumentParser) -> None:
    """The options that are about generated C."""
    parser.add_argument("--single-file", action="store_true", help="one .c and one .h instead of a folder of headers")
    parser.add_argument(
        "--caller-arena", action="store_true", help="the firmware supplies the working memory to init()"
    )
    parser.add_argument(
        "--check-flash", action="store_true", help="init() fails where a constant in flash has changed (CRC-32)"
    )
    parser.add_argument(
        "--place-code",
        choices=PLACES,
        default="flash",
        help="ram: inner loops are executed from RAM, on a part whose flash makes them wait (default: flash)",
    )
    parser.add_argument(
        "--red-zones",
        action="store_true",
        help="a debug build that notices when a kernel writes outside of its buffers",
    )


def add_svg(parser: Options, what: str) -> None:
    parser.add_argument("--svg", metavar="FILE", help=what)


def add_tools(parser: Options) -> None:
    parser.add_argument("--compiler", choices=("gcc", "zig"), help="which C compiler (default: gcc where installed)")
    parser.add_argument(
        "--emulator", choices=("qemu", "unicorn"), help="which emulator (default: qemu where installed)"
    )


def add_data(parser: argparse.ArgumentParser, *, required: bool = False, choose: bool = True) -> None:
    """Samples of the user's; `choose`: with the options that choose among arrays."""
    parser.set_defaults(input_names="", label_name="")
    parser.add_argument(
        "--data",
        metavar="DATA",
        required=required,
        help="samples: a .npz, .npy or .csv file, a folder or .zip of images or WAV files (their folders are the"
        " classes), or one long .wav file: docs/data.md",
    )
    parser.add_argument(
        "--preprocess",
        metavar="STEPS",
        help="what is done to each sample, for example resize=96x96,scale=1/255 or your own file.py:function",
    )
    if choose:
        parser.add_argument(
            "--inputs",
            dest="input_names",
            default="",
            metavar="NAMES",
            help="the arrays or columns that are inputs, with commas between (default: all but labels)",
        )
        parser.add_argument(
            "--labels",
            dest="label_name",
            default="",
            metavar="NAME",
            help="the array or column of labels (default: the only one called y, labels or target); of folders the"
            " names of the classes in order, of a .wav file the JSON file of its events",
        )


def data_of(
    arguments: argparse.Namespace, data: str | None = None, *, labelled: bool = False, several: bool = True
) -> Dataset:
    """The samples that the options name, or other ones (`data`) that are read in the same way; `labelled` and `several`
    refuse as `dataset` does."""
    return dataset(
        arguments.data if data is None else data,
        inputs=arguments.input_names,
        labels=arguments.label_name,
        preprocess=arguments.preprocess,
        labelled=labelled,
        several=several,
    )


def add_journal(parser: Options) -> None:
    """Where a search keeps what it has found."""
    parser.add_argument(
        "--journal", metavar="FILE", help="keep results in this file: a search that was stopped goes on"
    )


def add_workers(parser: Options) -> None:
    """Who does the evaluations of a search."""
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help="evaluate in so many processes (default: in this one); with --scheduler, so many evaluations at once"
        " (default: as many as the cluster has threads)",
    )
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="evaluate on the cluster of Dask whose scheduler has this address: tcp://HOST:8786",
    )


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """How the model is to be read."""
    return {"shapes": arguments.shape, "signature": arguments.signature, "constants": arguments.set}


def settings(arguments: argparse.Namespace) -> Settings:
    return make_settings(
        target=arguments.target,
        trust_target=arguments.trust_target,
        name=arguments.name,
        io=arguments.io,
        numerics=arguments.numerics,
        optimize=arguments.optimize,
        single_file=getattr(arguments, "single_file", False),
        caller_arena=getattr(arguments, "caller_arena", False),
        check_flash=getattr(arguments, "check_flash", False),
        aligned=arguments.aligned,
        place_code=getattr(arguments, "place_code", PLACES[0]),
        input=arguments.input,
        red_zones=getattr(arguments, "red_zones", False),
        step=arguments.step,
        recompute=arguments.recompute,
        stream=arguments.stream,
        hop=arguments.hop,
        causal=arguments.causal,
        shrink=not arguments.no_shrink,
        flash=arguments.flash,
        ram=getattr(arguments, "ram", None),
        latency=getattr(arguments, "latency", None),
        cycles=getattr(arguments, "cycles", None),
        point=getattr(arguments, "point", None),
        kernels=getattr(arguments, "kernel", []),
        **reading(arguments),
        edges=arguments.edges,
        features=arguments.features,
        outputs=arguments.outputs,
    )


def write_svg(path: str | None, draw: Callable[[], str]) -> None:
    """Draw into the file that was asked for, if one was."""
    if path is not None:
        write_file(path, draw().encode(), SVG)


def bound_line(plan: Plan, bound: int) -> str:
    """What no plan takes less than, and how far the arena is above it."""
    over = plan.arena - bound
    more = f"{over:,} ({100 * over / max(1, bound):.1f}%) more" if over > 0 else "just that"
    return f"  bound: {bound:,} bytes: no schedule of the model's rows takes less; the arena takes {more}"


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def colour(text: str, code: str) -> str:
    """A line in colour on a terminal, plain elsewhere."""
    text = printable(text)
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{code}m{text}\033[0m"


def bold(text: str) -> str:
    return colour(text, "1")


def green(text: str) -> str:
    return colour(text, "32")


def red(text: str) -> str:
    return colour(text, "31")


def table(head: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> str:
    """Columns: the first `left` aligned left, the others right. Numbers get thousands separators."""
    cells = [[_cell(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [list(head), *cells]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        parts = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(parts).rstrip()

    return "\n".join([bold(line(head)), *(line(r) for r in cells)])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being done, and wipe it away after; what is yielded says something else instead."""
    shown = 0

    def say(text: str) -> None:
        nonlocal shown
        if sys.stderr.isatty():
            print(text.ljust(shown), end="\r", file=sys.stderr, flush=True)
            shown = len(text)

    say(f"{what}...")
    try:
        yield say
    finally:
        say("")


def shorten(text: str, width: int = 36) -> str:
    """The end of a long layer name: that is where it differs from its neighbours."""
    return text if len(text) <= width else "..." + text[-(width - 3) :]


def shortened(names: Sequence[str], width: int = 36) -> list[str]:
    """Names of a table, the long ones made shorter such that different ones stay different: by their ends, if that is
    not enough around the first difference, and if even that is not enough not at all."""
    found = {name: shorten(name, width) for name in names}
    for cut in (_around_difference, lambda clash, _: {name: name for name in clash}):
        groups: dict[str, list[str]] = {}
        for name, short in found.items():
            groups.setdefault(short, []).append(name)
        for clash in groups.values():
            found |= cut(clash, width) if len(clash) > 1 else {}
    return [found[name] for name in names]


def _around_difference(clash: Sequence[str], width: int) -> dict[str, str]:
    """Where the names begin to differ, and the end."""
    tail = width // 3
    middle = width - tail - 6
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*clash, strict=False))
    at = max(len(list(same)) - middle // 2, 0)
    return {name: f"...{name[at : at + middle]}...{name[-tail:]}" for name in clash}
