"""`mote delta`: a delta update from one image to another, for devices that run the first."""

from __future__ import annotations

import argparse

from mote.deploy.delivery import delta
from mote.ui.cli.common import add_json, print_json, progress, show


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("old", metavar="OLD", help="the image that devices run")
    p.add_argument("new", metavar="NEW", help="the image to update to, signed if devices require it")
    p.add_argument("--output", "-o", required=True, metavar="FILE", help="the delta")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    with progress("comparing"):
        made = delta(arguments.old, arguments.new)
    made.write(arguments.output)
    if arguments.json:
        print_json({"delta": arguments.output} | made.json())
    else:
        show(f"{arguments.output}: {len(made.data):,} bytes, {made.share:.0%} of the image")
    return 0
