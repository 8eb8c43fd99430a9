"""Every size and every search has a limit: files that ask for more are refused at once, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from types import FrameType
from typing import Any

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from tests.helpers.network import Net

MOST_CALLS = 2_000_000
"""Calls of functions that compiling such a model may take: a few times what any takes. Calls, unlike seconds, are the
same on every machine and under any load."""


@contextmanager
def counted_calls() -> Iterator[None]:
    """Fail as soon as too many functions were called, so that a search without an end ends."""
    left, before = MOST_CALLS, sys.getprofile()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        left -= event.endswith("call")
        if left == 0:
            raise AssertionError(f"more than {MOST_CALLS:,} calls")

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def quickly(model: bytes, **options: object) -> str:
    """What becomes of a model: nothing, or why it is refused; and it does not take long."""
    try:
        with counted_calls():
            compile(model, target="cortex-m4", **options)
    except MoteError as error:
        return str(error)
    return ""


def pooled(net: Net, size: int, padding: str, out: int, kind: str = "MAX_POOL_2D", stride: int = 1) -> int:
    x = net.input(1, 8, 8, 4)
    window = {"filter_height": size, "filter_width": size, "stride_h": stride, "stride_w": stride}
    return net.moved(kind, [x], (1, out, out, 4), padding=padding, **window)


def chain(net: Net, length: int) -> int:
    return reduce(lambda x, _: net.op("RELU", [x]), range(length), net.input(1, 4))


REFUSED: list[tuple[str, Callable[[Net], int]]] = [
    (r"tensor 0 't0' \(1x4000x4000x1\) has 16,000,000 elements", lambda n: n.op("RELU", [n.input(1, 4000, 4000, 1)])),
    (r"tensor 0 't0' \(1x2000000\) has 2,000,000 channels", lambda n: n.op("RELU", [n.input(1, 2_000_000)])),
    ("tensor 0 't0' has 40 axes", lambda n: n.op("RELU", [n.input(*[1] * 40)])),
    ("200,000 rows together", lambda n: n.op("RELU", [n.input(1, 100_000, 1, 1)])),
    ("1,501 layers", lambda n: chain(n, 1501)),
    ("a window of 2147483646 elements with a stride of 1 is too wide", lambda n: pooled(n, (1 << 31) - 2, "SAME", 8)),
    ("a window of 9 elements does not fit into 8", lambda n: pooled(n, 9, "VALID", 1)),
    ("stride of 2147483647 is too wide", lambda n: pooled(n, 2, "SAME", 1, stride=(1 << 31) - 1)),
    ("the windows of a row have 27,000,000 elements", lambda n: n.conv(n.input(1, 300, 300, 1), 1, kernel=300)),
    ("inference takes about .* multiplications", lambda n: n.conv(n.input(1, 200, 200, 64), 128, kernel=5)),
    ("strides of 300x300 are too large", lambda n: n.transpose_conv(n.input(1, 4, 4, 1), 1, 3, 300)),
]


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize(("reason", "build"), REFUSED)
def test_refused_by_name(reason: str, build: Callable[[Net], int]) -> None:
    net = Net()
    with pytest.raises(MoteError, match=rf"model\.tflite: (?s:.*){reason}"):
        raise MoteError(quickly(net.finish(build(net))))


COMPILED: list[Callable[[Net], int]] = [
    lambda n: n.op("ADD", [n.input(1, 4, quant=(0.05, 0)), n.input(1, 4, quant=(500.0, 0))], quant=(0.05, 0)),
    lambda n: n.conv(n.input(1, 8, 8, 4), 4, stride=65536),
    lambda n: n.conv(n.input(1, 8, 8, 4), 4, dilation=65536),
    lambda n: pooled(n, 3000, "SAME", 8),
    lambda n: pooled(n, 3000, "SAME", 8, "AVERAGE_POOL_2D"),
]


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("build", COMPILED)
def test_odd_but_quick(build: Callable[[Net], int], shrink: bool) -> None:
    net = Net()
    assert quickly(net.finish(build(net)), shrink=shrink) == ""


def test_the_least_ram_of_many_branches() -> None:
    """The search for it has an end in a graph where almost any order is different."""
    net = Net(1)
    found = [net.input(1, 4)]
    for _ in range(60):
        a, b = (found[-int(net.rng.integers(1, min(most, len(found)) + 1))] for most in (8, 20))
        found.append(net.add(a, b))
    model = net.finish(reduce(net.add, found[-20:]))
    assert quickly(model, least_ram=True) == ""
