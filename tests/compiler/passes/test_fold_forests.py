"""Forests behind DEQUANTIZE and before CAST and ARG_MAX become integers at both ends, and choose the same classes."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.folding import fold_forests
from mote.ir.graph import Graph
from mote.ir.ops.classical.forest import Forest
from tests.compiler.passes.before_after import kinds
from tests.frontends.onnx.onnx_support import graph_of

onnx = pytest.importorskip("onnx")
SCALE, ZERO = 0.05, 7


def forest(trees: int, leaves: tuple[float, ...], thresholds: tuple[float, ...]) -> Graph:
    """QUANTIZE, DEQUANTIZE, trees of three features whose leaves add to three classes, ArgMax, Cast."""
    number = onnx.TensorProto
    count = len(thresholds)
    nodes = [(tree, 0, "BRANCH_LEQ", tree % 3, thresholds[tree % count]) for tree in range(trees)]
    nodes += [(tree, leaf, "LEAF", 0, 0.0) for tree in range(trees) for leaf in (1, 2)]
    nodes.sort()
    ids = [(tree, leaf, (tree + leaf + k) % 3, leaves[k]) for tree in range(trees) for leaf in (1, 2) for k in range(2)]
    made = onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["d"],
        ["sums"],
        domain="ai.onnx.ml",
        nodes_treeids=[n[0] for n in nodes],
        nodes_nodeids=[n[1] for n in nodes],
        nodes_modes=[n[2] for n in nodes],
        nodes_featureids=[n[3] for n in nodes],
        nodes_values=[n[4] for n in nodes],
        nodes_truenodeids=[1 if n[2] != "LEAF" else 0 for n in nodes],
        nodes_falsenodeids=[2 if n[2] != "LEAF" else 0 for n in nodes],
        target_treeids=[i[0] for i in ids],
        target_nodeids=[i[1] for i in ids],
        target_ids=[i[2] for i in ids],
        target_weights=[i[3] for i in ids],
        n_targets=3,
    )
    others = [
        onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        made,
        onnx.helper.make_node("ArgMax", ["sums"], ["wide"], axis=1, keepdims=0),
        onnx.helper.make_node("Cast", ["wide"], ["label"], to=number.INT32),
    ]
    graph = onnx.helper.make_graph(
        others,
        "forest",
        [onnx.helper.make_tensor_value_info("x", number.FLOAT, [1, 3])],
        [onnx.helper.make_tensor_value_info("label", number.INT32, [1])],
        [
            onnx.helper.make_tensor("s", number.FLOAT, [], [SCALE]),
            onnx.helper.make_tensor("z", number.INT8, [], [ZERO]),
        ],
    )
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return graph_of(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


@pytest.mark.parametrize(
    ("trees", "leaves"),
    [(5, (1.0, 0.0)), (5, (1.0, 1.0)), (1, (0.25, 0.7)), (1, (5.0, 4.0))],
)
def test_classes_are_chosen_by_integers(trees: int, leaves: tuple[float, float]) -> None:
    """Thresholds on a number, between two of them, and outside of all on both sides."""
    before = forest(trees, leaves, (0.1, -1.23, -50.0, 50.0, 2.0))
    after = fold_forests.run(before).verify()
    assert [kind for kind in kinds(after) if kind != "RESHAPE"] == ["QUANTIZE", "FOREST", "ARG_MAX"]
    (op,) = (op for op in after.ops if isinstance(op, Forest))
    assert (op.input(after).dtype, op.output(after).dtype) == ("int8", "int32")
    assert trees > 1 or op.trees.width == 1
    rng = np.random.default_rng(0)
    for row in rng.uniform(-8, 8, (200, 1, 3)).astype(np.float32):
        want, got = (g.evaluate({g.inputs[0]: row})[g.outputs[0]] for g in (before, after))
        assert np.array_equal(got, want)


def test_sums_that_float32_cannot_tell_apart_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_forests, "EXACT", 1)
    assert "CAST" in kinds(fold_forests.run(forest(5, (1.0, 0.0), (0.1,))).verify())
