"""Control flow: IF and WHILE, operators with bodies (subgraphs).

A body is a graph with tensors of its own: its inputs are the operator's, in order, and its outputs become the
operator's. States of a body (the variable tensors of an LSTM in it, say) are states of the surrounding graph: the last
inputs of the operator are their old values, its last outputs the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.tolerance import Magnitudes, largest
from mote.ir.graph.types import DType

MOST_TURNS = 1 << 12
"""Number of iterations after which the reference takes a loop for an endless one."""

MOST_EFFORT = 1 << 16
"""Limit on the operators that the reference evaluates in all iterations of all loops of an inference; expensive ones
count more than once (see HEAVY)."""
HEAVY = 1 << 14
"""Number of multiplications that count as one more operator towards MOST_EFFORT."""

OnBody = Callable[[int, dict[int, Array]], None]
"""Callback that receives the index of a body that computed the operator's outputs, and the values of its tensors by
id."""


class EndlessError(MoteError):
    """The reference gave up on a loop that takes too long."""


@dataclass
class _Effort:
    """Operators that may still be evaluated before the reference gives up (see MOST_EFFORT)."""

    left: int = MOST_EFFORT


_effort: ContextVar[_Effort] = ContextVar("effort")
"""The remaining effort, shared by the outermost control flow operator and all inside of it."""


class Control(Op):
    """An operator with bodies. `kept`: for each body, which of the operator's states its own states are, in order."""

    kept: tuple[tuple[int, ...], ...] = ()

    @property
    def bodies(self) -> tuple[Graph, ...]:
        raise NotImplementedError

    @property
    def results(self) -> Graph:
        """The body (subgraph) whose outputs are the operator's outputs."""
        raise NotImplementedError

    @property
    def states(self) -> int:
        """Number of states of the operator: those of all bodies, shared ones counted once."""
        return 1 + max((i for own in self.kept for i in own), default=-1)

    @property
    def updates(self) -> dict[int, int]:
        count, ins, outs = self.states, len(self.inputs), len(self.outputs)
        return {outs - count + i: ins - count + i for i in range(count)}

    @property
    def given(self) -> tuple[int, ...]:
        """Inputs of a control flow operator without the states."""
        return self.inputs[: len(self.inputs) - self.states]

    @property
    def made(self) -> tuple[int, ...]:
        """Outputs of a control flow operator without the states."""
        return self.outputs[: len(self.outputs) - self.states]

    def with_bodies(self, bodies: Sequence[Graph]) -> Control:
        """A copy of the control flow operator with other bodies."""
        raise NotImplementedError

    def shapes(self, g: Graph) -> list[Shape]:
        made = [self.results.tensors[t].shape for t in self.results.outputs]
        return [*made, *(g.tensors[t].shape for t in self.inputs[len(self.inputs) - self.states :])]

    def run(self, body: int, values: Sequence[Array], kept: list[Array]) -> dict[int, Array]:
        """Evaluate a body: all its tensors by id, given its inputs. `kept`, the operator's states, is updated in
        place."""
        graph, own = self.bodies[body], self.kept[body] if self.kept else ()
        effort = _effort.get()
        effort.left -= 1 + len(graph.ops) + graph.work // HEAVY
        if effort.left < 0:
            raise EndlessError(
                "takes too long for the reference", where=self.where, remedy="let its loops end after fewer iterations"
            )
        given = dict(zip(graph.inputs, values, strict=True))
        given |= {s.before: kept[i] for s, i in zip(graph.states, own, strict=True)}
        results = graph.evaluate(given)
        for s, i in zip(graph.states, own, strict=True):
            kept[i] = results[s.after]
        return {t: x.data for t, x in graph.tensors.items() if x.data is not None} | results

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self._follow_limited(values, lambda body, results: None)

    def _follow_limited(self, values: Sequence[Array | None], on_body: OnBody) -> list[Array]:
        """Call `follow` with one effort limit for this operator and all control flow inside of it."""
        if _effort.get(None) is not None:
            return self.follow(values, on_body)
        token = _effort.set(_Effort())
        try:
            return self.follow(values, on_body)
        finally:
            _effort.reset(token)

    def follow(self, values: Sequence[Array | None], on_body: OnBody) -> list[Array]:
        """Evaluate the operator: its outputs; `on_body` is called after each execution of a body that computes them."""
        raise NotImplementedError

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Largest magnitude of each output over all iterations of the bodies."""
        sizes = [0.0] * len(self.made)

        def on_body(body: int, results: dict[int, Array]) -> None:
            graph = self.bodies[body]
            known = Magnitudes(graph).step(results)
            for i, t in enumerate(graph.outputs):
                sizes[i] = max(sizes[i], known.get(t, largest(results[t])))

        try:
            self._follow_limited(values, on_body)
        except EndlessError:
            return []
        return [np.array(size) for size in sizes]

    def misjudged(self, g: Graph) -> str | None:
        """Why LiteRT's result is wrong for this operator or one inside a body, or None."""
        inside = (inner.misjudged(body) for body in self.bodies for inner in body.ops)
        return next((reason for reason in (self._misjudged(), *inside) if reason), None)

    def _misjudged(self) -> str | None:
        raise NotImplementedError

    def mismatch(self, g: Graph, body: Graph, given: Sequence[int], made: Sequence[int]) -> str | None:
        """Why a body's inputs or outputs differ from the tensors of the surrounding graph, or None."""
        for what, own, outer in (("input", body.inputs, given), ("output", body.outputs, made)):
            if len(own) != len(outer):
                return f"subgraph '{body.name}' has {len(own)} {what}s, the operator {len(outer)}"
            for i, (a, b) in enumerate(zip(own, outer, strict=True)):
                if problem := differs(body.tensors[a], g.tensors[b], f"{what} {i} of subgraph '{body.name}'"):
                    return problem
        return None


def differs(inner: Tensor, outer: Tensor, what: str) -> str | None:
    """Why a body's tensor differs from its counterpart in the surrounding graph (type, shape, quantization), or
    None."""
    if (inner.dtype, inner.shape) == (outer.dtype, outer.shape):
        if inner.quant is not None and outer.quant is not None and not inner.quant.same_as(outer.quant):
            return f"{what} is quantized as {inner.quant}, the tensor outside of it as {outer.quant}: export it again"
        return None
    sides = (f"{t.dtype} {'x'.join(map(str, t.shape)) or 'scalar'}" for t in (inner, outer))
    return (
        f"{what} is {' but the tensor outside of it '.join(sides)}: shapes that change while the model runs are not"
        " supported (give every tensor that goes in and out one fixed shape)"
    )


def condition_problem(t: Tensor) -> str | None:
    """Why a tensor cannot be a condition (a single bool), or None."""
    is_one = t.dtype == DType.BOOL and t.size == 1
    return None if is_one else f"the condition is {t.dtype} of {t.size} elements, not one bool"


class If(Control):
    """IF: runs one of two bodies. Inputs: the condition, then the inputs of both bodies. Branches: (then, else)."""

    branches: tuple[Graph, Graph]
    kind = "IF"

    @property
    def bodies(self) -> tuple[Graph, ...]:
        return self.branches

    @property
    def results(self) -> Graph:
        return self.branches[0]

    def with_bodies(self, bodies: Sequence[Graph]) -> If:
        then, otherwise = bodies
        return replace(self, branches=(then, otherwise))

    def unsupported(self, g: Graph) -> str | None:
        if problem := condition_problem(self.input(g)):
            return problem
        problems = (self.mismatch(g, body, self.given[1:], self.made) for body in self.branches)
        return next((problem for problem in problems if problem), None)

    def _misjudged(self) -> str | None:
        twice = any(len(set(body.outputs)) < len(body.outputs) for body in self.branches)
        return "LiteRT returns a tensor only once that a branch outputs twice" if twice else None

    def follow(self, values: Sequence[Array | None], on_body: OnBody) -> list[Array]:
        condition, *given = present(values)
        count = len(given) - self.states
        kept, branch = given[count:], 0 if condition.reshape(-1)[0] else 1
        results = self.run(branch, given[:count], kept)
        on_body(branch, results)
        return [*(results[t] for t in self.branches[branch].outputs), *kept]

    def macs(self, g: Graph) -> int:
        """Multiply-accumulates of the more expensive branch."""
        return max(body_macs(body) for body in self.branches)

    def work(self, g: Graph) -> int:
        return max(body.work for body in self.branches)


class While(Control):
    """WHILE: runs a body as long as the condition's graph returns true. Inputs: first the loop variables, one per
    output, then loop invariants. Both graphs take all of them."""

    condition: Graph | None
    """The condition's graph; None if the number of iterations is constant (`trips`)."""
    body: Graph
    trips: int | None = None
    """Number of iterations of the loop, if it is constant; else None."""
    kind = "WHILE"

    @property
    def bodies(self) -> tuple[Graph, ...]:
        return (self.body,) if self.condition is None else (self.condition, self.body)

    @property
    def results(self) -> Graph:
        return self.body

    def with_bodies(self, bodies: Sequence[Graph]) -> While:
        return replace(self, condition=bodies[0] if len(bodies) > 1 else None, body=bodies[-1])

    def unsupported(self, g: Graph) -> str | None:
        assert self.condition is not None
        if len(self.condition.outputs) != 1:
            return f"its condition has {len(self.condition.outputs)} outputs"
        if problem := condition_problem(self.condition.tensors[self.condition.outputs[0]]):
            return problem
        for inside, outside in zip(self.given, self.made, strict=False):
            if problem := differs(g.tensors[inside], g.tensors[outside], f"a loop variable of '{self.name}'"):
                return problem
        mismatch = self.mismatch(g, replace(self.condition, outputs=()), self.given, ())
        return mismatch or self.mismatch(g, self.body, self.given, self.made)

    def _misjudged(self) -> str | None:
        body = self.body
        changed = [t for t, made in zip(body.inputs, body.outputs, strict=False) if t != made]
        lost = any(made in changed and made in body.inputs[:i] for i, made in enumerate(body.outputs))
        return "LiteRT overwrites a loop variable that the body returns at a later position" if lost else None

    def follow(self, values: Sequence[Array | None], on_body: OnBody) -> list[Array]:
        known = present(values)
        count = len(known) - self.states
        given, kept = known[:count], known[count:]
        turns = 0
        while self._continues(turns, given, kept):
            if turns == MOST_TURNS:
                raise EndlessError(
                    f"is still running after {MOST_TURNS:,} iterations",
                    where=self.where,
                    remedy="let the loop end for every input; longer loops than that are too slow for the reference",
                )
            results = self.run(len(self.bodies) - 1, given, kept)
            on_body(len(self.bodies) - 1, results)
            given[: len(self.made)] = [results[t] for t in self.body.outputs]
            turns += 1
        return [*given[: len(self.made)], *kept]

    def _continues(self, turns: int, given: list[Array], kept: list[Array]) -> bool:
        if self.condition is None:
            assert self.trips is not None
            return turns < self.trips
        return bool(self.run(0, given, kept)[self.condition.outputs[0]].reshape(-1)[0])

    def macs(self, g: Graph) -> int:
        """Multiply-accumulates of all iterations; of one if their number is unknown."""
        return (1 if self.trips is None else self.trips) * sum(map(body_macs, self.bodies))

    def work(self, g: Graph) -> int:
        return (1 if self.trips is None else self.trips) * sum(body.work for body in self.bodies)


def body_macs(graph: Graph) -> int:
    return sum(op.macs(graph) for op in graph.ops)


def present(values: Sequence[Array | None]) -> list[Array]:
    """The operands as a list without None; asserts that none is absent."""
    arrays = [value for value in values if value is not None]
    assert len(arrays) == len(values)
    return arrays


def nested(graph: Graph) -> Iterator[tuple[Control, Graph]]:
    """All bodies inside a graph, with the operators that they belong to; outer before inner."""
    for op in graph.ops:
        if isinstance(op, Control):
            for body in op.bodies:
                yield op, body
                yield from nested(body)


def depends(op: Op) -> bool:
    """Whether an operator's run time depends on its input values: it contains branches, or loops with a condition."""
    inside = any(depends(inner) for body in op.bodies for inner in body.ops)
    return inside or isinstance(op, If) or (isinstance(op, While) and op.trips is None)


def unbounded(graph: Graph) -> list[While]:
    """The loops in a graph whose number of iterations is unknown at compile time."""
    graphs = [graph, *(body for _, body in nested(graph))]
    return [op for g in graphs for op in g.ops if isinstance(op, While) and op.trips is None]
