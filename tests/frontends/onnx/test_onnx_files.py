"""ONNX files that something is wrong with: each is refused with what it is, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import ModelProto, StringStringEntryProto, TensorProto, helper, numpy_helper, save_model

from mote.base.errors import MoteError
from mote.frontends.onnx import read
from mote.frontends.onnx.file import container, tensors
from tests.frontends.onnx.onnx_support import graph_of, judged, model_of, outputs_of, source_of

node = helper.make_node
WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4)
KERNEL = np.ones((4, 3, 3, 3), np.float32)


def plain() -> ModelProto:
    """x [n, 3] times a matrix, and an activation."""
    nodes = [node("MatMul", ["x", "w"], ["m"], name="product"), node("Relu", ["m"], ["y"], name="act")]
    return model_of(nodes, {"x": ["n", 3]}, ["y"], {"w": WEIGHTS})


def with_(change: Callable[[ModelProto], object]) -> bytes:
    model = plain()
    change(model)
    return model.SerializeToString()


def attribute(model: ModelProto, place: int, **values: object) -> None:
    model.graph.node[place].attribute.extend(helper.make_attribute(name, value) for name, value in values.items())


def conv(**attributes: object) -> bytes:
    model = model_of([node("Conv", ["x", "w"], ["y"], name="conv")], {"x": [1, 2, 5, 5]}, ["y"])
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((3, 2, 3, 3), np.float32), "w"))
    attribute(model, 0, **attributes)
    return model.SerializeToString()


def sparse(indices: np.ndarray) -> bytes:
    """The weights as a sparse tensor."""

    def change(model: ModelProto) -> None:
        del model.graph.initializer[:]
        values = numpy_helper.from_array(np.ones(len(indices), np.float32), "w")
        model.graph.sparse_initializer.append(
            helper.make_sparse_tensor(values, numpy_helper.from_array(indices.astype(np.int64)), [3, 4])
        )

    return with_(change)


def cut(model: ModelProto, size: int) -> None:
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:size]


def renamed(model: ModelProto, place: int, inputs: list[str], outputs: list[str]) -> None:
    del model.graph.node[place].input[:], model.graph.node[place].output[:]
    model.graph.node[place].input.extend(inputs)
    model.graph.node[place].output.extend(outputs)


def nothing_out(model: ModelProto) -> None:
    model.graph.node.append(node("Shape", ["x"], ["none"], start=2, end=1))
    model.graph.output[0].name = "none"


def dims(model: ModelProto) -> list:
    return model.graph.input[0].type.tensor_type.shape.dim


def outside(model: ModelProto, **entries: str) -> None:
    """Say that the weights lie in another file."""
    t = model.graph.initializer[0]
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    t.external_data.extend(StringStringEntryProto(key=key, value=value) for key, value in entries.items())


def old(nodes: list, version: int, inputs: dict | None = None, **constants: np.ndarray) -> bytes:
    """A file of the first years: it lists its constants among its inputs."""
    constants = constants or {"w": WEIGHTS}
    shapes = inputs or {"x": [1, 3]}
    model = model_of(nodes, {**shapes, **{name: list(a.shape) for name, a in constants.items()}}, ["y"], constants)
    for entry in model.graph.input:
        if entry.name in constants:
            entry.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(constants[entry.name].dtype)
    model.opset_import[0].version, model.ir_version = version, 3
    return model.SerializeToString()


LOOP = (
    node("Abs", ["c"], ["d"], name="behind"),
    node("Add", ["m", "b"], ["c"], name="around"),
    node("Neg", ["c"], ["b"], name="back"),
)
"""Two nodes that need one another, and one that reads them."""
REFUSED: dict[str, tuple[bytes | Callable[[ModelProto], object], str]] = {
    "nothing": (b"", "the file is damaged"),
    "noise": (b"\x08\x07no model", "it is not an ONNX model, or a truncated one"),
    "a part": (plain().SerializeToString()[:-9], "it is not an ONNX model, or a truncated one"),
    "no graph": (lambda m: m.ClearField("graph"), "it has no graph"),
    "no outputs": (lambda m: m.graph.ClearField("output"), "the model has no outputs"),
    "an old version": (
        old([node("Gemm", ["x", "w", "w"], ["y"], broadcast=1)], 3),
        r"opset 3, which the package onnx .* does not convert to opset 9 \(Gemm",
    ),
    "a new version": (lambda m: setattr(m.opset_import[0], "version", 999), "opset 999 of"),
    "two versions": (lambda m: m.opset_import.append(helper.make_opsetid("", 12)), "it has two opset imports"),
    "no version": (lambda m: m.opset_import.pop(0), "has no opset import"),
    "a name that is not there": (
        lambda m: renamed(m, 1, ["lost"], ["y"]),
        r"layer 1 Relu 'act' reads 'lost', which nothing computes",
    ),
    "an output that is not there": (
        lambda m: setattr(m.graph.output[0], "name", "z"),
        "nothing computes the output 'z'",
    ),
    "no results": (lambda m: m.graph.node.append(node("Clip", ["m"], [])), r"layer 2 Clip '' has no outputs"),
    "a custom operator without results": (
        lambda m: m.graph.node.append(node("Log", ["m"], [], "spy", domain="com.microsoft")),
        r"layer 2 com.microsoft.Log 'spy' has no outputs",
    ),
    "a quantization without a scale": (
        lambda m: m.graph.node.append(node("QuantizeLinear", ["y"], ["q"])),
        r"layer 2 QuantizeLinear 'q': has 1 inputs, the operator has 2 to 3",
    ),
    "a circle": (lambda m: renamed(m, 0, ["y", "w"], ["m"]), r"'y' depends on itself, at layer 0 MatMul 'product'"),
    "a node that reads itself": (
        lambda m: renamed(m, 1, ["y"], ["y"]),
        r"'y' depends on itself, at layer 1 Relu 'act'",
    ),
    "what a circle is read by": (
        lambda m: (renamed(m, 1, ["m"], ["y"]), m.graph.node.extend(LOOP)),
        r"'b' depends on itself, at layer 3 Add 'around'",
    ),
    "one name for two values": (
        lambda m: renamed(m, 1, ["m"], ["m"]),
        r"'m' is computed twice, the second time by layer 1 Relu 'act'",
    ),
    "an input twice": (lambda m: m.graph.input.append(m.graph.input[0]), "an input is listed twice"),
    "few bytes": (lambda m: cut(m, 44), r"tensor 'w' holds 44 bytes, its shape needs 48"),
    "a size below zero": (lambda m: m.graph.initializer[0].dims.append(-1), r"tensor 'w' has the shape \(3, 4, -1\)"),
    "a huge tensor": (lambda m: m.graph.initializer[0].dims.append(1 << 40), r"tensor 'w' holds 48 bytes"),
    "an element type that is none": (
        lambda m: setattr(m.graph.initializer[0], "data_type", 99),
        "tensor 'w' has the unknown element type 99",
    ),
    "an attribute of another type": (
        conv(strides=2.0),
        r"layer 0 Conv 'conv': the attribute strides has the type FLOAT, it must be INTS",
    ),
    "an attribute that is none": (conv(stride=[2, 2]), r"has no attribute stride in opset 17; did you mean: strides\?"),
    "an attribute twice": (
        lambda m: [attribute(m, 1, group=1), attribute(m, 1, group=1)],
        "node 'act' has the attribute group twice",
    ),
    "few numbers": (conv(strides=[2]), "the attribute strides has 1 integers for a window of 2 axes"),
    "a stride of zero": (conv(strides=[0, 1]), "layer 0 Conv 'conv': a window of 3 with stride 0"),
    "groups that do not fit": (conv(group=2), "do not fit 2 channels"),
    "inputs that are missing": (
        lambda m: renamed(m, 0, ["x"], ["m"]),
        "layer 0 MatMul 'product': has 1 inputs, the operator has 2",
    ),
    "an operator that is none": (lambda m: setattr(m.graph.node[1], "op_type", "Unheard"), "Mote has no such operator"),
    "shapes that do not fit": (lambda m: setattr(dims(m)[1], "dim_value", 5), "layer 0 MatMul 'product'"),
    "an operator of another version": (
        lambda m: setattr(m.graph.node[1], "op_type", "Mish"),
        "layer 1 Mish 'act': is not an operator of opset 17",
    ),
    "an input of another type": (
        lambda m: setattr(m.graph.node[1], "op_type", "Not"),
        r"layer 1 Not 'act': input 0 is tensor\(float\), which the operator does not take",
    ),
    "an output without elements": (nothing_out, r"output 'none' has the shape \(0,\): no elements"),
    "strings": (
        lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", TensorProto.STRING),
        "input 'x' has elements of the type string",
    ),
    "a sequence": (
        lambda m: m.graph.input[0].type.CopyFrom(helper.make_sequence_type_proto(m.graph.input[0].type)),
        "input 'x' is a sequence, not a tensor",
    ),
    "an open size": (lambda m: setattr(dims(m)[1], "dim_param", "width"), r"shape nxwidth: width is only known at run"),
    "an input without a shape": (
        lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"),
        "the file has no shape for input 'x'",
    ),
    "sparse elements outside": (sparse(np.array([3, 12])), r"has elements outside of its shape \(3, 4\)"),
    "sparse indices of another shape": (
        sparse(np.array([[1, 1, 1]])),
        "the indices of the sparse tensor 'w' have the shape",
    ),
    "an external tensor without a folder": (
        lambda m: outside(m, location="w.bin"),
        r"tensor 'w' is external data in the file 'w\.bin', and the model came without a folder",
    ),
}
"""Files, or changes of the plain model, and what is said of them."""


@pytest.mark.parametrize("kind", ["RoiAlign", "MaxRoiPool"])
@pytest.mark.parametrize(("image", "regions"), [([4], [1, 4]), ([1, 2, 4, 4], [4]), ([4, 4], [1, 4])])
def test_regions_of_what_is_no_image(kind: str, image: list[int], regions: list[int]) -> None:
    named = {"pooled_shape": [2, 2]} if kind == "MaxRoiPool" else {"output_height": 2, "output_width": 2}
    more = {"batch": np.zeros(1, np.int64)} if kind == "RoiAlign" else {}
    call = node(kind, ["x", "regions", *more], ["y"], **named)
    data = model_of([call], {"x": image, "regions": regions}, ["y"], more).SerializeToString()
    with pytest.raises(MoteError, match=r"are not supported|inferred|rank"):
        graph_of(data)


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_said(what: str) -> None:
    wrong, reason = REFUSED[what]
    with pytest.raises(MoteError, match=reason) as told:
        graph_of(wrong if isinstance(wrong, bytes) else with_(wrong))
    assert told.value.where.startswith("model.onnx") and told.value.remedy


def test_every_unsupported_layer_is_in_one_message() -> None:
    nodes = [
        node("Odd", ["x"], ["a"]),
        node("Relu", ["a"], ["b"]),
        node("Even", ["b"], ["y"]),
        node("Odd", ["x"], ["z"]),
    ]
    with pytest.raises(MoteError, match=r"(?s)3 layer.*layer 0 Odd 'a'.*layer 2 Even 'y'.*layer 3 Odd 'z'"):
        graph_of(model_of(nodes, {"x": [2, 3]}, ["y", "z"]).SerializeToString())


def test_files_above_what_the_format_allows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MOST_BYTES", 100)
    with pytest.raises(MoteError, match="bytes, an ONNX file has at most 100"):
        graph_of(plain().SerializeToString())


def test_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MOST_NODES", 1)
    with pytest.raises(MoteError, match="2 nodes are more than 1"):
        graph_of(plain().SerializeToString())


def test_sparse_constants_are_whole() -> None:
    for indices in (np.array([1, 5, 10]), np.array([[0, 1], [1, 1], [2, 2]])):
        data, x = sparse(indices), np.ones((1, 3), np.float32)
        got = outputs_of(graph_of(data), {"x": x})
        assert np.array_equal(got[0], [[0, 2, 1, 0]])


def test_open_sizes_are_given() -> None:
    model = plain()
    dims(model)[0].dim_param = "rows"
    data = model.SerializeToString()
    assert graph_of(data).tensors[0].shape == (1, 3)
    assert graph_of(data, shapes=(("x", (5, 3)),)).tensors[0].shape == (5, 3)
    (told,) = read(source_of(data)).warnings
    assert "the dynamic first axis 'rows' of input 'x' was taken for a batch of 1" in told and "--shape x=N,3" in told


def test_a_size_with_a_name_is_the_same_everywhere() -> None:
    nodes = [node("Add", ["x", "z"], ["y"])]
    data = model_of(nodes, {"x": ["n", "t"], "z": ["n", "t"]}, ["y"]).SerializeToString()
    graph = graph_of(data, shapes=(("z", (2, 7)),))
    assert [graph.tensors[i].shape for i in graph.inputs] == [(2, 7), (2, 7)]


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        ((("image", (1, 3)),), "there is no input 'image' to give a shape to"),
        ((("x", (1, 3, 1)),), "input 'x' has 2 axes, the shape 1x3x1 has 3"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple, reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        graph_of(plain().SerializeToString(), shapes=shapes)


def test_old_versions_are_converted() -> None:
    nodes = [
        node("Conv", ["x", "k"], ["a"]),
        node("BatchNormalization", ["a", "s", "s", "s", "s"], ["b"], spatial=1),
        node("Upsample", ["b"], ["c"], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0]),
        node("Reshape", ["c", "shape"], ["y"]),
    ]
    rng = np.random.default_rng(1)
    kernel, scale = rng.normal(size=(4, 3, 3, 3)).astype(np.float32), np.full(4, 0.5, np.float32)
    data = old(nodes, 7, {"x": [1, 3, 6, 6]}, k=kernel, s=scale, shape=np.array([1, -1]))
    found = read(source_of(data))
    assert found.warnings[0] == ("opset 7 was converted to opset 9; changed since: BatchNormalization, Upsample")
    x = {"x": rng.normal(size=(1, 3, 6, 6)).astype(np.float32)}
    np.testing.assert_allclose(outputs_of(found.graph(), x)[0], judged(data, x)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["?", "", "-1", "None"])
def test_open_sizes_without_a_name_may_differ(name: str) -> None:
    model = model_of([node("Conv", ["x", "k"], ["y"])], {"x": [name, 3, name, name]}, ["y"], {"k": KERNEL})
    graph = graph_of(model.SerializeToString(), shapes=(("x", (1, 3, 8, 12)),))
    assert graph.tensors[graph.outputs[0]].shape == (1, 6, 10, 4)


PROPOSED = {
    "a matrix": (
        [node("MatMul", ["x", "w"], ["y"])],
        [1, 5, "n"],
        "--shape x=1,5,3 .the layers after it take no other",
    ),
    "an image": (
        [
            node("Conv", ["x", "k"], ["a"], strides=[2, 2]),
            node("Flatten", ["a"], ["flat"]),
            node("Gemm", ["flat", "g"], ["y"]),
        ],
        [1, 3, "h", "?"],
        "--shape x=1,3,16,16 .the layers after it take sizes from 15 to 16",
    ),
    "samples": (
        [node("Conv", ["x", "f"], ["a"], strides=[4]), node("Reshape", ["a", "shape"], ["y"])],
        ["batch", 1, "samples"],
        "--shape x=1,1,8000 .the layers after it take sizes from 8,000 to 8,003",
    ),
    "a side of an image": (
        [node("Conv", ["x", "k"], ["y"])],
        [1, 3, "h", 48],
        "--shape x=1,3,48,48 .as long as the other",
    ),
    "nothing": ([node("Relu", ["x"], ["y"])], [1, "n"], "--shape x=1,N, with numbers for N"),
}


@pytest.mark.parametrize("what", PROPOSED)
def test_sizes_that_follow_are_proposed(what: str) -> None:
    nodes, shape, remedy = PROPOSED[what]
    constants = {"w": WEIGHTS, "k": KERNEL, "g": np.zeros((4 * 7 * 7, 2), np.float32)}
    constants |= {"f": np.zeros((8, 1, 16), np.float32), "shape": np.array([-1, 8 * 1997])}
    used = {name: array for name, array in constants.items() if any(name in n.input for n in nodes)}
    with pytest.raises(MoteError) as error:
        read(source_of(model_of(nodes, {"x": shape}, ["y"], used).SerializeToString()))
    assert re.search(remedy, error.value.remedy), error.value.remedy


def test_constants_may_be_listed_as_inputs() -> None:
    """As files of the first versions did."""
    model = plain()
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 4]))
    assert len(graph_of(model.SerializeToString()).inputs) == 1


def test_external_files(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    save_model(plain(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").stat().st_size == WEIGHTS.nbytes
    x = np.ones((1, 3), np.float32)
    got = outputs_of(graph_of(path.read_bytes(), folder=tmp_path), {"x": x})
    assert np.array_equal(got, judged(plain().SerializeToString(), {"x": x}))


EXTERNAL = {
    "a file that is missing": ({"location": "none.bin"}, r"'none\.bin', which is missing"),
    "a folder": ({"location": "."}, "which is missing"),
    "no file": ({"offset": "0"}, "which is not in the model's folder"),
    "a path from the root": ({"location": "/etc/passwd"}, "which is not in the model's folder"),
    "a path of another system": ({"location": "C:\\secret"}, "which is not in the model's folder"),
    "a path upwards": ({"location": "a/../../secret"}, "which is not in the model's folder"),
    "a link that leads out": ({"location": "link.bin"}, "which is outside of the model's folder"),
    "a short file": ({"location": "short.bin"}, "which ends at byte 40; the tensor needs it up to 48"),
    "an offset behind the end": (
        {"location": "whole.bin", "offset": "4"},
        "ends at byte 48; the tensor needs it up to 52",
    ),
    "a length that does not fit": ({"location": "whole.bin", "length": "44"}, "which has 44 bytes for it"),
    "an offset below zero": ({"location": "whole.bin", "offset": "-8"}, "with the offset '-8'"),
}


@pytest.mark.parametrize("what", EXTERNAL)
def test_external_files_that_are_refused(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(48))
    (folder / "link.bin").symlink_to(tmp_path / "secret")
    (folder / "whole.bin").write_bytes(bytes(48))
    (folder / "short.bin").write_bytes(bytes(40))
    entries, reason = EXTERNAL[what]
    with pytest.raises(MoteError, match=reason):
        graph_of(with_(lambda m: outside(m, **entries)), folder=folder)


def test_external_files_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "MOST_BYTES", 40)
    (tmp_path / "whole.bin").write_bytes(bytes(48))
    with pytest.raises(MoteError, match="more than 2 GB"):
        graph_of(with_(lambda m: outside(m, location="whole.bin")), folder=tmp_path)
