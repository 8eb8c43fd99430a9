"""The Plan: what is computed when, by which kernel, where every byte lies. All back ends print this."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from mote.graph import Graph, Op, Rows
from mote.plan.kernel import Kernel, Layout

ALIGNMENT = 4
"""Every buffer starts at a multiple of this many bytes."""


@dataclass(frozen=True)
class Buffer:
    """A piece of the arena: the tensors that share it, when it is live, where it lies.

    Live from step `first` (which writes it; -1: before the run, a model input) to step `last` (which reads
    it; the number of steps: after the run, a model output). Scratch memory is a buffer without tensors.
    """

    tensors: tuple[int, ...]
    nbytes: int
    first: int
    last: int
    layout: Layout = Layout.NHWC
    offset: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.nbytes

    def meets(self, other: Buffer) -> bool:
        """Whether both are live at some step."""
        return self.first <= other.last and other.first <= self.last

    def at(self, offset: int) -> Buffer:
        return replace(self, offset=offset)


@dataclass(frozen=True)
class Step:
    """One kernel call: `rows` of the output of `op`."""

    op: Op
    kernel: Kernel
    rows: Rows
    scratch: int | None = None
    """Index in `Plan.buffers` of the working memory."""


@dataclass(frozen=True)
class Plan:
    """The whole decision. `bound` is what no placement of these buffers in this order can go below."""

    graph: Graph
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    bound: int

    @cached_property
    def place(self) -> dict[int, Buffer]:
        """The buffer of each tensor that has one."""
        return {t: b for b in self.buffers for t in b.tensors}

    @property
    def arena(self) -> int:
        return max((b.end for b in self.buffers), default=0)

    @property
    def taps(self) -> int:
        return max((s.kernel.taps for s in self.steps), default=0)
