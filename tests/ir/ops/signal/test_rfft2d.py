"""RFFT2D, COMPLEX_ABS, REAL and IMAG against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError, UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Shape
from tests.helpers.support import check, check_numpy, exact_on, examples, needs_litert

KINDS = ("COMPLEX_ABS", "REAL", "IMAG")


def add_layer(w: Writer, i: int, shape: Shape, height: int, width: int) -> None:
    x = w.input(f"x{i}", shape, "float32")
    spectrum = (*shape[:-2], height, width // 2 + 1)
    z = w.tensor(f"z{i}", spectrum, "complex64")
    w.op("RFFT2D", [x, w.const("lengths", np.array([height, width], np.int32))], [z])
    for kind in KINDS:
        y = w.tensor(f"{kind}{i}", spectrum, "float32")
        w.op(kind, [z], [y])
        w.output(y)


def model(*layers: tuple[Shape, int, int]) -> bytes:
    w = Writer("spectra")
    for i, layer in enumerate(layers):
        add_layer(w, i, *layer)
    return w.finish()


@needs_litert
@settings(max_examples=examples(24), deadline=None)
@given(
    st.sampled_from([(), (1,), (3,), (2, 2)]),
    st.integers(1, 9),
    st.integers(1, 70),
    st.sampled_from([1, 1, 2, 4, 8]),
    st.sampled_from([2, 4, 8, 16, 32, 64]),
)
def test_numpy(outer: Shape, rows: int, columns: int, height: int, width: int) -> None:
    data = model(((*outer, rows, columns), height, width))
    check_numpy(tflite.parse(data, "model"), data, 5)


MANY = [
    ((1, 5, 1, 30), 1, 32),
    ((2, 3), 1, 2),
    ((2, 3, 9), 4, 8),
    ((3, 5, 7), 4, 16),
    ((1, 2, 2, 4), 8, 4),
    ((4, 64), 2, 64),
]


@needs_litert
def test_c() -> None:
    check(model(*MANY[:5]), 3)


@needs_litert
def test_by_rows() -> None:
    """Frames one after another, so that no spectrum is kept whole."""
    compiled = check(model(((1, 20, 1, 60), 1, 64)), 3, least_ram=True)
    edges = 20 * 60 * 4 + 3 * 20 * 33 * 4
    assert compiled.plan.arena < edges + 20 * 33 * 8


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    exact_on("cortex-m4", model(*MANY[2:5]), 2)


@pytest.mark.parametrize(("height", "width"), [(3, 8), (1, 12), (1, 1), (0, 8), (-2, 8), (1, 1 << 20)])
def test_lengths_that_are_refused(height: int, width: int) -> None:
    w = Writer("spectra")
    x = w.input("x", (2, 8), "float32")
    z, y = w.tensor("z", (1, 5), "complex64"), w.tensor("y", (1, 5), "float32")
    w.op("RFFT2D", [x, w.const("lengths", np.array([height, width], np.int32))], [z])
    w.op("REAL", [z], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match="only powers of two"):
        tflite.parse(w.finish(), "model")


def test_complex_numbers_stay_inside() -> None:
    w = Writer("spectra")
    x, z = w.input("x", (1, 8), "float32"), w.tensor("z", (1, 5), "complex64")
    w.op("RFFT2D", [x, w.const("lengths", np.array([1, 8], np.int32))], [z])
    w.output(z)
    with pytest.raises(MoteError, match="has complex numbers"):
        tflite.parse(w.finish(), "model")


def test_lines_of_an_image_are_not_computed_by_rows() -> None:
    alone, several = (tflite.parse(model((shape, 2, 64)), "model") for shape in ((4, 64), (3, 4, 64)))
    assert alone.ops[0].reads(alone, 0, 1) is None and several.ops[0].reads(several, 0, 1) == (1,)
