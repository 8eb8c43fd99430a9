"""Models of real numbers in, `.tflite` files of integers out: LiteRT and the compiled C compute the same with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mote
from mote import quantize
from mote.base.errors import MoteError
from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.frontends.calibration import RANDOM
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.noise import graph_inputs
from mote.optimize.compress.quantize.pipeline import Methods, prepared
from mote.optimize.compress.quantize.post_training import Quantized, spread
from mote.ui.cli import main
from mote.ui.cli.commands.quantize import heading
from tests.helpers.float_nets import BLOCKS, model
from tests.helpers.network import Net
from tests.helpers.support import check, exact_on, needs_litert

SHAPE = (8, 7, 4)
WHOLE = tuple(name for name in BLOCKS if name != "no integers")


def samples(count: int = 24, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, *SHAPE)).astype(np.float32)


def quantized(*blocks: str, **options: object) -> Quantized:
    return quantize.post_training(model(blocks), samples(), **options)  # type: ignore[no-any-return]


@needs_litert
@pytest.mark.parametrize(
    ("precision", "io"),
    [
        ("int8", "int8"),
        pytest.param("int8", "float32", marks=pytest.mark.slow),
        pytest.param("int16", "float32", marks=pytest.mark.slow),
        pytest.param("int4", "int8", marks=pytest.mark.slow),
    ],
)
def test_the_compiled_c_is_equal_to_litert(precision: str, io: str) -> None:
    check(quantized(*WHOLE, precision=precision, io=io).data, inputs=2, optimize="speed")


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("precision", ["int8", "int16", "int4"])
def test_emulated_cores_are_equal_to_litert(precision: str) -> None:
    exact_on("cortex-m4", quantized(*WHOLE, precision=precision).data)


@pytest.mark.slow
@needs_litert
def test_mixed_precisions_compile() -> None:
    kinds = {"DEPTHWISE_CONV_2D": "int16", "TANH": "int16", "MEAN": "int4", "ADD": "int16", "LOGISTIC": "float32"}
    found = quantized(*WHOLE)
    layers = {x.index: kinds[x.op] for x in found.layers if x.op in kinds}
    mixed = quantized(*WHOLE, layers=layers)
    assert {x.precision for x in mixed.layers} == {"int8", "int16", "float32"}
    check(mixed.data, inputs=2, optimize="speed")


def test_the_report_says_what_became_of_each_layer() -> None:
    found = quantized("conv", "no integers", "residual")
    layers = {x.op: x for x in found.layers}
    assert layers["SIN"].precision == "float32" and layers["SIN"].reason
    assert all(not x.reason for x in found.layers if x.op != "SIN")
    conv = found.layers[0]
    assert conv.scale == pytest.approx((conv.high or 0) / 255, rel=1e-5) and conv.zero_point == -128
    assert conv.noise is not None and 25 < conv.noise < 60
    told = json.loads(json.dumps(found.json()))
    assert told["samples"] == 24 and told["bytes"] == len(found.data) and len(told["layers"]) == len(found.layers)


@pytest.mark.parametrize("mask", [-1e9, -np.inf])
@pytest.mark.parametrize("kind", ["ADD", "SELECT_V2"])
def test_masked_attention_keeps_its_scores_apart(kind: str, mask: float) -> None:
    net = Net(1, "float32")
    x = net.input(1, 6, 8)
    scores = net.op("BATCH_MATMUL", [x, x], (1, 6, 6), adj_y=True)
    later = np.triu(np.ones((1, 6, 6), bool), 1)
    if kind == "ADD":
        scores = net.op(kind, [scores, net.writer.const("mask", np.where(later, np.float32(mask), np.float32(0)))])
    else:
        hidden = [net.writer.const("later", later), net.writer.const("mask", np.full((1, 6, 6), mask, np.float32))]
        scores = net.op(kind, [*hidden, scores], (1, 6, 6))
    data = np.random.default_rng(0).normal(size=(30, 6, 8)).astype(np.float32)
    seen = net.op("BATCH_MATMUL", [net.op("SOFTMAX", [scores], beta=1.0), x], (1, 6, 8))
    found = quantize.post_training(net.finish(seen), data)
    assert not [x for x in found.layers if x.reason]
    assert found.layers[-1].noise is not None and found.layers[-1].noise > 25
    graph = tflite.parse(found.data, "masked")
    shares = next(op.outputs[0] for op in graph.ops if op.kind == "SOFTMAX")
    values = graph.evaluate(graph_inputs(found.graph, {found.graph.inputs[0]: data[:1]}))[shares]
    assert (values[later] == -128).all()


def test_inputs_and_outputs_keep_their_names() -> None:
    before = tflite.parse(model(["conv"]), "m")
    for io, dtype in (("int8", DType.INT8), ("float32", DType.FLOAT32)):
        after = tflite.parse(quantized("conv", io=io).data, "m")
        for ours, theirs in ((after.inputs, before.inputs), (after.outputs, before.outputs)):
            assert [after.tensors[t].name for t in ours] == [before.tensors[t].name for t in theirs]
            assert {after.tensors[t].dtype for t in ours} == {dtype}


def test_of_much_data_some_from_all_over_is_taken() -> None:
    found = [{0: np.array([i])} for i in range(100)]
    assert [int(case[0][0]) for case in spread(found, 5)] == [0, 25, 50, 74, 99]
    assert spread(found, 0) is found and spread(found, 100) is found
    made = quantized("conv", samples=8)
    assert (made.samples, made.available) == (8, 24) and "(8 of 24 samples" in heading(made)


def test_progress_is_told() -> None:
    """Every sample is looked at twice where channels are made alike."""
    net = normal(tflite.parse(model(["conv"]), "m"))
    cases = [{net.inputs[0]: x[None]} for x in samples()]
    for equalize, times in ((True, 2), (False, 1)):
        told: list[tuple[int, int]] = []
        prepared(net, cases, Methods(equalize=equalize), done=lambda *count: told.append(count))  # noqa: B023
        assert told[-1] == (24 * times, 24 * times)


def test_without_data_nothing_is_guessed() -> None:
    with pytest.raises(MoteError, match="no calibration data"):
        quantize.post_training(model(["conv"]))


def test_random_calibration_is_written_into_the_file() -> None:
    found = quantize.post_training(model(["conv"]), random_calibration=True)
    assert found.warnings == (RANDOM,) and found.samples == 0
    assert RANDOM.encode() in found.data
    assert any(RANDOM in warning for warning in mote.compile(found.source).warnings)
    assert all(x.noise is None for x in found.layers)


def test_real_weights_of_16_bits_need_no_data() -> None:
    found = quantize.post_training(model(["conv", "residual"]), precision="float16")
    assert len(found.data) < 0.8 * len(model(["conv", "residual"]))  # the names of a signature are not halved
    assert {x.precision for x in found.layers if x.op == "CONV_2D"} == {"float16"}


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("quantized", "quantized already"),
        ("forest", "nothing to quantize"),
        ("sine", "nothing to quantize"),
    ],
)
def test_models_that_cannot_be_quantized(what: str, reason: str) -> None:
    if what == "quantized":
        given: object = quantized("conv").data
    elif what == "forest":
        rng = np.random.default_rng(0)
        ensemble = pytest.importorskip("sklearn.ensemble")
        given = ensemble.RandomForestClassifier(3, random_state=0).fit(rng.normal(size=(50, 4)), rng.integers(0, 2, 50))
    else:
        net = Net(0, "float32")
        given = net.finish(net.op("SIN", [net.input(1, 4)]))
    data = samples() if what == "quantized" else np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    with pytest.raises(MoteError, match=reason):
        quantize.post_training(given, data)


def test_what_is_kept_is_not_calibrated() -> None:
    """A window that a model keeps in a variable, and a convolution over it."""
    w, first = (writer := Writer("kept")), writer.subgraph("initialize")
    shape = (1, 4, 1, 2)
    for sub, reads in ((first, False), (w, True)):
        handle = sub.tensor("handle", (), "resource")
        sub.op("VAR_HANDLE", [], [handle], container="", shared_name="v")
        if not reads:
            zeros = sub.const("zeros", np.zeros(shape, np.float32))
            sub.op("ASSIGN_VARIABLE", [handle, zeros], [])
    x = w.input("x", shape, "float32")
    w.op("CALL_ONCE", [], [], init_subgraph_index=1)
    kept, both, y = (
        w.tensor(name, s, "float32") for name, s in (("kept", shape), ("both", shape), ("y", (1, 2, 1, 3)))
    )
    w.op("READ_VARIABLE", [handle], [kept])
    w.op("ADD", [x, kept], [both])
    k = w.const("k", np.ones((3, 3, 1, 2), np.float32))
    w.op("CONV_2D", [both, k, w.const("b", np.zeros(3, np.float32))], [y], padding="VALID")
    w.op("ASSIGN_VARIABLE", [handle, x], [])
    w.output(y)
    data = np.random.default_rng(0).normal(size=(20, *shape[1:])).astype(np.float32)
    with pytest.raises(MoteError, match="keeps from one inference to the next"):
        quantize.post_training(w.finish(), data)


def test_unknown_options_are_named() -> None:
    with pytest.raises(MoteError, match=r"'int7' is no precision.*"):
        quantized("conv", precision="int7")
    with pytest.raises(MoteError, match="there is no layer 99"):
        quantized("conv", layers={99: "int8"})
    with pytest.raises(MoteError, match="not one of adaptive, nearest"):
        quantized("conv", rounding="up")


def test_the_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.tflite").write_bytes(model(["conv", "no integers"]))
    np.save(tmp_path / "data.npy", samples())
    told = [str(tmp_path / "net.tflite"), "--data", str(tmp_path / "data.npy"), "-o", str(tmp_path / "out.tflite")]
    assert main(["quantize", *told]) == 0
    text = capsys.readouterr().out
    assert "as int8 (24 samples" in text and "SNR dB" in text and "is float32: there are no integers" in text
    assert main(["quantize", *told, "--json", "--io", "float32", "--no-equalize"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"][0]["dtype"] == "float32"
    assert tflite.parse((tmp_path / "out.tflite").read_bytes(), "out").ops[0].kind == "QUANTIZE"


def test_commands_that_compile_can_quantize_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(model(["conv", "no integers"]))
    np.save(tmp_path / "data.npy", samples())
    step = ["--quantize", "int8", "--calibrate", str(tmp_path / "data.npy")]
    assert main(["plan", str(path), *step]) == 0
    found = capsys.readouterr()
    assert "as int8 (24 samples" in found.err and "SIN" in found.err
    assert "conv2d" in found.out and "int8" in found.out
    assert main(["plan", str(path), "--calibrate", "x.npy"]) == 1
    assert "add --quantize int8" in capsys.readouterr().err
