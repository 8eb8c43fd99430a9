"""Search algorithm of tuning: placement of code and constants, then kernels of all layers, then layouts and fusion,
repeated until nothing improves; finally compiler flags.

A trial compiles the whole model and measures every layer, so one firmware measures one kernel of each layer, in its
real placement: the number of trials is that of the layer with the most kernels."""

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
from mote.compiler.plan.selection.candidates import candidates_of, ordered
from mote.compiler.plan.selection.external import with_external
from mote.compiler.plan.selection.pins import RAM, one_layer
from mote.compiler.prepared import prepared
from mote.compiler.settings import Settings
from mote.compiler.subject import subject_of
from mote.optimize.search import Runner, digest
from mote.optimize.tune.database import CostDatabase
from mote.optimize.tune.space import (
    KernelChoice,
    PlanPiece,
    Setup,
    Space,
    placeable,
    start_setup,
    with_flags,
    with_places,
)
from mote.optimize.tune.trials import LayerTime, TuningTask, TuningTrial, context_digest, key_of, restored, tried

CLOSE = 1.25
"""Knobs are tried for kernels within this factor of the best one's cycles."""
FAMILIES = 4
"""Maximum number of kernels per layer whose knobs are tried."""
COMBINATIONS = 12
"""Maximum number of knob combinations tried for a layer's best kernel."""
PASSES = 3
"""Maximum number of alternations between tuning kernels and structure."""
NO_TIME = "there was no time"
"""Refusal reason of trials that the budget did not allow."""
SHARED = ("flags", "place_code", "place_constants")
"""Fields of a setup that apply to the whole model."""
WORTH = 0.9995
"""A model-wide change must reduce cycles to at most this share."""


@dataclass
class TuningEffort:
    """Budget of seconds and trials, and what has been spent."""

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
        """Whether any budget is left after this many trials, beyond the trial that applies their results."""
        return self.spent < self.seconds and (self.trials is None or self.tried + trials < self.trials)


@dataclass(frozen=True)
class Best:
    """The best setup so far with its trial."""

    setup: Setup
    trial: TuningTrial

    @property
    def cycles(self) -> int:
        return self.trial.cycles


@dataclass(frozen=True)
class SearchState:
    """The best setup at the start of a search phase, which the phase's trials modify."""

    best: Best
    plan: Plan
    space: Space
    around: str
    """Digest of everything that layer times depend on besides the layer (see `context_digest`)."""

    @cached_property
    def times(self) -> dict[tuple[str, ...], LayerTime]:
        return self.best.trial.by_layers

    def keeps(self, time: LayerTime) -> bool:
        """Whether a layer was measured with the layouts that it has in this plan."""
        known = self.times.get(time.layers)
        return known is not None and (known.reads, known.writes, known.whole) == (time.reads, time.writes, time.whole)


Known = dict[str, tuple[int, KernelChoice | None]]
"""Cycles of a piece's measured kernels by pin, with the choice; None for the kernel used without a pin."""
Costs = dict[tuple[str, ...], Known]
"""Measured kernels of all pieces, by layers."""
Better = Callable[[Best, Best], None]
"""Callback with the initial and the improved setup."""


def ignore(first: Best, best: Best) -> None:
    """Default callback for improvements: does nothing."""


class Tuner:
    """Searches for the setup with the fewest cycles."""

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
        """Runs the search within the budget. The first trial measures the model without tuning."""
        setup = start_setup(self.task.settings)
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
                    part(self._search_state())
            if self.best is before:
                break
        self._share(with_flags)
        self._share(with_places)
        return self.best

    # Trials

    def trials(self, setups: Iterable[Setup]) -> list[TuningTrial]:
        """Runs trials of setups as the budget allows; repeated ones are free."""
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
            self._report_progress()
        return [self._trials.get(self._name(s), TuningTrial(refused=NO_TIME)) for s in wanted]

    def _name(self, setup: Setup) -> str:
        return digest(self._key, setup)

    def _report_progress(self) -> None:
        if not hasattr(self, "best"):
            self.say("measured the model as it is...")
            return
        gained = 1 - self.best.cycles / max(self.first.cycles, 1)
        self.say(f"{self.effort.tried} trials in {duration(self.effort.spent)}: {gained:.2%} fewer cycles so far")

    def _adopt(self, setup: Setup, trial: TuningTrial) -> bool:
        """Makes a setup the best one if it is faster."""
        if trial.refused or trial.cycles >= self.best.cycles:
            return False
        self.best = Best(setup, trial)
        self.better(self.first, self.best)
        return True

    # What all layers share

    def _share(self, others: Callable[[Setup, Settings], list[Setup]]) -> None:
        """Tries model-wide changes one at a time, then combines those that helped, best first."""
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

    def _search_state(self) -> SearchState:
        """The best setup with its plan and search space."""
        compiled = self.task.compile(self.best.setup)
        graph = prepared(subject_of(self.task.model).graph, compiled.settings).whole
        costs, places = compiled.costs, placeable(compiled.settings)
        known = with_external(
            candidates_of(ordered(graph)), offload(compiled.settings.backend, compiled.settings.target)
        )
        space = Space(known, compiled.plan.how, costs, places)
        return SearchState(self.best, compiled.plan, space, context_digest(compiled.settings, self.tools))

    def _kernels(self, state: SearchState) -> None:
        """Kernel phase: measures all kernels, then knobs of good ones, then knob combinations; adopts the best per
        layer."""
        space = state.space
        pieces = [p for p in space.pieces(state.plan) if p.layers in state.times and not self._fixed & set(p.layers)]
        costs: Costs = {p.layers: {state.times[p.layers].kernel: (state.times[p.layers].cycles, None)} for p in pieces}
        for choices in (space.kernels, partial(_turned, space, costs), partial(_combinations, space, costs)):
            self._measure(state, {piece: choices(piece) for piece in pieces}, costs)
        self._choose(state, costs)

    def _measure(self, state: SearchState, choices: Mapping[PlanPiece, Sequence[KernelChoice]], costs: Costs) -> None:
        """Adds the cycles of kernel choices from the database, or measures them, one choice of every piece per
        trial."""
        waiting: list[list[KernelChoice]] = []
        for piece, offered in choices.items():
            known = costs[piece.layers]
            new = []
            for one in offered:
                key = key_of(state.space, state.around, piece, one)
                cycles = known[one.pin][0] if one.pin in known else self.database.cycles(key)
                if cycles is not None:
                    known[one.pin] = cycles, one
                elif key and (one.layers, one.pin) not in self._refused:
                    new.append(one)
            waiting.append(new)
        rounds = [[one for one in some if one is not None] for some in zip_longest(*waiting)]
        for at in range(0, len(rounds), self.runner.capacity):
            if self.effort.left_after(self.runner.capacity):
                self._try(state, rounds[at : at + self.runner.capacity], costs)

    def _try(self, state: SearchState, rounds: Sequence[list[KernelChoice]], costs: Costs) -> None:
        """Measures choices of several pieces per trial. If a model is refused, halves are retried to isolate the choice
        at fault."""
        setups = [state.best.setup.pinned(_pins(some)) for some in rounds]
        again: list[list[KernelChoice]] = []
        for some, setup, trial in zip(rounds, setups, self.trials(setups), strict=True):
            self._adopt(setup, trial)
            again += self._retries(some, trial)
            for one in some:
                time = trial.by_layers.get(one.layers)
                if time is not None and state.keeps(time):
                    costs[one.layers][one.pin] = time.cycles, one
        if again and self.effort.left_after(len(again)):
            self._try(state, again, costs)

    def _retries(self, some: list[KernelChoice], trial: TuningTrial) -> list[list[KernelChoice]]:
        """Choices to retry after a refused trial."""
        if not trial.refused or trial.refused == NO_TIME:
            return []
        named = [c for c in some if set(c.layers) & set(trial.layers)]
        if named or len(some) == 1:
            self._refused |= {(c.layers, c.pin) for c in named or some}
            rest = [c for c in some if named and c not in named]
            return [rest] if rest else []
        half = len(some) // 2
        return [some[:half], some[half:]]

    def _choose(self, state: SearchState, costs: Costs) -> None:
        """Pins the best kernel of each layer; if they do not fit together or the model is not faster, only the half
        that gains most, and so on."""
        gains: list[tuple[int, KernelChoice]] = []
        for layers, known in costs.items():
            cycles, one = min(known.values(), key=lambda pair: pair[0])
            gain = state.times[layers].cycles - cycles
            gains += [(gain, one)] if one is not None and gain > 0 else []
        gains.sort(key=lambda pair: -pair[0])
        most, first = len(gains), True
        while most and (first or self.effort.left):
            first = False
            setup = state.best.setup.pinned(_pins(one for _, one in gains[:most]))
            (trial,) = self.trials([setup])
            most = 0 if self._adopt(setup, trial) or trial.refused == NO_TIME else most // 2

    # Layouts and fusion

    def _structure(self, state: SearchState) -> None:
        """Structure phase: tries layout and fusion changes, distant ones in one trial, and adopts those that reduce the
        cycles of the layers around them."""
        waiting = [m for m in state.space.moves(state.plan) if not self._fixed & set(m.layers)]
        moves = [(move, state.space.around(state.plan, move.layers)) for move in waiting]
        good: list[tuple[int, Move]] = []
        while moves and self.effort.left:
            rounds = [_disjoint(moves) for _ in range(self.runner.capacity)]
            rounds = [some for some in rounds if some]
            setups = [_with_moves(state.best.setup, some) for some in rounds]
            for some, setup, trial in zip(rounds, setups, self.trials(setups), strict=True):
                self._adopt(setup, trial)
                if trial.refused:
                    named = [one for one in some if set(one[0].layers) & set(trial.layers)]
                    moves += [one for one in some if named and one not in named]
                    continue
                gains = [(_cycles_of(state.best.trial, one[1]) - _cycles_of(trial, one[1]), one) for one in some]
                good += [(gain, one) for gain, one in gains if gain > 0]
        joined = _disjoint([one for _, one in sorted(good, key=lambda pair: -pair[0])])
        if joined and self.effort.left:
            setup = _with_moves(state.best.setup, joined)
            (trial,) = self.trials([setup])
            self._adopt(setup, trial)

    @cached_property
    def _fixed(self) -> set[str]:
        """Layers pinned by the user."""
        graph = prepared(subject_of(self.task.model).graph, self.task.settings).whole
        layers = {n: (op.name, graph.short_name(op)) for n, op in zip(graph.numbers, graph.ops, strict=True)}
        return {one_layer(layers, layer, "option kernel") for layer in self.task.settings.kernels}


Move = tuple[KernelChoice, set[str]]
"""A structural change: a kernel, and the layers around it that may change with it."""


def _turned(space: Space, costs: Costs, piece: PlanPiece) -> list[KernelChoice]:
    """Variants of a piece's best kernels with one knob changed (and the better placement of constants), and kernels
    that only fit with other knobs."""
    known = sorted(((n, one) for n, one in costs[piece.layers].values() if one is not None), key=lambda pair: pair[0])
    least = min(cycles for cycles, _ in costs[piece.layers].values())
    families: dict[str, KernelChoice] = {}
    for cycles, one in known:
        if not one.knobs and cycles <= CLOSE * least and space.knobs(piece, one.family):
            families.setdefault(one.family, one)
    some = [*list(families.values())[:FAMILIES], *space.refused(piece)]
    return [turned for one in some for turned in space.turned(piece, one)]


def _combinations(space: Space, costs: Costs, piece: PlanPiece) -> list[KernelChoice]:
    """Variants of a piece's best kernel with several knobs changed: all combinations if few, else those of values that
    individually beat the default."""
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


def _disjoint(moves: list[Move]) -> list[Move]:
    """Takes moves that affect disjoint layers out of the list."""
    taken: set[str] = set()
    some = []
    for move in list(moves):
        if not taken & move[1]:
            taken |= move[1]
            some.append(move)
            moves.remove(move)
    return some


def _with_moves(setup: Setup, moves: Sequence[Move]) -> Setup:
    """A setup with moves applied; pins of layers around them are dropped, so that the planner chooses."""
    free = {layer for _, around in moves for layer in around}
    kept = {layer: pin for layer, pin in setup.kernels.items() if layer not in free}
    return replace(setup, kernels=kept).pinned(_pins(move for move, _ in moves))


def _joined(one: Setup, base: Setup, other: Setup) -> Setup:
    """A setup with another one's model-wide changes against a base."""
    changes = {name: getattr(other, name) for name in SHARED if getattr(other, name) != getattr(base, name)}
    joined = replace(one, **changes)
    return joined.without_places() if joined.place_constants == RAM else joined


def _cycles_of(trial: TuningTrial, layers: set[str]) -> int:
    return sum(time.cycles for time in trial.times if layers & set(time.layers))
