"""Learners that are tried before they learn: graphs that score a sample by what is known, then learn it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.built import side_by_side

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


def values(t: Tensor, number: int, rng: np.random.Generator) -> Array:
    """Features of the sample of that number, in every third one at an end of their range, or a label, some of none."""
    if t.name.startswith("label") and not t.dtype.real:
        return told(int(rng.integers(-1, 4)) if number % 16 else -(1 << 31))
    if t.dtype.real:
        return (rng.normal(size=t.shape) * (1 if number % 3 else 50)).astype(np.float32)
    low, high = t.dtype.limits
    drawn = rng.integers(low, high + 1, t.shape) if number % 3 else np.full(t.shape, (low, high)[number % 2])
    return drawn.astype(t.dtype.numpy)


def agree(learners: Sequence[Graph], target: str, count: int, relative: float = 0.0) -> None:
    """The C of learners, in one program, gives what NumPy does, sample by sample: all bits of integers, and real
    numbers within this share of the largest score of a class with samples."""
    graph, rng = side_by_side(learners).graph(), np.random.default_rng(1)
    given = [{t: values(graph.tensors[t], i, rng) for t in graph.inputs} for i in range(count)]
    for wanted, made in zip(streamed(graph, given), in_c(graph, given, target), strict=True):
        for t, x, y in zip(graph.outputs, wanted, made, strict=True):
            share = relative if graph.tensors[t].dtype.real else 0
            near = share * np.abs(x[np.abs(x) < 1e30]).max(initial=0)
            np.testing.assert_allclose(y, x, rtol=share, atol=near, err_msg=str(graph.tensors[t]))


def told(label: int) -> Array:
    return np.array([label], np.int32)
