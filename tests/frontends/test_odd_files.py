"""Files that say something odd and mean something all the same: what Mote makes of them, and the warning."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.frontends import Format, Source, tflite
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.ui.cli import main
from tests.helpers.support import check, check_numpy, needs_litert

pytestmark = needs_litert


def scales_on(axis: int, depth: int = 6) -> bytes:
    """A depthwise layer whose scales of channels are said to lie along an axis."""
    rng = np.random.default_rng(3)
    w = Writer("scales")
    x, y = w.input("x", (1, 4, 4, depth), "int8", 0.1, 4), w.tensor("y", (1, 4, 4, depth), "int8", 0.2, -3)
    scales = rng.uniform(0.01, 0.02, depth).astype(np.float32)
    k = w.const("k", rng.integers(-127, 128, (1, 3, 3, depth)).astype(np.int8), scales, axis=axis)
    b = w.const(
        "b", rng.integers(-99, 99, depth).astype(np.int32), scales * np.float32(0.1), axis=0 if axis == 3 else axis
    )
    w.op("DEPTHWISE_CONV_2D", [x, k, b], [y])
    w.output(y)
    return w.finish()


@pytest.mark.parametrize("axis", [0, 2, 9, -1])
def test_scales_on_the_wrong_axis(axis: int) -> None:
    """LiteRT refuses the file; TensorFlow Lite Micro, whose own example has such scales, does not look at the axis."""
    read = tflite.read(Source("odd", Format.TFLITE, scales_on(axis)))
    assert f"has 6 scales on axis {axis} of shape (1, 3, 3, 6): they are taken for those of axis 3" in read.warnings[0]
    assert len(read.warnings) == 1
    assert ("; the same of 1 more" in read.warnings[0]) == (axis != 0)
    check_numpy(read.graph(), scales_on(3))
    assert tflite.read(Source("usual", Format.TFLITE, scales_on(3))).warnings == ()


def test_scales_that_could_lie_on_two_axes() -> None:
    with pytest.raises(MoteError, match=r"3 scales on axis 0 of shape \(1, 3, 3, 3\)"):
        tflite.read(Source("odd", Format.TFLITE, scales_on(0, 3)))


def constant_edges() -> bytes:
    """A constant among the inputs, one among the outputs, and an input that is an output."""
    w = Writer("edges")
    x, y = w.input("x", (1, 4), "int8", scale=0.1), w.tensor("y", (1, 4), "int8", scale=0.1)
    odd = w.const("odd", np.arange(4, dtype=np.int8).reshape(1, 4), 0.1)
    w.op("ADD", [x, odd], [y])
    w.output(y, odd, x)
    w._inputs.insert(0, odd)
    return w.finish()


def test_constants_at_the_edges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = check(constant_edges())
    assert [compiled.source.tensors[i].name for i in compiled.source.inputs] == ["x"]
    assert [compiled.source.tensors[i].name for i in compiled.source.outputs] == ["y", "odd", "x"]
    says = (
        "input 'odd' is a constant, so that it is not an input of the compiled model",
        "output 'odd' is a constant, which is copied",
    )
    assert compiled.warnings == says
    file = tmp_path / "edges.tflite"
    file.write_bytes(constant_edges())
    assert main(["inspect", str(file)]) == 0
    assert f"warning: {says[0]}" in capsys.readouterr().out
    assert main(["inspect", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == list(says)
    assert main(["compile", str(file), "-o", str(tmp_path / "c")]) == 0
    assert f"warning: {says[1]}" in capsys.readouterr().out


def test_a_float16_constant_among_the_outputs() -> None:
    w = Writer("half")
    x, y = w.input("x", (4,), "float32"), w.tensor("y", (4,), "float32")
    w.op("ABS", [x], [y])
    w.output(y, w.const("odd", np.ones(4, np.float16)))
    with pytest.raises(MoteError, match="output 'odd' is a constant of type float16"):
        tflite.parse(w.finish(), "model")


def test_a_model_without_inputs() -> None:
    w = Writer("alone")
    c, y = w.const("c", np.arange(4, dtype=np.int8), 0.1), w.tensor("y", (4,), "int8", 0.1)
    w.op("ADD", [c, c], [y])
    w.output(y)
    assert check(w.finish()).source.inputs == ()


def scalars() -> bytes:
    """Reshaped to a scalar by a list without elements, and on with that."""
    w = Writer("scalars")
    x, shape = w.input("x", (1, 1), "int8", 0.1, 3), w.const("shape", np.zeros(0, np.int32))
    y, z = w.tensor("y", (), "int8", 0.1, 3), w.tensor("z", (), "int8", 0.2, 1)
    w.op("RESHAPE", [x, shape], [y])
    w.op("ADD", [y, y], [z])
    w.output(z)
    return w.finish()


def test_constants_without_elements() -> None:
    check(scalars())


@pytest.mark.parametrize("position", [1, 2])
def test_constants_without_elements_that_mean_nothing(position: int) -> None:
    """Weights, or a bias."""
    w = Writer("empty")
    x, y = w.input("x", (1, 6), "int8", 0.1), w.tensor("y", (1, 5), "int8", 0.2)
    nothing = w.const("nothing", np.zeros((0, 6) if position == 1 else 0, np.int8), 0.1)
    k = w.const("k", np.ones((5, 6), np.int8), 0.1)
    w.op("FULLY_CONNECTED", [x, nothing] if position == 1 else [x, k, nothing], [y])
    w.output(y)
    with pytest.raises(MoteError, match="constant 'nothing' has no elements"):
        tflite.parse(w.finish(), "empty")


def test_a_computed_tensor_without_elements() -> None:
    w = Writer("empty")
    x, y = w.input("x", (1, 6), "int8", 0.1), w.tensor("y", (0, 6), "int8", 0.1)
    w.op("RELU", [x], [y])
    w.output(y)
    with pytest.raises(MoteError, match=r"'y' has the shape \(0, 6\)"):
        tflite.parse(w.finish(), "empty")


def sized(shape: tuple[int, ...], signature: tuple[int, ...]) -> bytes:
    w = Writer("sized")
    x, y = w.input("x", shape, "float32", signature=signature), w.tensor("y", shape, "float32", signature=signature)
    w.op("RELU", [x], [y])
    w.output(y)
    return w.finish()


def test_sizes_that_are_left_open() -> None:
    """Of the batch: the one that the file holds. Of an image: refused, unless the file holds a size."""
    assert compile(sized((1, 8, 8, 3), (-1, 8, 8, 3))).warnings == ()
    with pytest.raises(MoteError, match=r"shape 1x\?x\?x3, whose size is only known at run time\n.*--shape x=1,N,N,3"):
        tflite.read(Source("open", Format.TFLITE, sized((1, 1, 1, 3), (1, -1, -1, 3))))
    (said,) = tflite.read(Source("open", Format.TFLITE, sized((1, 8, 8, 3), (-1, -1, -1, 3)))).warnings
    assert said == "input 'x' may have any size on axes [0, 1, 2]; the model is compiled for 1x8x8x3"


def test_weights_that_layers_share() -> None:
    rng = np.random.default_rng(4)
    w = Writer("shared")
    t = w.input("x", (1, 6), "int8", 0.1, 4)
    k = w.const("k", rng.integers(-127, 128, (6, 6)).astype(np.int8), 0.01)
    for scale in (0.2, 0.3):
        y = w.tensor("y", (1, 6), "int8", scale, -3)
        w.op("FULLY_CONNECTED", [t, k, NO_TENSOR], [y])
        t = y
    w.output(t)
    check(w.finish())


def without_layers(*outputs: str) -> bytes:
    """An input that is the output, or constants that are."""
    w = Writer("empty")
    tensors = {"x": w.input("x", (1, 8), "float32"), "none": w.const("none", np.zeros((1, 0), np.float32))}
    w.output(*(tensors[name] for name in outputs))
    return w.finish()


def test_a_model_without_layers_copies_its_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(without_layers("x")).plan.ram > 0
    (tmp_path / "empty.tflite").write_bytes(without_layers("x"))
    for command in ("inspect", "plan", "shrink", "explore --no-measure -t cortex-m4"):
        assert main([*command.split(), str(tmp_path / "empty.tflite")]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("outputs", [("none",), ("x", "none")])
def test_outputs_without_elements(outputs: tuple[str, ...]) -> None:
    with pytest.raises(MoteError, match="output 'none' has the shape 1x0: no elements") as caught:
        compile(without_layers(*outputs))
    assert caught.value.remedy == "export the model without it"
