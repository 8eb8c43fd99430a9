"""Which part of a `.tflite` file is compiled, and inputs that are constants or have other shapes than the file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.compiler.line import compile
from mote.frontends import read, source_of
from mote.frontends.tflite.writer import Writer
from mote.ui.cli import main
from tests.helpers.network import Net
from tests.helpers.support import needs_litert


def two_signatures() -> bytes:
    """A file that can encode and decode: subgraph 2 is called by the second one."""
    w = Writer("two")
    x, y = w.input("x", (1, 4), "float32"), w.tensor("y", (1, 4), "float32")
    w.op("EXP", [x], [y])
    w.output(y)
    w.sign("encode")
    decode = w.subgraph("decode")
    a, b, c = decode.input("a", (1, 6), "float32"), *(decode.tensor(n, (1, 6), "float32") for n in "bc")
    decode.op("ABS", [a], [b])
    always = decode.const("always", np.array(True))
    decode.op("IF", [always, b], [c], then_subgraph_index=2, else_subgraph_index=2)
    decode.output(c)
    decode.sign("decode")
    called = w.subgraph("called")
    p, q = called.input("p", (1, 6), "float32"), called.tensor("q", (1, 6), "float32")
    called.op("SQRT", [p], [q])
    called.output(q)
    return w.finish()


def test_a_signature_must_be_chosen() -> None:
    with pytest.raises(MoteError, match="2 signatures: encode, decode\n  help: choose one of them with --signature"):
        compile(two_signatures())
    with pytest.raises(MoteError, match=r"no signature 'code'\n  help:.*the signatures are: encode, decode"):
        compile(two_signatures(), signature="code")


@needs_litert
@pytest.mark.parametrize(("name", "size"), [("encode", 4), ("decode", 6)])
def test_a_signature_is_compiled(name: str, size: int) -> None:
    compiled = compile(two_signatures(), signature=name)
    graph = compiled.plan.graph
    assert graph.tensors[graph.inputs[0]].shape == (1, size)
    result = verify(compiled, 2)
    assert result.passed and result.reference == "LiteRT BUILTIN_REF"


def test_subgraphs_that_nothing_calls_are_omitted() -> None:
    w = Writer("spare")
    x, y = w.input("x", (1, 4), "float32"), w.tensor("y", (1, 4), "float32")
    w.op("EXP", [x], [y])
    w.output(y)
    w.subgraph("spare")
    model = read(source_of(w.finish()))
    assert [layer.code for layer in model.layers] == ["EXP"]
    assert model.warnings == ("subgraphs that nothing calls are omitted: 1",)


@needs_litert
def test_a_file_that_is_written_has_a_signature(tmp_path: Path) -> None:
    from ai_edge_litert.interpreter import Interpreter

    net = Net()
    x, other = net.input(1, 4), net.input(1, 4)
    (tmp_path / "sum.tflite").write_bytes(net.finish(net.op("ADD", [x, other])))
    mote.convert(tmp_path / "sum.tflite").write(str(tmp_path / "written.tflite"))
    interpreter = Interpreter(str(tmp_path / "written.tflite"))
    runner = interpreter.get_signature_runner("serving_default")
    given = [x["index"] for x in runner.get_input_details().values()]
    assert given == [x["index"] for x in interpreter.get_input_details()]
    assert list(runner.get_output_details()) == [interpreter.get_output_details()[0]["name"]]
    assert mote.compile(tmp_path / "written.tflite", signature="serving_default").plan.graph.inputs


def branches() -> bytes:
    """A sum with what a branch makes of the input: another one at each sampling rate."""
    w = Writer("branches")
    x, rate = w.input("x", (1, 4), "float32"), w.input("rate", (), "int32")
    fast = w.tensor("fast", (), "bool")
    found, y = (w.tensor(name, (1, 4), "float32") for name in ("found", "y"))
    w.op("EQUAL", [rate, w.const("16000", np.int32(16000))], [fast])
    w.op("IF", [fast, x], [found], then_subgraph_index=1, else_subgraph_index=2)
    w.op("ADD", [x, found], [y])
    w.output(y)
    for name, kind in (("then", "EXP"), ("else", "ABS")):
        body = w.subgraph(name)
        given, made = body.input("given", (1, 4), "float32"), body.tensor("made", (1, 4), "float32")
        body.op(kind, [given], [made])
        body.output(made)
    return w.finish()


@needs_litert
@pytest.mark.parametrize(("rate", "kind"), [(16000, "EXP"), (8000, "ABS")])
def test_an_input_is_set(rate: int, kind: str) -> None:
    compiled = compile(branches(), constants=[f"rate={rate}"])
    graph = compiled.plan.graph
    assert [graph.tensors[t].name for t in graph.inputs] == ["x"]
    assert "IF" not in [op.kind for op in graph.ops]
    result = verify(compiled, 2)
    assert result.passed and result.reference == "LiteRT BUILTIN_REF"
    x = np.float32([[-1.0, 2.0, -3.0, 0.5]])
    want = x + (np.exp(x) if kind == "EXP" else np.abs(x))
    values = compiled.source.evaluate({compiled.source.inputs[0]: x})
    np.testing.assert_allclose(values[compiled.source.outputs[0]], want, 1e-5)


def test_bytes_without_a_sign_are_set() -> None:
    net = Net(dtype="uint8")
    w = net.writer
    x, c = (w.input(name, (1, 4), "uint8", 0.1, 100) for name in "xc")
    y = w.tensor("y", (1, 4), "uint8", 0.2, 128)
    w.op("ADD", [x, c], [y])
    data = net.finish(y)
    compiled = compile(data, constants={"c": [[0, 100, 200, 255]]})
    assert len(compiled.plan.graph.inputs) == 1
    if reference.litert_installed():
        result = verify(compiled, 2)
        assert result.passed and result.reference == "LiteRT BUILTIN_REF"


@pytest.mark.parametrize(
    ("constants", "said"),
    [
        (["sr=1"], "there is no input 'sr'\n  help: the inputs are x, rate"),
        (["rate"], "'rate' is not NAME=VALUE"),
        (["rate=fast"], "'fast' is not a value of 'rate'"),
        (["rate=1.5"], "'rate' holds a value that is out of range for int32"),
        (["x=1,2,3"], "'x' has 3 values; the input takes 1x4"),
        (["x=nan"], "'x' holds a value that is not finite"),
        ({"x": "abc"}, "the value of 'x' is not numbers"),
        ("x=1", "is not a mapping"),
    ],
)
def test_values_that_are_none(constants: object, said: str) -> None:
    with pytest.raises(MoteError) as told:
        compile(branches(), constants=constants)
    assert said in str(told.value)


def test_a_value_may_be_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "branches.tflite").write_bytes(branches())
    np.save(tmp_path / "x.npy", np.float32([[1, 2, 3, 4]]))
    command = ["inspect", str(tmp_path / "branches.tflite"), "--set", f"x={tmp_path / 'x.npy'}"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "input rate" in said and "input x" not in said


def batched(batch: int = 8) -> bytes:
    """A small network for several images at a time, whose RESHAPE states how many."""
    net = Net()
    x = net.conv(net.input(batch, 8, 8, 3), 4, stride=2)
    flat = net.moved("RESHAPE", [x, net.ints(batch, 64)], (batch, 64))
    return net.finish(net.fully_connected(flat, 5))


@needs_litert
def test_the_batch_of_a_file() -> None:
    name = read(source_of(batched())).graph().tensors[0].name
    compiled = compile(batched(), shapes={name: (1, 8, 8, 3)})
    graph = compiled.plan.graph
    assert graph.tensors[graph.outputs[0]].shape == (1, 5)
    result = verify(compiled, 2)
    assert result.passed and result.reference.startswith("numpy (LiteRT does not run the model: ")
    one = compile(batched(1))
    x = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 3), np.int8)
    assert len({mote.run(c, {name: x}).outputs[0].sha256 for c in (compiled, one)}) == 1


def resized(height: int, width: int) -> bytes:
    net = Net()
    x = net.conv(net.input(1, height, width, 3), 4, stride=2)
    x = net.conv(x, 6, padding="VALID")
    return net.finish(net.fully_connected(net.mean(x), 5))


@needs_litert
def test_other_shapes_than_those_of_the_file() -> None:
    """Also where the new shape has as many elements as that of the file."""
    source = read(source_of(resized(16, 24))).graph()
    name = source.tensors[source.inputs[0]].name
    for shape in ((1, 24, 16, 3), (1, 32, 20, 3)):
        compiled = compile(resized(16, 24), shapes={name: shape})
        graph = compiled.source
        assert graph.tensors[graph.inputs[0]].shape == shape
        result = verify(compiled, 2)
        assert result.passed and result.reference == "LiteRT BUILTIN_REF"
    with pytest.raises(MoteError, match=r"'.*' is 1x16x24x3, which 16x24 does not fit"):
        compile(resized(16, 24), shapes={name: (16, 24)})
    with pytest.raises(MoteError, match="there is no input 'image'"):
        compile(resized(16, 24), shapes={"image": (1, 8, 8, 3)})
