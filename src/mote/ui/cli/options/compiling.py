"""Options of the commands that compile a model, and the settings that they say."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from mote.compiler.line import model_steps
from mote.compiler.package.packagers import PACKAGERS
from mote.compiler.settings import (
    BARRIER,
    INPUT,
    IO,
    NUMERICS,
    OPTIMIZE,
    PLACES,
    STEP,
    Settings,
    make_settings,
)
from mote.deploy.boards.placing import board_target
from mote.frontends import EDGES, FEATURES
from mote.frontends.data.dataset import Dataset, are_files, dataset
from mote.hardware.targets.flags import SETS
from mote.optimize.compress.quantize.types.precision import Precision
from mote.ui.cli.common import add_json, add_model, reading

DEFAULT_TARGET = "host"
"""The target where none is named; of a command with `--board`, that of the board."""


def add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="backends that compute parts of the model where that costs less than Mote's own kernels, separated by"
        " commas; repeatable",
    )


def add_compile_options(
    parser: argparse.ArgumentParser,
    *,
    plan: bool = True,
    several: bool = False,
    optional: bool = False,
    code: bool = True,
    calibrated: bool = False,
    targets: bool = False,
    preprocess: bool = True,
) -> None:
    """The model (or `several`, or an `optional` one) and how to compile it; `plan`: with the options that choose one
    plan, `code`: with those that are about generated C, `calibrated`: `--data` is what a model is calibrated with,
    `targets`: for one target or several, `preprocess`: with steps that are compiled before the model, where none are
    for samples of data."""
    add_model(parser, "+" if several else "?" if optional else None)
    parser.add_argument(
        "--quantize",
        choices=[x.value for x in Precision if x is not Precision.FLOAT32],
        default="",
        help="quantize a float model first, as `mote quantize` does",
    )
    parser.add_argument(
        *("--calibrate", "--data") if calibrated else ("--calibrate",),
        metavar="DATA",
        help="calibration data for --quantize: a few hundred typical inputs (docs/improve/data.md)",
    )
    parser.add_argument(
        "--target",
        "-t",
        nargs="+" if targets else None,
        action="extend" if targets else "store",
        default=None if targets else DEFAULT_TARGET,
        help=f"{'names' if targets else 'a name'} from `mote targets` or a .toml file (default: host)",
    )
    parser.add_argument(
        "--trust-target",
        action="store_true",
        help="allow the target file any compiler option, even those that execute programs",
    )
    parser.add_argument("--name", default="", help="prefix of the C symbols and files (default: from the file name)")
    parser.add_argument(
        "--io",
        choices=IO,
        default="model",
        help="int8: int8 inputs and outputs without QUANTIZE and DEQUANTIZE layers, which the application then does",
    )
    parser.add_argument(
        "--numerics",
        choices=NUMERICS,
        default="litert",
        help="reproduce the rounding of LiteRT or of TFLite Micro, bit for bit (default: litert); half: compute float32"
        " layers in half precision (Cortex-M55, M85)",
    )
    parser.add_argument(
        "--edges",
        choices=EDGES,
        default=EDGES[0],
        help="memory layout of image inputs and outputs: channels last (NHWC), as the kernels take them"
        " (default), or as in the model",
    )
    parser.add_argument(
        "--features",
        choices=FEATURES,
        default=FEATURES[0],
        help="element type of the features of a tree ensemble (default: float32)",
    )
    parser.add_argument(
        "--outputs",
        action="append",
        default=[],
        metavar="NAME",
        help="compute only this output; repeatable",
    )
    if preprocess:
        parser.add_argument(
            "--preprocess",
            default="",
            metavar="STEPS",
            help="preprocessing that is compiled before the model, which then takes raw samples of a sensor:"
            " audio,mfcc (docs/improve/features.md)",
        )
    parser.add_argument(
        "--postprocess",
        default="",
        metavar="STEPS",
        help="post-processing that is compiled behind the model, from scores to decisions:"
        ' "moving-average=4,detect(1,0.8)" (docs/improve/post-processing.md)',
    )
    parser.add_argument(
        "--train",
        default="",
        metavar="WHAT",
        help="on-device training: last, biases, layers by name or number, auto:RAM=64K, or a learner such as"
        " prototype:classes=3 (docs/improve/on-device-training.md)",
    )
    parser.add_argument(
        "--train-data",
        default="",
        metavar="DATA",
        help="samples with labels for --train: for the ranges of int8 gradients, and for what auto chooses",
    )
    parser.add_argument(
        "--optimize",
        choices=OPTIMIZE,
        default="balanced",
        help="speed: fastest kernels, with more RAM and flash; size: least flash; balanced: nearly the"
        " fastest, with little RAM and flash (default)",
    )
    parser.add_argument("--aligned", action="store_true", help="aligned 32-bit accesses only")
    if code:
        _add_code_options(parser)
    if plan:
        budget = parser.add_mutually_exclusive_group()
        budget.add_argument(
            "--ram",
            type=str,
            metavar="BYTES",
            help="RAM budget (K and M suffixes): the fastest plan within it; min: the least RAM; NAME=BYTES,...: what"
            " the model may take of each of the part's memories",
        )
        time = parser.add_mutually_exclusive_group()
        time.add_argument(
            "--latency",
            metavar="TIME",
            help="latency budget (us, ms, s) at the part's clock: the plan with the least RAM whose estimate meets it",
        )
        time.add_argument("--cycles", type=int, metavar="N", help="latency budget in cycles")
        parser.add_argument(
            "--kernel",
            action="append",
            default=[],
            metavar="LAYER=NAME",
            help="pin the kernel (or kernel family) of a layer, given by the name or number that `mote plan`"
            " prints, with values of its knobs: 3=gemm4[columns=2], 3=gemm4[constants=ram]; repeatable",
        )
        parser.add_argument(
            "--pins", default="", metavar="FILE", help="kernels, places and compiler flags that `mote tune` has chosen"
        )
        add_backend(parser)
        budget.add_argument(
            "--point",
            metavar="NAME",
            help="plan by the name that `mote explore` prints: ram-BYTES, within-BYTES, default, least, fastest",
        )
    parser.add_argument(
        "--input",
        choices=INPUT,
        default="whole",
        help="rows: push the input row by row, so that it is never in RAM as a whole (default: whole)",
    )
    parser.add_argument(
        "--step",
        choices=STEP[1:],
        default="",
        help="most work of one step() call: a layer or a row; the header states what the longest one measured took",
    )
    parser.add_argument(
        "--cores",
        type=int,
        default=1,
        metavar="N",
        help="2: split layers between two equal cores, such as those of an RP2350 (default: 1)",
    )
    parser.add_argument(
        "--barrier",
        type=int,
        default=BARRIER,
        metavar="CYCLES",
        help=f"cycles of a barrier between two cores, for the estimate (default: {BARRIER})",
    )
    parser.add_argument(
        "--no-shrink", action="store_true", help="keep channels, weights and layers that cannot affect the outputs"
    )
    parser.add_argument(
        "--recompute",
        type=float,
        default=0.0,
        metavar="PERCENT",
        help="share of the MACs that may be recomputed to save RAM (default: 0)",
    )
    parser.add_argument(
        "--stream",
        type=int,
        metavar="AXIS",
        help="streaming inference along this axis of the input: each run takes only the new part of the"
        " sliding window, the rest is state",
    )
    parser.add_argument(
        "--hop",
        type=int,
        default=0,
        metavar="N",
        help="elements by which the window advances with each run (default: the fewest possible)",
    )
    parser.add_argument(
        "--causal",
        action="store_true",
        help="replace padding along the streamed axis by past inputs: a causal model, whose outputs differ"
        " from the windowed one",
    )
    parser.add_argument(
        "--flash",
        type=str,
        metavar="BYTES",
        help="flash budget (K and M suffixes): exceeding it is an error; min: the least flash",
    )
    add_json(parser)


def _add_code_options(parser: argparse.ArgumentParser) -> None:
    """The options that are about generated C."""
    parser.add_argument(
        "--single-file", action="store_true", help="one .c and one .h file instead of a folder of headers"
    )
    parser.add_argument("--caller-arena", action="store_true", help="the application passes the tensor arena to init()")
    parser.add_argument(
        "--instances",
        action="store_true",
        help="no static variables: functions take a pointer to an instance, of which there may be any number",
    )
    parser.add_argument("--cpp", action="store_true", help="write NAME.hpp, a C++17 class over the C functions, too")
    parser.add_argument(
        "--check-flash", action="store_true", help="init() fails if a constant in flash is corrupted (CRC-32)"
    )
    parser.add_argument(
        "--encrypt",
        default="",
        metavar="KEYFILE",
        help="encrypt constants in flash: AES-CTR with the key of 16 or 32 bytes in this file; a function of the"
        " firmware decrypts them into the arena",
    )
    parser.add_argument(
        "--place-code",
        choices=PLACES,
        default="flash",
        help="ram: execute inner loops from RAM, for parts with flash wait states (default: flash)",
    )
    parser.add_argument(
        "--place-constants",
        choices=PLACES,
        default="flash",
        help="ram: start-up copies constants to RAM, as many as fit, for parts with flash wait states and RAM to spare"
        " (default: flash)",
    )
    parser.add_argument(
        "--flags", choices=SETS, default="", help="set of compiler flags, instead of those that --optimize says"
    )
    parser.add_argument(
        "--red-zones",
        action="store_true",
        help="debug build that detects kernels writing outside of their buffers",
    )


def add_package(parser: argparse.ArgumentParser) -> None:
    """Add the options for packages of ecosystems."""
    parser.add_argument(
        "--package",
        type=lambda text: [name.strip() for name in text.split(",")],
        default=[],
        metavar="NAME[,NAME]",
        help=f"package the library for ecosystems, each in a folder of its own where there are several:"
        f" {', '.join(PACKAGERS)} (default: a folder of C for make and CMake)",
    )
    parser.add_argument(
        "--metadata",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="metadata of packages: version, author, email, url, license, summary; repeatable",
    )


def settings(arguments: argparse.Namespace, **others: Any) -> Settings:
    """The options that have the names of settings, those that are called otherwise, and others."""
    given = vars(arguments)
    names = {"trust_target", "point", "pins", *(field.name for field in fields(Settings))}
    options = {name: value for name, value in given.items() if name in names}
    options |= {"kernels": given.get("kernel", []), "shrink": not arguments.no_shrink, **reading(arguments)}
    if "train_data" not in others and given.get("train_data") and are_files(given["train_data"]):
        options["train_data"] = _train_data(arguments)
    if given.get("board") and options["target"] == DEFAULT_TARGET:
        options["target"] = board_target(given["board"])
    return make_settings(**options | others)


def _train_data(arguments: argparse.Namespace) -> Dataset:
    """Sounds or images to learn from, as the model takes them: behind the steps that are compiled before it, or those
    in the metadata of its file."""
    model = arguments.model[0] if isinstance(arguments.model, list) else arguments.model
    steps = getattr(arguments, "preprocess", "") or model_steps(model)
    return dataset(arguments.train_data, preprocess=steps or None, labelled=True)
