"""Normalizations become one operator that is computed line by line, exact to LiteRT."""

from __future__ import annotations

import pytest

from tests.helpers.idioms import NORMS, kinds, l2_norm, norms
from tests.helpers.network import Net
from tests.helpers.support import check, exact_on, needs_litert


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("dtype", NORMS)
def test_norms_are_computed_line_by_line(dtype: str) -> None:
    model = norms(dtype)
    assert kinds(model) == ["LINES"] * len(NORMS[dtype])
    compiled = check(model)
    assert any(s.name == "fuse lines" and "MEAN" in s.detail and s.exact for s in compiled.savings)


@needs_litert
@pytest.mark.parametrize("dtype", NORMS)
def test_norms_on_a_core(dtype: str) -> None:
    """Also with int8 sums, of which LiteRT is no judge."""
    model = norms(dtype, l2_norm)
    assert kinds(model) == ["LINES"] * (len(NORMS[dtype]) + 1)
    exact_on("cortex-m4", model, ram="min")


@pytest.mark.parametrize("seen", ["output", "axes", "short", "other"])
def test_norms_that_are_none(seen: str) -> None:
    """A number that is an output, means over other axes, lines that are too short, factors from elsewhere."""
    net = Net()
    x = net.input(1, 3, 5, 8 if seen == "short" else 24)
    shape = (*net.shapes[x][:-1], 1)
    if seen == "axes":
        mean = net.op("MEAN", [x, net.ints(2)], (1, 3, 1, 24), keep_dims=True)
    elif seen == "other":
        mean = net.op("MEAN", [net.input(1, 3, 5, 24), net.ints(3)], shape, keep_dims=True)
    else:
        mean = net.op("MEAN", [x, net.ints(3)], shape, keep_dims=True)
    outputs = [net.op("SUB", [x, mean]), *([mean] if seen == "output" else [])]
    assert kinds(net.finish(*outputs)) == ["MEAN", "SUB"]


def test_norms_of_a_stream() -> None:
    """What is new of a stream is normalized by itself."""
    net = Net()
    x = net.conv(net.input(1, 8, 4, 3), 24, padding="VALID")
    normal = net.op("SUB", [x, net.op("MEAN", [x, net.ints(3)], (*net.shapes[x][:-1], 1), keep_dims=True)])
    compiled = check(net.finish(net.fully_connected(net.flat(normal), 3)), stream=1)
    assert "LINES" in [op.kind for op in compiled.plan.graph.ops]
