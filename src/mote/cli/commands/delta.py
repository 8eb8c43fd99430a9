"""`mote delta`: a delta update from one image to another, for devices that run the first."""

from __future__ import annotations

import argparse

from mote.cli.common import add_json, print_json, progress
from mote.deploy.update.delta import MAGIC, encode
from mote.deploy.update.header import load_image
from mote.files import write_file


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("old", metavar="OLD", help="the image that devices run")
    p.add_argument("new", metavar="NEW", help="the image to update to, signed if devices require it")
    p.add_argument("--output", "-o", required=True, metavar="FILE", help="the delta")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    old, new = load_image(arguments.old)[1], load_image(arguments.new)[1]
    with progress("comparing"):
        made = encode(old, new, old_name=arguments.old, new_name=arguments.new)
    write_file(arguments.output, made, MAGIC)
    if arguments.json:
        print_json({"delta": arguments.output, "bytes": len(made), "image_bytes": len(new)})
    else:
        print(f"{arguments.output}: {len(made):,} bytes, {100 * len(made) / len(new):.0f}% of the image")
    return 0
