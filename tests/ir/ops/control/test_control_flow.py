"""IF and WHILE: the reference, and the C between bodies and the graph around them, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.run import with_longest_step
from mote.compiler.line import compile
from mote.compiler.plan.plan import Plan
from mote.frontends import tflite
from mote.ir.ops.control.control_flow import While, unbounded
from tests.helpers.flow import INT, Flow
from tests.helpers.support import check, check_numpy, exact_on, examples, needs_litert
from tests.ir.ops.control.flows import (
    branches,
    counters,
    fibonacci,
    less,
    loops,
    memories,
    one_more,
    over_time,
    recurrent,
    tall,
    tangled,
)

pytestmark = needs_litert


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_branches(dtype: str) -> None:
    compiled = check(branches(dtype), 8)
    assert [op.kind for op, _ in compiled.plan.works] == ["IF"] * 3
    assert Plan.from_json(compiled.plan.to_json()) == compiled.plan


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_loops(dtype: str) -> None:
    compiled = check(loops(dtype), 8)
    assert [op.kind for op, _ in compiled.plan.works] == ["WHILE", "WHILE", "WHILE", "IF"]
    assert len(unbounded(compiled.plan.graph)) == 5
    assert Plan.from_json(compiled.plan.to_json()) == compiled.plan


def test_layers_with_memories_inside_of_control_flow() -> None:
    compiled = over_time(memories())
    assert len(compiled.plan.graph.states) == 5


def test_variables_inside_of_control_flow() -> None:
    compiled = over_time(counters())
    assert len(compiled.plan.graph.states) == 2


def test_inputs_are_such_that_loops_end() -> None:
    """A loop with as many turns as an input of 32 bits says: most inputs would keep LiteRT busy for hours."""
    f = Flow(7, "float32")
    x, n = f.input(1, 4), f.plain(INT, given=True)
    found = f.repeat([f.constant(0, INT), n, x], lambda b, t: [less(b, t[0], t[1])],
                     lambda b, t: [one_more(b, t[0]), t[1], b.op("TANH", [t[2]])])  # fmt: skip
    model = f.finish(found[2])
    cases = stimuli(tflite.parse(model, "model"), 2)
    assert len(cases) == 2 and all(-128 <= case[n] <= 127 or case[n] < 0 for case in cases)
    result = verify(compile(model), 2)
    assert result.passed and result.inputs == 2


@settings(max_examples=examples(4), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["int8", "float32"]))
def test_random_control_flow(seed: int, dtype: str) -> None:
    model = tangled(seed, dtype)
    graph = tflite.parse(model, "model")
    if not any(op.misjudged(graph) for op in graph.ops):
        check_numpy(graph, model, 8)
    result = verify(compile(model), 8, sanitize=True)
    assert result.passed, (result.mismatches, graph.text())


def test_what_litert_copies_over_is_kept() -> None:
    """LiteRT loses an input that is given back in a later place; TFLite Micro does not."""
    for flip in (False, True):
        model = fibonacci(flip)
        graph = tflite.parse(model, "model")
        assert any(op.misjudged(graph) for op in graph.ops) == flip
        result = verify(compile(model), 8, sanitize=True)
        assert result.passed and ("LiteRT overwrites" in result.reference) == flip
        case = dict(
            zip(
                graph.inputs,
                [*map(np.array, (True, True, True, False)), *np.float32([[[1, 2]], [[2, 3]]])],
                strict=True,
            )
        )
        got = [graph.evaluate(case)[t].tolist() for t in graph.outputs]
        assert got == ([[[7.0, 12.0]], [[4.0, 7.0]]] if flip else [[[5.0, 8.0]], [[8.0, 13.0]]])


def test_no_longest_step_is_stated() -> None:
    with pytest.raises(MoteError, match="takes as long as the inputs make it"):
        with_longest_step(compile(branches("int8"), target="cortex-m4", step="layer"))


def test_open_shapes_follow_from_what_bodies_are_given() -> None:
    f = Flow(0, "float32")
    x, c = f.input(1, 4), f.flag()
    number = len(f.writer._others) + 1
    inner = f.writer.subgraph("open")
    a, b = (inner.input("a", (), "float32"), inner.tensor("b", (1, 1), "float32", signature=(-1, -1)))
    inner.op("ADD", [a, a], [b])
    inner.output(b)
    y = f.writer.tensor("y", (1, 1), "float32", signature=(-1, -1))
    f.writer.op("IF", [c, x], [y], then_subgraph_index=number, else_subgraph_index=number)
    f.writer.output(y)
    compiled = check(f.writer.finish())
    assert compiled.plan.graph.tensors[y].shape == (1, 4)


def test_on_cortex_m4() -> None:
    exact_on("cortex-m4", loops("int8"), 6)


OPTIONS: tuple[tuple[Callable[[], bytes], dict[str, object]], ...] = (
    (memories, {"red_zones": True}),
    (partial(loops, "int8"), {"least_ram": True, "check_flash": True, "caller_arena": True}),
    (memories, {"step": "row", "single_file": True}),
)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("model", "options"), OPTIONS)
def test_options(model: Callable[[], bytes], options: dict[str, object]) -> None:
    result = verify(compile(model(), **options), 6, sanitize=True)
    assert result.passed, result.mismatches


def test_bodies_by_rows() -> None:
    compiled = check(tall(), 6, least_ram=True)
    inner = compiled.plan.all[1:]
    assert sum(not plan.straight for plan in inner) == 2
    assert compiled.plan.arena < compile(tall(), optimize="speed").plan.arena


def test_a_cell_over_a_sequence() -> None:
    compiled = check(recurrent("int8"), 4)
    (loop,) = (op for op in compiled.plan.graph.ops if isinstance(op, While))
    assert loop.trips == 6 and not compiled.unbounded
