"""What a model, or any other program, costs in cycles: `mote profile`.

`trace` says which basic blocks run in which order, `instructions` what is in them, `cycles` how long a core takes for
that, `waits` what slow memory adds, and `costs` puts it together for each layer and each function.
"""

from mote.measure.profiler.costs import Cost, FunctionCost, LayerProfile, Profile, Slow, profile, profile_elf, steps

__all__ = ["Cost", "FunctionCost", "LayerProfile", "Profile", "Slow", "profile", "profile_elf", "steps"]
