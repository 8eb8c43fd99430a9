"""Row by row: `Op.reads` names every input row that matters, and kernels compute a row wherever its input rows lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import NHWC, Call
from mote.compiler.kernels.pack.planar import Planar
from mote.frontends import tflite
from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import Magnitudes, compare
from tests.compiler.kernels.c_harness import Program, call_row_by_row, inputs_of, random, rows_of
from tests.compiler.kernels.families import FAMILIES, batch
from tests.helpers.offered import DSP, PORTABLE, offered
from tests.helpers.support import examples
from tests.ir.ops.elementwise import test_activations as test_unary
from tests.ir.ops.elementwise import test_arithmetic
from tests.ir.ops.indexing import test_gather as test_lookup
from tests.ir.ops.moves import test_pad_concat_transpose as test_move
from tests.ir.ops.moves import test_strided as test_walk
from tests.ir.ops.reductions import test_softmax
from tests.ir.ops.windows import test_pool, test_resize, test_transpose_conv

LAYERS = FAMILIES | {
    "move": batch(st.one_of(*(kind() for kind in test_move.KINDS))).map(test_move.model),
    "lookup": batch(test_lookup.any_lookup()).map(test_lookup.model),
    "walk": batch(test_walk.any_walk()).map(test_walk.model),
    "prelu": batch(test_unary.prelus()).map(test_unary.prelu_model),
}
WAYS = [(PORTABLE, NHWC), (DSP, NHWC), (DSP, Planar(64, 1))]
"""Features and layouts of outputs: on the host the portable twins of DSP kernels run."""


def row_by_row(op: Op, g: Graph) -> bool:
    return not op.is_view and all(op.reads(g, p, 0) is not None for p, t in enumerate(op.inputs) if activation(g, t))


def activation(g: Graph, tensor: int) -> bool:
    return tensor in g.tensors and g.tensors[tensor].data is None


def spoiled(values: Array, kept: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Other values everywhere but in the rows `kept`."""
    garbage = random(rng, values.shape, values.dtype.name)
    keep = [r for r in kept if r != OUTSIDE]
    rows_of(garbage)[keep] = rows_of(values)[keep]
    return garbage


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("family", LAYERS)
@given(st.data())
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_row_is_made_from_the_rows_that_it_reads(family: str, data: st.DataObject) -> None:
    g = tflite.parse(data.draw(LAYERS[family]), "model")
    rng = np.random.default_rng(1)
    for op in filter(lambda op: row_by_row(op, g), g.ops):
        values = inputs_of(op, g)
        (whole,) = op.evaluate(g, values)
        for y in range(row_count(whole.shape)):
            some = [
                spoiled(v, op.reads(g, i, y) or (), rng) if activation(g, t) else v
                for i, (v, t) in enumerate(zip(values, op.inputs, strict=False))
            ]
            (part,) = op.evaluate(g, some)
            assert rows_of(part)[y].tobytes() == rows_of(whole)[y].tobytes(), (g.text(), y)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("family", LAYERS)
@given(st.data())
@settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
def test_kernels_take_rows_wherever_they_lie(family: str, data: st.DataObject) -> None:
    g = tflite.parse(data.draw(LAYERS[family]), "model")
    features, layout = data.draw(st.sampled_from(WAYS))
    program, want = Program(), []
    for op in filter(lambda op: row_by_row(op, g), g.ops):
        kernels = offered(g, op, features, writes=layout) or offered(g, op, features)
        kernel = data.draw(st.sampled_from(kernels))
        if kernel.entry.call is Call.WHOLE or any(op.reads(g, p, 0) is None for p in kernel.entry.operands):
            continue
        values = inputs_of(op, g)
        call_row_by_row(program, g, op, kernel, values)
        expected = op.evaluate(g, values)[0]
        known = dict(zip(op.inputs, values, strict=False)) | {op.outputs[0]: expected}
        size = Magnitudes(g.with_ops([op])).step(known).get(op.outputs[0], 0.0)
        want.append((op, kernel.needs.writes, expected, size))
    got = program.run()
    for op, layout, expected, size in want:
        nbytes = layout.store(expected).nbytes
        found = np.frombuffer(got[:nbytes], expected.dtype)
        got = got[nbytes:]
        _, bad = compare(layout.load(found, expected.shape), expected, size)
        assert not bad, f"{op.kind} in {g.text()}"
    assert not got


def reads(g: Graph, position: int = 0) -> list[tuple[int, ...] | None]:
    """What every row of the first operator's output reads."""
    op = g.ops[0]
    return [op.reads(g, position, y) for y in range(row_count(op.output(g).shape))]


def test_windowed_rows() -> None:
    pool = tflite.parse(test_pool.model([test_pool.PLAIN]), "model")
    assert reads(pool) == [(0, 1, 2), (2, 3, 4), (4, 5, OUTSIDE)]
    two = tflite.parse(test_pool.model([test_pool.PLAIN | {"batch": 2}]), "model")
    assert reads(two)[3:] == [(6, 7, 8), (8, 9, 10), (10, 11, OUTSIDE)]


def test_blended_rows() -> None:
    g = tflite.parse(test_resize.model([test_resize.PLAIN | {"size": (4, 4), "new": (8, 8)}]), "model")
    assert reads(g) == [(0, 0), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3), (3, 3)]


def test_pad_slice_and_concatenation() -> None:
    image: test_move.Config = {"dtype": "int8", "shape": [1, 6, 5, 2], "value": 0}
    pad = test_move.parse_one(image | {"kind": "PAD", "paddings": [(0, 0), (2, 1), (1, 1), (0, 0)]})
    assert reads(pad) == [(r,) for r in (OUTSIDE, OUTSIDE, 0, 1, 2, 3, 4, 5, OUTSIDE)]
    cut = test_move.parse_one(image | {"kind": "SLICE", "begin": [0, 2, 0, 0], "size": [1, 3, 5, 2]})
    assert reads(cut) == [(2,), (3,), (4,)]
    joined = test_move.parse_one(image | {"kind": "CONCATENATION", "axis": 1, "sizes": [2, 3], "constant": False})
    assert reads(joined) == [(r,) for r in (0, 1, OUTSIDE, OUTSIDE, OUTSIDE)]
    assert reads(joined, 1) == [(r,) for r in (OUTSIDE, OUTSIDE, 0, 1, 2)]


def test_one_value_at_a_time() -> None:
    relu = test_unary.graph(test_unary.Config("RELU", shape=(1, 3, 4, 2)))
    softmax = tflite.parse(test_softmax.model(test_softmax.Config((3, 4, 10))), "model")
    assert reads(relu) == reads(softmax) == [(0,), (1,), (2,)]


def test_a_repeated_operand() -> None:
    g = test_arithmetic.graph(test_arithmetic.Config(shapes=((2, 3, 6, 5), (3, 1, 5))))
    assert reads(g) == [(y,) for y in range(6)]
    assert reads(g, 1) == [(0,), (1,), (2,)] * 2


@given(test_transpose_conv.configs())
@settings(max_examples=100, deadline=None)
def test_a_transposed_convolution_reads_no_more_than_it_needs(config: test_transpose_conv.Config) -> None:
    """Exactly the rows that change the output row."""
    config = config | {"dtype": "float32", "batch": 1, "activation": "NONE"}
    g = tflite.parse(test_transpose_conv.model([config]), "model")
    (op,) = g.ops
    x, y = op.input(g), op.output(g)
    plain = g.evaluate({x.id: np.zeros(x.shape, np.float32)})[y.id]
    reached: list[set[int]] = [set() for _ in range(y.shape[1])]
    for row in range(x.shape[1]):
        image = np.zeros(x.shape, np.float32)
        image[:, row] = 1
        for changed in np.flatnonzero((g.evaluate({x.id: image})[y.id] != plain).any(axis=(0, 2, 3))):
            reached[changed].add(row)
    assert [set(r or ()) - {OUTSIDE} for r in reads(g)] == reached
