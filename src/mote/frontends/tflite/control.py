"""IF, WHILE, CALL and STABLEHLO_COMPOSITE: subgraphs of a `.tflite` file become bodies of operators.

Variables that a body reads or assigns go in and out of it as values: what it finds is one more input, what it leaves
one more output. Handles of variables that are passed on stand for the variable, and are no values. What an operator
inside of a body keeps for itself (a variable tensor) is a state of the graph around it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mote.base.errors import UnsupportedError, UnsupportedNodeError
from mote.base.text import printable
from mote.frontends.model import Model
from mote.frontends.remedies import FIXED_LOOPS
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.node import Node
from mote.frontends.tflite.variables import Key, Variables
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.control.control_flow import Control, If, While
from mote.ir.ops.moves.reshape import Reshape

OPERATORS = ("IF", "WHILE", "CALL", "STABLEHLO_COMPOSITE")
CALLED = {"CALL": "subgraph", "STABLEHLO_COMPOSITE": "decomposition_subgraph_index"}
"""Operators that call one subgraph, and the option with its index."""
SHOWN = 3
"""Number of unsupported layers of a body that a message lists."""


@dataclass
class BodySubgraph:
    """A subgraph as read; `tensors` grows until its graph is made."""

    number: int
    model: Model
    tensors: dict[int, Tensor]
    variables: Variables
    handles: dict[int, Key]
    """Outputs that are resource handles of variables, by position."""

    @property
    def keys(self) -> dict[Key, bool]:
        """The variables that it uses, and whether it assigns them."""
        known = self.variables
        return {key: known.before.get(key) != value for key, value in known.held.items()}

    def graph(self, keys: Sequence[Key], assigned: Sequence[Key]) -> Graph:
        """The graph with these variables as inputs after its own, and the assigned ones as outputs after its own.
        Constant outputs are copied, so that every output is computed or an input."""
        known = self.variables
        taken = [known.initial_tensor(key) for key in keys]
        outputs = [*self.model.outputs, *(known.current(key) for key in assigned)]
        copies = {t: self._copy(t) for t in dict.fromkeys(outputs) if self.tensors[t].data is not None}
        model = replace(
            self.model,
            inputs=(*self.model.inputs, *taken),
            outputs=tuple(copies[t].outputs[0] if t in copies else t for t in outputs),
            last=(*self.model.last, *copies.values()),
        )
        try:
            return model.graph()
        except UnsupportedError as error:
            layers = error.layers[:SHOWN]
            named = "; ".join(f"layer {x.index} {x.op} '{x.name}': {x.reason}" for x in layers)
            more = len(error.layers) - len(layers)
            raise UnsupportedNodeError(
                f"subgraph {self.number}: {named}" + (f"; and {more} more layers" if more else "")
            ) from None

    def _copy(self, constant: int) -> Reshape:
        t = self.tensors[constant]
        new = max(self.tensors) + 1
        self.tensors[new] = replace(t, id=new, data=None)
        return Reshape(inputs=(constant,), outputs=(new,), name=t.name, shape=t.shape)


ReadBody = Callable[[int, Sequence[int]], BodySubgraph]
"""Reads a subgraph by its index, for the tensors that it is called with."""


@dataclass
class Caller:
    """The calling graph as far as it was read: `states` and `tensors` grow."""

    tensors: dict[int, Tensor]
    variables: Variables
    states: list[State]
    read: ReadBody
    stateful: set[int] = field(default_factory=set)
    """The called subgraphs with states: each has them once, for all callers."""

    def parse(self, node: Node, check: Callable[[Node, Collection[int]], None]) -> tuple[Op, ...]:
        """The operator that calls subgraphs. `check` refuses operands other than resource handles."""
        if -1 in (*node.inputs, *node.outputs):
            raise UnsupportedNodeError("an input or output is omitted")
        for t in (self.tensors[i] for i in (*node.inputs, *node.outputs) if i not in self.variables.handles):
            if t.dtype == DType.VARIANT:
                raise UnsupportedNodeError(
                    f"'{t.name}' is a list of tensors, which grows while the model runs", FIXED_LOOPS
                )
        parser = {"IF": self._if, "WHILE": self._while}.get(node.code, self._call)
        check(node, {*self.variables.handles, *self._handles_made(node)})
        return parser(node)

    def _handles_made(self, node: Node) -> list[int]:
        """The outputs that may be resource handles, which is known when bodies are read."""
        return [t for t in node.outputs if self.tensors[t].dtype == DType.RESOURCE]

    def _if(self, node: Node) -> tuple[Op, ...]:
        if not node.inputs:
            raise MalformedError(f"{node.where} has no condition")
        names = ("then_subgraph_index", "else_subgraph_index")
        return self._branch(node, node.inputs[0], node.inputs[1:], [node.options.integer(name) for name in names])

    def _call(self, node: Node) -> tuple[Op, ...]:
        """A call is a branch that is always taken, which a pass inlines. A composite operator calls its
        decomposition."""
        always = self._fresh(Tensor(-1, f"{node.name}/always", (), DType.BOOL, data=np.array(True)))
        return self._branch(node, always, node.inputs, [node.options.integer(CALLED[node.code])] * 2)

    def _branch(self, node: Node, condition: int, given: Sequence[int], numbers: Sequence[int]) -> tuple[Op, ...]:
        bodies = {number: self.read(number, given) for number in dict.fromkeys(numbers)}
        keys = dict.fromkeys(key for body in bodies.values() for key in body.keys)
        assigned = [key for key in keys if any(body.keys.get(key) for body in bodies.values())]
        graphs = {number: body.graph(list(keys), assigned) for number, body in bodies.items()}
        then, otherwise = (graphs[number] for number in numbers)
        made = self._made(node, list(bodies.values()), assigned)
        kept, before, after = self._states(numbers, [then, otherwise])
        op = If(
            inputs=(condition, *self._values(given), *(self.variables.current(key) for key in keys), *before),
            outputs=(*made, *after),
            name=node.name,
            index=node.index,
            branches=(then, otherwise),
            kept=kept,
        )
        return self._finished(node, op, assigned)

    def _while(self, node: Node) -> tuple[Op, ...]:
        names = ("cond_subgraph_index", "body_subgraph_index")
        numbers = [node.options.integer(name) for name in names]
        condition, body = (self.read(number, node.inputs) for number in numbers)
        if len(node.inputs) != len(node.outputs):
            raise UnsupportedNodeError(f"has {len(node.inputs)} inputs and {len(node.outputs)} outputs")
        if any(condition.keys.values()):
            raise UnsupportedNodeError(f"subgraph {numbers[0]}, its condition, assigns a variable")
        keys = {**body.keys, **{key: body.keys.get(key, False) for key in condition.keys}}
        assigned = [key for key, changes in keys.items() if changes]
        ordered = [*assigned, *(key for key, changes in keys.items() if not changes)]
        graphs = condition.graph(ordered, []), body.graph(ordered, assigned)
        kept, before, after = self._states(numbers, graphs)
        made = self._made(node, [body], assigned)
        op = While(
            inputs=(*self._values(node.inputs), *(self.variables.current(key) for key in ordered), *before),
            outputs=(*made, *after),
            name=node.name,
            index=node.index,
            condition=graphs[0],
            body=graphs[1],
            kept=kept,
        )
        return self._finished(node, op, assigned)

    def _values(self, given: Sequence[int]) -> list[int]:
        """The inputs without resource handles."""
        return [self.variables.value(t) for t in given if t not in self.variables.handles]

    def _made(self, node: Node, bodies: Sequence[BodySubgraph], assigned: Sequence[Key]) -> list[int]:
        """The outputs without resource handles, and one for each assigned variable."""
        if any(body.handles != bodies[0].handles for body in bodies):
            raise UnsupportedNodeError("its subgraphs return handles of different variables")
        made = []
        for position, t in enumerate(node.outputs):
            if position in bodies[0].handles:
                self.variables.handles[t] = bodies[0].handles[position]
            else:
                made.append(t)
        return [*made, *(self._variable(key) for key in assigned)]

    def _variable(self, key: Key) -> int:
        """A tensor for the new value of a variable."""
        held = self.tensors[self.variables.current(key)]
        return self._fresh(replace(held, name=printable(key[1]), data=None, inner=True))

    def _states(
        self, numbers: Sequence[int], graphs: Sequence[Graph]
    ) -> tuple[tuple[tuple[int, ...], ...], list[int], list[int]]:
        """The states of each body, and the tensors of their values before and after."""
        kept: dict[int, tuple[int, ...]] = {}
        before: list[int] = []
        after: list[int] = []
        for number, graph in zip(numbers, graphs, strict=True):
            if number in kept:
                continue
            if graph.states and number in self.stateful:
                raise UnsupportedNodeError(f"subgraph {number} keeps a state and is called by several operators")
            kept[number] = tuple(range(len(before), len(before) + len(graph.states)))
            for s in graph.states:
                self.stateful.add(number)
                inner = replace(graph.tensors[s.before], data=None, inner=True)
                before.append(self._fresh(inner))
                after.append(self._fresh(inner))
                self.states.append(replace(s, before=before[-1], after=after[-1]))
        return tuple(kept[number] for number in numbers) if before else (), before, after

    def _fresh(self, t: Tensor) -> int:
        new = max(self.tensors) + 1
        self.tensors[new] = replace(t, id=new)
        return new

    def _finished(self, node: Node, op: Control, assigned: Sequence[Key]) -> tuple[Op, ...]:
        """The operator, if its bodies match it; variables hold its results. Dynamic output shapes are those of the
        bodies."""
        if not op.made:
            raise UnsupportedNodeError("has no outputs: nothing would be computed")
        graph = Graph("", self.tensors, (), (), ())
        for t, shape in zip(op.made, op.shapes(graph), strict=False):
            if t in node.open:
                self.tensors[t] = replace(self.tensors[t], shape=shape)
        if problem := op.unsupported(graph):
            raise UnsupportedNodeError(problem)
        for key, t in zip(assigned, op.made[len(op.made) - len(assigned) :], strict=True):
            self.variables.held[key] = t
        return (op,)
