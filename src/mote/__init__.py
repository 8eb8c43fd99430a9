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
    from mote.api.converter import Converted, convert
    from mote.api.evaluator import Evaluation, evaluate, score
    from mote.api.explorer import Front, Point, explore
    from mote.api.images import LoadedImage, load_image, profile_image, run_image, verify_image
    from mote.api.interpreter import Interpreter
    from mote.api.measure import RunResult, compile, run
    from mote.api.packer import Image, pack
    from mote.api.pruner import Pruned, prune
    from mote.api.register import register, register_kernel
    from mote.api.runtime import Runtime, runtime
    from mote.api.shared import Shared, compile_shared
    from mote.api.shrinker import ShrinkResult, shrink
    from mote.api.verifier import VerifyResult, verify
    from mote.data.dataset import Dataset, dataset
    from mote.errors import InternalError, MoteError
    from mote.frontends import load
    from mote.profiler import Profile, profile, profile_elf

__all__ = [
    "Compiled",
    "Converted",
    "Dataset",
    "Evaluation",
    "Front",
    "Image",
    "InternalError",
    "Interpreter",
    "LoadedImage",
    "MoteError",
    "Point",
    "Profile",
    "Pruned",
    "RunResult",
    "Runtime",
    "Settings",
    "Shared",
    "ShrinkResult",
    "VerifyResult",
    "__version__",
    "compile",
    "compile_shared",
    "convert",
    "dataset",
    "evaluate",
    "explore",
    "load",
    "load_image",
    "pack",
    "profile",
    "profile_elf",
    "profile_image",
    "prune",
    "register",
    "register_kernel",
    "run",
    "run_image",
    "runtime",
    "score",
    "shrink",
    "verify",
    "verify_image",
]

_HOMES = {
    "Compiled": "api.compiler",
    "Converted": "api.converter",
    "Dataset": "data.dataset",
    "Evaluation": "api.evaluator",
    "Front": "api.explorer",
    "Image": "api.packer",
    "InternalError": "errors",
    "Interpreter": "api.interpreter",
    "LoadedImage": "api.images",
    "MoteError": "errors",
    "Point": "api.explorer",
    "Profile": "profiler",
    "Pruned": "api.pruner",
    "RunResult": "api.measure",
    "Runtime": "api.runtime",
    "Settings": "api.compiler",
    "Shared": "api.shared",
    "ShrinkResult": "api.shrinker",
    "VerifyResult": "api.verifier",
    "compile": "api.measure",
    "compile_shared": "api.shared",
    "convert": "api.converter",
    "dataset": "data.dataset",
    "evaluate": "api.evaluator",
    "explore": "api.explorer",
    "load": "frontends",
    "load_image": "api.images",
    "pack": "api.packer",
    "profile": "profiler",
    "profile_elf": "profiler",
    "profile_image": "api.images",
    "prune": "api.pruner",
    "register": "api.register",
    "register_kernel": "api.register",
    "run": "api.measure",
    "run_image": "api.images",
    "runtime": "api.runtime",
    "score": "api.evaluator",
    "shrink": "api.shrinker",
    "verify": "api.verifier",
    "verify_image": "api.images",
}


_ROOMS = ("quantize",)
"""Packages with functions of their own for users: `mote.quantize.post_training`."""


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for: `import mote` stays fast."""
    if name in _ROOMS:
        return import_module(f"mote.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mote' has no attribute '{name}'")
    return getattr(import_module(f"mote.{_HOMES[name]}"), name)
