"""Data as users have it: what becomes samples, labels, names and classes, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.frontends import tflite
from mote.frontends.data import inputs
from mote.frontends.data.dataset import Dataset, RecordingInfo, dataset
from mote.frontends.data.windows import windows
from mote.ir.graph import Graph
from tests.frontends.data.classifier import scaled_classifier
from tests.helpers.network import Net

RNG = np.random.default_rng(1)
X = RNG.normal(size=(6, 3, 2, 4)).astype(np.float32)
Y = np.array([0, 1, 2, 0, 1, 2])


def graph(*shape: int, dtype: str = "int8") -> Graph:
    net = Net(dtype=dtype)
    x = net.input(*shape, quant=None if dtype == "float32" else (0.5, 3))
    return tflite.parse(net.finish(net.op("RELU", [x])), "model")


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "data.npz", **arrays)
    return folder / "data.npz"


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        ({"x": X}, Y),
        {"x": X, "y": Y},
        {"x": X, "labels": Y},
        {"x": X, "y": Y, "labels": np.array(["a", "b", "c"]), "files": np.array(list("uvwxyz"))},
        list(zip(X, Y, strict=True)),
        (({"x": x}, y) for x, y in zip(X, Y, strict=True)),
        (X.tolist(), Y.tolist()),
        (X, Y[:, None]),
        (X, np.array(list("abcabc"))),
        [(x, "abc"[y]) for x, y in zip(X, Y, strict=True)],
    ],
    ids=range(11),
)
def test_samples_with_labels(data: Any) -> None:
    found = dataset(data, labelled=True)
    (x,) = found.inputs.values()
    np.testing.assert_array_equal(x, X)
    assert found.labels is not None and found.labels.tolist() == Y.tolist()
    assert len(found) == 6
    assert found.classes in ((), ("a", "b", "c"))


def test_a_file_of_arrays(tmp_path: Path) -> None:
    """What is not chosen is guessed only where there is no doubt."""
    names = {"clip": np.array(list("uvwxyz")), "labels": np.array(["down", "up", "other"])}
    found = dataset(saved(tmp_path, x=X, y=Y, **names), labelled=True)
    assert found.names == tuple("uvwxyz") and found.classes == ("down", "up", "other")
    assert found.name(1) == "v" and list(found.inputs) == ["x"]
    both = saved(tmp_path, x=X, z=2 * X, y=Y, target=Y)
    with pytest.raises(MoteError, match=r"several arrays that may be labels: y .*, target"):
        dataset(both)
    chosen = dataset(both, inputs="z", labels="target")
    np.testing.assert_array_equal(chosen.inputs["z"], 2 * X)
    assert list(dataset(both, inputs="x,z", labels="y").inputs) == ["x", "z"]
    np.save(tmp_path / "x.npy", X)
    assert dataset(tmp_path / "x.npy").labels is None


def test_as_many_classes_as_samples() -> None:
    found = dataset({"x": X, "y": Y, "labels": np.array(list("abcdef")), "clip": np.array(list("uvwxyz"))})
    assert found.classes == tuple("abcdef") and found.names == tuple("uvwxyz")


def test_a_data_set_stays_what_it_is() -> None:
    found = dataset((X, Y))
    assert dataset(found) is found


def test_some_samples() -> None:
    data = Dataset("here", {"x": X}, Y, tuple("abcdef"), ("p", "q", "r"))
    some = data.take([4, 1])
    assert some.labels is not None and some.labels.tolist() == [1, 1]
    assert some.names == ("e", "b") and some.classes == data.classes
    np.testing.assert_array_equal(some.inputs["x"], X[[4, 1]])
    assert len(data.take(slice(2))) == 2


@pytest.mark.parametrize("shape", [(1, 3, 2, 4), (3, 2, 4), (1, 24), (1, 3, 1, 2, 4)])
@pytest.mark.parametrize("given", [X, X.reshape(6, 24), X[:, None]], ids=["as is", "rows", "a one before"])
def test_cases_have_the_shape_and_type_of_the_model(shape: tuple[int, ...], given: Any) -> None:
    model = graph(*shape)
    if given.ndim > 2 and shape == (1, 24):
        with pytest.raises(MoteError, match=r"option data: 't0' is float32 .*the model takes int8 1x24"):
            dataset(given).cases(model)
        return
    cases = dataset(given).cases(model)
    assert len(cases) == 6
    want = np.clip(np.rint(X / 0.5) + 3, -128, 127).reshape(6, *shape)
    for case, row in zip(cases, want, strict=True):
        ((_, value),) = case.items()
        assert value.dtype == np.int8
        assert np.abs(value.astype(int) - row).max() <= 1  # halves go away from zero
    assert np.mean([np.mean(next(iter(c.values())) == row) for c, row in zip(cases, want, strict=True)]) > 0.95


def test_many_values_are_quantized_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dataset(X).cases(graph(1, 3, 2, 4))
    monkeypatch.setattr(inputs, "AT_ONCE", 50)
    for one, other in zip(whole, dataset(X).cases(graph(1, 3, 2, 4)), strict=True):
        np.testing.assert_array_equal(list(one.values()), list(other.values()))


def test_pixels_for_a_quantized_model() -> None:
    """Whole numbers that its type has not are no codes, and what to do is said."""
    pixels = RNG.integers(0, 256, X.shape, np.uint8)
    with pytest.raises(MoteError, match="is uint8 6x3x2x4, the model takes int8") as error:
        dataset(pixels).cases(graph(1, 3, 2, 4))
    assert "--preprocess float" in error.value.remedy
    assert len(dataset(pixels, preprocess="float").cases(graph(1, 3, 2, 4))) == 6


def test_windows_of_a_recording() -> None:
    frames = RNG.normal(size=(9, 4)).astype(np.float32)
    data = Dataset("here", {"x": frames}, stream=RecordingInfo(0.1, 0.1, 0.9))
    for shape in ((1, 3, 4), (1, 3, 1, 4), (3, 4)):
        cases = data.cases(graph(*shape, dtype="float32"))
        found = np.stack([next(iter(case.values())).reshape(3, 4) for case in cases])
        np.testing.assert_array_equal(found, [frames[i : i + 3] for i in range(7)])
    each = data.cases(graph(1, 4, dtype="float32"))
    assert len(each) == 9
    with pytest.raises(MoteError, match="has frames of 4 values, of which the model's 1x3x5 cannot be made"):
        data.cases(graph(1, 3, 5))
    with pytest.raises(MoteError, match="has 9 frames, and a window of the model takes 10"):
        data.cases(graph(1, 10, 4))


def test_pieces_for_a_model_that_keeps_what_it_heard() -> None:
    frames = RNG.normal(size=(9, 4)).astype(np.float32)
    tensor = replace(graph(1, 2, 4, dtype="float32").tensors[0], newest=1)
    found = windows(tensor, frames, "here", tensor.newest)
    np.testing.assert_array_equal(found, frames[:8].reshape(4, 1, 2, 4))


def test_one_inference_is_no_data_set_of_its_rows() -> None:
    with pytest.raises(MoteError, match="3 samples of which 1 inferences"):
        dataset(X[0]).cases(graph(3, 2, 4))


def test_inputs_are_found_by_name() -> None:
    net = Net(dtype="float32")
    given = [net.input(1, 4), net.input(2, 2)]
    model = tflite.parse(net.finish(*(net.op("RELU", [x]) for x in given)), "model")
    rows = RNG.normal(size=(3, 4)).astype(np.float32)
    cases = dataset({"t0": rows, "t1": 2 * rows}).cases(model)
    first, second = (np.stack([case[t] for case in cases]) for t in model.inputs)
    np.testing.assert_array_equal(first.reshape(3, 4), rows)
    np.testing.assert_array_equal(second.reshape(3, 4), 2 * rows)


def spoiled(value: float) -> Any:
    wrong = X.copy()
    wrong[4, 1, 0, 2] = value
    return wrong


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (spoiled(np.nan), "'arr_0' has nan in sample 4"),
        ((spoiled(-np.inf), Y), "'arr_0' has -inf in sample 4"),
        ((X, np.where(Y == 1, np.nan, 0.5)), "the label of sample 1 is nan"),
        (X.astype(np.float64) * 1e200, "'arr_0' has .*e.199 in sample 0"),
        (np.full((5, 4), 3), "'arr_0' is 3 everywhere"),
        (np.tile(X[:1], (4, 1, 1, 1)), "all 4 samples are the same"),
        (X[:1], "one sample only"),
        (X[:0], "is empty"),
        ([], "has no arrays"),
        ((X, Y[:4]), "not as many of each: 6 of 'arr_0', 4 of 'labels'"),
        ({"x": X, "y": Y - 1, "classes": np.array(["a", "b", "c"])}, "label of sample 0 is -1; there are 3 classes"),
        ({"x": X, "y": Y + 1, "classes": np.array(["a", "b", "c"])}, "label of sample 2 is 3; there are 3 classes"),
        ({"x": X, "y": np.array(list("abxabc")), "c": np.array(["a", "b", "c"])}, "the label 'x' is none of"),
        ([[1, 2], [1, 2, 3]], "sample 1 is int64 3, sample 0 is int64 2"),
        (([[1, 2], [1, 2, 3]], [0, 1]), "is no array"),
        ([{"x": 1}, {"z": 1}], "sample 1 has the arrays z, sample 0 has x"),
        ([(X[0], 1), X[1]], "1 of 2 samples have a label"),
        (3, "is int, which is no data"),
        ((X, None), "NoneType where an array of numbers is wanted"),
        ([object()], "object where an array of numbers is wanted"),
        ({"x": X, "z": X[:3]}, "arrays of different lengths; it has x"),
        ({"x": X, "y": Y[:4]}, "'x' has .* samples, and there are 4 labels"),
        ({"y": Y}, "no array of samples"),
        (np.array(["a", "b"]), "no numbers"),
        (np.float32(3), "single number"),
    ],
    ids=range(25),
)
def test_what_cannot_be_meant_is_refused(data: Any, said: str) -> None:
    with pytest.raises(MoteError, match=said) as error:
        dataset(data)
    assert error.value.where == "option data" and error.value.remedy


def test_labels_may_be_asked_for() -> None:
    with pytest.raises(MoteError, match="has no labels"):
        dataset(X, labelled=True)


def test_one_sample_is_enough_to_compare_bits() -> None:
    assert len(dataset(X[:1], several=False)) == 1
    assert len(dataset(np.zeros((2, 3)), several=False)) == 2


@pytest.mark.parametrize("options", [{"inputs": "w"}, {"labels": "w"}])
def test_arrays_that_are_not_there(options: dict[str, str], tmp_path: Path) -> None:
    path = saved(tmp_path, x=X, y=Y)
    with pytest.raises(MoteError, match=r"data\.npz: has no array 'w'; it has x \(float32 6x3x2x4\), y"):
        dataset(path, **options)


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    batches = torch.utils.data.DataLoader(list(zip(torch.tensor(X), Y, strict=True)), batch_size=4)
    found = dataset((x, y) for xs, ys in batches for x, y in zip(xs, ys, strict=True))
    np.testing.assert_array_equal(found.inputs["arr_0"], X)
    assert found.labels is not None and found.labels.tolist() == Y.tolist()
    for wrong in (torch.tensor(X, requires_grad=True), batches):
        with pytest.raises(MoteError, match="is no array"):
            dataset(wrong)


def test_an_iterable_that_does_not_end() -> None:
    def forever() -> Any:
        while True:
            yield np.broadcast_to(np.float32(1), (1 << 20,))

    with pytest.raises(MoteError, match="does not end"):
        dataset(forever())


def test_a_piece_of_a_recording() -> None:
    data = Dataset("here", {"x": X}, stream=RecordingInfo(first=0.5, period=0.25, duration=2.0))
    piece = data.take(slice(2, 5)).stream
    assert piece is not None and piece.first == 1.0
    with pytest.raises(MoteError, match="only one piece"):
        data.take([0, 2])


def test_results_call_data_and_models_by_their_names() -> None:
    """Not 'option data' and 'Pipeline'; messages still say which option is wrong."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)).astype(np.float32), rng.integers(0, 2, 40)
    pipeline = scaled_classifier().fit(x, y)
    named = mote.dataset((x, y), name="ward 3")
    assert named.shown == "ward 3" and "'ward 3'" in repr(named)
    assert mote.dataset((x, y)).shown == "40 samples in memory" and mote.dataset((x, y)).where == "option data"
    result = mote.evaluate(pipeline, named, name="gesture")
    assert (result.model, result.data) == ("gesture", "ward 3")
    assert repr(result).startswith("<Evaluation of 'gesture' on 'ward 3': top1 ")
    assert mote.compile(pipeline, name="gesture").path == "gesture" and mote.compile(pipeline).path == "Pipeline"
    with pytest.raises(MoteError, match="gesture"):
        mote.compile(pipeline, name="gesture", flash=100)
