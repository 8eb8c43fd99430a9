"""Graphs of integers from float ones: LiteRT computes the same with them, bit for bit, in all precisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as given_by
from hypothesis import settings
from hypothesis import strategies as st

from mote.bench.execute import reference
from mote.frontends import tflite
from mote.frontends.tflite.export import export
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.encode import real_numbers
from mote.optimize.compress.quantize.quantizer import integers, quantized
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from tests.helpers.float_nets import BLOCKS, cases, check_litert, disturbed, extremes, given, graph
from tests.helpers.support import examples, needs_litert

ALL = tuple(BLOCKS)


@needs_litert
@pytest.mark.parametrize("io", ["int8", "float32"])
@pytest.mark.parametrize("precision", [Precision.INT4, Precision.INT8, Precision.INT16])
def test_every_kind_of_layer_is_equal_to_litert(precision: Precision, io: str) -> None:
    net = graph(ALL, seed=1)
    data = cases(net)
    made = integers(net, extremes(net, data), Scheme(precision), io=io)
    check_litert(made.graph, data[:2])
    expected = DType.FLOAT32 if io == "float32" else precision.activations
    assert {made.graph.tensors[t].dtype for t in made.graph.inputs} == {expected}


@needs_litert
@settings(max_examples=examples(36), deadline=None)
@given_by(
    st.lists(st.sampled_from(ALL), min_size=2, max_size=6),
    st.integers(0, 1000),
    st.sampled_from(["int8", "float32"]),
    st.booleans(),
    st.data(),
)
def test_mixed_precisions_are_equal_to_litert(
    blocks: list[str], seed: int, io: str, odd: bool, data: st.DataObject
) -> None:
    net = disturbed(graph(blocks, seed), seed) if odd else graph(blocks, seed)
    choices = st.sampled_from([*Precision])
    layers = data.draw(st.dictionaries(st.sampled_from([op.index for op in net.ops]), choices))
    samples = cases(net, seed=seed)
    made = integers(net, extremes(net, samples), Scheme(data.draw(choices), layers), io=io)
    check_litert(made.graph, samples[:1])


@needs_litert
def test_weights_of_4_bits_take_half_of_the_file() -> None:
    net = graph(["conv", "pointwise", "depthwise"], seed=5)
    data = cases(net)
    sizes = {}
    for precision, stored in ((Precision.INT4, DType.INT4), (Precision.INT8, None)):
        made = quantized(net, extremes(net, data), Scheme(precision))
        file = check_litert(made, data[:1])
        again = tflite.parse(file, "again")
        weights = [op.input(again, 1) for op in again.ops if op.weights is not None]
        assert {w.stored for w in weights} == {stored} and len(weights) == 4
        assert precision is Precision.INT8 or max(np.abs(w.data).max() for w in weights if w.data is not None) == 7
        sizes[precision] = len(file)
        count = sum(w.size for w in weights)
    assert sizes[Precision.INT8] - sizes[Precision.INT4] == pytest.approx(count / 2, rel=0.1)


@needs_litert
def test_weights_of_16_bits_are_those_that_litert_widens() -> None:
    net = graph(["conv", "residual"], seed=6)
    data = cases(net)
    made = quantized(net, {}, Scheme(Precision.FLOAT16))
    exported = export(made, "net")
    assert len(exported.data) < 0.75 * len(export(net, "net").data)
    oracle = reference.litert(exported.data)
    for case in data:
        want = oracle({exported.tensors[t]: value for t, value in case.items()})
        assert want is not None
        for t, got in made.evaluate(case).items():
            assert np.allclose(got, want[exported.tensors[t]].reshape(got.shape), rtol=1e-4, atol=1e-5)
    again = tflite.parse(exported.data, "again")
    ours, theirs = ([op.input(g, 1).data for op in g.ops if op.weights is not None] for g in (made, again))
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_tensors_keep_their_ids_and_are_close() -> None:
    net = graph(["conv", "residual", "gated"], seed=3)
    data = cases(net, 16)
    for precision, least in ((Precision.INT8, 20.0), (Precision.INT16, 35.0)):
        made = quantized(net, extremes(net, data), Scheme(precision))
        for t in net.producers:
            signal = noise = 0.0
            for case in data:
                want = net.evaluate(case)[t].astype(np.float64)
                got = real_numbers(made.evaluate(given(made, case))[t], made.tensors[t].quant)
                signal, noise = signal + np.square(want).sum(), noise + np.square(want - got).sum()
            assert 10 * np.log10(signal / noise) > least, net.producers[t]


def test_each_conversion_is_there_once() -> None:
    net = graph(["conv", "sums", "residual"], seed=4)
    data = cases(net)
    layers = {op.index: Precision.INT16 for op in net.ops if op.kind in ("ADD", "SUB", "TANH")}
    made = quantized(net, extremes(net, data), Scheme(layers=layers), io="float32")
    pairs = [(op.inputs[0], op.output(made).dtype) for op in made.ops if op.kind in ("QUANTIZE", "DEQUANTIZE")]
    assert len(pairs) == len(set(pairs)) > 3


def test_what_has_no_integer_form_stays_real_and_is_said() -> None:
    net = graph(["conv", "no integers", "conv"])
    made = integers(net, extremes(net, cases(net)))
    (sine,) = (op for op in net.ops if op.kind == "SIN")
    assert made.precisions[sine.index] is Precision.FLOAT32
    assert set(made.refused) == {sine.index}
    kinds = [op.kind for op in made.graph.ops]
    assert kinds[kinds.index("SIN") - 1] == "DEQUANTIZE" and kinds[kinds.index("SIN") + 1] == "QUANTIZE"
