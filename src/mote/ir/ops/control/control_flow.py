"""Control flow: IF and WHILE, operators with bodies (subgraphs), of which they run one, or one repeatedly.

A body is a graph of its own, with tensors of its own: its inputs are the operator's, in order, and its outputs become
the operator's. What a body keeps (the variable tensors of an LSTM in it, say) is a state of the graph around it: the
last inputs of the operator are what the bodies find there, its last outputs what they leave.
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
"""How often the reference goes round a loop before it takes it for one that does not end."""

MOST_EFFORT = 1 << 16
"""Operators that the reference computes in all turns of all loops of an inference before it gives up; those that
multiply much count as more than one."""
HEAVY = 1 << 14
"""Multiplications that count as an operator."""

See = Callable[[int, dict[int, Array]], None]
"""Is shown the number of a body that makes the results, and the values of its tensors."""


class EndlessError(MoteError):
    """A loop that the reference gave up on."""


@dataclass
class _Effort:
    """The rest of MOST_EFFORT."""

    left: int = MOST_EFFORT


_effort: ContextVar[_Effort] = ContextVar("effort")
"""The effort of the outermost operator that is being computed."""


class Control(Op):
    """An operator with bodies. `kept`: for each of them, which states of the operator its own states are, in order."""

    kept: tuple[tuple[int, ...], ...] = ()

    @property
    def bodies(self) -> tuple[Graph, ...]:
        raise NotImplementedError

    @property
    def results(self) -> Graph:
        """The body whose outputs are the operator's."""
        raise NotImplementedError

    @property
    def states(self) -> int:
        """How many states the bodies have together."""
        return 1 + max((i for own in self.kept for i in own), default=-1)

    @property
    def updates(self) -> dict[int, int]:
        count, ins, outs = self.states, len(self.inputs), len(self.outputs)
        return {outs - count + i: ins - count + i for i in range(count)}

    @property
    def given(self) -> tuple[int, ...]:
        """The inputs that bodies are given, without the states."""
        return self.inputs[: len(self.inputs) - self.states]

    @property
    def made(self) -> tuple[int, ...]:
        """The outputs that bodies make, without the states."""
        return self.outputs[: len(self.outputs) - self.states]

    def with_bodies(self, bodies: Sequence[Graph]) -> Control:
        """The operator with other bodies."""
        raise NotImplementedError

    def shapes(self, g: Graph) -> list[Shape]:
        made = [self.results.tensors[t].shape for t in self.results.outputs]
        return [*made, *(g.tensors[t].shape for t in self.inputs[len(self.inputs) - self.states :])]

    def run(self, body: int, values: Sequence[Array], kept: list[Array]) -> dict[int, Array]:
        """Every tensor of a body for values of its inputs; `kept`, the states, is changed."""
        graph, own = self.bodies[body], self.kept[body] if self.kept else ()
        effort = _effort.get()
        effort.left -= 1 + len(graph.ops) + graph.work // HEAVY
        if effort.left < 0:
            raise EndlessError(
                "takes too long for the reference", where=self.where, remedy="let its loops end after fewer turns"
            )
        given = dict(zip(graph.inputs, values, strict=True))
        given |= {s.before: kept[i] for s, i in zip(graph.states, own, strict=True)}
        results = graph.evaluate(given)
        for s, i in zip(graph.states, own, strict=True):
            kept[i] = results[s.after]
        return {t: x.data for t, x in graph.tensors.items() if x.data is not None} | results

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self._followed(values, lambda body, results: None)

    def _followed(self, values: Sequence[Array | None], see: See) -> list[Array]:
        """`follow`, with an effort that all operators inside share."""
        if _effort.get(None) is not None:
            return self.follow(values, see)
        token = _effort.set(_Effort())
        try:
            return self.follow(values, see)
        finally:
            _effort.reset(token)

    def follow(self, values: Sequence[Array | None], see: See) -> list[Array]:
        """The outputs for values of the inputs; `see` is shown every body that has made some of them."""
        raise NotImplementedError

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """The most that the sums in any turn of the bodies come to."""
        sizes = [0.0] * len(self.made)

        def see(body: int, results: dict[int, Array]) -> None:
            graph = self.bodies[body]
            known = Magnitudes(graph).step(results)
            for i, t in enumerate(graph.outputs):
                sizes[i] = max(sizes[i], known.get(t, largest(results[t])))

        try:
            self._followed(values, see)
        except EndlessError:
            return []
        return [np.array(size) for size in sizes]

    def misjudged(self, g: Graph) -> str | None:
        """The reason why LiteRT's result for one of the bodies, or for an operator inside, is wrong; or None."""
        inside = (inner.misjudged(body) for body in self.bodies for inner in body.ops)
        return next((reason for reason in (self._misjudged(), *inside) if reason), None)

    def _misjudged(self) -> str | None:
        raise NotImplementedError

    def mismatch(self, g: Graph, body: Graph, given: Sequence[int], made: Sequence[int]) -> str | None:
        """Why a body does not fit tensors of the graph around it, or None."""
        for what, own, outer in (("input", body.inputs, given), ("output", body.outputs, made)):
            if len(own) != len(outer):
                return f"subgraph '{body.name}' has {len(own)} {what}s, the operator {len(outer)}"
            for i, (a, b) in enumerate(zip(own, outer, strict=True)):
                if problem := differs(body.tensors[a], g.tensors[b], f"{what} {i} of subgraph '{body.name}'"):
                    return problem
        return None


def differs(inner: Tensor, outer: Tensor, what: str) -> str | None:
    """Why a tensor of a body is not one of the graph around it."""
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
    """Why a tensor is no condition."""
    is_one = t.dtype == DType.BOOL and t.size == 1
    return None if is_one else f"the condition is {t.dtype} of {t.size} elements, not one bool"


class If(Control):
    """One of two bodies: inputs (condition, what both bodies take...), branches (then, else)."""

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
        return "LiteRT gives a tensor only once that a branch gives twice" if twice else None

    def follow(self, values: Sequence[Array | None], see: See) -> list[Array]:
        condition, *given = present(values)
        count = len(given) - self.states
        kept, taken = given[count:], 0 if condition.reshape(-1)[0] else 1
        results = self.run(taken, given[:count], kept)
        see(taken, results)
        return [*(results[t] for t in self.branches[taken].outputs), *kept]

    def macs(self, g: Graph) -> int:
        """Multiply-accumulates of the larger branch."""
        return max(body_macs(body) for body in self.branches)

    def work(self, g: Graph) -> int:
        return max(body.work for body in self.branches)


class While(Control):
    """A body again and again, as long as the condition's graph says so. Inputs: first what the body changes, as many as
    there are outputs, then what stays the same. Both graphs take all of them."""

    condition: Graph | None
    """None where it is known how often the body runs."""
    body: Graph
    trips: int | None = None
    """How often that is."""
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
            if problem := differs(g.tensors[inside], g.tensors[outside], f"what goes round ('{self.name}')"):
                return problem
        asked = self.mismatch(g, replace(self.condition, outputs=()), self.given, ())
        return asked or self.mismatch(g, self.body, self.given, self.made)

    def _misjudged(self) -> str | None:
        body = self.body
        changed = [t for t, made in zip(body.inputs, body.outputs, strict=False) if t != made]
        lost = any(made in changed and made in body.inputs[:i] for i, made in enumerate(body.outputs))
        return "LiteRT copies over what a loop's body gives back in a later place" if lost else None

    def follow(self, values: Sequence[Array | None], see: See) -> list[Array]:
        known = present(values)
        count = len(known) - self.states
        given, kept = known[:count], known[count:]
        turns = 0
        while self._goes_on(turns, given, kept):
            if turns == MOST_TURNS:
                raise EndlessError(
                    f"is still running after {MOST_TURNS:,} turns",
                    where=self.where,
                    remedy="let the loop end for every input; longer loops than that are too slow for the reference",
                )
            results = self.run(len(self.bodies) - 1, given, kept)
            see(len(self.bodies) - 1, results)
            given[: len(self.made)] = [results[t] for t in self.body.outputs]
            turns += 1
        return [*given[: len(self.made)], *kept]

    def _goes_on(self, turns: int, given: list[Array], kept: list[Array]) -> bool:
        if self.condition is None:
            assert self.trips is not None
            return turns < self.trips
        return bool(self.run(0, given, kept)[self.condition.outputs[0]].reshape(-1)[0])

    def macs(self, g: Graph) -> int:
        """Multiply-accumulates of all iterations; of one where their number is not known."""
        return (1 if self.trips is None else self.trips) * sum(map(body_macs, self.bodies))

    def work(self, g: Graph) -> int:
        return (1 if self.trips is None else self.trips) * sum(body.work for body in self.bodies)


def body_macs(graph: Graph) -> int:
    return sum(op.macs(graph) for op in graph.ops)


def present(values: Sequence[Array | None]) -> list[Array]:
    """Operands of which none may be absent."""
    arrays = [value for value in values if value is not None]
    assert len(arrays) == len(values)
    return arrays


def nested(graph: Graph) -> Iterator[tuple[Control, Graph]]:
    """The bodies inside of a graph, with the operators that they belong to, the innermost last."""
    for op in graph.ops:
        if isinstance(op, Control):
            for body in op.bodies:
                yield op, body
                yield from nested(body)


def depends(op: Op) -> bool:
    """Whether how long an operator takes depends on what it is given: there are branches in it, or loops that go on as
    long as something holds."""
    inside = any(depends(inner) for body in op.bodies for inner in body.ops)
    return inside or isinstance(op, If) or (isinstance(op, While) and op.trips is None)


def unbounded(graph: Graph) -> list[While]:
    """The loops in a graph of which nobody knows how often they run."""
    graphs = [graph, *(body for _, body in nested(graph))]
    return [op for g in graphs for op in g.ops if isinstance(op, While) and op.trips is None]
