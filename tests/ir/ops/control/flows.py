"""Models of IF and WHILE, whose bodies have layers, states, variables, and other bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR
from mote.ir.graph.tolerance import compare
from tests.helpers.flow import BOOL, INT, Flow
from tests.helpers.streams import handle


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


def less(flow: Flow, a: int, b: int) -> int:
    y = flow.plain(BOOL, *flow.shapes[a])
    flow.writer.op("LESS", [a, b], [y])
    return y


def one_more(flow: Flow, i: int) -> int:
    y = flow.like(i)
    flow.writer.op("ADD", [i, flow.constant(np.ones(flow.shapes[i]), INT)], [y])
    return y


def counting(turns: int, dtype: str = "int8") -> bytes:
    """A loop that counts to a constant, and one that counts to what an input says."""
    f = Flow(7, dtype)
    x, n = f.input(1, 6, 5, 3), f.writer.input("n", (), "int8", 1.0, 0)
    asked = f.plain(INT)
    f.writer.op("CAST", [n], [asked], in_data_type="int8", out_data_type="int32")
    begin, end = f.constant(0, INT), f.constant(turns, INT)
    y = f.repeat([begin, end, x], lambda b, t: [less(b, t[0], t[1])],
                 lambda b, t: [one_more(b, t[0]), t[1], parts(b, t[2])])[2]  # fmt: skip
    z = f.repeat([y, begin, asked], lambda b, t: [less(b, t[1], t[2])],
                 lambda b, t: [wider(b, total(b, [t[0], t[0]])), one_more(b, t[1]), t[2]])  # fmt: skip
    return f.finish(z[0], z[1])


def tangled(seed: int, dtype: str) -> bytes:
    """Control flow of any kind inside of any other, between tensors of one type that change places."""
    f = Flow(seed, dtype)
    x = f.input(1, 4, 3, 2)
    given = [x, f.input(1, 4, 3, 2, quant=f.quants[x])]
    flags = [f.flag() for _ in range(3)]
    found = list(given)
    for _ in range(int(f.rng.integers(1, 4))):
        found = list(_tangle(f, flags, found, 0))
    outputs = [t for t in dict.fromkeys(found) if t not in given] or [total(f, found)]
    return f.finish(*outputs)


def _tangle(f: Flow, flags: Sequence[int], given: Sequence[int], depth: int) -> Sequence[int]:
    kind = f.rng.integers(0, 6 if depth < 3 else 4)
    if kind == 0:
        return [given[1], given[0]]
    if kind == 1:
        return [wider(f, given[0]), given[1]]
    if kind == 2:
        return [parts(f, given[1]), total(f, given)]
    if kind == 3:
        return [total(f, given), given[0]]

    def body(b: Flow, t: Sequence[int]) -> Sequence[int]:
        found: Sequence[int] = t[3:]
        for _ in range(int(b.rng.integers(0, 3))):
            found = _tangle(b, t[:3], found, depth + 1)
        return found

    order = [flags[i] for i in f.rng.permutation(3)]
    if kind == 4:
        made = [f.like(given[0]), f.like(given[0])]
        return f.choose(order[0], [*order, *given], _distinct(body), _distinct(body), made)
    count = shifted(3)
    return f.repeat([*order, *given], first, lambda b, t: [*count(b, t), *_distinct(body)(b, t)])[3:]


def _distinct(body: Callable[[Flow, Sequence[int]], Sequence[int]]) -> Callable[[Flow, Sequence[int]], Sequence[int]]:
    """Where a body gives a tensor twice, LiteRT gives it once: it is made anew."""

    def build(b: Flow, t: Sequence[int]) -> Sequence[int]:
        a, c = body(b, t)
        return [a, c if c != a else total(b, [a, a])]

    return build


def fibonacci(flip: bool) -> bytes:
    """Two numbers that change places while they are added up."""
    f = Flow(1, "float32")
    flags = [f.flag() for _ in range(4)]
    count = shifted(4)

    def turn(b: Flow, t: Sequence[int]) -> Sequence[int]:
        both = b.add(t[4], t[5])
        return [*count(b, t), *([both, t[4]] if flip else [t[5], both])]

    found = f.repeat([*flags, f.input(1, 2), f.input(1, 2)], first, turn)
    return f.finish(found[4], found[5])


def tall() -> bytes:
    """Bodies that take less memory by rows."""
    f = Flow(9)
    x, c = f.input(1, 24, 8, 2), f.flag()
    made = [f.like(x)]

    def deep(b: Flow, t: Sequence[int]) -> Sequence[int]:
        wide = b.conv(b.conv(t[0], 12), 12)
        constants = b.constants(wide, b.weights(2, 1, 1, 12))
        return [b.op("CONV_2D", [wide, *constants], b.shapes[t[0]], b.quants[t[0]], padding="SAME")]

    f.choose(c, [x], deep, keep, made)
    flags = [f.flag() for _ in range(2)]
    count = shifted(2)
    return f.finish(f.repeat([*flags, made[0]], first, lambda b, t: [*count(b, t), *deep(b, t[2:])])[2])


def recurrent(dtype: str, steps: int = 6) -> bytes:
    """A cell that a loop takes over a sequence, as frameworks write it where lengths are fixed: a row of the input is
    picked, and one of the output put in its place."""
    f = Flow(8, dtype)
    x = f.input(steps, 4)
    quant = f.quants[x]
    begin = f.writer.const("begin", np.zeros((1, 3), "float32" if dtype == "float32" else "int8"), *quant)
    empty = f.writer.const("empty", np.zeros((steps, 3), "float32" if dtype == "float32" else "int8"), *quant)
    for t, shape in ((begin, (1, 3)), (empty, (steps, 3))):
        f.shapes[t], f.quants[t] = shape, quant

    def turn(b: Flow, t: Sequence[int]) -> Sequence[int]:
        i, given, state, made = t
        place = b.plain(INT, 1)
        b.writer.op("RESHAPE", [i, b.ints(1)], [place])
        row = b.moved("GATHER", [given, place], (1, 4))
        both = b.concatenate(1, row, state)
        cell = b.fully_connected(both, 3, quant=b.quants[state])
        at = b.plain(INT, 2)
        b.writer.op("PACK", [i, b.constant(0, INT)], [at], values_count=2)
        return [one_more(b, i), given, cell, b.moved("DYNAMIC_UPDATE_SLICE", [made, cell, at])]

    counted = f.constant(0, INT)
    found = f.repeat([counted, x, begin, empty], lambda b, t: [less(b, t[0], b.constant(steps, INT))], turn)
    return f.finish(found[2], found[3])
