"""RNN, sequences of it, and layers that go both ways, against LiteRT over many steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.ir.graph.tolerance import compare
from tests.helpers.support import exact_on, examples, needs_litert

KINDS = ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM")
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH")


@dataclass(frozen=True)
class Config:
    """`auxiliary`: features of another input, `linked`: which both sides read beside the first one."""

    kind: str = "BIDIRECTIONAL_SEQUENCE_LSTM"
    batch: int = 1
    time: int = 3
    inputs: int = 4
    units: int = 5
    cells: int = 5
    time_major: bool = False
    merged: bool = True
    activation: str = "TANH"
    auxiliary: int = 0
    linked: bool = False
    coupled: bool = False
    peepholes: bool = False
    clips: tuple[float, float] = (0.0, 0.0)
    weights: str = "float32"
    seed: int = 0


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind = draw(
        st.sampled_from(["RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", *2 * ["BIDIRECTIONAL_SEQUENCE_RNN"], *3 * ["LSTM"]])
    )
    lstm = kind == "LSTM"
    inputs, cells = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    auxiliary = draw(st.sampled_from([0, 0, inputs, draw(st.integers(1, 5))]))
    merged = draw(st.booleans())
    time_major = draw(st.booleans()) and (lstm or (merged and auxiliary in (0, inputs)))
    mixed = lstm and merged and not time_major  # LiteRT mixes up the states of several sequences
    return Config(
        kind="BIDIRECTIONAL_SEQUENCE_LSTM" if lstm else kind,
        batch=1 if mixed else draw(st.integers(1, 3)),
        time=draw(st.integers(1, 4)),
        inputs=inputs,
        units=draw(st.sampled_from([cells, 3])) if lstm else cells,
        cells=cells,
        time_major=time_major,
        merged=merged,
        activation="TANH" if lstm else draw(st.sampled_from(ACTIVATIONS)),
        auxiliary=auxiliary,
        linked=draw(st.booleans()) or auxiliary not in (0, inputs),
        coupled=draw(st.booleans()),
        peepholes=draw(st.booleans()),
        clips=draw(st.sampled_from([(0.0, 0.0), (0.3, 0.2)])),
        seed=draw(st.integers(0, 1000)),
    )


def add_layer(w: Writer, i: int, c: Config) -> None:
    rng = np.random.default_rng(c.seed)
    order = (c.time, c.batch) if c.time_major else (c.batch, c.time)
    if c.kind == "RNN":
        order = (c.batch,)

    def const(*shape: int) -> int:
        values = rng.uniform(-1, 1, shape) / shape[-1] ** 0.5
        if c.weights == "int8" and len(shape) == 2:
            return w.const(f"w{i}", np.round(values * 100).astype(np.int8), 0.01)
        return w.const(f"w{i}", values.astype(np.float32))

    x = w.input(f"x{i}", (*order, c.inputs), "float32")
    other = w.input(f"aux{i}", (*order, c.auxiliary), "float32") if c.auxiliary else NO_TENSOR
    linked = c.auxiliary and c.linked
    both = c.kind.startswith("BI")
    sides = 2 if both else 1
    if c.kind.endswith("LSTM"):
        reads = [x]
        for _ in range(2):
            gates = [not (c.coupled and g == 0) for g in range(4)]
            reads += [const(c.cells, c.inputs) if g else NO_TENSOR for g in gates]
            reads += [const(c.cells, c.units) if g else NO_TENSOR for g in gates]
            seen = [not (c.coupled and g == 0) and c.peepholes for g in range(3)]
            reads += [const(c.cells) if s else NO_TENSOR for s in seen]
            reads += [const(c.cells) if g else NO_TENSOR for g in gates]
            projected = c.units != c.cells
            reads += [const(c.units, c.cells), const(c.units)] if projected else [NO_TENSOR] * 2
        for _ in range(2):
            reads += [
                w.variable(f"h{i}", (c.batch, c.units), "float32"),
                w.variable(f"c{i}", (c.batch, c.cells), "float32"),
            ]
        reads.append(other)
        for _ in range(2):
            gates = [bool(linked) and not (c.coupled and g == 0) for g in range(4)]
            reads += [const(c.cells, c.auxiliary) if g else NO_TENSOR for g in gates]
        options = {"cell_clip": c.clips[0], "proj_clip": c.clips[1]}
    else:
        reads = [x]
        for _ in range(sides):
            reads += [const(c.units, c.inputs), const(c.units, c.units), const(c.units)]
            reads.append(w.variable(f"h{i}", (c.batch, c.units), "float32"))
        if both:
            reads += [other, *([const(c.units, c.auxiliary) for _ in range(2)] if linked else [NO_TENSOR] * 2)]
        options = {}
    if both:
        options["merge_outputs"] = c.merged
    if c.kind != "RNN":
        options["time_major"] = c.time_major
    wide = 2 * c.units if both and c.merged else c.units
    outputs = [w.tensor(f"y{i}", (*order, wide), "float32")]
    if both and not c.merged:
        outputs.append(w.tensor(f"z{i}", (*order, c.units), "float32"))
    w.op(c.kind, reads, outputs, fused_activation_function=c.activation, **options)
    w.output(*outputs)


def model(*configs: Config) -> bytes:
    w = Writer("sequences")
    for i, c in enumerate(configs):
        add_layer(w, i, c if c.kind.startswith("BI") else replace(c, auxiliary=0))
    return w.finish()


@needs_litert
@settings(max_examples=examples(36), deadline=None)
@given(configs())
def test_numpy(c: Config) -> None:
    data = model(c)
    g = tflite.parse(data, "model")
    theirs, ours, sizes = reference.litert(data), reference.numpy(g), reference.magnitudes(g)
    for case in stimuli(g, 5, c.seed):
        want, got, size = theirs(case), ours(case), sizes(case)
        assert want is not None and got is not None
        for t in g.outputs:
            diff, bad = compare(got[t], want[t], size.get(t, 0.0))
            assert not bad, f"{bad} differ, by {diff}"


PLAIN = Config()
MANY = [
    PLAIN,
    Config(time_major=True, batch=2, merged=False, coupled=True, units=3, peepholes=True, clips=(0.3, 0.2)),
    Config(auxiliary=2, linked=True),
    Config(auxiliary=4, merged=False),
    Config("RNN", activation="RELU"),
    Config("UNIDIRECTIONAL_SEQUENCE_RNN", batch=2, activation="RELU6"),
    Config("UNIDIRECTIONAL_SEQUENCE_RNN", batch=2, time_major=True),
    Config("BIDIRECTIONAL_SEQUENCE_RNN", activation="RELU_N1_TO_1", auxiliary=3, linked=True),
    Config("BIDIRECTIONAL_SEQUENCE_RNN", batch=2, merged=False, activation="NONE"),
]


@needs_litert
def test_c() -> None:
    result = verify(compile(model(*MANY)), 5, sanitize=True)
    assert result.passed, result.mismatches


def test_what_litert_mixes_up() -> None:
    """Several sequences, batch first, merged: as when they are apart."""
    merged = Config(batch=2, seed=7)
    one, other = (tflite.parse(model(c), "model") for c in (merged, replace(merged, merged=False)))
    case = stimuli(one, 1)[0]
    whole = one.evaluate(case)[one.outputs[0]]
    apart = other.evaluate(case)
    assert np.array_equal(whole, np.concatenate([apart[t] for t in other.outputs], axis=2))
    result = verify(compile(model(merged)), 3)
    assert result.passed and "mixes up" in result.reference


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    exact_on("cortex-m4", model(*MANY))


@pytest.mark.parametrize(
    "c",
    [
        replace(PLAIN, weights="int8"),
        Config("BIDIRECTIONAL_SEQUENCE_RNN", weights="int8"),
        Config("RNN", weights="int8"),
        replace(PLAIN, activation="RELU"),
        Config("RNN", activation="SIGN_BIT"),
        Config("BIDIRECTIONAL_SEQUENCE_RNN", time_major=True, auxiliary=2, linked=True),
        Config("BIDIRECTIONAL_SEQUENCE_RNN", time_major=True, merged=False),
    ],
)
def test_what_is_refused(c: Config) -> None:
    with pytest.raises(UnsupportedError, match=r"hybrid|activation|time first"):
        tflite.parse(model(c), "model")


@pytest.mark.parametrize("missing", [0, 2, 6, 13, 19, 35, 36, 38])
def test_inputs_that_are_missing(missing: int) -> None:
    w = Writer("sequences")
    add_layer(w, 0, PLAIN)
    op = w._operators[0]
    inputs = tuple(NO_TENSOR if i == missing else t for i, t in enumerate(op.inputs))
    w._operators[0] = replace(op, inputs=inputs)
    with pytest.raises(UnsupportedError):
        tflite.parse(w.finish(), "model")
