"""What helps where a layer cannot be compiled: each remedy is told for its reason, and then it helps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from onnx import TensorProto, helper
from torch import nn
from torch._higher_order_ops.map import map as map_rows

import mote
from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.compiler.kernels import library
from mote.compiler.line import compile
from mote.frontends import remedies
from mote.ir.ops.control.custom import DEFINITIONS
from tests.frontends.onnx.onnx_support import model_of
from tests.frontends.torch.test_torch_files import edited
from tests.frontends.torch.torch_support import file_of
from tests.helpers.network import Net

Compile = Callable[[], object]
node, value = helper.make_node, helper.make_tensor_value_info
ONE = torch.tensor([[1.0, -2.0, 3.0]])


def onnx(*nodes: Any, number: int = TensorProto.FLOAT, version: int = 17, **constants: Any) -> Compile:
    """A model from x to y."""
    model = model_of(list(nodes), {"x": [2, 3]}, ["y"], {k: np.asarray(v) for k, v in constants.items()})
    model.opset_import[0].version = version
    model.graph.input[0].type.tensor_type.elem_type = number
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    model.opset_import.append(helper.make_opsetid("ai.onnx.preview.training", 1))
    return lambda: compile(model.SerializeToString())


def module(forward: Callable[..., Any], *inputs: torch.Tensor, **settings: Any) -> Compile:
    class Module(nn.Module):
        def forward(self, *given: torch.Tensor) -> torch.Tensor:
            return forward(*given)

    return lambda: compile(torch.export.export(Module().eval(), inputs or (ONE,)), **settings)


def tflite(kind: str, dtype: str = "int8", **options: Any) -> Compile:
    net = Net(dtype=dtype)
    return lambda: compile(net.finish(net.op(kind, [net.input(1, 4)], **options)))


def loop(count: str, **more: Any) -> Compile:
    """Doubles x as often as `count` says: the input n, or a constant."""
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["go"], ["on"])],
        "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("v", TensorProto.FLOAT, [2, 3])],
        [value("on", TensorProto.BOOL, []), value("w", TensorProto.FLOAT, [2, 3])],
    )
    model = model_of([node("Loop", [count, "", "x"], ["y"], body=body)], {"x": [2, 3]}, ["y"], {"two": np.array(2)})
    model.graph.input.append(value("n", TensorProto.INT64, []))
    return lambda: compile(model.SerializeToString(), **more)


def branches(shape: list[int]) -> Compile:
    """Ones of a shape where the first value of x is positive, else x."""
    then = helper.make_graph(
        [node("ConstantOfShape", ["shape"], ["ones"], value=helper.make_tensor("one", TensorProto.FLOAT, [1], [1]))],
        "then", [], [value("ones", TensorProto.FLOAT, shape)],
    )  # fmt: skip
    other = helper.make_graph(
        [node("Identity", ["x"], ["same"])], "else", [], [value("same", TensorProto.FLOAT, [2, 3])]
    )
    return onnx(
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Greater", ["most", "zero"], ["positive"]),
        node("If", ["positive"], ["y"], then_branch=then, else_branch=other),
        zero=np.float32(0),
        shape=np.array(shape),
    )


def reshaped(**settings: Any) -> Compile:
    """An input gives the shape."""
    model = model_of([node("Reshape", ["x", "n"], ["y"])], {"x": [2, 3]}, ["y"])
    model.graph.input.append(value("n", TensorProto.INT64, [1]))
    return lambda: compile(model.SerializeToString(), **settings)


def keras(function: str) -> Compile:
    """A network with a function, as a Lambda or as one of Keras."""
    api = pytest.importorskip("keras")
    x = api.Input((3,))
    between = api.layers.Lambda(lambda v: v * 2) if function == "Lambda" else api.layers.Rescaling(2.0)
    network = api.Model(x, api.layers.Dense(2)(between(x)))
    if function == "exported":
        return lambda: compile(torch.export.export(network.eval(), (ONE,)))
    return lambda: compile(network)


def qkeras(kind: str) -> Compile:
    """A network of one layer of QKeras."""
    files = pytest.importorskip("tests.frontends.keras.test_qkeras3")
    said = files.layer(kind, "q", "x", activation=files.bits(8, 1))
    return lambda: compile(files.one(said, 4))


def over_time(**settings: Any) -> Compile:
    """A window over the first axis, whose size is open."""
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Unsqueeze", ["t", "zero"], ["u"])]
    nodes += [node("AveragePool", ["u"], ["y"], kernel_shape=[5])]
    data = model_of(nodes, {"x": ["time", 3]}, ["y"], {"zero": np.array([0])}).SerializeToString()
    return lambda: compile(data, **settings)


def defined() -> object:
    with temporary_folder() as folder:
        header = Path(folder) / "mote_my_op.h"
        header.write_text(
            "typedef struct { int8_t n; } mote_my_op_t;\nstatic inline void mote_my_op(const mote_my_op_t *p);\n"
        )
        mote.register("MyOp", header=header, shape=lambda use: (1, 4), reference=lambda use, x: x)
    try:
        return mote.load(custom())
    finally:
        DEFINITIONS.clear()
        library._added.clear()


def custom() -> bytes:
    net = Net()
    return net.finish(net.op("CUSTOM", [net.input(1, 4)], custom_code="MyOp"))


CASES: Mapping[str, list[tuple[Compile, Compile]]] = {
    "REPLACE": [(module(torch.special.bessel_j0), module(torch.tanh))],
    "CONVERT": [(tflite("SQUARE"), tflite("SQUARE", "float32"))],
    "DEFINE": [(lambda: compile(custom()), defined)],
    "STRINGS": [
        (
            onnx(
                node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["a"], values_floats=[1.0]),
                number=8,
            ),
            onnx(node("Relu", ["x"], ["y"])),
        ),
        (onnx(node("Cast", ["x"], ["y"], to=8)), onnx(node("Relu", ["x"], ["y"]))),
    ],
    "RUN_TIME_SIZES": [
        (reshaped(), reshaped(constants={"n": [6]})),
        (
            onnx(
                node("Compress", ["x", "c"], ["s"], axis=0),
                node("Relu", ["s"], ["y"]),
                node("Greater", ["x", "z"], ["g"]),
                node("ReduceMax", ["h"], ["m"], axes=[1], keepdims=0),
                node("Cast", ["g"], ["h"], to=1),
                node("Cast", ["m"], ["c"], to=9),
                z=np.float32(0),
            ),
            onnx(node("Greater", ["x", "z"], ["g"]), node("Where", ["g", "x", "z"], ["y"]), z=np.float32(0)),
        ),
    ],
    "FIXED_LOOPS": [(loop("n"), loop("two"))],
    "BRANCHES": [(branches([6]), branches([2, 3]))],
    "ROW_LOOPS": [(module(lambda x: map_rows(lambda row: row.abs(), x)), module(lambda x: x.abs()))],
    "SEQUENCES": [
        (
            onnx(node("SplitToSequence", ["x"], ["s"], axis=0), node("SequenceAt", ["s", "i"], ["y"]), i=np.array(1)),
            onnx(node("Split", ["x"], ["u", "y"], axis=0)),
        )
    ],
    "RANDOM": [(module(lambda x: x + torch.rand_like(x)), module(lambda x, noise: x + noise, ONE, ONE))],
    "TRAINED": [
        (
            onnx(
                node(
                    "Momentum",
                    ["r", "t", "x", "x", "x"],
                    ["y", "v"],
                    domain="ai.onnx.preview.training",
                    alpha=0.9,
                    beta=0.9,
                    mode="standard",
                    norm_coefficient=0.0,
                ),
                r=np.float32(1),
                t=np.array(1),
            ),
            onnx(node("Relu", ["x"], ["y"])),
        )
    ],
    "QUANTIZED_LAYERS": [(qkeras("QGRU"), qkeras("QActivation"))],
    "IMAGES": [(onnx(node("ImageDecoder", ["x"], ["y"]), number=2, version=20), onnx(node("Relu", ["x"], ["y"])))],
}


@pytest.mark.parametrize("name", CASES)
def test_remedies_help(name: str) -> None:
    for broken, mended in CASES[name]:
        with pytest.raises(MoteError) as caught:
            broken()
        assert getattr(remedies, name) in caught.value.remedy, caught.value
        mended()


@pytest.mark.parametrize("way", ["layers", "exported"])
def test_custom_classes_of_keras(way: str) -> None:
    with pytest.raises(MoteError) as caught:
        keras("Lambda")()
    assert caught.value.remedy == remedies.OWN_CLASSES
    keras(way)()


def test_a_first_axis_that_is_time() -> None:
    """The shape that the error proposes, with a number, is what helps."""
    with pytest.raises(MoteError) as caught:
        over_time()()
    assert "the dynamic first axis 'time' of input 'x'" in caught.value.remedy
    proposed = re.search(r"--shape (\S+),", caught.value.remedy)
    assert proposed is not None
    over_time(shapes=[proposed[1].replace("N", "50")])()


def test_sizes_that_a_module_cannot_be_run_with() -> None:
    """A file that says it may have any size, beside what its operators take."""
    size = torch.export.Dim("n", min=10)
    data = file_of(nn.AvgPool1d(5), torch.zeros(1, 3, 50), dynamic_shapes=({2: size},))
    open_ = edited(data, lambda fields: [limit.update(min_val=2) for limit in fields["range_constraints"].values()])
    with pytest.raises(MoteError) as caught:
        compile(open_, shapes=["input=1,3,4"])
    assert caught.value.remedy == remedies.OTHER_SIZES
    compile(open_, shapes=["input=1,3,20"])


def test_every_remedy_is_tried() -> None:
    named = {name for name, text in vars(remedies).items() if name.isupper() and isinstance(text, str)}
    assert named - {"CALIBRATE", "IN_TORCH", "OTHER_SIZES", "OWN_CLASSES"} == set(CASES)


def test_layers_are_named_where_remedies_differ() -> None:
    net = Net()
    x = net.op("SQUARE", [net.input(1, 4)])
    with pytest.raises(MoteError) as caught:
        compile(net.finish(net.op("CUSTOM", [x], custom_code="MyOp")))
    assert caught.value.remedy == f"layer 0: {remedies.CONVERT}\n  layer 1: {remedies.DEFINE}"
