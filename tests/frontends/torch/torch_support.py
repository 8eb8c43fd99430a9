"""Modules of PyTorch that are exported, read and computed, and PyTorch as the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn

import mote
from mote.base.extras import quiet
from mote.compiler.compiled import Compiled
from mote.frontends.model import Model
from mote.frontends.source import Format, Source
from mote.frontends.torch.reader import read
from mote.frontends.torch.reference import reference
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.tensor import Array

torch.set_num_threads(1)


class Calls(nn.Module):
    """A module whose outputs are the results of several functions of its inputs."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        return {f"result_{i}": function(*inputs) for i, function in enumerate(self.functions)}


def file_of(module: nn.Module, *inputs: torch.Tensor, **options: Any) -> bytes:
    """The module as `torch.export` saves it."""
    buffer = BytesIO()
    module.eval()(*inputs)  # what functions keep is made before the exporter looks on
    with quiet():
        torch.export.save(torch.export.export(module, inputs, **options), buffer)
    return buffer.getvalue()


def source_of(data: bytes, **more: Any) -> Source:
    return Source("module.pt2", Format.TORCH, data, **more)


def model_of(data: bytes, **more: Any) -> Model:
    return read(source_of(data, **more))


def graph_of(data: bytes, **more: Any) -> Graph:
    return model_of(data, **more).graph()


def random_inputs(graph: Graph, count: int = 1) -> list[dict[str, Array]]:
    """Values of the inputs, as the model has them."""
    random = np.random.default_rng(0)
    found: list[dict[str, Array]] = []
    for _ in range(count):
        named = [graph.tensors[i] for i in graph.inputs]
        found.append({t.name: random.normal(size=model_shape(t)).astype(t.dtype.numpy) for t in named})
    return found


def check_numpy(data: bytes, runs: int = 1, tolerance: float = 2e-5, **more: Any) -> Graph:
    """Every value that has a name in NumPy against PyTorch, from one inference to the next."""
    graph = graph_of(data, **more)
    judge = reference(source_of(data, **more), ())
    assert judge is not None
    carried: dict[int, Array] = {}
    for given in random_inputs(graph, runs):
        want = judge[1](given)
        assert all(graph.tensors[i].name in want for i in graph.outputs)
        values = graph.evaluate({**carried, **{i: _stored(graph.tensors[i], given) for i in graph.inputs}})
        carried = graph.carried(values)
        for i, got in values.items():
            t = graph.tensors[i]
            if not t.inner and t.data is None and t.name in want:
                expected = t.part(want[t.name]).reshape(got.shape).astype(np.float64)
                size = max(1.0, float(np.abs(expected).max(initial=0)))
                far = np.abs(got - expected).max(initial=0)
                assert far <= tolerance * size, (t.name, far, size)
    return graph


def _stored(tensor: Tensor, given: Mapping[str, Array]) -> Array:
    return tensor.part(given[tensor.name]).reshape(tensor.shape)


def check(data: bytes, inputs: int = 2, *, sanitize: bool = True, **options: Any) -> Compiled:
    """Every tensor of the generated C against PyTorch."""
    compiled = mote.compile(data, **options)
    result = mote.verify(compiled, inputs, sanitize=sanitize)
    assert result.reference.startswith("PyTorch"), result.reference
    assert result.passed, result.mismatches[:8]
    return compiled
