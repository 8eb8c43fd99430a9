"""The candidate kernels of operators: the planner's only interface to the kernel catalogue.

Example: for CONV, POOL, FULLY_CONNECTED, `Candidates(graph).kernels((0,), how)` packs every kernel of the core that can
compute CONV, such as a GEMM, a Winograd and a portable one; `regions` lists (0, 1) if a kernel fuses CONV and POOL.
Wrappers restrict or extend them: pins (`PinnedCandidates`), external generators (`ExternalCandidates`), control flow
(`ControlFlowCandidates`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Call, Knob, Knobs, Layout, Packed, View
from mote.compiler.kernels.memo import SHARED
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.scheduling.op_order import order
from mote.compiler.plan.scheduling.rows import operator
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers, can_fuse
from mote.ir.graph.tensor import Array


class Candidates:
    """The candidate kernels of a graph's operators, memoized, since packing weights and proving constants is slow.
    `ops`: the indices of one operator, or of several that one kernel fuses."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._views: dict[tuple[Numbers, Layout, Layout, Policy], View] = {}
        self._kernels: dict[tuple[Numbers, Lowering], list[Packed]] = {}
        self._turned: dict[tuple[Numbers, Lowering, Knobs, str], list[Packed]] = {}

    def op(self, ops: Numbers) -> Op:
        return operator(self.graph, ops)

    def of(self, graph: Graph) -> Candidates:
        """The candidates of another graph, with the same pins and generators."""
        return Candidates(graph)

    def pinned(self, ops: Numbers) -> set[str]:
        """The pins (`--kernel`) of operators as text; empty without pins."""
        return set()

    def external_regions(self) -> list[Numbers]:
        """The regions of several operators that external generators can compute."""
        return []

    def refusal(self, ops: Numbers, kernel: str) -> str:
        """Why the external generator named `kernel` cannot compute operators; empty if there is no such generator."""
        return ""

    def may_load(self, ops: Numbers) -> bool:
        """Whether the constants of operators may be copied to RAM before they run (no pin forbids it)."""
        return True

    def regions(self, how: Lowering) -> list[Numbers]:
        """Candidate regions for fusion: operators that one kernel may compute together."""
        kinds = [kernel.computes for kernel in catalogue.fused(how.features)]
        regions = (self._behind(n, computes) for computes in kinds for n in range(len(self.graph.ops)))
        return [ops for ops in dict.fromkeys(regions) if ops and can_fuse(self.graph, [self.graph.ops[n] for n in ops])]

    def _behind(self, first: int, kinds: tuple[type[Op], ...]) -> Numbers:
        """The chain of operators of `kinds` that starts at `first`, each the only consumer of the previous one; empty
        if there is none."""
        ops: Numbers = (first,)
        while isinstance(self.graph.ops[ops[-1]], kinds[len(ops) - 1]):
            if len(ops) == len(kinds):
                return ops
            reader = self.graph.only_consumer(self.graph.ops[ops[-1]].outputs[0])
            if reader is None:
                break
            ops = (*ops, next(n for n, op in enumerate(self.graph.ops) if op is reader))
        return ()

    def kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        """Candidate kernels of operators, whole or by rows, restricted to pinned ones."""
        return self.all_kernels(ops, how)

    def all_kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        """Candidate kernels of operators, regardless of pins."""
        if (ops, how) not in self._kernels:
            view = self._view(ops, how)
            ask = partial(catalogue.candidates, view, how.features, coded=how.coded, fixed=how.fixed)
            kernels = ask(priced=how.priced) or ask()
            self._kernels[ops, how] = self._reached(ops, kernels, how)
        return self._kernels[ops, how]

    def with_knobs(self, ops: Numbers, how: Lowering, knobs: Knobs, named: str) -> list[Packed]:
        """Candidate kernels with values for their knobs (code generator parameters); only the kernel `named`, unless
        that is empty."""
        key = ops, how, knobs, named
        if key not in self._turned:
            view = self._view(ops, how)
            bound = catalogue.with_knobs(view, how.features, knobs, named=named, coded=how.coded, fixed=how.fixed)
            kernels = [packed for _, packed in bound if isinstance(packed, Packed)]
            self._turned[key] = self._reached(ops, kernels, how)
        return self._turned[key]

    def knobs(self, ops: Numbers, how: Lowering) -> dict[str, Mapping[str, tuple[Knob, ...]]]:
        """Possible values of each knob (code generator parameter) of the candidate kernels, by kernel family."""
        return catalogue.knobs(self._view(ops, how), how.features, coded=how.coded)

    def _reached(self, ops: Numbers, kernels: list[Packed], how: Lowering) -> list[Packed]:
        """The kernels, made to decrypt their constants to scratch, or to copy them where the core cannot load from
        flash."""
        if how.copied:
            return [k if k.isa & how.features else self._sealed(ops, [k])[0] for k in kernels]
        return self._sealed(ops, kernels) if how.sealed else kernels

    def _sealed(self, ops: Numbers, kernels: Sequence[Packed]) -> list[Packed]:
        """The kernels with constants that are decrypted to scratch. Kernels with constants in their code, which cannot
        be encrypted, are dropped unless there are no others."""
        without = [k for k in kernels if not k.price.written] or kernels
        return [k.seal(self._operands(ops, k)) for k in without]

    def loaded(self, ops: Numbers, kernel: Packed) -> Packed:
        """A kernel with its constants copied to RAM before it is called."""
        return kernel.seal(self._operands(ops, kernel), loaded=True)

    def _operands(self, ops: Numbers, kernel: Packed) -> dict[int, Array]:
        """The constant operands of a kernel call, by input position."""
        op = self.op(ops)
        tensors = ((p, op.tensor(self.graph, p)) for p in kernel.entry.operands)
        return {p: t.data for p, t in tensors if t and t.data is not None}

    def _view(self, ops: Numbers, how: Lowering) -> View:
        key = ops, how.reads, how.writes, how.optimize
        if key not in self._views:
            small, fast = how.optimize is Policy.SIZE, how.optimize is Policy.SPEED
            those = tuple(self.graph.ops[n] for n in ops)
            view = View(self.graph, those, how.reads, how.writes, small, fast)
            self._views[key] = replace(view, _known=SHARED.of(view))
        return self._views[key]

    def accumulating(self, ops: Numbers, how: Lowering) -> Packed | None:
        """The kernel that takes one input row per call and keeps accumulators, if there is one."""
        kernel = catalogue.by_call(self._view(ops, how), Call.ADDS, how.fixed, how.priced)
        return None if kernel is None else self._reached(ops, [kernel], how)[0]

    def ring_kernel(self, ops: Numbers, how: Lowering) -> Packed | None:
        """The kernel that keeps a sliding window in a ring buffer instead of moving its rows, if there is one."""
        return catalogue.by_call(self._view(ops, how), Call.RING, how.fixed)

    def preferred(self, ops: Numbers, how: Lowering) -> Layout | None:
        """The layout that operators prefer for their first input over the current one; None if several kernels of the
        core read the current one, or no kernel reads the other one and writes a possible output layout."""
        layouts = self.wanted_layouts(ops, how)
        own = [k for k in self.kernels(ops, how) if not isinstance(k, Offloaded) and not k.needs.converts]
        if not layouts or len(own) > 1:
            return None
        written = self.writable(ops, how)
        able = (
            layout
            for layout in layouts
            if any(self.kernels(ops, replace(how, reads=layout, writes=writes)) for writes in written)
        )
        return next(able, None)

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        """Layouts other than NHWC that kernels of operators prefer to read: at most one, except for a fixed
        firmware."""
        return catalogue.wanted_layouts(self._view(ops, how), how.features, fixed=how.fixed is not None)

    def writable(self, ops: Numbers, how: Lowering) -> list[Layout]:
        """Candidate layouts of the output: the requested one; in a fixed firmware, whose kernels may lack it, also
        those that consumers read."""
        if how.fixed is None:
            return [how.writes]
        out = self.op(ops).outputs[0]
        readers = [(n,) for n, op in enumerate(self.graph.ops) if op.inputs and op.inputs[0] == out]
        wanted = [layout for reader in readers for layout in self.wanted_layouts(reader, how)]
        return list(dict.fromkeys([how.writes, *wanted]))

    def writes(self, ops: Numbers, how: Lowering, layout: Layout) -> bool:
        """Whether some candidate kernel can write the output in a layout."""
        return any(self.kernels(ops, replace(how, reads=reads, writes=layout)) for reads in self.readable(ops, how))

    def readable(self, ops: Numbers, how: Lowering) -> list[Layout]:
        """Candidate layouts of the first input: the current one, and the one that kernels prefer."""
        layout = self.preferred(ops, how)
        return [how.reads, *([layout] if layout else [])]


@lru_cache(maxsize=2)
def candidates_of(graph: Graph) -> Candidates:
    """The memoized `Candidates` of a graph whose operators are in execution order."""
    return Candidates(graph)


@lru_cache(maxsize=2)
def ordered(graph: Graph) -> Graph:
    """The graph with its operators in execution order."""
    ops = order(graph)
    unchanged = all(a is b for a, b in zip(ops, graph.ops, strict=True))
    return graph if unchanged else graph.with_ops(ops).verify()
