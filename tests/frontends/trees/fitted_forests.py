"""Fitted forests of scikit-learn, XGBoost and LightGBM, and inputs that lie at their thresholds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mote import frontends
from mote.ir.graph import Graph
from mote.ir.ops.classical.forest import Forest, Trees

Array = np.ndarray[Any, Any]
FEATURES = 5
SETS = FEATURES - 1
"""The feature with categories."""


@cache
def data(missing: bool = True) -> dict[str, Array]:
    """Features, some of which are missing, and things to predict."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, FEATURES)).astype(np.float32)
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.05] = 0
    x[:, SETS] = rng.integers(0, 40, len(x))
    known = np.nan_to_num(x)
    return {
        "x": x,
        "two": (known[:, 0] + (x[:, SETS] % 3 == 2) > 0.5).astype(int),
        "four": rng.integers(0, 3, len(x)) + (x[:, SETS] % 5 == 0),
        "real": known[:, 0] ** 2 + x[:, SETS] % 7 + 1,
    }


def trees_of(graph: Graph) -> Trees:
    return next(op.trees for op in graph.ops if isinstance(op, Forest))


def inputs(trees: Trees, count: int = 2000, *, missing: bool = True, seed: int = 1) -> Array:
    """Random rows, some features of which are at thresholds, next to them, or odd numbers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, trees.features)).astype(np.float32)
    if trees.features == FEATURES:
        x[:, SETS] = rng.integers(-3, 50, count)
    for value in (0.0, -0.0, 1e-36, -1e-36, 3e38, -3e38, *((np.nan, np.nan, np.inf, -np.inf) if missing else ())):
        x[rng.random(x.shape) < 0.02] = value
    for row in range(0, count, 2):
        node = int(rng.integers(trees.nodes)) if trees.nodes else None
        if node is not None:
            at = trees.threshold[node].astype(np.float32)
            near = (at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf)))
            x[row, trees.feature[node]] = near[int(rng.integers(3))]
    return x if missing else np.nan_to_num(x, posinf=3e38, neginf=-3e38)


def said(graph: Graph, rows: Array) -> dict[str, Array]:
    """What the graph, which is for one row, says for each, by the names of its outputs."""
    found: dict[str, list[Array]] = {}
    for row in rows:
        values = graph.evaluate({graph.inputs[0]: row[None].astype(graph.tensors[graph.inputs[0]].dtype.numpy)})
        for t in graph.outputs:
            found.setdefault(graph.tensors[t].name, []).append(values[t])
    return {name: np.concatenate([v.reshape(1, -1) for v in values]) for name, values in found.items()}


def graph_of(model: Any) -> Graph:
    return frontends.load(model)
