"""Sparse updates: chooses the weights and biases that learn within budgets of RAM, flash and cycles, as for `--train
auto:RAM=64K`.

Gradients cost RAM and cycles back to the first layer that learns, whatever learns there, and biases cost hardly more
than that. So the biases of as many of the last layers learn as budgets allow. Then weights of these layers are added,
all of a layer or some output channels, those first that add most to the gain on training data per byte, as long as they
add to it and plans fit. The same with half as many layers leaves more memory to weights, and is chosen if it gains
clearly more.

Plans within a tight RAM budget can be slow. Without a cycle budget, the limit is three inferences: about the cost of an
inference and of the gradients of all its activations and weights.
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
"""Fractions of a layer's channels that may learn without the others: an eighth, a quarter, a half."""
BIAS_ITEM = "[bias]"
LEAST_CHANNELS = 16
"""Fewest channels of a layer of which only some may learn."""
MOST_TRIES = 8
"""Maximum number of byte limits tried to find how many weights fit in addition to the biases."""
CLEAR = 1.1
"""Factor by which a gain must exceed another to be more than the noise of a few hundred samples."""
SLOWEST = 3.0
"""Default cycle budget of a training step and its inference, in inferences."""
Planned = Callable[[Settings], Plan]
"""Plans a model by settings."""
Bounded = Callable[[Settings], float]
"""A lower bound for the cost of that plan, in a fraction of the time."""


@dataclass(frozen=True, eq=False)
class CandidateToLearn:
    """A bias, all weights of a layer, or some of their channels, which could learn; with gradients and memory."""

    layer: int
    what: str
    """The part of the layer that would learn: `[bias]`, `[weights]` or channels `[first:end]`."""
    products: Products
    """Dot products of its gradients for every pair of samples."""
    state: int
    """Bytes of the state that learns."""
    read: int = 0
    """Bytes of the activations that its gradient reads."""

    @property
    def is_bias(self) -> bool:
        return self.what == BIAS_ITEM


def settled(graph: Graph, settings: Settings, planned: Planned, bounded: Bounded, say: Say = silent) -> Settings:
    """The settings with automatic training (`auto`) replaced by the best choice within its budgets; others
    unchanged."""
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
    """Settings with a set of weights and biases that learn, and how their plan fits."""

    settings: Settings
    fits: bool
    """Whether the plan is within all budgets."""
    lacking: int = 0
    """Bytes of RAM or flash above the budgets, if known."""


@dataclass(frozen=True)
class SparseUpdateSearch:
    """Search for the weights and biases that learn within budgets."""

    settings: Settings
    spec: Auto
    ram: int
    """RAM of the model without training."""
    cycles: float
    """Maximum cycles of a training step and its inference."""
    planned: Planned
    bounded: Bounded
    say: Say
    known: dict[ChosenLayers, TriedUpdate] = field(default_factory=dict)
    """Cache of the planned sets of weights and biases."""
    roomy: list[int] = field(default_factory=list)
    """Bytes of the sets of weights and biases whose plans fit the RAM."""

    def best(self, candidates: Sequence[CandidateToLearn]) -> Settings | None:
        """The settings in which the best set of weights and biases learns; None if no set fits."""
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
        """The biases of layers, with as many of their weights as fit. The bytes that a plan lacks reduce the limit of
        the next one."""
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
    """The largest number up to `count` for which `fits` is true, by bisection; 0 always fits."""
    low, high, tried = 0, count, count
    while low < high:
        if fits(tried):
            low = tried
        else:
            high = tried - 1
        tried = (low + high + 1) // 2
    return low


def _gain(candidates: Iterable[CandidateToLearn]) -> float:
    """The gain if all candidates learn together."""
    return gain(sum((c.products for c in _largest(candidates)), np.zeros(())))


def _held(candidates: Iterable[CandidateToLearn]) -> int:
    """Bytes live at the start of a training step: states that learn, and the activations that their gradients read."""
    return sum(c.state + c.read for c in _largest(candidates))


def _first(candidates: Iterable[CandidateToLearn], layers: Collection[int]) -> list[CandidateToLearn]:
    """The bias of each layer; for a layer without one, its smallest candidate of weights."""
    first: dict[int, CandidateToLearn] = {}
    for c in sorted(candidates, key=lambda c: (not c.is_bias, c.state)):
        if c.layer in layers:
            first.setdefault(c.layer, c)
    return list(first.values())


def _in_order(weights: Sequence[CandidateToLearn], first: Sequence[CandidateToLearn]) -> Sequence[CandidateToLearn]:
    """Weights in greedy order: each adds the largest gain per byte to those before; weights without gain are
    omitted."""
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
    """Weights in their order, without those that exceed RAM or flash together with all before them."""
    chosen: list[CandidateToLearn] = []
    for candidate in weights:
        before, after = (_largest([*first, *chosen, *more]) for more in ((), (candidate,)))
        if _held(before) < _held(after) <= ram and (flash is None or sum(c.state for c in after) <= flash):
            chosen.append(candidate)
    return chosen


def _largest(candidates: Iterable[CandidateToLearn]) -> Collection[CandidateToLearn]:
    """The candidates without those that larger candidates of the same layer contain."""
    largest: dict[tuple[int, bool], CandidateToLearn] = {}
    for c in candidates:
        key = c.layer, c.is_bias
        largest[key] = max(c, largest.get(key, c), key=lambda one: one.state)
    return largest.values()


def _limited(settings: Settings, spec: Auto, alone: Plan) -> Settings:
    """The settings with a RAM limit of an inference plus the training budget, so that the fastest plan within it is
    chosen."""
    if spec.ram is None or settings.least_ram:
        return settings
    limit = alone.ram + spec.ram
    return replace(settings, ram=limit if settings.ram is None else min(settings.ram, limit))


def _train(candidates: Iterable[CandidateToLearn], spec: Auto) -> ChosenLayers:
    """The specification of training in which `candidates` learn."""
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
    """The candidates of a layer: all its weights, and contiguous channels that gain most, each larger part containing
    the smaller ones."""
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
