"""Search space of tuning: per layer a kernel, its knobs and the placement of its constants; for the whole model the
placement of code and constants, and compiler flags."""

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
"""Kernels estimated to take more than this factor of a layer's best are not measured."""


@dataclass(frozen=True)
class Setup:
    """A point of the search space: kernel pins by layer number, and model-wide settings."""

    kernels: Mapping[str, str] = field(default_factory=dict)
    flags: str = ""
    place_code: str = "flash"
    place_constants: str = "flash"

    def applied(self, settings: Settings) -> Settings:
        """The settings with this point applied."""
        return replace(
            settings,
            kernels={**self.kernels, **settings.kernels},
            flags=self.flags,
            place_code=self.place_code,
            place_constants=self.place_constants,
        )

    def pinned(self, pins: Mapping[str, str]) -> Setup:
        """This point with additional kernel pins."""
        return replace(self, kernels={**self.kernels, **pins})

    def without_places(self) -> Setup:
        """This point without per-layer placement of constants: all are in RAM."""
        pins = {layer: replace(Pin.parse(pin), constants="") for layer, pin in self.kernels.items()}
        return replace(self, kernels={layer: str(pin) for layer, pin in pins.items()})

    def __str__(self) -> str:
        places = [("code in RAM", self.place_code), ("constants in RAM", self.place_constants)]
        start_setup = [self.flags, *(text for text, place in places if place == RAM)]
        return ", ".join([*filter(None, start_setup), f"{len(self.kernels)} kernels pinned"])


@dataclass(frozen=True)
class KernelChoice:
    """A candidate kernel for the layers of a plan piece."""

    layers: tuple[str, ...]
    """Numbers of the layers."""
    pin: str
    """Pin that selects this kernel."""
    estimate: float
    """Estimated cost."""
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
    """Operators that one kernel computes in a plan, with input and output layouts."""

    ops: Numbers
    layers: tuple[str, ...]
    reads: Layout = NHWC
    writes: Layout = NHWC


def piece_of(graph: Graph, step: Step) -> PlanPiece:
    """The plan piece of a plan step."""
    needs = step.kernel.needs
    return PlanPiece(step.ops, tuple(graph.numbers[n] for n in step.ops), needs.reads, needs.writes)


def pin_of(kernel: Packed, places: bool) -> str:
    """Pin that selects a plan's kernel; with `places` including the placement of its constants."""
    place = RAM if kernel.loaded else FLASH if places and loadable(kernel) else ""
    return choice((), kernel.family, kernel.knobs, place, 0.0).pin


@dataclass(frozen=True)
class Space:
    """Candidate kernels for the layers of a plan; `places`: whether constants may be placed in RAM or flash
    individually."""

    candidates: Candidates
    how: Lowering
    costs: Costs
    places: bool

    @property
    def graph(self) -> Graph:
        return self.candidates.graph

    def pieces(self, plan: Plan) -> list[PlanPiece]:
        """Plan pieces that can be tuned."""
        steps = [steps[0] for _, steps in plan.works]
        tunable = [step for step in steps if all(n >= 0 and self._tunable(n) for n in step.ops)]
        return [piece_of(plan.graph, step) for step in tunable]

    def _tunable(self, n: int) -> bool:
        op = self.graph.ops[n]
        return not is_alias(self.graph, op) and not isinstance(op, Control)

    def _how(self, piece: PlanPiece) -> Lowering:
        return replace(self.how, reads=piece.reads, writes=piece.writes)

    def kernels(self, piece: PlanPiece) -> list[KernelChoice]:
        """Promising kernels of a piece in its layouts, with default knobs, best estimate first. Kernels of external
        generators are always included."""
        own, others = _own_and_external(self.candidates.all_kernels(piece.ops, self._how(piece)))
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
        """Knobs of a kernel for a piece with their values, the default first."""
        return self.candidates.knobs(piece.ops, self._how(piece)).get(family, {})

    def refused(self, piece: PlanPiece) -> list[KernelChoice]:
        """Kernels that do not fit a piece with default knobs, but may with other values."""
        how = self._how(piece)
        place = FLASH if self.places else ""
        return [
            choice(piece.layers, family, (), place, 0.0)
            for family in self.candidates.knobs(piece.ops, how)
            if not self.candidates.with_knobs(piece.ops, how, (), family)
        ]

    def packed(self, piece: PlanPiece, of: KernelChoice) -> Packed | None:
        """The kernel of a choice, bound to the operators of a piece; None if it does not exist."""
        how = self._how(piece)
        turned = self.candidates.with_knobs(piece.ops, how, of.knobs, of.family) if of.knobs else None
        kernels = self.candidates.all_kernels(piece.ops, how) if turned is None else turned
        kernel = next((k for k in kernels if k.family == of.family), None)
        return self.candidates.loaded(piece.ops, kernel) if kernel is not None and of.constants == RAM else kernel

    def turned(self, piece: PlanPiece, of: KernelChoice) -> list[KernelChoice]:
        """Variants of a kernel with one knob changed."""
        own = dict(of.knobs)
        return [
            self._with(of, own | {name: value})
            for name, values in self.knobs(piece, of.family).items()
            for value in values
            if value != own.get(name, values[0])
        ]

    def combined(self, piece: PlanPiece, of: KernelChoice, good: Mapping[str, tuple[Knob, ...]]) -> list[KernelChoice]:
        """Variants of a kernel with all combinations of the `good` knob values."""
        return [self._with(of, dict(zip(good, values, strict=True))) for values in product(*good.values())]

    def _with(self, of: KernelChoice, knobs: Mapping[str, Knob]) -> KernelChoice:
        return choice(of.layers, of.family, tuple(knobs.items()), of.constants, of.estimate)

    def moves(self, plan: Plan) -> list[KernelChoice]:
        """Kernels that change the structure of a plan: other input layouts, fusing separate layers, or splitting fused
        ones; the best of each kind."""
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
        own, others = _own_and_external(self.candidates.all_kernels(ops, replace(self.how, reads=reads)))
        return [*sorted(self._choices(piece, own), key=lambda c: c.estimate)[:1], *self._choices(piece, others)]

    def around(self, plan: Plan, layers: tuple[str, ...]) -> set[str]:
        """Layers that a kernel change may affect: those of the pieces that compute, feed or read the given layers."""
        graph = plan.graph
        places = {number: n for n, number in enumerate(graph.numbers)}
        mine = {places[layer] for layer in layers}
        tensors = {
            t for n in mine for t in (*graph.ops[n].inputs, *graph.ops[n].outputs) if graph.tensors[t].data is None
        }
        near = {n for n, op in enumerate(graph.ops) if tensors & {*op.inputs, *op.outputs}}
        pieces = [set(steps[0].ops) for _, steps in plan.works]
        return {graph.numbers[n] for piece in pieces if piece & near for n in piece if n >= 0}


def _own_and_external(kernels: list[Packed]) -> tuple[list[Packed], list[Packed]]:
    """Splits kernels into Mote's own and those of external generators."""
    return [k for k in kernels if not isinstance(k, Offloaded)], [k for k in kernels if isinstance(k, Offloaded)]


def _promising(choices: list[KernelChoice]) -> list[KernelChoice]:
    least = min((c.estimate for c in choices), default=0.0)
    return [c for c in choices if c.estimate <= HOPELESS * least]


def with_flags(base: Setup, settings: Settings) -> list[Setup]:
    """Variants of a point with other compiler flags."""
    now = optimization(base.applied(settings).built_for, settings.target.cpu)
    return [replace(base, flags=name) for name, flags in SETS.items() if flags != now]


def with_places(base: Setup, settings: Settings) -> list[Setup]:
    """Variants of a point with code or all constants in RAM, if possible."""
    changes = []
    if base.place_code == FLASH and not no_code_ram(settings.target):
        changes.append(replace(base, place_code=RAM))
    if base.place_constants == FLASH and not (settings.encrypt or no_constants_ram(settings.target)):
        changes.append(replace(base.without_places(), place_constants=RAM))
    return changes


def start_setup(settings: Settings) -> Setup:
    """The point of the space that the settings describe, without kernel pins."""
    return Setup({}, settings.flags, settings.place_code, settings.place_constants)


def placeable(settings: Settings) -> bool:
    """Whether constants can be placed per layer: flash has wait states, and no other option moves constants to RAM."""
    elsewhere = settings.encrypt or settings.cores > 1 or settings.target.core.flash_apart
    return bool(settings.costs.memory.waits) and not elsewhere
