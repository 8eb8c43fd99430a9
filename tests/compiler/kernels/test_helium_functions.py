"""float32 functions with vectors, on an emulated Cortex-M55, against their true values: as near as numerics.md says."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array
from tests.compiler.kernels.c_harness import Program
from tests.helpers.network import Net
from tests.helpers.offered import HELIUM, first
from tests.helpers.support import emulated, exact_on, needs_litert

CORE = "cortex-m55"
FEATURES = HELIUM | {"fpu", "fma"}
U = 2.0**-23
LEAST = 2.0**-126
"""Helium flushes what is below it to zero."""
Reals = NDArray[np.float64]


def _erf(x: Reals) -> Reals:
    return np.array([math.erf(v) for v in x])


TRUE: dict[str, Callable[[Reals], Reals]] = {
    "EXP": np.exp,
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": np.tanh,
    "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "LEAKY_RELU": lambda x: np.where(x > 0, x, x * np.float64(np.float32(0.1))),
}
ULPS = {"EXP": 1, "LOGISTIC": 3, "TANH": 3, "RELU": 0, "RELU6": 0, "LEAKY_RELU": 0.5}
OPTIONS: dict[str, dict[str, object]] = {"LEAKY_RELU": {"alpha": 0.1}}


def numbers() -> Array:
    """Of every exponent, and many that are usual; no subnormal ones."""
    rng = np.random.default_rng(0)
    exponents = np.repeat(np.arange(-126, 128), 24)
    wide = rng.uniform(1, 2, exponents.size) * 2.0**exponents
    some = np.concatenate([wide, -wide, rng.uniform(-110, 95, 6000), rng.normal(0, 3, 6001)])
    ends = [0.0, -0.0, 88.722839, 88.72284, -87.33654, -87.33655, 9.1, -9.1, 18.75, -5.5, 5.5, 3.0, -3.0]
    return np.concatenate([some, ends]).astype(np.float32)


def computed(kind: str, x: Array, **options: object) -> Array:
    net = Net(dtype="float32")
    g = tflite.parse(net.finish(net.op(kind, [net.input(1, x.size)], **options)), "model")
    kernel = first(g, FEATURES)
    assert kernel.family.endswith("_helium")
    program = Program(emulated(CORE))
    params, given, out = program.params(kernel), program.block(x.nbytes, x), program.block(x.nbytes)
    program.say(f"mote_{kernel.name}({params}, {given}, {out}, {x.size});")
    program.write(out, x.nbytes)
    return np.frombuffer(program.run(), np.float32)


@pytest.mark.parametrize("kind", TRUE)
def test_results_are_as_near_as_promised(kind: str) -> None:
    x = numbers()
    got = computed(kind, x, **OPTIONS.get(kind, {}))
    with np.errstate(over="ignore", invalid="ignore"):
        true = TRUE[kind](x.astype(np.float64))
        rounded = true.astype(np.float32)
    normal = np.isfinite(rounded) & (np.abs(true) >= LEAST)
    assert np.array_equal(got[np.isinf(rounded)], rounded[np.isinf(rounded)])
    assert np.all(np.abs(got[np.abs(true) < LEAST]) <= 1.001 * LEAST)
    far = np.abs(got[normal] - true[normal])
    if kind == "HARD_SWISH":  # six times the largest overflow
        assert np.all((far <= 3 * U * np.abs(x[normal])) | (np.abs(x[normal]) > 5e37))
    else:
        assert (far / np.spacing(np.abs(rounded[normal]))).max(initial=0) <= ULPS[kind]


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_is_as_near_as_promised(approximate: bool) -> None:
    x = numbers()
    got, real = computed("GELU", x, approximate=approximate), x.astype(np.float64)
    with np.errstate(over="ignore"):
        inner = np.tanh(math.sqrt(2 / math.pi) * (real + 0.044715 * real**3)) if approximate else _erf(real / 2**0.5)
    true = real * 0.5 * (1 + inner)
    assert np.all(np.abs(got - true) <= 3 * U * np.abs(real) + LEAST)


@pytest.mark.parametrize("kind", ["EXP", "LOGISTIC", "TANH", "GELU", "LEAKY_RELU"])
def test_no_number_stays_one(kind: str) -> None:
    x = np.array([1.0, np.nan, -2.0, 0.5, np.nan], np.float32)
    got = computed(kind, x, **OPTIONS.get(kind, {}))
    assert np.array_equal(np.isnan(got), np.isnan(x))


@pytest.mark.parametrize(("kind", "ends"), [("EXP", (np.inf, 0)), ("LOGISTIC", (1, 0)), ("TANH", (1, -1))])
def test_infinities(kind: str, ends: tuple[float, float]) -> None:
    got = computed(kind, np.array([np.inf, -np.inf], np.float32))
    assert np.allclose(got, ends, rtol=0, atol=1e-37)


@needs_litert
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("length", [1, 3, 4, 22])
def test_networks(length: int) -> None:
    """Any number of elements, after LiteRT."""
    net = Net(dtype="float32")
    x = net.input(1, length)
    results = [net.op(kind, [x], **OPTIONS.get(kind, {})) for kind in TRUE]
    exact_on(CORE, net.finish(*results, net.op("GELU", [x], approximate=True), net.op("GELU", [x], approximate=False)))


EVERY_INT16 = np.arange(-32768, 32768).astype(np.int16)


def int16_functions() -> list[tuple[str, float, float]]:
    """Kinds, and scales of inputs and outputs: powers of two, others, and those that leave the table."""
    scales = [2.0**-12, 2.0**-11, 2.0**-15, 3.0 / 32768, 8.0 / 32768, 11.3 / 32768, 60 / 32768, 1000 / 32768]
    found = [(kind, scale, 1 / 32768) for kind in ("LOGISTIC", "TANH") for scale in scales]
    return [*found, ("EXP", 4 / 32768, 60 / 32768), ("GELU", 5 / 32768, 5 / 32768), ("EXP", 10 / 32768, 0.7)]


def test_every_int16() -> None:
    program, expected = Program(emulated(CORE)), []
    given, out = program.block(2 * 65536, EVERY_INT16), program.block(2 * 65533)
    for kind, scale, result in int16_functions():
        w = Writer("function")
        x = w.input("x", (1, 65533), "int16", scale, 0)
        y = w.tensor("y", (1, 65533), "int16", result, 0)
        w.op(kind, [x], [y])
        w.output(y)
        g = tflite.parse(w.finish(), "model")
        kernel = first(g, FEATURES)
        assert kernel.family in ("sigmoid_s16_helium", "lut_s16_helium")
        params = program.params(kernel)
        program.say(f"mote_{kernel.name}({params}, (int16_t *){given} + 3, {out}, 65533);")
        program.write(out, 2 * 65533)
        expected += g.ops[0].evaluate(g, [EVERY_INT16[None, 3:]])
    got = np.frombuffer(program.run(), np.int16).reshape(-1, 65533)
    for how, result, wanted in zip(int16_functions(), got, expected, strict=True):
        assert np.array_equal(result, wanted[0]), how
