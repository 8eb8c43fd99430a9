"""Cycles that `mote tune` saves against `--optimize speed`, on parts with wait states and on cores without.

    python benchmarks/tuning.py [--models FOLDER] [--only KWS ...] [--targets stm32l4r5 ...] [--minutes N]
        [--more-ram BYTES] [--costs FILE] [--pins FOLDER]

FOLDER holds the published models (MLPerf Tiny and MCUNet); without it, architectures of the same shapes with random
weights stand in. Each model is tuned for each target, its pins are compiled anew and profiled, and every tensor is
verified. `--more-ram` limits what code and constants in RAM may take; without it that is all that the part has.
`--costs` keeps measured costs of layers, `--pins` the files of pins. All models on all targets take hours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory

from anchors import load
from mote import compile, profile, tune, verify

TARGETS = ("stm32l4r5", "stm32h743", "stm32u575", "rp2040", "stm32g0b1", "cortex-m0plus", "rv32imc")
ALL_RAM = 1 << 30
"""A budget that no part has: all of its RAM may be taken."""


@dataclass(frozen=True)
class Row:
    """A model on a target: cycles of an inference with waits, and bytes of RAM."""

    before: int
    after: int
    ram_before: int
    ram_after: int
    minutes: float
    exact: bool

    @property
    def ratio(self) -> float:
        return self.after / self.before


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--only", nargs="+", metavar="MODEL", help="some of the models")
    p.add_argument("--targets", nargs="+", default=TARGETS, metavar="TARGET", help="some of the targets")
    p.add_argument("--minutes", type=float, default=20.0, help="time for one model on one target")
    p.add_argument("--workers", type=int, default=0, help="worker processes")
    p.add_argument("--more-ram", type=int, metavar="BYTES", help="RAM that tuning may take beside that of the plan")
    p.add_argument("--costs", type=Path, help="database of costs")
    p.add_argument("--pins", type=Path, help="folder for the files of pins")
    arguments = p.parse_args()
    with TemporaryDirectory() as folder:
        pins = arguments.pins or Path(folder)
        pins.mkdir(parents=True, exist_ok=True)
        rows = {}
        for anchor in load():
            if anchor.name in (arguments.only or [anchor.name]):
                model = anchor.model(arguments.models)
                for target in arguments.targets:
                    rows[anchor.name, target] = tuned(model, target, pins / f"{anchor.name}-{target}.toml", arguments)
                    print(line(anchor.name, target, rows[anchor.name, target]), flush=True)
    print(table(rows, arguments.targets))


def tuned(model: Path | bytes, target: str, pins: Path, arguments: argparse.Namespace) -> Row:
    """Tunes a model, and profiles what is compiled with its pins."""
    before = compile(model, target=target, optimize="speed")
    ram = ALL_RAM if arguments.more_ram is None else before.plan.ram + arguments.more_ram
    began = time.monotonic()
    result = tune(
        model, target=target, ram=ram, minutes=arguments.minutes, workers=arguments.workers, costs=arguments.costs
    )
    minutes = (time.monotonic() - began) / 60
    result.write(pins)
    after = compile(model, target=target, pins=pins)
    cycles = [profile(compiled, layers=False).cycles for compiled in (before, after)]
    exact = verify(after, 4).passed
    return Row(*cycles, result.ram_before, result.ram_after, minutes, exact)


def line(model: str, target: str, row: Row) -> str:
    change = f"{100 * (row.ratio - 1):+.1f}%"
    verdict = "exact" if row.exact else "NOT EXACT"
    sizes = f"RAM {row.ram_before:,} -> {row.ram_after:,}"
    return f"{model} {target}: {row.before:,} -> {row.after:,} ({change}), {sizes}, {row.minutes:.1f} min, {verdict}"


def table(rows: Mapping[tuple[str, str], Row], targets: tuple[str, ...]) -> str:
    """The changes of cycles as Markdown, with geometric means."""
    models = list(dict.fromkeys(model for model, _ in rows))
    lines = [f"| target | {' | '.join(models)} | mean |", f"|---|{'---:|' * (len(models) + 1)}"]
    for target in targets:
        ratios = [rows[model, target].ratio for model in models if (model, target) in rows]
        mean = exp(sum(map(log, ratios)) / len(ratios))
        cells = [f"{100 * (ratio - 1):+.1f}%" for ratio in (*ratios, mean)]
        lines.append(f"| {target} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
