"""Graphs of integers from float ones: LiteRT computes the same with them, bit for bit, in all precisions."""

from __future__ import annotations

import numpy as np
import pytest
from float_nets import BLOCKS, cases, check_litert, extremes, given, graph
from hypothesis import given as given_by
from hypothesis import settings
from hypothesis import strategies as st

from mote.graph.types import DType
from mote.quantize.numbers import real_numbers
from mote.quantize.precision import Precision, Scheme
from mote.quantize.quantizer import integers, quantized
from support import needs_litert

ALL = tuple(BLOCKS)


@needs_litert
@pytest.mark.parametrize("io", ["int8", "float32"])
@pytest.mark.parametrize("precision", [Precision.INT8, Precision.INT16])
def test_every_kind_of_layer_is_equal_to_litert(precision: Precision, io: str) -> None:
    net = graph(ALL, seed=1)
    data = cases(net)
    made = integers(net, extremes(net, data), Scheme(precision), io=io)
    check_litert(made.graph, data[:2])
    expected = DType.FLOAT32 if io == "float32" else precision.activations
    assert {made.graph.tensors[t].dtype for t in made.graph.inputs} == {expected}


@needs_litert
@settings(max_examples=12, deadline=None)
@given_by(
    st.lists(st.sampled_from(ALL), min_size=2, max_size=6),
    st.integers(0, 1000),
    st.sampled_from(["int8", "float32"]),
    st.data(),
)
def test_mixed_precisions_are_equal_to_litert(blocks: list[str], seed: int, io: str, data: st.DataObject) -> None:
    net = graph(blocks, seed)
    choices = st.sampled_from([Precision.INT4, Precision.INT8, Precision.INT16, Precision.FLOAT32])
    layers = data.draw(st.dictionaries(st.sampled_from([op.index for op in net.ops]), choices))
    samples = cases(net, seed=seed)
    made = integers(net, extremes(net, samples), Scheme(data.draw(choices), layers), io=io)
    check_litert(made.graph, samples[:1])


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
