"""Recurrent layers and norms of float models as integers: NumPy, LiteRT and the compiled C give the same, and little of
the signal is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote import quantize
from mote.bench.execute.batch import evaluate, is_stream
from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.recurrent.gates import Gate, GateActivation
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.lstm import Lstm
from mote.ir.ops.recurrent.sequences import LstmSequence, RecurrentOutput
from mote.ir.ops.recurrent.svdf import Svdf
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.optimize.compress.quantize.noise import signal_to_noise
from mote.optimize.compress.quantize.pipeline import QuantizationResult as Quantized
from mote.optimize.compress.quantize.pipeline import finished, prepared
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.precision_units import units
from tests.helpers.float_nets import Case, cases, check_litert
from tests.helpers.support import check, exact_on, examples, needs_litert


class Layers:
    """A float graph of layers that do not feed each other, each with inputs of its own."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: dict[int, Tensor] = {}
        self.ops: list[Op] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.states: list[State] = []

    def hold(self, shape: Shape, data: Array | None = None, dtype: DType = DType.FLOAT32) -> int:
        number = len(self.tensors)
        self.tensors[number] = Tensor(number, f"t{number}", shape, dtype, None, data)
        return number

    def input(self, *shape: int) -> int:
        self.inputs.append(self.hold(shape))
        return self.inputs[-1]

    def real(self, *shape: int, size: float = 1.0) -> int:
        return self.hold(shape, (size * self.rng.normal(size=shape)).astype(np.float32))

    def state(self, *shape: int) -> tuple[int, int]:
        before, after = self.hold(shape), self.hold(shape)
        self.states.append(State(before, after, np.zeros(shape, np.float32)))
        return before, after

    def add(self, kind: type[Op], inputs: Sequence[int], size: Shape, *more: int, **attributes: Any) -> int:
        y = self.hold(size)
        named = {"name": f"layer{len(self.ops)}", "index": len(self.ops)}
        self.ops.append(kind(inputs=tuple(inputs), outputs=(y, *more), **named, **attributes))
        return y

    def graph(self) -> Graph:
        found = Graph("layers", self.tensors, tuple(self.ops), tuple(self.inputs), tuple(self.outputs))
        return normal(replace(found, states=tuple(self.states)).verify())


def quantized(graph: Graph, samples: Sequence[Case], precision: Precision = Precision.INT8) -> Quantized:
    found = finished(prepared(graph, samples), Scheme(precision))
    assert not found.integers.refused, found.integers.refused
    return found


@dataclass(frozen=True)
class Sequenced:
    """A recurrent layer as ONNX, PyTorch and Keras have it."""

    batch: int = 1
    time: int = 3
    inputs: int = 5
    units: int = 4
    time_major: bool = False
    backward: bool = False
    coupled: bool = False
    peepholes: bool = False
    begins: str = "zeros"
    """What sequences begin with: zeros, constants, or states that are given."""
    results: tuple[RecurrentOutput, ...] = (RecurrentOutput.SEQUENCE,)
    gain: float = 1.0


sequenced = st.builds(
    Sequenced,
    batch=st.sampled_from([1, 1, 2]),
    time=st.integers(1, 6),
    inputs=st.integers(1, 9),
    units=st.integers(1, 7),
    time_major=st.booleans(),
    backward=st.booleans(),
    coupled=st.booleans(),
    peepholes=st.booleans(),
    begins=st.sampled_from(["zeros", "zeros", "constants", "given"]),
    results=st.sampled_from(
        [
            (RecurrentOutput.SEQUENCE,),
            (RecurrentOutput.SEQUENCE,),
            (RecurrentOutput.HIDDEN,),
            (RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN),
        ]
    ),
    gain=st.sampled_from([0.2, 1.0, 4.0]),
)


def begin(layers: Layers, c: Sequenced, count: int) -> list[int]:
    """Lengths and states of a layer."""
    if c.begins == "zeros":
        return [ABSENT] * (1 + count)
    lengths = layers.hold((c.batch,), np.full(c.batch, c.time, np.int32), DType.INT32)
    shape = (c.batch, c.units)
    return [lengths, *(layers.real(*shape) if c.begins == "constants" else layers.input(*shape) for _ in range(count))]


def results(layers: Layers, c: Sequenced, kind: type[Op], inputs: Sequence[int], **attributes: Any) -> None:
    steps = (c.time, c.batch, c.units) if c.time_major else (c.batch, c.time, c.units)
    shapes = {RecurrentOutput.SEQUENCE: steps, RecurrentOutput.HIDDEN: (c.batch, c.units)}
    sizes = [int(np.prod(shapes[r])) for r in c.results]
    whole = shapes[c.results[0]] if len(sizes) == 1 else (sum(sizes),)
    how = {"time_major": c.time_major, "backward": c.backward, "results": c.results}
    made = layers.add(kind, inputs, whole, **how, **attributes)
    for i, result in enumerate(c.results if len(sizes) > 1 else ()):
        shape = shapes[result]
        layers.outputs.append(layers.add(Part, [made], shape, begin=sum(sizes[:i]), shape=shape))
    layers.outputs += [made] if len(sizes) == 1 else []


def lstm(layers: Layers, c: Sequenced) -> None:
    x = layers.input(*((c.time, c.batch) if c.time_major else (c.batch, c.time)), c.inputs)
    size = c.gain / max(c.inputs, c.units) ** 0.5
    weights = [layers.real(4 * c.units, n, size=size) for n in (c.inputs, c.units)]
    given = [*begin(layers, c, 2), *([layers.real(3 * c.units, size=0.5)] if c.peepholes else [])]
    results(layers, c, LstmSequence, [x, *weights, layers.real(4 * c.units, size=0.5), *given], coupled=c.coupled)


def lstms(configs: Sequence[Sequenced], seed: int = 0) -> Graph:
    layers = Layers(seed)
    for c in configs:
        lstm(layers, c)
    return layers.graph()


@needs_litert
@given(st.lists(sequenced, min_size=5, max_size=5), st.integers(0, 1 << 30))
@settings(max_examples=examples(3), deadline=None)
def test_lstms_are_equal_to_litert(configs: list[Sequenced], seed: int) -> None:
    graph = lstms(configs, seed)
    samples = cases(graph, 6, seed)
    check_litert(quantized(graph, samples).integers.graph, samples[:2])


SEVERAL = [
    Sequenced(),
    Sequenced(batch=2, time=4, inputs=9, units=6, time_major=True, begins="given"),
    Sequenced(backward=True, peepholes=True, results=(RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN)),
    Sequenced(batch=2, coupled=True, peepholes=True, begins="constants", results=(RecurrentOutput.HIDDEN,)),
    Sequenced(backward=True, results=(RecurrentOutput.HIDDEN,)),
]


@needs_litert
@pytest.mark.parametrize("core", ["host", pytest.param("cortex-m4", marks=pytest.mark.slow)])
def test_lstms_in_c_are_equal_to_litert(core: str) -> None:
    graph = lstms(SEVERAL)
    data = check_litert(quantized(graph, cases(graph)).integers.graph, cases(graph, 1))
    if core == "host":
        check(data, inputs=2, optimize="speed")
    else:
        exact_on(core, data, 2)


@dataclass(frozen=True)
class Kept:
    """An LSTM of TensorFlow Lite, which keeps its states."""

    batch: int = 1
    time: int = 3
    inputs: int = 5
    cells: int = 6
    outputs: int = 0
    """Of a projection, if there is one."""
    time_major: bool = False
    backward: bool = False
    coupled: bool = False
    peepholes: bool = False
    normalized: bool = False
    clips: tuple[float, float] = (0.0, 0.0)


def kept_lstm(layers: Layers, c: Kept) -> None:
    """Few enough cells for LiteRT to compute them one by one, see `test_lstm.any_kind`."""
    outputs = c.outputs or c.cells
    order = (c.time, c.batch) if c.time_major else (c.batch, c.time)
    reads = [layers.input(*order, c.inputs), *[ABSENT] * 23]
    for gate in range(1 if c.coupled else 0, 4):
        reads[1 + gate] = layers.real(c.cells, c.inputs, size=c.inputs**-0.5)
        reads[5 + gate] = layers.real(c.cells, outputs, size=outputs**-0.5)
        reads[12 + gate] = layers.real(c.cells, size=0.3)
        if c.peepholes and gate != 2:
            reads[9 + (0, 1, 0, 2)[gate]] = layers.real(c.cells, size=0.3)
        if c.normalized:
            reads[20 + gate] = layers.real(c.cells, size=1.0)
    if c.outputs:
        reads[16], reads[17] = layers.real(outputs, c.cells, size=c.cells**-0.5), layers.real(outputs, size=0.2)
    hidden, cell = layers.state(c.batch, outputs), layers.state(c.batch, c.cells)
    reads[18], reads[19] = hidden[0], cell[0]
    how = {"cell_clip": c.clips[0], "projection_clip": c.clips[1], "backward": c.backward, "time_major": c.time_major}
    layers.outputs.append(layers.add(Lstm, reads, (*order, outputs), hidden[1], cell[1], **how))


KEPT = [
    Kept(),
    Kept(batch=2, time_major=True, outputs=4, clips=(0.5, 0.8)),
    Kept(peepholes=True, coupled=True, backward=True),
    Kept(normalized=True, outputs=5),
    Kept(normalized=True, peepholes=True),
]


def svdf(layers: Layers, batch: int, rank: int, *, bias: bool = True) -> None:
    inputs, units, memory = 7, 4, 5
    before, after = layers.state(batch, units * rank * memory)
    weights = [layers.real(units * rank, inputs, size=0.4), layers.real(units * rank, memory)]
    reads = [layers.input(batch, inputs), *weights, layers.real(units) if bias else ABSENT, before]
    layers.outputs.append(layers.add(Svdf, reads, (batch, units), after, rank=rank, activation=Activation.RELU))


def noises(found: Quantized, samples: Sequence[Case]) -> list[float]:
    """Decibels of signal to noise of the outputs."""
    graph = found.prepared.exact
    noise = signal_to_noise(graph, found.integers.graph, samples)
    return [noise[t] for t in graph.outputs]


def kept_as_integers(graph: Graph) -> bytes:
    """Layers that keep states as integers: LiteRT's file."""
    samples = cases(graph, 40)
    found = quantized(graph, samples)
    assert {op.kind for op in found.integers.graph.ops} <= {"UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF", "REVERSE_V2"}
    assert min(noises(found, samples)) > 25
    return check_litert(found.integers.graph, samples[:1])


@needs_litert
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lstms_that_keep_states_are_equal_to_litert(compiled: bool) -> None:
    layers = Layers(1)
    for c in KEPT:
        kept_lstm(layers, c)
    data = kept_as_integers(layers.graph())
    if compiled:
        check(data, inputs=3)


@needs_litert
def test_layers_of_a_stream_are_equal_to_litert() -> None:
    layers = Layers(2)
    for batch, rank, bias in ((1, 1, True), (2, 2, False)):
        svdf(layers, batch, rank, bias=bias)
    kept_lstm(layers, Kept(time=1))
    check(kept_as_integers(layers.graph()), inputs=3)


def test_a_stream_goes_on_from_one_case_to_the_next() -> None:
    layers = Layers(3)
    svdf(layers, 1, 2)
    graph = layers.graph()
    assert is_stream(graph)
    samples = cases(graph, 9)
    carried: Case = {}
    for case, got in zip(samples, evaluate(graph, samples), strict=True):
        want = graph.evaluate(case | carried)
        carried = graph.carried(want)
        assert all(np.array_equal(got[t].reshape(want[t].shape), want[t]) for t in got)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"results": (RecurrentOutput.CELL,)}, "its cells are a result"),
        ({"gate": Gate(GateActivation.HARD_SIGMOID, 0.2, 0.5)}, "no other functions of gates"),
    ],
)
def test_what_has_no_integers_stays_float(changes: dict[str, Any], reason: str) -> None:
    layers = Layers()
    lstm(layers, Sequenced(begins="constants", results=(RecurrentOutput.HIDDEN,)))
    layers.ops = [op.with_(**changes) for op in layers.ops]
    graph = layers.graph()
    found = finished(prepared(graph, cases(graph)))
    assert reason in found.integers.refused[0] and found.integers.precisions[0] is Precision.FLOAT32


def test_precisions_that_lstms_do_not_have() -> None:
    graph = lstms([Sequenced()])
    given = prepared(graph, cases(graph))
    for wanted, got in ((Precision.INT4, Precision.INT8), (Precision.INT16, Precision.FLOAT32)):
        found = finished(given, Scheme(wanted)).integers
        assert found.precisions[0] is got and found.refused[0]
    kept = finished(given, Scheme(Precision.INT8, {0: Precision.FLOAT32})).integers
    assert kept.precisions[0] is Precision.FLOAT32 and not kept.refused


def test_an_lstm_is_a_unit() -> None:
    (unit,) = units(lstms([Sequenced()]))
    assert unit.op == "LSTM_SEQUENCE"


def test_many_sequences_at_once_are_each_by_itself() -> None:
    for c in (Sequenced(batch=2, begins="given"), Sequenced(batch=2, time_major=True, begins="constants")):
        graph = lstms([c])
        samples = cases(graph, 3)
        (found,) = evaluate(graph, samples)
        for n, case in enumerate(samples):
            for t, want in graph.evaluate(case).items():
                got = found[t].reshape(len(samples), *want.shape)[n]
                assert np.allclose(got, want, rtol=0, atol=1e-6)


def norm(layers: Layers, kind: type[Op], *shape: int, scaled: bool = True, biased: bool = True) -> None:
    """Vectors of very different sizes, a constant one among them."""
    x = layers.input(*shape)
    given = [layers.real(shape[-1]) if wanted else ABSENT for wanted in (scaled, biased)]
    layers.outputs.append(layers.add(kind, [x, *given], shape, epsilon=1e-5))


NORMS = (
    (Standardize, (1, 5, 24), True, True),
    (Standardize, (2, 16), True, False),
    (Standardize, (1, 3, 17), False, True),
    (RootMeanSquare, (1, 6, 20), True, False),
    (RootMeanSquare, (3, 8), False, False),
)


def norms() -> Graph:
    layers = Layers(4)
    for kind, shape, scaled, biased in NORMS:
        norm(layers, kind, *shape, scaled=scaled, biased=biased)
    return layers.graph()


def vectors(graph: Graph, count: int, seed: int = 0) -> list[Case]:
    """Inputs whose vectors differ in size and mean; one is constant."""
    rng = np.random.default_rng(seed)
    found = cases(graph, count, seed)
    for case in found:
        for t, x in case.items():
            lines = (*x.shape[:-1], 1)
            case[t] = (x * rng.uniform(0.3, 3, lines) + rng.normal(size=lines)).astype(np.float32)
    found[0] = {t: np.full_like(x, 0.7) for t, x in found[0].items()}
    return found


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("precision", [Precision.INT8, Precision.INT16])
def test_norms_are_equal_to_litert(precision: Precision) -> None:
    graph = norms()
    samples = vectors(graph, 24)
    found = quantized(graph, samples, precision)
    assert DType.FLOAT32 not in {t.dtype for t in found.integers.graph.tensors.values()}
    assert min(noises(found, samples[1:])) > (30 if precision is Precision.INT8 else 45)
    data = check_litert(found.integers.graph, samples[:3])
    if precision is Precision.INT8:
        assert not [op for op in tflite.parse(data, "norms").ops if op.misjudged(tflite.parse(data, "norms"))]
        check(data, inputs=2, optimize="speed")


def gru(layers: Layers, c: Sequenced, *, after: bool) -> None:
    x = layers.input(*((c.time, c.batch) if c.time_major else (c.batch, c.time)), c.inputs)
    size = c.gain / max(c.inputs, c.units) ** 0.5
    weights = [layers.real(3 * c.units, n, size=size) for n in (c.inputs, c.units)]
    results(layers, c, Gru, [x, *weights, layers.real(4 * c.units, size=0.5), *begin(layers, c, 1)], after=after)


def grus(configs: Sequence[Sequenced], seed: int = 0) -> Graph:
    layers = Layers(seed)
    for i, c in enumerate(configs):
        gru(layers, c, after=i % 2 == 0)
    return layers.graph()


@needs_litert
@given(st.lists(sequenced, min_size=4, max_size=4), st.integers(0, 1 << 30))
@settings(max_examples=examples(2), deadline=None)
def test_grus_are_equal_to_litert(configs: list[Sequenced], seed: int) -> None:
    graph = grus(configs, seed)
    samples = cases(graph, 6, seed)
    found = quantized(graph, samples)
    assert min(noises(found, samples)) > 25
    check_litert(found.integers.graph, samples[:2])


@needs_litert
@pytest.mark.parametrize("core", ["host", pytest.param("cortex-m4", marks=pytest.mark.slow)])
def test_grus_in_c_are_equal_to_litert(core: str) -> None:
    graph = grus([Sequenced(time=5), Sequenced(backward=True, time_major=True, results=(RecurrentOutput.HIDDEN,))])
    data = check_litert(quantized(graph, cases(graph)).integers.graph, cases(graph, 1))
    if core == "host":
        check(data, inputs=2, optimize="speed")
    else:
        exact_on(core, data, 2)


@pytest.mark.slow
@needs_litert
def test_a_network_of_pytorch() -> None:
    """Two layers both ways, whose last output is read beside all outputs, a norm and a GRU: all of it integers."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
            self.norm = torch.nn.LayerNorm(16)
            self.gru = torch.nn.GRU(16, 5, batch_first=True)
            self.last = torch.nn.Linear(13, 3)

        def forward(self, x: Any) -> Any:
            steps, (last, _) = self.lstm(x)
            _, more = self.gru(self.norm(steps))
            return self.last(torch.cat([last[-1], more[0]], 1))

    x = np.random.default_rng(0).normal(size=(16, 7, 6)).astype(np.float32)
    found = quantize.post_training(Network().eval(), x, example_inputs=(torch.zeros(1, 7, 6),))
    assert {layer.precision for layer in found.layers} == {"int8"} and found.layers[-1].noise > 30
    check(found.data, inputs=2)
