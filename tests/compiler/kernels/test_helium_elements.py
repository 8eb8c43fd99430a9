"""Inner loops over elements and channels on an emulated Cortex-M55, whose vectors take any number of them: with gcc and
with clang, every tensor against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from tests.compiler.kernels.c_harness import Program
from tests.helpers.offered import first
from tests.helpers.support import HOST_HELIUM, check, emulated, needs_litert
from tests.ir.ops.elementwise import test_activations as test_unary
from tests.ir.ops.elementwise import test_arithmetic, test_quantize
from tests.ir.ops.reductions import test_mean
from tests.ir.ops.windows import test_pool

pytestmark = needs_litert

CORE = "cortex-m55"
HELIUM = frozenset({"dsp", "mve"})
LENGTHS = (1, 4, 15, 16, 35, 70)
QUANTS = (
    ((0.0512, 3), (0.0337, -7), (0.0623, 11)),
    ((0.0235, -128), (0.0071, 4), (0.0235, -128)),
    ((0.4, 127), (0.3, -128), (0.5, 100)),
)


def sums_and_products() -> list[test_arithmetic.Config]:
    """Operands of the same shape, one that is repeated for each pixel, and one number for each pixel or for all."""
    return [
        test_arithmetic.Config(kind=kind, shapes=((2, 3, n), other), quants=QUANTS[n % 3])
        for n in LENGTHS
        for kind in ("SUB" if n % 2 else "ADD", "MUL")
        for other in ((2, 3, n), (n,), (2, 3, 1), ())
    ]


def pools() -> list[dict[str, object]]:
    """Windows inside the image and over its edge, with channels for whole vectors and some that are left."""
    usual = {"dtype": "int8", "batch": 1, "stride": (2, 1), "scale": 0.05, "zero_point": -9}
    return [
        {**usual, "kind": kind, "channels": n, "size": [7, 5], "kernel": k, "padding": p, "activation": a}
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
        for n in (4, 16, 23, 48)
        for k, p, a in (((3, 2), "SAME", "RELU6"), ((7, 5), "VALID", "NONE"))
    ]


def means() -> list[dict[str, object]]:
    """Of more pixels than sums fit into half words, too."""
    usual = {"dtype": "int8", "keep_dims": False, "scales": (0.05, 0.02), "zeros": (3, -7)}
    shapes = ((1, 5, 3, 16), (1, 19, 17, 35), (2, 3, 4, 64))
    return [{**usual, "shape": shape, "axes": axes} for shape in shapes for axes in ([1, 2], [1], [3])]


def tables() -> list[test_unary.Config]:
    return [test_unary.Config(kind, shape=(n,)) for kind in ("HARD_SWISH", "LEAKY_RELU") for n in (*LENGTHS, 256)]


MODELS = {
    "arithmetic": lambda: test_arithmetic.model(*sums_and_products()),
    "pool": lambda: test_pool.model(pools()),
    "mean": lambda: test_mean.model(means()),
    "table": lambda: test_unary.model(*tables()),
}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("kind", "compiler"), [*((kind, "gcc") for kind in MODELS), ("arithmetic", "zig"), ("pool", "zig")]
)
def test_any_number_of_elements(kind: str, compiler: str) -> None:
    result = verify(compile(MODELS[kind](), target=emulated(CORE)), 3, compiler=compiler)
    assert result.passed, result.mismatches


def test_portable_twins() -> None:
    compiled = check(MODELS["pool"](), target=HOST_HELIUM)
    assert sum(step.kernel.family.endswith("_pool_helium") for step in compiled.plan.steps) == 12


def test_quotients_are_the_nearest() -> None:
    """Ties, their neighbours, infinity and no number, for scales of every kind: a vector has no division."""
    rng = np.random.default_rng(0)
    near_two = np.nextafter(np.float32(0.5), np.float32(0))
    scales = [*np.exp(rng.uniform(-9, 2, 40)).astype(np.float32), near_two, np.float32(0.25)]
    program, expected = Program(emulated(CORE)), []
    for scale in map(float, scales):
        g = tflite.parse(test_quantize.model([(scale, int(rng.integers(-128, 128)))]), "model")
        op, kernel = g.ops[0], first(g, HELIUM)
        x = test_quantize.edges(scale)
        x[-4:] = [np.inf, -np.inf, np.nan, -0.0]
        x[-1200:-4] = (rng.uniform(-130, 130, 1196) * scale).astype(np.float32)
        params, given, out = program.params(kernel), program.block(x.nbytes, x), program.block(x.size)
        program.say(f"mote_{kernel.name}({params}, {given}, {out}, {x.size});")
        program.write(out, x.size)
        with np.errstate(invalid="ignore", over="ignore"):
            expected.append(op.evaluate(g, [x])[0])
        expected[-1][-2] = -128  # no number is the lowest one, as in C
    assert np.array_equal(np.frombuffer(program.run(), np.int8), np.concatenate(expected))


def test_sums_are_of_vectors() -> None:
    assert first(test_arithmetic.graph(sums_and_products()[0]), HELIUM).family == "add_helium"
