"""What a model, or any other program, costs in cycles: `mote profile`.

`trace` says which basic blocks run in which order, `instructions` what is in them, `cycles` how long a core takes for
that, and `costs` puts it together for each layer and each function.
"""

from mote.profiler.costs import FunctionCost, LayerProfile, Profile, profile, profile_elf

__all__ = ["FunctionCost", "LayerProfile", "Profile", "profile", "profile_elf"]
