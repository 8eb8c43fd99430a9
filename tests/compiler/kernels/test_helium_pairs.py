"""Functions of two tensors with vectors: maxima and minima, int16 sums and products, squares of differences. Any
shapes, scales and zero points, on an emulated Cortex-M55, and the portable twins under the sanitizers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from tests.helpers.offered import HELIUM, first
from tests.helpers.support import HOST_HELIUM, batch, check, exact_on, examples, needs_litert
from tests.ir.ops.elementwise.pair_models import TYPES, Config, Model, configs

CORE = "cortex-m55"
KINDS = ("MAXIMUM", "MINIMUM", "ADD", "SUB", "MUL", "SQUARED_DIFFERENCE")
SHAPES = [((3, n), other) for n in (1, 5, 16, 37) for other in ((3, n), (n,), (3, 1), ())]
SCALES = ((0.02, 0.011, 0.03), (0.5, 0.5, 1.0), (0.25, 2**-9, 0.0625), (0.001, 0.09, 0.02), (0.1, 0.02, 3.0))


def model(layers: list[Config]) -> bytes:
    m = Model()
    for layer in layers:
        m.layer(layer)
    return m.finish()


def shapes_of_every_kind() -> list[Config]:
    """Runs of any length, of which either operand may be repeated, with scales of all kinds."""
    found = []
    for i, (one, other) in enumerate(SHAPES):
        for j, kind in enumerate(KINDS):
            types = ("int16",) if kind in ("ADD", "SUB", "MUL") else TYPES[kind]
            for k, dtype in enumerate(t for t in types if t != "int64"):
                scales = SCALES[(i + j + k) % len(SCALES)] if dtype in ("int8", "int16") else None
                zeros = (3, -100, 7 * i - 60) if dtype == "int8" and scales else (0, 0, 0)
                shapes = (other, one) if (i + j) % 2 else (one, other)
                options = {"pot_scale_int16": False} if kind in ("ADD", "SUB") else {}
                found.append(Config(kind, dtype, shapes, scales=scales, zeros=zeros, options=options, seed=i))
    return found


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("part", range(4))
def test_any_run(part: int) -> None:
    exact_on(CORE, model(shapes_of_every_kind()[part::4]), 4)


@needs_litert
@given(batch(configs(KINDS), 24, 12))
@settings(max_examples=examples(6, 1), deadline=None)
def test_random_configurations(layers: list[Config]) -> None:
    exact_on(CORE, model(layers))


@needs_litert
@given(st.lists(configs(KINDS), min_size=12, max_size=12))
@settings(max_examples=examples(3, 1), deadline=None)
def test_portable_twins(layers: list[Config]) -> None:
    check(model(layers), target=HOST_HELIUM)


@pytest.mark.parametrize("kind", KINDS)
def test_int16_takes_vectors(kind: str) -> None:
    config = Config(kind, "int8" if kind == "SQUARED_DIFFERENCE" else "int16", scales=SCALES[0])
    for shapes in (config.shapes, ((2, 3, 4), (4,))):
        kernel = first(tflite.parse(model([replace(config, shapes=shapes)]), "model"), HELIUM)
        assert kernel.name.startswith("vectors_")
        assert kernel.isa <= HELIUM
