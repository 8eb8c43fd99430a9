"""Cost of each layer: instructions, cycles, wait states, time and energy, or what the planner estimates."""

from __future__ import annotations

from typing import Any

from mote.bench.measure.energy.layers import MeasuredEnergy
from mote.bench.measure.profiler import Profile
from mote.bench.measure.profiler.result import LayerProfile
from mote.compiler.plan.selection.estimate import layer_costs
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject


def cost(subject: Subject) -> dict[str, Any]:
    """Totals of an inference, and a row of numbers for each layer: cycles, instructions, waits for code and for
    constants, cycles of multiplications, of loads and stores, and of all else. What is not known is None."""
    profile, ran = subject.profile, subject.ran
    measured = _profiled(profile) if profile else {"layers": _estimated(subject), "cycles": subject.compiled.cost}
    return measured | {
        "measured": profile is not None,
        "unit": subject.compiled.costs.unit,
        "instructions": ran.instructions if ran else None,
        "counted": ran.unit if ran else "",
        "reason": subject.reason,
    }


def _profiled(profile: Profile) -> dict[str, Any]:
    energy, measured = profile.energy, profile.measured
    return {
        "layers": [[layer.number, layer.name, *_numbers(layer)] for layer in profile.layers],
        "joules": [layer.microjoules for layer in profile.layers] if energy else None,
        "cycles": profile.cycles,
        "clock_hz": profile.clock_hz,
        "waits": [profile.waits.code, profile.waits.constants],
        "loads_known": profile.loads_known,
        "core": profile.core,
        "timing": profile.timing,
        "rtl": profile.modelled is not None,
        "memory": profile.memory,
        "microjoules": energy.microjoules if energy else None,
        "energy": energy.source if energy else profile.reason,
        "metered": None if measured is None else _metered(measured),
    }


def _metered(measured: MeasuredEnergy) -> dict[str, Any]:
    """Energy by a meter: of an inference, and of layers by their numbers, several where they were not told apart."""
    return {
        "microjoules": measured.microjoules,
        "interval": measured.interval,
        "about": f"{measured.inferences:,} inference(s), {measured.meter} at {measured.sample_hz / 1e3:.4g} kHz",
        "layers": [[list(each.layers), each.microjoules] for each in measured.layers],
    }


def _numbers(layer: LayerProfile) -> list[int | None]:
    mix = [None] * 3 if layer.mix is None else [layer.mix.multiply, layer.mix.memory, layer.mix.other]
    return [layer.cycles, layer.instructions, layer.waits.code, layer.waits.constants, *mix]


def _estimated(subject: Subject) -> list[list[Any]]:
    """The planner's estimate of each layer."""
    plan = subject.compiled.plan
    costs = layer_costs(subject.compiled.costs, plan)
    return [
        [plan.number(steps[0]), op.name, round(cycles), *[None] * 6]
        for (op, steps), cycles in zip(plan.works, costs, strict=True)
    ]


SECTION = Section("cost", "Cost of each layer", each=cost)
