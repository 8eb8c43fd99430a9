"""Training steps as CUDA graphs: one launch instead of hundreds, whose overhead dominates small networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from mote.bench.execute.torch.float32.common import Value

WARM = 3
"""Warm-up batches without a CUDA graph, in which libraries choose their algorithms."""

Losses = Callable[[Sequence[Value], Value | None], Value]
"""Computes the loss of a batch (inputs, labels) and accumulates its gradients in the parameters."""


class CapturedLosses:
    """Computes losses and gradients by a CUDA graph captured for the first batch's size; other sizes run kernel by
    kernel."""

    def __init__(self, losses: Losses, parameters: Sequence[nn.Parameter]) -> None:
        self._losses, self._parameters = losses, parameters
        self._warm = 0
        self._size = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._given: list[Value] = []
        self._wanted: Value | None = None
        self._loss: Value | None = None
        self._gradients: list[Value | None] = []

    def __call__(self, given: Sequence[Value], wanted: Value | None) -> Value:
        """Loss of a batch; sets the parameters' gradients, which must be None before."""
        self._size = self._size or len(given[0])
        if len(given[0]) != self._size:
            return self._losses(given, wanted)
        if self._warm < WARM:
            self._warm += 1
            return self._on_side_stream(given, wanted)
        if self._graph is None:
            self._capture(given, wanted)
        assert self._graph is not None and self._loss is not None
        for held, new in zip(self._given, given, strict=True):
            held.copy_(new)
        if self._wanted is not None and wanted is not None:
            self._wanted.copy_(wanted)
        self._graph.replay()
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient
        return self._loss

    def _on_side_stream(self, given: Sequence[Value], wanted: Value | None) -> Value:
        """Runs a warm-up batch on a side stream, as capturing does."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = self._losses(given, wanted)
        torch.cuda.current_stream().wait_stream(stream)
        return loss

    def _capture(self, given: Sequence[Value], wanted: Value | None) -> None:
        self._given = [x.clone() for x in given]
        self._wanted = None if wanted is None else wanted.clone()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss = self._losses(self._given, self._wanted)
        self._gradients = [parameter.grad for parameter in self._parameters]
