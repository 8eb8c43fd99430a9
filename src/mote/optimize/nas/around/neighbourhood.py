"""The neighbourhood of a float model: networks with fewer channels, blocks and taps, and other precisions.

A choice names only what differs from the model, so that the empty one is the model itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from mote.compiler.passes.shrinking.removable_channels import Mask
from mote.ir.graph import Graph, Op
from mote.optimize.compress.prune.channels import RemovalStep, order
from mote.optimize.compress.prune.groups import ChannelGroups, groups
from mote.optimize.compress.prune.importance import sensitivities
from mote.optimize.compress.prune.layers import grams
from mote.optimize.compress.prune.schedule import Cases, Prices
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES, Rule, has_weights
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.around.blocks import RemovableBlock, removable_blocks, without_blocks
from mote.optimize.nas.around.kernels import kernel_sizes, with_kernels
from mote.optimize.nas.around.sparsity import SHARES, Energies, energies, sparse, sparse_layers, zeros_kept
from mote.optimize.nas.around.widths import Ranks, families, narrowed, ranks, width_values
from mote.optimize.nas.family import Choice
from mote.optimize.nas.spaces.options import PRECISIONS

WIDTH, DEPTH, KERNEL, PRECISION, SPARSITY = "width", "depth", "kernel", "precision", "sparsity"
"""The kinds of decisions: the last word of their names."""
PRUNE = "prune"
"""The move that narrows all layers at once, in the order in which `mote prune` removes channels."""
RARE = 0.25
"""The probability of each change other than pruning in a random choice."""


@dataclass(frozen=True)
class LayerDecision:
    """What can be chosen for a layer, a block or the layers whose channels are tied."""

    kind: str
    tensor: int
    """The output that it is about."""
    values: tuple[Any, ...]
    """The values to choose from; the last one is the model's own."""

    @property
    def own(self) -> Any:
        """The model's own value."""
        return self.values[-1]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The networks around a float graph in normal form."""

    graph: Graph
    grouping: ChannelGroups
    steps: tuple[RemovalStep, ...]
    """The pruning schedule: channels in the order of their importance for what they cost."""
    energies: Energies
    """Mean squares of the inputs of layers, by which blocks of weights are zero."""
    precisions: Sequence[Precision] = PRECISIONS
    """Precisions that layers may have; int8 is the usual one."""

    @classmethod
    def of(
        cls, graph: Graph, cases: Cases, prices: Prices, precisions: Sequence[Precision] = PRECISIONS
    ) -> Neighbourhood:
        """The neighbourhood of a graph, with the importance of channels on calibration data; `prices` are costs of
        operators, by output."""
        tied, seen = groups(graph), grams(graph, cases)
        steps = order(graph, tied, seen, sensitivities(graph, seen, cases), prices) if tied.families else []
        return cls(graph, tied, tuple(steps), energies(seen), precisions)

    @cached_property
    def importance(self) -> Ranks:
        return ranks(self.grouping, self.steps)

    @cached_property
    def blocks(self) -> dict[str, RemovableBlock]:
        """Removable blocks by the names of their decisions."""
        by_end = {block.end: block for block in removable_blocks(self.graph)}
        return {name: by_end[own.tensor] for name, own in self.decisions.items() if own.kind == DEPTH}

    @cached_property
    def decisions(self) -> dict[str, LayerDecision]:
        """All decisions by name, in the order of layers."""
        graph = self.graph
        ends = {block.end for block in removable_blocks(graph)}
        widths = {t: width_values(len(self.grouping.families[n])) for t, n in families(graph, self.grouping).items()}
        sparse_ones = sparse_layers(graph)
        decisions: dict[str, LayerDecision] = {}
        for op, name in _named(graph):
            t = op.outputs[0]
            values: dict[str, tuple[Any, ...]] = {
                DEPTH: (False, True) if t in ends else (),
                WIDTH: widths.get(t, ()),
                KERNEL: kernel_sizes(graph, op),
                PRECISION: self._precisions(op),
                SPARSITY: SHARES if t in sparse_ones else (),
            }
            own = {f"{name}.{kind}": LayerDecision(kind, t, some) for kind, some in values.items() if len(some) > 1}
            decisions |= own
        return decisions

    def _precisions(self, op: Op) -> tuple[str, ...]:
        family = FAMILIES.get(type(op))
        if family is None or family.rule is not Rule.LAYER or not has_weights(self.graph, op):
            return ()
        possible = [p for p in self.precisions if p.activations in family.types]
        others = [
            p.value for p in possible if p is not Precision.INT8 and (p is not Precision.INT4 or family.four_bits)
        ]
        return (*others, Precision.INT8.value)

    def graph_of(self, choice: Choice) -> Graph:
        """The float graph of a choice, with the weights of the model that are left; tensors keep their ids, operators
        their numbers."""
        gone = [self.blocks[name] for name, value in choice.items() if self.decisions[name].kind == DEPTH and not value]
        graph = without_blocks(self.graph, gone)
        sizes = {t: size for t, size in self._values(choice, KERNEL).items() if t in graph.producers}
        graph = with_kernels(graph, sizes) if sizes else graph
        graph = narrowed(graph, self._values(choice, WIDTH), self.importance)
        return sparse(self.graph, graph, self._values(choice, SPARSITY), self.energies)

    def zeros_of(self, choice: Choice, graph: Graph) -> dict[int, Mask]:
        """Where weights of a choice's graph are not zero, by layers that are sparse."""
        return zeros_kept(graph, self._values(choice, SPARSITY))

    def layers_of(self, choice: Choice) -> dict[int, Precision]:
        """Precisions of layers other than int8, by the numbers of operators."""
        chosen = self._values(choice, PRECISION)
        return {self.graph.producers[t].index: Precision(value) for t, value in chosen.items()}

    def _values(self, choice: Choice, kind: str) -> dict[int, Any]:
        own = {name: self.decisions[name] for name in choice}
        return {decision.tensor: choice[name] for name, decision in own.items() if decision.kind == kind}

    def smallest(self) -> Choice:
        """All that can be is narrow, left out and cut; weights are dense and int8."""
        others = [name for name, own in self.decisions.items() if own.kind not in (PRECISION, SPARSITY)]
        return self._plain({name: self.decisions[name].values[0] for name in others})

    def pruned(self, number: int) -> Choice:
        """A step of the pruning schedule: the widths that `mote prune` leaves after so many removals."""
        gone = Counter(self.grouping.family[group] for step in self.steps[:number] for group in step.groups)
        numbers = families(self.graph, self.grouping)
        widths = {}
        for name, own in self.decisions.items():
            if own.kind == WIDTH:
                number_of_family = numbers[own.tensor]
                widths[name] = len(self.grouping.families[number_of_family]) - gone[number_of_family]
        return self._plain(widths)

    def random(self, rng: Random) -> Choice:
        """A pruned model with some further changes, of which any number of blocks may be one."""
        choice = dict(self.pruned(rng.randrange(len(self.steps) + 1)))
        usual = rng.random() < 0.5
        for name, own in self.decisions.items():
            if (own.kind == WIDTH or not usual) and rng.random() < RARE:
                choice[name] = rng.choice(own.values)
        return self._plain(choice)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        """A choice with one decision changed, or pruned further."""
        names = list(self._open(choice))
        kinds = sorted({self.decisions[name].kind for name in names})
        last = len(self.steps)
        further = self._narrower(choice, self.pruned(last))
        move = rng.choice([*kinds, PRUNE] if further else kinds)
        if move == PRUNE:
            narrower = self._narrower(choice, self.pruned(rng.randrange(1, last + 1))) or further
            return self._plain({**choice, **narrower})
        name = rng.choice([name for name in names if self.decisions[name].kind == move])
        own = self.decisions[name]
        now = choice.get(name, own.own)
        return self._plain({**choice, name: rng.choice([value for value in own.values if value != now])})

    def _narrower(self, choice: Choice, pruned: Choice) -> Choice:
        """The widths of a pruned model that are below those of a choice."""
        return {name: width for name, width in pruned.items() if width < choice.get(name, self.decisions[name].own)}

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        """A choice that has every decision from one of two."""
        names = [name for name in self.decisions if name in one or name in other]
        chosen = {name: rng.choice((one, other)).get(name, self.decisions[name].own) for name in names}
        return self._plain(chosen)

    def _plain(self, choice: Choice) -> Choice:
        """A choice without the decisions that change nothing, in the order of layers."""
        names = self._open(choice)
        return {name: choice[name] for name in names if name in choice and choice[name] != self.decisions[name].own}

    def _open(self, choice: Choice) -> Iterator[str]:
        """Decisions about what is not left out already."""
        gone = [self.blocks[name] for name in self.blocks if not choice.get(name, True)]
        for name, own in self.decisions.items():
            outer = (block for block in gone if own.tensor in block.inner)
            if not any(own.kind != DEPTH or block.end != own.tensor for block in outer):
                yield name

    def described(self, choice: Choice) -> str:
        """A choice in a few words: what is left of channels and blocks, and which layers differ."""
        parts = []
        widths = {name: own.own for name in self._open(choice) if (own := self.decisions[name]).kind == WIDTH}
        left = sum(choice.get(name, own) for name, own in widths.items())
        if left < (whole := sum(widths.values())):
            parts.append(f"{left} of {whole} channels")
        if gone := sum(not choice.get(name, True) for name in self.blocks):
            parts.append(f"{len(self.blocks) - gone} of {len(self.blocks)} blocks")
        if cut := self._values(choice, KERNEL):
            parts.append(f"{len(cut)} smaller kernels" if len(cut) > 1 else "a smaller kernel")
        if thin := self._values(choice, SPARSITY):
            parts.append(f"{len(thin)} sparse layers" if len(thin) > 1 else "a sparse layer")
        for precision, count in sorted(Counter(self._values(choice, PRECISION).values()).items()):
            parts.append(f"{count} layers of {precision}" if count > 1 else f"a layer of {precision}")
        return ", ".join(parts) or "as given"


def _named(graph: Graph) -> Iterator[tuple[Op, str]]:
    """Operators with their short names, numbered where several operators have the same."""
    seen: Counter[str] = Counter()
    for op in graph.ops:
        name = graph.short_name(op)
        seen[name] += 1
        yield op, name if seen[name] == 1 else f"{name}-{seen[name]}"


def numbered(graph: Graph, layers: Mapping[int, Precision]) -> tuple[Graph, dict[int, Precision]]:
    """The graph with operators numbered by their places, and precisions by these numbers."""
    places = {op.index: place for place, op in enumerate(graph.ops)}
    named = {place: graph.layers[index] for index, place in places.items() if index in graph.layers}
    ops = [op.with_(index=place) for place, op in enumerate(graph.ops)]
    return replace(graph, layers=named).with_ops(ops), {
        places[index]: precision for index, precision in layers.items() if index in places
    }
