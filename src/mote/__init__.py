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

from mote.version import __version__

if TYPE_CHECKING:
    from mote.api.compiler import Compiled, Settings
    from mote.api.explorer import Front, Point, explore
    from mote.api.measure import RunResult, compile, run
    from mote.api.packer import Image, pack
    from mote.api.register import register, register_kernel
    from mote.api.shared import Shared, compile_shared
    from mote.api.shrinker import ShrinkResult, shrink
    from mote.api.verifier import VerifyResult, verify
    from mote.errors import InternalError, MoteError
    from mote.frontends import load
    from mote.profiler import Profile, profile, profile_elf

__all__ = [
    "Compiled",
    "Front",
    "Image",
    "InternalError",
    "MoteError",
    "Point",
    "Profile",
    "RunResult",
    "Settings",
    "Shared",
    "ShrinkResult",
    "VerifyResult",
    "__version__",
    "compile",
    "compile_shared",
    "explore",
    "load",
    "pack",
    "profile",
    "profile_elf",
    "register",
    "register_kernel",
    "run",
    "shrink",
    "verify",
]

_HOMES = {
    "Compiled": "api.compiler",
    "Front": "api.explorer",
    "Image": "api.packer",
    "InternalError": "errors",
    "MoteError": "errors",
    "Point": "api.explorer",
    "Profile": "profiler",
    "RunResult": "api.measure",
    "Settings": "api.compiler",
    "Shared": "api.shared",
    "ShrinkResult": "api.shrinker",
    "VerifyResult": "api.verifier",
    "compile": "api.measure",
    "compile_shared": "api.shared",
    "explore": "api.explorer",
    "load": "frontends",
    "pack": "api.packer",
    "profile": "profiler",
    "profile_elf": "profiler",
    "register": "api.register",
    "register_kernel": "api.register",
    "run": "api.measure",
    "shrink": "api.shrinker",
    "verify": "api.verifier",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for: `import mote` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mote' has no attribute '{name}'")
    return getattr(import_module(f"mote.{_HOMES[name]}"), name)
