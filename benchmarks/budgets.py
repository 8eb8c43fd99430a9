"""What less RAM costs, by the estimates that plans are chosen by; and that more of it never costs anything.

    PYTHONPATH=src python benchmarks/budgets.py MODEL.tflite [--core CORE] [--points 12] [--optimize speed]

Prints RAM, estimate and flash of the plans within budgets from the least to what the fastest plan takes, and fails
where a larger budget gives a slower plan.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mote.base.errors import BudgetError
from mote.base.progress import silent
from mote.compiler.line import plan_for
from mote.compiler.passes.pipeline import optimize
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings, make_settings
from mote.frontends import read, source_of
from mote.ir.graph import Graph


def budgets(least: int, most: int, points: int) -> list[int]:
    """From the least to the most, closer to one another near the least."""
    return sorted({least + (most - least) * k * k // points**2 for k in range(points + 1)})


def shown(what: str, settings: Settings, found: Plan) -> float:
    """Print a plan; what it takes."""
    cost = estimate(settings.costs, found)
    taken = flash(steps[0].kernel for _, steps in found.works)
    print(f"{what:>12} {found.ram:10,} {cost:14,.0f} {taken:12,.0f}", flush=True)
    return cost


def curve(graph: Graph, where: str, core: str, policy: str, points: int) -> bool:
    """Print the curve of a model; whether more RAM never costs anything."""

    def planned(**options: object) -> tuple[Settings, Plan]:
        settings = make_settings(core, optimize=policy, **options)
        return settings, plan_for(graph, where, settings, silent)

    print(f"{where} for {core}, --optimize {policy}")
    print(f"{'budget':>12} {'RAM':>10} {'estimate':>14} {'flash':>12}")
    least, fastest = planned(ram="min"), planned(point="fastest")
    before = shown("min", *least)
    sound = True
    for ram in budgets(least[1].ram, fastest[1].ram, points):
        try:
            cost = shown(f"{ram:,}", *planned(ram=ram))
        except BudgetError:
            print(f"{ram:12,} refused")
            cost = float("inf")
        sound = sound and cost <= before
        before = cost
    shown("default", *planned())
    return sound


def main(arguments: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="+", metavar="MODEL", help="a .tflite file")
    p.add_argument("--core", default="cortex-m4")
    p.add_argument("--io", default="model", choices=("model", "int8"))
    p.add_argument("--optimize", default="balanced", choices=("speed", "balanced", "size"))
    p.add_argument("--points", type=int, default=12)
    options = p.parse_args(arguments)
    sound = True
    for name in options.models:
        graph, _ = optimize(read(source_of(Path(name))).graph(), io=options.io, numerics="litert")
        sound = curve(graph, name, options.core, options.optimize, options.points) and sound
    if not sound:
        print("a larger budget gives a slower plan", file=sys.stderr)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
