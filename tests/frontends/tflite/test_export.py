"""Graphs as `.tflite` files: reading what was written gives the same graph, and LiteRT computes the same with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest

from fuzz.bases import base
from mote.api import reference
from mote.api.stimuli import stimuli
from mote.errors import MoteError
from mote.frontends import tflite
from mote.frontends.tflite.export import UnsaidLayersError, export
from mote.graph import Graph, Op, Tensor
from mote.graph.graph import ABSENT
from mote.graph.tolerance import compare
from support import needs_litert


def differences(a: Graph, b: Graph, ids: dict[int, int] | None = None) -> list[str]:
    """What is different between two graphs, but for numbers and names of tensors."""
    found: list[str] = []
    same = {} if ids is None else ids
    if len(a.ops) != len(b.ops):
        return [f"operators: {[op.kind for op in a.ops]} and {[op.kind for op in b.ops]}"]
    for x, y in zip(a.inputs, b.inputs, strict=True):
        same[x] = y
    for s, t in zip(a.states, b.states, strict=True):
        same[s.before] = t.before
        if not np.array_equal(s.initial, t.initial):
            found.append("a state begins otherwise")
    for x, y in zip(a.ops, b.ops, strict=True):
        found += _of_op(a, b, x, y, same)
    found += [f"output {t}" for t, u in zip(a.outputs, b.outputs, strict=True) if same.get(t) != u]
    return found


def _of_op(a: Graph, b: Graph, x: Op, y: Op, same: dict[int, int]) -> list[str]:
    where = f"{x.kind} '{x.name}'"
    if type(x) is not type(y) or (len(x.inputs), len(x.outputs)) != (len(y.inputs), len(y.outputs)):
        return [f"{where}: {x} is {y}"]
    found = []
    for t, u in zip(x.inputs, y.inputs, strict=True):
        if ABSENT in (t, u):
            found += [] if t == u else [f"{where}: an operand is absent"]
        elif a.tensors[t].data is None:
            found += [] if same.get(t) == u else [f"{where}: reads {t} is {u}"]
        else:
            found += [f"{where}: {what}" for what in _of_tensor(a.tensors[t], b.tensors[u])]
    for t, u in zip(x.outputs, y.outputs, strict=True):
        same[t] = u
        found += [f"{where}: {what}" for what in _of_tensor(a.tensors[t], b.tensors[u])]
    own = {name: value for name, value in x.attributes().items() if name != "count"}
    for name, value in own.items():
        found += _of_value(f"{where}: {name}", value, getattr(y, name))
    return found


def _of_value(what: str, x: Any, y: Any) -> list[str]:
    if isinstance(x, Graph):
        return [f"{what}: {difference}" for difference in differences(x, y)]
    if isinstance(x, tuple) and len(x) == len(y):
        return [d for p, q in zip(x, y, strict=True) for d in _of_value(what, p, q)]
    if is_dataclass(x) and not isinstance(x, type):
        return [d for f in fields(x) for d in _of_value(what, getattr(x, f.name), getattr(y, f.name))]
    return [] if x == y else [f"{what} {x} is {y}"]


def _of_tensor(x: Tensor, y: Tensor) -> list[str]:
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return [f"{x} is {y}"]
    if (x.data is None) != (y.data is None) or (x.data is not None and not np.array_equal(x.data, y.data)):
        return [f"{x} holds something else"]
    quantized = x.quant is not None and (x.dtype.integer and x.quant.scale.any())
    if quantized and not (x.quant.same_as(y.quant) and y.quant and x.quant.unsigned == y.quant.unsigned):
        return [f"{x} has the scale {x.quant}, not {y.quant}"]
    return []


def check_outputs(graph: Graph, written: bytes, read: bytes, inputs: int = 3) -> None:
    """LiteRT gives the same outputs for both files, but for the order of float32 sums."""
    again = tflite.parse(written, "written")
    oracles = reference.litert(read), reference.litert(written)
    magnitudes = reference.magnitudes(graph)
    for case in stimuli(graph, inputs):
        given = dict(zip(again.inputs, case.values(), strict=True))
        want, got, sizes = oracles[0](case), oracles[1](given), magnitudes(case)
        assert want is not None and got is not None
        for t, u in zip(graph.outputs, again.outputs, strict=True):
            x, y = want[graph.tensors[t].source], got[again.tensors[u].source]
            diff, bad = compare(y.reshape(x.shape), x, sizes.get(t, 0.0))
            assert not bad, f"{graph.tensors[t]}: differs by {diff}"
