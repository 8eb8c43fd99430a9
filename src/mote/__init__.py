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
    from mote.base.errors import InternalError, MoteError
    from mote.bench.doctor import Diagnosis, Finding, doctor
    from mote.bench.evaluation.converter import Converted, convert
    from mote.bench.evaluation.evaluator import Evaluation, evaluate, score
    from mote.bench.evaluation.images import LoadedImage, load_image
    from mote.bench.evaluation.threshold import ThresholdFit, fit_threshold
    from mote.bench.evaluation.verify import VerifyResult
    from mote.bench.execute.interpreter import Interpreter
    from mote.bench.generators.checks import GeneratorReport, check_generator
    from mote.bench.measure.energy.fit import EnergyFit, fit_energy
    from mote.bench.measure.energy.meters import read_capture
    from mote.bench.measure.profiler import Profile, profile_elf
    from mote.bench.measure.run import RunResult
    from mote.bench.measuring import profile, run
    from mote.bench.memory_plan import MemoryPlan, plan
    from mote.bench.verifying import verify
    from mote.compiler.compiled import Compiled
    from mote.compiler.kept import compile
    from mote.compiler.offload.ethos_u.disassemble import Disassembly, disassemble
    from mote.compiler.packer import Image, pack
    from mote.compiler.settings import Settings
    from mote.compiler.several import CompiledModels, compile_several, compile_shared
    from mote.deploy.agents import AgentProject, agent
    from mote.deploy.board import BoardFlashed, BoardInfo, BoardList, board
    from mote.deploy.delivery import Delta, FlashResult, ImageVerdict, Signing, delta, flash, ota, sign, verify_image
    from mote.deploy.image_dump import ImageDump, dump
    from mote.deploy.runtime import Runtime, runtime
    from mote.deploy.update.session import Device, UpdateOutcome
    from mote.frontends import load
    from mote.frontends.data.dataset import Dataset, dataset
    from mote.frontends.inspection import Inspection, inspect
    from mote.optimize.compress.mixed_precision.result import Mixed
    from mote.optimize.compress.prune.pruner import Pruned, prune
    from mote.optimize.compress.quantize.post_training import Quantized
    from mote.optimize.compress.shrink import ShrinkResult, shrink
    from mote.optimize.nas.member import SearchMember
    from mote.optimize.nas.result import SearchResult
    from mote.optimize.search.explorer import Front, Point, explore
    from mote.optimize.tune.calibration.calibrate import Calibration, calibrate_target
    from mote.optimize.tune.result import Tuned
    from mote.optimize.tune.tune import tune
    from mote.ui.api.backends import Backend, backends
    from mote.ui.api.doors import QuantizeModule, SearchModule, TargetsModule
    from mote.ui.api.listings import CMakeFiles, cmake, ops
    from mote.ui.api.register import register, register_generator, register_kernel, register_step
    from mote.ui.project.builder import BuildResult, build
    from mote.ui.project.checker import check
    from mote.ui.project.result import CheckResult
    from mote.ui.reporter.report import Report, report

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
    "AgentProject": "deploy.agents",
    "Backend": "ui.api.backends",
    "BoardFlashed": "deploy.board",
    "BoardInfo": "deploy.board",
    "BoardList": "deploy.board",
    "BuildResult": "ui.project.builder",
    "Calibration": "optimize.tune.calibration.calibrate",
    "CheckResult": "ui.project.result",
    "CMakeFiles": "ui.api.listings",
    "Compiled": "compiler.compiled",
    "CompiledModels": "compiler.several",
    "Converted": "bench.evaluation.converter",
    "Dataset": "frontends.data.dataset",
    "Delta": "deploy.delivery",
    "Device": "deploy.update.session",
    "Diagnosis": "bench.doctor",
    "Disassembly": "compiler.offload.ethos_u.disassemble",
    "EnergyFit": "bench.measure.energy.fit",
    "Evaluation": "bench.evaluation.evaluator",
    "Finding": "bench.doctor",
    "FlashResult": "deploy.delivery",
    "Front": "optimize.search.explorer",
    "GeneratorReport": "bench.generators.checks",
    "Image": "compiler.packer",
    "ImageDump": "deploy.image_dump",
    "ImageVerdict": "deploy.delivery",
    "Inspection": "frontends.inspection",
    "InternalError": "base.errors",
    "Interpreter": "bench.execute.interpreter",
    "LoadedImage": "bench.evaluation.images",
    "MemoryPlan": "bench.memory_plan",
    "Mixed": "optimize.compress.mixed_precision.result",
    "MoteError": "base.errors",
    "Point": "optimize.search.explorer",
    "Profile": "bench.measure.profiler",
    "Pruned": "optimize.compress.prune.pruner",
    "Quantized": "optimize.compress.quantize.post_training",
    "Report": "ui.reporter.report",
    "RunResult": "bench.measure.run",
    "Runtime": "deploy.runtime",
    "SearchMember": "optimize.nas.member",
    "SearchResult": "optimize.nas.result",
    "Settings": "compiler.settings",
    "ShrinkResult": "optimize.compress.shrink",
    "Signing": "deploy.delivery",
    "ThresholdFit": "bench.evaluation.threshold",
    "Tuned": "optimize.tune.result",
    "UpdateOutcome": "deploy.update.session",
    "VerifyResult": "bench.evaluation.verify",
    "agent": "deploy.agents",
    "backends": "ui.api.backends",
    "board": "deploy.board",
    "build": "ui.project.builder",
    "calibrate_target": "optimize.tune.calibration.calibrate",
    "check": "ui.project.checker",
    "check_generator": "bench.generators.checks",
    "cmake": "ui.api.listings",
    "compile": "compiler.kept",
    "compile_several": "compiler.several",
    "compile_shared": "compiler.several",
    "convert": "bench.evaluation.converter",
    "dataset": "frontends.data.dataset",
    "delta": "deploy.delivery",
    "disassemble": "compiler.offload.ethos_u.disassemble",
    "doctor": "bench.doctor",
    "dump": "deploy.image_dump",
    "evaluate": "bench.evaluation.evaluator",
    "explore": "optimize.search.explorer",
    "fit_energy": "bench.measure.energy.fit",
    "fit_threshold": "bench.evaluation.threshold",
    "flash": "deploy.delivery",
    "inspect": "frontends.inspection",
    "load": "frontends",
    "load_image": "bench.evaluation.images",
    "ops": "ui.api.listings",
    "ota": "deploy.delivery",
    "pack": "compiler.packer",
    "plan": "bench.memory_plan",
    "profile": "bench.measuring",
    "profile_elf": "bench.measure.profiler",
    "prune": "optimize.compress.prune.pruner",
    "read_capture": "bench.measure.energy.meters",
    "register": "ui.api.register",
    "register_generator": "ui.api.register",
    "register_kernel": "ui.api.register",
    "register_step": "ui.api.register",
    "report": "ui.reporter.report",
    "run": "bench.measuring",
    "runtime": "deploy.runtime",
    "score": "bench.evaluation.evaluator",
    "shrink": "optimize.compress.shrink",
    "sign": "deploy.delivery",
    "tune": "optimize.tune.tune",
    "verify": "bench.verifying",
    "verify_image": "deploy.delivery",
}
_CALLED = {
    "quantize": "optimize.compress.quantize.post_training:post_training",
    "search": "optimize.nas.searcher:search",
    "targets": "ui.api.listings:targets",
}
"""Modules whose call is a function: `mote.quantize(model, data)` beside `mote.quantize.mix`."""


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
