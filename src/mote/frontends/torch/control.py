"""`torch.cond` and `while_loop`: their subgraphs, as modules of PyTorch's graph and as bodies of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedError, UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value
from mote.frontends.model import Model
from mote.frontends.torch.program import TorchProgram
from mote.ir.graph import Graph
from mote.ir.ops.control.control_flow import If, While

ReadBody = Callable[[TorchProgram], Model]
"""Reads the program of a subgraph."""
SHOWN = 3
"""Number of unsupported layers of a body that a message lists."""


def cond(b: Builder, program: TorchProgram, call: Any, values: Mapping[str, Any], read: ReadBody) -> list[Value]:
    """One of two branches."""
    predicate, then, otherwise, operands = call.args
    condition = b.constant(np.array(predicate)) if isinstance(predicate, bool) else _value(values, predicate)
    if condition.size != 1:
        raise UnsupportedNodeError(f"a condition of the shape {condition.shape} is neither true nor false")
    given = [_value(values, x) for x in operands]
    fixed = [value.constant for value in given]
    branches = tuple(_body(program, x, operands, fixed, read) for x in (then, otherwise))
    inputs = [b.arranged(condition, []), *(b.plain(value) for value in given if not value.constant)]
    return _made(b, If, inputs, branches[0], branches=branches)


def while_loop(b: Builder, program: TorchProgram, call: Any, values: Mapping[str, Any], read: ReadBody) -> list[Value]:
    """A body as long as a condition holds. What it does not change may be constant in it."""
    condition, body, carried, others = call.args
    if not all(hasattr(x, "meta") for x in carried):
        raise UnsupportedNodeError("it counts with a number: count with a tensor, torch.tensor(0)")
    operands = [*carried, *others]
    given = [_value(values, x) for x in operands]
    fixed = [value.constant and at >= len(carried) for at, value in enumerate(given)]
    graphs = [_body(program, x, operands, fixed, read) for x in (condition, body)]
    inputs = [b.plain(value) for value, known in zip(given, fixed, strict=True) if not known]
    return _made(b, While, inputs, graphs[1], condition=graphs[0], body=graphs[1])


def _value(values: Mapping[str, Any], argument: Any) -> Value:
    value = values.get(str(getattr(argument, "name", "")))
    if not isinstance(value, Value):
        raise UnsupportedNodeError("one of its operands is not a tensor")
    return value


def _body(program: TorchProgram, part: Any, operands: Sequence[Any], fixed: Sequence[bool], read: ReadBody) -> Graph:
    """The graph of a subgraph, in which some operands are constants."""
    known = [program.given[x.name] if is_fixed else None for x, is_fixed in zip(operands, fixed, strict=True)]
    try:
        return read(program.inside(program.parts[part.name], known)).graph()
    except UnsupportedError as error:
        shown = "; ".join(f"{x.op} '{x.name}': {x.reason}" for x in error.layers[:SHOWN])
        raise UnsupportedNodeError(f"in its subgraph {part.target}, {shown}") from None


def _made(b: Builder, kind: type[If | While], inputs: Sequence[int], results: Graph, **attributes: Any) -> list[Value]:
    """The results of an operator with bodies."""
    tensors = [results.tensors[t] for t in results.outputs]
    made = b.several(kind, inputs, [(t.shape, t.dtype) for t in tensors], **attributes)
    return [b.value(tensor, t.shape) for tensor, t in zip(made, tensors, strict=True)]


CONTROL = {"cond": cond, "while_loop": while_loop}
"""Readers by the name of the operator."""
