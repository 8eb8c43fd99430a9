"""`mote compile`: a model file in, a folder of C out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mote.base.deferred import deferred
from mote.bench.pictures.memory import traffic_lines
from mote.compiler import line
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.model.weights import learned
from mote.compiler.emit.c.options import CONSTANTS, STEP_INPUTS, STEP_MARGIN
from mote.compiler.emit.c.programs.example import EXAMPLE
from mote.compiler.fitting.code_size import CodeSize
from mote.compiler.package.adapters import COMPILED_NAMES
from mote.compiler.package.adapters.compiled_model import check_adapter
from mote.compiler.package.adapters.sources import SOURCE_NAMES, source_files
from mote.compiler.package.description import metadata
from mote.compiler.package.packagers import check_binaries, chosen_packagers, write_packages
from mote.compiler.passes.training.spec import Learner
from mote.compiler.plan.plan import Plan, SplitKernel
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings
from mote.compiler.several import CompiledModels, JointCode, Running, check_several_code, compile_several
from mote.compiler.training.checkpointing import chosen_layers
from mote.deploy.firmware.artifacts import check_artifacts
from mote.ir.ops.common import BIAS
from mote.ui.cli.common import bold, print_json, progress, show
from mote.ui.cli.depfile import add_depfile, write_depfile
from mote.ui.cli.options.compiling import add_compile_options, add_option, add_package, settings
from mote.ui.cli.outputs import add_output, build_artifacts, describe_artifacts, folder_of, print_artifacts
from mote.ui.project.making import BuildRecipe, ModelAdapter, adapter_of, make

if TYPE_CHECKING:
    from mote.compiler.passes.training import choice, recompute
    from mote.compiler.training import with_training
else:
    choice, recompute = map(
        deferred, ("mote.compiler.passes.training.choice", "mote.compiler.passes.training.recompute")
    )
    with_training = deferred("mote.compiler.training.with_training")


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, count="+", calibrated=True)
    add_output(p)
    add_package(p)
    add_depfile(p)
    p.add_argument(
        "--adapter",
        default="",
        choices=COMPILED_NAMES,
        help="add what runs the model in a firmware: in a thread with a queue (cmsis-rtos2, freertos, zephyr), or in"
        " turns of a main loop (bare-metal)",
    )
    p.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="SOURCE",
        help=f"add what samples come from in a firmware: a driver ({', '.join(SOURCE_NAMES)}), a WAV file, or a file of"
        " a camera's lines as FILE:BYTES_OF_A_LINE; repeatable (docs/deploy/sensors.md)",
    )
    add_option(p, "labels", action="store")
    p.add_argument(
        "--force",
        action="store_true",
        help="overwrite files in the folder that Mote did not write, or that were changed since, and list them",
    )
    p.add_argument(
        "--shared-arena",
        action="store_true",
        help="several models never run at the same time, and share one tensor arena; without it, each has its own",
    )
    p.add_argument(
        "--run-together",
        action="store_true",
        help="several models get the same input and all run on it, one after another in one tensor arena: wake words"
        " that all listen at once",
    )


def run(arguments: argparse.Namespace) -> int:
    folder = folder_of(arguments)
    wanted = settings(arguments)
    if arguments.shared_arena or arguments.run_together or len(arguments.model) > 1:
        return _run_several(arguments, wanted)
    recipe = BuildRecipe(
        wanted,
        folder,
        binaries=arguments.binaries,
        package=tuple(arguments.package),
        metadata=tuple(arguments.metadata),
        adapter=arguments.adapter,
        source=tuple(arguments.source),
        force=arguments.force,
    )
    with progress("compiling") as say:
        made = make(arguments.model[0], recipe, say)
    compiled, code = made.compiled, made.code
    lost = made.write(recipe)
    if arguments.depfile:
        write_depfile(arguments.depfile, Path(folder, compiled.project.sources[0]), arguments.files_read)
    if arguments.json:
        about_all = describe(compiled, folder, code) | describe_artifacts(made.artifacts) | _adapter_json(made.adapter)
        print_json(about_all | {"overwritten": lost})
        return 0
    print_model(compiled, code)
    if recipe.package:
        show(f"  package for {', '.join(dict.fromkeys(recipe.package))} in {folder}: docs/deploy/packages.md")
    else:
        show(f"  C project in {folder}: add {compiled.name}.c to your build; {compiled.name}.h is the manual")
    print_artifacts(made.artifacts, compiled.settings.target.name)
    _print_adapter(made.adapter)
    _print_sources(arguments.source, plays=made.plays)
    _print_lost(lost)
    return 0


def _adapter_json(adapter: ModelAdapter) -> dict[str, object]:
    if not adapter.name:
        return {}
    stacks = {model.options.name: model.stack for model in adapter.models}
    return {"adapter": {"name": adapter.name, "files": sorted(adapter.files), "stack": stacks}}


def _print_adapter(adapter: ModelAdapter) -> None:
    if adapter.name:
        sources = ", ".join(sorted(file for file in adapter.files if file.endswith(".c")))
        show(f"  adapter {adapter.name}: compile {sources} with your firmware (docs/deploy/adapters.md)")
        for model in adapter.models:
            stack = "not measured here" if model.stack is None else f"{model.stack:,} bytes at most"
            show(f"  stack of {model.options.name}: {stack}")


def _print_sources(names: Sequence[str], *, plays: bool = False) -> None:
    if plays:
        show(f"  {EXAMPLE} plays {', '.join(name for name in names if name not in SOURCE_NAMES)} to the model")
    if names:
        code = ", ".join(sorted(file for file in source_files(names) if file.endswith((".c", ".cpp"))))
        show(f"  sources {', '.join(names)}: compile {code} with your firmware (docs/deploy/sensors.md)")


def _run_several(arguments: argparse.Namespace, wanted: Settings) -> int:
    check_artifacts(wanted, arguments.binaries)
    running = Running.TURNS if arguments.shared_arena else Running.APART
    running = Running.TOGETHER if arguments.run_together else running
    packagers, about = chosen_packagers(arguments.package), metadata(arguments.metadata)
    sources = source_files(arguments.source)
    check_binaries(arguments.package, arguments.binaries)
    check_adapter(arguments.adapter, caller_arena=wanted.caller_arena, shared_arena=running != Running.APART)
    with progress("compiling"):
        several = compile_several(arguments.model, wanted, running=running)
        code = check_several_code(several)
        built = build_artifacts(arguments, several.project, [m.plan for m in several.models], several.settings)
        adapter = adapter_of(arguments.adapter, several.models)
    folder = arguments.output
    package = several.package.with_files({**adapter.files, **sources}).described(about)
    packages = dict.fromkeys(packagers, package)
    lost = write_packages(folder, packages, package, force=arguments.force, binaries=built.files)
    if arguments.depfile:
        write_depfile(arguments.depfile, Path(folder, several.project.sources[0]), arguments.files_read)
    if arguments.json:
        about_all = describe_several(several, folder, code) | describe_artifacts(built) | _adapter_json(adapter)
        print_json(about_all | {"overwritten": lost})
        return 0
    for compiled, alone in zip(several.models, code.alone, strict=True):
        print_model(compiled, alone)
    print_several(several, code)
    compiled_files = ", ".join(several.project.sources)
    show(f"  C project in {folder}: add {compiled_files} to your build; {several.project.options.name}.h is the manual")
    print_artifacts(built, several.settings.target.name)
    _print_adapter(adapter)
    _print_sources(arguments.source)
    _print_lost(lost)
    return 0


def print_several(several: CompiledModels, code: JointCode) -> None:
    """Prints the costs of all models together, and what one file saves."""
    project, settings = several.project, several.settings
    how = "shared" if several.running != Running.APART else "one for each model"
    alone = sum(compiled.plan.arena for compiled in several.models)
    saved = f" instead of {alone:,}" if alone != several.arena else ""
    show(bold(f"together for {settings.target.name}"))
    edges = f", input and outputs {several.edges:,} bytes" if several.edges else ""
    show(
        f"  RAM: arena {several.arena:,} bytes{_split(several.memories)}{saved}, {how}; counters and states"
        f" {several.static:,} bytes{edges}"
    )
    shared = "" if code.together.estimated else f" instead of {code.apart.nbytes:,} without shared kernels"
    show(
        f"  flash: constants {code.together.constants:,} bytes{_split(project.flash)}"
        f"{_shown(code.together, settings.flash_limit)}{shared}"
    )


def _print_lost(lost: Sequence[str]) -> None:
    if lost:
        show(f"  overwritten by --force: {', '.join(lost)}")


def describe_several(several: CompiledModels, folder: str, code: JointCode) -> dict[str, object]:
    """The models as JSON, with the code that was built for them."""
    about = several.json()
    about["models"] = [describe(m, folder, alone) for m, alone in zip(several.models, code.alone, strict=True)]
    about["flash"] |= {
        "constants": code.together.constants,
        "code": None if code.together.estimated else code.together.nbytes,
        "code_apart": None if code.apart.estimated else code.apart.nbytes,
    }
    return about | {"folder": folder}


def describe(compiled: Compiled, folder: str, code: CodeSize) -> dict[str, object]:
    """The model as JSON, with the code that was built for it."""
    about = compiled.json()
    about["ram"]["code"] = code.ram
    about["flash"] |= {
        "constants": code.constants,
        "code": None if code.estimated else code.nbytes,
        "code_estimate": {"bytes": code.nbytes, "reason": code.estimated} if code.estimated else None,
    }
    return about | {
        "folder": folder,
        "encryption": encryption(compiled) if compiled.settings.encrypt else None,
        "training": training(compiled) if compiled.settings.train else None,
    }


def encryption(compiled: Compiled) -> dict[str, int]:
    """The cost of encrypted constants: bytes in an inference, in one call, of RAM, and of constants that are plain."""
    without = line.planned(compiled.source, replace(compiled.settings, encrypt=""), reserve=compiled.reserve)
    plans = compiled.plan.all
    sizes = [step.kernel.sealed.nbytes for plan in plans for step in plan.steps if step.kernel.sealed]
    return {
        "decrypted": compiled.plan.decrypted,
        "at_once": max(sizes, default=0),
        "ram": compiled.plan.ram - without.ram,
        "plain": compiled.project.plain,
    }


def training(compiled: Compiled) -> dict[str, object]:
    """The weights that learn, their bytes, and the costs beside those of the model without training."""
    settings, states = compiled.settings, learned(compiled.plan)
    without = line.planned(compiled.source, replace(settings, train=None, train_data=None), reserve=compiled.reserve)
    graph = compiled.prepared.learning
    layers = [op for op in graph.ops if isinstance(op, choice.LEARNING)]
    read = [(op, s.initial.size, op.inputs.index(s.before)) for s in states for op in layers if s.before in op.inputs]
    return {
        "what": str(settings.train),
        "weights": sum(size for op, size, position in read if position < BIAS),
        "biases": sum(size for op, size, position in read if position >= BIAS),
        "layers": len({op.index for op, *_ in read}),
        "learned": sum(s.initial.nbytes for s in states),
        "ram": compiled.plan.ram - without.ram,
        "arena_without": without.arena,
        "step": compiled.cost + compiled.training_cost,
        "inference_without": round(estimate(settings.costs, without)),
        "recomputed": recomputation(compiled),
    }


def recomputation(compiled: Compiled) -> dict[str, int] | None:
    """The activations that a step of training computes again, their bytes, and the MACs of that."""
    settings, spec = compiled.settings, chosen_layers(compiled.settings.train)
    if spec is None or not spec.recompute:
        return None
    graph = compiled.prepared.learning
    whole = with_training.with_training(compiled.source, replace(spec, recompute=None), settings.train_data)
    again = recompute.recomputable(whole)[: spec.recompute]
    macs = recompute.step_macs(graph) - recompute.step_macs(whole)
    return {"activations": len(again), "bytes": sum(t.nbytes for t in again), "macs": macs}


def training_line(compiled: Compiled) -> str:
    """A summary of what learns, and of its costs."""
    cost: Any = training(compiled)
    layers = "1 layer" if cost["layers"] == 1 else f"{cost['layers']} layers"
    what = f"{cost['weights']:,} weights and {cost['biases']:,} biases in {layers} learn ({cost['what']})"
    if isinstance(compiled.settings.train, Learner):
        what = f"a learner behind the model's layers ({cost['what']})"
    unit, times = compiled.costs.unit, cost["step"] / max(cost["inference_without"], 1)
    again = cost["recomputed"]
    more = f", {again['macs']:,} MACs of it to compute {again['bytes']:,} bytes of activations again" if again else ""
    return (
        f"{what}, {cost['learned']:,} bytes of what is learned, {cost['ram']:,} bytes of RAM beside inference (arena"
        f" {compiled.plan.arena:,} instead of {cost['arena_without']:,}), a step with its inference is estimated at"
        f" {cost['step']:,} {unit} ({times:.2f} times an inference of the model without training){more}"
    )


def two_cores_line(compiled: Compiled) -> str:
    """How much of the model two cores share, and what that gains."""
    kernels = [steps[0].kernel for _, steps in compiled.plan.works]
    shared = sum(isinstance(kernel, SplitKernel) for kernel in kernels)
    one, unit = compiled.one_core_cost, compiled.costs.unit
    faster = one / max(compiled.cost, 1)
    return (
        f"{shared} of {len(kernels)} layers are split, about {faster:.2f} times as fast as {one:,} {unit} on one core"
    )


def print_model(compiled: Compiled, code: CodeSize) -> None:
    plan = compiled.plan
    show(bold(f"{compiled.path} for {compiled.settings.target.name}"))
    for warning in compiled.warnings:
        show(f"  warning: {warning}")
    for s in compiled.savings:
        note = "" if s.exact else f" ({s.caveat})"
        show(f"  {s.name}: {s.detail}{note}")
    if compiled.renamed:
        show(f"  name: {compiled.name}, since {compiled.renamed}")
    if compiled.settings.preprocess:
        count = compiled.project.options.samples
        show(f"  preprocessing: {f'{count:,} raw samples' if count else 'lines of a camera'} for each inference")
    for why in compiled.replanned:
        show(f"  planned again: {why}")
    show(f"  {len(plan.steps)} steps, {compiled.macs:,} MACs")
    for name in compiled.unbounded:
        show(f"  loop '{name}': as many turns as its condition says, of which MACs and estimate count one")
    in_ram = f", code {code.ram:,} bytes" if code.ram else ""
    placed = compiled.ram_constants
    in_ram += f", constants {placed:,} bytes" if placed else ""
    show(f"  RAM: arena {plan.arena:,} bytes{_split(compiled.memories)} (live at once: {plan.peak:,}){in_ram}")
    for text in traffic_lines(plan):
        show(f"  {text}")
    if compiled.settings.encrypt:
        cost = encryption(compiled)
        show(
            f"  encryption: an inference decrypts {cost['decrypted']:,} bytes, {cost['at_once']:,} at most at once;"
            f" {cost['ram']:,} bytes of RAM more than without; {cost['plain']:,} bytes of constants are not encrypted"
        )
    if compiled.settings.train:
        show(f"  training: {training_line(compiled)}")
    if plan.graph.states:
        show(f"  state: {plan.kept_bytes:,} bytes are kept from one run to the next{_rings(plan)}")
    if compiled.project.options.longest_step is not None:
        longest = compiled.project.options.longest_step
        show(f"  step: {longest:,} instructions, the longest of {STEP_INPUTS} inferences and {STEP_MARGIN}%: no bound")
    show(f"  estimate: {compiled.cost:,} modelled {compiled.costs.unit}; `mote explore` lists other plans")
    if compiled.settings.cores > 1:
        show(f"  two cores: {two_cores_line(compiled)}; `mote plan` says why")
    if compiled.settings.cycle_limit is not None:
        show(f"  {compiled.settings.time_line(compiled.cycles or compiled.cost)}, {_known_by(compiled)}")
    flashes = {name: nbytes for name, nbytes in compiled.project.flash.items() if name != CONSTANTS.name}
    constants = f"constants {code.constants:,} bytes{_split(flashes)}"
    show(f"  flash: {constants}{_shown(code, compiled.settings.flash_limit)}")


def _known_by(compiled: Compiled) -> str:
    return "by the estimate; `mote profile` measures" if compiled.cycles is None else "on the emulated core"


def _shown(code: CodeSize, limit: int | None) -> str:
    """The code's size; an estimate only where it was held against something."""
    if not code.estimated:
        return f", code {code.nbytes:,} bytes"
    return "" if limit is None else f", code at most {code.nbytes:,} bytes by an estimate, since {code.estimated}"


def _rings(plan: Plan) -> str:
    windows = sum(window for _, window in plan.kept)
    return f", {plan.rings} of {windows} windows in ring buffers" if windows else ""


def _split(parts: dict[str, int]) -> str:
    """Bytes by memory, where there are several."""
    return " = " + " + ".join(f"{name} {nbytes:,}" for name, nbytes in parts.items()) if parts else ""
