"""IF and WHILE: the reference, and the C between bodies and the graph around them, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow import BOOL, INT, Flow
from mote.api import reference
from mote.api.compiler import compile
from mote.api.stimuli import stimuli
from mote.api.verifier import verify
from mote.errors import MoteError
from mote.frontends import tflite
from mote.graph.tolerance import compare
from mote.ops.control import If, While, unbounded
from mote.passes import optimize
from mote.plan.plan import Bodied, Plan
from support import check, check_numpy, examples, exact_on, needs_litert

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
