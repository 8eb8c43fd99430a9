"""ONNX control flow that is resolved while the file is read: the branch that is taken, and loops with a fixed trip
count, unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Value, elementwise, moves
from mote.frontends.onnx.node import LOST, Entry, Node, UnavailableError
from mote.frontends.onnx.ops import classical
from mote.frontends.remedies import BRANCHES, FIXED_LOOPS
from mote.ir.graph.tensor import Array

MOST_ROUNDS = 1 << 10


class BodyReader(Protocol):
    """Reads the bodies of control flow."""

    def body(self, graph: Any, given: Sequence[Entry], node: Node) -> list[Entry]:
        """The outputs of a body for some inputs, computed at the node's position."""
        ...

    def value(self, entry: Entry) -> Value:
        """An entry as a Value."""
        ...

    def made(self, node: Node, make: Callable[[], Value]) -> Value:
        """A value that belongs to the node itself."""
        ...


def if_(node: Node, bodies: BodyReader) -> list[Entry]:
    """The branch that is taken; with a condition at run time both are computed, and their results selected."""
    then, else_ = (node.graph(name) for name in ("then_branch", "else_branch"))
    condition = node.maybe_known(0)
    if condition is not None:
        return bodies.body(then if _truth(condition) else else_, [], node)
    results = zip(bodies.body(then, [], node), bodies.body(else_, [], node), strict=True)
    return [_chosen(node, bodies, there(a), there(b)) for a, b in results]


def _chosen(node: Node, bodies: BodyReader, then: Entry, else_: Entry) -> Entry:
    """One of two values, selected by a run-time condition."""
    one, other = bodies.value(then), bodies.value(else_)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        kinds = f"{one.dtype} {one.shape} or {other.dtype} {other.shape}"
        raise UnsupportedNodeError(
            f"which branch is taken is only known at run time, and its result is {kinds}", BRANCHES
        )
    condition = moves.reshape(node.b, node.input(0), ())
    return bodies.made(node, lambda: elementwise.where(node.b, condition, one, other))


def there(entry: Entry) -> Entry:
    """An entry that must not be lost."""
    if entry is LOST:
        raise UnavailableError
    return entry


def loop(node: Node, bodies: BodyReader) -> list[Entry]:
    """A Loop, unrolled. Its condition must be constant in every iteration."""
    graph = node.graph("body")
    rounds = _rounds(node)
    running: Entry = np.array(True) if not node.has(1) else node.maybe_known(1)
    carried = [node.entry(p) for p in range(2, len(node.inputs))]
    made: list[list[Entry]] = [[] for _ in range(len(graph.output) - 1 - len(carried))]
    if len(graph.input) != 2 + len(carried) or len(graph.output) < 1 + len(carried):
        raise UnsupportedNodeError(f"its body has {len(graph.input)} inputs, for {2 + len(carried)} values")
    at = 0
    while rounds is None or at < rounds:
        if not isinstance(running, np.ndarray):
            raise UnsupportedNodeError("the loop's condition is only known at run time", FIXED_LOOPS)
        if not _truth(running):
            break
        if at == MOST_ROUNDS:
            raise UnsupportedNodeError(f"more than {MOST_ROUNDS} iterations", FIXED_LOOPS)
        running, *results = map(there, bodies.body(graph, [np.array(at, np.int64), running, *carried], node))
        carried = results[: len(carried)]
        for part, new in zip(made, results[len(carried) :], strict=True):
            part.append(new)
        at += 1
    return [*carried, *(_stacked(node, bodies, part, 0) for part in made)]


def _rounds(node: Node) -> int | None:
    """The trip count of a loop; None where only its condition ends it."""
    if not node.has(0):
        return None
    count = node.maybe_known(0)
    if count is None:
        raise UnsupportedNodeError("the number of iterations is only known at run time", FIXED_LOOPS)
    return _whole(count)


def scan(node: Node, bodies: BodyReader) -> list[Entry]:
    """A Scan, unrolled: one iteration for each element along an axis of the inputs."""
    graph = node.graph("body")
    count = node.integer("num_scan_inputs")
    states = len(node.inputs) - count
    results = len(graph.output) - states
    if count < 1 or states < 0 or results < 0 or len(graph.input) != len(node.inputs):
        raise UnsupportedNodeError(f"its body has {len(graph.input)} inputs, for {len(node.inputs)} values")
    axes = _each(node, "scan_input_axes", count)
    backwards = _each(node, "scan_input_directions", count)
    out_axes = _each(node, "scan_output_axes", results)
    out_backwards = _each(node, "scan_output_directions", results)
    plain = not any((*axes, *backwards, *out_axes, *out_backwards)) and (count, states, results) == (1, 1, 1)
    if plain and (metric := classical.scanned_metric(node)) is not None:
        return [node.entry(0), bodies.made(node, lambda: classical.scanned_distances(node, metric))]
    scanned = [bodies.value(node.entry(states + p)) for p in range(count)]
    sizes = {value.shape[value.axis(axis)] for value, axis in zip(scanned, axes, strict=True)}
    if len(sizes) != 1:
        raise UnsupportedNodeError(f"the inputs have {' and '.join(map(str, sorted(sizes)))} elements to go through")
    rounds = sizes.pop()
    if rounds > MOST_ROUNDS:
        raise UnsupportedNodeError(f"more than {MOST_ROUNDS} iterations", FIXED_LOOPS)
    carried = [node.entry(p) for p in range(states)]
    made: list[list[Entry]] = [[] for _ in range(results)]
    for at in range(rounds):
        parts = []
        for value, axis, turned in zip(scanned, axes, backwards, strict=True):
            place = rounds - 1 - at if turned else at
            parts.append(bodies.made(node, partial(_element, node, value, axis, place)))
        outputs = list(map(there, bodies.body(graph, [*carried, *parts], node)))
        carried = outputs[:states]
        for part, new in zip(made, outputs[states:], strict=True):
            part.append(new)
    turned_parts = [part[::-1] if turned else part for part, turned in zip(made, out_backwards, strict=True)]
    stacked = zip(turned_parts, out_axes, strict=True)
    return [*carried, *(_stacked(node, bodies, part, axis) for part, axis in stacked)]


def _element(node: Node, value: Value, axis: int, place: int) -> Value:
    """The slice at one index of an axis."""
    return moves.squeeze(node.b, moves.slice_(node.b, value, axis, place, 1), [axis])


def _each(node: Node, name: str, count: int) -> list[int]:
    numbers = node.integers(name, [0] * count)
    if len(numbers) != count:
        raise UnsupportedNodeError(f"the attribute {name} has {len(numbers)} numbers, it must have {count}")
    return numbers


def _stacked(node: Node, bodies: BodyReader, parts: Sequence[Entry], axis: int) -> Entry:
    """The results of all iterations stacked along a new axis."""
    if not parts:
        raise UnsupportedNodeError("a loop without iterations has no results")
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.stack(parts, axis)
    values = [bodies.value(part) for part in parts]
    return bodies.made(node, lambda: moves.stack(node.b, values, axis))


def _truth(value: Array) -> bool:
    if value.size != 1:
        raise UnsupportedNodeError(f"a condition of the shape {value.shape} is neither true nor false")
    return bool(value.reshape(-1)[0])


def _whole(value: Array) -> int:
    if value.size != 1:
        raise UnsupportedNodeError(f"a trip count of the shape {value.shape} is not a scalar")
    return int(value.reshape(-1)[0])


CONTROL: Mapping[str, Callable[[Node, BodyReader], list[Entry]]] = {"If": if_, "Loop": loop, "Scan": scan}
