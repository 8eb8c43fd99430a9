"""IF and WHILE, whose bodies are subgraphs of the file."""

from __future__ import annotations

from dataclasses import replace

from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.ir.ops.control.control_flow import If, While


def branch(e: Emitter, op: If) -> None:
    then, otherwise = (e.write_body(body) for body in op.branches)
    numbers = {"then_subgraph_index": then, "else_subgraph_index": otherwise}
    e.op("IF", e.all(op.given), e.all(op.made), **numbers)


def loop(e: Emitter, op: While) -> None:
    """WHILE; loop-invariant values are outputs as well, since TFLite's loops return all their inputs."""
    if op.condition is None:
        raise UnsaidError("it has no condition")
    given, made = op.given, op.made
    unchanged = [e.graph.tensors[t] for t in given[len(made) :]]
    body = replace(op.body, outputs=(*op.body.outputs, *op.body.inputs[len(made) :]))
    numbers = {"cond_subgraph_index": e.write_body(op.condition), "body_subgraph_index": e.write_body(body)}
    results = [*e.all(made), *(e.between(t, "unchanged") for t in unchanged)]
    e.op("WHILE", e.all(given), results, **numbers)
