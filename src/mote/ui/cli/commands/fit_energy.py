"""`mote fit-energy`: the energy model of a target, fitted to profiles with captures of a meter."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

from mote.bench.measure.energy.fit import EnergyFit, fit_energy
from mote.ui.cli.common import bold, print_json, show
from mote.ui.cli.table import columns

SHOWN = 12
"""How many layers are printed."""


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "profiles", metavar="PROFILE.json", nargs="+", help="results of mote profile MODEL --capture FILE --json"
    )
    p.add_argument("--target", "-t", help="target that the model is for (default: that of the profiles)")
    p.add_argument("--output", "-o", metavar="FILE.toml", help="target's file to write, which extends the target")
    p.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    fit = fit_energy(arguments.profiles, arguments.target)
    if arguments.output:
        fit.write(arguments.output)
    print_json(fit.json()) if arguments.json else print_text(fit)
    if arguments.output and not arguments.json:
        show(f"wrote {arguments.output}: mote profile MODEL --target {arguments.output}")
    return 0


def print_text(fit: EnergyFit) -> None:
    show(bold(f"energy of {fit.target}, fitted to {len(fit.points)} layers of {fit.captures} capture(s)"))
    largest = sorted(fit.points, key=lambda point: -point.microjoules)
    print(columns(EnergyFit.ROWS, replace(fit, points=tuple(largest[:SHOWN]))))
    if len(largest) > SHOWN:
        show(f"and {len(largest) - SHOWN} more")
    told = asdict(fit.model)
    for key, value in told.items():
        if isinstance(value, float) and key != "error" and value:
            show(f"{key + ':':<14} {value:g}")
    show(f"error:         {fit.error:.1%} in the mean, {fit.worst:.1%} at worst, of layers that it was not fitted to")
