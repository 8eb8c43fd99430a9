"""Costs of a compiled model, checked against limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import code_size
from mote.compiler.line import compile
from mote.compiler.settings import Settings, parsed
from mote.hardware.targets import Target
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts


def compiled_model(model: bytes, settings: Settings, options: Mapping[str, Any]) -> Compiled:
    """Compiles a model with the search's settings and the model's own options."""
    return compile(model, replace(settings, name=settings.name or "model", **parsed(options)))


def costs_of(compiled: Compiled) -> NetworkCosts:
    """Costs of a compiled model; code size is linked if a C compiler is installed, else estimated."""
    flash = code_size(compiled).flash
    return timed(compiled.settings.target, compiled.plan.ram, flash, compiled.cost)


def timed(target: Target, ram: int, flash: int, cycles: int) -> NetworkCosts:
    """Costs with latency and energy derived from cycles, if the target states clock and current."""
    latency = cycles / target.clock_hz if target.clock_hz else None
    energy = target.volts * target.ua_per_mhz * cycles / 1e12 if target.volts and target.ua_per_mhz else None
    return NetworkCosts(ram, flash, cycles, latency, energy)


def limited(costs: NetworkCosts, limits: CostLimits, *, least: bool = False) -> NetworkCosts | DoesNotFit:
    """The costs, or the first limit that they exceed; `least` means that the costs are lower bounds."""
    takes = "takes at least" if least else "takes"
    for name, unit in (("ram", "bytes of RAM"), ("flash", "bytes of flash"), ("cycles", "cycles")):
        cost, limit = getattr(costs, name), getattr(limits, name)
        if limit is not None and cost > limit:
            return DoesNotFit(f"{takes} {cost:,} {unit}, {limit:,} are allowed")
    if limits.latency is not None and costs.latency is not None and costs.latency > limits.latency:
        return DoesNotFit(f"{takes} {costs.latency * 1e3:.4g} ms, {limits.latency * 1e3:.4g} ms are allowed")
    return costs
