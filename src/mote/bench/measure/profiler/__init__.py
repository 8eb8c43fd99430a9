"""`mote profile`: cycles of a model or any other program.

`trace` records executed basic blocks, `instructions` decodes them, the core's cycle model times them, `waits` simulates
memory wait states, `traced` sums up functions and steps, and `costs` builds the `result`."""

from mote.bench.measure.profiler.costs import profile, profile_elf, steps
from mote.bench.measure.profiler.measured import BoardMeasurement, percent
from mote.bench.measure.profiler.result import FunctionCost, LayerProfile, Profile, Slow
from mote.bench.measure.profiler.traced import Cost

__all__ = [
    "BoardMeasurement",
    "Cost",
    "FunctionCost",
    "LayerProfile",
    "Profile",
    "Slow",
    "percent",
    "profile",
    "profile_elf",
    "steps",
]
