"""Pins: kernels that a user or a test requires for layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain

from mote.errors import MoteError
from mote.graph import Graph, Op
from mote.graph.region import Numbers
from mote.kernels.contract import Packed
from mote.plan.scheduling.rows import is_alias
from mote.plan.selection.request import Lowering
from mote.plan.selection.select import Offers
from mote.text import did_you_mean

WHERE = "option kernel"


def pinned(known: Offers, pins: Mapping[str, str], how: Lowering) -> Offers:
    """The offers restricted to the pinned kernels (by name or family) of layers (by name or number)."""
    if not pins:
        return known
    ops = known.graph.ops
    graph = known.graph
    numbered = {n: op for n, op in zip(graph.numbers, ops, strict=True) if not is_alias(graph, op)}
    layers = {n: (op.name, graph.short_name(op)) for n, op in numbered.items()}
    chosen = {layer: numbered[one_layer(layers, layer, WHERE)] for layer in pins}
    offers = Pinned(known, {_key(chosen[layer]): kernel for layer, kernel in pins.items()})
    for n, op in enumerate(ops):
        if _key(op) in offers.pins:
            offers.check((n,), how)
    return offers


def one_layer(layers: Mapping[str, Collection[str]], layer: str, where: str) -> str:
    """The number of the layer with a name or number; `layers` are the names of each, by number."""
    if layer in layers:
        return layer
    numbers = [number for number, names in layers.items() if layer in names]
    if len(numbers) > 1:
        raise MoteError(
            f"the layers {', '.join(numbers)} are all called '{layer}'", where=where, remedy="give the number"
        )
    if not numbers:
        remedy = f"{did_you_mean(layer, chain(*layers.values()))}`mote plan` lists layers with their numbers"
        raise MoteError(f"there is no layer '{layer}'", where=where, remedy=remedy)
    return numbers[0]


Key = tuple[int, str, str]
"""The identity of an operator in all graphs of a model: index and name of its layer there, and its kind, since one
layer may become several operators."""


def _key(op: Op) -> Key:
    return op.index, op.name, op.kind


class Pinned(Offers):
    """Offers without the kernels that pins exclude. `pins`: the kernel's name or family, by layer."""

    def __init__(self, known: Offers, pins: Mapping[Key, str]) -> None:
        super().__init__(known.graph)
        self.known, self.pins = known, pins

    def of(self, graph: Graph) -> Offers:
        return Pinned(self.known.of(graph), self.pins)

    def regions(self, how: Lowering) -> list[Numbers]:
        return self.known.regions(how)

    def kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        wanted = self.pinned(ops)
        if not wanted:
            return self.known.kernels(ops, how)
        return [k for k in self.everything(ops, how) if all(_is(k, name) for name in wanted)]

    def everything(self, ops: Numbers, how: Lowering) -> list[Packed]:
        return self.known.everything(ops, replace(how, coded=True))

    def adding(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self._unless_excluded(ops, self.known.adding(ops, how))

    def ring(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self._unless_excluded(ops, self.known.ring(ops, how))

    def pinned(self, ops: Numbers) -> set[str]:
        return {self.pins[key] for n in ops if (key := _key(self.graph.ops[n])) in self.pins}

    def _unless_excluded(self, ops: Numbers, kernel: Packed | None) -> Packed | None:
        return kernel if kernel is not None and all(_is(kernel, name) for name in self.pinned(ops)) else None

    def check(self, ops: Numbers, how: Lowering) -> None:
        """Refuses a pin that no kernel of the layer matches, alone or fused with its neighbours."""
        pieces = [ops, *(region for region in self.regions(how) if ops[0] in region)]
        if any(self._all(self, piece, how) for piece in pieces):
            return
        known = (k for piece in pieces for k in self._all(self.known, piece, replace(how, coded=True)))
        choice = dict.fromkeys(k.name if k.family in k.name[:-3] else f"{k.name} ({k.family})" for k in known)
        raise MoteError(
            f"layer '{self.op(ops).name}' has no kernel '{', '.join(self.pinned(ops))}'",
            where=WHERE,
            remedy=f"there is to choose from: {', '.join(choice)}",
        )

    def _all(self, offers: Offers, ops: Numbers, how: Lowering) -> list[Packed]:
        """The kernels of operators, with the first input in the model's layout or in their preferred one."""
        layout = offers.preferred(ops, how)
        planar = [] if layout is None else offers.kernels(ops, replace(how, reads=layout))
        called = (offers.adding(ops, how), offers.ring(ops, how))
        return [*offers.kernels(ops, how), *planar, *(k for k in called if k is not None)]


def _is(kernel: Packed, name: str) -> bool:
    return name in (kernel.name, kernel.family)
