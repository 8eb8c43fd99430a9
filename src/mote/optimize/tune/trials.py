"""A trial: a model compiled at one point of the space, and the cycles of each of its layers."""

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
    """The shared state of tuning, sent to each worker once."""

    model: Source
    settings: Settings
    measurer: Measurer

    def compile(self, setup: Setup) -> Compiled:
        return compile(self.model, setup.applied(self.settings))


@dataclass(frozen=True)
class LayerTime:
    """The cycles of a piece of a plan, and the kernel that took them."""

    layers: tuple[str, ...]
    kernel: str
    """The pin that asks for its kernel."""
    reads: str
    writes: str
    whole: bool
    cycles: int
    key: str
    """The key of its cost in the database."""


@dataclass(frozen=True)
class TuningTrial:
    """What a setup takes; `refused`: the reason why there is no such model, if there is none."""

    times: list[LayerTime] = field(default_factory=list)
    ram: int = 0
    constants: int = 0
    refused: str = ""
    budget: bool = False
    """Whether a budget was the reason."""
    layers: list[str] = field(default_factory=list)
    """The layers whose pins were the reason, if these were."""

    @property
    def cycles(self) -> int:
        return sum(time.cycles for time in self.times)

    @property
    def by_layers(self) -> dict[tuple[str, ...], LayerTime]:
        return {time.layers: time for time in self.times}


def tried(task: TuningTask, setup: Setup) -> dict[str, Any]:
    """A trial as JSON: compiles and measures a point of the space."""
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
    around, places = surrounded(compiled.settings, tools), placeable(compiled.settings)
    times = [layer_time(plan, step, taken, around, places=places) for step, taken in works]
    return asdict(TuningTrial(times, ram_of(compiled), compiled.project.constants))


def ram_of(compiled: Compiled) -> int:
    """Bytes of RAM of a model: arena, other variables, code and constants in RAM."""
    return compiled.plan.ram + compiled.ram_beside + compiled.ram_constants


def restored(data: dict[str, Any]) -> TuningTrial:
    """A trial from JSON."""
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
    """The key in the database of the cost of a choice; empty where there is no such kernel."""
    kernel = space.packed(piece, choice)
    return "" if kernel is None else _key(around, space.graph, piece.ops, kernel, whole=True)


def _key(around: str, graph: Graph, ops: Numbers, kernel: Packed, *, whole: bool) -> str:
    return digest(around, layer_digest(graph, ops, kernel, whole=whole))


def surrounded(settings: Settings, tools: str) -> str:
    """A digest of all that the times of layers depend on beside the layer and its kernel: the part and its memories,
    the tools, and what all layers share."""
    place = settings.flags or settings.built_for, settings.place_code, settings.place_constants
    return digest(timing(settings.target), tools, *place)


def timing(target: Target) -> str:
    """A digest of a part's pipeline and memories."""
    reads = target.constant_reads, target.code_reads, [memory.reads for memory in target.memories]
    return digest(target.cpu, sorted(target.features), *reads)


def layer_digest(graph: Graph, ops: tuple[int, ...], kernel: Packed, *, whole: bool) -> str:
    """A digest of operators with a kernel: shapes, types and attributes, and the kernel's code, but no weights, so that
    other models have it, too. Weights count where code or the number of products depends on them."""
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
    """A digest of the calls of an external generator, and of its files and those that are compiled with them; tensors
    have other numbers in other models."""
    calls = [
        [call.function, *("" if isinstance(one, Pointer) else one for one in call.arguments)] for call in artifact.calls
    ]
    return digest(calls, dict(artifact.files), *map(_source, artifact.sources))


def _source(path: str) -> str:
    return digest(Path(path).read_text(encoding="utf-8", errors="replace"))


@lru_cache(maxsize=256)
def _code(files: tuple[str, ...], added: object) -> str:
    """A digest of C files and all that they include, among them those that users have brought."""
    return digest([header(name) for name in closure(files)])


def _signature(graph: Graph, op: Op) -> list[Any]:
    tensors = [graph.tensors[t] for t in (*op.inputs, *op.outputs) if t in graph.tensors]
    parts = [_signature(graph, one) for one in op.ops] if isinstance(op, Region) else []
    attributes = {name: repr(value) for name, value in op.attributes().items() if name != "ops"}
    return [op.kind, [(list(t.shape), str(t.dtype), t.data is not None) for t in tensors], attributes, parts]


def _sizes(params: Any) -> Any:
    """The sizes of parameters, without their values."""
    if isinstance(params, dict):
        return {name: _sizes(value) for name, value in params.items()}
    if isinstance(params, Structs):
        return list(params.rows.shape)
    return list(getattr(params, "shape", ()))
