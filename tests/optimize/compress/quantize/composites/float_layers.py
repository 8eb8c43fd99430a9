"""Float graphs of recurrent layers, to be quantized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.recurrent.lstm import Lstm
from mote.ir.ops.recurrent.sequences import LstmSequence, RecurrentOutput
from mote.ir.ops.recurrent.svdf import Svdf
from mote.optimize.compress.quantize.noise import signal_to_noise
from mote.optimize.compress.quantize.pipeline import QuantizationResult as Quantized
from mote.optimize.compress.quantize.pipeline import finished, prepared
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from tests.helpers.float_nets import Case, cases, check_litert


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
    """Few enough cells for LiteRT to compute them one by one, see `lstm_models.any_kind`."""
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
