"""IF and WHILE: the reference, and the C between bodies and the graph around them, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from streams import handle

from flow import BOOL, Flow
from mote.api import reference
from mote.api.compiler import Compiled, compile
from mote.api.stimuli import stimuli
from mote.api.verifier import verify
from mote.frontends import tflite
from mote.graph.tolerance import compare
from mote.ops.control import unbounded
from mote.plan.plan import Plan
from support import check, needs_litert
from tflite_writer import NO_TENSOR

pytestmark = needs_litert


def parts(flow: Flow, x: int) -> int:
    """Some layers with weights, from an image back to one like it."""
    channels = flow.shapes[x][3]
    y = flow.depthwise(flow.conv(x, 2 * channels, fused_activation_function="RELU6"))
    constants = flow.constants(y, flow.weights(channels, 1, 1, 2 * channels))
    return flow.op("CONV_2D", [y, *constants], flow.shapes[x], flow.quants[x], padding="SAME")


def total(flow: Flow, given: Sequence[int]) -> int:
    """A sum that is like its first term."""
    return flow.add(*given, quant=flow.quants[given[0]])


def wider(flow: Flow, x: int) -> int:
    return flow.moved("MAX_POOL_2D", [x], filter_width=3, filter_height=1, padding="SAME")


def keep(flow: Flow, given: Sequence[int]) -> Sequence[int]:
    return given


def twice_flat(flow: Flow, x: int) -> Sequence[int]:
    return [flow.flat(x), flow.flat(x)]


def branches(dtype: str, seed: int = 0) -> bytes:
    """Layers in one branch, others in the other, one inside of another; what is passed on, exchanged and constant."""
    f = Flow(seed, dtype)
    x, y = f.input(1, 6, 5, 3), f.input(1, 6, 5, 3, quant=f.quants[0])
    flags = [f.flag(), f.flag(1), f.flag()]
    one, two = f.like(x), [f.like(x), f.like(x), f.plain(BOOL, 2)]
    f.choose(flags[0], [x, y], lambda b, t: [parts(b, t[0])], lambda b, t: [total(b, t)], [one])

    def nested(b: Flow, t: Sequence[int]) -> Sequence[int]:
        inner = [b.like(t[1]), b.like(t[2])]
        b.choose(t[0], t[1:], lambda c, u: [parts(c, u[1]), u[0]], keep, inner)
        return [inner[1], inner[0], b.constant([True, False], BOOL)]

    f.choose(flags[1], [flags[2], one, x], nested, lambda b, t: [*t[1:], b.constant([False, True], BOOL)], two)
    flat = [f.result((1, 90), f.quants[x]), f.result((1, 90), f.quants[x])]
    f.choose(flags[2], [two[0]], lambda b, t: twice_flat(b, t[0]), lambda b, t: twice_flat(b, wider(b, t[0])), flat)
    return f.finish(one, *two[1:], *flat)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_branches(dtype: str) -> None:
    compiled = check(branches(dtype), 12)
    assert [op.kind for op, _ in compiled.plan.works] == ["IF"] * 3
    assert Plan.from_json(compiled.plan.to_json()) == compiled.plan


def first(flow: Flow, given: Sequence[int]) -> Sequence[int]:
    return given[:1]


def shifted(turns: int) -> Callable[[Flow, Sequence[int]], list[int]]:
    """The first inputs are flags, each of which says whether there is one more turn: they move up."""
    return lambda flow, given: [*given[1:turns], flow.constant(False, BOOL)]


def loops(dtype: str, seed: int = 0) -> bytes:
    """Layers in loops, loops in branches and in loops; what changes, stays, is exchanged, and counts."""
    f = Flow(seed, dtype)
    x, y = f.input(1, 6, 5, 3), f.input(1, 6, 5, 3, quant=f.quants[0])
    flags = [f.flag() for _ in range(4)]
    count, inner = shifted(4), shifted(2)
    a = f.repeat([*flags, x, y], first, lambda b, t: [*count(b, t), parts(b, t[4]), t[5]])
    swapped = f.repeat([*flags, a[4], y], first, lambda b, t: [*count(b, t), t[5], total(b, t[4:])])

    def again(b: Flow, t: Sequence[int]) -> Sequence[int]:
        found = b.repeat([*t[:2], t[4], t[5]], first, lambda c, u: [*inner(c, u), wider(c, u[2]), u[3]])
        return [*count(b, t), total(b, [found[2], t[5]]), t[5]]

    nested = f.repeat([*flags, swapped[4], swapped[5]], first, again)
    last = f.like(x)

    def looping(b: Flow, t: Sequence[int]) -> Sequence[int]:
        return [b.repeat(t, first, lambda c, u: [*inner(c, u), parts(c, u[2])])[2]]

    f.choose(flags[3], [flags[0], flags[1], nested[4]], looping, lambda b, t: [t[2]], [last])
    return f.finish(last, nested[1], swapped[4], a[4])


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_loops(dtype: str) -> None:
    compiled = check(loops(dtype), 12)
    assert [op.kind for op, _ in compiled.plan.works] == ["WHILE", "WHILE", "WHILE", "IF"]
    assert len(unbounded(compiled.plan.graph)) == 5
    assert Plan.from_json(compiled.plan.to_json()) == compiled.plan


def over_time(model: bytes, runs: int = 12, **options: object) -> Compiled:
    """NumPy and the C against LiteRT, one inference after another."""
    graph = tflite.parse(model, "model")
    oracle, mine, sizes = reference.litert(model), reference.numpy(graph), reference.magnitudes(graph)
    for case in stimuli(graph, runs, 1):
        want, got, size = oracle(case), mine(case), sizes(case)
        assert want is not None and got is not None
        for t in graph.outputs:
            diff, bad = compare(got[t], want[t].reshape(got[t].shape), size.get(t, 0.0))
            assert not bad, f"NumPy differs from LiteRT by {diff}"
    compiled = compile(model, **options)
    result = verify(compiled, runs, sanitize=True)
    assert result.passed, result.mismatches
    return compiled


def remembering(b: Flow, x: int) -> int:
    """A layer with a memory of its own, from a vector to one like it."""
    n = b.shapes[x][1]
    kernel = b.writer.const("k", (b.weights(n, n) / 300).astype(np.float32))
    time = b.writer.const("t", (b.weights(n, 3) / 200).astype(np.float32))
    state = b.writer.variable("s", (1, 3 * n), "float32")
    return b.op("SVDF", [x, kernel, time, NO_TENSOR, state], rank=1)


def memories() -> bytes:
    """Layers with memories in a branch, in both, in a loop, and in a branch inside of a loop."""
    f = Flow(3, "float32")
    x = f.input(1, 4)
    flags = [f.flag() for _ in range(3)]
    one, two = f.like(x), f.like(x)
    f.choose(flags[0], [x], lambda b, t: [remembering(b, t[0])], keep, [one])
    f.choose(flags[1], [one], lambda b, t: [remembering(b, t[0])], lambda b, t: [remembering(b, t[0])], [two])
    count = shifted(3)

    def turn(b: Flow, t: Sequence[int]) -> Sequence[int]:
        inner = b.like(t[3])
        b.choose(t[2], [t[3]], lambda c, u: [remembering(c, u[0])], keep, [inner])
        return [*count(b, t), remembering(b, inner)]

    found = f.repeat([*flags, two], first, turn)
    return f.finish(found[3], two, one)


def test_layers_with_memories_inside_of_control_flow() -> None:
    compiled = over_time(memories())
    assert len(compiled.plan.graph.states) == 5


def variable(flow: Flow, name: str = "v") -> int:
    return handle(flow.writer, name)


def counters() -> bytes:
    """A variable that a branch assigns, one that a loop adds to, one that is only read; handles are made inside, or are
    given to bodies."""
    f = Flow(5, "float32")
    x = f.input(1, 4)
    flags = [f.flag() for _ in range(2)]
    once = f.writer.subgraph("init")
    for name in ("v", "w", "only"):
        value = once.const("value", np.float32([[1, 2, 3, 4]]))
        once.op("ASSIGN_VARIABLE", [handle(once, name), value], [])
    f.writer.op("CALL_ONCE", [], [], init_subgraph_index=1)
    made = f.like(x)

    def assigning(b: Flow, t: Sequence[int]) -> Sequence[int]:
        v = variable(b)
        y = b.op("ADD", [b.op("READ_VARIABLE", [v], (1, 4)), t[0]])
        b.writer.op("ASSIGN_VARIABLE", [v, y], [])
        return [b.op("ADD", [b.op("READ_VARIABLE", [v], (1, 4)), t[0]])]

    f.choose(flags[0], [x], assigning, lambda b, t: [b.op("READ_VARIABLE", [variable(b, "only")], (1, 4))], [made])
    w = variable(f, "w")
    f.shapes[w], f.dtypes[w] = (), "resource"
    count = shifted(2)

    def adding(b: Flow, t: Sequence[int]) -> Sequence[int]:
        y = b.op("ADD", [b.op("READ_VARIABLE", [t[3]], (1, 4)), t[2]])
        b.writer.op("ASSIGN_VARIABLE", [t[3], y], [])
        return [*count(b, t), b.op("MUL", [t[2], b.op("READ_VARIABLE", [variable(b, "only")], (1, 4))]), t[3]]

    found = f.repeat([*flags, made, w], first, adding)
    last = f.op("ADD", [f.op("READ_VARIABLE", [found[3]], (1, 4)), f.op("READ_VARIABLE", [variable(f)], (1, 4))])
    return f.finish(f.op("ADD", [last, found[2]]))


def test_variables_inside_of_control_flow() -> None:
    compiled = over_time(counters())
    assert len(compiled.plan.graph.states) == 2
