"""Tables: with and without names of columns, labels by name, number or none, and what is no table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import MoteError
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.data.readers import tables
from tests.frontends.data.classifier import scaled_classifier

IRIS = "length,width,species\n5.1,3.5,setosa\n7.0,3.2,versicolor\n6.3,3.3,virginica\n4.9,3.0,setosa\n"


def read(folder: Path, text: str | bytes, inputs: str = "", labels: str = "") -> Dataset:
    path = folder / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return dataset(path, inputs=inputs, labels=labels)


@pytest.mark.parametrize(
    ("text", "options", "samples", "labels", "classes"),
    [
        (IRIS, {}, [[5.1, 3.5], [7, 3.2], [6.3, 3.3], [4.9, 3]], [0, 1, 2, 0], ("setosa", "versicolor", "virginica")),
        (IRIS, {"inputs": "width"}, [[3.5], [3.2], [3.3], [3]], [0, 1, 2, 0], ("setosa", "versicolor", "virginica")),
        (IRIS, {"inputs": "0", "labels": "width"}, [[5.1], [7], [6.3], [4.9]], [3.5, 3.2, 3.3, 3.0], ()),
        ("1,2,3\n4,5,6\n", {}, [[1, 2, 3], [4, 5, 6]], None, ()),
        ("1,2,3\n4,5,6\n", {"labels": "-1"}, [[1, 2], [4, 5]], [3, 6], ()),
        ("1,2,3\n4,5,6\n", {"labels": "0", "inputs": "2,1"}, [[3, 2], [6, 5]], [1, 4], ()),
        ("label,0,1\n7,1,2\n3,4,5\n", {}, [[1, 2], [4, 5]], [7, 3], ()),
        ("\ufeffa;y\r\n1.5;0\r\n2.5;1\r\n", {}, [[1.5], [2.5]], [0, 1], ()),
        ('"a b"\ty\n1\t0.5\n\n2\t1.5\n', {}, [[1], [2]], [0.5, 1.5], ()),
        ("1,cat\n2,dog\n3,cat\n", {}, [[1], [2], [3]], [0, 1, 0], ("cat", "dog")),
        ("1e-3,-2\n+4.,.5", {}, [[0.001, -2], [4, 0.5]], None, ()),
    ],
    ids=range(11),
)
def test_columns(
    text: str, options: dict[str, str], samples: object, labels: object, classes: object, tmp_path: Path
) -> None:
    found = read(tmp_path, text, **options)
    np.testing.assert_array_equal(found.inputs["arr_0"], np.array(samples))
    assert (None if found.labels is None else found.labels.tolist()) == labels
    assert found.classes == classes


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "is empty"),
        ("a,b\n", {}, "several columns that may be labels: 0, 1"),
        ("1,2\n3\n", {}, "line 2 has 1 columns, the first has 2"),
        ("a,b\n1,2\n\n3,4,5\n", {}, "line 4 has 3 columns"),
        ("a,b,y\n1,2,0\n3,x,1\n", {}, "column 'b' has 'x' in row 2, no number"),
        ("a,b,y\n1,2,0\n3,,1\n", {}, "column 'b' has '' in row 2"),
        ("a,b\n1,nan\n3,4\n", {}, "has nan in sample 0"),
        ("a,b\n1,inf\n3,4\n", {}, "has inf in sample 0"),
        ("a,b\n1,2\n3,4\n", {"labels": "c"}, "no column 'c'; it has a, b"),
        ("a,b\n1,2\n3,4\n", {"inputs": "a,2"}, "no column '2'; it has a, b"),
        ("y,label\n1,2\n3,4\n", {}, "several columns that may be labels: y, label"),
        ("y\n1\n2\n", {}, "no column beside its labels"),
        ('1,"2\n3,4\n', {}, "is no table"),
        (b"1,\xff\n", {}, "no text in UTF-8"),
        ("1,2\n", {}, "one sample only"),
        ("1,2\n1,2\n", {}, "all 2 samples are the same"),
        ("a,b\n1," + "9" * 200_000, {}, "is no table"),
        ("x,y\n\x1b[2J,1\n3,1\n", {}, r"has '\\x1b\[2J' in row 1"),
    ],
    ids=range(19),
)
def test_what_is_no_table(text: str | bytes, options: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(MoteError, match=said) as error:
        read(tmp_path, text, **options)
    assert error.value.where.endswith("x.csv") and error.value.remedy


def test_files_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST", 40)
    with pytest.raises(MoteError, match="more than 10 bytes"):
        read(tmp_path, IRIS)


@settings(deadline=None)
@given(st.text(st.sampled_from('01.5-eEnai,;\t\n\r" x\0\u202e'), max_size=60))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A table, or an error that says why not."""
    try:
        found = read(tmp_path_factory.getbasetemp(), text)
    except MoteError:
        return
    assert np.isfinite(found.inputs["arr_0"]).all() and len(found) > 1


def scaled_forest() -> Any:
    """A pipeline that was fitted on columns with names."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)) * [1, 10, 100]
    found = scaled_classifier().fit(x, np.where(x[:, 0] > 0, "warm", "cold"))
    found[0].feature_names_in_ = np.array(["temperature", "humidity", "pressure"], object)
    return found


def test_columns_are_matched_to_features_by_name(tmp_path: Path) -> None:
    """A file with its columns in another order, and one more, gives the same inputs."""
    graph = mote.load(scaled_forest())
    ordered = read(tmp_path, "temperature,humidity,pressure\n1,20,300\n-2,30,100\n")
    mixed = read(tmp_path, "pressure,id,temperature,humidity\n300,7,1,20\n100,8,-2,30\n")
    unnamed = read(tmp_path, "1,20,300\n-2,30,100\n")
    cases = [[case[graph.inputs[0]].tolist() for case in data.cases(graph)] for data in (ordered, mixed, unnamed)]
    assert cases[0] == cases[1] == cases[2] == [[[1, 20, 300]], [[-2, 30, 100]]]
    with pytest.raises(MoteError, match=r"x\.csv: has no column 'humidity'.*\n.*did you mean: humidty\?"):
        read(tmp_path, "temperature,humidty,pressure\n1,20,300\n-2,30,100\n").cases(graph)


def test_the_header_names_features_and_what_is_inside() -> None:
    compiled = mote.compile(scaled_forest(), name="weather")
    header = compiled.project.files["weather.h"]
    assert '#define WEATHER_INPUT_FEATURES {"temperature", "humidity", "pressure"}' in header
    assert '#define WEATHER_OUTPUT_0_CLASSES {"cold", "warm"}' in header
    assert "StandardScaler is inside of the model" in header and "not scaled" in header


def test_an_error_shows_the_shape_of_the_data() -> None:
    """Not that of an axis more, which fits the model's input."""
    graph = mote.load(Path(__file__).parents[3] / "models" / "digits.tflite")
    with pytest.raises(MoteError, match="is int32 5x1x8x8, the model takes int8 1x8x8x1"):
        dataset(np.arange(320, dtype=np.int32).reshape(5, 1, 8, 8)).cases(graph)
