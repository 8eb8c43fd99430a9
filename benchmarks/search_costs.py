"""Candidates a second and core that a search can cost, and how near quick estimates are to plans.

    PYTHONPATH=models python benchmarks/search_costs.py                       # three spaces on a Cortex-M4
    PYTHONPATH=models python benchmarks/search_costs.py mobile --ram 64 --count 200 --exact 10

Random networks of a space are bounded, estimated and, some of them, planned. Times are CPU times of one process that
has seen no network before.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from random import Random
from time import process_time

from mote.compiler.settings import make_settings
from mote.nas.costs.network_costs import CostLimits, NetworkCosts
from mote.nas.costs.pricer import Pricer
from mote.nas.spaces.layers import Shape
from mote.nas.spaces.space_file import builtin

TASKS: dict[str, tuple[Shape, int, int]] = {
    "ds-cnn": ((49, 10, 1), 12, 24),
    "mobile": ((64, 64, 3), 2, 64),
    "residual": ((32, 32, 3), 10, 64),
}
"""The input, the classes and the budget of RAM in KiB that a space is tried with."""


@dataclass
class CostingSpeed:
    """How fast networks of a space are costed, and how near the estimates are."""

    bounded: float
    """Seconds of a network's bounds."""
    estimated: float
    """Seconds of the verdict on a network by its bound or its estimate."""
    rejected: int
    """Networks that a bound or an estimate rejects."""
    planned: float
    """Seconds of an exact plan."""
    nearest: tuple[float, float]
    """The least and the most of estimated by planned cycles."""


def speed(name: str, ram: int, count: int, exact: int, target: str = "cortex-m4", flash: int = 512) -> CostingSpeed:
    """Costs random networks of a built-in space."""
    given, classes, _ = TASKS.get(name, ((32, 32, 3), 10, 64))
    space, rng = builtin(name), Random(1)
    networks = [space.network(space.random(rng), given, classes) for _ in range(count)]
    pricer = Pricer(make_settings(target=target), CostLimits(ram=ram << 10, flash=flash << 10))
    start = process_time()
    for network in networks:
        pricer.bound(network)
    bounded = process_time() - start
    start = process_time()
    verdicts = [pricer.estimate(network) for network in networks]
    estimated = process_time() - start
    kept = [n for n, verdict in zip(networks, verdicts, strict=True) if isinstance(verdict, NetworkCosts)][:exact]
    start = process_time()
    plans = [pricer.costs(network) for network in kept]
    planned = process_time() - start
    ratios = [
        quick.cycles / costs.cycles
        for network, costs in zip(kept, plans, strict=True)
        if isinstance(costs, NetworkCosts) and isinstance(quick := pricer.estimate(network), NetworkCosts)
    ]
    rejected = sum(not isinstance(verdict, NetworkCosts) for verdict in verdicts)
    nearest = min(ratios, default=1.0), max(ratios, default=1.0)
    return CostingSpeed(bounded / count, estimated / count, rejected, planned / max(len(kept), 1), nearest)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("spaces", nargs="*", default=list(TASKS), help="built-in spaces")
    p.add_argument("--target", default="cortex-m4")
    p.add_argument("--ram", type=int, help="budget in KiB")
    p.add_argument("--count", type=int, default=200, help="networks to estimate")
    p.add_argument("--exact", type=int, default=10, help="networks to plan")
    options = p.parse_args()
    for name in options.spaces:
        ram = options.ram or TASKS.get(name, ((), 0, 64))[2]
        s = speed(name, ram, options.count, options.exact, options.target)
        print(
            f"{name}: bound {1e3 * s.bounded:.2f} ms, estimate {1 / s.estimated:.1f} a second"
            f" ({s.rejected} of {options.count} rejected), plan {1 / max(s.planned, 1e-9):.2f} a second,"
            f" estimated cycles {s.nearest[0]:.3f} to {s.nearest[1]:.3f} of the planned ones"
        )


if __name__ == "__main__":
    main()
