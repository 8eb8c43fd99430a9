"""The C code of float layers against the bounds that docs/trust/numerics.md states for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mote.frontends.build import Builder, Value, elementwise, matrix, moves, norms, recurrent
from mote.ir.graph.tensor import Array
from mote.ir.ops.recurrent.sequences import RecurrentOutput
from tests.helpers.built import Network
from tests.helpers.support import HOST_FPU, emulated, soaked

ULP = 2.0**-23
CORES = ("", "cortex-m4", "cortex-m7", "cortex-m55", "cortex-m0plus")
"""The host, and cores that have a floating-point unit, one that fuses, vectors, and none."""
RNG = np.random.default_rng(7)
Bound = Callable[[Array, Array], Array]
"""How far a layer may be off, from its input and its exact output."""


def real(*shape: int, spread: float = 1.0, middle: float = 0.0) -> Array:
    return (RNG.standard_normal(shape) * spread + middle).astype(np.float32)


def gelu_bound(x: Array, _: Array) -> Array:
    return 3 * ULP * np.abs(x)


def softmax_bound(x: Array, y: Array) -> Array:
    below = x.max(axis=-1, keepdims=True) - x
    return (x.shape[-1] + 8 + 2 * below) * ULP / 2 * y + 2.0**-126


def standard_bound(scale: Array, bias: Array, centered: bool, x: Array, _: Array) -> Array:
    z = x.astype(np.float64)
    middle = z - z.mean(axis=-1, keepdims=True) if centered else z
    deviation = np.sqrt(np.square(middle).mean(axis=-1, keepdims=True) + 1e-5)
    size = np.abs(z).max(axis=-1, keepdims=True) / deviation
    return (x.shape[-1] / 4 + 16) * ULP * size * np.abs(scale) + ULP * np.abs(bias)


def cases() -> list[tuple[Callable[[Builder, Value], Value], Bound, Array]]:
    found: list[tuple[Callable[[Builder, Value], Value], Bound, Array]] = []
    for x in (real(9, 40, spread=2), real(3, 50, spread=5), real(2, 30, spread=1e-6)):
        found += [(elementwise.gelu, gelu_bound, x), (partial(elementwise.gelu, approximate=True), gelu_bound, x)]
    for x in (real(5, 1), real(7, 3, spread=10), real(3, 200), real(2, 33, spread=60)):
        found.append((norms.softmax, softmax_bound, x))
    for x in (real(4, 5), real(3, 64, spread=0.01), real(3, 97, middle=100), real(2, 300, spread=1000)):
        scale, bias = real(x.shape[-1]), real(x.shape[-1])
        for layer, centered in ((norms.layer_norm, True), (norms.rms_norm, False)):
            given = (scale, bias) if centered else (scale,)

            def make(b: Builder, x: Value, layer=layer, given=given) -> Value:  # type: ignore[no-untyped-def]
                return layer(b, x, [1], *map(b.constant, given), epsilon=1e-5)

            of_bias = bias if centered else np.zeros(1, np.float32)
            found.append((make, partial(standard_bound, scale, of_bias, centered), x))
    return found


def network() -> tuple[Network, list[tuple[Callable[[Builder, Value], Value], Bound, Array]]]:
    """All of them, and what they are made of."""
    found, all_ = Network(), cases()
    for make, _, x in all_:
        found.add(make, x, x, images=False)
    return found, all_


def check(folder: Path, **options: object) -> None:
    whole, all_ = network()
    found, exact = whole.executed(folder, **options), whole.evaluated()
    for i, ((_, bound, x), c, y) in enumerate(zip(all_, found, exact, strict=True)):
        off = np.abs(c.astype(np.float64) - y)
        allowed = bound(x, y) + ULP / 2 * np.abs(y)
        assert np.all(off <= allowed), (i, float((off / np.maximum(allowed, 1e-45)).max()))


def test_layers_are_as_exact_as_is_stated(tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.parametrize(
    "core",
    soaked(("cortex-m4", "cortex-m7", "cortex-m0plus", "cortex-m3", "rv32imc"), ("cortex-m4", "cortex-m0plus")),
)
def test_the_same_on_cores_that_round_twice_once_and_compute_in_integers(core: str, tmp_path: Path) -> None:
    check(tmp_path, target=emulated(core), sanitize=False)


def encoder(b: Builder, x: Value, weights: dict[str, Array]) -> Value:
    """Attention of four heads and a recurrent layer behind it."""
    n, tokens, width = x.shape
    parts = moves.split(b, matrix.linear(b, x, weights["qkv"]), 2, [width] * 3)
    q, k, v = (moves.transpose(b, moves.reshape(b, p, (n, tokens, 4, width // 4)), (0, 2, 1, 3)) for p in parts)
    scores = elementwise.scaled(b, matrix.matmul(b, q, moves.transpose(b, k, (0, 1, 3, 2))), 0.4)
    mixed = moves.transpose(b, matrix.matmul(b, norms.softmax(b, scores), v), (0, 2, 1, 3))
    side = recurrent.RecurrentDirection(weights["w"], weights["r"])
    joined = moves.reshape(b, mixed, (n, tokens, width))
    return recurrent.layer(b, "GRU", joined, [side], batch_first=True, wanted=[RecurrentOutput.SEQUENCE])[
        RecurrentOutput.SEQUENCE
    ]


@pytest.mark.parametrize(
    "core", soaked(("", "cortex-m4", "cortex-m7", "cortex-m55", "cortex-m0plus"), ("", "cortex-m4"))
)
def test_attention_and_recurrence_on_every_kind_of_core(core: str, tmp_path: Path) -> None:
    """Sums of fours, and what is left of them: 7 tokens, heads of 6."""
    rng = np.random.default_rng(2)
    weights = {
        name: rng.uniform(-0.5, 0.5, shape).astype(np.float32)
        for name, shape in (("qkv", (24, 72)), ("w", (15, 24)), ("r", (15, 5)))
    }
    one = Network()
    x = rng.standard_normal((1, 7, 24)).astype(np.float32)
    one.add(lambda b, x: encoder(b, x, weights), np.zeros((1, 7, 1, 5), np.float32), x, images=False)
    options = {"target": emulated(core), "sanitize": False} if core else {"target": HOST_FPU}
    (found,), (exact,) = one.executed(tmp_path, **options), one.evaluated()
    np.testing.assert_allclose(found, exact, 0, 2e-6)
