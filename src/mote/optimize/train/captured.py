"""Training steps as CUDA graphs: one launch in place of hundreds, which is what small networks wait for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from mote.bench.execute.torch.float32.common import Value

WARM = 3
"""Batches that are computed kernel by kernel before a graph is captured, as libraries choose their algorithms then."""

Losses = Callable[[Sequence[Value], Value | None], Value]
"""Adds the gradients of a batch, of inputs and labels, to those of the parameters; gives the loss."""


class CapturedLosses:
    """Losses with their gradients, captured as a CUDA graph for batches of the first one's size. Others are computed
    kernel by kernel."""

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
        """The loss of a batch; the parameters have its gradients then. They have none before."""
        self._size = self._size or len(given[0])
        if len(given[0]) != self._size:
            return self._losses(given, wanted)
        if self._warm < WARM:
            self._warm += 1
            return self._aside(given, wanted)
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

    def _aside(self, given: Sequence[Value], wanted: Value | None) -> Value:
        """Computes a batch on a stream of its own, as capturing does."""
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
