"""The compiler pipeline, one function per stage: Source -> Graph -> Graph -> Plan -> C project."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Unpack

from mote import frontends
from mote.base.errors import (
    BudgetError,
    LayerProblem,
    MoteError,
    RamError,
    Unsupported,
    UnsupportedError,
    explaining,
    naming,
)
from mote.base.progress import Say, silent
from mote.base.text import printable
from mote.compiler.checks.advice import advice
from mote.compiler.checks.budgets import check_apart, check_budgets, too_slow
from mote.compiler.code_size import beside_code, within_flash
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.encryption import read_key
from mote.compiler.emit.c.names import c_prefix
from mote.compiler.emit.c.options import CONSTANTS, ProjectOptions
from mote.compiler.emit.c.programs.golden import GoldenRun, runs
from mote.compiler.emit.c.project import Job, generate
from mote.compiler.given import CompileOptions
from mote.compiler.kernels.catalogue import instruction_sets
from mote.compiler.kernels.memo import SHARED
from mote.compiler.offload.backends import offload
from mote.compiler.offload.contract import Offload
from mote.compiler.offload.streams import stream_backends
from mote.compiler.package.packagers import packaged
from mote.compiler.passes import Saving, optimize
from mote.compiler.passes.rewriting import split_layers
from mote.compiler.passes.streaming import stream
from mote.compiler.pins_file import check_model
from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.memory.several_memories import TooSmallError
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan
from mote.compiler.plan.selection.code_size_model import traded
from mote.compiler.plan.selection.estimate import estimate, training_cost
from mote.compiler.plan.selection.offers import offers
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.settings import (
    NO_STEPS,
    EmitOptions,
    PassOptions,
    PlanOptions,
    Settings,
    chosen_settings,
    settings_and_examples,
)
from mote.compiler.training.checkpointing import BY_HAND, chosen_layers, within_ram
from mote.compiler.training.sparse_update import settled
from mote.compiler.training.with_training import forget as forget_training
from mote.compiler.training.with_training import with_training
from mote.frontends import Format, Source
from mote.frontends.features.attaching import FrontEnd, attached
from mote.frontends.features.postprocess.attaching import BackEnd, followed
from mote.frontends.labels import classes
from mote.frontends.remedies import remedy_of
from mote.hardware.targets import Memory
from mote.ir.graph import Graph
from mote.ir.graph.io_order import code_axis
from mote.ir.graph.rows import row_count

STACK = 4096
"""Bytes of a part's RAM that constants leave to the stack."""

USUAL_CODE = 4 << 10
"""Bytes of a part's flash reserved for code other than kernels when these are chosen; the size is checked later."""
CAUSAL = "another model than the windowed one: what was before the stream takes the place of padding"
"""Warning for a causal stream of a padded model."""
RED_ZONE = 16
"""Bytes before and after every buffer in a debug build."""


def compile(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> Compiled:
    """Compile a model: a file, its bytes, or an object (`mote.frontends.source_of`). Options are the fields of
    Settings, and may be written as for the command: `target` as a name or a file, `ram="24K"` or `"min"`, `flash="1M"`,
    `point="ram-9000"`, `kernels=["3=conv2d"]`, `shapes=["input=1,3,96,96"]`, `constants={"sr": 16000}`. Example inputs
    of a module of PyTorch may stand in the place of settings. `say` is a callback for the progress of the search for a
    plan. A flash budget includes the code, which is built for that."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    settings = chosen_settings(settings, options)
    with reading(given_model(model, settings, example_inputs)) as subject:
        return _compile(subject, settings, say)


def compile_graph(graph: Graph, settings: Settings, say: Say = silent) -> Compiled:
    """Compiles a graph without a file. Layers that no kernel computes are refused, all in one message."""
    with explaining():
        reasons = ((op, op.unsupported(graph)) for op in graph.ops)
        wrong = [
            Unsupported(op.index, op.name, op.kind, reason, remedy_of(LayerProblem(reason), op.activations(graph)))
            for op, reason in reasons
            if reason
        ]
        if wrong:
            raise UnsupportedError(wrong, where=graph.name)
        return _compile(CompilerInput(graph, graph.name), settings, say)


def given_model(model: Any, settings: Settings, example_inputs: Any = None) -> Source:
    """The source of a model argument, with the settings for reading it. One that is no file is called by its name."""
    source = frontends.source_of(
        model,
        shapes=settings.shapes,
        edges=settings.edges,
        example_inputs=example_inputs,
        features=settings.features,
        outputs=settings.outputs,
        signature=settings.signature,
        constants=settings.constants,
    )
    if settings.name and not isinstance(model, str | Path | Source):
        source = replace(source, where=settings.name)
    if source.format != Format.TFLITE and settings.numerics == "tflm":
        raise MoteError(
            f"TFLite Micro does not run models of {source.title}, so that there are no numerics of it to follow",
            where="option numerics",
            remedy="omit it",
        )
    check_model(source, settings.pinned_model)
    return source


@dataclass(frozen=True)
class CompilerInput:
    """The subject of a compilation: a graph, and the file that it was read from."""

    graph: Graph
    where: str
    source: Source | None = None
    warnings: tuple[str, ...] = ()
    version: str = ""
    """The model's version, as the file says."""
    preprocess: str = ""
    """The steps that make its input, as the file says."""


@contextmanager
def reading(source: Source) -> Iterator[CompilerInput]:
    """The subject that a source holds; errors inside of the block name the source."""
    with naming(source.where), explaining():
        graph, warnings, version, preprocess = _read(source)
        yield CompilerInput(graph, source.where, source, warnings, version, preprocess)


def _compile(subject: CompilerInput, settings: Settings, say: Say) -> Compiled:
    """Emits, and builds the code where a budget includes it."""
    settings = settled(subject.graph, settings, partial(_planned_alone, subject, say), say)
    return within_ram(subject.graph, settings, partial(_emitted_with_code, subject, say), say)


def _emitted_with_code(subject: CompilerInput, say: Say, settings: Settings) -> Compiled:
    """Emits, and replans where the code that was built exceeds the budget of RAM or of flash."""
    again = partial(emitted, subject, say=say)
    compiled = again(settings)
    if settings.place_code == "ram":
        compiled = beside_code(compiled, again)
    if settings.flash is not None:
        compiled = within_flash(compiled, again)
    return compiled


def emitted(subject: CompilerInput, settings: Settings, say: Say = silent) -> Compiled:
    """Optimizes, plans and emits C, which is not built: its code is not counted. Where not all constants fit in RAM
    beside a plan for constants in RAM, it plans for flash, and those that are read most are in RAM all the same."""
    settings = replace(settings, ram_constants=0, all_in_ram=True, preprocess=_steps(subject, settings))
    compiled = _emitted(subject, settings, say)
    if compiled.settings.ram_constants > _room(compiled.plan, settings):
        compiled = _emitted(subject, replace(settings, all_in_ram=False), say)
    check_budgets(compiled, code=0)
    return compiled


def _emitted(subject: CompilerInput, settings: Settings, say: Say) -> Compiled:
    """C for a model, before budgets are checked."""
    graph, where, source = subject.graph, subject.where, subject.source
    ready, savings = optimized(graph, settings)
    front = front_end(graph, settings)
    check_apart(ready, settings, where)
    labels = output_labels(_learning(graph, settings), settings.labels)[: len(ready.outputs)]
    chosen = plan_for(ready, where, settings, say)
    name, renamed = c_name(settings, graph)
    options = ProjectOptions(
        name=name,
        source=Path(where).name,
        notes=subject.warnings,
        target=settings.target.name,
        optimize=settings.built_for,
        core_flags=settings.target.core_flags,
        native=settings.target.is_native,
        cpu=settings.target.cpu,
        instruction_sets=instruction_sets(settings.target),
        fused="fma" in settings.target.features,
        single_file=settings.single_file,
        caller_arena=settings.caller_arena,
        instances=settings.instances,
        cpp=settings.cpp,
        model=zlib.crc32(source.data if source else b""),
        estimate="" if settings.target.is_host else _estimate(chosen, settings),
        digest=hashlib.sha256(source.data).hexdigest() if source and source.origin is None else "",
        version=subject.version,
        labels=labels,
        normalizations=tuple(graph.tensors[t].normalization for t in (() if front else graph.inputs)),
        check_flash=settings.check_flash,
        flashes=_constant_memories(chosen, settings),
        code_in_ram=settings.place_code == "ram",
        cipher=read_key(settings.encrypt) if settings.encrypt else None,
        flash_apart=settings.target.core.flash_apart,
        samples=front.samples if front and front.sensor.kind == "samples" else 0,
        keep_outputs=front is not None,
    )
    same = chosen.graph.tensors.keys() == ready.tensors.keys()
    project = packaged(generate(Job(chosen, options, golden(ready if same else chosen.graph))), settings.target)
    settings = replace(settings, name=name, ram_constants=project.flash.get(CONSTANTS.name, 0))
    warnings = (*subject.warnings, *advice(chosen, settings.target))
    return Compiled(graph, chosen, savings, project, settings, where, source, renamed, warnings)


def _constant_memories(plan: Plan, settings: Settings) -> tuple[Memory, ...]:
    """The memories among which constants are divided, where they are not left to the linker."""
    flashes = settings.target.choice("flash")
    if settings.place_constants == "flash":
        return flashes
    return (CONSTANTS if settings.all_in_ram else replace(CONSTANTS, size=_room(plan, settings)), *flashes)


def _room(plan: Plan, settings: Settings) -> int:
    """Bytes of RAM for constants beside a plan: of the budget, or of what the part has beside a stack."""
    own = settings.target.ram
    limits = (settings.ram, None if own is None else own - STACK)
    given = [limit for limit in limits if limit is not None]
    return max(min(given) - settings.ram_beside - plan.ram, 0) if given else CONSTANTS.size


def _estimate(plan: Plan, settings: PlanOptions) -> str:
    """The estimate of an inference, and of one that learns."""
    cost, step = estimate(settings.costs, plan), training_cost(settings.costs, plan)
    alone = f"{_rounded(cost - step)} {settings.costs.unit} an inference"
    return f"{alone}, {_rounded(cost)} with a step of training" if step else alone


def _rounded(cost: float) -> str:
    """A cost with three digits: all that it is worth, and equal with any version of Python."""
    return f"{float(f'{cost:.3g}'):.0f}"


def output_labels(graph: Graph, given: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The labels of each output: those of the model, or the given ones for outputs with as many classes. Where no
    output tells its number of classes, the first one has the given ones."""
    tensors = [graph.tensors[t] for t in graph.outputs]
    counts = [classes(t) for t in tensors]
    if not given:
        return tuple(t.labels for t in tensors)
    if any(counts) and len(given) not in counts:
        name, count = next((t.name, count) for t, count in zip(tensors, counts, strict=True) if count)
        raise MoteError(
            f"there are {len(given)} labels, and output '{printable(name)}' has {count} classes",
            where="option labels",
            remedy="give a label for each class, in the order of the output",
        )
    fits = [count == len(given) if any(counts) else not i for i, count in enumerate(counts)]
    return tuple(given if fit else t.labels for fit, t in zip(fits, tensors, strict=True))


def prepared(source: Source, settings: Settings) -> tuple[Graph, tuple[str, ...], Graph, tuple[Saving, ...]]:
    """The model as read from the file, warnings about it, the optimized graph, and the savings of passes."""
    graph, warnings, _, _ = _read(source)
    return graph, warnings, *optimized(graph, settings)


def optimized(graph: Graph, settings: PassOptions) -> tuple[Graph, tuple[Saving, ...]]:
    """The optimized graph, and the savings of passes."""
    after, savings = _model(graph, settings)
    if settings.preprocess:
        after = _attached(after, settings.preprocess).whole
    if settings.postprocess:
        after = _followed(graph, settings).whole
    return split_layers.run(after) if settings.encrypt else after, savings


def _model(graph: Graph, settings: PassOptions) -> tuple[Graph, tuple[Saving, ...]]:
    """The optimized model, without preprocessing."""
    graph = _learning(graph, settings)
    after, savings = _optimized(graph, settings.io, settings.numerics, settings.shrink, settings.fixed is None)
    if settings.stream is None:
        return after, savings
    streamed, saving = _streamed(after, settings.stream, settings.hop, settings.causal)
    return streamed, (*savings, saving)


def _learning(graph: Graph, settings: PassOptions) -> Graph:
    """The model with what it learns on the device, if anything."""
    return with_training(graph, settings.train, settings.train_data) if settings.train else graph


def front_end(graph: Graph, settings: PassOptions) -> FrontEnd | None:
    """The preprocessing that is compiled before a model, if any."""
    return _attached(_model(graph, settings)[0], settings.preprocess) if settings.preprocess else None


def back_end(graph: Graph, settings: PassOptions) -> BackEnd | None:
    """The post-processing that is compiled behind a model, if any."""
    return _followed(graph, settings) if settings.postprocess else None


def _followed(graph: Graph, settings: PassOptions) -> BackEnd:
    model, front = _model(graph, settings)[0], front_end(graph, settings)
    labels = output_labels(_learning(graph, settings), settings.labels)[0] if graph.outputs else ()
    if front is None:
        return _behind(model, settings.postprocess, labels, None, None)
    return _behind(front.whole, settings.postprocess, labels, front.period, model.inputs[0])


@lru_cache(maxsize=4)
def _behind(model: Graph, steps: str, labels: tuple[str, ...], period: float | None, given: int | None) -> BackEnd:
    return followed(model, steps, labels, period, given)


@lru_cache(maxsize=4)
def _attached(model: Graph, steps: str) -> FrontEnd:
    return attached(model, steps)


def planned(graph: Graph, settings: Settings, where: str = "", say: Say = silent) -> Plan:
    """Plans a graph: its costs on a target, without C or a file."""
    by_settings = partial(_planned, graph, where or graph.name, say)
    return within_ram(graph, settled(graph, settings, by_settings, say), by_settings, say)


def _planned_alone(subject: CompilerInput, say: Say, settings: Settings) -> Plan:
    """The plan of a subject, with the preprocessing that its C is going to have."""
    settings = replace(settings, preprocess=_steps(subject, settings))
    return _planned(subject.graph, subject.where, say, settings)


def _planned(graph: Graph, where: str, say: Say, settings: Settings) -> Plan:
    return plan_for(optimized(graph, settings)[0], where, settings, say)


@lru_cache(maxsize=4)
def _read(source: Source) -> tuple[Graph, tuple[str, ...], str, str]:
    """The model as read from the file, warnings, its version and preprocessing: cached for all targets and settings."""
    model = frontends.read(source)
    return model.graph(), model.warnings, model.version, model.preprocess


def model_steps(model: str | Path) -> str:
    """The preprocessing steps in the metadata of a model's file."""
    source = frontends.source_of(model)
    return _read(source)[3] if source.format == Format.TFLITE else ""


def _steps(subject: CompilerInput, settings: Settings) -> str:
    """The preprocessing steps of the settings, or those in the model's file."""
    return "" if settings.preprocess == NO_STEPS else settings.preprocess or subject.preprocess


@lru_cache(maxsize=4)
def _optimized(
    graph: Graph, io: str, numerics: str, shrinking: bool, own_code: bool
) -> tuple[Graph, tuple[Saving, ...]]:
    """The optimized graph: cached for all targets and most settings, as are its packed weights."""
    after, savings = optimize(graph, io=io, numerics=numerics, shrinking=shrinking, own_code=own_code)
    return after, tuple(savings)


def forget() -> None:
    """Clears the caches of compiled models, and of what was packed for them."""
    _read.cache_clear()
    _optimized.cache_clear()
    _streamed.cache_clear()
    forget_training()
    _attached.cache_clear()
    _behind.cache_clear()
    golden.cache_clear()
    offers.cache_clear()
    traded.cache_clear()
    SHARED.clear()


@lru_cache(maxsize=4)
def _streamed(graph: Graph, given_axis: int, hop: int, causal: bool) -> tuple[Graph, Saving]:
    axis = _stream_axis(graph, given_axis)
    streamed = stream.run(graph, axis, hop, causal=causal)
    before, after = (sum(op.macs(g) for op in g.ops) for g in (graph, streamed))
    kept = sum(state.initial.nbytes for state in streamed.states)
    detail = f"{after:,} MACs each time instead of {before:,}, {kept:,} bytes kept in {len(streamed.states)} windows"
    return streamed, Saving("stream", 0, detail, CAUSAL if causal and _is_padded(graph, axis, hop) else "")


def _stream_axis(graph: Graph, axis: int) -> int:
    """The axis of the graph's input along which the window slides; settings name the model's axis."""
    return code_axis(graph.tensors[graph.inputs[0]], axis) if graph.inputs else axis


def _is_padded(graph: Graph, axis: int, hop: int) -> bool:
    """Whether the model pads along the stream, so that only a causal stream is possible."""
    try:
        stream.run(graph, axis, hop)
    except MoteError:
        return True
    return False


def offload_of(graph: Graph, settings: PlanOptions) -> Offload:
    """The generators that are asked for a graph by settings."""
    backends = (*settings.backend, *stream_backends(graph, settings.target))
    return offload(backends, settings.target, settings.ram_limit)


def plan_for(graph: Graph, where: str, settings: Settings, say: Say) -> Plan:
    """Plans an optimized graph by settings."""
    flash = 0 if settings.least_flash else settings.flash_limit
    others = settings.other_code if settings.flash is not None else USUAL_CODE
    goal = Goal(
        ram=settings.ram_limit,
        spend=settings.ram is not None,
        flash=None if flash is None else max(flash - others, 0),
        most_cost=None if settings.cycle_limit is None else settings.cycle_limit / settings.low,
        least=settings.least_ram,
        pushed=settings.input == "rows" or bool(settings.preprocess),
        outputs_kept=bool(settings.preprocess),
        small_steps=settings.step == "row",
        zone=RED_ZONE if settings.red_zones else 0,
        recompute=settings.recompute,
        pins=settings.kernels,
        costs=settings.costs,
        cores=settings.cores,
        barrier=settings.barrier if settings.cores > 1 else 0.0,
    )
    if goal.pushed and not settings.preprocess:
        _check_pushable(graph, where)
    memories = () if goal.zone else settings.target.choice("ram")
    try:
        return plan(graph, lowering(settings), goal, memories, say, offload_of(graph, settings))
    except TooSmallError as error:
        raise BudgetError(
            f"its parts do not fit the memories one by one: {error.memory.name} would need {error.need:,} bytes,"
            f" {error.need - error.memory.size:,} more than are there",
            where=f"{where} on {settings.target.name}",
            remedy=f"use a part with more {error.memory.name}, or a smaller model",
        ) from None
    except TooSlowError as error:
        raise too_slow(settings, round(error.taken * settings.low), where) from None
    except DoesNotFitError as error:
        assert goal.ram is not None
        raise RamError(
            error.least,
            goal.ram,
            where=f"{where} on {settings.target.name}",
            remedy="use a part with more RAM, a smaller model, a larger --ram budget"
            + ("" if goal.pushed else ", or --input rows, which does not keep the whole input in RAM")
            + (BY_HAND if chosen_layers(settings.train) else ""),
        ) from None


def lowering(settings: PlanOptions) -> Lowering:
    sealed = bool(settings.encrypt)
    return Lowering(
        settings.target.features,
        Policy(settings.optimize),
        sealed=sealed,
        copied=settings.target.core.flash_apart,
        fixed=settings.fixed,
    )


def _check_pushable(graph: Graph, where: str) -> None:
    if len(graph.inputs) != 1:
        raise MoteError(f"has {len(graph.inputs)} inputs; only a single one can come row by row", where=where)
    shape = graph.tensors[graph.inputs[0]].shape
    if row_count(shape) == 1:
        raise MoteError(
            f"the input {'x'.join(map(str, shape))} has one row only, so that it cannot come row by row",
            where=where,
            remedy="omit --input rows",
        )


@lru_cache(maxsize=4)
def golden(graph: Graph) -> tuple[GoldenRun, ...]:
    """Reference results for the self-test: cached for all plans of a graph."""
    return runs(graph)


def c_name(settings: EmitOptions, graph: Graph) -> tuple[str, str]:
    """The prefix of C symbols and files, and the reason if it differs from the model's name."""
    given = settings.name or graph.name
    usable, why = c_prefix(given, settings.instances)
    return usable, f"'{printable(given)}' {why}" if why else ""
