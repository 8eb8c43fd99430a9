"""The data flow graph of rows: dependencies between the rows of tensors, and the nodes that compute them.

The rows of a tensor are in a storage, which views share. Every operator can run whole, as one node, or by rows: one
node per needed output row, top-down or bottom-up, or per input row if its kernel keeps accumulators. A schedule is a
topological order of nodes.

Example: CONV 3x3 with 12 output rows, MAX_POOL 2x2 and FULLY_CONNECTED are three `Work`s. CONV has 12 nodes by rows;
node y reads the input rows y-1, y and y+1 (`reads`) and writes row y. Node 0 of POOL reads the rows 0 and 1 of CONV, so
that it needs the first two nodes of CONV (`needs`). FULLY_CONNECTED has one node, which reads all rows of POOL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from mote.compiler.kernels.contract import ALIGNMENT, NHWC, Call, Entry, Layout, Packed, aligned
from mote.ir.graph import Graph, Op, Rows
from mote.ir.graph.region import Numbers, Region, joined
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Shape, Tensor

KEPT = -1
"""Memory number of the model's states, which persist between inferences outside of the arena."""
LENT = -2
"""Memory number of the first tensor that lies in memory of the caller; those of further ones count down from it."""

TALL = 256
"""Maximum number of nodes of an operator: taller tensors are computed in groups of rows, as finer schedules hardly
reduce the peak."""


def alignment_of(tensors: Iterable[Tensor]) -> int:
    """The alignment of these tensors, in bytes."""
    return max([ALIGNMENT, *(t.dtype.itemsize for t in tensors)])


class PushedInput(Op):
    """Pseudo-operator: an input of the model that the caller pushes row by row (`--input rows`)."""

    kind = "INPUT"
    kernel: ClassVar[Packed] = Packed("arrival", {}, Entry(operands=()))

    def shapes(self, g: Graph) -> list[Shape]:
        return [g.tensors[self.outputs[0]].shape]


def operator(graph: Graph, numbers: Numbers) -> Op:
    """The operators with these indices, joined into one. Negative numbers are pushed inputs, counted from the end: -1
    is the last input."""
    if numbers[0] < 0:
        tensor = graph.inputs[numbers[0]]
        return PushedInput(inputs=(), outputs=(tensor,), name=graph.tensors[tensor].name)
    return joined(graph, [graph.ops[n] for n in numbers])


@dataclass(frozen=True)
class RowStorage:
    """The memory of a tensor and its views, row by row; or of an operator's accumulators (then `tensors` is empty)."""

    tensors: tuple[int, ...]
    row_bytes: int
    first: int
    """The number of its first row, among the rows of all storages."""
    count: int
    layout: Layout = NHWC
    linear: bool = False
    """Whether its rows must be contiguous in every plan."""
    kept: int | None = None
    """Offset in `memory`, outside of the arena; None in the arena."""
    memory: int = KEPT
    """KEPT (states), or LENT and below (memory of the caller); unused in the arena."""
    alignment: int = ALIGNMENT
    """Alignment of the first row, in bytes."""

    @property
    def ids(self) -> range:
        """The numbers of its rows, among the rows of all storages."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True)
class RowNode:
    """The smallest schedulable unit: a whole operator, some of its output rows, or one input row to accumulate."""

    op: int
    rows: Rows
    """Output rows that the node computes."""
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    scratch: int = 0
    over: tuple[tuple[int, ...], ...] = ()
    """Alternative groups of input rows that the output may overwrite in place, if this node is their last reader."""
    tap: int | None = None
    """For accumulating kernels (`Call.ADDS`): the row of the window that the node accumulates."""
    needs: tuple[tuple[int, int], ...] = ()
    """Dependencies: operators, and how many of their nodes by rows must have run before."""
    times: Mapping[int, int] | None = field(default=None, compare=False)
    """If this node is a whole operator that could also run by rows: by input row, how many nodes by rows read it."""
    pairs: tuple[tuple[int, int], ...] = ()
    """For kernels that overwrite inputs when run whole (`overlaid`): pairs of an output row and the input row that it
    may overwrite, possibly for some outputs only."""


@dataclass(frozen=True)
class Work:
    """The nodes of an operator, or of several fused ones: the one that computes it whole, and those by rows (the whole
    one if it cannot run by rows)."""

    ops: Numbers
    op: Op
    """The operators `ops` joined into one."""
    whole: RowNode | None
    """None if the operator must run by rows: it reads a ring buffer, or whole it would compute dead rows."""
    by_rows: tuple[RowNode, ...]
    kernel: Packed
    row_kernel: Packed
    splits: bool = True
    """Whether it can run by rows, which includes a single output row from scattered input rows."""


KernelChoice = Callable[[Numbers], Packed]
"""Callback: the kernel of operators."""


@dataclass(frozen=True)
class RowGraph:
    """The operators of a graph at the granularity of rows. Rows are numbered through all storages."""

    graph: Graph
    works: tuple[Work, ...]
    storages: tuple[RowStorage, ...]
    size: tuple[int, ...]
    """Bytes of each row."""
    storage_of: tuple[int, ...]
    """The storage of each row."""
    place: dict[int, int]
    """The storage of each tensor that has one."""
    resident: frozenset[int]
    """Rows that are live before the first node: those of inputs and states."""
    kept: frozenset[int]
    """Rows that must be live after the last node: those of outputs and states."""
    reader_nodes: tuple[int, ...]
    """Number of nodes that read each row, if all operators run by rows."""
    sums: dict[int, int] = field(default_factory=dict)
    """The storage of an operator's accumulators, by index in `works`."""
    shifts: Mapping[Numbers, int] = field(default_factory=dict)
    """Size of the first group of rows, by operator numbers, where groups are shifted (see `shifted_groups`)."""

    def unaligned(self) -> RowGraph:
        """The row graph with row sizes that are not padded to their alignment, for lower bounds."""
        storages = (self.storages[s] for s in self.storage_of)
        return replace(self, size=tuple(0 if s.kept is not None else s.row_bytes for s in storages))

    @cached_property
    def last_reader(self) -> list[int]:
        """The last consumer of each operator; itself if it has none."""
        last = list(range(len(self.works)))
        for i, work in enumerate(self.works):
            for node in work.by_rows:
                for p, _ in node.needs:
                    last[p] = max(last[p], i)
        return last

    @cached_property
    def prefixes(self) -> list[Liveness]:
        """The liveness after the first i operators, for every i."""
        state = Liveness.start(self)
        states = [state.copy()]
        for i in range(len(self.works)):
            for node in self.works[i].by_rows:
                state.run(self, node)
            states.append(state.copy())
        return states

    @cached_property
    def crossing(self) -> list[dict[int, list[int]]]:
        """The live rows after the first i operators by storage, for every i."""
        live, made = [], set(self.resident)
        for i, prefix in enumerate(self.prefixes):
            if i:
                made.update(r for node in self.works[i - 1].by_rows for r in node.writes)
            made = {r for r in made if prefix.left[r]}
            storages: dict[int, list[int]] = {}
            for r in sorted(made):
                storages.setdefault(self.storage_of[r], []).append(r)
            live.append(storages)
        return live


@dataclass
class Liveness:
    """The liveness at a point of a schedule: `left`: remaining readers of each row; `live`: live bytes of rows."""

    left: list[int]
    live: int

    @staticmethod
    def start(rows: RowGraph) -> Liveness:
        """The liveness before the first node."""
        left = list(rows.reader_nodes)
        for r in rows.kept:
            left[r] += 1
        return Liveness(left, sum(rows.size[r] for r in rows.resident if left[r]))

    def copy(self) -> Liveness:
        return Liveness(self.left.copy(), self.live)

    def run(self, rows: RowGraph, node: RowNode) -> int:
        """Runs a node and returns the bytes that are live while it runs, scratch included."""
        size, left, before, times = rows.size, self.left, self.live, node.times
        new = freed = 0
        for r in node.writes:
            new += size[r]
            if not left[r]:
                freed += size[r]
        for r in node.reads:
            left[r] -= 1 if times is None else times[r]
            if not left[r]:
                freed += size[r]
        self.live = before + new - freed
        for group in node.over:
            if not any(left[r] for r in group):
                return before + max(new - sum(size[r] for r in group), 0) + node.scratch
        return before + new + node.scratch

    def undo(self, nodes: Iterable[RowNode], live: int) -> None:
        """Undoes nodes; `live`: the live bytes before the first of them."""
        left = self.left
        for node in nodes:
            for r in node.reads:
                left[r] += 1 if node.times is None else node.times[r]
        self.live = live


def build(
    graph: Graph,
    ops: Sequence[Numbers],
    kernels: KernelChoice,
    row_kernels: KernelChoice,
    layouts: dict[int, Layout],
    *,
    rings: frozenset[int] = frozenset(),
    pushed: bool = False,
    bottom_up: bool = False,
    most: int = TALL,
    lent: tuple[int, ...] = (),
    shifts: Mapping[Numbers, int] | None = None,
) -> RowGraph:
    """Builds the row graph of `graph`, whose operators run in the order `ops` (views omitted), each as at most `most`
    nodes by rows. Operators of one entry are fused, and the tensors between them have no rows. `rings`: tensors in ring
    buffers, which no operator reads whole; `lent`: tensors in memory of the caller; `shifts`: see `shifted_groups`."""
    arrivals: list[Numbers] = [(k,) for k in range(-len(graph.inputs), 0) if pushed]
    step = -1 if bottom_up else 1
    pieces = {numbers: operator(graph, numbers) for numbers in (*arrivals, *ops)}
    return _Builder(graph, pieces, kernels, row_kernels, layouts, rings, pushed, step, most, lent, shifts or {}).build()


def shifted_groups(
    graph: Graph, ops: Sequence[Numbers], row_kernels: KernelChoice, *, bottom_up: bool = False
) -> dict[Numbers, int]:
    """Size of the first group of rows, by operator numbers, for kernels that compute several rows at once, so that
    their groups end with the last row that a group of the consumer reads, and as few rows as possible are live.
    Example: CONV A computes four rows per call and CONV 3x3 B, too. Call 0 of B reads rows 0..4 of A: with a first
    group of one row, A computes 0, 1..4, 5..8, ..., and no row waits."""
    shifts: dict[Numbers, int] = {}
    known = [(numbers, operator(graph, numbers), row_kernels(numbers)) for numbers in ops]
    for numbers, op, kernel in reversed(known):
        size, ends = kernel.entry.group, set[int]()
        readers = ((n, reader, k) for n, reader, k in known if op.outputs[0] in reader.inputs)
        for n, reader, k in readers if kernel.entry.rows and size > 1 else ():
            count = row_count(graph.tensors[reader.outputs[0]].shape)
            for y in range(shifts.get(n, k.entry.group), count, k.entry.group) if k.entry.group > 1 else ():
                rows = reader.reads(graph, reader.inputs.index(op.outputs[0]), y if bottom_up else y - 1) or ()
                inside = [r for r in rows if r != OUTSIDE]
                ends |= {(min(inside) if bottom_up else max(inside) + 1) % size} if inside else set()
        if len(ends) == 1 and ends != {0}:
            shifts[numbers] = ends.pop()
    return shifts


@dataclass
class _Builder:
    graph: Graph
    pieces: dict[Numbers, Op]
    kernels: KernelChoice
    row_kernels: KernelChoice
    layouts: dict[int, Layout]
    rings: frozenset[int]
    pushed: bool
    step: int
    most: int
    lent: tuple[int, ...]
    shifts: Mapping[Numbers, int]
    storages: list[RowStorage] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)
    sums: dict[int, int] = field(default_factory=dict)
    size: list[int] = field(default_factory=list)
    needed: set[int] = field(default_factory=set)
    read: dict[tuple[int, int | None], list[int]] = field(default_factory=dict)
    """Memoized input rows by (output tensor, row); row None: those of all output rows."""

    @cached_property
    def root(self) -> dict[int, int]:
        """The tensor that owns the memory of each tensor with rows."""
        inner = {t for op in self.pieces.values() if isinstance(op, Region) for t in op.inner}
        return {t: root for t, root in roots(self.graph).items() if t not in inner}

    @cached_property
    def kept(self) -> dict[int, tuple[int, int]]:
        """Memory number and offset of tensors outside of the arena."""
        return outside_places(self.graph, self.lent)

    @cached_property
    def together(self) -> frozenset[int]:
        """Tensors that must be contiguous because a kernel that runs by rows takes a pointer to all of them."""
        contiguous = set()
        for ops, op in self.pieces.items():
            wanted = () if isinstance(op, PushedInput) else self.row_kernels(ops).entry.together
            contiguous |= {self.root[op.inputs[p]] for p in wanted if op.inputs[p] in self.root}
        return frozenset(contiguous)

    @cached_property
    def alignments(self) -> dict[int, int]:
        """The alignment of tensors in bytes, if a kernel requires more than ALIGNMENT."""
        alignments: dict[int, int] = {}
        for ops, op in self.pieces.items():
            wanted = ALIGNMENT if isinstance(op, PushedInput) else self.kernels(ops).needs.tensor_alignment
            if wanted > ALIGNMENT:
                touched = {self.root[t] for t in (*op.inputs, *op.outputs) if t in self.root}
                alignments |= {t: max(wanted, alignments.get(t, 0)) for t in touched}
        return alignments

    def build(self) -> RowGraph:
        """Adds storages, eliminates dead rows, then builds the nodes of each operator."""
        views: dict[int, list[int]] = {}
        for t, root in self.root.items():
            views.setdefault(root, []).append(t)
        for root in dict.fromkeys(self.root[t] for t in self.graph.tensors if t in self.root):
            self._add_tensor(root, views[root])
        self._find_needed()
        self.pieces = {
            ops: op
            for ops, op in self.pieces.items()
            if any(r in self.needed for t in op.outputs for r in self._rows_of(t))
        }
        works = self._with_needs([self._work(i, ops, op) for i, (ops, op) in enumerate(self.pieces.items())])
        readers = [0] * len(self.size)
        for work in works:
            for node in work.by_rows:
                for r in node.reads:
                    readers[r] += 1
        states = self.graph.states
        given = (*(() if self.pushed else self.graph.inputs), *(s.before for s in states))
        left = (*self.graph.outputs, *(s.after for s in states))
        return RowGraph(
            self.graph,
            tuple(works),
            tuple(self.storages),
            tuple(self.size),
            tuple(i for i, s in enumerate(self.storages) for _ in s.ids),
            self.place,
            frozenset(r for t in given for r in self._rows_of(t)),
            frozenset(r for t in left for r in self._rows_of(t)),
            tuple(readers),
            self.sums,
            self.shifts,
        )

    def _with_needs(self, works: list[Work]) -> list[Work]:
        """Adds the dependencies of nodes: on the writers of rows that they read, and around updates of states."""
        maker = {r: (w, n) for w, work in enumerate(works) for n, node in enumerate(work.by_rows) for r in node.writes}

        operators = list(self.pieces.values())
        before = {op.inputs[i]: w for w, op in enumerate(operators) for i in op.updates.values()}
        readers = {(before[t], w) for w, op in enumerate(operators) for _, t in op.computed(self.graph) if t in before}
        late = {w: {r: len(works[r].by_rows) for u, r in readers if u == w != r} for w in before.values()}
        after = {op.outputs[o]: w for w, op in enumerate(operators) for o in op.updates}

        def needs(node: RowNode) -> RowNode:
            counts: dict[int, int] = dict(late.get(node.op, {}))
            updated = (after[t] for _, t in operators[node.op].computed(self.graph) if t in after)
            counts |= {w: len(works[w].by_rows) for w in updated}
            for r in node.reads:
                if r in maker and maker[r][0] != node.op:
                    w, n = maker[r]
                    counts[w] = max(counts.get(w, 0), n + 1)
            return replace(node, needs=tuple(counts.items()))

        return [replace(work, by_rows=tuple(needs(node) for node in work.by_rows)) for work in works]

    def _add_tensor(self, root: int, views: Sequence[int]) -> None:
        """Adds the storage of a tensor and its views."""
        graph = self.graph
        members = (root, *(t for t in views if t != root))
        counts = {t: row_count(graph.tensors[t].shape) for t in members}
        count = max(counts.values()) if root in graph.inputs and not self.pushed else counts[root]
        layout = self.layouts.get(root, NHWC)
        tensor = graph.tensors[root]
        row = layout.row_bytes(tensor, count)
        linear = (
            root in self.together
            or any(n != count for n in counts.values())
            or any(t in graph.outputs or (t in graph.inputs and not self.pushed) for t in members)
        )
        self.place.update((t, len(self.storages)) for t in members)
        outside = next((self.kept[t] for t in members if t in self.kept), None)
        alignment = max(alignment_of(graph.tensors[t] for t in members), self.alignments.get(root, 0))
        self._add_storage(members, row, count, layout, linear, outside, alignment)

    def _add_storage(
        self,
        tensors: tuple[int, ...],
        row: int,
        count: int,
        layout: Layout,
        linear: bool,
        outside: tuple[int, int] | None = None,
        alignment: int = ALIGNMENT,
    ) -> int:
        memory, kept = (KEPT, None) if outside is None else outside
        self.storages.append(RowStorage(tensors, row, len(self.size), count, layout, linear, kept, memory, alignment))
        self.size += [0 if kept is not None else row if linear else aligned(row)] * count
        return len(self.storages) - 1

    def _rows_of(self, tensor: int, row: int | None = None) -> Iterable[int]:
        """The numbers of the stored rows of a tensor, or of those that overlap one of its rows (in a view)."""
        storage = self.storages[self.place[tensor]]
        if row is None:
            return storage.ids
        count = row_count(self.graph.tensors[tensor].shape)
        lo, hi = row * storage.count // count, -(-(row + 1) * storage.count // count)
        return storage.ids[lo:hi]

    def _reads(self, op: Op, y: int | None) -> list[int]:
        """The numbers of the input rows of output row `y`; of all output rows if it is None."""
        key = op.outputs[0], y
        if key not in self.read:
            self.read[key] = self._computed_reads(op, y)
        return self.read[key]

    def _computed_reads(self, op: Op, y: int | None) -> list[int]:
        ids: dict[int, None] = {}
        for position, t in op.computed(self.graph):
            if y is None:
                ids.update(dict.fromkeys(self._rows_of(t)))
                continue
            rows = op.reads(self.graph, position, y)
            assert rows is not None
            for row in rows:
                if row != OUTSIDE:
                    ids.update(dict.fromkeys(self._rows_of(t, row)))
        return list(ids)

    def _by_rows(self, op: Op, kernel: Packed) -> bool:
        """Whether an operator can run by rows with a kernel."""
        if isinstance(op, PushedInput):
            return True
        out = op.output(self.graph)
        own_rows = row_count(out.shape) == self.storages[self.place[out.id]].count
        return own_rows and takes_rows(self.graph, op, kernel)

    def _find_needed(self) -> None:
        """Collects the rows that outputs and states depend on (dead row elimination); operators that cannot run by rows
        read all of their inputs."""
        states = (s.after for s in self.graph.states)
        for t in (*self.graph.outputs, *states, *(self.graph.inputs if self.pushed else ())):
            self.needed.update(self._rows_of(t))
        for ops, op in reversed(self.pieces.items()):
            out = self.storages[self.place[op.outputs[0]]]
            self.needed.update(out.ids if op.sequential else ())
            wanted = [r - out.first for r in out.ids if r in self.needed]
            others = any(r in self.needed for t in further_outputs(op) for r in self._rows_of(t))
            if isinstance(op, PushedInput) or not (wanted or others or op.updates):
                continue
            kernel = self.row_kernels(ops)
            rows: Sequence[int | None] = wanted if self._by_rows(op, kernel) else [None]
            for y in rows:
                self.needed.update(self._reads(op, y))

    def _work(self, i: int, ops: Numbers, op: Op) -> Work:
        """The nodes of operator `i`."""
        if isinstance(op, PushedInput):
            kernel = row_kernel = op.kernel
        else:
            kernel, row_kernel = self.kernels(ops), self.row_kernels(ops)
        out, step = self.storages[self.place[op.outputs[0]]], 1 if op.sequential else self.step
        if row_kernel.entry.call is Call.ADDS:
            by_rows = self._adding(i, op, row_kernel, out)
        elif self._by_rows(op, row_kernel):
            shift = self.shifts.get(ops, 0)
            by_rows = [self._rows(i, op, row_kernel, ys) for ys in self._groups(op, row_kernel, out, shift)]
            by_rows = by_rows[::step]
        else:
            by_rows = []
        reads, writes = self._reads(op, None), out.ids
        further = [r for t in further_outputs(op) for r in self._rows_of(t)]
        pairs = overlaid(self.graph, self.storages, self.place, op, kernel)
        written: list[int] = []
        if by_rows and row_kernel.entry.call is not Call.ADDS:
            read = {r for n in by_rows for r in n.reads}
            reads = [r for r in reads if r in read]
            written = [r for n in by_rows for r in n.writes]
            writes = range(min(written), max(written) + 1)
        whole = RowNode(
            i,
            Rows(writes[0] - out.first, writes[-1] + 1 - out.first),
            tuple(reads),
            (*writes, *further),
            kernel.needs.scratch or 0,
            _joined([node.over for node in by_rows[::step]], len(writes)) if kernel.needs.in_place else (),
            pairs=pairs,
            times=Counter(r for node in by_rows for r in node.reads) if by_rows else None,
        )
        if pairs:
            whole = replace(whole, over=(tuple(r for _, r in pairs),))
        if not by_rows:
            return Work(ops, op, whole, (whole,), kernel, kernel, splits=False)
        gaps = row_kernel.entry.call is not Call.ADDS and len(writes) > len(written)
        gaps = gaps or (kernel.entry.call is Call.FLAT and len(writes) < out.count)
        gaps = gaps or any(self.root[t] in self.rings for _, t in op.computed(self.graph))
        return Work(ops, op, None if gaps or isinstance(op, PushedInput) else whole, tuple(by_rows), kernel, row_kernel)

    def _groups(self, op: Op, kernel: Packed, out: RowStorage, shift: int) -> list[list[int]]:
        """The needed output rows in groups, one per node: as many as the kernel computes at once, or more in very tall
        tensors; the first group has `shift` rows, unless that is 0."""
        wanted = [r - out.first for r in out.ids if r in self.needed]
        size = max(kernel.entry.group, -(-len(wanted) // self.most))
        if isinstance(op, PushedInput) or (wanted and wanted[-1] - wanted[0] >= len(wanted)):
            size = 1
        first = shift if size == kernel.entry.group and len(wanted) == out.count else 0
        rest = [wanted[k : k + size] for k in range(first, len(wanted), size)]
        return [wanted[:first], *rest] if first else rest

    def _rows(self, i: int, op: Op, kernel: Packed, ys: list[int]) -> RowNode:
        """The node that computes output rows `ys` of operator `i`."""
        out = self.storages[self.place[op.outputs[0]]]
        rows, writes = Rows(ys[0], ys[-1] + 1), tuple(out.first + y for y in ys)
        if isinstance(op, PushedInput):
            return RowNode(i, rows, (), writes)
        reads = dict.fromkeys(r for y in ys for r in self._reads(op, y))
        positions = kernel.needs.in_place if out.kept is None else ()
        over = _joined([self._over(op, y, out.row_bytes, positions) for y in ys], len(ys))
        return RowNode(i, rows, tuple(reads), writes, kernel.needs.scratch or 0, over)

    def _over(self, op: Op, y: int, nbytes: int, positions: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Input rows that output row `y` may overwrite in place: each the only row that is read of its input, of equal
        size, of an input that is read at no position but `positions`, and not in a view of another shape."""
        groups = []
        computed = op.computed(self.graph) if positions else []
        others = {t for position, t in computed if position not in positions}
        for position, t in computed:
            if t in others:
                continue
            rows = op.reads(self.graph, position, y) or ()
            ids = [r for row in rows for r in self._rows_of(t, row)]
            storage = self.storages[self.place[t]]
            own_rows = row_count(self.graph.tensors[t].shape) == storage.count
            if len(ids) == 1 and own_rows and storage.row_bytes == nbytes and storage.kept is None:
                groups.append((ids[0],))
        return tuple(groups)

    def _adding(self, i: int, op: Op, kernel: Packed, out: RowStorage) -> list[RowNode]:
        """The nodes of an accumulating kernel, one per row of the window; accumulators are live from the first to the
        last."""
        ordered = kernel.entry.ordered
        inside = [(k, r) for k, r in enumerate(tap_rows(self.graph, op, kernel)) if r != OUTSIDE]
        inside = inside[:: 1 if ordered else self.step]
        sums = self._add_storage((), kernel.needs.sums, 1, NHWC, linear=False, alignment=kernel.needs.alignment)
        self.sums[i] = sums
        acc = self.storages[sums].first
        nodes = []
        for n, (tap, row) in enumerate(inside):
            first, last = n == 0, n == len(inside) - 1
            reads = (*self._rows_of(op.inputs[0], row), *(() if first else (acc,)))
            writes = (*((acc,) if first else ()), *(out.ids if last else ()))
            over = ((acc,),) if last and not first and not ordered else ()
            nodes.append(RowNode(i, Rows(0, 1), reads, writes, kernel.needs.scratch or 0, over, tap))
        return nodes


def tap_rows(graph: Graph, op: Op, kernel: Packed) -> tuple[int, ...]:
    """By row of the window: the row of the first input that an accumulating kernel adds, or OUTSIDE (padding)."""
    window = None if kernel.entry.ordered else op.reads(graph, 0, 0)
    return window or tuple(range(row_count(op.input(graph).shape)))


def overlaid(
    graph: Graph, storages: Sequence[RowStorage], place: Mapping[int, int], op: Op, kernel: Packed
) -> tuple[tuple[int, int], ...]:
    """For kernels that overwrite inputs when run whole (control flow, `Needs.overlays`): pairs of an output row and the
    input row at the same position that it may overwrite, for inputs that the operator reads at no other position."""
    if not op.bodies and not kernel.needs.overlays:
        return ()
    read = [place[t] for _, t in op.computed(graph)]
    pairs: list[tuple[int, int]] = []
    for p in kernel.needs.in_place:
        if graph.tensors[op.inputs[p]].data is not None:
            continue
        number = place[op.inputs[p]]
        a, b = storages[number], storages[place[op.outputs[p]]]
        alike = (a.row_bytes, a.layout, a.kept) == (b.row_bytes, b.layout, b.kept) and a.count >= b.count
        if alike and a.kept is None and read.count(number) == 1:
            pairs += zip(b.ids, a.ids, strict=False)
    return tuple(pairs)


def _joined(groups: list[tuple[tuple[int, ...], ...]], count: int) -> tuple[tuple[int, ...], ...]:
    """Combines the alternatives of `RowNode.over` of several nodes: groups of `count` distinct rows, a part from
    each."""
    common = []
    for parts in zip(*groups, strict=False):
        rows = tuple(r for part in parts for r in part)
        if len(rows) == len(set(rows)) == count:
            common.append(rows)
    return tuple(common)


def takes_rows(graph: Graph, op: Op, kernel: Packed) -> bool:
    """Whether a kernel can compute single output rows from input rows at any address."""
    if kernel.entry.call not in (Call.FLAT, Call.ROWS) or lacks_rows(kernel) or further_outputs(op) or kernel.loaded:
        return False
    if kernel.entry.call is Call.FLAT and kernel.entry.units % row_count(op.output(graph).shape):
        return False
    if op.updates and (not op.sequential or kernel.entry.row or kernel.entry.rows):
        return False
    return all(op.reads(graph, position, 0) is not None for position, _ in op.computed(graph))


def lacks_rows(kernel: Packed) -> bool:
    """Whether a kernel computes tiles of several rows only, without an entry point for rows."""
    return kernel.price.tile[0] > 1 and kernel.entry.group == 1


def further_outputs(op: Op) -> list[int]:
    """The outputs of an operator after the first, without updated states; an operator that has any runs whole only."""
    return [t for position, t in enumerate(op.outputs) if position and position not in op.updates]


def outside_places(graph: Graph, lent: Sequence[int] = ()) -> dict[int, tuple[int, int]]:
    """Memory number and offset of tensors outside of the arena: each of `lent` in its own memory of the caller, the
    other states in the memory KEPT. The old and the new value of a state share an address."""
    places, at = {t: (LENT - k, 0) for k, t in enumerate(lent)}, 0
    for state in graph.states:
        if state.before not in places:
            at = aligned(at, alignment_of([graph.tensors[state.before]]))
            places[state.before] = KEPT, at
            at += aligned(state.initial.nbytes)
        places[state.after] = places[state.before]
    return places


def roots(graph: Graph) -> dict[int, int]:
    """The tensor that owns the memory of each computed tensor: itself, or the one of which it is a view."""
    root = {t: t for t, x in graph.tensors.items() if x.data is None}
    for op in graph.ops:
        if is_alias(graph, op):
            root[op.outputs[0]] = root[op.inputs[0]]
    return root


def is_alias(graph: Graph, op: Op) -> bool:
    """Whether an operator is a view that shares the memory of its input; views of constants are copied instead."""
    return op.is_view and op.input(graph).data is None
