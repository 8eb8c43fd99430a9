"""Products of computed matrices by kernels that pack the right ones: every shape, way round and zero point against the
operator's reference, by portable twins and on emulated cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from mote.compiler.kernels.contract import Packed
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.ops.matrix.batch_matmul import HeadMatmul
from tests.compiler.kernels.c_harness import Program
from tests.compiler.kernels.test_even_elements import Scales, graph
from tests.helpers.offered import named
from tests.helpers.support import emulated, examples
from tests.ir.ops.matrix.test_batch_matmul import Config, model

KERNELS = ("batch_matmul_pairs", "batch_matmul_vectors")
EDGES = ((1, 1, 1), (2, 4, 4), (3, 5, 3), (2, 16, 8), (5, 21, 6), (4, 32, 7), (7, 33, 9), (2, 20, 12))
"""Rows, depth and columns: fewer than a block has, whole blocks, and what is left behind them."""
BATCHES = (((), ()), ((2,), (2,)), ((2, 3), (3,)), ((1, 2), (2, 1)))


def products(seed: int, count: int) -> Iterator[Graph]:
    rng = np.random.default_rng(seed)
    for i in range(count):
        drawn = tuple(int(n) for n in rng.integers(1, (9, 70, 14)))
        zeros = tuple(int(n) for n in (rng.choice((-128, 127, 0), 3) if i % 3 == 0 else rng.integers(-128, 128, 3)))
        config = Config(
            batches=BATCHES[i % 4],
            sizes=EDGES[i] if i < len(EDGES) else drawn,
            turned=(i % 5 == 0, bool(rng.integers(2))),
            zeros=zeros,
            gain=float(rng.choice((0.1, 0.3, 1.0))),
            seed=i,
        )
        yield tflite.parse(model(config), "product")
        yield heads(rng, drawn, turned=i % 2 == 0)


def heads(rng: np.random.Generator, sizes: Sequence[int], *, turned: bool) -> Graph:
    """Products of four heads, whose vectors lie beside each other."""
    rows, depth, columns = sizes
    scales = Scales((0.05, 0.04, 0.05 * 0.04 * 60 * depth**0.5), tuple(int(n) for n in rng.integers(-128, 128, 3)))
    right = (columns, 4, depth) if turned else (depth, 4, columns)
    return graph(HeadMatmul, scales, [(rows, 4, depth), right], (rows, 4, columns), right_turned=turned)


def called(program: Program, g: Graph, kernel: Packed, seed: int) -> np.ndarray:
    """The result that a call is to give."""
    op, rng = g.ops[0], np.random.default_rng(seed)
    given = [rng.integers(-128, 128, op.input(g, p).shape).astype(np.int8) for p in (0, 1)]
    (expected,) = op.evaluate(g, given)
    assert kernel.needs.scratch is not None
    left, right = (program.block(v.nbytes, v) for v in given)
    out, scratch = program.block(expected.nbytes), program.block(kernel.needs.scratch)
    program.say(f"mote_{kernel.name}({program.params(kernel)}, {left}, {right}, {out}, {scratch});")
    program.write(out, expected.nbytes)
    return expected


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("core", "name"),
    [*(("host", name) for name in KERNELS), ("cortex-m4", KERNELS[0]), ("cortex-m55", KERNELS[1])],
)
def test_random_products(core: str, name: str) -> None:
    program, wanted = Program(core if core == "host" else emulated(core)), []
    count = examples(24)
    for seed, g in enumerate(products(7, count)):
        kernel = named(name, g, g.ops[0])
        if kernel is not None:
            wanted.append((g, called(program, g, kernel, seed)))
    assert len(wanted) > count
    got = np.frombuffer(program.run(), np.int8)
    for g, expected in wanted:
        result, got = got[: expected.size], got[expected.size :]
        assert np.array_equal(result, expected.reshape(-1)), [t.shape for t in g.tensors]
    assert not got.size


def test_what_is_refused() -> None:
    """Scales that are shifted to the left, or so far to the right that no zero point fits beside a sum."""
    for gain in (1e-4, 1e9):
        g = tflite.parse(model(Config(sizes=(4, 8, 4), gain=gain)), "product")
        assert named(KERNELS[0], g, g.ops[0]) is None
