"""`mote profile`: cycles of a model or any other program.

`trace` records the executed basic blocks, `instructions` decodes them, the core's cycle model times them, `waits`
simulates memory wait states, and `costs` adds it up for each layer and function.
"""

from mote.measure.profiler.costs import Cost, FunctionCost, LayerProfile, Profile, Slow, profile, profile_elf, steps
from mote.measure.profiler.measured import BoardMeasurement, percent

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
