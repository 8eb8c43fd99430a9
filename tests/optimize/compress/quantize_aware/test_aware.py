"""What a graph gives while it learns to be quantized is what it gives as a file: in LiteRT, in NumPy and as C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.ir.ops.common import BIAS
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize_aware.aware import AwareModule
from tests.helpers import float_nets
from tests.helpers.float_nets import BLOCKS, cases, check_litert, extremes
from tests.helpers.modules import batch
from tests.helpers.support import needs_litert

REAL = ("no integers",)
"""Blocks that stay of real numbers, behind which integers may differ in the last bit."""


def prepared(graph: Graph, scheme: Scheme, io: str = "int8") -> AwareModule:
    return AwareModule(graph, extremes(graph, cases(graph)), scheme, io)


def trained(module: AwareModule, steps: int = 2, rate: float = 0.05) -> None:
    """Some steps towards anything: every parameter changes."""
    (x,) = batch(module.source, cases(module.source, 4, seed=1))
    optimizer = torch.optim.SGD(module.parameters(), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        outputs = module(x)
        sum(torch.square(y - 0.3).sum() for y in outputs).backward()
        optimizer.step()


def check_exact(module: AwareModule, samples: int = 4) -> None:
    """With and without gradients, all at once: the integers that the graph gives one by one."""
    graph = module.integer_graph()
    given = cases(graph, samples, seed=2)
    (x,) = batch(module.source, given)
    stored, learned = module.stored(x), module(x)
    with torch.no_grad():
        found = module(x)
    for k, case in enumerate(given):
        wanted = graph.evaluate(float_nets.given(graph, case))
        for i, q, y, with_gradient in zip(graph.outputs, stored, found, learned, strict=True):
            t = graph.tensors[i]
            assert np.array_equal(q[k].numpy(), wanted[i].reshape(q[k].shape))
            assert torch.equal(y[k], with_gradient[k].detach())
            numbers = wanted[i] if t.quant is None else t.quant.scale * (wanted[i].astype(np.int64) - t.zero_point)
            assert np.array_equal(y[k].numpy(), numbers.astype(np.float32).reshape(q[k].shape))


def all_whole(graph: Graph) -> bool:
    """Whether nothing is computed of real numbers, which other machines may round otherwise."""
    return all(graph.tensors[op.outputs[0]].dtype != DType.FLOAT32 or op.kind == "DEQUANTIZE" for op in graph.ops)


@needs_litert
@settings(max_examples=6, deadline=None)
@given(
    blocks=st.lists(st.sampled_from(sorted(set(BLOCKS) - set(REAL))), min_size=1, max_size=4),
    precision=st.sampled_from([Precision.INT8, Precision.INT16, Precision.INT4]),
    io=st.sampled_from(["int8", "float32"]),
)
def test_what_it_gives_is_what_the_file_gives(blocks: Sequence[str], precision: Precision, io: str) -> None:
    module = prepared(float_nets.graph(blocks), Scheme(precision), io)
    trained(module)
    if all_whole(module.integer_graph()):
        check_exact(module)
    check_litert(module.integer_graph(), cases(module.source, 2, seed=3))


def test_layers_whose_bias_is_absent() -> None:
    """Such as `.tflite` files have; also where it begins with integers that were found before."""
    biased = float_nets.graph(["conv", "depthwise"])
    layers = (op.with_(inputs=(*op.inputs[:BIAS], ABSENT)) if op.weights else op for op in biased.ops)
    graph = biased.with_ops(layers)
    module = prepared(graph, Scheme(Precision.INT8))
    module.begin_with(module.integers)
    trained(module)
    check_exact(module)


def test_mixed_precisions() -> None:
    graph = float_nets.graph(["conv", "residual", "no integers", "depthwise", "gated"])
    layers = [op.index for op in graph.ops if op.macs(graph)]
    kinds = [Precision.INT4, Precision.FLOAT16, Precision.INT16, Precision.FLOAT32]
    module = prepared(graph, Scheme(Precision.INT8, dict(zip(layers, kinds, strict=False))), "float32")
    before = module.integer_graph()
    trained(module)
    after = module.integer_graph()
    constants = [i for i, t in before.tensors.items() if t.data is not None and t.size > 1 and t.dtype != DType.INT32]
    assert any(not np.array_equal(before.tensors[i].data, after.tensors[i].data) for i in constants)
    (x,) = batch(graph, cases(graph, 3, seed=2))
    for i, y in zip(after.outputs, module(x), strict=True):
        for k, case in enumerate(cases(graph, 3, seed=2)):
            assert np.allclose(y[k].detach().numpy(), after.evaluate(case)[i][0], atol=0.05)


def test_gradients_are_those_of_the_real_numbers() -> None:
    """Where steps are fine, those of the float graph; what is cut off has none."""
    graph = float_nets.graph(["conv", "residual", "average"])
    module = prepared(graph, Scheme(Precision.INT16))
    (x,) = batch(graph, cases(graph, 4))
    module(x)[1].square().sum().backward()
    found = {name: p.grad.clone() for name, p in module.real.named_parameters() if p.grad is not None}
    module.real.zero_grad()
    module.real(x)[1].square().sum().backward()
    for name, p in module.real.named_parameters():
        if name in found and p.grad is not None:
            assert torch.cosine_similarity(found[name].flatten(), p.grad.flatten(), 0) > 0.999, name


def test_what_is_cut_off_learns_nothing() -> None:
    """The gradient of a sum by a bias counts the results that learn."""
    graph = float_nets.graph(["pointwise"])
    layer = next(op for op in graph.ops if op.kind == "CONV_2D")
    (made,), ranges = layer.outputs, extremes(graph, cases(graph))
    (x,) = batch(graph, cases(graph))
    learning = []
    for part in (1.0, 0.25):
        narrow = {t: (part * low, part * high) for t, (low, high) in ranges.items()}
        module = AwareModule(graph, narrow | {graph.inputs[0]: (-5.0, 5.0)})
        module.values(x, wanted=(made,))[made].sum().backward()
        learning.append(float(module.real.constants[str(layer.inputs[2])].grad.sum()))
    every = len(x) * graph.tensors[made].size
    assert 0.99 * every < learning[0] <= every and 0.1 * every < learning[1] < 0.9 * every


def test_masked_weights_stay_zero() -> None:
    graph = float_nets.graph(["conv", "depthwise"])
    module = prepared(graph, Scheme())
    layer = graph.ops[0]
    mask = np.random.default_rng(0).integers(0, 2, graph.tensors[layer.inputs[1]].shape)
    module.real.mask(layer.inputs[1], mask)
    trained(module)
    weights = module.integer_graph().tensors[layer.inputs[1]].data
    assert weights is not None and np.all(weights[mask == 0] == 0) and np.any(weights[mask == 1] != 0)


def test_other_ranges_give_other_scales() -> None:
    graph = float_nets.graph(["conv", "average"])
    module = prepared(graph, Scheme())
    made = graph.ops[0].outputs[0]
    before = module.integer_graph().tensors[made].scale
    module.set_ranges({i: (2 * low, 2 * high) for i, (low, high) in module.ranges.items()})
    assert module.integer_graph().tensors[made].scale == pytest.approx(2 * before, rel=1e-5)
    check_exact(module)


def test_integers_are_taken_as_they_are() -> None:
    graph = float_nets.graph(["conv"])
    module = prepared(graph, Scheme())
    (x,) = batch(graph, cases(graph, 3))
    t = module.integer_graph().tensors[graph.inputs[0]]
    q = torch.clamp(torch.round(x / t.scale) + t.zero_point, -128, 127).to(torch.int8)
    assert all(torch.equal(a, b) for a, b in zip(module.stored(q), module.stored(x), strict=True))
