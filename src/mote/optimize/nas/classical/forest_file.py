"""Writes tree ensembles as ONNX files with integer leaves and, optionally, int8 features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from mote.base.extras import require
from mote.frontends.trees.forest import Leaf, TreeEnsemble
from mote.frontends.trees.sklearn import forest_of

LEVELS = 15
"""Class shares at leaves are rounded to 1 / LEVELS."""
STEPS = 127
"""Leaf scores of a boosted classifier are rounded to integers of at most STEPS."""
OPSET, ML_OPSET, IR = 18, 3, 8


def forest_file(estimator: Any, hard: bool, scale: float | None) -> bytes:
    """A fitted forest as an ONNX file with the output `label` (int32 class index) or `prediction` (regression). `hard`:
    trees vote for classes, else class shares are added. With `scale`, features are quantized to int8."""
    require("onnx", extra="onnx", what="writing a forest")
    helper, number = import_module("onnx.helper"), import_module("onnx").TensorProto
    forest = forest_of(estimator)
    assert forest is not None
    classes = forest.classes is not None
    forest = _with_folded_base(_with_integer_leaves(forest, hard) if classes else forest)
    nodes = []
    constants = []
    taken = "input"
    if scale is not None:
        constants += [
            helper.make_tensor("scale", number.FLOAT, [], [scale]),
            helper.make_tensor("zero", number.INT8, [], [0]),
        ]
        nodes.append(helper.make_node("QuantizeLinear", [taken, "scale", "zero"], ["stored"]))
        nodes.append(helper.make_node("DequantizeLinear", ["stored", "scale", "zero"], ["features"]))
        taken = "features"
    sums = "sums" if classes else "prediction"
    attributes = _attributes(forest)
    nodes.append(helper.make_node("TreeEnsembleRegressor", [taken], [sums], domain="ai.onnx.ml", **attributes))
    output = helper.make_tensor_value_info("prediction", number.FLOAT, [1, 1])
    if classes:
        nodes.append(helper.make_node("ArgMax", [sums], ["index"], axis=1, keepdims=0))
        nodes.append(helper.make_node("Cast", ["index"], ["label"], to=number.INT32))
        output = helper.make_tensor_value_info("label", number.INT32, [1])
    entry = helper.make_tensor_value_info("input", number.FLOAT, [1, forest.features])
    graph = helper.make_graph(nodes, "forest", [entry], [output], constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=IR).SerializeToString()
    return data


def _with_integer_leaves(forest: TreeEnsemble, hard: bool) -> TreeEnsemble:
    """A classifier with integer leaves: votes, quantized class shares or quantized scores. A binary model with a single
    score is given a zero score for the first class."""
    leaves = [node for tree in forest.trees for node in tree if isinstance(node, Leaf)]
    if len(forest.base) == 1:
        forest = replace(
            forest,
            base=(0.0, forest.base[0] - forest.cut),
            trees=[[_to_second_column(n) if isinstance(n, Leaf) else n for n in tree] for tree in forest.trees],
        )
        step = max((abs(v) for leaf in leaves for v in leaf.values), default=1.0) / STEPS
    elif all(leaf.column == 0 and len(leaf.values) == len(forest.base) for leaf in leaves):
        step = 0.0 if hard else 1 / LEVELS
    else:
        step = max((abs(v) for leaf in leaves for v in leaf.values), default=1.0) / STEPS

    def rounded(leaf: Leaf) -> Leaf:
        if step:
            return replace(leaf, values=tuple(float(round(v / step)) for v in leaf.values))
        return Leaf(int(np.argmax(leaf.values)), (1.0,))

    base = tuple(float(round(b / step)) if step else 0.0 for b in forest.base)
    return replace(
        forest, base=base, trees=[[rounded(n) if isinstance(n, Leaf) else n for n in tree] for tree in forest.trees]
    )


def _with_folded_base(forest: TreeEnsemble) -> TreeEnsemble:
    """The forest with initial scores folded into the leaves of the first tree of each output."""
    left = {column: base for column, base in enumerate(forest.base) if base}
    trees = []
    for tree in forest.trees:
        columns = {(node.column, len(node.values)) for node in tree if isinstance(node, Leaf)}
        column, width = columns.pop() if len(columns) == 1 else (0, 0)
        more = left.pop(column, 0.0) * forest.divisor if width == 1 else 0.0
        trees.append([replace(n, values=(n.values[0] + more,)) if more and isinstance(n, Leaf) else n for n in tree])
    return replace(forest, trees=trees, base=tuple(left.get(column, 0.0) for column in range(len(forest.base))))


def _to_second_column(leaf: Leaf) -> Leaf:
    return replace(leaf, column=1)


def _attributes(forest: TreeEnsemble) -> dict[str, Any]:
    """ONNX attributes of a TreeEnsembleRegressor node."""
    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values"),
            *("nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true"),
            *("target_treeids", "target_nodeids", "target_ids", "target_weights"),
        )
    }

    def add(prefix: str, names: Sequence[str], values: Sequence[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            columns[f"{prefix}_{name}"].append(value)

    splits = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    for number, tree in enumerate(forest.trees):
        for at, node in enumerate(tree):
            columns["nodes_missing_value_tracks_true"].append(0)
            if isinstance(node, Leaf):
                add("nodes", splits, (number, at, 0, "LEAF", 0.0, 0, 0))
                for k, value in enumerate(node.values):
                    if value or len(node.values) == 1:
                        weight = value / forest.divisor if forest.classes is None else value
                        add("target", ("treeids", "nodeids", "ids", "weights"), (number, at, node.column + k, weight))
                continue
            (bound,), (yes, no) = node.bounds, node.children
            add("nodes", splits, (number, at, node.feature, "BRANCH_LEQ", _single(bound), yes, no))
    base = {"base_values": list(forest.base)} if any(forest.base) else {}
    return {**columns, "n_targets": len(forest.base), **base}


def _single(bound: float) -> float:
    """Rounds a split threshold down to float32."""
    rounded = np.float32(bound)
    return float(rounded if float(rounded) <= bound else np.nextafter(rounded, np.float32(-np.inf)))
