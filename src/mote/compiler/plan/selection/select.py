"""Kernel and layout selection for the operators of a graph.

A `Selection` decides among the `Candidates` of each operator: fusion, layouts of tensors, ring buffers, and for each
operator the cheapest kernel and the one with the least scratch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from mote.base.errors import MoteError
from mote.compiler.kernels.contract import Call, Layout, Packed, aligned
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import SplitKernel
from mote.compiler.plan.scheduling.rows import PushedInput, is_alias, lacks_rows, takes_rows
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.code_size_model import code, flash, missing, smallest
from mote.compiler.plan.selection.config import RATES, SelectionConfig
from mote.compiler.plan.selection.cores import split
from mote.compiler.plan.selection.cover import cover, partition
from mote.compiler.plan.selection.fusion import Fusion, one_row
from mote.compiler.plan.selection.layouts import between, layouts_of
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.region import Numbers, in_order
from mote.ir.graph.rows import row_count

SURE = 0.99
"""With --optimize speed, a kernel other than the one of the balanced policy must take at most this share of its cycles:
smaller gains are within the error of the cost model."""
SHARING = 1.055
"""Maximum slowdown of the model by sharing code between layers, with the balanced policy."""
CODE_RATES = (3.0, 2.0, 1.5, 1.0, 0.5, 0.25, 0.125, 0.0625)
"""Ratios of the exchange rate of code to that of constants that are tried; the first within SHARING is taken."""
MOST_RATE = 1e6
"""The highest exchange rate, at which practically only flash counts, in cycles per byte."""
SMALLEST = 1000.0
"""Exchange rate of flash with --optimize size, in cycles per byte, unless flash is over budget."""
MOST_DECODING = 2.0
"""Maximum slowdown of an operator by compressed weights with --optimize size, unless flash is over budget."""


class PinError(MoteError):
    """A pin that no kernel matches, or that the kernels of neighbouring layers do not allow. `layers`: the numbers of
    the pinned layers."""

    def __init__(self, reason: str, layers: Sequence[str], *, remedy: str) -> None:
        super().__init__(reason, where="option kernel", remedy=remedy)
        self.layers = tuple(layers)


@dataclass(frozen=True)
class Linked:
    """Code sections that are linked anyway, and the exchange rate of further code, in cycles per byte."""

    rate: float
    pieces: frozenset[str]


Latencies = dict[tuple[Packed, bool], float]
"""Cache of kernels' estimated costs, by kernel and whether it runs whole."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The kernels and layouts of a graph for one `SelectionConfig`. Keys of dictionaries are the numbers of the
    operators that one kernel computes."""

    candidates: Candidates
    how: Lowering
    goal: Goal
    config: SelectionConfig
    latencies: Latencies = field(default_factory=dict)
    """Cache of costs, which selections of one graph and cost table can share."""
    _shared: dict[int, Linked] = field(init=False, default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.candidates.graph

    @property
    def costs(self) -> Costs:
        return self.goal.costs

    @cached_property
    def fusion(self) -> Fusion:
        """The fusion analysis of the graph under this config."""
        return Fusion(self.candidates, self.how, self.config, self.goal.pushed, self.cost)

    @cached_property
    def _partition(self) -> dict[Numbers, Op]:
        """Operators in topological order, views included, fused regions joined. Fusion of a region is undone if no
        kernel takes its input in the chosen layout."""
        wanted = self.fusion.wanted
        while True:
            order = in_order(self.graph, partition(self.graph, cover(self.graph, wanted)))
            assert order is not None
            joined = {ops: self.candidates.op(ops) for ops in order}
            layouts = layouts_of(self.candidates, self.how, self.config, joined)
            lost = {ops for ops in wanted if ops in joined and not self._kernels(joined[ops], ops, layouts)}
            if not lost:
                return joined
            wanted = {ops: gain for ops, gain in wanted.items() if ops not in lost}

    def cost(self, ops: Numbers, kernel: Packed, whole: bool) -> float:
        """The estimated cost of operators with a kernel, run whole or by rows."""
        key = kernel, whole
        if key not in self.latencies:
            self.latencies[key] = self.costs.of(self.graph, self.candidates.op(ops), kernel, whole)
        return self.latencies[key]

    @cached_property
    def ops(self) -> dict[Numbers, Op]:
        """The operators to execute in topological order, without views; fused operators are joined into one."""
        return {ops: op for ops, op in self._partition.items() if not is_alias(self.graph, op)}

    @property
    def simple(self) -> bool:
        """Whether no operators are fused and all tensors are NHWC."""
        return not self.layouts and all(len(ops) == 1 for ops in self.ops)

    @cached_property
    def layouts(self) -> dict[int, Layout]:
        """Layouts of the tensors that are not NHWC."""
        return layouts_of(self.candidates, self.how, self.config, self._partition)

    def lowering(self, op: Op) -> Lowering:
        """The conditions for an operator's kernels, with the layouts of this selection."""
        return between(self.how, op, self.layouts)

    def _kernels(self, op: Op, ops: Numbers, layouts: Mapping[int, Layout]) -> list[Packed]:
        return self.candidates.kernels(ops, between(self.how, op, layouts))

    def candidate_kernels(self, ops: Numbers) -> list[Packed]:
        """Candidate kernels of operators, with the layouts of this selection."""
        return self._kernels(self.ops[ops], ops, self.layouts)

    @cached_property
    def rings(self) -> dict[int, Packed]:
        """Sliding windows (output tensors) to keep in ring buffers, with their kernels: all consumers can read rows
        through pointers, and that costs less than moving the window."""
        rings = {}
        for ops, op in self.ops.items():
            ring = self.candidates.ring_kernel(ops, self.how)
            if ring is not None and self._prefers_ring(op.output(self.graph)):
                rings[op.outputs[0]] = ring
        return rings

    def _prefers_ring(self, window: Tensor) -> bool:
        """Whether reading a window through row pointers costs less than moving it."""
        readers = [ops for ops, op in self._partition.items() if window.id in op.inputs]
        if window.id in self.graph.outputs or any(ops not in self.ops for ops in readers):
            return False
        by_pointers = sum(self._least_by_rows(ops) for ops in readers)
        return by_pointers < sum(map(self._least, readers)) + self.costs.sliding(window.nbytes)

    def _least(self, ops: Numbers) -> float:
        """The least cost of operators that run whole, with flash at its exchange rate."""
        return min((self._with_flash(ops, k, True) for k in self.candidate_kernels(ops)), default=math.inf)

    def _with_flash(self, ops: Numbers, kernel: Packed, whole: bool) -> float:
        """The cost of a kernel with its constants and the code generated for it, at the exchange rate of flash."""
        return self.cost(ops, kernel, whole) + self.rate * (kernel.own_flash + kernel.code_bytes)

    def _least_by_rows(self, ops: Numbers) -> float:
        """The least cost of operators that read rows through pointers, with flash at its exchange rate; infinite if no
        kernel can."""
        op = self.ops[ops]
        able = [k for k in self.candidate_kernels(ops) if one_row(self.graph, op, k)]
        return min((self._with_flash(ops, k, False) for k in able), default=math.inf)

    def _reads_ring(self, op: Op) -> bool:
        """Whether an input of the operator is in a ring buffer."""
        return any(t in self.rings for _, t in op.computed(self.graph))

    @cached_property
    def variants(self) -> dict[Numbers, list[Packed]]:
        """Candidate kernels of each operator when it runs whole: those of `on_one_core`, and variants split over two
        cores or with their constants copied to RAM."""
        if self.goal.cores == 1:
            return {ops: [*kernels, *self._loaded(ops, kernels)] for ops, kernels in self.on_one_core.items()}
        return {ops: [*kernels, *self._split(ops, kernels)] for ops, kernels in self.on_one_core.items()}

    def _loaded(self, ops: Numbers, kernels: Sequence[Packed]) -> list[Packed]:
        """Variants with constants copied to RAM, of the kernels that are then faster, the copying included."""
        if not self.goal.loads or not self.candidates.may_load(ops):
            return []
        copies = [(k, self.candidates.loaded(ops, k)) for k in kernels if loadable(k)]
        return [copy for k, copy in copies if self.cost(ops, copy, True) < self.cost(ops, k, True)]

    def _split(self, ops: Numbers, kernels: Sequence[Packed]) -> list[SplitKernel]:
        """Variants split over two cores, of the kernels that can be split and are then faster."""
        op = self.ops[ops]
        cost, how = self.cost, self.lowering(op)
        made = [split(self.graph, op, kernel, cost(ops, kernel, True), how, self.goal) for kernel in kernels]
        return [kernel for kernel in made if isinstance(kernel, SplitKernel)]

    @cached_property
    def on_one_core(self) -> dict[Numbers, list[Packed]]:
        """Candidate kernels of each operator, after pins, ring buffers and the policy."""
        variants = {ops: self.candidate_kernels(ops) for ops in self.ops}
        self._check_candidates(variants)
        for ops, op in self.ops.items():
            if op.outputs[0] in self.rings:
                variants[ops] = [self.rings[op.outputs[0]]]
            elif self._reads_ring(op):
                variants[ops] = [k for k in variants[ops] if one_row(self.graph, op, k)]
        if self.how.optimize is Policy.SIZE:
            return self._smallest(variants)
        most = self.config.group
        return {
            ops: [k if k.entry.group <= most else replace(k, entry=replace(k.entry, group=1)) for k in kernels]
            for ops, kernels in variants.items()
        }

    def _smallest(self, offered: Mapping[Numbers, Sequence[Packed]]) -> dict[Numbers, list[Packed]]:
        """The only candidate of each operator with --optimize size: kernels with little total flash. Unless flash is
        over budget, a byte costs at most `SMALLEST` cycles, and compressed weights slow no operator down by more than
        MOST_DECODING. With small steps, operators still run by rows where they can."""
        able = {ops: sorted(self._in_steps(ops, ks), key=lambda k: self._taken(ops, k)) for ops, ks in offered.items()}
        plain = {
            ops: min((self._taken(ops, k) for k in ks if k.price.coding is None), default=math.inf)
            for ops, ks in able.items()
        }
        quick = {ops: [k for k in ks if self._taken(ops, k) <= MOST_DECODING * plain[ops]] for ops, ks in able.items()}
        usual = {ops: [k for k in able[ops] if k.price.coding is None or k in ks] for ops, ks in quick.items()}
        chosen = smallest(usual, lambda ops, kernel: kernel.own_flash + self._taken(ops, kernel) / SMALLEST)
        for kernels in (usual, able):
            if self.goal.flash is not None and flash(chosen.values()) > self.goal.flash:
                chosen = smallest(kernels)
        return {
            ops: [replace(k, entry=replace(k.entry, group=1)) if k.entry.group > 1 else k] for ops, k in chosen.items()
        }

    def _in_steps(self, ops: Numbers, kernels: Sequence[Packed]) -> Sequence[Packed]:
        """With the goal of small steps and several output rows, the kernels that can run by rows, if any; else all."""
        op = self.ops[ops]
        if not self.goal.small_steps or row_count(op.output(self.graph).shape) == 1:
            return kernels
        return [k for k in kernels if takes_rows(self.graph, op, k)] or kernels

    def _taken(self, ops: Numbers, kernel: Packed) -> float:
        """The estimated cost of a kernel that runs whole."""
        return self.cost(ops, kernel, True)

    def _check_candidates(self, offered: Mapping[Numbers, Sequence[Packed]]) -> None:
        """Raises an error that names the reason if an operator has no candidate kernel."""
        for ops, op in self.ops.items():
            if not offered[ops] and op.outputs[0] not in self.rings:
                self._check_fixed(ops, op)
                if not self.candidates.all_kernels(ops, self.lowering(op)) and not self.candidates.pinned(ops):
                    raise MoteError(
                        f"there is no kernel that computes {op.kind}",
                        where=f"layer '{op.name}'",
                        remedy="compile a graph without this operator",
                    )
                raise PinError(
                    f"layer '{op.name}' cannot have the kernel '{', '.join(self.candidates.pinned(ops))}' here",
                    [self.graph.numbers[n] for n in ops],
                    remedy="the layer before it does not write what that kernel reads; pin another one",
                )

    def _check_fixed(self, ops: Numbers, op: Op) -> None:
        """For an image, raises an error that names the kernel which its firmware lacks for an operator."""
        if self.how.fixed is not None:
            free = self.candidates.all_kernels(ops, replace(self.lowering(op), fixed=None))
            raise MoteError(
                f"{self.how.fixed.lacks(free[0])}, nor another one that computes {op.kind}",
                where=f"layer '{op.name}'",
                remedy="write a runtime with this model's kernels: `mote runtime --kernels MODEL`",
            )

    @property
    def rate(self) -> float:
        """The policy's exchange rate of flash: cycles that a byte of constants must save."""
        return RATES[self.how.optimize]

    def price(self, ops: Numbers, kernel: Packed, whole: bool, rate: float) -> float:
        """The objective of kernel selection: cost of a kernel, plus its constants at `rate` cycles per byte, plus its
        code that is not linked for other layers."""
        taken = self.cost(ops, kernel, whole)
        if not rate:
            return taken
        linked = self._linked(rate)
        return taken + rate * kernel.own_flash + linked.rate * missing(kernel, linked.pieces)

    def _linked(self, rate: float) -> Linked:
        """The code sections to link at an exchange rate of flash. Up to the balanced rate: as little code as slows the
        model down by at most SHARING; above it, a byte of code costs as much as one of constants."""
        level = math.floor(math.log2(rate / RATES[Policy.BALANCED]))
        if level not in self._shared:
            rates = [rate * share for share in CODE_RATES] if rate <= RATES[Policy.BALANCED] else [rate]
            alone = self._alone(rate)
            apart = {ops: min(ks, key=partial(alone, ops)) for ops, ks in self.on_one_core.items()}
            choices = ((each, self._sharing(each)) for each in rates)
            self._shared[level] = next(
                Linked(each, frozenset(name for kernel in chosen.values() for name in code(kernel)))
                for each, chosen in choices
                if each == rates[-1] or self._total_cost(chosen) <= SHARING * self._total_cost(apart)
            )
        return self._shared[level]

    def _total_cost(self, kernels: Mapping[Numbers, Packed]) -> float:
        return sum(self.cost(ops, kernel, True) for ops, kernel in kernels.items())

    def _sharing(self, rate: float) -> dict[Numbers, Packed]:
        """The kernels of all operators with the least total of cost, constants and shared code at an exchange rate."""
        alone = self._alone(rate)
        return smallest(self.on_one_core, lambda ops, kernel: alone(ops, kernel) / rate)

    def _alone(self, rate: float) -> Callable[[Numbers, Packed], float]:
        """Callback: the cost of a kernel with constants at an exchange rate, without code."""
        return lambda ops, kernel: self.cost(ops, kernel, True) + rate * kernel.own_flash

    def best(self, ops: Numbers, whole: bool, room: int | None = None) -> Packed:
        """The kernel with the least `price` that has at most `room` bytes of scratch; of all, if none has."""
        offered = self.variants[ops] if whole else self.on_one_core[ops]
        fitting = [k for k in offered if room is None or aligned(k.needs.scratch or 0) <= room]
        able = [
            k
            for k in fitting
            if whole or (k.entry.call is not Call.WHOLE and (k.entry.group > 1 or k.price.tile[0] == 1))
        ]
        kernels = able or fitting or offered
        best = min(kernels, key=lambda k: self.price(ops, k, whole, self.rate))
        return best if self.rate else self._surely(ops, best, kernels, whole)

    def _surely(self, ops: Numbers, best: Packed, kernels: Sequence[Packed], whole: bool) -> Packed:
        """The fastest kernel (`best`) if it is faster than that of the balanced policy by more than the error of the
        cost model (SURE); else the latter."""
        rate = RATES[Policy.BALANCED]
        usual = min(kernels, key=lambda k: self.price(ops, k, whole, rate))
        fast, slow = (self.cost(ops, k, whole) for k in (best, usual))
        return best if fast <= SURE * slow else usual

    def able(self, ops: Numbers, whole: bool) -> list[Packed]:
        """Candidate kernels of operators that run whole; or by rows, with as many rows per call as the kernel of
        `by_rows`, so that they have the same nodes."""
        rows = self.by_rows[ops]
        if whole:
            return self.variants[ops]
        if rows.entry.call is Call.ADDS:
            return [rows]
        op = self.ops[ops]
        offered = self.on_one_core[ops]
        able = [k for k in offered if k.entry.group == rows.entry.group and takes_rows(self.graph, op, k)]
        return [k for k in able if rows.entry.group > 1 or k.price.tile[0] == 1] or [rows]

    @cached_property
    def fastest(self) -> float:
        """The total cost if all operators run whole with their best kernels."""
        return sum(self.cost(ops, self.best(ops, True), True) for ops in self.ops)

    @cached_property
    def lean(self) -> dict[Numbers, Packed]:
        """For each operator that runs whole the kernel with the least scratch; of equal ones the one with the least
        price."""
        return {ops: self._least_scratch(ops, self.variants[ops]) for ops in self.ops}

    def _least_scratch(self, ops: Numbers, kernels: Sequence[Packed]) -> Packed:
        """The kernel with the least scratch; of equal ones the one with the least price."""
        return min(kernels, key=lambda k: (k.needs.scratch or 0, self.price(ops, k, True, self.rate)))

    @cached_property
    def by_rows(self) -> dict[Numbers, Packed]:
        """The kernel of each operator that runs by rows: an accumulating one if several input rows give a single output
        row, one that computes several rows per call if that is best, else the one with the least scratch."""
        kernels = {}
        for ops, op in self.ops.items():
            own = [k for k in self.on_one_core[ops] if not isinstance(k, Offloaded)]
            single = [k for k in own if not lacks_rows(k)]
            kernels[ops] = self._least_scratch(ops, single or self.on_one_core[ops])
            best = self.best(ops, False)
            if best.entry.group > 1 and takes_rows(self.graph, op, best):
                kernels[ops] = best
            inputs = op.activations(self.graph)
            if self._reads_ring(op) or not inputs:
                continue
            if row_count(op.output(self.graph).shape) == 1 < row_count(inputs[0].shape):
                adding = self.candidates.accumulating(ops, self.lowering(op))
                kernels[ops] = adding or kernels[ops]
        return kernels

    def kernel(self, ops: Numbers, whole: bool) -> Packed:
        """The leanest kernel of operators that run whole or by rows."""
        if ops not in self.ops:
            return PushedInput.kernel
        return (self.lean if whole else self.by_rows)[ops]


def loadable(kernel: Packed) -> bool:
    """Whether a kernel reads constants from flash that can be copied to RAM before it is called."""
    data = type(kernel) is Packed and kernel.sealed is None and kernel.constants > 0
    return data and kernel.price.cost is None and not kernel.price.written
