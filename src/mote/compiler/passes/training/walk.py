"""The walk back from a loss through a model's operators, which adds their gradients, for any element type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mote.base.errors import MoteError
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType

Gradients = dict[int, int]
"""The tensors of gradients, by input position of an operator."""
Rules = Mapping[type[Op], Callable[[Any, Any, int, Collection[int]], Gradients]]
"""By class of operator: a function that adds the gradients of wanted inputs to a tape, from the gradient of the
output."""
REMEDY = "let only layers behind it learn, or replace it by one with a gradient"


class BackwardWalk:
    """The backward pass: from the last operator to the first, along tensors that depend on what learns. Each constant
    that learns is updated as soon as its gradient is complete and nothing reads it any more."""

    rules: Rules
    takes: DType
    """The element type of tensors that have gradients."""
    other_types: str
    """The remedy in errors about tensors of other types."""

    def __init__(self, graph: Graph, tape: Tape, learned: frozenset[int]) -> None:
        self.graph = graph
        self.tape = tape
        self.learned = learned
        self.gradients: dict[int, int] = {}
        """The gradients so far, by tensor."""
        self.complete: dict[int, int] = {}
        """The complete gradients, by tensor."""
        self.needed = _needed(graph, learned)

    def run(self, judged: int, gradient: int) -> None:
        """Adds all gradients and updates, starting from the gradient of the tensor that the loss is computed from."""
        self.gradients[judged] = gradient
        first = {i: min(self.graph.places[id(op)] for op in self.graph.consumers[i]) for i in self.learned}
        for place, op in reversed(list(enumerate(self.graph.ops))):
            self.tape.at = op
            self._back(op)
            for weights in sorted(i for i in self.learned if first[i] == place):
                self.update(op, weights, self._gradient_of(op, weights))

    def before_activation(self, op: Op, gradient: int) -> int:
        """The gradient of the output before the fused activation."""
        raise NotImplementedError

    def total(self, tensor: int, first: int, second: int) -> int:
        """The sum of two gradients of a tensor."""
        raise NotImplementedError

    def update(self, op: Op, weights: int, gradient: int) -> None:
        """Adds the operators that update a constant that learns, which `op` reads."""
        raise NotImplementedError

    def _back(self, op: Op) -> None:
        """Adds the gradients of an operator's inputs that depend on what learns."""
        gradients = [self.gradients.pop(out, None) for out in op.outputs]
        self.complete |= {out: g for out, g in zip(op.outputs, gradients, strict=True) if g is not None}
        wanted = [p for p, i in enumerate(op.inputs) if i in self.needed]
        if not wanted or all(gradient is None for gradient in gradients):
            return
        rule = self.rules.get(type(op))
        if rule is None or gradients[0] is None:
            raise MoteError(f"there is no {self.takes} gradient of {op.kind}", where=op.where, remedy=REMEDY)
        self._check_types(op)
        made = rule(self.tape, op, self.before_activation(op, gradients[0]), frozenset(wanted))
        for position in wanted:
            tensor = op.inputs[position]
            before, new = self.gradients.get(tensor), made[position]
            self.gradients[tensor] = new if before is None else self.total(tensor, before, new)

    def _check_types(self, op: Op) -> None:
        """Refuses gradients through tensors of other types; biases may have a type of their own."""
        positions = [p for p, i in enumerate(op.inputs) if i != ABSENT and not (p == 2 and op.weights is not None)]
        tensors = [self.graph.tensors[i] for i in (*(op.inputs[p] for p in positions), *op.outputs)]
        other = next((t for t in tensors if t.dtype != self.takes), None)
        if other is not None:
            reason = f"there is no gradient through tensor '{other.name}' of {other.dtype}: training takes {self.takes}"
            raise MoteError(reason, where=op.where, remedy=self.other_types)

    def _gradient_of(self, op: Op, weights: int) -> int:
        gradient = self.gradients.pop(weights, None)
        if gradient is None:
            reason = f"the loss does not depend on tensor '{self.graph.tensors[weights].name}', which should learn"
            remedy = "let layers learn that the model's first output is computed with"
            raise MoteError(reason, where=op.where, remedy=remedy)
        self.complete[weights] = gradient
        return gradient


def check_learned(graph: Graph, learned: Collection[int], *types: DType) -> None:
    """Refuses tensors that cannot learn: all except constants of `types` that operators read."""
    names = " or ".join(types)
    remedy = f"choose {names} weights or biases of layers"
    if not learned:
        raise MoteError("nothing learns", where=f"graph '{graph.name}'", remedy=remedy)
    for i in sorted(learned):
        t = graph.tensors.get(i)
        if t is None or t.data is None or i not in graph.consumers:
            name = i if t is None else f"'{t.name}'"
            reason = f"tensor {name} cannot learn: it is no constant that a layer reads"
            raise MoteError(reason, where=f"graph '{graph.name}'", remedy=remedy)
        if t.dtype not in types:
            op = graph.consumers[i][0]
            raise MoteError(f"tensor '{t.name}' of {t.dtype} cannot learn", where=op.where, remedy=remedy)


def _needed(graph: Graph, learned: frozenset[int]) -> frozenset[int]:
    """The tensors that depend on what learns, and so need gradients."""
    needed = set(learned)
    for op in graph.ops:
        if not needed.isdisjoint(op.inputs):
            needed.update(op.outputs)
    return frozenset(needed)
