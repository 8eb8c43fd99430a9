"""Mote: a micro-compiler that turns trained networks into small, fast, bit-exact C for microcontrollers.

import mote

compiled = mote.compile("kws.tflite", target="cortex-m4")
compiled.write("build/kws")               # the C project
print(mote.run(compiled).instructions)    # exact, on an emulated core
assert mote.verify(compiled).exact        # every tensor against the reference
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mote.compiler import Compiled, Settings, compile, load
    from mote.errors import MoteError
    from mote.explorer import Front, Point, explore
    from mote.measure import RunResult, run
    from mote.profiler import Profile, profile, profile_elf
    from mote.shared import Shared, compile_shared
    from mote.shrinker import ShrinkResult, shrink
    from mote.verifier import VerifyResult, verify

__version__ = "0.1.0"
__all__ = [
    "Compiled",
    "Front",
    "MoteError",
    "Point",
    "Profile",
    "RunResult",
    "Settings",
    "Shared",
    "ShrinkResult",
    "VerifyResult",
    "compile",
    "compile_shared",
    "explore",
    "load",
    "profile",
    "profile_elf",
    "run",
    "shrink",
    "verify",
]

_HOMES = {
    "Compiled": "compiler",
    "Front": "explorer",
    "MoteError": "errors",
    "Point": "explorer",
    "Profile": "profiler",
    "RunResult": "measure",
    "Settings": "compiler",
    "Shared": "shared",
    "ShrinkResult": "shrinker",
    "VerifyResult": "verifier",
    "compile": "compiler",
    "compile_shared": "shared",
    "explore": "explorer",
    "load": "compiler",
    "profile": "profiler",
    "profile_elf": "profiler",
    "run": "measure",
    "shrink": "shrinker",
    "verify": "verifier",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for: `import mote` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mote' has no attribute '{name}'")
    return getattr(import_module(f"mote.{_HOMES[name]}"), name)
