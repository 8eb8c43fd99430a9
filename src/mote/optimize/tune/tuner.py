"""The search: places of code and constants, then the kernels of all layers at once, then layouts and fusion, until
nothing is gained, and compiler flags.

A trial compiles the whole model and gives the cycles of each layer, so that one firmware measures a kernel of every
layer: as many trials as the layer with the most kernels has measure all of them, in the places where they will run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, zip_longest
from math import inf, prod
from time import monotonic

from mote.base.errors import BudgetError, MoteError
from mote.base.progress import Say, duration, silent
from mote.compiler.kernels.contract import Knob
from mote.compiler.offload.backends import offload
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.external import with_external
from mote.compiler.plan.selection.offers import offers, ordered
from mote.compiler.plan.selection.pins import RAM, one_layer
from mote.compiler.prepared import prepared
from mote.compiler.settings import Settings
from mote.compiler.subject import subject_of
from mote.optimize.search import Runner, digest
from mote.optimize.tune.database import CostDatabase
from mote.optimize.tune.space import KernelChoice, PlanPiece, Setup, Space, placeable, shared, with_flags, with_places
from mote.optimize.tune.trials import LayerTime, TuningTask, TuningTrial, key_of, restored, surrounded, tried

CLOSE = 1.25
"""Knobs are tried of kernels that take at most so many times the cycles of the best one of their layer."""
FAMILIES = 4
"""Kernels of a layer whose knobs are tried, at most."""
COMBINATIONS = 12
"""Combinations of knobs that are tried at most, of the best kernel of a layer."""
PASSES = 3
"""How often kernels and structure are tuned in turns, at most."""
NO_TIME = "there was no time"
"""Why there is no trial after the effort was spent."""
SHARED = ("flags", "place_code", "place_constants")
"""Fields of a setup that all layers share."""
WORTH = 0.9995
"""A change of what all layers share must take at most this share of the cycles."""


@dataclass
class TuningEffort:
    """How much may be spent, and was: seconds and trials."""

    seconds: float
    trials: int | None = None
    clock: Callable[[], float] = monotonic
    tried: int = 0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def spent(self) -> float:
        return self.clock() - self.began

    @property
    def left(self) -> bool:
        return self.left_after(0)

    def left_after(self, trials: int) -> bool:
        """Whether something is left after so many trials: what they measured is of no use without one of its own."""
        return self.spent < self.seconds and (self.trials is None or self.tried + trials < self.trials)


@dataclass(frozen=True)
class Best:
    """The best setup so far, and what it takes."""

    setup: Setup
    trial: TuningTrial

    @property
    def cycles(self) -> int:
        return self.trial.cycles


@dataclass(frozen=True)
class Ground:
    """The best setup when a part of the search began, which its trials change."""

    best: Best
    plan: Plan
    space: Space
    around: str
    """A digest of what times of layers depend on beside the layer (`surrounded`)."""

    @cached_property
    def times(self) -> dict[tuple[str, ...], LayerTime]:
        return self.best.trial.by_layers

    def keeps(self, time: LayerTime) -> bool:
        """Whether a layer was measured between the layouts that it has here."""
        known = self.times.get(time.layers)
        return known is not None and (known.reads, known.writes, known.whole) == (time.reads, time.writes, time.whole)


Known = dict[str, tuple[int, KernelChoice | None]]
"""Cycles of the kernels of a piece, by their pins; None: the kernel that it has without a pin."""
Costs = dict[tuple[str, ...], Known]
"""These of all pieces, by their layers."""
Better = Callable[[Best, Best], None]
"""A callback for the setup that tuning began with, and the best one so far."""


def ignore(first: Best, best: Best) -> None:
    """The callback of who waits for the end."""


class Tuner:
    """Searches for the setup of a model with the fewest cycles."""

    def __init__(
        self,
        task: TuningTask,
        runner: Runner,
        database: CostDatabase,
        effort: TuningEffort,
        say: Say = silent,
        better: Better = ignore,
    ) -> None:
        self.task, self.runner, self.database, self.effort = task, runner, database, effort
        self.say, self.better = say, better
        self.tools = task.measurer.tools(task.settings.target)
        self._key = digest(task.model.data, task.model.beside, task.settings, self.tools)
        self._refused: set[tuple[tuple[str, ...], str]] = set()
        self._trials: dict[str, TuningTrial] = {}
        self.first: Best
        self.best: Best

    def run(self) -> Best:
        """The best setup within the effort. The first trial is what the settings give without tuning."""
        setup = shared(self.task.settings)
        (trial,) = self.trials([setup])
        if trial.refused:
            kind = BudgetError if trial.budget else MoteError
            raise kind(trial.refused, where=self.task.model.where, remedy="tune it with a larger budget")
        self.first = self.best = Best(setup, trial)
        self._share(with_places)
        for _ in range(PASSES):
            before = self.best
            for part in (self._kernels, self._structure):
                if self.effort.left:
                    part(self._ground())
            if self.best is before:
                break
        self._share(with_flags)
        self._share(with_places)
        return self.best

    # Trials

    def trials(self, setups: Iterable[Setup]) -> list[TuningTrial]:
        """The trials of setups, as many as the effort allows; those that were tried before cost nothing."""
        wanted = list(setups)
        new = {self._name(s): s for s in wanted if self._name(s) not in self._trials}
        most = len(new) if self.effort.trials is None else self.effort.trials - self.effort.tried
        queue = list(islice(new.items(), max(most, 0)))
        size = max(self.runner.capacity, 1)
        for at in range(0, len(queue), size):
            if at and not self.effort.left:
                break
            some = queue[at : at + size]
            for (name, _), (_, data) in zip(
                some, self.runner.run(tried, [s for _, s in some], key=self._name, name=str), strict=True
            ):
                self._trials[name] = restored(data)
                self.effort.tried += 1
                self.database.add(self._trials[name].times, self.task.settings.target.name, self.tools)
            self._tell()
        return [self._trials.get(self._name(s), TuningTrial(refused=NO_TIME)) for s in wanted]

    def _name(self, setup: Setup) -> str:
        return digest(self._key, setup)

    def _tell(self) -> None:
        if not hasattr(self, "best"):
            self.say("measured the model as it is...")
            return
        gained = 1 - self.best.cycles / max(self.first.cycles, 1)
        self.say(f"{self.effort.tried} trials in {duration(self.effort.spent)}: {gained:.2%} fewer cycles so far")

    def _adopt(self, setup: Setup, trial: TuningTrial) -> bool:
        """Takes a setup if it is better than the best one."""
        if trial.refused or trial.cycles >= self.best.cycles:
            return False
        self.best = Best(setup, trial)
        self.better(self.first, self.best)
        return True

    # What all layers share

    def _share(self, others: Callable[[Setup, Settings], list[Setup]]) -> None:
        """Changes one thing at a time, then joins the changes that were worth it, the best one first."""
        base = self.best
        changes = others(base.setup, self.task.settings) if self.effort.left else []
        worth = []
        for setup, trial in zip(changes, self.trials(changes), strict=True):
            self._adopt(setup, trial)
            if not trial.refused and trial.cycles <= WORTH * base.cycles:
                worth.append((trial.cycles, setup))
        joined = base.setup
        for _, setup in sorted(worth, key=lambda pair: pair[0]):
            changed = _joined(joined, base.setup, setup)
            (trial,) = self.trials([changed])
            if self._adopt(changed, trial) or joined == base.setup:
                joined = changed

    # Kernels in the layouts that the plan has

    def _ground(self) -> Ground:
        """The best setup with its plan."""
        compiled = self.task.compile(self.best.setup)
        graph = prepared(subject_of(self.task.model).graph, compiled.settings).whole
        costs, places = compiled.costs, placeable(compiled.settings)
        known = with_external(offers(ordered(graph)), offload(compiled.settings.backend, compiled.settings.target))
        space = Space(known, compiled.plan.how, costs, places)
        return Ground(self.best, compiled.plan, space, surrounded(compiled.settings, self.tools))

    def _kernels(self, ground: Ground) -> None:
        """Measures all kernels of all layers, then knobs of the good ones, then combinations of knobs; takes the best
        of each layer."""
        space = ground.space
        pieces = [p for p in space.pieces(ground.plan) if p.layers in ground.times and not self._fixed & set(p.layers)]
        costs: Costs = {
            p.layers: {ground.times[p.layers].kernel: (ground.times[p.layers].cycles, None)} for p in pieces
        }
        for choices in (space.kernels, partial(_turned, space, costs), partial(_combinations, space, costs)):
            self._measure(ground, {piece: choices(piece) for piece in pieces}, costs)
        self._choose(ground, costs)

    def _measure(self, ground: Ground, choices: Mapping[PlanPiece, Sequence[KernelChoice]], costs: Costs) -> None:
        """Adds the cycles of choices: those in the database, and the others measured, one of every piece a trial."""
        waiting: list[list[KernelChoice]] = []
        for piece, offered in choices.items():
            known = costs[piece.layers]
            new = []
            for one in offered:
                key = key_of(ground.space, ground.around, piece, one)
                cycles = known[one.pin][0] if one.pin in known else self.database.cycles(key)
                if cycles is not None:
                    known[one.pin] = cycles, one
                elif key and (one.layers, one.pin) not in self._refused:
                    new.append(one)
            waiting.append(new)
        rounds = [[one for one in some if one is not None] for some in zip_longest(*waiting)]
        for at in range(0, len(rounds), self.runner.capacity):
            if self.effort.left_after(self.runner.capacity):
                self._try(ground, rounds[at : at + self.runner.capacity], costs)

    def _try(self, ground: Ground, rounds: Sequence[list[KernelChoice]], costs: Costs) -> None:
        """Measures choices of several pieces at once. Where a model does not fit with them, halves of them are tried,
        down to the one that does not fit."""
        setups = [ground.best.setup.pinned(_pins(some)) for some in rounds]
        again: list[list[KernelChoice]] = []
        for some, setup, trial in zip(rounds, setups, self.trials(setups), strict=True):
            self._adopt(setup, trial)
            again += self._blamed(some, trial)
            for one in some:
                time = trial.by_layers.get(one.layers)
                if time is not None and ground.keeps(time):
                    costs[one.layers][one.pin] = time.cycles, one
        if again and self.effort.left_after(len(again)):
            self._try(ground, again, costs)

    def _blamed(self, some: list[KernelChoice], trial: TuningTrial) -> list[list[KernelChoice]]:
        """Choices to be tried again, of those that were refused together."""
        if not trial.refused or trial.refused == NO_TIME:
            return []
        named = [c for c in some if set(c.layers) & set(trial.layers)]
        if named or len(some) == 1:
            self._refused |= {(c.layers, c.pin) for c in named or some}
            rest = [c for c in some if named and c not in named]
            return [rest] if rest else []
        half = len(some) // 2
        return [some[:half], some[half:]]

    def _choose(self, ground: Ground, costs: Costs) -> None:
        """Pins the best kernel of each layer. Where they do not fit together, or the whole is not faster, only half of
        them, those that gain most."""
        gains: list[tuple[int, KernelChoice]] = []
        for layers, known in costs.items():
            cycles, one = min(known.values(), key=lambda pair: pair[0])
            gain = ground.times[layers].cycles - cycles
            gains += [(gain, one)] if one is not None and gain > 0 else []
        gains.sort(key=lambda pair: -pair[0])
        most, first = len(gains), True
        while most and (first or self.effort.left):
            first = False
            setup = ground.best.setup.pinned(_pins(one for _, one in gains[:most]))
            (trial,) = self.trials([setup])
            most = 0 if self._adopt(setup, trial) or trial.refused == NO_TIME else most // 2

    # Layouts and fusion

    def _structure(self, ground: Ground) -> None:
        """Tries kernels that change layouts or pieces of the plan, those far from each other in one trial, and takes
        those after which the layers around them take less."""
        waiting = [m for m in ground.space.moves(ground.plan) if not self._fixed & set(m.layers)]
        moves = [(move, ground.space.around(ground.plan, move.layers)) for move in waiting]
        good: list[tuple[int, Move]] = []
        while moves and self.effort.left:
            rounds = [_apart(moves) for _ in range(self.runner.capacity)]
            rounds = [some for some in rounds if some]
            setups = [_moved(ground.best.setup, some) for some in rounds]
            for some, setup, trial in zip(rounds, setups, self.trials(setups), strict=True):
                self._adopt(setup, trial)
                if trial.refused:
                    named = [one for one in some if set(one[0].layers) & set(trial.layers)]
                    moves += [one for one in some if named and one not in named]
                    continue
                gains = [(_taken(ground.best.trial, one[1]) - _taken(trial, one[1]), one) for one in some]
                good += [(gain, one) for gain, one in gains if gain > 0]
        joined = _apart([one for _, one in sorted(good, key=lambda pair: -pair[0])])
        if joined and self.effort.left:
            setup = _moved(ground.best.setup, joined)
            (trial,) = self.trials([setup])
            self._adopt(setup, trial)

    @cached_property
    def _fixed(self) -> set[str]:
        """The layers that the user has pinned."""
        graph = prepared(subject_of(self.task.model).graph, self.task.settings).whole
        layers = {n: (op.name, graph.short_name(op)) for n, op in zip(graph.numbers, graph.ops, strict=True)}
        return {one_layer(layers, layer, "option kernel") for layer in self.task.settings.kernels}


Move = tuple[KernelChoice, set[str]]
"""A kernel that changes the structure of a plan, and the layers around it that may change with it."""


def _turned(space: Space, costs: Costs, piece: PlanPiece) -> list[KernelChoice]:
    """The best kernels of a piece, each with the better place of its constants and with one knob changed, and those
    that need a change to fit."""
    known = sorted(((n, one) for n, one in costs[piece.layers].values() if one is not None), key=lambda pair: pair[0])
    least = min(cycles for cycles, _ in costs[piece.layers].values())
    families: dict[str, KernelChoice] = {}
    for cycles, one in known:
        if not one.knobs and cycles <= CLOSE * least and space.knobs(piece, one.family):
            families.setdefault(one.family, one)
    some = [*list(families.values())[:FAMILIES], *space.refused(piece)]
    return [turned for one in some for turned in space.turned(piece, one)]


def _combinations(space: Space, costs: Costs, piece: PlanPiece) -> list[KernelChoice]:
    """The best kernel of a piece with several knobs changed: to any values where there are few combinations, otherwise
    to those that took fewer cycles than the default when they were changed alone."""
    known = [(cycles, one) for cycles, one in costs[piece.layers].values() if one is not None]
    if not known:
        return []
    best = min(known, key=lambda pair: pair[0])[1]
    alike = {one.knobs: cycles for cycles, one in known if (one.family, one.constants) == (best.family, best.constants)}
    knobs = space.knobs(piece, best.family)
    most = inf if prod(map(len, knobs.values())) <= COMBINATIONS else alike.get((), 0)
    good: dict[str, tuple[Knob, ...]] = {}
    for name, (usual, *others) in knobs.items():
        alone = {value: alike.get(((name, value),), inf) for value in others}
        good[name] = (*sorted((value for value in others if alone[value] <= most), key=alone.__getitem__), usual)
    combined = [one for one in space.combined(piece, best, good) if len(one.knobs) > 1]
    return combined[:COMBINATIONS]


def _pins(choices: Iterable[KernelChoice]) -> dict[str, str]:
    return {layer: pin for one in choices for layer, pin in one.pins.items()}


def _apart(moves: list[Move]) -> list[Move]:
    """Moves that have no layer around them in common, taken out of the list."""
    taken: set[str] = set()
    some = []
    for move in list(moves):
        if not taken & move[1]:
            taken |= move[1]
            some.append(move)
            moves.remove(move)
    return some


def _moved(setup: Setup, moves: Sequence[Move]) -> Setup:
    """A setup with moves; kernels around them are the planner's choice."""
    free = {layer for _, around in moves for layer in around}
    kept = {layer: pin for layer, pin in setup.kernels.items() if layer not in free}
    return replace(setup, kernels=kept).pinned(_pins(move for move, _ in moves))


def _joined(one: Setup, base: Setup, other: Setup) -> Setup:
    """A setup with the changes of another one against a base, of what all layers share."""
    changes = {name: getattr(other, name) for name in SHARED if getattr(other, name) != getattr(base, name)}
    joined = replace(one, **changes)
    return joined.without_places() if joined.place_constants == RAM else joined


def _taken(trial: TuningTrial, layers: set[str]) -> int:
    return sum(time.cycles for time in trial.times if layers & set(time.layers))
