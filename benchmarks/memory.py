"""How little RAM Mote needs: one Markdown table on standard output.

    python benchmarks/memory.py [--models FOLDER] [--target cortex-m4] [--no-measure]

For each model: layer by layer, the least with the input in RAM, the least with the input handed over row by row; what
no schedule of its rows can go below; what the smallest plan costs in instructions against the same kernels layer by
layer; the flash of its tables; the seconds of compiling. FOLDER holds the published models; without it, architectures
of the same shapes with random weights stand in: the same memory. The last rows are MobileNetV2 and a network of
MCUNetV2's kind (models/mcunet_v2.py), both for images of 224x224, the latter also with 12% of its work done twice.

    python benchmarks/memory.py [--models FOLDER] --points

prints what the models take within some budgets of RAM instead, with --optimize speed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from anchors import load  # first: it says where the models' scripts are

# isort: split
from tests.helpers.forgetting import forgetting

import mcunet_v2
from mote import compile, run
from mote.compiler.compiled import Compiled
from mote.compiler.plan import planner
from mote.compiler.plan.budgets import Planner
from mote.compiler.plan.memory.layout import PlacedPlan
from mote.compiler.plan.memory.plan_bound import bound
from mote.compiler.plan.scheduling import directed_plans
from mote.compiler.plan.scheduling.directed_plans import DirectedPlans
from mote.compiler.plan.scheduling.frontier import UNLIMITED
from mote.compiler.plan.selection.config import LEAN

POINTS = {
    "KWS": (5_500, 6_100, 8_000, 16_500),
    "IC": (12_000, 16_000, 36_000, 50_000),
    "VWW": (29_000, 32_000, 50_000),
    "SWW": (3_300, 5_000, 7_000),
    "MCUNET": (22_500, 26_000, 50_000),
}
"""Budgets of RAM, in bytes."""
HEAD = ("model", "layers", "least", "bound", "pushed", "bound", "others", "instructions", "tables", "compile")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--target", default="cortex-m4")
    p.add_argument("--no-measure", dest="measure", action="store_false", help="plans only, nothing is emulated")
    p.add_argument("--points", action="store_true", help="instructions within budgets of RAM")
    arguments = p.parse_args()
    if arguments.points:
        print("| model | budget | RAM | instructions | flash |\n|---|--:|--:|--:|--:|", flush=True)
        for anchor in load():
            for budget in POINTS.get(anchor.name, ()):
                print(point(anchor.name, anchor.model(arguments.models), budget, arguments.target), flush=True)
        return
    print(f"| {' | '.join(HEAD)} |\n|---|{'--:|' * (len(HEAD) - 1)}", flush=True)
    for anchor in load():
        print(row(anchor.name, anchor.model(arguments.models), anchor.rival[1]["ram"], arguments), flush=True)
    print(row("MobileNetV2", mcunet_v2.build(mcunet_v2.MOBILENET_V2), None, arguments, heavy=True), flush=True)
    large = mcunet_v2.build()
    print(row("MCUNetV2-like", large, None, arguments, heavy=True), flush=True)
    print(row("MCUNetV2-like, 12% twice", large, None, arguments, heavy=True, recompute=12.0), flush=True)


def point(name: str, model: Path | bytes, budget: int, target: str) -> str:
    cost = run(compile(model, target=target, io="int8", optimize="speed", ram=budget), layers=False)
    ram = cost.ram.total - (cost.ram.stack or 0)
    return f"| {name} | {budget:,} | {ram:,} | {cost.instructions:,} | {cost.flash.total:,} |"


def row(
    name: str,
    model: Path | bytes,
    others: int | None,
    arguments: argparse.Namespace,
    *,
    heavy: bool = False,
    **options: Any,
) -> str:
    common = {"target": arguments.target, "io": "int8", **options}
    with patch.object(directed_plans, "ROOM_ROUNDS", 0):
        with forgetting(), patch.object(planner, "knee", layer_by_layer):
            layers = compile(model, target=arguments.target, io="int8")
        with forgetting(), patch.object(Planner, "smallest", Planner.__dict__["lean"]):
            by_rows = compile(model, least_ram=True, **common)
    with forgetting():
        start = time.process_time()
        least = compile(model, least_ram=True, **common)
        seconds = time.process_time() - start
        pushed = None if name == "AD" else compile(model, input="rows", **common)
    cost = ""
    if arguments.measure and not heavy:
        before, after = (run(c, layers=False).instructions or 0 for c in (layers, by_rows))
        cost = f"{after:,} ({100 * (after / before - 1):+.1f}%)"
    elif options:
        cost = f"{100 * (least.macs / layers.macs - 1):+.1f}% MACs"
    cells = [
        name,
        f"{layers.plan.ram:,}",
        *figures(least),
        *(figures(pushed) if pushed else ("-", "-")),
        "-" if others is None else f"{others:,}",
        cost or "-",
        f"{least.project.tables:,}",
        f"{seconds:.1f} s",
    ]
    return f"| {' | '.join(cells)} |"


def layer_by_layer(search: Planner) -> PlacedPlan:
    """The plan in which every operator runs whole, with the kernels that take the least working memory."""
    prepared = search.prepared
    directed = DirectedPlans(prepared.selection(LEAN), prepared.goal, False, prepared.say)
    schedule = directed.scheduler.cheapest(UNLIMITED)
    assert schedule is not None
    return directed._arrange(schedule)


def figures(compiled: Compiled) -> tuple[str, str]:
    """RAM, and the bound with the distance of the arena to it."""
    least = bound(compiled.plan)
    gap = 100 * (compiled.plan.arena / least - 1)
    return f"{compiled.plan.ram:,}", f"{least:,} ({max(gap, 0.0):.1f}%)"


if __name__ == "__main__":
    main()
