"""Checks a plan independently of the planner, by simulating its steps on an arena of byte tags.

Each byte is tagged with the tensor byte that was last written there. A step may only read bytes whose tags are those of
the rows that it needs, and its writes must not overlap its reads, except in place. Example: if CONV row 2 took the
place of CONV row 0 before POOL row 0 has read that, POOL would find tags of row 2, and the plan is refused.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import cache
from itertools import accumulate

import numpy as np

from mote.compiler.kernels.contract import ALIGNMENT, NHWC, Call
from mote.compiler.plan.plan import KEPT, LENT, ControlFlowKernel, Copy, Plan, SplitKernel, Step
from mote.compiler.plan.scheduling.rows import PushedInput, tap_rows
from mote.ir.graph import Graph, Op, Rows
from mote.ir.graph.rows import OUTSIDE, row_count

FREE, SCRATCH, SUMS, OPENED = -1, -2, -3, -(1 << 40)
"""Tags of bytes that belong to no tensor. Accumulators of output tensor t have the tag SUMS - t; decrypted (or copied)
constants of the operator that computes tensor t have OPENED - t."""

Span = tuple[int, int, int]
"""Bytes in memory: offset (counted through all memories), size, and tag of the first byte (or of all, if negative)."""
Spans = dict[tuple[int, int], Span]
"""Spans by (tensor, row)."""


class PlanError(Exception):
    """Raised for a plan that would compute a wrong result: always a bug of the planner."""


def check(plan: Plan) -> None:
    """Raises PlanError unless every row is computed, and is intact whenever it is read."""
    _Checker(plan).check()


class _Checker:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.sizes = {**dict(enumerate(plan.arenas)), KEPT: plan.state_bytes, **plan.lent}
        """Size of each memory, by number."""
        self.tags = np.full(sum(self.sizes.values()), FREE, np.int64)
        self.start = dict(zip(self.sizes, accumulate(self.sizes.values(), initial=0), strict=False))
        """Offset of each memory in `tags`, where they are concatenated."""
        self.root = _roots(self.graph)
        self.base: dict[int, int] = {}
        """The tag of byte 0 of each tensor that is no view; tags of different tensors are disjoint."""
        at = 0
        for t, tensor in self.graph.tensors.items():
            if tensor.data is None and self.root[t] == t:
                self.base[t] = at
                at += self._nbytes(t)

    def check(self) -> None:
        plan, graph = self.plan, self.graph
        for memory, nbytes in zip(plan.memories, plan.arenas, strict=False):
            if nbytes > memory.size:
                raise PlanError(f"{nbytes} bytes are more than {memory.name} has")
        for buffer in plan.buffers:
            wanted = max([ALIGNMENT, *(graph.tensors[t].dtype.itemsize for t in buffer.tensors)])
            strip = buffer.base is not None and buffer.base % wanted == 0
            if not strip and any(o is not None and o % wanted for o in buffer.offsets):
                raise PlanError(f"rows of tensors {buffer.tensors} are not aligned")
        for t in () if plan.pushed else graph.inputs:
            self._check_strip(t, "the caller")
            self._write_all(t)
        for state in graph.states:
            if plan.place[state.before].offsets != plan.place[state.after].offsets:
                raise PlanError(f"tensor {state.after} is not where the next inference looks for it")
            self._write_all(state.before)
        for op, steps in plan.works:
            self._check_taps(op, steps)
        for i, step in enumerate(plan.steps):
            op = plan.op(step)
            where = f"step {i} {op.kind} '{op.name}'"
            opened = self._opened(step, op, where)
            if opened and i and plan.steps[i - 1].ops == step.ops:
                self._read_sums(opened, where)
            self._step(step, op, where)
            if opened:
                self._write(opened)
        self._check_lent()
        for t in (*graph.outputs, *(s.after for s in graph.states)):
            if t in graph.outputs:
                self._check_strip(t, "the caller")
            for span in self._spans(t, range(row_count(graph.tensors[t].shape))).values():
                self._read(span, "the caller")

    def _check_lent(self) -> None:
        """Checks that every lent tensor is at offset 0 of its memory of the caller."""
        for k, t in enumerate(self.plan.goal.lent):
            buffer = self.plan.place[t]
            if (buffer.memory, buffer.offset) != (LENT - k, 0):
                raise PlanError(f"tensor {t} is not where the caller lends memory for it")

    def _write_all(self, tensor: int) -> None:
        for span in self._spans(tensor, range(row_count(self.graph.tensors[tensor].shape))).values():
            self._write(span)

    def _step(self, step: Step, op: Op, where: str) -> None:
        if isinstance(step.kernel, ControlFlowKernel):
            self._check_bodies(step.kernel, op, where)
        reads = {} if isinstance(op, PushedInput) else self._reads(step, op)
        writes = self._writes(step, op)
        self._check_layouts(step, op, where)
        if step.whole and step.tap is None and step.kernel.entry.call is not Call.RING:
            for t in (*op.inputs, *op.outputs):
                self._check_strip(t, where)
        self._check_wanted(step, op, where)
        for position in (*step.kernel.entry.together, *(op.updates.values() if op.sequential else ())):
            self._check_strip(op.inputs[position], where)
        work = []
        if step.scratch is not None:
            work.append(self._span(step.scratch_memory, step.scratch, step.kernel.needs.scratch or 0, SCRATCH))
        elif step.kernel.needs.scratch:
            raise PlanError(f"{where} has no working memory")
        mark = SUMS - op.outputs[0]
        sums = None if step.sums is None else self._span(step.sums_memory, step.sums, step.kernel.needs.sums, mark)
        for offset in (step.scratch, step.sums):
            if (offset or 0) % (step.kernel.needs.alignment if offset == step.scratch or sums else ALIGNMENT):
                raise PlanError(f"{where}: working memory starts at {offset}")
        for span in reads.values():
            self._read(span, where)
        first = sums is not None and self._first_tap(step)
        if sums and not first:
            self._read_sums(sums, where)
        self._check_apart(step, op, reads, writes, work, sums, where)
        if isinstance(step.kernel, SplitKernel):
            self._check_split(step, step.kernel, op, where)
        for span in work:
            self._write(span)
        if sums:
            self._write(sums)
        for span in writes.values():
            self._write(span)
        for position in op.updates:
            self._write_all(op.outputs[position])

    def _check_split(self, step: Step, kernel: SplitKernel, op: Op, where: str) -> None:
        """Checks that two cores may compute a step concurrently: neither writes what the other reads or writes, and
        each has its own scratch."""
        if self.plan.goal.cores != 2 or not step.whole or op.bodies or op.updates or step.sums is not None:
            raise PlanError(f"{where} is not for two cores")
        if kernel.alone.entry.call not in (Call.FLAT, Call.ROWS, Call.CHANNELS) or len(op.outputs) > 1:
            raise PlanError(f"{where}: its kernel does not compute some rows or channels only")
        first, last = (part.needs for part in (kernel.parts or (kernel.alone, kernel.alone)))
        if last.scratch:
            shared = kernel.second < (first.scratch or 0)
            if shared or kernel.second + last.scratch > (kernel.needs.scratch or 0):
                raise PlanError(f"{where}: the cores share scratch")
            if kernel.second % max(ALIGNMENT, last.alignment):
                raise PlanError(f"{where}: the scratch of the second core starts at {kernel.second}")
        elif (first.scratch or 0) > (kernel.needs.scratch or 0):
            raise PlanError(f"{where}: the first core has too little scratch")
        if kernel.parts or kernel.alone.entry.call is Call.CHANNELS:
            self._check_channels(step, kernel, op, where)
            return
        ranges = (step.rows.lo, kernel.at), (kernel.at, step.rows.hi)
        if not step.rows.lo < kernel.at < step.rows.hi:
            raise PlanError(f"{where}: a core has no rows")
        if kernel.entry.call is Call.FLAT:
            self._check_begin(kernel, op, where)
        halves = [replace(step, rows=Rows(lo, hi)) for lo, hi in ranges]
        for half, other in (halves, reversed(halves)):
            written = list(self._writes(half, op).values())
            touched = [*self._reads(other, op).values(), *self._writes(other, op).values()]
            if any(_meet(a, b) for a in written for b in touched):
                raise PlanError(f"{where}: a core writes what the other reads or writes")

    def _check_channels(self, step: Step, kernel: SplitKernel, op: Op, where: str) -> None:
        """Checks a split by channels: each core has some, and the step does not write in place. Kernels with weights of
        their own need an output of one pixel, and an aligned first channel."""
        out = self.graph.tensors[op.outputs[0]]
        if not 0 < kernel.at < out.channels:
            raise PlanError(f"{where}: a core has no channels")
        if kernel.parts and (len(kernel.parts) != 2 or out.size != out.channels):
            raise PlanError(f"{where}: its kernels are for channels of one pixel")
        if kernel.parts and kernel.at * out.dtype.itemsize % ALIGNMENT:
            raise PlanError(f"{where}: the second core does not begin with an aligned channel")
        writes = self._writes(step, op).values()
        if any(_meet(a, b) for a in writes for b in self._reads(step, op).values()):
            raise PlanError(f"{where}: a core writes what the other reads")

    def _check_begin(self, kernel: SplitKernel, op: Op, where: str) -> None:
        """Checks a split of an element-wise kernel, which the second core calls with pointers into the middle of
        tensors: operands have the rows of the output (or are broadcast), and the pointers are aligned."""
        count = row_count(self.graph.tensors[op.outputs[0]].shape)
        begun = [(op.outputs[0], count, kernel.at)]
        for position in kernel.entry.operands:
            own = row_count(self.graph.tensors[op.inputs[position]].shape)
            firsts = [(op.reads(self.graph, position, y) or (0,))[0] for y in range(count)]
            if firsts != [0] * count and (firsts != list(range(count)) or own != count):
                raise PlanError(f"{where}: rows of input {position} do not follow those of the output")
            begun.append((op.inputs[position], own, firsts[kernel.at]))
        if kernel.entry.units % count or any(y * self._nbytes(t) // n % ALIGNMENT for t, n, y in begun):
            raise PlanError(f"{where}: the second core does not begin with an aligned row")

    def _opened(self, step: Step, op: Op, where: str) -> Span | None:
        """The decrypted (or copied) constants of a step, which are in its scratch buffer, after the kernel's own
        scratch. Consecutive steps of an operator share them; None if the kernel has none."""
        sealed = step.kernel.sealed
        if sealed is None:
            return None
        if sealed.loaded and not step.whole:
            raise PlanError(f"{where} copies its constants for every row")
        if step.scratch is None or (step.kernel.needs.scratch or 0) < (sealed.scratch or 0) + sealed.nbytes:
            raise PlanError(f"{where} has no room for its constants")
        if sealed.begin < (sealed.scratch or 0) or (step.scratch + sealed.begin) % 8:
            raise PlanError(f"{where}: constants start at {step.scratch + sealed.begin}")
        return self._span(step.scratch_memory, step.scratch + sealed.begin, sealed.nbytes, OPENED - op.outputs[0])

    def _check_wanted(self, step: Step, op: Op, where: str) -> None:
        """Checks the alignment and the memories that a kernel requires for its tensors and its scratch buffer."""
        alignment, reached = step.kernel.needs.tensor_alignment, step.kernel.needs.memories
        if not step.whole or (alignment <= ALIGNMENT and not reached):
            return
        places = [self.plan.place[t] for t in (*op.inputs, *op.outputs) if t in self.plan.place]
        addresses = [(place.memory, place.offset) for place in places]
        addresses += [(step.scratch_memory, step.scratch)] if step.scratch is not None else []
        names = dict(enumerate(m.name for m in self.plan.memories))
        for memory, offset in addresses:
            if alignment > ALIGNMENT and offset % alignment:
                raise PlanError(f"{where}: a tensor at {offset} is not aligned to {alignment} bytes")
            if reached and (memory < 0 or (names and names[memory] not in reached)):
                raise PlanError(f"{where}: a tensor lies in a memory that the kernel cannot reach")

    def _first_tap(self, step: Step) -> bool:
        """Whether a step is the first of its operator."""
        return next(s for s in self.plan.steps if s.ops == step.ops) is step

    def _last_tap(self, step: Step) -> bool:
        """Whether a step is the last of its operator."""
        return next(s for s in reversed(self.plan.steps) if s.ops == step.ops) is step

    def _check_taps(self, op: Op, steps: tuple[Step, ...]) -> None:
        """Checks that an accumulating kernel adds every row of its window once, and that pushed inputs and operators
        that update states with each row (`Op.sequential`) have all rows, top-down."""
        if steps[0].tap is not None:
            rows, kernel = tap_rows(self.graph, op, steps[0].kernel), steps[0].kernel
            if kernel.entry.ordered and [s.tap for s in steps] != list(range(len(rows))):
                raise PlanError(f"{op.kind} '{op.name}' does not take rows one after another")
            if sorted(s.tap or 0 for s in steps) != [k for k, r in enumerate(rows) if r != OUTSIDE]:
                raise PlanError(f"{op.kind} '{op.name}' does not add every row once")
        if isinstance(op, PushedInput):
            count = row_count(self.graph.tensors[op.outputs[0]].shape)
            if [(s.rows.lo, s.rows.hi) for s in steps] != [(y, y + 1) for y in range(count)]:
                raise PlanError(f"the rows of '{op.name}' do not arrive one after another")
        if op.sequential:
            count = row_count(self.graph.tensors[op.outputs[0]].shape)
            if [y for s in steps for y in range(s.rows.lo, s.rows.hi)] != list(range(count)):
                raise PlanError(f"{op.kind} '{op.name}' does not compute each row once, from the top")

    def _check_strip(self, tensor: int, who: str) -> None:
        """Checks that the rows of a tensor are contiguous, as `who` has a pointer to row 0 only."""
        buffer = self.plan.place.get(tensor)
        if buffer is None:
            return
        if buffer.ring is not None or (buffer.base is None and any(o is not None for o in buffer.offsets)):
            raise PlanError(f"{who}: rows of tensor {tensor} do not lie one after another")

    def _reads(self, step: Step, op: Op) -> Spans:
        """The rows that a step reads. After its first step, a sequential operator reads the new values of its
        states."""
        graph = self.graph
        spans: Spans = {}
        later = {p: o for o, p in op.updates.items()} if op.sequential and not self._first_tap(step) else {}
        for position, before in op.computed(graph):
            t = op.outputs[later[position]] if position in later else before
            count = row_count(graph.tensors[t].shape)
            if step.tap is not None:
                rows = [tap_rows(graph, op, step.kernel)[step.tap]]
            elif step.whole and op.reads(graph, position, 0) is None:
                rows = list(range(count))
            else:
                rows = [r for y in range(step.rows.lo, step.rows.hi) for r in op.reads(graph, position, y) or ()]
            spans |= self._spans(t, dict.fromkeys(r for r in rows if r != OUTSIDE))
        return spans

    def _writes(self, step: Step, op: Op) -> Spans:
        """The output rows that a step writes; accumulating kernels write theirs in the last step."""
        if step.tap is not None and not self._last_tap(step):
            return {}
        spans = self._spans(op.outputs[0], range(step.rows.lo, step.rows.hi))
        for position, t in enumerate(op.outputs):
            if position and position not in op.updates:
                spans |= self._spans(t, range(row_count(self.graph.tensors[t].shape)))
        return spans

    def _check_bodies(self, kernel: ControlFlowKernel, op: Op, where: str) -> None:
        """Checks the plans of control flow bodies, and that each body leaves its outputs where they belong."""
        if len(kernel.plans) != len(op.bodies):
            raise PlanError(f"{where} has {len(kernel.plans)} plans for {len(op.bodies)} bodies")
        loop = op.kind == "WHILE"
        for plan, body, copies in zip(kernel.plans, op.bodies, kernel.copies, strict=True):
            if (plan.graph.inputs, plan.graph.outputs) != (body.inputs, body.outputs):
                raise PlanError(f"{where}: a plan is another body's")
            if not {*body.inputs, *(s.before for s in body.states)} <= set(plan.goal.lent):
                raise PlanError(f"{where}: a body does not find what it is given")
            check(plan)
            if not loop or body is op.bodies[-1]:
                _check_outputs(plan, copies, where, loop=loop)
            self._check_room(plan, copies, kernel.needs.scratch or 0, where)

    def _check_room(self, plan: Plan, copies: tuple[Copy, ...], scratch: int, where: str) -> None:
        """Checks that scratch holds a body's arena, followed by the staging areas of its copies."""
        end = plan.arena
        for copy in copies:
            if copy.staging is not None:
                if copy.staging < end or copy.staging % ALIGNMENT:
                    raise PlanError(f"{where}: what is moved has no place of its own")
                end = copy.staging + plan.graph.tensors[copy.tensor].nbytes
        if end > scratch:
            raise PlanError(f"{where}: a body needs {end} bytes of {scratch}")

    def _span(self, memory: int, offset: int, nbytes: int, tag: int) -> Span:
        """A span in a memory; raises PlanError if it is not inside."""
        if offset < 0 or offset + nbytes > self.sizes[memory]:
            raise PlanError(f"{nbytes} bytes at {offset} lie outside of the arena")
        return self.start[memory] + offset, nbytes, tag

    def _nbytes(self, tensor: int) -> int:
        """Size of a tensor in its layout, in bytes."""
        value = self.graph.tensors[tensor]
        layout = self.plan.place[tensor].layout if tensor in self.plan.place else NHWC
        rows = row_count(value.shape)
        return rows * layout.row_bytes(value, rows)

    def _spans(self, tensor: int, rows: range | dict[int, None]) -> Spans:
        """The spans of rows of a tensor; rows of a view of another shape are computed from the contiguous tensor."""
        buffer, nbytes = self.plan.place[tensor], self._nbytes(tensor)
        tag = self.base[self.root[tensor]]
        count = row_count(self.graph.tensors[tensor].shape)
        row = nbytes // count
        spans: Spans = {}
        for y in rows:
            if count == len(buffer.offsets):
                offset = buffer.offsets[y]
                if offset is None:
                    raise PlanError(f"row {y} of tensor {tensor} has no place")
            else:
                self._check_strip(tensor, "a view")
                offset = buffer.offset + y * row
            spans[tensor, y] = self._span(buffer.memory, offset, row, tag + y * row)
        return spans

    def _read(self, span: Span, who: str) -> None:
        """Checks that the bytes of a row still hold it."""
        offset, nbytes, tag = span
        held = self.tags[offset : offset + nbytes]
        if np.any(held != np.arange(tag, tag + nbytes, dtype=np.int64)):
            raise PlanError(f"{who} reads {nbytes} bytes at {offset} that do not hold what it wants")

    def _read_sums(self, span: Span, who: str) -> None:
        """Checks that accumulators or decrypted constants are intact."""
        offset, nbytes, tag = span
        if np.any(self.tags[offset : offset + nbytes] != tag):
            raise PlanError(f"{who}: its sums or constants were overwritten")

    def _write(self, span: Span) -> None:
        """Tags the bytes of a span."""
        offset, nbytes, tag = span
        self.tags[offset : offset + nbytes] = tag if tag < 0 else np.arange(tag, tag + nbytes, dtype=np.int64)

    def _check_layouts(self, step: Step, op: Op, where: str) -> None:
        """Checks that a kernel reads and writes the layouts of its buffers."""
        wrong = self.plan.place[op.outputs[0]].layout != step.kernel.needs.writes
        wrong = wrong or any(self.plan.place[t].layout != NHWC for t in op.outputs[1:])
        for position, t in enumerate(op.inputs):
            if t in self.plan.place:
                expected = step.kernel.needs.reads if position == 0 else NHWC
                wrong = wrong or self.plan.place[t].layout != expected
        if wrong:
            raise PlanError(f"{where}: the kernel wants another layout than its buffers have")

    def _check_apart(
        self, step: Step, op: Op, reads: Spans, writes: Spans, work: list[Span], sums: Span | None, where: str
    ) -> None:
        """Checks in-place writes: a step overwrites an input row only at the same address, only if the kernel allows
        it, and only if no other output row of the step depends on that input row."""
        updated = {op.inputs[position] for position in op.updates.values()}
        ranked = sorted(reads.items(), key=lambda item: item[1][0])
        starts = [span[0] for _, span in ranked]
        longest = max((span[1] for span in reads.values()), default=0)
        needed = cache(lambda t: self._dependents(step, op, t))
        for (made, y), out in writes.items():
            near = range(bisect_right(starts, out[0] - longest), bisect_left(starts, out[0] + out[1]))
            for (t, r), source in (ranked[k] for k in near):
                if t in updated:
                    continue
                if op.bodies or step.kernel.needs.overlays:
                    allowed = r == y and self._goes_on_as(step, op, t, made)
                else:
                    allowed = _only_at(op, t, step.kernel.needs.in_place) and needed(t).get(r, set()) <= {y}
                if _meet(out, source) and not (out[:2] == source[:2] and allowed):
                    raise PlanError(f"{where} writes over what it reads")
            if sums and _meet(out, sums) and out[0] != sums[0]:
                raise PlanError(f"{where}: sums and output overlap")
        own = [*work, *([sums] if sums else [])]
        for i, span in enumerate(own):
            others = [*reads.values(), *own[:i], *(writes.values() if span[2] == SCRATCH else ())]
            if any(_meet(span, other) for other in others):
                raise PlanError(f"{where}: working memory overlaps what the step reads or writes")
        if step.kernel.entry.call is Call.ADDS and sums is None:
            raise PlanError(f"{where} has no place for its sums")

    def _goes_on_as(self, step: Step, op: Op, given: int, made: int) -> bool:
        """Whether output `made` may take the memory of input `given`, for control flow and kernels that update most of
        an input in place: it must be the output at the position of that input, which is passed at no other position."""
        same = [p for p, t in op.computed(self.graph) if self.root[t] == self.root[given]]
        return len(same) == 1 and same[0] in step.kernel.needs.in_place and op.outputs[same[0] : same[0] + 1] == (made,)

    def _dependents(self, step: Step, op: Op, tensor: int) -> dict[int, set[int]]:
        """By row of an input: the output rows of a step that depend on it."""
        places = [p for p, t in enumerate(op.inputs) if t == tensor]
        every = range(row_count(self.graph.tensors[tensor].shape))
        dependents: dict[int, set[int]] = {}
        for y in range(step.rows.lo, step.rows.hi):
            for p in places:
                rows = op.reads(self.graph, p, y)
                for r in every if rows is None else rows:
                    dependents.setdefault(r, set()).add(y)
        return dependents


def _check_outputs(plan: Plan, copies: tuple[Copy, ...], where: str, *, loop: bool) -> None:
    """Checks that each output of a body is either copied once, or computed where it belongs. In a loop that is the
    input at its position; a copied output that is itself an input is staged first, as other copies may overwrite it."""
    graph, root = plan.graph, _roots(plan.graph)
    if [c.output for c in copies] != sorted({c.output for c in copies}):
        raise PlanError(f"{where}: an output of a body is copied twice")
    copied = {c.output: c for c in copies}
    for i, t in enumerate(graph.outputs):
        if loop:
            there = root[t] == graph.inputs[i]
        else:
            there = t in plan.goal.lent and t not in (*graph.inputs, *graph.outputs[:i])
        if there == (i in copied) or (i in copied and copied[i].tensor != t):
            raise PlanError(f"{where}: output {i} of a body does not get where it belongs")
        if loop and i in copied and (root[t] in graph.inputs) != (copied[i].staging is not None):
            raise PlanError(f"{where}: output {i} of a body is copied over what is still needed")


def _only_at(op: Op, tensor: int, positions: tuple[int, ...]) -> bool:
    """Whether an operator reads a tensor at no position but `positions`."""
    return all(p in positions for p, t in enumerate(op.inputs) if t == tensor)


def _meet(a: Span, b: Span) -> bool:
    """Whether two spans overlap."""
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def _roots(graph: Graph) -> dict[int, int]:
    """By tensor: the tensor of which it is a view, or itself."""
    root = {t: t for t in graph.tensors}
    for op in graph.ops:
        if _is_view(graph, op):
            root[op.outputs[0]] = root[op.inputs[0]]
    return root


def _is_view(graph: Graph, op: Op) -> bool:
    return op.is_view and graph.tensors[op.inputs[0]].data is None
