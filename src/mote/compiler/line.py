"""The compiler pipeline, one function per stage: Source -> Graph -> Graph -> Plan -> C project."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mote.base.deferred import deferred
from mote.base.errors import BudgetError, LayerProblem, MoteError, RamError, Unsupported, UnsupportedError, explaining
from mote.base.progress import Say, silent
from mote.base.text import printable
from mote.compiler.checks.advice import advice
from mote.compiler.checks.budgets import check_apart, too_slow
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.encryption import read_key
from mote.compiler.emit.c.names import c_prefix
from mote.compiler.emit.c.options import CONSTANTS, ProjectOptions
from mote.compiler.emit.c.programs.golden import GoldenRun, runs
from mote.compiler.emit.c.project import Job, generate
from mote.compiler.fitting.fit import BuiltBudget, CodeInFlash, CodeInRam, PlacedConstants, fit
from mote.compiler.fitting.reserve import FIRST, Reserve
from mote.compiler.given import CompileOptions
from mote.compiler.kernels.catalogue import instruction_sets
from mote.compiler.kernels.contract import Fixed
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.backends import offload
from mote.compiler.offload.contract import Offload
from mote.compiler.offload.streams import stream_backends
from mote.compiler.package.packagers import packaged
from mote.compiler.passes.training.spec import Auto
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.json_codec import SerialError, dump
from mote.compiler.plan.memory.several_memories import TooSmallError
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import least_cost, plan
from mote.compiler.plan.selection.estimate import estimate, training_cost
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.prepared import prepared
from mote.compiler.settings import NO_STEPS, EmitOptions, PlanOptions, Settings, chosen_settings, settings_and_examples
from mote.compiler.stages import CompilerStage, session
from mote.compiler.subject import CompilerInput, given_model, reading
from mote.compiler.training.checkpointing import BY_HAND, RecomputedActivations, chosen_layers, with_recomputed
from mote.frontends import Source
from mote.frontends.remedies import remedy_of
from mote.hardware.targets import Memory
from mote.ir.graph import Graph
from mote.ir.graph.rows import row_count

if TYPE_CHECKING:
    from mote.compiler.training import sparse_update
else:
    sparse_update = deferred("mote.compiler.training.sparse_update")

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
    """Compiles a model as `mote.compiler.kept.compile` does, but never takes the result from the disk."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    return compile_within(model, chosen_settings(settings, options), (), example_inputs, say)


def compile_within(
    model: Any,
    settings: Settings,
    budgets: Sequence[BuiltBudget[Compiled]],
    example_inputs: Any = None,
    say: Say = silent,
) -> Compiled:
    """Compiles a model within additional budgets, which `budgets` check on the built model."""
    return compile_source(given_model(model, settings, example_inputs), settings, budgets, say=say)


def compile_source(
    source: Source, settings: Settings, budgets: Sequence[BuiltBudget[Compiled]] = (), *, say: Say = silent
) -> Compiled:
    """Compiles the model of a source, within additional budgets."""
    with reading(source) as subject:
        return _compile(subject, settings, budgets, say)


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
        return _compile(CompilerInput(graph, graph.name), settings, (), say)


def _compile(
    subject: CompilerInput, settings: Settings, budgets: Sequence[BuiltBudget[Compiled]], say: Say
) -> Compiled:
    """Compiles within all budgets; if a budget includes code, the code is built and measured."""
    settings = replace(settings, preprocess=_steps(subject, settings))
    by_settings = partial(_planned, subject.graph, subject.where, say)
    if isinstance(settings.train, Auto):
        settings = sparse_update.settled(subject.graph, settings, by_settings, partial(_least_cost, subject.graph), say)
    own: list[BuiltBudget[Compiled]] = [RecomputedActivations(subject.graph, settings), PlacedConstants()]
    own += [CodeInRam()] if settings.place_code == "ram" else []
    own += [CodeInFlash()] if settings.flash is not None else []
    return _fitted(subject, settings, [*own, *budgets], FIRST, say)


def emitted(subject: CompilerInput, settings: Settings, say: Say = silent, reserve: Reserve = FIRST) -> Compiled:
    """Optimizes, plans and emits C, which is not built, so that code size is not counted."""
    settings = replace(settings, preprocess=_steps(subject, settings))
    return _fitted(subject, settings, [PlacedConstants()], reserve, say)


def _fitted(
    subject: CompilerInput, settings: Settings, budgets: Sequence[BuiltBudget[Compiled]], reserve: Reserve, say: Say
) -> Compiled:
    """Plans and emits C, with more memory reserved each time, until all budgets accept the result."""
    reasons: list[str] = []

    def tell(why: str) -> None:
        reasons.append(why)
        say(f"planning again: {why}")

    compiled = fit(partial(_emitted, subject, settings, say), budgets, reserve, tell)
    return replace(compiled, replanned=tuple(reasons))


def _emitted(subject: CompilerInput, settings: Settings, say: Say, reserve: Reserve) -> Compiled:
    """Plans and emits C once, with a given reserve, without checking budgets."""
    graph, where, source = subject.graph, subject.where, subject.source
    settings = with_recomputed(settings, reserve.recomputed)
    ready = prepared(graph, settings)
    front, labels = ready.front, ready.labels
    check_apart(ready.whole, settings, where)
    chosen = plan_for(ready.whole, where, settings, say, reserve)
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
        estimate="" if settings.target.is_host else _estimate(chosen, reserve.costs(settings)),
        digest=hashlib.sha256(source.data).hexdigest() if source and source.origin is None else "",
        version=subject.version,
        labels=labels,
        normalizations=tuple(graph.tensors[t].normalization for t in (() if front else graph.inputs)),
        check_flash=settings.check_flash,
        flashes=_constant_memories(chosen, settings, reserve),
        code_in_ram=settings.place_code == "ram",
        cipher=read_key(settings.encrypt) if settings.encrypt else None,
        flash_apart=settings.target.core.flash_apart,
        samples=front.samples if front and front.sensor.kind == "samples" else 0,
        keep_outputs=front is not None,
    )
    same = chosen.graph.tensors.keys() == ready.whole.tensors.keys()
    job = Job(chosen, options, golden(ready.whole if same else chosen.graph))
    project = packaged(generate(job), settings.target)
    warnings = (*subject.warnings, *advice(chosen, settings.target))
    stages = ready, chosen, job.program, project
    named = replace(settings, name=name)
    return Compiled(*stages, named, where, source, renamed, warnings, reserve=reserve, ram_code=reserve.ram_code)


def _constant_memories(plan: Plan, settings: Settings, reserve: Reserve) -> tuple[Memory, ...]:
    """The memories for constants, fastest first; empty if the linker decides."""
    flashes = settings.target.choice("flash")
    if settings.place_constants == "flash":
        return flashes
    return (replace(CONSTANTS, size=reserve.room(settings, plan)) if reserve.flash_constants else CONSTANTS, *flashes)


def _estimate(plan: Plan, costs: Costs) -> str:
    """The estimated cost of an inference, and of one with a training step, as text."""
    cost, step = estimate(costs, plan), training_cost(costs, plan)
    alone = f"{_rounded(cost - step)} {costs.unit} an inference"
    return f"{alone}, {_rounded(cost)} with a step of training" if step else alone


def _rounded(cost: float) -> str:
    """A cost as text, rounded to three significant digits, which is its accuracy; equal with any version of Python."""
    return f"{float(f'{cost:.3g}'):.0f}"


def planned(
    graph: Graph,
    settings: Settings,
    where: str = "",
    say: Say = silent,
    *,
    reserve: Reserve = FIRST,
    fixed: Fixed | None = None,
) -> Plan:
    """Plans a graph without emitting C, to know what it costs on a target. `fixed`: only use the kernels of a
    runtime."""
    attempt = partial(_planned, graph, where or graph.name, say, fixed=fixed)
    if isinstance(settings.train, Auto):
        settings = sparse_update.settled(graph, settings, attempt, partial(_least_cost, graph), say)
    budget = RecomputedActivations[Plan](graph, settings)
    return fit(partial(attempt, settings), [budget], reserve, say)


def _planned(
    graph: Graph, where: str, say: Say, settings: Settings, reserve: Reserve = FIRST, fixed: Fixed | None = None
) -> Plan:
    settings = with_recomputed(settings, reserve.recomputed)
    return plan_for(prepared(graph, settings, fixed).whole, where, settings, say, reserve, fixed, tried=True)


def _least_cost(graph: Graph, settings: Settings) -> float:
    """A lower bound for the cost of every plan of a graph; 0 if external generators or a second core may be faster than
    the kernels."""
    whole = prepared(graph, settings).whole
    if settings.cores > 1 or offload_of(whole, settings).generators:
        return 0.0
    return least_cost(whole, lowering(settings), goal_of(settings, FIRST))


def _steps(subject: CompilerInput, settings: Settings) -> str:
    """The preprocessing steps of the settings, or those in the model's file."""
    return "" if settings.preprocess == NO_STEPS else settings.preprocess or subject.preprocess


def offload_of(graph: Graph, settings: PlanOptions, reserve: Reserve = FIRST) -> Offload:
    """The external generators that may compute regions of a graph, by settings."""
    backends = (*settings.backend, *stream_backends(graph, settings.target))
    return offload(backends, settings.target, reserve.ram_limit(settings))


def plan_for(
    graph: Graph,
    where: str,
    settings: Settings,
    say: Say = silent,
    reserve: Reserve = FIRST,
    fixed: Fixed | None = None,
    *,
    tried: bool = False,
) -> Plan:
    """Plans an optimized graph by settings. `tried`: it is one plan of a search, and not written to the disk cache."""
    goal = goal_of(settings, reserve)
    if goal.pushed and not settings.preprocess:
        _check_pushable(graph, where)
    memories = () if goal.zone else settings.target.choice("ram")
    try:
        how, asked = lowering(settings, fixed), offload_of(graph, settings, reserve)
        return session().result(TRIED if tried else PLAN, graph, how, goal, tuple(memories), asked, say=say)
    except TooSmallError as error:
        raise BudgetError(
            f"its parts do not fit the memories one by one: {error.memory.name} would need {error.need:,} bytes,"
            f" {error.need - error.memory.size:,} more than are there",
            where=f"{where} on {settings.target.name}",
            remedy=f"use a part with more {error.memory.name}, or a smaller model",
        ) from None
    except TooSlowError as error:
        raise too_slow(settings, round(error.taken * reserve.estimate_error), where) from None
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


def goal_of(settings: Settings, reserve: Reserve) -> Goal:
    """The planner's goal for the settings, without the bytes and cycles that are reserved."""
    return Goal(
        ram=reserve.ram_limit(settings),
        spend=settings.ram is not None,
        flash=reserve.flash_limit(settings),
        most_cost=None if settings.cycle_limit is None else settings.cycle_limit / reserve.estimate_error,
        least=settings.least_ram,
        pushed=settings.input == "rows" or bool(settings.preprocess),
        outputs_kept=bool(settings.preprocess),
        small_steps=settings.step == "row",
        zone=RED_ZONE if settings.red_zones else 0,
        recompute=settings.recompute,
        pins=settings.kernels,
        costs=reserve.costs(settings),
        cores=settings.cores,
        barrier=settings.barrier if settings.cores > 1 else 0.0,
    )


def _plan(graph: Graph, how: Lowering, goal: Goal, memories: Sequence[Memory], offload: Offload, say: Say) -> Plan:
    return plan(graph, how, goal, memories, say, offload)


def _plan_key(graph: Graph, how: Lowering, goal: Goal, memories: tuple[Memory, ...], offload: Offload) -> str | None:
    """A digest of the planner's inputs; None for external generators and operators of users, which have no digest."""
    if offload.generators:
        return None
    with suppress(TypeError):
        return hashlib.sha256(dump((graph, how, goal, memories)).encode()).hexdigest()
    return None


def _plan_text(result: Plan) -> str | None:
    """A plan as text for the disk cache; None if it holds more than data."""
    with suppress(TypeError):
        return result.to_json()
    return None


def _plan_from(text: str) -> Plan:
    """A plan from the disk cache, verified like a new one."""
    try:
        read = Plan.from_json(text)
        check(read)
    except (PlanError, AssertionError) as error:
        raise SerialError(str(error)) from error
    return read


PLAN = CompilerStage("plan", _plan, key=_plan_key, writes=_plan_text, reads=_plan_from)
TRIED = replace(PLAN, writes=None)
"""The planning stage of searches, whose plans are not written to the disk cache."""


def lowering(settings: PlanOptions, fixed: Fixed | None = None) -> Lowering:
    sealed = bool(settings.encrypt)
    return Lowering(
        settings.target.features,
        Policy(settings.optimize),
        sealed=sealed,
        copied=settings.target.core.flash_apart,
        fixed=fixed,
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


def golden(graph: Graph) -> tuple[GoldenRun, ...]:
    """Reference results for the self-test, computed once for all plans of a graph."""
    return session().result(GOLDEN, graph)


GOLDEN = CompilerStage("self-test", runs)


def c_name(settings: EmitOptions, graph: Graph) -> tuple[str, str]:
    """The prefix of C symbols and files, and the reason if it differs from the model's name."""
    name = settings.name or graph.name
    usable, why = c_prefix(name, settings.instances)
    return usable, f"'{printable(name)}' {why}" if why else ""
