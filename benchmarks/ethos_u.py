"""Models on an Ethos-U: what stays on the core, cycles, SRAM beside Vela's own, and tensors that equal LiteRT's.

    PYTHONPATH=src:models python benchmarks/ethos_u.py [--models FOLDER] [--target NAME ...] [--inputs N] [--write]

Every .tflite file of FOLDER that has int8 tensors is compiled with `--backend ethos-u` for each target; without FOLDER
these are the bundled models. Inputs and outputs are int8 (`--io int8`). `--write` puts the table into
docs/deploy/ethos-u.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import mote
from generated_table import Page
from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.offload.contract import Offloaded
from mote.compiler.offload.ethos_u.artifact import INVOCATION
from mote.compiler.offload.ethos_u.regions import exported
from mote.compiler.offload.ethos_u.vela import OPTIMISE, NotAcceptedError, compiled, configuration

ROOT = Path(__file__).parents[1]
PAGE = Page(ROOT / "docs" / "deploy" / "ethos-u.md", "<!-- ethos_u.py -->", "<!-- end of ethos_u.py -->")
TARGETS = ("corstone-300", "corstone-300-u65-256", "corstone-320")
VARIANTS = ("fast", "small", "striped", "shared")
HEAD = (
    "| model | Ethos-U | regions | operators on the NPU | on the CPU | NPU cycles | arena, fastest | least | by rows |"
    " Vela's SRAM, Performance | Size | edges equal to LiteRT |\n"
    "|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|"
)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, default=ROOT / "models", help="a folder with .tflite files")
    p.add_argument("--target", action="append", help="a target with an Ethos-U; several may be given")
    p.add_argument("--inputs", type=int, default=3, help="how many inputs are compared (%(default)s)")
    p.add_argument("--write", action="store_true", help="write the page")
    given = p.parse_args()
    rows = []
    for path in sorted(given.models.glob("*.tflite")):
        for target in given.target or TARGETS:
            if (line := row(path, target, given.inputs)) is not None:
                print(line, flush=True)
                rows.append(line)
    if given.write:
        PAGE.path.write_text(PAGE.with_table("\n".join([HEAD, *rows])), encoding="utf-8")


def row(path: Path, target: str, inputs: int) -> str | None:
    """A line of the table; None for a model of which nothing is for the Ethos-U."""
    made = compiled_with(path, target, {})
    regions = offloaded(made)
    if not regions:
        return None
    npu = made.settings.target.npu
    assert npu is not None
    alternatives = (arena_of(path, target, list(regions), variant) for variant in VARIANTS)
    least = min(arena for arena in (made.plan.arena, *alternatives) if arena is not None)
    by_rows = arena_by_rows(path, target, least * 9 // 10)
    core = [op.kind for op, steps in made.plan.works if not isinstance(steps[0].kernel, Offloaded)]
    verified = mote.verify(made, inputs=inputs)
    cells = [
        path.stem,
        npu.core.removeprefix("ethos-"),
        str(len(regions)),
        str(sum(len(steps[0].ops) for _, steps in made.plan.works if isinstance(steps[0].kernel, Offloaded))),
        f"{len(core)}: {', '.join(core)}" if core else "0",
        f"{sum(kernel.artifact.cost - INVOCATION for kernel in regions.values()):,.0f}",
        f"{made.plan.arena:,}",
        f"{least:,}",
        "" if by_rows is None else f"{by_rows:,}",
        *(velas(path, made, goal) for goal in OPTIMISE),
        f"{verified.tensors} of {verified.tensors}" if verified.exact else f"{len(verified.mismatches)} differ",
    ]
    return f"| {' | '.join(cells)} |"


def compiled_with(path: Path, target: str, kernels: Mapping[str, str]) -> Compiled:
    return mote.compile(str(path), target=target, backend="ethos-u", optimize="speed", io="int8", kernels=kernels)


def offloaded(made: Compiled) -> dict[str, Offloaded]:
    """The regions of a plan by the names of their layers."""
    works = ((op.name, steps[0].kernel) for op, steps in made.plan.works)
    return {name: kernel for name, kernel in works if isinstance(kernel, Offloaded)}


def arena_of(path: Path, target: str, layers: Sequence[str], variant: str) -> int | None:
    """Bytes of the arena with a variant of every region; None where one has no such variant."""
    try:
        return compiled_with(path, target, dict.fromkeys(layers, f"ethos-u[variant={variant}]")).plan.arena
    except MoteError:
        return None


def arena_by_rows(path: Path, target: str, budget: int) -> int | None:
    """Bytes of the arena where the input arrives row by row; None where the Ethos-U does not compute it so within the
    budget."""
    try:
        made = mote.compile(
            str(path), target=target, backend="ethos-u", optimize="speed", io="int8", input="rows", ram=budget
        )
    except MoteError:
        return None
    variants = [kernel.artifact.variant for kernel in offloaded(made).values()]
    return made.plan.arena if "rows" in variants else None


def velas(path: Path, made: Compiled, goal: str) -> str:
    """Vela's own figure of SRAM for the file as a whole, or for its largest region where it leaves operators to the
    core."""
    config = configuration(made.settings.target)
    try:
        sram = compiled(path.read_bytes(), config, goal, apart=False).sram
    except NotAcceptedError:
        parts = (op for op, steps in made.plan.works if isinstance(steps[0].kernel, Offloaded))
        files = (exported(op, made.plan.graph).data for op in parts)
        sram = max(compiled(file, config, goal, apart=False).sram for file in files)
    return f"{sram:,}"


if __name__ == "__main__":
    main()
