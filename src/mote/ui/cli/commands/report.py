"""`mote report`: the graph, memory, cost, accuracy and C of a model as one HTML file."""

from __future__ import annotations

import argparse

from mote.ui.cli.common import named, print_json, progress, show
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.sampling import add_data, data_of
from mote.ui.reporter.report import report


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, targets=True, omitted=("preprocess",))
    add_data(p)
    p.add_argument("--against", metavar="MODEL", help="another model to compare with, or another version of this one")
    p.add_argument("--capture", metavar="FILE", help="capture of a meter, for measured energy on the first target")
    p.add_argument("--volts", type=float, metavar="V", help="supply voltage, where the meter measures none")
    p.add_argument("--output", "-o", required=True, metavar="FILE.html", help="file for the report")


def run(arguments: argparse.Namespace) -> int:
    targets = arguments.target or ["host"]
    arguments.target = targets[0]
    with progress("compiling") as say:
        made = report(
            arguments.model,
            settings(arguments),
            targets=targets[1:],
            data=data_of(arguments, labelled=True) if arguments.data else None,
            **named(arguments, "against", "capture", "volts"),
            say=say,
        )
    made.write(arguments.output)
    if arguments.json:
        print_json(made.data)
    else:
        show(f"wrote {arguments.output}: {len(made.html.encode()):,} bytes, for any browser")
    return 0
