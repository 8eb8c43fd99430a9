"""Learners that are tried before they learn: graphs that score a sample by what is known, then learn it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mote.graph import Graph, Op, State, Tensor
from mote.graph.tensor import Array
from mote.graph.types import DType

Samples = Sequence[tuple[Array, Array]]
"""Features, and labels or targets."""


def learner(
    update: tuple[type[Op], dict[str, Any]],
    scores: tuple[type[Op], dict[str, Any], str],
    states: Sequence[Array],
    sample: tuple[Array, Array],
    read: Sequence[int] | None = None,
    told: str = "int32",
) -> Graph:
    """Both operators of a learner over its states, of which scores read those at `read`, or all: the sample's features
    and label in, scores before it was learned and what the update says of it out."""
    tensors: dict[int, Tensor] = {}

    def tensor(name: str, shape: Sequence[int], dtype: str) -> int:
        tensors[len(tensors)] = Tensor(len(tensors), name, tuple(shape), DType(dtype))
        return len(tensors) - 1

    x, label = (tensor(name, a.shape, a.dtype.name) for name, a in zip(("x", "label"), sample, strict=True))
    before = [tensor(f"before{i}", s.shape, s.dtype.name) for i, s in enumerate(states)]
    after = [tensor(f"after{i}", s.shape, s.dtype.name) for i, s in enumerate(states)]
    here = Graph("learner", tensors, (), (), ())
    kept = [before[i] for i in (range(len(states)) if read is None else read)]
    judge = scores[0](inputs=(x, *kept), outputs=(-1,), name="scores", index=0, **scores[1])
    y = tensor("y", judge.shapes(here)[0], scores[2])
    teach = update[0](inputs=(x, label, *before), outputs=(-1, *after), name="update", index=1, **update[1])
    seen = tensor("seen", teach.shapes(here)[0], told)
    ops = (judge.with_(outputs=(y,)), teach.with_(outputs=(seen, *after)))
    kept_states = tuple(State(*ends, s) for *ends, s in zip(before, after, states, strict=True))
    graph = Graph("learner", tensors, ops, (x, label), (y, seen), states=kept_states).verify()
    for op in ops:
        assert (problem := op.unsupported(graph)) is None, problem
    return graph


def cases(graph: Graph, samples: Samples) -> list[dict[int, Array]]:
    """The samples as the inputs of a graph."""
    return [dict(zip(graph.inputs, sample, strict=True)) for sample in samples]


def told(label: int) -> Array:
    return np.array([label], np.int32)
