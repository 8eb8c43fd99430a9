"""Plans of whole graphs: the checker refuses every damaged plan, sharing never costs memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlperf_tiny
from mote.compiler import compile
from mote.frontends import tflite
from mote.graph import Rows
from mote.graph.op import row_count
from mote.plan.check import PlanError, check
from mote.plan.kernel import Lowering
from mote.plan.order import order
from mote.plan.plan import Plan
from mote.plan.planner import BALANCED_ROOM, plan
from tflite_writer import Writer

MODELS = Path(__file__).parents[2] / "models"


def network(branches: list[tuple[int, int]], depth: int) -> bytes:
    """Residual branches over one tensor: each a chain of unary operators, joined by ADDs."""
    w = Writer("branches")
    q = {"scale": 0.05, "zero_point": 3}
    shape = (1, 6, 5, 4)
    x = w.input("x", shape, "int8", **q)
    total = x
    for i, (source, length) in enumerate(branches):
        t = x if source else total
        for j in range(length):
            out = w.tensor(f"t{i}_{j}", shape, "int8", **q)
            w.op("LEAKY_RELU" if j % 2 else "RELU", [t], [out], **({"alpha": 0.1} if j % 2 else {}))
            t = out
        joined = w.tensor(f"sum{i}", shape, "int8", **q)
        w.op("ADD", [total, t], [joined])
        total = joined
    flat = w.tensor("flat", (1, 120), "int8", **q)
    w.op("RESHAPE", [total, w.const("shape", _shape((1, 120)))], [flat])
    w.output(flat)
    if depth % 2:
        w.output(total)
    return w.finish()


def _shape(dims: tuple[int, ...]):  # type: ignore[no-untyped-def]
    import numpy as np

    return np.array(dims, np.int32)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), min_size=1, max_size=5), st.integers(0, 1))
@settings(max_examples=100, deadline=None)
def test_plans_of_branches_are_sound(branches: list[tuple[int, int]], depth: int) -> None:
    graph = tflite.parse(network(branches, depth), "branches")
    planned = plan(graph, Lowering())
    check(planned)
    assert planned.bound <= planned.arena
    ordered = graph.with_ops(order(graph)).verify()
    assert {op.outputs for op in ordered.ops} == {op.outputs for op in graph.ops}


def moved(planned: Plan, buffer: int, by: int) -> Plan:
    buffers = list(planned.buffers)
    buffers[buffer] = buffers[buffer].at(buffers[buffer].offset + by)
    return replace(planned, buffers=tuple(buffers))


def test_checker_refuses_damaged_plans() -> None:
    """Buffers that meet in time must not meet in space: move any one onto its neighbour."""
    planned = compile(MODELS / "keywords.tflite").plan
    refused = tried = 0
    for i, a in enumerate(planned.buffers):
        for b in planned.buffers:
            if a is b or not a.meets(b) or not (a.tensors and b.tensors):
                continue
            tried += 1
            try:
                check(moved(planned, i, b.offset - a.offset))
            except PlanError:
                refused += 1
    assert tried > 10 and refused == tried


def test_in_place_shares_memory() -> None:
    planned = plan(tflite.parse(network([(1, 2)], 0), "m"), Lowering())
    assert planned.arena == 2 * 120, "the branch runs in place beside its source"


@pytest.mark.parametrize(
    ("name", "bytes_"), [("ad", 768), ("kws", 16_000), ("ic", 49_440), ("vww", 55_296), ("sww", 6_656)]
)
def test_arena_of_known_architectures(name: str, bytes_: int) -> None:
    """Layer by layer, scratch included: these numbers only go down."""
    model = mlperf_tiny.build(name)
    assert compile(model, target="cortex-m4", optimize="size").plan.arena <= bytes_
    assert compile(model, target="cortex-m4").plan.arena <= bytes_ + BALANCED_ROOM
    for optimize in ("balanced", "speed"):
        assert compile(model, target="cortex-m4", optimize=optimize, ram=bytes_).plan.arena <= bytes_


def test_input_rows_cover_the_output() -> None:
    """Rows asked one at a time need, together, what all rows need at once."""
    for path in MODELS.glob("*.tflite"):
        graph = tflite.load(path)
        for op in graph.ops:
            count = row_count(op.output(graph).shape)
            whole = op.input_rows(graph, Rows(0, count))
            for i, rows in enumerate(whole):
                parts = [op.input_rows(graph, Rows(y, y + 1))[i] for y in range(count)]
                assert min(p.lo for p in parts) == rows.lo and max(p.hi for p in parts) == rows.hi
