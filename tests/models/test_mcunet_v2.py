"""The generated networks with squeeze-and-excite: the memory facts they are made for, right answers, live values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="the checks need ai-edge-litert")

import mcunet_v2
import reference_quantizer as quantize
from mcunet_v2 import LARGE, SMALL, Shape
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.passes.pipeline import optimize
from mote.frontends import tflite
from mote.ir.graph import Graph, Op, Tensor
from tests.helpers.support import check, check_numpy

ALL_SHAPES = pytest.mark.parametrize("shape", [LARGE, SMALL], ids=lambda shape: shape.name)


@cache
def model(shape: Shape) -> bytes:
    return mcunet_v2.build(shape)


@cache
def graph(shape: Shape) -> Graph:
    """After the passes: what is planned."""
    return optimize(tflite.parse(model(shape), shape.name))[0]


def row(t: Tensor) -> int:
    return t.size // t.shape[1]


def window(g: Graph, op: Op) -> int:
    """Input rows that one output row needs."""
    return g.tensors[op.inputs[1]].shape[1] if op.kind in ("CONV_2D", "DEPTHWISE_CONV_2D") else 1


def gated_blocks(g: Graph) -> Iterator[tuple[Op, Op]]:
    """The expanding and the filtering layer before each gate."""
    for op in g.ops:
        if op.kind == "MUL":
            depthwise = g.producers[op.inputs[0]]
            yield g.producers[depthwise.inputs[0]], depthwise


def bytes_by_rows(g: Graph, expand: Op, depthwise: Op) -> int:
    """The block's input, the expanded rows under the window, and all that the gate is to scale."""
    return expand.input(g).size + window(g, depthwise) * row(expand.output(g)) + depthwise.output(g).size


def bytes_by_layers(g: Graph) -> int:
    return max(sum(t.size for t in op.activations(g)) + op.output(g).size for op in g.ops)


@pytest.mark.quick_cases(1)
@ALL_SHAPES
def test_interface(shape: Shape) -> None:
    g = graph(shape)
    source, result = g.tensors[g.inputs[0]], g.tensors[g.outputs[0]]
    assert (source.shape, source.dtype) == ((1, shape.side, shape.side, 3), "int8")
    assert (result.shape, result.dtype) == ((1, shape.classes), "int8")


def test_large_layer_by_layer() -> None:
    assert bytes_by_layers(graph(LARGE)) == 112 * 112 * (24 + 96) == 1_505_280


def test_large_gated_blocks() -> None:
    """Two blocks stand out; run twice instead of kept, they cost a twelfth more."""
    g = graph(LARGE)
    blocks = list(gated_blocks(g))
    needs = [bytes_by_rows(g, *block) for block in blocks]
    assert needs[:2] == [28 * 28 * (40 + 240) + 3 * 28 * 240] * 2 == [239_680] * 2
    assert max(needs[2:]) == 14 * 14 * (80 + 480) + 3 * 14 * 480 == 129_920
    total = sum(op.macs(g) for op in g.ops)
    twice = sum(op.macs(g) for block in blocks[:2] for op in block)
    assert total == 221_583_232
    assert twice / total < 1 / 12


def test_large_needs_little_before_the_first_gate() -> None:
    """Even with a buffer of its own for every tensor's rows, and three rows of what waits for a residual sum."""
    g = graph(LARGE)
    first, _ = next(gated_blocks(g))
    early = g.ops[: g.ops.index(first)]
    rings = [window(g, op) * row(op.input(g)) for op in early]
    waiting = [3 * row(t) for op in early if op.kind == "ADD" for t in op.activations(g)]
    assert sum(rings) + sum(waiting) + first.input(g).size < 125_000


def test_small_has_the_same_proportions() -> None:
    g = graph(SMALL)
    needs = [bytes_by_rows(g, *block) for block in gated_blocks(g)]
    assert needs[0] == needs[1] > 1.4 * max(needs[2:])
    assert bytes_by_layers(g) > 2 * needs[0]
    assert {op.kind for op in g.ops} == {op.kind for op in graph(LARGE).ops}


def test_large_numpy_is_litert() -> None:
    check_numpy(tflite.parse(model(LARGE), "large"), model(LARGE), 1)


def test_small_generated_code_is_litert() -> None:
    check(model(SMALL), 2)


@ALL_SHAPES
def test_activations_are_alive(shape: Shape) -> None:
    g = graph(shape)
    noise, other = (g.evaluate(stimuli(g, 1, seed)[0]) for seed in (0, 1))
    for op in g.ops:
        found = noise[op.output(g).id]
        if found.size >= 32:
            assert np.mean(found == -128) < 0.7, op.name
            assert np.mean(found == 127) < 0.05, op.name
            assert len(np.unique(found)) >= min(64, found.size // 4), op.name
        if op.kind == "LOGISTIC":
            assert np.any(found != other[op.output(g).id]), f"{op.name}: the gate is the same for every input"


def test_float_forward_pass_is_that_of_litert() -> None:
    net = mcunet_v2.network(SMALL)
    run = reference.litert(quantize.to_float32(net))
    g = tflite.parse(quantize.to_float32(net), "float")
    for image, expected in zip(net.values[0][:3], net.values[-1][:3], strict=True):
        found = run({g.inputs[0]: image[None].astype(np.float32)})[g.outputs[0]]
        assert np.allclose(found[0], expected, atol=1e-4)


def test_int8_is_close_to_float() -> None:
    net = mcunet_v2.network(SMALL)
    images = quantize.quantize_array(net.values[0], *quantize.activation_quantization(*net.input_range))
    g = graph(SMALL)
    result = g.tensors[g.outputs[0]]
    found = np.concatenate([g.evaluate({g.inputs[0]: image[None]})[result.id] for image in images])
    error = (found.astype(np.float64) - result.zero_point) * result.scale - net.values[-1]
    assert np.abs(error).mean() < 0.05 * np.ptp(net.values[-1])


def test_same_bytes_again_and_other_bytes_from_another_seed_or_shape() -> None:
    assert mcunet_v2.build(SMALL) == model(SMALL)
    assert mcunet_v2.build(SMALL, seed=1) != model(SMALL)
    other = tflite.parse(mcunet_v2.build(replace(SMALL, side=48, classes=3)), "other")
    assert other.tensors[other.inputs[0]].shape == (1, 48, 48, 3)


def test_unknown_type_is_named() -> None:
    with pytest.raises(ValueError, match="there are"):
        mcunet_v2.build(SMALL, dtype="int4")


def test_command_line_writes_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mcunet_v2, "LARGE", replace(SMALL, name="other"))
    mcunet_v2.main([str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {"other_int8.tflite", "mcunet_v2_small_int8.tflite"}
    assert "mcunet_v2_small_int8.tflite" in capsys.readouterr().out
