"""Graphs as `.tflite` files: reading what was written gives the same graph, and LiteRT computes the same with it."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.frontends import tflite
from mote.frontends.source import Format, Source
from mote.frontends.tflite.emit import WRITERS, windows
from mote.frontends.tflite.export import UnsaidLayersError, export
from mote.frontends.tflite.file.schema import OPTIONS
from mote.ir import ops
from mote.ir.graph import Graph, Op, Quantization, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import compare
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.classical.distances_svm import Distances, KernelFunction, Metric, SupportVectors
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.float_math import Acos, Atan, Log1p, Sinh, Tan
from mote.ir.ops.moves.gather_constant import Pick
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.sequences import LstmSequence, Recurrent, RecurrentOutput, RnnSequence
from mote.ir.ops.reductions.along_axis import TopK
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.transpose_conv import TransposeConv
from mote.ui.cli import main
from tests.fuzz.bases import base
from tests.helpers.support import needs_litert, soaked
from tests.ir.ops.alone import alone
from tests.ir.ops.classical import test_detection
from tests.ir.ops.recurrent import test_svdf

MODELS = Path(__file__).parents[3] / "models"


def differences(a: Graph, b: Graph, ids: dict[int, int] | None = None) -> list[str]:
    """What is different between two graphs, but for numbers and names of tensors."""
    found: list[str] = []
    same = {} if ids is None else ids
    if len(a.ops) != len(b.ops):
        return [f"operators: {[op.kind for op in a.ops]} and {[op.kind for op in b.ops]}"]
    for x, y in zip(a.inputs, b.inputs, strict=True):
        same[x] = y
    for s, t in zip(a.states, b.states, strict=True):
        same[s.before] = t.before
        if not np.array_equal(s.initial, t.initial):
            found.append("a state begins otherwise")
    for x, y in zip(a.ops, b.ops, strict=True):
        found += _of_op(a, b, x, y, same)
    found += [f"output {t}" for t, u in zip(a.outputs, b.outputs, strict=True) if same.get(t) != u]
    return found


def _of_op(a: Graph, b: Graph, x: Op, y: Op, same: dict[int, int]) -> list[str]:
    where = f"{x.kind} '{x.name}'"
    if type(x) is not type(y) or (len(x.inputs), len(x.outputs)) != (len(y.inputs), len(y.outputs)):
        return [f"{where}: {x} is {y}"]
    found = []
    for t, u in zip(x.inputs, y.inputs, strict=True):
        if ABSENT in (t, u):
            found += [] if t == u else [f"{where}: an operand is absent"]
        elif a.tensors[t].data is None:
            found += [] if same.get(t) == u else [f"{where}: reads {t} is {u}"]
        else:
            found += [f"{where}: {what}" for what in _of_tensor(a.tensors[t], b.tensors[u])]
    for t, u in zip(x.outputs, y.outputs, strict=True):
        same[t] = u
        found += [f"{where}: {what}" for what in _of_tensor(a.tensors[t], b.tensors[u])]
    own = {name: value for name, value in x.attributes().items() if name != "count"}
    for name, value in own.items():
        found += _of_value(f"{where}: {name}", value, getattr(y, name))
    return found


def _of_value(what: str, x: Any, y: Any) -> list[str]:
    if isinstance(x, Graph):
        return [f"{what}: {difference}" for difference in differences(x, y)]
    if isinstance(x, tuple) and len(x) == len(y):
        return [d for p, q in zip(x, y, strict=True) for d in _of_value(what, p, q)]
    if is_dataclass(x) and not isinstance(x, type):
        return [d for f in fields(x) for d in _of_value(what, getattr(x, f.name), getattr(y, f.name))]
    return [] if x == y else [f"{what} {x} is {y}"]


def _of_tensor(x: Tensor, y: Tensor) -> list[str]:
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return [f"{x} is {y}"]
    if (x.data is None) != (y.data is None) or (x.data is not None and not np.array_equal(x.data, y.data)):
        return [f"{x} holds something else"]
    quantized = x.quant is not None and (x.dtype.integer and x.quant.scale.any())
    if quantized and not (x.quant.same_as(y.quant) and y.quant and x.quant.unsigned == y.quant.unsigned):
        return [f"{x} has the scale {x.quant}, not {y.quant}"]
    return []


def check_outputs(graph: Graph, written: bytes, read: bytes, inputs: int = 3) -> None:
    """LiteRT gives the same outputs for both files, but for the order of float32 sums."""
    again = tflite.parse(written, "written")
    oracles = reference.litert(read), reference.litert(written)
    magnitudes = reference.magnitudes(graph)
    for case in stimuli(graph, inputs):
        given = dict(zip(again.inputs, case.values(), strict=True))
        want, got, sizes = oracles[0](case), oracles[1](given), magnitudes(case)
        assert want is not None and got is not None
        for t, u in zip(graph.outputs, again.outputs, strict=True):
            x, y = want[graph.tensors[t].source], got[again.tensors[u].source]
            diff, bad = compare(y.reshape(x.shape), x, sizes.get(t, 0.0))
            assert not bad, f"{graph.tensors[t]}: differs by {diff}"


def round_trip(model: bytes, *, same: bool = True, runs: bool = True) -> None:
    """A file that is read, written, and read again. `same`: the graphs are equal, not only what they compute."""
    graph = tflite.parse(model, "model.tflite")
    written = export(graph, "model.tflite").data
    again = tflite.parse(written, "written.tflite")
    assert not same or not differences(graph, again)
    if runs and not any(op.misjudged(graph) for op in graph.ops):
        check_outputs(graph, written, model, 2)


@needs_litert
@pytest.mark.parametrize("count", soaked((45, 100), (45,)))
def test_random_models(count: int) -> None:
    """Of all families that the fuzzer begins with."""
    seen = set()
    for seed in range(count):
        name, model = base(Random(seed))
        graph = _parsed(model)
        if graph is None or name in ("front", "compound"):
            continue
        seen.add(name)
        round_trip(model, same=name != "flow" and not (name == "hybrid" and "SVDF" in graph.text()))
    assert len(seen) >= 15


def _parsed(model: bytes) -> Graph | None:
    try:
        return tflite.parse(model, "model.tflite")
    except MoteError:  # some have sizes that do not fit
        return None


@needs_litert
def test_boxes() -> None:
    """What one operator of TFLite gives is parts of one tensor in the graph."""
    for sigma in (None, 0.3):
        round_trip(test_detection.suppression(9, 4, 0.5, 0.1, sigma, 1))


RNG = np.random.default_rng(3)
IMAGE = RNG.normal(size=(1, 7, 9, 3)).astype(np.float32)
WEIGHTS = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
BIAS = RNG.normal(size=4).astype(np.float32)


def normal(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def _machine(function: KernelFunction) -> Graph:
    """Support vectors of three classes."""
    constants = [normal(7, 3), normal(7, 2), normal(3)]
    how = {"gamma": 0.3, "offset": 0.5, "degree": 3, "counts": (3, 0, 4)}
    return alone(SupportVectors, [IMAGE, *constants], constant=3, function=function, **how)


def _sequence(kind: type[Recurrent], back: bool, results: tuple[RecurrentOutput, ...], **how: Any) -> Graph:
    """A recurrent layer of four units over a sequence of seven steps (the image's rows), each of 27 numbers."""
    units = 4
    constants = [normal(kind.blocks * units, 3), normal(kind.blocks * units, units), normal(kind.bias_blocks * units)]
    graph = alone(kind, [IMAGE[0], *constants], constant=3, time_major=True, backward=back, results=results, **how)
    shape = IMAGE.shape
    first = replace(graph.tensors[0], id=9, shape=shape)
    view = Reshape(inputs=(9,), outputs=(0,), name="rows", index=0, shape=shape[1:])
    return replace(graph, tensors={**graph.tensors, 9: first}, ops=(view, *graph.ops), inputs=(9,)).verify()


SEQUENCES = (
    (Gru, False, (RecurrentOutput.SEQUENCE,), {"after": True}),
    (Gru, True, (RecurrentOutput.HIDDEN,), {}),
    (LstmSequence, False, (RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN, RecurrentOutput.CELL), {}),
    (LstmSequence, True, (RecurrentOutput.SEQUENCE,), {"coupled": True}),
    (RnnSequence, False, (RecurrentOutput.SEQUENCE,), {}),
)
ODD = Axis(3, 2, 1, 2, 0)
"""No padding of TFLite's."""
ELSEWHERE: list[tuple[Graph, list[str]]] = [
    (alone(Conv2D, [IMAGE, WEIGHTS, BIAS], constant=2, vertical=ODD, horizontal=Axis(3, before=1)), ["PAD", "CONV_2D"]),
    (
        alone(Conv2D, [IMAGE, WEIGHTS], constant=1, vertical=ODD, horizontal=ODD, activation=Activation.RELU_0_TO_1),
        ["PAD", "CONV_2D", "RELU_0_TO_1"],
    ),
    (alone(MaxPool, [IMAGE], vertical=ODD, horizontal=ODD), ["PADV2", "MAX_POOL_2D"]),
    (
        alone(AveragePool, [IMAGE], vertical=ODD, horizontal=Axis(3), activation=Activation.RELU),
        ["PAD", "AVERAGE_POOL_2D", "MUL"],
    ),
    (
        alone(
            TransposeConv,
            [IMAGE, WEIGHTS, BIAS],
            constant=2,
            size=(13, 18),
            vertical=Axis(3, 2, 1, 1, 1),
            horizontal=Axis(3, 2, 1, 1, 0),
        ),
        ["TRANSPOSE_CONV", "SLICE"],
    ),
    (alone(Slice, [IMAGE], begin=(0, 5, 1, 0), size=(1, 3, 4, 3), strides=(1, -2, 2, 1), shape=(3, 12)), []),
    (alone(Slice, [IMAGE], begin=(0, 2, 0, 1), size=(1, 1, 9, 1), strides=(1,) * 4, shape=(9, 1)), ["STRIDED_SLICE"]),
    (alone(Pick, [IMAGE], places=(None, (3, 1, 1), None, (2, 0)), shape=(1, 3, 9, 2)), ["GATHER", "GATHER"]),
    (alone(Pick, [IMAGE], places=(None, None, (3, 1, 1, 0), None), shape=(1, 7, 2, 2, 3)), ["GATHER"]),
    (alone(TopK, [IMAGE], dtype="int32", k=2, indices=True), ["TOPK_V2"]),
    (alone(TopK, [IMAGE], k=2), ["TOPK_V2"]),
    (alone(Log1p, [np.abs(IMAGE)]), ["ADD", "LOG"]),
    (alone(Tan, [IMAGE]), ["SIN", "COS", "DIV"]),
    (alone(Sinh, [IMAGE]), []),
    (alone(Atan, [IMAGE]), []),
    (alone(Acos, [IMAGE]), []),
    (alone(Standardize, [IMAGE, normal(3), normal(3)], constant=2, epsilon=1e-5), []),
    (alone(RootMeanSquare, [IMAGE], epsilon=1e-5), []),
    *(
        (alone(Distances, [IMAGE, normal(5, 3), *weights], constant=1 + len(weights), metric=metric), [])
        for metric in Metric
        for weights in ([], [np.abs(normal(5, 3))])
    ),
    *((_machine(function), []) for function in KernelFunction),
    *((_sequence(kind, back, results, **how), []) for kind, back, results, how in SEQUENCES),
]
"""Graphs that no `.tflite` file gives, and how they are written."""


def codes(data: bytes) -> list[str]:
    return [layer.code for layer in tflite.read(Source("written.tflite", Format.TFLITE, data)).layers]


@needs_litert
@pytest.mark.parametrize(("graph", "written"), ELSEWHERE, ids=lambda x: x.ops[0].kind if isinstance(x, Graph) else "")
def test_what_other_formats_say(graph: Graph, written: Sequence[str]) -> None:
    exported = export(graph, "model.onnx")
    assert not written or codes(exported.data) == written
    run = reference.litert(exported.data)
    given = np.abs(IMAGE) if graph.ops[0].kind == "LOG1P" else IMAGE
    values = run({exported.tensors[graph.inputs[0]]: given})
    assert values is not None
    for t in graph.outputs:
        want = graph.evaluate({graph.inputs[0]: given})[t]
        np.testing.assert_allclose(values[exported.tensors[t]], want, rtol=1e-5, atol=1e-5)


def test_what_tflite_has_no_words_for() -> None:
    """All layers in one message, each with its reason."""
    graph = tflite.parse(test_detection.together(1), "model.tflite")
    with pytest.raises(UnsaidLayersError, match=r"TFLite_Detection_PostProcess.*TFLite has no such operator") as error:
        export(graph, "model.tflite")
    assert len(error.value.layers) > 1 and "mote compile" in error.value.remedy
    pool = alone(AveragePool, [IMAGE], vertical=ODD, horizontal=Axis(3))
    quant = Quantization(np.array([0.1], np.float32), np.zeros(1, np.int64))
    tensors = {i: replace(t, dtype=DType.INT8, quant=quant) for i, t in pool.tensors.items()}
    with pytest.raises(UnsaidLayersError, match="neither SAME nor VALID"):
        export(replace(pool, tensors=tensors), "model.onnx")


def test_a_state_that_does_not_begin_as_zeros() -> None:
    graph = tflite.parse(test_svdf.model(test_svdf.Config("float32", 1)), "model.tflite")
    states = tuple(State(s.before, s.after, np.ones(s.initial.shape, np.float32)) for s in graph.states)
    with pytest.raises(UnsaidLayersError, match="not initialized with zeros"):
        export(replace(graph, states=states), "model.tflite")


@needs_litert
def test_convert(tmp_path: Path) -> None:
    """The function: what was compared, and a file that LiteRT runs."""
    found = mote.convert(MODELS / "digits.tflite", inputs=2)
    assert found.check is not None and found.check.exact and found.check.tensors == found.operators == 8
    found.write(str(tmp_path / "digits.tflite"))
    assert (tmp_path / "digits.tflite").read_bytes() == found.data
    assert mote.convert(found.data, verify=False).check is None
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(MoteError, match="another kind"):
        found.write(str(tmp_path / "notes.txt"))


def test_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "litert_installed", lambda: False)
    with pytest.raises(MoteError, match="LiteRT is not installed") as error:
        mote.convert(MODELS / "digits.tflite")
    assert "--no-verify" in error.value.remedy
    assert mote.convert(MODELS / "digits.tflite", verify=False).check is None


@needs_litert
def test_the_check_sees_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    """A file with another activation is not written."""
    monkeypatch.setitem(WRITERS, Conv2D, lambda e, op: windows.conv(e, op.with_(activation=Activation.RELU6)))
    out = tmp_path / "wrong.tflite"
    assert main(["convert", str(MODELS / "digits.tflite"), str(out), "--inputs", "2"]) == 1
    assert "nothing was written" in capsys.readouterr().out and not out.exists()
    assert main(["convert", str(MODELS / "digits.tflite"), str(out), "--no-verify", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["check"] is None and said["file"] == str(out) and said["bytes"] == len(out.read_bytes())


def test_every_operator_of_tflite_has_a_writer() -> None:
    """But for those that passes make, custom ones, those that only round otherwise, which become TFLite's, and those
    whose biases have fractions, which TFLite cannot hold."""
    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")
    waiting, missing = [Op], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.kind in OPTIONS and kind not in WRITERS and kind.__module__.startswith(ops.__name__):
            missing.add(kind.__name__)
    elsewhere = {name for name in missing if name.startswith(("Even", "Loose", "Affine"))}
    assert missing - elsewhere == {
        "GroupedWindow",
        "HeadMatmul",
        "MatrixProduct",
        "StateUpdate",
        "Custom",
        "Average",
        "Assign",
    }
