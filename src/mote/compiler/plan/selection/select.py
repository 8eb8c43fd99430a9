"""Kernel and layout selection for the operators of a graph.

`Offers` is the planner's only interface to kernels: the candidates of each operator. A `Selection` decides among them:
fusion, layouts of tensors, ring buffers, and for each operator the cheapest kernel and the one with the least scratch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

from mote.base.errors import MoteError
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Call, Knob, Knobs, Layout, Packed, Refusal, View, aligned, written
from mote.compiler.kernels.cost import Costs
from mote.compiler.kernels.memo import SHARED
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import Halved, Option, Plan, Step
from mote.compiler.plan.scheduling.op_order import order
from mote.compiler.plan.scheduling.rows import Arrival, is_alias, lacks_rows, operator, takes_rows
from mote.compiler.plan.selection.code_size_model import code, flash, missing, smallest
from mote.compiler.plan.selection.cores import split
from mote.compiler.plan.selection.cover import cover, pieces
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.region import Numbers, can_fuse, in_order
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array

RATES = {Policy.SPEED: 0.0, Policy.BALANCED: 30.0, Policy.SIZE: 225.0}
"""Exchange rate of flash by policy: cycles per inference that a byte of constants must save."""
SURE = 0.99
"""With --optimize speed, an operator only departs from its balanced kernel if it takes at most this share of the
cycles: smaller gains are within the error of the cost model."""
SHARING = 1.055
"""Maximum slowdown by code that layers share, with the balanced policy."""
CODE_RATES = (3.0, 2.0, 1.5, 1.0, 0.5, 0.25, 0.125, 0.0625)
"""Exchange rates of code by those of constants, from which the first is taken that does not slow down a model more."""
MOST_RATE = 1e6
"""The exchange rate at which only flash counts, in cycles per byte."""
SMALLEST = 1000.0
"""With --optimize size, cycles that a byte of flash may cost where flash is not over budget."""
SURELY = 1e15
"""Cycles that fusing saves where no operator of a region has a kernel of its own, or where it must fuse."""
MOST_DECODING = 2.0
"""Maximum slowdown of an operator by compressed weights, unless flash is over budget."""


class PinError(MoteError):
    """A pin that the neighbours of its layer do not allow. `layers`: the numbers of the layers that it is for."""

    def __init__(self, reason: str, layers: Sequence[str], *, remedy: str) -> None:
        super().__init__(reason, where="option kernel", remedy=remedy)
        self.layers = tuple(layers)


P = TypeVar("P")
PLANNERS = 4
"""Number of planners to memoize per graph."""


class Offers:
    """The candidate kernels of a graph's operators, memoized, since packing weights and proving constants is slow.
    `ops` are the numbers of the operators that one kernel computes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._views: dict[tuple[Numbers, Layout, Layout, Policy], View] = {}
        self._kernels: dict[tuple[Numbers, Lowering], list[Packed]] = {}
        self._turned: dict[tuple[Numbers, Lowering, Knobs, str], list[Packed]] = {}
        self._planners: list[Any] = []

    def op(self, ops: Numbers) -> Op:
        return operator(self.graph, ops)

    def prepared(self, planner: P) -> P:
        """The memoized planner that equals `planner`, with its prepared selections and fronts; else `planner`, which is
        memoized."""
        equal = next((other for other in self._planners if other == planner), planner)
        self._planners = [equal, *(other for other in self._planners if other is not equal)][:PLANNERS]
        return equal

    def of(self, graph: Graph) -> Offers:
        """Offers for another graph of the same layers."""
        return Offers(graph)

    def pinned(self, ops: Numbers) -> set[str]:
        """Names of the kernels that the user has pinned for operators; empty without pins."""
        return set()

    def claimed(self) -> list[Numbers]:
        """The regions of several operators that external generators compute."""
        return []

    def refusal(self, ops: Numbers, kernel: str) -> str:
        """Why an external generator of this name has no kernel for operators; empty where there is none."""
        return ""

    def may_load(self, ops: Numbers) -> bool:
        """Whether the constants of operators may be copied to RAM before they run, where that is faster."""
        return True

    def regions(self, how: Lowering) -> list[Numbers]:
        """Candidate regions for fusion: operators that one kernel could compute together."""
        kinds = [kernel.computes for kernel in catalogue.fused(how.features)]
        regions = (self._behind(n, computes) for computes in kinds for n in range(len(self.graph.ops)))
        return [ops for ops in dict.fromkeys(regions) if ops and can_fuse(self.graph, [self.graph.ops[n] for n in ops])]

    def _behind(self, first: int, kinds: tuple[type[Op], ...]) -> Numbers:
        """The chain of operators of these kinds that starts at `first`, each the only consumer of the one before; empty
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
        return self.everything(ops, how)

    def everything(self, ops: Numbers, how: Lowering) -> list[Packed]:
        """Candidate kernels of operators, regardless of pins."""
        if (ops, how) not in self._kernels:
            view = self._view(ops, how)
            ask = partial(catalogue.candidates, view, how.features, coded=how.coded, fixed=how.fixed)
            kernels = ask(priced=how.priced) or ask()
            self._kernels[ops, how] = self._reached(ops, kernels, how)
        return self._kernels[ops, how]

    def turned(self, ops: Numbers, how: Lowering, knobs: Knobs, named: str) -> list[Packed]:
        """The kernels of operators that have these values for some of their knobs; only that of this name, if there is
        one."""
        key = ops, how, knobs, named
        if key not in self._turned:
            view = self._view(ops, how)
            bound = catalogue.turned(view, how.features, knobs, named=named, coded=how.coded, fixed=how.fixed)
            kernels = [packed for _, packed in bound if isinstance(packed, Packed)]
            self._turned[key] = self._reached(ops, kernels, how)
        return self._turned[key]

    def knobs(self, ops: Numbers, how: Lowering) -> dict[str, Mapping[str, tuple[Knob, ...]]]:
        """The knobs of the kernels of operators, and their values, by the name of the kernel."""
        return catalogue.knobs(self._view(ops, how), how.features, coded=how.coded)

    def _reached(self, ops: Numbers, kernels: list[Packed], how: Lowering) -> list[Packed]:
        """The kernels with constants that they reach: decrypted, or copied where they cannot load them from flash."""
        if how.copied:
            return [k if k.isa & how.features else self._sealed(ops, [k])[0] for k in kernels]
        return self._sealed(ops, kernels) if how.sealed else kernels

    def _sealed(self, ops: Numbers, kernels: Sequence[Packed]) -> list[Packed]:
        """The kernels with encrypted constants; those with constants in their code only where there are no others."""
        without = [k for k in kernels if not k.price.written] or kernels
        return [k.seal(self._operands(ops, k)) for k in without]

    def loaded(self, ops: Numbers, kernel: Packed) -> Packed:
        """A kernel with its constants copied to RAM before it is called."""
        return kernel.seal(self._operands(ops, kernel), loaded=True)

    def _operands(self, ops: Numbers, kernel: Packed) -> dict[int, Array]:
        """The inputs that are constants among those that a kernel is given pointers to, by position."""
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

    def adding(self, ops: Numbers, how: Lowering) -> Packed | None:
        """The kernel that consumes one input row at a time and keeps accumulators, if there is one."""
        kernel = catalogue.called(self._view(ops, how), Call.ADDS, how.fixed, how.priced)
        return None if kernel is None else self._reached(ops, [kernel], how)[0]

    def ring(self, ops: Numbers, how: Lowering) -> Packed | None:
        """The kernel that keeps the rows of a window in a ring buffer, if there is one."""
        return catalogue.called(self._view(ops, how), Call.RING, how.fixed)

    def preferred(self, ops: Numbers, how: Lowering) -> Layout | None:
        """The layout other than NHWC that the kernels of operators prefer for their first input; None if several
        kernels read it as it is, or no kernel could then write the output."""
        layouts = self.wanted_layouts(ops, how)
        own = [kernel for kernel in self.kernels(ops, how) if not isinstance(kernel, Offloaded)]
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
        return catalogue.wanted_layouts(self._view(ops, how), how.features, fixed=how.fixed is not None)

    def writable(self, ops: Numbers, how: Lowering) -> list[Layout]:
        """Candidate layouts of the output. With all kernels available, one always writes the requested layout; a
        firmware may only have a kernel that writes the layout which a consumer prefers."""
        if how.fixed is None:
            return [how.writes]
        out = self.op(ops).outputs[0]
        readers = [(n,) for n, op in enumerate(self.graph.ops) if op.inputs and op.inputs[0] == out]
        wanted = [layout for reader in readers for layout in self.wanted_layouts(reader, how)]
        return list(dict.fromkeys([how.writes, *wanted]))

    def writes(self, ops: Numbers, how: Lowering, layout: Layout) -> bool:
        """Whether a kernel can write the output in a layout."""
        return any(self.kernels(ops, replace(how, reads=reads, writes=layout)) for reads in self.readable(ops, how))

    def readable(self, ops: Numbers, how: Lowering) -> list[Layout]:
        """Candidate layouts of the first input: the current one, and the one that the kernels prefer."""
        layout = self.preferred(ops, how)
        return [how.reads, *([layout] if layout else [])]


@lru_cache(maxsize=2)
def offers(graph: Graph) -> Offers:
    """Offers of kernels for a graph whose operators are in execution order."""
    return Offers(graph)


@lru_cache(maxsize=2)
def ordered(graph: Graph) -> Graph:
    """The graph with its operators in execution order."""
    ops = order(graph)
    unchanged = all(a is b for a, b in zip(ops, graph.ops, strict=True))
    return graph if unchanged else graph.with_ops(ops).verify()


@dataclass(frozen=True)
class Way:
    """Options of a selection of kernels and layouts."""

    layouts: bool = True
    """Whether tensors may have other layouts than NHWC, which take more RAM."""
    group: int = 1
    """Maximum number of rows per call, for kernels that prefer several."""
    fused: bool = False
    """Whether to fuse operators wherever a kernel can, even if that is slower: intermediate tensors then take no
    RAM."""
    apart: bool = False
    """Whether to fuse no operators: code of a region is shared by fewer layers."""
    shifted: bool = False
    """Whether groups of rows end where those of the operator behind them want it: fewer rows wait, in one more
    group."""
    room: int | None = None
    """The most bytes that regions of external generators take, with their whole inputs and outputs and their working
    memory; larger ones are not taken unless they are pinned. None: any."""


ROOMY = Way()
APART = Way(apart=True)
LEAN = Way(layouts=False, room=0)


@dataclass(frozen=True)
class Linked:
    """Pieces of code that layers share, and the exchange rate of others, in cycles per byte."""

    rate: float
    pieces: frozenset[str]


@dataclass(frozen=True, eq=False)
class Selection:
    """The kernels and layouts of a graph for one `Way`. Keys of dictionaries are the numbers of the operators that one
    kernel computes."""

    offers: Offers
    how: Lowering
    goal: Goal
    way: Way
    _costs: dict[tuple[Packed, bool], float] = field(default_factory=dict)
    _shared: dict[int, Linked] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.offers.graph

    @property
    def costs(self) -> Costs:
        return self.goal.costs

    @cached_property
    def _pieces(self) -> dict[Numbers, Op]:
        """Operators grouped by fusion, in topological order, views included. With --optimize size, or apart, only
        external generators fuse: one more kernel takes more code than it saves. A region is split again if no kernel
        reads its input in the chosen layout."""
        regions = [ops for ops in self.offers.regions(self.how) if self._has_room(ops)]
        if self.how.optimize is Policy.SIZE or self.way.apart:
            regions = [ops for ops in regions if self._must_fuse(ops)]
        gains = {ops: self._gain(ops) for ops in regions}
        wanted = {ops: min(gain, SURELY) for ops, gain in gains.items() if gain > (-math.inf if self.way.fused else 0)}
        if self.way.fused:
            wanted = {ops: gain + SURELY * (len(ops) - 1) for ops, gain in wanted.items()}
        while True:
            order = in_order(self.graph, pieces(self.graph, cover(self.graph, wanted)))
            assert order is not None
            joined = {ops: self.offers.op(ops) for ops in order}
            layouts = self._layouts(joined)
            lost = {ops for ops in wanted if ops in joined and not self._kernels(joined[ops], ops, layouts)}
            if not lost:
                return joined
            wanted = {ops: gain for ops, gain in wanted.items() if ops not in lost}

    def _has_room(self, region: Numbers) -> bool:
        """Whether a region that an external generator computes is small enough for this way, or pinned."""
        if self.way.room is None or self.offers.pinned(region):
            return True
        taken = self.region_bytes(region)
        return taken is None or taken <= self.way.room

    def region_bytes(self, region: Numbers) -> int | None:
        """The RAM that the artifacts of external generators take at least while they compute a region; None where a
        kernel of the core can compute it."""
        kernels = self._somehow(region)
        if not kernels or not all(isinstance(kernel, Offloaded) for kernel in kernels):
            return None
        op = self.offers.op(region)
        tensors = {t for _, t in op.computed(self.graph)} | set(op.outputs)
        scratch = min(aligned(kernel.needs.scratch or 0) for kernel in kernels)
        whole = scratch + sum(aligned(self.graph.tensors[t].nbytes) for t in tensors)
        adding = self.offers.adding(region, self.how) if self.goal.pushed else None
        return whole if adding is None else min(whole, adding.needs.sums)

    def _must_fuse(self, region: Numbers) -> bool:
        """Whether an external generator computes a region, or a kernel is pinned for it that needs all of it."""
        if any(isinstance(kernel, Offloaded) for kernel in self._somehow(region)):
            return True
        return bool(self.offers.pinned(region)) and not all(self._somehow((n,)) for n in region)

    def _gain(self, region: Numbers) -> float:
        """Cycles that fusing a region saves, constants included; -inf where no kernel qualifies. In lean selections the
        fused kernel must also run by rows without more scratch than the separate ones, unless an external generator
        offers it or it is pinned."""
        together, op = self._somehow(region), self.offers.op(region)
        parts = [(n,) for n in region if not is_alias(self.graph, self.graph.ops[n])]
        apart = {ops: self._somehow(ops) for ops in parts}
        if not self.way.layouts and not self.offers.pinned(region):
            room = max(min((k.needs.scratch or 0 for k in kernels), default=math.inf) for kernels in apart.values())
            lean = [k for k in together if (k.needs.scratch or 0) <= room and _one_row(self.graph, op, k)]
            together = lean + [k for k in together if isinstance(k, Offloaded)]
        if not together:
            return -math.inf
        return sum(self._cheapest(*part) for part in apart.items()) - self._cheapest(region, together)

    def _somehow(self, ops: Numbers) -> list[Packed]:
        """Candidate kernels of operators in any layout of their first input; in lean selections only pinned ones may
        read another one than NHWC."""
        any_layout = self.way.layouts or bool(self.offers.pinned(ops))
        layouts = self.offers.readable(ops, self.how) if any_layout else [self.how.reads]
        ways = [replace(self.how, reads=r, writes=w) for r in layouts for w in self.offers.writable(ops, self.how)]
        return [kernel for how in ways for kernel in self.offers.kernels(ops, how)]

    def _cheapest(self, ops: Numbers, kernels: Sequence[Packed]) -> float:
        """The minimum cost of kernels, constants included; infinite if there are none."""
        rate = RATES[self.how.optimize]
        return min((self.cost(ops, k, True) + rate * k.own_flash for k in kernels), default=math.inf)

    def cost(self, ops: Numbers, kernel: Packed, whole: bool) -> float:
        """Latency of operators with one of their kernels, whole or by rows; memoized."""
        key = kernel, whole
        if key not in self._costs:
            self._costs[key] = self.costs.of(self.graph, self.offers.op(ops), kernel, whole)
        return self._costs[key]

    @cached_property
    def ops(self) -> dict[Numbers, Op]:
        """The operators to run in topological order, without views; operators of a fused region are joined into one."""
        return {ops: op for ops, op in self._pieces.items() if not is_alias(self.graph, op)}

    @property
    def simple(self) -> bool:
        """Whether no operators are fused and all tensors are NHWC."""
        return not self.layouts and all(len(ops) == 1 for ops in self.ops)

    @cached_property
    def layouts(self) -> dict[int, Layout]:
        """Layouts of the tensors that are not NHWC."""
        return self._layouts(self._pieces)

    def _layouts(self, pieces: Mapping[Numbers, Op]) -> dict[int, Layout]:
        """Layouts other than NHWC: of tensors whose consumers all prefer the same one, and whose producer can write it.
        Inputs and outputs of the model stay NHWC."""
        readers: dict[int, list[Numbers]] = {}
        for ops, op in pieces.items():
            for t in dict.fromkeys(op.inputs):
                readers.setdefault(t, []).append(ops)
        layouts = {}
        for ops, op in pieces.items():
            out = op.outputs[0]
            wanted = {self._preferred(pieces[reader], reader, out) for reader in readers.get(out, [])}
            if len(wanted) == 1 and out not in self.graph.outputs:
                (layout,) = wanted
                if layout is not None and self.offers.writes(ops, self.how, layout):
                    layouts[out] = layout
        if self.way.layouts:
            return layouts
        return {t: layout for t, layout in layouts.items() if self._only_others(readers[t])}

    def _only_others(self, readers: Sequence[Numbers]) -> bool:
        """Whether a consumer is pinned to a kernel that cannot read NHWC."""
        return any(self.offers.pinned(ops) and not self.offers.kernels(ops, self.how) for ops in readers)

    def _preferred(self, op: Op, ops: Numbers, tensor: int) -> Layout | None:
        return self.offers.preferred(ops, self.how) if op.inputs[0] == tensor else None

    def _lowering(self, op: Op) -> Lowering:
        return self._between(op, self.layouts)

    def _between(self, op: Op, layouts: Mapping[int, Layout]) -> Lowering:
        reads = layouts.get(op.inputs[0], NHWC) if op.inputs else NHWC
        return replace(self.how, reads=reads, writes=layouts.get(op.outputs[0], NHWC))

    def _kernels(self, op: Op, ops: Numbers, layouts: Mapping[int, Layout]) -> list[Packed]:
        return self.offers.kernels(ops, self._between(op, layouts))

    def offered(self, ops: Numbers) -> list[Packed]:
        """Candidate kernels of operators in the chosen layouts."""
        return self._kernels(self.ops[ops], ops, self.layouts)

    @cached_property
    def rings(self) -> dict[int, Packed]:
        """The sliding windows (by tensor) to keep in ring buffers, and their kernels: all consumers can read scattered
        rows, and do so in less time than moving the window takes."""
        rings = {}
        for ops, op in self.ops.items():
            ring = self.offers.ring(ops, self.how)
            if ring is not None and self._prefers_ring(op.output(self.graph)):
                rings[op.outputs[0]] = ring
        return rings

    def _prefers_ring(self, window: Tensor) -> bool:
        readers = [ops for ops, op in self._pieces.items() if window.id in op.inputs]
        if window.id in self.graph.outputs or any(ops not in self.ops for ops in readers):
            return False
        by_pointers = sum(self._least_by_rows(ops) for ops in readers)
        return by_pointers < sum(map(self._least, readers)) + self.costs.sliding(window.nbytes)

    def _least(self, ops: Numbers) -> float:
        return min((self.cost(ops, k, True) for k in self.offered(ops)), default=math.inf)

    def _least_by_rows(self, ops: Numbers) -> float:
        """Latency of a consumer that reads rows through pointers; infinite where no kernel can."""
        op = self.ops[ops]
        able = [k for k in self.offered(ops) if _one_row(self.graph, op, k)]
        return min((self.cost(ops, k, False) for k in able), default=math.inf)

    def _reads_ring(self, op: Op) -> bool:
        return any(t in self.rings for _, t in op.computed(self.graph))

    @cached_property
    def variants(self) -> dict[Numbers, list[Packed]]:
        """Candidate kernels of each operator as a whole: with two cores those that are split as well, and where flash
        is waited for those whose constants are copied to RAM."""
        if self.goal.cores == 1:
            return {ops: [*kernels, *self._loaded(ops, kernels)] for ops, kernels in self.on_one_core.items()}
        return {ops: [*kernels, *self._split(ops, kernels)] for ops, kernels in self.on_one_core.items()}

    def _loaded(self, ops: Numbers, kernels: Sequence[Packed]) -> list[Packed]:
        """The kernels that take less time with their constants in RAM, the copying included."""
        if not self.goal.loads or not self.offers.may_load(ops):
            return []
        copies = [(k, self.offers.loaded(ops, k)) for k in kernels if loadable(k)]
        return [copy for k, copy in copies if self.cost(ops, copy, True) < self.cost(ops, k, True)]

    def _split(self, ops: Numbers, kernels: Sequence[Packed]) -> list[Halved]:
        """The kernels of operators that two cores can share."""
        op = self.ops[ops]
        cost, how = self.cost, self._lowering(op)
        made = [split(self.graph, op, kernel, cost(ops, kernel, True), how, self.goal) for kernel in kernels]
        return [kernel for kernel in made if isinstance(kernel, Halved)]

    @cached_property
    def on_one_core(self) -> dict[Numbers, list[Packed]]:
        """Candidate kernels of each operator, after pins, ring buffers and the policy."""
        variants = {ops: self.offered(ops) for ops in self.ops}
        self._check_pins(variants)
        for ops, op in self.ops.items():
            if op.outputs[0] in self.rings:
                variants[ops] = [self.rings[op.outputs[0]]]
            elif self._reads_ring(op):
                variants[ops] = [k for k in variants[ops] if _one_row(self.graph, op, k)]
        if self.how.optimize is Policy.SIZE:
            return self._smallest(variants)
        most = self.way.group
        return {
            ops: [k if k.entry.group <= most else replace(k, entry=replace(k.entry, group=1)) for k in kernels]
            for ops, kernels in variants.items()
        }

    def _smallest(self, offered: Mapping[Numbers, Sequence[Packed]]) -> dict[Numbers, list[Packed]]:
        """The kernel of each operator for least total flash. Within the flash budget, a byte does not cost more cycles
        than `SMALLEST`, and no operator is slowed down much by compressed weights; with small steps, none gives up
        running by rows."""
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
        """The kernels that can run by rows, if the goal is small steps, the output has several rows and there are such
        kernels; else all."""
        op = self.ops[ops]
        if not self.goal.small_steps or row_count(op.output(self.graph).shape) == 1:
            return kernels
        return [k for k in kernels if takes_rows(self.graph, op, k)] or kernels

    def _taken(self, ops: Numbers, kernel: Packed) -> float:
        return self.cost(ops, kernel, True)

    def _check_pins(self, offered: Mapping[Numbers, Sequence[Packed]]) -> None:
        for ops, op in self.ops.items():
            if not offered[ops] and op.outputs[0] not in self.rings:
                self._check_fixed(ops, op)
                if not self.offers.everything(ops, self._lowering(op)) and not self.offers.pinned(ops):
                    raise MoteError(
                        f"there is no kernel that computes {op.kind}",
                        where=f"layer '{op.name}'",
                        remedy="compile a graph without this operator",
                    )
                raise PinError(
                    f"layer '{op.name}' cannot have the kernel '{', '.join(self.offers.pinned(ops))}' here",
                    [self.graph.numbers[n] for n in ops],
                    remedy="the layer before it does not write what that kernel reads; pin another one",
                )

    def _check_fixed(self, ops: Numbers, op: Op) -> None:
        """Raises an error that names the kernel which the firmware lacks for an operator, if kernels are fixed by a
        firmware."""
        if self.how.fixed is not None:
            free = self.offers.everything(ops, replace(self._lowering(op), fixed=None))
            raise MoteError(
                f"{self.how.fixed.lacks(free[0])}, nor another one that computes {op.kind}",
                where=f"layer '{op.name}'",
                remedy="write a runtime with this model's kernels: `mote runtime --kernels MODEL`",
            )

    @property
    def rate(self) -> float:
        """Exchange rate of flash: cycles that a byte of constants must save."""
        return RATES[self.how.optimize]

    def price(self, ops: Numbers, kernel: Packed, whole: bool, rate: float) -> float:
        """Latency of a kernel, plus its constants at an exchange rate of `rate` cycles per byte, plus the code that no
        other layer has."""
        taken = self.cost(ops, kernel, whole)
        if not rate:
            return taken
        linked = self._linked(rate)
        return taken + rate * kernel.own_flash + linked.rate * missing(kernel, linked.pieces)

    def _linked(self, rate: float) -> Linked:
        """The code to link at an exchange rate of flash. At the balanced rate it is the least that does not slow down
        the model much; above it, bytes of code cost what bytes of constants do."""
        level = math.floor(math.log2(rate / RATES[Policy.BALANCED]))
        if level not in self._shared:
            rates = [rate * share for share in CODE_RATES] if rate <= RATES[Policy.BALANCED] else [rate]
            alone = self._alone(rate)
            apart = {ops: min(ks, key=partial(alone, ops)) for ops, ks in self.on_one_core.items()}
            choices = ((each, self._sharing(each)) for each in rates)
            self._shared[level] = next(
                Linked(each, frozenset(name for kernel in chosen.values() for name in code(kernel)))
                for each, chosen in choices
                if each == rates[-1] or self._time(chosen) <= SHARING * self._time(apart)
            )
        return self._shared[level]

    def _time(self, kernels: Mapping[Numbers, Packed]) -> float:
        return sum(self.cost(ops, kernel, True) for ops, kernel in kernels.items())

    def _sharing(self, rate: float) -> dict[Numbers, Packed]:
        """The kernels of the operators at an exchange rate of constants and code, of which they share pieces."""
        alone = self._alone(rate)
        return smallest(self.on_one_core, lambda ops, kernel: alone(ops, kernel) / rate)

    def _alone(self, rate: float) -> Callable[[Numbers, Packed], float]:
        """Latency and constants of kernels at an exchange rate."""
        return lambda ops, kernel: self.cost(ops, kernel, True) + rate * kernel.own_flash

    def best(self, ops: Numbers, whole: bool, room: int | None = None) -> Packed:
        """The cheapest kernel with at most `room` bytes of scratch."""
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
        """The fastest kernel, if it beats the kernel of the balanced policy by more than the error of the cost model;
        else the latter."""
        rate = RATES[Policy.BALANCED]
        usual = min(kernels, key=lambda k: self.price(ops, k, whole, rate))
        fast, slow = (self.cost(ops, k, whole) for k in (best, usual))
        return best if fast <= SURE * slow else usual

    def able(self, ops: Numbers, whole: bool) -> list[Packed]:
        """Candidate kernels of operators that run whole; or by rows, with as many rows per call as their kernel in
        `by_rows`."""
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
        """Total latency if all operators run whole with their best kernels."""
        return sum(self.cost(ops, self.best(ops, True), True) for ops in self.ops)

    @cached_property
    def lean(self) -> dict[Numbers, Packed]:
        """The kernel of each operator with the least scratch, and the cheapest of those."""
        return {ops: self._leanest(ops, self.variants[ops]) for ops in self.ops}

    def _leanest(self, ops: Numbers, kernels: Sequence[Packed]) -> Packed:
        return min(kernels, key=lambda k: (k.needs.scratch or 0, self.price(ops, k, True, self.rate)))

    @cached_property
    def by_rows(self) -> dict[Numbers, Packed]:
        """The kernel of each operator when it runs by rows: one with accumulators where several input rows give a
        single output row."""
        kernels = {}
        for ops, op in self.ops.items():
            own = [k for k in self.on_one_core[ops] if not isinstance(k, Offloaded)]
            single = [k for k in own if not lacks_rows(k)]
            kernels[ops] = self._leanest(ops, single or self.on_one_core[ops])
            best = self.best(ops, False)
            if best.entry.group > 1 and takes_rows(self.graph, op, best):
                kernels[ops] = best
            inputs = op.activations(self.graph)
            if self._reads_ring(op) or not inputs:
                continue
            if row_count(op.output(self.graph).shape) == 1 < row_count(inputs[0].shape):
                adding = self.offers.adding(ops, self._lowering(op))
                kernels[ops] = adding or kernels[ops]
        return kernels

    def kernel(self, ops: Numbers, whole: bool) -> Packed:
        """The kernel with the least scratch for operators that run whole or by rows."""
        if ops not in self.ops:
            return Arrival.kernel
        return (self.lean if whole else self.by_rows)[ops]

    def choices(self, plan: Plan) -> Mapping[Numbers, tuple[Option, ...]]:
        """The kernel options of each operator of a plan, with the reasons for the choice."""
        steps = [(op, steps[0]) for op, steps in plan.works if steps[0].ops in self.ops]
        pinned = {step.ops for _, step in steps if self.offers.pinned(step.ops)}
        return {
            s.ops: options(self.costs, self.graph, op, s, self._choice(s), self.rate, pinned=s.ops in pinned)
            for op, s in steps
        }

    def _choice(self, step: Step) -> list[Packed]:
        """The kernels that were considered for the operators of a step; with a pin, all that could be without it."""
        if self.offers.pinned(step.ops):
            return self.offers.everything(step.ops, self._lowering(self.ops[step.ops]))
        kernels = self.variants[step.ops] if step.whole else self.on_one_core[step.ops]
        better = {k.name for k in kernels if isinstance(k, Halved) or k.loaded}
        return [k for k in kernels if isinstance(k, Halved) or k.loaded or k.name not in better]


def loadable(kernel: Packed) -> bool:
    """Whether a kernel's constants can be copied to RAM before it is called, and are not yet."""
    data = type(kernel) is Packed and kernel.sealed is None and kernel.constants > 0
    return data and kernel.price.cost is None and not kernel.price.written


def _one_row(graph: Graph, op: Op, kernel: Packed) -> bool:
    """Whether a kernel can compute a single output row from scattered input rows."""
    return kernel.price.tile[0] == 1 and not kernel.entry.together and takes_rows(graph, op, kernel)


@dataclass(frozen=True)
class Refused:
    """A kernel of the core that does not fit an operator, and the reason."""

    kernel: str
    why: str


def refusals(plan: Plan, step: Step) -> list[Refused]:
    """The kernels that do not fit the operators of a step in its layouts, with reasons."""
    if any(n < 0 for n in step.ops):
        return []
    ops = tuple(plan.graph.ops[n] for n in step.ops)
    view = View(plan.graph, ops, step.kernel.needs.reads, step.kernel.needs.writes)
    asked = catalogue.asked(view, plan.how.features, plan.how.fixed, plan.how.priced)
    return [Refused(kernel.name, answer.why) for kernel, answer in asked if isinstance(answer, Refusal)]


def options(
    costs: Costs, graph: Graph, op: Op, step: Step, kernels: Sequence[Packed], rate: float, *, pinned: bool
) -> tuple[Option, ...]:
    """The kernel options of the operator of `step`, the chosen one first, without its twins for other layouts; `rate`:
    cycles that a byte of flash must save."""
    chosen = step.kernel
    layouts = chosen.needs.reads, chosen.needs.writes
    twins = {k.name for k in kernels if k.family == chosen.family and (k.needs.reads, k.needs.writes) != layouts}
    others = [k for k in kernels if k.name not in twins and k.variant != chosen.variant]

    def take(k: Packed) -> int:
        return round(costs.of(graph, op, k, step.whole))

    def why(k: Packed) -> str:
        saved, more = take(chosen) - take(k), k.own_flash - chosen.own_flash
        if not step.whole and k.entry.call is Call.WHOLE:
            return "cannot run by rows"
        if pinned and saved > 0:
            return f"would save {saved:,} {costs.unit}"
        if saved <= 0:
            return "slower" if more >= 0 else f"slower, {-more:,} bytes less"
        if chosen.entry.call is Call.ADDS and k.entry.call is not Call.ADDS:
            return "needs all rows at once"
        own = k.needs.reads, k.needs.writes
        if own != layouts:
            return f"no room for {next(layout for layout in (*own, *layouts) if layout != NHWC).name} rows"
        if saved <= rate * more:
            return f"saves {saved:,} {costs.unit} for {more:,} bytes"
        return f"no room for {k.needs.scratch or 0:,} bytes"

    def option(k: Packed, text: str) -> Option:
        return Option(
            k.variant, f"{k.family}{written(k.knobs)}", take(k), k.own_flash, k.needs.scratch or 0, k is chosen, text
        )

    reason = "pinned" if pinned else "only one" if not others else _reason(chosen, others, take)
    reason += f", {1 - chosen.price.density:.0%} of its blocks are zero" if chosen.price.density < 1 else ""
    reason += f", {chosen.sealed.nbytes:,} bytes of constants copied to RAM" if chosen.loaded and chosen.sealed else ""
    reason += ", takes less than a kernel for each operator" if len(step.ops) > 1 else ""
    return (option(chosen, reason), *(option(k, why(k)) for k in sorted(others, key=take)))


def _reason(chosen: Packed, others: list[Packed], take: Callable[[Packed], int]) -> str:
    if all(take(chosen) <= take(k) for k in others):
        return "fastest"
    if chosen.entry.call is Call.ADDS:
        return "takes rows as they come"
    if all(chosen.own_flash <= k.own_flash for k in others):
        return "least flash"
    if all((chosen.needs.scratch or 0) <= (k.needs.scratch or 0) for k in others):
        return "least scratch"
    return "best for its size"
