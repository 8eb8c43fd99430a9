"""Sparse updates: the weights and biases that learn within budgets of RAM, flash and cycles, `--train auto:RAM=64K`.

Every bias and every layer's weights, whole or some output channels of them, are ranked by what they gain on training
data for each byte that they take. As many of the best as budgets allow learn, by the plan of each number of them that
is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.compiler.settings import Settings
from mote.compiler.training import samples_of
from mote.errors import BudgetError, MoteError
from mote.graph import Graph, Op
from mote.graph.types import DType, StateRole
from mote.ops.common import BIAS, WEIGHTS
from mote.ops.windows.depthwise import DepthwiseConv2D
from mote.passes.training.choice import LAYERS, constants, on_the_way
from mote.passes.training.sensitivity import Gains, gains
from mote.passes.training.spec import WHERE, Auto, parsed, stated
from mote.passes.training.trained import default_loss
from mote.plan.plan import Plan
from mote.plan.selection.estimate import estimate
from mote.progress import Say, silent

SHARES = (8, 4, 2)
"""Channels that may learn by themselves are an eighth, a quarter or a half of a layer's."""
BIAS_ITEM = "[bias]"
LEAST_CHANNELS = 16
"""The fewest channels of a layer that is divided."""
Planned = Callable[[Settings], Plan]


@dataclass(frozen=True)
class CandidateToLearn:
    """A bias, weights, or some channels of them: what `--train` calls it, what it gains and what it takes."""

    layer: int
    what: str
    """`[bias]`, `[weights]` or the channels `[first:end]`."""
    gain: float
    state: int
    """Bytes of its state."""
    read: int = 0
    """Bytes of the activations that a step of it reads."""

    @property
    def worth(self) -> float:
        return self.gain / (self.state + self.read)


def settled(graph: Graph, settings: Settings, planned: Planned, say: Say = silent) -> Settings:
    """The settings with what budgets choose in the place of the budgets; other settings as they are."""
    spec = parsed(settings.train) if settings.train else None
    if not isinstance(spec, Auto):
        return settings
    if not settings.train_data:
        remedy = "give samples with labels: --train-data"
        raise MoteError("what gains most is not known without training data", where=WHERE, remedy=remedy)
    ranked = sorted(_candidates(graph, spec, settings), key=lambda c: -c.worth)
    alone = planned(replace(settings, train="", train_data=""))
    limits = _limited(settings, spec, alone)
    best, low, high = None, 0, _within(ranked, spec)
    count = high
    while low < high:
        say(f"training: the plan of {count} of {len(ranked)} candidates")
        tried = replace(limits, train=stated(_items(ranked[:count]), spec))
        if _fits(tried, spec, planned, alone):
            best, low = tried, count
        else:
            high = count - 1
        count = (low + high + 1) // 2
    if best is None:
        first = f"{ranked[0].layer}{ranked[0].what}"
        raise BudgetError(
            f"not even {first} can learn within the budgets",
            where=WHERE,
            remedy="give more RAM, flash or cycles, or a learner without gradients: --train prototype",
        )
    return best


def _within(ranked: Sequence[CandidateToLearn], spec: Auto) -> int:
    """How many candidates can fit at all: their states take RAM, and flash when they are saved."""
    limits = [limit for limit in (spec.ram, spec.flash) if limit is not None]
    sizes = [sum(c.state for c in _last(ranked[: n + 1])) for n in range(len(ranked))]
    return sum(all(size <= limit for limit in limits) for size in sizes)


def _limited(settings: Settings, spec: Auto, alone: Plan) -> Settings:
    """The settings with the RAM of an inference and the budget above it, for the fastest plan within."""
    if spec.ram is None or settings.least_ram:
        return settings
    limit = alone.ram + spec.ram
    return replace(settings, ram=limit if settings.ram is None else min(settings.ram, limit))


def _fits(settings: Settings, spec: Auto, planned: Planned, alone: Plan) -> bool:
    try:
        plan = planned(settings)
    except BudgetError:
        return False
    saved = sum(s.initial.nbytes for s in plan.graph.states if s.role is StateRole.LEARNED)
    return (
        (spec.ram is None or plan.ram - alone.ram <= spec.ram)
        and (spec.flash is None or saved <= spec.flash)
        and (spec.cycles is None or estimate(settings.costs, plan) <= spec.cycles)
    )


def _items(candidates: Sequence[CandidateToLearn]) -> list[str]:
    return [f"{c.layer}{c.what}" for c in sorted(_last(candidates), key=lambda c: (c.layer, c.what == BIAS_ITEM))]


def _last(candidates: Sequence[CandidateToLearn]) -> Collection[CandidateToLearn]:
    """The candidates without those that others have in them: the last one of each layer's weights has all before."""
    return {(c.layer, c.what == BIAS_ITEM): c for c in candidates}.values()


def _candidates(graph: Graph, spec: Auto, settings: Settings) -> Iterator[CandidateToLearn]:
    layers = [op for op in on_the_way(graph) if isinstance(op, LAYERS)]
    learning = [i for op in layers for i in constants(graph, op) if _learns(graph, i)]
    gained = gains(graph, learning, spec.loss or default_loss(graph), samples_of(graph, spec, settings.train_data))
    for op in layers:
        layer = graph.layer_of(op)
        for i in op.inputs[BIAS:]:
            if i in gained:
                yield CandidateToLearn(layer, BIAS_ITEM, float(gained[i].sum()), graph.tensors[i].nbytes)
        if op.inputs[WEIGHTS] in gained:
            yield from _weights(graph, op, layer, gained[op.inputs[WEIGHTS]])


def _learns(graph: Graph, constant: int) -> bool:
    t = graph.tensors[constant]
    return t.dtype in (DType.FLOAT32, DType.INT8, DType.INT32) and len(graph.consumers[constant]) == 1


def _weights(graph: Graph, op: Op, layer: int, gained: Gains) -> Iterator[CandidateToLearn]:
    """All of a layer's weights, or those of the channels that gain most side by side; each larger part has the smaller
    ones in it."""
    nbytes, read = op.input(graph, WEIGHTS).nbytes, op.input(graph).nbytes
    part = range(len(gained))
    yield CandidateToLearn(layer, "[weights]", float(gained.sum()), nbytes, read)
    if isinstance(op, DepthwiseConv2D) or len(gained) < LEAST_CHANNELS:
        return
    for share in reversed(SHARES):
        count = len(gained) // share
        sums = [float(gained[a : a + count].sum()) for a in range(part.start, part.stop - count + 1)]
        first = part.start + int(np.argmax(sums))
        part = range(first, first + count)
        yield CandidateToLearn(layer, f"[{part.start}:{part.stop}]", max(sums), nbytes // share, read)
