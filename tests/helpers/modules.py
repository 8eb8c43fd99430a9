"""Graphs as modules, beside the NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mote.bench.execute.stimuli import stimuli
from mote.bench.execute.torch.float32.common import Value
from mote.bench.execute.torch.module import Trainable
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array

torch.set_num_threads(1)


def batch(graph: Graph, cases: list[dict[int, Array]]) -> list[Value]:
    """The inputs of all cases, as a module takes them."""
    found = []
    for i in graph.inputs:
        leading = bool(graph.tensors[i].shape) and graph.tensors[i].shape[0] == 1
        found.append(torch.from_numpy((np.concatenate if leading else np.stack)([case[i] for case in cases])))
    return found


def outputs(module: Trainable, inputs: list[Value]) -> list[Value]:
    with torch.no_grad():
        found = module(*inputs)
    return list(found) if isinstance(found, tuple) else [found]


def check_close(module: Trainable, graph: Graph, samples: int = 3) -> None:
    """The module computes what the NumPy reference does, of all samples at once."""
    cases = list(stimuli(graph, samples, 0))
    found = outputs(module, batch(graph, cases))
    for k, case in enumerate(cases):
        wanted = graph.evaluate(case)
        for i, value in zip(graph.outputs, found, strict=True):
            want = np.asarray(wanted[i], np.float64).reshape(-1)
            got = value[k].numpy().astype(np.float64).reshape(-1)
            size = float(np.abs(np.where(np.isfinite(want), want, 0)).max(initial=1))
            close = np.isclose(got, want, rtol=1e-3, atol=1e-4 * size, equal_nan=True)
            maker = graph.producers.get(i)
            assert close.all(), (maker and maker.where, got[~close][:3], want[~close][:3])
