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
    from mote.api.register import register, register_generator, register_kernel
    from mote.compiler.compiled import Compiled
    from mote.compiler.line import compile
    from mote.compiler.packer import Image, pack
    from mote.compiler.runtime import Runtime, runtime
    from mote.compiler.settings import Settings
    from mote.compiler.several import CompiledModels, compile_several, compile_shared
    from mote.compress.prune.pruner import Pruned, prune
    from mote.compress.shrink import ShrinkResult, shrink
    from mote.data.dataset import Dataset, dataset
    from mote.errors import InternalError, MoteError
    from mote.evaluation.converter import Converted, convert
    from mote.evaluation.evaluator import Evaluation, evaluate, score
    from mote.evaluation.images import LoadedImage, load_image, profile_image, run_image, verify_image
    from mote.evaluation.verify import VerifyResult, verify
    from mote.execute.interpreter import Interpreter
    from mote.frontends import load
    from mote.measure.profiler import Profile, profile, profile_elf
    from mote.measure.run import RunResult, run
    from mote.reporter.report import Report, report
    from mote.search.explorer import Front, Point, explore

__all__ = [
    "Compiled",
    "CompiledModels",
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
    "Report",
    "RunResult",
    "Runtime",
    "Settings",
    "ShrinkResult",
    "VerifyResult",
    "__version__",
    "compile",
    "compile_several",
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
    "register_generator",
    "register_kernel",
    "report",
    "run",
    "run_image",
    "runtime",
    "score",
    "shrink",
    "verify",
    "verify_image",
]

_HOMES = {
    "Compiled": "compiler.compiled",
    "CompiledModels": "compiler.several",
    "Converted": "evaluation.converter",
    "Dataset": "data.dataset",
    "Evaluation": "evaluation.evaluator",
    "Front": "search.explorer",
    "Image": "compiler.packer",
    "InternalError": "errors",
    "Interpreter": "execute.interpreter",
    "LoadedImage": "evaluation.images",
    "MoteError": "errors",
    "Point": "search.explorer",
    "Profile": "measure.profiler",
    "Pruned": "compress.prune.pruner",
    "Report": "reporter.report",
    "RunResult": "measure.run",
    "Runtime": "compiler.runtime",
    "Settings": "compiler.settings",
    "ShrinkResult": "compress.shrink",
    "VerifyResult": "evaluation.verify",
    "compile": "compiler.line",
    "compile_several": "compiler.several",
    "compile_shared": "compiler.several",
    "convert": "evaluation.converter",
    "dataset": "data.dataset",
    "evaluate": "evaluation.evaluator",
    "explore": "search.explorer",
    "load": "frontends",
    "load_image": "evaluation.images",
    "pack": "compiler.packer",
    "profile": "measure.profiler",
    "profile_elf": "measure.profiler",
    "profile_image": "evaluation.images",
    "prune": "compress.prune.pruner",
    "register": "api.register",
    "register_generator": "api.register",
    "register_kernel": "api.register",
    "report": "reporter.report",
    "run": "measure.run",
    "run_image": "evaluation.images",
    "runtime": "compiler.runtime",
    "score": "evaluation.evaluator",
    "shrink": "compress.shrink",
    "verify": "evaluation.verify",
    "verify_image": "evaluation.images",
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
