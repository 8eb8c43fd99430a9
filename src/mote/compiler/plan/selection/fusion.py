"""Fusion: which regions of operators a single kernel should compute, and the cycles that this saves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mote.compiler.kernels.contract import Packed, aligned
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.scheduling.rows import is_alias, takes_rows
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.config import RATES, SelectionConfig
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers

SURELY = 1e15
"""The gain of a region that has to be fused, in cycles: larger than any real one."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """The regions of a graph that are worth fusing under one `SelectionConfig`."""

    candidates: Candidates
    how: Lowering
    config: SelectionConfig
    pushed: bool
    """The caller pushes the input row by row."""
    cost: Callable[[Numbers, Packed, bool], float]
    """Callback: the cost of operators with a kernel, whole (True) or by rows."""

    @cached_property
    def wanted(self) -> dict[Numbers, float]:
        """Regions that are worth fusing, with the cycles saved. With --optimize size or `config.apart`, only those of
        external generators and pins: a fused kernel adds more code than it saves."""
        regions = [ops for ops in self.candidates.regions(self.how) if self._has_room(ops)]
        if self.how.optimize is Policy.SIZE or self.config.apart:
            regions = [ops for ops in regions if self._must_fuse(ops)]
        gains = {ops: self._gain(ops) for ops in regions}
        wanted = {
            ops: min(gain, SURELY) for ops, gain in gains.items() if gain > (-math.inf if self.config.fused else 0)
        }
        if self.config.fused:
            wanted = {ops: gain + SURELY * (len(ops) - 1) for ops, gain in wanted.items()}
        return wanted

    def _has_room(self, region: Numbers) -> bool:
        """Whether a region is within the RAM limit of the config for external generators, or pinned."""
        if self.config.room is None or self.candidates.pinned(region):
            return True
        taken = self.region_bytes(region)
        return taken is None or taken <= self.config.room

    def region_bytes(self, region: Numbers) -> int | None:
        """Minimum RAM of a region while an external generator computes it, in bytes; None if a kernel of the core can
        compute it."""
        kernels = self._somehow(region)
        if not kernels or not all(isinstance(kernel, Offloaded) for kernel in kernels):
            return None
        op = self.candidates.op(region)
        tensors = {t for _, t in op.computed(self.candidates.graph)} | set(op.outputs)
        scratch = min(aligned(kernel.needs.scratch or 0) for kernel in kernels)
        whole = scratch + sum(aligned(self.candidates.graph.tensors[t].nbytes) for t in tensors)
        adding = self.candidates.accumulating(region, self.how) if self.pushed else None
        return whole if adding is None else min(whole, adding.needs.sums)

    def _must_fuse(self, region: Numbers) -> bool:
        """Whether a region is fused in any case: an external generator has it, or a pinned kernel exists only fused."""
        if any(isinstance(kernel, Offloaded) for kernel in self._somehow(region)):
            return True
        return bool(self.candidates.pinned(region)) and not all(self._somehow((n,)) for n in region)

    def _gain(self, region: Numbers) -> float:
        """Cycles that fusing a region saves, with constants at the exchange rate of flash; -inf if no kernel qualifies.
        In lean selections a fused kernel must run by rows, with no more scratch than the separate ones, unless it is
        external or pinned."""
        together, op = self._somehow(region), self.candidates.op(region)
        parts = [(n,) for n in region if not is_alias(self.candidates.graph, self.candidates.graph.ops[n])]
        apart = {ops: self._somehow(ops) for ops in parts}
        if not self.config.layouts and not self.candidates.pinned(region):
            room = max(min((k.needs.scratch or 0 for k in kernels), default=math.inf) for kernels in apart.values())
            lean = [k for k in together if (k.needs.scratch or 0) <= room and one_row(self.candidates.graph, op, k)]
            together = lean + [k for k in together if isinstance(k, Offloaded)]
        if not together:
            return -math.inf
        return sum(self._cheapest(*part) for part in apart.items()) - self._cheapest(region, together)

    def _somehow(self, ops: Numbers) -> list[Packed]:
        """Candidate kernels of operators in any layout of their first input; in lean selections NHWC only, unless
        pinned."""
        any_layout = self.config.layouts or bool(self.candidates.pinned(ops))
        layouts = self.candidates.readable(ops, self.how) if any_layout else [self.how.reads]
        lowerings = [
            replace(self.how, reads=r, writes=w) for r in layouts for w in self.candidates.writable(ops, self.how)
        ]
        return [kernel for how in lowerings for kernel in self.candidates.kernels(ops, how)]

    def _cheapest(self, ops: Numbers, kernels: Sequence[Packed]) -> float:
        """The minimum cost of kernels, constants included; infinite if there are none."""
        rate = RATES[self.how.optimize]
        return min((self.cost(ops, k, True) + rate * k.own_flash for k in kernels), default=math.inf)


def one_row(graph: Graph, op: Op, kernel: Packed) -> bool:
    """Whether a kernel can compute a single output row from scattered input rows."""
    return kernel.price.tile[0] == 1 and not kernel.entry.together and takes_rows(graph, op, kernel)
