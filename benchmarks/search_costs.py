"""Candidates a second and core that a search can cost, and how near quick estimates are to plans.

    PYTHONPATH=models python benchmarks/search_costs.py                       # four spaces on a Cortex-M4
    PYTHONPATH=models python benchmarks/search_costs.py mobile --ram 64 --count 200 --exact 10

Half of the networks of a space are random, half are mutated from one of these: a stream as a search has it. They are
bounded, estimated and, some of them, planned. Times are CPU times of one process that has seen no network before.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from time import process_time

from mote.compiler.settings import make_settings
from mote.optimize.nas.costs.network_costs import CostLimits, NetworkCosts
from mote.optimize.nas.costs.pricer import Pricer
from mote.optimize.nas.spaces.layers import Shape
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.spaces.space_file import builtin

TASKS: dict[str, tuple[Shape, int, int]] = {
    "ds-cnn": ((49, 10, 1), 12, 24),
    "mobile": ((32, 32, 3), 10, 32),
    "residual": ((32, 32, 3), 10, 64),
    "separable": ((32, 32, 3), 10, 32),
}
"""The input, the classes and the budget of RAM in KiB that a space is tried with."""


@dataclass
class CostingSpeed:
    """How fast networks of a space are costed, and how near the estimates are."""

    bounded: float
    """Seconds of a network's bounds."""
    estimated: float
    """Seconds of the verdict on a network by its bound or its estimate."""
    known: float
    """The same for the second half of the networks."""
    rejected: int
    """Networks that a bound or an estimate rejects."""
    planned: float
    """Seconds of an exact plan."""
    ratios: Sequence[tuple[float, float, float]]
    """Estimated by planned RAM, flash and cycles."""


def stream(name: str, count: int) -> list[Network]:
    """Networks of a space: random ones, and as many mutated ones."""
    given, classes, _ = TASKS.get(name, ((32, 32, 3), 10, 64))
    space, rng = builtin(name), Random(1)
    choices = [space.random(rng) for _ in range(count - count // 2)]
    mutated = [space.mutated(rng.choice(choices), rng) for _ in range(count // 2)]
    networks = [space.network(choice, given, classes) for choice in (*choices, *mutated)]
    return [replace(network, preprocess="") for network in networks]


def speed(name: str, limits: CostLimits, count: int, exact: int, target: str = "cortex-m4") -> CostingSpeed:
    """Costs networks of a built-in space."""
    networks = stream(name, count)
    pricer = Pricer(make_settings(target=target), limits)
    start = process_time()
    for network in networks:
        pricer.bound(network)
    bounded = process_time() - start
    verdicts, times = [], [process_time()]
    for network in networks:
        verdicts.append(pricer.estimate(network))
        times.append(process_time())
    half = (count + 1) // 2
    kept = [n for n, verdict in zip(networks, verdicts, strict=True) if isinstance(verdict, NetworkCosts)]
    kept = kept[:: max(len(kept) // max(exact, 1), 1)][:exact]
    start = process_time()
    plans = [pricer.costs(network) for network in kept]
    planned = process_time() - start
    ratios = [
        (quick.ram / costs.ram, quick.flash / costs.flash, quick.cycles / costs.cycles)
        for network, costs in zip(kept, plans, strict=True)
        if isinstance(costs, NetworkCosts) and isinstance(quick := pricer.estimate(network), NetworkCosts)
    ]
    rejected = sum(not isinstance(verdict, NetworkCosts) for verdict in verdicts)
    return CostingSpeed(
        bounded / count,
        (times[-1] - times[0]) / count,
        (times[-1] - times[half]) / max(count - half, 1),
        rejected,
        planned / max(len(kept), 1),
        ratios,
    )


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("spaces", nargs="*", default=list(TASKS), help="built-in spaces")
    p.add_argument("--target", default="cortex-m4")
    p.add_argument("--ram", type=int, help="budget in KiB")
    p.add_argument("--flash", type=int, default=512, help="budget in KiB")
    p.add_argument("--count", type=int, default=400, help="networks to estimate")
    p.add_argument("--exact", type=int, default=10, help="networks to plan")
    options = p.parse_args()
    for name in options.spaces:
        ram = options.ram or TASKS.get(name, ((), 0, 64))[2]
        limits = CostLimits(ram=ram << 10, flash=options.flash << 10)
        s = speed(name, limits, options.count, options.exact, options.target)
        print(
            f"{name}: bound {1e3 * s.bounded:.2f} ms, estimate {1 / s.estimated:.1f} a second,"
            f" {1 / s.known:.1f} in the second half ({s.rejected} of {options.count} rejected),"
            f" plan {1 / max(s.planned, 1e-9):.2f} a second"
        )
        for what, values in zip(("RAM", "flash", "cycles"), zip(*s.ratios, strict=True), strict=False):
            print(f"    estimated {what} {min(values):.3f} to {max(values):.3f} of the planned one")


if __name__ == "__main__":
    main()
