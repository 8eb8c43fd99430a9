"""`mote runtime`: write the runtime that runs images, as a C library with a fixed set of kernels."""

from __future__ import annotations

import argparse

from mote.compiler.package.adapters import NAMES, adapters_files
from mote.compiler.package.description import metadata
from mote.compiler.package.packagers import chosen_packagers
from mote.compiler.settings import make_settings
from mote.deploy.runtime import ALL, MINIMAL, SETS, TUNED, runtime
from mote.ui.cli.common import add_json, print_json, progress, show
from mote.ui.cli.options.compiling import add_option, add_package, add_target

OPTIONS = {
    "optimize": "optimization of the models' plans and of the build, as for `mote pack`",
    "postprocess": "with the kernels of these steps behind the model files",
    "train": "with the kernels by which the model files learn, as for `mote pack`",
    "train_data": "samples with labels for --train",
    "backend": "with the kernels that run jobs of a backend (ethos-u), which call its driver; separated by commas;"
    " repeatable",
    "aligned": "aligned 32-bit accesses only",
}
"""Options of a compilation, and their lines of help here."""


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("--output", "-o", required=True, metavar="DIR_OR_ZIP", help="folder or .zip archive for the library")
    add_package(p)
    add_target(p, default="host")
    p.add_argument(
        "--kernels",
        nargs="+",
        default=[ALL],
        metavar="KERNELS",
        help=f"{ALL}: the kernels of the stock runtime, for any model (default); {MINIMAL}: for int8 convolutional"
        f" networks; {TUNED}: the same with fast kernels for cores with DSP instructions; or model files: kernels of"
        " their plans, with code specialised for their layers",
    )
    for name, said in OPTIONS.items():
        add_option(p, name, help=said)
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
    settings = make_settings(**{name: getattr(arguments, name) for name in ("target", "trust_target", *OPTIONS)})
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
