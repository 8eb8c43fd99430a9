"""Models that were prepared, trained and converted: what the module gives is what the file and the C give."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn

import mote
from mote import quantize
from mote.base.errors import MoteError
from mote.bench.execute import reference
from mote.bench.execute.host_library import HostModel
from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import quantized
from mote.optimize.compress.quantize.post_training import Quantized
from mote.optimize.compress.quantize_aware.prepared import Prepared
from tests.helpers.support import needs_litert, soaked

PAGE = Path(__file__).parents[4] / "docs" / "improve" / "fine-tuning.md"
torch.set_num_threads(1)


class Network(nn.Module):
    """Convolutions with batch norms, a depthwise one, a residual, pooling, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU6())
        self.last = nn.Sequential(nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8))
        self.classes = nn.Linear(8 * 16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        x = torch.relu(x + self.last(self.deep(x)))
        return self.classes(nn.functional.max_pool2d(x, 2).flatten(1))


def network() -> nn.Module:
    """Whose batch norms have seen something."""
    module = Network()
    for _ in range(3):
        module(torch.randn(16, 3, 8, 8))
    return module.eval()


@cache
def exported() -> torch.export.ExportedProgram:
    return torch.export.export(network(), (torch.zeros(1, 3, 8, 8),))


@cache
def _ready(precision: str, io: str) -> Prepared:
    return quantize.prepare(exported(), data=samples(24, 0), precision=precision, io=io)


def ready(precision: str = "int8", io: str = "int8") -> Prepared:
    """The network, prepared."""
    return copy.deepcopy(_ready(precision, io))


def samples(count: int, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(count, 3, 8, 8)).astype(np.float32)


def labels(count: int) -> Array:
    return np.random.default_rng(9).integers(0, 5, count)


def check_four_ways(prepared: Prepared, file: Quantized, x: Array) -> None:
    """The module, LiteRT's reference kernels, the NumPy reference and the generated C, bit for bit."""
    found = prepared.stored(torch.from_numpy(x))[0].numpy()
    graph, oracle = mote.load(file.source), reference.litert(file.data)
    t, y = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    cases = [{t.id: case[None]} for case in as_given(x.transpose(0, 2, 3, 1), t)]
    (built,) = HostModel(mote.compile(file.source)).run(cases)
    assert np.array_equal(found, built.reshape(found.shape))
    for case, want in zip(cases, found, strict=True):
        judged = oracle(case)
        assert judged is not None and np.array_equal(judged[y.id][0], want)
        assert np.array_equal(graph.evaluate(case)[y.id][0], want)
    with torch.no_grad():
        real = prepared(torch.from_numpy(x)).numpy()
    steps = found if y.dtype == DType.FLOAT32 else np.float32(y.scale) * (found - y.zero_point).astype(np.float32)
    assert np.array_equal(real, steps)


def as_given(x: Array, t: Tensor) -> Array:
    """Real numbers as a model takes them: as QUANTIZE makes integers of them."""
    return x if t.dtype == DType.FLOAT32 else quantized(x, t)


@needs_litert
@pytest.mark.parametrize(
    ("precision", "io"),
    soaked(
        [("int8", "int8"), ("int8", "float32"), ("int16", "int8"), ("int4", "int8")],
        [("int8", "float32")],
    ),
)
def test_the_module_the_file_and_the_c_give_the_same(precision: str, io: str) -> None:
    prepared = ready(precision, io)
    before = quantize.convert(prepared).data
    quantize.train(prepared, (samples(32, 1), labels(32)), epochs=2, batch=16, rate=0.01)
    found = quantize.convert(prepared)
    assert found.data != before and found.precision == precision
    check_four_ways(prepared, found, 2 * samples(12, 2))


def test_any_training_loop_will_do() -> None:
    """With the layout of the model, and copies of the module."""
    prepared = ready()
    best = copy.deepcopy(prepared)
    x, y = torch.from_numpy(samples(32, 1)), torch.from_numpy(labels(32))
    optimizer = torch.optim.AdamW(prepared.parameters(), 0.01)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(prepared(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]
    assert quantize.convert(best).data != quantize.convert(prepared).data


@pytest.mark.slow
def test_the_float_model_is_a_teacher() -> None:
    """Without labels, weights of 4 bits learn to give what real numbers gave."""
    module = network()
    options = {"precision": "int4", "rounding": "nearest", "correct_biases": False}
    prepared = quantize.prepare(exported(), data=samples(24, 0), **options)
    x = torch.from_numpy(samples(64, 5))

    def error() -> float:
        with torch.no_grad():
            return float(torch.square(prepared(x) - module(x)).mean())

    before = error()
    quantize.train(prepared, samples(128, 1), epochs=4, batch=16, distill=True)
    assert error() < 0.85 * before


def test_ranges_are_measured_once_more() -> None:
    prepared = ready()
    before = dict(prepared.aware.ranges)
    data = samples(32, 1), labels(32)
    quantize.train(prepared, data, epochs=2, batch=16, rate=0.02, recalibrate=False)
    assert prepared.aware.ranges == before
    quantize.train(prepared, data, epochs=2, batch=16, rate=0.02)
    assert prepared.aware.ranges != before


def test_models_of_other_formats_learn_too() -> None:
    """From a file of TensorFlow Lite."""
    from_torch = quantize.post_training(
        network(), samples(8, 0), precision="float16", example_inputs=torch.zeros(1, 3, 8, 8)
    )
    prepared = quantize.prepare(from_torch.data, data=samples(24, 0).transpose(0, 2, 3, 1))
    quantize.train(prepared, (samples(32, 1).transpose(0, 2, 3, 1), labels(32)), epochs=1, batch=16)
    assert prepared(torch.zeros(2, 8, 8, 3)).shape == (2, 5)


@pytest.mark.parametrize("rounding", soaked(["nearest", "adaptive"], ["adaptive"]))
def test_it_begins_with_what_post_training_finds(rounding: str) -> None:
    options = {"data": samples(24, 0), "precision": "int4", "rounding": rounding}
    file = quantize.post_training(exported(), **options)
    prepared = quantize.prepare(exported(), **options)
    found = quantize.convert(prepared)
    for op, other in zip(file.graph.ops, found.graph.ops, strict=True):
        for i, j in zip(op.inputs[1:2], other.inputs[1:2], strict=True):
            wanted, got = file.graph.tensors[i], found.graph.tensors[j]
            assert wanted.data is None or np.array_equal(wanted.data, got.data)
            assert wanted.quant is None or np.allclose(wanted.quant.scale, got.quant.scale, rtol=1e-6)


def test_pruned_weights_stay_zero() -> None:
    module = network()
    kept = torch.rand(module.first[0].weight.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    with torch.no_grad():
        module.first[0].weight *= kept
    prepared = quantize.prepare(module, torch.zeros(1, 3, 8, 8), data=samples(24, 0))
    quantize.train(prepared, (samples(32, 1), labels(32)), epochs=1, batch=16, rate=0.01)
    graph = quantize.convert(prepared).graph
    weights = graph.tensors[graph.ops[0].inputs[1]].data
    assert weights is not None and np.all(weights[~kept.permute(0, 2, 3, 1).numpy()] == 0)
    assert (weights != 0).sum() > 0.9 * int(kept.sum())


def test_mistakes_are_named() -> None:
    with pytest.raises(MoteError, match=r"no calibration data(.|\n)*data="):
        quantize.prepare(exported())
    with pytest.raises(MoteError, match="'int3' is no precision"):
        quantize.prepare(exported(), data=samples(4, 0), precision="int3")
    with pytest.raises(MoteError, match="a Network is no prepared model"):
        quantize.convert(network())
    prepared = ready()
    with pytest.raises(MoteError, match=r"needs labels, or a teacher(.|\n)*distill=True"):
        quantize.train(prepared, samples(4, 0))
    with pytest.raises(MoteError, match=r"has the shape \[2, 8, 8, 3\], it should be \[samples, 3, 8, 8\]"):
        prepared(torch.zeros(2, 8, 8, 3))
    with pytest.raises(MoteError, match="quantized already"):
        quantize.prepare(quantize.convert(prepared).data, data=samples(4, 0).transpose(0, 2, 3, 1))


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("epochs", (6, 8))
def test_the_example_of_the_page(epochs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The file gives what the module gave. What the nearest weights of 4 bits lose, fine-tuning gives back: in
    `make test` this is what `test_the_float_model_is_a_teacher` sees."""
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None and "in range(8):" in code[1]
    names: dict[str, Any] = {}
    exec(code[1].replace("in range(8):", f"in range({epochs}):"), names)
    said = re.fullmatch(r"float (\S+)%, int4 (\S+)%, fine-tuned (\S+)%\n", capsys.readouterr().out)
    assert said is not None
    exact, rounded, learned = map(float, said.groups())
    assert exact > 90 and rounded > exact - 6 and learned > exact - 3
    assert (tmp_path / "digits.tflite").read_bytes() == names["quantized"].data
    check_four_ways(names["prepared"], names["quantized"], names["tested"][0][:20])
    if epochs < 8:
        return
    options = {"precision": "int4", "rounding": "nearest", "correct_biases": False}
    nearest = quantize.prepare(names["model"], torch.zeros(1, 1, 8, 8), data=names["learned"][0][:200], **options)
    before = names["accuracy"](nearest)
    quantize.train(nearest, names["learned"], epochs=1)
    assert names["accuracy"](nearest) > before + 0.02
