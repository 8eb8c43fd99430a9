"""Trials of tuning: compile the model at one point of the search space and measure the cycles of each layer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from mote.base.errors import BudgetError
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Packed, Structs
from mote.compiler.kernels.library import added_texts, header
from mote.compiler.kernels.structs import closure
from mote.compiler.line import compile
from mote.compiler.offload.contract import Artifact, Offloaded, Pointer
from mote.compiler.plan.plan import Plan, Step
from mote.compiler.plan.selection.select import PinError
from mote.compiler.settings import Settings
from mote.frontends import Source
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers, Region
from mote.optimize.search import digest
from mote.optimize.tune.measurers import Measurer
from mote.optimize.tune.space import KernelChoice, PlanPiece, Setup, Space, piece_of, pin_of, placeable


@dataclass(frozen=True)
class TuningTask:
    """Shared input of all trials, sent to each worker once."""

    model: Source
    settings: Settings
    measurer: Measurer

    def compile(self, setup: Setup) -> Compiled:
        return compile(self.model, setup.applied(self.settings))


@dataclass(frozen=True)
class LayerTime:
    """Cycles of a plan piece with the kernel used."""

    layers: tuple[str, ...]
    kernel: str
    """Pin that selects the kernel."""
    reads: str
    writes: str
    whole: bool
    cycles: int
    key: str
    """Key in the cost database."""


@dataclass(frozen=True)
class TuningTrial:
    """Result of a trial; `refused` is the reason if the model could not be built."""

    times: list[LayerTime] = field(default_factory=list)
    ram: int = 0
    constants: int = 0
    refused: str = ""
    budget: bool = False
    """Whether a RAM or flash budget was the reason of refusal."""
    layers: list[str] = field(default_factory=list)
    """Layers whose pins were the reason of refusal, if any."""

    @property
    def cycles(self) -> int:
        return sum(time.cycles for time in self.times)

    @property
    def by_layers(self) -> dict[tuple[str, ...], LayerTime]:
        return {time.layers: time for time in self.times}


def tried(task: TuningTask, setup: Setup) -> dict[str, Any]:
    """Runs a trial: compiles and measures a point of the space; the result is JSON."""
    try:
        compiled = task.compile(setup)
        cycles = task.measurer.cycles(compiled)
    except PinError as error:
        return asdict(TuningTrial(refused=error.reason, layers=list(error.layers)))
    except BudgetError as error:
        return asdict(TuningTrial(refused=error.reason, budget=True))
    plan = compiled.plan
    works = [(steps[0], taken) for (_, steps), taken in zip(plan.works, cycles, strict=True)]
    tools = task.measurer.tools(compiled.settings.target)
    around, places = context_digest(compiled.settings, tools), placeable(compiled.settings)
    times = [layer_time(plan, step, taken, around, places=places) for step, taken in works]
    return asdict(TuningTrial(times, ram_of(compiled), compiled.project.constants))


def ram_of(compiled: Compiled) -> int:
    """RAM bytes of a model: arena, other variables, code and constants in RAM."""
    return compiled.plan.ram + compiled.ram_beside + compiled.ram_constants


def restored(data: dict[str, Any]) -> TuningTrial:
    """Parses a trial from JSON."""
    times = [LayerTime(**{**time, "layers": tuple(time["layers"])}) for time in data["times"]]
    return TuningTrial(**{**data, "times": times})


def layer_time(plan: Plan, step: Step, cycles: int, around: str, *, places: bool) -> LayerTime:
    graph, kernel = plan.graph, step.kernel
    arrives = any(n < 0 for n in step.ops)
    layers = () if arrives else piece_of(graph, step).layers
    key = "" if arrives else _key(around, graph, step.ops, kernel, whole=step.whole)
    names = kernel.needs.reads.name, kernel.needs.writes.name
    return LayerTime(layers, pin_of(kernel, places=places), *names, step.whole, cycles, key)


def key_of(space: Space, around: str, piece: PlanPiece, choice: KernelChoice) -> str:
    """Cost database key of a kernel choice; empty if there is no such kernel."""
    kernel = space.packed(piece, choice)
    return "" if kernel is None else _key(around, space.graph, piece.ops, kernel, whole=True)


def _key(around: str, graph: Graph, ops: Numbers, kernel: Packed, *, whole: bool) -> str:
    return digest(around, layer_digest(graph, ops, kernel, whole=whole))


def context_digest(settings: Settings, tools: str) -> str:
    """Digest of everything that layer times depend on besides layer and kernel: part, memories, tools and model-wide
    settings."""
    place = settings.flags or settings.built_for, settings.place_code, settings.place_constants
    return digest(timing(settings.target), tools, *place)


def timing(target: Target) -> str:
    """Digest of a part's pipeline and memories."""
    reads = target.constant_reads, target.code_reads, [memory.reads for memory in target.memories]
    return digest(target.cpu, sorted(target.features), *reads)


def layer_digest(graph: Graph, ops: tuple[int, ...], kernel: Packed, *, whole: bool) -> str:
    """Digest of operators with a kernel: shapes, types, attributes and kernel code. Weights are left out unless code or
    work depends on them, so that models share entries."""
    return digest(
        [_signature(graph, graph.ops[n]) for n in ops],
        kernel.variant,
        list(map(str, kernel.instances)),
        _code(kernel.files, added_texts()) if not isinstance(kernel, Offloaded) else _external(kernel.artifact),
        _sizes(kernel.params),
        kernel.price.density,
        kernel.constants,
        kernel.loaded,
        kernel.needs.reads.name,
        kernel.needs.writes.name,
        1 if whole else kernel.entry.group,
        whole,
    )


def _external(artifact: Artifact) -> str:
    """Digest of an external generator's calls and source files, independent of tensor numbers."""
    calls = [
        [call.function, *("" if isinstance(one, Pointer) else one for one in call.arguments)] for call in artifact.calls
    ]
    return digest(calls, dict(artifact.files), *map(_source, artifact.sources))


def _source(path: str) -> str:
    return digest(Path(path).read_text(encoding="utf-8", errors="replace"))


@lru_cache(maxsize=256)
def _code(files: tuple[str, ...], added: object) -> str:
    """Digest of C files and everything they include, including user-provided files."""
    return digest([header(name) for name in closure(files)])


def _signature(graph: Graph, op: Op) -> list[Any]:
    tensors = [graph.tensors[t] for t in (*op.inputs, *op.outputs) if t in graph.tensors]
    parts = [_signature(graph, one) for one in op.ops] if isinstance(op, Region) else []
    attributes = {name: repr(value) for name, value in op.attributes().items() if name != "ops"}
    return [op.kind, [(list(t.shape), str(t.dtype), t.data is not None) for t in tensors], attributes, parts]


def _sizes(params: Any) -> Any:
    """Shapes of parameters, without values."""
    if isinstance(params, dict):
        return {name: _sizes(value) for name, value in params.items()}
    if isinstance(params, Structs):
        return list(params.rows.shape)
    return list(getattr(params, "shape", ()))
