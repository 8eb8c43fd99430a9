"""Functions of two tensors with SIMD instructions: maxima and minima, int16 sums and products. Any scales and lengths,
and repeated operands, on an emulated Cortex-M4, and the portable twins under the sanitizers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from mote.frontends import tflite
from tests.helpers.offered import DSP, first
from tests.helpers.support import HOST_DSP, batch, check, exact_on, examples, needs_litert
from tests.ir.ops.elementwise.pair_models import Config, configs, model

KINDS = ("MAXIMUM", "MINIMUM", "ADD", "SUB", "MUL")
SHAPES = [((3, n), other) for n in (1, 2, 3, 7, 37, 70) for other in ((3, n), (n,), (3, 1), ())]
SCALES = (
    (0.02, 0.011, 0.03), (0.011, 0.02, 0.03), (0.25, 0.25, 0.3), (0.25, 2**-9, 0.0625), (0.001, 0.09, 0.02),
    (0.1, 0.02, 3.0), (0.3, 0.7, 0.22), (2**-8, 2**-7, 2**-8),
)  # fmt: skip
"""Equal and other scales, of which results are large or small; products that are shifted to the left."""
TYPES = {"MAXIMUM": ("int8", "uint8", "int16"), "MINIMUM": ("int8", "uint8", "int16")}


def layers() -> list[Config]:
    found = []
    for i, (one, other) in enumerate(SHAPES):
        for j, kind in enumerate(KINDS):
            for k, dtype in enumerate(TYPES.get(kind, ("int16",))):
                scales = None if kind in TYPES else SCALES[(i + 3 * j + k) % len(SCALES)]
                shapes = (other, one) if (i + j) % 2 else (one, other)
                options = {"pot_scale_int16": False} if kind in ("ADD", "SUB") else {}
                activation = "RELU" if kind not in TYPES and i % 5 == 0 else "NONE"
                found.append(Config(kind, dtype, shapes, -1, activation, scales, options=options))
    return found


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("part", range(4))
def test_any_run(part: int) -> None:
    exact_on("cortex-m4", model(*layers()[part::4]), 4)


@needs_litert
@given(batch(configs(KINDS), 24, 12))
@settings(max_examples=examples(4, 1), deadline=None)
def test_random_configurations(pairs: list[Config]) -> None:
    exact_on("cortex-m4", model(*pairs))


@needs_litert
def test_portable_twins() -> None:
    check(model(*layers()[::2]), target=HOST_DSP)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("repeated", [False, True])
def test_they_are_offered_first(kind: str, repeated: bool) -> None:
    shapes = ((2, 3, 4), (4,) if repeated else (2, 3, 4))
    scales = None if kind in TYPES else SCALES[0]
    graph = tflite.parse(model(Config(kind, "int16", shapes, scales=scales)), "model")
    assert first(graph, DSP).name.startswith("simd_")
