"""Functions that exporters decompose into several nodes, and that Mote has one operator for."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose, sqrt

from mote.frontends.build import Value, elementwise
from mote.frontends.onnx.node import FileNode, GraphScope, Node


def gelu(node: Node) -> Mapping[str, Value | None] | None:
    """x * (1 + erf(x / sqrt(2))) / 2, matched from its Div on: the factors may be in any order."""
    scope, call = node.scope, node.call
    x = _other(scope, call, sqrt(2) if node.op_type == "Div" else sqrt(0.5)) if _is(call, "Div", "Mul") else None
    if x is None or (node.op_type == "Div" and call.inputs[0] != x):
        return None
    erf = _next(scope, call, "Erf")
    plus = _next(scope, erf, "Add")
    times = _next(scope, plus, "Mul")
    if erf is None or plus is None or times is None or _other(scope, plus, 1.0) != erf.outputs[0]:
        return None
    between = [call, erf, plus]
    second = next((name for name in times.inputs if name != plus.outputs[0]), "")
    half = scope.producer(second)
    if second == x:
        last = _next(scope, times, "Mul")
        if last is None or _other(scope, last, 0.5) != times.outputs[0]:
            return None
        between.append(times)
    elif half is not None and _is(half, "Mul") and _other(scope, half, 0.5) == x:
        last = times
    else:
        return None
    made = elementwise.gelu(node.b, node.input(call.inputs.index(x)))
    return {**{c.outputs[0]: None for c in between}, last.outputs[0]: made}


def _is(call: FileNode, *names: str) -> bool:
    return not call.domain and call.op_type in names and len(call.inputs) == 2


def _next(scope: GraphScope, call: FileNode | None, name: str) -> FileNode | None:
    """The only consumer of a node's output, if it is of that type."""
    consumer = scope.only_consumer(call.outputs[0]) if call is not None else None
    return consumer if consumer is not None and not consumer.domain and consumer.op_type == name else None


def _other(scope: GraphScope, call: FileNode, number: float) -> str | None:
    """The other operand of a node with a constant of that number; None where there is no such constant."""
    for place, name in enumerate(call.inputs if len(call.inputs) == 2 else ()):
        known = scope.constant(name)
        if known is not None and known.size == 1 and isclose(float(known.reshape(-1)[0]), number, rel_tol=1e-5):
            return call.inputs[1 - place]
    return None
