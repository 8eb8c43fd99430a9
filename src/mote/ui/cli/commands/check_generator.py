"""`mote check-generator`: a test suite for the authors of external generators."""

from __future__ import annotations

import argparse

from mote.bench.generators.checks import INPUTS, GeneratorCheck, check_generator
from mote.bench.generators.layers import LAYERS
from mote.ui.api.register import load_plugins
from mote.ui.cli.common import add_json, bold, green, named, print_json, progress, red, show

MOST_SHOWN = 12
"""Failures of a check that are printed."""


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("generator", metavar="GENERATOR", help="its name, the package that announces it, or module:Class")
    p.add_argument("-t", "--target", metavar="TARGET", default="host", help="the target to generate for and to run on")
    p.add_argument(
        "--trust-target",
        action="store_true",
        help="allow the target file any compiler option, even those that execute programs",
    )
    p.add_argument(
        "--plugin", action="append", default=[], metavar="FILE.py", help="Python file to run first, which registers it"
    )
    p.add_argument("--layers", default="", metavar="NAME[,NAME]", help=f"only these of the layers: {', '.join(LAYERS)}")
    p.add_argument("--model", dest="models", action="append", default=[], metavar="FILE", help="another model to check")
    p.add_argument("--inputs", type=int, default=INPUTS, metavar="N", help="inputs of each model")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of weights and inputs")
    p.add_argument("--emulator", metavar="NAME", help="the emulator of the target")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    load_plugins(arguments.plugin)
    with progress("checking") as say:
        report = check_generator(
            arguments.generator,
            **named(arguments, "target", "trust_target"),
            layers=[name.strip() for name in arguments.layers.split(",") if name.strip()],
            **named(arguments, "models", "inputs", "seed", "emulator"),
            say=say,
        )
    if arguments.json:
        print_json(report.json())
    else:
        show(bold(f"{report.generator} for {report.target}"))
        width = max(len(check.name) for check in report.checks)
        for check in report.checks:
            _print(check, width)
        show(report.verdict)
    return 0 if report.passed else 1


def _print(check: GeneratorCheck, width: int) -> None:
    mark = "  --  " if check.passed is None else green("  ok  ") if check.passed else red("failed")
    show(f"{mark}  {check.name.ljust(width)}  {check.detail}", width + 10)
    for failure in check.failures[:MOST_SHOWN]:
        show(f"{' ' * 10}{failure}", 12)
    if len(check.failures) > MOST_SHOWN:
        show(f"{' ' * 10}and {len(check.failures) - MOST_SHOWN:,} more")
