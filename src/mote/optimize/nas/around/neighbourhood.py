"""Search space around a float model: fewer channels and blocks, smaller kernels, sparse weights, other precisions.

A choice lists only the decisions that differ from the model; the empty choice is the model itself."""

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
from mote.optimize.nas.around.sparsity import SHARES, Energies, energies, sparse, sparse_layers, weights_kept
from mote.optimize.nas.around.widths import Ranks, families, narrowed, ranks, width_values
from mote.optimize.nas.family import Choice
from mote.optimize.nas.spaces.options import PRECISIONS

WIDTH, DEPTH, KERNEL, PRECISION, SPARSITY = "width", "depth", "kernel", "precision", "sparsity"
"""Kinds of decisions; a decision is named `LAYER.KIND`."""
PRUNE = "prune"
"""Mutation that narrows all layers at once, in the pruning order of `mote prune`."""
RARE = 0.25
"""Probability that a random choice changes a decision (beyond pruning)."""


@dataclass(frozen=True)
class LayerDecision:
    """A decision about one layer, one block, or a family of layers with tied channels."""

    kind: str
    tensor: int
    """Output tensor of the layer or block."""
    values: tuple[Any, ...]
    """Values to choose from; the last one is the unchanged model's."""

    @property
    def default(self) -> Any:
        """The value of the unchanged model."""
        return self.values[-1]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The search space around a float graph in normal form."""

    graph: Graph
    grouping: ChannelGroups
    steps: tuple[RemovalStep, ...]
    """Pruning schedule: channels in order of removal, by importance per cost."""
    energies: Energies
    """Mean squares of layer inputs, which decide the blocks of weights to set to zero."""
    precisions: Sequence[Precision] = PRECISIONS
    """Precisions to choose from; int8 is the default of every layer."""

    @classmethod
    def of(
        cls, graph: Graph, cases: Cases, prices: Prices, precisions: Sequence[Precision] = PRECISIONS
    ) -> Neighbourhood:
        """The search space around a graph; channel importance is measured on calibration data, `prices` are operator
        costs by output tensor."""
        tied, seen = groups(graph), grams(graph, cases)
        steps = order(graph, tied, seen, sensitivities(graph, seen, cases), prices) if tied.families else []
        return cls(graph, tied, tuple(steps), energies(seen), precisions)

    @cached_property
    def importance(self) -> Ranks:
        return ranks(self.grouping, self.steps)

    @cached_property
    def blocks(self) -> dict[str, RemovableBlock]:
        """Removable blocks by decision name."""
        by_end = {block.end: block for block in removable_blocks(self.graph)}
        return {name: by_end[decision.tensor] for name, decision in self.decisions.items() if decision.kind == DEPTH}

    @cached_property
    def decisions(self) -> dict[str, LayerDecision]:
        """All decisions by name, in execution order."""
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
            of_layer = {
                f"{name}.{kind}": LayerDecision(kind, t, some) for kind, some in values.items() if len(some) > 1
            }
            decisions |= of_layer
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
        """The float graph of a choice, with the model's remaining weights; tensor ids and operator indices stay those
        of the model."""
        gone = [self.blocks[name] for name, value in choice.items() if self.decisions[name].kind == DEPTH and not value]
        graph = without_blocks(self.graph, gone)
        sizes = {t: size for t, size in self._values(choice, KERNEL).items() if t in graph.producers}
        graph = with_kernels(graph, sizes) if sizes else graph
        graph = narrowed(graph, self._values(choice, WIDTH), self.importance)
        return sparse(self.graph, graph, self._values(choice, SPARSITY), self.energies)

    def masks_of(self, choice: Choice, graph: Graph) -> dict[int, Mask]:
        """Masks of the weights that are kept in the choice's sparse layers, by output tensor."""
        return weights_kept(graph, self._values(choice, SPARSITY))

    def layers_of(self, choice: Choice) -> dict[int, Precision]:
        """Precisions other than int8, by operator index."""
        chosen = self._values(choice, PRECISION)
        return {self.graph.producers[t].index: Precision(value) for t, value in chosen.items()}

    def _values(self, choice: Choice, kind: str) -> dict[int, Any]:
        named = {name: self.decisions[name] for name in choice}
        return {decision.tensor: choice[name] for name, decision in named.items() if decision.kind == kind}

    def smallest(self) -> Choice:
        """The smallest network: minimum widths and kernels, all removable blocks removed; weights stay dense and
        int8."""
        others = [name for name, decision in self.decisions.items() if decision.kind not in (PRECISION, SPARSITY)]
        return self._effective({name: self.decisions[name].values[0] for name in others})

    def pruned(self, number: int) -> Choice:
        """The choice after the first `number` removals of the pruning schedule."""
        gone = Counter(self.grouping.family[group] for step in self.steps[:number] for group in step.groups)
        numbers = families(self.graph, self.grouping)
        widths = {}
        for name, decision in self.decisions.items():
            if decision.kind == WIDTH:
                number_of_family = numbers[decision.tensor]
                widths[name] = len(self.grouping.families[number_of_family]) - gone[number_of_family]
        return self._effective(widths)

    def random(self, rng: Random) -> Choice:
        """A randomly pruned model with random changes of other decisions."""
        choice = dict(self.pruned(rng.randrange(len(self.steps) + 1)))
        widths_only = rng.random() < 0.5
        for name, decision in self.decisions.items():
            if (decision.kind == WIDTH or not widths_only) and rng.random() < RARE:
                choice[name] = rng.choice(decision.values)
        return self._effective(choice)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        """A choice with one decision changed at random, or pruned further."""
        names = list(self._effective_names(choice))
        kinds = sorted({self.decisions[name].kind for name in names})
        last = len(self.steps)
        further = self._narrower(choice, self.pruned(last))
        move = rng.choice([*kinds, PRUNE] if further else kinds)
        if move == PRUNE:
            narrower = self._narrower(choice, self.pruned(rng.randrange(1, last + 1))) or further
            return self._effective({**choice, **narrower})
        name = rng.choice([name for name in names if self.decisions[name].kind == move])
        decision = self.decisions[name]
        now = choice.get(name, decision.default)
        return self._effective({**choice, name: rng.choice([value for value in decision.values if value != now])})

    def _narrower(self, choice: Choice, pruned: Choice) -> Choice:
        """Widths of a pruned model that are below those of a choice."""
        return {name: width for name, width in pruned.items() if width < choice.get(name, self.decisions[name].default)}

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        """Uniform crossover of two choices."""
        names = [name for name in self.decisions if name in one or name in other]
        chosen = {name: rng.choice((one, other)).get(name, self.decisions[name].default) for name in names}
        return self._effective(chosen)

    def _effective(self, choice: Choice) -> Choice:
        """The choice without decisions that have no effect, in execution order."""
        names = self._effective_names(choice)
        return {name: choice[name] for name in names if name in choice and choice[name] != self.decisions[name].default}

    def _effective_names(self, choice: Choice) -> Iterator[str]:
        """Names of decisions that still have an effect: not about layers of removed blocks."""
        gone = [self.blocks[name] for name in self.blocks if not choice.get(name, True)]
        for name, decision in self.decisions.items():
            outer = (block for block in gone if decision.tensor in block.inner)
            if not any(decision.kind != DEPTH or block.end != decision.tensor for block in outer):
                yield name

    def described(self, choice: Choice) -> str:
        """One-line summary: channels and blocks that are left, and layers with other kernels or precisions."""
        parts = []
        widths = {
            name: decision.default
            for name in self._effective_names(choice)
            if (decision := self.decisions[name]).kind == WIDTH
        }
        left = sum(choice.get(name, default) for name, default in widths.items())
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
    """Operators with unique short names; duplicates get a number."""
    seen: Counter[str] = Counter()
    for op in graph.ops:
        name = graph.short_name(op)
        seen[name] += 1
        yield op, name if seen[name] == 1 else f"{name}-{seen[name]}"


def numbered(graph: Graph, layers: Mapping[int, Precision]) -> tuple[Graph, dict[int, Precision]]:
    """The graph with operators renumbered by position, and the precisions by the new indices."""
    places = {op.index: place for place, op in enumerate(graph.ops)}
    named = {place: graph.layers[index] for index, place in places.items() if index in graph.layers}
    ops = [op.with_(index=place) for place, op in enumerate(graph.ops)]
    return replace(graph, layers=named).with_ops(ops), {
        places[index]: precision for index, precision in layers.items() if index in places
    }
