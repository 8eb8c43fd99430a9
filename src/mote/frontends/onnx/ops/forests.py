"""Tree ensembles of ai.onnx.ml: TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Value, classical, elementwise, moves, norms, reductions
from mote.frontends.onnx.node import ML, Key, Node, Parser
from mote.frontends.onnx.ops.classical import labels, real
from mote.frontends.trees.build import divided, summed
from mote.frontends.trees.forest import Leaf, Tree, TreeEnsemble, TreeNode, below, check_tree, grow, members, only
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""Comparison modes in TreeEnsemble's numbering."""
MOST_TARGETS = 1 << 16


@dataclass(frozen=True)
class Question:
    """A node of a file: the comparison of a feature, and the children for true and false."""

    mode: str
    feature: int
    value: float
    true: int
    false: int
    tracks: bool
    """NaN goes to the true branch."""
    chosen: Sequence[float] = ()
    """The members of a set."""


def split(q: Question) -> TreeNode:
    """The node as bounds: `x >= t` excludes everything up to the number just below t."""
    missing = q.true if q.tracks else q.false
    match q.mode:
        case "BRANCH_LEQ":
            return only(q.feature, q.value, q.true, q.false, missing)
        case "BRANCH_LT":
            return only(q.feature, below(q.value), q.true, q.false, missing)
        case "BRANCH_GTE":
            return only(q.feature, below(q.value), q.false, q.true, missing)
        case "BRANCH_GT":
            return only(q.feature, q.value, q.false, q.true, missing)
        case "BRANCH_EQ" | "BRANCH_MEMBER":
            numbers = q.chosen if q.mode == "BRANCH_MEMBER" else [q.value]
            return members(q.feature, [(below(v), v) for v in numbers], q.true, q.false, missing)
        case "BRANCH_NEQ":
            return members(q.feature, [(below(q.value), q.value)], q.false, q.true, q.true)
    raise UnsupportedNodeError(f"a node of the mode {q.mode} is not supported")


def _numbers(node: Node, name: str, default: Sequence[float] | None = None) -> list[float]:
    """A float attribute that may also be a float64 tensor."""
    if node.given(f"{name}_as_tensor"):
        return [float(v) for v in node.array(f"{name}_as_tensor").reshape(-1)]
    return node.reals(name, default)


def _columns(node: Node, count: int, *names: str) -> list[list[int]]:
    columns = [node.integers(name) for name in names]
    if any(len(column) != count for column in columns):
        raise UnsupportedNodeError(f"{', '.join(names)} do not fit {count} nodes")
    return columns


def _trees(node: Node, kind: str) -> list[Tree]:
    """The trees of a classifier or regressor: nodes are numbered within each tree, and leaf weights are separate
    lists."""
    modes = node.texts("nodes_modes")
    count = len(modes)
    names = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    trees, ids, features, true, false = _columns(node, count, *names)
    tracks = node.integers("nodes_missing_value_tracks_true", ()) or [0] * count
    values = _numbers(node, "nodes_values")
    if not len(values) == len(tracks) == count:
        raise UnsupportedNodeError(f"thresholds do not fit {count} nodes")
    node.asked.update(("nodes_hitrates", "nodes_hitrates_as_tensor"))
    places: dict[int, dict[int, int]] = {}
    for tree, number in zip(trees, ids, strict=True):
        known = places.setdefault(tree, {})
        known[number] = len(known)
    weights = _weights(node, kind)
    nodes: dict[int, list[TreeNode | Leaf]] = {tree: [] for tree in places}
    for i in range(count):
        tree, place = trees[i], places[trees[i]]
        if modes[i] == "LEAF":
            nodes[tree].append(weights.get((tree, ids[i]), Leaf(0, (0.0,))))
            continue
        ends = [place.get(n, -1) for n in (true[i], false[i])]
        nodes[tree].append(split(Question(modes[i], features[i], values[i], ends[0], ends[1], bool(tracks[i]))))
    return list(nodes.values())


def _weights(node: Node, kind: str) -> dict[tuple[int, int], Leaf]:
    """The weights of each leaf, by tree and node."""
    values = _numbers(node, f"{kind}_weights")
    names = (f"{kind}_treeids", f"{kind}_nodeids", f"{kind}_ids")
    trees, nodes, ids = _columns(node, len(values), *names)
    leaves: dict[tuple[int, int], dict[int, float]] = {}
    for tree, number, output, value in zip(trees, nodes, ids, values, strict=True):
        added = leaves.setdefault((tree, number), {})
        added[output] = added.get(output, 0.0) + value
    return {key: _leaf(added) for key, added in leaves.items()}


def _leaf(added: Mapping[int, float]) -> Leaf:
    low, high = min(added), max(added)
    if low < 0 or high >= MOST_TARGETS:
        raise UnsupportedNodeError(f"a leaf adds to output {low if low < 0 else high}")
    return Leaf(low, tuple(added.get(k, 0.0) for k in range(low, high + 1)))


def _forest(trees: Sequence[Tree], features: int, outputs: int) -> tuple[TreeEnsemble, float]:
    """The forest, and the unit of its sums: leaves that all add one number are votes."""
    for tree in trees:
        try:
            check_tree(tree, features, outputs)
        except ValueError as error:
            raise UnsupportedNodeError(f"the trees are damaged: {error}") from None
    values = {v for tree in trees for leaf in tree if isinstance(leaf, Leaf) for v in leaf.values if v}
    unit = values.pop() if len(values) == 1 else 1.0
    counted = [
        [replace(n, values=tuple(v / unit for v in n.values)) if isinstance(n, Leaf) else n for n in t] for t in trees
    ]
    return TreeEnsemble(features, counted, (0.0,) * outputs, doubles=False), unit


def _sums(node: Node, x: Value, trees: Sequence[Tree], outputs: int, aggregate: str) -> Value:
    """The sums of leaf weights for each output, as float."""
    if aggregate in ("MIN", "MAX"):
        return _extremes(node, x, trees, outputs, aggregate)
    described, unit = _forest(trees, x.shape[-1], outputs)
    grown = grow(described, x.dtype)
    return divided(node.b, summed(node.b, x, grown), (len(trees) if aggregate == "AVERAGE" else 1) / unit)


def _extremes(node: Node, x: Value, trees: Sequence[Tree], outputs: int, aggregate: str) -> Value:
    """The minimum or maximum over the trees: each tree gets outputs of its own first."""
    apart = []
    for number, tree in enumerate(trees):
        leaves = [n for n in tree if isinstance(n, Leaf)]
        if any(leaf.column or len(leaf.values) != outputs for leaf in leaves):
            raise UnsupportedNodeError(f"{aggregate} of trees without a value for each output is not supported")
        apart.append([replace(n, column=number * outputs) if isinstance(n, Leaf) else n for n in tree])
    grown = grow(TreeEnsemble(x.shape[-1], apart, (0.0,) * (len(trees) * outputs), doubles=False), x.dtype)
    each = elementwise.cast(node.b, summed(node.b, x, grown), DType.FLOAT32)
    by_tree = moves.reshape(node.b, each, (x.shape[0], len(trees), outputs))
    reduced = reductions.minimum if aggregate == "MIN" else reductions.maximum
    return reduced(node.b, by_tree, [1], False)


def _based(node: Node, sums: Value) -> Value:
    base = _numbers(node, "base_values", ())
    if len(base) not in (0, 1, sums.shape[-1]):
        raise UnsupportedNodeError(f"{len(base)} base values do not fit {sums.shape[-1]} outputs")
    return elementwise.add(node.b, sums, node.b.constant(np.array(base, np.float32))) if any(base) else sums


def _transformed(node: Node, scores: Value, way: str) -> Value:
    b = node.b
    match way:
        case "NONE":
            return scores
        case "LOGISTIC":
            return elementwise.sigmoid(b, scores)
        case "SOFTMAX":
            return norms.softmax(b, scores)
        case "SOFTMAX_ZERO":
            zero = elementwise.scalar(b, 0.0)
            nothing = elementwise.equal(b, scores, zero)
            least = elementwise.scalar(b, -float(np.finfo(np.float32).max) / 2)
            return elementwise.where(b, nothing, zero, norms.softmax(b, elementwise.where(b, nothing, least, scores)))
    raise UnsupportedNodeError(f"the transformation {way} of scores is not supported")


def regressor(node: Node) -> Value:
    x, outputs = real(node), node.integer("n_targets", 1)
    if not 0 < outputs <= MOST_TARGETS:
        raise UnsupportedNodeError(f"{outputs} targets are not supported")
    sums = _sums(node, x, _trees(node, "target"), outputs, node.text("aggregate_function", "SUM"))
    return _transformed(node, _based(node, sums), node.text("post_transform", "NONE"))


def classifier(node: Node) -> tuple[Value, Value]:
    """The class with the largest score. With weights for one class of two its score decides alone: above one half if no
    weight is negative, else above zero."""
    x, way = real(node), node.text("post_transform", "NONE")
    trees = _trees(node, "class")
    named = "classlabels_strings" if node.given("classlabels_strings") else "classlabels_int64s"
    classes = len(node.texts(named) if named.endswith("strings") else node.integers(named))
    own = set(node.integers("class_ids"))
    if not 0 < classes <= MOST_TARGETS:
        raise UnsupportedNodeError(f"{classes} classes are not supported")
    if classes == 2 and len(own) == 1:
        return _one_of_two(node, x, trees, way)
    scores = _based(node, _sums(node, x, trees, classes, "SUM"))
    return labels(node, classical.best(node.b, scores)), _transformed(node, scores, way)


def _one_of_two(node: Node, x: Value, trees: Sequence[Tree], way: str) -> tuple[Value, Value]:
    b = node.b
    moved = [[replace(n, column=0) if isinstance(n, Leaf) else n for n in tree] for tree in trees]
    score = _based(node, _sums(node, x, moved, 1, "SUM"))
    if score.shape[-1] != 1:
        raise UnsupportedNodeError("two base values for one score are not supported")
    positive = all(w >= 0 for w in _numbers(node, "class_weights"))
    label = labels(node, classical.above(b, score, 0.5 if positive else 0.0))
    if positive and way not in ("LOGISTIC", "PROBIT"):
        return label, moves.concat(b, [elementwise.scaled(b, score, -1, 1), score], -1)
    both = moves.concat(b, [elementwise.neg(b, score), score], -1)
    return label, _transformed(node, both, way if way in ("LOGISTIC", "PROBIT") else "NONE")


def ensemble(node: Node) -> Value:
    """TreeEnsemble: nodes and leaves are numbered separately, over all trees."""
    x, outputs = real(node), node.integer("n_targets", 1)
    if not 0 < outputs <= MOST_TARGETS:
        raise UnsupportedNodeError(f"{outputs} targets are not supported")
    trees = _Nodes(node).trees(outputs)
    sums = _sums(node, x, trees, outputs, _chosen(AGGREGATES, node.integer("aggregate_function", 1)))
    return _transformed(node, sums, _chosen(TRANSFORMS, node.integer("post_transform", 0)))


def _chosen(names: Sequence[str], number: int) -> str:
    if not 0 <= number < len(names):
        raise UnsupportedNodeError(f"the value {number} is none of {', '.join(names)}")
    return names[number]


class _Nodes:
    """The nodes of a TreeEnsemble."""

    def __init__(self, node: Node) -> None:
        self.roots = node.integers("tree_roots")
        modes: Array = node.array("nodes_modes").reshape(-1)
        count = len(modes)
        names = ("nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")
        self.features, self.true, self.false, self.true_leaf, self.false_leaf = _columns(node, count, *names)
        self.tracks = node.integers("nodes_missing_value_tracks_true", ()) or [0] * count
        self.modes = [_chosen(MODES, int(m)) for m in modes]
        splits = node.array("nodes_splits").astype(np.float32)  # as features are, also where the file has float64
        self.values = [float(v) for v in splits.reshape(-1)]
        self.targets = node.integers("leaf_targetids")
        self.weights = [float(w) for w in node.array("leaf_weights").reshape(-1)]
        node.asked.add("nodes_hitrates")
        if not len(self.values) == len(self.tracks) == count or len(self.targets) != len(self.weights):
            raise UnsupportedNodeError(f"thresholds or leaves do not fit {count} nodes")
        self.sets = self._sets(node)

    def _sets(self, node: Node) -> dict[int, list[float]]:
        """The members of each set node, which are separated by NaN."""
        asking = [i for i, mode in enumerate(self.modes) if mode == "BRANCH_MEMBER"]
        if not asking:
            return {}
        sets: list[list[float]] = [[]]
        for value in node.array("membership_values").reshape(-1).tolist():
            if math.isnan(value):
                sets.append([])
            else:
                sets[-1].append(value)
        if len(sets) < len(asking):
            raise UnsupportedNodeError(f"{len(sets)} sets of members do not fit {len(asking)} nodes")
        return dict(zip(asking, sets, strict=False))

    def trees(self, outputs: int) -> list[Tree]:
        return [self._tree(root, outputs) for root in self.roots]

    def _tree(self, root: int, outputs: int) -> Tree:
        """One tree, from its root."""
        tree: list[TreeNode | Leaf] = [Leaf(0, (0.0,))]
        ahead: list[tuple[int, bool, int]] = [(root, False, 0)]
        while ahead:
            number, leaf, place = ahead.pop()
            if not 0 <= number < (len(self.weights) if leaf else len(self.modes)):
                raise UnsupportedNodeError(f"a node leads to node {number}, which is missing")
            if leaf:
                tree[place] = Leaf(self.targets[number], (self.weights[number],))
                continue
            if len(tree) > 2 * len(self.modes) + 1:
                raise UnsupportedNodeError("the nodes are not a tree")
            true, false = len(tree), len(tree) + 1
            tree += [Leaf(0, (0.0,)), Leaf(0, (0.0,))]
            ahead += [
                (self.true[number], bool(self.true_leaf[number]), true),
                (self.false[number], bool(self.false_leaf[number]), false),
            ]
            tracks, chosen = bool(self.tracks[number]), self.sets.get(number, ())
            asked = self.modes[number], self.features[number], self.values[number]
            tree[place] = split(Question(*asked, true, false, tracks, chosen))
        return tree


PARSERS: Mapping[Key, Parser] = {
    (ML, "TreeEnsembleClassifier"): classifier,
    (ML, "TreeEnsembleRegressor"): regressor,
    (ML, "TreeEnsemble"): ensemble,
}
