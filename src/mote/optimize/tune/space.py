"""The space that tuning searches: kernels of each layer with values of their knobs and a place for their constants, and
what holds for the whole model: places of code and constants, and compiler flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from mote.compiler.kernels.contract import NHWC, Knob, Knobs, Layout, Packed, written
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.plan import Plan, Step
from mote.compiler.plan.scheduling.rows import is_alias
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.pins import CONSTANTS, FLASH, RAM, Pin
from mote.compiler.plan.selection.request import Lowering
from mote.compiler.plan.selection.select import loadable
from mote.compiler.settings import Settings, no_code_ram, no_constants_ram
from mote.hardware.targets.flags import SETS, optimization
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers
from mote.ir.ops.control.control_flow import Control

HOPELESS = 1.6
"""Kernels whose estimate is more than so many times the least one of a layer are not measured."""


@dataclass(frozen=True)
class Setup:
    """A point of the space: pins of layers by their numbers, and settings of the whole model."""

    kernels: Mapping[str, str] = field(default_factory=dict)
    flags: str = ""
    place_code: str = "flash"
    place_constants: str = "flash"

    def applied(self, settings: Settings) -> Settings:
        """Settings with this point of the space."""
        return replace(
            settings,
            kernels={**self.kernels, **settings.kernels},
            flags=self.flags,
            place_code=self.place_code,
            place_constants=self.place_constants,
        )

    def pinned(self, pins: Mapping[str, str]) -> Setup:
        """This point with other kernels for some layers."""
        return replace(self, kernels={**self.kernels, **pins})

    def without_places(self) -> Setup:
        """This point without places of the constants of single layers: all are in RAM."""
        pins = {layer: replace(Pin.parse(pin), constants="") for layer, pin in self.kernels.items()}
        return replace(self, kernels={layer: str(pin) for layer, pin in pins.items()})

    def __str__(self) -> str:
        places = [("code in RAM", self.place_code), ("constants in RAM", self.place_constants)]
        shared = [self.flags, *(text for text, place in places if place == RAM)]
        return ", ".join([*filter(None, shared), f"{len(self.kernels)} kernels pinned"])


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that the layers of a piece could have."""

    layers: tuple[str, ...]
    """The numbers of the layers."""
    pin: str
    """The pin that asks for it."""
    estimate: float
    """Its modelled cost."""
    family: str
    knobs: Knobs = ()
    constants: str = ""

    @property
    def pins(self) -> dict[str, str]:
        return dict.fromkeys(self.layers, self.pin)


def choice(layers: tuple[str, ...], family: str, knobs: Knobs, constants: str, estimate: float) -> KernelChoice:
    places = ((CONSTANTS, constants),) if constants else ()
    return KernelChoice(layers, f"{family}{written((*knobs, *places))}", estimate, family, knobs, constants)


@dataclass(frozen=True)
class PlanPiece:
    """Operators that one kernel computes in a plan, between tensors in some layouts."""

    ops: Numbers
    layers: tuple[str, ...]
    reads: Layout = NHWC
    writes: Layout = NHWC


def piece_of(graph: Graph, step: Step) -> PlanPiece:
    """The piece of a step of a plan."""
    needs = step.kernel.needs
    return PlanPiece(step.ops, tuple(graph.numbers[n] for n in step.ops), needs.reads, needs.writes)


def pin_of(kernel: Packed, places: bool) -> str:
    """The pin that asks for a kernel as it is in a plan; `places`: with the place of its constants."""
    place = RAM if kernel.loaded else FLASH if places and loadable(kernel) else ""
    return choice((), kernel.family, kernel.knobs, place, 0.0).pin


@dataclass(frozen=True)
class Space:
    """The kernels that the layers of a plan could have. `places`: whether constants may lie in RAM or in flash."""

    candidates: Candidates
    how: Lowering
    costs: Costs
    places: bool

    @property
    def graph(self) -> Graph:
        return self.candidates.graph

    def pieces(self, plan: Plan) -> list[PlanPiece]:
        """The pieces of a plan that have kernels to choose from."""
        steps = [steps[0] for _, steps in plan.works]
        tunable = [step for step in steps if all(n >= 0 and self._tunable(n) for n in step.ops)]
        return [piece_of(plan.graph, step) for step in tunable]

    def _tunable(self, n: int) -> bool:
        op = self.graph.ops[n]
        return not is_alias(self.graph, op) and not isinstance(op, Control)

    def _how(self, piece: PlanPiece) -> Lowering:
        return replace(self.how, reads=piece.reads, writes=piece.writes)

    def kernels(self, piece: PlanPiece) -> list[KernelChoice]:
        """Kernels of a piece with the defaults of their knobs, in the layouts that it has, the best first by the
        estimate; without the hopeless. Those of external generators are all measured."""
        own, others = _apart(self.candidates.all_kernels(piece.ops, self._how(piece)))
        choices = [*_promising(list(self._choices(piece, own))), *self._choices(piece, others)]
        return sorted(choices, key=lambda c: c.estimate)

    def _choices(self, piece: PlanPiece, kernels: list[Packed]) -> Iterator[KernelChoice]:
        op = self.candidates.op(piece.ops)
        for kernel in kernels:
            for place in (FLASH, RAM) if self.places and loadable(kernel) else ("",):
                packed = self.candidates.loaded(piece.ops, kernel) if place == RAM else kernel
                estimate = self.costs.of(self.graph, op, packed, whole=True)
                yield choice(piece.layers, kernel.family, kernel.knobs, place, estimate)

    def knobs(self, piece: PlanPiece, family: str) -> Mapping[str, tuple[Knob, ...]]:
        """The knobs of a kernel for a piece, and their values, the default first."""
        return self.candidates.knobs(piece.ops, self._how(piece)).get(family, {})

    def refused(self, piece: PlanPiece) -> list[KernelChoice]:
        """Kernels that do not fit a piece with the defaults of their knobs, and may with other values."""
        how = self._how(piece)
        place = FLASH if self.places else ""
        return [
            choice(piece.layers, family, (), place, 0.0)
            for family in self.candidates.knobs(piece.ops, how)
            if not self.candidates.with_knobs(piece.ops, how, (), family)
        ]

    def packed(self, piece: PlanPiece, of: KernelChoice) -> Packed | None:
        """The kernel of a choice, bound to the operators of a piece; None where there is none."""
        how = self._how(piece)
        turned = self.candidates.with_knobs(piece.ops, how, of.knobs, of.family) if of.knobs else None
        kernels = self.candidates.all_kernels(piece.ops, how) if turned is None else turned
        kernel = next((k for k in kernels if k.family == of.family), None)
        return self.candidates.loaded(piece.ops, kernel) if kernel is not None and of.constants == RAM else kernel

    def turned(self, piece: PlanPiece, of: KernelChoice) -> list[KernelChoice]:
        """A kernel with one of its knobs changed, for each other value of each."""
        own = dict(of.knobs)
        return [
            self._with(of, own | {name: value})
            for name, values in self.knobs(piece, of.family).items()
            for value in values
            if value != own.get(name, values[0])
        ]

    def combined(self, piece: PlanPiece, of: KernelChoice, good: Mapping[str, tuple[Knob, ...]]) -> list[KernelChoice]:
        """A kernel with all combinations of the values of its knobs that are `good`."""
        return [self._with(of, dict(zip(good, values, strict=True))) for values in product(*good.values())]

    def _with(self, of: KernelChoice, knobs: Mapping[str, Knob]) -> KernelChoice:
        return choice(of.layers, of.family, tuple(knobs.items()), of.constants, of.estimate)

    def moves(self, plan: Plan) -> list[KernelChoice]:
        """Kernels that change the layouts or the pieces of a plan: those that read another layout, that compute several
        layers of the plan together, or one of those that it computes together; the best of each kind."""
        pieces = {n: piece for piece in self.pieces(plan) for n in piece.ops}
        moves = []
        for n in dict.fromkeys(pieces):
            alone = (n,)
            for reads in (NHWC, *self.candidates.wanted_layouts(alone, self.how)):
                if pieces[n].ops != alone or pieces[n].reads != reads:
                    moves += self._best(alone, reads)
        for region in self.candidates.regions(self.how):
            if all(n in pieces and pieces[n].ops != region for n in region):
                moves += [move for reads in self._read(region) for move in self._best(region, reads)]
        return moves

    def _read(self, region: Numbers) -> list[Layout]:
        return [NHWC, *self.candidates.wanted_layouts(region, self.how)]

    def _best(self, ops: Numbers, reads: Layout) -> list[KernelChoice]:
        piece = PlanPiece(ops, tuple(self.graph.numbers[n] for n in ops), reads)
        own, others = _apart(self.candidates.all_kernels(ops, replace(self.how, reads=reads)))
        return [*sorted(self._choices(piece, own), key=lambda c: c.estimate)[:1], *self._choices(piece, others)]

    def around(self, plan: Plan, layers: tuple[str, ...]) -> set[str]:
        """The layers of a plan whose kernels another kernel for some of them may change: all of the pieces that
        compute, feed or read them."""
        graph = plan.graph
        places = {number: n for n, number in enumerate(graph.numbers)}
        mine = {places[layer] for layer in layers}
        tensors = {
            t for n in mine for t in (*graph.ops[n].inputs, *graph.ops[n].outputs) if graph.tensors[t].data is None
        }
        near = {n for n, op in enumerate(graph.ops) if tensors & {*op.inputs, *op.outputs}}
        pieces = [set(steps[0].ops) for _, steps in plan.works]
        return {graph.numbers[n] for piece in pieces if piece & near for n in piece if n >= 0}


def _apart(kernels: list[Packed]) -> tuple[list[Packed], list[Packed]]:
    """Kernels of the core, and those of external generators."""
    return [k for k in kernels if not isinstance(k, Offloaded)], [k for k in kernels if isinstance(k, Offloaded)]


def _promising(choices: list[KernelChoice]) -> list[KernelChoice]:
    least = min((c.estimate for c in choices), default=0.0)
    return [c for c in choices if c.estimate <= HOPELESS * least]


def with_flags(base: Setup, settings: Settings) -> list[Setup]:
    """A point of the space with each other set of compiler flags."""
    now = optimization(base.applied(settings).built_for, settings.target.cpu)
    return [replace(base, flags=name) for name, flags in SETS.items() if flags != now]


def with_places(base: Setup, settings: Settings) -> list[Setup]:
    """A point of the space with code or all constants in RAM, where that is possible."""
    changes = []
    if base.place_code == FLASH and not no_code_ram(settings.target):
        changes.append(replace(base, place_code=RAM))
    if base.place_constants == FLASH and not (settings.encrypt or no_constants_ram(settings.target)):
        changes.append(replace(base.without_places(), place_constants=RAM))
    return changes


def shared(settings: Settings) -> Setup:
    """The point of the space that settings are, without kernels."""
    return Setup({}, settings.flags, settings.place_code, settings.place_constants)


def placeable(settings: Settings) -> bool:
    """Whether layers may choose if their constants are copied to RAM: flash is waited for, and nothing else brings
    constants to RAM."""
    elsewhere = settings.encrypt or settings.cores > 1 or settings.target.core.flash_apart
    return bool(settings.costs.memory.waits) and not elsewhere
