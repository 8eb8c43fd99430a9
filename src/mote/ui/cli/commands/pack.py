"""`mote pack`: a model file in, an image for Mote's runtime out."""

from __future__ import annotations

import argparse

from mote.base.files import write_folder
from mote.base.option import RestrictedUse
from mote.compiler.packer import Image, pack
from mote.frontends.labels import read_labels
from mote.ui.cli.common import add_number, bold, named, print_json, progress, show
from mote.ui.cli.options.compiling import add_compile_options, settings


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, use=RestrictedUse.IMAGE, calibrated=True)
    p.add_argument(
        "--output", "-o", required=True, metavar="FILE", help="the image; with --c-array the folder for the C files"
    )
    add_number(p, "--model-version", 0, "version of the model, which updates must not decrease")
    add_number(p, "--product", 0, "product number, which must equal the device's own")
    p.add_argument(
        "--runtime",
        metavar="DIR",
        help="plan with the kernels of this runtime, written by `mote runtime` (default: the stock runtime)",
    )
    p.add_argument(
        "--labels",
        dest="label_file",
        metavar="FILE",
        help="class names, one per line, as a JSON list or a CSV column, for the values of the first output",
    )
    p.add_argument("--strip", action="store_true", help="omit layer names and other metadata that only tools read")
    p.add_argument("--c-array", action="store_true", help="write NAME_image.h and NAME_image.c instead of a file")
    p.add_argument("--force", action="store_true", help="with --c-array: overwrite files that are not Mote's")


def run(arguments: argparse.Namespace) -> int:
    with progress("packing") as say:
        image = pack(
            arguments.model,
            settings(arguments),
            **named(arguments, "model_version", "product", "strip"),
            labels=read_labels(arguments.label_file) if arguments.label_file else (),
            runtime=arguments.runtime,
            say=say,
        )
    lost: list[str] = []
    if arguments.c_array:
        lost = write_folder(arguments.output, image.c_array(), force=arguments.force)
    else:
        image.write(arguments.output)
    if arguments.json:
        print_json(describe(image, arguments.output) | {"overwritten": lost})
        return 0
    print_image(image, arguments.output)
    if lost:
        show(f"  overwritten by --force: {', '.join(lost)}")
    return 0


def describe(image: Image, path: str) -> dict[str, object]:
    return image.json() | {"image": path}


def print_image(image: Image, path: str) -> None:
    made = image.program
    show(bold(f"{image.path} for {image.settings.target.name}"))
    for warning in image.warnings:
        show(f"  warning: {warning}")
    for s in image.savings:
        note = "" if s.exact else f" ({s.caveat})"
        show(f"  {s.name}: {s.detail}{note}")
    kernels = {kernel.name for kernel in made.kernels}
    show(f"  {len(made.schedule)} steps, {image.macs:,} MACs, {len(kernels)} kernels")
    arenas = " + ".join(f"{nbytes:,}" for nbytes in made.arenas)
    kept = f", states {made.state_bytes:,} bytes" if made.state_bytes else ""
    show(f"  RAM: arena {arenas} bytes{kept}")
    if image.record_bytes:
        show(f"  training: a record of what was learned takes {image.record_bytes:,} bytes of flash")
    show(f"  image: {len(image.data):,} bytes in {path}, version {image.header['version']}")
