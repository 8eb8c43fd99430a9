"""Inputs of a user's: which array is for which input, of how many inferences, in which type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.frontends import tflite
from mote.frontends.data.inputs import given_inputs
from mote.frontends.data.readers.arrays import load_arrays
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from tests.helpers.network import Net

SHAPE = (1, 3, 2, 4)
RNG = np.random.default_rng(0)
BATCH = RNG.integers(-128, 128, (5, *SHAPE)).astype(np.int8)


def graph(inputs: int = 1, dtype: str = "int8") -> Graph:
    net = Net(dtype=dtype)
    given = [net.input(*SHAPE, quant=None if dtype == "float32" else (0.5, 3)) for _ in range(inputs)]
    return tflite.parse(net.finish(*(net.op("RELU", [x]) for x in given)), "model")


def values(found: list[dict[int, Any]], number: int = 0) -> Any:
    """Of an input, of all inferences."""
    return np.stack([list(case.values())[number] for case in found])


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (BATCH, BATCH),
        (BATCH[:, 0], BATCH),
        (BATCH[:1], BATCH[:1]),
        (BATCH[0], BATCH[:1]),
        (BATCH[0].reshape(-1), BATCH[:1]),
        ({0: BATCH}, BATCH),
        ([{0: BATCH[0]}, {0: BATCH[1]}], BATCH[:2]),
        ({"any name": BATCH}, BATCH),
        ({"x": BATCH, "labels": np.arange(5), "names": np.array(["a", "b"])}, BATCH),
        (BATCH.astype(np.int64), BATCH),
        ((BATCH.astype(np.float64) - 3) * 0.5, BATCH),
    ],
    ids=range(11),
)
def test_what_fits_is_taken(given: Any, want: Any) -> None:
    """A batch with an axis before or instead of the first; one inference; under any name; floats are quantized."""
    found = values(given_inputs(graph(), given))
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, want)


def test_real_numbers_are_rounded_and_clamped() -> None:
    reals = np.zeros(SHAPE)
    reals.reshape(-1)[:4] = (0.25, -0.25, 1e9, 0.2)
    assert values(given_inputs(graph(), reals)).reshape(-1)[:5].tolist() == [4, 2, 127, 3, 3]


@pytest.mark.parametrize(("dtype", "most"), [("uint8", 255), ("int16", 32767)])
def test_real_numbers_of_other_types(dtype: str, most: int) -> None:
    w = Writer("wide")
    x, y = w.input("x", (4,), dtype, 0.5, 0), w.tensor("y", (2, 2), dtype, 0.5, 0)
    w.op("RESHAPE", [x, w.const("shape", np.array([2, 2], np.int32))], [y])
    w.output(y)
    reals = np.array([0.25, 1e9, 3.0, -1e9])
    found = values(given_inputs(tflite.parse(w.finish(), "model"), reals)).reshape(-1)
    assert found.tolist() == [1, most, 6, 0 if dtype == "uint8" else -32768]


def test_whole_numbers_for_a_float_model() -> None:
    found = values(given_inputs(graph(dtype="float32"), BATCH))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, BATCH)


def test_several_inputs_by_number_or_name() -> None:
    two, other = graph(2), BATCH[::-1].copy()
    names = [two.tensors[t].name for t in two.inputs]
    for arrays in (
        {names[0]: BATCH, names[1]: other},
        {"arr_0": BATCH, "arr_1": other},
        {two.inputs[0]: BATCH, two.inputs[1]: other},
    ):
        found = given_inputs(two, arrays)
        assert len(found) == 5
        np.testing.assert_array_equal(values(found, 0), BATCH)
        np.testing.assert_array_equal(values(found, 1), other)


@pytest.mark.parametrize(
    ("inputs", "given", "said"),
    [
        (1, BATCH[:, :, :2], "is int8 5x1x2x2x4, the model takes int8 1x3x2x4"),
        (1, BATCH.astype(np.int64) + 128, "is int64 5x1x3x2x4"),
        (1, np.array(["a"] * 24), "is <U1 24"),
        (1, BATCH[:0], "is int8 0x1x3x2x4"),
        (1, {"a": BATCH, "b": BATCH}, r"has 2 arrays that fit 't0', int8 1x3x2x4; it has a \(int8 5x1x3x2x4\), b"),
        (1, {"a": BATCH[0, 0, 0], "b": np.arange(3)}, "has no array for 't0'"),
        (2, {"arr_0": BATCH, "arr_1": BATCH[:2]}, "more inputs of one kind than of another: 5 of 't0', 2 of 't1'"),
    ],
    ids=range(7),
)
def test_what_does_not_fit_is_named(inputs: int, given: Any, said: str) -> None:
    with pytest.raises(mote.MoteError, match=said):
        given_inputs(graph(inputs), given)


def test_files_that_hold_no_arrays(tmp_path: Path) -> None:
    for name, data in (("x.npy", b"no array"), ("x.npz", b"PK\3\4 no archive"), ("empty.npy", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(mote.MoteError, match="cannot be read"):
            load_arrays(tmp_path / name)
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object))
    with pytest.raises(mote.MoteError, match="cannot be read"):
        load_arrays(tmp_path / "objects.npz")


def test_the_api_runs_arrays_as_they_are() -> None:
    """An array of all samples in one call."""
    digits = Path(__file__).parents[3] / "models" / "digits.tflite"
    samples = np.load(digits.with_name("digits_samples.npz"))
    result = mote.run(mote.compile(digits), samples["inputs"], layers=False)
    assert len(result.inferences) == 16
    np.testing.assert_array_equal(result.values["7_softmax"].reshape(16, 10), samples["outputs"])


@pytest.mark.parametrize("given", [np.array([1.0, 2.0, -3.0, 40.0]), np.array([1, 2, -3, 40])])
def test_whole_numbers_for_an_input_that_is_not_quantized(given: Any) -> None:
    """A table has real numbers, which may be whole ones."""
    w = Writer("whole")
    x, y = w.input("x", (4,), "int32"), w.tensor("y", (2, 2), "int32")
    w.op("RESHAPE", [x, w.const("shape", np.array([2, 2], np.int32))], [y])
    w.output(y)
    model = tflite.parse(w.finish(), "model")
    found = values(given_inputs(model, given))
    assert found.dtype == np.int32 and found.reshape(-1).tolist() == [1, 2, -3, 40]
    for wrong in (given + 0.5, given * np.nan, given * 1e300):
        with pytest.raises(mote.MoteError, match="the model takes int32 4"):
            given_inputs(model, wrong)
