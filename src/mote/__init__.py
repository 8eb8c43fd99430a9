"""Mote: a micro-compiler that turns trained networks into small, fast, bit-exact C for microcontrollers.

import mote

compiled = mote.compile("kws.tflite", target="cortex-m4")
compiled.write("build/kws")               # the C project
print(mote.run(compiled).instructions)    # exact, on an emulated core
assert mote.verify(compiled).exact        # every tensor against the reference
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mote.version import __version__

if TYPE_CHECKING:
    from mote.api.agents import AgentProject, agent
    from mote.api.boards import BoardFlashed, BoardInfo, BoardList, board
    from mote.api.deploying import Delta, FlashResult, ImageVerdict, Signing, delta, flash, ota, sign, verify_image
    from mote.api.doors import QuantizeModule, SearchModule, TargetsModule
    from mote.api.generators.checks import GeneratorReport, check_generator
    from mote.api.generators.listing import Backend, backends
    from mote.api.image_dump import ImageDump, dump
    from mote.api.inspection import Inspection, inspect
    from mote.api.listings import CMakeFiles, cmake, ops
    from mote.api.measuring import profile, run, verify
    from mote.api.memory_plan import MemoryPlan, plan
    from mote.api.npu.disassembly import Disassembly, disassemble
    from mote.api.register import register, register_generator, register_kernel, register_step
    from mote.api.tuning import tune
    from mote.compiler.compiled import Compiled
    from mote.compiler.line import compile
    from mote.compiler.packer import Image, pack
    from mote.compiler.runtime import Runtime, runtime
    from mote.compiler.settings import Settings
    from mote.compiler.several import CompiledModels, compile_several, compile_shared
    from mote.compress.mixed_precision.result import Mixed
    from mote.compress.prune.pruner import Pruned, prune
    from mote.compress.quantize.post_training import Quantized
    from mote.compress.shrink import ShrinkResult, shrink
    from mote.data.dataset import Dataset, dataset
    from mote.deploy.update.session import Device, UpdateOutcome
    from mote.errors import InternalError, MoteError
    from mote.evaluation.converter import Converted, convert
    from mote.evaluation.evaluator import Evaluation, evaluate, score
    from mote.evaluation.images import LoadedImage, load_image
    from mote.evaluation.threshold import ThresholdFit, fit_threshold
    from mote.evaluation.verify import VerifyResult
    from mote.execute.interpreter import Interpreter
    from mote.frontends import load
    from mote.measure.energy.fit import EnergyFit, fit_energy
    from mote.measure.energy.meters import read_capture
    from mote.measure.profiler import Profile, profile_elf
    from mote.measure.run import RunResult
    from mote.nas.member import SearchMember
    from mote.nas.result import SearchResult
    from mote.project.builder import BuildResult, build
    from mote.project.checker import check
    from mote.project.result import CheckResult
    from mote.reporter.report import Report, report
    from mote.search.explorer import Front, Point, explore
    from mote.toolchain.doctor import Diagnosis, Finding, doctor
    from mote.tune.calibration.calibrate import Calibration, calibrate_target
    from mote.tune.result import Tuned

    quantize = QuantizeModule()
    search = SearchModule()
    targets = TargetsModule()

__all__ = [
    "AgentProject",
    "Backend",
    "BoardFlashed",
    "BoardInfo",
    "BoardList",
    "BuildResult",
    "CMakeFiles",
    "Calibration",
    "CheckResult",
    "Compiled",
    "CompiledModels",
    "Converted",
    "Dataset",
    "Delta",
    "Device",
    "Diagnosis",
    "Disassembly",
    "EnergyFit",
    "Evaluation",
    "Finding",
    "FlashResult",
    "Front",
    "GeneratorReport",
    "Image",
    "ImageDump",
    "ImageVerdict",
    "Inspection",
    "InternalError",
    "Interpreter",
    "LoadedImage",
    "MemoryPlan",
    "Mixed",
    "MoteError",
    "Point",
    "Profile",
    "Pruned",
    "Quantized",
    "Report",
    "RunResult",
    "Runtime",
    "SearchMember",
    "SearchResult",
    "Settings",
    "ShrinkResult",
    "Signing",
    "ThresholdFit",
    "Tuned",
    "UpdateOutcome",
    "VerifyResult",
    "__version__",
    "agent",
    "backends",
    "board",
    "build",
    "calibrate_target",
    "check",
    "check_generator",
    "cmake",
    "compile",
    "compile_several",
    "compile_shared",
    "convert",
    "dataset",
    "delta",
    "disassemble",
    "doctor",
    "dump",
    "evaluate",
    "explore",
    "fit_energy",
    "fit_threshold",
    "flash",
    "inspect",
    "load",
    "load_image",
    "ops",
    "ota",
    "pack",
    "plan",
    "profile",
    "profile_elf",
    "prune",
    "quantize",
    "read_capture",
    "register",
    "register_generator",
    "register_kernel",
    "register_step",
    "report",
    "run",
    "runtime",
    "score",
    "search",
    "shrink",
    "sign",
    "targets",
    "tune",
    "verify",
    "verify_image",
]

_HOMES = {
    "AgentProject": "api.agents",
    "Backend": "api.generators.listing",
    "BoardFlashed": "api.boards",
    "BoardInfo": "api.boards",
    "BoardList": "api.boards",
    "BuildResult": "project.builder",
    "Calibration": "tune.calibration.calibrate",
    "CheckResult": "project.result",
    "CMakeFiles": "api.listings",
    "Compiled": "compiler.compiled",
    "CompiledModels": "compiler.several",
    "Converted": "evaluation.converter",
    "Dataset": "data.dataset",
    "Delta": "api.deploying",
    "Device": "deploy.update.session",
    "Diagnosis": "toolchain.doctor",
    "Disassembly": "api.npu.disassembly",
    "EnergyFit": "measure.energy.fit",
    "Evaluation": "evaluation.evaluator",
    "Finding": "toolchain.doctor",
    "FlashResult": "api.deploying",
    "Front": "search.explorer",
    "GeneratorReport": "api.generators.checks",
    "Image": "compiler.packer",
    "ImageDump": "api.image_dump",
    "ImageVerdict": "api.deploying",
    "Inspection": "api.inspection",
    "InternalError": "errors",
    "Interpreter": "execute.interpreter",
    "LoadedImage": "evaluation.images",
    "MemoryPlan": "api.memory_plan",
    "Mixed": "compress.mixed_precision.result",
    "MoteError": "errors",
    "Point": "search.explorer",
    "Profile": "measure.profiler",
    "Pruned": "compress.prune.pruner",
    "Quantized": "compress.quantize.post_training",
    "Report": "reporter.report",
    "RunResult": "measure.run",
    "Runtime": "compiler.runtime",
    "SearchMember": "nas.member",
    "SearchResult": "nas.result",
    "Settings": "compiler.settings",
    "ShrinkResult": "compress.shrink",
    "Signing": "api.deploying",
    "ThresholdFit": "evaluation.threshold",
    "Tuned": "tune.result",
    "UpdateOutcome": "deploy.update.session",
    "VerifyResult": "evaluation.verify",
    "agent": "api.agents",
    "backends": "api.generators.listing",
    "board": "api.boards",
    "build": "project.builder",
    "calibrate_target": "tune.calibration.calibrate",
    "check": "project.checker",
    "check_generator": "api.generators.checks",
    "cmake": "api.listings",
    "compile": "compiler.line",
    "compile_several": "compiler.several",
    "compile_shared": "compiler.several",
    "convert": "evaluation.converter",
    "dataset": "data.dataset",
    "delta": "api.deploying",
    "disassemble": "api.npu.disassembly",
    "doctor": "toolchain.doctor",
    "dump": "api.image_dump",
    "evaluate": "evaluation.evaluator",
    "explore": "search.explorer",
    "fit_energy": "measure.energy.fit",
    "fit_threshold": "evaluation.threshold",
    "flash": "api.deploying",
    "inspect": "api.inspection",
    "load": "frontends",
    "load_image": "evaluation.images",
    "ota": "api.deploying",
    "pack": "compiler.packer",
    "profile": "api.measuring",
    "profile_elf": "measure.profiler",
    "prune": "compress.prune.pruner",
    "read_capture": "measure.energy.meters",
    "register": "api.register",
    "register_generator": "api.register",
    "register_kernel": "api.register",
    "register_step": "api.register",
    "report": "reporter.report",
    "run": "api.measuring",
    "runtime": "compiler.runtime",
    "score": "evaluation.evaluator",
    "shrink": "compress.shrink",
    "sign": "api.deploying",
    "verify": "api.measuring",
    "verify_image": "api.deploying",
}
_CALLED = {
    "ops": "api.listings:ops",
    "plan": "api.memory_plan:plan",
    "quantize": "compress.quantize.post_training:post_training",
    "search": "nas.searcher:search",
    "targets": "api.listings:targets",
    "tune": "api.tuning:tune",
}
"""Functions that have the name of a module: `mote.plan(model)` calls one, `mote.plan.planner` is in the other."""


class _Callable(ModuleType):
    """A module whose call is a function of another module."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__wrapped__(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function, which `inspect.signature` and `help` show."""
        home, _, name = _CALLED[self.__name__.removeprefix("mote.")].partition(":")
        return getattr(import_module(f"mote.{home}"), name)


class _Package(ModuleType):
    """The package `mote`. Importing one of its modules binds the module to its name here: where a function has the same
    name, the module is made one that can be called."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CALLED and isinstance(value, ModuleType):
            value.__class__ = _Callable
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for: `import mote` stays fast."""
    if name in _CALLED:
        return import_module(f"mote.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mote' has no attribute '{name}'")
    return getattr(import_module(f"mote.{_HOMES[name]}"), name)
