"""`mote calibrate-target`: memory timing and costs of a target, fitted to measurements on a board."""

from __future__ import annotations

import argparse

from mote.optimize.tune.calibration.calibrate import Calibration, calibrate_target
from mote.optimize.tune.calibration.cost_fit import EVERY
from mote.optimize.tune.calibration.microbenchmarks import FAMILIES
from mote.ui.cli.common import bold, named, print_json, progress, show, table


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("--target", "-t", required=True, help="part, or the core of one, that is calibrated")
    where = p.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--board",
        metavar="ADDRESS",
        help="board with an agent: a name of boards.toml, serial:/dev/ttyACM0, tcp:HOST:PORT",
    )
    where.add_argument(
        "--emulated", metavar="PART", help="measure the profiler's model of this part instead of a board"
    )
    p.add_argument("--costs", action="store_true", help="measure layers too, for the table of costs: takes minutes")
    p.add_argument(
        "--every", type=int, default=EVERY, metavar="N", help="for --costs: every Nth layer with a choice of kernels"
    )
    p.add_argument("--output", "-o", required=True, metavar="FILE.toml", help="target's file to write")
    p.add_argument("--trust-target", action="store_true", help="allow any compiler option that the target names")
    p.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    with progress("measuring") as say:
        result = calibrate_target(
            arguments.target, **named(arguments, "board", "emulated", "costs", "every", "trust_target"), say=say
        )
    result.write(arguments.output)
    print_json(result.json()) if arguments.json else print_text(result, arguments.output)
    return 0


def print_text(result: Calibration, output: str) -> None:
    show(bold(f"{result.target} on {result.measured_on}"))
    rows = [(family, FAMILIES[family], f"{error:.2%}") for family, error in result.memory.families.items()]
    print(table(("programs", "", "error"), rows, left=2))
    show(f"memory:       {result.memory.reads}")
    show(f"error:        {result.memory.error:.2%}, the mean of {result.memory.programs} programs")
    if result.costs is not None:
        worst = max(result.costs.families.items(), key=lambda each: each[1])
        show(f"costs:        {result.costs.layers:,} layers; error {result.costs.error:.2%} in the mean")
        show(f"              {len(result.costs.families)} families of kernels, {worst[0]} the worst: {worst[1]:.2%}")
    show(f"wrote {output}: mote profile MODEL --target {output}")
