"""Answers without a model before them: graphs whose input is the output, for tests of the steps behind models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.line import compile_graph
from mote.compiler.settings import make_settings
from mote.frontends.features.postprocess.answer import Answer
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import DType


def quantized(scale: float, zero: int) -> Quantization:
    return Quantization(np.array([scale], np.float32), np.array([zero], np.int64))


def tensor(number: int, shape: Sequence[int], dtype: DType, scale: float = 1.0, zero: int = 0) -> Tensor:
    return Tensor(number, f"x{number}", tuple(shape), dtype, None if dtype.real else quantized(scale, zero))


def answered(*tensors: Tensor, outputs: int = 1, period: float | None = None, labels: tuple[str, ...] = ()) -> Answer:
    """The first tensors are a model's outputs; the last one is its input."""
    ids = tuple(t.id for t in tensors)
    graph = Graph("scores", {t.id: t for t in tensors}, (), ids, ids[:outputs])
    return replace(Answer.of(graph, labels, period), given=ids[-1])


def values(t: Tensor, rng: np.random.Generator) -> Array:
    if t.dtype.real:
        return rng.uniform(-1, 1, t.shape).astype(np.float32)
    low, high = t.dtype.limits
    return rng.integers(low, high, t.shape, endpoint=True).astype(t.dtype.numpy)


def streamed(graph: Graph, cases: Iterable[dict[int, Array]]) -> list[list[Array]]:
    """The outputs of the NumPy reference, from one inference to the next."""
    states: dict[int, Array] = {}
    made = []
    for case in cases:
        known = graph.evaluate({**states, **case})
        states = graph.carried(known)
        made.append([known[t] for t in graph.outputs])
    return made


def in_c(graph: Graph, cases: Sequence[dict[int, Array]], target: str = "host", **options: object) -> list[list[Array]]:
    """The outputs of the generated C, in one run."""
    compiled = compile_graph(graph, make_settings(target, **options))
    planned = compiled.plan.graph
    raw = [[np.ascontiguousarray(case[t]).tobytes() for t in planned.inputs] for case in cases]
    with temporary_folder() as folder:
        run = bench(compiled, folder, sanitize=target == "host").execute(Mode.DUMP, raw)
    tensors = [planned.tensors[t] for t in planned.outputs]
    return [
        [np.frombuffer(x, t.dtype.numpy).reshape(t.shape) for t, x in zip(tensors, row, strict=True)]
        for row in run.outputs
    ]
