"""Sparse updates: the weights and biases that learn within budgets of RAM, flash and cycles, `--train auto:RAM=64K`.

Gradients cost RAM and cycles back to the first layer that learns, whatever it is that learns there, and biases hardly
more than that. So the biases of as many of the last layers learn as budgets allow, and with them the weights of these
layers, whole or some output channels, that add most to the gain on training data for each byte that they take: as many
as add to it, and as the plans allow. The same with half as many layers leaves more to weights, and is taken where it
gains clearly more.

Plans within a tight budget of RAM can be slow. Where cycles have no budget, it is that of three inferences: about what
an inference and the gradients of all its activations and weights take.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mote.base.errors import BudgetError, MoteError, RamError
from mote.base.progress import Say, silent
from mote.compiler.passes.training.choice import LAYERS, constants, on_the_way
from mote.compiler.passes.training.sensitivity import Products, SampleGradients, gain, reached, sample_gradients
from mote.compiler.passes.training.spec import WHERE, Auto, ChosenLayers
from mote.compiler.passes.training.trained import default_loss
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings
from mote.compiler.training.with_training import samples
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

SHARES = (8, 4, 2)
"""Channels that may learn by themselves are an eighth, a quarter or a half of a layer's."""
BIAS_ITEM = "[bias]"
LEAST_CHANNELS = 16
"""The fewest channels of a layer that is divided."""
MOST_TRIES = 8
"""The limits of bytes that are tried to find how many weights fit beside the first of layers."""
CLEAR = 1.1
"""How many times the gain is another one that is more than the noise of a few hundred samples."""
SLOWEST = 3.0
"""How many inferences a step with its inference may take where no budget of cycles is given."""
Planned = Callable[[Settings], Plan]
"""Plans a model by settings."""
Bounded = Callable[[Settings], float]
"""A lower bound for the cost of that plan, in a fraction of the time."""


@dataclass(frozen=True, eq=False)
class CandidateToLearn:
    """A bias, weights, or some channels of them: what `--train` calls it, its gradients and what it takes."""

    layer: int
    what: str
    """`[bias]`, `[weights]` or the channels `[first:end]`."""
    products: Products
    """Dot products of its gradients for any two samples."""
    state: int
    """Bytes of its state."""
    read: int = 0
    """Bytes of the activations that a step of it reads."""

    @property
    def is_bias(self) -> bool:
        return self.what == BIAS_ITEM


def settled(graph: Graph, settings: Settings, planned: Planned, bounded: Bounded, say: Say = silent) -> Settings:
    """The settings with what budgets choose in the place of the budgets; other settings as they are."""
    spec = settings.train
    if not isinstance(spec, Auto):
        return settings
    if settings.train_data is None:
        remedy = "give samples with labels: --train-data"
        raise MoteError("what gains most is not known without training data", where=WHERE, remedy=remedy)
    alone = planned(replace(settings, train=None, train_data=None))
    candidates = list(_candidates(graph, spec, settings))
    cycles = SLOWEST * estimate(settings.costs, alone) if spec.cycles is None else spec.cycles
    search = SparseUpdateSearch(_limited(settings, spec, alone), spec, alone.ram, cycles, planned, bounded, say)
    best = search.best(candidates)
    if best is None:
        raise BudgetError(
            "nothing that gains from training can learn within the budgets",
            where=WHERE,
            remedy="give more RAM, flash or cycles, or a learner without gradients: --train prototype",
        )
    return best


@dataclass(frozen=True)
class TriedUpdate:
    """Something that could learn, by its plan."""

    settings: Settings
    fits: bool
    """Whether all budgets are kept."""
    lacking: int = 0
    """Bytes of RAM or flash that it takes above the budgets, if these are known."""


@dataclass(frozen=True)
class SparseUpdateSearch:
    """The search for what learns."""

    settings: Settings
    spec: Auto
    ram: int
    """The RAM of an inference that learns nothing."""
    cycles: float
    """The most that a step may take."""
    planned: Planned
    bounded: Bounded
    say: Say
    known: dict[ChosenLayers, TriedUpdate] = field(default_factory=dict)
    """The updates that were tried, by what learns."""
    roomy: list[int] = field(default_factory=list)
    """Bytes that updates hold whose plans RAM holds."""

    def best(self, candidates: Sequence[CandidateToLearn]) -> Settings | None:
        """The settings of the best that learns; None where nothing can."""
        layers = sorted({c.layer for c in candidates}, reverse=True)
        deepest = _most(len(layers), lambda count: self._tried(_first(candidates, layers[:count])).fits)
        if not deepest:
            return None
        best = self._with_weights(candidates, layers[:deepest])
        if deepest > 1:
            half = self._with_weights(candidates, layers[: deepest // 2])
            best = half if self._tried(half).fits and _gain(half) > CLEAR * _gain(best) else best
        return self._tried(best).settings

    def _with_weights(
        self, candidates: Sequence[CandidateToLearn], layers: Collection[int]
    ) -> Sequence[CandidateToLearn]:
        """The first of layers, and as many of their weights as can learn with them. What a plan lacks says how many
        bytes fewer the next one should have to hold."""
        best = first = _first(candidates, layers)
        weights = _in_order([c for c in candidates if c.layer in layers and not c.is_bias], first)
        low, high = float(_held(first)), float(_held([*first, *weights]))
        limit = high if self.spec.ram is None else min(high, self.ram + self.spec.ram)
        for _ in range(MOST_TRIES):
            chosen = [*first, *_affordable(weights, first, limit, self.spec.flash)]
            held, tried = _held(chosen), self._tried(chosen)
            if tried.fits:
                best, low = max(best, chosen, key=_gain), limit
            else:
                high = held
            limit = held - tried.lacking
            limit = limit if low < limit < high else (low + high) / 2
        return best

    def _tried(self, candidates: Sequence[CandidateToLearn]) -> TriedUpdate:
        train = _train(candidates, self.spec)
        if train not in self.known:
            self.known[train] = self._judged(replace(self.settings, train=train), candidates)
        return self.known[train]

    def _judged(self, settings: Settings, candidates: Sequence[CandidateToLearn]) -> TriedUpdate:
        held, count = _held(candidates), len(_largest(candidates))
        if self.spec.flash is None and held <= max(self.roomy, default=-1) and self.bounded(settings) > self.cycles:
            self.say(f"training: {count} weights and biases take too many cycles in any plan")
            return TriedUpdate(settings, fits=False)
        self.say(f"training: the plan of {count} weights and biases")
        try:
            plan = self.planned(settings)
        except RamError as error:
            return TriedUpdate(settings, fits=False, lacking=error.missing)
        except BudgetError:
            return TriedUpdate(settings, fits=False)
        saved = sum(s.initial.nbytes for s in plan.graph.states if s.role is StateRole.LEARNED)
        needs = (self.spec.ram, plan.ram - self.ram), (self.spec.flash, saved)
        lacking = max([0, *(need - limit for limit, need in needs if limit is not None)])
        self.roomy.append(held)
        fast = estimate(settings.costs, plan) <= self.cycles
        return TriedUpdate(settings, fits=fast and not lacking, lacking=lacking)


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `count` that fits, where all smaller ones do, too; 0 always does."""
    low, high, tried = 0, count, count
    while low < high:
        if fits(tried):
            low = tried
        else:
            high = tried - 1
        tried = (low + high + 1) // 2
    return low


def _gain(candidates: Iterable[CandidateToLearn]) -> float:
    """The gain of all of them together."""
    return gain(sum((c.products for c in _largest(candidates)), np.zeros(())))


def _held(candidates: Iterable[CandidateToLearn]) -> int:
    """Bytes that a step has to hold at its begin: the states of what learns, and the activations that it reads."""
    return sum(c.state + c.read for c in _largest(candidates))


def _first(candidates: Iterable[CandidateToLearn], layers: Collection[int]) -> list[CandidateToLearn]:
    """The biases of layers; of a layer without one the fewest of its weights."""
    first: dict[int, CandidateToLearn] = {}
    for c in sorted(candidates, key=lambda c: (not c.is_bias, c.state)):
        if c.layer in layers:
            first.setdefault(c.layer, c)
    return list(first.values())


def _in_order(weights: Sequence[CandidateToLearn], first: Sequence[CandidateToLearn]) -> Sequence[CandidateToLearn]:
    """Weights that add to what all before them gain, the one first that adds most for each byte that it takes."""
    chosen: list[CandidateToLearn] = []
    while True:
        held, gained = _held([*first, *chosen]), _gain([*first, *chosen])
        best, most = None, 0.0
        for candidate in weights:
            more = [*first, *chosen, candidate]
            if (taken := _held(more) - held) > 0 and (worth := (_gain(more) - gained) / taken) > most:
                best, most = candidate, worth
        if best is None:
            return chosen
        chosen.append(best)


def _affordable(
    weights: Iterable[CandidateToLearn], first: Sequence[CandidateToLearn], ram: float, flash: int | None
) -> list[CandidateToLearn]:
    """Weights in their order, without those that RAM or flash cannot hold beside all before them."""
    chosen: list[CandidateToLearn] = []
    for candidate in weights:
        before, after = (_largest([*first, *chosen, *more]) for more in ((), (candidate,)))
        if _held(before) < _held(after) <= ram and (flash is None or sum(c.state for c in after) <= flash):
            chosen.append(candidate)
    return chosen


def _largest(candidates: Iterable[CandidateToLearn]) -> Collection[CandidateToLearn]:
    """The candidates without those that larger ones of the same layer have in them."""
    largest: dict[tuple[int, bool], CandidateToLearn] = {}
    for c in candidates:
        key = c.layer, c.is_bias
        largest[key] = max(c, largest.get(key, c), key=lambda one: one.state)
    return largest.values()


def _limited(settings: Settings, spec: Auto, alone: Plan) -> Settings:
    """The settings with the RAM of an inference and the budget above it, for the fastest plan within."""
    if spec.ram is None or settings.least_ram:
        return settings
    limit = alone.ram + spec.ram
    return replace(settings, ram=limit if settings.ram is None else min(settings.ram, limit))


def _train(candidates: Iterable[CandidateToLearn], spec: Auto) -> ChosenLayers:
    """The weights and biases that learn."""
    return spec.chosen([f"{c.layer}{c.what}" for c in sorted(_largest(candidates), key=lambda c: (c.layer, c.is_bias))])


def _candidates(graph: Graph, spec: Auto, settings: Settings) -> Iterator[CandidateToLearn]:
    loss = spec.loss or default_loss(graph)
    behind = reached(graph, loss)
    layers = [op for op in on_the_way(graph) if isinstance(op, LAYERS) and op in behind]
    learning = [i for op in layers for i in constants(graph, op) if _learns(graph, i)]
    if not learning:
        remedy = "choose a learner without gradients: --train prototype"
        raise MoteError("there is no gradient of any layer's weights", where=WHERE, remedy=remedy)
    assert settings.train_data is not None
    known = sample_gradients(graph, learning, loss, samples(graph, spec, settings.train_data))
    for op in layers:
        layer = graph.layer_of(op)
        for i in op.inputs[BIAS:]:
            if i in known:
                yield CandidateToLearn(layer, BIAS_ITEM, known[i].products(), graph.tensors[i].nbytes)
        if op.inputs[WEIGHTS] in known:
            yield from _weights(graph, op, layer, known[op.inputs[WEIGHTS]])


def _learns(graph: Graph, constant: int) -> bool:
    t = graph.tensors[constant]
    return t.dtype in (DType.FLOAT32, DType.INT8, DType.INT32) and len(graph.consumers[constant]) == 1


def _weights(graph: Graph, op: Op, layer: int, own: SampleGradients) -> Iterator[CandidateToLearn]:
    """All of a layer's weights, or those of the channels that gain most side by side; each larger part has the smaller
    ones in it."""
    channels, nbytes, read = own.channels, op.input(graph, WEIGHTS).nbytes, op.input(graph).nbytes
    yield CandidateToLearn(layer, "[weights]", own.products(), nbytes, read)
    if isinstance(op, DepthwiseConv2D) or channels < LEAST_CHANNELS:
        return
    part = range(channels)
    for share in reversed(SHARES):
        count = channels // share
        parts = [range(first, first + count) for first in range(part.start, part.stop - count + 1, max(count // 2, 1))]
        part, products = max(((p, own.products(p)) for p in parts), key=lambda tried: gain(tried[1]))
        yield CandidateToLearn(layer, f"[{part.start}:{part.stop}]", products, nbytes // share, read)
