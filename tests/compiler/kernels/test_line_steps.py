"""Steps of int8 lines with one number for the whole line: LiteRT's results, on the host and on cores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.compiler.kernels.contract import View
from mote.compiler.kernels.portable.reductions import line_steps
from mote.compiler.plan.plan import Plan
from mote.frontends import tflite
from mote.ir.ops.elementwise.arithmetic import INT8
from mote.ir.ops.elementwise.squared_difference import SquaredDifference
from tests.helpers.network import Net
from tests.helpers.support import HOST_HELIUM, check, exact_on, needs_litert

Quant = tuple[float, int]
LENGTHS = (16, 17, 31, 64, 300)
ZEROS = st.integers(-128, 127)
LINE = (0.05, 3)


def normalized(net: Net, n: int, x: Quant, mean: Quant, square: Quant) -> int:
    """The mean of squared differences, and sums and products of a line and a number, either way round."""
    one = (1, 3, 1)
    line = net.input(1, 3, n, quant=x)
    middle = net.op("MEAN", [line, net.ints(2)], one, mean, keep_dims=True)
    squares = net.op("SQUARED_DIFFERENCE", [middle, line] if n % 2 else [line, middle], (1, 3, n), square)
    variance = net.op("MEAN", [squares, net.ints(2)], one, (square[0] * 0.6, -128), keep_dims=True)
    apart = net.op("SUB", [middle, line] if n % 3 else [line, middle], (1, 3, n), (x[0] * 1.1, -x[1] // 2))
    scaled = net.op("MUL", [apart, variance], (1, 3, n), (x[0] * square[0] * 80, 5))
    return net.op("ADD", [variance, scaled], (1, 3, n), (0.3, -7))


def model() -> bytes:
    quants = (
        (LINE, (0.02, 1), (0.2, -128)),
        ((0.11, -128), (0.1, -20), (0.9, -128)),
        ((0.3, 90), (0.3, 7), (4.0, -100)),
    )
    net = Net(7)
    return net.finish(*(normalized(net, n, *quants[i % 3]) for i, n in enumerate((*LENGTHS, *LENGTHS[::-1]))))


def steps(plan: Plan) -> set[str]:
    return {call for step in plan.steps for instance in step.kernel.instances for call in str(instance).split("mote_")}


@needs_litert
@pytest.mark.parametrize("target", ["host", HOST_HELIUM])
def test_lines_under_sanitizers(target: str) -> None:
    compiled = check(model(), target=target)
    used = steps(compiled.plan)
    assert all(any(call.startswith(name) for call in used) for name in ("squares_line", "add_line", "mul_line"))


@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55", "cortex-m0plus"])
def test_lines_on_cores(core: str) -> None:
    exact_on(core, model(), inputs=5)


def squares_of(x: Quant, mean: Quant, square: Quant) -> tuple[View, SquaredDifference]:
    net = Net()
    graph = tflite.parse(net.finish(normalized(net, 16, x, mean, square)), "model")
    op = next(op for op in graph.ops if isinstance(op, SquaredDifference))
    return View(graph, (op, graph.ops[graph.ops.index(op) + 1])), op


@given(
    scale=st.floats(0.01, 1), ratio=st.floats(0.05, 1), square=st.floats(0.1, 4), zeros=st.tuples(ZEROS, ZEROS, ZEROS)
)
def test_squares_are_those_of_the_reference(
    scale: float, ratio: float, square: float, zeros: tuple[int, int, int]
) -> None:
    """Of every pair of bytes, where the packer has constants."""
    each = (scale, zeros[0]), (scale * ratio, zeros[1]), (scale * scale * 100 * square, zeros[2])
    view, op = squares_of(*each)
    packed = line_steps.squares_terms(view, (0, 1))
    if packed is None:
        return
    (a, c), (mult, add) = packed.affine, packed.square
    places = (c + (a * INT8 >> 8))[:, None] - (packed.numbers << 16)[None, :]
    assert np.abs(places).max() < 1 << 31
    got = np.clip((((places >> 16) ** 2 * mult >> 32) + add) >> 16, 0, 255) - 128
    want = op.exact(view.graph, INT8[:, None], INT8[None, :])
    assert np.array_equal(got, want)


def test_usual_scales_have_constants() -> None:
    """Those of means are no larger than those of lines."""
    for ratio in (0.01, 0.3, 0.71, 1.0):
        view, _ = squares_of(LINE, (LINE[0] * ratio, 4), (0.2, -128))
        assert line_steps.squares_terms(view, (0, 1)) is not None
