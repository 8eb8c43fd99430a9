"""`mote runtime`: write the runtime that runs images, as a C library with a fixed set of kernels."""

from __future__ import annotations

import argparse

from mote.compiler.package.adapters import NAMES, adapters_files
from mote.compiler.package.description import metadata
from mote.compiler.package.packagers import chosen_packagers
from mote.compiler.settings import OPTIMIZE, make_settings
from mote.deploy.runtime import ALL, MINIMAL, SETS, TUNED, runtime
from mote.ui.cli.common import add_json, print_json, progress, show
from mote.ui.cli.options.compiling import add_package


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("--output", "-o", required=True, metavar="DIR_OR_ZIP", help="folder or .zip archive for the library")
    add_package(p)
    p.add_argument("--target", "-t", default="host", help="a name from `mote targets` or a .toml file (default: host)")
    p.add_argument(
        "--trust-target",
        action="store_true",
        help="allow the target file any compiler option, even those that execute programs",
    )
    p.add_argument(
        "--kernels",
        nargs="+",
        default=[ALL],
        metavar="KERNELS",
        help=f"{ALL}: the kernels of the stock runtime, for any model (default); {MINIMAL}: for int8 convolutional"
        f" networks; {TUNED}: the same with fast kernels for cores with DSP instructions; or model files: kernels of"
        " their plans, with code specialised for their layers",
    )
    p.add_argument(
        "--optimize",
        choices=OPTIMIZE,
        default="balanced",
        help="optimization of the models' plans and of the build, as for `mote pack`",
    )
    p.add_argument(
        "--postprocess", default="", metavar="STEPS", help="with the kernels of these steps behind the model files"
    )
    p.add_argument(
        "--train",
        default="",
        metavar="WHAT",
        help="with the kernels by which the model files learn, as for `mote pack`",
    )
    p.add_argument("--train-data", default="", metavar="DATA", help="samples with labels for --train")
    p.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="with the kernels that run jobs of a backend (ethos-u), which call its driver; separated by commas;"
        " repeatable",
    )
    p.add_argument("--aligned", action="store_true", help="aligned 32-bit accesses only")
    p.add_argument("--update", action="store_true", help="include the over-the-air update module")
    p.add_argument(
        "--adapter",
        action="append",
        default=[],
        choices=NAMES,
        help="add what connects it to firmware: a model in static memory (bare-metal), in a thread with a queue"
        " (cmsis-rtos2, freertos, zephyr), PSA Crypto as the verifier of updates (psa); repeatable",
    )
    p.add_argument("--force", action="store_true", help="overwrite files that Mote did not write")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    given, adapters = arguments.kernels, adapters_files(arguments.adapter)
    about = metadata(arguments.metadata)
    chosen_packagers(arguments.package)
    settings = make_settings(
        target=arguments.target,
        trust_target=arguments.trust_target,
        optimize=arguments.optimize,
        aligned=arguments.aligned,
        postprocess=arguments.postprocess,
        train=arguments.train,
        train_data=arguments.train_data,
        backend=arguments.backend,
    )
    with progress("planning") as say:
        kernels = given[0] if given[0] in SETS and len(given) == 1 else given
        made = runtime(kernels, settings, update=arguments.update, say=say)
    made = made.with_files(adapters).described(about)
    overwritten = made.write(arguments.output, arguments.package, force=arguments.force)
    manifest = made.manifest
    if arguments.json:
        print_json({"folder": arguments.output} | made.json() | {"overwritten": overwritten})
        return 0
    show(f"{arguments.output}: the runtime with {len(manifest.kernels)} kernels for {manifest.target}")
    show(f"  windows of at most {manifest.limits.taps} rows; {len(made.sources)} C files, build them with -fwrapv")
    if arguments.adapter:
        show(f"  adapters: {', '.join(arguments.adapter)} (docs/deploy/adapters.md); compile them with your firmware")
    show(f"  pack models for it with `mote pack MODEL --runtime {arguments.output}`")
    return 0
