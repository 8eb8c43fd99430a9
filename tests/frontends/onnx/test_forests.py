"""Forests of ai.onnx.ml, as exporters write them and by hand, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

import mote
from mote.ir.ops.classical.forest import Forest
from tests.frontends.onnx.onnx_support import graph_of
from tests.helpers.support import ON_ARM

Array = np.ndarray[Any, Any]
FEATURES = 4


def compared(model: onnx.ModelProto, rows: Array) -> None:
    """Every row: labels are the same, scores but for rounding."""
    data = model.SerializeToString()
    graph = graph_of(data)
    assert any(isinstance(op, Forest) for op in graph.ops)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    (name,) = (i.name for i in session.get_inputs())
    for row in rows:
        values = graph.evaluate({graph.inputs[0]: row[None]})
        for want, t in zip(session.run(None, {name: row[None]}), graph.outputs, strict=True):
            got = values[t].reshape(np.shape(want))
            if want.dtype.kind == "i":
                assert np.array_equal(got, want)
            else:
                assert np.allclose(got, want, rtol=1e-5, atol=1e-6)


def rows(count: int = 60, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(0, 2, (count, FEATURES))).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def model_of(op_type: str, outputs: list[Any], opset: int = 3, **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(op_type, ["x"], [o.name for o in outputs], domain="ai.onnx.ml", **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, FEATURES])
    graph = helper.make_graph([node], "forest", [x], outputs)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def scores(width: int) -> Any:
    return helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width])


def nodes(mode: str, trees: int = 3, tracks: bool = False) -> dict[str, Any]:
    """Trees of three nodes and four leaves."""
    rng = np.random.default_rng(len(mode) + trees)
    count = 7 * trees
    return {
        "nodes_treeids": [t for t in range(trees) for _ in range(7)],
        "nodes_nodeids": list(range(7)) * trees,
        "nodes_featureids": [int(f) for f in rng.integers(0, FEATURES, count)],
        "nodes_modes": [mode, mode, mode, *["LEAF"] * 4] * trees,
        "nodes_values": [float(v) for v in np.round(rng.normal(0, 1, count))],
        "nodes_truenodeids": [1, 3, 5, 0, 0, 0, 0] * trees,
        "nodes_falsenodeids": [2, 4, 6, 0, 0, 0, 0] * trees,
        "nodes_missing_value_tracks_true": [int(tracks)] * count,
    }


def leaves(kind: str, trees: int = 3, targets: int = 1, seed: int = 0) -> dict[str, Any]:
    """A weight for every target at every leaf."""
    each = [(t, n, k) for t in range(trees) for n in range(3, 7) for k in range(targets)]
    values = np.random.default_rng(seed).normal(size=len(each))
    return {
        f"{kind}_treeids": [t for t, _, _ in each],
        f"{kind}_nodeids": [n for _, n, _ in each],
        f"{kind}_ids": [k for _, _, k in each],
        f"{kind}_weights": [float(v) for v in values],
    }


@pytest.mark.parametrize("tracks", [False, True], ids=["no numbers are false", "no numbers are true"])
@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_every_question(mode: str, tracks: bool) -> None:
    given = nodes(f"BRANCH_{mode}", tracks=tracks) | leaves("target")
    compared(model_of("TreeEnsembleRegressor", [scores(1)], n_targets=1, **given), rows())


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_every_aggregate(aggregate: str) -> None:
    given = nodes("BRANCH_LEQ") | leaves("target", targets=2)
    compared(
        model_of("TreeEnsembleRegressor", [scores(2)], n_targets=2, aggregate_function=aggregate, **given), rows(30)
    )


@pytest.mark.parametrize("way", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_classifiers_of_three_classes(way: str) -> None:
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [1])
    given = nodes("BRANCH_LT") | leaves("class", targets=3)
    base = [0.5, -0.25, 0.125]
    classes = [10, 20, 30]
    compared(
        model_of(
            "TreeEnsembleClassifier",
            [label, scores(3)],
            post_transform=way,
            classlabels_int64s=classes,
            base_values=base,
            **given,
        ),
        rows(30),
    )


@pytest.mark.parametrize("positive", [False, True], ids=["any weights", "weights of no sign"])
@pytest.mark.parametrize("way", ["NONE", "LOGISTIC"])
def test_classifiers_of_two_classes_with_one_score(way: str, positive: bool) -> None:
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [1])
    given = nodes("BRANCH_LEQ") | leaves("class")
    if positive:
        given["class_weights"] = [abs(w) / 4 for w in given["class_weights"]]
    model = model_of(
        "TreeEnsembleClassifier", [label, scores(2)], post_transform=way, classlabels_int64s=[0, 1], **given
    )
    compared(model, rows(30))


def test_sets_and_leaves_of_the_newest_operator() -> None:
    """Nodes and leaves are numbered apart; a tree may be one leaf, that both sides of a node lead to."""
    members = np.array([1, 3, 5, np.nan, -2, 0, np.nan], np.float32)
    model = model_of(
        "TreeEnsemble",
        [scores(2)],
        opset=5,
        n_targets=2,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[0, 3],
        nodes_modes=helper.make_tensor("m", TensorProto.UINT8, [4], [6, 6, 0, 0]),
        nodes_featureids=[0, 1, 2, 3],
        nodes_splits=helper.make_tensor("s", TensorProto.FLOAT, [4], [0, 0, 0.5, 1]),
        nodes_truenodeids=[1, 0, 2, 4],
        nodes_trueleafs=[0, 1, 1, 1],
        nodes_falsenodeids=[2, 1, 3, 4],
        nodes_falseleafs=[0, 1, 1, 1],
        leaf_targetids=[0, 1, 0, 1, 1],
        leaf_weights=helper.make_tensor("w", TensorProto.FLOAT, [5], [1.5, 2.5, -3, 4, 0.25]),
        membership_values=helper.make_tensor("v", TensorProto.FLOAT, [7], members),
    )
    given = rows(60, seed=3)
    compared(model, given[~np.isnan(given[:, 1])] if ON_ARM else given)  # there ONNX Runtime takes no number for 0


@pytest.mark.parametrize("name", ["random forest", "boosting", "numbers"])
def test_what_converters_of_scikit_learn_write(name: str) -> None:
    converters = pytest.importorskip("skl2onnx")
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, FEATURES)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] * x[:, 2] > 0.3)
    estimator = {
        "random forest": ensemble.RandomForestClassifier(10, random_state=0),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
        "numbers": ensemble.ExtraTreesRegressor(8, max_depth=5, random_state=0),
    }[name].fit(x, y)
    options = {"zipmap": False} if hasattr(estimator, "classes_") else None
    compared(converters.to_onnx(estimator, x[:1], options=options), x[:60] + np.float32(0.01))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes_truenodeids": [1, 3, 5, 0, 0, 0]}, "do not fit 7 nodes"),
        ({"nodes_truenodeids": [0, 3, 5, 0, 0, 0, 0]}, "node 0"),
        ({"nodes_truenodeids": [2, 3, 5, 0, 0, 0, 0], "nodes_falsenodeids": [1, 2, 6, 0, 0, 0, 0]}, "not a tree"),
        ({"nodes_featureids": [9] * 7}, "feature 9 of 4"),
        ({"nodes_modes": ["BRANCH_ODD"] * 3 + ["LEAF"] * 4}, "BRANCH_ODD"),
        ({"target_ids": [7] * 4}, "no output"),
        ({"post_transform": "PROBIT"}, "PROBIT"),
    ],
)
def test_bad_nodes_are_refused_with_a_reason(change: dict[str, Any], reason: str) -> None:
    given = nodes("BRANCH_LEQ", trees=1) | leaves("target", trees=1) | {"n_targets": 1} | change
    with pytest.raises(mote.MoteError, match=reason):
        graph_of(model_of("TreeEnsembleRegressor", [scores(1)], **given).SerializeToString())
