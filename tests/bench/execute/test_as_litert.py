"""Code written for LiteRT's interpreter: the same calls on both, and every detail and output compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote import MoteError
from mote.bench.execute.interpreter import IGNORED, REFUSED, Interpreter
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array
from tests.helpers.network import Net

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is compared with")

MODELS = Path(__file__).parents[3] / "models"
Details = dict[str, Any]


def two_inputs() -> bytes:
    """Inputs of different types whose order differs from that of the operators, and two outputs."""
    w = Writer("two inputs")
    late, early = w.input("late", (1, 3), "float32"), w.input("early", (1, 3), "float32")
    doubled, total = w.tensor("doubled", (1, 3), "float32"), w.tensor("total", (1, 3), "float32")
    w.op("ADD", [early, early], [doubled])
    w.op("ADD", [doubled, late], [total])
    w.output(total, doubled)
    w.sign("sum")
    return w.finish()


def two_signatures() -> bytes:
    """Two subgraphs with tensors of the same indices and different names."""
    w = Writer("two")
    x, y = w.input("x", (1, 4), "float32"), w.tensor("y", (1, 4), "float32")
    w.op("EXP", [x], [y])
    w.output(y)
    w.sign("encode")
    decode = w.subgraph("decode")
    a, b = decode.input("a", (1, 6), "float32"), decode.tensor("b", (1, 6), "float32")
    decode.op("ABS", [a], [b])
    decode.output(b)
    decode.sign("decode")
    return w.finish()


def open_batch() -> bytes:
    """A first dimension that is not fixed."""
    w = Writer("open")
    x = w.input("x", (1, 4), "float32", signature=(-1, 4))
    y = w.tensor("y", (1, 4), "float32", signature=(-1, 4))
    w.op("ABS", [x], [y])
    w.output(y)
    w.sign("serving_default")
    return w.finish()


def convolution() -> bytes:
    net = Net()
    return net.finish(net.conv(net.input(1, 6, 6, 3), 4, stride=2))


def bundled(name: str) -> Callable[[], bytes]:
    return lambda: (MODELS / name).read_bytes()


CASES: dict[str, Callable[[], bytes]] = {
    "digits": bundled("digits.tflite"),
    "digits_float": bundled("digits_float.tflite"),
    "keywords": bundled("keywords.tflite"),
    "two inputs": two_inputs,
    "two signatures": two_signatures,
    "open batch": open_batch,
    "per channel": convolution,
}


def both(data: bytes, **options: Any) -> tuple[Any, Any]:
    theirs = litert.Interpreter(
        model_content=data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF, **options
    )
    ours = Interpreter(model_content=data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF, **options)
    return ours, theirs


def equal(ours: Details, theirs: Details) -> None:
    """All that LiteRT says is said with the same types; there may be more."""
    assert set(theirs) <= set(ours)
    for key in theirs:
        if key in ("shape", "shape_signature"):
            assert ours[key].dtype == theirs[key].dtype, key
            assert ours[key].tolist() == theirs[key].tolist(), (key, ours["name"])
        elif key == "quantization_parameters":
            assert set(theirs[key]) == set(ours[key])
            for name in ("scales", "zero_points"):
                assert ours[key][name].dtype == theirs[key][name].dtype
                assert ours[key][name].tolist() == theirs[key][name].tolist(), ours["name"]
            assert ours[key]["quantized_dimension"] == theirs[key]["quantized_dimension"]
        else:
            assert ours[key] == theirs[key], (key, ours["name"])


def same(ours: Array, theirs: Array) -> None:
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if ours.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(ours, theirs)


def inputs_for(details: Details, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if np.issubdtype(details["dtype"], np.integer):
        return rng.integers(-128, 128, details["shape"]).astype(details["dtype"])
    return rng.normal(size=details["shape"]).astype(details["dtype"])


def script(interpreter: Any) -> Iterator[tuple[str, Any]]:
    """A program that knows LiteRT's documentation only."""
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    yield "inputs", inputs
    yield "outputs", outputs
    for seed in range(3):
        for i, details in enumerate(inputs):
            if seed < 2:
                interpreter.set_tensor(details["index"], inputs_for(details, seed + 10 * i))
            else:
                interpreter.tensor(details["index"])()[...] = inputs_for(details, seed + 10 * i)
        interpreter.invoke()
        for details in outputs:
            yield f"output {details['name']}", interpreter.get_tensor(details["index"])
            yield f"view {details['name']}", interpreter.tensor(details["index"])().copy()
        for details in inputs:
            yield f"input {details['name']}", interpreter.get_tensor(details["index"])
    interpreter.reset_all_variables()
    yield "signatures", interpreter.get_signature_list()
    for key in interpreter.get_signature_list():
        runner = interpreter.get_signature_runner(key)
        yield f"inputs of {key}", list(runner.get_input_details().values())
        yield f"outputs of {key}", list(runner.get_output_details().values())
        given = {name: inputs_for(details, 3) for name, details in runner.get_input_details().items()}
        for name, value in runner(**given).items():
            yield f"{key}: {name}", value


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", CASES)
def test_a_script_for_litert_runs_with_mote(name: str) -> None:
    steps = 0
    for (what, ours), (same_step, theirs) in zip(*map(script, both(CASES[name]())), strict=True):
        assert what == same_step
        steps += 1
        if isinstance(theirs, np.ndarray):
            same(ours, theirs)
        elif isinstance(theirs, list):
            assert len(ours) == len(theirs)
            for mine, wanted in zip(ours, theirs, strict=True):
                equal(mine, wanted)
        else:
            assert ours == theirs, what
    assert steps > 10


@pytest.mark.parametrize("name", ["digits", "keywords", "per channel", "two inputs"])
def test_every_tensor_is_described(name: str) -> None:
    """LiteRT lists temporary tensors behind those of the file, too."""
    ours, theirs = (one.get_tensor_details() for one in both(CASES[name]()))
    assert len(ours) > 2
    for mine, wanted in zip(ours, theirs, strict=False):
        equal(mine, wanted)


@pytest.mark.parametrize("name", ["open batch", "digits_float", "per channel"])
def test_inputs_are_resized(name: str) -> None:
    """By `resize_tensor_input`, with `strict` where the dimension is open, and by a signature's inputs."""
    results = []
    for one in both(CASES[name]()):
        (x,), (y,) = one.get_input_details(), one.get_output_details()
        shape = [3, *x["shape"][1:]]
        if (x["shape_signature"] == -1).any():
            one.resize_tensor_input(x["index"], shape, strict=True)
        else:
            with pytest.raises((ValueError, RuntimeError)):
                one.resize_tensor_input(x["index"], shape, strict=True)
            one.resize_tensor_input(x["index"], shape)
        one.allocate_tensors()
        (x,), (y,) = one.get_input_details(), one.get_output_details()
        one.set_tensor(x["index"], inputs_for(x, 1))
        one.invoke()
        results.append((x, y, one.get_tensor(y["index"])))
    (x, y, value), (want_x, want_y, want) = results
    equal(x, want_x)
    assert y["shape"].tolist() == want_y["shape"].tolist()
    same(value, want)


def test_signatures_take_inputs_of_other_shapes() -> None:
    value = np.arange(-4, 8, dtype=np.float32).reshape(3, 4)
    ours, theirs = (one.get_signature_runner()(x=value) for one in both(open_batch()))
    same(ours["y"], theirs["y"])


@pytest.mark.parametrize(
    "call",
    [
        lambda one, x: one.set_tensor(x["index"], np.zeros(x["shape"], np.int16)),
        lambda one, x: one.set_tensor(x["index"], np.zeros((1, *x["shape"]), x["dtype"])),
        lambda one, x: one.set_tensor(10_000, np.zeros(x["shape"], x["dtype"])),
        lambda one, x: one.get_tensor(10_000),
        lambda one, x: one.get_signature_runner("absent"),
        lambda one, x: one.get_signature_runner("sum")(late=np.zeros((1, 3), np.float32)),
        lambda one, x: one.get_signature_runner("sum")(
            late=np.zeros((1, 3), np.float32), other=np.zeros((1, 3), np.float32)
        ),
    ],
    ids=["type", "shape", "index", "tensor", "signature", "missing input", "unknown input"],
)
def test_wrong_calls_are_value_errors(call: Callable[[Any, Details], Any]) -> None:
    for one in both(two_inputs()):
        one.allocate_tensors()
        with pytest.raises(ValueError):
            call(one, one.get_input_details()[0])


def test_arguments_are_taken_or_refused() -> None:
    """Every argument of LiteRT's interpreter, of this version of it or of an earlier one."""
    theirs = set(inspect.signature(litert.Interpreter.__init__).parameters) - {"self"}
    known = {*inspect.signature(Interpreter.__init__).parameters, *IGNORED, *REFUSED}
    assert theirs <= known
    Interpreter(MODELS / "digits.tflite", num_threads=4, **dict.fromkeys(IGNORED, True), experimental_delegates=[])
    with pytest.raises(MoteError, match=r"experimental_preserve_all_tensors: only inputs and outputs(.|\n)*help:"):
        Interpreter(MODELS / "digits.tflite", experimental_preserve_all_tensors=True)
    with pytest.raises(MoteError, match="option experimental_delegates: Mote computes everything"):
        mote.Interpreter(MODELS / "digits.tflite", experimental_delegates=[object()])
    with pytest.raises(MoteError, match="no option 'experimental_nothing'"):
        Interpreter(MODELS / "digits.tflite", experimental_nothing=True)


def test_a_signature_can_be_loaded_alone() -> None:
    value = np.float32([[-1, 2, -3, 4, -5, 6]])
    one = Interpreter(model_content=two_signatures(), signature="decode")
    (x,), (y,) = one.get_input_details(), one.get_output_details()
    one.set_tensor(x["index"], value)
    one.invoke()
    np.testing.assert_array_equal(one.get_tensor(y["index"]), abs(value))
    with pytest.raises(MoteError, match=r"no signature 'sum'\n  help: the signatures are: encode, decode"):
        one.get_signature_runner("sum")
